"""The vocabulary: names and numbers that arrays and files rely on."""

import pytest

from keisei.shogi import (
    HANDICAP_SFENS,
    REASONS,
    STANDARD_SFEN,
    Color,
    ImpasseRule,
    Outcome,
    PieceType,
    Reason,
    ShogiGame,
)
from keisei.shogi.types import DEFAULT_MAX_PLIES, square_name


def test_colours() -> None:
    assert (Color.BLACK, Color.WHITE) == (0, 1)
    assert Color.BLACK.opponent is Color.WHITE
    assert Color.WHITE.opponent is Color.BLACK


def test_reasons_have_the_agreed_names_and_numbers() -> None:
    names = "checkmate no_legal_moves repetition perpetual_check impasse declaration max_plies resignation"
    assert [str(reason) for reason in Reason] == names.split()
    assert (None, *Reason) == REASONS


def test_piece_types_follow_the_observation_planes() -> None:
    assert [piece.value for piece in PieceType] == list(range(14))
    assert "".join(piece.name[0] for piece in PieceType) == "PLKSGBRKPPPPHD"


def test_outcomes_are_values() -> None:
    assert Outcome(Color.BLACK, Reason.CHECKMATE) == Outcome(Color.BLACK, Reason.CHECKMATE)
    assert Outcome(None, Reason.REPETITION) != Outcome(None, Reason.MAX_PLIES)
    with pytest.raises(AttributeError):
        Outcome(None, Reason.REPETITION).winner = Color.BLACK  # type: ignore[misc]


def test_impasse_rules_by_name() -> None:
    assert [str(rule) for rule in ImpasseRule] == ["off", "csa27", "csa24", "try"]
    for rule in ImpasseRule:
        assert (
            ShogiGame(impasse_rule=rule).impasse_rule
            is ShogiGame(impasse_rule=rule.value).impasse_rule
            is rule
        )


def test_the_standard_start_is_the_default() -> None:
    assert ShogiGame().sfen == ShogiGame(STANDARD_SFEN).sfen == STANDARD_SFEN
    assert ShogiGame().max_plies == DEFAULT_MAX_PLIES == 512
    assert ShogiGame().impasse_rule is ImpasseRule.CSA27


def test_handicap_starts_are_written_as_the_engine_writes_them() -> None:
    assert {name: ShogiGame(sfen).sfen for name, sfen in HANDICAP_SFENS.items()} == HANDICAP_SFENS


def test_square_names() -> None:
    assert [square_name(square) for square in (0, 8, 9, 40, 72, 80)] == ["9a", "1a", "9b", "5e", "9i", "1i"]
