"""Steps that close an activity."""

from __future__ import annotations

import pytest

from proctor.procedure.graph import closing_edges


@pytest.mark.parametrize(
    ("ids", "edges", "last", "end", "made"),
    [
        ("a b wipe", "a>b", "wipe", None, "b>wipe"),
        ("a b wipe", "", "wipe", None, "a>wipe b>wipe"),
        ("a b wipe", "a>b b>wipe", "wipe", None, ""),
        # something waits for the end only: that is a tip, and the end waits for what closes
        ("a b wipe E", "a>b b>E", "wipe", "E", "b>wipe wipe>E"),
        # two last steps have no order of their own, but keep the one that is given
        ("a wipe lock", "", "wipe lock", None, "a>wipe a>lock"),
        ("a wipe lock", "wipe>lock", "wipe lock", None, "a>wipe a>lock"),
        ("a b", "a>b", "", None, ""),
        ("wipe", "", "wipe", None, ""),
    ],
)
def test_a_last_step_comes_after_what_no_other_step_waits_for(
    ids: str, edges: str, last: str, end: str | None, made: str
):
    def pairs(text: str) -> list[tuple[str, str]]:
        return [(a, b) for a, b in (e.split(">") for e in text.split())]

    assert closing_edges(ids.split(), pairs(edges), last.split(), None, end) == pairs(made)
