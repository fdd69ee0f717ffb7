"""The comparison itself: our games, replayed by every oracle move by move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from keisei.errors import OracleMissingError, SfenError
from keisei.shogi import Outcome, Reason, ShogiGame
from keisei.shogi.verification.drivers import Driver, rounds
from keisei.shogi.verification.oracles import Oracle, installed_oracles
from keisei.shogi.verification.report import Answer, Mismatch, Property, VerificationReport

Progress = Callable[[int, int], None]  # positions compared so far, positions wanted

MATES = (Reason.CHECKMATE, Reason.NO_LEGAL_MOVES)
REPETITIONS = (Reason.REPETITION, Reason.PERPETUAL_CHECK)
ACCEPTED, REFUSED = True, False


def verify(
    positions: int,
    seed: int = 0,
    oracles: Sequence[Oracle] | None = None,
    progress: Progress | None = None,
    max_mismatches: int = 10,
) -> VerificationReport:
    """Play games until ``positions`` positions were compared with every oracle, or disagreements abound."""
    oracles = installed_oracles() if oracles is None else oracles
    if not oracles:
        raise OracleMissingError(
            "expected at least one oracle to compare with, found none; install one with"
            " `pip install rsshogi` (or cshogi, python-shogi)"
        )
    report = VerificationReport(comparisons={oracle.name: Counter() for oracle in oracles})
    rng, sampling = Random(seed), Random(f"sampling {seed}")  # the games do not depend on who is asked
    for driver in rounds():
        if report.positions >= positions or len(report.mismatches) >= max_mismatches:
            break
        limit = min(driver.max_plies, positions - report.positions - 1)
        _Duel(_new_game(driver, rng), oracles, report, sampling).play(driver, limit, rng)
        if progress is not None:
            progress(report.positions, positions)
    return report


def _new_game(driver: Driver, rng: Random) -> ShogiGame:
    while True:
        try:
            # The ply cap is ours alone, so no game may reach it.
            return ShogiGame(driver.start(rng), max_plies=driver.max_plies + 1)
        except SfenError:  # scattered pieces may give check to the side that just moved
            continue


@dataclass
class _Duel:
    """One game of ours, followed by the oracles; ends early at the first disagreement."""

    game: ShogiGame
    oracles: Sequence[Oracle]
    report: VerificationReport
    sampling: Random

    def play(self, driver: Driver, max_plies: int, rng: Random) -> None:
        self.report.games += 1
        mover = driver.mover()
        agreed = self._start() and self._compare()
        for _ in range(max_plies):
            if not agreed or self.game.outcome is not None:
                break
            move = mover.choose(self.game, self.game.legal_moves(), rng)
            self.game.make_move(move)
            for oracle in self.oracles:
                oracle.push(move.usi)
            agreed = self._compare()
        self.report.endings[_ending(self.game.outcome)] += 1

    def _start(self) -> bool:
        """Set all oracles up, stopping at one that refuses: a later one might not survive the SFEN."""
        return all(self._accepts(oracle) for oracle in self.oracles)

    def _accepts(self, oracle: Oracle) -> bool:
        self.report.comparisons[oracle.name][Property.START] += 1
        try:
            oracle.start(self.game.start_sfen)
        except ValueError:
            self._disagree(oracle, Property.START, ACCEPTED, REFUSED)
            return False
        return True

    def _compare(self) -> bool:
        self.report.positions += 1
        ours = _our_answers(self.game)
        self.report.declarable += ours.get(Property.DECLARATION) is True
        verdicts = [self._ask(oracle, ours) for oracle in self.oracles if self._is_due(oracle)]
        return all(verdicts)  # all are heard even after one disagrees: the others tell who is wrong

    def _is_due(self, oracle: Oracle) -> bool:
        """Endings are rare and cheap to ask about, so everybody is asked about all of them."""
        return self.sampling.random() < oracle.share or self.game.outcome is not None

    def _ask(self, oracle: Oracle, ours: dict[Property, Answer]) -> bool:
        for question, answer in ours.items():
            theirs = _their_answer(oracle, question)
            if theirs is None:
                continue
            self.report.comparisons[oracle.name][question] += 1
            if theirs != answer:
                self._disagree(oracle, question, answer, theirs)
                return False
        return True

    def _disagree(self, oracle: Oracle, question: Property, ours: Answer, theirs: Answer) -> None:
        moves = tuple(move.usi for move in self.game.moves)
        found = Mismatch(oracle.name, question, ours, theirs, self.game.start_sfen, moves)
        self.report.mismatches.append(found)


def _our_answers(game: ShogiGame) -> dict[Property, Answer]:
    """What we say about the position; a game that is over is not asked what could be played next."""
    outcome = game.outcome
    reason = outcome.reason if outcome is not None else None
    answers: dict[Property, Answer] = {
        Property.SFEN: game.sfen,
        Property.IN_CHECK: game.is_in_check,
        Property.MATE: str(reason) if reason in MATES else "no",
        Property.FOURFOLD: reason in REPETITIONS,
    }
    if outcome is not None and reason in REPETITIONS:
        answers[Property.PERPETUAL_CHECK] = _loser(outcome)
    else:
        answers[Property.LEGAL_MOVES] = frozenset(move.usi for move in game.legal_moves())
        answers[Property.DECLARATION] = game.can_declare_win()
    return answers


def _their_answer(oracle: Oracle, question: Property) -> Answer | None:
    ask: dict[Property, Callable[[], Answer | None]] = {
        Property.SFEN: oracle.sfen,
        Property.IN_CHECK: oracle.in_check,
        Property.LEGAL_MOVES: oracle.legal_moves,
        Property.MATE: lambda: _mate(oracle),
        Property.FOURFOLD: oracle.is_fourfold,
        Property.PERPETUAL_CHECK: oracle.perpetual_loser,
        Property.DECLARATION: oracle.can_declare,
    }
    return ask[question]()


def _mate(oracle: Oracle) -> str:
    if not oracle.is_mate():
        return "no"
    return str(Reason.CHECKMATE if oracle.in_check() else Reason.NO_LEGAL_MOVES)


def _loser(outcome: Outcome) -> str:
    return "nobody" if outcome.winner is None else outcome.winner.opponent.name.lower()


def _ending(outcome: Outcome | None) -> str:
    return "unfinished" if outcome is None else str(outcome.reason)
