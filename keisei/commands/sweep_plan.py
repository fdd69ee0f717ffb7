"""The plan of a sweep: a YAML file that says which settings to try, how often, and what counts as good."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from keisei.config_loader import SETTINGS, load_config
from keisei.config_schema import AppConfig, PlainPath, Section, Seed, walk_settings
from keisei.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Plain = bool | int | float | str | None
#: What the sweep itself decides for each of its runs.
RESERVED: Final = ("record.name", "record.runs_folder", "record.console")
DEFAULT_TRIALS: Final = 20


class Range(Section):
    """Numbers from ``low`` to ``high``, both included."""

    low: float
    high: float
    log: bool = False
    step: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low must be below high, got low {self.low:g} and high {self.high:g}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("a range with log: true needs low above 0 and no step")
        return self


class Choices(Section):
    """One of several values."""

    choices: Annotated[tuple[Plain, ...], Field(min_length=2)]


class SweepPlan(Section):
    """What to try."""

    config: PlainPath | None = None
    settings: Mapping[str, Any] = {}
    search: Annotated[Mapping[str, Range | Choices], Field(min_length=1)]
    trials: Annotated[int, Field(ge=1)] = DEFAULT_TRIALS
    objective: Literal["score", "score_low", "rating_low"] = "score_low"
    opponent: str | None = None
    prune: bool = True
    seed: Seed = 1

    @classmethod
    def read(cls, path: Path) -> Self:
        """The plan in a file; ConfigError says what is wrong with it."""
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                f"cannot read the sweep plan {str(path)!r}: {error.strerror}; check the path"
            ) from error
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"no valid YAML in {str(path)!r}: {' '.join(str(error).split())}") from error
        try:
            plan = cls.model_validate(content)
        except ValidationError as error:
            problems = "; ".join(_problem(detail) for detail in error.errors())
            raise ConfigError(f"{path}: {problems} (docs/trackers.md has an example)") from error
        plan._check(path)
        return plan

    def _check(self, path: Path) -> None:
        for key in (*self.settings, *self.search):
            if key in RESERVED or key not in SETTINGS:
                reason = "is the sweep's own" if key in RESERVED else "is unknown; 'keisei config' lists all"
                raise ConfigError(f"{path}: the setting {key!r} {reason}")
        for key, space in self.search.items():
            ends = (space.low, space.high) if isinstance(space, Range) else space.choices
            for end in ends:
                self._check_value(path, key, _whole(end) if is_whole(key) else end)
        opponents = self._opponents()
        if self.judged_against() not in opponents:
            raise ConfigError(
                f"{path}: the objective is the {self.objective} against {self.opponent!r}, but "
                f"evaluation.opponents are {list(opponents)!r}; name one of them"
            )

    def _check_value(self, path: Path, key: str, value: Any) -> None:
        """A value that no run can have. What contradicts other settings only may fit in a trial."""
        try:
            load_config(self.config, {**self.settings, key: as_text(value)})
        except ConfigError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError) and all(
                detail["type"] == "contradiction" for detail in cause.errors()
            ):
                return
            raise ConfigError(f"{path}: {error}") from error

    def judged_against(self) -> str | None:
        """Against whom the score counts: the plan's choice, or the last of those that are measured."""
        opponents = self._opponents()
        return self.opponent or (opponents[-1] if opponents else None)

    def _opponents(self) -> tuple[str, ...]:
        """Read apart from the other settings, which may need those of a trial to make sense."""
        measured = {
            key: as_text(self.settings[key]) for key in self.settings if key.startswith("evaluation.")
        }
        return load_config(self.config, measured).config.evaluation.opponents

    def app_config(self, chosen: Mapping[str, Plain]) -> AppConfig:
        """The settings of a trial."""
        overrides = {key: as_text(value) for key, value in {**self.settings, **chosen}.items()}
        return load_config(self.config, overrides).config

    def distributions(self) -> dict[str, BaseDistribution]:
        """The search space in Optuna's words."""
        return {key: _distribution(key, space) for key, space in self.search.items()}


def is_whole(key: str) -> bool:
    """Whether a setting counts something."""
    return dict(walk_settings())[key].annotation is int


def as_text(value: Any) -> str:
    """A value as it stands on the command line."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_text, value))}]"
    return str(value)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _distribution(key: str, space: Range | Choices) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(space, Choices):
        return CategoricalDistribution(space.choices)
    if is_whole(key):
        return IntDistribution(int(space.low), int(space.high), log=space.log, step=int(space.step or 1))
    return FloatDistribution(space.low, space.high, log=space.log, step=space.step)


def _problem(detail: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"] if part not in ("Range", "Choices"))
    return f"{place or 'the plan'}: {detail['msg']}, got {detail['input']!r}"
