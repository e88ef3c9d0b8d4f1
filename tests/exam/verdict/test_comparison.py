"""Reports of answer and references side by side."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.comparison import best_reference, compared
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("The prediction says the pan, every reference says the bowl.", BOTTOM | MIDDLE),
        ("The reference says tighten the bolts. The answer says loosen them.", BOTTOM | MIDDLE),
        ("The answer says pour water; the reference says pour the water.", TOP),
        ("The answer says tighten the bolts, the reference says loosen the bolts.", None),
        ("The gold says 2 tablespoons and the answer says two tablespoons.", None),
        ("The reference says stir. The answer says the same.", None),
        ("The answer says the pan.", None),
        ("The answer says the pan. The answer says the lid. The reference says the bowl.", None),
    ],
)
def test_reports_side_by_side(text, levels):
    claim = compared(text)
    assert (None if claim is None else claim.allows) == levels


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("Reference 1: no match\nReference 2: no match", BOTTOM),
        ("- Reference 1: ❌\n- Reference 2: ✅", TOP),
        ("Ref 1: 0, Ref 2: 1", MIDDLE),
        ("Match with reference 1: no\nMatch with reference 2: yes", TOP),
        ("Reference 1: no match", None),
        ("Reference 1: no match\nReference 2: add the salt", None),
        ("Reference 1: no match\nReference 1: match", None),
    ],
)
def test_the_best_of_the_references_marked_one_by_one(text, levels):
    claim = best_reference(text)
    assert (None if claim is None else claim.allows) == levels
