"""Filters as annotators: their verdicts in everybody's form, and agreement with people and each other, counted here by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proctor.ask.clip.filters import FilterResult
from proctor.ask.clip.record import FILTERS, FilterName, FilterVerdict
from proctor.errors import UserError
from proctor.exam.question import Open, Proposed, Question, Text, version_of
from proctor.verify.agreement import agreement_report
from proctor.verify.filter_verdict import (
    ALL_FILTERS,
    filter_annotator,
    filter_verdicts,
    funnel_verdicts,
)
from proctor.verify.store import VerdictStore
from proctor.verify.verdict import AnswerVerdict, Judgment, Verdict

AT = "2026-05-04T10:00:00+00:00"


def candidates(n: int) -> dict[str, Question]:
    made = [
        Question(
            id=f"q{k}", kind="clip", text=f"What is {k}?", form=Open(), proposals=(Proposed(value=Text(text="It is so")),),
            cluster=f"video-{k % 4}", facets={"category": "ordering"},
        )
        for k in range(n)
    ]  # fmt: skip
    return {question.id: question for question in made}


def said(
    id: str, name: FilterName, keep: bool | None, judge: str = "made/judge", **more: Any
) -> FilterVerdict:
    return FilterVerdict(item_id=id, filter=name, keep=keep, judge=judge, **more)


def person(name: str, id: str, value: Judgment) -> Verdict:
    return Verdict(
        candidate_id=id, annotator=name, annotator_kind="human", at=AT, question=AnswerVerdict(value),
        answers=(AnswerVerdict("right"),) if value == "right" else (),
    )  # fmt: skip


def test_a_verdict_carries_reason_evidence_and_template() -> None:
    known = candidates(1)
    verdict = said(
        "q0", "hallucination", False, reason="there is no oil", evidence={"problem": "unsupported", "ids": '["s1"]'},
        details={"template": "filter-hallucination@1", "template_hash": "abc", "calls": "1"},
    )  # fmt: skip
    (found,) = filter_verdicts([verdict], known, at=AT)
    assert found == Verdict(
        candidate_id="q0",
        candidate_hash=version_of(known["q0"]),
        annotator="filter:hallucination/made/judge",
        annotator_kind="filter",
        at=AT,
        question=AnswerVerdict(
            "wrong", reason="there is no oil", evidence={"problem": "unsupported", "ids": '["s1"]'}
        ),
        note="filter-hallucination@1 abc",
    )
    assert filter_annotator(verdict) == found.annotator


def test_what_is_postponed_is_nobodys_word() -> None:
    known = candidates(3)
    verdicts = [said("q0", "tricky", True), said("q1", "tricky", None), said("q2", "tricky", False)]
    found = filter_verdicts(verdicts, known, at=AT)
    assert [(v.candidate_id, v.question.value) for v in found] == [("q0", "right"), ("q2", "wrong")]
    results = [FilterResult(v.item_id, (v,)) for v in verdicts]
    together = funnel_verdicts([*results, FilterResult("q0")][:3], known, at=AT)
    assert [(v.candidate_id, v.question.value, v.annotator) for v in together] == [
        ("q0", "right", ALL_FILTERS),
        ("q2", "wrong", ALL_FILTERS),
    ]
    assert together[1].question.evidence["filter"] == "tricky"


def test_a_drop_by_rule_counts_for_the_filter() -> None:
    known = candidates(3)
    one = [said("q0", "unspecific", True), said("q1", "unspecific", False, judge="rule")]
    assert {v.annotator for v in filter_verdicts(one, known, at=AT)} == {"filter:unspecific/made/judge"}
    two = [*one, said("q2", "unspecific", True, judge="made/eye")]
    assert {v.annotator for v in filter_verdicts(two, known, at=AT)} == {
        "filter:unspecific/made/judge",
        "filter:unspecific/made/eye",
        "filter:unspecific/rule",
    }


def test_a_verdict_on_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="judged 'q9'"):
        filter_verdicts([said("q9", "tricky", True)], candidates(1), at=AT)
    with pytest.raises(UserError, match="judged 'q9'"):
        funnel_verdicts([FilterResult("q9", (said("q9", "tricky", True),))], candidates(1), at=AT)


def opinions(n: int) -> tuple[list[Verdict], list[FilterVerdict]]:
    """Two people, and four filters that err on different questions."""
    people, filters = [], []
    for k in range(n):
        bad = k % 3 == 0
        for name, errs in (("Ana", k % 10 == 1), ("Ben", k % 7 == 2)):
            people.append(person(name, f"q{k}", "wrong" if bad != errs else "right"))
        for place, name in enumerate(FILTERS):
            filters.append(said(f"q{k}", name, (not bad) != (k % (5 + place) == place)))
    return people, filters


def test_agreement_of_filters_with_people_is_that_of_everybody() -> None:
    known = candidates(60)
    people, filters = opinions(60)
    as_annotators = filter_verdicts(filters, known, at=AT)
    results = [FilterResult(id, tuple(v for v in filters if v.item_id == id)) for id in known]
    combined = funnel_verdicts(results, known, at=AT)
    report = agreement_report(known.values(), [*people, *as_annotators, *combined], resamples=50)
    assert report.left_out == {}
    names = [f"filter:{name}/made/judge" for name in FILTERS]
    assert [m.name for m in report.machines] == sorted([*names, ALL_FILTERS])
    keeps = {(v.filter, v.item_id): v.keep for v in filters}
    for machine in report.machines:
        if machine.name == ALL_FILTERS:
            table = Counter(
                (all(keeps[name, p.candidate_id] for name in FILTERS), p.question.value == "right")
                for p in people
            )
        else:
            name = machine.name.removeprefix("filter:").partition("/")[0]
            table = Counter((keeps[name, p.candidate_id], p.question.value == "right") for p in people)  # type: ignore[index]
        line = machine.questions.overall
        assert line.n == 120
        assert (line.both_yes, line.a_only, line.b_only, line.both_no) == (
            table[True, True], table[True, False], table[False, True], table[False, False],
        )  # fmt: skip
        assert line.kappa.value is not None
        assert line.raw.low is not None
    assert report.questions.overall.things == 60  # of people among themselves, filters left out
    assert {line.name for line in report.people} == {"Ana", "Ben"}


def test_verdicts_of_filters_are_kept_in_the_store_of_everybody(tmp_path: Path) -> None:
    known = candidates(6)
    people, filters = opinions(6)
    verdicts = [*people, *filter_verdicts(filters, known, at=AT)]
    with VerdictStore.open(tmp_path / "verification.sqlite") as store:
        assert store.append_many(verdicts) == len(verdicts)
        kept = store.latest()
    key = lambda v: (v.candidate_id, v.annotator)  # noqa: E731
    assert sorted(kept, key=key) == sorted(verdicts, key=key)
