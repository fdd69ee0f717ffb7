"""What a run leaves behind: its folder, its figures, its journal, and what people see of it on the terminal.

Nothing here imports torch: `keisei runs` and every viewer must start at once and work on a machine without
it. The console is imported by its own path, since it brings rich.
"""

from keisei.record.journal import Journal, JournalReader
from keisei.record.metrics import Interval, Metrics
from keisei.record.run_directory import RunDirectory, list_runs

__all__ = ["Interval", "Journal", "JournalReader", "Metrics", "RunDirectory", "list_runs"]
