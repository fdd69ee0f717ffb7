"""What the engine thinks at a moment, and how it is told to a GUI."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from keisei.shogi import Move
from keisei.shogi.gumbel_forest import RootMove, Verdict

#: Centipawns for each unit of the logarithm of the odds of winning: the usual figure among shogi programs.
CENTIPAWNS_PER_LOGIT: Final = 600
#: Keeps the odds finite; about 8,700 centipawns.
SUREST_VALUE: Final = 1 - 1e-6
#: Worse than every estimate, better than never resigning.
MATED_CENTIPAWNS: Final = -32_000
RESIGN: Final = "bestmove resign"
WIN: Final = "bestmove win"


@dataclass(frozen=True)
class MoveView:
    """One move, what it is worth to the mover, and the continuation expected after it."""

    root: RootMove
    line: tuple[Move, ...]

    @property
    def centipawns(self) -> int:
        if self.root.verdict is Verdict.LOSS:
            return MATED_CENTIPAWNS
        return centipawns(self.root.value)

    @property
    def score(self) -> str:
        """`cp N`, or `mate N` in plies, negative when being mated."""
        if self.root.verdict is Verdict.WIN:
            return f"mate {self.root.plies}"
        if self.root.verdict is Verdict.LOSS:
            return f"mate -{self.root.plies}"
        return f"cp {self.centipawns}"


@dataclass(frozen=True)
class Thought:
    """The best moves found so far (as many as are shown), best first, and the effort that went into them."""

    views: tuple[MoveView, ...]
    nodes: int
    seconds: float

    def info_lines(self) -> Iterator[str]:
        """One `info` line a move; of several moves also what the policy alone gives each of them."""
        effort = f"time {self.seconds * 1000:.0f} nodes {self.nodes} nps {self._speed():.0f}"
        for number, view in enumerate(self.views, start=1):
            multi_pv = f" multipv {number}" if len(self.views) > 1 else ""
            line = " ".join(move.usi for move in view.line)
            yield f"info depth {len(view.line)} {effort}{multi_pv} score {view.score} pv {line}"
        if len(self.views) > 1:
            priors = " ".join(f"{view.root.move.usi} {view.root.prior:.4f}" for view in self.views)
            yield f"info string policy {priors}"

    def answer(self, resign_value: int) -> str:
        """The `bestmove` line; resigns where there is no move, or where the best is worth -resign_value or less."""
        if not self.views or self.views[0].centipawns <= -resign_value:
            return RESIGN
        return bestmove(self.views[0].line)

    def _speed(self) -> float:
        return self.nodes / self.seconds if self.seconds > 0 else 0.0


def centipawns(value: float) -> int:
    """600 ln(p / (1 - p)), where p = (1 + value) / 2 is the expected score of the mover."""
    certain = max(-SUREST_VALUE, min(SUREST_VALUE, value))
    return round(CENTIPAWNS_PER_LOGIT * math.log((1 + certain) / (1 - certain)))


def bestmove(line: tuple[Move, ...]) -> str:
    """The first move of a line, with the reply to ponder on where one is expected."""
    ponder = f" ponder {line[1].usi}" if len(line) > 1 else ""
    return f"bestmove {line[0].usi}{ponder}"
