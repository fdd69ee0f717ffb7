"""The text board: aligned, and readable by other programs."""

from unicodedata import east_asian_width

import pytest
from sample_games import FULL_HAND, MIDDLE_GAME, STARTS, random_game

from keisei.shogi import STANDARD_SFEN, Color, ShogiGame
from keisei.shogi.board_text import TextStyle, base_type, board_text, kanji_number
from keisei.shogi.notation.kif import read_kif

STANDARD_ASCII = """\
White: -
  9  8  7  6  5  4  3  2  1
+---------------------------+
| l  n  s  g  k  g  s  n  l | a
| .  r  .  .  .  .  .  b  . | b
| p  p  p  p  p  p  p  p  p | c
| .  .  .  .  .  .  .  .  . | d
| .  .  .  .  .  .  .  .  . | e
| .  .  .  .  .  .  .  .  . | f
| P  P  P  P  P  P  P  P  P | g
| .  B  .  .  .  .  .  R  . | h
| L  N  S  G  K  G  S  N  L | i
+---------------------------+
Black: -
Black to move"""

MIDDLE_GAME_KANJI = """\
後手の持駒：角　金　桂　歩三
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
| ・ ・ ・ ・ ・ ・ ・ ・v香|一
| ・v香 龍 ・ ・ 歩 ・ ・ ・|二
|v歩 ・ ・v歩 角 金 ・v歩v歩|三
|v玉v歩v銀 ・v歩 ・ ・ ・ ・|四
| 桂v桂 ・ 歩 ・ ・ 金 ・ ・|五
| 歩 ・ 歩 ・ 歩 ・ ・ 歩 歩|六
| ・ 歩 銀 ・ ・ ・ ・ ・ ・|七
| ・ 玉 銀 金 ・ ・ ・v龍 ・|八
| 香 桂 ・ ・vと ・ ・ ・ 香|九
+---------------------------+
先手の持駒：銀
後手番"""


def text_of(game: ShogiGame, style: TextStyle) -> str:
    pieces = [game.piece_at(square) for square in range(81)]
    return board_text(pieces, (game.hand(Color.BLACK), game.hand(Color.WHITE)), game.turn, style=style)


def columns(line: str) -> int:
    """Columns of a terminal that ``line`` takes."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in line)


def test_standard_position_in_ascii() -> None:
    assert text_of(ShogiGame(), "ascii") == STANDARD_ASCII


def test_middle_game_in_kanji() -> None:
    assert text_of(ShogiGame(MIDDLE_GAME), "kanji") == MIDDLE_GAME_KANJI


def test_hands_and_promoted_pieces_in_ascii() -> None:
    text = text_of(ShogiGame(MIDDLE_GAME), "ascii")
    assert text.startswith("White: B G N P3\n")
    assert text.endswith("Black: S\nWhite to move")
    assert "| .  l +R  .  .  P  .  .  . | b" in text.splitlines()
    assert "R2 B2 G4 S4 N4 L4 P18" in text_of(ShogiGame(FULL_HAND), "ascii")


@pytest.mark.parametrize("style", ("ascii", "kanji"))
def test_rows_and_labels_are_aligned(style: TextStyle) -> None:
    for start in STARTS.values():
        _, files, edge, *rows = text_of(random_game(3, start), style).splitlines()
        assert {columns(row) for row in rows[:9]} == {columns(edge) + 2}
        for at, label in enumerate("987654321" if style == "ascii" else "９８７６５４３２１"):
            piece_ends_at = 3 * (at + 1) + (0 if style == "ascii" else 1)
            assert columns(files[: files.index(label) + 1]) == piece_ends_at


def test_kanji_diagram_reads_back_as_the_same_position() -> None:
    for start in STARTS.values():
        game = random_game(8, start)
        assert ShogiGame(read_kif(text_of(game, "kanji")).start_sfen) == ShogiGame(game.sfen)


def test_ascii_board_spells_the_sfen() -> None:
    for start in STARTS.values():
        game = random_game(9, start)
        rows = text_of(game, "ascii").splitlines()[3:12]
        cells = [row[1 + 3 * at : 4 + 3 * at].strip() for row in rows for at in range(9)]
        expected = game.sfen.split()[0].replace("/", "")
        for digit in "987654321":
            expected = expected.replace(digit, "." * int(digit))
        assert "".join(cells) == expected


def test_str_of_a_game_is_its_board() -> None:
    assert str(ShogiGame(STANDARD_SFEN)).splitlines()[3] == "| l  n  s  g  k  g  s  n  l | a"


def test_unknown_style_is_refused() -> None:
    with pytest.raises(ValueError, match=r"style must be one of kanji, ascii, not 'braille'"):
        text_of(ShogiGame(), "braille")  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "kanji"), ((2, "二"), (9, "九"), (10, "十"), (11, "十一"), (18, "十八")))
def test_japanese_numbers(count: int, kanji: str) -> None:
    assert kanji_number(count) == kanji


def test_base_type_undoes_promotion() -> None:
    assert [base_type(kind) for kind in range(14)] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 5, 6]
