"""From a file, the environment and the command line to one ``AppConfig``, knowing where each value came from.

Precedence: defaults < YAML file < environment < command line. All three sources deliver text, and pydantic
alone turns text into typed values, so a value means the same wherever it stands: ``1e-4`` is a number and
``off`` is a word, also in a file (in YAML 1.1 they would be text and false).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import ValidationError

from keisei.config_schema import AppConfig, section_class, value_words, walk_settings
from keisei.errors import ConfigError

ENVIRONMENT_PREFIX = "KEISEI_"

_FIELDS = dict(walk_settings())
SECTIONS = frozenset(key for key, field in _FIELDS.items() if section_class(field) is not None)
SETTINGS = tuple(key for key in _FIELDS if key not in SECTIONS)

_NO_COMPRESSION = "weights travel through shared memory, where compression only costs time (docs/parallel.md)"
_SLOT_SIZE = "use 'training.rollout_plies' × 'parallel.games_per_worker': a slot is one rollout"

#: Names that earlier documents of Keisei used, and what stands for them now.
FORMER_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "training.parallel": "'parallel' is a section of its own, beside 'training'",
        "parallel.enabled": "use 'parallel.num_workers' (0 = no workers)",
        "parallel.episodes_per_worker": "use 'parallel.games_per_worker'",
        "parallel.batch_size": _SLOT_SIZE,
        "parallel.experience_batch_size": _SLOT_SIZE,
        "parallel.max_game_length": "use 'env.max_plies'",
        "parallel.timeout": "use 'parallel.timeout_seconds'",
        "parallel.worker_timeout": "use 'parallel.timeout_seconds'",
        "parallel.queue_maxsize": "use 'parallel.queue_size'",
        "parallel.max_queue_size": "use 'parallel.queue_size'",
        "parallel.use_shared_memory": "use 'parallel.shared_memory'",
        "parallel.worker_seed_offset": "use 'parallel.seed_offset'",
        "parallel.compression": _NO_COMPRESSION,
        "parallel.compression_enabled": _NO_COMPRESSION,
    }
)

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NULL_TAG = "tag:yaml.org,2002:null"
_TEXT_TAG = "tag:yaml.org,2002:str"
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration and, for every setting by its dotted key, where its value came from."""

    config: AppConfig
    origins: Mapping[str, str]


@dataclass(frozen=True)
class _Setting:
    """A value as one source gave it, not yet checked."""

    key: str
    value: object
    origin: str  # for the list of origins: "configs/run.yaml:12"
    place: str  # for an error: "in configs/run.yaml line 12"


def load_config(
    path: Path | str | None = None,
    overrides: Mapping[str, object] = _NOTHING,
    environ: Mapping[str, str] = _NOTHING,
) -> LoadedConfig:
    """Defaults, then the file, then ``KEISEI_…`` variables of ``environ``, then ``overrides`` by dotted key.

    Raises ConfigError, which lists all unknown keys or, where there are none, all wrong values.
    """
    settings = [
        *(_file_settings(Path(path)) if path is not None else ()),
        *_environment_settings(environ),
        *_override_settings(overrides),
    ]
    problems = [_unknown_key(setting) for setting in settings if setting.key not in SETTINGS]
    if problems:
        raise _config_error(problems)
    chosen = {setting.key: setting for setting in settings}
    origins = {key: _origin(key, chosen) for key in SETTINGS}
    return LoadedConfig(_validated(chosen), MappingProxyType(origins))


def overridden(config: AppConfig, overrides: Mapping[str, object], place: str) -> AppConfig:
    """The configuration with some settings changed; an error names ``place``."""
    current = {key: _Setting(key, _value_of(config, key), "", place) for key in SETTINGS}
    changes = [_Setting(key, value, "", place) for key, value in overrides.items()]
    problems = [_unknown_key(setting) for setting in changes if setting.key not in SETTINGS]
    if problems:
        raise _config_error(problems)
    return _validated({**current, **{setting.key: setting for setting in changes}})


def _value_of(config: AppConfig, key: str) -> object:
    value: object = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def parse_override_tokens(tokens: Sequence[str]) -> dict[str, str]:
    """``--key value``, ``--key=value`` and ``--switch`` (for true) as a mapping for ``load_config``.

    A value may begin with one hyphen (``-1``) but not with two; write ``--key=--value`` for that.
    """
    overrides: dict[str, str] = {}
    remaining = list(tokens)
    while remaining:
        token = remaining.pop(0)
        key, equals, value = token.removeprefix("--").partition("=")
        if not token.startswith("--") or not key:
            raise ConfigError(
                f"expected an option such as '--training.seed 7' on the command line, got {token!r}"
            )
        if key not in SETTINGS:
            raise ConfigError(_unknown_key(_command_line_setting(key, value)))
        if key in overrides:
            raise ConfigError(f"option '--{key}' stands twice on the command line; keep one of them")
        if not equals:
            value = _separate_value(key, remaining)
        overrides[key] = value
    return overrides


