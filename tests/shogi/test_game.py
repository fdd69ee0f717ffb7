"""ShogiGame as a user meets it: playing, taking back, errors, and Python's protocols."""

import copy
import pickle
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_play import SPARSE_SFENS, walk

from keisei.errors import IllegalMoveError
from keisei.shogi import (
    OBSERVATION_SHAPE,
    STANDARD_SFEN,
    Color,
    ImpasseRule,
    Move,
    Outcome,
    PieceType,
    Reason,
    ShogiGame,
)

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MAY_DECLARE = "K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/8k b 2RB3P 1"
KING_STEPS_ASIDE = ("K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/7k1 w 2RB3P 1", "2i1i")  # then Black may declare
ROOKS_WANDER = ("2h3h", "8b7b", "3h2h", "7b8b")
AFTER_7G7F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"


def portrait(game: ShogiGame) -> tuple[Any, ...]:
    """All that a user can see of a game."""
    return (
        game.sfen,
        game.start_sfen,
        game.turn,
        game.ply,
        game.is_in_check,
        game.occurrences,
        game.outcome,
        game.moves,
        game.last_move,
        game.legal_moves(),
        game.hand(Color.BLACK),
        game.hand(Color.WHITE),
        [game.piece_at(square) for square in range(81)],
        game.max_plies,
        game.impasse_rule,
        game.can_declare_win(),
        game.get_observation().tobytes(),
        game.pack(),
        hash(game),
    )


# ---------------------------------------------------------------- playing


def test_a_new_game() -> None:
    game = ShogiGame()
    assert (game.sfen, game.start_sfen, game.ply, game.turn) == (STANDARD_SFEN, STANDARD_SFEN, 0, Color.BLACK)
    assert (game.is_in_check, game.outcome, game.moves, game.last_move) == (False, None, [], None)
    assert (game.occurrences, game.max_plies, game.impasse_rule) == (1, 512, ImpasseRule.CSA27)
    assert game.can_declare_win() is False
    assert len(game.legal_moves()) == 30
    assert all(isinstance(move, Move) for move in game.legal_moves())


def test_making_a_move_returns_observation_reward_done_and_info() -> None:
    game = ShogiGame()
    observation, reward, done, info = game.make_move("7g7f")
    assert (observation.shape, observation.dtype) == (OBSERVATION_SHAPE, np.float32)
    assert np.array_equal(observation, game.get_observation())
    assert observation[42].max() == 0, "it is the next mover's"
    assert (reward, done, info) == (0.0, False, {"outcome": None, "truncated": False})
    assert (type(reward), type(done)) == (float, bool)
    assert (game.sfen, game.ply, game.turn) == (AFTER_7G7F, 1, Color.WHITE)
    assert game.moves == [game.last_move] == [Move.from_usi("7g7f")]


def test_moves_may_be_text_or_objects() -> None:
    one, other = ShogiGame(), ShogiGame()
    one.make_move("7g7f")
    other.make_move(Move.from_usi("7g7f"))
    assert portrait(one) == portrait(other)


def test_play_moves_like_make_move() -> None:
    one, other = ShogiGame(MATE_IN_ONE), ShogiGame(MATE_IN_ONE)
    one.play("G*5b")
    _, reward, done, info = other.make_move("G*5b")
    assert portrait(one) == portrait(other)
    assert (reward, done) == (1.0, True)
    assert info == {"outcome": Outcome(Color.BLACK, Reason.CHECKMATE), "truncated": False}


def test_each_observation_is_a_new_array() -> None:
    game = ShogiGame()
    first = game.get_observation()
    kept = first.copy()
    game.make_move("7g7f")
    assert np.array_equal(first, kept)


