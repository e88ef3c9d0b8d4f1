"""Answers that numbers about runs count: their marks by question, and a list of those that are no question's mark alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from proctor.exam.choice import CREDIT, CUT_OFF
from proctor.exam.choice_scores import Turn, read_turns
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Order
from proctor.report.parts import Cell, Listing, Row
from proctor.report.plaintext import clip_line
from proctor.report.standing import Line, Standing, lacks

__all__ = ["NO_DESCRIPTIONS", "answers", "by_draw", "mark_codes"]

_SAID: Final = 160
"""Characters of a question or an answer in the list."""
NO_DESCRIPTIONS: Final = "descriptions not there"


def by_draw(line: Line) -> bool:
    """Whether a rule answered by letters that it drew: its marks are what such draws get on average."""
    return any(CREDIT in prediction.details for prediction in line.run.predictions[:1])


def mark_codes(standing: Standing, line: Line) -> Counter[str]:
    """Return how many questions have each mark as the filter of the examples knows it."""
    answered: dict[str, bool] = {}
    for p in line.run.predictions:
        answered[p.item_id] = answered.get(p.item_id, False) or p.answer is not None
    found = Counter[str]()
    for item in standing.exam.items:
        mark = line.mark(item.id)
        if mark is None:
            code = ("unscored" if answered[item.id] else "failed") if item.id in answered else "not asked"
            found["no mark"] += 1
        else:
            code = "match" if mark >= 100 else "wrong" if mark <= 0 else "partial"
            found["marked"] += 1
        found[code] += 1
    return found


def answers(standing: Standing) -> Listing:
    """Return answers without a mark, and those of which a letter was read or that saw less than they should, each with its run."""
    items = {item.id: item for item in standing.exam.items}
    texts = {id_: clip_line(item.question.text, _SAID) for id_, item in items.items()}
    names = standing.names
    lines: list[tuple[Row, Iterable[str]]] = []
    seen: set[tuple[str, str, str]] = set()
    for lack in lacks(standing):
        label = names[lack.run].label
        tags = [f"{lack.kind}: {lack.code}", f"{label}: {lack.kind}: {lack.code}", f"{label}: without a mark"]
        if (first := (lack.run, lack.kind, lack.code)) not in seen:
            seen.add(first)
            tags.append(f"{lack.kind}: {lack.code}, by run")
        question = Cell(texts.get(lack.item_id, lack.item_id), item=lack.item_id)
        lines.append(((label, question, clip_line(lack.message, _SAID), lack.code), tags))
    for line in standing.lines:
        read: Iterable[Turn | None] = [None] * len(line.run.predictions)
        if line.run.table is not None and line.run.table.letters is not None and not by_draw(line):
            read = read_turns(standing.exam.items, line.run.predictions, line.run.judgements)
        for p, turn in zip(line.run.predictions, read, strict=True):
            less = [*_less(p, line.run.captions)]
            letters = _letters(turn, asked=bool(line.run.judgements))
            found = (*less, *letters, *(() if by_draw(line) else _order(p, items.get(p.item_id))))
            tags = [f"{line.name.label}: {what}" for what in found] + [
                x for x in less if x == NO_DESCRIPTIONS
            ]
            if tags:
                question = Cell(texts.get(p.item_id, p.item_id), item=p.item_id)
                what = "; ".join(filter(None, (p.details.get("shrunk", ""), _said(turn))))
                lines.append(((line.name.label, question, clip_line(p.answer or "", _SAID), what), tags))
    return Listing.of(
        f"answers-{standing.exam.id}",
        f"Answers: {standing.exam.title}",
        ("Run", "Question", "Answer", "What"),
        lines,
    )


def _less(p: Prediction, captions: Mapping[str, object]) -> Iterator[str]:
    """Yield what is counted of what an answer was given from; of descriptions, that they are not here any more."""
    if p.details.get("view") == "captions" and p.details.get("request") and p.item_id not in captions:
        yield NO_DESCRIPTIONS
    if shrunk := p.details.get("shrunk"):
        yield from ("made smaller", f"made smaller: {shrunk}")


def _letters(turn: Turn | None, *, asked: bool) -> Iterator[str]:
    """Yield what is counted of a letter; ``asked``: whether a model matched those that no rule reads."""
    if turn is None or (choice := turn.choice) is None:
        return
    yield f"right option at {choice.gold_shown}"
    if choice.shown is not None:
        yield f"named {choice.shown}"
    if choice.printed is None:
        yield from ("unparsed", f"unparsed: {'cut off' if choice.rule == CUT_OFF else choice.rule}")
    else:
        yield "right" if choice.right else "wrong"
        if asked:
            yield from ("matched", "matched by a model") if choice.rule == "matched" else ("read by rule",)


def _order(p: Prediction, item: Item | None) -> Iterator[str]:
    """Yield what is counted of an order that was read from a reply."""
    if item is None or p.answer is None or not isinstance(item.question.form, Order):
        return
    from proctor.exam.kinds.order_marks import slot_texts
    from proctor.exam.kinds.order_reply import read_order

    read = read_order(p.answer, slot_texts(item))
    if (made := read.repaired) is None:
        yield from ("unparsed", f"unparsed: {read.rule}")
        return
    yield from ("read", "repaired")[: 1 + made.repaired]
    yield from (f"repaired: {name}" for name in ("unknown", "repeated", "missing") if getattr(made, name))


def _said(turn: Turn | None) -> str:
    if turn is None or (choice := turn.choice) is None:
        return ""
    return f"{choice.shown or 'no letter'}; right: {choice.gold_shown}"
