"""Open a store where only root may write; root becomes nobody for it."""

import os
import sys
from pathlib import Path

from keisei.core.checkpoint import CheckpointStore
from keisei.errors import CheckpointError

if os.geteuid() == 0:
    os.setuid(65534)
try:
    CheckpointStore(Path(sys.argv[1]) / "checkpoints")
except CheckpointError as error:
    print(error)