def effective_yaml(config: AppConfig, notes: Mapping[str, str] = _NOTHING) -> str:
    """All settings as YAML that loads to an equal configuration; ``notes`` (such as origins) stand beside."""
    text = yaml.dump(
        config.model_dump(mode="json"),
        Dumper=_OneLineListDumper,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )
    lines = text.removesuffix("\n").split("\n")
    for key, line in key_lines(text).items():
        if key in notes:
            lines[line - 1] += f"  # {notes[key]}"
    return "\n".join(lines) + "\n"


def key_lines(text: str) -> dict[str, int]:
    """The line, from 1, of each dotted key in YAML made by ``effective_yaml``."""

    def walk(node: yaml.Node | None, prefix: str) -> Iterator[tuple[str, int]]:
        if isinstance(node, yaml.MappingNode):
            for key_node, value_node in node.value:
                key = prefix + key_node.value
                yield key, _line(key_node)
                yield from walk(value_node, f"{key}.")

    return dict(walk(_compose(text, "effective configuration"), ""))


def environment_variable(key: str) -> str:
    """The variable that sets ``key``: ``training.seed`` → ``KEISEI_TRAINING__SEED``."""
    return ENVIRONMENT_PREFIX + key.replace(".", "__").upper()


class _OneLineListDumper(yaml.SafeDumper):
    """Writes ``[a, b]``, so that each setting has one line."""


_OneLineListDumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)


class _TextLoader(yaml.BaseLoader):
    """Leaves every plain scalar as text, except null."""


_TextLoader.add_implicit_resolver(_NULL_TAG, _NULL, ["~", "n", "N", ""])


def _file_settings(path: Path) -> Iterator[_Setting]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a ValueError: no UTF-8, or a null character in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"cannot read the configuration file {str(path)!r}: {reason}; check the path"
        ) from error
    node = _compose(text, str(path))
    if node is not None and not _is_null(node):
        yield from _mapping_settings(node, "", path)


def _mapping_settings(node: yaml.Node, prefix: str, path: Path) -> Iterator[_Setting]:
    if not isinstance(node, yaml.MappingNode):
        what = f"section {prefix[:-1]!r}" if prefix else "file"
        raise ConfigError(
            f"expected lines 'key: value' in the {what} in {path} line {_line(node)}, got {_shown(node)}"
        )
    first_line: dict[str, int] = {}
    for key_node, value_node in node.value:
        line = _line(key_node)
        place = f"in {path} line {line}"
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigError(f"expected a plain key {place}, got {_shown(key_node)}")
        key = prefix + key_node.value
        if key in first_line:
            raise ConfigError(
                f"key {key!r} {place} stands already in line {first_line[key]}; keep one of them"
            )
        first_line[key] = line
        if key not in SECTIONS:
            value = _plain_value(key, value_node, place) if key in SETTINGS else None
            yield _Setting(key, value, f"{path}:{line}", place)
        elif not _is_null(value_node):  # a section all of whose lines are commented out is empty, not wrong
            yield from _mapping_settings(value_node, f"{key}.", path)


def _environment_settings(environ: Mapping[str, str]) -> Iterator[_Setting]:
    keys = {environment_variable(key): key for key in SETTINGS}
    for variable in sorted(environ):
        if variable.startswith(ENVIRONMENT_PREFIX):
            key = keys.get(variable, variable)
            place = f"in environment variable {variable}" if variable in keys else "in the environment"
            yield _Setting(key, _text_value(key, environ[variable], place), f"environment {variable}", place)


def _override_settings(overrides: Mapping[str, object]) -> Iterator[_Setting]:
    for key, value in overrides.items():
        yield _command_line_setting(key, value)


def _command_line_setting(key: str, value: object) -> _Setting:
    place = "on the command line"
    return _Setting(
        key, _text_value(key, value, place) if isinstance(value, str) else value, "command line", place
    )


def _separate_value(key: str, remaining: list[str]) -> str:
    """The value in the token after ``--key``; a switch needs none."""
    if remaining and not remaining[0].startswith("--"):
        return remaining.pop(0)
    if _FIELDS[key].annotation is bool:
        return "true"
    raise ConfigError(f"option '--{key}' on the command line needs a value: {value_words(key)}")


def _text_value(key: str, text: str, place: str) -> object:
    """One word of text, or a list in brackets as in a file."""
    if _is_list(key) and text.lstrip().startswith("["):
        node = _compose(text, f"{key!r} {place}")
    else:
        node = yaml.ScalarNode(_NULL_TAG if _NULL.match(text) else _TEXT_TAG, text)
    return _plain_value(key, node, place)


