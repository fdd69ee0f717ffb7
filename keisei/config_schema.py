"""The settings of a run: what exists, what each one means, what it may be.

``AppConfig`` is the only list of settings in the project. Files, environment variables, command-line options
and the documentation are derived from it (``config_loader``, ``config_docs``). Nothing here imports torch, so
that the command line starts quickly.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

MAX_WORKERS = 1024
MAX_SEED = 2**63 - 1  # the journal stores seeds in SQLite's signed 64-bit integers

_CONTROL_CATEGORIES = ("Cc", "Zl", "Zp")  # Unicode's control characters, line and paragraph separators

Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Weight = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Schedule = Literal["constant", "linear", "cosine", "exponential", "step"]
# Which names exist is known to core.model_factory alone, since other packages can register theirs.
Architecture = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_]\w*((\.[A-Za-z_]\w*)*:[A-Za-z_]\w*)?$",
        json_schema_extra={"expected": "'cnn', 'resnet', 'resnet_gpool' or 'package.module:callable'"},
    ),
]
Device = Annotated[
    str,
    Field(
        pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$",
        json_schema_extra={"expected": "'auto', 'cpu', 'cuda' or 'cuda:N'"},
    ),
]
# Begins with a letter or digit: neither hidden, nor like an option, nor a way out of the runs folder.
RunName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=100,
        json_schema_extra={"expected": "a name of at most 100 letters, digits, '.', '_', '-'"},
    ),
]


def _without_control_characters(path: Path) -> Path:
    if any(unicodedata.category(character) in _CONTROL_CATEGORIES for character in str(path)):
        raise ValueError(f"a path without line breaks and control characters, got {str(path)!r}")
    return path


PlainPath = Annotated[Path, AfterValidator(_without_control_characters)]


def contradiction(message: str, *keys: str) -> PydanticCustomError:
    """An error about several settings at once; ``keys`` lets the loader say where each of them was set."""
    return PydanticCustomError("contradiction", "{message}", {"message": message, "keys": list(keys)})


class Section(BaseModel):
    """What all sections share: immutable, no unknown keys, no infinite or undefined numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StartsConfig(Section):
    """Where games begin: relative weights, of which at least one is above 0."""

    standard: Weight = Field(default=0.3, description="Relative weight of games from the standard position.")
    handicap: Weight = Field(
        default=0.0, description="Relative weight of games from a random handicap position."
    )
    random_prefix: Weight = Field(
        default=0.4,
        description="Relative weight of games that begin with random plies from the standard position.",
    )
    random_prefix_plies: int = Field(
        default=40,
        ge=1,
        le=512,
        description="Most random plies before such a game begins; the number is drawn from 1 to this value.",
    )
    earlier: Weight = Field(
        default=0.3,
        description="Relative weight of games that restart from a position met in earlier self-play.",
    )
    sfens: Weight = Field(
        default=0.0, description="Relative weight of games from the positions in sfen_file."
    )
    sfen_file: PlainPath | None = Field(
        default=None,
        description="File with one SFEN per line, relative to the working directory; null = none.",
    )

    @model_validator(mode="after")
    def _some_start_is_possible(self) -> Self:
        weights = ("standard", "handicap", "random_prefix", "earlier", "sfens")
        if not any(getattr(self, name) for name in weights):
            keys = [f"env.starts.{name}" for name in weights]
            raise contradiction(f"no game can begin: set one of {', '.join(keys)} above 0", *keys)
        return self

    @model_validator(mode="after")
    def _sfen_weight_and_file_come_together(self) -> Self:
        keys = ("env.starts.sfens", "env.starts.sfen_file")
        if self.sfens > 0 and self.sfen_file is None:
            raise contradiction(
                f"env.starts.sfens is {self.sfens} but env.starts.sfen_file names no file", *keys
            )
        if self.sfens == 0 and self.sfen_file is not None:
            raise contradiction(
                f"env.starts.sfen_file {str(self.sfen_file)!r} is never used while env.starts.sfens is 0: "
                "set env.starts.sfens above 0",
                *keys,
            )
        return self


