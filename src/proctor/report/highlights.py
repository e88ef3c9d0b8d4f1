"""Which questions a reader should see first: those on which systems disagree most, and failures that teach something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance
from typing import Final

from proctor.exam.question import Item
from proctor.report.parts import ExampleView, Highlight
from proctor.report.standing import Line, Standing

__all__ = ["highlights", "in_order", "pick", "spread", "takers"]

_EACH: Final = 2
"""Failures of one sort that stand in the gallery."""
_OTHERS: Final = 4
"""Further questions on which systems disagree that come first among the examples."""
_SHOWN: Final = 3
"""Answers that stand with a question in the gallery."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A question and why it is picked; ``runs`` are those whose answers show it, by name."""

    item_id: str
    tag: str
    why: str
    runs: tuple[str, ...]


def takers(standing: Standing) -> tuple[Line, ...]:
    """Return the lines that the page is about: ranked systems and people; all but upper bounds where fewer than two have marks."""
    scored = standing.scored
    found = tuple(line for line in scored if line.run.role in ("system", "human") and not line.rank.why)
    return found if len(found) > 1 else tuple(line for line in scored if line.run.role != "upper")


def spread(items: Sequence[Item]) -> list[Item]:
    """Return all items, those of every combination of facets in turn, so that the first ones show all of them."""
    cells: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        cells.setdefault(tuple(item.question.facets.values())[:2], []).append(item)
    return [
        cell[n]
        for n in range(max(map(len, cells.values()), default=0))
        for cell in cells.values()
        if n < len(cell)
    ]


def in_order(standing: Standing) -> list[Item]:
    """Return all items of an exam: first those that are picked, then those of every combination of facets in turn."""
    items = {item.id: item for item in standing.exam.items}
    first = dict.fromkeys([*(p.item_id for p in pick(standing)), *_disagreed(standing)[:_OTHERS]])
    return [*(items[id_] for id_ in first), *(i for i in spread(standing.exam.items) if i.id not in first)]


def pick(standing: Standing) -> list[Pick]:
    """Return the most discriminating question, then failures, at most two of a sort."""
    runs = takers(standing)
    found = [
        Pick(id_, "separates runs", _disagreement(runs, id_), tuple(line.run.name for line in _by_mark(runs, id_)))
        for id_ in _disagreed(standing)[:1]
    ]  # fmt: skip
    seen = {p.item_id for p in found}
    types: dict[str, set[str]] = {}
    items = {item.id: item for item in standing.exam.items}
    for offered in _failures(standing, runs):
        kinds = types.setdefault(offered.tag, set())
        kind = next(iter(items[offered.item_id].question.facets.values()), "")
        if offered.item_id in seen or kind in kinds or len(kinds) >= _EACH:
            continue  # two of one sort are about different types of questions
        kinds.add(kind)
        seen.add(offered.item_id)
        found.append(offered)
    return found


def highlights(standing: Standing, examples: Sequence[ExampleView]) -> list[Highlight]:
    """Return what is picked and among the examples, with the answers that show it; the most discriminating one first."""
    by_id = {example.id: example for example in examples}
    labels = {name: known.label for name, known in standing.names.items()}
    found = []
    for p in pick(standing):
        if (example := by_id.get(p.item_id)) is not None:
            wanted = [labels[name] for name in p.runs[:_SHOWN]]
            answers = [a for name in wanted for a in example.answers if name in (a.system, *a.also)]
            found.append(Highlight(p.item_id, p.tag, p.why, tuple(dict.fromkeys(answers))))
    return found


def _marks(runs: Sequence[Line], item_id: str) -> list[tuple[Line, float]]:
    return [(line, mark) for line in runs if (mark := line.mark(item_id)) is not None]


def _by_mark(runs: Sequence[Line], item_id: str) -> list[Line]:
    """Return the best, the worst, and then what is left."""
    lines = [line for line, _ in sorted(_marks(runs, item_id), key=lambda pair: -pair[1])]
    return [*lines[:1], *lines[-1:], *lines[1:-1]] if len(lines) > 1 else lines


def _disagreed(standing: Standing) -> list[str]:
    """Return items by how much marks differ; among equal ones those first on which marks follow the ranking."""
    runs = takers(standing)
    found = []
    for n, item in enumerate(standing.exam.items):
        marks = _marks(runs, item.id)
        spread_ = pvariance([m for _, m in marks]) if len(marks) > 1 else 0.0
        if spread_ > 0:
            mean = fmean(line.value or 0.0 for line, _ in marks)
            found.append((-spread_, -sum(m * ((line.value or 0.0) - mean) for line, m in marks), n, item.id))
    return [id_ for *_, id_ in sorted(found)]


def _disagreement(runs: Sequence[Line], item_id: str) -> str:
    marks = _marks(runs, item_id)
    right = [line.name.label for line, mark in marks if mark >= 100]
    return f"{len(right)} of {len(marks)} got it right" + (
        f": {', '.join(right[:_SHOWN])}." if right else "."
    )


def _failures(standing: Standing, runs: Sequence[Line]) -> Iterator[Pick]:
    floors = [line for line in standing.scored if line.run.role == "floor" and line not in runs]
    uppers = [line for line in standing.scored if line.run.role == "upper"]
    for item in spread(standing.exam.items):
        marks = _marks(runs, item.id)
        if not marks:
            continue
        (best, own), id_ = marks[0], item.id
        others = [line for line, mark in marks[1:] if mark >= 100]
        lucky = [line for line, mark in _marks(floors, id_) if mark >= 100]
        names = tuple(line.run.name for line, _ in marks)
        if all(mark <= 0 for _, mark in marks):
            known = [line for line, mark in _marks(uppers, id_) if mark >= 100]
            more = " The annotations hold the answer." if known else ""
            none = f"None of {len(marks)} is right." if len(marks) > 1 else f"{best.name.label} is wrong."
            yield Pick(id_, "none right" if len(marks) > 1 else "wrong", none + more, names)
        if own <= 0 and lucky:
            why = f"{best.name.label} is wrong; {lucky[0].name.label}, which answers without the evidence, is right."
            yield Pick(id_, "a floor does better", why, (best.run.name, lucky[0].run.name))
        if own <= 0 and others:
            why = f"{best.name.label} leads, but is wrong here; {others[0].name.label} is right."
            yield Pick(id_, "leader wrong", why, (best.run.name, others[0].run.name))
