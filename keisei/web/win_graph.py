"""Who is winning, ply by ply: a small picture under the board, along which the game can be scrubbed."""

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 600
HEIGHT: Final = 96
#: In the page's own style sheet; the picture has no colours of its own.
_FRAME: Final = (
    f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img"'
    ' aria-label="Black\'s chance to win">'
)


def win_graph(shares: Sequence[float | None], last: int, current: int) -> str:
    """Black's expected score (0..1) at each ply of a game that ends at ply ``last``; None is not known."""
    known = [(ply, share) for ply, share in enumerate(shares) if share is not None]
    scale = WIDTH / max(last, 1)
    points = " ".join(f"{ply * scale:.1f},{HEIGHT * (1 - share):.1f}" for ply, share in known)
    parts = [_FRAME, f'<rect class="k-white-area" width="{WIDTH}" height="{HEIGHT}"/>']
    if known:
        first, final = known[0][0] * scale, known[-1][0] * scale
        parts += [
            f'<polygon class="k-black-area" points="{first:.1f},{HEIGHT} {points} {final:.1f},{HEIGHT}"/>',
            f'<polyline class="k-win-line" points="{points}"/>',
        ]
    parts += [
        f'<path class="k-half" d="M0 {HEIGHT / 2}H{WIDTH}"/>',
        f'<path class="k-cursor" d="M{current * scale:.1f} 0V{HEIGHT}"/></svg>',
    ]
    return "".join(parts)
