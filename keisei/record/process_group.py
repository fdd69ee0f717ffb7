"""How to start a process that does not hear Ctrl-C: the terminal sends it to a whole group of processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

#: For `subprocess.Popen`: the parent alone hears Ctrl-C, and decides what becomes of its child.
OWN_GROUP: Mapping[str, Any]
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    OWN_GROUP = {"start_new_session": True}
