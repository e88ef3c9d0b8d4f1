"""Recordings and segments: what counts as skipped, what was done, and that they survive JSON."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.recording import MISTAKE_KINDS, Mistake, Recording, Segment
from proctor.records import canonical_json, decode

MISSING = Mistake("missing", "left out")
WRONG = Mistake("technique", "with the wrong hand")


@pytest.mark.parametrize(
    ("segment", "skipped"),
    [
        (Segment("1", "stir", 0.0, 2.0), False),
        (Segment("1", "stir", 0.0, 2.0, mistakes=(WRONG,)), False),
        (Segment("1", "stir"), True),
        (Segment("1", "stir", mistakes=(MISSING,)), True),
        (Segment("1", "stir", 0.0, 2.0, mistakes=(MISSING,)), True),  # marked missing wins over times
        (Segment("1", "stir", 0.0, 2.0, mistakes=(WRONG, MISSING)), True),
    ],
)
def test_skipped_is_without_times_or_marked_missing(segment: Segment, skipped: bool):
    assert segment.skipped is skipped
    assert Recording("r", "a", "A", (segment,)).performed == (() if skipped else (segment,))


def test_description_is_what_was_done_where_that_was_written_down():
    assert Segment("1", "stir").description == "stir"
    assert Segment("1", "stir", performed="shake").description == "shake"
    assert Segment("1", "stir", performed="").description == ""


def test_performed_keeps_order_and_repeats():
    a, b = Segment("1", "stir", 0.0, 1.0), Segment("2", "pour", 1.0, 2.0)
    again = Segment("1", "stir", 3.0, 4.0)
    assert Recording("r", "a", "A", (Segment("3", "cut"), a, b, again)).performed == (a, b, again)


def test_a_skipped_step_that_is_marked_counts_as_a_mistake():
    assert Recording("r", "a", "A", (Segment("1", "stir", mistakes=(MISSING,)),)).has_mistakes
    assert not Recording("r", "a", "A", (Segment("1", "stir", 0.0, 1.0),)).has_mistakes


def test_kinds_are_open_and_the_known_ones_are_unique():
    assert Mistake("slip").kind not in MISTAKE_KINDS
    assert len(set(MISTAKE_KINDS)) == 8


def test_records_cannot_be_changed():
    recording = Recording("r", "a", "A", ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        recording.id = "other"  # type: ignore[misc]


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
times = st.none() | st.floats(0, 1e6)
segments = st.builds(
    Segment,
    texts,
    texts,
    times,
    times,
    st.none() | texts,
    st.lists(st.builds(Mistake, texts, texts), max_size=2).map(tuple),
)
recordings = st.builds(
    Recording,
    texts,
    texts,
    texts,
    st.lists(segments, max_size=3).map(tuple),
    times,
    st.none() | texts,
    st.dictionaries(texts, texts, max_size=2),
)


@given(recordings)
def test_json_and_back_gives_an_equal_recording(recording: Recording):
    data = canonical_json(recording)
    again = decode(data, Recording, "here")
    assert again == recording
    assert canonical_json(again) == data
