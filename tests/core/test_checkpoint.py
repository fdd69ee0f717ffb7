"""Tests of keisei.core.checkpoint: round trips, damage, full disks, kills, retention."""

import json
import os
import pickle
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.core.checkpoint import CheckpointFolder, CheckpointStore, load_checkpoint
from keisei.core.checkpoint_format import MANIFEST_FILE, FileDigest, Manifest, read_manifest
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.state_tensors import flatten_state, restore_state
from keisei.errors import CheckpointError, NewerCheckpointError, NoGoodCheckpointError

ARCHITECTURE = {"architecture": "resnet", "blocks": 4, "channels": 64, "num_actions": 2187}
PROGRAMS = Path(__file__).parent / "programs"
FILES = ("model.safetensors", "optimizer.safetensors", "games.safetensors", "state.json", MANIFEST_FILE)


def save(store: CheckpointStore, update: int, value: float | None = None, numbers: int = 20) -> Path:
    """A small checkpoint all of whose content says ``value``."""
    shown = float(update if value is None else value)
    return store.save(
        update,
        plies=update * 100,
        architecture=ARCHITECTURE,
        tensors={
            "model": {"weight": torch.full((numbers,), shown), "bias": torch.full((3,), shown)},
            "optimizer": {"0/exp_avg": torch.full((numbers,), shown)},
            "games": {"records": torch.full((2, 96), int(shown) % 256, dtype=torch.uint8)},
        },
        state={"value": shown, "schedule": {"step": update}},
    )


def value_of(checkpoint) -> float:
    """The one value that all of a checkpoint's content says."""
    tensors = (
        checkpoint.model["weight"],
        checkpoint.model["bias"],
        checkpoint.tensors["optimizer"]["0/exp_avg"],
    )
    values = {checkpoint.state["value"], *(float(number) for tensor in tensors for number in tensor)}
    assert len(values) == 1
    return values.pop()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints")


def test_everything_comes_back_equal_in_every_bit(store: CheckpointStore) -> None:
    tensors = {
        "model": {
            "float": torch.randn(3, 4),
            "bfloat": torch.randn(5).bfloat16(),
            "double": torch.tensor(1 / 3, dtype=torch.float64),
            "empty": torch.zeros(0, 7),
        },
        "games": {
            "records": torch.randint(0, 256, (4, 96), dtype=torch.uint8),
            "ends": torch.tensor([True, False]),
            "moves": torch.tensor([0, 65535], dtype=torch.uint16),
        },
    }
    state = {
        "metrics": {"plies": 10**18, "results": [["black", "checkmate", 3]]},
        "lr": 0.1 + 0.2,
        "pool": [],
    }
    path = store.save(7, plies=512, architecture=ARCHITECTURE, tensors=tensors, state=state)
    loaded = load_checkpoint(path, ARCHITECTURE)
    assert path.name == "update-00000007"
    assert (loaded.manifest.update, loaded.manifest.plies, loaded.manifest.architecture) == (
        7,
        512,
        ARCHITECTURE,
    )
    assert loaded.state == state
    assert loaded.tensors.keys() == tensors.keys()
    for group, saved in tensors.items():
        assert loaded.tensors[group].keys() == saved.keys()
        for name, tensor in saved.items():
            returned = loaded.tensors[group][name]
            assert returned.dtype == tensor.dtype and returned.shape == tensor.shape
            assert torch.equal(returned, tensor)
    assert loaded.model is loaded.tensors["model"]


