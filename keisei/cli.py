"""The front door: names the commands, and turns expected errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys

from cyclopts import App, CycloptsError

from keisei import __version__
from keisei.errors import ConfigError, KeiseiError, NoGoodCheckpointError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_GOOD_CHECKPOINT = 3
#: What shells report for a program whose reader went away, and for one ended by Ctrl-C.
EXIT_BROKEN_PIPE = 141
EXIT_INTERRUPTED = 130

app = App(
    name="keisei",
    help="Train a shogi player by self-play, see how strong it is, and play against it.",
    version=__version__,
)
bench = App(name="bench", help="Measure speed beside rivals, in one run.")
app.command(bench)

# The help stands here so that `keisei --help` need not import any of them.
_TRAINING = "keisei.commands.training"
_ENGINE = "keisei.commands.engine"
_MATCHES = "keisei.commands.matches"
app.command(f"{_TRAINING}:train", name="train", help="Train a player, or go on training one.")
app.command(
    f"{_TRAINING}:show_config", name="config", help="Print the effective settings and where each comes from."
)
app.command("keisei.commands.runs:list_all", name="runs", help="List the runs.")
app.command(
    "keisei.commands.runs:inspect", name="inspect", help="Show what a run or a checkpoint holds, verified."
)
app.command(
    "keisei.commands.doctor:doctor",
    name="doctor",
    help="Check this machine and say what to do about problems.",
)
app.command(f"{_MATCHES}:match", name="match", help="Play two players against each other.")
app.command(f"{_MATCHES}:tournament", name="tournament", help="Play everybody against everybody.")
app.command(f"{_MATCHES}:ladder", name="ladder", help="Rate players by games against fixed opponents.")
app.command(f"{_MATCHES}:tsume", name="tsume", help="Let a player solve mates in 1, 3 and 5.")
app.command("keisei.commands.play:play", name="play", help="Play against a network in the terminal.")
app.command("keisei.commands.usi:usi", name="usi", help="Be an engine for shogi programs (USI).")
app.command(
    "keisei.commands.export:export",
    name="export",
    help="Write a network as ONNX, or small and with its card.",
)
app.command(f"{_ENGINE}:perft", name="perft", help="Count legal move sequences.")
app.command(f"{_ENGINE}:show", name="show", help="Draw a position.")
app.command(
    f"{_ENGINE}:verify_engine", name="verify-engine", help="Compare the rules with independent engines."
)
app.command("keisei.commands.web:web", name="web", help="Show runs in the browser, and play against them.")
app.command(
    "keisei.commands.sweep:sweep", name="sweep", help="Search for good settings, a run for each trial."
)
app.command(
    "keisei.commands.demo:demo", name="demo", help="Train a small network and watch it in the browser."
)
app.command("keisei.commands.report:report", name="report", help="Write a run into one HTML file.")
bench.command(
    "keisei.commands.bench:engine", name="engine", help="The rules engine beside every installed rival."
)
bench.command("keisei.commands.bench:gpu", name="gpu", help="Training on a GPU beside its network alone.")


def main() -> None:
    """Runs the command line; ends the process with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Where the output cannot encode a kanji, a question mark is better than an error.
        sys.stdout.reconfigure(errors="replace")
    try:
        app(exit_on_error=False, print_error=True)
    except CycloptsError:
        sys.exit(EXIT_USAGE)
    except KeiseiError as error:
        sys.stderr.write(f"error: {error}\n")
        for note in getattr(error, "__notes__", ()):
            sys.stderr.write(f"{note}\n")
        sys.exit(_exit_code(error))
    except BrokenPipeError:
        # The reader has what it wanted; Python must not complain about it when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_BROKEN_PIPE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _exit_code(error: KeiseiError) -> int:
    if isinstance(error, ConfigError):
        return EXIT_USAGE
    return EXIT_NO_GOOD_CHECKPOINT if isinstance(error, NoGoodCheckpointError) else EXIT_FAILED
