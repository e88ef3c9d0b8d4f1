"""The entity: the prompt, and what is read out of replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.entity import ENTITY, entity_prompt, parse_entities, read_entities
from proctor.ask.documents.prompting import Miss, PromptKit
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.source import image_source, text_source
from proctor.errors import UserError
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Image
from proctor.llm.outcome import Failure, Refusal, Reply, Truncated

KIT = PromptKit(generation_prompts(), FenceSecret(b"s" * 32), lambda _: Image("ab" * 32, "image/png", 4, 4))


def test_the_prompt_shows_words_even_of_images() -> None:
    prompt = entity_prompt(KIT, image_source("i", "Magha Puja", "i.png", verbalisation="Candles."))
    assert "Magha Puja. Candles." in prompt.messages[-1].text
    assert not prompt.has_pixels
    assert prompt.messages[0].text.count("Reply: ") == 3
    assert ENTITY.temperature == 1.0
    several = entity_prompt(KIT, text_source("t", "A", "B"), count=3).text
    assert "at most 3 main entities" in several
    for count in (0, 21):
        with pytest.raises(UserError, match="cannot be asked for"):
            entity_prompt(KIT, text_source("t", "A", "B"), count=count)


@pytest.mark.parametrize(
    "reply",
    [
        "Harbour seal", "harbour".title() + " seal.", "\n\n  Harbour seal\nIt is an animal.", "- Harbour seal", "* **Harbour seal**",
        '"Harbour seal."', "1. Harbour seal", "1) Harbour seal\n2) Tide", "Entity: Harbour seal", "Main entity: “Harbour  seal”",
        "Harbour seal, Wadden Sea", "Harbour seal; tide", "```\nHarbour seal\n```", "• Harbour seal",
    ],
)  # fmt: skip
def test_forms_of_one_entity(reply: str) -> None:
    assert parse_entities(reply) == ("Harbour seal",)


def test_names_that_look_like_forms() -> None:
    assert parse_entities("1984") == ("1984",)
    assert parse_entities("The U.S.") == ("The U.S.",)
    assert parse_entities("St. Paul") == ("St. Paul",)
    assert parse_entities("3.5 mm jack") == ("3.5 mm jack",)
    assert parse_entities("東京") == ("東京",)
    assert parse_entities("Fallout 4: Nuka-World") == ("Fallout 4: Nuka-World",)


def test_several_entities() -> None:
    assert parse_entities("- Aar\n- Bel, Ost\n- Hurn", count=3) == ("Aar", "Bel", "Ost")
    assert parse_entities("Aar; Aar; Bel", count=3) == ("Aar", "Bel")
    assert parse_entities("Aar, none, Bel", count=3) == ("Aar", "Bel")
    assert parse_entities("Aar", count=3) == ("Aar",)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "None",
        "none.",
        '"NONE"',
        "- ",
        "...",
        "one two three four five six seven eight nine",
        "x" * 81,
        ", ,",
    ],
)
def test_what_is_no_entity(reply: str) -> None:
    found = parse_entities(reply)
    assert isinstance(found, Miss)
    assert found.outcome == "entity_refused"


def test_outcomes() -> None:
    assert read_entities(Reply(text="<think>hm</think>Aar")) == ("Aar",)
    for outcome, code in ((Refusal(text="no"), "entity_refused"), (Truncated(text="Aa"), "entity_refused"), (Reply(text=""), "entity_refused"), (Failure(kind="auth", message="no key"), "api_error"), (Failure(kind="budget", message="spent"), "budget_stop")):  # fmt: skip
        found = read_entities(outcome)
        assert isinstance(found, Miss)
        assert found.outcome == code


@given(st.text(), st.integers(1, 4))
def test_any_text_gives_entities_or_a_miss(text: str, count: int) -> None:
    found = parse_entities(text, count=count)
    if isinstance(found, Miss):
        assert found.outcome == "entity_refused"
    else:
        assert 1 <= len(found) <= count
        for entity in found:
            assert len(entity) <= 80
            assert len(entity.split()) <= 8
            assert "\n" not in entity


@pytest.mark.parametrize("piece", ["\n", "- ", "1. ", " ", "topic ", "-", "a. ", ", ", "U.", '"'])
def test_a_hostile_reply_costs_little(piece: str) -> None:
    for head in ("", "Topic"):
        for count in (1, 3):
            parse_entities(head + piece * (200_000 // len(piece)) + "x", count=count)
