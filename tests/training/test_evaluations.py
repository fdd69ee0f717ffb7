"""Results of measurements: where they are filed, which checkpoint is the strongest, and that it stays."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from small_checkpoints import save_checkpoint
from stand_in_evaluator import StandInEvaluator
from tiny_runs import Listener

from keisei.core.checkpoint import CheckpointStore
from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score
from keisei.record.journal import Journal, JournalReader
from keisei.record.strength import rated_updates
from keisei.training.callbacks import CallbackRunner
from keisei.training.evaluations import STATE_NAME, Evaluations
from keisei.training.evaluator import Evaluator
from keisei.training.evaluator_process import EvaluationJob
from keisei.training.events import CheckpointRated, EvaluationFinished
from keisei.training.grading import Grade, Progress


class Desk:
    """Evaluations with a real store, journal and listener."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        deaths = folder / "deaths"
        deaths.write_bytes(b"x" * 9)
        self.store = CheckpointStore(folder / "checkpoints", keep_last=1)
        self.journal = Journal(folder / "journal.sqlite")
        self.listener = Listener()
        self.callbacks = CallbackRunner([self.listener], lambda name, error: None)
        self.evaluator = Evaluator(partial(StandInEvaluator, deaths=deaths))
        self.evaluations = self.open()

    def open(self) -> Evaluations:
        """As a run does that begins or goes on."""
        with JournalReader(self.journal.path) as reader:
            rated = rated_updates(reader.ratings())
        return Evaluations(self.evaluator, self.store, self.journal, self.callbacks, rated)

    def job(self, update: int) -> EvaluationJob:
        save_checkpoint(self.store.folder, update)
        return EvaluationJob(update, 100 * update, self.store.path_of(update))

    def file(self, update: int, elo: float) -> None:
        rating = Rating(f"policy:run@{update}", elo, elo - 50, elo + 50, 4)
        self.evaluations.file(self.job(update), Grade({"random": Score(3, 0, 1)}, rating))
        self.journal.commit()

    def close(self) -> None:
        self.evaluations.close()
        self.callbacks.close()
        self.journal.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()


def test_a_result_is_in_the_journal_and_told_with_its_update_and_plies(desk: Desk) -> None:
    desk.file(7, elo=120)
    with JournalReader(desk.journal.path) as journal:
        (evaluation,), (rating,) = journal.evaluations(), journal.ratings()
    assert (evaluation.update, evaluation.content.opponent, evaluation.content.wins) == (7, "random", 3)
    assert (rating.update, rating.content.player, rating.content.elo) == (7, "policy:run@7", 120)
    (finished,), (rated,) = desk.listener.of(EvaluationFinished), desk.listener.of(CheckpointRated)
    assert (finished.update, finished.plies, finished.opponent) == (7, 700, "random")
    assert (rated.update, rated.plies, rated.rating.elo, rated.is_strongest) == (7, 700, 120, True)


def test_the_strongest_is_marked_and_never_deleted(desk: Desk) -> None:
    for update, elo in ((1, 100), (2, 300), (3, 200)):
        desk.file(update, elo)
    assert [event.is_strongest for event in desk.listener.of(CheckpointRated)] == [True, True, False]
    assert desk.store.best_path() == desk.store.path_of(2)
    store = CheckpointStore(desk.store.folder, keep_last=1)
    save_checkpoint(store.folder, 9)
    assert desk.store.path_of(2).is_dir()


def test_a_resumed_run_knows_the_strongest_from_its_journal(desk: Desk) -> None:
    desk.file(1, 300)
    desk.file(2, 100)
    again = desk.open()
    assert again.strongest == desk.evaluations.strongest
    assert again.words == desk.evaluations.words
    assert again.words == (
        "strength +100 Elo [+50, +150] after update 2; strongest +300 Elo [+250, +350] after update 1"
    )


