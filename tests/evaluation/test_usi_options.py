"""Options of engines: found by any spelling, refused where the engine could choke on them."""

import pytest

from keisei.errors import UsiEngineError
from keisei.evaluation.usi_options import DeclaredOptions, EngineOption


@pytest.fixture
def declared() -> DeclaredOptions:
    options = DeclaredOptions("engine --fast")
    for line in (
        "option name Skill Level type spin default 20 min -20 max 20",
        "option name Clear Hash type button",
        "option name Book type filename default <empty>",
        "option without a name",
    ):
        options.learn(line)
    return options


@pytest.mark.parametrize("name", ["Skill Level", "skill_level", " SKILL LEVEL "])
def test_an_option_is_found_by_any_spelling_and_sent_in_the_engines(
    declared: DeclaredOptions, name: str
) -> None:
    assert declared.command(name, "-20") == "setoption name Skill Level value -20"


def test_options_that_every_engine_has_need_no_declaration(declared: DeclaredOptions) -> None:
    assert declared.command("USI_Hash", "64") == "setoption name USI_Hash value 64"


@pytest.mark.parametrize("value", ["", "-", "--5", "5-", "1e3", "٥", "9" * 40])
def test_what_is_no_whole_number_is_refused(declared: DeclaredOptions, value: str) -> None:
    with pytest.raises(
        UsiEngineError, match=r"'Skill Level' of 'engine --fast' cannot be .*: a whole number"
    ):
        declared.command("Skill Level", value)


def test_an_unknown_option_is_refused_with_the_known_ones(declared: DeclaredOptions) -> None:
    with pytest.raises(
        UsiEngineError, match=r"no option 'Contempt'; it has \['Book', 'Clear Hash', 'Skill Level'\]"
    ):
        declared.command("Contempt", "1")


@pytest.mark.parametrize(
    "declaration", ["", "type", "type spin", "type spin min", "type spin min low max", "type new"]
)
def test_a_strange_declaration_refuses_nothing_that_could_fit(declaration: str) -> None:
    assert EngineOption("odd", declaration).refusal("5") is None
