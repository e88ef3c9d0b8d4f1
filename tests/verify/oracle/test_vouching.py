"""Praise for a kind of work, against mistakes of that kind and of others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle.annotator import Oracle
from proctor.verify.oracle.text import normalise, stem
from proctor.verify.oracle.vouching import find_vouched

Moments = Callable[..., Example]


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("No, you've measured everything correctly.", "measured"),
        ("Yes, you timed it well.", "timed"),
        ("Yes, it's cut just right.", "cut"),
        ("Yes, the amounts are right.", "amounts"),
        ("Yes, the amount of buffer was fine.", "amount"),
        ("Yes, that's the right temperature.", "temperature"),
        ("You have correctly weighed the powder.", "weighed"),
        ("You prepared it properly.", "prepared"),
        ("Yes, it was incubated for the right amount of time.", "time"),
    ],
)
def test_vouches(text: str, work: str) -> None:
    assert stem(work) in {v.work for v in find_vouched(normalise(text))}


@pytest.mark.parametrize(
    "text",
    [
        "No, you didn't measure it correctly.",
        "You should have measured it correctly.",
        "Make sure it is measured correctly.",
        "You're doing fine.",
        "You're on track.",
        "Push the plugs into the holes.",
        "",
    ],
)
def test_does_not_vouch(text: str) -> None:
    assert not find_vouched(normalise(text))


MEASURED = {"buffer": ("measurement", "pipetted 20 ul instead of 200 ul")}
THAWED = {"thaw": ("timing", "thawed for 5 minutes only")}
LABELLED = {"label": ("technique", "labels stuck on upside down")}
READ = {"label": ("preparation", "used wet tubes")}
LATE = {"buffer": ("order", "added too early")}


@pytest.mark.parametrize(
    ("mistakes", "question", "answer", "right"),
    [
        (MEASURED, "Did I forget any reagent?", "No, you've measured everything correctly.", False),
        (MEASURED, "Did I forget any reagent?", "No, the amounts are right.", False),
        (MEASURED, "Did I forget any reagent?", "No, you measured the samples correctly.", True),
        (MEASURED, "Did I forget any reagent?", "No, you timed everything well.", True),
        (MEASURED, "Did I forget any reagent?", "No, you're doing fine.", True),
        (MEASURED, "Did I forget any reagent?", "No, you're on track.", True),
        (MEASURED, "Is everything fine with the buffer?", "Yes, it's done just right.", False),
        (THAWED, "Did I miss anything?", "No, you timed everything well.", False),
        (THAWED, "Did I miss anything?", "No, you've thawed the samples properly.", False),
        (THAWED, "Did I miss anything?", "No, they were thawed for the right amount of time.", False),
        (THAWED, "Can I vortex them now?", "Yes, now is the right time to vortex the tubes.", True),
        (THAWED, "Can I vortex them now?", "Yes, that comes at the right time.", True),
        (THAWED, "Did I miss anything?", "No, you've measured everything correctly.", True),
        (LABELLED, "Did I miss anything?", "No, the tubes are labelled just right.", False),
        (LABELLED, "Did I skip a step?", "No, you thawed the samples well.", True),
        (READ, "Did I miss anything with the tubes?", "No, you prepared them well.", False),
        (READ, "Did I skip a step?", "No, you have measured everything accurately.", True),
        (LATE, "Did I skip a step?", "No, the amounts are right.", True),
        ({}, "Did I forget any reagent?", "No, you've measured everything correctly.", True),
    ],
)
def test_praise_for_what_went_wrong(
    assay: TaskGraph, make_moment: Moments, mistakes: dict[str, tuple[str, str]], question, answer, right
) -> None:
    moment = make_moment(assay, "label thaw buffer sample", "missing", mistakes)
    decision = Oracle(threshold=0.5).decide(question, answer, moment, assay)
    assert decision.guess == right, decision.reason
    assert not (right and decision.ground.name == "vouches_mistake")
