"""The sequential test: its error rates by simulation, and what it refuses."""

import numpy as np
import pytest

from keisei.errors import ConfigError
from keisei.evaluation.likelihood import expected_score
from keisei.evaluation.sprt import Sprt, Verdict

TESTS = 1000
LONGEST = 3000


def share_judged_stronger(sprt: Sprt, elo: float, draws: float, seed: int) -> tuple[float, float]:
    """Share of simulated tests that end with "stronger", and their mean number of pairs."""
    random = np.random.default_rng(seed)
    score = expected_score(elo)
    counts = np.zeros((TESTS, 5))
    pairs = np.zeros(TESTS)
    verdicts = np.zeros(TESTS)
    for _ in range(LONGEST):
        running = np.flatnonzero(verdicts == 0)
        if len(running) == 0:
            break
        lots = random.random((len(running), 2))
        points = np.where(lots < score - draws / 2, 1.0, np.where(lots < score + draws / 2, 0.5, 0.0)).mean(
            axis=1
        )
        counts[running, np.round(4 * points).astype(int)] += 1
        pairs[running] += 1
        ratios = sprt.ratio(counts[running])
        verdicts[running] = np.where(np.abs(ratios) < sprt.limit, 0, np.sign(ratios))
    assert (verdicts != 0).all()
    return float((verdicts > 0).mean()), float(pairs.mean())


@pytest.mark.parametrize(("elo0", "elo1", "draws"), [(0, 60, 0.1), (-40, 40, 0.0), (-100, 0, 0.3)])
def test_the_test_errs_as_rarely_as_promised(elo0: float, elo1: float, draws: float) -> None:
    sprt = Sprt(elo0, elo1)
    false_alarm, _ = share_judged_stronger(sprt, elo0, draws, seed=1)
    found, _ = share_judged_stronger(sprt, elo1, draws, seed=2)
    # Three standard deviations of 1000 repetitions beyond the promised 5 %.
    assert false_alarm < 0.07
    assert found > 0.93


def test_a_player_far_stronger_than_asked_is_found_sooner() -> None:
    sprt = Sprt(0, 60)
    assert share_judged_stronger(sprt, 200, 0.1, 3)[1] < share_judged_stronger(sprt, 60, 0.1, 3)[1] / 1.5


def test_verdicts() -> None:
    sprt = Sprt(0, 100)
    assert sprt.verdict([0, 0, 0, 0, 0]) is Verdict.OPEN
    assert sprt.verdict([0, 0, 2, 0, 2]) is Verdict.OPEN
    assert sprt.verdict([1, 2, 10, 10, 30]) is Verdict.STRONGER
    assert sprt.verdict([10, 5, 20, 4, 9]) is Verdict.NOT_STRONGER


def test_it_is_written_as_two_numbers() -> None:
    assert Sprt.parse("0,20") == Sprt(0, 20)
    assert Sprt.parse("-5.5, 5") == Sprt(-5.5, 5)


@pytest.mark.parametrize("text", ["", "20", "0,20,40", "a,b", "20,0", "5,5", "0,inf", "nan,1"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match="for example --sprt 0,20"):
        Sprt.parse(text)
