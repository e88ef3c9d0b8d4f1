"""Filters as annotators: their verdicts beside people's, so that one piece of code measures agreement with people.

A filter's name among annotators is ``filter:<name>/<judge>``, that of all of them together ``filter:all``. *Right* means: the
filter keeps the question. A filter that postponed a question has said nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from proctor.ask.clip.record import RULE, FilterVerdict
from proctor.errors import UserError
from proctor.exam.question import Question, version_of
from proctor.verify.verdict import FILTER_PREFIX, AnswerVerdict, Verdict

if TYPE_CHECKING:
    from proctor.ask.clip.filters import FilterResult

__all__ = ["ALL_FILTERS", "filter_annotator", "filter_verdicts", "funnel_verdicts"]

ALL_FILTERS: Final = f"{FILTER_PREFIX}all"
"""The annotator that keeps what all filters keep."""


def filter_annotator(verdict: FilterVerdict) -> str:
    """Return the name under which a filter's verdicts are stored."""
    return (
        f"{FILTER_PREFIX}{verdict.filter}/{verdict.judge}"
        if verdict.judge
        else f"{FILTER_PREFIX}{verdict.filter}"
    )


def filter_verdicts(
    verdicts: Iterable[FilterVerdict], questions: Mapping[str, Question], *, at: str
) -> list[Verdict]:
    """Return filters' verdicts in the form of everybody's.

    What a filter drops by rule, without asking a model, counts for the filter under the name that its other verdicts have.

    Args:
        verdicts: of filters; postponed ones are left out.
        questions: what people judge, by id.
        at: ISO 8601 time with zone.

    Raises:
        UserError: if a verdict is on no candidate.
    """
    given = list(verdicts)
    names = _names(given)
    hashes: dict[str, str] = {}
    found = []
    for verdict in given:
        if verdict.keep is None:
            continue
        details = verdict.details
        hash_ = _hash_of(verdict.item_id, questions, hashes)
        found.append(
            Verdict(
                candidate_id=verdict.item_id,
                candidate_hash=hash_,
                annotator=names[verdict.filter] if verdict.judge == RULE else filter_annotator(verdict),
                annotator_kind="filter",
                at=at,
                question=AnswerVerdict(
                    "right" if verdict.keep else "wrong",
                    reason=verdict.reason,
                    evidence=dict(verdict.evidence),
                ),
                note=f"{details.get('template', '')} {details.get('template_hash', '')}".strip(),
            )
        )
    return found


def funnel_verdicts(
    results: Iterable[FilterResult], questions: Mapping[str, Question], *, at: str
) -> list[Verdict]:
    """Return what all filters together say: right where every one keeps, wrong where one drops; nothing where it is open.

    Args:
        results: of the filters.
        questions: what people judge, by id.
        at: ISO 8601 time with zone.

    Raises:
        UserError: if a result is on no candidate.
    """
    hashes: dict[str, str] = {}
    found = []
    for result in results:
        if result.outcome == "postponed":
            continue
        by = result.dropped_by
        said = AnswerVerdict("right")
        if by is not None:
            said = AnswerVerdict("wrong", reason=by.reason, evidence={"filter": by.filter, **by.evidence})
        found.append(
            Verdict(
                candidate_id=result.item_id,
                candidate_hash=_hash_of(result.item_id, questions, hashes),
                annotator=ALL_FILTERS,
                annotator_kind="filter",
                at=at,
                question=said,
            )
        )
    return found


def _names(verdicts: Sequence[FilterVerdict]) -> dict[str, str]:
    """Return the annotator to whom drops by rule belong, by filter: the one that was asked, if there is only one."""
    found: dict[str, str] = {}
    for name in {verdict.filter for verdict in verdicts}:
        asked = {filter_annotator(v) for v in verdicts if v.filter == name and v.judge != RULE}
        found[name] = asked.pop() if len(asked) == 1 else f"{FILTER_PREFIX}{name}/{RULE}"
    return found


def _hash_of(id_: str, questions: Mapping[str, Question], hashes: dict[str, str]) -> str:
    question = questions.get(id_)
    if question is None:
        raise UserError(f"the filters judged '{id_[:120]}', and there is no such question.", where="filters")
    if id_ not in hashes:
        hashes[id_] = version_of(question)
    return hashes[id_]
