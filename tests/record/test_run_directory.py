"""Tests of keisei.record.run_directory."""

import json
import os
import re
from pathlib import Path

import pytest

from keisei.errors import RunDirectoryError
from keisei.record.run_directory import FORMAT_FILE, FORMAT_VERSION, RunDirectory, list_runs, scan_runs

# A root user passes every permission check, so the program becomes nobody after its imports.
CREATE_AS_AN_ORDINARY_USER = """
import os, sys
from pathlib import Path
from keisei.errors import RunDirectoryError
from keisei.record.run_directory import RunDirectory

if os.geteuid() == 0:
    os.setuid(65534)
try:
    RunDirectory.create(Path(sys.argv[1]))
except RunDirectoryError as error:
    print(error)
"""

CREATE_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from keisei.errors import RunDirectoryError
from keisei.record.run_directory import RunDirectory

run = RunDirectory.create(Path(sys.argv[1]), "first")
run.write_config("a: 1")
resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
second = lambda: RunDirectory.create(Path(sys.argv[1]), "second")
for action in (second, lambda: run.write_config("b: 2" * 9)):
    try:
        action()
    except RunDirectoryError as error:
        print(error)
"""


def test_a_new_run_has_a_readable_name_and_its_paths_lie_inside(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "deep" / "runs")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-[a-z]+-[a-z]+", run.name)
    assert run.checkpoints_path.is_dir()
    names = {
        p.name for p in (run.config_path, run.journal_path, run.checkpoints_path, run.log_path, run.lock_path)
    }
    assert names == {"config.yaml", "journal.sqlite", "checkpoints", "log.txt", "lock"}
    assert RunDirectory.open(run.path) == run


def test_names_are_never_used_twice_even_when_all_are_taken(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("keisei.record.run_names.ADJECTIVES", ("calm",))
    monkeypatch.setattr("keisei.record.run_names.NOUNS", ("rook",))
    runs = [RunDirectory.create(tmp_path) for _ in range(5)]
    assert len({run.path for run in runs}) == 5


def test_an_existing_run_or_folder_is_never_overwritten(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "mine")
    run.write_config("kept: true\n")
    (tmp_path / "folder").mkdir()
    for name in ("mine", "folder"):
        with pytest.raises(RunDirectoryError, match=f"'{name}' exists already.*--resume {name}"):
            RunDirectory.create(tmp_path, name)
    assert run.config_path.read_text() == "kept: true\n"
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_bad_name_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"'\.\./out'"):
        RunDirectory.create(tmp_path / "runs", "../out")
    assert list(tmp_path.iterdir()) == []


def write_description(path: Path, description: object) -> None:
    (path / FORMAT_FILE).write_text(json.dumps(description))


def test_a_newer_format_is_refused_and_named(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path)
    write_description(
        run.path, {"format_version": FORMAT_VERSION + 6, "created": "2040-01-01T00:00:00+00:00"}
    )
    with pytest.raises(
        RunDirectoryError, match=rf"format {FORMAT_VERSION + 6}.*up to {FORMAT_VERSION}.*upgrade"
    ):
        RunDirectory.open(run.path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format_version": "1", "created": "2026-01-01"}',
        '{"format_version": 1, "created": 5}',
        '{"format_version": 0, "created": "2026-01-01"}',
        '{"format_version": 1, "created": "yesterday"}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_a_damaged_format_file_is_a_clear_error(tmp_path: Path, text: str) -> None:
    run = RunDirectory.create(tmp_path)
    (run.path / FORMAT_FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(RunDirectoryError, match=r"run\.json is damaged"):
        RunDirectory.open(run.path)


@pytest.mark.parametrize("name", ["missing", "file", "empty"])
def test_what_is_no_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunDirectoryError, match=f"{name} is no run folder"):
        RunDirectory.open(tmp_path / name)


def test_runs_are_listed_by_age_and_unreadable_ones_with_their_reason(tmp_path: Path) -> None:
    for name, year in (("young", 2027), ("old", 2025)):
        run = RunDirectory.create(tmp_path, name)
        write_description(run.path, {"format_version": 1, "created": f"{year}-01-01T00:00:00+00:00"})
    write_description(
        RunDirectory.create(tmp_path, "new").path, {"format_version": 9, "created": "2030-01-01"}
    )
    (tmp_path / "no-run").mkdir()
    found, refused = scan_runs(tmp_path)
    assert [run.name for run in found] == ["old", "young"]
    assert len(refused) == 1 and "format 9" in str(refused[0])
    assert list_runs(tmp_path / "missing") == []


def test_a_run_is_found_by_name_by_path_and_by_who_trained_last(tmp_path: Path) -> None:
    first, second = RunDirectory.create(tmp_path, "first"), RunDirectory.create(tmp_path, "second")
    for run in (second, first):
        run.lock().release()
    os.utime(second.lock_path, (1, 1))
    assert RunDirectory.find(tmp_path, "second") == second
    assert RunDirectory.find(tmp_path / "elsewhere", str(first.path)) == first
    assert RunDirectory.find(tmp_path, "auto") == first
    with pytest.raises(RunDirectoryError, match=r"'secnd'.*did you mean 'second'\?"):
        RunDirectory.find(tmp_path, "secnd")
    with pytest.raises(RunDirectoryError, match="no run to continue"):
        RunDirectory.find(tmp_path / "elsewhere", "auto")


def test_the_folder_knows_its_trainer(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path)
    assert run.trainer_pid is None
    with run.lock():
        assert run.trainer_pid == os.getpid()
    assert run.trainer_pid is None


def test_no_permission_is_a_clear_error(tmp_path: Path, start_python) -> None:
    runs = tmp_path / "closed"
    runs.mkdir()
    runs.chmod(0o555)
    try:
        output, errors = start_python(CREATE_AS_AN_ORDINARY_USER, runs).communicate()
    finally:
        runs.chmod(0o700)
    assert errors == ""
    assert str(runs) in output and "Permission denied" in output and "--runs DIR" in output
    assert list(runs.iterdir()) == []


def test_no_disk_space_is_a_clear_error_and_loses_nothing(tmp_path: Path, start_python) -> None:
    output, errors = start_python(CREATE_UNDER_A_LIMIT, tmp_path).communicate()
    assert errors == ""
    creation, configuration = output.splitlines()
    assert "cannot create a run folder" in creation and "free some disk space" in creation
    assert "cannot write" in configuration and "config.yaml" in configuration
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
    assert RunDirectory.open(tmp_path / "first").config_path.read_text() == "a: 1"