def test_what_stands_where() -> None:
    game = ShogiGame("4k4/9/9/9/4+p4/9/9/9/4K3+R b 2Pg 1")
    assert game.piece_at(4) == (Color.WHITE, PieceType.KING)
    assert game.piece_at(40) == (Color.WHITE, PieceType.PRO_PAWN)
    assert game.piece_at(80) == (Color.BLACK, PieceType.DRAGON)
    assert game.piece_at(0) is None
    assert game.hand(Color.BLACK) == (2, 0, 0, 0, 0, 0, 0)
    assert game.hand(Color.WHITE) == (0, 0, 0, 0, 1, 0, 0)


@pytest.mark.parametrize("square", [-1, 81])
def test_there_are_81_squares(square: int) -> None:
    with pytest.raises(IndexError, match=f"0..80, not {square}"):
        ShogiGame().piece_at(square)


def test_the_move_number_of_an_sfen_is_kept() -> None:
    game = ShogiGame(STANDARD_SFEN.removesuffix("1") + "101")
    assert game.ply == 100
    game.make_move("7g7f")
    assert game.sfen.endswith(" 102")


@pytest.mark.parametrize("plies", [0, -1, 65_536])
def test_an_impossible_ply_cap_is_refused(plies: int) -> None:
    with pytest.raises(ValueError, match=f"max_plies must lie in 1..65534, not {plies}"):
        ShogiGame(max_plies=plies)


def test_reset_keeps_the_rules_and_forgets_the_rest() -> None:
    game = ShogiGame(max_plies=50, impasse_rule="try")
    game.make_move("7g7f")
    game.resign()
    observation = game.reset(SPARSE_SFENS[0])
    fresh = ShogiGame(SPARSE_SFENS[0], max_plies=50, impasse_rule="try")
    assert portrait(game) == portrait(fresh)
    assert np.array_equal(observation, fresh.get_observation())
    game.reset()
    assert game.sfen == STANDARD_SFEN


# ---------------------------------------------------------------- the end


def test_resignation_is_a_win_for_the_other_side() -> None:
    game = ShogiGame()
    game.make_move("7g7f")
    assert game.resign() == game.outcome == Outcome(Color.BLACK, Reason.RESIGNATION)
    with pytest.raises(IllegalMoveError, match="resign"):
        game.resign()
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.make_move("3c3d")
    assert game.sfen == AFTER_7G7F


def test_nobody_can_declare_after_the_end() -> None:
    game = ShogiGame(MAY_DECLARE)
    assert game.can_declare_win()
    game.resign()
    assert not game.can_declare_win()
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.declare_win()


def test_legal_moves_are_still_shown_after_the_end() -> None:
    game = ShogiGame()
    game.resign()
    assert len(game.legal_moves()) == 30


# ---------------------------------------------------------------- taking back

MOVES_OF_EVERY_KIND = {
    "quiet": (STANDARD_SFEN, "7g7f"),
    "capture": ("4k4/9/9/9/4p4/4P4/9/9/4K4 b - 1", "5f5e"),
    "promotion": ("k8/9/9/4P4/9/9/9/9/4K4 b - 1", "5d5c+"),
    "capture with promotion": ("k8/9/4p4/4P4/9/9/9/9/4K4 b - 1", "5d5c+"),
    "capture of a promoted piece": ("k8/9/9/9/4+r4/4P4/9/9/4K4 b - 1", "5f5e"),
    "capture by a promoted piece": ("k8/9/9/9/4+b4/4+R4/9/9/4K4 b - 1", "5f5e"),
    "capture by the king": ("k8/9/9/9/9/9/9/4+p4/4K4 b - 1", "5i5h"),
    "king move": ("k8/9/9/9/9/9/9/9/4K4 b - 1", "5i5h"),
    "drop": ("k8/9/9/9/9/9/9/9/4K4 b 2P 1", "P*5e"),
    "drop of the last piece": ("k8/9/9/9/9/9/9/9/4K4 b R 1", "R*5e"),
    "check": ("k8/9/9/9/9/9/9/9/4K4 b R 1", "R*9e"),
    "mate": (MATE_IN_ONE, "G*5b"),
    "no legal move": ("k8/9/N1G6/9/9/9/9/9/4K4 b - 1", "7c8c"),
    "white's capture with promotion": ("4k4/9/9/9/9/4r4/4R4/9/K8 w - 1", "5f5g+"),
}


