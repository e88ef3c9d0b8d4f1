"""Options of ``proctor score significance``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import argument, option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["SignificanceSettings"]


class SignificanceSettings(ScoreSettings, frozen=True, kw_only=True):
    """Say which systems differ, and how far the numbers can be believed.

    FILE holds marks in one of three forms. Wide: a column 'item' and one column of marks a system. Long: columns 'item',
    'system' and 'value'. Several files: 'item' and 'value', one system a file. A column 'recording' (or 'cluster') says which
    items are not independent, 'stratum' which make-up was fixed. Marks are numbers or yes/no; an empty mark is an answer that
    failed: it is left out and counted, never 0.

    Printed: each system's mean with its interval (BCa bootstrap over clusters, the same draws for all); for each pair the
    difference with its interval, p, p corrected over all pairs (Holm), the effect (mean over standard deviation), and the
    smallest difference that these items would show (power 0.8 at 0.05).

    Judges. If a machine gave the marks, --judge-calibration FILE corrects shares of yes/no by its sensitivity and specificity;
    --human FILE with people's marks on a random part of the items (and a column 'system' if there are several) gives the mean
    that people would have given (prediction-powered inference, PPI), and how far judge and people agree. Both carry the uncertainty of the calibration.

    Benchmarks. --concurrence FILE with marks of the same systems on other items gives Kendall's tau-b of the two rankings, its
    exact p, and an interval over the questions of both.

    Confidences. With --calibration FILE has 'confidence' (0 to 1) and 'correct' (yes/no), perhaps 'system' and 'recording';
    printed are accuracy, ECE (beside what a calibrated system would show by chance), MCE, Brier score and log loss; --report draws the reliability diagram.

    Example: proctor score significance marks.csv --reference baseline --report comparison.html
    """

    files: Annotated[tuple[Path, ...], argument("CSV, TSV, JSONL or JSON array, also .gz.", metavar="FILE…")]
    test: Annotated[
        Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"],
        option("Same items: the first three. Different items in each system: the last three."),
    ] = "sign-flip"
    systems: Annotated[
        tuple[str, ...], option("Compare these only, in this order (repeatable).", "--system", metavar="NAME")
    ] = ()
    reference: Annotated[str | None, option("Compare the others with this system only.", metavar="NAME")] = (
        None
    )
    cluster: Annotated[
        str | None,
        option(
            "What is drawn together; 'cluster', 'recording' or 'video_id' if the file has it, else the item.",
            metavar="COLUMN",
        ),
    ] = None
    stratum: Annotated[
        str | None, option("Draw within its values; 'stratum' if the file has it.", metavar="COLUMN")
    ] = None
    difference: Annotated[
        float | None, option("Also say how many items it takes to find this difference.", metavar="NUMBER")
    ] = None
    judge_calibration: Annotated[
        Path | None,
        option("Yes/no by people and judge (columns 'human', 'judge'): corrects shares.", metavar="FILE"),
    ] = None
    human: Annotated[
        Path | None, option("People's marks on some items ('item', 'human'): corrects means.", metavar="FILE")
    ] = None
    concurrence: Annotated[
        Path | None,
        option("Marks of the same systems on another benchmark: are they ranked alike?", metavar="FILE"),
    ] = None
    calibration: Annotated[bool, option("FILE holds confidences: see below.")] = False
    bins: Annotated[int, option("Of --calibration.", ge=1)] = 10
    binning: Annotated[
        Literal["width", "mass"], option("Bins of --calibration: as wide, or as full, as each other.")
    ] = "width"
