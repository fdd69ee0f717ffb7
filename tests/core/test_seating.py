"""Who plays whom: shares, colours, one evaluation a ply, credit to the right opponent, and exact resuming."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from mirror import mirrored_sfen, mirrored_usi
from self_play import environment, inference, replay, settings

from keisei.core.inference import Evaluation, Inference
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import FinishedGame, Rollout
from keisei.core.rollout_rows import RolloutRows
from keisei.core.seating import Seating, SeatingSettings, Tally, closeness_odds
from keisei.shogi import LegalActions, Move, ShogiGame

GAMES, PLIES = 12, 40


class CountingInference(Inference):
    """Remembers how many rows each call was about."""

    def __init__(self, seed: int) -> None:
        plain = inference(seed)
        super().__init__(plain.network, device=plain.device, precision="fp32")
        self.batches: list[int] = []

    def evaluate(self, records: np.ndarray, lists: LegalActions | None = None) -> Evaluation:
        self.batches.append(len(records))
        return super().evaluate(records, lists)


class FirstMove:
    """Plays the first legal move in the order of their USI names."""

    name = "first"

    def __init__(self) -> None:
        self.asked: list[ShogiGame] = []

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        self.asked += games
        return [min(game.legal_moves(), key=lambda move: move.usi) for game in games]


class Dicer:
    """Plays by lot, with dice of its own."""

    name = "dicer"

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        moves = [game.legal_moves() for game in games]
        return [options[int(self.generator.integers(len(options)))] for options in moves]


class GivesUp:
    """Never has a move to offer."""

    name = "gives up"

    def choose(self, games: Sequence[ShogiGame]) -> list[str]:
        return ["resign"] * len(games)


def play(rollout: Rollout, plies: int = PLIES, **options: object) -> tuple[RolloutRows, list[FinishedGame]]:
    rows = RolloutRows.allocate(plies, GAMES)
    summary = rollout.play(rows, inference(), version=1, **options)  # type: ignore[arg-type]
    return rows, summary.finished


# ---- routing


def test_every_ply_costs_one_evaluation_by_the_one_who_moves_and_an_anchors_ply_none() -> None:
    shares = settings(opponent_share=0.4, anchor_share=0.3)
    anchor = FirstMove()
    rollout = Rollout(environment(), shares, seed=1, anchors=[anchor])
    learner, frozen = CountingInference(0), CountingInference(1)
    rows = RolloutRows.allocate(PLIES, GAMES)
    rollout.play(rows, learner, version=1, opponent=frozen)
    assert sum(learner.batches) == rows.learner.sum()
    assert sum(frozen.batches) + len(anchor.asked) == (~rows.learner).sum()
    assert min(sum(frozen.batches), len(anchor.asked)) > 50
    assert max(len(learner.batches), len(frozen.batches)) <= PLIES, "one forward each for all games of a ply"


def test_without_opponents_a_ply_is_one_forward_of_all_games() -> None:
    learner = CountingInference(0)
    Rollout(environment(), settings(), seed=1).play(RolloutRows.allocate(PLIES, GAMES), learner, version=1)
    assert learner.batches == [GAMES] * PLIES


# ---- anchors


@pytest.mark.parametrize("mirror", [False, True])
def test_an_anchors_moves_are_played_in_the_frame_of_the_game_and_not_learned_from(mirror: bool) -> None:
    anchor = FirstMove()
    rollout = Rollout(
        environment(mirror=mirror), settings(anchor_share=1.0, mate_in_one=False), seed=1, anchors=[anchor]
    )
    rows, _ = play(rollout)
    replies = {game.sfen: min(game.legal_moves(), key=lambda move: move.usi).usi for game in anchor.asked}
    seen_mirrored = {mirrored_sfen(sfen): mirrored_usi(usi) for sfen, usi in replies.items()}
    moves = [step for step in replay(rows) if not rows.learner[step.ply, step.column]]
    plain = [step.before.sfen in replies for step in moves]
    for step, is_plain in zip(moves, plain, strict=True):
        assert step.move.usi == (replies if is_plain else seen_mirrored)[step.before.sfen]
    assert len(moves) == len(anchor.asked) > 100
    assert all(plain) != mirror
    assert not rows.forced[~rows.learner].any()


def test_an_anchor_without_a_move_plays_by_lot() -> None:
    rollout = Rollout(environment(), settings(anchor_share=1.0), seed=1, anchors=[GivesUp()])
    rows, finished = play(rollout)
    assert len(list(replay(rows))) == rows.action.size, "every action was legal"
    assert {game.opponent for game in finished} == {"gives up"}


def test_shares_of_games_are_kept() -> None:
    rollout = Rollout(
        environment(),
        settings(opponent_share=0.3, anchor_share=0.5),
        seed=1,
        anchors=[FirstMove(), GivesUp()],
    )
    finished: list[FinishedGame] = []
    for _ in range(8):
        finished += play(rollout, opponent=inference(seed=1))[1]
    met = Counter(game.opponent for game in finished)
    assert len(finished) > 150
    assert met["frozen"] / len(finished) == pytest.approx(0.3, abs=0.12)
    assert (met["first"] + met["gives up"]) / len(finished) == pytest.approx(0.5, abs=0.12)
    assert min(met["first"], met["gives up"]) > 0.2 * (met["first"] + met["gives up"])


# ---- results


def test_points_are_the_learners_in_either_colour() -> None:
    rollout = Rollout(environment(), settings(opponent_share=1.0), seed=1)
    rows, finished = play(rollout, opponent=inference(seed=1))
    ends = [(ply, game) for ply, game in np.argwhere(rows.ends())]
    assert len(ends) == len(finished) > 10
    for (ply, column), game in zip(ends, finished, strict=True):
        reward = rows.reward[ply, column]
        learners = reward if rows.learner[ply, column] else -reward
        assert game.points == (learners + 1) / 2
    assert {game.points for game in finished} >= {0.0, 1.0}


def test_a_game_is_credited_to_a_frozen_network_only_if_it_played_it_whole() -> None:
    rollout = Rollout(environment(), settings(opponent_share=1.0), seed=1)
    _, first = play(rollout, plies=10, opponent=inference(seed=1), opponent_number=7)
    rows, second = play(rollout, opponent=inference(seed=2), opponent_number=8)
    begun_before = set(rows.game[0][rows.game[0] < GAMES + len(first)].tolist())
    assert all(game.frozen == 7 for game in first)
    assert Counter(game.frozen for game in second)[0] == len(begun_before)
    assert Counter(game.frozen for game in second)[8] == len(second) - len(begun_before) > 0


def test_without_a_frozen_network_the_learner_plays_itself() -> None:
    rollout = Rollout(environment(), settings(opponent_share=1.0), seed=1)
    rows, finished = play(rollout)
    assert rows.learner.all()
    assert all((game.opponent, game.points, game.frozen) == ("", None, 0) for game in finished)


# ---- closeness


def test_even_games_are_the_closest_and_nobody_is_left_out() -> None:
    even, beaten, hopeless = Tally(), Tally(), Tally()
    for number in range(60):
        even.note(number % 2)
        beaten.note(1.0)
        hopeless.note(0.0)
    odds = closeness_odds([even, beaten, hopeless])
    assert odds.sum() == pytest.approx(1)
    assert odds[0] > 0.8
    assert odds[1] == pytest.approx(odds[2])
    assert odds.min() > 0.01


def test_old_results_fade() -> None:
    tally = Tally()
    for points in [0.0] * 200 + [1.0, 0.0] * 100:
        tally.note(points)
    assert tally.closeness > 0.24, "what counts is how games go now"


def test_anchors_that_are_closer_are_met_more_often() -> None:
    seating = Seating(
        environment(GAMES), SeatingSettings(0.0, 1.0, by_closeness=True), [FirstMove(), Dicer(3)]
    )
    random, met = np.random.default_rng(1), Counter[str]()
    for number in range(200):
        seating.begin(np.arange(GAMES), random)
        for game in range(GAMES):
            opponent = seating.opponent_of(game)
            met[opponent] += 1
            learner = "white" if seating.learner_color[game] else "black"
            loser = "black" if learner == "white" else "white"
            is_even = opponent == "dicer" and number % 2 == 0
            assert seating.points(game, loser if is_even else learner) == (0.0 if is_even else 1.0)
    assert met["dicer"] > 4 * met["first"] > 0


# ---- state


def test_games_against_anchors_go_on_exactly() -> None:
    shares = settings(opponent_share=0.3, anchor_share=0.5, by_closeness=True)

    def rollout(seed: int) -> Rollout:
        return Rollout(
            environment(seed=seed, mirror=True), shares, seed=seed, anchors=[Dicer(seed), FirstMove()]
        )

    original, other = rollout(5), rollout(77)
    play(original, opponent=inference(seed=1), opponent_number=3)
    arrays, random = original.state_arrays(), capture_random_states(original.generators())
    expected, told = play(original, opponent=inference(seed=1), opponent_number=3)
    other.load_state_arrays(arrays)
    restore_random_states(random, other.generators())
    again, told_again = play(other, opponent=inference(seed=1), opponent_number=3)
    assert all(np.array_equal(array, getattr(again, name)) for name, array in expected.arrays().items())
    assert told == told_again


def test_games_with_other_anchors_are_refused() -> None:
    with_one = Rollout(environment(), settings(anchor_share=1.0), seed=1, anchors=[FirstMove()])
    with pytest.raises(ValueError, match=r"1 anchors, training\.opponents\.anchors has 0"):
        Rollout(environment(), settings(), seed=1).load_state_arrays(with_one.state_arrays())
