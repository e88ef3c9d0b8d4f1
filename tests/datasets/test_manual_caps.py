"""Sequences from manuals: what is kept, in which order things are left out, and that all of it is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.manual_caps import (
    PUBLISHED_CAPS,
    RELEASED_CAPS,
    Caps,
    derive_sequences,
    middle_frame,
    step_text,
)
from proctor.errors import UserError
from proctor.procedure.manual import Manual, ManualSection, ManualStep


def manual(*sections: ManualSection) -> Manual:
    return Manual("m", "hand", "Goal", sections, category_paths=(("Root", "A"),))


def section(steps: str, index: int = 0, references: Any = None) -> ManualSection:
    """One letter a step; in upper case it has images."""
    return ManualSection(
        index,
        tuple(
            ManualStep(
                str(i), f"Do {c}.", f"Head {c}", (), (f"{c}_1.png", f"{c}_2.png") if c.isupper() else ()
            )
            for i, c in enumerate(steps)
        ),
        references or {},
    )


def test_the_defaults_are_the_published_ones():
    assert Caps() == PUBLISHED_CAPS
    assert (PUBLISHED_CAPS.images_per_step, PUBLISHED_CAPS.min_steps, PUBLISHED_CAPS.max_steps) == (1, 5, 5)
    assert (PUBLISHED_CAPS.sentences_per_step, PUBLISHED_CAPS.tokens_per_step) == (5, 60)
    assert (PUBLISHED_CAPS.tokens_in_all, PUBLISHED_CAPS.image_size) == (300, 224)
    assert PUBLISHED_CAPS.text_fields == ("text", "bullets")
    assert RELEASED_CAPS.sentences_per_step is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"min_steps": 0}, "min_steps is 0"),
        ({"max_steps": 4}, "at least 5 and at most 4"),
        ({"images_per_step": -1}, "images_per_step is -1"),
        ({"sentences_per_step": 2.5}, r"sentences_per_step is 2\.5"),
        ({"max_steps": True}, "max_steps is True"),
        ({"text_fields": ()}, "text_fields is"),
        ({"text_fields": ("text", "text")}, "each once"),
        ({"text_fields": ("title",)}, "some of headline, text, bullets"),
    ],
)
def test_caps_that_make_no_sense_are_refused(change: dict[str, Any], why: str):
    with pytest.raises(UserError, match=why):
        Caps(**change)


def test_a_step_without_image_is_dropped_alone_and_then_the_first_are_kept():
    derived = derive_sequences(manual(section("AbCDEFG")))
    (sequence,) = derived.sequences
    assert sequence.id == "m###0"
    assert sequence.goal == "Goal"
    assert sequence.category_paths == (("Root", "A"),)
    assert [s.id for s in sequence.steps] == ["0", "2", "3", "4", "5"]
    assert sequence.steps[0].images == ("A_1.png",)
    assert [(d.id, d.reason) for d in derived.dropped] == [
        ("m###0 step 1", "no-image"),
        ("m###0 step 6", "beyond-max-steps"),
    ]


def test_a_section_with_too_few_steps_left_is_told_and_the_others_keep_their_number():
    derived = derive_sequences(manual(section("ABCDe"), section("ABCDE", 3)))
    assert [s.id for s in derived.sequences] == ["m###3"]
    assert ("m###0", "too-few-steps", "4 of 5 left, 5 needed") in [
        (d.id, d.reason, d.detail) for d in derived.dropped
    ]


def test_text_alone_needs_no_images():
    derived = derive_sequences(manual(section("abcde")), Caps(paired=False))
    assert len(derived.sequences[0].steps) == 5
    assert derived.dropped == ()


def test_nothing_assumes_five_steps():
    caps = Caps(min_steps=1, max_steps=None, images_per_step=None)
    derived = derive_sequences(manual(section("A"), section("ABCDEFGHIJ", 1)), caps)
    assert [len(s.steps) for s in derived.sequences] == [1, 10]
    assert derived.sequences[0].steps[0].images == ("A_1.png", "A_2.png")


def test_the_text_is_body_and_bullets_and_the_headline_only_when_asked_for():
    step = ManualStep("0", " Body. ", "Head.", ("one", " ", "two"))
    assert step_text(step) == "Body. one two"
    assert step_text(step, ("headline", "text", "bullets")) == "Head. Body. one two"
    assert step_text(ManualStep("0", "", "Head.")) == ""


def test_the_first_sentences_are_kept_and_a_short_text_stays_as_it_is():
    long = ManualStep("0", "A b. C d. E f.\nG h.", images=("x.png",))
    short = ManualStep("1", "One  line.\nTwo.", images=("y.png",))
    caps = Caps(min_steps=1, sentences_per_step=2)
    (sequence,) = derive_sequences(manual(ManualSection(0, (long, short))), caps).sequences
    assert [s.text for s in sequence.steps] == ["A b. C d.", "One  line.\nTwo."]


def test_another_sentence_tokenizer_may_be_given():
    step = ManualStep("0", "a;b;c", images=("x.png",))
    caps = Caps(min_steps=1, sentences_per_step=1)
    derived = derive_sequences(
        manual(ManualSection(0, (step,))), caps, sentences=lambda text: text.split(";")
    )
    assert derived.sequences[0].steps[0].text == "a"


def test_an_empty_text_is_kept():
    steps = tuple(ManualStep(str(i), "", images=("x.png",)) for i in range(5))
    (sequence,) = derive_sequences(manual(ManualSection(0, steps))).sequences
    assert [s.text for s in sequence.steps] == [""] * 5


def test_references_begin_with_the_authored_order_and_fit_the_steps_that_are_left():
    orders = {"text": ((1, 0, 2, 3, 4), (1, 0, 2, 3, 4), (0, 1, 2, 3, 4), (0, 1, 2))}
    derived = derive_sequences(manual(section("ABCDEF", references=orders)))
    (sequence,) = derived.sequences
    assert sequence.orders("text") == ((0, 1, 2, 3, 4), (1, 0, 2, 3, 4))
    assert sequence.orders("image") == ((0, 1, 2, 3, 4),)
    assert [d.reason for d in derived.dropped] == ["beyond-max-steps", "reference-of-other-steps"]


@pytest.mark.parametrize(("frames", "middle"), [(1, 0), (2, 1), (3, 1), (10, 5)])
def test_the_middle_frame(frames: int, middle: int):
    assert middle_frame(frames) == middle


def test_no_frames_have_no_middle():
    with pytest.raises(UserError, match="0 frames"):
        middle_frame(0)


@given(
    st.lists(st.text("aA", max_size=9), max_size=4),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(6, 8)),
    st.booleans(),
)
def test_every_step_is_in_a_sequence_or_told(texts: list[str], least: int, most: int | None, paired: bool):
    caps = Caps(min_steps=least, max_steps=most, paired=paired)
    given_ = manual(*(section(text, i) for i, text in enumerate(texts)))
    derived = derive_sequences(given_, caps)
    told = {d.id for d in derived.dropped}
    kept = {(s.id, step.id) for s in derived.sequences for step in s.steps}
    for part in given_.sections:
        id_ = f"m###{part.index}"
        for step in part.steps:
            assert ((id_, step.id) in kept) != (id_ in told or f"{id_} step {step.id}" in told)
    for sequence in derived.sequences:
        assert least <= len(sequence.steps) <= (most or 99)
        assert not paired or all(step.images for step in sequence.steps)
    assert derived == derive_sequences(given_, caps)
