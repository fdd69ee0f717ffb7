"""A window on a run, and a board to play on: `keisei web`.

A process of its own that only reads run folders and their journals, so it can neither slow nor stop a run, and
that plays through USI processes like any other shogi program.
"""
