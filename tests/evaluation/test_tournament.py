"""Tournaments: every pairing once, scores from both sides, ratings from all games."""

import pytest

from keisei.errors import ConfigError
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import fixed_player
from keisei.evaluation.scores import Score
from keisei.evaluation.tournament import Tournament, gauntlet, round_robin

NAMES = ("random", "greedy", "ab1")


def contest(pairings: list[tuple[str, str]], pairs: int = 3) -> Tournament:
    players = [fixed_player(name, seed) for seed, name in enumerate(NAMES)]
    return Tournament(players, pairings, random_openings(pairs, seed=1), max_plies=200)


@pytest.fixture(scope="module")
def finished() -> Tournament:
    tournament = contest(round_robin(NAMES))
    tournament.play()
    return tournament


def test_everybody_meets_everybody_once(finished: Tournament) -> None:
    assert list(finished.matches) == [("random", "greedy"), ("random", "ab1"), ("greedy", "ab1")]
    assert all(match.score.games == 6 for match in finished.matches.values())


def test_a_score_is_the_reverse_of_the_opponents(finished: Tournament) -> None:
    for first, second in round_robin(NAMES):
        assert finished.score(first, second) == finished.score(second, first).reversed()
    assert sum(finished.score(name).wins for name in NAMES) == sum(
        finished.score(name).losses for name in NAMES
    )
    assert finished.score("random", "random") == Score(0, 0, 0)


def test_standings_and_ratings_go_by_strength(finished: Tournament) -> None:
    assert finished.standings() == ["ab1", "greedy", "random"]
    ratings = finished.ratings("random")
    assert [rating.name for rating in ratings] == ["ab1", "greedy", "random"]
    assert ratings[-1].elo == 0


def test_in_a_gauntlet_the_first_meets_each_of_the_others() -> None:
    assert gauntlet(NAMES) == [("random", "greedy"), ("random", "ab1")]


def test_what_has_been_played_stays_when_a_tournament_is_stopped() -> None:
    tournament = contest(round_robin(NAMES), pairs=1)
    played: list[int] = []
    tournament.play(on_games=lambda games: played.append(len(games)), should_stop=lambda: sum(played) >= 2)
    assert sum(match.score.games for match in tournament.matches.values()) == sum(played) >= 2
    assert len(tournament.matches) < 3
    assert tournament.standings()


def test_the_same_player_twice_is_refused() -> None:
    players = [fixed_player("random", 1), fixed_player("random", 2)]
    with pytest.raises(ConfigError, match="different players"):
        Tournament(players, [("random", "random")], random_openings(1, seed=1), max_plies=10)
