"""The differential test itself: that our engine agrees with others, and that a disagreement would be seen."""

from random import Random

import pytest

from keisei.errors import OracleMissingError
from keisei.shogi import Reason, ShogiGame
from keisei.shogi.verification import (
    CshogiOracle,
    Oracle,
    Property,
    PythonShogiOracle,
    RsshogiOracle,
    installed_oracles,
    verify,
)
from keisei.shogi.verification.plain_rules import may_declare
from keisei.shogi.verification.random_sfen import entered_sfen, scattered_sfen

EVERY_ORACLE = (RsshogiOracle, CshogiOracle, PythonShogiOracle)


def ready(kind: type) -> Oracle:
    oracle: Oracle = kind()
    if not oracle.available():
        pytest.skip(f"{oracle.name} is not installed")
    return oracle


def test_our_engine_agrees_with_every_installed_oracle() -> None:
    report = verify(20_000, seed=1)
    assert report.agreed, "\n".join(report.lines())
    assert report.positions == 20_000
    for oracle in installed_oracles():
        assert report.comparisons[oracle.name][Property.LEGAL_MOVES] >= 0.9 * oracle.share * report.positions


def test_rare_events_are_frequent_in_the_games_played() -> None:
    report = verify(6_000, seed=2, oracles=[ready(RsshogiOracle)])
    assert report.endings["repetition"] >= 10
    assert report.endings["perpetual_check"] >= 3
    assert report.endings["checkmate"] >= 3
    assert report.declarable >= 50


class HidesADrop(RsshogiOracle):
    def legal_moves(self) -> frozenset[str]:
        moves = super().legal_moves()
        return moves - {max((move for move in moves if "*" in move), default="")}


class HidesNonPromotions(RsshogiOracle):
    def legal_moves(self) -> frozenset[str]:
        moves = super().legal_moves()
        return frozenset(move for move in moves if f"{move}+" not in moves)


class NeverInCheck(RsshogiOracle):
    def in_check(self) -> bool:
        return False

    def is_mate(self) -> bool:
        return False


class ForgetsMoveNumbers(RsshogiOracle):
    def sfen(self) -> str:
        return super().sfen().rsplit(" ", 1)[0] + " 1"


class CallsThreefold(RsshogiOracle):
    def is_fourfold(self) -> bool | None:
        return bool(self._board.is_repetition(2))


class ForgivesPerpetualCheck(RsshogiOracle):
    def perpetual_loser(self) -> str | None:
        return "nobody"


class NeverDeclares(RsshogiOracle):
    def can_declare(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("liar", "lies_about"),
    [
        (HidesADrop, Property.LEGAL_MOVES),
        (HidesNonPromotions, Property.LEGAL_MOVES),
        (NeverInCheck, Property.IN_CHECK),
        (ForgetsMoveNumbers, Property.SFEN),
        (CallsThreefold, Property.FOURFOLD),
        (ForgivesPerpetualCheck, Property.PERPETUAL_CHECK),
        (NeverDeclares, Property.DECLARATION),
    ],
)
def test_a_disagreement_is_found_and_can_be_replayed(liar: type, lies_about: Property) -> None:
    report = verify(10_000, seed=3, oracles=[ready(liar)], max_mismatches=1)
    assert not report.agreed
    found = report.mismatches[0]
    assert found.question is lies_about
    game = ShogiGame(found.start_sfen)
    for usi in found.moves:
        game.make_move(usi)
    if isinstance(found.ours, frozenset) and isinstance(found.theirs, frozenset):
        assert found.ours == {move.usi for move in game.legal_moves()}
        assert found.ours > found.theirs
        assert str(sorted(found.ours - found.theirs)) in str(found)
    assert found.usi_position in str(found)


def test_a_lying_mate_is_found() -> None:
    class DeniesMate(RsshogiOracle):
        def is_mate(self) -> bool:
            return False

    report = verify(10_000, seed=3, oracles=[ready(DeniesMate)], max_mismatches=1)
    assert [found.question for found in report.mismatches] == [Property.MATE]


def test_no_later_oracle_sees_a_start_that_one_refused() -> None:
    class Refuses(RsshogiOracle):
        def start(self, sfen: str) -> None:
            raise ValueError(sfen)

    bystander = ready(CshogiOracle)
    report = verify(5, seed=0, oracles=[ready(Refuses), bystander], max_mismatches=3)
    assert {found.question for found in report.mismatches} == {Property.START}
    assert not report.comparisons[bystander.name]


