import asyncio
import sys
from pathlib import Path

import pytest

from keisei.errors import WebError
from keisei.shogi.types import STANDARD_SFEN
from keisei.web.usi_process import Answer, Limit, UsiProcess

TOY = [sys.executable, str(Path(__file__).parents[1] / "toy_usi_engine.py")]


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


async def ask(command: list[str], *moves: str) -> Answer:
    engine = await UsiProcess.start("tested", command)
    try:
        return await engine.think(STANDARD_SFEN, moves, Limit(0.1))
    finally:
        await engine.end()


def test_engine_answers_with_move_score_and_line() -> None:
    answer = asyncio.run(ask(TOY))
    assert answer == Answer("1g1f", "+0.12 pawns", ("1g1f",), pytest.approx(0.01, abs=1e-4))
    assert asyncio.run(ask(TOY, "7g7f")).move == "1a1b"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/no/such/engine"], "cannot be started"),
        (python("pass"), "has ended"),
        (python("print('usiok'); print('readyok')"), "has ended"),
        (python("print('x' * 10**6)"), "no end"),
        (
            python("import sys; print('usiok\\nreadyok\\nbestmove', flush=True); sys.stdin.read()"),
            "expected a move",
        ),
    ],
)
def test_bad_engines_are_reported_and_never_waited_for(command: list[str], words: str) -> None:
    with pytest.raises(WebError, match=words):
        asyncio.run(asyncio.wait_for(ask(command), 30))


def test_silent_engine_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisei.web.usi_process.START_SECONDS", 0.2)
    with pytest.raises(WebError, match="did not say 'usiok'"):
        asyncio.run(ask(python("import sys; sys.stdin.read()")))


def test_limits_as_usi() -> None:
    assert Limit(0.5).go == "go btime 0 wtime 0 byoyomi 500"
    assert Limit(nodes=400).go == "go nodes 400"


@pytest.mark.parametrize(
    ("lines", "value", "policy"),
    [
        ("info score mate -3 pv 7g7f", -1.0, ()),
        ("info multipv 1 score mate 3 pv 7g7f\ninfo multipv 2 score cp 0 pv 2g2f", 1.0, ()),
        ("info score cp many pv 7g7f", None, ()),
        ("info string policy 7g7f 0.25 2g2f 0.5", None, (("2g2f", 0.5), ("7g7f", 0.25))),
        ("info string policy 7g7f", None, ()),
        ("info string policy 7g7f much", None, ()),
    ],
)
def test_what_an_engine_says_is_understood_or_passed_over(
    lines: str, value: float | None, policy: object
) -> None:
    said = "\n".join(["usiok", "readyok", lines, "bestmove 7g7f"])
    program = f"import sys; print({said!r}, flush=True); sys.stdin.read()"
    answer = asyncio.run(ask(python(program)))
    assert (answer.value, answer.policy) == (value, policy)
