"""Cells of a table over questions about sources: what a cell is cut by, and how it is stored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from proctor.exam.source_question import SourceQuestion
from proctor.metrics.score import Score

__all__ = ["Cell", "CellKind", "cell_of", "slices_of"]

CellKind = Literal["all", "style", "modalities", "style-modalities"]


class Cell(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One aggregated number as it is stored; ``value`` is None where it is undefined, and ``note`` says why.

    Attributes:
        system: whose number it is.
        measure: column: ``recall@5``, ``judge``, ``rouge-1``.
        slice: ``all``, ``style=multi-hop``, ``modalities=text+table``, ``style=numerical/modalities=text``.
        kind: what the slice is cut by.
        value: from 0 to 100.
        low: lower end of the interval.
        high: upper end.
        n: questions in the number.
        failed: questions without a result, never counted as 0.
        signature: every choice that changes the number.
        note: why something is undefined, or what to beware of.
    """

    system: str
    measure: str
    slice: str
    kind: CellKind
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    failed: int = 0
    signature: str = ""
    note: str = ""


def cell_of(
    system: str, measure: str, slice_: str, kind: CellKind, score: Score, *, scale: float = 1.0
) -> Cell:
    """Return a score as a cell; ``scale`` is 100 for a share, because a cell holds what tables print."""
    low, high = (None if end is None else scale * end for end in (score.low, score.high))
    return Cell(
        system=system,
        measure=measure,
        slice=slice_,
        kind=kind,
        value=None if math.isnan(score.value) else scale * score.value,
        low=low,
        high=high,
        n=score.n,
        failed=score.failed,
        signature=str(score.signature),
        note=score.note,
    )


def slices_of(questions: Sequence[SourceQuestion]) -> Mapping[tuple[CellKind, str], tuple[int, ...]]:
    """Return the positions of the questions of each slice: all, styles, combinations of modalities, and both together.

    Styles and combinations are in the order in which they first occur when questions are sorted by name, so that the
    order of the questions changes nothing.
    """
    found: dict[tuple[CellKind, str], list[int]] = {("all", "all"): list(range(len(questions)))}
    kinds: tuple[CellKind, ...] = ("style", "modalities", "style-modalities")
    for kind in kinds:
        named: dict[str, list[int]] = {}
        for place, question in enumerate(questions):
            named.setdefault(_name(kind, question), []).append(place)
        found |= {(kind, name): named[name] for name in sorted(named)}
    return {key: tuple(places) for key, places in found.items()}


def _name(kind: CellKind, question: SourceQuestion) -> str:
    style, modalities = f"style={question.style}", f"modalities={question.combination}"
    return {"style": style, "modalities": modalities}.get(kind, f"{style}/{modalities}")
