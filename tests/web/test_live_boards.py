from recorded_runs import random_game, watched

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Thought, WatchedPly
from keisei.shogi import ShogiGame
from keisei.web.live_boards import MAX_WAITING, REST_STEPS, STEP_SECONDS, LiveBoard, LiveBoards, WatchedGame

GAME = random_game(1)


def entries(plies: list[WatchedPly]) -> list[Entry[WatchedPly]]:
    return [Entry(row, 1, 0.0, ply) for row, ply in enumerate(plies, start=1)]


def board_with(*games: int, plies: int = 5) -> LiveBoard:
    board = LiveBoard()
    for number in games:
        for ply in watched(GAME, 0, number, plies):
            board.take(ply)
    return board


def test_frames_show_the_position_with_its_thought_and_the_last_move() -> None:
    game = WatchedGame(7, watched(GAME, 0, 7, 5))
    first, third, last = game.frame(0), game.frame(3), game.frame(5)
    assert first.position.sfen == ShogiGame().sfen
    assert third.thought == game.plies[3].thought
    assert third.position.last_move is not None
    assert third.position.last_move.usi == GAME.moves[2]
    assert last.thought is None  # nobody has moved there yet
    assert last.black_share is None
    assert game.caption(5) == "Game 7"


def test_how_a_game_ended_is_told_at_its_end() -> None:
    game = WatchedGame(7, watched(GAME, 0, 7, len(GAME.moves)))
    assert game.caption(game.last - 1) == "Game 7"
    assert game.caption(game.last) == "Game 7: over"


def test_a_damaged_journal_shows_something_and_nothing_worse() -> None:
    ply = WatchedPly(0, 1, "<script>", "no move", Thought(0.5, (("no move", 0.9),)))
    game = WatchedGame(1, [ply, ply])
    assert game.frame(1).position.sfen == ShogiGame().sfen


def test_a_board_moves_on_ply_by_ply_and_waits_at_the_end_of_what_is_known() -> None:
    board = board_with(1)
    for _ in range(8):
        board.step()
    assert board.index == 5
    board.take(watched(GAME, 0, 1, 6)[-1])
    board.step()
    assert board.index == 6


def test_the_next_game_comes_after_a_rest_and_old_ones_are_left_out() -> None:
    board = board_with(1, 2, 3, 4)
    steps = 0
    while board.game is not None and board.game.number == 1:
        board.step()
        steps += 1
    assert steps == 5 + REST_STEPS
    assert board.game is not None
    assert board.game.number == 4 - MAX_WAITING + 1
    assert board.index == 0


def test_whoever_comes_late_sees_the_newest_game_of_each_board() -> None:
    live = LiveBoards()
    live.take(entries([*watched(GAME, 0, 1, 4), *watched(GAME, 1, 2, 4), *watched(GAME, 0, 3, 4)]))
    assert {number: board.game.number for number, board in live.boards.items() if board.game} == {0: 3, 1: 2}


def test_many_visitors_do_not_make_it_faster() -> None:
    live = LiveBoards()
    live.take(entries(watched(GAME, 0, 1, 9)))
    for visitor in range(5):
        live.step(100.0 + visitor / 100)
    assert live.boards[0].index == 1
    live.step(100.0 + STEP_SECONDS)
    assert live.boards[0].index == 2
