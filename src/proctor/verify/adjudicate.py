"""Settling a candidate: what the annotators agree on, what an adjudicator has to decide, and the merged result.

The rules are those of the published benchmark (ProMQA), stated for any number of annotators of any
kind; with two people and the default ``Acceptance`` they are exactly the published ones:

* A *case* has one row for each machine answer and one for each answer that an annotator wrote. A row of the
  machine starts with what the annotators agree on; a row that a person wrote always starts open, because nobody
  else has seen it yet. When the question itself is in conflict, everything is open.
* Rows are shown in another order than their source order, so that nobody sees who wrote what. The published order
  is one fixed permutation for each number of rows, under which a lone human answer always comes first; the
  *blind* order (default) is drawn for each candidate.
* The merge walks the shown order, keeps what is right, and appends what the adjudicator wrote. Nothing is
  de-duplicated here.

Who is an annotator does not matter to any of this: the oracle alone, or one person, is an annotation of size one.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.question import Question, proposed_texts
from proctor.records import content_hash
from proctor.verify.verdict import AnnotatorKind, AnswerVerdict, Judgment, Verdict

__all__ = [
    "Acceptance",
    "Accepted",
    "Approver",
    "Case",
    "Merge",
    "Order",
    "Quorum",
    "Row",
    "Settled",
    "check_adjudication",
    "find_adjudication",
    "merge",
    "open_case",
    "settle",
    "shown_order",
]

Quorum = Literal["all", "any", "majority"]
"""``all``: everybody who was asked says the same, and nobody is unsure. ``any``: one "right" is enough to accept,
only a common "wrong" rejects. ``majority``: more than half of those who are sure."""

Order = Literal["blind", "published"]
Approver = Literal["annotator", "adjudicator", "oracle", "model"]
Settled = Literal["right", "wrong"]
"""What is decided; None stands for what is not."""


class Acceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whose judgements count, and when they settle something.

    Attributes:
        by: kinds of annotators that have a vote.
        quorum: see ``Quorum``.
        at_least: votes below this number settle nothing.
        min_confidence: in [0, 1]; a judgement that states a lower confidence counts as unsure. Judgements without
            a stated confidence (people's) are taken at their word.
    """

    by: tuple[AnnotatorKind, ...] = ("human",)
    quorum: Quorum = "all"
    at_least: int = 1
    min_confidence: float = 0.0

    def vote(self, verdict: AnswerVerdict) -> Judgment:
        """Return what a judgement counts as."""
        unsure = verdict.confidence is not None and not verdict.confidence >= self.min_confidence
        return "unsure" if unsure else verdict.value

    def settle(self, votes: Sequence[Judgment]) -> Settled | None:
        """Return what the votes settle, None when they leave it open."""
        return settle(votes, self.quorum) if len(votes) >= max(1, self.at_least) else None


def settle(votes: Sequence[Judgment], quorum: Quorum = "all") -> Settled | None:
    """Return what these votes settle under a quorum, None when it stays open; no votes settle nothing."""
    right, wrong = votes.count("right"), votes.count("wrong")
    if not votes:
        return None
    if quorum == "any" and right:
        return "right"
    if quorum == "majority":
        return None if right == wrong else "right" if right > wrong else "wrong"
    if right == len(votes):
        return "right"
    return "wrong" if wrong == len(votes) else None


