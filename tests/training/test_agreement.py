"""Whole runs on two ranks: they end together, go back together, and go on from what the first rank kept."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from rank_processes import TwoRanks, two_ranks
from tiny_runs import ROWS, latest, tiny_config, train

from keisei.core.ranks import ALONE
from keisei.core.rollout import RolloutSummary
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.training.agreement import agreed_end, rollout_of_all
from keisei.training.collapse_guard import RollBackRequested

PROGRAM = Path(__file__).parent / "programs" / "two_ranked_runs.py"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> TwoRanks:
    return two_ranks(PROGRAM, tmp_path_factory)


@pytest.fixture(scope="module")
def ranks(both: TwoRanks) -> list[dict[str, Any]]:
    """How each run ended on each of the two ranks."""
    return both.outcomes


@pytest.fixture
def run(both: TwoRanks, tmp_path: Path) -> RunDirectory:
    """A copy of the run that was stopped and resumed, as the first rank has left it."""
    shutil.copytree(both.folder / "0" / "stopped", tmp_path / "stopped")
    return RunDirectory.open(tmp_path / "stopped")


@pytest.mark.parametrize("name", ["collapsed", "stopped", "resumed"])
def test_the_ranks_end_at_the_same_update_with_the_same_weights(
    ranks: list[dict[str, Any]], name: str
) -> None:
    one, other = (outcomes[name] for outcomes in ranks)
    for fact in ("reason", "update", "plies", "games", "updates", "learning_rates"):
        assert one[fact] == other[fact], fact
    assert one["weights"].keys() == other["weights"].keys()
    for tensor_name, tensor in one["weights"].items():
        assert torch.equal(tensor, other["weights"][tensor_name]), tensor_name


def test_what_one_rank_is_asked_all_do(ranks: list[dict[str, Any]]) -> None:
    stopped = ranks[0]["stopped"]
    assert (stopped["reason"], stopped["update"]) == ("stopped by the user", 2)
    assert stopped["plies"] == 2 * ROWS, "the plies of both ranks are counted"


def test_all_go_back_when_the_first_says_so(ranks: list[dict[str, Any]]) -> None:
    first, second = (outcomes["collapsed"] for outcomes in ranks)
    (back,) = first["went_back"]
    assert second["went_back"] == [], "only the first tells of it"
    assert "going back did not help (1 times)" in first["reason"]
    left = first["updates"].index(back + 1, back + 1)
    assert first["learning_rates"] == [1.0] * left + [0.5] * (first["update"] - back)


def test_a_resumed_run_goes_on_from_the_checkpoint_of_the_first(
    ranks: list[dict[str, Any]], run: RunDirectory
) -> None:
    assert [outcomes["resumed"]["updates"] for outcomes in ranks] == [[3, 4, 5]] * 2
    with JournalReader(run.journal_path) as journal:
        assert [point.update for point in journal.series("loss")] == [1, 2, 3, 4, 5]
        words = [entry.content.message for entry in journal.events() if entry.content.kind == "started"]
    assert words == ["training on cpu as the first of 2 ranks"] * 2
    assert latest(run).state["ranks"] == 2


def test_another_number_of_ranks_goes_on_with_new_games(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    report = train(run, tiny_config(6), resume=True)
    assert report.update == 6
    assert "written by 2 ranks, this run has 1: new games begin" in caplog.text


def test_a_rank_that_dies_is_an_error_for_the_other_and_costs_no_update(ranks: list[dict[str, Any]]) -> None:
    assert "died" not in ranks[1]
    assert ranks[0]["died"]["error"].startswith("rank 0 of 2 has lost another rank (")
    assert ranks[0]["died"]["update"] == 2, "a checkpoint of the newest update is written"


# ---- one process alone


def test_one_process_alone_keeps_its_own_counsel() -> None:
    summary = RolloutSummary(plies=3)
    assert rollout_of_all(summary, ALONE) is summary
    assert agreed_end(None, None, ALONE) is None
    assert agreed_end("enough", None, ALONE) == "enough"
    order = RollBackRequested(Path("there"), "it is worse")
    with pytest.raises(RollBackRequested) as raised:
        agreed_end(None, order, ALONE)
    assert raised.value is order
