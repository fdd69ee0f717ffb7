"""The game of shogi: rules, encodings, records and environments. Knows nothing of learning."""

from typing import TYPE_CHECKING, Any

from keisei.shogi.game import OBSERVATION_SHAPE, ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.policy import COMPACT_ACTIONS, FULL_ACTIONS, PolicyOutputMapper
from keisei.shogi.positions import MAX_LEGAL_MOVES, PLANE_SCALE, PLANES, RECORD_BYTES, LegalActions
from keisei.shogi.types import (
    HANDICAP_SFENS,
    REASONS,
    STANDARD_SFEN,
    Color,
    ImpasseRule,
    Outcome,
    PieceType,
    Reason,
)
from keisei.shogi.vector_env import NO_ACTION, RandomPlay, ShogiVectorEnv, Starts

if TYPE_CHECKING:
    from keisei.shogi.records import GameRecord, read_record, write_record

__all__ = [
    "COMPACT_ACTIONS",
    "FULL_ACTIONS",
    "HANDICAP_SFENS",
    "MAX_LEGAL_MOVES",
    "NO_ACTION",
    "OBSERVATION_SHAPE",
    "PLANES",
    "PLANE_SCALE",
    "REASONS",
    "RECORD_BYTES",
    "STANDARD_SFEN",
    "Color",
    "GameRecord",
    "ImpasseRule",
    "LegalActions",
    "Move",
    "Outcome",
    "PieceType",
    "PolicyOutputMapper",
    "RandomPlay",
    "Reason",
    "ShogiGame",
    "ShogiVectorEnv",
    "Starts",
    "read_record",
    "write_record",
]


def __getattr__(name: str) -> Any:
    # Records bring rsshogi along, which few programs need: loaded when first asked for.
    if name not in ("GameRecord", "read_record", "write_record"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from keisei.shogi import records

    return getattr(records, name)
