"""What importing the game costs: nothing heavy comes along, and it is quick."""

import json
import subprocess
import sys
from statistics import median
from typing import Any

import pytest

import keisei.shogi

MOST_OF_NUMPY = 0.5
RUNS = 7

#: Times are the child's processor time, which other work on the machine does not stretch.
CHILD = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import numpy
numpy_done = time.process_time()
import keisei.shogi
done = time.process_time()
top_level = {name.partition(".")[0] for name in set(sys.modules) - before}
own_modules = [name for name in sys.modules if name.startswith("keisei")]
times = {"numpy": numpy_done - start, "own": done - numpy_done}
print(json.dumps({**times, "modules": sorted(top_level), "own_modules": own_modules}))
"""


def import_in_a_fresh_interpreter() -> dict[str, Any]:
    result = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    return dict(json.loads(result.stdout))


def test_only_numpy_comes_along() -> None:
    foreign = set(import_in_a_fresh_interpreter()["modules"]) - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith("_")} <= {"keisei", "numpy", "cython_runtime"}


def test_the_import_is_quick() -> None:
    """Ours is a fraction of numpy's own, in processor time; `keisei bench engine` has the milliseconds of both."""
    runs = [import_in_a_fresh_interpreter() for _ in range(RUNS)]
    own, numpy = (median(run[name] for run in runs) for name in ("own", "numpy"))
    assert own <= MOST_OF_NUMPY * numpy, f"keisei.shogi {own:.3f} s, numpy {numpy:.3f} s"


def test_records_are_loaded_when_asked_for() -> None:
    asked = "import sys, keisei.shogi; keisei.shogi.read_record; print('keisei.shogi.records' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"
    assert "keisei.shogi.records" not in import_in_a_fresh_interpreter()["own_modules"]


def test_every_exported_name_exists_and_no_other() -> None:
    assert all(hasattr(keisei.shogi, name) for name in keisei.shogi.__all__)
    with pytest.raises(AttributeError, match=r"module 'keisei\.shogi' has no attribute 'nothing'"):
        _ = keisei.shogi.nothing
