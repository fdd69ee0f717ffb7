"""Tests of keisei.config_loader: precedence, origins, overrides, errors, and writing a configuration."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from keisei.config_loader import (
    FORMER_KEYS,
    SECTIONS,
    SETTINGS,
    LoadedConfig,
    effective_yaml,
    environment_variable,
    load_config,
    parse_override_tokens,
)
from keisei.config_schema import AppConfig
from keisei.errors import ConfigError

SAMPLES: dict[str, st.SearchStrategy[Any]] = {
    "env.num_threads": st.integers(1, 64) | st.just("auto"),
    "env.impasse_rule": st.sampled_from(["csa27", "csa24", "try", "off"]),
    "env.starts.earlier": st.floats(0, 1e300),
    "model.architecture": st.sampled_from(["cnn", "resnet_gpool", "some.module:build"]),
    "training.seed": st.integers(0, 2**63 - 1),
    "training.learning_rate": st.floats(1e-300, 1),
    "training.gamma": st.floats(0, 1),
    "training.flip": st.booleans(),
    "training.device": st.sampled_from(["auto", "cpu", "cuda", "cuda:1"]),
    "training.opponents.share": st.floats(0, 1),
    "evaluation.opponents": st.sampled_from([(), ("random",), ("greedy", "random")]),
    "record.console": st.sampled_from(["auto", "rich", "plain", "off"]),
    "record.name": st.none() | st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,50}\Z"),
    "record.runs_folder": st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1
    ),
}
some_values = st.dictionaries(st.sampled_from(sorted(SAMPLES)), st.none()).flatmap(
    lambda chosen: st.fixed_dictionaries({key: SAMPLES[key] for key in chosen})
)


def write(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def value_of(loaded: LoadedConfig, key: str) -> object:
    value: object = loaded.config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def load_error(*arguments: Any, **keywords: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(*arguments, **keywords)
    return str(caught.value)


# --- precedence and origins ---


def test_without_sources_everything_is_default() -> None:
    loaded = load_config()
    assert loaded.config == AppConfig()
    assert set(loaded.origins) == set(SETTINGS)
    assert set(loaded.origins.values()) == {"default"}


def test_later_sources_win_and_origins_tell_which(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  seed: 10\n  epochs: 10\n  keep_last: 10\n")
    environ = {"KEISEI_TRAINING__EPOCHS": "20", "KEISEI_TRAINING__KEEP_LAST": "20", "PATH": "/bin"}
    loaded = load_config(path, {"training.keep_last": "30"}, environ)
    training = loaded.config.training
    assert (training.seed, training.epochs, training.keep_last) == (10, 20, 30)
    assert training.gamma == AppConfig().training.gamma
    assert loaded.origins["training.seed"] == f"{path}:2"
    assert loaded.origins["training.epochs"] == "environment KEISEI_TRAINING__EPOCHS"
    assert loaded.origins["training.keep_last"] == "command line"
    assert loaded.origins["training.gamma"] == "default"


def test_nested_sections_are_reached_from_everywhere(tmp_path: Path) -> None:
    path = write(tmp_path, "env: {starts: {standard: 2}}\n")
    loaded = load_config(path, {"training.opponents.share": "0.5"}, {"KEISEI_ENV__STARTS__HANDICAP": "3"})
    assert loaded.config.env.starts.standard == 2
    assert loaded.config.env.starts.handicap == 3
    assert loaded.config.training.opponents.share == 0.5


def test_override_may_be_a_typed_value() -> None:
    loaded = load_config(overrides={"training.seed": 7, "record.runs_folder": Path("elsewhere")})
    assert loaded.config.training.seed == 7
    assert loaded.config.record.runs_folder == Path("elsewhere")


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "training:\n", "training:\n  # seed: 3\nenv: {}\n"]
)
def test_empty_files_and_sections_mean_defaults(tmp_path: Path, text: str) -> None:
    assert load_config(write(tmp_path, text)).config == AppConfig()


def test_words_and_numbers_are_not_reinterpreted_by_yaml(tmp_path: Path) -> None:
    # In YAML 1.1, off is false, 1e-4 is text and 2187 is a number.
    path = write(
        tmp_path,
        "env: {impasse_rule: off, actions: 13527}\n"
        "training: {learning_rate: 1e-4, total_plies: 1_000_000}\n"
        "record: {console: off, name: 007}\n",
    )
    config = load_config(path).config
    assert (config.env.impasse_rule, config.env.actions) == ("off", "13527")
    assert (config.training.learning_rate, config.training.total_plies) == (1e-4, 1_000_000)
    assert (config.record.console, config.record.name) == ("off", "007")


def test_null_and_the_word_null_differ_in_a_file(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "record: {name: null}")).config.record.name is None
    assert load_config(write(tmp_path, "record: {name: 'null'}")).config.record.name == "null"


@given(some_values)
def test_a3_file_environment_and_command_line_read_values_alike(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    values.pop("record.runs_folder", None)  # arbitrary text needs quotes in YAML and none elsewhere
    texts = {key: yaml_text(value) for key, value in values.items()}
    path = write(tmp_path_factory.mktemp("a3"), "".join(nested_lines(texts)))
    by_file = outcome(path=path)
    assert by_file == outcome(overrides=texts)
    assert by_file == outcome(environ={environment_variable(key): text for key, text in texts.items()})
    assert by_file == outcome(
        overrides=parse_override_tokens([f"--{key}={text}" for key, text in texts.items()])
    )


def yaml_text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return "[" + ", ".join(value) + "]" if isinstance(value, tuple) else str(value)


def nested_lines(texts: dict[str, str]) -> list[str]:
    """One flow mapping per top-level section, nested as the keys are."""
    tree: dict[str, Any] = {}
    for key, text in texts.items():
        *sections, name = key.split(".")
        parent = tree
        for section in sections:
            parent = parent.setdefault(section, {})
        parent[name] = text

    def flow(node: Any) -> str:
        return (
            "{" + ", ".join(f"{k}: {flow(v)}" for k, v in node.items()) + "}"
            if isinstance(node, dict)
            else node
        )

    return [f"{section}: {flow(node)}\n" for section, node in tree.items()]


def outcome(**sources: Any) -> AppConfig | type[ConfigError]:
    try:
        return load_config(**sources).config
    except ConfigError:
        return ConfigError


# --- errors in files ---


def test_typo_in_a_file_gives_file_line_and_suggestion(tmp_path: Path) -> None:
    path = write(tmp_path, "env:\n  num_games: 8\ntraining:\n  learning_rat: 1e-4\n")
    assert load_error(path) == (
        f"unknown key 'training.learning_rat' in {path} line 4; did you mean 'training.learning_rate'?"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trainig:\n  seed: 3\n", "unknown key 'trainig' in {path} line 1; did you mean 'training'?"),
        ("num_games: 3\n", "unknown key 'num_games' in {path} line 1; did you mean 'env.num_games'?"),
        (
            "model:\n  num_games: 3\n",
            "unknown key 'model.num_games' in {path} line 2; did you mean 'env.num_games'?",
        ),
        (
            "seed: 3\n",
            "unknown key 'seed' in {path} line 1; did you mean 'training.seed' or 'evaluation.seed'?",
        ),
        ("xyzzy: 3\n", "unknown key 'xyzzy' in {path} line 1; 'keisei config' lists all keys"),
        ("<<: 3\n", "unknown key '<<' in {path} line 1; 'keisei config' lists all keys"),
        (
            "training:\n  seed: 1\n  epochs: 2\n  seed: 3\n",
            "key 'training.seed' in {path} line 4 stands already in line 2; keep one of them",
        ),
        ("env: {}\nenv: {}\n", "key 'env' in {path} line 2 stands already in line 1; keep one of them"),
        ("training: 3\n", "expected lines 'key: value' in the section 'training' in {path} line 1, got '3'"),
        ("- training\n", "expected lines 'key: value' in the file in {path} line 1, got a list"),
        ("? [a, b]\n: 3\n", "expected a plain key in {path} line 1, got a list"),
        (
            "training:\n  seed: {a: 1}\n",
            "'training.seed' in {path} line 2: expected integer ≥ 0, ≤ 9223372036854775807, got a mapping",
        ),
        (
            "evaluation:\n  opponents: [[random]]\n",
            "'evaluation.opponents' in {path} line 2: expected list of 'random', 'mate1', 'greedy', "
            "'ab1', 'ab2', 'ab3', 'ab4', 'ab5' or 'ab6', got a list",
        ),
        (
            "training:\n  learning_rate: fast\n",
            "'training.learning_rate' in {path} line 2: expected number > 0, ≤ 1, got 'fast'",
        ),
        (
            "training:\n  learning_rate: -1\n",
            "'training.learning_rate' in {path} line 2: expected number > 0, ≤ 1, got '-1'",
        ),
        (
            "env:\n  num_threads: many\n",
            "'env.num_threads' in {path} line 2: expected integer ≥ 1, ≤ 1024 or 'auto', got 'many'",
        ),
        (
            "evaluation:\n  opponents: [random, gredy]\n",
            "'evaluation.opponents' in {path} line 2: expected list of 'random', 'mate1', 'greedy', "
            "'ab1', 'ab2', 'ab3', 'ab4', 'ab5' or 'ab6', got 'gredy'",
        ),
        (
            "evaluation:\n  opponents: [random, random]\n",
            "'evaluation.opponents' in {path} line 2: expected each opponent at most once, "
            "but 'random' stands there again",
        ),
        (
            "training:\n  flip: maybe\n",
            "'training.flip' in {path} line 2: expected true or false, got 'maybe'",
        ),
        (
            "training:\n  epochs:\n",
            "'training.epochs' in {path} line 2: expected integer ≥ 1, ≤ 100, got None",
        ),
        (
            "training:\n  epochs: !!python/object/apply:os._exit [1]\n",
            "'training.epochs' in {path} line 2: expected integer ≥ 1, ≤ 100, got ['1']",
        ),
    ],
)
def test_wrong_file_is_explained(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    assert load_error(path) == message.format(path=path)


def test_yaml_syntax_error_gives_line_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  seed: [1, 2\n")
    assert f"no valid YAML in {path} line 3 column 1: " in load_error(path)


@pytest.mark.parametrize(
    "text",
    ["a: \x00", 'a: "\\UFFFFFFFF"', "[" * 5000, "a: *nothing", "a\n---\nb", "%YAML 9.9\n---\n", "\tx: 1"],
)
def test_damaged_yaml_is_a_clean_error(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    message = load_error(path)
    assert message.startswith(f"no valid YAML in {path}")
    assert "\n" not in message


def test_alias_that_contains_itself_is_a_clean_error(tmp_path: Path) -> None:
    assert "expected list" in load_error(write(tmp_path, "evaluation: {opponents: &a [*a]}"))
    assert "unknown key 'env.env'" in load_error(write(tmp_path, "&a env: &b {env: *b}"))


@pytest.mark.parametrize("what", ["missing", "folder", "binary"])
def test_unreadable_file_is_named(tmp_path: Path, what: str) -> None:
    path = tmp_path / "run.yaml"
    if what == "folder":
        path.mkdir()
    elif what == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    assert load_error(path).startswith(f"cannot read the configuration file {str(path)!r}: ")
    assert load_error("a\0b").startswith("cannot read the configuration file 'a\\x00b': ")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  sed: 1\n  epoch: 2\n")
    message = load_error(path, {"env.num_game": "3"})
    assert message.startswith("3 problems in the configuration:\n- unknown key 'training.sed'")
    assert "line 3; did you mean 'training.epochs'?" in message
    assert "- unknown key 'env.num_game' on the command line; did you mean 'env.num_games'?" in message


def test_contradiction_tells_where_each_value_came_from(tmp_path: Path) -> None:
    path = write(tmp_path, "env:\n  num_games: 4\n")
    message = load_error(path, {"training.minibatch_size": "1024"})
    assert message.startswith("training.minibatch_size 1024 exceeds the 128 rows of an update")
    assert message.endswith(
        f"(training.minibatch_size: command line, env.num_games: {path}:2, training.rollout_plies: default)"
    )


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
@example(b"training: {seed: 1}")
def test_any_file_loads_or_fails_cleanly(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "run.yaml"
    path.write_bytes(content)
    assert outcome(path=path) is ConfigError or isinstance(load_config(path), LoadedConfig)


# --- environment and command line ---


@pytest.mark.parametrize(
    ("variable", "suggestion"),
    [
        ("KEISEI_TRAINING__LEARNING_RAT", "KEISEI_TRAINING__LEARNING_RATE"),
        ("KEISEI_TRAINING_LEARNING_RATE", "KEISEI_TRAINING__LEARNING_RATE"),
        ("KEISEI_training__seed", "KEISEI_TRAINING__SEED"),
        ("KEISEI_NUM_GAMES", "KEISEI_ENV__NUM_GAMES"),
    ],
)
def test_typo_in_a_variable_suggests_the_variable(variable: str, suggestion: str) -> None:
    message = load_error(environ={variable: "3"})
    assert message == f"unknown key {variable!r} in the environment; did you mean {suggestion!r}?"


def test_wrong_value_in_a_variable_names_the_variable() -> None:
    message = load_error(environ={"KEISEI_ENV__NUM_GAMES": "x"})
    assert message == (
        "'env.num_games' in environment variable KEISEI_ENV__NUM_GAMES: "
        "expected integer ≥ 1, ≤ 65536, got 'x'"
    )


def test_wrong_value_on_the_command_line_says_so() -> None:
    message = load_error(overrides={"training.precision": "fp8"})
    assert message == "'training.precision' on the command line: expected 'fp32', 'bf16' or 'fp16', got 'fp8'"


def test_section_as_an_option_suggests_a_key() -> None:
    message = load_error(overrides={"training": "3"})
    assert (
        message == "'training' on the command line is a section; set one of its keys, such as 'training.seed'"
    )
    assert "no keys yet" in load_error(overrides={"web": "3"})


@pytest.mark.parametrize(
    "text", ["random,greedy", "random, greedy", "[random, greedy]", " ['random', greedy]"]
)
def test_list_is_comma_separated_or_in_brackets(text: str) -> None:
    config = load_config(overrides={"evaluation.opponents": text}).config
    assert config.evaluation.opponents == ("random", "greedy")


def test_empty_list_is_written_with_brackets() -> None:
    assert load_config(overrides={"evaluation.opponents": "[]"}).config.evaluation.opponents == ()
    assert "got None" in load_error(overrides={"evaluation.opponents": ""})


def test_broken_list_on_the_command_line_is_a_clean_error() -> None:
    message = load_error(overrides={"evaluation.opponents": "[random"})
    assert message.startswith("no valid YAML in 'evaluation.opponents' on the command line line 1 column ")


def test_tokens_become_overrides() -> None:
    tokens = [
        "--training.learning_rate",
        "1e-4",
        "--env.num_games=8",
        "--training.compile",
        "--training.flip",
        "no",
    ]
    assert parse_override_tokens([*tokens, "--record.name=a=b", "--training.profile"]) == {
        "training.learning_rate": "1e-4",
        "env.num_games": "8",
        "training.compile": "true",
        "training.flip": "no",
        "record.name": "a=b",
        "training.profile": "true",
    }
    assert parse_override_tokens([]) == {}


def test_value_may_begin_with_a_hyphen() -> None:
    assert parse_override_tokens(["--training.seed", "-1"]) == {"training.seed": "-1"}
    assert parse_override_tokens(["--record.name=--x"]) == {"record.name": "--x"}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (
            ["--training.learning_rat", "1"],
            "unknown key 'training.learning_rat' on the command line; did you mean",
        ),
        (["--num_games", "1"], "unknown key 'num_games' on the command line; did you mean 'env.num_games'?"),
        (["--training.learning-rate=1"], "did you mean 'training.learning_rate'?"),
        (["--training.flp"], "did you mean 'training.flip'?"),
        (["--training.seed"], "option '--training.seed' on the command line needs a value: integer"),
        (
            ["--training.seed", "--training.flip"],
            "option '--training.seed' on the command line needs a value",
        ),
        (["--training.seed=1", "--training.seed=2"], "option '--training.seed' stands twice"),
        (
            ["training.seed", "1"],
            "expected an option such as '--training.seed 7' on the command line, got 'tra",
        ),
        (["--"], "expected an option such as '--training.seed 7' on the command line, got '--'"),
        (["--=3"], "expected an option such as '--training.seed 7' on the command line, got '--=3'"),
        (["--training", "3"], "'training' on the command line is a section"),
    ],
)
def test_wrong_tokens_are_explained(tokens: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_override_tokens(tokens)
    assert message in str(caught.value)


@given(st.lists(st.text(max_size=30) | st.sampled_from([f"--{key}" for key in SETTINGS]), max_size=6))
def test_any_tokens_parse_or_fail_cleanly(tokens: list[str]) -> None:
    try:
        overrides = parse_override_tokens(tokens)
    except ConfigError:
        return
    assert set(overrides) <= set(SETTINGS)


@pytest.mark.parametrize("key", FORMER_KEYS)
def test_a_former_name_is_answered_with_what_stands_for_it_wherever_it_is_written(
    tmp_path: Path, key: str
) -> None:
    """Every name of the tables of the first documents: what is named instead is a setting or a section."""
    section, _, name = key.partition(".")
    path = write(tmp_path, f"{section}:\n  {name}: 1\n")
    attempts: list[Callable[[], object]] = [
        lambda: load_config(path),
        lambda: load_config(overrides={key: "1"}),
        lambda: parse_override_tokens([f"--{key}", "1"]),
        lambda: load_config(environ={environment_variable(key): "1"}),
    ]
    for attempt in attempts:
        with pytest.raises(ConfigError, match=re.escape(FORMER_KEYS[key])):
            attempt()
    named = re.findall(r"'([a-z_.]+)'", FORMER_KEYS[key])
    assert set(named) <= {*SETTINGS, *SECTIONS}
    assert key not in SETTINGS


def test_a_former_section_is_answered_as_a_whole(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  parallel:\n    enabled: true\n    num_workers: 4\n")
    with pytest.raises(ConfigError, match="'parallel' is a section of its own, beside 'training'"):
        load_config(path)
    with pytest.raises(ConfigError, match="'parallel' is a section of its own, beside 'training'"):
        parse_override_tokens(["--training.parallel.num_workers", "4"])


def test_environment_variables_are_unambiguous() -> None:
    assert environment_variable("training.learning_rate") == "KEISEI_TRAINING__LEARNING_RATE"
    assert len({environment_variable(key) for key in SETTINGS}) == len(SETTINGS)


def test_sections_and_settings_are_apart() -> None:
    assert SECTIONS.isdisjoint(SETTINGS)
    assert "env.starts" in SECTIONS


# --- writing ---


def config_with(values: dict[str, Any]) -> AppConfig:
    try:
        return load_config(overrides=values).config
    except ConfigError:
        assume(False)
        raise


@given(some_values)
def test_ser_effective_configuration_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    config = config_with(values)
    path = tmp_path_factory.mktemp("ser") / "config.yaml"
    path.write_text(effective_yaml(config), encoding="utf-8")
    assert load_config(path).config == config


@given(some_values)
def test_ser_effective_yaml_holds_what_pydantic_serialises(values: dict[str, Any]) -> None:
    config = config_with(values)
    assert yaml.safe_load(effective_yaml(config)) == config.model_dump(mode="json")


def test_notes_stand_beside_their_values_and_change_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "training:\n  seed: 5\n")
    loaded = load_config(path)
    text = effective_yaml(loaded.config, loaded.origins)
    assert f"\n  seed: 5  # {path}:2\n" in text
    assert "\n  opponents: [random, greedy]  # default\n" in text
    assert text.count("# ") == len(SETTINGS)
    assert load_config(write(tmp_path, text)).config == loaded.config


def test_every_setting_can_be_set_from_its_default_text() -> None:
    defaults = AppConfig()
    plain = load_config()
    for key in SETTINGS:
        value = value_of(plain, key)
        assert load_config(overrides={key: yaml_text(value)}).config == defaults, key


def test_error_is_raised_from_pydantics() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides={"training.seed": "x"})
    assert isinstance(caught.value.__cause__, ValidationError)
