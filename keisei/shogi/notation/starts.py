"""Starting positions under the names that record formats give them."""

from collections.abc import Mapping
from typing import Final

from keisei.shogi.types import HANDICAP_SFENS, STANDARD_SFEN

_THREE_PIECE: Final = "lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
_FIVE_PIECE: Final = "2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
_LEFT_FIVE_PIECE: Final = "1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"

KIF_STARTS: Final[Mapping[str, str]] = {
    "平手": STANDARD_SFEN,
    "香落ち": HANDICAP_SFENS["lance"],
    "右香落ち": HANDICAP_SFENS["right_lance"],
    "角落ち": HANDICAP_SFENS["bishop"],
    "飛車落ち": HANDICAP_SFENS["rook"],
    "飛香落ち": HANDICAP_SFENS["rook_lance"],
    "二枚落ち": HANDICAP_SFENS["two_piece"],
    "三枚落ち": _THREE_PIECE,
    "四枚落ち": HANDICAP_SFENS["four_piece"],
    "五枚落ち": _FIVE_PIECE,
    "左五枚落ち": _LEFT_FIVE_PIECE,
    "六枚落ち": HANDICAP_SFENS["six_piece"],
    "八枚落ち": HANDICAP_SFENS["eight_piece"],
    "十枚落ち": HANDICAP_SFENS["ten_piece"],
}
"""手合割 of KIF and KI2."""

JKF_STARTS: Final[Mapping[str, str]] = {
    "HIRATE": STANDARD_SFEN,
    "KY": HANDICAP_SFENS["lance"],
    "KY_R": HANDICAP_SFENS["right_lance"],
    "KA": HANDICAP_SFENS["bishop"],
    "HI": HANDICAP_SFENS["rook"],
    "HIKY": HANDICAP_SFENS["rook_lance"],
    "2": HANDICAP_SFENS["two_piece"],
    "3": _THREE_PIECE,
    "4": HANDICAP_SFENS["four_piece"],
    "5": _FIVE_PIECE,
    "5_L": _LEFT_FIVE_PIECE,
    "6": HANDICAP_SFENS["six_piece"],
    "8": HANDICAP_SFENS["eight_piece"],
    "10": HANDICAP_SFENS["ten_piece"],
}
"""The preset names of JKF."""
