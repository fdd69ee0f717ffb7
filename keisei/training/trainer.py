"""Builds a run, owns the lifetime of its parts, and runs it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch

from keisei.config_loader import effective_yaml
from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointStore
from keisei.core.devices import choose_device
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.durable_files import replace_file
from keisei.errors import NonFiniteUpdateError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.evaluation.scores import Score
from keisei.record.console import RunConsole
from keisei.record.journal import Event, Journal
from keisei.record.metrics import Metrics
from keisei.record.run_directory import RunDirectory
from keisei.training.callbacks import Callback, CallbackRunner, installed_callbacks
from keisei.training.collectors import make_collector
from keisei.training.events import TrainingStarted
from keisei.training.grading import Progress, grade
from keisei.training.profiling import Profile
from keisei.training.run_state import RunState
from keisei.training.training_loop_manager import LoopParts, TrainingLoopManager

REPLAY_BUNDLE = "replay-bundle.safetensors"
MAX_NUMPY_SEED = 2**32 - 1

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingReport:
    """What a run came to."""

    run: Path
    reason: str
    update: int
    plies: int
    games: int
    seconds: float
    scores: dict[str, Score]


class Trainer:
    """One run from its first or last update to its end.

    >>> # Trainer(config, RunDirectory.create(Path("runs"))).train()
    """

    def __init__(
        self,
        config: AppConfig,
        run: RunDirectory,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        callbacks: Iterable[Callback] = (),
        on_grading: Progress | None = None,
    ) -> None:
        self._config = config
        self._run = run
        self._should_stop = should_stop
        self._callbacks = (*installed_callbacks(), *callbacks)
        self._on_grading = on_grading

    def train(self, *, resume: bool = False) -> TrainingReport:
        """Trains to the end of the run and measures what came out.

        The run folder is locked meanwhile. With ``resume`` it goes on from the newest good checkpoint.
        """
        with ExitStack() as stack:
            stack.enter_context(self._run.lock())
            return self._train(stack, resume=resume)

    def _train(self, stack: ExitStack, *, resume: bool) -> TrainingReport:
        config, run = self._config, self._run
        device = choose_device(config.training.device, config.training.precision)
        _make_deterministic(config.training.deterministic)
        _seed_process(config.training.seed)
        agent = PPOAgent(config, device)
        pool = OpponentPool(config.training.opponents.pool_size, config.training.seed)
        collector = make_collector(config, agent, pool)
        stack.callback(collector.close)
        metrics = Metrics()
        state = RunState(agent, collector, pool, metrics)
        store = CheckpointStore(
            run.checkpoints_path, keep_last=config.training.keep_last, keep_every=config.training.keep_every
        )
        journal = stack.enter_context(Journal(run.journal_path))
        if resume:
            self._go_on(store, state, journal, metrics)
        run.write_config(effective_yaml(config))
        profile = Profile(config.training.profile, run.path, metrics.phase_seconds)
        listeners = (*self._callbacks, profile.listen)
        callbacks = stack.enter_context(CallbackRunner(listeners, _report_to(journal, metrics)))
        console = RunConsole(config.record.console, config.record.console_interval_seconds)
        parts = LoopParts(
            agent=agent,
            collector=collector,
            buffer=ExperienceBuffer(config.rollout_rows),
            pool=pool,
            metrics=metrics,
            state=state,
            store=store,
            journal=journal,
            console=console,
            callbacks=callbacks,
            grade=lambda: grade(
                config,
                agent.graded_network(),
                device,
                on_game=self._on_grading,
                should_stop=self._should_stop,
            ),
        )
        loop = TrainingLoopManager(config, run.name, parts, self._should_stop)
        callbacks.emit(TrainingStarted(run.path, metrics.updates, metrics.global_timestep))
        with console, profile:
            reason = self._run_loop(loop)
        seconds = metrics.elapsed_seconds
        scores = loop.evaluate() if config.evaluation.opponents else {}
        return TrainingReport(
            run.path,
            reason,
            metrics.updates,
            metrics.global_timestep,
            metrics.games,
            seconds,
            scores,
        )

    def _go_on(self, store: CheckpointStore, state: RunState, journal: Journal, metrics: Metrics) -> None:
        if not store.paths() and not journal.last_update:
            log.info("the run ended before its first checkpoint: it begins anew")
            return
        found = store.latest_good()
        for skipped in found.skipped:
            log.warning("skipped a damaged checkpoint: %s", skipped.reason)
            journal.add_event(found.checkpoint.manifest.update, Event("checkpoint_skipped", skipped.reason))
        state.load(found.checkpoint)
        journal.rewind(metrics.updates)
        log.info("resumed from %s", found.checkpoint.path)

    def _run_loop(self, loop: TrainingLoopManager) -> str:
        try:
            return loop.run()
        except NonFiniteUpdateError as error:
            bundle = self._run.path / REPLAY_BUNDLE
            replace_file(bundle, safetensors.numpy.save(dict(error.bundle)))
            error.add_note(f"the rows of the last attempt are in {bundle}")
            raise


def _make_deterministic(deterministic: bool) -> None:
    torch.use_deterministic_algorithms(deterministic, warn_only=True)
    torch.backends.cudnn.benchmark = not deterministic


def _seed_process(seed: int) -> None:
    """Keisei's parts have generators of their own; callbacks and networks of others may use the global ones."""
    random.seed(seed)
    np.random.seed(seed & MAX_NUMPY_SEED)
    torch.manual_seed(seed)


def _report_to(journal: Journal, metrics: Metrics) -> Callable[[str, BaseException], None]:
    def report(name: str, error: BaseException) -> None:
        log.error("callback %s failed: %s: %s; training goes on", name, type(error).__name__, error)
        journal.add_event(
            metrics.updates, Event("callback_failed", f"{name}: {type(error).__name__}: {error}")
        )

    return report
