"""`keisei report`: a run as one HTML file to keep or to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from keisei.config_schema import RecordConfig
from keisei.durable_files import next_step_after, replace_file
from keisei.errors import RunDirectoryError

DEFAULT_RUNS = RecordConfig().runs_folder
REPORT_FILE = "report.html"


def report(
    run: Annotated[str, Parameter(help="A run (name or folder), or the one trained last: auto.")],
    *,
    runs: Annotated[Path, Parameter(help="Folder of all runs.")] = DEFAULT_RUNS,
    output: Annotated[
        Path | None, Parameter(help="File to write; report.html in the run's folder if not given.")
    ] = None,
) -> None:
    """Write curves, strength, games with boards, settings, versions and hardware into one HTML file."""
    from keisei.commands.report_facts import RunRecord
    from keisei.commands.report_page import report_html
    from keisei.record.run_directory import RunDirectory

    folder = RunDirectory.find(runs, run)
    page = report_html(RunRecord.read(folder)).encode("utf-8", "replace")
    path = output or folder.path / REPORT_FILE
    try:
        replace_file(path, page)
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write the report {str(path)!r}: {error.strerror}; {next_step_after(error)}"
        ) from error
    Console(highlight=False, markup=False, soft_wrap=True).print(f"{path} ({len(page) / 1e3:,.0f} kB)")
