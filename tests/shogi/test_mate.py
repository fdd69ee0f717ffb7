"""Mates, exchanges and material, each against a slow twin and on problems whose answers are known."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from plain_board import read_board
from plain_exchange import immediate_gain, plain_exchange, plain_material
from plain_mate import attacker_wins, check_wins, plain_mate_in_one, plain_mate_length, position_only
from random_play import visited_games
from twins import mirrored_sfen, turned_sfen

from keisei.errors import IllegalMoveError, SfenError
from keisei.shogi import STANDARD_SFEN, Color, Move, Reason, ShogiGame

#: Problems by length, with the only first moves that solve them.
PROBLEMS = {
    "4k4/9/4P4/9/9/9/9/9/4K4 b G 1": (1, "G*5b"),
    "1k2g4/9/p8/Ng1RG4/9/9/9/9/4K4 b RSN 1": (3, "R*8b"),
    "kn+B6/g8/+B2p5/p8/9/9/9/9/4K4 b SP 1": (3, "S*8b"),
    "k2l5/g1g6/L2+B5/+P1p6/9/9/9/9/4K4 b G 1": (5, "9c9b+"),
    "Bk1+P5/9/3+R5/9/9/9/9/9/4K4 b B 1": (5, "6c8c"),
    # A dragon would make the pawn drop a mate, which is forbidden: the rook must not promote.
    "9/8k/8B/5G3/6R1+P/9/9/9/4K4 b P 1": (5, "3e3b"),
    "8B/5G2k/6R2/9/9/7N1/9/9/4K4 b P 1": (5, "3c3b"),
    "8k/9/5N1R1/8B/9/9/9/9/4K4 b P 1": (7, "2c1c"),
    "5G2k/6p2/8n/6S1R/7p1/9/9/9/4K4 b P 1": (7, "1d1c"),
}


def near_mates(count: int, seed: int) -> Iterator[ShogiGame]:
    """Random positions with a few attackers around White's king."""
    rng = Random(seed)
    while count:
        row, column = rng.choice((0, 0, 1)), rng.choice((0, 1, 4, 7, 8))
        near = [(r, c) for r in range(row + 4) for c in range(max(0, column - 3), min(9, column + 4))]
        near.remove((row, column))
        squares = rng.sample(near, 7)
        board = [["1"] * 9 for _ in range(9)]
        board[row][column], board[8][4] = "k", "K"
        pieces = rng.choices(("P", "S", "G", "+P", "N", "B", "+R", "+B"), k=rng.randint(1, 3))
        pieces += rng.choices("psgnl", k=rng.randint(0, 4))
        for (r, c), piece in zip(squares, pieces, strict=False):
            board[r][c] = piece
        hand = "".join(sorted(set(rng.choices("GSNRP", k=rng.randint(1, 2)))))
        try:
            game = ShogiGame(f"{'/'.join(map(''.join, board))} b {hand} 1")
        except SfenError:
            continue
        if game.outcome is None:
            count -= 1
            yield game


def assert_mates(game: ShogiGame, line: list[Move]) -> None:
    """The line is legal, every second move checks, and the last one mates."""
    play = position_only(game)
    attacker = play.turn
    for move in line:
        mover = play.turn
        play.play(move)
        assert mover is not attacker or play.is_in_check
    assert play.outcome is not None
    assert (play.outcome.winner, play.outcome.reason) == (attacker, Reason.CHECKMATE)
    assert len(line) % 2 == 1


# ---------------------------------------------------------------- mate in one


def test_mate_in_one_is_found_exactly_where_there_is_one() -> None:
    verdicts = Counter[bool]()
    for game in (*visited_games(1_200, seed=31), *near_mates(600, seed=32)):
        expected = plain_mate_in_one(position_only(game))
        move = game.mate_in_one()
        assert (move is None) is (not expected), game.sfen
        assert move is None or move.usi in expected
        verdicts[bool(expected)] += 1
    assert min(verdicts.values()) >= 50


def test_mate_in_one_looks_and_does_not_touch() -> None:
    game = ShogiGame(next(iter(PROBLEMS)))
    before = game.sfen
    assert game.mate_in_one() == Move.from_usi("G*5b")
    assert (game.sfen, game.moves) == (before, [])


def test_a_dropped_pawn_is_no_mate_in_one() -> None:
    assert ShogiGame("3nkn3/9/4G4/9/9/9/9/9/4K4 b P 1").mate_in_one() is None


def test_leaving_no_move_without_check_is_no_mate() -> None:
    game = ShogiGame("k8/9/N1G6/9/9/9/9/9/4K4 b - 1")
    assert game.mate_in_one() is None


# ---------------------------------------------------------------- forced mates


@pytest.mark.parametrize("sfen", PROBLEMS)
@pytest.mark.parametrize("image", [str, mirrored_sfen, turned_sfen], ids=["", "mirrored", "for white"])
def test_known_problems_are_solved_in_as_many_plies_as_it_takes(sfen: str, image: type[str]) -> None:
    length, _ = PROBLEMS[sfen]
    game = ShogiGame(image(sfen))
    line = game.find_mate(7)
    assert line is not None
    assert len(line) == length
    assert_mates(game, line)
    if length > 1:
        assert game.find_mate(length - 2) is None
        assert game.find_mate(length - 1) is None, "an even number of plies is rounded down"
    assert game.sfen == image(sfen)


