"""The SVG board: well-formed whatever the labels, every piece in its place."""

import math
import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_games import FULL_HAND, MIDDLE_GAME, STARTS, random_game

from keisei.shogi import STANDARD_SFEN, Color, ShogiGame
from keisei.shogi.board_svg import Arrow, board_svg, hand_box, square_box
from keisei.shogi.board_text import PIECE_KANJI, sfen_letters

SVG = "{http://www.w3.org/2000/svg}"
CELL = 50


def draw(game: ShogiGame, **options: object) -> ElementTree.Element:
    pieces = [game.piece_at(square) for square in range(81)]
    text = board_svg(pieces, (game.hand(Color.BLACK), game.hand(Color.WHITE)), game.turn, **options)
    return ElementTree.fromstring(text)


def drawn_pieces(root: ElementTree.Element) -> list[tuple[float, float, bool, str]]:
    """(x, y, points up, glyph) of every piece, board and hands."""
    found = []
    for group in root.iter(f"{SVG}g"):
        match = re.fullmatch(
            r"translate\(([\d.]+) ([\d.]+)\)( rotate\(180\))? scale\([\d.]+\)", group.get("transform", "")
        )
        text = group.find(f"{SVG}text")
        if match and text is not None:
            found.append((float(match[1]), float(match[2]), match[3] is None, text.text or ""))
    return found


def board_origin(root: ElementTree.Element) -> tuple[float, float]:
    board = root.find(f"{SVG}rect[@class='board']")
    assert board is not None
    return float(board.get("x", "")), float(board.get("y", ""))


def pieces_on_squares(root: ElementTree.Element) -> dict[int, tuple[bool, str]]:
    left, top = board_origin(root)
    on_board = {}
    for x, y, upright, glyph in drawn_pieces(root):
        column, row = (x - left) / CELL - 0.5, (y - top) / CELL - 0.5
        if 0 <= column <= 8:
            on_board[round(9 * row + column)] = (upright, glyph)
    return on_board


@pytest.mark.parametrize("start", STARTS)
def test_every_piece_stands_on_its_square(start: str) -> None:
    game = random_game(1, STARTS[start])
    expected = {}
    for square in range(81):
        piece = game.piece_at(square)
        if piece:
            glyph = PIECE_KANJI[piece[1]]
            white_king = piece == (Color.WHITE, PIECE_KANJI.index("玉"))
            expected[square] = (piece[0] is Color.BLACK, "王" if white_king else glyph)
    assert pieces_on_squares(draw(game)) == expected


def test_flipped_board_is_turned_by_half_a_circle() -> None:
    game = random_game(2)
    straight, turned = pieces_on_squares(draw(game)), pieces_on_squares(draw(game, flipped=True))
    assert turned == {80 - square: (not upright, glyph) for square, (upright, glyph) in straight.items()}


def test_international_letters() -> None:
    game = ShogiGame(MIDDLE_GAME)
    letters = Counter(glyph for *_, glyph in drawn_pieces(draw(game, style="international")))
    expected = Counter(
        sfen_letters((0, piece[1])) for square in range(81) if (piece := game.piece_at(square)) is not None
    )
    expected.update({"S": 1, "B": 1, "G": 1, "N": 1, "P": 1})
    assert letters == expected


def test_hands_show_counts_on_the_owners_side() -> None:
    root = draw(ShogiGame(FULL_HAND))
    left, _ = board_origin(root)
    held = [piece for piece in drawn_pieces(root) if piece[0] > left + 9 * CELL]
    assert [glyph for *_, glyph in sorted(held, key=lambda piece: piece[1])] == list("飛角金銀桂香歩")
    counts = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "label ink"]
    assert {"18", "4", "2"} <= set(counts)


def test_last_move_and_check_are_marked() -> None:
    game = ShogiGame("4k4/9/9/9/9/9/9/9/4K4 b R 1")
    assert draw(game).find(f"{SVG}rect[@class='last']") is None
    root = draw(game, last_move=(40, 31), check=4)
    assert len(root.findall(f"{SVG}rect[@class='last']")) == 2
    assert len(draw(game, last_move=(None, 31)).findall(f"{SVG}rect[@class='last']")) == 1
    ring = root.find(f"{SVG}circle[@class='ring']")
    left, top = board_origin(root)
    assert ring is not None
    assert (float(ring.get("cx", "")), float(ring.get("cy", ""))) == (left + 4.5 * CELL, top + 0.5 * CELL)


def shaft_widths(root: ElementTree.Element) -> list[float]:
    return [
        float(path.get("stroke-width", ""))
        for path in root.iter(f"{SVG}path")
        if path.get("class") == "shaft"
    ]


