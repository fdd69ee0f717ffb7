"""A collapse: told everywhere, answered by going back while that is allowed, and by the end when it no longer is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_runs import Listener

from keisei.config_schema import GuardConfig
from keisei.core.checkpoint import CheckpointStore
from keisei.record.journal import Journal, JournalReader, PlayerRating
from keisei.record.strength import RatedUpdate
from keisei.training.callbacks import CallbackRunner
from keisei.training.collapse_guard import CollapseGuard, RollBackRequested
from keisei.training.collapse_response import CollapseResponse
from keisei.training.evaluations import Evaluations
from keisei.training.evaluator import Evaluator
from keisei.training.evaluator_process import EvaluatorProcess
from keisei.training.events import LearningCollapsed

COLLAPSED = {"entropy": 0.0}


def rated(update: int, low: float, high: float) -> RatedUpdate:
    return RatedUpdate(update, PlayerRating(f"policy:run@{update}", (low + high) / 2, low, high, 10))


class Desk:
    """A response with real parts; nothing is ever measured."""

    def __init__(self, folder: Path, rollbacks: int, known: list[RatedUpdate]) -> None:
        self.store = CheckpointStore(folder / "checkpoints", keep_last=1)
        self.journal = Journal(folder / "journal.sqlite")
        self.listener = Listener()
        self.callbacks = CallbackRunner([self.listener], lambda name, error: None)
        self.guard = CollapseGuard(GuardConfig(patience_updates=1, max_rollbacks=rollbacks))
        evaluator = Evaluator(lambda channel: EvaluatorProcess(None, folder, channel))  # type: ignore[arg-type]
        self.evaluations = Evaluations(evaluator, self.store, self.journal, self.callbacks, known)
        self.response = self.respond()

    def respond(self, update: int = 0) -> CollapseResponse:
        return CollapseResponse(
            self.guard, self.evaluations, self.store, self.journal, self.callbacks, update
        )

    def save(self, update: int) -> None:
        state = {"guard": self.guard.state()}
        tensors = {"model": {}}
        self.store.save(update, plies=update, architecture={}, tensors=tensors, state=state)
        self.response.note_checkpoint(update)

    def close(self) -> None:
        self.callbacks.close()
        self.journal.close()


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[list[Desk]]:
    desks: list[Desk] = []
    yield desks
    for desk in desks:
        desk.close()


@pytest.fixture
def desk(desks: list[Desk], tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    rollbacks, known = getattr(request, "param", (1, []))
    desks.append(Desk(tmp_path, rollbacks, known))
    return desks[-1]


def test_no_sign_no_collapse(desk: Desk) -> None:
    desk.guard.note({"entropy": 2.0})
    assert desk.response.look([]) is None


def test_a_collapse_names_the_last_checkpoint_without_a_sign_which_is_kept(desk: Desk) -> None:
    desk.save(1)
    desk.guard.note(COLLAPSED)
    for update in (2, 3, 4):
        desk.save(update)
    collapse = desk.response.look([])
    assert collapse is not None
    assert collapse.healthy == desk.store.path_of(1)
    assert collapse.healthy.is_dir(), "although the store keeps only the newest one"


def test_going_back_is_ordered_and_everybody_is_told(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.save(0)
    desk.guard.note(COLLAPSED)
    collapse = desk.response.look([])
    assert collapse is not None
    with pytest.raises(RollBackRequested, match="hardly explores") as ordered:
        desk.response.answer(collapse, 5, 500)
    assert ordered.value.target == desk.store.path_of(0)
    desk.journal.commit()
    with JournalReader(desk.journal.path) as journal:
        (event,) = journal.events()
    assert (event.update, event.content.kind, event.content.message) == (5, "collapse", collapse.words)
    assert desk.listener.of(LearningCollapsed) == [LearningCollapsed(5, 500, collapse.words)]
    assert collapse.words in caplog.text


@pytest.mark.parametrize("desk", [(0, [])], indirect=True)
def test_without_leave_to_go_back_it_is_only_said(desk: Desk) -> None:
    desk.save(0)
    desk.guard.note(COLLAPSED)
    collapse = desk.response.look([])
    assert collapse is not None
    assert desk.response.answer(collapse, 5, 500) is None
    assert len(desk.listener.of(LearningCollapsed)) == 1


def test_when_going_back_did_not_help_the_run_ends_with_words(desk: Desk) -> None:
    desk.guard.load_state(desk.guard.state_after_rollback())
    desk.guard.note(COLLAPSED)
    collapse = desk.response.look([])
    assert collapse is not None
    reason = desk.response.answer(collapse, 5, 500)
    assert reason == f"{collapse.words}; going back did not help (1 times)"


def test_nothing_to_go_back_to_is_no_order(desk: Desk) -> None:
    desk.guard.note(COLLAPSED)
    collapse = desk.response.look([])
    assert collapse is not None
    assert desk.response.answer(collapse, 5, 500) is None


@pytest.mark.parametrize("desk", [(1, [rated(3, 300, 400)])], indirect=True)
def test_a_weaker_network_goes_back_to_the_strongest(desk: Desk) -> None:
    desk.save(8)
    assert desk.response.look([rated(7, 290, 390)]) is None
    collapse = desk.response.look([rated(8, 100, 200)])
    assert collapse is not None
    assert collapse.healthy == desk.store.path_of(3)
    assert desk.response.weakness == collapse.words
    assert desk.response.look([rated(9, 310, 390)]) is None
    assert desk.response.weakness == ""


@pytest.mark.parametrize("desk", [(1, [rated(3, 300, 400)])], indirect=True)
def test_nobody_goes_back_behind_the_strongest(desk: Desk) -> None:
    desk.save(1)
    desk.guard.note(COLLAPSED)
    collapse = desk.response.look([])
    assert collapse is not None
    assert collapse.healthy == desk.store.path_of(3)


def test_a_resumed_run_finds_the_last_checkpoint_without_a_sign(desk: Desk) -> None:
    desk.store.keep_last = 9
    for update in (1, 2):
        desk.save(update)
    desk.guard.note(COLLAPSED)
    for update in (3, 4):
        desk.save(update)
    desk.guard.healthy_update = 0
    desk.response = desk.respond(update=4)
    assert desk.guard.healthy_update == 2
