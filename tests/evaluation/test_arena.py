"""Matches: every opening twice with colours swapped, every game counted once, in the view of the first player."""

from collections import Counter
from collections.abc import Sequence

import pytest

from keisei.evaluation.arena import Match, MatchResult, PlayedGame, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import Answer, Closing, GreedyPlayer, RandomPlayer
from keisei.shogi import Color, Move, Reason, ShogiGame
from keisei.shogi.notation.game_record import OutsideReason

# Whoever moves first mates at once with the gold, if it wants to.
MATE_FOR_BLACK = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATE_FOR_WHITE = "4k4/9/9/9/9/9/4p4/9/4K4 w g 1"


class Mater:
    """Mates in one or plays its first move; remembers how many games it was asked about at once."""

    name = "mater"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        self.asked.append(len(games))
        return [game.mate_in_one() or game.legal_moves()[0] for game in games]


@pytest.fixture(scope="module")
def greedy_against_random() -> MatchResult:
    return play_match(GreedyPlayer(1), RandomPlayer(2), random_openings(20, seed=1), max_plies=200)


def test_greedy_beats_random_clearly(greedy_against_random: MatchResult) -> None:
    low, _ = greedy_against_random.score.interval
    assert low > 0.8


def test_random_is_even_against_itself() -> None:
    match = play_match(RandomPlayer(1), RandomPlayer(2), random_openings(25, seed=1), max_plies=150)
    low, high = match.score.interval
    assert low < 0.5 < high


def test_every_opening_is_played_with_both_colours(greedy_against_random: MatchResult) -> None:
    openings = random_openings(20, seed=1)
    played = Counter((ended.game.start_sfen, ended.first_color) for ended in greedy_against_random.games)
    assert played == Counter((sfen, color) for sfen in openings for color in Color)


def test_scores_by_colour_and_reason_add_up(greedy_against_random: MatchResult) -> None:
    match = greedy_against_random
    whole, parts = match.score, [match.score_as(color) for color in Color]
    assert [part.games for part in parts] == [20, 20]
    assert whole.wins == sum(part.wins for part in parts)
    assert whole.draws == sum(part.draws for part in parts)
    assert sum(match.reasons.values()) == whole.games == 40
    assert (match.first, match.second) == ("greedy", "random")


@pytest.mark.parametrize(("opening", "mover"), [(MATE_FOR_BLACK, Color.BLACK), (MATE_FOR_WHITE, Color.WHITE)])
def test_results_are_in_the_view_of_the_first_player(opening: str, mover: Color) -> None:
    match = play_match(Mater(), Mater(), [opening], max_plies=50)
    assert match.score_as(mover).wins == 1
    assert match.score_as(mover.opponent).losses == 1
    assert match.score.share == 0.5


def test_games_that_the_cap_cuts_off_are_draws() -> None:
    match = play_match(RandomPlayer(1), RandomPlayer(2), random_openings(3, seed=1), max_plies=6)
    assert match.reasons == {"max_plies": 6}
    assert match.score.draws == 6


def test_an_opening_that_the_cap_cuts_off_before_its_first_ply_is_a_draw_too() -> None:
    match = play_match(RandomPlayer(1), RandomPlayer(2), random_openings(2, seed=1), max_plies=2)
    assert match.score.draws == 4


def test_each_player_is_asked_once_a_ply_for_all_its_games() -> None:
    first, second = Mater(), Mater()
    play_match(first, second, random_openings(5, seed=1), max_plies=20)
    assert first.asked[0] == second.asked[0] == 5
    assert len(first.asked) <= 16


def test_no_more_games_run_at_once_than_allowed() -> None:
    first, second = Mater(), Mater()
    match = play_match(first, second, random_openings(6, seed=1), max_plies=12, games_at_once=4)
    assert len(match.games) == 12
    assert max(one + other for one, other in zip(first.asked, second.asked, strict=False)) <= 4


def test_progress_is_told_up_to_the_last_game() -> None:
    told: list[tuple[int, int]] = []
    play_match(
        RandomPlayer(1),
        RandomPlayer(2),
        random_openings(4, seed=1),
        max_plies=12,
        games_at_once=3,
        on_game=lambda score, total: told.append((score.games, total)),
    )
    assert told[-1] == (8, 8)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_a_stopped_match_says_so_and_keeps_the_games_that_ended() -> None:
    answers = iter([False] * 10)
    match = play_match(
        RandomPlayer(1),
        RandomPlayer(2),
        random_openings(3, seed=1),
        max_plies=9,
        games_at_once=2,
        should_stop=lambda: next(answers, True),
    )
    assert match.stopped
    assert 0 < len(match.games) < 6
    assert match.score.games == len(match.games)


