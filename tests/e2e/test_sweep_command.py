"""A sweep as people use it: interrupted in the middle of a trial, and gone on with."""

import signal
from pathlib import Path

import yaml
from process_watch import wait_until
from tiny_runs import ROWS, TINY

from keisei.record.journal_reader import JournalReader

UPDATES = 12


def has_learned(run: Path) -> bool:
    return (run / "checkpoints" / "update-00000001").is_dir()


def test_ctrl_c_interrupts_a_trial_and_the_same_command_goes_on_with_it(
    start_keisei, keisei, tmp_path: Path
) -> None:
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in TINY.items()}
    del settings["record.console"]
    settings |= {
        "evaluation.opponents": ["random"],
        "evaluation.games": 2,
        "training.total_plies": 100_000 * ROWS,
        "training.keep_every": 1,
    }
    plan = {"trials": 1, "settings": settings, "search": {"training.gamma": {"low": 0.9, "high": 1.0}}}
    (tmp_path / "gamma.yaml").write_text(yaml.safe_dump(plan))
    first = start_keisei("sweep", "gamma.yaml")
    run = tmp_path / "sweeps" / "gamma" / "runs" / "trial-0000"
    wait_until(lambda: has_learned(run), "the first update")
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert "trial 0: interrupted" in out
    assert "Go on with: keisei sweep gamma.yaml --folder sweeps/gamma" in out
    with JournalReader(run / "journal.sqlite") as journal:
        done = journal.series("loss")[-1].update

    # Shorter than planned, so that the test is.
    config = run / "config.yaml"
    text = config.read_text().replace(f"total_plies: {100_000 * ROWS}", f"total_plies: {(done + 2) * ROWS}")
    config.write_text(text)
    second = keisei("sweep", "gamma.yaml")
    assert second.returncode == 0, second.stderr
    assert "trial 0: score_low" in second.stdout
    assert "Best: trial 0" in second.stdout
    assert "keisei train --training.gamma 0.9" in second.stdout
    with JournalReader(run / "journal.sqlite") as journal:
        assert [point.update for point in journal.series("loss")] == list(range(1, done + 3))