def test_nothing_is_said_before_anything_is_known_and_going_back_forgets(desk: Desk) -> None:
    assert (desk.evaluations.words, desk.evaluations.strongest) == ("", None)
    desk.file(1, 100)
    desk.file(5, 400)
    desk.evaluations.go_back(4)
    assert desk.evaluations.words == "strength +100 Elo [+50, +150] after update 1"


def test_scores_without_a_rating_are_kept_and_the_problem_is_an_event(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    assert (
        desk.evaluations.file(desk.job(1), Grade({"random": Score(1, 0, 1)}, problem="no rating: why")) == []
    )
    desk.journal.commit()
    with JournalReader(desk.journal.path) as journal:
        assert len(journal.evaluations()) == 1
        assert [entry.content.message for entry in journal.events()] == ["no rating: why"]
    assert "no rating: why" in caplog.text


def test_a_checkpoint_is_kept_while_it_is_measured_and_a_dead_evaluator_is_an_event(desk: Desk) -> None:
    job = desk.job(1)
    desk.evaluations.hand_over(*job)
    for update in (2, 3):
        desk.store.save(update, plies=0, architecture={}, tensors={"model": {}}, state={})
    assert job.path.is_dir(), "although the store keeps only the newest one"
    desk.evaluations.finish(should_stop=lambda: False)
    desk.journal.commit()
    with JournalReader(desk.journal.path) as journal:
        words = [entry.content.message for entry in journal.events()]
    assert words == [
        "the evaluator died of signal SIGKILL; it is tried again",
        "the evaluator died of signal SIGKILL, 2 times in a row",
    ]
    desk.store.save(4, plies=0, architecture={}, tensors={"model": {}}, state={})
    assert not job.path.exists(), "nobody needs it any more"


def test_a_user_who_wants_to_leave_does_not_wait(desk: Desk) -> None:
    desk.evaluations.hand_over(*desk.job(1))
    desk.evaluations.finish(should_stop=lambda: True)
    assert desk.evaluator.pid is None


def test_the_match_in_play_is_in_the_journal_while_the_end_of_a_run_waits_for_it(desk: Desk) -> None:
    whistle = desk.folder / "whistle"
    (desk.folder / "deaths").write_bytes(b"")
    launch = partial(StandInEvaluator, deaths=desk.folder / "deaths", whistle=whistle)
    desk.evaluator = Evaluator(launch)
    evaluations = desk.open()
    recorded: list[dict[str, object]] = []

    def look() -> bool:
        with JournalReader(desk.journal.path) as journal:
            state = journal.state(STATE_NAME)
        if state is not None and state.content not in recorded:
            recorded.append(state.content)
        return any("match" in content for content in recorded)

    evaluations.hand_over(*desk.job(7))
    evaluations.finish(should_stop=look)
    match = {"opponent": "random", "planned": 12, "wins": 3, "draws": 1, "losses": 2}
    assert recorded[-1] == {"measuring": [7], "match": match}
    look()
    assert recorded[-1] == {"measuring": []}


def test_viewers_see_the_match_at_the_end_of_a_run_until_it_is_over(desk: Desk) -> None:
    def state() -> object:
        with JournalReader(desk.journal.path) as journal:
            entry = journal.state(STATE_NAME)
        return None if entry is None else entry.content

    def measure(on_game: Progress) -> Grade:
        while state() is None:  # told a few times a second
            on_game("greedy", Score(3, 1, 2), 8)
        seen.append(state())
        return Grade({"greedy": Score(5, 1, 2)})

    seen: list[object] = []
    desk.evaluations.measure_here(desk.job(4), measure)
    match = {"opponent": "greedy", "wins": 3, "draws": 1, "losses": 2, "planned": 8}
    assert seen == [{"measuring": [4], "match": match}]
    assert state() == {"measuring": []}
    with JournalReader(desk.journal.path) as journal:
        (evaluation,) = journal.evaluations()
    assert (evaluation.update, evaluation.content.wins) == (4, 5)
