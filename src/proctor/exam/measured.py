"""What a kind of questions declares of its table of scores: what the table is sliced by, and how its numbers are measured and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proctor.exam.question import Item

__all__ = ["Measured", "Slices", "facet_slices", "signature_part"]

Slices = Mapping[str, tuple[str, Sequence[str]]]
"""Name of each slice to what it is cut by and the ids of its items."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """How the answers to a kind of questions are measured.

    Attributes:
        judge: measure of the marks of a judge.
        share: a judge says yes or no, and the measure is the share of yes, from 0 to 1; otherwise it marks 0, 1 or 2, and the
            measure is points from 0 to 100.
        cluster: what intervals draw whole, as signatures name it: ``recording``, ``video``.
        weighting: what each weighs the same, as signatures name it: ``item``, ``question``.
        brief: signatures name neither benchmark nor cluster nor draws (the tables of SMMQG).
        rubrics: measure of the first judge with each rubric, where further judges are measures beside the first one.
        likeness: likeness to the reference is measured, too.
        computed: answers are measured without a judge (``Kind.measures``).
        mean_of: what slices are cut by whose plain mean is a row of its own, such as ``style``; empty for no such row.
    """

    judge: str = "judge"
    share: bool = False
    cluster: str = "cluster"
    weighting: str = "item"
    brief: bool = False
    rubrics: Mapping[str, str] = {}
    likeness: bool = False
    computed: bool = False
    mean_of: str = ""


def signature_part(text: str) -> str:
    """Return a name of a file as a signature can hold it."""
    return text.replace("|", "/").strip() or "unnamed"


def facet_slices(items: Sequence[Item], facets: Iterable[str]) -> Slices:
    """Return all items, and those of each value of each facet; what an item does not have puts it in no slice.

    Args:
        items: of one kind.
        facets: names, in the order of the table; values are sorted.
    """
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [item.id for item in items])}
    for facet in facets:
        named: dict[str, list[str]] = {}
        for item in items:
            if value := item.question.facets.get(facet):
                named.setdefault(value, []).append(item.id)
        found |= {f"{facet}={signature_part(value)}": (facet, named[value]) for value in sorted(named)}
    return found
