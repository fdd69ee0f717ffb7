"""`keisei runs` and `keisei inspect`: what is there, and whether it can be trusted."""

from pathlib import Path

import pytest
from command_line import call_keisei
from tiny_runs import latest, new_run

from keisei.record.run_directory import RunDirectory

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


# ---- runs


def test_runs_lists_progress_and_strength(capsys: Capture, measured_run: RunDirectory, runs: Path) -> None:
    new_run(runs, "untouched")
    called = call_keisei(capsys, "runs", "--runs", runs)
    assert called.code == 0
    (measured,) = (line for line in called.out.splitlines() if "measured" in line)
    assert " 2 " in measured
    assert " 128 " in measured
    assert "random " in measured
    assert "%" in measured
    assert "after update 2" in measured, "the strongest"
    assert "at rest" in measured
    (untouched,) = (line for line in called.out.splitlines() if "untouched" in line)
    assert " 0 " in untouched


@pytest.mark.parametrize("exists", [True, False])
def test_an_empty_folder_says_how_to_begin(capsys: Capture, tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "none"
    if exists:
        folder.mkdir()
    called = call_keisei(capsys, "runs", "--runs", folder)
    assert called.code == 0
    assert "keisei train" in called.out


def test_one_damaged_run_does_not_hide_the_others(
    capsys: Capture, measured_run: RunDirectory, runs: Path
) -> None:
    broken, newer = new_run(runs, "broken"), new_run(runs, "newer")
    broken.journal_path.write_bytes(b"not a database" * 100)
    (newer.path / "run.json").write_text('{"format_version": 99, "created": "2026-01-01T00:00:00+00:00"}')
    called = call_keisei(capsys, "runs", "--runs", runs)
    assert called.code == 0
    assert "measured" in called.out
    assert f"not readable: cannot open the journal {broken.journal_path}" in called.out.replace("\n", "")
    assert "format 99" in called.out


# ---- inspect


@pytest.mark.parametrize("by_path", [True, False])
def test_inspect_shows_a_run_with_its_checkpoints_verified(
    capsys: Capture, measured_run: RunDirectory, runs: Path, by_path: bool
) -> None:
    target = measured_run.path if by_path else "measured"
    called = call_keisei(capsys, "inspect", target, "--runs", runs)
    assert called.code == 0, called.err
    assert "run measured: 2 updates, 128 plies" in called.out
    assert "entropy " in called.out
    assert "against random " in called.out
    assert called.out.count(": verified") == 3
    assert "after update 2; play against it as policy:measured@strongest" in called.out
    assert [
        line.split(":")[0].strip() for line in called.out.splitlines() if line.endswith(", the strongest")
    ] == ["update-00000002"]
    assert "NOT GOOD" not in called.out


def test_inspect_names_the_checkpoint_that_is_damaged(
    capsys: Capture, measured_run: RunDirectory, runs: Path
) -> None:
    damage(latest(measured_run).path / "model.safetensors")
    called = call_keisei(capsys, "inspect", "measured", "--runs", runs)
    assert called.code == 0
    assert "update-00000002: NOT GOOD" in called.out
    assert "model.safetensors is damaged" in called.out
    assert called.out.count(": verified") == 2
    (latest(measured_run).path.parent / "best").write_bytes(b"nonsense")
    called = call_keisei(capsys, "inspect", "measured", "--runs", runs)
    assert called.code == 0
    assert "mark the best again" in called.out


def test_inspect_shows_the_events_of_a_run(capsys: Capture, measured_run: RunDirectory, runs: Path) -> None:
    call_keisei(capsys, "train", "--resume", measured_run.path)
    assert "continued from update 2" in call_keisei(capsys, "inspect", "measured", "--runs", runs).out


def test_inspect_shows_a_checkpoint(capsys: Capture, measured_run: RunDirectory) -> None:
    path = latest(measured_run).path
    called = call_keisei(capsys, "inspect", path)
    assert called.code == 0
    assert f"checkpoint {path}: verified" in called.out
    assert "update 2, 128 plies" in called.out
    assert "'channels': 8" in called.out
    parameters = sum(tensor.numel() for tensor in latest(measured_run).model.values())
    assert f"{parameters:,} parameters" in called.out
    for name in ("model.safetensors", "training.safetensors", "state.json"):
        assert name in called.out


def test_inspect_shows_the_shipped_network_and_where_its_card_is(capsys: Capture) -> None:
    called = call_keisei(capsys, "inspect", "shipped")
    assert called.code == 0
    assert "verified" in called.out
    card = Path(called.out.splitlines()[-1].removeprefix("model card "))
    assert card.read_text(encoding="utf-8").startswith("# The network `shipped`")


def test_inspect_refuses_a_damaged_checkpoint(capsys: Capture, measured_run: RunDirectory) -> None:
    path = latest(measured_run).path
    damage(path / "state.json")
    call_keisei(capsys, "inspect", path).assert_refused(1, "state.json", "SHA-256")


def test_a_run_that_never_began_can_be_inspected(capsys: Capture, runs: Path) -> None:
    new_run(runs, "untouched")
    called = call_keisei(capsys, "inspect", "untouched", "--runs", runs)
    assert called.code == 0
    assert "0 updates" in called.out


def test_what_is_not_there_is_refused_with_a_suggestion(
    capsys: Capture, measured_run: RunDirectory, runs: Path
) -> None:
    call_keisei(capsys, "inspect", "mesured", "--runs", runs).assert_refused(1, "did you mean 'measured'?")
    call_keisei(capsys, "inspect", runs / "nothing").assert_refused(1, "nothing")
    assert call_keisei(capsys, "inspect").code == 2
