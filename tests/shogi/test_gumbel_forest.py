"""The native trees of Gumbel search, against a plain twin and against the rules."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from plain_gumbel import plain_search, random_judge
from random_play import SPARSE_SFENS, visited_games

from keisei.errors import IllegalMoveError
from keisei.shogi import STANDARD_SFEN, Move, Outcome, Reason, ShogiGame, Starts
from keisei.shogi.gumbel_forest import GumbelForest, GumbelSettings, RootMove, Verdict

ACTIONS = 2187
#: Nothing is decided by the rules near these.
QUIET_SFENS = (
    STANDARD_SFEN,
    "lnsgkgsnl/1r5b1/p1pppp1pp/1p4p2/9/2P4P1/PP1PPPP1P/1B5R1/LNSGKGSNL b - 5",
    "ln1g1gsnl/1r1sk2b1/p1pppp1pp/1p4p2/9/2P4P1/PPBPPPP1P/7R1/LNSGKGSNL w - 10",
)
SPARSE = Starts(standard=0, listed=1, sfens=SPARSE_SFENS)

Answers = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


def judge_by_hash(records: npt.NDArray[np.uint8]) -> Answers:
    judged = [random_judge(record.tobytes()) for record in records]
    return np.stack([logits for logits, _ in judged]), np.array([value for _, value in judged], np.float32)


def judge_all_equal(records: npt.NDArray[np.uint8]) -> Answers:
    return np.zeros((len(records), ACTIONS), np.float32), np.zeros(len(records), np.float32)


def grow(
    forest: GumbelForest,
    simulations: int,
    leaves: int = 1,
    judge: Callable[[npt.NDArray[np.uint8]], Answers] = judge_by_hash,
) -> GumbelForest:
    forest.add_simulations(simulations)
    while len(records := forest.select(leaves)):
        forest.expand(*judge(records))
    return forest


def searched(game: ShogiGame, simulations: int, settings: GumbelSettings | None = None) -> list[RootMove]:
    return grow(GumbelForest([game], ACTIONS, settings or GumbelSettings()), simulations).root_moves(0)


# ---- the paper


@pytest.mark.parametrize("sfen", QUIET_SFENS)
@pytest.mark.parametrize("simulations", [1, 7, 40, 64, 150])
def test_visits_and_values_are_those_of_the_plain_search(sfen: str, simulations: int) -> None:
    game = ShogiGame(sfen)
    plain = plain_search(game, simulations, random_judge)
    moves = searched(game, simulations)
    assert {row.move: row.visits for row in moves} == {
        move: plain.visits_of(move) for move in game.legal_moves()
    }
    for row in moves:
        if row.visits:
            assert row.value == pytest.approx(plain.mean(row.move), abs=1e-6)
    scores = plain.scores()
    closely = [row.move for row in moves if 2 * row.visits >= max(other.visits for other in moves)]
    assert moves[0].move == max(closely, key=scores.__getitem__)


def test_the_budget_is_halved_from_phase_to_phase() -> None:
    forest = grow(GumbelForest([ShogiGame()], ACTIONS), 64, judge=judge_all_equal)
    visits = Counter(row.visits for row in forest.root_moves(0))
    assert visits == {1 + 2 + 4 + 8: 2, 1 + 2 + 4: 2, 1 + 2: 4, 1: 8, 0: 30 - 16}
    assert forest.visits(0) == 1 + 64
    assert forest.is_finished(0)


def test_without_simulations_the_policy_decides() -> None:
    game = ShogiGame()
    moves = searched(game, 0)
    _, value = random_judge(game.pack())
    assert sum(row.prior for row in moves) == pytest.approx(1)
    assert [row.prior for row in moves] == sorted((row.prior for row in moves), reverse=True)
    assert all(row.visits == 0 and row.value == pytest.approx(value) for row in moves)


def test_more_simulations_go_on_from_what_is_known() -> None:
    forest = grow(GumbelForest([ShogiGame()], ACTIONS), 64)
    before = {row.move: row.visits for row in forest.root_moves(0)}
    grow(forest, 100)
    after = {row.move: row.visits for row in forest.root_moves(0)}
    assert sum(after.values()) == 164
    assert all(after[move] >= before[move] for move in before)


# ---- batches


@pytest.mark.parametrize("leaves", [2, 5, 16, 100])
def test_batches_of_leaves_change_nothing(leaves: int) -> None:
    games = list(visited_games(48, seed=3))
    games = [game for game in games if game.outcome is None]
    one, many = (grow(GumbelForest(games, ACTIONS), 50, size) for size in (1, leaves))
    assert [one.root_moves(i) for i in range(len(games))] == [many.root_moves(i) for i in range(len(games))]


def test_other_games_and_threads_change_nothing() -> None:
    games = [game for game in visited_games(40, seed=4) if game.outcome is None]
    together = grow(GumbelForest(games, ACTIONS, num_threads=4), 40)
    for i, game in enumerate(games):
        assert together.root_moves(i) == searched(game, 40)


def test_several_leaves_below_one_move_spend_the_same_budget() -> None:
    settings = GumbelSettings(leaves_per_move=8)
    forest = GumbelForest([ShogiGame(sfen) for sfen in QUIET_SFENS], ACTIONS, settings)
    forest.add_simulations(300)
    sizes = []
    while len(records := forest.select(64)):
        sizes.append(len(records))
        forest.expand(*judge_by_hash(records))
    assert max(sizes) > 3 * 16
    for i in range(len(forest)):
        assert forest.visits(i) == 301
        assert sum(row.visits for row in forest.root_moves(i)) == 300


# ---- noise


def test_noise_depends_on_the_seed_and_the_position_alone() -> None:
    settings = [GumbelSettings(max_considered=4, seed=seed) for seed in (1, 1, 2, 0)]
    first, again, other, none = (searched(ShogiGame(), 4, each) for each in settings)
    visited = [{row.move for row in moves if row.visits} for moves in (first, other, none)]
    assert first == again
    assert visited[0] != visited[1]
    assert visited[2] == {row.move for row in sorted(none, key=lambda row: -row.prior)[:4]}


# ---- what the rules decide


@pytest.mark.parametrize("sfen", ["4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "4k4/9/9/9/9/9/4p4/9/4K4 w g 1"])
def test_a_mate_in_one_needs_no_network(sfen: str) -> None:
    game = ShogiGame(sfen)
    forest = GumbelForest([game], ACTIONS)
    forest.add_simulations(10)
    assert len(forest.select(1)) == 0
    (best,) = forest.root_moves(0)
    assert (best.move, best.verdict, best.plies, best.value) == (game.mate_in_one(), Verdict.WIN, 1, 1.0)
    assert forest.is_finished(0)


def test_a_side_without_moves_has_none_to_choose() -> None:
    forest = grow(GumbelForest([ShogiGame("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")], ACTIONS), 10)
    assert forest.is_finished(0)
    assert forest.root_moves(0) == []


@pytest.mark.parametrize(
    "sfen",
    [
        "1k2g4/9/p8/Ng1RG4/9/9/9/9/4K4 b RSN 1",
        "kn+B6/g8/+B2p5/p8/9/9/9/9/4K4 b SP 1",
        "Bk1+P5/9/3+R5/9/9/9/9/9/4K4 b B 1",
    ],
)
def test_longer_mates_are_proven(sfen: str) -> None:
    game = ShogiGame(sfen)
    forest = grow(GumbelForest([game], ACTIONS, GumbelSettings(max_considered=128)), 3_000)
    best = forest.root_moves(0)[0]
    assert best.verdict is Verdict.WIN
    for move in forest.line(0, best.move):
        game.play(move)
    assert game.outcome == Outcome(ShogiGame(sfen).turn, Reason.CHECKMATE)


def settled_value(game: ShogiGame, plies: int) -> int | None:
    """By trying everything: 1, 0 or -1 for the mover where at most `plies` plies decide the game, else None."""
    if game.outcome is not None:
        winner = game.outcome.winner
        return 0 if winner is None else 1 if winner is game.turn else -1
    if plies == 0:
        return None
    replies = []
    for move in game.legal_moves():
        game.play(move)
        replies.append(settled_value(game, plies - 1))
        game.undo_move()
        if replies[-1] == -1:
            return 1
    return None if None in replies else -max(replies)  # type: ignore[type-var]


def test_every_proof_holds_when_everything_is_tried() -> None:
    proven = Counter[Verdict]()
    for game in visited_games(600, seed=5, starts=SPARSE):
        if len(game.legal_moves()) > 60:
            continue
        settings = GumbelSettings(max_considered=64, declare=False)
        for row in searched(game, 64, settings):
            if row.verdict is Verdict.OPEN or row.plies > 3:
                continue
            proven[row.verdict] += 1
            game.play(row.move)
            value = settled_value(game, row.plies - 1)
            game.undo_move()
            assert value is not None
            assert {1: Verdict.LOSS, 0: Verdict.DRAW, -1: Verdict.WIN}[value] is row.verdict, (game, row)
    assert min(proven[verdict] for verdict in (Verdict.WIN, Verdict.LOSS)) > 20


def by_move(game: ShogiGame) -> dict[str, RootMove]:
    """What a search finds that visits every move."""
    return {row.move.usi: row for row in searched(game, 200, GumbelSettings(max_considered=200))}


def shuffled(sfen: str, plies: int) -> ShogiGame:
    """A game in which both sides moved to and fro."""
    game = ShogiGame(sfen)
    for number in range(plies):
        game.play(("5i4i", "5a4a", "4i5i", "4a5a")[number % 4])
    return game


def test_g6_the_fourth_occurrence_is_a_draw_and_only_it() -> None:
    sfen = "4k4/9/9/9/9/9/9/9/4K4 b Rr 1"
    fourth, third = (by_move(shuffled(sfen, plies))["4a5a"] for plies in (11, 7))
    assert (fourth.verdict, fourth.value) == (Verdict.DRAW, 0.0)
    assert third.visits > 0
    assert third.verdict is Verdict.OPEN


def test_g6_perpetual_check_loses_for_the_checker() -> None:
    game = ShogiGame("8k/9/9/9/9/9/9/9/K6R1 b r 1")
    for number in range(11):
        game.play(("2i1i", "1a2a", "1i2i", "2a1a")[number % 4])
    assert by_move(game)["2a1a"].verdict is Verdict.WIN, (
        "the fourth time, and Black gave check with every move"
    )


def test_the_ply_cap_is_a_draw() -> None:
    game = ShogiGame(max_plies=1)
    assert {row.verdict for row in searched(game, 64) if row.visits} == {Verdict.DRAW}


@pytest.mark.parametrize("declare", [True, False])
def test_a_win_that_can_be_declared_is_won(declare: bool) -> None:
    game = ShogiGame("KGGSS+N+N+L+L/+P+P+P+P5/9/9/9/9/9/9/8k w 2R2B2g2s2n2l14p 100")
    rows = searched(game, 20, GumbelSettings(max_considered=64, declare=declare))
    assert not game.can_declare_win()
    assert {row.verdict is Verdict.LOSS for row in rows if row.visits} == {declare}


# ---- misuse


def test_the_root_can_be_restricted_to_some_moves() -> None:
    only = [Move.from_usi("1g1f"), Move.from_usi("9g9f")]
    forest = grow(GumbelForest([ShogiGame()], ACTIONS, only=only), 30)
    assert {row.move for row in forest.root_moves(0)} == set(only)


def test_an_illegal_restriction_is_refused() -> None:
    with pytest.raises(IllegalMoveError, match=r"'1g1e'.*1g"):
        GumbelForest([ShogiGame()], ACTIONS, only=[Move.from_usi("1g1e")])


@pytest.mark.parametrize("settings", [{"max_considered": 0}, {"leaves_per_move": 0}])
def test_settings_that_allow_nothing_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(settings))} must be at least 1, not 0"):
        GumbelForest([ShogiGame()], ACTIONS, GumbelSettings(**settings))  # type: ignore[arg-type]


def test_numbers_below_their_least_are_refused() -> None:
    forest = GumbelForest([ShogiGame()], ACTIONS)
    with pytest.raises(ValueError, match="at least 0, not -1"):
        forest.add_simulations(-1)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        forest.select(0)


@pytest.mark.parametrize(("rows", "width"), [(2, ACTIONS), (0, ACTIONS), (1, ACTIONS - 1)])
def test_answers_of_another_shape_are_refused(rows: int, width: int) -> None:
    forest = GumbelForest([ShogiGame()], ACTIONS)
    assert len(forest.select(1)) == 1
    with pytest.raises(ValueError, match=r"rows instead of|one column an action"):
        forest.expand(np.zeros((rows, width), np.float32), np.zeros(rows, np.float32))


def test_a_selection_must_be_answered_before_the_next() -> None:
    forest = GumbelForest([ShogiGame()], ACTIONS)
    forest.select(1)
    with pytest.raises(ValueError, match="wait for answers"):
        forest.select(1)


def test_a_tree_that_is_not_there_cannot_be_asked() -> None:
    forest = GumbelForest([ShogiGame()], ACTIONS)
    with pytest.raises(IndexError, match="no such tree"):
        forest.root_moves(1)


# ---- the rest


def test_lines_are_legal_and_memory_grows_with_them() -> None:
    games: Sequence[ShogiGame] = [game for game in visited_games(64, seed=6) if game.outcome is None]
    forest = GumbelForest(games, ACTIONS)
    sizes = [forest.bytes, grow(forest, 50).bytes]
    assert sizes[0] < sizes[1]
    for i, game in enumerate(games):
        for row in forest.root_moves(i)[:3]:
            replay = game.copy()
            line = forest.line(i, row.move)
            assert line[0] == row.move
            for move in line:
                replay.play(move)
    assert forest.line(0, Move.from_usi("P*5e")) in ([], [Move.from_usi("P*5e")])