class EnvConfig(Section):
    """The games that are played: how many at once, by which rules, from which positions."""

    actions: Literal["2187", "13527"] = Field(
        default="2187", description="Size of the action mapping; the compact one learns and runs faster."
    )
    num_games: int = Field(
        default=128,
        ge=1,
        le=65_536,
        description="Games played side by side; the network sees them as one batch.",
    )
    num_threads: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = Field(
        default="auto", description="Threads that step the games; auto = one per core."
    )
    max_plies: int = Field(
        default=512,
        ge=1,
        le=10_000,
        description="Plies after which a game is cut off; a cut-off game is no draw: its value is estimated.",
    )
    impasse_rule: Literal["csa27", "csa24", "try", "off"] = Field(
        default="csa27", description="Rule for entering kings."
    )
    declare: bool = Field(
        default=True, description="Declare the win as soon as the impasse rule allows the mover to."
    )
    starts: StartsConfig = Field(default=StartsConfig(), description="Where games begin.")

    @model_validator(mode="after")
    def _games_outlast_their_random_plies(self) -> Self:
        starts = self.starts
        if starts.random_prefix > 0 and starts.random_prefix_plies >= self.max_plies:
            raise contradiction(
                f"env.starts.random_prefix_plies {starts.random_prefix_plies} leaves no ply of a game that "
                f"env.max_plies {self.max_plies} cuts off: use at most {self.max_plies - 1}, or "
                "env.starts.random_prefix 0",
                "env.starts.random_prefix_plies",
                "env.max_plies",
            )
        return self


class ModelConfig(Section):
    """The network. A checkpoint can only be continued with the same values."""

    architecture: Architecture = Field(
        default="resnet_gpool",
        description="Built-in or registered network, or the import path of a callable that builds one.",
    )
    blocks: int = Field(default=2, ge=1, le=80, description="Residual blocks (cnn: layers) in the tower.")
    channels: int = Field(
        default=32, ge=8, le=1024, description="Channels of the tower; time grows with the square."
    )
    se_ratio: int = Field(
        default=8,
        ge=0,
        le=64,
        description="Factor by which squeeze-excitation narrows the channels; 0 = no squeeze-excitation.",
    )
    auxiliary_heads: bool = Field(
        default=True, description="Also predict material, moves left and the opponent's reply while training."
    )

    @model_validator(mode="after")
    def _squeeze_leaves_a_channel(self) -> Self:
        if self.se_ratio > self.channels:
            raise contradiction(
                f"model.se_ratio {self.se_ratio} squeezes model.channels {self.channels} to nothing: "
                f"use at most {self.channels}, or 0 for no squeeze-excitation",
                "model.se_ratio",
                "model.channels",
            )
        return self


class OpponentsConfig(Section):
    """Others than the network itself as opponents: a guard against forgetting."""

    share: Share = Field(
        default=0.0,
        description="Share of games against a frozen opponent; only the learner's plies are learned from.",
    )
    pool_size: int = Field(
        default=8, ge=1, le=1024, description="Frozen opponents kept; the oldest leaves when one more comes."
    )
    snapshot_interval_updates: int = Field(
        default=10, ge=1, description="Updates between two snapshots that join the pool."
    )
    sampling: Literal["recent", "rating"] = Field(
        default="recent",
        description="recent = all in the pool alike; rating = the more often the closer games with an opponent are.",
    )
    anchor_share: Share = Field(
        default=0.0,
        description="Share of games against players that never change; only the learner's plies are learned from.",
    )
    anchors: tuple[str, ...] = Field(
        default=(),
        description="These players, as for `keisei match`, e.g. ['greedy', 'ab1', 'usi:fairy-stockfish?nodes=100'].",
    )

    @model_validator(mode="after")
    def _games_are_shared_out(self) -> Self:
        keys = ("training.opponents.share", "training.opponents.anchor_share", "training.opponents.anchors")
        if self.share + self.anchor_share > 1:
            raise contradiction(
                f"training.opponents.share {self.share} and training.opponents.anchor_share {self.anchor_share} "
                "are more than all games: lower one of them",
                *keys[:2],
            )
        if (self.anchor_share > 0) != bool(self.anchors):
            raise contradiction(
                f"training.opponents.anchor_share is {self.anchor_share} but training.opponents.anchors is "
                f"{list(self.anchors)!r}: name players and set the share above 0, or neither",
                *keys[1:],
            )
        return self


