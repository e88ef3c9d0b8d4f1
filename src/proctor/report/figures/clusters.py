"""One column a recording, one square a step: filled where it is a mistake. Shows at a glance whether mistakes cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from proctor.report.figures.parts import join, label, nothing

__all__ = ["draw_clusters"]

_CELL: Final = 10
_MOST: Final = 120
"""Columns that fit; of more recordings every second, third, … is drawn, and the picture says so."""


def draw_clusters(recordings: Sequence[tuple[str, Sequence[bool]]]) -> Markup:
    """Draw recordings from the one with the most mistakes to those without any.

    Args:
        recordings: name, and whether each step is a mistake, in order.
    """
    if not recordings:
        return nothing("There is no recording.")
    ordered = sorted(recordings, key=lambda r: (-sum(r[1]) / max(1, len(r[1])), r[0]))
    shown = ordered[:: 1 + (len(ordered) - 1) // _MOST]
    height, width = max(len(steps) for _, steps in shown), len(shown)
    columns = join(
        Markup("<g><title>{}</title>{}</g>").format(
            label(f"{name}: {sum(steps)} of {len(steps)} steps are mistakes"),
            join(
                Markup('<rect class="{}" x="{}" y="{}" width="8" height="8"/>').format(
                    "yes" if mistake else "no", _CELL * n, _CELL * k
                )
                for k, mistake in enumerate(steps)
            ),
        )
        for n, (name, steps) in enumerate(shown)
    )
    some = f" Drawn: {width} of the {len(ordered)} recordings." if width < len(ordered) else ""
    what = (
        f"{width} recordings, {sum(sum(s) > 0 for _, s in shown)} of them with a mistake; one square a step."
    )
    return Markup(
        '<svg class="clusters" viewBox="0 0 {} {}" width="{}" role="img" aria-label="{}">{}</svg>'
        '<ul class="legend"><li>{} mistake</li><li>{} no mistake</li></ul>{}'
    ).format(
        _CELL * width, _CELL * height, _CELL * width, what, columns, _sample("yes"), _sample("no"),
        Markup('<p class="note">{}</p>').format(some.strip()) if some else "",
    )  # fmt: skip


def _sample(name: str) -> Markup:
    return Markup(
        '<svg class="clusters sample" width="12" height="12" aria-hidden="true" focusable="false">'
        '<rect class="{}" x="2" y="2" width="8" height="8"/></svg>'
    ).format(name)
