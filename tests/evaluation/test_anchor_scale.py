"""The scale of fixed opponents: played once, ordered by strength, with a place for whoever met them."""

from pathlib import Path

import pytest

from keisei.evaluation.anchor_scale import AnchorScale
from keisei.evaluation.registry import Conditions, Registry

CONDITIONS = Conditions(max_plies=60, opening_plies=4)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry.json", CONDITIONS)


def scale_of(registry: Registry, *opponents: str) -> AnchorScale:
    return AnchorScale(opponents, registry, games=4, seed=1)


def test_the_zero_of_the_scale_is_always_there_and_the_weakest_come_first(registry: Registry) -> None:
    assert scale_of(registry, "ab1", "greedy").anchors == ("random", "greedy", "ab1")
    assert scale_of(registry, "random").anchors == ("random",)


def test_neighbours_meet_once_and_never_again(registry: Registry) -> None:
    scale_of(registry, "mate1", "greedy").settle()
    assert {pairing: sum(counts) for pairing, counts in registry.results.items()} == {
        ("mate1", "random"): 2,
        ("greedy", "mate1"): 2,
    }
    before = registry.path.read_bytes()
    scale_of(Registry(registry.path, CONDITIONS), "mate1", "greedy").settle()
    assert registry.path.read_bytes() == before


def test_a_stop_leaves_out_what_is_not_played(registry: Registry) -> None:
    scale_of(registry, "greedy").settle(should_stop=lambda: True)
    assert registry.results == {}


def test_what_anchors_played_among_each_other_tells_about_who_beat_the_stronger_one(
    registry: Registry,
) -> None:
    registry.add("greedy", "random", [0, 0, 1, 4, 15])
    even_with_greedy = {"greedy": [2, 4, 8, 4, 2]}
    rating = scale_of(registry, "greedy").place("policy:me", even_with_greedy)
    assert rating.name == "policy:me"
    assert rating.low > 0, "who is even with greedy is above random, without a game against it"
    unknown = scale_of(registry).place("policy:me", {"random": [2, 4, 8, 4, 2]})
    assert unknown.low < 0 < unknown.high


def test_results_of_other_players_in_a_shared_registry_do_not_count(registry: Registry) -> None:
    registry.add("greedy", "random", [0, 0, 1, 4, 15])
    alone = scale_of(registry, "greedy").place("policy:me", {"greedy": [2, 4, 8, 4, 2]})
    registry.add("policy:other", "greedy", [9, 0, 0, 0, 0])
    assert scale_of(registry, "greedy").place("policy:me", {"greedy": [2, 4, 8, 4, 2]}) == alone
