"""Networks that come with Keisei, so that a newcomer can play, watch and rate before training anything.

Each is a folder of package data that loads like a checkpoint, with its model card; `keisei export --network` writes it.
"""

from pathlib import Path
from typing import Final

#: What the network is called wherever a checkpoint or a player is named; no run may have this name.
SHIPPED: Final = "shipped"
CARD_FILE: Final = "MODEL_CARD.md"

_FOLDER: Final = Path(__file__).parent


def shipped_network(name: str = SHIPPED) -> Path | None:
    """The folder of the network that ships under ``name``; None for any other name."""
    return _FOLDER / SHIPPED if name == SHIPPED else None
