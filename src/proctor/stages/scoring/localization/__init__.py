"""Options of ``proctor score localization``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["LocalizationSettings"]


class LocalizationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score steps found in time: mAP and recall at k× at each temporal IoU, with intervals.

    Both files are CSV, TSV or JSON Lines (each also .gz), or ActivityNet JSON ('database' and 'results').

    \b
    Columns of the ground truth: video-id, t-start, t-end (seconds), label
    Columns of the predictions:  video-id, t-start, t-end (seconds), label, score

    Protocols: corrected scores all videos of the ground truth, or those that --videos names: in a video without
    any prediction nothing was found. --videos predicted leaves such videos out. activitynet always keeps the
    ground truth of all videos. published reproduces the figures released with CaptainCook4D: as activitynet, and
    predicted labels that the ground truth lacks collide with its renumbered classes.

    If the ground truth holds labels renumbered 0 to C-1, --label-map says what they were.

    Intervals come from a bootstrap over videos. Lines of chance say what the same segments get with their labels
    shuffled. Repeated and empty segments stay unless you drop them; either way
    they are counted.

    Example: proctor score localization --gt gt.csv --pred predictions.csv.gz --protocol corrected --slice has_error
    """  # noqa: D301  # \b keeps the lines of the columns apart

    gt: Annotated[Path, option("Ground truth: the segments to be found.", metavar="FILE")]
    pred: Annotated[Path, option("Predictions with scores, raw labels.", metavar="FILE")]
    protocol: Annotated[
        Literal["published", "activitynet", "corrected"], option("Which rules (see above).")
    ] = "corrected"
    label_map: Annotated[
        Path | None, option("JSON {raw label: renumbered label} of the ground truth.", metavar="FILE")
    ] = None
    tiou: Annotated[str, option("Thresholds: a list, or first:last:step such as 0.5:0.95:0.05.")] = (
        "0.1,0.2,0.3,0.4,0.5"
    )
    subset: Annotated[str | None, option("Only the videos of this subset of the ground truth.")] = None
    videos: Annotated[
        str | None,
        option(
            "The evaluated videos, one a line, or those with predictions (protocol corrected).",
            metavar="FILE|predicted",
        ),
    ] = None
    label_key: Annotated[
        str | None, option("Column or key of the class, such as label_id, where it is not 'label'.")
    ] = None
    drop_duplicates: Annotated[
        bool, option("Leave out segments whose label and ends (within 1 ms) repeat.")
    ] = False
    drop_empty: Annotated[bool, option("Leave out segments shorter than 1 ms.")] = False
    slice_column: Annotated[
        str | None,
        option("Also recall by a column of the ground truth (has_error).", "--slice", metavar="COLUMN"),
    ] = None
    matches: Annotated[
        Path | None,
        option(
            "Also write how each segment was found (CSV): score of its match, best overlap.", metavar="FILE"
        ),
    ] = None
    resamples: Annotated[int, option("Draws of the bootstrap; 0 leaves the intervals out.", ge=0)] = 1_000
