"""Where a network comes from, as facts by name: what its checkpoint and its run know, and what a person adds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from keisei.commands.report_facts import changed_settings, machine_of
from keisei.errors import ConfigError
from keisei.record.journal_reader import JournalReader

if TYPE_CHECKING:
    from keisei.core.checkpoint import Checkpoint
    from keisei.core.checkpoint_format import Manifest
    from keisei.record.journal_schema import Exam, PlayerRating
    from keisei.record.run_directory import RunDirectory

#: Under this key the state of a network that was given away holds its facts.
FACTS_STATE: Final = "facts"
COMMAND: Final = "command"
RATING: Final = "rating of"
EXAM: Final = "mates in"
_MACHINE: Final = ("device", "processor", "cores", "memory", "keisei", "torch", "python")
#: Settings that say where things were kept, which is nobody else's business and changes no weight.
_LOCAL_SETTINGS: Final = ("record.", "evaluation.registry")
_SECONDS_PER_MINUTE: Final = 60
_COUNT: Final = 2


def network_facts(checkpoint: Checkpoint, run: RunDirectory | None, added: Sequence[str]) -> dict[str, str]:
    """All that is known; ``added`` are texts NAME=VALUE, which replace what was recorded under their name."""
    facts = {
        **_training(checkpoint.manifest, checkpoint.state.get("metrics", {})),
        **(_of_run(run, checkpoint.manifest.update) if run is not None else {}),
        # A network that was given away before brings its own facts along.
        **checkpoint.state.get(FACTS_STATE, {}),
        **dict(map(_added, added)),
    }
    return {name: str(value) for name, value in facts.items()}


def _training(manifest: Manifest, metrics: Mapping[str, Any]) -> dict[str, str]:
    facts = {"trained": manifest.created, "updates": f"{manifest.update:,}", "plies": f"{manifest.plies:,}"}
    if metrics:
        games = sum(result[_COUNT] for result in metrics["results"])
        minutes = sum(metrics["phase_seconds"].values()) / _SECONDS_PER_MINUTE
        facts |= {"games": f"{games:,}", "minutes": f"{minutes:.1f}"}
    return facts


def _of_run(run: RunDirectory, update: int) -> dict[str, str]:
    facts = {"run": run.name}
    if run.config_path.is_file():
        facts[COMMAND] = _command(run.config_path)
    if run.journal_path.is_file():
        with JournalReader(run.journal_path) as journal, journal.snapshot():
            machine = machine_of(journal.events())
            facts |= {name: machine[name] for name in _MACHINE if name in machine}
            ratings = [entry.content for entry in journal.ratings() if entry.update == update]
            exams = [entry.content for entry in journal.exams() if entry.update == update]
        facts |= dict(map(_rating, ratings)) | dict(map(_exam, exams))
    return facts


def _rating(rated: PlayerRating) -> tuple[str, str]:
    """Under the player's name without its run, which has a fact of its own: `rating of search?simulations=64`."""
    from keisei.evaluation.ratings import Rating

    kind, _, network = rated.player.partition(":")
    options = "".join(network.partition("?")[1:])
    rating = Rating(rated.player, rated.elo, rated.low, rated.high, rated.games)
    return f"{RATING} {kind}{options}", f"{rating} Elo by the ladder, random = 0, {rated.games:,} games"


def _exam(exam: Exam) -> tuple[str, str]:
    return f"{EXAM} {exam.mate_plies} begun rightly", f"{exam.solved} of {exam.problems}"


def _command(config: Path) -> str:
    """The command that trains such a network again."""
    changed = changed_settings(config)
    if changed is None:
        return "unknown: this Keisei cannot read the settings of the run"
    options = [
        f"--{setting.key} {shlex.quote(_without_folder(setting.value))}"
        for setting in changed
        if not setting.key.startswith(_LOCAL_SETTINGS)
    ]
    return " ".join(["keisei train", *options])


def _without_folder(value: str) -> str:
    """A file is known by its name; where it lay on the machine that trained is of no use elsewhere."""
    return Path(value).name if Path(value).is_absolute() else value


def _added(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name.strip() or not value.strip() or "\n" in text or "|" in text:
        raise ConfigError(
            f"--fact expects one line NAME=VALUE without '|', got {text!r}; e.g. commit=8fe2b3a"
        )
    return name.strip(), value.strip()
