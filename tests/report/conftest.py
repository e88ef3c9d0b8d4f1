"""Tables of scores for the tests of pages and pictures."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from proctor.metrics.figure import Bars, IntervalPlot, Matrix, Reliability
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable

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
    notes = ("208 predictions are in videos that the reference does not hold; they were left out.",)
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
