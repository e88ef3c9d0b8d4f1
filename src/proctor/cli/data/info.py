"""``proctor datasets info``: what a data set is and where to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.console import JsonFlag, command_app, emit

if TYPE_CHECKING:
    from proctor.datasets.dataset import Dataset

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
    from proctor.stages.datasets_info import render_description

    declared = load_dataset(dataset)
    emit(_plain(declared), render_description(declared), as_json=as_json)


def _plain(dataset: Dataset) -> dict[str, Any]:
    """Return everything that a data set declares."""
    from proctor.stages.datasets_info import TRIED_ON

    return {
        "name": dataset.name,
        "title": dataset.title,
        "version": dataset.version,
        "kind": dataset.kind,
        "licence": dataset.licence,
        "access": dataset.access,
        "homepage": dataset.homepage,
        "citation": dataset.citation,
        "tried_on": TRIED_ON[dataset.seen],
        "files": [
            {"path": f.path, "what": f.what, "required": f.required, "sha256": f.sha256}
            for f in dataset.files
        ],
        "options": {name: list(values) for name, values in dataset.options.items()},
        "rules": dict(dataset.rules),
        "splits": [{"name": s.name, "what": s.what, "released": s.released} for s in dataset.splits],
        "downloads": [
            {"url": d.url, "path": d.path, "size": d.size, "sha256": d.sha256} for d in dataset.downloads
        ],
        "published": [
            {"quantity": p.quantity, "value": p.value, "where": p.where, "why": p.why}
            for p in dataset.published
        ],
        "notes": list(dataset.notes),
    }