@pytest.mark.parametrize(("sfen", "usi"), MOVES_OF_EVERY_KIND.values(), ids=MOVES_OF_EVERY_KIND)
def test_a_move_taken_back_leaves_no_trace(sfen: str, usi: str) -> None:
    game = ShogiGame(sfen)
    before = portrait(game)
    game.make_move(usi)
    after = portrait(game)
    assert after != before
    assert game.undo_move() == Move.from_usi(usi)
    assert portrait(game) == before
    game.make_move(usi)
    assert portrait(game) == after


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), plies=st.integers(1, 80))
def test_a_whole_game_can_be_taken_back_step_by_step(seed: int, plies: int) -> None:
    rng = Random(seed)
    game = ShogiGame(rng.choice((STANDARD_SFEN, *SPARSE_SFENS)))
    portraits = [portrait(game)]
    while len(portraits) <= plies and game.outcome is None:
        game.make_move(rng.choice(game.legal_moves()))
        portraits.append(portrait(game))
    for earlier in reversed(portraits[:-1]):
        game.undo_move()
        assert portrait(game) == earlier


def test_the_start_cannot_be_taken_back() -> None:
    game = ShogiGame()
    with pytest.raises(IllegalMoveError, match="no move to take back"):
        game.undo_move()
    game.resign()
    with pytest.raises(IllegalMoveError, match="no move to take back"):
        game.undo_move()
    assert game.outcome == Outcome(Color.WHITE, Reason.RESIGNATION)


def test_repetition_and_ply_cap_can_be_taken_back() -> None:
    game = ShogiGame(max_plies=12)
    for usi in (*ROOKS_WANDER * 2, *ROOKS_WANDER[:3]):
        game.make_move(usi)
    before = portrait(game)
    for last, reason in (
        ("7b8b", Reason.REPETITION),
        ("3c3d", Reason.MAX_PLIES),
        ("7b8b", Reason.REPETITION),
    ):
        game.make_move(last)
        assert game.outcome == Outcome(None, reason)
        game.undo_move()
        assert portrait(game) == before


def test_a_resignation_goes_with_the_move_before_it() -> None:
    game = ShogiGame()
    before = portrait(game)
    game.make_move("7g7f")
    game.resign()
    game.undo_move()
    assert portrait(game) == before


# ---------------------------------------------------------------- illegal moves

CHECKED = "4r3k/9/9/9/9/9/9/9/4K4 b P 1"
PINNED = "4r3k/9/9/9/9/9/9/4G4/4K4 b - 1"
PROMOTERS = "4k4/9/4P4/2N6/4S4/8L/9/9/K3G3+P b - 1"
DROPPER = "3nkn3/9/4G4/9/P8/9/9/9/4K4 b NLP 1"

