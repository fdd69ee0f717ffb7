"""The errors Keisei raises.

Every message says what was expected, what was found (in ``repr``), where, and what to do next.
"""

from collections.abc import Mapping
from typing import Any


class KeiseiError(Exception):
    """Base of all errors that Keisei raises on purpose."""


class ActionError(KeiseiError, ValueError):
    """A policy index that is out of range or names no legal move of its position."""


class CheckpointError(KeiseiError):
    """A checkpoint that cannot be written, read or trusted."""


class CompilerError(KeiseiError):
    """A compiled network that does not compute what the plain one does."""


class ConfigError(KeiseiError, ValueError):
    """Settings that are unknown, malformed or contradictory, or a configuration file that cannot be read."""


class DeviceMemoryError(KeiseiError):
    """The device of the network has too little memory for what a run asks of it."""


class ExperienceError(KeiseiError, ValueError):
    """Rows of experience that contradict themselves or do not fit."""


class ExportError(KeiseiError):
    """A network that cannot be exported, or whose export does not compute the same."""


class IllegalMoveError(KeiseiError, ValueError):
    """A move that the rules forbid in the position in which it was tried."""


class JournalError(KeiseiError):
    """A run's journal that cannot be opened, read or written."""


class NewerCheckpointError(CheckpointError):
    """A checkpoint that a newer Keisei wrote: whole, but not for this one to judge."""


class NoGoodCheckpointError(CheckpointError):
    """A folder without a single checkpoint that verifies (exit code 3)."""


class NonFiniteOutputError(KeiseiError):
    """A network that answered with numbers that are not finite."""


class NonFiniteUpdateError(KeiseiError):
    """Learning produced numbers that are not finite, several times in a row.

    ``bundle`` holds the rows of the last attempt, by column, so that it can be replayed.
    """

    def __init__(self, message: str, bundle: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.bundle = bundle


class OpeningError(KeiseiError, ValueError):
    """A file of openings that cannot be read, or a line of it that is no playable position."""


class OracleMissingError(KeiseiError):
    """A comparison with independent engines was asked for, but none of them is installed."""


class PackageMissingError(KeiseiError):
    """A command needs an optional package that is not installed."""


class RankLostError(KeiseiError):
    """Another of the processes that learn together has ended or says nothing."""


class RecordError(KeiseiError, ValueError):
    """A game record or packed position that cannot be read."""


class RegistryError(KeiseiError):
    """A registry of ratings that cannot be read, written or added to."""


class RivalError(KeiseiError):
    """Another engine could not be measured: it failed, ended or took too long."""


class RunDirectoryError(KeiseiError):
    """A run folder that cannot be created, opened or locked."""


class SfenError(KeiseiError, ValueError):
    """An SFEN string that is malformed or describes an impossible position."""


class SweepError(KeiseiError):
    """A sweep over settings that cannot begin or go on."""


class UnknownRunError(RunDirectoryError):
    """A name under which there is no run."""


class WebError(KeiseiError):
    """The web page cannot be served as asked."""


class UsiEngineError(KeiseiError):
    """A USI engine that cannot be started, does not speak the protocol, or is gone."""


class UsiEngineSilentError(UsiEngineError):
    """A USI engine that did not answer in time."""


class WorkerFailedError(KeiseiError):
    """Worker processes could not be started or kept alive."""


def first_line(error: Exception) -> str:
    """The class of an error and the first line of what it says, for messages about the failures of others."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
