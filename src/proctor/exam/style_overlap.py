"""Do styles of questions overlap? One yes or no of a model for every question and every style.

SMMQG: a question overlaps when two or more styles claim it. Beside that the share that no style claims,
whether its own style is among the claims, and the whole matrix. A question of which any reply could not be read (after one
repair) is in no number and is counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.prediction import total_cost, why_no_reply
from proctor.exam.question import Question, check_questions, proposed_texts
from proctor.llm.converse import Conversation, converse
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, ask_until_read, spoken_text
from proctor.metrics.answer import style_overlap

__all__ = ["OverlapRow", "OverlapTable", "StyleClaim", "StyleClassifier", "read_yes_no", "score_overlap"]

_TOKENS: Final = 64
_FORM: Final = "One word: Yes or No."
_MARKUP: Final = re.compile(r"[*_`~#\"'“”]+")
_LABEL: Final = re.compile(r"^(?:answer|verdict|reply)\s*[:=]\s*", re.IGNORECASE)
_WORD: Final = re.compile(r"\s*(yes|no)\b(.*)", re.IGNORECASE | re.DOTALL)


class StyleClaim(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a model said of one question and one style.

    Attributes:
        qid: the question.
        style: that was asked about.
        said: True for yes; None where nothing could be read.
        failure: why not.
        model: who was asked.
        calls: that it took.
        cost: nano-dollars; None when not known.
    """

    qid: str
    style: str
    said: bool | None = None
    failure: str | None = None
    model: str = ""
    calls: int = 1
    cost: int | None = None


class OverlapRow(msgspec.Struct, frozen=True, kw_only=True):
    """Questions of one true style.

    Attributes:
        style: the style that they were written in; ``all`` for all of them.
        n: questions of which every reply was read.
        unread: questions of which one was not.
        overlap: percentage that two or more styles claim; None without questions.
        none: percentage that no style claims.
        own: percentage whose own style is among the claims.
        claimed: percentage that each style claims, by style.
    """

    style: str
    n: int
    unread: int
    overlap: float | None
    none: float | None
    own: float | None
    claimed: Mapping[str, float]


class OverlapTable(msgspec.Struct, frozen=True, kw_only=True):
    """Overlap by true style, styles sorted; the last row is all questions.

    Attributes:
        rows: one a true style, and ``all``.
        styles: that were asked about: the columns of the matrix.
        failures: replies that could not be read, by the first word of why.
    """

    rows: tuple[OverlapRow, ...]
    styles: tuple[str, ...]
    failures: Mapping[str, int]


