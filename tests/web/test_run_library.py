import os
from pathlib import Path

import pytest
from recorded_runs import record_run

from keisei.errors import RunDirectoryError
from keisei.web.run_library import RunLibrary


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for age, name in enumerate(("new", "old")):
        run = record_run(folder, name, updates=1, games=1)
        run.lock_path.touch()
        os.utime(run.lock_path, (1000.0 - age, 1000.0 - age))
    return folder


def test_folder_shows_all_its_runs_the_one_trained_last_first(runs: Path) -> None:
    assert RunLibrary.find(str(runs), Path("elsewhere")).names() == ["new", "old"]
    assert RunLibrary.find(None, runs).names() == ["new", "old"]


@pytest.mark.parametrize("by_path", [True, False])
def test_one_run_is_shown_alone(runs: Path, by_path: bool) -> None:
    library = RunLibrary.find(str(runs / "old") if by_path else "old", runs)
    assert library.names() == ["old"]
    with pytest.raises(RunDirectoryError):
        library.feed("new")


def test_unknown_run_is_refused_with_the_nearest_name(runs: Path) -> None:
    with pytest.raises(RunDirectoryError, match="did you mean 'old'"):
        RunLibrary.find("olt", runs)


@pytest.mark.parametrize("name", ["../old", "old/", "old/../old", "", ".", "/etc", "old\0"])
def test_names_never_become_paths(runs: Path, name: str) -> None:
    with pytest.raises(RunDirectoryError, match="no run called"):
        RunLibrary(runs).feed(name)


def test_empty_folder_is_no_error(tmp_path: Path) -> None:
    assert RunLibrary(tmp_path / "none").names() == []


def test_feed_is_shared(runs: Path) -> None:
    library = RunLibrary(runs)
    assert library.feed("old") is library.feed("old")
    library.close()


def test_a_beat_looks_at_the_runs_that_somebody_watches(runs: Path) -> None:
    library = RunLibrary(runs)
    heard: list[str] = []
    library.feed("new").listeners.append(lambda: heard.append("new"))
    library.feed("old")
    library.beat()
    library.beat()
    assert heard == ["new"]
