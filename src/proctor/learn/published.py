"""What CaptainCook4D printed about recognising mistakes: Tables 2, 3, 9, 11 and 12, and its figures of anomalies.

All figures are per cent, as printed, misprints included; what is wrong with a row stands in its note, and
docs/paper-numbers.md says how it was found. Rows are means over nothing: the paper has one run of each model, without
intervals and without a row of chance, so ``always_mistaken`` stands beside them here.

Which table is which: 2 (supervised), 11 (the same, seeing the first half of a step) and 12 (localization) are known by
their numbers of rows and by what follows from them. 3 (zero-shot) and 9 (zero-shot by kind) are numbered by their
order in the paper. The figures of anomalies have no number here.

Source: CaptainCook4D (Peddi et al. 2024), Section 4 and Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from proctor.learn.localize.published import LOCALIZED
from proctor.metrics.printed_counts import consistent_counts

__all__ = [
    "ANOMALY",
    "EARLY",
    "SUPERVISED",
    "TABLES",
    "WINDOWS",
    "ZERO_SHOT",
    "ZERO_SHOT_KINDS",
    "AnomalyRow",
    "PublishedRow",
    "TableNumber",
    "WindowRow",
    "always_mistaken",
    "size_of",
]

TableNumber = Literal["2", "3", "9", "11", "12"]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One printed row; per cent.

    Attributes:
        table: its number in the paper.
        model: backbone or vision-language model.
        variant: of the model; for ImageBind the modalities (video, audio, text, depth).
        accuracy: share of right calls.
        precision: of the mistakes.
        recall: of the mistakes.
        f1: of the mistakes.
        auc: area under the ROC curve, None where none was printed.
        split: ``S`` or ``R``; ``all`` where every step of the data set was asked about.
        kind: of mistake that was looked for; empty for any.
        note: what is wrong with it; empty where nothing is known to be.
    """

    table: TableNumber
    model: str
    variant: str
    accuracy: float
    precision: float
    recall: float
    f1: float
    auc: float | None = None
    split: str = "all"
    kind: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Model and variant."""
        return f"{self.model} {self.variant}".strip()

    @property
    def counts(self) -> tuple[tuple[int, int], ...]:
        """Every (true positives, false positives) that gives the row on its test set; empty for a misprint."""
        n, positives = size_of(self)
        return consistent_counts(self.accuracy, self.precision, self.recall, self.f1, n, positives)

    @property
    def beats_always_mistaken(self) -> bool:
        """Whether its F1 is above that of calling every step a mistake."""
        return self.f1 > always_mistaken(*size_of(self))[-1]


@dataclass(frozen=True, slots=True)
class WindowRow:
    """Localization of steps from features of one window; per cent, at the temporal IoUs in the names.

    Attributes:
        seconds: of the window; the stride is 1 s for all.
        split: ``E``, ``P`` or ``R`` of the annotations (not of the code for error recognition).
        recall_1: Recall@1x at 0.1, 0.2, 0.3.
        recall_5: Recall@5x at 0.2, 0.3, 0.4.
        mean_ap: mAP at 0.3, 0.4, 0.5.
    """

    seconds: int
    split: str
    recall_1: tuple[float, float, float]
    recall_5: tuple[float, float, float]
    mean_ap: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class AnomalyRow:
    """A self-supervised block as a detector of frames in mistaken steps; chance is 50 for both figures."""

    block: str
    auc: float
    equal_error_rate: float


TEST_SETS: Final = {"S": (799, 249), "R": (671, 241), "all": (5700, 1964)}
"""Steps and mistaken steps, by split: what nearly all printed rows follow from."""

KIND_STEPS: Final = {
    "order": 794, "preparation": 394, "measurement": 331, "technique": 498, "missing": 285, "temperature": 65,
    "timing": 177,
}  # fmt: skip
"""Of the 5,700 entries, those that carry each kind."""


def size_of(row: PublishedRow) -> tuple[int, int]:
    """Return how many steps a row was measured on, and how many of them are mistakes."""
    n, positives = TEST_SETS[row.split]
    if row.kind:
        return n, KIND_STEPS[row.kind]
    # one recording has no features of ImageBind; one of its steps lies in the test part of S
    return n - (row.split == "S" and row.model == "ImageBind"), positives


def always_mistaken(n: int, positives: int) -> tuple[float, float, float, float]:
    """Return accuracy, precision, recall and F1 of calling every one of these steps a mistake; per cent."""
    share = 100 * positives / n
    return share, share, 100.0, 200 * share / (100 + share)


_NO_COUNTS: Final = "no whole numbers of true and false positives give these four figures"
_NOTES: Final = {
    ("2", "S", "Slowfast V1"): _NO_COUNTS,
    ("2", "S", "ImageBind VAT"): _NO_COUNTS,
    ("2", "S", "ImageBind VADT"): _NO_COUNTS,
    ("2", "R", "ImageBind A"): f"{_NO_COUNTS}; recall 86.72 would (209 and 377)",
    ("2", "R", "ImageBind VAT"): _NO_COUNTS,
    ("2", "R", "ImageBind VADT"): _NO_COUNTS,
    ("11", "S", "Omnivore V2"): _NO_COUNTS,
    ("11", "S", "Slowfast V2"): _NO_COUNTS,
}

_Line = tuple[str, str, float, float, float, float, float]


def _rows(table: TableNumber, split: str, lines: tuple[_Line, ...]) -> tuple[PublishedRow, ...]:
    """Lines are model, variant, accuracy, precision, recall, F1, ROC-AUC."""
    return tuple(
        PublishedRow(table, *line, split=split, note=_NOTES.get((table, split, f"{line[0]} {line[1]}"), ""))
        for line in lines
    )


SUPERVISED: Final = _rows("2", "S", (
    ("Omnivore", "V1", 71.09, 66.07, 14.86, 24.26, 75.70),
    ("Omnivore", "V2", 69.96, 51.56, 59.84, 55.39, 75.70),
    ("Slowfast", "V1", 33.54, 31.88, 90.60, 47.16, 63.06),
    ("Slowfast", "V2", 68.09, 47.69, 24.90, 32.72, 67.18),
    ("X3D", "V1", 68.34, 48.00, 19.28, 27.51, 60.19),
    ("X3D", "V2", 67.83, 42.86, 9.64, 15.74, 61.50),
    ("3DResNet", "V1", 63.45, 42.90, 52.21, 47.10, 66.16),
    ("3DResNet", "V2", 61.58, 41.47, 56.63, 47.88, 64.50),
    ("ImageBind", "V", 62.78, 38.46, 32.13, 35.01, 57.03),
    ("ImageBind", "A", 43.86, 32.26, 72.69, 44.69, 52.23),
    ("ImageBind", "VA", 63.28, 40.76, 38.96, 39.84, 53.87),
    ("ImageBind", "VAT", 68.79, 42.76, 41.96, 42.36, 61.10),
    ("ImageBind", "VADT", 69.40, 50.75, 48.96, 49.84, 70.41),
)) + _rows("2", "R", (
    ("Omnivore", "V1", 59.76, 45.31, 58.09, 50.91, 63.03),
    ("Omnivore", "V2", 62.30, 46.55, 33.61, 39.04, 62.27),
    ("Slowfast", "V1", 60.06, 40.82, 24.90, 30.93, 56.89),
    ("Slowfast", "V2", 57.82, 41.67, 43.57, 42.60, 59.83),
    ("X3D", "V1", 54.69, 39.60, 49.79, 44.12, 54.66),
    ("X3D", "V2", 54.25, 40.78, 60.58, 48.75, 56.58),
    ("3DResNet", "V1", 41.88, 37.65, 94.19, 53.79, 62.42),
    ("3DResNet", "V2", 57.82, 43.56, 58.92, 50.09, 59.22),
    ("ImageBind", "V", 37.56, 36.14, 96.27, 52.55, 54.10),
    ("ImageBind", "A", 39.05, 35.67, 89.72, 50.54, 54.80),
    ("ImageBind", "VA", 54.25, 40.98, 62.24, 49.42, 55.25),
    ("ImageBind", "VAT", 64.08, 44.15, 58.01, 50.13, 58.35),
    ("ImageBind", "VADT", 63.87, 49.57, 64.40, 56.02, 65.25),
))  # fmt: skip
"""Table 2: V1 (a network for every second), V2 (an encoder over the step), and ImageBind's modalities by V3."""

