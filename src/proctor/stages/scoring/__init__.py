"""Scores from files: one family of metrics a package, all with one reader, one form of options and one of results.

A family NAME is the package ``NAME`` here, with its options (a ``ScoreSettings`` that imports msgspec only) and the
module ``score`` with the function ``score_NAME(settings)``, which returns a ``ScoreTable``: files are read as columns
and aligned by their ids, metrics are computed of all and of each slice beside what chance gives, and notes and
pictures are made. Whoever adds a package and a line below has a command, its ``--help``, JSON, LaTeX and a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from proctor.metrics.table import ScoreTable
    from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["FAMILIES", "score_family", "settings_of"]

FAMILIES: Final[Mapping[str, str]] = {
    "localization": "Steps found in time: mAP at tIoU, recall at k×.",
    "classification": "Mistakes recognised: accuracy, precision, recall, F1, ROC-AUC, PR-AUC, EER.",
    "clustering": "Key steps discovered: precision, recall and IoU after Hungarian matching.",
    "segmentation": "Frames labelled: accuracy (MoF), edit score, segmental F1, boundary error.",
    "ordering": "Steps put in order: Acc, PMR, Lq, Lr, Kendall's tau, Dist; several references, partial orders.",
    "agreement": "Annotators compared: raw, specific, Cohen's kappa, Krippendorff's alpha, orders, segments.",
    "retrieval": "Sources found: recall@k, nDCG, MRR.",
    "answer": "Answers marked: exact match, ROUGE-1, BERTScore, letters of multiple choice, judge scale.",
    "text": "Texts described: length, type-token ratio, distinct-n, embedding similarity.",
    "significance": "Systems compared: bootstrap, permutation, McNemar, Holm, power, calibration.",
}
"""Every family with what it says of itself, in the order of ``proctor score --help``."""


def settings_of(family: str) -> type[ScoreSettings]:
    """Return the struct of a family's options."""
    found: type[ScoreSettings] = getattr(
        import_module(f"{__name__}.{family}"), f"{family.capitalize()}Settings"
    )
    return found


def score_family(family: str, settings: ScoreSettings, **more: Callable[[], None]) -> ScoreTable:
    """Score files with a family.

    Args:
        family: its name.
        settings: of its struct.
        **more: ``step``, called once for each piece of work, for families that are slow.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    score: Any = getattr(import_module(f"{__name__}.{family}.score"), f"score_{family}")
    table: ScoreTable = score(settings, **more)
    return table
