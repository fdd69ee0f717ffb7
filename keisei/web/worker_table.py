"""What the trainer last recorded of its workers, as rows of a table and as a histogram."""

from collections.abc import Mapping
from typing import Any, Final

MEBIBYTE: Final = 2**20


def worker_rows(state: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row for each worker, by its number."""
    workers = state.get("workers")
    if not isinstance(workers, dict):
        return []
    return [_row(number, workers[number]) for number in sorted(workers, key=int)]


def _row(number: str, worker: Mapping[str, Any]) -> dict[str, str]:
    busy = float(worker["utilisation"])
    return {
        "worker": number,
        "state": worker["state"].replace("_", " ") if worker["alive"] else "dead",
        "speed": f"{worker['plies_per_second']:,.0f}",
        "busy": f"{busy:.0%}",
        "waiting": f"{1 - busy:.0%}",
        "restarts": str(worker["generation"] - 1),
        "heartbeat": f"{1000 * worker['age_seconds']:.0f} ms ago",
        "lag": str(worker["lag"]),
        "slots": f"{worker['slots']:,}",
        "memory": f"{worker['memory_bytes'] / MEBIBYTE:,.0f} MiB",
    }


def lag_shares(state: Mapping[str, Any]) -> dict[int, float]:
    """The share of all rows learned from by the age of the weights that played them, in versions."""
    rows = state.get("rows_by_lag")
    if not isinstance(rows, dict):
        return {}
    counts = {int(lag): int(count) for lag, count in rows.items()}
    total = sum(counts.values()) or 1
    return {lag: counts[lag] / total for lag in sorted(counts)}
