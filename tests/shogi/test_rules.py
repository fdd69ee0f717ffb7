"""The rules one by one, each for both colours. Cases are written for Black; `Side` turns them for White."""

import pytest
from twins import Side

from keisei.errors import IllegalMoveError
from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Color, Outcome, Reason, ShogiGame

DRAWN_BY_REPETITION = Outcome(None, Reason.REPETITION)


@pytest.fixture(params=[Color.BLACK, Color.WHITE], ids=["black", "white"])
def side(request: pytest.FixtureRequest) -> Side:
    return Side(request.param)


# ---------------------------------------------------------------- repetition

ROOKS_WANDER = "2h3h 8b7b 3h2h 7b8b "
KING_AND_ROOK = "5k3/9/9/9/4R4/9/9/9/8K b - 1"  # rook 5e, White's king 4a
CHECKS_FOREVER = "5e4e 4a5a 4e5e 5a4a "
QUIET_ROUND = "5e5f 4a3a 5f5e 3a4a "


def test_g6_the_fourth_occurrence_counts_the_start_position(side: Side) -> None:
    game = side.game(STANDARD_SFEN)
    side.play(game, ROOKS_WANDER * 2)
    assert (game.occurrences, game.outcome) == (3, None)
    reward, done = side.play(game, ROOKS_WANDER)
    assert (game.ply, game.occurrences, game.outcome) == (12, 4, DRAWN_BY_REPETITION)
    assert (reward, done) == (0.0, True)


def test_a_position_off_the_start_is_counted_from_its_own_first_occurrence(side: Side) -> None:
    game = side.game(STANDARD_SFEN)
    side.play(game, "7g7f 3c3d " + ROOKS_WANDER * 3)
    assert (game.ply, game.outcome) == (14, DRAWN_BY_REPETITION)


def test_occurrences_need_not_follow_each_other(side: Side) -> None:
    game = side.game(KING_AND_ROOK)
    other_rounds = ("5e5g 4a3a 5g5e 3a4a ", "5e6e 4a3a 6e5e 3a4a ", QUIET_ROUND)
    side.play(game, "".join(other_rounds))
    assert game.outcome == DRAWN_BY_REPETITION
    assert game.occurrences == 4


def test_the_same_board_with_other_hands_is_another_position(side: Side) -> None:
    """Black gives a pawn in every round, and each king and rook come home: only the hands change."""
    game = side.game("4r3k/9/9/9/9/9/9/9/K8 b 4P 1")
    for _ in range(4):
        side.play(game, "P*5e 5a5e 9i9h 5e5b 9h9i 5b5a")
        assert (game.occurrences, game.outcome) == (1, None)
    assert (game.hand(side.color)[0], game.hand(side.color.opponent)[0]) == (0, 4)


def test_the_same_board_with_the_other_side_to_move_is_another_position(side: Side) -> None:
    game = side.game("k8/9/9/9/9/9/9/9/8K b - 1")
    turn = game.turn
    side.play(game, "1i2i 9a8a 2i2h 8a9a 2h1i")  # three steps against two
    assert game.sfen.split()[0] == ShogiGame(side.sfen("k8/9/9/9/9/9/9/9/8K b - 1")).sfen.split()[0]
    assert game.turn is turn.opponent
    assert game.occurrences == 1


# ---------------------------------------------------------------- perpetual check


def test_g6_who_checks_with_every_move_of_the_cycle_loses(side: Side) -> None:
    game = side.game(KING_AND_ROOK)
    side.play(game, CHECKS_FOREVER * 2)
    assert (game.occurrences, game.outcome) == (3, None)
    reward, done = side.play(game, CHECKS_FOREVER)
    assert game.outcome == side.loses(Reason.PERPETUAL_CHECK)
    assert (reward, done) == (1.0, True), "the evading side made the last move, and wins"


def test_g6_the_checker_who_completes_the_cycle_gets_minus_one(side: Side) -> None:
    game = side.game(KING_AND_ROOK.replace("5k3", "4k4").replace(" b ", " w "))  # in check from the start
    reward, done = side.play(game, "5a4a 5e4e 4a5a 4e5e " * 3)
    assert game.outcome == side.loses(Reason.PERPETUAL_CHECK)
    assert (reward, done) == (-1.0, True)


