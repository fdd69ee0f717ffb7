"""Every rival that is installed here does the work it claims to do."""

import pytest

from keisei.bench.keisei_engine import Keisei
from keisei.bench.measurement import Budget, Contestant, Workload
from keisei.bench.rivals import RIVALS

BRIEF = Budget(seconds=0.05, perft_depth=3)
PERFT_3 = 25_470
EVERYBODY = (Keisei(), *RIVALS)
#: Hundreds of megabytes each: `make soak` measures those that somebody has installed.
LARGE = ("pgx (CPU, all cores)", "EnvPool", "open_spiel")
CLAIMS = [
    pytest.param(
        contestant,
        workload,
        id=f"{contestant.name}-{workload}",
        marks=[pytest.mark.soak] if contestant.name in LARGE else [],
    )
    for contestant in EVERYBODY
    for workload in contestant.workloads()
]


def installed(contestant: Contestant) -> Contestant:
    if (hint := contestant.available()) is not None:
        pytest.skip(f"{contestant.name} is not installed: {hint}")
    return contestant


@pytest.mark.parametrize(("contestant", "workload"), CLAIMS)
def test_a_claimed_workload_can_be_measured(contestant: Contestant, workload: Workload) -> None:
    measurement = installed(contestant).workloads()[workload](BRIEF)
    assert measurement.amount > 0
    assert measurement.seconds >= BRIEF.seconds
    if workload is Workload.PERFT:
        assert measurement.amount % PERFT_3 == 0


def test_every_rival_tells_how_to_install_it_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    for rival in RIVALS:
        hint = rival.available()
        assert hint is not None
        assert "install" in hint


def test_rivals_have_different_names() -> None:
    names = [contestant.name for contestant in EVERYBODY]
    assert len(set(names)) == len(names)
