"""What Wu et al. 2022 printed about putting steps in order: Tables 2 to 6, 8 to 10, and the agreement of their people.

These rows stand beside ours under their own protocol (``PROTOCOL``), as printed, misprints included; what is wrong with a row stands
in its note. Source: arXiv 2110.08486v4; docs/sequencing.md says why none can be measured again here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from proctor.procedure.manual import MODALITIES, Modality

__all__ = [
    "COLUMNS", "MEASURE_NAMES", "OBJECTIVES", "OTHER_TABLES", "PRETRAINING", "PROTOCOL",
    "Corpus", "OtherTable", "PrintedLine", "TableRow",
]  # fmt: skip

Corpus = Literal["wikihow", "recipeqa"]

PROTOCOL: Final = (
    "Their golden manuals (300 of WikiHow, 100 of RecipeQA, none of them released here), at most five steps, five sentences and "
    "one picture a step; models never see the goal, people do. One run of each model, one reference (the authored order) unless "
    "the table says otherwise; means over manuals, for people over all orders collected. Acc and PMR in per cent, Lq, Lr and Dist "
    "as lengths and sums a manual. The released scripts choose the checkpoint on the golden manuals themselves."
)

MEASURE_NAMES: Final = ("Acc", "PMR", "Lq", "Lr", "tau", "Dist")


PrintedLine: TypeAlias = tuple[Modality, str, str, tuple[float, ...], tuple[float, ...]]
"""Of Table 2 or 3: what is shown, the model (``human`` for people), how it was pretrained (empty for people), and on WikiHow and on
RecipeQA the columns of ``MEASURE_NAMES``, Acc and PMR in per cent."""

PRETRAINING: Final[tuple[PrintedLine, ...]] = (
    ("image", "ResNet", "N", (21.73, 2.0, 2.81, 1.73, 0.01, 7.87), (31.2, 5.0, 3.27, 2.07, 0.27, 6.1)),
    ("image", "CLIP", "N", (24.92, 3.33, 2.95, 1.84, 0.08, 7.32), (38.4, 8.0, 3.39, 2.02, 0.35, 5.44)),
    ("image", "CLIP", "Y", (28.24, 5.0, 3.09, 1.96, 0.16, 6.8), (47.2, 16.0, 3.68, 2.4, 0.52, 4.12)),
    ("image", "human", "", (68.16, 47.49, 4.27, 3.51, 0.72, 2.43), (80.4, 64.5, 4.54, 4.02, 0.86, 1.29)),
    ("text", "RoBERTa", "N", (74.75, 56.67, 4.47, 3.78, 0.82, 1.71), (74.0, 52.0, 4.45, 3.68, 0.83, 1.64)),
    ("text", "RoBERTa", "Y", (75.68, 58.67, 4.5, 3.87, 0.82, 1.69), (77.0, 57.0, 4.49, 3.81, 0.84, 1.48)),
    ("text", "human", "", (83.35, 66.91, 4.63, 4.11, 0.89, 1.06), (88.92, 78.56, 4.76, 4.41, 0.93, 0.7)),
    ("multimodal", "VisualBERT", "N", (75.3, 57.33, 4.45, 3.83, 0.81, 1.65), (76.2, 58.0, 4.49, 3.85, 0.83, 1.58)),
    ("multimodal", "VisualBERT", "Y", (77.3, 59.67, 4.5, 3.86, 0.83, 1.58), (78.2, 60.0, 4.56, 3.91, 0.85, 1.44)),
    ("multimodal", "CLIP-ViL", "N", (76.15, 59.0, 4.49, 3.87, 0.82, 1.68), (79.2, 60.0, 4.57, 3.93, 0.85, 1.29)),
    ("multimodal", "CLIP-ViL", "Y", (79.87, 65.67, 4.57, 4.05, 0.85, 1.44), (82.6, 68.0, 4.61, 4.1, 0.88, 1.1)),
    ("multimodal", "human", "", (91.03, 79.61, 4.78, 4.46, 0.94, 0.52), (92.12, 83.13, 4.82, 4.53, 0.95, 0.45)),
)  # fmt: skip
"""Table 2."""
OBJECTIVES: Final[tuple[PrintedLine, ...]] = (
    ("image", "CLIP", "ISP", (27.31, 4.0, 3.02, 1.82, 0.12, 7.0), (43.2, 9.0, 3.49, 2.05, 0.47, 4.46)),
    ("image", "CLIP", "ISP+PISP", (27.57, 4.67, 3.07, 1.93, 0.16, 6.85), (43.4, 12.0, 3.57, 2.24, 0.48, 4.46)),
    ("multimodal", "CLIP-ViL", "MLM", (77.08, 61.33, 4.52, 3.96, 0.83, 1.65), (79.6, 61.0, 4.55, 3.93, 0.86, 1.29)),
    ("multimodal", "CLIP-ViL", "MLM+ISP", (77.61, 62.0, 4.54, 3.97, 0.83, 1.6), (80.0, 61.0, 4.56, 3.93, 0.86, 1.26)),
    ("multimodal", "CLIP-ViL", "MLM+SMRM", (77.94, 62.33, 4.54, 3.98, 0.84, 1.6), (80.0, 59.0, 4.53, 3.89, 0.87, 1.26)),
    ("multimodal", "CLIP-ViL", "MLM+ISP+PISP", (78.14, 63.33, 4.55, 4.03, 0.84, 1.56), (80.8, 63.0, 4.57, 3.99, 0.87, 1.24)),
    ("multimodal", "CLIP-ViL", "MLM+ISP+SMRM", (79.47, 63.67, 4.57, 4.03, 0.85, 1.54), (81.4, 63.0, 4.57, 4.0, 0.87, 1.2)),
)  # fmt: skip
"""Table 3."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of one of the other tables, ``ours`` where it was not printed; ``note`` says what is wrong with it.

    ``name`` is the system (``model``: the best of this modality), the category, or what is counted; ``values`` are of ``COLUMNS``.
    """

    corpus: Corpus | Literal["ours"]
    modality: Modality | None
    name: str
    values: tuple[float | None, ...]
    note: str = ""


def _rows(
    corpus: Corpus, name: str, *cells: tuple[float | None, ...], notes: Mapping[Modality, str] = {}
) -> Iterator[TableRow]:
    for modality, values in zip(MODALITIES, cells, strict=True):
        yield TableRow(corpus, modality, name, values, notes.get(modality, ""))


OtherTable = Literal["4", "5", "6", "8", "9", "people", "agreement", "fig3"]

COLUMNS: Final[Mapping[OtherTable, tuple[str, ...]]] = {
    # of manuals with one right order; with several, each against the authored one, then against all; of both
    "4": (
        "several", "1: Acc", "PMR", "Lr",
        *("several: Acc", "by all", "PMR", "by all", "Lr", "by all"), *("all: Acc", "by all", "PMR", "by all", "Lr", "by all"),
        "benefit %",
    ),
    "5": ("manuals", "least", "most", "mean", "s.d.", "mean of all manuals"),
    "6": ("mean", "manuals"),
    "8": ("both", "text", "image", "neither"),
    "9": ("5", "4", "3", "2", "1"),
    "people": MEASURE_NAMES,
    "agreement": ("order", "alternatives"),
    "fig3": ("PMR people − model", "manuals"),
}  # fmt: skip
"""Shares, Acc and PMR in per cent; of Figure 3, of which only a picture was printed, points by category."""

OTHER_TABLES: Final[Mapping[OtherTable, tuple[TableRow, ...]]] = {
    "4": (
        *_rows("wikihow", "model", (51, 81.68, 69.9, 4.15, 70.98, 78.82, 47.05, 61.22, 3.59, 3.9, 79.87, 81.19, 65.67, 68.0, 4.05, 4.11, 21.6),
            (49, 77.3, 61.75, 3.98, 67.35, 80.0, 40.82, 59.18, 3.35, 3.86, 75.68, 77.74, 58.67, 61.67, 3.87, 3.96, 34.7),
            (24, 28.38, 5.07, 1.97, 26.67, 39.17, 4.17, 8.33, 1.83, 1.92, 28.24, 29.24, 5.0, 5.33, 1.96, 1.97, None),
            notes={"multimodal": "the multi PMR of 61.22 is 30 of 49; no whole number of 51 manuals gives it",
                   "text": "155 of 251 and 20 of 49 right make a PMR of 58.33 over all, not 58.67: one manual off"}),
        *_rows("wikihow", "people", (51, 92.86, 83.67, 4.56, 82.09, 92.22, 59.8, 83.33, 3.99, 4.54, 91.03, 92.75, 79.61, 83.61, 4.46, 4.55, 41.18),
            (49, 85.57, 71.41, 4.24, 72.03, 85.51, 43.84, 71.38, 3.46, 4.14, 83.35, 85.56, 66.91, 71.4, 4.11, 4.22, 42.9),
            (24, 68.47, 48.36, 3.54, 64.58, 75.83, 37.5, 56.25, 3.19, 3.71, 68.16, 69.06, 47.49, 48.99, 3.51, 3.55, None)),
        *_rows("recipeqa", "model", (3, 83.71, 69.07, 4.12, 46.67, 60.0, 33.33, 33.33, 3.67, 3.78, 82.6, 83.0, 68.0, 68.0, 4.1, 4.11, 66.6),
            (12, 79.32, 60.23, 3.9, 60.0, 75.0, 33.33, 58.33, 3.17, 3.92, 77.0, 78.8, 57.0, 60.0, 3.81, 3.9, 50.0),
            (13, 49.89, 17.24, 2.47, 29.23, 40.0, 7.69, 7.69, 1.92, 2.31, 47.2, 48.6, 16.0, 16.0, 2.4, 2.45, None)),
        *_rows("recipeqa", "people", (3, 91.88, 82.61, 4.52, 100.0, 100.0, 100.0, 100.0, 5.0, 5.0, 92.12, 92.12, 83.13, 83.13, 4.53, 4.53, 0.0),
            (12, 90.27, 80.41, 4.47, 79.0, 87.0, 65.0, 80.0, 3.95, 4.4, 88.92, 89.88, 78.56, 80.36, 4.41, 4.46, 41.6),
            (13, 81.61, 66.67, 4.1, 72.31, 79.23, 50.0, 61.54, 3.5, 3.88, 80.4, 81.3, 64.5, 66.0, 4.02, 4.07, None)),
    ),
    "5": (
        *_rows("wikihow", "references", (51, 2, 4, 2.1, 0.5, 1.19), (49, 2, 6, 2.4, 0.9, 1.23), (24, 2, 4, 2.1, 1.4, 1.09),
               notes={"image": "values from 2 to 4 with a mean of 2.1 have a deviation of at most 0.44, not 1.4"}),
        *_rows("recipeqa", "references", (3, 2, 6, 4, 1.6, 1.10), (12, 2, 6, 2.4, 1.1, 1.17), (13, 2, 3, 2.1, 0.3, 1.14)),
    ),
    "6": (
        *_rows("wikihow", "Home and Garden", (2.00, 7), (2.14, 7), (2.00, 3)),
        *_rows("wikihow", "Hobbies and Crafts", (2.00, 5), (2.73, 11), (2.00, 2)),
        *_rows("wikihow", "Food and Entertaining", (2.20, 15), (2.22, 14), (2.17, 12)),
        *_rows("wikihow", "Others", (2.28, 7), (2.67, 5), (2.00, 4)),
        *_rows("wikihow", "Personal Care and Style", (2.33, 3), (2.00, 1), (2.00, 1)),
    ),
    "8": (TableRow("recipeqa", "multimodal", "what helped", (90.4, 1.0, 8.6, 0.0)), TableRow("wikihow", "multimodal", "what helped", (62.9, 33.7, 2.4, 1.0))),
    "9": (TableRow("wikihow", None, "confidence", (54.61, 27.38, 12.24, 5.21, 0.56)), TableRow("recipeqa", None, "confidence", (64.75, 23.00, 7.00, 4.75, 0.50))),
    "people": tuple(
        TableRow(corpus, shown, "people", values)
        for shown, model, _, *both in PRETRAINING if model == "human" for corpus, values in zip(get_args(Corpus), both, strict=True)
    ),
    "fig3": (),
    "agreement": (
        *_rows("wikihow", "people", (0.84, 0.73), (0.82, 0.71), (0.69, 0.78)),
        *_rows("recipeqa", "people", (0.92, 0.79), (0.87, 0.76), (0.81, 0.79)),
    ),
}  # fmt: skip
