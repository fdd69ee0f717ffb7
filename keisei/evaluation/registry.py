"""The registry: match results and ratings in one file, shared between runs and machines.

Results are kept, not only ratings: whoever adds games to them gets ratings from all games ever played, and anchors
need not meet again. The file is replaced as a whole, under a lock, so that several programs can add to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keisei.durable_files import next_step_after, replace_file
from keisei.errors import RegistryError
from keisei.evaluation.likelihood import CATEGORIES
from keisei.evaluation.ratings import Rating, fit_ratings
from keisei.record.run_lock import waiting_lock

FORMAT_VERSION = 1
LOCK_PATIENCE_SECONDS = 30.0
#: The player that has the rating 0.
ZERO = "random"

PairCounts = dict[tuple[str, str], list[int]]


@dataclass(frozen=True)
class Conditions:
    """What results depend on besides the players; results under other conditions do not belong together."""

    max_plies: int
    opening_plies: int


class Registry:
    """The results in a file, which need not exist yet. Each pairing is filed under its names in order."""

    def __init__(self, path: Path, conditions: Conditions) -> None:
        self.path = path
        self.conditions = conditions
        self._results = self._read()

    @property
    def results(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """How many pairs of games brought the first of two players 0, ¼, ½, ¾ and 1 point per game."""
        return self._results

    def pairs_of(self, first: str, second: str) -> int:
        """How many pairs of games two players have played."""
        return sum(self._results.get(_key(first, second), ()))

    def ratings(self) -> list[Rating]:
        """Everybody's place, strongest first."""
        return fit_ratings(self._results, ZERO)

    def add(self, first: str, second: str, pair_counts: Sequence[int]) -> None:
        """Adds results to the file, and with them whatever others have added meanwhile to this object."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock_path = self.path.with_name(f"{self.path.name}.lock")
            with waiting_lock(lock_path, LOCK_PATIENCE_SECONDS) as is_held:
                if not is_held:
                    raise RegistryError(
                        f"another program has kept the registry {self.path!s} locked for "
                        f"{LOCK_PATIENCE_SECONDS:.0f} s; end it, or use another --registry"
                    )
                self._results = self._read()
                self._count(first, second, pair_counts)
                replace_file(self.path, self._encoded())
        except OSError as error:
            raise RegistryError(
                f"cannot write the registry {self.path!s}: {error.strerror}; {next_step_after(error)}"
            ) from error

    def _count(self, first: str, second: str, pair_counts: Sequence[int]) -> None:
        key = _key(first, second)
        added = list(pair_counts) if key == (first, second) else list(reversed(pair_counts))
        known = self._results.get(key, [0] * CATEGORIES)
        self._results[key] = [old + new for old, new in zip(known, added, strict=True)]

    def _encoded(self) -> bytes:
        content = {
            "format_version": FORMAT_VERSION,
            "conditions": asdict(self.conditions),
            "results": [
                {"first": first, "second": second, "pairs": counts}
                for (first, second), counts in sorted(self._results.items())
            ],
            "ratings": [_plain(rating) for rating in self.ratings()],
        }
        return (json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode("utf-8")

    def _read(self) -> PairCounts:
        try:
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RegistryError(f"cannot read the registry {self.path!s}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from error
        try:
            version, conditions = content["format_version"], Conditions(**content["conditions"])
            results = dict(_entry(entry) for entry in content["results"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(error) from error
        self._refuse_others(version, conditions)
        return results

    def _refuse_others(self, version: int, conditions: Conditions) -> None:
        if version != FORMAT_VERSION:
            raise RegistryError(
                f"the registry {self.path!s} has format {version!r}, this Keisei reads {FORMAT_VERSION}; upgrade, "
                "or use another --registry; nothing was changed"
            )
        if conditions != self.conditions:
            raise RegistryError(
                f"the registry {self.path!s} holds results under {conditions}, which cannot be compared with "
                f"{self.conditions}; play under the same conditions or use another --registry"
            )

    def _damaged(self, error: Exception) -> RegistryError:
        return RegistryError(
            f"the registry {self.path!s} is damaged ({error!r}); restore it from a copy, or move it away to begin anew"
        )


def _key(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)


def _entry(entry: Mapping[str, Any]) -> tuple[tuple[str, str], list[int]]:
    first, second, counts = str(entry["first"]), str(entry["second"]), list(entry["pairs"])
    is_sound = len(counts) == CATEGORIES and all(type(count) is int and count >= 0 for count in counts)
    if not is_sound or not first < second:
        raise ValueError(f"expected two names in order and {CATEGORIES} counts, got {dict(entry)!r}")
    return (first, second), counts


def _plain(rating: Rating) -> dict[str, str | int | float | None]:
    """As JSON has it: no number where results give no bound."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(rating).items()
    }
