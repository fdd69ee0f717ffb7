"""Five visitors of the page for `web_page.py`: they speak its socket protocol and throw away what they get.

    python benchmarks/page_visitors.py http://127.0.0.1:8080 FOLDER

The first of them notes in the folder when which count of plies arrived. They run at the lowest priority: what the
machine of a visitor does is not the page's cost.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from urllib.request import urlopen

PATHS = ("/", "/", "/learning", "/games", "/workers")
NICENESS = 19
#: The visitor who notes what arrives, and the size of messages that have figures and no boards in them.
FIRST = 0
MOST_FIGURES = 100_000
CLIENT_ID = re.compile(r"[\"']client_id[\"']\s*:\s*[\"']([0-9a-f-]+)[\"']")
NEXT_MESSAGE = re.compile(r"[\"']next_message_id[\"']\s*:\s*(\d+)")
ARRIVALS = "arrivals"


async def visit(base: str, path: str, number: int, notes_path: Path) -> None:
    """One visitor: loads the page, opens its socket, and notes when which count of plies arrived."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    with notes_path.open("a", encoding="utf-8") as notes:
        while True:
            page = (await asyncio.to_thread(urlopen, base + path)).read().decode()
            client, message = CLIENT_ID.search(page), NEXT_MESSAGE.search(page)
            assert client is not None and message is not None, "the page has changed how it opens its socket"
            query = (
                f"EIO=4&transport=websocket&client_id={client[1]}&next_message_id={message[1]}"
                f"&implicit_handshake=true&tab_id=tab{number}&document_id=doc{number}"
            )
            address = f"{base.replace('http', 'ws')}/_nicegui_ws/socket.io/?{query}"
            try:
                async with connect(address, origin=base, proxy=None, max_size=None) as socket:  # type: ignore[arg-type]
                    await socket.send("40")
                    async for text in socket:
                        if text == "2":
                            await socket.send("3")
                        elif number == FIRST and len(text) < MOST_FIGURES:
                            for count in re.findall(r'"text":"([\d,]{4,})"', str(text)):
                                notes.write(f"{time.time()} {count}\n")
                            notes.flush()
            except ConnectionClosed:
                continue


async def visit_all(base: str, folder: Path) -> None:
    await asyncio.gather(
        *(visit(base, path, number, folder / f"{ARRIVALS}-{number}") for number, path in enumerate(PATHS))
    )


def arrivals(folder: Path) -> dict[str, float]:
    """When each count of plies came to the first visitor."""
    arrived: dict[str, float] = {}
    for line in (folder / f"{ARRIVALS}-{FIRST}").read_text(encoding="utf-8").splitlines():
        when, count = line.split()
        arrived.setdefault(count, float(when))
    return arrived


if __name__ == "__main__":
    os.nice(NICENESS)
    asyncio.run(visit_all(sys.argv[1], Path(sys.argv[2])))