def test_quiet_moves_before_the_cycle_do_not_save_the_checker(side: Side) -> None:
    game = side.game(KING_AND_ROOK.replace("5k3", "6k2").replace("4R4/9", "9/4R4"))  # rook 5f, king 3a
    side.play(game, "5f5e 3a4a " + CHECKS_FOREVER * 3)
    assert game.outcome == side.loses(Reason.PERPETUAL_CHECK)
    assert game.ply == 14


@pytest.mark.parametrize("quiet_round", [0, 1, 2])
def test_one_round_without_check_makes_it_a_draw(side: Side, quiet_round: int) -> None:
    rounds = [CHECKS_FOREVER] * 3
    rounds[quiet_round] = QUIET_ROUND
    game = side.game(KING_AND_ROOK)
    side.play(game, "".join(rounds))
    assert game.outcome == DRAWN_BY_REPETITION


def test_one_quiet_move_in_every_round_makes_it_a_draw(side: Side) -> None:
    """Three checks and one quiet move a round."""
    game = side.game(KING_AND_ROOK)
    one_round = "5e4e 4a5a 4e5e 5a4a 5e4e 4a3a 4e5e 3a4a "
    side.play(game, one_round + "5e4e 4a5a 4e5e 5a4a ")
    assert game.outcome == DRAWN_BY_REPETITION


def test_taking_back_a_perpetual_check_forgets_it(side: Side) -> None:
    game = side.game(KING_AND_ROOK)
    side.play(game, CHECKS_FOREVER * 3)
    game.undo_move()
    assert (game.occurrences, game.outcome) == (3, None)
    side.play(game, "5a6a")
    assert game.outcome is None
    game.undo_move()
    side.play(game, "5a4a")
    assert game.outcome == side.loses(Reason.PERPETUAL_CHECK)


# ---------------------------------------------------------------- no legal move, mate, ply cap

STALEMATE_IN_ONE = "8k/9/NG7/9/9/9/9/9/4K4 b - 1".replace(
    "8k/9/NG7", "k8/9/N1G6"
)  # gold 7c, knight 9c, king 9a
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def test_g6_no_legal_move_without_check_loses(side: Side) -> None:
    game = side.game(STALEMATE_IN_ONE)
    reward, done = side.play(game, "7c8c")
    assert not game.is_in_check
    assert game.legal_moves() == []
    assert game.outcome == side.wins(Reason.NO_LEGAL_MOVES)
    assert (reward, done) == (1.0, True)


def test_g6_a_start_without_a_legal_move_is_lost(side: Side) -> None:
    game = side.game("k8/9/NG7/9/9/9/9/9/4K4 w - 1")
    assert game.outcome == side.wins(Reason.NO_LEGAL_MOVES)


def test_mate_wins(side: Side) -> None:
    game = side.game(MATE_IN_ONE)
    reward, done = side.play(game, "G*5b")
    assert game.outcome == side.wins(Reason.CHECKMATE)
    assert (game.is_in_check, reward, done) == (True, 1.0, True)


@pytest.mark.parametrize(
    ("sfen", "move", "reason"),
    [(MATE_IN_ONE, "G*5b", Reason.CHECKMATE), (STALEMATE_IN_ONE, "7c8c", Reason.NO_LEGAL_MOVES)],
)
def test_a_win_at_the_ply_cap_is_a_win(side: Side, sfen: str, move: str, reason: Reason) -> None:
    game = side.game(sfen, max_plies=1)
    _, reward, done, info = game.make_move(side.usi(move))
    assert game.outcome == side.wins(reason)
    assert (reward, done, info["truncated"]) == (1.0, True, False)


def test_repetition_at_the_ply_cap_is_repetition(side: Side) -> None:
    game = side.game(KING_AND_ROOK, max_plies=12)
    side.play(game, CHECKS_FOREVER * 3)
    assert game.outcome == side.loses(Reason.PERPETUAL_CHECK)


def test_the_ply_cap_draws_and_says_that_it_cut_the_game_short(side: Side) -> None:
    game = side.game(STANDARD_SFEN, max_plies=3)
    side.play(game, "7g7f 3c3d")
    assert game.outcome is None
    _, reward, done, info = game.make_move(side.usi("2g2f"))
    assert game.outcome == Outcome(None, Reason.MAX_PLIES)
    assert (reward, done, info["truncated"]) == (0.0, True, True)


