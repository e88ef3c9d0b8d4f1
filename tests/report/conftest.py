"""A small benchmark of two activities with three runs, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from proctor.benchmark.item import Gold, Item
from proctor.evaluate.prediction import Judgement, Prediction
from proctor.examples.example import Example, Performed, StepRef
from proctor.generate.candidate import Answer, Candidate, Provenance
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report.data import About, ReportData, ReportOptions, Run, Stage
from proctor.verify.verdict import AnnotatorKind, AnswerVerdict, Judgment, Verdict

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


def make_item(number: int, type_: str = "next", **changes: Any) -> Item:
    """Item ``n``: after boiling (with too much water) and before pouring; every second one is noisy."""
    shelf = number % 3 == 2
    boiled = Performed(
        "1",
        "Boil two cups of water",
        "Boil one cup of water",
        (Mistake("measurement", "two cups"),),
        1.0,
        61.5,
    )
    example = Example(
        id=f"e{number}",
        clip_id=f"r{number % 4}_1",
        recording_id=f"r{number % 4}",
        activity_id="shelf" if shelf else "tea",
        activity_name="Shelf" if shelf else "Tea",
        type=type_,
        end=61.5,
        state="ongoing",
        noisy=number % 2 == 1,
        current=Performed("a", "Fix the board") if shelf else boiled,
        next_steps=(StepRef("2", "Put the bag into the mug"),),
    )
    item = Item(
        id=f"i{number}",
        candidate_id=f"c{number}",
        question=f"What should I do now, in case {number}?",
        golds=(
            Gold("Put the bag into the mug."),
            Gold("You can put in the bag.", "annotator", "adjudicator", "suggestion"),
        ),
        example=example,
    )
    return msgspec.structs.replace(item, **changes)


def make_run(name: str, items: tuple[Item, ...], marks: str, role: Any = "system") -> Run:
    """One mark an item: 0, 1, 2, f (failed), u (unscored), - (not asked); repeated as needed."""
    predictions, judgements = [], []
    for n, item in enumerate(items):
        mark = marks[n % len(marks)]
        if mark == "-":
            continue
        if mark == "f":
            predictions.append(Prediction(item_id=item.id, predictor=name, failure="no reply"))
            continue
        predictions.append(
            Prediction(
                item_id=item.id,
                predictor=name,
                answer=f"Answer of {name} to {item.id}",
                frame_times=(1.0, 2.0),
            )
        )
        judgements.append(
            Judgement(
                item_id=item.id,
                predictor=name,
                judge="rules 1",
                score=None if mark == "u" else int(mark),
                rationale=f"because of {mark}",
                gold=0 if mark == "2" else None,
                failure="unreadable" if mark == "u" else None,
            )
        )
    return Run(name, name, role, tuple(predictions), tuple(judgements))


def make_verification(items: tuple[Item, ...]) -> tuple[tuple[Candidate, ...], tuple[Verdict, ...]]:
    """Two people who disagree on the second answer of item 0, and the oracle, who gives reasons."""
    candidates, verdicts = [], []
    for n, item in enumerate(items):
        candidates.append(
            Candidate(
                id=item.candidate_id,
                example_id=item.example.id,
                recording_id=item.recording_id,
                type=item.type,
                question=item.question,
                answers=tuple(Answer(g.text, g.kind) for g in item.golds),
                provenance=Provenance(generator="rules", version="1", seed=7, form="wh-3"),
            )
        )
        for name in ("ana", "bo", "oracle"):
            kind: AnnotatorKind = "oracle" if name == "oracle" else "human"
            second: Judgment = "wrong" if (n == 0 and name == "bo") else "right"
            verdicts.append(
                Verdict(
                    candidate_id=item.candidate_id,
                    annotator=name,
                    annotator_kind=kind,
                    at="2026-01-01T00:00:00Z",
                    question=AnswerVerdict("right"),
                    answers=(
                        AnswerVerdict("right"),
                        AnswerVerdict(second, 0.75, "the bag is next", {"fact": "next"}),
                    ),
                )
            )
    return tuple(candidates), tuple(verdicts)


@pytest.fixture(scope="session")
def item_factory() -> Callable[..., Item]:
    return make_item


@pytest.fixture(scope="session")
def run_factory() -> Callable[..., Run]:
    return make_run


@pytest.fixture(scope="session")
def small() -> ReportData:
    """Twelve items of four recordings, a system, a weaker one with failures, a floor, an upper bound."""
    types = ("next", "missing", "order")
    items = tuple(make_item(n, types[n % 3]) for n in range(12))
    candidates, verdicts = make_verification(items)
    return ReportData(
        items=items,
        about=About(
            name="Small", version="0.1", licence="CC0-1.0", judge="rules 1", hashes={"items.jsonl": "abc"}
        ),
        graphs={"tea": TEA, "shelf": SHELF},
        runs=(
            make_run("weak", items, "01f0u-"),
            make_run("strong", items, "2221"),
            make_run("constant", items, "0100", "floor"),
            make_run("annotations", items, "2", "upper"),
        ),
        candidates=candidates,
        verdicts=verdicts,
        funnel=(Stage("derived", 100), Stage("sampled", 12, dropped={"not drawn": 88})),
    )


@pytest.fixture(scope="session")
def quick() -> ReportOptions:
    """Few resamples and no drawings."""
    return ReportOptions(drawing="none", resamples=200)


@pytest.fixture(scope="session")
def with_items() -> Callable[[ReportData, tuple[Item, ...]], ReportData]:
    """The same data about other items: one run that answers all of them, nothing else."""
    return lambda data, items: replace(
        data, items=items, runs=(make_run("strong", items, "21"),), candidates=(), verdicts=(), funnel=()
    )
