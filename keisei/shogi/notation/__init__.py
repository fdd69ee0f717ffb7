"""Readers for the record formats of the shogi world, one module each; `keisei.shogi.records` is the door.

They are ours because a reader meets damaged files: every move is played on our own board as it is read, so
that an error can name line, ply, move and reason, and no input can end the interpreter.
"""
