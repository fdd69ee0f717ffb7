"""How long to think: from the clocks of a `go` to seconds."""

from __future__ import annotations

from typing import Final

from keisei.shogi import Color
from keisei.usi.protocol import GoLimits

#: Main time is divided as if the game had this many more moves of ours; it ends later only with an increment.
MOVES_TO_GO: Final = 40
#: The part of an increment that is spent at once; the rest refills the main time.
INCREMENT_SHARE: Final = 0.9
#: A clock that is empty still allows the network one look.
LEAST_SECONDS: Final = 0.02
MILLISECONDS: Final = 1000


def thinking_seconds(limits: GoLimits, turn: Color, delay_milliseconds: int) -> float | None:
    """Seconds from the `go` to the bestmove; None when no clock runs.

    At most main time, byoyomi and increment together, less the delay between GUI and engine: in shogi the increment
    of a move may be spent on that move.
    """
    if not limits.has_clock:
        return None
    if limits.movetime is not None:
        return _within(limits.movetime, limits.movetime, delay_milliseconds)
    main, increment = (limits.btime, limits.binc) if turn is Color.BLACK else (limits.wtime, limits.winc)
    main, increment, byoyomi = main or 0, increment or 0, limits.byoyomi or 0
    wanted = main / MOVES_TO_GO + byoyomi + INCREMENT_SHARE * increment
    return _within(wanted, main + byoyomi + increment, delay_milliseconds)


def _within(wanted: float, available: float, delay: float) -> float:
    """Of a time shorter than twice the delay, half is used: some answer in time is better than none."""
    limit = available - min(delay, available / 2)
    return max(LEAST_SECONDS, min(wanted, limit) / MILLISECONDS)
