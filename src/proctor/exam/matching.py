"""Replies to questions with options that no rule reads: a model says which option they mean, and is counted apart.

InstructionBench's supplement has a matcher by a model (Table 33); the words are ours. It is shown the question, the options as they
were shown, and the reply, and not which option is right. What it says is read by the same rules as any letter: one that names no
option, an option that there is not, or several, has matched none, and the reply stays unread (wrong, and counted apart). Replies that
were cut off are not sent, for what they would have come to is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import NO_LETTER, choice_of, lettered, order_of, printed_letter, right_letter
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item
from proctor.llm.message import Parameters
from proctor.llm.structured import Unreadable, spoken_text
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.reading import PARSER, parse_letter

__all__ = [
    "OPTIONS_MARKER",
    "OptionsMarker",
    "Turn",
    "count_readings",
    "is_matched",
    "matched_letters",
    "matched_marks",
    "turn_of",
    "unread",
]

_PARAMETERS: Final = Parameters(temperature=0.0, max_tokens=256)
_LIMITS: Final = {"question": 4_000, "options": 2_000, "reply": 4_000}
_UNREAD: Final = frozenset({"none", "conflict"})
"""Rules of replies that say something and of which no rule reads a letter."""
_NONE: Final = re.compile(
    r"\W*(?:none(?: of (?:them|these|the (?:options|above)))?|no option)\W*", re.IGNORECASE
)
_LETTERS: Final = re.compile(r"\W*[A-Za-z](?:(?:\W|\band\b|\bor\b)+[A-Za-z]\b)*\W*")

_MATCHED_BY: Final = f"{PARSER} + "
"""How the judge is named whose marks are by rule where a rule reads a letter, and by a model where none does."""

Turn = tuple[str, str]
"""A question, and the rotation of its options; empty where there is none."""


def turn_of(record: Prediction | Judgement) -> Turn:
    """Return what a record is about."""
    return record.item_id, record.details.get("rotation", "")


def unread(items: Sequence[Item], predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the predictions whose reply says something and of which no rule reads an option.

    Raises:
        UserError: if an order of options is none of the item's.
    """
    by_id = {item.id: item for item in items}
    answered = (p for p in predictions if p.answer is not None)
    return [p for p in answered if choice_of(p, by_id[p.item_id]).rule in _UNREAD]


@dataclass(frozen=True, slots=True)
class OptionsMarker:
    """Which option a reply means: the level says whether one was named, the rationale its letter as shown."""

    name: str = "options"
    template: str = "match-options"
    scale: str = "binary"
    parameters: Parameters = _PARAMETERS
    form: str = "The letter of one option and nothing else, or the word: none"
    empty: str = "unparsed"

    def prompt(
        self,
        item: Item,
        prediction: Prediction,
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> MarkPrompt | str:
        """Return what is asked."""
        reply = spoken_text(prediction.answer or "")
        if isinstance(reply, Unreadable):
            return f"unparsed: {reply.reason}"
        form, order = item.question.form, order_of(prediction, item)
        rendered = prompts.render(
            self.template,
            _LIMITS,
            question=item.question.text,
            options=lettered(form.options if isinstance(form, Choice) else (), order),
            reply=reply,
            letters=list(LETTERS[: len(order)]),
        )
        return MarkPrompt(rendered)

    def read(self, reply: str) -> Reading:
        """Read the letter that is named, if it is one."""
        text = spoken_text(reply)
        if isinstance(text, Unreadable):
            return Reading(None, problem=text, failure=f"unparsed: {text.reason}")
        if _NONE.fullmatch(text):
            return Reading(0)
        if letter := parse_letter(text, len(LETTERS)).letter:
            return Reading(1, letter)
        if _LETTERS.fullmatch(text) or parse_letter(text, len(LETTERS)).rule == "conflict":
            return Reading(0)
        problem = Unreadable("no_verdict", " ".join(text.split())[:200])
        return Reading(None, problem=problem, failure=f"unparsed: {problem.detail}")


OPTIONS_MARKER: Final = OptionsMarker()


# -- marks -------------------------------------------------------------------------------------------------------------


def matched_marks(
    items: Sequence[Item],
    by_rule: Iterable[Judgement],
    matches: Iterable[tuple[Prediction, Judgement]],
    matcher: str,
) -> list[Judgement]:
    """Return the marks of a run whose unread replies went to a model, all under one judge's name.

    ``details["matched"]`` says of each of those: ``yes``, ``none``, or ``failed`` where the model said nothing that can be read.

    Args:
        items: with options.
        by_rule: marks of all answers by their letters.
        matches: the replies that were ``unread``, each with what the model said of it.
        matcher: its name.
    """
    by_id = {item.id: item for item in items}
    found = {turn_of(p): _mark(by_id[p.item_id], p, said) for p, said in matches}
    judge = f"{_MATCHED_BY}{matcher}"
    return [msgspec.structs.replace(found.get(turn_of(mark), mark), judge=judge) for mark in by_rule]


def _mark(item: Item, prediction: Prediction, said: Judgement) -> Judgement:
    form, order = item.question.form, order_of(prediction, item)
    options = len(form.options) if isinstance(form, Choice) else 0
    shown = said.rationale if said.score and said.rationale in LETTERS[:options] else ""
    printed = printed_letter(shown, order) if shown else ""
    told = "yes" if shown else "none" if said.score is not None else "failed"
    why = f"{NO_LETTER}; {said.failure or 'the model matched no option'}"
    rotation = prediction.details.get("rotation")
    details = {**said.details, "matched": told} | ({} if rotation is None else {"rotation": rotation})
    return msgspec.structs.replace(
        said,
        score=2 if printed and printed == right_letter(item) else 0,
        rationale=f"{printed} (matched by a model)" if printed else why,
        failure=None,
        details=details | ({"letter": printed, "shown_letter": shown} if printed else {}),
    )


def is_matched(judgements: Sequence[Judgement]) -> bool:
    """Tell whether marks are of letters of which a model read some."""
    return any(judgement.judge.startswith(_MATCHED_BY) for judgement in judgements)


def matched_letters(judgements: Iterable[Judgement], items: Sequence[Item]) -> dict[Turn, str]:
    """Return the letters, as printed, of the options that a model matched.

    Raises:
        UserError: if one of them is no letter of the question.
    """
    by_id = {item.id: item for item in items}
    found: dict[Turn, str] = {}
    for judgement in judgements:
        if judgement.details.get("matched") != "yes":
            continue
        letter, form = judgement.details.get("letter", ""), by_id[judgement.item_id].question.form
        if letter not in set(LETTERS[: len(form.options) if isinstance(form, Choice) else 0]):
            raise UserError(
                f"{letter[:40]!r}, which a model is said to have matched, is no letter of the question.",
                where=judgement.item_id,
                hint="mark the run again: proctor judge --match-options MODEL",
            )
        found[turn_of(judgement)] = letter
    return found


def count_readings(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Count how the replies of a run were read: by rule, by a model, or not; and how often the model failed."""
    marked = [j for j in judgements if j.failure is None]
    told = Counter(j.details.get("matched", "") for j in marked)
    unread = sum(j.rationale.startswith(NO_LETTER) for j in marked)
    found = {
        "read by rule": len(marked) - told["yes"] - unread,
        "matched by a model": told["yes"],
        "unread": unread,
    }
    return found | ({"matching failed": told["failed"]} if told["failed"] else {})
