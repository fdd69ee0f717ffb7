"""A contestant in a process of its own: it is started once, measured many times, and stopped when too slow.

A rival may take long to start (JAX compiles for many seconds), hang, or end the interpreter; none of that
may touch the others or the table.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType

from keisei.bench.measurement import Budget, Contestant, Measurement, Workload
from keisei.errors import RivalError

GOODBYE_SECONDS = 2.0


@dataclass(frozen=True)
class _Failure:
    text: str


class ContestantProcess:
    """Use as a context manager; ``measure`` raises ``RivalError`` when the child fails or is too slow."""

    def __init__(self, contestant: Contestant) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit the other rivals' threads
        self.contestant = contestant
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(contestant, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> ContestantProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()  # the child sees the end of the pipe and leaves
        self._process.join(GOODBYE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def measure(self, workload: Workload, budget: Budget, timeout_seconds: float) -> Measurement:
        try:
            self._connection.send((workload, budget))
            answer = self._answer(timeout_seconds)
        except (EOFError, OSError) as error:
            raise RivalError(
                f"expected a measurement of {self.contestant.name!r} ({workload}), but its process ended"
                f" with exit code {self._process.exitcode!r}; try it alone, or uninstall it"
            ) from error
        if isinstance(answer, _Failure):
            raise RivalError(f"{self.contestant.name!r} failed at {workload!s}: {answer.text}")
        return answer

    def _answer(self, timeout_seconds: float) -> Measurement | _Failure:
        if not self._connection.poll(timeout_seconds):
            self._process.kill()
            return _Failure(f"no result within {timeout_seconds:g} s; allow it more time or leave it out")
        answer: Measurement | _Failure = self._connection.recv()
        return answer


def _serve(contestant: Contestant, connection: Connection) -> None:
    workloads = contestant.workloads()
    while True:
        try:
            workload, budget = connection.recv()
        except EOFError:
            return
        try:
            connection.send(workloads[workload](budget))
        except Exception as error:  # noqa: BLE001  (a process boundary: any failure becomes an answer)
            connection.send(_Failure(f"{type(error).__name__}: {error}"))
