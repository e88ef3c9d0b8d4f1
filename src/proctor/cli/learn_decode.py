"""``proctor learn decode``: the task graph as a prior over what a localizer found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proctor.cli.console import emit, table
from proctor.cli.options import Output, with_settings
from proctor.stages.learn.decode_settings import DecodeSettings, LocalizePageSettings

if TYPE_CHECKING:
    from proctor.stages.learn.decode import DecodedRun

__all__ = ["decode", "localize_page"]

_LISTED: Final = 5


@with_settings
def decode(settings: DecodeSettings, output: Output) -> None:
    """Find the best sequence of steps under a localizer's scores: better scores, missing steps, and steps out of order.

    Habits (lengths, places, gaps, how often steps are left out or late) are learned from other recordings' annotations.

    Example: proctor learn decode predictions.csv --annotations ~/data/captaincook4d --truth truth.csv --out runs/decoded
    """
    from proctor.stages.learn.decode import learn_decode

    result = learn_decode(settings)
    emit(result, _text(result), as_json=output.as_json)


def _text(result: DecodedRun) -> str:
    known = "" if result.inferred_right is None else f", {result.inferred_right} with the annotated activity"
    done = f"{result.run}: {result.recordings} recordings decoded in {result.seconds:.1f} s{known}"
    found = f"{result.missing} steps are missing, {result.out_of_order} out of order"
    parts = [f"{done}; habits of {result.fitted_on} others. {found}."]
    if result.rows:
        rows = [
            (
                r.name,
                *(f"{v:.2f}" for v in r.mean_ap),
                f"{r.average_map:.2f}",
                f"{r.recall['1x'][0]:.1f}",
                f"{r.recall['5x'][0]:.1f}",
                *(
                    f"{r.sequence[k]:.1f}" if k in r.sequence else "-"
                    for k in ("edit", "order", "order_tagged", "missing")
                ),
            )
            for r in result.rows
        ]
        head = (
            "",
            "mAP@.1",
            "@.2",
            "@.3",
            "@.4",
            "@.5",
            "mean",
            "R@1x",
            "R@5x",
            "edit",
            "late F1",
            "tagged F1",
            "missing F1",
        )
        parts.append(table(rows, head))
    if result.gains:
        gains = [
            (
                g.name,
                g.above,
                g.figure,
                f"{g.value:+.2f}",
                "-" if g.low is None or g.high is None else f"{g.low:+.2f} to {g.high:+.2f}",
            )
            for g in result.gains
        ]
        parts.append(table(gains, ("row", "above", "figure", "points", "95 %")))
    if result.unknown:
        ids = ", ".join(result.unknown[:_LISTED]) + (", …" if len(result.unknown) > _LISTED else "")
        parts.append(
            f"not in the annotations, so activity and length are not known: {len(result.unknown)} ({ids})"
        )
    if result.dropped:
        parts.append(
            "left out: "
            + "; ".join(f"{d.id}: {d.detail}" for d in result.dropped[:_LISTED])
            + (f"; and {len(result.dropped) - _LISTED} more" if len(result.dropped) > _LISTED else "")
        )
    return "\n\n".join(parts)


@with_settings
def localize_page(settings: LocalizePageSettings, output: Output) -> None:
    """Draw timelines of runs as one page: what happened, what was found, decoded, missing and out of order.

    The page is one file that works offline. RUN holds truth.csv and predictions.csv, and may hold decoded.csv and order.jsonl.

    Example: proctor learn localize-page runs/decoded --annotations ~/data/captaincook4d --out timelines.html
    """
    from proctor.stages.learn.localize_page import draw_timelines

    result = draw_timelines(settings)
    notes = [f"note: {note}" for note in result.notes]
    emit(
        result,
        "\n".join([f"{result.page}: {result.recordings} recordings; {'; '.join(result.runs)}", *notes]),
        as_json=output.as_json,
    )
