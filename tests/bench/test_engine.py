from bad_contestants import Absent, Dies, Even

from keisei.bench.engine import Plan, run
from keisei.bench.measurement import Budget, Workload

BRIEF = Plan(repetitions=2, budget=Budget(seconds=0.02, perft_depth=2), timeout_seconds=60.0, most_threads=2)


def test_a_run_measures_us_and_the_able_and_names_the_others() -> None:
    said: list[str] = []
    table = run(BRIEF, rivals=[Even(), Dies(), Absent()], progress=said.append)
    ours = table.row(Workload.PERFT, "Keisei")
    assert ours is not None
    assert len(ours.values) == 2
    ratio = table.ratio(ours, "cshogi")
    assert ratio is not None
    assert min(ours.values) / 1_000 <= ratio <= max(ours.values) / 1_000
    assert table.absent["absent"] == "pip install absent"
    assert "process ended" in table.absent["bad"]
    assert table.row(Workload.PERFT, "bad") is None
    assert any("process ended" in line for line in said)


def test_our_own_figures_are_all_there() -> None:
    table = run(BRIEF, rivals=[])
    figures = [row.figure for row in table.rows]
    play = Workload.MOVE_LISTS
    scaling = [f"{play}, threads: 1", f"{play}, threads: 2", "gain, threads: 2"]
    assert figures == [*Workload, *scaling, "import keisei.shogi", "packed position"]
    assert all(row.low > 0 for row in table.rows)