class GuardConfig(Section):
    """What happens when learning collapses: low entropy, bad values, cut-off games, lost strength."""

    patience_updates: int = Field(
        default=10,
        ge=0,
        description="Updates in a row with a bad sign before it counts as a collapse; 0 = the guard is off.",
    )
    max_rollbacks: int = Field(
        default=0,
        ge=0,
        description="Times a collapsed run returns to its last healthy checkpoint before it ends; 0 = only warn.",
    )
    learning_rate_factor: float = Field(
        default=0.5, gt=0, lt=1, description="The learning rate is multiplied by it at each return."
    )

    @model_validator(mode="after")
    def _who_goes_back_must_watch(self) -> Self:
        if self.max_rollbacks and not self.patience_updates:
            raise contradiction(
                f"training.guard.max_rollbacks is {self.max_rollbacks} but training.guard.patience_updates 0 turns "
                "the guard off: set it above 0",
                "training.guard.max_rollbacks",
                "training.guard.patience_updates",
            )
        return self


class TrainingConfig(Section):
    """How the network learns, for how long, and what is saved."""

    seed: Seed = Field(default=1, description="Seed of all randomness of training; same seed, same weights.")
    device: Device = Field(
        default="auto",
        description="Where the network runs; auto = the first GPU, or the CPU if there is none.",
    )
    total_plies: int = Field(
        default=700_000,
        ge=1,
        description="Plies of self-play after which training ends.",
    )
    time_limit_seconds: float = Field(
        default=480.0,
        ge=0,
        description="Seconds after which training ends even if plies are left; 0 = no limit.",
    )
    schedules_follow: Literal["plies", "limits"] = Field(
        default="plies",
        description="Where schedules end: plies = at total_plies, whatever the time; limits = where the run will, by "
        "either limit. Only plies give the same weights for the same seed.",
    )
    rollout_plies: int = Field(
        default=32,
        ge=1,
        le=65_536,
        description="Plies of each game per update; an update learns from num_games × rollout_plies rows.",
    )
    epochs: int = Field(default=1, ge=1, le=100, description="Passes over the rows of one update.")
    minibatch_size: int = Field(
        default=256, ge=1, description="Rows per gradient step; at most the rows of one update."
    )
    learning_rate: float = Field(
        default=3e-3, gt=0, le=1, description="Step size of the optimiser at the beginning."
    )
    learning_rate_end: float = Field(
        default=1e-4, ge=0, le=1, description="Learning rate at the end; unused by the constant schedule."
    )
    learning_rate_schedule: Schedule = Field(
        default="linear", description="Way of the learning rate from its beginning to its end."
    )
    learning_rate_steps: int = Field(
        default=4,
        ge=2,
        le=1000,
        description="Plateaus of the step schedule, the first and the last included.",
    )
    entropy_weight: Weight = Field(
        default=0.03, description="Weight of the entropy bonus at the beginning; more = more exploration."
    )
    entropy_weight_end: Weight = Field(
        default=0.005, description="Weight of the entropy bonus at the end; unused by the constant schedule."
    )
    entropy_weight_schedule: Schedule = Field(
        default="linear", description="Way of the entropy weight from its beginning to its end."
    )
    entropy_weight_steps: int = Field(
        default=4,
        ge=2,
        le=1000,
        description="Plateaus of the step schedule, the first and the last included.",
    )
    gamma: Share = Field(
        default=0.997, description="Discount per ply: below 1, an early win is worth more than a late one."
    )
    gae_lambda: Share = Field(
        default=0.9,
        description="Mix of advantage estimates: 0 trusts the value head, 1 only the result of the game.",
    )
    clip_range: float = Field(
        default=0.2,
        gt=0,
        lt=1,
        description="PPO clip: how far the probability ratio may leave 1 and still be rewarded.",
    )
    value_weight: Weight = Field(default=1.0, description="Weight of the value loss.")
    auxiliary_weight: Weight = Field(
        default=0.5, description="Weight of the losses of the auxiliary heads, if the network has them."
    )
    max_grad_norm: float = Field(
        default=1.0, gt=0, description="Gradients with a larger norm are scaled down to it."
    )
    target_kl: Weight = Field(
        default=0.03,
        description="KL divergence (nats) from the playing policy at which an update stops early; 0 = never.",
    )
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        default="fp32", description="Number type of the network's arithmetic; fp16 needs a GPU."
    )
    compile: bool = Field(
        default=False, description="Compile the network with torch.compile: a slow beginning, then faster."
    )
    weight_averaging: float = Field(
        default=0.99,
        ge=0,
        lt=1,
        description="Decay per gradient step of the averaged weights that are graded and exported; 0 = off.",
    )
    mate_in_one: bool = Field(
        default=True,
        description="Where a mate in one exists, play it and learn it by imitation instead of PPO.",
    )
    mate_in_one_weight: Weight = Field(
        default=1.0, description="Weight of the imitation loss on mates in one, if mate_in_one is on."
    )
    temperature: float = Field(
        default=1.0,
        gt=0,
        le=10,
        description="Of the policy in self-play: above 1 more varied moves. Other than 1 it is off-policy.",
    )
    flip: bool = Field(default=True, description="Mirror half of the games left to right: twice the variety.")
    checkpoint_interval_updates: int = Field(
        default=1, ge=0, description="Updates between checkpoints; 0 = not by updates."
    )
    checkpoint_interval_seconds: float = Field(
        default=0.0,
        ge=0,
        description="Seconds between checkpoints, at the next end of an update; 0 = not by time.",
    )
    keep_last: int = Field(default=5, ge=1, description="Newest checkpoints that are kept.")
    keep_every: int = Field(
        default=0,
        ge=0,
        description="Checkpoints of every Nth update are kept for good besides the newest; 0 = none.",
    )
    profile: bool = Field(
        default=False,
        description="Write a torch.profiler trace of the first updates and a table of phase times.",
    )
    deterministic: bool = Field(
        default=True, description="Same seed, same weights to the last bit; slower on a GPU."
    )
    opponents: OpponentsConfig = Field(
        default=OpponentsConfig(), description="Others than the network itself as opponents."
    )
    guard: GuardConfig = Field(default=GuardConfig(), description="What happens when learning collapses.")

    @model_validator(mode="after")
    def _exponential_schedules_end_above_zero(self) -> Self:
        for name in ("learning_rate", "entropy_weight"):
            ends = (getattr(self, name), getattr(self, f"{name}_end"))
            if getattr(self, f"{name}_schedule") == "exponential" and min(ends) <= 0:
                keys = [f"training.{name}", f"training.{name}_end", f"training.{name}_schedule"]
                raise contradiction(
                    f"an exponential schedule never reaches 0, but training.{name} is {ends[0]} "
                    f"and training.{name}_end is {ends[1]}: "
                    f"set both above 0, or training.{name}_schedule to linear",
                    *keys,
                )
        return self

    @model_validator(mode="after")
    def _half_precision_has_a_gpu(self) -> Self:
        if self.precision == "fp16" and self.device == "cpu":
            raise contradiction(
                "training.precision fp16 needs a GPU but training.device is cpu: "
                "use fp32 or bf16, or another device",
                "training.precision",
                "training.device",
            )
        return self


