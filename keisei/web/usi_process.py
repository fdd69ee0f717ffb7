"""The other side of the board: a USI engine in a process of its own, spoken to as any shogi program does."""

import asyncio
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from keisei.errors import WebError
from keisei.usi.thought import CENTIPAWNS_PER_LOGIT

#: Loading a network may take a while on a slow disk.
START_SECONDS: Final = 60.0
#: What an engine may take beyond the time that it was given.
GRACE_SECONDS: Final = 20.0
MILLISECONDS: Final = 1000
MAX_LINE_BYTES: Final = 64 * 1024
POLICY_WORDS: Final = "info string policy "


@dataclass(frozen=True)
class Limit:
    """How long an engine thinks about a move: seconds, or simulations (nodes) when that is not 0."""

    seconds: float = 1.0
    nodes: int = 0

    @property
    def go(self) -> str:
        """The USI command."""
        if self.nodes:
            return f"go nodes {self.nodes}"
        return f"go btime 0 wtime 0 byoyomi {round(self.seconds * MILLISECONDS)}"


@dataclass(frozen=True)
class Answer:
    """``move`` is a USI move, resign or win; ``score`` and ``line`` are what the engine said about it."""

    move: str
    score: str = ""
    line: tuple[str, ...] = ()
    value: float | None = None
    """P(win) - P(loss) of the engine's side, where it said a score."""
    policy: tuple[tuple[str, float], ...] = ()
    """The likeliest moves, where the engine said them."""


class UsiProcess:
    """One engine; made by ``start``. One question at a time."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._turn = asyncio.Lock()

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], options: Mapping[str, object] | None = None
    ) -> Self:
        """Start the engine and wait until it is ready; of ``options`` it is told those that it knows."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=MAX_LINE_BYTES,
            )
        except OSError as error:
            raise WebError(f"the engine {name!r} cannot be started: {error}; check its command") from error
        engine = cls(name, process)
        try:
            await engine._send("usi")
            known = {
                line.split()[2]
                for line in await engine._read_until("usiok", START_SECONDS)
                if _is_option(line)
            }
            for option, value in (options or {}).items():
                if option in known:
                    await engine._send(f"setoption name {option} value {value}")
            await engine._send("isready")
            await engine._read_until("readyok", START_SECONDS)
            await engine._send("usinewgame")
        except BaseException:
            await engine.end()
            raise
        return engine

    async def think(self, start_sfen: str, moves: Sequence[str], limit: Limit) -> Answer:
        """The engine's move after ``moves``."""
        async with self._turn:
            played = f" moves {' '.join(moves)}" if moves else ""
            await self._send(f"position sfen {start_sfen}{played}")
            await self._send(limit.go)
            lines = await self._read_until("bestmove", limit.seconds + GRACE_SECONDS)
        words = lines[-1].split()
        if len(words) < 2:
            raise WebError(f"the engine {self.name!r} answered {lines[-1]!r}, expected a move after bestmove")
        told = [line for line in lines if " pv " in line]
        best = [line for line in told if " multipv " not in line or " multipv 1 " in line]
        said = (best or told or [""])[-1]
        line = tuple(said.partition(" pv ")[2].split())
        return Answer(words[1], _score(said), line, _value(said), _policy(lines))

    async def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode("ascii"))
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise self._ended() from error

    async def _read_until(self, word: str, seconds: float) -> list[str]:
        """Lines up to the one that begins with ``word``."""
        assert self._process.stdout is not None
        lines: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                while not lines or lines[-1].split()[:1] != [word]:
                    data = await self._process.stdout.readline()
                    if not data:
                        raise self._ended()
                    lines.append(data.decode("utf-8", "replace").strip())
        except TimeoutError:
            raise WebError(
                f"the engine {self.name!r} did not say {word!r} within {seconds:.0f} s; begin a new game"
            ) from None
        except ValueError as error:
            raise WebError(f"the engine {self.name!r} wrote a line that has no end: {error}") from error
        return lines

    def _ended(self) -> WebError:
        return WebError(
            f"the engine {self.name!r} has ended (exit code {self._process.returncode}); begin a new game"
        )

    async def end(self) -> None:
        """End the engine now."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def _is_option(line: str) -> bool:
    words = line.split()
    return words[:2] == ["option", "name"] and len(words) > 2


def _kind_and_value(said: str) -> tuple[str, str]:
    """`cp` or `mate`, and the number, of an info line; empty where it has none."""
    words = said.split()
    if "score" not in words[:-2]:
        return "", ""
    kind, value = words[words.index("score") + 1 : words.index("score") + 3]
    return kind, value


def _score(said: str) -> str:
    """The score of an info line in words, from the view of the engine's side."""
    kind, value = _kind_and_value(said)
    if kind == "mate":
        return f"mate in {value} plies"
    try:
        return f"{int(value) / 100:+.2f} pawns"
    except ValueError:
        return ""


def _value(said: str) -> float | None:
    """The score of an info line as P(win) - P(loss)."""
    kind, value = _kind_and_value(said)
    if kind == "mate":
        return -1.0 if value.startswith("-") else 1.0
    try:
        return math.tanh(int(value) / (2 * CENTIPAWNS_PER_LOGIT))
    except ValueError:
        return None


def _policy(lines: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Moves and probabilities of the last line that tells them, the likeliest first."""
    words = next((line for line in reversed(lines) if line.startswith(POLICY_WORDS)), "").split()[3:]
    try:
        found = [(usi, float(share)) for usi, share in zip(words[::2], words[1::2], strict=True)]
    except ValueError:
        return ()
    return tuple(sorted(found, key=lambda move: -move[1]))
