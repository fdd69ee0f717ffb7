"""A checkpoint becomes the network that it describes, or an error."""

import json
from pathlib import Path

import pytest
import torch
from network_samples import ACTION_COUNTS, ARCHITECTURES, board_like_planes
from small_checkpoints import make_run, save_checkpoint, small_network

from keisei.core.checkpoint import CheckpointStore
from keisei.core.networks import ActorCritic
from keisei.errors import CheckpointError, NoGoodCheckpointError, RunDirectoryError
from keisei.evaluation.checkpoint_network import find_checkpoint, load_network
from keisei.evaluation.checkpoint_player import load_player_network
from keisei.networks import shipped_network


def same_answers(first: ActorCritic, second: ActorCritic) -> bool:
    planes = board_like_planes(4)
    with torch.no_grad():
        ours, theirs = first(planes, with_auxiliary=False), second(planes, with_auxiliary=False)
    return torch.equal(ours.policy_logits, theirs.policy_logits) and torch.equal(ours.value, theirs.value)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_g5_the_network_that_was_saved_comes_back(tmp_path: Path, architecture: str, actions: int) -> None:
    path = save_checkpoint(tmp_path, 3, architecture=architecture, actions=actions)
    network, manifest = load_network(path)
    assert same_answers(network, small_network(3, architecture, actions))
    assert (manifest.update, network.num_actions) == (3, actions)
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())


def test_averaged_weights_are_preferred(tmp_path: Path) -> None:
    network, _ = load_network(save_checkpoint(tmp_path, 3, averaged=True))
    assert same_answers(network, small_network(1_003))
    assert not same_answers(network, small_network(3))


def test_loading_leaves_the_random_numbers_of_others_alone(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_network(path)
    assert torch.equal(torch.rand(3), expected)


def test_a_run_stands_for_its_newest_good_checkpoint(tmp_path: Path) -> None:
    run = make_run(tmp_path, "two", updates=2)
    for folder in (run.path, run.checkpoints_path):
        assert load_network(folder)[1].update == 2
    damaged = run.checkpoints_path / "update-00000002" / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert load_network(run.path)[1].update == 1


def test_g5_a_network_of_another_meaning_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path)
    _rewrite_architecture(path, revision=2)
    with pytest.raises(CheckpointError, match=r"revision is 2 but 1 is wanted.*Keisei that wrote it"):
        load_network(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"channels": 32}, "do not fit the architecture"),
        ({"channels": "many"}, "describes no network"),
        ({"num_actions": None}, "describes no network"),
    ],
)
def test_g5_weights_of_another_architecture_are_refused(
    tmp_path: Path, change: dict[str, object], complaint: str
) -> None:
    path = save_checkpoint(tmp_path)
    _rewrite_architecture(path, **change)
    with pytest.raises(CheckpointError, match=complaint) as error:
        load_network(path)
    assert str(path) in str(error.value)


def _rewrite_architecture(path: Path, **change: object) -> None:
    """The checkpoint again, whole and with a true digest, but with another description."""
    saved = json.loads((path / "manifest.json").read_text())
    from keisei.core.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(path)
    CheckpointStore(path.parent).save(
        checkpoint.manifest.update,
        plies=0,
        architecture={**saved["architecture"], **change},
        tensors=checkpoint.tensors,
        state={},
    )


def test_a_folder_without_a_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"folder of a checkpoint or of a run, got .*keisei runs"):
        load_network(tmp_path)
    run = make_run(tmp_path, "empty", updates=0)
    with pytest.raises(NoGoodCheckpointError):
        load_network(run.path)


def test_a_checkpoint_is_found_by_path_by_name_or_as_the_newest(tmp_path: Path) -> None:
    run = make_run(tmp_path, "first")
    checkpoint = run.checkpoints_path / "update-00000001"
    assert find_checkpoint(str(checkpoint), tmp_path) == checkpoint
    assert find_checkpoint("first", tmp_path) == run.path
    assert find_checkpoint("auto", tmp_path) == run.path


@pytest.mark.parametrize("target", ["", "shipped"])
def test_the_shipped_network_is_found_by_its_name_or_by_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shipped").mkdir()  # a folder of the same name is meant by ./shipped only
    assert find_checkpoint(target, tmp_path) == shipped_network()
    assert find_checkpoint("./shipped", tmp_path) == Path("shipped")


@pytest.mark.parametrize("target", ["frist", "frist@strongest"])
def test_a_name_that_nobody_has_is_answered_with_those_that_there_are(tmp_path: Path, target: str) -> None:
    make_run(tmp_path, "first")
    make_run(tmp_path, "second")
    with pytest.raises(RunDirectoryError) as error:
        find_checkpoint(target, tmp_path)
    told = str(error.value)
    assert "no run called 'frist'" in told
    assert "did you mean 'first'?" in told
    assert set(told.partition("networks here: ")[2].rstrip(")").split(", ")) == {"shipped", "first", "second"}


def test_one_checkpoint_of_a_run_is_found_by_its_update_or_as_the_strongest(tmp_path: Path) -> None:
    run = make_run(tmp_path, "first", updates=3)
    folder = run.checkpoints_path
    assert find_checkpoint("first@2", tmp_path) == folder / "update-00000002"
    with pytest.raises(CheckpointError, match=r"no checkpoint of the run 'first' has a rating yet"):
        find_checkpoint("first@strongest", tmp_path)
    CheckpointStore(folder).mark_best(folder / "update-00000001")
    assert find_checkpoint("first@strongest", tmp_path) == folder / "update-00000001"
    assert find_checkpoint("@strongest", tmp_path) == folder / "update-00000001"
    assert load_player_network("first@strongest", tmp_path, "cpu").name.startswith("first@1#")
    with pytest.raises(CheckpointError, match=r"no checkpoint of update 7; there are .*update-00000003"):
        find_checkpoint("first@7", tmp_path)
    with pytest.raises(CheckpointError, match=r"'strongest' or the number of an update .* got 'best'"):
        find_checkpoint("first@best", tmp_path)
