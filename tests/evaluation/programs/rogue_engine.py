"""A USI engine that misbehaves in the way its first argument names; a second argument is a file to leave a mark in."""

import sys
import threading
from pathlib import Path

from keisei.shogi import ShogiGame

MEGABYTE = 1 << 20


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def hang() -> None:
    threading.Event().wait()


def first_legal_move(position: str) -> str:
    words = position.split()
    split = words.index("moves") if "moves" in words else len(words)
    game = ShogiGame(None if words[1] == "startpos" else " ".join(words[2:split]))
    for move in words[split + 1 :]:
        game.play(move)
    return game.legal_moves()[0].usi


def go(behaviour: str, position: str, mark: Path | None) -> None:  # noqa: PLR0912
    match behaviour:
        case "dies on go":
            sys.exit(4)
        case "dies once" if mark is not None and not mark.exists():
            mark.touch()
            sys.exit(4)
        case "dies for good" if mark is not None:
            mark.touch()
            sys.exit(4)
        case "hangs on go":
            hang()
        case "floods":
            while True:
                say("info string " + "x" * 1000)
        case "never ends its line":
            while True:
                sys.stdout.write("bestmovebestmove" * 1000)
        case "illegal":
            say("bestmove 1a1b")
        case "nonsense":
            say("bestmove \x00七六歩")
        case "wordless":
            say("bestmove")
        case "declares":
            say("bestmove win")
        case "resigns":
            say("bestmove resign")
        case "talks twice":
            say(f"bestmove {first_legal_move(position)}")
            say("bestmove 1a1b")
        case "shouts":
            sys.stderr.write("!" * MEGABYTE)
            say(f"bestmove {first_legal_move(position)} ponder 9z9z")
        case _:
            say(f"info depth 1 score cp 0 pv {first_legal_move(position)}")
            say(f"bestmove {first_legal_move(position)}")


def main() -> None:
    behaviour = sys.argv[1]
    mark = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if behaviour == "ends at once" or (behaviour == "dies for good" and mark is not None and mark.exists()):
        sys.stdout.write("no licence found\n")
        sys.exit(3)
    position = ""
    for line in sys.stdin:
        command = line.strip()
        if behaviour == "silent":
            hang()
        elif command == "usi" and behaviour == "rubbish":
            sys.stdout.buffer.write(bytes(range(128, 256)) * 1000 + b"\nusi?\n")
            sys.stdout.buffer.flush()
        elif command == "usi":
            say("option name USI_Hash type spin default 16 min 1 max 1024")
            say("option name Book File type string default <empty>")
            say("option name Style type combo default calm var calm var wild")
            say("option name OwnBook type check default true")
            say("usiok")
        elif command == "isready" and behaviour != "never ready":
            say("readyok")
        elif command.startswith("setoption") and mark is not None:
            mark.write_text(mark.read_text() + command + "\n" if mark.exists() else command + "\n")
        elif command.startswith("position"):
            position = command
        elif command.startswith("go"):
            go(behaviour, position, mark)
        elif command == "quit" and behaviour == "will not quit":
            hang()
        elif command == "quit":
            return


main()
