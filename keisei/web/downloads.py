"""Files to take away: curves as CSV, games as KIF, CSA or USI. Made on request; no file of the disk is served."""

import csv
import io
import math
from collections.abc import Iterator
from http import HTTPStatus

from fastapi import APIRouter, HTTPException
from starlette.responses import PlainTextResponse, Response

from keisei.errors import KeiseiError, RunDirectoryError
from keisei.web.kept_games import FORMATS, record_text
from keisei.web.run_feed import RunFeed
from keisei.web.run_library import RunLibrary


def download_routes(library: RunLibrary) -> APIRouter:
    """The routes under /files."""
    router = APIRouter(prefix="/files")

    @router.get("/{run}/metrics.csv")
    async def metrics(run: str) -> Response:
        feed = _feed(library, run)
        # Made here and not by a stream: that would read in another thread, and SQLite's connection is this one's.
        text = "".join(metrics_csv(feed))
        return Response(text, media_type="text/csv", headers=_attachment(f"{feed.run.name}.csv"))

    @router.get("/{run}/games/{row}.{format_name}")
    async def game(run: str, row: int, format_name: str) -> Response:
        feed = _feed(library, run)
        entry = feed.game(row)
        if entry is None or format_name not in FORMATS:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such game or format.")
        try:
            text = record_text(entry.content, format_name)
        except KeiseiError as error:
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"The game cannot be written: {error}"
            ) from error
        return PlainTextResponse(text, headers=_attachment(f"{feed.run.name}-{row}.{format_name}"))

    return router


def metrics_csv(feed: RunFeed) -> Iterator[str]:
    """One line per update with every metric that the run recorded; empty where it had no number."""
    names = sorted(feed.latest)
    columns = {name: {point.update: point for point in feed.series(name)} for name in names}
    updates = sorted({update for points in columns.values() for update in points})
    yield _csv_line(["update", "plies", "time", *names])
    for update in updates:
        points = {name: points[update] for name, points in columns.items() if update in points}
        where = next(iter(points.values()))
        values = [_number(points[name].value) if name in points else "" for name in names]
        yield _csv_line([str(update), str(where.plies), f"{where.time:.3f}", *values])


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""


def _csv_line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _feed(library: RunLibrary, run: str) -> RunFeed:
    try:
        return library.feed(run)
    except RunDirectoryError as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such run on this page.") from error


def _attachment(name: str) -> dict[str, str]:
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in name)
    return {"content-disposition": f'attachment; filename="{plain}"'}