def test_the_ply_cap_counts_from_the_sfen_move_number() -> None:
    game = ShogiGame(STANDARD_SFEN.removesuffix("1") + "10", max_plies=10)
    assert game.outcome is None
    game.make_move("7g7f")
    assert game.outcome == Outcome(None, Reason.MAX_PLIES)
    assert ShogiGame(game.sfen, max_plies=10).outcome == game.outcome, "a start at the cap is over"


# ---------------------------------------------------------------- impasse


def entered(points: int, *, camp: int = 10, rank: str = "a", checked: bool = False) -> str:
    """Black to move, the king on file 9, ``camp`` promoted pawns in the far ranks, and a hand."""
    pawns = points - camp - 10
    hand = "RB" if pawns < 6 else "2RB"  # five points each
    pawns -= 0 if hand == "RB" else 5
    tokins = ["+P"] * camp + ["1"] * (16 - camp)
    ranks = ["9"] * 8 + ["8k"]
    ranks[1] = ("+b" if checked else "1") + "".join(tokins[:8])
    ranks[2] = "1" + "".join(tokins[8:])
    row = "abcdefghi".index(rank)
    ranks[row] = "K8" if ranks[row] == "9" else "K" + ranks[row][1:]
    return f"{'/'.join(ranks)} b {hand}{pawns if pawns > 1 else ''}{'P' if pawns else ''} 1"


def needed(side: Side) -> int:
    """Points for a declaration by the 27-point rule; White's first move is worth one."""
    return 28 if side.color is Color.BLACK else 27


def assert_refused(game: ShogiGame, *fragments: str) -> None:
    """The mover may not declare, and trying changes nothing; the message names who, where and why."""
    before = (game.sfen, game.outcome)
    assert not game.can_declare_win()
    with pytest.raises(IllegalMoveError) as refusal:
        game.declare_win()
    for fragment in (game.turn.name, game.sfen, *fragments):
        assert fragment in str(refusal.value)
    assert (game.sfen, game.outcome) == before


@pytest.mark.parametrize("rank", ["a", "b", "c"])
def test_enough_points_win_by_declaration(side: Side, rank: str) -> None:
    game = side.game(entered(needed(side), rank=rank))
    assert game.outcome is None, "a declaration is the player's choice"
    assert game.can_declare_win()
    assert game.declare_win() == game.outcome == side.wins(Reason.DECLARATION)


def test_one_point_short_may_not_declare(side: Side) -> None:
    points = needed(side) - 1
    assert_refused(side.game(entered(points)), f"{points} points", "csa27")


def test_nine_pieces_in_the_camp_are_too_few(side: Side) -> None:
    assert side.game(entered(needed(side), camp=10)).can_declare_win()
    assert_refused(side.game(entered(needed(side), camp=9)), f"{needed(side)} points")


def test_the_king_must_stand_in_the_camp(side: Side) -> None:
    assert_refused(side.game(entered(30, rank="d")))


def test_a_king_in_check_may_not_declare(side: Side) -> None:
    game = side.game(entered(30, checked=True))
    assert game.is_in_check
    assert_refused(game)


def test_only_the_side_to_move_may_declare(side: Side) -> None:
    game = side.game(entered(30))
    side.play(game, "9a9b")
    assert_refused(game)


def test_rooks_and_bishops_count_five_and_pieces_outside_the_camp_nothing(side: Side) -> None:
    """In the camp 6 tokins, gold, silver, dragon and horse make 18, in hand rook and bishop 10, outside 0."""
    board = "K8/1+P+P+P+P+P+P2/1GS+R+B4/GSNL1L3/9/9/9/9/8k"
    for outside in (board, board.replace("GSNL1L3", "9")):
        assert side.game(f"{outside} b RB 1").can_declare_win()
    assert not side.game(f"{board.replace('+B', '1')} b RB 1").can_declare_win()


def test_a_declaration_ends_the_game_and_can_be_taken_back(side: Side) -> None:
    game = side.game(entered(30).replace("8k b", "7k1 b").replace(" b ", " w "))
    side.play(game, "2i1i")
    game.declare_win()
    with pytest.raises(IllegalMoveError, match="game is over"):
        game.make_move(game.legal_moves()[0])
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.declare_win()
    game.undo_move()
    assert game.outcome is None


