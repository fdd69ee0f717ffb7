"""`keisei demo` when things go wrong; tests/e2e/test_demo_command.py has it as people use it."""

from pathlib import Path

import pytest
from command_line import call_keisei

from keisei.commands.child_process import ChildProcess
from keisei.commands.demo import SETTINGS, _address
from keisei.config_loader import load_config
from keisei.errors import WebError


def test_its_settings_are_valid() -> None:
    assert load_config(None, SETTINGS).config.training.device == "cpu"


def test_a_page_that_does_not_start_is_explained(tmp_path: Path) -> None:
    with (
        ChildProcess(tmp_path / "web.log", "show", "no position") as page,
        pytest.raises(WebError, match=r"the page did not start: error: .*no position.*web\.log"),
    ):
        _address(page, lambda: False)


def test_somebody_who_does_not_wait_gets_no_address(tmp_path: Path) -> None:
    with ChildProcess(tmp_path / "web.log", "perft", 9) as page:
        assert _address(page, lambda: True) is None


def test_a_missing_package_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keisei.commands.demo.find_spec", lambda name: None)
    call_keisei(capsys, "demo").assert_refused(1, "keisei[web]")
