"""People mark answers of runs, blind to whose they are: their marks calibrate judges. docs/rounds.md.

What says the same of one question is one task, whichever runs said it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from proctor.exam.question import Question
from proctor.metrics.agreement import PairAgreement, agreement_by_pair, mean_pair_agreement
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.score import Score
from proctor.verify.desk.records import Person
from proctor.verify.rounds.form import Field, FormKind
from proctor.verify.rounds.records import Round
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["KIND", "MarkOptions", "MarkTask", "MarkingAgreement", "marking_agreement"]

Scale = Literal["binary", "ternary"]
_MARKS: Final[Mapping[Scale, Mapping[str, str]]] = {
    "binary": {"2": "Right", "0": "Wrong"},
    "ternary": {"2": "Right", "1": "Partly right", "0": "Wrong"},
}
"""Marks as judges give them: 0, 1, 2; right is 2 on either scale."""
_RULE: Final = "Right: it says the same as one of the right answers. Saying more does no harm, unless it contradicts them. Wording does not count."
_PARTLY: Final = (
    " Partly right: some of what it says is right, and something that matters is missing or wrong."
)


class MarkOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a round of marking: ``scale`` is ``ternary`` (right, partly right, wrong) or ``binary``."""

    scale: Scale = "ternary"


class MarkTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer to be marked.

    Attributes:
        question: that was asked.
        golds: right answers.
        answer: to be marked.
        runs: that gave it; never shown.
        evidence: what the question is about is shown, too.
    """

    question: Question
    golds: tuple[str, ...]
    answer: str
    runs: tuple[str, ...]
    evidence: bool = False


class _Mark(FormKind[MarkTask, MarkOptions]):
    name = "mark"
    title = "Mark answers"
    detail = "Compare answers with those that are known to be right. Nobody is told who gave an answer."
    task = MarkTask
    options = MarkOptions

    def fields(self, task: MarkTask, options: MarkOptions) -> tuple[Field, ...]:  # noqa: ARG002
        rule = _RULE + (_PARTLY if options.scale == "ternary" else "")
        marks = dict(_MARKS[options.scale])
        return (
            Field(name="mark", label="Is the answer right?", type="choice", rule=rule, choices=marks),
            Field(name="reason", label="Why? (You need not say.)", type="text", required=False),
        )

    def question(self, task: MarkTask) -> Question | None:
        return task.question if task.evidence else None

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:
        """Nobody marks answers to a question that they answered: one of them would be their own."""
        from sqlalchemy import select

        t = tables()
        tasks = t.tasks.join(t.rounds, t.rounds.c.id == t.tasks.c.round_id)
        mine = select(t.tasks.c.cluster).select_from(
            tasks.join(t.assignments, t.assignments.c.task_id == t.tasks.c.id)
        )
        of_exams = (t.assignments.c.person_id == person.id, t.rounds.c.kind == "answer")
        answered = set(connection.execute(mine.where(*of_exams)).scalars())
        here = select(t.tasks.c.cluster, t.tasks.c.variant).where(t.tasks.c.round_id == round_.id)
        return {row.cluster for row in connection.execute(here) if row.variant in answered}


KIND = _Mark()


@dataclass(frozen=True, slots=True)
class MarkingAgreement:
    """How far people agree who marked the same answers.

    Attributes:
        pairs: of people: raw agreement and Cohen's kappa.
        mean_raw: mean over the pairs.
        mean_kappa: mean over the pairs.
        alpha: Krippendorff's, ordinal of three marks and nominal of two.
        answers: marked by more than one person.
    """

    pairs: tuple[PairAgreement, ...]
    mean_raw: Score
    mean_kappa: Score
    alpha: Score
    answers: int


def marking_agreement(
    marks: Mapping[str, Mapping[str, int]], clusters: Mapping[str, str], scale: Scale
) -> MarkingAgreement | None:
    """Return how far people agree on marks; None where no answer was marked by two.

    Args:
        marks: by person and answer.
        clusters: of the answers, what intervals draw whole.
        scale: of the marks.
    """
    of: dict[str, list[int]] = {}
    for own in marks.values():
        for answer, mark in own.items():
            of.setdefault(answer, []).append(mark)
    several = {answer: given for answer, given in of.items() if len(given) > 1}
    if not several:
        return None
    groups = [clusters[answer] for answer in several]
    return MarkingAgreement(
        pairs=agreement_by_pair(marks, clusters=clusters),
        mean_raw=mean_pair_agreement(marks, "raw", clusters=clusters),
        mean_kappa=mean_pair_agreement(marks, "kappa", clusters=clusters),
        alpha=krippendorff_alpha(
            list(several.values()),
            level="ordinal" if scale == "ternary" else "nominal",
            clusters=groups,
        ),
        answers=len(several),
    )
