"""Which trackers there are, and what a missing package means."""

import subprocess
import sys

import pytest

from keisei.errors import PackageMissingError
from keisei.record.trackers.tracker import require_installed


def test_the_trackers_that_tests_need_are_installed() -> None:
    require_installed(("tensorboard", "wandb"))


def test_a_missing_package_is_named_with_the_command_that_brings_it() -> None:
    with pytest.raises(
        PackageMissingError, match=r"'no_such_tracker'.*pip install 'keisei\[no_such_tracker\]'"
    ):
        require_installed(("no_such_tracker",))


def test_the_trainer_imports_no_tracker() -> None:
    program = (
        "import sys, keisei.record.trackers.tracker_process; "
        "print([name for name in ('tensorboard', 'wandb', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True)
    assert done.stdout.strip() == "[]"
