"""The names of runs: a date and two words unless the user chooses, and always fit for every file system."""

import re
import secrets
from datetime import date

from keisei.errors import RunDirectoryError
from keisei.networks import SHIPPED

NEWEST = "auto"  # what --resume takes for "the run trained last", hence no name

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?<!\.)")
# Windows gives these to devices, whatever their extension.
RESERVED_NAMES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(1, 10))}
)

# fmt: off
ADJECTIVES = (
    "amber", "bold", "brave", "bright", "calm", "clear", "clever", "crimson", "eager", "early",
    "fierce", "gentle", "frosty", "green", "happy", "hidden", "keen", "lively", "lucky", "mellow",
    "mighty", "misty", "noble", "patient", "proud", "quick", "quiet", "scarlet", "silent", "steady",
    "swift", "vivid",
)
NOUNS = (
    "anaguma", "bishop", "bonanza", "castle", "cricket", "crane", "dragon", "fortress", "gambit",
    "gold", "horse", "king", "knight", "lance", "lantern", "maple", "mino", "mountain", "pawn",
    "phoenix", "plum", "promotion", "raiden", "river", "rook", "rocket", "silver", "sparrow", "tiger",
    "tokin", "willow", "yagura",
)
# fmt: on


def invent_name(today: date) -> str:
    """A readable name. ``secrets``, not ``random``: naming must not move the generators that a run seeds."""
    return f"{today:%Y-%m-%d}-{secrets.choice(ADJECTIVES)}-{secrets.choice(NOUNS)}"


def check_name(name: str) -> None:
    """Refuse a name that would leave the runs folder or that some file system cannot hold."""
    device = name.partition(".")[0].lower()
    if not NAME_PATTERN.fullmatch(name) or device in RESERVED_NAMES or name in (NEWEST, SHIPPED):
        raise RunDirectoryError(
            f"a run name has up to 100 letters, digits, '-', '_' and '.', begins with a letter or digit, "
            f"does not end with '.' and is neither {NEWEST!r} nor {SHIPPED!r} nor a device name; got {name!r}: "
            "choose another --name"
        )