# -- the case ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One answer of a case.

    Attributes:
        text: the answer.
        source: ``machine`` when it was generated, ``human`` when an annotator wrote it.
        index: its place among the candidate's answers; None for an annotator's answer.
        annotator: who wrote it; empty for the machine. Never shown to an adjudicator.
        init: what is settled already; None is for the adjudicator to decide.
        approver: who settled it when it is settled as right.
    """

    text: str
    source: Literal["machine", "human"]
    index: int | None = None
    annotator: str = ""
    init: Settled | None = None
    approver: Approver = "annotator"


@dataclass(frozen=True)
class Case:
    """What an adjudicator gets to see of one candidate.

    Attributes:
        candidate_id: what it is about.
        question: the question's text.
        question_init: what is settled about the question, None when in conflict.
        rows: in *source order*: machine answers, then each annotator's answers.
        shown: for each place of the shown list the index into ``rows``.
        question_approver: who settled the question.
        annotators: how many verdicts it was opened from.
    """

    candidate_id: str
    question: str
    question_init: Settled | None
    rows: tuple[Row, ...]
    shown: tuple[int, ...]
    question_approver: Approver = "annotator"
    annotators: int = 0

    @property
    def shown_rows(self) -> tuple[Row, ...]:
        """The rows in the order in which they are shown and merged."""
        return tuple(self.rows[i] for i in self.shown)

    @property
    def rejected(self) -> bool:
        """True when the annotators agree that the question is not acceptable; there is nothing to adjudicate."""
        return self.question_init == "wrong"

    @property
    def needs_adjudication(self) -> bool:
        """True when an adjudicator has to decide something."""
        if self.rejected:
            return False
        return self.question_init is None or any(row.init is None for row in self.rows)

    @property
    def may_add(self) -> bool:
        """True when the adjudicator may write answers: only when the question was in conflict (ProMQA)."""
        return self.question_init is None

    @cached_property
    def hash(self) -> str:
        """Content hash of what was to be decided; the shown order is no part of it."""
        rows = [(row.text, row.source, row.annotator, row.init) for row in self.rows]
        return content_hash([self.candidate_id, self.question, self.question_init, rows])


def open_case(
    asked: Question,
    verdicts: Iterable[Verdict],
    *,
    question: Acceptance | None = None,
    answers: Acceptance | None = None,
    order: Order = "blind",
    seed: int = 0,
) -> Case:
    """Open the case of one question of any kind from its annotators' verdicts; adjudicators' verdicts are left out.

    Annotators count in the order of their names, so that the order in which they saved changes nothing.

    Args:
        asked: what was judged; verdicts are parallel to its proposals.
        verdicts: the latest verdict of each annotator on this question.
        question: when the question is settled; people who all agree by default.
        answers: when an answer is settled; people who all agree by default.
        order: ``blind`` or ``published``.
        seed: of the run; the blind order also depends on the candidate's id.

    Raises:
        UserError: if a verdict is about another candidate or judges another number of answers.
    """
    question, answers = question or Acceptance(), answers or Acceptance()
    given = sorted((v for v in verdicts if v.role == "annotator"), key=lambda v: v.annotator)
    for verdict in given:
        _check_fit(asked, verdict)
    on_question = [v for v in given if v.voice in question.by]
    init = question.settle([question.vote(v.question) for v in on_question])
    judging = [v for v in given if v.voice in answers.by and v.question.value != "wrong" and v.answers]
    rows = [_machine_row(text, i, judging, answers, init) for i, text in enumerate(proposed_texts(asked))]
    rows += [Row(text, "human", annotator=v.annotator) for v in given for text in v.own_answers]
    return Case(
        candidate_id=asked.id,
        question=asked.text,
        question_init=init,
        rows=tuple(rows),
        shown=shown_order(len(rows), asked.id, order=order, seed=seed),
        question_approver=_approver(v for v in on_question if question.vote(v.question) == "right"),
        annotators=len(given),
    )


def _check_fit(asked: Question, verdict: Verdict) -> None:
    where = f"verdict of '{verdict.annotator}' on candidate '{verdict.candidate_id}'"
    if verdict.candidate_id != asked.id:
        raise UserError(f"it was used for candidate '{asked.id}'.", where=where)
    if not _fits(verdict, len(asked.proposals)):
        raise UserError(
            f"it judges {len(verdict.answers)} answers, the candidate has {len(asked.proposals)}.",
            where=where,
            hint="the candidate was edited after the verdict, or the verdict is incomplete; have it judged again",
        )


def _fits(verdict: Verdict, rows: int) -> bool:
    """True when every answer is judged; who does not accept the question need not judge any, and filters judge none."""
    needless = verdict.question.value == "wrong" or (
        not verdict.answers and (verdict.question.value == "unsure" or verdict.voice == "filter")
    )
    return needless or len(verdict.answers) == rows


def _machine_row(
    text: str, index: int, judging: Sequence[Verdict], rule: Acceptance, question: Settled | None
) -> Row:
    votes = [rule.vote(v.answers[index]) for v in judging]
    init = rule.settle(votes) if question is not None else None
    approver = _approver(v for v, vote in zip(judging, votes, strict=True) if vote == "right")
    return Row(text, "machine", index=index, init=init, approver=approver)


def _approver(approving: Iterable[Verdict]) -> Approver:
    """Name the most trusted kind among those who said "right"."""
    kinds = {v.annotator_kind for v in approving}
    if "human" in kinds or not kinds:
        return "annotator"
    return "model" if "model" in kinds else "oracle"


def shown_order(n: int, candidate_id: str, *, order: Order = "blind", seed: int = 0) -> tuple[int, ...]:
    """Return for each shown place the index of the row in source order.

    The published order re-seeds Python's generator with 42 for every case, which makes it a fixed permutation for
    each ``n``: ``(1, 0)``, ``(1, 0, 2)``, ``(2, 1, 3, 0)``, ... (ProMQA).
    """
    if order == "published":
        rng = random.Random(42)  # noqa: S311
    else:
        digest = hashlib.sha256(f"adjudication order\x00{seed}\x00{candidate_id}".encode()).digest()
        rng = random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311
    places = list(range(n))
    rng.shuffle(places)
    return tuple(places)


# -- the merge -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that was let pass; ``index`` is its place among the candidate's answers, if it has one."""

    text: str
    source: Literal["machine", "annotator", "adjudicator"]
    approved_by: Approver
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """The outcome of a case.

    Attributes:
        state: ``accepted``; ``rejected`` (the question is not acceptable); ``open`` (an adjudicator is needed).
        question_approved_by: who let the question pass.
        answers: in the shown order, then the adjudicator's own.
        open_rows: how many rows nobody has decided.
    """

    state: Literal["accepted", "rejected", "open"]
    question_approved_by: Approver = "annotator"
    answers: tuple[Accepted, ...] = ()
    open_rows: int = 0


