import pytest
from recorded_runs import worker_states

from keisei.web.worker_table import lag_shares, worker_rows


def test_every_worker_has_a_row_in_the_order_of_its_number() -> None:
    rows = worker_rows({"workers": {str(n): worker_states(1)["workers"]["1"] for n in (10, 2, 0)}})  # type: ignore[index]
    assert [row["worker"] for row in rows] == ["0", "2", "10"]


def test_a_row_says_state_speed_restarts_and_waiting() -> None:
    first, _, third, _ = worker_rows(worker_states(10))
    assert (first["state"], first["speed"], first["slots"]) == ("waiting for slot", "5,500", "80")
    assert (third["busy"], third["waiting"], third["restarts"]) == ("91%", "9%", "1")


def test_a_dead_worker_is_called_dead() -> None:
    state = worker_states(1)
    state["workers"]["0"]["alive"] = False  # type: ignore[index]
    assert worker_rows(state)[0]["state"] == "dead"


def test_lags_are_shares_in_order() -> None:
    assert lag_shares({"rows_by_lag": {"10": 1, "0": 3}}) == {0: 0.75, 10: 0.25}


@pytest.mark.parametrize("state", [{}, {"workers": None, "rows_by_lag": []}])
def test_a_run_without_workers_has_no_rows(state: dict[str, object]) -> None:
    assert worker_rows(state) == []
    assert lag_shares(state) == {}
