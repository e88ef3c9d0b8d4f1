"""Requests: their names are stable, and equal exactly for equal requests."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.llm.message import Audio, Image, Message, Parameters, Request, Text, Video, system, user
from proctor.records import canonical_json

PICTURE = Image("a" * 64, "image/jpeg", 640, 360)
REQUEST = Request(
    model="openai/gpt-4o",
    messages=(system("Be brief."), user("What is this?", PICTURE)),
    parameters=Parameters(temperature=0.0, max_tokens=50, stop=("\n",)),
)


def test_the_key_never_changes() -> None:
    """Stored calls are found by it: a new release must give old requests their old names."""
    assert REQUEST.key == "d4bbc6b3606c54efb37027f7330c9fca6b4ba6bd43d5cabb6489f1264675dca8"
    assert Request(model="m/x", messages=(user("a"),)).key == (
        "d567dd1349e3cd6cababb9726a8cf65142fb628df228cadc09555c5fb896f542"
    )


def test_the_key_is_the_hash_of_canonical_json() -> None:
    import hashlib

    plain = msgspec.to_builtins(REQUEST)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert REQUEST.key == hashlib.sha256(text.encode()).hexdigest()


def test_whole_numbers_have_the_name_of_the_same_floats() -> None:
    one = msgspec.structs.replace(REQUEST, parameters=Parameters(temperature=1, top_p=1))
    other = msgspec.structs.replace(REQUEST, parameters=Parameters(temperature=1.0, top_p=1.0))
    assert one == other
    assert one.key == other.key


def test_what_is_unset_is_not_part_of_the_name() -> None:
    plain = Request(model="m/x", messages=(user("a"),))
    assert b"parameters" not in canonical_json(plain)
    read = msgspec.json.decode(b'{"model":"m/x","messages":[],"parameters":{}}', type=Request)
    assert read.key == Request(model="m/x", messages=()).key
    assert Request(
        model="m/x", messages=(user("a"),), parameters=Parameters(temperature=None), draw=0
    ).key == (Request(model="m/x", messages=(user("a"),)).key)


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(REQUEST, model="openai/gpt-4o-mini"),
        msgspec.structs.replace(REQUEST, model="openai/gpt-4o@http://127.0.0.1:1/v1"),
        msgspec.structs.replace(REQUEST, messages=(system("Be brief."), user(PICTURE, "What is this?"))),
        msgspec.structs.replace(REQUEST, messages=(user("Be brief."), user("What is this?", PICTURE))),
        msgspec.structs.replace(
            REQUEST,
            messages=(system("Be brief."), user("What is this?", Image("b" * 64, "image/jpeg", 640, 360))),
        ),
        msgspec.structs.replace(REQUEST, parameters=Parameters(temperature=0.0, max_tokens=51, stop=("\n",))),
        msgspec.structs.replace(REQUEST, parameters=Parameters(max_tokens=50, stop=("\n",))),
        msgspec.structs.replace(
            REQUEST, parameters=Parameters(temperature=0.0, max_tokens=50, stop=("\n",), extra={"a": 1})
        ),
        msgspec.structs.replace(REQUEST, draw=1),
    ],
)
def test_every_difference_is_another_name(other: Request) -> None:
    assert other.key != REQUEST.key


def test_the_prompt_hash_is_of_the_messages_alone() -> None:
    other = msgspec.structs.replace(REQUEST, model="x/y", draw=4)
    assert other.prompt_hash == REQUEST.prompt_hash
    assert len(REQUEST.prompt_hash) == 16


def test_parts_and_texts() -> None:
    message = user(
        "a", PICTURE, Text("b"), Video("c" * 64, "video/mp4", 1.5), Audio("d" * 64, "audio/wav", 2.0)
    )
    assert message.text == "a\nb"
    assert [type(part).__name__ for part in message.media] == ["Image", "Video", "Audio"]
    assert Request(model="m/x", messages=(user("x"), message)).media == message.media


TEXTS = st.text(max_size=30)
PARTS = st.builds(Text, TEXTS) | st.builds(
    Image,
    st.text("0123456789abcdef", min_size=64, max_size=64),
    st.just("image/png"),
    st.integers(1, 999),
    st.integers(1, 999),
)
REQUESTS = st.builds(
    Request,
    model=st.just("m/x"),
    messages=st.lists(
        st.builds(
            Message, st.sampled_from(["system", "user", "assistant"]), st.lists(PARTS, max_size=3).map(tuple)
        ),
        max_size=3,
    ).map(tuple),
    parameters=st.builds(
        Parameters,
        temperature=st.none() | st.floats(0, 2),
        stop=st.lists(TEXTS, max_size=2).map(tuple),
        extra=st.dictionaries(TEXTS, st.integers(-9, 9), max_size=2),
    ),
    draw=st.integers(0, 3),
)


@given(REQUESTS)
def test_a_request_survives_the_disk(request: Request) -> None:
    back = msgspec.json.decode(msgspec.json.encode(request), type=Request)
    assert back == request
    assert back.key == request.key


@given(REQUESTS, REQUESTS)
def test_names_are_equal_exactly_for_equal_requests(one: Request, other: Request) -> None:
    assert (one.key == other.key) == (one == other)


def test_the_order_of_extra_fields_does_not_matter() -> None:
    one = Request(model="m/x", messages=(), parameters=Parameters(extra={"a": 1, "b": {"c": 1, "d": 2}}))
    other = Request(model="m/x", messages=(), parameters=Parameters(extra={"b": {"d": 2, "c": 1}, "a": 1}))
    assert one.key == other.key


def test_the_name_is_the_same_in_another_process() -> None:
    code = (
        "from proctor.llm.message import *\n"
        "print(Request(model='m/x', messages=(user('ü'),), parameters=Parameters(extra={'b': 1, 'a': 2})).key)"
    )
    out = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(out) == 1
