"""A window on a run, and a board to play on: `keisei web`.

A process of its own, of low priority, that only reads run folders and their journals, so it cannot stop a run, and that
plays through USI processes like any other shogi program.
"""
