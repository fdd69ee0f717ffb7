import re

from keisei.web.win_graph import HEIGHT, WIDTH, win_graph


def points(svg: str) -> list[tuple[float, float]]:
    found = re.search(r'<polyline class="k-win-line" points="([^"]*)"', svg)
    assert found is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found[1].split())]


def test_blacks_win_is_at_the_top_and_the_game_fills_the_width() -> None:
    assert points(win_graph([1.0, 0.5, 0.0], last=2, current=0)) == [
        (0, 0),
        (WIDTH / 2, HEIGHT / 2),
        (WIDTH, HEIGHT),
    ]


def test_unknown_plies_are_left_out() -> None:
    assert len(points(win_graph([0.5, None, 0.5], last=4, current=0))) == 2
    assert "polyline" not in win_graph([], last=0, current=0)


def test_the_cursor_stands_at_the_ply_that_is_shown() -> None:
    assert f'class="k-cursor" d="M{WIDTH / 4:.1f} 0' in win_graph([0.5] * 4, last=4, current=1)
