"""Named remarks beside a verdict: which levels they leave open, and which say that it is none yet."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.aspect import aspect_claims, aspect_levels, is_provisional
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP


@pytest.mark.parametrize(
    ("name", "value", "levels"),
    [
        ("correctness", "low", BOTTOM | MIDDLE),
        ("match", "none", BOTTOM),
        ("is_correct", True, TOP),
        ("match", False, BOTTOM),
        ("accuracy", "0%", BOTTOM),
        ("similarity", 0.1, BOTTOM | MIDDLE),
        ("overall correctness", "1/2", MIDDLE),
        ("percentage", 40, BOTTOM | MIDDLE),
        ("agreement", 0.9, MIDDLE | TOP),
        ("decision", "accept", TOP),
        ("correctness", 2, None),
        ("correctness", "2", None),
        ("match", "reference 2", None),
        ("accuracy", "3/2", None),
        ("confidence", "low", None),
        ("match", None, None),
        ("match", ["no"], None),
    ],
)
def test_a_name_and_a_value_leave_levels_open(name, value, levels):
    assert aspect_levels(name, value) == levels


def test_lines_are_read_and_sentences_are_not():
    text = "**Correctness:** low\n| Match | no |\nThe match: no doubt it is there.\nFluency: poor"
    assert [claim.allows for claim in aspect_claims(text)] == [BOTTOM | MIDDLE, BOTTOM]


@pytest.mark.parametrize(
    ("name", "value", "provisional"),
    [
        ("status", "draft", True),
        ("status", "done", False),
        ("final", False, True),
        ("final", True, False),
        ("needs_review", True, True),
        ("needs_review", False, False),
        ("is_example", "yes", True),
        ("error", "no picture", True),
        ("error", None, False),
        ("rationale", "an example of a draft", False),
    ],
)
def test_objects_say_that_their_verdict_is_none_yet(name, value, provisional):
    assert is_provisional(name, value) is provisional
