"""Pairs out of replies: JSON in all its varieties, and what is no pair."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.clip.pair_reply import BadEntry, RawPair, read_pair_list
from proctor.llm.structured import Unreadable

ONE = {"question": "What is cut?", "answer": "an onion", "step_ids": ["s1"]}
TWO = {"question": "How?", "answer": "in rings", "step_ids": ["s2", "s3.1"]}
PAIRS = [RawPair("What is cut?", "an onion", ("s1",)), RawPair("How?", "in rings", ("s2", "s3.1"))]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ONE, TWO]),
        json.dumps({"pairs": [ONE, TWO]}),
        f"Sure!\n```json\n{json.dumps([ONE, TWO], indent=2)}\n```\nI hope that helps.",
        f"{json.dumps(ONE)}\n{json.dumps(TWO)}",
        f"<think>{json.dumps([TWO])}</think>{json.dumps([ONE, TWO])}",
        f"A draft: {json.dumps([TWO])}. Better: {json.dumps([ONE, TWO])}",
        f"A draft: {json.dumps({'pairs': [TWO]})}, better: {json.dumps({'pairs': [ONE, TWO]})}",
        json.dumps([ONE, TWO])[:-1] + ",]",
        f'{{"note": "x"}} {json.dumps([ONE, TWO])}',
    ],
)
def test_a_list_is_found_whatever_is_around_it(text: str) -> None:
    assert read_pair_list(text) == PAIRS


def test_what_follows_a_whole_list_is_another_one() -> None:
    assert read_pair_list(f"{json.dumps({'pairs': [ONE]})}\n{json.dumps(TWO)}") == PAIRS[1:]


@pytest.mark.parametrize(
    ("ids", "read"),
    [
        (["s1", "s2"], ("s1", "s2")),
        (["S1", "[s2]", "(s3.1)"], ("s1", "s2", "s3.1")),
        ("s1, s2 and s4", ("s1", "s2", "s4")),
        ([1, "2", "3.1"], ("s1", "s2", "s3.1")),
        (["s1", "s1"], ("s1",)),
        ([], ()),
        (None, ()),
        ("", ()),
        (["step one"], ("step", "one")),
        ([True, {"id": 1}], ("True", "{'id': 1}")),
    ],
)
def test_cited_ids(ids: object, read: tuple[str, ...]) -> None:
    (pair,) = read_pair_list(json.dumps([ONE | {"step_ids": ids}]))  # type: ignore[misc]
    assert isinstance(pair, RawPair)
    assert pair.step_ids == read


def test_no_ids_at_all() -> None:
    assert read_pair_list('[{"question": "q", "answer": "a"}]') == [RawPair("q", "a", ())]


def test_texts_are_put_on_one_line_and_numbers_are_texts() -> None:
    assert read_pair_list(json.dumps([ONE | {"question": " What\n is? ", "answer": 4}])) == [
        RawPair("What is?", "4", ("s1",))
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"question": "q", "answer": ["a", "b"]}, "several_answers"),
        ({"question": "q", "answer": []}, "several_answers"),
        ({"question": "q", "answer": True}, "bad_entry"),
        ({"question": "q"}, "bad_entry"),
        ({"question": 3, "answer": "a"}, "bad_entry"),
        ({"question": None, "answer": None}, "bad_entry"),
    ],
)
def test_entries_that_are_no_pairs(entry: dict[str, object], reason: str) -> None:
    first, second = read_pair_list(json.dumps([entry, ONE]))  # type: ignore[misc]
    assert isinstance(first, BadEntry)
    assert first.reason == reason
    assert second == PAIRS[0]


def test_an_answer_in_a_list_of_one_counts() -> None:
    assert read_pair_list(json.dumps([ONE | {"answer": ["an onion"]}])) == PAIRS[:1]


def test_entries_that_are_no_objects() -> None:
    found = read_pair_list('{"pairs": ["x", 3, null]}')
    assert [getattr(entry, "reason", "") for entry in found] == ["bad_entry"] * 3  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["[]", "```json\n[]\n```", '{"pairs": []}', " [ ] "])
def test_nothing_to_ask_is_an_empty_list(text: str) -> None:
    assert read_pair_list(text) == []


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", "[{'question': 'q'}]", "<html>", '{"a": 1}', "[1, 2]"]
)
def test_what_cannot_be_read(text: str) -> None:
    assert isinstance(read_pair_list(text), Unreadable)


@given(st.text(max_size=300))
def test_nothing_that_is_said_breaks_it(text: str) -> None:
    read_pair_list(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["pairs", "question", "answer", "step_ids"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_it(value: object) -> None:
    found = read_pair_list(json.dumps(value))
    assert isinstance(found, Unreadable) or all(isinstance(e, RawPair | BadEntry) for e in found)
