"""Options of ``proctor score classification``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["ClassificationSettings"]


class ClassificationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score the recognition of mistakes: accuracy, precision, recall, F1, ROC-AUC, PR-AUC, EER.

    Every result stands beside what knowing nothing gives: always saying "mistake", never saying it, and guessing
    at the rate of mistakes. Intervals come from drawing whole recordings.

    Files are CSV, TSV, JSON Lines or JSON. The reference has the columns recording, step and label (1, true or
    yes for a mistake); the predictions have recording, step and score (higher: more likely a mistake), or
    predicted (yes/no decisions). One file may hold both.

    \b
      gt.csv                        pred.csv
      recording,step,label,kinds    recording,step,score
      1_7,4,0,                      1_7,4,0.12
      1_7,5,1,Timing|Order          1_7,5,0.80

    Further columns: substep (seconds or clips of a step; scored as they are and joined to steps), segment (which
    execution of a repeated step), kinds in the reference (kinds of mistake, each scored against the rest, with
    the columns score:Timing, score:Order, ... of the predictions if they are there). --slice takes a column of
    the reference (person), or one that only the predictions have (observed fraction, system): there every value
    is a prediction of its own, and all pairs are compared on the same resamples. For frames of videos, write video and frame instead of recording and step.

    The threshold is chosen on validation data (best F1), never on what is scored.

    Example: proctor score classification --gt gt.csv --pred pred.csv --validation val.csv
    """  # noqa: D301  # \b keeps the lines of the example apart

    pred: Annotated[Path, option("Predictions: recording, step, score (or predicted).", metavar="FILE")]
    gt: Annotated[
        Path | None, option("Reference: recording, step, label. Left out: --pred has it.", metavar="FILE")
    ] = None
    validation: Annotated[
        Path | None, option("Predictions on validation data; they choose the threshold.", metavar="FILE")
    ] = None
    validation_gt: Annotated[
        Path | None, option("Their labels, if not in the same file.", metavar="FILE")
    ] = None
    threshold: Annotated[float | None, option("A fixed threshold (default 0.5 without --validation).")] = None
    protocol: Annotated[
        Literal["corrected", "published"],
        option("published: rescale over the test set, then --threshold 0.6 (S) or 0.4 (R)."),
    ] = "corrected"
    aggregate: Annotated[
        Literal["mean", "vote"], option("How sub-steps become steps: mean score, or share above 0.5.")
    ] = "mean"
    repeated: Annotated[
        Literal["or", "last"], option("Label of a step done several times: any, or the last (as released).")
    ] = "or"
    slices: Annotated[
        tuple[str, ...],
        option("Also score every value of this column by itself.", "--slice", metavar="COLUMN"),
    ] = ()
    allow_missing: Annotated[bool, option("Leave steps without a score out, and count them.")] = False
