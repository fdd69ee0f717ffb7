"""A USI engine for tests: it plays the first legal move in the order of their names, and says a score.

With MultiPV above 1 it also says a policy: the first two moves, at 60 and 30 %.
"""

import sys

from keisei.shogi import ShogiGame


def legal_moves(position: str) -> list[str]:
    _, _, rest = position.partition("sfen ")
    sfen, _, moves = rest.partition(" moves ")
    game = ShogiGame(sfen)
    for usi in moves.split():
        game.play(usi)
    return sorted(move.usi for move in game.legal_moves())


def main() -> None:
    position, multi_pv = "", 1
    for line in sys.stdin:
        match line.split()[0]:
            case "usi":
                print("id name toy\noption name MultiPV type spin default 1 min 1 max 9\nusiok", flush=True)
            case "setoption":
                multi_pv = int(line.split()[-1])
            case "isready":
                print("readyok", flush=True)
            case "position":
                position = line.strip()
            case "go":
                legal = legal_moves(position)
                best = legal[0] if legal else "resign"
                if multi_pv > 1 and len(legal) > 1:
                    print(f"info string policy {legal[1]} 0.3 {legal[0]} 0.6")
                print(f"info depth 1 score cp 12 pv {best}\nbestmove {best}", flush=True)
            case "quit":
                return


if __name__ == "__main__":
    main()
