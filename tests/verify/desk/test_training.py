"""The training set, what newcomers said of it, and the gate, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.verify.desk import documents, flow, people, training, work
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.records import ConflictError, InvalidError, Item, Person, Sheet
from proctor.verify.desk.training import Reference, Score
from proctor.verify.verdict import AnswerVerdict, Verdict

Pair = Callable[..., Any]
TRAINED = Protocol(training_required=True, repeat_share=0.0)
RIGHT = Reference(
    sheet=Sheet(question="right", answers=("right", "wrong")), why="Both.", whys=("Next.", "Done.")
)


@pytest.fixture
def school(bench: Any, a_pair: Pair) -> Any:
    """Four items, two of them lessons."""
    bench.protocol = TRAINED
    bench.sync(*(a_pair(f"c{n}", "stir", "pour") for n in range(4)))
    for name in ("c1", "c0"):
        bench.do(training.add_training, bench.item(name), RIGHT, actor="boss")
    return bench


def _now(bench: Any, person: Person) -> Person:
    found: Person = bench.see(people.by_id, person.id)
    return found


def _lessons(bench: Any, person: Person) -> list[str]:
    bench.next(person, "training")
    rows = bench.rows("assignments", person_id=person.id, stage="training", live=True, state="open")
    return [row.pid for row in sorted(rows, key=lambda row: row.queue_pos)]


def _newcomer(bench: Any, handle: str = "dev") -> Person:
    found: Person = bench.hire(handle, gate="training")[0]
    return found


# -- the set -----------------------------------------------------------------------------------------------------


def test_the_set_keeps_its_order_and_leaves_the_work(school: Any) -> None:
    lessons = school.desk.read(training.list_training)
    assert [lesson.item.question.id for lesson in lessons] == ["c1", "c0"]
    assert not any(lesson.is_stale for lesson in lessons)
    assert school.state("c0") == "training"
    assert [e.subject for e in school.rows("events", kind="training.added")] == [
        lesson.item.pid for lesson in lessons
    ]


@pytest.mark.parametrize(
    "sheet",
    [
        Sheet(),
        Sheet(question="right"),
        Sheet(question="right", answers=("right", None)),
        Sheet(question="right", answers=("right", "wrong", "wrong")),
        Sheet(question="unsure", answers=("right", "wrong")),
    ],
)
def test_a_reference_judges_everything(school: Any, sheet: Sheet) -> None:
    for change in (training.add_training, training.change_training):
        item = school.item("c2" if change is training.add_training else "c0")
        with pytest.raises(InvalidError):
            school.do(change, item, Reference(sheet=sheet), actor="boss")
    with pytest.raises(InvalidError):
        school.do(
            training.change_training,
            school.item("c0"),
            Reference(sheet=RIGHT.sheet, why="x" * 5_000),
            actor="boss",
        )


def test_work_is_no_lesson(school: Any) -> None:
    ana, ben = school.hire("ana", "ben")
    school.give("c2", ana, ben)
    with pytest.raises(ConflictError, match="dealt as work"):
        school.do(training.add_training, school.item("c2"), RIGHT, actor="boss")
    with pytest.raises(ConflictError, match="already"):
        school.do(training.add_training, school.item("c0"), RIGHT, actor="boss")
    with pytest.raises(InvalidError):
        school.do(training.remove_training, school.item("c3"), actor="boss")
    with pytest.raises(InvalidError):
        school.do(training.change_training, school.item("c3"), RIGHT, actor="boss")


def test_a_change_that_changes_nothing_is_none(school: Any) -> None:
    school.do(training.change_training, school.item("c0"), RIGHT, actor="boss")
    assert school.rows("events", kind="training.changed") == []


def test_what_the_oracle_says_is_proposed_and_what_it_doubts_is_blank(school: Any) -> None:
    item: Item = school.item("c2")
    blank, by_oracle = school.desk.read(lambda c: training.proposed_reference(c, item))
    assert (blank.sheet, by_oracle) == (Sheet(answers=(None, None)), False)
    verdict = Verdict(
        candidate_id="c2",
        annotator="oracle",
        annotator_kind="oracle",
        at="2026-01-01T00:00:00Z",
        question=AnswerVerdict("right", 1.0, reason="asked so"),
        answers=(AnswerVerdict("right", 1.0, reason="next"), AnswerVerdict("unsure")),
    )
    school.append([verdict])
    found, by_oracle = school.desk.read(lambda c: training.proposed_reference(c, item))
    assert by_oracle
    assert found.sheet == Sheet(question="right", answers=("right", None))
    assert found.whys[0] == "next"
    assert found.why == "asked so"


def test_a_lesson_that_changes_or_goes_stays_a_lesson(school: Any, a_pair: Pair) -> None:
    dev = _newcomer(school)
    first, second = _lessons(school, dev)
    school.submit(first, dev, "+ +-")
    others = [pair for name, pair in school.pairs.items() if name != "c1"]
    school.sync(a_pair("c1", "stir", "pour", "wait"), *others)
    assert school.state("c1") == "training"
    assert [one.is_stale for one in school.desk.read(training.list_training)] == [True, False]
    school.sync(*others)
    assert school.state("c1") == "gone"
    assert school.desk.read(lambda c: flow.pending_training(c, dev, TRAINED)) == 1
    school.submit(second, dev, "+ +-")
    assert _now(school, dev).gate == "waiting"  # a lesson that nobody can open holds nobody up
    school.sync(a_pair("c1", "stir", "pour"), *others)
    assert school.state("c1") == "training"


# -- feedback and scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("judged", "agreed"), [("+ +-", 3), ("+ ++", 2), ("+ -+", 1), ("- ", 0)])
def test_statements_are_compared_with_the_reference(school: Any, judged: str, agreed: int) -> None:
    dev = _newcomer(school)
    first, _ = _lessons(school, dev)
    school.submit(first, dev, judged)
    sheet = school.look(first, dev).submitted
    rows = school.desk.read(lambda c: training.feedback_on(c, school.item("c1"), sheet))
    assert [(row.label, row.right, row.why) for row in rows] == [
        ("Question", "right", "Both."),
        ("Answer 1", "right", "Next."),
        ("Answer 2", "wrong", "Done."),
    ]
    assert sum(row.yours == row.right for row in rows) == agreed
    assert school.desk.read(lambda c: training.score_of(c, dev)) == Score(agreed, 3, 1, 2)
    assert school.desk.read(training.tallies)[school.item("c1").id] == (agreed, 3, 1)
    assert school.verdicts() == []  # training is never a verdict


def test_a_wrong_question_asks_for_nothing_more(school: Any) -> None:
    wrong = Reference(sheet=Sheet(question="wrong"), why="Unclear.")
    school.do(training.change_training, school.item("c1"), wrong, actor="boss")
    dev = _newcomer(school)
    school.submit(_lessons(school, dev)[0], dev, "+ +-")
    assert school.desk.read(lambda c: training.score_of(c, dev)) == Score(0, 1, 1, 2)


def test_scores_of_all_are_those_of_each(school: Any) -> None:
    crew = [_newcomer(school, handle) for handle in ("dev", "eva", "fay")]
    for person, judged in zip(crew, ("+ +-", "+ ++", "- "), strict=True):
        for pid in _lessons(school, person):
            school.submit(pid, person, judged)
    every = school.desk.read(training.scores)
    for person in crew:
        assert every[person.id] == school.desk.read(lambda c, p=person: training.score_of(c, p))
    assert [every[p.id].agreed for p in crew] == [6, 4, 0]


def test_feedback_of_what_is_no_lesson_is_refused(school: Any) -> None:
    with pytest.raises(InvalidError):
        school.desk.read(lambda c: training.feedback_on(c, school.item("c3"), Sheet()))


# -- the gate ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "judged", "then"),
    [
        ("coordinator", "+ +-", "waiting"),
        ("automatic", "+ +-", "open"),
        ("automatic", "+ ++", "waiting"),
    ],
)
def test_the_gate_after_the_last_lesson(school: Any, gate: Any, judged: str, then: str) -> None:
    school.protocol = Protocol(training_required=True, gate=gate, pass_at=0.8, repeat_share=0.0)
    dev = _newcomer(school)
    first, second = _lessons(school, dev)
    school.submit(first, dev, judged)
    assert _now(school, dev).gate == "training"
    school.submit(second, dev, judged)
    assert _now(school, dev).gate == then


def test_nothing_but_training_before_the_gate(school: Any) -> None:
    dev = _newcomer(school)
    (ben,) = school.hire("ben")
    school.give("c2", dev, ben)
    first, second = _lessons(school, dev)
    assert school.next(dev) == first
    school.submit(first, dev, "+ +-")
    school.submit(second, dev, "+ +-")
    assert school.next(_now(school, dev)) is None
    school.do(people.set_gate, dev, "open", actor="boss")
    assert school.next(_now(school, dev)) is not None


def test_who_was_let_in_meanwhile_is_not_sent_back(school: Any) -> None:
    dev = _newcomer(school)
    first, second = _lessons(school, dev)
    school.submit(first, dev, "- ")
    school.do(people.set_gate, dev, "open", actor="boss")
    school.submit(second, dev, "- ")  # ``dev`` as the page knew them: still in training
    assert _now(school, dev).gate == "open"


def test_a_lesson_that_cannot_be_judged_holds_nobody_up(school: Any) -> None:
    school.do(documents.set_protocol, TRAINED, actor="boss")
    dev = _newcomer(school)
    first, second = _lessons(school, dev)
    school.submit(first, dev, "+ +-")
    school.do(work.cant_judge, second, dev, reason="media")
    assert _now(school, dev).gate == "waiting"


def test_removing_takes_open_lessons_away_and_keeps_what_was_said(school: Any) -> None:
    dev = _newcomer(school)
    first, second = _lessons(school, dev)
    school.submit(first, dev, "+ +-")
    school.do(training.remove_training, school.item("c1"), actor="boss")
    school.do(training.remove_training, school.item("c0"), actor="boss")
    assert school.state("c0") == school.state("c1") == "undealt"
    assert school.rows("assignments", pid=second)[0].state == "moved"
    assert len(school.rows("responses")) == 1
    assert school.desk.read(lambda c: training.score_of(c, dev)) == Score(0, 0, 0, 0)
