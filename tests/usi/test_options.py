"""Options: declared so that every GUI understands them, and set without being hurt."""

import pytest

from keisei.errors import ConfigError
from keisei.usi.options import EngineOptions, Mode, declarations, with_option


def test_declarations_can_be_read_by_position() -> None:
    for line in declarations(EngineOptions()):
        words = line.split()
        assert words[:2] == ["option", "name"]
        assert words[3:5] in (["type", kind] for kind in ("spin", "check", "combo", "filename"))
        assert line.isascii()
        if words[4] == "spin":
            default, least, most = (int(words[words.index(key) + 1]) for key in ("default", "min", "max"))
            assert least <= default <= most


def test_what_is_declared_can_be_set_to_its_default() -> None:
    options = EngineOptions(model="/some/run", threads=3)
    for line in declarations(options):
        words = line.split()
        assert with_option(options, words[2], words[words.index("default") + 1]) == options


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("USI_Hash", "64", "hash_mebibytes", 64),
        ("usi_ponder", "true", "ponder", True),
        ("USI_Ponder", "False", "ponder", False),
        ("Model", "/a b/c", "model", "/a b/c"),
        ("Model", "<empty>", "model", ""),
        ("Model", None, "model", ""),
        ("Mode", "policy", "mode", Mode.POLICY),
        ("Simulations", "800", "simulations", 800),
        ("Nodes", "800", "simulations", 800),
        ("MULTIPV", "3", "multi_pv", 3),
        ("ResignValue", "3000", "resign_value", 3000),
        ("Draw_Ply", "320", "max_moves_to_draw", 320),
        ("MaxMovesToDraw", "256", "max_moves_to_draw", 256),
        ("NetworkDelay", "500", "network_delay_milliseconds", 500),
        ("Threads", " 2 ", "threads", 2),
    ],
)
def test_values_are_taken_over(name: str, value: str | None, field: str, expected: object) -> None:
    assert getattr(with_option(EngineOptions(), name, value), field) == expected


@pytest.mark.parametrize("name", ["Skill Level", "EvalDir", "", "Clear_Hash"])
def test_unknown_options_are_ignored(name: str) -> None:
    assert with_option(EngineOptions(), name, "1") == EngineOptions()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MultiPV", "0"),
        ("MultiPV", "many"),
        ("Threads", "1" * 30),
        ("Threads", None),
        ("USI_Ponder", "yes"),
        ("Mode", "magic"),
    ],
)
def test_values_that_cannot_be_are_refused_with_what_could(name: str, value: str | None) -> None:
    with pytest.raises(ConfigError, match=f"option {name} must be .*, not .*; it keeps its value"):
        with_option(EngineOptions(), name, value)
