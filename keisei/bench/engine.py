"""The engine benchmark: ours and every installed rival, interleaved, several times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from keisei.bench.contestant_process import ContestantProcess
from keisei.bench.keisei_engine import Keisei
from keisei.bench.measurement import Budget, Contestant, Workload
from keisei.bench.rivals import RIVALS
from keisei.bench.table import Row, Table
from keisei.errors import RivalError
from keisei.record.machine_limits import available_cores
from keisei.shogi import RECORD_BYTES

Progress = Callable[[str], None]

#: Enough for every thread to have work, and the same for each number of threads.
SCALING_GAMES = 2048
IMPORT_TIMER = (
    "from time import perf_counter as now; start = now(); import keisei.shogi; print(now() - start)"
)


@dataclass(frozen=True)
class Plan:
    """How long and how often to measure."""

    repetitions: int = 5
    budget: Budget = field(default_factory=Budget)
    timeout_seconds: float = 180.0
    most_threads: int | None = None  # of the scaling rows; None: one a core


def run(
    plan: Plan | None = None, rivals: Sequence[Contestant] = RIVALS, progress: Progress | None = None
) -> Table:
    """Measure everything. A repetition measures all contestants before the next begins."""
    plan, say = plan or Plan(), progress or _quiet
    table = Table()
    with ExitStack() as stack:
        processes = []
        for contestant in (Keisei(), *rivals):
            if (hint := contestant.available()) is None:
                processes.append(stack.enter_context(ContestantProcess(contestant)))
            else:
                table.absent[contestant.name] = hint
        for workload in Workload:
            _measure_side_by_side(table, workload, processes, plan, say)
        _measure_scaling(table, processes[0], plan, say)
    _measure_import(table, plan, say)
    table.rows.append(Row("packed position", Keisei.name, "bytes", [RECORD_BYTES]))
    return table


def _measure_side_by_side(
    table: Table, workload: Workload, processes: Sequence[ContestantProcess], plan: Plan, say: Progress
) -> None:
    able = [process for process in processes if workload in process.contestant.workloads()]
    rows = [Row(workload, process.contestant.name, workload.unit) for process in able]
    for repetition in range(plan.repetitions):
        for process, row in zip(able, rows, strict=True):
            if process.contestant.name not in table.absent:
                _measure_into(table, row, process, workload, _reseeded(plan.budget, repetition), plan, say)
    table.rows += [row for row in rows if row.values]


def _measure_into(
    table: Table,
    row: Row,
    process: ContestantProcess,
    workload: Workload,
    budget: Budget,
    plan: Plan,
    say: Progress,
) -> None:
    try:
        row.values.append(process.measure(workload, budget, plan.timeout_seconds).rate)
    except RivalError as error:
        table.absent[row.contestant] = str(error)
        say(str(error))
        return
    say(f"{row.figure}: {row.contestant} {row.values[-1]:,.0f} {row.unit}")


def _measure_scaling(table: Table, ours: ContestantProcess, plan: Plan, say: Progress) -> None:
    """The same games with 1, 2, 4 … threads and with one a core, and what they gain over one thread."""
    counts = list(_thread_counts(plan.most_threads or available_cores()))
    workload, name = Workload.MOVE_LISTS, ours.contestant.name
    rows = [Row(f"{workload}, threads: {count}", name, workload.unit) for count in counts]
    for repetition in range(plan.repetitions):
        for count, row in zip(counts, rows, strict=True):
            budget = replace(_reseeded(plan.budget, repetition), num_threads=count, num_games=SCALING_GAMES)
            _measure_into(table, row, ours, workload, budget, plan, say)
    gains = [
        Row(f"gain, threads: {count}", name, "×", _ratios(row, rows[0]))
        for count, row in zip(counts, rows, strict=True)
    ]
    table.rows += [row for row in (*rows, *gains[1:]) if row.values]


def _ratios(row: Row, base: Row) -> list[float]:
    return [value / unit for value, unit in zip(row.values, base.values, strict=False)]


def _thread_counts(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count *= 2
    yield most


def _measure_import(table: Table, plan: Plan, say: Progress) -> None:
    """``import keisei.shogi`` in a fresh interpreter, NumPy included."""
    row = Row("import keisei.shogi", Keisei.name, "ms")
    for _ in range(plan.repetitions):
        child = subprocess.run(
            [sys.executable, "-c", IMPORT_TIMER], capture_output=True, text=True, check=True
        )
        row.values.append(1000 * float(child.stdout))
        say(f"{row.figure}: {row.values[-1]:.0f} {row.unit}")
    table.rows.append(row)


def _reseeded(budget: Budget, repetition: int) -> Budget:
    """Other games in every repetition, the same for all contestants."""
    return replace(budget, seed=budget.seed + repetition)


def _quiet(line: str) -> None:
    """The progress of a run that nobody watches."""
