"""The card says what is known, in whole tables, and what the network loses to."""

import re

import pytest
from small_checkpoints import small_network

from keisei.commands.model_card import model_card
from keisei.commands.network_scores import NetworkScore
from keisei.core.checkpoint_format import Manifest
from keisei.core.compact_network import CompactNetwork
from keisei.evaluation.scores import Score

ARCHITECTURE = {"architecture": "resnet", "blocks": 2, "channels": 16, "num_actions": 2187}
FACTS = {"plies": "315,392", "commit": "8fe2b3a", "command": "keisei train --training.seed 7"}


@pytest.fixture(scope="module")
def network() -> CompactNetwork:
    return CompactNetwork.of(small_network(1), Manifest(7, 315_392, "2026-11-16", ARCHITECTURE, {}))


def score(player: str, opponent: str, wins: int, losses: int) -> NetworkScore:
    return NetworkScore(player, opponent, Score(wins, 0, losses), "+90 [+20, +180]")


def test_every_fact_and_score_is_in_a_whole_table(network: CompactNetwork) -> None:
    scores = [score("policy", "greedy", 90, 10), score("search", "policy", 80, 20)]
    card = model_card("shipped", network, FACTS, scores)
    assert card.startswith("# The network `shipped`\n")
    assert "| commit | 8fe2b3a |" in card
    assert "```sh\nkeisei train --training.seed 7\n```" in card
    assert "| policy | greedy | 90/0/10 | 90.0% | 82.6% to 94.5% | +90 [+20, +180] |" in card
    assert "| channels | 16 |" in card
    for table in re.findall(r"(?:^\|.*\n)+", card, re.M):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert all(len(line) <= 120 for line in card.splitlines())


def test_it_names_whom_the_policy_loses_to(network: CompactNetwork) -> None:
    lost = model_card("x", network, FACTS, [score("policy", "ab1", 1, 9), score("search", "policy", 1, 9)])
    assert "Its policy loses to `ab1` (10.0%)." in lost
    won = model_card("x", network, FACTS, [score("policy", "ab1", 9, 1)])
    assert "loses to" not in won
    assert "stronger ones were not tried" in won


def test_what_was_recorded_about_strength_stands_under_strength(network: CompactNetwork) -> None:
    facts = {**FACTS, "rating of policy": "+200 [+50, +300] Elo", "mates in 3 begun rightly": "120 of 200"}
    training, _, strength = model_card("x", network, facts, []).partition("## How strong it is")
    assert "| mates in 3 begun rightly | 120 of 200 |" in strength
    assert "| rating of policy | +200 [+50, +300] Elo |" in strength
    assert "Not measured." not in strength
    assert "mates in" not in training


def test_without_games_it_claims_nothing(network: CompactNetwork) -> None:
    card = model_card("x", network, {}, [])
    assert "Not measured." in card
    assert "%" not in card.partition("## How strong it is")[2]
    assert "To train another" not in card
