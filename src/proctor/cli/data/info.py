"""``proctor datasets info``: what a data set is and where to get it."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, command_app, emit

app = command_app()


@app.command()
def info(
    dataset: Annotated[str, typer.Argument(help="Name of the data set (see 'proctor datasets list').")],
    as_json: JsonFlag = False,
) -> None:
    """Say what a data set is, its licence, how to get it, which files are read, and what its reader can do.

    Example: proctor datasets info goalstep
    """
    from proctor.datasets.dataset import load_dataset
    from proctor.stages.datasets_info import describe_dataset, render_description

    declared = load_dataset(dataset)
    emit(describe_dataset(declared), render_description(declared), as_json=as_json)
