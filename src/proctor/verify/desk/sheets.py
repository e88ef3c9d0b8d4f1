"""The sheet: what is on a page to be decided, and when a filled-in one is complete."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from proctor.said import say
from proctor.verify.desk.records import MAX_OWN_ANSWERS, MAX_TEXT, InvalidError, Sheet
from proctor.verify.verdict import Judgment

__all__ = ["Cards", "check_sheet", "is_bad_text"]


@dataclass(frozen=True, slots=True)
class Cards:
    """What is to be decided on a page.

    Attributes:
        question_open: the question is to be judged (an adjudicator may find it settled).
        texts: of the answers, in the order shown.
        targets: for each card its place in source order: the candidate's answers, then the annotators' own.
        may_add: own answers: ``yes``, ``no``, or ``if-valid`` (an adjudicator who lets an open question pass).
        reasons: codes of the reasons why the question may be wrong.
    """

    question_open: bool
    texts: tuple[str, ...]
    targets: tuple[int, ...]
    may_add: Literal["yes", "no", "if-valid"] = "yes"
    reasons: Collection[str] = ()


def check_sheet(sheet: Sheet, cards: Cards) -> Sheet:
    """Return a sheet ready to be kept: complete, trimmed, without what does not count.

    Who rejects the question says nothing of its answers; what the draft held of them stays in the draft.

    Raises:
        InvalidError: with every field that is missing or wrong, in the order of the page.
    """
    errors: list[tuple[str, str]] = []
    if cards.question_open and sheet.question not in ("right", "wrong"):
        errors.append(("question", say("Say first whether the question is valid: Yes or No.")))
    errors += [("reasons", say("There is no such reason."))] * any(
        r not in cards.reasons for r in sheet.reasons
    )
    valid = not cards.question_open or sheet.question == "right"
    answers: tuple[Judgment | None, ...] = ()
    own: tuple[str, ...] = ()
    if valid:
        errors += _missing_answers(sheet, cards)
        answers = sheet.answers
        own = tuple(text for raw in sheet.own_answers if (text := raw.strip()))
        errors += _wrong_texts(own, cards)
    if is_bad_text(sheet.note):
        errors.append(("note", say("A note holds at most {most:,} characters of text.", most=MAX_TEXT)))
    if errors:
        raise InvalidError(errors)
    reasons = sheet.reasons if sheet.question == "wrong" else ()
    return Sheet(
        question=sheet.question if cards.question_open else None,
        reasons=tuple(dict.fromkeys(reasons)),
        answers=answers,
        own_answers=own,
        note=sheet.note.strip(),
    )


def _missing_answers(sheet: Sheet, cards: Cards) -> list[tuple[str, str]]:
    if len(sheet.answers) > len(cards.targets):
        return [
            (
                "answers",
                say(
                    "There are {count} answers, {judged} were judged.",
                    count=len(cards.targets),
                    judged=len(sheet.answers),
                ),
            )
        ]
    given = (*sheet.answers, *([None] * (len(cards.targets) - len(sheet.answers))))
    return [
        (f"answers.{n}", say("Answer {number} is not judged yet: is it correct, Yes or No?", number=n + 1))
        for n, value in enumerate(given)
        if value not in ("right", "wrong")
    ]


def _wrong_texts(own: Sequence[str], cards: Cards) -> list[tuple[str, str]]:
    if own and cards.may_add == "no":
        return [("own_answers", say("No answers can be added to this item."))]
    if len(own) > MAX_OWN_ANSWERS:
        return [
            (
                "own_answers",
                say(
                    "At most {most} answers of your own; there are {count}.",
                    most=MAX_OWN_ANSWERS,
                    count=len(own),
                ),
            )
        ]
    return [
        (
            f"own_answers.{n}",
            say(
                "Your answer {number} is longer than {most:,} characters, or is not text.",
                number=n + 1,
                most=MAX_TEXT,
            ),
        )
        for n, text in enumerate(own)
        if is_bad_text(text)
    ]


def is_bad_text(text: str) -> bool:
    """True for what is too long, or holds what no text holds (control characters, halves of characters)."""
    return len(text) > MAX_TEXT or any(
        unicodedata.category(c) in ("Cs", "Cc") and c not in "\n\t\r" for c in text
    )
