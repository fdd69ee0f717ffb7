"""Matches: many games at once between two players, in pairs from the same openings with colours swapped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

from keisei.evaluation.likelihood import CATEGORIES, category
from keisei.evaluation.players import Answer, Closing, LimitedPlayer, Player
from keisei.evaluation.scores import Score
from keisei.shogi import Color, Move, Reason, ShogiGame
from keisei.shogi.many_games import play_moves
from keisei.shogi.notation.game_record import OutsideReason

MAX_GAMES_AT_ONCE = 512
GAMES_PER_PAIR = 2

GamesEnded = Callable[[Sequence["PlayedGame"]], None]


@dataclass(frozen=True)
class PlayedGame:
    """A game that is over; ``first_color`` is that of the match's first player, ``note`` says more about the end."""

    game: ShogiGame
    pair: int
    first_color: Color
    winner: Color | None
    reason: Reason | OutsideReason
    note: str = ""

    @property
    def points(self) -> float:
        """The first player's: 1, ½ or 0."""
        if self.winner is None:
            return 0.5
        return 1.0 if self.winner is self.first_color else 0.0


@dataclass
class MatchResult:
    """The games of a match, seen from the first player."""

    first: str
    second: str
    games: list[PlayedGame] = field(default_factory=list)
    #: True when `should_stop` ended the match: the unfinished games are missing.
    stopped: bool = False

    @property
    def score(self) -> Score:
        return _score_of(self.games)

    def score_as(self, color: Color) -> Score:
        """The first player's score in the games it played with a colour."""
        return _score_of([game for game in self.games if game.first_color is color])

    @property
    def reasons(self) -> dict[str, int]:
        return dict(Counter(game.reason.value for game in self.games))

    @property
    def pair_points(self) -> dict[int, float]:
        """The first player's points per game in each pair of which both games are over."""
        halves = Counter(game.pair for game in self.games)
        points: dict[int, float] = dict.fromkeys(sorted(halves), 0.0)
        for game in self.games:
            points[game.pair] += game.points / GAMES_PER_PAIR
        return {pair: value for pair, value in points.items() if halves[pair] == GAMES_PER_PAIR}

    @property
    def pair_counts(self) -> list[int]:
        """How many pairs brought 0, ¼, ½, ¾ and 1 point per game."""
        return _counts(self.pair_points.values())

    @property
    def ordered_pair_counts(self) -> list[int]:
        """The same of the pairs before the first that is not over: no quick end gets in before its turn."""
        points = self.pair_points
        in_order: list[float] = []
        while len(in_order) in points:
            in_order.append(points[len(in_order)])
        return _counts(in_order)


class Match:
    """A match in progress; ``result`` holds what is over, also after an error.

    As many games are played at once as both players can make use of, unless ``games_at_once`` says otherwise.
    """

    def __init__(
        self,
        first: Player,
        second: Player,
        openings: Sequence[str],
        *,
        max_plies: int,
        games_at_once: int | None = None,
    ) -> None:
        self.result = MatchResult(first.name, second.name)
        self.total = len(openings) * GAMES_PER_PAIR
        self._players = (first, second)
        self._games_at_once = games_at_once or min(_limit(first), _limit(second))
        self._running: list[_Seat] = []
        self._waiting = [
            _Seat(ShogiGame(sfen, max_plies=max_plies), pair, color)
            for pair, sfen in enumerate(openings)
            for color in Color
        ]
        self._waiting.reverse()

    def play(
        self, *, on_games: GamesEnded | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> MatchResult:
        """Plays to the end, or until ``should_stop``. ``on_games`` is told whenever games have ended."""
        while self._waiting or self._running:
            if should_stop():
                self.result.stopped = True
                break
            while self._waiting and len(self._running) < self._games_at_once:
                self._running.append(self._waiting.pop())
            self._play_ply()
            ended = [seat.ended for seat in self._running if seat.ended is not None]
            if ended:
                self._running = [seat for seat in self._running if seat.ended is None]
                self.result.games += ended
                if on_games is not None:
                    on_games(ended)
        return self.result

    def _play_ply(self) -> None:
        """One ply in every game: each player answers once for all games in which it is to move."""
        running = [seat for seat in self._running if seat.ended is None]
        for player, is_first in zip(self._players, (True, False), strict=True):
            seats = [seat for seat in running if seat.first_moves is is_first]
            if not seats:
                continue
            _take_answers(seats, player.choose([seat.game for seat in seats]))
        for seat in running:
            seat.first_moves = not seat.first_moves


class _Seat:
    """One game of the match. It may be over before its first ply: the opening can be as long as the ply cap."""

    __slots__ = ("_first_color", "_pair", "ended", "first_moves", "game")

    def __init__(self, game: ShogiGame, pair: int, first_color: Color) -> None:
        self.game = game
        self.first_moves = game.turn is first_color
        self.ended: PlayedGame | None = None
        self._pair = pair
        self._first_color = first_color
        self.settle()

    def close(self, closing: Closing) -> None:
        if closing.reason is Reason.RESIGNATION:
            self.game.resign()
        elif closing.reason is Reason.DECLARATION:
            self.game.declare_win()
        else:
            self._end(self.game.turn.opponent, closing.reason, closing.note)
            return
        self.settle()

    def settle(self) -> None:
        """Takes down the end of the game, if it has ended."""
        if self.game.outcome is not None:
            self._end(self.game.outcome.winner, self.game.outcome.reason)

    def _end(self, winner: Color | None, reason: Reason | OutsideReason, note: str = "") -> None:
        self.ended = PlayedGame(self.game, self._pair, self._first_color, winner, reason, note)


def _limit(player: Player) -> int:
    """With more games at once than a player can think about, all of them would end late, and none be saved early."""
    return player.games_at_once if isinstance(player, LimitedPlayer) else MAX_GAMES_AT_ONCE


def _take_answers(seats: Sequence[_Seat], answers: Sequence[Answer]) -> None:
    """Plays the moves and closes the games; whoever may declare a win after a move does, as in training."""
    moving: list[_Seat] = []
    moves: list[Move] = []
    for seat, answer in zip(seats, answers, strict=True):
        if isinstance(answer, Closing):
            seat.close(answer)
        else:
            moving.append(seat)
            moves.append(answer)
    over = play_moves([seat.game for seat in moving], moves, declare=True)
    for seat in compress(moving, over):
        seat.settle()


def play_match(
    first: Player,
    second: Player,
    openings: Sequence[str],
    *,
    max_plies: int,
    games_at_once: int | None = None,
    on_game: Callable[[Score, int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> MatchResult:
    """Plays every opening twice. ``on_game(score so far, games in all)`` is called whenever games have ended."""
    match = Match(first, second, openings, max_plies=max_plies, games_at_once=games_at_once)
    if on_game is None:
        return match.play(should_stop=should_stop)
    report = on_game
    return match.play(on_games=lambda _: report(match.result.score, match.total), should_stop=should_stop)


def _score_of(games: Sequence[PlayedGame]) -> Score:
    wins = sum(game.winner is game.first_color for game in games)
    draws = sum(game.winner is None for game in games)
    return Score(wins, draws, len(games) - wins - draws)


def _counts(points: Iterable[float]) -> list[int]:
    seen = Counter(category(value) for value in points)
    return [seen[index] for index in range(CATEGORIES)]
