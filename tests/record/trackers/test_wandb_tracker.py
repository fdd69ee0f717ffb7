"""Weights & Biases for real, as far as that goes without its server: offline, unreachable, refused, resumed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from process_watch import PATIENCE_SECONDS
from tracked_runs import black_hole, start_of, wandb_history, wandb_records

from keisei.record.trackers.messages import Artifact, Figures, Start
from keisei.record.trackers.tracker_process import TrackerProcess
from keisei.record.trackers.wandb_tracker import retried, run_id, unreachable


@pytest.fixture(autouse=True)
def _own_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the account nor the folders of the person who runs the tests."""
    for name in ("MODE", "API_KEY", "BASE_URL", "ENTITY", "PROJECT", "RUN_ID", "DIR"):
        monkeypatch.delenv(f"WANDB_{name}", raising=False)
    for name in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "own"))
    monkeypatch.setenv("NETRC", str(tmp_path / "own" / "netrc"))


def kept_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("wandb/offline-run-*/*.wandb"))


def track(folder: Path, start: Start, *messages: Any) -> list[str]:
    """Send messages through the real process; returns its reports."""
    process = TrackerProcess(start, folder / "trackers.log", 100)
    for message in messages:
        process.send(message)
    process.finish(PATIENCE_SECONDS, failed=False)
    return process.take_reports()


@contextmanager
def refusing_server() -> Iterator[str]:
    """Answers everything with 404."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_offline_keeps_figures_settings_and_checkpoints_and_a_resumed_run_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    checkpoint = tmp_path / "checkpoints" / "update-2"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.safetensors").write_bytes(b"weights")
    first = [Figures(1, {"train/loss": 0.5}), Figures(2, {"train/loss": 0.25})]
    start = start_of(tmp_path, "wandb", mode="auto")
    assert track(tmp_path, start, *first, Artifact(2, str(checkpoint)), Artifact(3, "gone")) == [
        "tracker wandb: ValueError: Path is not a directory: 'gone'; the run goes on, its journal has everything"
    ]
    (file,) = kept_files(tmp_path)
    records = wandb_records(file)
    assert wandb_history(records) == [
        {"update": 1, "train/loss": 0.5},
        {"update": 2, "train/loss": 0.25},
    ]
    (run,) = [record.run for record in records if record.HasField("run")]
    assert (run.project, run.display_name) == ("keisei-tests", "quiet-lance")
    (artifact,) = [record.artifact for record in records if record.HasField("artifact")]
    assert [entry.path for entry in artifact.manifest.contents] == ["model.safetensors"]
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]

    assert track(tmp_path, start_of(tmp_path, "wandb", update=2), Figures(3, {"train/loss": 0.1})) == []
    (second_file,) = set(kept_files(tmp_path)) - {file}
    (resumed,) = [record.run for record in wandb_records(second_file) if record.HasField("run")]
    assert resumed.run_id == run.run_id == run_id(tmp_path)


def test_a_server_that_never_answers_means_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    with black_hole() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        reports = track(tmp_path, start_of(tmp_path, "wandb", mode="online"), Figures(1, {"loss": 0.5}))
    (report,) = reports
    assert f"{address} does not answer" in report
    (file,) = kept_files(tmp_path)
    assert f"wandb sync {file.parent}" in report
    assert wandb_history(wandb_records(file)) == [{"update": 1, "loss": 0.5}]


def test_nobody_logged_in_means_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_server() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        (report,) = track(tmp_path, start_of(tmp_path, "wandb", mode="online"), Figures(1, {"loss": 0.5}))
    assert "wandb login" in report
    (file,) = kept_files(tmp_path)
    assert wandb_history(wandb_records(file)) == [{"update": 1, "loss": 0.5}]


def test_any_answer_is_an_answer() -> None:
    with refusing_server() as address:
        assert unreachable(address) is None


def test_no_answer_is_explained() -> None:
    with black_hole() as address:
        assert "timed out" in str(unreachable(address, timeout_seconds=0.1))
    assert "refused" in str(unreachable(address))
    assert "unknown url type" in str(unreachable("nonsense"))


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error

    def __call__(self) -> str:
        if self.failures:
            self.failures -= 1
            raise self.error
        return "sent"


def test_what_fails_is_tried_again_after_each_pause() -> None:
    pauses: list[float] = []
    assert retried(Flaky(2, TimeoutError()), (1.0, 5.0, 25.0), (TimeoutError,), pauses.append) == "sent"
    assert pauses == [1.0, 5.0]


def test_what_fails_for_good_or_unexpectedly_is_raised() -> None:
    pauses: list[float] = []
    with pytest.raises(TimeoutError):
        retried(Flaky(9, TimeoutError()), (1.0, 5.0), (TimeoutError,), pauses.append)
    assert pauses == [1.0, 5.0]
    with pytest.raises(ValueError, match="nonsense"):
        retried(Flaky(1, ValueError("nonsense")), (1.0,), (TimeoutError,), pauses.append)
