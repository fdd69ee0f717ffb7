"""Tests of keisei.config_schema: what a configuration may be."""

import subprocess
import sys

import pytest
from pydantic import BaseModel, ValidationError

from keisei.config_schema import AppConfig, EnvConfig, Section, section_class, value_words, walk_settings

SETTINGS = {key: field for key, field in walk_settings() if section_class(field) is None}


def test_sections_are_those_of_the_design() -> None:
    assert list(AppConfig.model_fields) == [
        "env",
        "model",
        "training",
        "parallel",
        "evaluation",
        "record",
        "web",
    ]


def test_every_field_is_described_in_a_sentence() -> None:
    for key, field in walk_settings():
        description = field.description or ""
        assert len(description) > 10, key
        assert description.endswith("."), key


def test_walk_settings_yields_sections_before_their_settings() -> None:
    keys = [key for key, _ in walk_settings()]
    assert keys.index("env") < keys.index("env.starts") < keys.index("env.starts.sfens")
    assert len(keys) == len(set(keys))


def test_durations_carry_their_unit() -> None:
    bare = {key for key in SETTINGS if key.endswith(("timeout", "_time", "_limit", "_interval"))}
    # These two keep the names that the parallel package has been documented with; they count updates.
    assert bare == {"parallel.model_sync_interval", "parallel.worker_reset_interval"}


def test_configuration_is_immutable_and_hashable() -> None:
    config = AppConfig()
    with pytest.raises(ValidationError, match="frozen"):
        config.training.seed = 2
    assert hash(config) == hash(AppConfig())


@pytest.mark.parametrize(
    "model", [AppConfig, *(section_class(f) for _, f in walk_settings() if section_class(f))]
)
def test_unknown_keys_are_refused_in_every_section(model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError, match="surprise"):
        model.model_validate({"surprise": 1})


def test_infinite_and_undefined_numbers_are_refused() -> None:
    for value in ("inf", "nan", "-inf"):
        with pytest.raises(ValidationError, match="finite"):
            AppConfig.model_validate({"training": {"time_limit_seconds": value}})


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("env", "num_games", 0),
        ("env", "num_threads", 0),
        ("env", "num_threads", "all"),
        ("env", "actions", "2188"),
        ("model", "architecture", "my package"),
        ("model", "architecture", "package.module"),
        ("model", "architecture", "package.module:"),
        ("model", "architecture", "resnet\n"),
        ("training", "device", "cuda:"),
        ("training", "device", "gpu"),
        ("training", "seed", -1),
        ("training", "seed", 2**63),
        ("training", "learning_rate", 0.0),
        ("training", "gamma", 1.01),
        ("training", "clip_range", 1.0),
        ("training", "weight_averaging", 1.0),
        ("training", "keep_last", 0),
        ("parallel", "num_workers", -1),
        ("evaluation", "games", 101),
        ("evaluation", "opponents", ("random", "random")),
        ("evaluation", "opponents", ("stockfish",)),
        ("record", "name", "../escape"),
        ("record", "name", ".hidden"),
        ("record", "name", "-option"),
        ("record", "name", ""),
        ("record", "name", "a" * 101),
        ("record", "log_level", "loud"),
        ("record", "runs_folder", "a\nb"),
        ("record", "runs_folder", "a\u2028b"),
    ],
)
def test_value_out_of_bounds_is_refused_at_its_key(section: str, name: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        AppConfig.model_validate({section: {name: value}})
    assert {error["loc"][:2] for error in caught.value.errors()} == {(section, name)}


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("env", "num_threads", 3),
        ("model", "architecture", "my_package.networks:build"),
        ("model", "architecture", "registered_elsewhere"),
        ("training", "device", "cuda:12"),
        ("record", "name", "run-1_a.b"),
        ("evaluation", "opponents", ()),
    ],
)
def test_unusual_but_valid_value_is_kept(section: str, name: str, value: object) -> None:
    config = AppConfig.model_validate({section: {name: value}})
    assert getattr(getattr(config, section), name) == value