@pytest.mark.parametrize(
    ("points", "winning", "reason"),
    [(24, False, Reason.IMPASSE), (30, False, Reason.IMPASSE), (31, True, Reason.DECLARATION)],
)
def test_the_24_point_rule_draws_from_24_and_wins_from_31(
    side: Side, points: int, winning: bool, reason: Reason
) -> None:
    game = side.game(entered(points), impasse_rule="csa24")
    ending = Outcome(side.color if winning else None, reason)
    assert game.can_declare_win() is winning
    assert (game.declaration(), game.outcome) == (ending, None), "asking does not end the game"
    assert game.declare_win() == game.outcome == ending


def test_the_24_point_rule_asks_the_same_of_king_and_camp(side: Side) -> None:
    assert_refused(side.game(entered(23), impasse_rule="csa24"), "23 points", "csa24")
    assert_refused(side.game(entered(31, camp=9), impasse_rule="csa24"))
    assert_refused(side.game(entered(31, rank="d"), impasse_rule="csa24"))
    assert_refused(side.game(entered(31, checked=True), impasse_rule="csa24"))


@pytest.mark.parametrize("rule", ["off", "try"])
def test_without_a_declaration_rule_nobody_declares(side: Side, rule: str) -> None:
    assert_refused(side.game(entered(31), impasse_rule=rule), repr(rule))


def test_try_rule_the_king_on_the_enemy_kings_square_wins(side: Side) -> None:
    sfen = "9/3K5/9/9/9/9/9/9/8k b - 1"
    game = side.game(sfen, impasse_rule="try")
    side.play(game, "6b6a 1i1h")
    assert game.outcome is None
    reward, done = side.play(game, "6a5a")
    assert game.outcome == side.wins(Reason.IMPASSE)
    assert (reward, done) == (1.0, True)


@pytest.mark.parametrize("rule", ["off", "csa27", "csa24"])
def test_try_is_no_win_under_other_rules(side: Side, rule: str) -> None:
    game = side.game("9/3K5/9/9/9/9/9/9/8k b - 1", impasse_rule=rule)
    side.play(game, "6b5a")
    assert game.outcome is None


def test_try_needs_a_legal_king_move(side: Side) -> None:
    game = side.game("9/3K5/9/9/9/9/9/9/4r3k b - 1", impasse_rule="try")
    assert "6b5a" not in side.legal(game)


def test_an_unknown_impasse_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="csa28"):
        ShogiGame(impasse_rule="csa28")


# ---------------------------------------------------------------- drops

DROP_MATE = "3nkn3/9/4G4/9/9/9/9/9/4K4 b P 1"


def test_a_dropped_pawn_may_not_mate(side: Side) -> None:
    game = side.game(DROP_MATE)
    assert "P*5b" not in side.legal(game)
    with pytest.raises(IllegalMoveError, match="uchifuzume"):
        side.play(game, "P*5b")


@pytest.mark.parametrize(
    ("why", "sfen"),
    [
        ("the king can flee", "3nk4/9/4G4/9/9/9/9/9/4K4 b P 1"),
        ("the king can capture the pawn", "3nkn3/3p1p3/9/9/9/9/9/9/4K4 b P 1"),
        ("a silver captures the pawn", "3skn3/9/4G4/9/9/9/9/9/4K4 b P 1"),
        ("a pinned rook captures along its pin", "3nkn3/9/3S1S3/9/4r4/9/9/9/K3L4 b P 1"),
        ("the pawn blocks the bishop that guards 4a", "3nk4/9/4G4/2B6/9/9/9/9/4K4 b P 1"),
    ],
)
def test_a_dropped_pawn_may_check(side: Side, why: str, sfen: str) -> None:
    game = side.game(sfen)
    assert "P*5b" in side.legal(game), why
    side.play(game, "P*5b")
    assert (game.is_in_check, game.outcome) == (True, None)


@pytest.mark.parametrize(
    ("why", "sfen"),
    [
        ("the silver that could capture is pinned", "R2skn3/9/4G4/9/9/9/9/9/4K4 b P 1"),
        ("the flight square is guarded by a far lance", "3nk4/9/4G4/9/9/9/9/5L3/4K4 b P 1"),
        ("it also parries a check", "R2bkn3/9/4GK3/9/9/9/9/9/9 b P 1"),
    ],
)
def test_a_dropped_pawn_that_mates_is_forbidden_although(side: Side, why: str, sfen: str) -> None:
    assert "P*5b" not in side.legal(side.game(sfen)), why


