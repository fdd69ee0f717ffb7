"""Keisei (形勢): train a shogi player by self-play, see how strong it is, and play against it."""

__version__ = "0.1.0"
