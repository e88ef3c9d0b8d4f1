"""Any file of task graphs, as drafts for the linter or as graphs: which format it is, and its reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proctor.datasets.interchange.dot import parse_dot
from proctor.datasets.interchange.format import Format, Imported, find_format, guess_format
from proctor.datasets.interchange.graph_file import ParseGraphs, load_drafts
from proctor.datasets.interchange.graph_json import parse_captaincook, parse_own
from proctor.datasets.interchange.graphml import parse_graphml
from proctor.datasets.interchange.howto import parse_howto
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import GraphDraft

__all__ = ["GRAPH_PARSERS", "graph_format", "load_graph_drafts"]

GRAPH_PARSERS: Final[Mapping[str, ParseGraphs]] = {
    "graph-json": parse_own,
    "captaincook4d-graph": parse_captaincook,
    "dot": parse_dot,
    "graphml": parse_graphml,
    "howto": parse_howto,
}
"""Parsers by the name of their format; every readable format of kind ``graph`` has one."""


def graph_format(name: str) -> Format:
    """Return the graph format of that name.

    Raises:
        UserError: if there is none.
    """
    if name not in GRAPH_PARSERS:
        raise UserError(f"there is no graph format '{name}'.", hint=did_you_mean(name, GRAPH_PARSERS))
    return find_format(name)


def _kind_of_json(data: bytes, where: str) -> str:
    """Return the name of the format that a JSON document is in; the document itself is given up at once."""
    value = parse_json(data, where)
    if isinstance(value, dict) and isinstance(value.get("steps"), dict) and "edges" in value:
        return "captaincook4d-graph"
    first = value[0] if isinstance(value, list) and value else value
    linked = isinstance(first, dict) and ("@context" in first or "@type" in first or "@graph" in first)
    return "howto" if linked else "graph-json"


def load_graph_drafts(path: Path, format_: str | None = None) -> tuple[str, Imported[GraphDraft]]:
    """Read a file and return the name of its format and what is in it.

    Without a format it is recognised by the ending; what ends in ``.json`` by its content.

    Raises:
        UserError: if the file or the format is not one that is known, or the file is broken.
    """
    if format_ is not None:
        name = graph_format(format_).name
    elif path.suffix.lower() == ".json":
        chosen = ["graph-json"]

        def parse(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:
            chosen[0] = _kind_of_json(data, where)
            return GRAPH_PARSERS[chosen[0]](data, where, stem)

        found = load_drafts(path, parse)
        return chosen[0], found
    else:
        name = guess_format(path, "graph", to_read=True).name
    return name, load_drafts(path, GRAPH_PARSERS[name])
