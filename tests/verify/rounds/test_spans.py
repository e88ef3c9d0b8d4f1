"""Marked stretches of a text: places count code points, typed words are looked up, and what cannot be a mark is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormSheet, check_form
from proctor.verify.rounds.spans import Span, as_value, kept_spans, place_spans

LABELS = {"tool": "Tool", "part": "Part"}
FIELD = Field(name="f", label="Mark", type="span", column="t", choices=LABELS)
texts = st.text(st.sampled_from("ab 🦎é\u0301\u202e\u200dשם\n:;?"), min_size=1, max_size=60)


@given(texts, st.data())
def test_what_is_marked_comes_back_in_code_points(text: str, data: Any) -> None:
    starts = data.draw(st.lists(st.integers(0, len(text) - 1), min_size=1, max_size=8))
    spans = [
        Span(at, data.draw(st.integers(at + 1, len(text))), data.draw(st.sampled_from([*LABELS])))
        for at in starts
    ]
    sheet = FormSheet(values={"f": [as_value(span) for span in spans]})
    kept = kept_spans(check_form(sheet, [FIELD], {"t": text}).values["f"])
    assert kept == sorted(set(spans))


@given(texts, st.integers(0, 59), st.integers(1, 60))
def test_typed_words_are_found_one_place_after_the_other(text: str, start: int, size: int) -> None:
    words = text[start : start + size]
    count, at = 0, 0
    while words and (at := text.find(words, at)) >= 0:
        count, at = count + 1, at + len(words)
    found, wrong = place_spans([f"?:tool:{words}"] * count, text, LABELS)
    assert (wrong, len(found)) == ("", count)
    assert all(text[span.start : span.end] == words for span in found)
    if words:
        assert "not in the text" in place_spans([f"?:tool:{words}"] * (count + 1), text, LABELS)[1]


@pytest.mark.parametrize(
    "value", ["0:9:tool", "2:2:tool", "3:1:tool", "0:1:gold", "0:1", "-1:1:tool", "٠:٣:tool", "?:tool:zz", "?::a"]
)  # fmt: skip
def test_what_is_no_mark_names_its_field(value: str) -> None:
    with pytest.raises(InvalidError) as caught:
        check_form(FormSheet(values={"f": [value]}), [FIELD], {"t": "a b a"})
    assert caught.value.errors[0][0] == "f"


def test_several_choices_are_kept_in_their_order_and_open_what_depends_on_them() -> None:
    several = Field(name="c", label="?", type="choices", choices={"z": "Z", "a": "A"})
    why = Field(name="why", label="Why?", type="text", only_if="c=a")
    sheet = FormSheet(values={"c": ["a", "z", "a"], "why": "so"})
    assert check_form(sheet, [several, why]).values == {"c": ["z", "a"], "why": "so"}
    assert check_form(FormSheet(values={"c": ["z"], "why": "so"}), [several, why]).values == {"c": ["z"]}
    for wrong in (["b"], []):
        with pytest.raises(InvalidError):
            check_form(FormSheet(values={"c": wrong}), [several])
