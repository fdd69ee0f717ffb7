#!/usr/bin/env bash
# Builds the engine with sanitizers, then runs its self-test and the tests of the game against that build.
#
#   tests/sanitize.sh address,undefined [PYTEST-ARGUMENTS]
#   tests/sanitize.sh thread [PYTEST-ARGUMENTS]
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=${1:?"which sanitizers? address,undefined or thread"}
shift
tests=("$@")
if [[ $# == 0 ]]; then
    tests=(tests/shogi tests/envs)
    # This one builds sanitized programs itself; the others measure time and memory, which sanitizers multiply.
    tests+=(--ignore tests/shogi/test_native_self_test.py)
    tests+=(--deselect tests/shogi/test_import.py::test_the_import_is_quick)
    tests+=(--deselect tests/shogi/test_sfen.py::test_errors_leave_no_memory_behind)
    tests+=(--deselect tests/shogi/test_positions.py::test_threads_that_cannot_be_started_neither_hang_nor_crash)
fi
build=build/sanitize-${sanitizers//,/-}
python=$PWD/.venv/bin/python

build_in() { # FOLDER CMAKE-ARGUMENTS; quiet but for errors
    cmake -S . -B "$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEISEI_SANITIZE="$sanitizers" "${@:2}" >/dev/null
    cmake --build "$1" --parallel "$(nproc)" >/dev/null
}

build_in "$build/self-test" -DKEISEI_SELF_TEST=ON
build_in "$build/module" -DPython_EXECUTABLE="$python"

export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
"$build/self-test/self_test"

# A Python that was built without sanitizers needs their runtime first, and the C++ runtime after it, so that
# exceptions are seen too. Python's own allocator would hide faults in the memory that it hands out.
runtime=libasan.so
[[ $sanitizers == thread ]] && runtime=libtsan.so
LD_PRELOAD="$(g++ -print-file-name=$runtime) $(g++ -print-file-name=libstdc++.so)"
KEISEI_NATIVE=$(echo "$PWD/$build"/module/_native.*.so)
export LD_PRELOAD KEISEI_NATIVE
export PYTHONPATH=$PWD/tests/sanitizers PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=1:malloc_context_size=12
export LSAN_OPTIONS=suppressions=$PWD/tests/sanitizers/lsan.supp:print_suppressions=0

loaded=$("$python" -c 'from keisei.shogi import _native; print(_native.__file__)')
[[ $loaded == "$KEISEI_NATIVE" ]] || { echo "tested would be $loaded instead of $KEISEI_NATIVE" >&2; exit 1; }
# Captured by descriptor, the sanitizer's report would be lost with the process that it ends.
"$python" -m pytest -q --capture=sys -p no:xdist -p no:cacheprovider --timeout 0 -m "not soak" "${tests[@]}"
