"""`keisei demo`: a page and a run, and nothing left of either after Ctrl-C."""

import re
import signal
import urllib.request
from pathlib import Path

import psutil
import pytest
from process_watch import is_gone, wait_until

from keisei.record.journal_reader import JournalReader

pytest.importorskip("nicegui", reason="the page needs NiceGUI: pip install 'keisei[web]'")


def test_page_and_run_come_up_and_end_together(start_keisei, tmp_path: Path) -> None:
    demo = start_keisei("demo", "--no-open")
    assert demo.stdout is not None
    address = re.search(r"http://\S+", demo.stdout.readline())
    assert address is not None
    with urllib.request.urlopen(address[0], timeout=30) as page:
        assert page.status == 200
    assert "the first update was done after" in demo.stdout.readline()
    (run,) = (tmp_path / "runs").iterdir()
    with JournalReader(run / "journal.sqlite") as journal:
        assert journal.latest()
        assert journal.watched_plies(), "there is a game to watch"
    family = [process.pid for process in psutil.Process(demo.pid).children(recursive=True)]
    assert len(family) >= 2
    demo.send_signal(signal.SIGINT)
    out, err = demo.communicate(timeout=60)
    assert demo.returncode == 0, err
    assert f"keisei train --resume runs/{run.name}" in out
    wait_until(lambda: all(map(is_gone, family)), "the end of page and trainer")
    assert list((run / "checkpoints").glob("update-*")), "the run can go on"