EARLY: Final = _rows("11", "S", (
    ("Omnivore", "V1", 69.59, 75.00, 3.61, 6.90, 72.90),
    ("Omnivore", "V2", 69.21, 50.00, 1.20, 2.34, 73.48),
    ("Slowfast", "V1", 67.96, 47.15, 23.29, 31.18, 67.23),
    ("Slowfast", "V2", 69.09, 50.00, 1.60, 3.10, 62.72),
    ("X3D", "V1", 65.96, 41.73, 23.29, 29.90, 59.27),
    ("X3D", "V2", 68.71, 45.45, 2.01, 3.85, 56.50),
    ("3DResNet", "V1", 68.46, 47.89, 13.65, 21.25, 63.79),
    ("3DResNet", "V2", 68.84, 50.00, 0.40, 0.80, 60.76),
)) + _rows("11", "R", (
    ("Omnivore", "V1", 64.08, 50.00, 2.07, 3.98, 64.73),
    ("Omnivore", "V2", 64.08, 50.00, 0.41, 0.82, 65.43),
    ("Slowfast", "V1", 63.79, 33.33, 0.83, 1.62, 53.11),
    ("Slowfast", "V2", 63.93, 42.86, 1.24, 2.42, 53.38),
    ("X3D", "V1", 63.34, 46.27, 12.86, 20.13, 55.24),
    ("X3D", "V2", 63.64, 28.57, 0.83, 1.61, 56.84),
    ("3DResNet", "V1", 63.19, 43.75, 8.71, 14.53, 53.47),
    ("3DResNet", "V2", 63.04, 37.04, 4.15, 7.46, 54.73),
))  # fmt: skip
"""Table 11: the same models, given the first half of each step."""