def test_a_training_resumes_bit_for_bit_through_a_checkpoint(store: CheckpointStore) -> None:
    def fresh() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        return model, torch.optim.AdamW(model.parameters(), lr=1e-2)

    def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(16, 6)).square().mean().backward()
            optimizer.step()

    straight, optimizer = fresh()
    train(straight, optimizer, 10)
    optimizer_tensors, optimizer_state = flatten_state(optimizer.state_dict())
    random_tensors, random_state = flatten_state(capture_random_states({}))
    path = store.save(
        10,
        plies=0,
        architecture=ARCHITECTURE,
        tensors={"model": straight.state_dict(), "optimizer": optimizer_tensors, "random": random_tensors},
        state={"optimizer": optimizer_state, "random": random_state},
    )
    train(straight, optimizer, 10)

    resumed, resumed_optimizer = fresh()
    loaded = load_checkpoint(path)
    resumed.load_state_dict(loaded.model)
    resumed_optimizer.load_state_dict(restore_state(loaded.tensors["optimizer"], loaded.state["optimizer"]))
    restore_random_states(restore_state(loaded.tensors["random"], loaded.state["random"]), {})
    train(resumed, resumed_optimizer, 10)
    for name, tensor in straight.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor)


def test_g5_another_architecture_is_refused_and_both_are_named(store: CheckpointStore) -> None:
    path = save(store, 1)
    wanted = {**ARCHITECTURE, "blocks": 20}
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, wanted)
    message = str(caught.value)
    assert str(path) in message and repr(ARCHITECTURE) in message and repr(wanted) in message
    assert "blocks is 4 but 20 is wanted" in message
    assert value_of(load_checkpoint(path, dict(reversed(ARCHITECTURE.items())))) == 1


