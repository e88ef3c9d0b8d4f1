"""What the data sets declare, for ``proctor datasets list`` and ``info`` and for the pages of ``docs/datasets``."""

from __future__ import annotations

import textwrap
from typing import Any, Final

import msgspec

from proctor.datasets.dataset import Dataset, dataset_names, load_dataset
from proctor.errors import UserError

__all__ = ["TRIED_ON", "list_datasets", "render_description"]

TRIED_ON: Final = {
    "real": "the files of the release",
    "sample": "a sample of the release's files",
    "fields": "files made by hand from the documented fields",
}
"""What ``Dataset.seen`` means."""


class Listed(msgspec.Struct, frozen=True):
    """A registered data set, in a row."""

    name: str
    title: str
    kind: str
    licence: str
    tried_on: str


def list_datasets() -> list[Listed]:
    """Return a row for each registered data set; a plugin that does not load has its error in ``title``."""
    rows = []
    for name in dataset_names():
        try:
            declared = load_dataset(name)
        except UserError as error:
            rows.append(Listed(name, error.message, "?", "?", "?"))
            continue
        seen = TRIED_ON[declared.seen]
        rows.append(Listed(name, declared.title, declared.kind, declared.licence, seen))
    return rows


def render_description(dataset: Dataset) -> str:
    """Return what a data set declares as text for a terminal."""
    parts = [f"{dataset.title} ({dataset.name})", ""]
    facts = {
        "version": dataset.version,
        "holds": dataset.kind,
        "licence": dataset.licence,
        "how to get it": dataset.access,
        "homepage": dataset.homepage,
        "cite": dataset.citation,
        "tried on": TRIED_ON[dataset.seen],
    }
    width = max(map(len, facts))
    for name, text in facts.items():
        if text:
            parts += _hanging(f"{name:<{width}}  ", text)
    parts += ["", "files in its folder"]
    for file in dataset.files:
        parts += _hanging("  ", f"{file.path}: {file.what}{'' if file.required else ' (if there)'}")
    parts += _section("options (--option NAME=VALUE)", {n: " | ".join(v) for n, v in dataset.options.items()})
    parts += _section("splits", {s.name: s.what for s in dataset.splits})
    parts += _section("rules of its own", dataset.rules)
    for note in dataset.notes:
        parts += ["", *textwrap.wrap(note, 100)]
    return "\n".join(parts)


def _section(title: str, rows: Any) -> list[str]:
    if not rows:
        return []
    lines = ["", title]
    for name, text in rows.items():
        lines += _hanging("  ", f"{name}: {text}")
    return lines


def _hanging(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=head, subsequent_indent=" " * max(len(head), 4))
