"""What users say of replies: whom it is for, what counts more, and what becomes of a protocol's parameters."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.errors import UserError
from proctor.llm.message import Parameters
from proctor.llm.replying import Replying

OWN = Parameters(temperature=0.0, max_tokens=128)


def said(**options: Any) -> Replying:
    return Replying.parse(
        {name: (value,) if isinstance(value, str) else value for name, value in options.items()}
    )


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, 4_096),
        ({"reply_tokens": "published"}, 128),
        ({"reply_tokens": "64"}, 64),
        ({"reasoning": "none"}, 4_096),
        ({"reasoning": "high"}, 4_096 + 24_576),
        ({"reasoning": "8000"}, 4_096 + 8_000),
        ({"reasoning": "high", "reply_tokens": "9000"}, 9_000),
        ({"reasoning": "high", "reply_tokens": "published"}, 128),
        ({"reasoning": "8000", "reply_tokens": "published"}, 128 + 8_000),
    ],
)
def test_a_reply_has_room_to_think(options: dict[str, Any], tokens: int) -> None:
    made = said(**options).over(OWN, "openai/o3", "predictor")
    assert (made.max_tokens, made.temperature) == (tokens, 0.0)


def test_longer_protocols_and_those_without_a_limit_stay() -> None:
    assert Replying().over(Parameters(max_tokens=9_999), "a/b", "judge").max_tokens == 9_999
    assert said(reply_tokens="7", reasoning="low").over(Parameters(), "a/b", "judge") == Parameters(
        reasoning="low"
    )
    schema = Parameters(max_tokens=5_000, json_schema={"type": "object"}, stop=("x",))
    assert Replying().over(schema, "a/b", "judge") == schema


@pytest.mark.parametrize(("context", "tokens"), [(None, 4_096), (3_000, 750), (300, 128), (1_000_000, 4_096)])
def test_a_raised_limit_leaves_room_for_the_prompt(context: int | None, tokens: int) -> None:
    small = Replying(context=lambda _: context)
    assert small.after(said(temperature="1")).over(OWN, "compat/small", "judge").max_tokens == tokens
    named = said(reply_tokens="2048").after(small)
    assert named.over(OWN, "compat/small", "judge").max_tokens == 2_048


def test_the_more_precise_word_counts() -> None:
    who = said(temperature=("0.1", "judge=0.2", "openai/o3=0.3", "compat/x@http://h:1/v1=0.4"))
    drawn = {
        (model, role): who.over(OWN, model, role).temperature
        for model, role in (
            ("openai/gpt-4o", "predictor"),
            ("openai/gpt-4o", "judge"),
            ("openai/o3", "judge"),
            ("openai/o3@http://elsewhere/v1", "predictor"),
            ("compat/x@http://h:1/v1", "judge"),
            ("compat/x@http://h:2/v1", "judge"),
        )
    }
    assert list(drawn.values()) == [0.1, 0.2, 0.3, 0.3, 0.4, 0.2]


def test_later_words_come_over_earlier_ones_for_the_same() -> None:
    both = said(temperature="0.5").after(said(temperature=("0.1", "judge=0.2"), top_p="0.9", model_seed="3"))
    made = both.over(OWN, "a/b", "predictor")
    assert (made.temperature, made.top_p, made.seed) == (0.5, 0.9, 3)
    assert both.over(OWN, "a/b", "judge").temperature == 0.2


def test_the_length_alone_makes_no_other_system() -> None:
    who = said(reply_tokens="64", reasoning="openai/o3=low")
    assert who.drawn("openai/o3", "predictor") == {"reasoning": "low"}
    assert who.drawn("openai/gpt-4o", "predictor") == {}
    assert said(reply_tokens="published").identity == ()
    assert who.identity == ({"reasoning": {"openai/o3": "low"}},)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("reply_tokens", "0", "--reply-tokens is '0'; a number of tokens, or 'published', was expected"),
        ("reply_tokens", "many", "'many'"),
        ("temperature", "nan", "'nan'; a number from 0 to 2"),
        ("temperature", "2.1", "from 0 to 2"),
        ("top_p", "0", "above 0"),
        ("reasoning", "very", "none, minimal, low, medium, high, xhigh, max, or a number of tokens"),
        ("reasoning", "-5", "--reasoning is '-5'"),
        ("model_seed", "1.5", "--model-seed is '1.5'; a whole number"),
        ("reasoning", "jugde=low", "no model is asked as 'jugde'"),
    ],
)
def test_what_is_none_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        said(**{name: text})


@pytest.mark.parametrize(
    "options",
    [
        {"reply_tokens": "4096", "reasoning": "8000"},
        {"reply_tokens": "4096", "reasoning": "openai/o3=4096"},
        {"reply_tokens": ("9000", "judge=100"), "reasoning": "8000"},
    ],
)
def test_thinking_must_leave_room(options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="leave nothing of a reply"):
        said(**options)
