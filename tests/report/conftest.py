"""A small benchmark of two activities with three runs, made by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.moments import gold, moment_item

from proctor.exam.kinds.moment_question import moment_candidate, moment_example
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.examples.example import Example, Performed, StepRef
from proctor.generate.candidate import Answer, Candidate, Provenance
from proctor.metrics.figure import Bars, IntervalPlot, Matrix, Reliability
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
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


def make_item(number: int, type_: str = "next", question: str | None = None) -> Item:
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
    return moment_item(
        example,
        f"What should I do now, in case {number}?" if question is None else question,
        (
            "Put the bag into the mug.",
            gold("You can put in the bag.", "suggestion", written_by="annotator", approved_by="adjudicator"),
        ),
        name=f"i{number}",
        candidate=f"c{number}",
    )


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
                id=moment_candidate(item.question),
                example_id=moment_example(item.question).id,
                recording_id=item.question.cluster,
                type=item.question.facets["type"],
                question=item.question.text,
                answers=tuple(Answer(g.value.text, g.value.kind) for g in item.golds),
                provenance=Provenance(generator="rules", version="1", seed=7, form="wh-3"),
            )
        )
        for name in ("ana", "bo", "oracle"):
            kind: AnnotatorKind = "oracle" if name == "oracle" else "human"
            second: Judgment = "wrong" if (n == 0 and name == "bo") else "right"
            verdicts.append(
                Verdict(
                    candidate_id=moment_candidate(item.question),
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


# -- tables of scores --------------------------------------------------------------------------------------------

VERBS = (
    "cut",
    "pour",
    "stir",
    "fasten",
    "unscrew",
    "wipe",
    "measure",
    "fold",
    "attach the cover of",
    "line up",
)
THINGS = (
    "tomato",
    "handle",
    "M5 screw",
    "filter paper",
    "left bracket",
    "batter",
    "lid",
    "hose clamp",
    "drawer",
    "dial",
)
CLASS_NAMES = tuple(f"{v} the {t}" for v in VERBS for t in THINGS) + tuple(f"step {n}" for n in range(1, 400))
SYSTEMS = ("people", "model A, 50 frames", "model A, 10 frames", "model B", "text only")
EVIL = "<script>alert(1)</script>\"'&\u202egnp.exe\x00"


def confusion(size: int, seed: int) -> tuple[tuple[float | None, ...], ...]:
    """Mostly right, with some confusions beside the diagonal and a few anywhere."""
    rng = random.Random(seed)
    lines = []
    for row in range(size):
        line = [0.0] * size
        for _ in range(rng.randint(4, 120)):
            shift = rng.choice([0, 0, 0, 0, 1, -1, rng.randint(-size, size)])
            line[(row + shift) % size] += 1
        lines.append(tuple(line))
    return tuple(lines)


def make_score(name: str, value: float, n: int, width: float | None = 0.04, **changes: Any) -> Score:
    """A score with a signature of three choices and a symmetric interval."""
    low, high = (None, None) if width is None or math.isnan(value) else (value - width, value + width)
    note = changes.pop("note", "no item of the class in the reference" if math.isnan(value) else "")
    signature = Signature(
        name, {"protocol": changes.pop("protocol", "corrected"), "average": "class", "v": "0.4"}
    )
    return Score(value, signature, n, low, high, note=note, **changes)


def localization_table(classes: int = 171) -> ScoreTable:
    """Mean average precision and recall at five thresholds, one bar a class."""
    rng = random.Random(1)
    rows = [
        ScoreRow(f"mAP@{t}", make_score("mean_average_precision", 41.3 - 7 * k, 3_825, 1.4), digits=1)
        for k, t in enumerate((0.1, 0.2, 0.3, 0.4, 0.5))
    ]
    rows += [
        ScoreRow(f"R@{k}x, tIoU {t}", make_score("recall_at_k", 60.2 - 3 * k - 20 * t, 3_825, 1.1), digits=1)
        for k in (1, 5)
        for t in (0.3, 0.5)
    ]
    values = [
        None if n % 19 == 7 else round(max(0.0, min(100.0, rng.gauss(38, 25))), 4) for n in range(classes)
    ]
    bars = Bars(
        "Average precision by class, mean over five tIoU", CLASS_NAMES[:classes], tuple(values),
        tuple(0 if v is None else rng.randint(1, 90) for v in values), 100.0, "%",
    )  # fmt: skip
    counts = {
        "predictions read": 38_112,
        "predictions scored": 37_904,
        "reference segments": 3_825,
        "videos": 192,
    }
    notes = ("208 predictions lie in videos that the reference does not hold; they were left out.",)
    return ScoreTable("localization", tuple(rows), {}, counts, notes, (bars,))


def classification_table() -> ScoreTable:
    """Three systems and two chance rows, with a confusion matrix of two and one of seventeen."""
    names = ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC", "EER")
    systems = (("SlowFast, 3 s", False, 0.05), ("Omnivore, mean of the sub-steps of each step", False, 0.09),
               ("ImageBind (audio, depth, text, video)", False, -0.02), ("always error", True, -0.2), ("prior", True, -0.22))  # fmt: skip
    rows = tuple(
        ScoreRow(
            m,
            make_score(
                m.lower(), math.nan if m == "EER" and chance else 0.62 + shift + 0.013 * k, 799, failed=3 if not chance else 0,
                note="a constant score has no threshold at which the two error rates meet" if m == "EER" and chance else "",
            ),
            system, chance,
        )
        for system, chance, shift in systems
        for k, m in enumerate(names)
    )  # fmt: skip
    labels = CLASS_NAMES[:17]
    return ScoreTable(
        "classification", rows, {}, {"steps": 802, "recordings": 63},
        ("The threshold 0.43 was chosen on the validation part only.",),
        (
            Matrix("Steps with and without a mistake", ("correct", "mistake"), ("correct", "mistake"),
                   ((412, 96), (121, 170)), row_title="reference", column_title="prediction"),
            Matrix("Seventeen kinds of steps", labels, labels, confusion(17, 2), row_title="reference", column_title="prediction"),
        ),
    )  # fmt: skip


def agreement_table() -> ScoreTable:
    """Five annotators, two of whom share no item, and one pair below chance."""
    people = ("Ana", "Benedikt", "Chiara", "Dmitri", "oracle (task graph)")
    kappa = [[None] * 5 for _ in range(5)]
    values = {(0, 1): 0.81, (0, 2): 0.64, (0, 3): 0.72, (0, 4): 0.31, (1, 2): 0.58, (1, 3): None, (1, 4): 0.12, (2, 3): 0.45,
              (2, 4): -0.18, (3, 4): -0.62}  # fmt: skip
    for (a, b), value in values.items():
        kappa[a][b] = kappa[b][a] = value
    raw = [[None if k is None else 0.5 + k / 2 for k in line] for line in kappa]
    rows = (
        ScoreRow("raw", make_score("raw_agreement", 0.871, 500), "questions"),
        ScoreRow("Krippendorff α", make_score("krippendorff_alpha", 0.642, 500, 0.08), "questions"),
        ScoreRow("raw", make_score("raw_agreement", 0.79, 412), "answers"),
        ScoreRow("Krippendorff α", make_score("krippendorff_alpha", math.nan, 412, note="all ratings are equal, so chance cannot be told from agreement"), "answers"),
    )  # fmt: skip
    return ScoreTable(
        "agreement", rows, {}, {"items": 500, "annotators": 5}, (),
        (
            Matrix("Cohen κ of every two annotators", people, people, tuple(map(tuple, kappa)), "values", "annotator", "annotator", -1.0, 1.0),
            Matrix("Raw agreement of every two annotators", people, people, tuple(map(tuple, raw)), "values", "annotator", "annotator"),
        ),
    )  # fmt: skip


def calibration_table() -> ScoreTable:
    """Ten bins of which three are empty, and eight systems with chance."""
    edges = tuple(n / 10 for n in range(11))
    counts = (0, 0, 12, 41, 0, 96, 140, 233, 518, 902)
    confidence = tuple(None if not n else 0.1 * k + 0.055 for k, n in enumerate(counts))
    accuracy = tuple(
        None if c is None else min(1.0, c * 0.82 + (0.16 if c < 0.5 else 0.0)) for c in confidence
    )
    half = tuple(None if not n else 1.2 / math.sqrt(n + 4) for n in counts)
    low = tuple(
        None if a is None or h is None else max(0.0, a - h) for a, h in zip(accuracy, half, strict=True)
    )
    high = tuple(
        None if a is None or h is None else min(1.0, a + h) for a, h in zip(accuracy, half, strict=True)
    )
    systems = (*SYSTEMS, "a system with a very long name that says how many frames it saw and which prompt it was given", "undefined", "without an interval")  # fmt: skip
    values = (0.812, 0.79, 0.745, 0.61, 0.33, 0.502, None, 0.44)
    return ScoreTable(
        "significance",
        (ScoreRow("ECE", make_score("expected_calibration_error", 0.094, 1942, 0.012)),),
        {}, {"predictions": 1942}, (),
        (
            Reliability("Confidence of the judge against what people decided", confidence, accuracy, low, high, counts, edges),
            IntervalPlot(
                "Accuracy by system, 95 % intervals clustered by recording", systems, values,
                tuple(None if v is None or n == 7 else v - 0.05 - n / 100 for n, v in enumerate(values)),
                tuple(None if v is None or n == 7 else v + 0.04 + n / 100 for n, v in enumerate(values)),
                (0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.25, None), (0.0, 1.0),
            ),
            IntervalPlot("Kendall τ, from full reversal to the right order", ("model A", "model B", "chance"), (0.42, -0.13, 0.0),
                         (0.31, -0.3, None), (0.5, 0.04, None), (), (-1.0, 1.0)),
        ),
    )  # fmt: skip


def extreme_table() -> ScoreTable:
    """One class, all undefined, three hundred classes, names that are long or hostile."""
    many = CLASS_NAMES[:300]
    long = ("x" * 5_000, EVIL, "المقياس الأول", "非常に長いクラスの名前です", "")
    rows = (
        ScoreRow("F1", make_score("f1", math.nan, 0, note=EVIL), EVIL),
        ScoreRow(EVIL, make_score("f1", -0.00001, 3, None), "y" * 300),
    )
    nothing = Reliability(
        "Nothing at all", (None, None), (None, None), (None, None), (None, None), (0, 0), (0.0, 0.5, 1.0)
    )
    return ScoreTable(
        "answer", rows, {}, {EVIL: 3}, (EVIL, "z" * 10_000),
        (
            Matrix("One class", ("only",), ("only",), ((0.0,),)),
            Matrix("All undefined", many[:3], many[:4], ((None,) * 4,) * 3, "values", "annotator", "class"),
            Matrix("Three hundred classes", many, many, confusion(300, 3), row_title="reference", column_title="prediction"),
            Matrix(EVIL, long, long, confusion(5, 4), row_title=EVIL, column_title=EVIL),
            Bars(EVIL, long, (0.5, 1.0, None, 0.0, 0.25), (), 1.0, EVIL),
            Bars("Three hundred bars", many, tuple(n / 3 for n in range(300)), tuple(range(300)), 100.0),
            IntervalPlot(EVIL, long, (None,) * 5, (None,) * 5, (None,) * 5, (), (0.0, 0.0)),
            nothing,
            Matrix("Empty", (), (), ()),
        ),
    )  # fmt: skip


@pytest.fixture(scope="session")
def score_tables() -> dict[str, ScoreTable]:
    return {
        "localization": localization_table(),
        "classification": classification_table(),
        "agreement": agreement_table(),
        "calibration": calibration_table(),
        "extreme": extreme_table(),
        "empty": ScoreTable("ordering", ()),
    }
