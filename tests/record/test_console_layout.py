"""Tests of keisei.record.console_layout: what stands on the screen."""

import io
from dataclasses import replace

import pytest
from console_snapshots import snapshot
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from keisei.record.console import ConsoleSnapshot, Health
from keisei.record.console_layout import live_view, plain_line


def drawn(shown: ConsoleSnapshot, width: int = 120, *, ascii_only: bool = False) -> str:
    console = Console(file=io.StringIO(), record=True, width=width, height=60)
    console.print(live_view(shown, width, ascii_only=ascii_only))
    return console.export_text()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_view_shows_every_part(width: int) -> None:
    text = drawn(snapshot(), width)
    for part in (
        "quiet-lance",
        "25%",
        "update 12",
        "1,000 of 4,000 plies",
        "90 games",
        "50 plies/s",
        "1 min 0 s left",
    ):
        assert part in text
    for part in (
        "policy loss",
        "0.25",
        "▁",
        "█",
        "checkmate",
        "66.7%",
        "max plies",
        "black 50.0%",
        "learning well",
    ):
        assert part in text
    for line in snapshot().board.splitlines():
        assert line in text


def test_the_classic_terminal_shows_all_of_it_in_24_lines() -> None:
    lines = drawn(replace(snapshot(), board="\n".join(["v歩" * 9] * 13)), 80).splitlines()
    assert len(lines) < 24
    assert {cell_len(line) for line in lines} == {80}


def test_text_from_outside_is_no_markup() -> None:
    hostile = replace(
        snapshot(), run_name="[red]run[/red]", board="[bold]x[/bold]", health=Health("bad", "[link]")
    )
    text = drawn(hostile)
    assert "[red]run[/red]" in text and "[bold]x[/bold]" in text and "[link]" in text


def test_an_ascii_terminal_gets_no_blocks() -> None:
    text = drawn(replace(snapshot(), board="board"), ascii_only=True)
    assert not set("▁▂▃▄▅▆▇█") & set(text)
    assert "#" in text


def test_the_plain_line_is_one_line_of_ascii_with_the_same_figures() -> None:
    line = plain_line(snapshot())
    assert line == (
        "update 12, 1,000 plies (25%), 50 plies/s, 90 games, 1 min 0 s left, "
        "policy loss 0.25, kl nan, learning well"
    )
    assert line.isascii()


def test_what_measurements_showed_stands_in_both_views_once_it_is_known() -> None:
    words = "strength +512 Elo [+430, +600] after update 7"
    known = replace(snapshot(), strength=words)
    assert words in plain_line(known)
    assert words in drawn(known)


def test_the_first_moment_of_a_run_has_no_figures_and_no_error() -> None:
    first = replace(
        snapshot(),
        plies=0,
        games=0,
        plies_per_second=0.0,
        curves={"loss": ()},
        results_by_reason={},
        board="",
    )
    assert "no game has ended yet" in drawn(first)
    assert "time left unknown" in plain_line(first)


COUNTS = st.integers(0, 10**15)


@given(
    width=st.integers(20, 200),
    curve=st.lists(st.floats(), max_size=40),
    plies=COUNTS,
    total=COUNTS,
    games=COUNTS,
    speed=st.floats(0, 1e12),
    elapsed=st.floats(0, 1e9),
    limit=st.floats(0, 1e9),
    board=st.text(max_size=200),
    words=st.text(max_size=200),
)
def test_any_snapshot_can_be_drawn(
    width, curve, plies, total, games, speed, elapsed, limit, board, words
) -> None:
    shown = replace(
        snapshot(),
        plies=plies,
        total_plies=total,
        games=games,
        plies_per_second=speed,
        elapsed_seconds=elapsed,
        time_limit_seconds=limit,
        curves={"loss": tuple(curve)},
        board=board,
        health=Health("warning", words),
    )
    assert drawn(shown, width)
    assert f"update {shown.update}" in plain_line(shown)
