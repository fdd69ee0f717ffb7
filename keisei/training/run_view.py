"""What the console shows of a run while it goes on."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

import numpy as np

from keisei.config_schema import AppConfig
from keisei.record.console import ConsoleSnapshot, Health, RunConsole
from keisei.record.metrics import Metrics
from keisei.training.collector import Collector
from keisei.training.evaluations import Evaluations

#: Points of each curve on the console.
CURVE_LENGTH = 60
CURVES = ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance", "gradient_norm")


class RunView:
    """Gathers what the console is shown; ``health`` is for whoever knows how the run does."""

    def __init__(
        self,
        config: AppConfig,
        run_name: str,
        console: RunConsole,
        metrics: Metrics,
        collector: Collector,
        evaluations: Evaluations,
    ) -> None:
        self._training = config.training
        self._run_name = run_name
        self._console = console
        self._metrics = metrics
        self._collector = collector
        self._evaluations = evaluations
        self._curves: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=CURVE_LENGTH))
        self.health = Health("good", "starting")

    def note(self, metrics: Mapping[str, float]) -> None:
        """The figures of one update more."""
        for name in CURVES:
            if name in metrics and np.isfinite(metrics[name]):
                self._curves[name].append(metrics[name])

    def show(self, *, force: bool = False) -> None:
        """Refresh the console, where it is time to or with ``force``."""
        if force:
            self._console.show(self._snapshot())
        else:
            self._console.offer(self._snapshot)

    def _snapshot(self) -> ConsoleSnapshot:
        metrics = self._metrics
        return ConsoleSnapshot(
            run_name=self._run_name,
            update=metrics.updates,
            plies=metrics.global_timestep,
            total_plies=self._training.total_plies,
            games=metrics.games,
            elapsed_seconds=metrics.elapsed_seconds,
            time_limit_seconds=self._training.time_limit_seconds,
            plies_per_second=metrics.plies_per_second,
            curves={name: tuple(values) for name, values in self._curves.items()},
            results_by_winner=metrics.results_by_winner,
            results_by_reason=metrics.results_by_reason,
            board=str(self._collector.watched_game()),
            health=self.health,
            strength=self._evaluations.words,
        )
