"""A game against the network in the terminal: lines in, text out, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from keisei.errors import IllegalMoveError
from keisei.shogi import Color, Move, ShogiGame
from keisei.shogi.board_text import TextStyle, board_text
from keisei.shogi.gumbel_forest import RootMove, Verdict
from keisei.shogi.types import square_name

if TYPE_CHECKING:
    from keisei.core.inference import Inference
    from keisei.evaluation.gumbel_search import GumbelSearch

HELP: Final = """\
a move       as USI: 7g7f, 8h2b+ (promotes), P*5e (drops a pawn)
moves [7g]   the legal moves, or those of one square or piece in hand (moves P)
hint         what Keisei would play, and your winning chances
undo         take back your last move and Keisei's answer
board        draw the board
sfen         the position as text
declare      declare a win by entering king
resign       give up
new          begin another game
quit         leave"""
PROMPT: Final = "> "
_LINE_PLIES: Final = 6


class TerminalGame:
    """The human against the search. Each line of input is a move or a command; bad ones are explained, never fatal."""

    def __init__(
        self,
        inference: Inference,
        say: Callable[[str], None],
        *,
        human: Color,
        simulations: int,
        sfen: str | None = None,
        style: TextStyle = "kanji",
    ) -> None:
        self._inference = inference
        self._say = say
        self._human = human
        self._simulations = simulations
        self._style = style
        self._start = ShogiGame(sfen)
        self._game = self._start.copy()
        self._commands: dict[str, Callable[[str], None]] = {
            "moves": self._list_moves,
            "hint": lambda _: self._hint(),
            "undo": lambda _: self._undo(),
            "board": lambda _: self._draw(),
            "sfen": lambda _: self._say(self._game.sfen),
            "declare": lambda _: self._declare(),
            "resign": lambda _: self._resign(),
            "new": lambda _: self._begin(),
            "help": lambda _: self._say(HELP),
        }

    def play(self, lines: Iterable[str]) -> None:
        """Plays until `quit` or the end of the lines."""
        self._say(f"You are {self._human.name.lower()}. Type a move such as 7g7f, or help.")
        self._begin()
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0].lower() in ("quit", "exit"):
                return
            command = self._commands.get(words[0].lower())
            if command is not None:
                command(" ".join(words[1:]))
            else:
                self._try_move(words[0])

    # ---- the human

    def _try_move(self, text: str) -> None:
        if self._is_over():
            return
        try:
            self._game.play(_as_usi(text))
        except IllegalMoveError as error:
            self._say(f"{error}\nType moves for the legal moves, help for the commands.")
            return
        self._answer()

    def _list_moves(self, which: str) -> None:
        moves = self._game.legal_moves()
        chosen = [move for move in moves if not which or _begins_at(move, which)]
        self._say(" ".join(sorted(move.usi for move in chosen)) or f"no legal move of {which!r}")

    def _undo(self) -> None:
        """Takes back plies until the human is to move again."""
        played = len(self._game.moves)
        earliest = 0 if self._start.turn is self._human else 1
        if played <= earliest:
            self._say("there is nothing to take back")
            return
        self._game.undo_move()
        if self._game.turn is not self._human:
            self._game.undo_move()
        self._draw()

    def _declare(self) -> None:
        try:
            self._game.declare_win()
        except IllegalMoveError as error:
            self._say(str(error))
            return
        self._is_over()

    def _resign(self) -> None:
        if not self._is_over():
            self._game.resign()
            self._is_over()

    def _hint(self) -> None:
        if self._is_over():
            return
        search = self._search()
        best = search.root_moves()[0]
        line = " ".join(move.usi for move in search.line(best.move)[:_LINE_PLIES])
        self._say(f"Keisei would play {best.move.usi} ({line}). {_chances('Your', best)}")

    # ---- Keisei

    def _begin(self) -> None:
        self._game = self._start.copy()
        if self._game.turn is self._human:
            self._draw()
        else:
            self._answer()

    def _answer(self) -> None:
        """Keisei's move, if the game goes on."""
        if self._game.outcome is None:
            if self._game.can_declare_win():
                self._say("Keisei declares a win.")
                self._game.declare_win()
            else:
                best = self._search().root_moves()[0]
                self._game.play(best.move)
                self._say(f"Keisei plays {best.move.usi}. {_chances('Its', best)}")
        self._draw()
        self._is_over()

    def _search(self) -> GumbelSearch:
        from keisei.evaluation.gumbel_search import GumbelSearch

        search = GumbelSearch(self._inference, [self._game])
        search.run(self._simulations)
        return search

    # ---- the board

    def _draw(self) -> None:
        game = self._game
        self._say(board_text(game._pieces(), game._hands(), int(game.turn), style=self._style))
        if game.is_in_check and game.outcome is None:
            self._say("Check!")

    def _is_over(self) -> bool:
        """Says how the game ended, if it did."""
        outcome = self._game.outcome
        if outcome is None:
            return False
        reason = outcome.reason.value.replace("_", " ")
        winner = {None: "A draw", self._human: "You win"}.get(outcome.winner, "Keisei wins")
        self._say(f"{winner} by {reason}. Type undo, new or quit.")
        return True


def _as_usi(text: str) -> str:
    """Squares in lower case, the dropped piece in upper case, however it was typed."""
    lower = text.lower()
    return lower[:1].upper() + lower[1:] if lower[1:2] == "*" else lower


def _begins_at(move: Move, which: str) -> bool:
    if move.from_square is None:
        return move.usi[0] == which.upper()
    return square_name(move.from_square) == which.lower()


def _chances(whose: str, best: RootMove) -> str:
    """Winning chances in words; draws count half."""
    if best.verdict is Verdict.WIN:
        return f"{whose} mate is {best.plies} plies away." if best.plies > 1 else f"{whose} move mates."
    if best.verdict is Verdict.LOSS:
        return f"{whose} king is mated in {best.plies} plies at the latest."
    return f"{whose} winning chances: {(1 + best.value) / 2:.0%}."
