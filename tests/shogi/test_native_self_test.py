"""The engine without Python, under sanitizers: threads, damaged input and the fuzz target.

`make sanitize` runs these tests of the game against sanitized builds of the Python module as well.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
INPUTS = 20_000
SOAK_INPUTS = 10_000_000
FUZZ_INPUTS = 2_000
SOAK_FUZZ_SECONDS = 600


def find_tool(*names: str, debian: str) -> str:
    """The first of the commands that is installed; the test is skipped when none is."""
    for name in names:
        if (path := shutil.which(name)) is not None:
            return path
    pytest.skip(f"{names[0]} is not installed; on Debian: apt-get install {debian}")


def build(name: str, target: str, *options: str) -> Path:
    """Builds a program in build/NAME, where the next run finds it up to date."""
    cmake = find_tool("cmake", debian="cmake")
    folder = REPOSITORY / "build" / name
    for command in (
        [cmake, "-S", str(REPOSITORY), "-B", str(folder), *options],
        [cmake, "--build", str(folder), "--parallel", str(os.cpu_count()), "--target", target],
    ):
        finished = subprocess.run(command, text=True, capture_output=True, check=False)
        assert finished.returncode == 0, f"{' '.join(command)}\n{finished.stdout}\n{finished.stderr}"
    return folder / target


def build_self_test(sanitizers: str, build_type: str) -> Path:
    compiler = find_tool("g++", debian="g++")
    return build(
        f"self-test-{sanitizers.replace(',', '-')}-{build_type.lower()}",
        "self_test",
        "-DKEISEI_SELF_TEST=ON",
        f"-DKEISEI_SANITIZE={sanitizers}",
        f"-DCMAKE_BUILD_TYPE={build_type}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
    )


def build_fuzz_target() -> Path:
    """Optimised: with coverage counters an unoptimised build runs forty inputs a second."""
    compiler = find_tool("clang++", "clang++-14", debian="clang")
    return build(
        f"fuzz-{Path(compiler).name}",
        "fuzz_input",
        "-DKEISEI_FUZZ=ON",
        "-DKEISEI_SANITIZE=address,undefined",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        f"-DCMAKE_CXX_COMPILER={compiler}",
    )


def run(program: Path, *arguments: object, folder: Path) -> str:
    """The output of a program that must succeed, with the sanitizer's report when it does not."""
    environment = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": "halt_on_error=1"}
    command = [str(program), *map(str, arguments)]
    finished = subprocess.run(
        command, cwd=folder, env=environment, text=True, errors="replace", capture_output=True, check=False
    )
    assert finished.returncode == 0, (
        f"{' '.join(command)}\n{finished.stdout[-2000:]}\n{finished.stderr[-8000:]}"
    )
    return finished.stdout + finished.stderr


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_threads_and_damaged_input_leave_the_sanitizers_silent(sanitizers: str, tmp_path: Path) -> None:
    # Unoptimised: the compiler would take ten times as long as the test.
    program = build_self_test(sanitizers, "Debug")
    inputs = INPUTS if sanitizers != "thread" else INPUTS // 100
    assert f"self-test passed: {inputs} damaged inputs" in run(program, inputs, folder=tmp_path)


def test_the_fuzz_target_finds_nothing_in_a_short_run(tmp_path: Path) -> None:
    output = run(build_fuzz_target(), f"-runs={FUZZ_INPUTS}", "-seed=1", "-max_len=400", folder=tmp_path)
    assert f"Done {FUZZ_INPUTS} runs" in output


@pytest.mark.soak
def test_millions_of_damaged_inputs_leave_the_sanitizers_silent(tmp_path: Path) -> None:
    program = build_self_test("address,undefined", "RelWithDebInfo")
    assert f"{SOAK_INPUTS} damaged inputs" in run(program, SOAK_INPUTS, 2, folder=tmp_path)


@pytest.mark.soak
def test_the_fuzz_target_finds_nothing_in_a_long_run(tmp_path: Path) -> None:
    seconds = f"-max_total_time={SOAK_FUZZ_SECONDS}"
    assert "Done " in run(build_fuzz_target(), seconds, "-max_len=600", folder=tmp_path)