def test_the_same_players_and_openings_play_the_same_match() -> None:
    def moves() -> list[list[Move]]:
        match = play_match(GreedyPlayer(3), RandomPlayer(4), random_openings(2, seed=9), max_plies=80)
        return [ended.game.moves for ended in match.games]

    assert moves() == moves()


# ---- games that players end themselves

# Black's king and ten strong pieces stand in the promotion zone; Black is to move.
DECLARABLE = "1+R1K1GGG1/1+R1SSS1S1/2+B3P2/9/9/9/9/4k4/9 b Bgl 1"


class Quitter:
    """Answers everything with the same closing."""

    name = "quitter"

    def __init__(self, closing: Closing) -> None:
        self._closing = closing

    def choose(self, games: Sequence[ShogiGame]) -> list[Answer]:
        return [self._closing for _ in games]


@pytest.mark.parametrize(
    "reason",
    [Reason.RESIGNATION, OutsideReason.ILLEGAL_MOVE, OutsideReason.TIMEOUT, OutsideReason.FORFEIT],
)
def test_who_closes_a_game_loses_it(reason: Reason | OutsideReason) -> None:
    match = play_match(Quitter(Closing(reason, "why")), Mater(), random_openings(2, seed=1), max_plies=50)
    assert match.score.losses == 4
    assert match.reasons == {reason.value: 4}
    notes = {game.note for game in match.games}
    assert notes == ({""} if reason is Reason.RESIGNATION else {"why"})


def test_a_declaration_wins() -> None:
    quitter = Quitter(Closing(Reason.DECLARATION))
    match = play_match(quitter, quitter, [DECLARABLE], max_plies=50)
    assert match.reasons == {"declaration": 2}
    assert match.score_as(Color.BLACK).wins == match.score_as(Color.WHITE).losses == 1


def test_whoever_may_declare_a_win_does() -> None:
    """White has only king moves and a drop; whatever it plays, Black may declare before its own next move."""
    match = play_match(Mater(), Mater(), [DECLARABLE.replace(" b ", " w ")], max_plies=50)
    assert match.reasons == {"declaration": 2}
    assert all(game.winner is Color.BLACK and len(game.game.moves) == 1 for game in match.games)


# ---- pairs


def ended(pair: int, winner: Color | None, first_color: Color) -> PlayedGame:
    return PlayedGame(ShogiGame(), pair, first_color, winner, Reason.CHECKMATE)


def test_pairs_are_counted_by_their_points_when_both_games_are_over() -> None:
    black, white = Color.BLACK, Color.WHITE
    result = MatchResult("a", "b")
    for pair, winners in enumerate(
        [(black, white), (black, None), (black, black), (None, black), (white, black)]
    ):
        result.games += [ended(pair, winner, color) for winner, color in zip(winners, Color, strict=True)]
    result.games.append(ended(7, black, black))
    assert result.pair_points == {0: 1.0, 1: 0.75, 2: 0.5, 3: 0.25, 4: 0.0}
    assert result.pair_counts == [1, 1, 1, 1, 1]


def test_pairs_count_in_order_only_up_to_the_first_that_is_not_over() -> None:
    result = MatchResult("a", "b")
    for pair in (0, 2, 3):
        result.games += [ended(pair, Color.BLACK, color) for color in Color]
    result.games.append(ended(1, Color.BLACK, Color.BLACK))
    assert sum(result.pair_counts) == 3
    assert result.ordered_pair_counts == [0, 0, 1, 0, 0]
    result.games.append(ended(1, Color.BLACK, Color.WHITE))
    assert result.ordered_pair_counts == result.pair_counts == [0, 0, 4, 0, 0]


def test_both_games_of_a_pair_begin_alike(greedy_against_random: MatchResult) -> None:
    starts: dict[int, set[tuple[str, Color]]] = {}
    for game in greedy_against_random.games:
        starts.setdefault(game.pair, set()).add((game.game.start_sfen, game.first_color))
    assert len(starts) == 20
    for pair in starts.values():
        assert len({sfen for sfen, _ in pair}) == 1
        assert {color for _, color in pair} == set(Color)


# ---- errors


class Faint(RandomPlayer):
    """Breaks down after some answers."""

    answers = 0

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        self.answers += 1
        if self.answers > 60:
            raise RuntimeError("no more")
        return super().choose(games)


def test_what_has_been_played_stays_when_a_player_breaks_down() -> None:
    match = Match(Faint(1), Mater(), random_openings(20, seed=1), max_plies=40, games_at_once=8)
    with pytest.raises(RuntimeError, match="no more"):
        match.play()
    assert 0 < len(match.result.games) < 40
    assert match.result.score.games == len(match.result.games)


def test_a_player_that_answers_for_too_few_games_is_an_error() -> None:
    class Lazy(RandomPlayer):
        def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
            return super().choose(games)[:-1]

    with pytest.raises(ValueError, match="zip"):
        play_match(Lazy(1), Mater(), random_openings(1, seed=1), max_plies=40)