def _plain_value(key: str, node: yaml.Node | None, place: str) -> object:
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return [item.value for item in node.value]
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"{key!r} {place}: expected {value_words(key)}, got {_shown(node)}")
    if _is_null(node):
        return None
    return [item.strip() for item in node.value.split(",")] if _is_list(key) else node.value


def _compose(text: str, name: str) -> yaml.Node | None:
    """The node tree of YAML text. Nothing is constructed, so tags such as ``!!python/…`` have no effect."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_TextLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
        raise ConfigError(f"no valid YAML in {name}{where}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # Besides its own errors, PyYAML lets int() and chr() fail on odd directives and escapes.
        raise ConfigError(f"no valid YAML in {name}: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigError(f"no valid YAML in {name}: nested too deeply") from error
    return node


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _is_null(node: yaml.Node) -> bool:
    return node.tag == _NULL_TAG


def _is_list(key: str) -> bool:
    return key in _FIELDS and getattr(_FIELDS[key].annotation, "__origin__", None) is tuple


def _shown(node: yaml.Node | None) -> str:
    if isinstance(node, yaml.ScalarNode):
        return repr(node.value)
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def _validated(settings: Mapping[str, _Setting]) -> AppConfig:
    values: dict[str, Any] = {}
    for key, setting in settings.items():
        *sections, name = key.split(".")
        parent = values
        for section in sections:
            parent = parent.setdefault(section, {})
        parent[name] = setting.value
    try:
        return AppConfig.model_validate(values)
    except ValidationError as error:
        # A union reports each of its members: the same sentence more than once.
        problems = dict.fromkeys(_problem(detail, settings) for detail in error.errors())
        raise _config_error(problems) from error


def _problem(detail: Mapping[str, Any], settings: Mapping[str, _Setting]) -> str:
    """Pydantic's complaint with the key, the place and the expectation in our words."""
    if detail["type"] == "contradiction":
        keys = detail["ctx"]["keys"]
        return f"{detail['msg']} ({', '.join(f'{key}: {_origin(key, settings)}' for key in keys)})"
    location = [str(part) for part in detail["loc"]]
    key = next(key for end in range(len(location), 0, -1) if (key := ".".join(location[:end])) in SETTINGS)
    place = f"{key!r} {settings[key].place}"
    if detail["type"] == "value_error":
        return f"{place}: expected {detail['ctx']['error']}"
    return f"{place}: expected {value_words(key)}, got {detail['input']!r}"


def _origin(key: str, settings: Mapping[str, _Setting]) -> str:
    return settings[key].origin if key in settings else "default"


def _unknown_key(setting: _Setting) -> str:
    if setting.key in SECTIONS:
        examples = [key for key in SETTINGS if key.startswith(f"{setting.key}.")][:1]
        hint = f"set one of its keys, such as {examples[0]!r}" if examples else "it has no keys yet"
        return f"{setting.key!r} {setting.place} is a section; {hint}"
    if (successor := _former_name(setting.key)) is not None:
        return f"unknown key {setting.key!r} {setting.place}; {successor}"
    guesses = _closest_keys(setting.key)
    if setting.key.startswith(ENVIRONMENT_PREFIX):
        guesses = [environment_variable(key) for key in guesses]
    hint = f"did you mean {' or '.join(map(repr, guesses))}?" if guesses else "'keisei config' lists all keys"
    return f"unknown key {setting.key!r} {setting.place}; {hint}"


def _former_name(key: str) -> str | None:
    """What stands for a name of earlier documents, wherever it is written: whole sections too, and variables."""
    wanted = _dotted(key)
    sections = [wanted[:end] for end, letter in enumerate(wanted) if letter == "."]
    return next((FORMER_KEYS[name] for name in (wanted, *sections) if name in FORMER_KEYS), None)


def _dotted(key: str) -> str:
    """The dotted key that a variable or an option in another spelling means."""
    return key.removeprefix(ENVIRONMENT_PREFIX).replace("__", ".").replace("-", "_").lower()


def _closest_keys(key: str) -> list[str]:
    """Keys that may have been meant: the same name in another section, else the most similar key."""
    wanted = _dotted(key)
    name = wanted.rpartition(".")[2]
    namesakes = [known for known in SETTINGS if known.rpartition(".")[2] == name]
    if namesakes:
        return namesakes if name == wanted else difflib.get_close_matches(wanted, namesakes, n=1, cutoff=0)
    similar = difflib.get_close_matches(wanted, _FIELDS, n=1)
    if similar:
        return similar
    names = {known.rpartition(".")[2]: known for known in SETTINGS}
    return [names[similar_name] for similar_name in difflib.get_close_matches(name, names, n=1)]


def _config_error(problems: Iterable[str]) -> ConfigError:
    lines = list(problems)
    if len(lines) == 1:
        return ConfigError(lines[0])
    return ConfigError(
        "\n".join([f"{len(lines)} problems in the configuration:", *(f"- {line}" for line in lines)])
    )