def test_arrows_grow_with_their_weight_and_the_strongest_is_on_top() -> None:
    arrows = [Arrow(60, 51, 0.7, "70%"), Arrow(61, 52, 0.1), Arrow(62, 53, 0.2)]
    widths = shaft_widths(draw(ShogiGame(), arrows=arrows))
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


@pytest.mark.parametrize("weight", (-1.0, 0.0, 2.0, math.nan, math.inf))
def test_odd_weights_still_draw_a_finite_arrow(weight: float) -> None:
    (width,) = shaft_widths(draw(ShogiGame(), arrows=[Arrow(60, 51, weight)]))
    assert 2 <= width <= 12


def test_a_drop_is_drawn_from_the_piece_in_hand() -> None:
    game = ShogiGame(MIDDLE_GAME)
    root = draw(game, arrows=[Arrow(None, 40, drop_type=4)])
    left, _ = board_origin(root)
    (gold,) = [piece for piece in drawn_pieces(root) if piece[0] < left and piece[3] == "金"]
    (path,) = [path for path in root.iter(f"{SVG}path") if path.get("class") == "shaft"]
    assert path.get("d", "").startswith(f"M{gold[0]:.1f} {gold[1]:.1f}L")


@given(st.text(), st.text(), st.text())
def test_any_label_gives_well_formed_xml(black: str, white: str, label: str) -> None:
    root = draw(ShogiGame(), names=(black, white), arrows=[Arrow(60, 51, 1.0, label)])
    assert len(drawn_pieces(root)) == 40


def test_labels_are_text_and_never_markup() -> None:
    root = draw(ShogiGame(), names=("<script>alert(1)</script>", 'a & "b"'))
    assert list(root.iter(f"{SVG}script")) == []
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "☗ <script>alert(1)</script>" in texts
    assert '☖ a & "b"' in texts


def test_long_names_are_clipped_by_width() -> None:
    texts = [text.text or "" for text in draw(ShogiGame(), names=("あ" * 100, "n" * 100)).iter(f"{SVG}text")]
    assert "☗ " + "あ" * 21 + "…" in texts
    assert "☖ " + "n" * 43 + "…" in texts


@pytest.mark.parametrize(("theme", "media_queries"), (("light", 0), ("dark", 0), ("auto", 1)))
def test_themes(theme: str, media_queries: int) -> None:
    style = draw(ShogiGame(), theme=theme).findtext(f"{SVG}style") or ""
    assert style.count("prefers-color-scheme:dark") == media_queries
    assert all(f".keisei-{theme} " in rule for rule in re.findall(r"[^{}]+(?={)", style) if "@" not in rule)


def test_the_mover_is_marked() -> None:
    heights = []
    for game in (ShogiGame(), ShogiGame(STANDARD_SFEN.replace(" b ", " w "))):
        (dot,) = [circle for circle in draw(game).iter(f"{SVG}circle") if circle.get("class") == "turn"]
        heights.append(float(dot.get("cy", "")))
    assert heights[0] > heights[1]


def test_size_and_unknown_options() -> None:
    root = draw(ShogiGame(), width=280)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert (root.get("width"), root.get("height")) == ("280", str(round(280 * height / width)))
    with pytest.raises(ValueError, match="style must be one of kanji, international, not 'emoji'"):
        draw(ShogiGame(), style="emoji")
    with pytest.raises(ValueError, match="theme must be one of auto, light, dark, not 'neon'"):
        draw(ShogiGame(), theme="neon")


def test_notebooks_draw_a_game() -> None:
    assert ElementTree.fromstring(ShogiGame()._repr_svg_()).tag == f"{SVG}svg"


def test_boxes_tile_the_board_and_turn_with_it() -> None:
    boxes = [square_box(square) for square in range(81)]
    assert len({(box.left, box.top) for box in boxes}) == 81
    for square, box in enumerate(boxes):
        assert square_box(80 - square, flipped=True) == box
        assert 0 < box.left < box.left + box.width < 1
        assert 0 < box.top < box.top + box.height < 1
    assert boxes[1].left == pytest.approx(boxes[0].left + boxes[0].width)
    assert boxes[9].top == pytest.approx(boxes[0].top + boxes[0].height)


def test_box_of_a_held_piece_lies_where_the_piece_is_drawn() -> None:
    hands = ((2, 0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 0, 1))
    gold, pawn = hand_box(0, 4, hands), hand_box(0, 0, hands)
    assert gold.left == pawn.left
    assert pawn.top == pytest.approx(gold.top + gold.height)
    rook = hand_box(1, 6, hands, flipped=True)
    assert (rook.left, rook.top) == (gold.left, gold.top)
    with pytest.raises(ValueError, match="3"):
        hand_box(0, 3, hands)