def check_adjudication(case: Case, verdict: Verdict) -> None:
    """Make sure that an adjudicator's verdict belongs to this case.

    Raises:
        UserError: if it is about another candidate or another state of the case, or judges another number of rows.
    """
    where = f"adjudication of '{verdict.annotator}' on candidate '{verdict.candidate_id}'"
    if verdict.candidate_id != case.candidate_id or verdict.role != "adjudicator":
        raise UserError(f"it is not an adjudication of candidate '{case.candidate_id}'.", where=where)
    if verdict.case_hash and verdict.case_hash != case.hash:
        raise UserError(
            "an annotator has changed a verdict since it was given.", where=where, hint="adjudicate it again"
        )
    if not _fits(verdict, len(case.rows)):
        raise UserError(
            f"it judges {len(verdict.answers)} answers, the case has {len(case.rows)}.",
            where=where,
            hint="adjudicate it again",
        )


def find_adjudication(case: Case, verdicts: Iterable[Verdict]) -> tuple[Verdict | None, str]:
    """Return the last adjudication that belongs to this case; without one, why the last one does not.

    The last one is the latest by its own time, by the adjudicator's name where times are equal.
    """
    outdated = ""
    given = [v for v in verdicts if v.role == "adjudicator" and v.candidate_id == case.candidate_id]
    for verdict in sorted(given, key=lambda v: (v.at, v.annotator), reverse=True):
        try:
            check_adjudication(case, verdict)
        except UserError as error:
            outdated = outdated or error.message
        else:
            return verdict, ""
    return None, outdated


def merge(case: Case, adjudication: Verdict | None = None) -> Merge:
    """Return the outcome of a case (ProMQA). What was settled stays settled, whatever the adjudicator says.

    An adjudicator who is unsure of the question leaves the case open; one who is unsure of an answer does not
    let it pass.

    Raises:
        UserError: if the adjudication does not belong to the case (``check_adjudication``).
    """
    if case.rejected:
        return Merge("rejected")
    undecided = sum(row.init is None for row in case.rows)
    if not case.needs_adjudication:
        return Merge("accepted", case.question_approver, _settled(case))
    if adjudication is None:
        return Merge("open", case.question_approver, _settled(case), undecided)
    check_adjudication(case, adjudication)
    value = case.question_init or adjudication.question.value
    if value == "unsure":
        return Merge("open", open_rows=undecided)
    if value == "wrong":
        return Merge("rejected", "adjudicator")
    judged = dict(enumerate(adjudication.answers))
    kept = [_accept(case.rows[i], judged.get(i)) for i in case.shown]
    added = [Accepted(text, "adjudicator", "adjudicator") for text in adjudication.own_answers]
    approver = case.question_approver if case.question_init else "adjudicator"
    return Merge("accepted", approver, (*(a for a in kept if a is not None), *added))


def _settled(case: Case) -> tuple[Accepted, ...]:
    kept = (_accept(row, None) for row in case.shown_rows)
    return tuple(a for a in kept if a is not None)


def _accept(row: Row, judged: AnswerVerdict | None) -> Accepted | None:
    approver: Approver = row.approver if row.init is not None else "adjudicator"
    value = row.init or (judged.value if judged is not None else "unsure")
    if value != "right":
        return None
    return Accepted(row.text, "machine" if row.source == "machine" else "annotator", approver, row.index)