class ParallelConfig(Section):
    """Worker processes that play games beside the learner."""

    num_workers: Annotated[int, Field(ge=0, le=MAX_WORKERS)] | Literal["auto"] = Field(
        default="auto",
        description="Processes that play games; 0 = the trainer plays them itself; auto = one a core, or 0 with a GPU.",
    )
    games_per_worker: int = Field(
        default=0,
        ge=0,
        le=65_536,
        description="Games that a worker plays side by side; 0 = env.num_games shared out evenly.",
    )
    mode: Literal["sync", "async"] = Field(
        default="sync",
        description="sync = an update's rows are all played by the newest weights; async = workers play on meanwhile.",
    )
    max_lag: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Async: versions by which rows may be older than the weights that learn.",
    )
    model_sync_interval: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="Updates between two publications of the weights to the workers.",
    )
    worker_reset_interval: int = Field(
        default=0, ge=0, description="Updates after which workers begin all games anew; 0 = never."
    )
    queue_size: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Slots of shared memory for each worker; more are made where needed.",
    )
    shared_memory: Literal["auto", "memfd", "named"] = Field(
        default="auto",
        description="Anonymous memory (memfd, Linux) or named segments; auto = what the system has.",
    )
    seed_offset: Annotated[int, Field(ge=1, le=2**31)] = Field(
        default=1000, description="Distance between the seeds of two workers."
    )
    timeout_seconds: float = Field(
        default=60.0,
        gt=0,
        le=86_400,
        description="Longest wait for rows in one call of collect_experiences, and for the games of a checkpoint.",
    )
    heartbeat_timeout_seconds: float = Field(
        default=8.0, gt=0, le=3600, description="Silence after which a worker is taken for hung and replaced."
    )
    restart_budget: int = Field(
        default=20,
        ge=0,
        le=100_000,
        description="Deaths of one worker in a window before training goes on without any.",
    )
    restart_window_seconds: float = Field(default=300.0, gt=0, description="Length of that window.")
    worker_overrides: tuple[str, ...] = Field(
        default=(),
        description="Settings of single workers, e.g. ['0-3: training.temperature=1.2 training.opponents.share=0.5'].",
    )

    @model_validator(mode="after")
    def _lag_is_counted_in_publications(self) -> Self:
        if self.mode == "async" and self.model_sync_interval > 1:
            raise contradiction(
                f"parallel.model_sync_interval {self.model_sync_interval} contradicts parallel.mode 'async', "
                "whose lag is counted in publications: set it to 1",
                "parallel.model_sync_interval",
                "parallel.mode",
            )
        return self

    @model_validator(mode="after")
    def _the_hung_are_found_before_they_are_given_up(self) -> Self:
        if self.heartbeat_timeout_seconds >= self.timeout_seconds:
            raise contradiction(
                f"parallel.heartbeat_timeout_seconds {self.heartbeat_timeout_seconds:g} must be less than "
                f"parallel.timeout_seconds {self.timeout_seconds:g}: one hung worker would end all of them",
                "parallel.heartbeat_timeout_seconds",
                "parallel.timeout_seconds",
            )
        return self

    @model_validator(mode="after")
    def _overridden_workers_exist(self) -> Self:
        if self.num_workers == 0 and self.worker_overrides:
            raise contradiction(
                "parallel.worker_overrides needs workers but parallel.num_workers is 0: set it to auto, or remove the "
                "overrides",
                "parallel.worker_overrides",
                "parallel.num_workers",
            )
        return self