@pytest.mark.parametrize("sfen", PROBLEMS)
def test_the_answers_to_the_known_problems_are_right(sfen: str) -> None:
    """Brute force: the length, and that no other first move does it in as many plies."""
    length, key = PROBLEMS[sfen]
    game = ShogiGame(sfen)
    assert length < 3 or not attacker_wins(position_only(game), length - 2)
    solutions = {move.usi for move in game.legal_moves() if check_wins(position_only(game), move, length)}
    assert solutions == {key}
    line = game.find_mate()
    assert line is not None
    assert line[0].usi == key


def test_the_search_agrees_with_brute_force() -> None:
    lengths = Counter[int | None]()
    for game in near_mates(260, seed=33):
        expected = plain_mate_length(game, longest=3)
        line = game.find_mate(3)
        assert (None if line is None else len(line)) == expected, game.sfen
        if line is not None:
            assert_mates(game, line)
        lengths[expected] += 1
    assert min(lengths[1], lengths[3], lengths[None]) >= 20


def test_the_search_agrees_with_brute_force_in_random_games() -> None:
    for game in visited_games(2_000, seed=34):
        if not 0 < len(game.legal_moves()) < 60:
            continue
        one_ply = {1} if plain_mate_in_one(position_only(game)) else set()
        line = game.find_mate(3)
        found = set() if line is None else {len(line)}
        assert found & {1} == one_ply
        if line is not None:
            assert_mates(game, line)
            assert plain_mate_length(game, longest=3) == len(line)


def test_longer_lines_are_real_and_shortest() -> None:
    lengths = Counter[int]()
    for game in near_mates(400, seed=35):
        line = game.find_mate(7)
        if line is None:
            continue
        assert_mates(game, line)
        lengths[len(line)] += 1
        if len(line) >= 5:
            assert game.find_mate(len(line) - 2) is None
            assert plain_mate_length(game, longest=3) is None
    assert min(lengths[5], lengths[7]) >= 3


def test_no_mate_is_none() -> None:
    assert ShogiGame().find_mate(3) is None
    assert ShogiGame("k8/9/9/9/9/9/9/9/8K b - 1").find_mate(7) is None
    for plies in (0, -1):
        assert ShogiGame(next(iter(PROBLEMS))).find_mate(plies) is None


def test_a_mated_side_finds_no_mate() -> None:
    game = ShogiGame(next(iter(PROBLEMS)))
    game.make_move("G*5b")
    assert (game.find_mate(3), game.mate_in_one()) == (None, None)


def test_the_search_says_when_it_gives_up() -> None:
    game = ShogiGame("8k/9/5N1R1/8B/9/9/9/9/4K4 b P 1")
    with pytest.raises(RuntimeError, match=r"gave up after \d+ positions; raise max_nodes=5"):
        game.find_mate(7, max_nodes=5)
    assert game.find_mate(7, max_nodes=100_000) is not None


# ---------------------------------------------------------------- material and exchanges


def test_material_is_counted_piece_by_piece() -> None:
    assert ShogiGame().material(Color.BLACK) == 0
    for game in visited_games(1_500, seed=36):
        expected = plain_material(game.sfen, "b")
        assert game.material(Color.BLACK) == expected
        assert game.material(Color.WHITE) == -expected


def test_exchanges_equal_a_capture_by_capture_count() -> None:
    rng = Random(37)
    contested = 0
    for game in visited_games(2_500, seed=37):
        legal = game.legal_moves()
        for move in rng.sample(legal, min(4, len(legal))):
            gain = game.static_exchange(move)
            assert gain == plain_exchange(game.sfen, move.usi), (game.sfen, move.usi)
            contested += gain != 0
    assert contested >= 500


@pytest.mark.parametrize(
    ("what", "sfen", "usi", "gain"),
    [
        ("a loose pawn is won", "4k4/9/9/9/4p4/4P4/9/9/4K4 b - 1", "5f5e", 200),
        ("a pawn for a pawn", "4k4/9/9/4g4/4p4/4P4/9/9/4K4 b - 1", "5f5e", 0),
        ("a gold had better not retake", "4k4/9/9/4g4/4p4/4P4/4R4/9/4K4 b - 1", "5f5e", 200),
        ("the king takes what is loose", "4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*5b", -200),
        ("the king takes nothing that is protected", "4k4/9/4G4/9/9/9/9/9/4K4 b P 1", "P*5b", 0),
        ("a promotion adds its worth", "4k4/9/9/4P4/9/9/9/9/4K4 b - 1", "5d5c+", 450),
        ("a gold, and a dragon for a rook", "4k4/9/4g4/9/9/9/9/4R4/4K4 b - 1", "5h5c+", 1400),
    ],
)
def test_exchanges_worked_out_by_hand(what: str, sfen: str, usi: str, gain: int) -> None:
    assert ShogiGame(sfen).static_exchange(usi) == gain, what


def test_only_legal_moves_have_an_exchange() -> None:
    with pytest.raises(IllegalMoveError, match=r"illegal move '7g7e' in position .* does not reach"):
        ShogiGame().static_exchange("7g7e")
    with pytest.raises((IllegalMoveError, TypeError)):
        ShogiGame().static_exchange(Move(1 << 16 | Move.from_usi("7g7f").code))


def test_the_greediest_moves_win_the_most_at_once() -> None:
    assert len(ShogiGame(STANDARD_SFEN).greediest_moves()) == 30
    for game in visited_games(800, seed=38):
        board = read_board(game.sfen)
        gains = {move: immediate_gain(board, move.usi) for move in game.legal_moves()}
        most = max(gains.values())
        assert set(game.greediest_moves()) == {move for move, gain in gains.items() if gain == most}
