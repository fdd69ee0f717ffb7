"""A child in a group of its own."""

import os
import subprocess
import sys

from keisei.record.process_group import OWN_GROUP

PROGRAM = "import os; print(os.getpgid(0))"


def group_of_child(**options: object) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, **options)  # type: ignore[call-overload]
    return int(done.stdout)


def test_a_child_in_its_own_group_does_not_hear_what_ours_hears() -> None:
    assert group_of_child() == os.getpgid(0)
    assert group_of_child(**OWN_GROUP) != os.getpgid(0)
