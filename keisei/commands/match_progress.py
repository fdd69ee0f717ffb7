"""Progress of matches on the terminal, and what else happens when games end: saving them, testing whether to stop."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:
    from keisei.commands.saved_games import GameSaver
    from keisei.evaluation.arena import Match, PlayedGame
    from keisei.evaluation.sprt import Sprt


class TournamentProgress:
    """A bar that counts games."""

    def __init__(self, total: int) -> None:
        console = Console(stderr=True)
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("playing", total=total)
        self.games = 0

    def on_games(self, ended: Sequence[PlayedGame]) -> None:
        self.games += len(ended)
        self._bar.update(self._task, completed=self.games)

    def describe(self, text: str) -> None:
        self._bar.update(self._task, description=text)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class MatchProgress(TournamentProgress):
    """The bar of one match, with its score so far."""

    def __init__(self, match: Match, sprt: Sprt | None, saver: GameSaver | None) -> None:
        super().__init__(match.total)
        self._result = match.result
        self._sprt = sprt
        self._saver = saver
        self._is_decided = False

    def is_decided(self) -> bool:
        """Has the sequential test come to a verdict?"""
        return self._is_decided

    def on_games(self, ended: Sequence[PlayedGame]) -> None:
        from keisei.evaluation.sprt import Verdict

        super().on_games(ended)
        score = self._result.score
        self.describe(f"+{score.wins} ={score.draws} -{score.losses}")
        if self._saver is not None:
            self._saver.save(ended)
        if self._sprt is not None:
            verdict = self._sprt.verdict(self._result.ordered_pair_counts)
            self._is_decided = verdict is not Verdict.OPEN
