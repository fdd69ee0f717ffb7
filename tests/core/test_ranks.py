"""Several processes learn as one would: two real ranks on the CPU, against one process that has all rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents import agent, are_equal, weights
from rank_processes import two_ranks
from rank_rows import GAMES_OF_RANK, PLIES, buffer_of_all, rank_buffer

from keisei.core.rank_place import RankPlace
from keisei.core.ranks import ALONE, joined_ranks
from keisei.errors import RankLostError

PROGRAM = Path(__file__).parent / "programs" / "two_ranks.py"
SIZE = 24
ROWS = sum(GAMES_OF_RANK) * PLIES
TOLERANCE = 1e-5

Outcomes = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What each of the two ranks wrote, by scenario."""
    return two_ranks(PROGRAM, tmp_path_factory).outcomes


def both(ranks: Outcomes, scenario: str, figure: str) -> list[float]:
    return [outcomes[scenario]["figures"][figure] for outcomes in ranks]


@pytest.mark.parametrize(
    "scenario",
    [
        "several_updates",
        "all_rows_at_once",
        "far_rows_on_one",
        "one_wants_to_stop",
        "few_rows_on_one",
        "no_rows_on_one",
        "not_finite_on_one",
    ],
)
def test_the_ranks_have_the_same_weights_and_figures_to_the_last_bit(ranks: Outcomes, scenario: str) -> None:
    one, other = (outcomes[scenario] for outcomes in ranks)
    assert are_equal(one["weights"], other["weights"])
    assert repr(one["figures"]) == repr(other["figures"])


def test_several_updates_have_changed_the_weights(ranks: Outcomes) -> None:
    assert both(ranks, "several_updates", "gradient_steps") == [2 * (min(GAMES_OF_RANK) * PLIES // SIZE)] * 2
    assert not are_equal(ranks[0]["several_updates"]["weights"], weights(agent()))


def test_advantages_are_normalised_over_the_rows_of_all(ranks: Outcomes) -> None:
    found = torch.cat([outcomes["all_rows_at_once"]["advantage"] for outcomes in ranks])
    np.testing.assert_allclose(found.numpy(), buffer_of_all().targets.advantage, atol=TOLERANCE)


def test_an_update_is_that_of_one_process_with_all_rows(ranks: Outcomes) -> None:
    alone = agent(epochs=3, rollout_plies=ROWS, minibatch_size=ROWS)
    expected = alone.learn(buffer_of_all(), 0.0)
    together = ranks[0]["all_rows_at_once"]
    assert together["figures"] == pytest.approx(expected, rel=1e-4, abs=TOLERANCE)
    for name, tensor in weights(alone).items():
        torch.testing.assert_close(together["weights"][name], tensor, rtol=0, atol=TOLERANCE, msg=name)
    assert not are_equal(weights(agent()), weights(alone))


def test_each_for_itself_would_learn_something_else(ranks: Outcomes) -> None:
    """The shares do matter: rows of one rank alone lead elsewhere by far more than the tolerance."""
    buffer = rank_buffer(0)
    alone = agent(epochs=3, minibatch_size=len(buffer))
    alone.learn(buffer, 0.0)
    together = ranks[0]["all_rows_at_once"]["weights"]
    assert max(float((together[name] - t).abs().max()) for name, t in weights(alone).items()) > 50 * TOLERANCE


def test_all_stop_early_when_the_rows_of_one_are_far(ranks: Outcomes) -> None:
    assert both(ranks, "far_rows_on_one", "stopped_early") == [1, 1]
    assert both(ranks, "far_rows_on_one", "gradient_steps") == [1, 1]
    near = agent(epochs=3, minibatch_size=SIZE, learning_rate=1e-6, target_kl=1e-4)
    assert near.learn(rank_buffer(0, player=near.inference), 0.0)["stopped_early"] == 0, "alone it goes on"


def test_all_stop_when_one_is_asked_to(ranks: Outcomes) -> None:
    assert both(ranks, "one_wants_to_stop", "stopped_early") == [1, 1]
    assert both(ranks, "one_wants_to_stop", "gradient_steps") == [2, 2]


def test_a_rank_with_few_rows_holds_nobody_up(ranks: Outcomes) -> None:
    assert both(ranks, "few_rows_on_one", "gradient_steps") == [2, 2], "one step an epoch"
    assert both(ranks, "no_rows_on_one", "gradient_steps") == [0, 0]


def test_a_step_that_is_not_finite_on_one_is_skipped_by_all(ranks: Outcomes) -> None:
    assert both(ranks, "not_finite_on_one", "skipped_steps") == [1, 1]
    assert are_equal(ranks[0]["not_finite_on_one"]["weights"], weights(agent()))


def test_ranks_agree_on_words_and_numbers(ranks: Outcomes) -> None:
    for outcomes in ranks:
        assert outcomes["words"] == {
            "told": "by 0",
            "gathered": ["by 0", "by 1"],
            "any": [False, True, True],
            "least": 3,
        }


def test_a_rank_that_falls_silent_is_an_error_for_the_other_and_no_endless_wait(ranks: Outcomes) -> None:
    assert "one_falls_silent" not in ranks[1]
    error = ranks[0]["one_falls_silent"]["error"]
    assert error.startswith("rank 0 of 2 has lost another rank (")
    assert "--resume auto" in error


def test_a_rank_that_never_comes_is_an_error(tmp_path: Path) -> None:
    lonely = joined_ranks(
        RankPlace(0, 2, 0, 2), timeout_seconds=0.5, meeting_point=f"file://{tmp_path / 'meeting'}"
    )
    with pytest.raises(RankLostError, match="rank 0 of 2"):
        lonely.__enter__()
    assert not torch.distributed.is_initialized()


def test_one_process_alone_agrees_with_itself_without_a_group() -> None:
    with joined_ranks(RankPlace()) as ranks:
        assert ranks == ALONE
        assert not torch.distributed.is_initialized()
        assert ranks.told("a") == "a"
        assert ranks.gathered("a") == ["a"]
        assert (ranks.any(True), ranks.any(False), ranks.least(7)) == (True, False, 7)
        numbers = torch.ones(3)
        assert ranks.add_up(numbers) is numbers
