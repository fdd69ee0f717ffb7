"""A USI engine for tests: it plays the first legal move in the order of their names, and says a score."""

import sys

from keisei.shogi import ShogiGame


def answer(position: str) -> str:
    _, _, rest = position.partition("sfen ")
    sfen, _, moves = rest.partition(" moves ")
    game = ShogiGame(sfen)
    for usi in moves.split():
        game.play(usi)
    legal = sorted(move.usi for move in game.legal_moves())
    return legal[0] if legal else "resign"


def main() -> None:
    position = ""
    for line in sys.stdin:
        match line.split()[0]:
            case "usi":
                print("id name toy\nusiok", flush=True)
            case "isready":
                print("readyok", flush=True)
            case "position":
                position = line.strip()
            case "go":
                best = answer(position)
                print(f"info depth 1 score cp 12 pv {best}\nbestmove {best}", flush=True)
            case "quit":
                return


if __name__ == "__main__":
    main()
