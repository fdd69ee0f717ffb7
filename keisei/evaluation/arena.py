"""Matches: many games at once between two players, in pairs from the same openings with colours swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from keisei.evaluation.players import Player
from keisei.evaluation.scores import Score
from keisei.shogi import Color, Outcome, ShogiGame

MAX_GAMES_AT_ONCE = 256


@dataclass
class _Seat:
    """One running game, and the colour of the first player in it."""

    game: ShogiGame
    first_color: Color


@dataclass
class MatchResult:
    """The games of a match, seen from the first player."""

    first: str
    second: str
    games: list[tuple[ShogiGame, Color]] = field(default_factory=list)
    #: True when `should_stop` ended the match: the unfinished games are missing.
    stopped: bool = False

    @property
    def score(self) -> Score:
        return self._score_of(self.games)

    def score_as(self, color: Color) -> Score:
        """The first player's score in the games it played with a colour."""
        return self._score_of([(game, first) for game, first in self.games if first is color])

    @property
    def reasons(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for game, _ in self.games:
            reason = _finished(game).reason.value
            counts[reason] = counts.get(reason, 0) + 1
        return counts

    @staticmethod
    def _score_of(games: Sequence[tuple[ShogiGame, Color]]) -> Score:
        winners = [(_finished(game).winner, first) for game, first in games]
        wins = sum(winner is first for winner, first in winners)
        draws = sum(winner is None for winner, _ in winners)
        return Score(wins, draws, len(games) - wins - draws)


def play_match(
    first: Player,
    second: Player,
    openings: Sequence[str],
    *,
    max_plies: int,
    games_at_once: int = MAX_GAMES_AT_ONCE,
    on_game: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> MatchResult:
    """Plays every opening twice. ``on_game(done, total)`` is called whenever games have ended."""
    waiting = [_seat(sfen, color, max_plies) for sfen in openings for color in Color]
    total = len(waiting)
    waiting.reverse()
    running: list[_Seat] = []
    result = MatchResult(first.name, second.name)
    while waiting or running:
        if should_stop():
            result.stopped = True
            break
        while waiting and len(running) < games_at_once:
            running.append(waiting.pop())
        _play_ply(running, first, second)
        ended = [seat for seat in running if seat.game.outcome is not None]
        if ended:
            result.games += [(seat.game, seat.first_color) for seat in ended]
            running = [seat for seat in running if seat.game.outcome is None]
            if on_game is not None:
                on_game(len(result.games), total)
    return result


def _seat(sfen: str, first_color: Color, max_plies: int) -> _Seat:
    return _Seat(ShogiGame(sfen, max_plies=max_plies), first_color)


def _play_ply(seats: list[_Seat], first: Player, second: Player) -> None:
    """One ply in every game: each player answers once for all games in which it is to move."""
    by_player: tuple[tuple[Player, list[ShogiGame]], ...] = ((first, []), (second, []))
    for seat in seats:
        by_player[seat.game.turn is not seat.first_color][1].append(seat.game)
    for player, games in by_player:
        if not games:
            continue
        for game, move in zip(games, player.choose(games), strict=True):
            game.play(move)


def _finished(game: ShogiGame) -> Outcome:
    outcome = game.outcome
    if outcome is None:
        raise ValueError(f"the game is not over: {game!r}")
    return outcome
