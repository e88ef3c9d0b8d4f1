"""A small exam about moments of two activities with four runs, made by hand, and its page's data."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment import KIND
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Gold, Item, Proposed, Question, Text
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.records import Dropped
from proctor.report.data import About, Asked, Exam, ReportData, Role, Run, Stage
from proctor.report.moment import moment_sections
from proctor.verify.verdict import AnnotatorKind, AnswerVerdict, Judgment, Verdict

QUICK = Resampling(resamples=200)
TEA = TaskGraph(
    "tea",
    "Tea",
    (
        Step("0", "START"),
        Step("1", "Boil-Boil one cup of water"),
        Step("2", "Put-Put the bag into the mug"),
        Step("3", "Pour-Pour the water into the mug"),
        Step("4", "Stir-Stir"),
        Step("9", "END"),
    ),
    (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4"), ("4", "9")),
    "0",
    "9",
)
SHELF = TaskGraph("shelf", "Shelf", (Step("a", "Fix the board"), Step("b", "Fix the board")), (("a", "b"),))
GRAPHS = {"tea": TEA, "shelf": SHELF}


def make_item(number: int, type_: str = "next", text: str = "") -> Item:
    """Item ``n``: after boiling (with too much water) and before pouring; every second one is noisy."""
    shelf = number % 3 == 2
    mistakes = (Mistake("measurement", "two cups"),)
    boiled = Performed("1", "Boil two cups of water", "Boil one cup of water", mistakes, 1.0, 61.5)
    example = Example(
        id=f"e{number}",
        clip_id=f"r{number % 12}_1",
        recording_id=f"r{number % 12}",
        activity_id="shelf" if shelf else "tea",
        activity_name="Shelf" if shelf else "Tea",
        type=type_,
        end=61.5,
        state="ongoing",
        noisy=number % 2 == 1,
        current=Performed("a", "Fix the board") if shelf else boiled,
        next_steps=(StepRef("2", "Put the bag into the mug"),),
    )
    question = question_about(example, f"i{number}", text or f"What should I do now, in case {number}?")
    question = msgspec.structs.replace(question, provenance={"candidate": f"c{number}", "generator": "rules"})
    second = Text(text="You can put in the bag.", kind="suggestion")
    golds = (
        Gold(value=Text(text="Put the bag into the mug.")),
        Gold(value=second, written_by="annotator", approved_by="adjudicator"),
    )
    return Item(question=question, golds=golds)


def make_run(name: str, items: tuple[Item, ...], marks: str, role: Role = "system", **details: str) -> Run:
    """One mark an item: 0, 1, 2, f (failed), u (unscored), - (not asked); repeated as needed."""
    predictions, judgements = [], []
    for n, item in enumerate(items):
        mark = marks[n % len(marks)]
        if mark == "-":
            continue
        failed = mark == "f"
        predictions.append(
            Prediction(
                item_id=item.id,
                predictor=name,
                answer=None if failed else f"Answer of {name} to {item.id}",
                failure="refusal: I cannot say" if failed else None,
                frame_times=() if failed else (1.0, 2.0),
                details=details,
            )
        )
        if not failed:
            judgements.append(
                Judgement(
                    item_id=item.id,
                    predictor=name,
                    judge="rules 1",
                    score=None if mark == "u" else int(mark),
                    rationale=f"because of {mark}",
                    failure="unreadable: what" if mark == "u" else None,
                )
            )
    table = score_run(
        KIND, items, predictions, {KIND.measured.judge: judgements}, benchmark="small", resampling=QUICK
    )
    return Run(name, name, role, tuple(predictions), tuple(judgements), table)


def make_verdicts(items: tuple[Item, ...]) -> tuple[Verdict, ...]:
    """Two people who disagree on the second answer of item 0, and the oracle, who drops item 1."""
    found = []
    for n, item in enumerate(items):
        for name in ("ana", "bo", "oracle"):
            kind: AnnotatorKind = "oracle" if name == "oracle" else "human"
            second: Judgment = "wrong" if (n == 0 and name == "bo") else "right"
            dropped = name == "oracle" and n == 1
            found.append(
                Verdict(
                    candidate_id=item.id,
                    annotator=name,
                    annotator_kind=kind,
                    at="2026-01-01T00:00:00Z",
                    question=AnswerVerdict(
                        "wrong" if dropped else "right", reason="vague" if dropped else ""
                    ),
                    answers=(AnswerVerdict("right"), AnswerVerdict(second)),
                )
            )
    return tuple(found)


def small_items(count: int = 12) -> tuple[Item, ...]:
    """Items of at most twelve recordings and three types."""
    return tuple(make_item(n, ("next", "missing", "order")[n % 3]) for n in range(count))


def small_exam(items: tuple[Item, ...] | None = None) -> Exam:
    """A system, a weaker one with failures, a floor, an upper bound."""
    items = items or small_items()
    runs = (
        make_run("weak", items, "01f0u-"),
        make_run("strong", items, "2221"),
        make_run("constant", items, "0100", "floor"),
        make_run("annotations", items, "2", "upper"),
    )
    return Exam("moment", "moments", items, runs)


def small_data(**changes: Any) -> ReportData:
    """The page of the small exam, with verification and funnel."""
    exam = small_exam()
    asked = {"moment": Asked(tuple(_proposed(i) for i in exam.items), make_verdicts(exam.items))}
    gone = tuple(Dropped(f"left-{n}", "not drawn", "of 88") for n in range(88))
    fields: dict[str, Any] = {
        "exams": (exam,),
        "about": About(name="Small", version="0.1", licence="CC0-1.0", hashes={"items.jsonl": "abc"}),
        "funnel": (
            Stage("derived", 100, passed=(*(i.id for i in exam.items), *(one.id for one in gone))),
            Stage(
                "sampled", 12, dropped={"not drawn": 88}, passed=tuple(i.id for i in exam.items), gone=gone
            ),
            Stage("built", 12, "items"),
        ),
        "asked": asked,
        "making": tuple(moment_sections(exam.items, GRAPHS, asked["moment"], exam.title)),
        **changes,
    }
    return ReportData(**fields)


def _proposed(item: Item) -> Question:
    return msgspec.structs.replace(
        item.question, proposals=tuple(Proposed(value=g.value) for g in item.golds)
    )
