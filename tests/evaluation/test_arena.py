"""Matches: every opening twice with colours swapped, every game counted once, in the view of the first player."""

from collections import Counter
from collections.abc import Sequence

import pytest

from keisei.evaluation.arena import MatchResult, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import GreedyPlayer, RandomPlayer
from keisei.shogi import Color, Move, ShogiGame

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
        on_game=lambda done, total: told.append((done, total)),
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
