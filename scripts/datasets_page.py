"""The page of a data set in ``docs/datasets``, written from its declaration; for ``scripts/write-datasets``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from proctor.datasets.dataset import Dataset
from proctor.stages.datasets_info import TRIED_ON

__all__ = ["render_overview", "render_page"]

_HOLDS: Final = {
    "recordings": "recordings: who did which step when",
    "manuals": "manuals: steps of text and images",
    "corpus": "a corpus: texts, tables, images",
}


def render_page(dataset: Dataset) -> str:
    """Return the page of one data set as Markdown."""
    return "\n".join([*_lines(dataset), ""])


def render_overview(datasets: Iterable[Dataset]) -> str:
    """Return a table of data sets with links to their pages."""
    rows = [
        (f"[{d.name}](datasets/{d.name}.md)", d.title, d.kind, d.licence, TRIED_ON[d.seen]) for d in datasets
    ]
    return "\n".join(_table(("name", "what it is", "holds", "licence", "reader tried on"), rows))


def _lines(dataset: Dataset) -> Iterator[str]:
    yield f"# {_text(dataset.title)}"
    yield ""
    yield "Written by `scripts/write-datasets` from the declaration of the reader; do not edit."
    yield ""
    facts = {
        "name": f"`{dataset.name}`",
        "version": _text(dataset.version),
        "holds": _HOLDS[dataset.kind],
        "licence": _text(dataset.licence),
        "how to get it": _text(dataset.access),
        "homepage": _text(dataset.homepage),
        "cite": _text(dataset.citation),
        "reader tried on": TRIED_ON[dataset.seen],
    }
    yield from _table(("", ""), [(name, text) for name, text in facts.items() if text])
    for note in dataset.notes:
        yield ""
        yield note
    yield from _commands(dataset)
    yield from _section(
        "What is read",
        ("file", "for", ""),
        [(f"`{f.path}`", _text(f.what), "" if f.required else "if there") for f in dataset.files],
    )
    yield from _section(
        "Choices of the reader",
        ("option", "values, the default first"),
        [
            (f"`{name}`", ", ".join(f"`{v}`" for v in values) or "any")
            for name, values in dataset.options.items()
        ],
    )
    yield from _section(
        "What is reported",
        ("rule or reason", "meaning"),
        [(f"`{rule}`", _text(text)) for rule, text in dataset.rules.items()],
    )
    yield from _section("Splits", ("name", "rule"), [(f"`{s.name}`", _text(s.what)) for s in dataset.splits])
    yield from _section(
        "Figures of the paper",
        ("quantity", "printed", "where", "why it differs"),
        [
            (p.quantity.replace("_", " "), f"{p.value:,.{p.digits}f}", _text(p.where), _text(p.why))
            for p in dataset.published
            if "[" not in p.quantity
        ],
    )
    parts = sum("[" in p.quantity for p in dataset.published)
    if parts:
        yield ""
        yield f"{parts} more figures of single activities stand in `proctor datasets stats {dataset.name} FOLDER`."
    yield from _section(
        "Files to fetch",
        ("address", "bytes", "SHA-256"),
        [
            (d.url, f"{d.size:,}" if d.size else "not said", d.sha256 or "not fixed")
            for d in dataset.downloads
        ],
    )


def _commands(dataset: Dataset) -> Iterator[str]:
    name = dataset.name
    yield ""
    yield "## Commands"
    yield ""
    yield "```console"
    yield f"$ proctor datasets check {name} FOLDER      # everything odd in the files, by rule"
    yield f"$ proctor datasets stats {name} FOLDER      # what is in it, beside what the paper says"
    if dataset.kind == "recordings":
        yield f"$ proctor datasets clips {name} FOLDER --out clips.jsonl"
        yield f"$ proctor datasets convert FOLDER recordings.csv --from {name}"
        yield f"$ proctor read {name} FOLDER bench          # into a benchmark's workspace"
    if dataset.downloads:
        yield f"$ proctor datasets get {name} FOLDER        # asks first"
    yield "```"


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"## {title}"
        yield ""
        yield from _table(header, rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