class EvaluationConfig(Section):
    """How strength is measured."""

    opponents: tuple[Literal["random", "mate1", "greedy", "ab1", "ab2", "ab3", "ab4", "ab5", "ab6"], ...] = (
        Field(
            default=("random", "greedy"),
            description="Players the network is measured against; an empty list = no measurement.",
        )
    )
    games: int = Field(
        default=400,
        ge=2,
        multiple_of=2,
        description="Games against each opponent, in pairs: each start is played with both colours.",
    )
    interval_updates: int = Field(
        default=0, ge=0, description="Updates between measurements during training; 0 = only at the end."
    )
    device: Device = Field(
        default="cpu",
        description="Where the network runs in measurements beside training; the last one has training.device.",
    )
    registry: PlainPath | None = Field(
        default=None,
        description="File of what the opponents play among each other; null = registry.json in the run's folder.",
    )
    seed: Seed = Field(default=1, description="Seed of starts and opponents, so that measurements compare.")

    @field_validator("opponents")
    @classmethod
    def _opponents_differ(cls, opponents: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({name for name in opponents if opponents.count(name) > 1})
        if twice:
            raise ValueError(
                f"each opponent at most once, but {', '.join(map(repr, twice))} stands there again"
            )
        return opponents


class WandbConfig(Section):
    """Weights & Biases, if record.trackers names wandb; its own variables (WANDB_API_KEY, WANDB_ENTITY …) hold too."""

    project: RunName = Field(default="keisei", description="Project that the run belongs to.")
    mode: Literal["auto", "online", "offline"] = Field(
        default="auto",
        description="Send to the server or keep files for `wandb sync`; auto = as WANDB_MODE says, else online.",
    )
    artifacts: Literal["off", "last", "all"] = Field(
        default="last", description="Checkpoints to send: none, the one at the end of the run, or every one."
    )


class RecordConfig(Section):
    """What a run leaves behind and shows."""

    runs_folder: PlainPath = Field(
        default=Path("runs"), description="Folder of all runs, relative to the working directory."
    )
    name: RunName | None = Field(
        default=None,
        description="Name of the run's folder, which must not exist yet; null = a new readable name.",
    )
    console: Literal["auto", "rich", "plain", "off"] = Field(
        default="auto", description="Live display, plain lines or nothing; auto = live if this is a terminal."
    )
    console_interval_seconds: float = Field(
        default=0.5,
        gt=0,
        le=3600,
        description="Seconds between two refreshes of the console; plain lines come every 20th time.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least important messages that go into the run's log."
    )
    games_kept_per_update: int = Field(
        default=4,
        ge=0,
        le=65_536,
        description="Finished games per update written to the journal move by move.",
    )
    trackers: tuple[Literal["tensorboard", "wandb"], ...] = Field(
        default=(),
        description="Programs that also get the figures, from a process of their own; e.g. [tensorboard, wandb].",
    )
    tracker_queue: int = Field(
        default=1000,
        ge=1,
        le=1_000_000,
        description="Messages that may wait for the trackers; further ones are left out there, not in the journal.",
    )
    tracker_finish_seconds: float = Field(
        default=30.0,
        ge=0,
        le=86_400,
        description="Longest wait at the end of a run until the trackers have sent what they have.",
    )
    wandb: WandbConfig = Field(default=WandbConfig(), description="Weights & Biases.")


class WebConfig(Section):
    """The page that shows a run. It has no settings yet."""


class AppConfig(Section):
    """All settings of a run."""

    env: EnvConfig = Field(default=EnvConfig(), description="The games that are played.")
    model: ModelConfig = Field(default=ModelConfig(), description="The network.")
    training: TrainingConfig = Field(default=TrainingConfig(), description="How the network learns.")
    parallel: ParallelConfig = Field(default=ParallelConfig(), description="Worker processes.")
    evaluation: EvaluationConfig = Field(default=EvaluationConfig(), description="How strength is measured.")
    record: RecordConfig = Field(default=RecordConfig(), description="What a run leaves behind and shows.")
    web: WebConfig = Field(default=WebConfig(), description="The page that shows a run.")

    @property
    def rollout_rows(self) -> int:
        """Rows that one update learns from."""
        return self.env.num_games * self.training.rollout_plies

    @model_validator(mode="after")
    def _one_update_fits(self) -> Self:
        sizes = ("env.num_games", "training.rollout_plies")
        product = f"env.num_games {self.env.num_games} × training.rollout_plies {self.training.rollout_plies}"
        rows = self.rollout_rows
        if self.training.minibatch_size > rows:
            raise contradiction(
                f"training.minibatch_size {self.training.minibatch_size} exceeds the {rows} rows "
                f"of an update ({product}): use at most {rows}, or make the update larger",
                "training.minibatch_size",
                *sizes,
            )
        if self.training.total_plies < rows:
            raise contradiction(
                f"training.total_plies {self.training.total_plies} is less than the {rows} plies "
                f"of one update ({product}): use at least {rows}, or make the update smaller",
                "training.total_plies",
                *sizes,
            )
        return self


def walk_settings(model: type[Section] = AppConfig, prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every section and setting in the order of the schema, with its dotted key (``env.starts.sfens``)."""
    for name, field in model.model_fields.items():
        yield prefix + name, field
        if (section := section_class(field)) is not None:
            yield from walk_settings(section, f"{prefix}{name}.")


def section_class(field: FieldInfo) -> type[Section] | None:
    """The section that a field holds, or None where it holds a value."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None


_NUMBER_BOUNDS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
    "multipleOf": "multiple of",
}
_TYPE_WORDS = {
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "null": "null",
}


class ValueWords(NamedTuple):
    """What a setting may be, in words: for the documentation and for error messages alike."""

    alternatives: tuple[tuple[str, str], ...]  # each a type and its bounds, which may be empty

    @property
    def type(self) -> str:
        return " or ".join(kind for kind, _ in self.alternatives)

    @property
    def bounds(self) -> str:
        return ", ".join(bounds for _, bounds in self.alternatives if bounds)

    def __str__(self) -> str:
        return " or ".join(f"{kind} {bounds}".rstrip() for kind, bounds in self.alternatives)


def value_words(key: str) -> ValueWords:
    """What the setting ``key`` may be, read from pydantic's own JSON schema."""
    *sections, name = key.split(".")
    model: type[Section] = AppConfig
    for section in sections:
        nested = section_class(model.model_fields[section])
        if nested is None:
            raise KeyError(f"expected a setting's dotted key, got {key!r}: {section!r} is no section")
        model = nested
    schema: dict[str, Any] = model.model_json_schema()["properties"][name]
    alternatives = schema.get("anyOf", [schema])
    return ValueWords(tuple((_type_words(each), _bounds_words(each)) for each in alternatives))


def _type_words(schema: dict[str, Any]) -> str:
    match schema:
        case {"expected": str(words)}:
            return words
        case {"enum": [*first, last]}:
            return f"{', '.join(map(repr, first))} or {last!r}"
        case {"const": value}:
            return repr(value)
        case {"type": "array", "items": items}:
            return f"list of {_type_words(items)}"
        case {"format": "path"}:
            return "path"
        case _:
            return _TYPE_WORDS[schema["type"]]


def _bounds_words(schema: dict[str, Any]) -> str:
    return ", ".join(f"{sign} {schema[name]}" for name, sign in _NUMBER_BOUNDS.items() if name in schema)
