"""`keisei perft`, `keisei show` and `keisei verify-engine`."""

import pytest
from command_line import call_keisei

from keisei.shogi import ShogiGame

MATE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 2"
DECLARABLE = "+R+B+R+BK4/GGGG5/SSSS5/9/9/9/9/9/4k4 b 2P 1"

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(("depth", "nodes"), [(0, 1), (1, 30), (2, 900), (3, 25470)])
def test_the_last_line_of_perft_is_the_number_of_nodes(capsys: Capture, depth: int, nodes: int) -> None:
    called = call_keisei(capsys, "perft", depth)
    assert called.code == 0
    assert called.out.splitlines()[-1] == f"nodes {nodes}"


def test_divide_lists_every_first_move_and_the_same_sum(capsys: Capture) -> None:
    *moves, last = call_keisei(capsys, "perft", 2, "--divide").out.splitlines()
    counts = dict(line.split() for line in moves)
    assert set(counts) == {move.usi for move in ShogiGame().legal_moves()}
    assert list(counts) == sorted(counts)
    assert last == f"nodes {sum(map(int, counts.values()))}" == "nodes 900"


def test_perft_takes_any_position(capsys: Capture) -> None:
    called = call_keisei(capsys, "perft", 1, "--sfen", MATE)
    assert called.out == f"nodes {len(ShogiGame(MATE).legal_moves())}\n"


@pytest.mark.parametrize("depth", ["-1", "21", "99999999999999999999999", "x"])
def test_a_depth_that_cannot_be_is_exit_code_two(capsys: Capture, depth: str) -> None:
    called = call_keisei(capsys, "perft", "--", depth)
    assert called.code == 2
    assert "Traceback" not in called.out + called.err
    assert depth in called.out + called.err or "DEPTH" in called.out + called.err


@pytest.mark.parametrize("command", [["perft", "1", "--sfen"], ["show"]])
@pytest.mark.parametrize("sfen", ["", "nonsense", "9/9/9/9/9/9/9/9/9 b - 1", "\x00", "玉"])
def test_a_position_that_cannot_be_is_one_error(capsys: Capture, command: list[str], sfen: str) -> None:
    call_keisei(capsys, *command, sfen).assert_refused(1, "SFEN")


def test_show_draws_the_position_in_kanji_ascii_and_svg(capsys: Capture) -> None:
    assert "玉" in call_keisei(capsys, "show").out
    ascii_board = call_keisei(capsys, "show", "--style", "ascii").out
    assert "30 legal moves" in ascii_board
    assert ascii_board.isascii()
    assert call_keisei(capsys, "show", "--style", "svg").out.startswith("<svg")
    assert call_keisei(capsys, "show", "--style", "oil").code == 2


@pytest.mark.parametrize(
    ("sfen", "words"),
    [
        (MATE, "mate in one: "),
        (MATED, "the game is over: checkmate, black wins"),
        (MATED, "0 legal moves, in check"),
        (DECLARABLE, "black may declare a win"),
    ],
)
def test_show_says_what_can_happen(capsys: Capture, sfen: str, words: str) -> None:
    assert words in call_keisei(capsys, "show", sfen).out


def test_verify_engine_names_what_was_compared(capsys: Capture) -> None:
    called = call_keisei(capsys, "verify-engine", "--positions", 40, "--seed", 3)
    assert called.code == 0
    assert "all oracles agree" in called.out
    assert "compared with rsshogi" in called.out


@pytest.mark.parametrize("positions", ["0", "-5", "x"])
def test_verifying_nothing_is_not_called_agreement(capsys: Capture, positions: str) -> None:
    called = call_keisei(capsys, "verify-engine", f"--positions={positions}")
    assert called.code == 2
    assert "agree" not in called.out
