"""What importing the game costs: nothing heavy comes along, and it is quick."""

import json
import subprocess
import sys
from statistics import median
from typing import Any

TOTAL_LIMIT_SECONDS = 0.150
OWN_LIMIT_SECONDS = 0.050
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
print(json.dumps({"numpy": numpy_done - start, "own": done - numpy_done, "modules": sorted(top_level)}))
"""


def import_in_a_fresh_interpreter() -> dict[str, Any]:
    result = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    return dict(json.loads(result.stdout))


def test_only_numpy_comes_along() -> None:
    foreign = set(import_in_a_fresh_interpreter()["modules"]) - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith("_")} <= {"keisei", "numpy", "cython_runtime"}


def test_the_import_is_quick() -> None:
    """The whole import, numpy included, within 150 ms of processor time; numpy alone takes most of it."""
    runs = [import_in_a_fresh_interpreter() for _ in range(RUNS)]
    own = median(run["own"] for run in runs)
    whole = min(run["numpy"] + run["own"] for run in runs)
    assert own <= OWN_LIMIT_SECONDS, f"keisei.shogi without numpy: {own:.3f} s"
    assert whole <= TOTAL_LIMIT_SECONDS, f"whole import: {whole:.3f} s"