def test_other_pieces_may_mate_by_drop_and_pawns_by_moving(side: Side) -> None:
    by_drop = side.game(MATE_IN_ONE)
    side.play(by_drop, "G*5b")
    by_move = side.game("3nkn3/9/3SPS3/9/9/9/9/9/4K4 b - 1")
    side.play(by_move, "5c5b")
    assert by_drop.outcome == by_move.outcome == side.wins(Reason.CHECKMATE)


def test_two_pawns_on_a_file_are_forbidden_only_for_own_unpromoted_pawns(side: Side) -> None:
    game = side.game("4k4/9/9/P1+P3p2/9/9/9/9/4K4 b P 1")
    drops = {usi for usi in side.legal(game) if usi.startswith("P*")}
    assert not {usi for usi in drops if usi[2] == "9"}
    assert {"P*7b", "P*3b", "P*3e"} <= drops
    with pytest.raises(IllegalMoveError, match="nifu"):
        side.play(game, "P*9e")


def test_no_piece_is_dropped_where_it_could_never_move(side: Side) -> None:
    legal = side.legal(side.game("k8/9/9/9/9/9/9/9/8K b RBGSNLP 1"))
    ranks = {piece: {usi[3] for usi in legal if usi[:2] == f"{piece}*"} for piece in "PLNSGBR"}
    assert ranks["P"] == ranks["L"] == set("bcdefghi")
    assert ranks["N"] == set("cdefghi")
    assert ranks["S"] == ranks["G"] == ranks["B"] == ranks["R"] == set("abcdefghi")


# ---------------------------------------------------------------- promotion


@pytest.mark.parametrize(
    ("piece", "moves"),
    [
        ("P/9/9", "5b5a+"),
        ("9/P/9", "5c5b 5c5b+"),
        ("9/9/P", "5d5c 5d5c+"),
        ("9/L/9", "5c5b 5c5b+ 5c5a+"),
        ("9/9/N", "5d4b+ 5d6b+"),
        ("9/N/9", "5c4a+ 5c6a+"),
        ("9/9/9/N", "5e4c 5e4c+ 5e6c 5e6c+"),
        ("9/9/S", "5d5c 5d5c+ 5d4c 5d4c+ 5d6c 5d6c+ 5d4e 5d6e"),
        ("9/S/9", "5c5b 5c5b+ 5c4b 5c4b+ 5c6b 5c6b+ 5c4d 5c4d+ 5c6d 5c6d+"),
        ("9/9/G", "5d5c 5d4c 5d6c 5d4d 5d6d 5d5e"),
        ("9/+P/9", "5c5b 5c4b 5c6b 5c4c 5c6c 5c5d"),
    ],
)
def test_promotion_is_forced_only_where_the_piece_could_never_move(
    side: Side, piece: str, moves: str
) -> None:
    """``piece`` gives ranks b, c, d (and e) with one piece, which stands on file 5."""
    ranks = [rank if rank == "9" else f"4{rank}4" for rank in piece.split("/")]
    ranks += ["9"] * (5 - len(ranks))
    game = side.game(f"9/{'/'.join(ranks)}/9/9/k7K b - 1")
    assert {usi for usi in side.legal(game) if usi[0] == "5"} == set(moves.split())


# ---------------------------------------------------------------- checks and pins


