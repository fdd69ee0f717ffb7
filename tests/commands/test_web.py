"""`keisei web` from the outside: what it refuses to do, and what it keeps out of its process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_server import COMMAND, start_page
from recorded_runs import record_run


def refused(*arguments: object) -> str:
    finished = subprocess.run(
        [*COMMAND, *map(str, arguments)], text=True, capture_output=True, timeout=60, check=False
    )
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    return finished.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_other_hosts_need_a_token(tmp_path: Path, host: str) -> None:
    assert "--token auto" in refused(tmp_path, "--host", host)


def test_taken_port_is_named(tmp_path: Path) -> None:
    server = start_page(tmp_path)
    try:
        assert f"--port {server.port}" in refused(tmp_path, "--port", server.port)
    finally:
        server.stop()


def test_unknown_run_is_refused(tmp_path: Path) -> None:
    record_run(tmp_path, "quiet-lance", updates=1, games=1)
    assert "did you mean 'quiet-lance'" in refused("quiet-lanse", "--runs", tmp_path)


def test_made_up_token_is_printed_once(tmp_path: Path) -> None:
    server = start_page(tmp_path, "--host", "0.0.0.0", "--token", "auto")
    server.process.terminate()
    rest = "".join(server.process.communicate(timeout=10))
    token = re.search(r"token=(\S+)", server.address)
    assert token is not None
    assert token[1] not in rest


def test_page_process_loads_no_torch_and_no_trainer() -> None:
    program = (
        "import sys, keisei.web.server; "
        "print([name for name in ('torch', 'keisei.training', 'keisei.core') if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True)
    assert finished.stdout.strip() == "[]"
