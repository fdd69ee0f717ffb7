"""Facts of a network: from its checkpoint, its run, the facts that it carries, and those that are added."""

from pathlib import Path

import pytest
from small_checkpoints import save_checkpoint
from tiny_runs import latest, new_run, tiny_config, train

from keisei.commands.network_facts import network_facts
from keisei.core.checkpoint import load_checkpoint
from keisei.core.compact_network import CompactNetwork
from keisei.errors import ConfigError
from keisei.evaluation.checkpoint_network import network_of
from keisei.record.journal import Journal
from keisei.record.journal_schema import Exam, PlayerRating
from keisei.record.run_directory import RunDirectory


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = new_run(tmp_path_factory.mktemp("runs"), "measured")
    train(run, tiny_config(2, training__seed=7))
    with Journal(run.journal_path) as journal:
        for update, name in ((1, "policy:measured@1#a"), (2, "policy:measured@2#b")):
            journal.add_rating(update, PlayerRating(name, 100.0 * update, 50.0, 300.0, 40))
        journal.add_rating(2, PlayerRating("search:measured@2#b?simulations=64", 400.0, 350.0, 500.0, 60))
        journal.add_exam(2, Exam(3, 200, 120))
    return run


def test_a_run_tells_how_it_trained_and_how_strong_this_network_is(run: RunDirectory) -> None:
    facts = network_facts(latest(run), run, ["commit=8fe2b3a", "device = one NVIDIA H200"])
    assert facts["run"] == "measured"
    assert (facts["updates"], facts["plies"]) == ("2", "128")
    assert int(facts["games"]) >= 0
    assert float(facts["minutes"]) >= 0
    assert facts["keisei"]
    assert int(facts["cores"]) >= 1
    assert facts["commit"] == "8fe2b3a"
    assert facts["device"] == "one NVIDIA H200"
    assert facts["rating of policy"] == "+200 [+50, +300] Elo by the ladder, random = 0, 40 games"
    assert facts["rating of search?simulations=64"].startswith("+400 [+350, +500] Elo")
    assert facts["mates in 3 begun rightly"] == "120 of 200"


def test_the_command_has_what_changes_the_weights_and_no_place_of_this_machine(run: RunDirectory) -> None:
    command = network_facts(latest(run), run, [])["command"]
    assert command.startswith("keisei train --")
    assert "--training.seed 7" in command
    assert "--env.starts.sfen_file endgames.sfen" in command
    assert "record." not in command
    assert str(run.path.parent) not in command


def test_a_checkpoint_without_a_run_tells_what_it_knows(tmp_path: Path) -> None:
    facts = network_facts(load_checkpoint(save_checkpoint(tmp_path, 3)), None, [])
    assert set(facts) == {"trained", "updates", "plies"}
    assert facts["plies"] == "300"


def test_facts_travel_with_a_network_that_is_given_away_again(tmp_path: Path, run: RunDirectory) -> None:
    source = latest(run)
    facts = network_facts(source, run, ["commit=1"])
    compact = CompactNetwork.of(network_of(source), source.manifest)
    compact.write(tmp_path / "small", {"facts": facts}, {})
    again = network_facts(load_checkpoint(tmp_path / "small"), None, ["commit=2"])
    assert again == {**facts, "commit": "2"}


@pytest.mark.parametrize("text", ["", "commit", "=1", "commit=", "a=b|c", "a=b\nc"])
def test_a_fact_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    checkpoint = load_checkpoint(save_checkpoint(tmp_path))
    with pytest.raises(ConfigError, match="--fact expects"):
        network_facts(checkpoint, None, [text])
