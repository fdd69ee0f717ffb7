"""`keisei web`: the page that shows runs and plays."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from keisei.config_schema import RecordConfig
from keisei.errors import PackageMissingError

DEFAULT_RUNS = RecordConfig().runs_folder
DEFAULT_PORT = 8080


def web(
    target: Annotated[str | None, Parameter(help="A run (name or folder) or a folder of runs.")] = None,
    *,
    runs: Annotated[Path, Parameter(help="Folder of all runs.")] = DEFAULT_RUNS,
    host: Annotated[
        str, Parameter(help="Address to listen on; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, Parameter(help="Port to listen on.")] = DEFAULT_PORT,
    token: Annotated[
        str | None,
        Parameter(
            help="Secret that a browser must bring once; auto makes one up.", env_var="KEISEI_WEB_TOKEN"
        ),
    ] = None,
    engine: Annotated[
        list[str] | None, Parameter(help="NAME=COMMAND of a USI engine to play against; may be repeated.")
    ] = None,
    open_: Annotated[bool, Parameter(name="--open", help="Open the browser.")] = True,
) -> None:
    """Show runs in the browser while they train and after, and play against them."""
    if find_spec("nicegui") is None:
        raise PackageMissingError("the page needs NiceGUI; pip install 'keisei[web]'")
    from rich.console import Console

    from keisei.web.access import Access
    from keisei.web.opponents import Opponents, parse_engines
    from keisei.web.run_library import RunLibrary

    access = Access.decide(host, port, token)
    library = RunLibrary.find(target, runs)
    engines = parse_engines(engine or [])
    # NiceGUI takes a second to load: only now that the wishes make sense.
    from keisei.web.server import serve

    console = Console(highlight=False, markup=False, soft_wrap=True)
    serve(
        library,
        Opponents(library, engines),
        access,
        announce=lambda address: console.print(f"the page is at {address} (Ctrl-C ends it)"),
        open_browser=open_,
    )
