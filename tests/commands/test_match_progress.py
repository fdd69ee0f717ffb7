"""Progress of a match: games counted, saved and put to the test as they end."""

from pathlib import Path

import pytest

from keisei.commands.match_progress import MatchProgress, TournamentProgress
from keisei.commands.saved_games import GameSaver
from keisei.evaluation.arena import Match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import fixed_player
from keisei.evaluation.sprt import Sprt, Verdict


def match(pairs: int) -> Match:
    players = fixed_player("ab1", 1), fixed_player("random", 2)
    return Match(*players, random_openings(pairs, seed=1), max_plies=150, games_at_once=8)


def test_games_are_counted() -> None:
    game = match(4)
    with TournamentProgress(game.total) as progress:
        game.play(on_games=progress.on_games)
    assert progress.games == 8


def test_games_are_saved_as_they_end(tmp_path: Path) -> None:
    game = match(2)
    with MatchProgress(game, None, GameSaver(tmp_path, "usi", game.result)) as progress:
        game.play(on_games=progress.on_games)
    assert len(list(tmp_path.iterdir())) == 4
    assert not progress.is_decided()


def test_a_decided_test_stops_the_match_on_pairs_in_order() -> None:
    game, sprt = match(200), Sprt(0, 200)
    with MatchProgress(game, sprt, None) as progress:
        game.play(on_games=progress.on_games, should_stop=progress.is_decided)
    assert game.result.stopped
    assert len(game.result.games) < 200
    assert sprt.verdict(game.result.ordered_pair_counts) is Verdict.STRONGER


def test_without_a_terminal_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with TournamentProgress(2) as progress:
        progress.describe("playing")
    assert capsys.readouterr() == ("", "")
