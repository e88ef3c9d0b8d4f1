"""Reports of answer and references side by side."""

from __future__ import annotations

import pytest

from proctor.evaluate.verdict.comparison import compared
from proctor.evaluate.verdict.level import BOTTOM, MIDDLE, TOP


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
