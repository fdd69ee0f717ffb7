"""Builds a run, owns the lifetime of its parts, and runs it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch

from keisei.config_loader import effective_yaml
from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointStore, load_checkpoint
from keisei.core.checkpoint_format import read_manifest
from keisei.core.devices import choose_device, memory_explained
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ranks import ALONE, Ranks
from keisei.durable_files import replace_file
from keisei.errors import CheckpointError, NonFiniteUpdateError
from keisei.evaluation.checkpoint_player import network_name
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score
from keisei.record.console import RunConsole
from keisei.record.journal import Event, Journal, JournalReader
from keisei.record.machine import machine_facts
from keisei.record.metrics import Metrics
from keisei.record.run_directory import RunDirectory
from keisei.record.strength import rated_updates
from keisei.training.callbacks import Callback, CallbackRunner, installed_callbacks
from keisei.training.collapse_guard import CollapseGuard, RollBackRequested
from keisei.training.collectors import make_collector
from keisei.training.evaluations import Evaluations
from keisei.training.evaluator import Evaluator
from keisei.training.evaluator_process import EvaluatorProcess
from keisei.training.events import RolledBack, TrainingStarted
from keisei.training.grading import Grade, Progress, grade
from keisei.training.profiling import Profile
from keisei.training.rank_config import config_of_rank
from keisei.training.run_state import RunState
from keisei.training.tracking import Tracking
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
    scores: Mapping[str, Score]
    #: Of the network at the end, None when it was not measured to the end.
    rating: Rating | None = None


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
        ranks: Ranks = ALONE,
    ) -> None:
        self._config = config
        self._run = run
        self._should_stop = should_stop
        self._ranks = ranks
        self._callbacks = (*(installed_callbacks() if ranks.is_first else ()), *callbacks)
        self._on_grading = on_grading

    def train(self, *, resume: bool = False) -> TrainingReport:
        """Trains to the end of the run and measures what came out.

        The run folder is locked meanwhile. With ``resume`` it goes on from the newest good checkpoint.
        """
        with ExitStack() as stack:
            stack.enter_context(self._run.lock())
            stack.enter_context(memory_explained(self._config))
            journal = stack.enter_context(Journal(self._run.journal_path))
            config = config_of_rank(self._config, self._ranks.place, self._ranks.told(journal.last_update))
            return self._train(stack, config, journal, resume=resume)

    def _train(
        self, stack: ExitStack, config: AppConfig, journal: Journal, *, resume: bool
    ) -> TrainingReport:
        """By the settings ``config`` of this rank."""
        run, ranks = self._run, self._ranks
        device = choose_device(config.training.device, config.training.precision)
        _make_deterministic(config.training.deterministic)
        _seed_process(config.training.seed)
        agent = PPOAgent(config, device, ranks)
        opponents = config.training.opponents
        pool = OpponentPool(opponents.pool_size, config.training.seed, opponents.sampling)
        collector = make_collector(config, agent, pool)
        stack.callback(collector.close)
        metrics = Metrics()
        guard = CollapseGuard(config.training.guard)
        state = RunState(agent, collector, pool, metrics, guard, ranks)
        store = CheckpointStore(
            run.checkpoints_path, keep_last=config.training.keep_last, keep_every=config.training.keep_every
        )
        if resume:
            self._go_on(store, state, journal, metrics)
        state.share()
        recorded = self._config if ranks.is_first else config
        run.write_config(effective_yaml(recorded))
        profile = Profile(config.training.profile, run.path, metrics.phase_seconds)
        tracking = stack.enter_context(
            Tracking(
                recorded,
                run,
                metrics.updates,
                on_report=_report_of_tracker_to(journal, metrics),
                should_stop=self._should_stop,
            )
        )
        listeners = (*self._callbacks, profile.listen, tracking.listen)
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
            guard=guard,
            evaluations=stack.enter_context(closing(self._evaluations(store, journal, callbacks))),
            grade=lambda update, on_game: self._grade(agent, store.path_of(update), update, on_game),
            ranks=ranks,
        )
        place = f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)
        words = f"training on {place}" + ("" if ranks.is_alone else f" as the first of {ranks.count} ranks")
        journal.add_event(metrics.updates, Event("started", words, machine_facts(place)))
        callbacks.emit(TrainingStarted(run.path, metrics.updates, metrics.global_timestep))
        with console, profile:
            loop, reason = self._run_loops(config, parts)
        # What follows is the first rank's alone, and may take longer than the others would wait.
        ranks.leave()
        seconds = metrics.elapsed_seconds
        measured = loop.evaluate() if config.evaluation.opponents else Grade({})
        return TrainingReport(
            run.path,
            reason,
            metrics.updates,
            metrics.global_timestep,
            metrics.games,
            seconds,
            measured.scores,
            measured.rating,
        )

    @property
    def _registry(self) -> Path:
        return self._config.evaluation.registry or self._run.registry_path

    def _evaluations(
        self, store: CheckpointStore, journal: Journal, callbacks: CallbackRunner
    ) -> Evaluations:
        evaluator = Evaluator(lambda channel: EvaluatorProcess(self._config, self._registry, channel))
        with JournalReader(self._run.journal_path) as reader:
            rated = rated_updates(reader.ratings())
        return Evaluations(evaluator, store, journal, callbacks, rated)

    def _grade(self, agent: PPOAgent, checkpoint: Path, update: int, on_game: Progress) -> Grade:
        """Of the network as it is, in this process: training is over and has no use for the cores."""

        def tell(opponent: str, score: Score, planned: int) -> None:
            on_game(opponent, score, planned)
            if self._on_grading is not None:
                self._on_grading(opponent, score, planned)

        try:
            name = network_name(self._run.name, read_manifest(checkpoint))
        except CheckpointError:  # the disk had no room for it, and that was reported
            name = f"{self._run.name}@{update}"
        return grade(
            self._config,
            agent.graded_network(),
            agent.device,
            name=f"policy:{name}",
            registry=self._registry,
            on_game=tell,
            should_stop=self._should_stop,
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

    def _run_loops(self, config: AppConfig, parts: LoopParts) -> tuple[TrainingLoopManager, str]:
        """One loop, and one more each time that the run goes back; the last one and why it ended."""
        while True:
            loop = TrainingLoopManager(config, self._run.name, parts, self._should_stop)
            try:
                return loop, loop.run()
            except RollBackRequested as order:
                if self._ranks.is_first:
                    self._roll_back(order, parts)
                self._follow(parts)
            except NonFiniteUpdateError as error:
                bundle = self._run.path / REPLAY_BUNDLE
                replace_file(bundle, safetensors.numpy.save(dict(error.bundle)))
                error.add_note(f"the rows of the last attempt are in {bundle}")
                raise

    def _follow(self, parts: LoopParts) -> None:
        """Goes where the first rank went back to."""
        parts.state.share()
        if not self._ranks.is_first:
            parts.journal.rewind(parts.metrics.updates)

    def _roll_back(self, order: RollBackRequested, parts: LoopParts) -> None:
        """Makes a healthy checkpoint the newest and goes on from it as a resumed run does."""
        left = parts.metrics.updates
        parts.state.rewrite_for_rollback(parts.store, load_checkpoint(order.target))
        self._go_on(parts.store, parts.state, parts.journal, parts.metrics)
        update, plies = parts.metrics.updates, parts.metrics.global_timestep
        parts.evaluations.go_back(update)
        words = (
            f"went back from update {left} to {update}, learning rate × {parts.guard.learning_rate_factor:g} "
            f"from now on: {order.words}"
        )
        log.warning("%s", words)
        parts.journal.add_event(update, Event("rolled_back", words, {"from": left, "to": update}))
        parts.callbacks.emit(RolledBack(update, plies, words))


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


def _report_of_tracker_to(journal: Journal, metrics: Metrics) -> Callable[[str], None]:
    def report(words: str) -> None:
        log.warning("%s", words)
        journal.add_event(metrics.updates, Event("tracker", words))

    return report
