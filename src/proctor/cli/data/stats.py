"""``proctor datasets stats``: what is in a data set, beside what its paper says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkersOption, command_app, emit, note
from proctor.cli.data.common import OptionsFlag, PlaceArgument, find_place, read_options

app = command_app()


@app.command()
def stats(
    place: PlaceArgument,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures, too.")
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DATASET=]FOLDER", help="Another data set whose steps are compared; may be given again."
        ),
    ] = None,
    corrections: Annotated[str, typer.Option(help="corrected or published.")] = "corrected",
    option: OptionsFlag = None,
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Recompute the tables of the data set's paper (paper, found, why), and show how long, how many, how spread.

    Example: proctor datasets stats ~/data/captaincook4d --html captaincook4d.html

    Example: proctor datasets stats ~/data/captaincook4d --beside youcook2=~/data/youcook2
    """
    from proctor.compute import place_of
    from proctor.datasets.dataset import dataset_names
    from proctor.stages.datasets_stats import (
        dataset_statistics,
        render_beside,
        render_statistics,
        statistics_dict,
    )
    from proctor.stages.datasets_stats_page import write_statistics_page

    dataset, folder = find_place(place)
    spread = place_of(workers)
    found = dataset_statistics(
        dataset.name, folder, corrections=corrections, options=read_options(option), place=spread
    )
    others = []
    for text in beside or ():
        name, _, path = text.partition("=")
        other, place_of_it = find_place([name, path] if name in dataset_names() else [text])
        others.append(dataset_statistics(other.name, place_of_it, corrections=corrections, place=spread))
    compared = render_beside([found, *others]) if others else ""
    if html is not None:
        note(f"page: {write_statistics_page(html, found, others)}")
    values = statistics_dict(found) | ({"beside": [statistics_dict(s) for s in others]} if others else {})
    emit(values, "\n\n".join(filter(None, [render_statistics(found), compared])), as_json=as_json)