def test_the_games_do_not_depend_on_the_oracles() -> None:
    alone = verify(1_500, seed=4, oracles=[ready(RsshogiOracle)])
    together = verify(1_500, seed=4, oracles=[ready(RsshogiOracle), ready(PythonShogiOracle)])
    assert (alone.games, alone.endings, alone.declarable) == (
        together.games,
        together.endings,
        together.declarable,
    )
    other = verify(1_500, seed=5, oracles=[ready(RsshogiOracle)])
    assert (alone.games, alone.endings, alone.declarable) != (other.games, other.endings, other.declarable)


def test_progress_is_told_and_ends_at_the_wanted_number() -> None:
    told: list[tuple[int, int]] = []
    verify(
        700, seed=0, oracles=[ready(RsshogiOracle)], progress=lambda done, wanted: told.append((done, wanted))
    )
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == (700, 700)


def test_without_any_oracle_the_user_is_told_what_to_install() -> None:
    with pytest.raises(OracleMissingError, match="pip install rsshogi"):
        verify(1, oracles=[])


@pytest.mark.parametrize("kind", EVERY_ORACLE)
def test_a_pawn_drop_that_mates_is_illegal_even_when_capturers_are_pinned(kind: type) -> None:
    oracle = ready(kind)
    oracle.start("4R2gk/9/7G1/9/9/9/9/9/K8 b P 1")
    assert "P*1b" not in oracle.legal_moves()
    assert "P*2b" in oracle.legal_moves()


@pytest.mark.parametrize("kind", EVERY_ORACLE)
def test_legal_non_promotions_are_in_the_list(kind: type) -> None:
    oracle = ready(kind)
    oracle.start("9/9/1P2B2R1/3L5/9/9/9/K7k/9 b - 1")
    assert {"8c8b", "5c4b", "2c2b", "6d6c", "6d6b"} <= oracle.legal_moves()


HANDS_CHANGE_IN_BETWEEN = "P*2b 1a2b 9i8i 2b2a 8i9i 2a1a 9i8i P*8h 8i8h 1a2a 8h9i 2a1a "


def test_a_repetition_hidden_behind_other_hands_is_asked_only_of_those_who_see_it() -> None:
    """The board returns every 6 plies, with the same hands only every 12."""
    game = ShogiGame("8k/9/9/9/9/9/9/9/K8 b P 1")
    blind, counting, hashing = ready(RsshogiOracle), ready(CshogiOracle), ready(PythonShogiOracle)
    for oracle in (blind, counting, hashing):
        oracle.start(game.start_sfen)
    for usi in (HANDS_CHANGE_IN_BETWEEN * 3).split():
        assert game.outcome is None
        game.make_move(usi)
        for oracle in (blind, counting, hashing):
            oracle.push(usi)
    assert game.outcome is not None
    assert game.outcome.reason is Reason.REPETITION
    assert (blind.is_fourfold(), counting.is_fourfold(), hashing.is_fourfold()) == (None, True, True)


APPROACH, CHECKS, QUIET = "1i1a 5a5b ", "1a1b 5b5a 1b1a 5a5b ", "1a2a 5b5c 2a1a 5c5b "


@pytest.mark.parametrize("kind", EVERY_ORACLE)
@pytest.mark.parametrize(
    ("cycles", "loser"),
    [(CHECKS * 3, "black"), (QUIET * 3, "nobody"), (CHECKS + QUIET + CHECKS, "nobody"), (CHECKS * 2, None)],
    ids=["every cycle", "no cycle", "all but one cycle", "only three occurrences"],
)
def test_who_loses_by_perpetual_check(kind: type, cycles: str, loser: str | None) -> None:
    oracle = ready(kind)
    oracle.start("4k4/9/9/9/9/9/9/9/4K3R b - 1")
    for usi in (APPROACH + cycles).split():
        oracle.push(usi)
    assert oracle.is_fourfold() is (loser is not None)
    if loser is not None:
        assert oracle.perpetual_loser() == loser


def test_the_plain_declaration_rule_agrees_with_cshogi_at_the_border() -> None:
    cshogi = ready(CshogiOracle)
    rng = Random(6)
    verdicts: list[bool] = []
    while len(verdicts) < 400:
        sfen = entered_sfen(rng)
        try:
            ShogiGame(sfen)  # cshogi does not survive every SFEN that is refused here
        except ValueError:
            continue
        cshogi.start(sfen)
        verdicts.append(cshogi.can_declare())
        assert may_declare(sfen, cshogi.in_check()) is verdicts[-1], sfen
    assert 40 < sum(verdicts) < 360


def test_most_scattered_positions_are_playable() -> None:
    rng, playable = Random(7), 0
    for _ in range(300):
        try:
            ShogiGame(scattered_sfen(rng))
        except ValueError as refusal:
            assert "check" in str(refusal)  # the only fault that the scattering allows
        else:
            playable += 1
    assert playable > 150