ILLEGAL_MOVES = {
    "drop of a piece not held": (STANDARD_SFEN, "P*5e", "black holds no pawn"),
    "drop on an occupied square": (DROPPER, "L*5c", "5c is occupied"),
    "pawn dropped on the last rank": (DROPPER, "P*1a", "a pawn on 1a could never move"),
    "lance dropped on the last rank": (DROPPER, "L*1a", "a lance on 1a could never move"),
    "knight dropped on the second rank": (DROPPER, "N*1b", "a knight on 1b could never move"),
    "nifu": (DROPPER, "P*9g", "black already has a pawn on file 9 (nifu)"),
    "uchifuzume": (DROPPER, "P*5b", "uchifuzume"),
    "drop that ignores a check": (CHECKED, "P*4e", "it does not answer the check to the black king on 5i"),
    "from an empty square": (STANDARD_SFEN, "5e5d", "5e is empty"),
    "the other side's piece": (STANDARD_SFEN, "3c3d", "the piece on 3c is white's, and black is to move"),
    "onto an own piece": (STANDARD_SFEN, "2h2g", "2g holds black's own piece"),
    "out of a piece's reach": (STANDARD_SFEN, "7g7e", "the pawn on 7g does not reach 7e"),
    "through another piece": (STANDARD_SFEN, "8h6f", "the bishop on 8h does not reach 6f"),
    "promotion of a gold": (PROMOTERS, "5i5h+", "a gold cannot be promoted"),
    "promotion of the king": (PROMOTERS, "9i9h+", "a king cannot be promoted"),
    "promotion of a promoted piece": (PROMOTERS, "1i1h+", "a promoted pawn cannot be promoted"),
    "promotion outside the zone": (PROMOTERS, "5e5d+", "neither 5e nor 5d is in the promotion zone"),
    "pawn that must promote": ("8k/4P4/9/9/9/9/9/9/K8 b - 1", "5b5a", "a pawn must promote on 5a"),
    "lance that must promote": (PROMOTERS, "1f1a", "a lance must promote on 1a"),
    "knight that must promote": (PROMOTERS, "7d8b", "a knight must promote on 8b"),
    "board move that ignores a check": (
        CHECKED,
        "5i5h",
        "it does not answer the check to the black king on 5i",
    ),
    "move of a pinned piece": (PINNED, "5h4h", "it would leave the black king on 5i in check"),
    "king into check": ("3r4k/9/9/9/9/9/9/9/4K4 b - 1", "5i6i", "in check"),
}


@pytest.mark.parametrize(("sfen", "usi", "reason"), ILLEGAL_MOVES.values(), ids=ILLEGAL_MOVES)
def test_an_illegal_move_is_named_with_position_and_rule_and_changes_nothing(
    sfen: str, usi: str, reason: str
) -> None:
    game = ShogiGame(sfen)
    before = portrait(game)
    with pytest.raises(IllegalMoveError) as error:
        game.make_move(usi)
    message = str(error.value)
    assert repr(usi) in message
    assert sfen in message
    assert reason in message
    assert portrait(game) == before


