"""Who meets next: a chain of anchors first, then whoever tells the most about the widest rating."""

import pytest

from keisei.evaluation.allocation import choose_pairing
from keisei.evaluation.ratings import Results, fit_ratings

ANCHORS = ("random", "mate1", "greedy", "ab1")
NAMES = (*ANCHORS, "net")
WON = (0, 0, 1, 2, 17)
EVEN = (4, 2, 8, 2, 4)
LOST = WON[::-1]
CHAIN: Results = {("mate1", "random"): WON, ("greedy", "mate1"): WON, ("ab1", "greedy"): WON}


def choice(results: Results, widest: str = "net", names: tuple[str, ...] = NAMES) -> tuple[str, str]:
    return choose_pairing(results, names, ANCHORS, widest, pairs=10)


def test_each_anchor_first_meets_the_one_below_it() -> None:
    results: dict[tuple[str, str], tuple[int, ...]] = {}
    met = []
    for _ in range(3):
        pairing = choice(results)
        met.append(pairing)
        results[pairing] = WON
    assert met == [("mate1", "random"), ("greedy", "mate1"), ("ab1", "greedy")]


def test_a_pairing_without_games_does_not_count_as_met() -> None:
    assert choice({("mate1", "random"): (0, 0, 0, 0, 0)}) == ("mate1", "random")


def test_a_new_player_meets_the_anchor_in_the_middle() -> None:
    assert choice(CHAIN) == ("net", "greedy")


def test_a_player_that_wins_meets_a_stronger_one_next_and_one_that_loses_a_weaker_one() -> None:
    assert choice({**CHAIN, ("net", "greedy"): (0, 0, 0, 0, 10)}) == ("net", "ab1")
    _, opponent = choice({**CHAIN, ("net", "greedy"): (10, 0, 0, 0, 0)})
    assert opponent in ("mate1", "random")


@pytest.mark.parametrize("anchor", ["mate1", "greedy", "ab1"])
def test_a_player_as_strong_as_a_well_known_anchor_goes_on_with_it(anchor: str) -> None:
    well_known = {pairing: tuple(1000 * count for count in WON) for pairing in CHAIN}
    assert choice({**well_known, ("net", anchor): EVEN}) == ("net", anchor)


def test_games_go_to_the_anchors_where_those_are_what_is_least_known() -> None:
    """The player is known to equal ab1 exactly; what is not known is how far greedy lies above mate1."""
    thousandfold = tuple(1000 * count for count in EVEN)
    well_known = tuple(1000 * count for count in WON)
    results = {
        ("mate1", "random"): well_known,
        ("greedy", "mate1"): (0, 0, 1, 0, 3),
        ("ab1", "greedy"): well_known,
        ("net", "ab1"): thousandfold,
    }
    assert set(choice(results)) == {"greedy", "mate1"}


def test_a_pairing_that_one_player_always_wins_is_not_chosen_for_ever() -> None:
    """The stronger of two wins every game here, so no rating ever gets an upper bound."""
    order = ["random", "mate1", "greedy", "net", "ab1"]
    results: dict[tuple[str, str], tuple[int, ...]] = {}
    chosen = []
    for _ in range(16):
        stronger, weaker = sorted(choice(results), key=order.index, reverse=True)
        chosen.append((stronger, weaker))
        results[stronger, weaker] = (0, 0, 0, 0, 10 * chosen.count((stronger, weaker)))
    assert max(map(chosen.count, chosen)) <= 4


def test_players_of_the_registry_that_do_not_climb_are_not_chosen() -> None:
    results = {**CHAIN, ("net", "greedy"): EVEN, ("other", "net"): EVEN}
    assert "other" not in choice(results)


def test_allocated_games_narrow_the_interval_faster_than_games_against_everybody() -> None:
    """The same number of games, at their expected results, once as chosen and once spread evenly."""
    strengths = {"random": 0.0, "mate1": 300.0, "greedy": 600.0, "ab1": 900.0, "net": 700.0}

    def expected(first: str, second: str, pairs: int) -> tuple[float, ...]:
        score = 1 / (1 + 10 ** ((strengths[second] - strengths[first]) / 400))
        return tuple(pairs * chance for chance in ((1 - score) ** 2, 0, 2 * score * (1 - score), 0, score**2))

    chosen: dict[tuple[str, str], tuple[float, ...]] = {}
    for _ in range(16):
        pairing = choice(chosen)
        before = chosen.get(pairing, (0.0,) * 5)
        chosen[pairing] = tuple(a + b for a, b in zip(before, expected(*pairing, 10), strict=True))
    spread = {("net", anchor): expected("net", anchor, 28) for anchor in ANCHORS}
    spread |= {pairing: expected(*pairing, 16) for pairing in CHAIN}
    assert sum(map(sum, spread.values())) >= sum(map(sum, chosen.values()))
    widths = []
    for results in (chosen, spread):
        widths += [rating.width for rating in fit_ratings(results, "random") if rating.name == "net"]
    assert widths[0] < widths[1]
