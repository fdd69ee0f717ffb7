"""What matches leave in the journal of a run: rows of its networks, and nothing for players without one."""

import math
from pathlib import Path

from small_checkpoints import make_run, save_checkpoint

from keisei.commands.kept_results import keep_exam, keep_ratings
from keisei.evaluation.player_specs import opened_players
from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score
from keisei.record.journal import JournalReader


def test_ratings_of_a_runs_network_are_kept_and_others_are_not(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", "mine", updates=3)
    alone = save_checkpoint(tmp_path / "alone")
    specs = ("policy:mine", "greedy", f"policy:{alone}")
    with opened_players(*specs, runs=tmp_path / "runs", device="cpu") as players:
        names = [entry.player.name for entry in players]
        ratings = [Rating(name, 100.0 * i, -math.inf, 300.0, 20) for i, name in enumerate(names)]
        keep_ratings(players, ratings)
        keep_ratings(players, ratings[1:])  # a network that was not rated
    with JournalReader(run.journal_path) as journal:
        (entry,) = journal.ratings()
    assert (entry.update, entry.content.player) == (3, names[0])
    assert (entry.content.elo, entry.content.low, entry.content.games) == (0.0, -math.inf, 20)


def test_an_exam_is_kept_where_there_is_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", updates=3)
    with opened_players("greedy", "policy:mine", runs=tmp_path, device="cpu") as players:
        for entry in players:
            keep_exam(entry, 5, Score(7, 0, 13))
    with JournalReader(run.journal_path) as journal:
        (row,) = journal.exams()
    assert (row.update, row.content.mate_plies, row.content.problems, row.content.solved) == (3, 5, 20, 7)
