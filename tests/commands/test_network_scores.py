"""Scores of a network for its card."""

from small_checkpoints import small_network

from keisei.commands.network_scores import play_scores


def test_the_policy_meets_every_opponent_and_search_meets_the_policy() -> None:
    scores = play_scores(small_network(1), ["random", "ab1"], 6, "cpu", max_plies=14)
    assert [(entry.player, entry.opponent) for entry in scores] == [
        ("policy", "random"),
        ("policy", "ab1"),
        ("search", "policy"),
    ]
    assert all(entry.score.games == 6 and entry.elo for entry in scores)
    counts = {"wins": scores[0].score.wins, "draws": scores[0].score.draws, "losses": scores[0].score.losses}
    assert scores[0].as_json == {"player": "policy", "opponent": "random", **counts}


def test_too_few_pairs_give_no_elo() -> None:
    assert [entry.elo for entry in play_scores(small_network(1), ["random"], 2, "cpu", max_plies=8)] == [
        "",
        "",
    ]