ZERO_SHOT: Final = (
    PublishedRow(
        "3", "Video-LLaVA", "V1", 64.3, 34.2, 3.9, 6.7, note="its precision and recall give an F1 of 7.0"
    ),
    PublishedRow("3", "Video-LLaVA", "V2", 52.85, 36.3, 49.3, 41.8),
    PublishedRow("3", "TimeChat", "V1", 65.0, 51.11, 1.15, 2.26),
    PublishedRow("3", "TimeChat", "V2", 43.5, 34.38, 69.7, 46.1),
)
"""Table 3: one question a step (V1), or seven of which any may tell a mistake (V2); all 5,700 entries, timed or not."""


def _of_kinds(model: str, lines: dict[str, tuple[float, float, float, float]]) -> tuple[PublishedRow, ...]:
    return tuple(
        PublishedRow("9", model, "V2", accuracy, precision, recall, f1, kind=kind)
        for kind, (precision, recall, f1, accuracy) in lines.items()
    )


_PRINTED_KINDS = _of_kinds("Video-LLaVA", {
    "order": (16.3, 35.3, 22.3, 65.5), "preparation": (7.7, 12.3, 9.5, 84.2), "measurement": (0, 0, 0, 93.7),
    "technique": (11.1, 0.4, 0.7, 90.9), "missing": (5.1, 3.9, 4.4, 91.7), "temperature": (0.5, 4.6, 0.9, 89.4),
    "timing": (6.6, 0.6, 1.1, 96.8),
}) + _of_kinds("TimeChat", {
    "order": (17.2, 6.25, 9.2, 82.6), "preparation": (7.1, 50.1, 12.4, 52.2), "measurement": (6.1, 44.2, 10.7, 57.1),
    "technique": (2.4, 0.4, 0.6, 89.9), "missing": (2.2, 0.4, 12.4, 94.3), "temperature": (0.6, 6.2, 1.2, 88.4),
    "timing": (3.0, 17.6, 5.1, 80.5),
})  # fmt: skip

ZERO_SHOT_KINDS: Final = tuple(
    replace(row, note="an F1 lies between precision and recall: 0.7")
    if (row.model, row.kind) == ("TimeChat", "missing")
    else row
    for row in _PRINTED_KINDS
)
"""Table 9: one question a kind, each kind against everything else."""

_SECONDS: Final = {"omnivore_1s": 1, "omnivore_3s": 3, "omnivore_4s": 4}

WINDOWS: Final = tuple(
    WindowRow(_SECONDS[row.backbone], row.split, row.recall_1[:3], row.recall_5[1:4], row.mean_ap[2:])
    for row in LOCALIZED
    if row.backbone in _SECONDS
)
"""Table 12: Omnivore with windows of 1, 3 and 4 s. Its printed heads are wrong: these are the columns that the released
results give; the figures are those of the released table of results, which all nine rows equal."""

ANOMALY: Final = (AnomalyRow("ssmctb", 50.65, 49.65), AnomalyRow("sspcab", 50.25, 49.74))

TABLES: Final[dict[TableNumber, tuple[PublishedRow, ...]]] = {
    "2": SUPERVISED,
    "3": ZERO_SHOT,
    "9": ZERO_SHOT_KINDS,
    "11": EARLY,
    "12": (),
}
"""Rows of calls by table; those of Table 12 are of another sort (``WINDOWS``)."""
