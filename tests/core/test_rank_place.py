"""Where a process stands, by the variables of torchrun."""

import pytest

from keisei.core.rank_place import RankPlace
from keisei.errors import ConfigError

SECOND = {"WORLD_SIZE": "8", "RANK": "5", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}


@pytest.mark.parametrize(
    "environment", [{}, {"WORLD_SIZE": "1"}, {"WORLD_SIZE": "1", "RANK": "0"}, {"RANK": "3"}]
)
def test_one_process_is_alone_and_the_first(environment: dict[str, str]) -> None:
    place = RankPlace.of(environment)
    assert place == RankPlace()
    assert (place.is_alone, place.is_first) == (True, True)


def test_one_of_several() -> None:
    place = RankPlace.of(SECOND)
    assert (place.rank, place.count, place.local_rank, place.local_count) == (5, 8, 1, 4)
    assert (place.is_alone, place.is_first) == (False, False)
    assert RankPlace.of({**SECOND, "RANK": "0"}).is_first


@pytest.mark.parametrize(("name", "value"), [("WORLD_SIZE", "two"), ("RANK", ""), ("LOCAL_RANK", "-1")])
def test_what_is_no_number_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}, got '{value}'.*torchrun"):
        RankPlace.of({**SECOND, name: value})


def test_several_processes_need_their_numbers() -> None:
    with pytest.raises(ConfigError, match="RANK, got None"):
        RankPlace.of({"WORLD_SIZE": "2"})
