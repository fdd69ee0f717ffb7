"""TensorBoard: event files in the run's folder, for `tensorboard --logdir runs`. Needs neither TensorFlow nor torch."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from keisei.record.trackers.messages import Artifact, Figures, Rewind, Start

FOLDER: Final = "tensorboard"
FLUSH_SECONDS: Final = 5


class TensorBoardTracker:
    """Writes one event file for each process that trains the run."""

    def __init__(self, start: Start) -> None:
        self._writer = EventFileWriter(str(Path(start.folder) / FOLDER), flush_secs=FLUSH_SECONDS)
        self._begin_after(start.update)
        self._add(start.update, summary=summary_pb2.Summary(value=[_text("config", start.config)]))

    def log(self, figures: Figures) -> None:
        """Scalars by name; the step is the update."""
        values = [
            summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in figures.values.items()
        ]
        self._add(figures.update, summary=summary_pb2.Summary(value=values))

    def keep(self, artifact: Artifact) -> None:
        """Nothing: checkpoints lie in the run's folder, beside the event files."""

    def rewind(self, message: Rewind) -> None:
        """TensorBoard then forgets what it was told of later updates."""
        self._begin_after(message.update)

    def finish(self, *, failed: bool) -> None:  # noqa: ARG002 event files have no word for it
        """Write what is left."""
        self._writer.close()

    def _begin_after(self, update: int) -> None:
        """A session start makes TensorBoard drop earlier events from its step on."""
        begin = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._add(update + 1, session_log=begin)

    def _add(self, step: int, **content: Any) -> None:
        self._writer.add_event(event_pb2.Event(wall_time=time.time(), step=step, **content))


def _text(tag: str, settings: object) -> Any:
    """Settings for the Text tab, indented by four spaces: as it is, in Markdown."""
    lines = json.dumps(settings, indent=2, ensure_ascii=False).splitlines()
    text = "\n".join(f"    {line}" for line in lines)
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    return summary_pb2.Summary.Value(
        tag=tag,
        metadata=summary_pb2.SummaryMetadata(plugin_data=plugin),
        tensor=tensor_pb2.TensorProto(
            dtype=types_pb2.DT_STRING, string_val=[text.encode()], tensor_shape=shape
        ),
    )
