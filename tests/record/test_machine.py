"""Versions and hardware as text."""

import os
import platform

from keisei import __version__
from keisei.record.machine import machine_facts


def test_facts_say_what_the_run_was_trained_with() -> None:
    facts = machine_facts("cpu")
    assert facts["keisei"] == __version__
    assert facts["python"] == platform.python_version()
    assert facts["torch"].startswith("2.")
    assert facts["cores"] == str(os.cpu_count())
    assert facts["device"] == "cpu"
    assert facts["memory"].endswith(" GiB")
    assert all(facts.values())
