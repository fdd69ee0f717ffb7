import csv
import io
import math
from pathlib import Path

import pytest
from page_server import PageServer, ask
from recorded_runs import record_run

from keisei.record.journal import Journal
from keisei.shogi.records import read_record
from keisei.web.downloads import metrics_csv
from keisei.web.kept_games import FORMATS
from keisei.web.run_feed import RunFeed


def test_csv_holds_every_number_of_the_journal(tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=3, games=1)
    with Journal(run.journal_path) as journal:
        journal.add_metrics(4, 40, {"entropy": math.nan, 'odd,"name': 1.5})
    feed = RunFeed(run)
    feed.look()
    rows = list(csv.DictReader(io.StringIO("".join(metrics_csv(feed)))))
    assert [row["update"] for row in rows] == ["1", "2", "3", "4"]
    for name in feed.latest:
        expected = {point.update: point.value for point in feed.series(name) if math.isfinite(point.value)}
        assert {int(row["update"]): float(row[name]) for row in rows if row[name]} == expected


@pytest.mark.parametrize("format_name", FORMATS)
def test_games_are_served_as_files(server: PageServer, format_name: str) -> None:
    response = ask("GET", f"{server.base}/files/quiet-lance/games/3.{format_name}")
    assert "attachment" in response.headers["content-disposition"]
    assert read_record(response.text, format_name).moves


@pytest.mark.parametrize(
    "path", ["nobody/metrics.csv", "quiet-lance/games/999.kif", "quiet-lance/games/1.exe"]
)
def test_what_is_not_there_is_not_found(server: PageServer, path: str) -> None:
    assert ask("GET", f"{server.base}/files/{path}").status_code == 404
