"""Fixtures that tests of the page share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_server import PageServer, serving
from recorded_runs import record_run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two recorded runs."""
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder, "quiet-lance", updates=40, games=12)
    record_run(folder, "old-pawn", updates=20, games=6, seed=2)
    return folder


@pytest.fixture(scope="session")
def server(runs: Path) -> Iterator[PageServer]:
    """A page on loopback without a token."""
    with serving(runs) as server:
        yield server
