"""``proctor datasets list`` and ``info``: which data sets Proctor reads, what each is, and where to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument

if TYPE_CHECKING:
    from proctor.datasets.dataset import Dataset

apps = {name: command_app() for name in ("list", "info")}


DatasetName: TypeAlias = Annotated[str, argument("Name of the data set (see 'proctor datasets list').")]


class Named(Settings, frozen=True, kw_only=True):
    """Which data set is meant."""

    dataset: DatasetName


@apps["list"].command("list")
@with_settings
def list_datasets(output: Output) -> None:
    """List the data sets that can be read, ours and those of plugins.

    Example: proctor datasets list
    """
    from proctor.stages.datasets_info import list_datasets

    rows = list_datasets()
    shown = [(r.name, r.title, r.kind, r.licence, r.tried_on) for r in rows]
    text = table(shown, ("name", "title", "holds", "licence", "tried on"))
    emit({"datasets": rows}, text + "\n\nmore: proctor datasets info NAME", as_json=output.as_json)


@apps["info"].command()
@with_settings
def info(settings: Named, output: Output) -> None:
    """Show what a data set is, its licence, how to get it, which files are read, and what its reader can do.

    Example: proctor datasets info goalstep
    """
    from proctor.datasets.dataset import load_dataset
    from proctor.stages.datasets_info import render_description

    declared = load_dataset(settings.dataset)
    emit(_plain(declared), render_description(declared), as_json=output.as_json)


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
