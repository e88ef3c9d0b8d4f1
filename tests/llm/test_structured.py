"""JSON in replies: found in any wrapping, never guessed; the last one counts; hostile replies stay cheap."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.llm.message import system, user
from proctor.llm.structured import (
    REPLY_LIMIT,
    Unreadable,
    find_objects,
    read_object,
    repair_messages,
    spoken_text,
)


class Mark(msgspec.Struct):
    verdict: int
    rationale: str = ""


GOOD = '{"rationale": "the same", "verdict": 2}'
WRAPPED = {
    "bare": GOOD,
    "fence": f"```json\n{GOOD}\n```",
    "fence without language": f"```\n{GOOD}\n```",
    "prose around": f"Here it is:\n{GOOD}\nI hope this helps {{smile}}.",
    "pretty": json.dumps(json.loads(GOOD), indent=4),
    "trailing comma": '{"rationale": "the same", "verdict": 2,}',
    "trailing comma on its own line": '{\n  "rationale": "the same",\n  "verdict": 2,\n}',
    "line break inside a string": '{"rationale": "the\nsame", "verdict": 2}',
    "brackets inside a string": '{"rationale": "a } b ] c { d", "verdict": 2}',
    "quotes inside a string": '{"rationale": "a \\"} b", "verdict": 2}',
    "an earlier one": '{"rationale": "no", "verdict": 0}\nNo, rather:\n' + GOOD,
    "an earlier broken one": '{"rationale": "no", "verdict": \n' + GOOD,
    "a set of curly words before": "The {recipe} and {step} fit. " + GOOD,
    "one of another kind behind": GOOD + '\n{"note": "done"}',
    "thinking": '<think>{"verdict": 0}</think>' + GOOD,
    "thinking without a beginning": '{"verdict": 0}</think>' + GOOD,
    "byte order mark": "\ufeff" + GOOD,
    "CRLF": GOOD.replace(", ", ",\r\n"),
    "repeats a fence": "<<<BEGIN answer 0123456789abcdef>>>\n"
    '{"verdict": 0}'
    "\n<<<END answer 0123456789abcdef>>>\n" + GOOD,
}


@pytest.mark.parametrize("form", WRAPPED)
def test_every_wrapping_is_read(form: str) -> None:
    found = read_object(WRAPPED[form], Mark, required=("verdict",))
    assert isinstance(found, Mark)
    assert found.verdict == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("x" * (REPLY_LIMIT + 1), "too_long"),
        ("<!DOCTYPE html><html></html>", "not_a_reply"),
        ("<?xml version='1.0'?>", "not_a_reply"),
        ("<think>" + GOOD, "unfinished_thinking"),
        ("no JSON here", "no_json"),
        ("{'verdict': 2}", "no_json"),
        ("{verdict: 2}", "no_json"),
        ('{"verdict": 2', "no_json"),
        ('{"verdict": 2 // really\n}', "no_json"),
        ('{"verdict": 2,,}', "no_json"),
        ('{"verdict": NaN}', "no_json"),
        ('{"verdict": 1, "verdict": 2}', "no_json"),
        ('{"a": {"verdict": 1, "verdict": 2}, "verdict": 2}', "no_json"),
        ('{"score": 2}', "no_json"),
        ("[1, 2]", "no_json"),
        ('"verdict"', "no_json"),
        ('{"verdict": "2"}', "wrong_shape"),
        ('{"verdict": 2, "rationale": 7}', "wrong_shape"),
        ('{"verdict": 1e400}', "wrong_shape"),
        ('{"verdict": ' + "9" * 5000 + "}", "no_json"),
    ],
)
def test_what_is_no_json_stays_unread(reply: str, reason: str) -> None:
    found = read_object(reply, Mark, required=("verdict",))
    assert isinstance(found, Unreadable)
    assert found.reason == reason


def test_the_last_object_decides_even_if_it_is_of_the_wrong_shape() -> None:
    found = read_object(GOOD + '\n{"verdict": "none"}', Mark, required=("verdict",))
    assert isinstance(found, Unreadable)


def test_places_of_objects_are_told() -> None:
    text = 'ab {"x": 1} cd {"y": {"z": 2}}'
    assert [text[o.begin : o.end] for o in find_objects(text)] == ['{"x": 1}', '{"y": {"z": 2}}']


def test_thinking_that_is_only_spoken_about_stays() -> None:
    assert spoken_text("Use the <think> tag.") == "Use the <think> tag."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=6), JSON, max_size=4),
    st.sampled_from(["", "Well: ", "```json\n", "} ] ", "a\n\n"]),
    st.sampled_from(["", "\n```", " – done.", " }"]),
)
def test_any_object_is_found_between_other_text(value: dict, before: str, after: str) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False)):
        assert [o.value for o in find_objects(before + text + after)] == [value]


@given(st.text(alphabet=st.sampled_from('{}[]",:\\ \n1a')))
def test_no_text_raises_and_places_are_in_order(text: str) -> None:
    at = 0
    for found in find_objects(text):
        assert at <= found.begin < found.end <= len(text)
        at = found.end
    read_object(text, Mark)
    spoken_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 190_000,
        '{"a":' * 38_000,
        '"\\"' * 60_000,
        "[{" * 90_000,
        '{"' * 90_000,
        "{}" * 90_000,
        "<think>" * 27_000,
        "</think>" * 24_000,
        "<<<BEGIN a 0123456789abcdef>>>" * 6_000,
        '{"a": "' + "\\" * 190_000,
    ],
)
def test_hostile_replies_stay_cheap(text: str) -> None:
    begin = time.process_time()
    read_object(text, Mark, required=("verdict",))
    assert time.process_time() - begin < 3


def test_the_repair_round_says_what_is_wrong_and_quotes_no_data() -> None:
    asked = (system("s"), user("u"))
    made = repair_messages(
        asked, "<|im_end|> gibberish", Unreadable("no_json", "IGNORE ME"), "One JSON object."
    )
    assert made[:2] == asked
    assert [m.role for m in made[2:]] == ["assistant", "user"]
    assert made[2].text == r"\x3c|im_end|\x3e gibberish"
    assert "no well-formed JSON" in made[3].text
    assert made[3].text.endswith("\nOne JSON object.")
    assert "IGNORE ME" not in made[3].text


def test_the_repair_round_of_an_empty_or_huge_reply() -> None:
    assert [m.role for m in repair_messages((user("u"),), " ", Unreadable("empty"), "f")] == ["user", "user"]
    assert len(repair_messages((user("u"),), "x" * 10**6, Unreadable("too_long"), "f")[1].text) == 20_000


@pytest.mark.parametrize(
    "reason",
    ["empty", "too_long", "no_json", "wrong_shape", "no_verdict", "contradictory", "scale", "another"],
)
def test_every_reason_has_its_words(reason: str) -> None:
    text = repair_messages((user("u"),), "x", Unreadable(reason), "f")[-1].text
    assert text.startswith("Your reply could not be read: it")
