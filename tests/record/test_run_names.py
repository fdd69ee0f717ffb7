"""Tests of keisei.record.run_names."""

import random
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.errors import RunDirectoryError
from keisei.record.run_names import ADJECTIVES, NOUNS, check_name, invent_name


def test_an_invented_name_is_a_date_and_two_words_and_a_name_that_is_allowed() -> None:
    for _ in range(200):
        name = invent_name(date(2026, 11, 5))
        assert re.fullmatch(r"2026-11-05-[a-z]+-[a-z]+", name)
        check_name(name)


def test_no_word_says_the_same_thing_twice() -> None:
    assert not set(ADJECTIVES) & set(NOUNS)
    assert len(set(ADJECTIVES)) * len(set(NOUNS)) >= 1000


def test_inventing_a_name_leaves_the_seeded_generator_alone() -> None:
    random.seed(3)
    before = random.getstate()
    invent_name(date(2026, 1, 1))
    assert random.getstate() == before


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".hidden",
        "-option",
        "a b",
        "dot.",
        "x" * 101,
        "auto",
        "shipped",
        "NUL",
        "com1.txt",
        "a\n",
        "<b>",
        "a:b",
        "é",
    ],
)
def test_a_bad_name_is_refused_by_its_value(name: str) -> None:
    with pytest.raises(RunDirectoryError, match=re.escape(repr(name))):
        check_name(name)


@given(st.text(max_size=120))
def test_every_name_that_is_allowed_stays_one_folder_below_its_parent(name: str) -> None:
    try:
        check_name(name)
    except RunDirectoryError:
        return
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name)
    assert not name.startswith((".", "-")) and not name.endswith(".")
