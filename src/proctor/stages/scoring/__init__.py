"""Scores from files: one family of metrics a module, all with one reader, one form of options and one of results.

A family NAME has its options in ``options`` (``NAMESettings``, which imports msgspec only) and the module ``NAME`` here
with the function ``score_NAME(settings)``, which returns a ``ScoreTable``: files are read as columns
and aligned by their ids, metrics are computed of all and of each slice beside what chance gives, and notes and
pictures are made. Whoever adds both and a line below has a command, its ``--help``, JSON, LaTeX and a page.
Other packages bring theirs as a ``ScoreFamily`` behind an entry point; see ``docs/new-metric.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from proctor.errors import UserError
from proctor.plugins import load_plugin, package_of, told

if TYPE_CHECKING:
    from proctor.metrics.table import ScoreTable
    from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["ENTRY_POINTS", "FAMILIES", "ScoreFamily", "all_families", "score_family", "settings_of"]

ENTRY_POINTS: Final = "proctor.metrics"
"""Group of the entry points that bring families, each a ``ScoreFamily`` under its name."""

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
"""Every family with what it says of itself, in the order of ``proctor metrics --help``."""


@dataclass(frozen=True, slots=True)
class ScoreFamily:
    """A family that another package brings.

    Attributes:
        settings: the struct of its options; the docstring is the command's help.
        score: from such a struct to the table of scores.
    """

    settings: type[ScoreSettings]
    score: Callable[..., ScoreTable]


def all_families() -> dict[str, str]:
    """Return every family with what it says of itself: ours, then those of other packages, which are not loaded for it.

    A name of ours stays ours.
    """
    brought = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return dict(FAMILIES) | {
        entry.name: f"Brought by {package_of(entry)}." for entry in brought if entry.name not in FAMILIES
    }


def settings_of(family: str) -> type[ScoreSettings]:
    """Return the struct of a family's options.

    Raises:
        UserError: if the package that brings the family is broken.
    """
    if family not in FAMILIES:
        return _brought(family).settings
    found: type[ScoreSettings] = getattr(
        import_module(f"{__name__}.options"), f"{family.capitalize()}Settings"
    )
    return found


def score_family(family: str, settings: ScoreSettings, **more: Callable[[], None]) -> ScoreTable:
    """Score files with a family.

    Args:
        family: its name.
        settings: of its struct.
        **more: ``step``, called once for each piece of work, for families that are slow.

    Raises:
        UserError: if a file or an option cannot be used, or the package that brings the family is broken.
    """
    if family not in FAMILIES:
        return _score_brought(family, settings, **more)
    score: Any = getattr(import_module(f"{__name__}.{family}"), f"score_{family}")
    table: ScoreTable = score(settings, **more)
    return table


def _score_brought(family: str, settings: ScoreSettings, **more: Callable[[], None]) -> ScoreTable:
    from proctor.metrics.table import ScoreTable
    from proctor.stages.scoring.files import explained

    score = _brought(family).score
    try:
        with explained(f"proctor score {family}"):
            table: object = score(settings, **more)
    except UserError:
        raise
    except Exception as error:  # somebody else's code
        raise UserError(f"the family {family!r} failed: {told(error)}.", hint=_REPORT) from error
    if not isinstance(table, ScoreTable):
        wrong = f"returned {type(table).__name__}, which is no table of scores."
        raise UserError(f"the family {family!r} {wrong}", hint=_REPORT)
    return table


_REPORT: Final = "report it to the package that brings the family"


def _brought(family: str) -> ScoreFamily:
    found: ScoreFamily = load_plugin(
        entry_points(group=ENTRY_POINTS, name=family),
        f"the family {family!r}",
        "a ScoreFamily",
        lambda loaded: isinstance(loaded, ScoreFamily),
    )
    return found
