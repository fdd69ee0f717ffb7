from pathlib import Path

import pytest

from keisei.bench.table import Row, Table, describe_commit, describe_machine


def a_table() -> Table:
    return Table(
        rows=[
            Row("perft", "Keisei", "nodes/s", [4.0e6, 6.0e6, 5.0e6]),
            Row("perft", "cshogi", "nodes/s", [1.0e6, 2.0e6, 1.0e6]),
            Row("planes", "Keisei", "plies/s", [900.0]),
        ],
        absent={"pgx": "pip install pgx"},
    )


def test_the_ratio_is_the_median_of_the_repetitions_that_ran_side_by_side() -> None:
    table = a_table()
    perft, baseline, planes = table.rows
    assert table.ratio(perft, "cshogi") == pytest.approx(4.0)
    assert table.ratio(baseline, "cshogi") is None
    assert table.ratio(planes, "cshogi") is None


def test_values_are_told_with_half_their_spread_and_a_prefix() -> None:
    perft, _, planes = a_table().rows
    assert perft.value_text() == "5 ± 1 Mnodes/s"
    assert planes.value_text() == "900 plies/s", "a single value has no spread"
    assert (perft.low, perft.median, perft.high) == (4.0e6, 5.0e6, 6.0e6)


def test_the_text_names_every_row_and_everyone_who_is_missing() -> None:
    lines = a_table().lines()
    assert " ".join(lines[1].split()) == "perft Keisei 5 ± 1 Mnodes/s 4 – 6 M 4"
    assert lines[-1] == "not measured: pgx: pip install pgx"
    assert len(lines) == 1 + 3 + 1


def test_result_lines_fit_the_header() -> None:
    lines = a_table().results_lines("a machine, 2 cores", "abc1234")
    assert lines[0] == "| perft | Keisei | 5 ± 1 Mnodes/s | 4 |  | a machine, 2 cores | abc1234 |"
    assert {line.count("|") for line in (*a_table().results_header(), *lines)} == {8}


def test_without_baselines_there_are_no_columns_for_them() -> None:
    table = Table([Row("training", "6x128", "plies/s", [900.0])], baselines=())
    assert table.lines()[0].split("  ")[-1].strip() == "min – max"
    assert table.results_header()[0] == "| figure | of | median ± half spread | machine | commit |"
    assert table.results_lines("a card", "abc1234") == [
        "| training | 6x128 | 900 plies/s | a card | abc1234 |"
    ]


def test_the_machine_and_the_commit_are_described(tmp_path: Path) -> None:
    assert describe_machine().endswith("cores")
    assert describe_commit(tmp_path) == "unknown"


def test_small_numbers_are_not_rounded_to_nothing() -> None:
    table = Table([Row("perft", "slow", "nodes/s", [1.25]), Row("perft", "cshogi", "nodes/s", [1000.0])])
    assert "0.00125" in table.lines()[1]
