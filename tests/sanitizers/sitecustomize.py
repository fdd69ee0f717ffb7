"""Puts the sanitized build of the engine, KEISEI_NATIVE, in the place of the installed one.

Python imports a module of this name at its start when the folder is on PYTHONPATH, so that the processes which
tests start get the sanitized build too. Used by `tests/sanitize.sh` alone.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType


class SanitizedEngine(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "keisei.shogi._native":
            return None
        return spec_from_file_location(fullname, os.environ["KEISEI_NATIVE"])


sys.meta_path.insert(0, SanitizedEngine())
