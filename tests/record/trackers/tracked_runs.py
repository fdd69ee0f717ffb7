"""What tests of trackers share: a first message, a server that never answers, and what the trackers have kept."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from keisei.record.trackers.messages import Start, WandbOptions


def start_of(
    folder: Path, *trackers: str, update: int = 0, mode: Literal["auto", "online", "offline"] = "offline"
) -> Start:
    return Start(
        trackers,
        "quiet-lance",
        str(folder),
        update,
        {"training": {"seed": 7}},
        WandbOptions("keisei-tests", mode),
    )


@contextmanager
def black_hole() -> Iterator[str]:
    """The address of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def tensorboard_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of every scalar, through TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def wandb_records(file: Path) -> list[Any]:
    """Every record of a .wandb file, through W&B's own reader."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(str(file))
    records = []
    while (data := store.scan_data()) is not None:
        record = Record()
        record.ParseFromString(data)
        records.append(record)
    return records


def wandb_history(records: list[Any]) -> list[dict[str, float]]:
    """The rows that were logged, without W&B's own columns."""
    rows = []
    for record in records:
        if record.HasField("history"):
            items = {"/".join(item.nested_key) or item.key: item.value_json for item in record.history.item}
            rows.append({key: json.loads(value) for key, value in items.items() if not key.startswith("_")})
    return rows
