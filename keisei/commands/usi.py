"""`keisei usi`: the engine for shogi programs."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def usi(
    checkpoint: Annotated[
        str,
        Parameter(
            help="A checkpoint folder, a run (name or folder) or auto for the run trained last; the network that "
            "comes with Keisei if not given."
        ),
    ] = "",
) -> None:
    """Speak USI on standard input and output, until `quit` or the end of input."""
    from keisei.usi.main import serve
    from keisei.usi.options import EngineOptions

    serve(EngineOptions(model=checkpoint))
