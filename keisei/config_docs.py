"""Writes ``configs/default.yaml`` and ``docs/configuration.md`` from the schema.

Run ``python -m keisei.config_docs`` in the root of a checkout after every change of ``config_schema``; a test
compares the committed files.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic.fields import FieldInfo

from keisei.config_loader import SECTIONS, effective_yaml, environment_variable, key_lines
from keisei.config_schema import AppConfig, Section, section_class, value_words, walk_settings
from keisei.errors import ConfigError

_COMMENT_LENGTH = 100  # leaves room for the indent and the "# "

_YAML_HEADER = """\
# All settings with their default values. Generated from keisei/config_schema.py by `make docs`; do not edit.
# Copy the lines you want to change into a file of your own: a setting that is left out keeps its default.
"""

_MARKDOWN_HEADER = f"""\
# Configuration

<!-- Generated from keisei/config_schema.py by `make docs`; do not edit. -->

A setting is looked for in four places; the later one wins:

1. the default below (all of them: [`configs/default.yaml`](../configs/default.yaml));
2. a YAML file: `keisei train --config FILE`;
3. an environment variable: `{environment_variable("training.learning_rate")}=1e-4`, that is the key in
   capitals with two underscores for each dot;
4. the command line: `keisei train --training.learning_rate 1e-4` (or `--training.learning_rate=1e-4`).

Values are written alike everywhere. Lists are `[random, greedy]` or `random,greedy`; nothing is `null`; a
switch is `true` or `false`, and on the command line its bare option (`--training.compile`) means `true`. An
unknown key is an error wherever it stands, and so is an unknown variable that begins with `KEISEI_`.
`keisei config` shows the settings in effect and where each came from.
"""


def default_yaml() -> str:
    """All settings with their defaults, each under a comment that says what it is and may be."""
    text = effective_yaml(AppConfig())
    lines = text.splitlines()
    fields = dict(walk_settings())
    commented = [_YAML_HEADER.rstrip("\n")]
    for key, line in key_lines(text).items():
        indent = "  " * key.count(".")
        blank = [""] if key in SECTIONS else []
        commented += [
            *blank,
            *(f"{indent}# {comment}" for comment in _comment(key, fields[key])),
            lines[line - 1],
        ]
    return "\n".join(commented) + "\n"


def configuration_markdown() -> str:
    """A page with a table for each section."""
    return "\n".join([_MARKDOWN_HEADER, *_tables()])


def write_generated_files(root: Path) -> None:
    """Writes both files below ``root``, the root of a checkout."""
    if not (root / "pyproject.toml").is_file():
        raise ConfigError(
            f"expected the root of a Keisei checkout, got {str(root)!r}: run this where pyproject.toml is"
        )
    for name, text in generated_files().items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def generated_files() -> dict[str, str]:
    """The text of each generated file, by its path from the root of a checkout."""
    return {"configs/default.yaml": default_yaml(), "docs/configuration.md": configuration_markdown()}


def _comment(key: str, field: FieldInfo) -> list[str]:
    section = section_class(field)
    if section is not None:
        return textwrap.wrap(_summary(section), _COMMENT_LENGTH)
    description, values = field.description or "", f"[{value_words(key)}]"
    together = f"{description} {values}"
    return [together] if len(together) <= _COMMENT_LENGTH else [description, values]


def _summary(section: type) -> str:
    return " ".join((section.__doc__ or "").split())


def _tables() -> Iterator[str]:
    defaults = _default_texts()
    for key, section in ((key, section_class(field)) for key, field in walk_settings()):
        if section is not None:
            yield f"## `{key}`\n\n{_summary(section)}\n"
            yield from _table(key, section, defaults)


def _table(section_key: str, section: type[Section], defaults: Mapping[str, str]) -> Iterator[str]:
    rows = [
        _row(f"{section_key}.{name}", field, defaults)
        for name, field in section.model_fields.items()
        if section_class(field) is None
    ]
    if rows:
        yield (
            "\n".join(["| key | type | default | bounds | description |", "|---|---|---|---|---|", *rows])
            + "\n"
        )


def _row(key: str, field: FieldInfo, defaults: Mapping[str, str]) -> str:
    words = value_words(key)
    cells = [f"`{key}`", words.type, f"`{defaults[key]}`", words.bounds, field.description or ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default_texts() -> dict[str, str]:
    """Each default as it is written in a file."""
    text = effective_yaml(AppConfig())
    lines = text.splitlines()
    return {key: lines[line - 1].partition(": ")[2] for key, line in key_lines(text).items()}


if __name__ == "__main__":
    write_generated_files(Path.cwd())
