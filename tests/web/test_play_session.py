from random import Random

import pytest

from keisei.shogi import Color, ShogiGame
from keisei.web.play_session import SQUARE_OF, PlaySession, Question, place_of


def session_at(sfen: str) -> PlaySession:
    session = PlaySession()
    session.game = ShogiGame(sfen)
    session.human = session.game.turn
    return session


def test_places_are_the_squares_of_usi() -> None:
    assert place_of(0) == "9a"
    assert place_of(80) == "1i"
    assert SQUARE_OF["7g"] == 9 * 6 + 2


@pytest.mark.parametrize("seed", range(3))
def test_clicks_reach_every_legal_move_and_no_other(seed: int) -> None:
    random = Random(seed)
    session = PlaySession()
    for _ in range(120):
        session.human = session.game.turn
        reached = set()
        for origin in session.origins():
            session.chosen = origin
            for target in session.targets():
                session.chosen = origin
                answer = session.choose(target)
                assert answer is not None
                reached |= {answer.plain, answer.promoting} if isinstance(answer, Question) else {answer}
        legal = [move.usi for move in session.game.legal_moves()]
        assert reached == set(legal)
        session.play(random.choice(legal))
        if session.game.outcome is not None:
            break


def test_first_click_chooses_second_moves() -> None:
    session = PlaySession()
    assert session.choose("7g") is None
    assert session.chosen == "7g"
    assert session.targets() == {"7f"}
    assert session.choose("7f") == "7g7f"
    assert session.chosen is None


def test_a_click_elsewhere_changes_or_drops_the_choice() -> None:
    session = PlaySession()
    session.choose("7g")
    session.choose("2g")
    assert session.chosen == "2g"
    session.choose("2g")
    assert session.chosen is None
    session.choose("5e")
    assert session.chosen is None


def test_promotion_is_asked_only_where_there_is_a_choice() -> None:
    session = session_at("4k4/9/9/4S4/4P4/9/9/9/4K4 b - 1")
    session.choose("5d")
    assert session.choose("4c") == Question("5d4c")
    must = session_at("k8/4P4/9/9/9/9/9/9/4K4 b - 1")
    must.choose("5b")
    assert must.choose("5a") == "5b5a+"


def test_drops_come_from_the_hand() -> None:
    session = session_at("4k4/9/9/9/9/9/9/9/4K4 b G 1")
    session.choose("G*")
    assert "5e" in session.targets()
    assert session.choose("5e") == "G*5e"


def test_drag() -> None:
    session = PlaySession()
    assert session.drag("7g", "7f") == "7g7f"
    assert session.drag("7g", "7e") is None
    assert session.drag("5e", "5d") is None
    assert session.chosen is None


def test_out_of_turn_nothing_can_be_moved() -> None:
    session = PlaySession(Color.WHITE)
    assert not session.is_humans_turn
    assert session.origins() == set()
    session.choose("7g")
    assert session.chosen is None


def test_undo_goes_back_to_ones_own_turn() -> None:
    session = PlaySession()
    for usi in ("7g7f", "3c3d", "2g2f"):
        session.play(usi)
    session.undo()
    assert session.moves == ["7g7f", "3c3d"]
    session.undo()
    session.undo()
    assert session.moves == []
