"""``proctor read``: a data set's folder into a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, Spread, with_settings
from proctor.settings import Settings, argument
from proctor.stages.settings import ReadSettings
from proctor.terminal import warn

app = command_app()

_SHOWN = 5
"""Oddities that are listed one by one."""


class Source(Settings, frozen=True, kw_only=True):
    """What is read, and where to."""

    dataset: Annotated[str, argument("Name of the data set: captaincook4d, plain, or a plugin's.")]
    folder: Annotated[Path, argument("Folder with the data set's files.")]
    workspace: Annotated[Path, argument("Folder of the benchmark in the making; made if needed.")]


@app.command()
@with_settings
def read(
    source: Source,
    settings: ReadSettings,
    spread: Spread,
    output: Output,
) -> None:
    """Read recordings and task graphs, correct what is known to be wrong, and list what was found.

    Writes recordings.jsonl, graphs.json, corrections.jsonl and read.dropped.jsonl. Nothing is corrected silently:
    every correction is listed with its reason.

    Example: proctor read captaincook4d ~/data/captaincook4d bench
    """
    from proctor.compute import place_of
    from proctor.stages import read as stage

    dataset, folder, workspace = source.dataset, source.folder, source.workspace
    result = stage.read(dataset, folder, workspace, settings, place=place_of(spread.workers))
    counts = result.counts
    rows = [
        (key.replace("_", " "), counts[key])
        for key in ("recordings", "activities", "steps", "steps_kept", "corrections", "dropped")
        if key in counts
    ]
    found = result.findings
    for sentence in found[:_SHOWN]:
        warn(sentence)
    if len(found) > _SHOWN:
        warn(f"{len(found) - _SHOWN:,} more: proctor datasets check {dataset} {folder}")
    if not counts["task_graphs"]:
        warn(
            "there are no task graphs, and nothing can be asked about recordings without; "
            "'proctor graph induce --write' makes them from recordings"
        )
    following = "derive {}" if counts["task_graphs"] else "graph induce {} --write"
    text = table(rows) + f"\n\nnext: proctor {following.format(workspace)}"
    emit(result, text, as_json=output.as_json)