NO_STARTS = dict.fromkeys(("standard", "handicap", "random_prefix", "earlier", "sfens"), 0)


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ({"env": {"starts": NO_STARTS}}, ["env.starts.standard", "env.starts.sfens"]),
        ({"env": {"starts": {"sfens": 1}}}, ["env.starts.sfens", "env.starts.sfen_file"]),
        ({"env": {"starts": {"sfen_file": "a.txt"}}}, ["env.starts.sfens", "env.starts.sfen_file"]),
        ({"model": {"channels": 8, "se_ratio": 9}}, ["model.se_ratio", "model.channels"]),
        (
            {"training": {"learning_rate_schedule": "exponential", "learning_rate_end": 0}},
            ["training.learning_rate_end", "training.learning_rate_schedule"],
        ),
        (
            {"training": {"entropy_weight_schedule": "exponential", "entropy_weight": 0}},
            ["training.entropy_weight", "training.entropy_weight_schedule"],
        ),
        ({"training": {"precision": "fp16", "device": "cpu"}}, ["training.precision", "training.device"]),
        (
            {"training": {"guard": {"patience_updates": 0, "max_rollbacks": 1}}},
            ["training.guard.max_rollbacks", "training.guard.patience_updates"],
        ),
        (
            {"training": {"opponents": {"share": 0.7, "anchor_share": 0.4, "anchors": ["greedy"]}}},
            ["training.opponents.share", "training.opponents.anchor_share"],
        ),
        (
            {"training": {"opponents": {"anchor_share": 0.4}}},
            ["training.opponents.anchor_share", "training.opponents.anchors"],
        ),
        (
            {"training": {"opponents": {"anchors": ["ab1"]}}},
            ["training.opponents.anchor_share", "training.opponents.anchors"],
        ),
        ({"training": {"minibatch_size": 4097}}, ["training.minibatch_size", "env.num_games"]),
        ({"training": {"total_plies": 4095}}, ["training.total_plies", "training.rollout_plies"]),
    ],
)
def test_contradiction_is_refused_and_names_its_settings(values: dict[str, object], keys: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        AppConfig.model_validate(values)
    (error,) = caught.value.errors()
    assert error["type"] == "contradiction"
    for key in keys:
        assert key in error["ctx"]["keys"]
        assert key in error["msg"]


def test_limits_of_contradictions_are_allowed() -> None:
    config = AppConfig.model_validate({"training": {"minibatch_size": 4096, "total_plies": 4096}})
    assert config.rollout_rows == 4096
    assert AppConfig.model_validate({"model": {"channels": 8, "se_ratio": 8}})
    assert AppConfig.model_validate({"env": {"starts": {"sfens": 1, "sfen_file": "starts.sfen"}}})


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("training.learning_rate", "number > 0, ≤ 1"),
        ("env.num_threads", "integer ≥ 1, ≤ 1024 or 'auto'"),
        (
            "evaluation.opponents",
            "list of 'random', 'mate1', 'greedy', 'ab1', 'ab2', 'ab3', 'ab4', 'ab5' or 'ab6'",
        ),
        ("evaluation.games", "integer ≥ 2, multiple of 2"),
        ("training.flip", "true or false"),
        ("env.starts.sfen_file", "path or null"),
        ("training.device", "'auto', 'cpu', 'cuda' or 'cuda:N'"),
    ],
)
def test_value_words_say_what_a_setting_may_be(key: str, words: str) -> None:
    assert str(value_words(key)) == words


def test_value_words_of_no_section_is_an_error() -> None:
    with pytest.raises(KeyError, match="seed"):
        value_words("training.seed.nothing")


def test_every_setting_has_value_words() -> None:
    assert all(value_words(key).type for key in SETTINGS)


def test_section_class_tells_sections_from_values() -> None:
    assert section_class(AppConfig.model_fields["env"]) is EnvConfig
    assert section_class(EnvConfig.model_fields["num_games"]) is None
    assert issubclass(AppConfig, Section)


def test_importing_the_schema_does_not_import_torch() -> None:
    code = "import sys, keisei.config_loader; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
