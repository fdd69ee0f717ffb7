"""Event files, read back with TensorBoard's own reader."""

import math
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tracked_runs import start_of, tensorboard_scalars

from keisei.record.trackers.messages import Artifact, Figures, Rewind
from keisei.record.trackers.tensorboard_tracker import TensorBoardTracker


def test_figures_and_settings_are_read_back(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(start_of(tmp_path))
    tracker.log(Figures(1, {"train/loss": 0.5, "rating_low": -math.inf}))
    tracker.log(Figures(2, {"train/loss": 0.25}))
    tracker.keep(Artifact(2, str(tmp_path)))
    tracker.finish(failed=False)
    scalars = tensorboard_scalars(tmp_path)
    assert scalars == {"train/loss": [(1, 0.5), (2, 0.25)], "rating_low": [(1, -math.inf)]}
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    (config,) = events.Tensors("config")
    assert '"seed": 7' in config.tensor_proto.string_val[0].decode()


@pytest.mark.parametrize("in_one_process", [True, False])
def test_updates_that_come_again_replace_the_old_ones(tmp_path: Path, in_one_process: bool) -> None:
    """As after a roll-back (in one process) and after a resume (in another)."""
    tracker = TensorBoardTracker(start_of(tmp_path))
    for update in (1, 2, 3):
        tracker.log(Figures(update, {"loss": float(update)}))
    if in_one_process:
        tracker.rewind(Rewind(1))
    else:
        tracker.finish(failed=True)
        tracker = TensorBoardTracker(start_of(tmp_path, update=1))
    tracker.log(Figures(2, {"loss": 20.0}))
    tracker.finish(failed=False)
    assert tensorboard_scalars(tmp_path)["loss"] == [(1, 1.0), (2, 20.0)]