@pytest.mark.parametrize(
    ("pinned", "sfen", "square", "targets"),
    [
        ("gold, rook on the file", "4r3k/9/9/9/9/9/9/4G4/4K4 b - 1", "5h", "5g"),
        ("rook, rook on the rank", "8k/9/9/9/9/9/9/9/K3R3r b - 1", "5i", "8i 7i 6i 4i 3i 2i 1i"),
        ("bishop, bishop on the diagonal", "8k/9/2b6/9/9/9/6B2/9/8K b - 1", "3g", "2h 4f 5e 6d 7c 7c+"),
        ("rook, bishop on the diagonal", "8k/9/2b6/9/9/9/6R2/9/8K b - 1", "3g", ""),
        ("silver, lance", "4l3k/9/9/9/4S4/9/9/9/4K4 b - 1", "5e", "5d"),
        ("knight, bishop", "8k/9/9/9/9/2b6/9/4N4/5K3 b - 1", "5h", ""),
        ("pawn, rook on the file", "4r3k/9/9/9/9/4P4/9/9/4K4 b - 1", "5f", "5e"),
        ("pawn, rook on the rank", "8k/9/9/9/9/K3P3r/9/9/9 b - 1", "5f", ""),
        ("not pinned: two shields", "4r3k/9/9/9/4P4/4G4/9/9/4K4 b - 1", "5f", "4e 6e 4f 6f 5g"),
        ("not pinned: the king is elsewhere", "4r3k/9/9/9/9/9/9/4G4/8K b - 1", "5h", "5g 4g 6g 4h 6h 5i"),
        ("not pinned: a lance looks ahead only", "8k/9/9/9/9/4K4/4G4/4l4/9 b - 1", "5g", "4f 6f 4g 6g 5h"),
    ],
)
def test_a_pinned_piece_moves_only_along_the_pin(
    side: Side, pinned: str, sfen: str, square: str, targets: str
) -> None:
    legal = side.legal(side.game(sfen))
    assert {usi[2:] for usi in legal if usi[:2] == square} == set(targets.split()), pinned


@pytest.mark.parametrize(
    ("check", "sfen", "moves"),
    [
        (
            "by a far rook: flee, interpose or drop between",
            "8k/9/9/9/4r4/9/9/5G3/4K4 b P 1",
            "5i4i 5i6i 5i6h 4h5g 4h5h P*5f P*5g P*5h",
        ),
        (
            "by a knight: flee or capture, nothing comes between",
            "8k/9/9/9/9/9/5n3/5G3/4K4 b P 1",
            "5i4i 5i6i 5i5h 5i6h 4h4g",
        ),
        ("twice: only the king moves", "8k/9/9/9/4r4/9/5n3/5G3/4K4 b P 1", "5i4i 5i6i 5i6h"),
        ("by a protected gold: it cannot be captured", "8k/9/9/9/9/9/4p4/4g4/3LKL3 b P 1", ""),
        ("by a bare gold: it can", "8k/9/9/9/9/9/9/4g4/3LKL3 b P 1", "5i5h"),
    ],
)
def test_a_check_must_be_answered(side: Side, check: str, sfen: str, moves: str) -> None:
    game = side.game(sfen)
    assert game.is_in_check
    assert side.legal(game) == set(moves.split()), check


def test_a_king_does_not_step_back_along_the_line_of_check(side: Side) -> None:
    legal = side.legal(side.game("4r3k/9/9/9/4K4/9/9/9/9 b - 1"))
    assert legal == {"5e4d", "5e4e", "5e4f", "5e6d", "5e6e", "5e6f"}


def test_kings_keep_their_distance(side: Side) -> None:
    legal = side.legal(side.game("9/9/4k4/9/4K4/9/9/9/9 b - 1"))
    assert legal == {"5e4e", "5e6e", "5e4f", "5e5f", "5e6f"}


# ---------------------------------------------------------------- handicap starts

GIVEN_PIECES = {
    "lance": "1a",
    "right_lance": "9a",
    "bishop": "2b",
    "rook": "8b",
    "rook_lance": "8b 1a",
    "two_piece": "8b 2b",
    "four_piece": "8b 2b 1a 9a",
    "six_piece": "8b 2b 1a 9a 2a 8a",
    "eight_piece": "8b 2b 1a 9a 2a 8a 3a 7a",
    "ten_piece": "8b 2b 1a 9a 2a 8a 3a 7a 4a 6a",
}


def square_number(name: str) -> int:
    return 9 * (ord(name[1]) - ord("a")) + 9 - int(name[0])


@pytest.mark.parametrize("name", HANDICAP_SFENS)
def test_a_handicap_start_lacks_its_pieces_and_white_moves_first(name: str) -> None:
    full, handicap = ShogiGame(), ShogiGame(HANDICAP_SFENS[name])
    given = {square_number(square) for square in GIVEN_PIECES[name].split()}
    assert handicap.turn is Color.WHITE
    assert handicap.outcome is None
    for square in range(81):
        assert handicap.piece_at(square) == (None if square in given else full.piece_at(square))


def test_every_handicap_is_described() -> None:
    assert set(HANDICAP_SFENS) == set(GIVEN_PIECES)