def read_yes_no(reply: str) -> bool | None:
    """Return True for a reply that begins with yes, False for no; None for anything else, or for both of them.

    Example:
        >>> read_yes_no("**No**, it asks for one fact.")
        False
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return None
    found = _WORD.match(_LABEL.sub("", _MARKUP.sub("", text).strip()))
    if found is None:
        return None
    said = found[1].lower()
    # "Yes or no?", "Yes / No": a reply that names both in its first line has not decided.
    first_line = found[2].strip().partition("\n")[0]
    if re.match(r"[\s/,|]*(?:or|and)?[\s/,|]*(?:yes|no)\b", first_line, re.IGNORECASE):
        return None
    return said == "yes"


@dataclass(frozen=True, slots=True)
class StyleClassifier:
    """A model that says for each style whether a question is of it.

    Attributes:
        model: full name.
        styles: description of each style by name; those of the benchmark.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        price: nano-dollars of a reply, None when not known.
    """

    model: str
    styles: Mapping[str, str]
    prompts: PromptSet
    secret: FenceSecret
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    replying: Replying = field(default_factory=Replying)

    def __post_init__(self) -> None:
        """Refuse to ask about nothing.

        Raises:
            UserError: without styles, or for one without a description.
        """
        if not self.styles:
            raise UserError("there are no styles to ask about.")
        if empty := [name for name, text in self.styles.items() if not text.strip()]:
            raise UserError(f"the style '{empty[0]}' has no description.")

    def classify(self, questions: Sequence[Question], ask: Ask) -> list[StyleClaim]:
        """Ask about every question and style; in the order of the questions, then of the styles.

        Args:
            questions: with their answers.
            ask: makes the calls.

        Raises:
            UserError: if two questions have one id.
        """
        check_questions(questions)
        pairs = [(question, style) for question in questions for style in self.styles]
        names = [f"{question.id}\n{style}" for question, style in pairs]
        talks = ((n, self._talk(q, style)) for n, (q, style) in zip(names, pairs, strict=True))
        done = dict(converse(talks, ask))
        cut_off = "cancelled: the run ended before it was asked"
        return [
            done.get(name)
            or StyleClaim(qid=question.id, style=style, failure=cut_off, model=self.model, calls=0)
            for name, (question, style) in zip(names, pairs, strict=True)
        ]

    def requests(self, questions: Sequence[Question]) -> Iterator[Request]:
        """Yield the first round's requests without sending any, for estimates."""
        for question in questions:
            for style in self.styles:
                yield self._request(self._messages(question, style))

    def _messages(self, question: Question, style: str) -> tuple[Message, ...]:
        return (
            self.prompts["style-claim"]
            .render(
                self.secret,
                style=style,
                description=self.styles[style],
                question=question.text,
                answer=next(iter(proposed_texts(question)), "(withheld)"),
            )
            .messages
        )

    def _request(self, messages: tuple[Message, ...]) -> Request:
        own = Parameters(temperature=0.0, max_tokens=_TOKENS)
        parameters = self.replying.over(own, self.model, "classifier")
        return Request(model=self.model, messages=messages, parameters=parameters)

    def _talk(self, question: Question, style: str) -> Conversation[StyleClaim]:
        def problem(text: str) -> Unreadable | None:
            return Unreadable("neither_yes_nor_no") if read_yes_no(text) is None else None

        calls = yield from ask_until_read(self._request(self._messages(question, style)), problem, _FORM)
        _, last = calls[-1]
        said = read_yes_no(last.text) if isinstance(last, Reply) else None
        failure = None
        if said is None:
            failure = why_no_reply(last) or f"unparsed: {getattr(last, 'text', '').strip()[:200]}"
        return StyleClaim(
            qid=question.id,
            style=style,
            said=said,
            failure=failure,
            model=self.model,
            calls=len(calls),
            cost=total_cost(((self.model, outcome) for _, outcome in calls), self.price),
        )


def score_overlap(questions: Sequence[Question], claims: Sequence[StyleClaim]) -> OverlapTable:
    """Make the table of overlap.

    Args:
        questions: with their true styles.
        claims: for every question the same styles, each once.

    Raises:
        UserError: if a claim belongs to no question, is there twice, or one is missing.
    """
    styles = tuple(dict.fromkeys(claim.style for claim in claims))
    by_question: dict[str, dict[str, StyleClaim]] = {question.id: {} for question in questions}
    failures: dict[str, int] = {}
    for claim in claims:
        if claim.qid not in by_question:
            raise UserError(f"there is no question '{claim.qid}'.", where="claims of styles")
        if claim.style in by_question[claim.qid]:
            raise UserError(f"two claims of the style '{claim.style}'.", where=claim.qid)
        by_question[claim.qid][claim.style] = claim
        if claim.said is None:
            code = (claim.failure or "unknown").partition(":")[0]
            failures[code] = failures.get(code, 0) + 1
    for qid, found in by_question.items():
        if len(found) < len(styles):
            missing = next(style for style in styles if style not in found)
            raise UserError(f"no model was asked about the style '{missing}'.", where=qid)
    true = sorted({question.facets["style"] for question in questions})
    rows = [
        _row(style, [q for q in questions if q.facets["style"] == style], by_question, styles)
        for style in true
    ]
    rows.append(_row("all", questions, by_question, styles))
    return OverlapTable(rows=tuple(rows), styles=styles, failures=failures)


def _row(
    name: str,
    questions: Sequence[Question],
    by_question: Mapping[str, Mapping[str, StyleClaim]],
    styles: Sequence[str],
) -> OverlapRow:
    read = [q for q in questions if all(claim.said is not None for claim in by_question[q.id].values())]
    positives = [[s for s, claim in by_question[q.id].items() if claim.said] for q in read]
    found = style_overlap(positives, [q.facets["style"] for q in read])
    counted = {style: sum(style in claims for claims in positives) for style in styles}
    return OverlapRow(
        style=name,
        n=found.n,
        unread=len(questions) - found.n,
        overlap=_percent(found.overlap),
        none=_percent(found.unclaimed),
        own=_percent(found.own),
        claimed={style: 100 * n / found.n for style, n in counted.items()} if found.n else {},
    )


def _percent(share: float) -> float | None:
    return None if math.isnan(share) else 100 * share
