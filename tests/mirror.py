"""Left and right exchanged, by hand and character by character: the oracle for mirrored games."""

import re

FILES = 10


def mirrored_sfen(sfen: str) -> str:
    """The SFEN of the mirror image: every rank is read from the other end."""
    board, *rest = sfen.split()
    ranks = ("".join(reversed(re.findall(r"\+?.", rank))) for rank in board.split("/"))
    return " ".join(["/".join(ranks), *rest])


def mirrored_usi(move: str) -> str:
    """The mirror image of a move: file f becomes file 10 - f."""
    return re.sub(r"(\d)([a-i])", lambda square: f"{FILES - int(square[1])}{square[2]}", move)