def test_every_refusal_of_a_random_position_has_the_reason_and_changes_nothing() -> None:
    """All 13,527 forms of a move in one position: legal ones are accepted, all others explained."""
    game = ShogiGame("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    squares = [file + rank for rank in "abcdefghi" for file in "987654321"]
    forms = [a + b + sign for a in squares for b in squares if a != b for sign in ("", "+")]
    forms += [f"{piece}*{square}" for piece in "PLNSGBR" for square in squares]
    legal = {move.usi for move in game.legal_moves()}
    before = portrait(game)
    for usi in forms:
        if usi in legal:
            continue
        with pytest.raises(IllegalMoveError, match=r"^illegal move '.{4,5}' in position '.*': .+"):
            game.make_move(usi)
    assert portrait(game) == before


@pytest.mark.parametrize("code", [-1, 0, 88 << 7, 0xFFFF, 0x10000, 1 << 31])
def test_a_code_of_no_move_is_illegal(code: int) -> None:
    game = ShogiGame()
    with pytest.raises((IllegalMoveError, TypeError)):
        game.make_move(Move(code))
    assert game.sfen == STANDARD_SFEN


def test_a_move_code_is_not_cut_to_sixteen_bits() -> None:
    game = ShogiGame()
    for bits in (1 << 16, 1 << 20, -(1 << 16)):
        with pytest.raises((IllegalMoveError, TypeError)):
            game.make_move(Move(Move.from_usi("7g7f").code + bits))
    assert game.sfen == STANDARD_SFEN


@pytest.mark.parametrize("text", ["7g7", "resign", "7g7f\n", "７g７f", ""])
def test_text_that_is_no_move_is_illegal(text: str) -> None:
    game = ShogiGame()
    with pytest.raises(IllegalMoveError, match="not a USI move"):
        game.make_move(text)
    assert game.sfen == STANDARD_SFEN


# ---------------------------------------------------------------- Python's protocols


def test_equality_is_that_of_the_position() -> None:
    one, other = ShogiGame(), ShogiGame()
    for usi in ("7g7f", "3c3d", "2g2f"):
        one.make_move(usi)
    for usi in ("2g2f", "3c3d", "7g7f"):
        other.make_move(usi)
    assert one == other
    assert hash(one) == hash(other)
    assert one == ShogiGame(one.sfen.removesuffix("4") + "99"), "the ply does not count"
    assert {one, other} == {one}


def test_inequality() -> None:
    base = "4k4/9/9/9/9/9/9/9/4K4"
    different = [
        f"{base} b P 1",
        f"{base} w P 1",
        f"{base} b p 1",
        f"{base} b 2P 1",
        "4k4/9/9/9/4P4/9/9/9/4K4 b - 1",
    ]
    games = [ShogiGame(sfen) for sfen in different]
    assert len(set(games)) == len(different)
    assert all(one != other for one in games for other in games if one is not other)
    assert ShogiGame() != STANDARD_SFEN


def test_the_hash_does_not_depend_on_the_way() -> None:
    for game in walk(Random(5), 300):
        again = ShogiGame(game.sfen)
        assert (again, hash(again)) == (game, hash(game))


def finished_games() -> dict[str, ShogiGame]:
    games = {"start": ShogiGame(), "middle": ShogiGame(max_plies=77, impasse_rule="try")}
    for usi in ("7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"):
        games["middle"].make_move(usi)
    games["resigned"] = games["middle"].copy()
    games["resigned"].resign()
    start, step = KING_STEPS_ASIDE
    for name, rule in (("declared", "csa27"), ("drawn by declaration", "csa24")):
        games[name] = ShogiGame(start, impasse_rule=rule)
        games[name].make_move(step)
        games[name].declare_win()
    games["mated"] = ShogiGame(MATE_IN_ONE)
    games["mated"].make_move("G*5b")
    games["capped"] = ShogiGame(max_plies=1)
    games["capped"].make_move("7g7f")
    games["repeated"] = ShogiGame()
    for usi in ROOKS_WANDER * 3:
        games["repeated"].make_move(usi)
    games["tried"] = ShogiGame("9/3K5/9/9/9/9/9/9/8k b - 1", impasse_rule="try")
    games["tried"].make_move("6b5a")
    return games


def test_the_sample_games_end_in_every_way() -> None:
    assert {game.outcome.reason for game in finished_games().values() if game.outcome} == set(Reason) - {
        Reason.NO_LEGAL_MOVES,
        Reason.PERPETUAL_CHECK,
    }


@pytest.mark.parametrize("name", finished_games())
@pytest.mark.parametrize(
    "duplicate", [ShogiGame.copy, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_a_duplicate_shows_the_same_and_lives_its_own_life(name: str, duplicate: Any) -> None:
    game = finished_games()[name]
    before = portrait(game)
    other = duplicate(game)
    assert type(other) is ShogiGame
    assert portrait(other) == before
    while other.moves:
        other.undo_move()
    other.make_move(other.legal_moves()[0])
    assert portrait(other) != before
    assert portrait(game) == before


def test_a_duplicate_remembers_repetitions() -> None:
    game = ShogiGame()
    for usi in ROOKS_WANDER * 2:
        game.make_move(usi)
    for other in (game.copy(), pickle.loads(pickle.dumps(game))):
        for usi in ROOKS_WANDER:
            other.make_move(usi)
        assert other.outcome == Outcome(None, Reason.REPETITION)
    assert game.outcome is None


def test_what_a_game_prints() -> None:
    game = ShogiGame()
    assert repr(game) == f"ShogiGame({STANDARD_SFEN!r})"
    assert len(str(game).splitlines()) >= 9
    assert game._repr_svg_().lstrip().startswith("<svg")
