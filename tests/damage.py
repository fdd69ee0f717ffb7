"""Cheap random damage to text and bytes, for tests that feed broken input to a reader.

The same seed gives the same damage, so that a failing input can be made again from its number.
"""

import random
from collections.abc import Iterator, Sequence

# Characters that upset parsers: ends of text and line, wide digits, signs, combining and unpaired characters.
NASTY = "\x00\n\r\t\x0b\x85\u2028\u3000\ufeff\u0301\ud800\U0001f600 +-*/|'\"\\{}[],:：%$#0９十٣ePkK▲△同"
LONG_NUMBER = "9" * 400
ODD_NUMBERS = ("0", "-1", "19", "256", "65536", "4294967296", LONG_NUMBER)


def damaged(text: str, rng: random.Random) -> str:
    """``text`` after one to four random edits."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(_EDITS)(text, rng)
    return text


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """``data`` with a few bytes flipped, lost or doubled: what a bad disk or a wrong encoding does."""
    broken = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(broken) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(broken):
            broken[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            broken[at:at] = rng.randbytes(rng.randint(1, 4))
        elif kind == 2:
            del broken[at : at + rng.randint(1, 8)]
        else:
            broken[at:at] = broken[at : at + rng.randint(1, 16)]
    return bytes(broken)


def damaged_texts(texts: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """``count`` damaged copies of texts drawn from ``texts``; every tenth is damaged without mercy."""
    rng = random.Random(seed)
    for number in range(count):
        text = damaged(rng.choice(texts), rng)
        if number % 10 == 0:
            for _ in range(8):
                text = damaged(text, rng)
        yield text


def _span(text: str, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(text) + 1)
    return start, min(len(text), start + rng.choice((1, 1, 1, 2, 4, 16, 64)))


def _delete(text: str, rng: random.Random) -> str:
    start, end = _span(text, rng)
    return text[:start] + text[end:]


def _double(text: str, rng: random.Random) -> str:
    start, end = _span(text, rng)
    return text[:end] + text[start:end] + text[end:]


def _move(text: str, rng: random.Random) -> str:
    start, end = _span(text, rng)
    rest = text[:start] + text[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + text[start:end] + rest[at:]


def _replace(text: str, rng: random.Random) -> str:
    """One character becomes another: mostly one of the text itself, which keeps the text nearly right."""
    start, _ = _span(text, rng)
    other = rng.choice(text) if text and rng.random() < 0.7 else rng.choice(NASTY)
    return text[:start] + other + text[start + 1 :]


def _insert(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(NASTY) + text[at:]


def _cut(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] if rng.random() < 0.7 else text[at:]


def _swap_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _inflate_number(text: str, rng: random.Random) -> str:
    digits = [at for at, char in enumerate(text) if char.isdigit()]
    if not digits:
        return text + LONG_NUMBER
    at = rng.choice(digits)
    return text[:at] + rng.choice(ODD_NUMBERS) + text[at + 1 :]


def _change_case(text: str, rng: random.Random) -> str:
    start, end = _span(text, rng)
    return text[:start] + text[start:end].swapcase() + text[end:]


_EDITS = (
    _delete,
    _double,
    _move,
    _replace,
    _replace,
    _replace,
    _insert,
    _cut,
    _swap_lines,
    _inflate_number,
    _change_case,
)