def assert_damage_is_found(path: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(path)


@pytest.mark.parametrize("name", FILES)
def test_sha_every_bit_flip_is_found(store: CheckpointStore, name: str) -> None:
    path = save(store, 3)
    file = path / name
    whole = file.read_bytes()
    flips = random.Random(name).sample(range(len(whole) * 8), 150)
    for position in flips:
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        file.write_bytes(damaged)
        assert_damage_is_found(path, name)
    file.write_bytes(whole)
    assert value_of(load_checkpoint(path)) == 3


@pytest.mark.parametrize("name", FILES)
def test_truncated_longer_and_missing_files_are_found(store: CheckpointStore, name: str) -> None:
    path = save(store, 3)
    file = path / name
    whole = file.read_bytes()
    for length in {0, 1, 7, 8, 9, *range(0, len(whole), max(len(whole) // 40, 1)), len(whole) - 1}:
        file.write_bytes(whole[:length])
        assert_damage_is_found(path, name)
    for more in (b"\0", b" ", b"\n", whole):
        file.write_bytes(whole + more)
        assert_damage_is_found(path, name)
    file.unlink()
    assert_damage_is_found(path, f"{name} is missing")


def test_files_of_two_checkpoints_cannot_be_mixed(store: CheckpointStore) -> None:
    one, two = save(store, 1), save(store, 2)
    shutil.copy(one / "model.safetensors", two / "model.safetensors")
    assert_damage_is_found(two, r"model\.safetensors")


def damage(path: Path, name: str = "model.safetensors") -> None:
    whole = bytearray((path / name).read_bytes())
    whole[len(whole) // 2] ^= 1
    (path / name).write_bytes(whole)


def test_1c_damaged_checkpoints_are_skipped_and_named_and_the_previous_one_is_used(
    store: CheckpointStore,
) -> None:
    paths = [save(store, update) for update in range(1, 5)]
    damage(paths[3])
    (paths[2] / MANIFEST_FILE).unlink()
    found = CheckpointFolder(store.folder).latest_good()
    assert value_of(found.checkpoint) == 2
    assert [skipped.path for skipped in found.skipped] == [paths[3], paths[2]]
    assert "model.safetensors is damaged" in found.skipped[0].reason
    assert "manifest.json is missing" in found.skipped[1].reason


def test_1c_no_good_checkpoint_is_an_error_that_names_every_one(store: CheckpointStore) -> None:
    with pytest.raises(NoGoodCheckpointError, match=r"no checkpoint in .*checkpoints; .*start a new run"):
        store.latest_good()
    for update in (1, 2):
        damage(save(store, update), "state.json")
    with pytest.raises(NoGoodCheckpointError) as caught:
        store.latest_good()
    assert all(f"update-0000000{update}" in str(caught.value) for update in (1, 2))
    with pytest.raises(NoGoodCheckpointError):
        CheckpointFolder(store.folder / "missing").latest_good()


def test_a_folder_whose_name_and_content_disagree_is_skipped(store: CheckpointStore) -> None:
    save(store, 1).rename(store.folder / "update-00000009")
    save(store, 2)
    found = store.latest_good()
    assert value_of(found.checkpoint) == 2
    assert "holds update 1" in found.skipped[0].reason


def test_only_checkpoint_folders_are_listed_in_the_order_of_updates(store: CheckpointStore) -> None:
    for update in (123_456_789, 99, 100):
        save(store, update)
    for name in ("update-7", "update-000000099", "other", ".tmp-update-00000200-abc"):
        (store.folder / name).mkdir()
    (store.folder / "update-00000300").write_text("a file")
    assert [path.name for path in store.paths()] == ["update-00000099", "update-00000100", "update-123456789"]


def test_a_newer_format_stops_the_search_instead_of_going_back_behind_it(store: CheckpointStore) -> None:
    save(store, 1)
    path = save(store, 2)
    body = {**read_manifest(path).__dict__, "format_version": 9, "files": {}}
    (path / MANIFEST_FILE).write_bytes(Manifest(**body).to_bytes())
    with pytest.raises(NewerCheckpointError, match="update-00000002 has format 9"):
        store.latest_good()


class Explosion:
    """Unpickling this writes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def forge(path: Path, name: str, data: bytes) -> None:
    """Put ``data`` into a checkpoint whose manifest vouches for it."""
    manifest = read_manifest(path)
    files = {**manifest.files, name: FileDigest.of(data)}
    (path / name).write_bytes(data)
    (path / MANIFEST_FILE).write_bytes(Manifest(**{**manifest.__dict__, "files": files}).to_bytes())


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_inside_a_hostile_checkpoint_is_never_executed(store: CheckpointStore, name: str) -> None:
    marker = store.folder / "executed"
    bomb = pickle.dumps(Explosion(marker))
    pickle.loads(bomb)
    assert marker.exists()  # the bomb works
    marker.unlink()

    path = save(store, 1)
    if name == MANIFEST_FILE:
        (path / name).write_bytes(bomb)
    else:
        forge(path, name, bomb)
    assert_damage_is_found(path, name)
    torch_zip = store.folder / "torch.pt"
    torch.save({"weight": Explosion(marker)}, torch_zip)
    if name != MANIFEST_FILE:
        forge(save(store, 1), name, torch_zip.read_bytes())
        assert_damage_is_found(path, name)
    with pytest.raises(NoGoodCheckpointError):
        store.latest_good()
    assert not marker.exists()


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b"nonsense", b"3", b'{"a": ' * 50_000, b"\xff", b"9" * 10_000]
)
def test_a_hostile_state_is_a_clear_error(store: CheckpointStore, text: bytes) -> None:
    path = save(store, 1)
    forge(path, "state.json", text)
    assert_damage_is_found(path, r"state\.json cannot be decoded")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nothing_that_is_not_finite_is_saved_and_older_ones_stay(store: CheckpointStore, bad: float) -> None:
    save(store, 1)
    before = names(store.folder)
    for value, place in ((torch.tensor([1.0, bad]), "'model: weight'"), (torch.ones(2), "state 'loss'")):
        with pytest.raises(CheckpointError, match=place):
            store.save(
                2,
                plies=2,
                architecture=ARCHITECTURE,
                tensors={"model": {"weight": value}},
                state={"loss": bad},
            )
    assert names(store.folder) == before
    assert value_of(store.latest_good().checkpoint) == 1


def test_saving_an_update_again_replaces_it(store: CheckpointStore) -> None:
    save(store, 1, value=10)
    save(store, 1, value=20)
    assert names(store.folder) == ["update-00000001"]
    assert value_of(store.latest_good().checkpoint) == 20


def test_tmp_what_a_killed_trainer_left_is_cleared_by_the_next_trainer_only(store: CheckpointStore) -> None:
    path = save(store, 1)
    shutil.copytree(path, store.folder / ".tmp-update-00000002-abcd")
    (store.folder / ".tmp-best-1234").write_text("update-0")
    before = names(store.folder)
    assert value_of(CheckpointFolder(store.folder).latest_good().checkpoint) == 1
    assert names(store.folder) == before  # a viewer changes nothing
    assert value_of(CheckpointStore(store.folder).latest_good().checkpoint) == 1
    assert names(store.folder) == ["update-00000001"]


def test_tmp_a_replacement_that_was_cut_short_is_undone(store: CheckpointStore) -> None:
    save(store, 1, value=5).rename(store.folder / ".old-update-00000001")
    assert value_of(CheckpointStore(store.folder).latest_good().checkpoint) == 5
    shutil.copytree(store.folder / "update-00000001", store.folder / ".old-update-00000001")
    CheckpointStore(store.folder)
    assert names(store.folder) == ["update-00000001"]


def updates(store: CheckpointFolder) -> list[int]:
    return [int(path.name.removeprefix("update-")) for path in store.paths()]


def test_retention_keeps_the_newest_the_milestones_and_the_best(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=3, keep_every=10)
    for update in range(1, 26):
        path = save(store, update)
        if update in (4, 7):
            store.mark_best(path)
    assert updates(store) == [7, 10, 20, 23, 24, 25]
    assert store.best_path() == tmp_path / "update-00000007"


def test_retention_keeps_what_somebody_holds_until_it_is_let_go(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1)
    first, second = save(store, 1), store.path_of(2)
    store.hold("one", [first])
    store.hold("other", [first, second])
    for update in (2, 3, 4):
        save(store, update)
    assert updates(store) == [1, 2, 4]
    store.hold("other", [])
    save(store, 5)
    assert updates(store) == [1, 5]
    store.hold("one", [tmp_path / "update-00000404"])
    save(store, 6)
    assert updates(store) == [6]


def test_going_back_removes_later_checkpoints(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=9)
    for update in range(1, 6):
        save(store, update)
    store.remove_after(3)
    assert updates(store) == [1, 2, 3]
    assert store.path_of(3) == store.latest_good().checkpoint.path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    steps=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=12),
    keep_last=st.integers(1, 4),
    keep_every=st.integers(0, 5),
)
def test_retention_equals_a_slow_reference(tmp_path_factory, steps, keep_last: int, keep_every: int) -> None:
    store = CheckpointStore(tmp_path_factory.mktemp("retention"), keep_last, keep_every)
    update, alive, best = 0, [], None
    for jump, is_best in steps:
        update += jump
        path = save(store, update)
        alive.append(update)
        alive = [
            old
            for rank, old in enumerate(reversed(alive))
            if rank < keep_last or (keep_every and old % keep_every == 0) or old == best
        ][::-1]
        if is_best:
            store.mark_best(path)
            best = update
        assert updates(store) == alive


def test_what_was_just_saved_is_kept_even_behind_damaged_later_ones(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=2)
    for update in (8, 9):
        damage(save(store, update))
    save(store, 5)
    save(store, 6)
    save(store, 7)
    assert updates(store) == [6, 7, 8, 9]
    assert value_of(store.latest_good().checkpoint) == 7


@pytest.mark.parametrize("arguments", [(0, 0), (1, -1)])
def test_a_store_that_would_keep_nothing_is_refused(tmp_path: Path, arguments: tuple[int, int]) -> None:
    with pytest.raises(CheckpointError, match="keep_last"):
        CheckpointStore(tmp_path, *arguments)


def test_the_best_pointer_names_a_checkpoint_here_or_is_refused(
    store: CheckpointStore, tmp_path: Path
) -> None:
    assert store.best_path() is None
    path = save(store, 1)
    for wrong in (tmp_path / "update-00000001", store.folder / "update-00000002", store.folder):
        with pytest.raises(CheckpointError, match="pass what save"):
            store.mark_best(wrong)
    store.mark_best(path)
    for text in (b"", b"../../etc", b"\xff", b"update-1"):
        (store.folder / "best").write_bytes(text)
        with pytest.raises(CheckpointError, match="mark the best again"):
            store.best_path()
    (store.folder / "best").write_bytes(b"update-00000404\n")
    assert store.best_path() is None


SAVE_UNDER_A_LIMIT = (PROGRAMS / "save_under_a_limit.py").read_text(encoding="utf-8")


def assert_full_disk_was_survived(output: str, errors: str) -> None:
    assert errors == ""
    failure, found, after = output.splitlines()
    assert (
        "cannot write the checkpoint" in failure and "update-00000002" in failure and "disk space" in failure
    )
    assert found == "1 0 ['update-00000001']"
    assert after == "3"


def test_a_write_that_fails_half_way_leaves_the_previous_checkpoint(tmp_path: Path, start_python) -> None:
    assert_full_disk_was_survived(*start_python(SAVE_UNDER_A_LIMIT, tmp_path, 1_000_000).communicate())


def can_mount_a_small_disk(folder: Path) -> bool:
    mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(mount, check=False, capture_output=True).returncode == 0
    )


@pytest.mark.optional
def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path: Path, start_python) -> None:
    if not can_mount_a_small_disk(tmp_path):
        pytest.skip("mounting a small disk needs user namespaces")
    shell = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'
    process = start_python(
        SAVE_UNDER_A_LIMIT, tmp_path, prefix=("unshare", "-rm", "sh", "-c", shell, str(tmp_path))
    )
    assert_full_disk_was_survived(*process.communicate())


SAVE_AS_AN_ORDINARY_USER = (PROGRAMS / "save_as_an_ordinary_user.py").read_text(encoding="utf-8")


def test_no_permission_is_a_clear_error(tmp_path: Path, start_python) -> None:
    tmp_path.chmod(0o555)
    output, errors = start_python(SAVE_AS_AN_ORDINARY_USER, tmp_path).communicate()
    tmp_path.chmod(0o700)
    assert errors == ""
    assert "Permission denied" in output and "choose a place that you may write to" in output


KILL_DURING_SAVES = (PROGRAMS / "kill_during_saves.py").read_text(encoding="utf-8")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its victims")
def test_20_kill_9_during_saves_never_leave_a_torn_checkpoint(tmp_path: Path, start_python) -> None:
    output, errors = start_python(KILL_DURING_SAVES, tmp_path, 20).communicate()
    assert errors == ""
    report = json.loads(output)
    assert len(report) == 20
    assert all(entry["is_whole"] and entry["skipped"] == 0 and entry["lost"] <= 0 for entry in report)
    assert sum(entry["was_saving"] for entry in report) >= 5  # the kills did hit saves


KILL_AT_EVERY_STEP = (PROGRAMS / "kill_at_every_step.py").read_text(encoding="utf-8")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its victims")
def test_tmp_a_kill_before_any_file_operation_loses_nothing_that_was_saved(
    tmp_path: Path, start_python
) -> None:
    output, errors = start_python(KILL_AT_EVERY_STEP, tmp_path).communicate()
    assert errors == ""
    report = json.loads(output)
    values = [value for value, _, _ in report]
    assert set(values) == {3, 33, 4, 5}  # before and after each of the three saves
    assert values == sorted(values, key=[3, 33, 4, 5].index)  # never back behind a finished save
    assert all(skipped == 0 and left == [] for _, skipped, left in report)
    assert len(report) > 30
