"""Answers from elsewhere, in a file: read line by line, and fitted to the items that they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import CREDIT, parse_order, rotations, spell_order
from proctor.exam.csv_rows import iter_csv_rows
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Item, Order
from proctor.metrics.choice.letters import LETTERS
from proctor.records import Dropped, iter_jsonl

__all__ = ["Answers", "read_answers"]

LONGEST: Final = 100_000
"""Characters of an answer; a longer one is left out, since no judge could be shown it."""
_BETWEEN: Final = re.compile(r"\s*(?:,|;|>|->|→)\s*")
"""Stands between ids of an order."""
_DIGITS: Final = 10
"""A number of so many digits counts neither options nor rotations."""
UNANSWERED: Final = "unanswered: the file has no answer to it"


class AnswerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file; further fields are ignored, so that ``predictions.jsonl`` of another workspace may be given.

    Attributes:
        item_id: of the item.
        answer: in words; of things to put into order their ids, or their numbers as presented, as a list or in any notation
            (``proctor.exam.kinds.order_reply``); of a question with options the letter, the option's words, or its number from 0 as in ``items.jsonl``
            (in quotation marks only where no option is worded so; ``1.0`` is number 1, as tables with gaps write it).
        failure: why there is no answer, beginning with a code that can be counted.
        rotation: number of the rotation of the options, where every rotation was asked; the options as printed are number 0.
        details: of the answer, as text; ``order`` says in which order the options were shown (``BCA``: B came first).
    """

    item_id: str
    answer: str | int | float | list[str | int] | None = None
    failure: str | None = None
    rotation: int | None = None
    details: dict[str, str] = {}


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What a file answers.

    Attributes:
        found: by item and, where every rotation of its options was asked, in order of these.
        dropped: lines that were left out, with the reason.
    """

    found: dict[str, list[Prediction]]
    dropped: list[Dropped]

    def to(self, items: Sequence[Item], who: str) -> Iterator[Prediction]:
        """Yield a prediction for every item, a failed one where the file has no answer to it.

        Args:
            items: of one run.
            who: name on the predictions.
        """
        named = [p for item in items for p in self.found.get(item.id, ())]
        circular = any("rotation" in p.details for p in named)
        for item in items:
            there = {p.details.get("rotation"): p for p in self.found.get(item.id, ())}
            options = item.question.form.options if isinstance(item.question.form, Choice) else ()
            turns: Iterable[str | None] = map(str, range(len(options))) if circular else (None,)
            for turn in turns:
                details = {} if turn is None else {"rotation": turn}
                none = Prediction(item_id=item.id, predictor=who, failure=UNANSWERED, details=details)
                yield msgspec.structs.replace(there.get(turn, none), predictor=who)


def read_answers(file: Path, items: Sequence[Item]) -> Answers:
    """Read a file of answers and fit each line to the item that it answers.

    Args:
        file: JSON Lines, or CSV (``.csv``) with the columns ``item_id`` and ``answer`` and, if wished, ``failure`` and
            ``rotation``.
        items: of the workspace.

    Raises:
        UserError: if a line cannot be read, or not one line answers an item.
    """
    by_id = {item.id: item for item in items}
    found: dict[str, dict[str | None, Prediction]] = {}
    turned: dict[tuple[str, str], bool] = {}
    dropped: list[Dropped] = []
    for number, line in enumerate(_lines(file), 1):
        item = by_id.get(line.item_id)
        made = _fitted(line, item)
        if isinstance(made, Prediction) and item is not None:
            turn, there = made.details.get("rotation"), found.setdefault(item.id, {})
            group = (item.question.kind, type(item.question.form).__name__)
            if turned.setdefault(group, turn is not None) != (turn is not None):
                made = ("rotation", "some answers are of rotations, and this is not as the first one")
            elif turn in there:
                made = ("twice", "the item was answered before; the first answer stands")
            else:
                there[turn] = made
        if isinstance(made, tuple):
            code, why = made
            dropped.append(Dropped(line.item_id[:200], code, f"record {number}: {why}"))
    if not any(found.values()):
        first = f", the first: {dropped[0].detail}" if dropped else ""
        raise UserError(
            f"not one of {len(dropped):,} lines answers an item of this workspace{first}.",
            where=str(file),
            hint='one line an item: {"item_id": "…", "answer": "…"}, with ids as in items.jsonl',
        )
    return Answers(
        found={id_: list(there.values()) for id_, there in found.items() if there}, dropped=dropped
    )


def _lines(file: Path) -> Iterator[AnswerLine]:
    if file.suffix.lower() != ".csv":
        yield from iter_jsonl(file, AnswerLine)
        return
    for number, row in iter_csv_rows(file, ("item_id", "answer")):
        turn = row.get("rotation") or None
        if turn is not None and not (turn.isdecimal() and len(turn) < _DIGITS):
            raise UserError(f"{turn[:40]!r} is no number of a rotation.", where=f"{file}:{number}")
        yield AnswerLine(
            item_id=row["item_id"],
            answer=row["answer"] or None,
            failure=row.get("failure") or None,
            rotation=None if turn is None else int(turn),
        )


def _fitted(line: AnswerLine, item: Item | None) -> Prediction | tuple[str, str]:
    """Return an answer as a prediction, or why it is left out: as a code and in words."""
    if item is None:
        return "unknown", "there is no such item in items.jsonl"
    form = item.question.form
    details = _order(line, form)
    if isinstance(details, tuple):
        return details
    if isinstance(line.answer, list) and not isinstance(form, Order):
        return "list", "the question is not answered by a list"
    text = line.answer if isinstance(line.answer, str) else "" if line.answer is None else str(line.answer)
    if line.failure is not None and line.failure.strip():
        if text.strip():
            return "both", "it has an answer and a failure"
        failed = line.failure.strip()[:LONGEST]
        return Prediction(item_id=item.id, predictor="", failure=failed, details=details)
    if not text.strip():
        return "empty", "the answer is empty"
    if len(text) > LONGEST:
        return "too_long", f"the answer has {len(text):,} characters; at most {LONGEST:,} are taken"
    text = text.strip()
    worded = (
        isinstance(line.answer, str) and isinstance(form, Choice) and text in map(str.strip, form.options)
    )
    number = text.removesuffix(".0")
    if isinstance(form, Choice) and number.lstrip("-").isdecimal() and not worded:
        order = parse_order(details.get("order", ""), len(form.options)) or tuple(range(len(form.options)))
        if not number.isdecimal() or len(number) >= _DIGITS or int(number) >= len(order):
            return "no_option", f"there is no option number {text[:20]}: they are counted from 0"
        details, text = {**details, "given": text}, LETTERS[order.index(int(number))]
    if isinstance(form, Order) and (numbers := _numbers(line.answer, form.ids)):
        details, text = {**details, "given": text}, numbers
    return Prediction(item_id=item.id, predictor="", answer=text, details=details)


def _numbers(answer: object, ids: Sequence[str]) -> str:
    """Return an order in ids as one in numbers as presented; empty where it is none in ids, and read like a reply then."""
    names = list(map(str, answer)) if isinstance(answer, list) else _BETWEEN.split(str(answer).strip())
    place = {id_.casefold(): str(n) for n, id_ in enumerate(ids, 1)}
    place |= {id_: str(n) for n, id_ in enumerate(ids, 1)}  # "B" is the id "b", not the second letter
    found = [place.get(name, place.get(name.casefold())) for name in names]
    read = [name if at is None else at for name, at in zip(names, found, strict=True)]
    return ", ".join(read) if len(found) - found.count(None) > 1 else ""


def _order(line: AnswerLine, form: object) -> dict[str, str] | tuple[str, str]:
    """Return the details of a line with the order in which the options were shown, or what is wrong with it."""
    details: Mapping[str, str] = line.details
    if CREDIT in details:
        return "details", f"'{CREDIT}' is what a floor gets on average, and is not taken from a file"
    named = str(line.rotation) if line.rotation is not None else details.get("rotation")
    if not isinstance(form, Choice):
        kept = {name: value for name, value in details.items() if name not in ("rotation", "order")}
        return kept if named is None else ("rotation", "the question has no options")
    count = len(form.options)
    if "order" in details and parse_order(details["order"], count) is None:
        return "order", f"{details['order'][:40]!r} is no order of its {count} options"
    if named is None:
        return dict(details)
    if not named.isdecimal() or len(named) >= _DIGITS or int(named) >= count:
        return "rotation", f"{named[:20]!r} is none of its {count} rotations: they are counted from 0"
    order = spell_order(rotations(tuple(range(count)))[int(named)])
    return {"order": order, **details, "rotation": str(int(named))}
