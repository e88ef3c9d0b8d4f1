"""``proctor datasets stats``: what is in a data set, beside what its paper says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from proctor.cli.console import command_app, emit
from proctor.cli.data.common import Choices, PlaceSettings, find_place, read_options
from proctor.cli.options import Output, Spread, with_settings
from proctor.settings import option
from proctor.stages.settings import Corrections
from proctor.terminal import note

app = command_app()


class StatsSettings(PlaceSettings, frozen=True, kw_only=True):
    """What is measured, and what it is compared with."""

    html: Annotated[Path | None, option("Write a page with pictures, too.", metavar="FILE")] = None
    beside: Annotated[
        tuple[str, ...],
        option("Another data set whose steps are compared; may be given again.", metavar="[DATASET=]FOLDER"),
    ] = ()
    corrections: Corrections = "corrected"
    choices: Choices = ()


@app.command()
@with_settings
def stats(settings: StatsSettings, where: Spread, output: Output) -> None:
    """Recompute the tables of the data set's paper (paper, found, why), and show how long, how many, how spread.

    Example: proctor datasets stats ~/data/captaincook4d --html captaincook4d.html

    Example: proctor datasets stats ~/data/captaincook4d --beside youcook2=~/data/youcook2
    """
    from proctor.compute import place_of
    from proctor.datasets.dataset import dataset_names
    from proctor.stages.datasets_stats import (
        Beside,
        dataset_statistics,
        render_beside,
        render_statistics,
        statistics_dict,
    )
    from proctor.stages.datasets_stats_page import write_statistics_page

    dataset, folder = find_place(settings.place)
    spread = place_of(where.workers)
    found = dataset_statistics(
        dataset.name,
        folder,
        corrections=settings.corrections,
        options=read_options(settings.choices),
        place=spread,
    )
    others = []
    for text in settings.beside:
        name, _, path = text.partition("=")
        other, place_of_it = find_place([name, path] if name in dataset_names() else [text])
        others.append(
            dataset_statistics(other.name, place_of_it, corrections=settings.corrections, place=spread)
        )
    compared = render_beside([found, *others]) if others else ""
    if settings.html is not None:
        note(f"page: {write_statistics_page(settings.html, found, others)}")
    values = statistics_dict(
        Beside(**msgspec.structs.asdict(found), beside=tuple(others)) if others else found
    )
    emit(values, "\n\n".join(filter(None, [render_statistics(found), compared])), as_json=output.as_json)
