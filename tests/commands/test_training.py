"""`keisei config`: the effective settings and their origins. `keisei train` is tested end to end."""

from pathlib import Path

import pytest
from command_line import call_keisei

from keisei.config_loader import load_config
from keisei.config_schema import AppConfig

Capture = pytest.CaptureFixture[str]


def origins(text: str) -> set[str]:
    return {line.rpartition("# ")[2] for line in text.splitlines() if "  # " in line}


def test_config_prints_the_defaults_as_yaml_that_loads_again(capsys: Capture, tmp_path: Path) -> None:
    called = call_keisei(capsys, "config")
    assert called.code == 0
    file = tmp_path / "printed.yaml"
    file.write_text(called.out)
    assert load_config(file).config == AppConfig()
    assert origins(called.out) == {"default"}


def test_config_says_where_each_value_comes_from(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("training:\n  epochs: 3\n  seed: 9\n")
    monkeypatch.setenv("KEISEI_TRAINING__SEED", "10")
    called = call_keisei(capsys, "config", "--config", file, "--training.gamma", "0.5", "--training.compile")
    training = called.out.partition("\ntraining:\n")[2].partition("\nparallel:")[0].splitlines()
    for line in (
        f"  epochs: 3  # {file}:2",
        "  seed: 10  # environment KEISEI_TRAINING__SEED",
        "  gamma: 0.5  # command line",
        "  compile: true  # command line",
        "  clip_range: 0.2  # default",
    ):
        assert line in training


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--training.sede", "1"], ["'training.sede'", "did you mean 'training.seed'?"]),
        (["--training.seed", "-1"], ["training.seed", "'-1'"]),
        (["--training.seed", "1", "--training.seed", "2"], ["stands twice"]),
        (["seed=1"], ["seed=1"]),
        (["--config", "."], ["Is a directory"]),
    ],
)
def test_what_cannot_be_is_exit_code_two(capsys: Capture, arguments: list[str], words: list[str]) -> None:
    call_keisei(capsys, "config", *arguments).assert_refused(2, *words)


def test_a_typo_in_a_file_is_told_with_its_line(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("training:\n  epochs: 3\n  sede: 9\n")
    call_keisei(capsys, "config", "--config", file).assert_refused(2, f"{file} line 3", "'training.seed'")
