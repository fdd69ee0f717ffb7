"""Messages survive the way through a pipe."""

import math
from pathlib import Path

import pytest
from tracked_runs import start_of

from keisei.record.trackers.messages import Artifact, Figures, Finish, Message, Rewind, decode, encode

MESSAGES = [
    start_of(Path("runs/quiet-lance"), "tensorboard", "wandb", update=3),
    Figures(4, {"loss": 0.5, "bound": math.inf}),
    Artifact(4, "runs/a\nb/形勢"),
    Rewind(2),
    Finish(failed=True),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_one_line_and_comes_back_equal(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == message


def test_a_figure_that_is_no_number_stays_one() -> None:
    message = decode(encode(Figures(1, {"elo": math.nan})))
    assert isinstance(message, Figures)
    assert math.isnan(message.values["elo"])
