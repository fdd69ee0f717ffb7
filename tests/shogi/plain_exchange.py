"""Material and captures on one square, counted on a plain board piece by piece."""

from plain_board import PlainBoard, Square, other, read_board, read_square, side_of

#: In hundredths of a pawn; a piece in hand counts as its unpromoted self.
VALUES = {"P": 100, "L": 300, "N": 350, "S": 500, "G": 550, "B": 800, "R": 1000, "K": 0}
VALUES |= {"+P": 550, "+L": 550, "+N": 550, "+S": 550, "+B": 1100, "+R": 1300}


def value(piece: str) -> int:
    return VALUES[piece.upper()]


def plain_material(sfen: str, side: str) -> int:
    board = read_board(sfen)
    total = 0
    for piece in board.pieces.values():
        total += value(piece) if side_of(piece) == side else -value(piece)
    for letter, count in board.hands.items():
        total += count * value(letter) * (1 if side_of(letter) == side else -1)
    return total


def immediate_gain(board: PlainBoard, usi: str) -> int:
    """Material that the move itself wins: a capture changes hands, a promotion adds its worth."""
    if usi[1] == "*":
        return 0
    piece = board.pieces[read_square(usi[:2])]
    gain = value("+" + piece) - value(piece) if usi.endswith("+") else 0
    return gain + captured_worth(board.pieces.get(read_square(usi[2:4])))


def captured_worth(piece: str | None) -> int:
    """What capturing a piece swings: it leaves the board and joins the other side's hand."""
    return 0 if piece is None else value(piece) + value(piece.removeprefix("+"))


def plain_exchange(sfen: str, usi: str) -> int:
    """The move's gain, less what the other side makes of the best series of captures on its square."""
    board = read_board(sfen)
    gain = immediate_gain(board, usi)
    target = read_square(usi[2:4])
    if usi[1] == "*":
        board.pieces[target] = usi[0] if board.turn == "b" else usi[0].lower()
    else:
        piece = board.pieces.pop(read_square(usi[:2]))
        board.pieces[target] = "+" + piece if usi.endswith("+") else piece
    return gain - best_recapture(board, target, other(board.turn))


def best_recapture(board: PlainBoard, target: Square, side: str) -> int:
    """What the side wins by capturing on the square with its least valuable piece, or 0 if it had better not."""
    attackers = board.attackers(target, side)
    if not attackers:
        return 0
    origin = min(
        attackers,
        key=lambda square: (board.pieces[square].upper() == "K", value(board.pieces[square]), square),
    )
    gain = captured_worth(board.pieces[target])
    piece = board.pieces.pop(origin)
    if piece.upper() == "K" and board.attackers(target, other(side)):
        return 0
    board.pieces[target] = piece
    return max(0, gain - best_recapture(board, target, other(side)))
