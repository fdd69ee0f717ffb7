"""The loop of the trackers' process, without the process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tracked_runs import start_of, tensorboard_scalars

from keisei.record.trackers.child import serve
from keisei.record.trackers.messages import Figures, Finish, Message, encode


def served(*messages: Message) -> list[str]:
    reports: list[str] = []
    serve(map(encode, messages), reports.append)
    return reports


def test_messages_after_the_last_are_not_read(tmp_path: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield encode(start_of(tmp_path))
        yield encode(Finish(failed=False))
        raise AssertionError("read on after the end")

    serve(lines(), pytest.fail)


def test_a_trainer_that_is_gone_leaves_whole_files(tmp_path: Path) -> None:
    assert served(start_of(tmp_path, "tensorboard"), Figures(1, {"loss": 0.5})) == []
    assert tensorboard_scalars(tmp_path) == {"loss": [(1, 0.5)]}


def test_nothing_to_read_is_no_error() -> None:
    serve([], pytest.fail)


def test_a_tracker_that_fails_is_reported_once_for_each_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Figures(1, {"loss": "no number"})  # type: ignore[dict-item]
    reports = served(start_of(tmp_path, "tensorboard"), bad, bad, Figures(2, {"loss": 0.5}), Finish(False))
    assert len(reports) == 1
    assert "tensorboard" in reports[0]
    assert "its journal has everything" in reports[0]
    assert "Traceback" in capsys.readouterr().err, "the log has the details"
    assert tensorboard_scalars(tmp_path) == {"loss": [(2, 0.5)]}


def test_a_tracker_that_cannot_begin_does_not_keep_others_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a file").write_text("not a folder")
    reports = served(start_of(tmp_path / "a file", "tensorboard"), Figures(1, {"loss": 0.5}))
    assert len(reports) == 1
    assert "a file" in reports[0]
