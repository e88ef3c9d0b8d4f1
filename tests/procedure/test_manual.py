"""Manuals and sequences: references, modalities, permutations that stay."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.ordering import shuffle_targets
from proctor.procedure.manual import (
    MODALITIES,
    ManualError,
    Sequence,
    SequenceStep,
    fixed_shuffle,
    sequence_id,
)


def sequence(references: Any = None, steps: int = 3) -> Sequence:
    shown = tuple(SequenceStep(str(i), f"do {i}", (f"{i}.png",)) for i in range(steps))
    return Sequence("m###0", "Goal", shown, (("Root", "A"),), references or {})


def test_a_sequence_is_named_after_manual_and_section():
    assert sequence_id("https://example.org/a", 2) == "https://example.org/a###2"


def test_without_references_the_authored_order_counts_in_every_modality():
    for modality in MODALITIES:
        assert sequence().orders(modality) == ((0, 1, 2),)


def test_references_are_those_of_the_modality():
    both = sequence({"text": ((0, 1, 2), (1, 0, 2))})
    assert both.orders("text") == ((0, 1, 2), (1, 0, 2))
    assert both.orders("image") == ((0, 1, 2),)


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ({"text": ()}, "first text order is not the authored one"),
        ({"text": ((1, 0, 2),)}, "first text order is not the authored one"),
        ({"text": ((0, 1, 2), (0, 1, 2))}, "same text order twice"),
        ({"text": ((0, 1, 2), (0, 1))}, "no order of 3 steps"),
        ({"text": ((0, 1, 2), (1, 2, 3))}, "no order of 3 steps"),
        ({"text": ((0, 1, 2), (1, 1, 2))}, "no order of 3 steps"),
        ({"sound": ((0, 1, 2),)}, "no modality 'sound'"),
    ],
)
def test_what_is_no_reference_is_refused(references: Any, why: str):
    with pytest.raises(ManualError, match=why):
        sequence(references)


def test_a_view_hides_what_the_modality_does_not_show():
    whole = sequence({"image": ((0, 1, 2), (0, 2, 1))})
    text, image, both = (whole.view(m) for m in ("text", "image", "multimodal"))
    assert [s.images for s in text.steps] == [()] * 3
    assert [s.text for s in text.steps] == ["do 0", "do 1", "do 2"]
    assert [s.text for s in image.steps] == [""] * 3
    assert [s.images for s in image.steps] == [("0.png",), ("1.png",), ("2.png",)]
    assert both.steps == whole.steps
    assert image.references == {"image": ((0, 1, 2), (0, 2, 1))}
    assert text.references == {"text": ((0, 1, 2),)}
    assert {v.id for v in (text, image, both)} == {whole.id}


@given(st.text(max_size=20), st.integers(0, 30), st.integers(0, 5))
def test_a_fixed_shuffle_is_a_permutation_and_stays(id_: str, steps: int, seed: int):
    slots = fixed_shuffle(id_, steps, seed)
    assert sorted(slots) == list(range(steps))
    assert slots == fixed_shuffle(id_, steps, seed)


def test_fixed_shuffles_are_uniform_over_ids():
    drawn = Counter(fixed_shuffle(f"m{i}", 4) for i in range(4_800))
    assert set(drawn) == set(itertools.permutations(range(4)))
    # 200 expected of each, standard deviation 13.8
    assert all(130 < n < 270 for n in drawn.values())


def test_fixed_shuffles_differ_by_seed_and_are_the_same_in_every_version():
    assert len({fixed_shuffle("soup###0", 5, seed) for seed in range(20)}) > 10
    assert fixed_shuffle("soup###0", 5) == FIXED


FIXED = (2, 0, 4, 3, 1)


@given(st.text(max_size=8), st.integers(1, 8), st.randoms(use_true_random=False))
def test_targets_lead_back_to_the_reference(id_: str, steps: int, rng: Any):
    """``predicted steps = [slot_to_step[s] for s in predicted_slots]`` (Wu et al. 2022)."""
    reference = list(range(steps))
    rng.shuffle(reference)
    slots = fixed_shuffle(id_, steps)
    assert [slots[s] for s in shuffle_targets(slots, reference)] == reference
