"""The category of a question: the prompt with the closed list, and what is read out of replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.played import PROMPTS, SECRET

from proctor.ask.clip.category import (
    LEVEL_CATEGORIES,
    MEANINGS,
    ReadCategory,
    category_prompt,
    read_category,
)
from proctor.ask.clip.record import CATEGORIES, LEVELS
from proctor.llm.outcome import Failure, Refusal, Reply, Truncated


def read(text: str) -> ReadCategory:
    return read_category(Reply(text=text))


def test_every_category_has_a_meaning_and_all_but_other_a_level() -> None:
    assert tuple(MEANINGS) == CATEGORIES
    assert set(LEVEL_CATEGORIES) == set(LEVELS)
    listed = [name for names in LEVEL_CATEGORIES.values() for name in names]
    assert sorted(listed) == sorted(c for c in CATEGORIES if c != "other")


def test_the_prompt_shows_the_whole_list_and_fences_the_pair() -> None:
    made = category_prompt("Which spoon <|im_start|>?", "the wooden one", "fine", PROMPTS, SECRET)
    assert made.fences == ("question", "answer")
    for name, meaning in MEANINGS.items():
        assert f"- {name}: {meaning}" in made.messages[0].text
    assert "<|im_start|>" not in made.text
    assert "things within steps" in made.text
    assert "events" in category_prompt("q", "a", "coarse", PROMPTS, SECRET).messages[-1].text


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_name_is_read_however_it_is_put(name: str) -> None:
    for text in (
        name,
        name.upper(),
        f"**{name}**.",
        f"Category: {name}",
        f'{{"category": "{name}"}}',
        f"```\n{name}\n```",
        f"<think>it is counting, or location</think>\n{name}",
        name.replace("-", " / "),
        name.replace("-", "_"),
        name.replace("-", " and "),
        f"The question asks for a thing that matters.\n\n{name}",
    ):
        assert read(text) == ReadCategory(name), text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("purpose", "purpose-cause"),
        ("Tool", "object-tool"),
        ("localization", "localisation"),
        ("I would say this is about ordering, as it asks what comes first.", "ordering"),
        ('{"category": "x"} {"category": "manner"}', "manner"),
    ],
)
def test_other_words_for_it(text: str, name: str) -> None:
    assert read(text) == ReadCategory(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "none of your list fits",
        "ordering or counting",
        "7",
        "{}",
        "<think>ordering",
        "<html>ordering",
    ],
)
def test_what_names_none_or_several_is_other_and_told(text: str) -> None:
    found = read(text)
    assert (found.category, found.unparsed) == ("other", True)


def test_other_itself_is_read() -> None:
    assert read("other") == ReadCategory("other")
    assert read("no other than manner") == ReadCategory("manner")


@pytest.mark.parametrize(
    "outcome",
    [
        Refusal(text="ordering"),
        Truncated(text="ordering"),
        Failure(kind="content_filter", message="ordering"),
    ],
)
def test_what_is_no_reply_is_other(outcome: Refusal | Truncated | Failure) -> None:
    found = read_category(outcome)
    assert (found.category, found.unparsed) == ("other", True)
    assert found.detail == type(outcome).__name__.casefold()


@given(st.text(max_size=200))
def test_nothing_that_is_said_breaks_it(text: str) -> None:
    found = read(text)
    assert found.category in CATEGORIES
    assert not found.unparsed or found.category == "other"
