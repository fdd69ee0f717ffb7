"""Tests of keisei.config_docs and of the files in configs/."""

from pathlib import Path

import pytest
import yaml

from keisei.config_docs import configuration_markdown, default_yaml, generated_files, write_generated_files
from keisei.config_loader import SETTINGS, load_config
from keisei.config_schema import AppConfig, section_class, walk_settings
from keisei.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]
CONFIG_FILES = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("name", sorted(generated_files()))
def test_committed_file_is_up_to_date(name: str) -> None:
    committed = (ROOT / name).read_text(encoding="utf-8")
    assert committed == generated_files()[name], f"{name} is out of date: run `make docs`"


def test_default_yaml_equals_the_defaults_and_has_every_key() -> None:
    loaded = load_config(ROOT / "configs" / "default.yaml")
    assert loaded.config == AppConfig()
    assert [key for key in SETTINGS if loaded.origins[key] == "default"] == []


def test_default_yaml_is_plain_yaml_for_other_readers_too() -> None:
    assert yaml.safe_load(default_yaml()) == AppConfig().model_dump(mode="json")


def test_every_key_of_default_yaml_stands_under_its_description() -> None:
    lines = default_yaml().splitlines()
    for key, field in walk_settings():
        if section_class(field) is None:
            name = key.rpartition(".")[2]
            candidates = [number for number, line in enumerate(lines) if line.strip().startswith(f"{name}:")]
            above = ["\n".join(lines[max(0, number - 2) : number]) for number in candidates]
            assert any(field.description is not None and field.description in text for text in above), key


def test_smoke_run_takes_a_minute_and_saves_every_few_seconds() -> None:
    training = load_config(ROOT / "configs" / "smoke.yaml").config.training
    assert 0 < training.time_limit_seconds < 60
    assert 0 < training.checkpoint_interval_seconds <= 5
    assert training.device == "cpu"


@pytest.mark.parametrize("path", CONFIG_FILES, ids=lambda path: path.name)
def test_every_committed_configuration_loads(path: Path) -> None:
    assert isinstance(load_config(path).config, AppConfig)


def test_page_has_one_row_for_each_setting() -> None:
    rows = [line for line in configuration_markdown().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == _keys_by_section()
    assert {row.count(" | ") for row in rows} == {4}


def _keys_by_section() -> list[str]:
    """A section's own settings come before those of the sections inside it."""
    sections = [key for key, field in walk_settings() if section_class(field) is not None]
    return [key for section in sections for key in SETTINGS if key.rpartition(".")[0] == section]


def test_row_shows_type_default_bounds_and_description() -> None:
    page = configuration_markdown()
    description = AppConfig.model_fields["evaluation"].annotation.model_fields["interval_updates"].description  # type: ignore[union-attr]
    assert f"| `evaluation.interval_updates` | integer | `0` | ≥ 0 | {description} |" in page


def test_writing_creates_both_files_in_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    write_generated_files(tmp_path)
    assert {
        name: (tmp_path / name).read_text(encoding="utf-8") for name in generated_files()
    } == generated_files()


def test_writing_outside_a_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected the root of a Keisei checkout"):
        write_generated_files(tmp_path)
    assert list(tmp_path.iterdir()) == []
