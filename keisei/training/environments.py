"""From the configuration to the games that are played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keisei.config_schema import AppConfig, StartsConfig
from keisei.core.rollout import PlaySettings
from keisei.core.seating import Anchor
from keisei.errors import ConfigError, SfenError
from keisei.record.machine_limits import available_cores
from keisei.shogi import ShogiGame, ShogiVectorEnv, Starts


def make_env(config: AppConfig, *, num_games: int, seed: int, num_threads: int) -> ShogiVectorEnv:
    """A vector environment with the rules and starts of a run."""
    env = config.env
    starts = _starts(env.starts)
    try:
        return ShogiVectorEnv(
            num_games,
            seed,
            num_threads,
            actions=env.actions,
            starts=starts,
            max_plies=env.max_plies,
            impasse_rule=env.impasse_rule,
            declare=env.declare,
            mate_in_one=config.training.mate_in_one,
            mirror=config.training.flip,
        )
    except ValueError as error:
        raise ConfigError(f"the games cannot be set up: {error}; correct the settings of env") from error


def thread_count(config: AppConfig) -> int:
    """Threads that step the games in the trainer's own process."""
    threads = config.env.num_threads
    return available_cores() if threads == "auto" else threads


def play_settings(config: AppConfig) -> PlaySettings:
    """How games are played for learning."""
    training = config.training
    return PlaySettings(
        mate_in_one=training.mate_in_one,
        opponent_share=training.opponents.share,
        temperature=training.temperature,
        games_kept=config.record.games_kept_per_update,
        anchor_share=training.opponents.anchor_share,
        by_closeness=training.opponents.sampling == "rating",
    )


@contextmanager
def opened_anchors(config: AppConfig, *, seed: int, device: str) -> Iterator[list[Anchor]]:
    """The players of ``training.opponents.anchors``, ready to play; engines end with the ``with`` block."""
    specs = config.training.opponents.anchors
    if not specs:
        yield []
        return
    from keisei.evaluation.player_specs import opened_players

    with opened_players(*specs, seed=seed, runs=config.record.runs_folder, device=device) as opened:
        yield [entry.player for entry in opened]


def _starts(starts: StartsConfig) -> Starts:
    return Starts(
        standard=starts.standard,
        handicap=starts.handicap,
        listed=starts.sfens,
        random_prefix=starts.random_prefix,
        earlier=starts.earlier,
        prefix_plies=starts.random_prefix_plies,
        sfens=_read_sfens(starts.sfen_file) if starts.sfen_file is not None else (),
    )


def _read_sfens(path: Path) -> tuple[str, ...]:
    """One SFEN a line; blank lines and lines that begin with # are passed over."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read env.starts.sfen_file {str(path)!r}: {error}; correct the path"
        ) from error
    sfens = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            sfens.append(ShogiGame(text).sfen)
        except SfenError as error:
            raise ConfigError(f"{path} line {number}: {error}; correct or remove the line") from error
    if not sfens:
        raise ConfigError(f"env.starts.sfen_file {str(path)!r} holds no position; add one SFEN a line")
    return tuple(sfens)
