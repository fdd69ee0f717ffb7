"""Scripts behind figures run as their documents say, and write what they found."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ENVIRONMENT

REPOSITORY = Path(__file__).resolve().parents[2]
COLUMNS = 5
TINY = (
    "--env.num_games=8",
    "--training.rollout_plies=8",
    "--training.minibatch_size=32",
    "--model.blocks=1",
    "--model.channels=8",
)


def figures_of(results: Path, script: str, *arguments: str) -> dict[tuple[str, str], float]:
    """The figures that a script appended to a file of results, by name and subject."""
    command = [sys.executable, f"benchmarks/{script}", *arguments, "--results", str(results)]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=ENVIRONMENT, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in results.read_text(encoding="utf-8").splitlines()]
    measured = [row for row in rows if len(row) == COLUMNS and row[0] != "figure"]
    figures = {(name, subject): float(value.split()[0]) for name, subject, value, *_ in measured}
    assert figures
    for name, subject in figures:
        assert name in done.stdout
        assert subject in done.stdout
    return figures


def test_parallel_measures_workers_beside_threads(tmp_path: Path) -> None:
    options = ("--workers=1,2", "--only=collection", "--repetitions=1", "--updates=1")
    figures = figures_of(tmp_path / "results.md", "parallel.py", *options, *TINY)
    rate = "parallel: collection"
    assert {subject for name, subject in figures if name == rate} == {
        "in-process, all threads",
        "1 worker",
        "2 workers",
    }
    assert all(value > 0 for value in figures.values())


def test_stability_kills_workers_and_finds_every_row(tmp_path: Path) -> None:
    figures = figures_of(tmp_path / "results.md", "stability.py", "--duration=2", *TINY)
    by_name = {name.removeprefix("stability: "): value for (name, _), value in figures.items()}
    assert by_name["rows received"] > 0
    assert by_name["kills"] + by_name["stops"] > 0
    for name in ("rows doubled", "rows missing in the ledger", "rows corrupt", "zombies"):
        assert by_name[name] == 0, name


def test_mates_are_looked_for_and_not(tmp_path: Path) -> None:
    options = ("--games=8", "--plies=4", "--repetitions=2")
    figures = figures_of(tmp_path / "results.md", "mates.py", *options)
    assert figures.keys() == {("step", "without mates"), ("step", "with mates")}


@pytest.mark.parametrize("mode", ["serial", "parallel"])
def test_profile_shows_where_the_time_goes(tmp_path: Path, mode: str) -> None:
    options = (f"--mode={mode}", "--workers=1", "--timesteps=128")
    figures = figures_of(tmp_path / "results.md", "profile_training.py", *options, *TINY)
    shares = [value for (name, _), value in figures.items() if name.startswith("profile: share of ")]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert (("profile: workers busy", "parallel, 1 workers") in figures) == (mode == "parallel")


def test_the_door_is_measured_beside_its_rivals(tmp_path: Path) -> None:
    figures = figures_of(tmp_path / "results.md", "door.py", "--repetitions=1", "--transfers=8")
    media = {"slots in shared memory", "multiprocessing.Pipe", "multiprocessing.Queue"}
    assert {subject for _, subject in figures} == media
    assert all(value > 0 for value in figures.values())
