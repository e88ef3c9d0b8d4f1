"""What folders of recordings hold beside their tables: a description, which only people can give, and task graphs.

``task_graphs.json`` is in the format ``graph-json``, so it says all that a task graph holds and can be opened by itself
(``proctor graph lint FOLDER/task_graphs.json``). Folders without graphs do not have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from proctor.datasets.interchange.graph_file import MAX_EDGES, MAX_STEPS
from proctor.datasets.interchange.graph_json import FORMATS as GRAPH_FORMATS
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped

__all__ = ["ABOUT_KEYS", "RAI_KEYS", "TASK_GRAPHS", "check_about", "list_lost", "read_graphs", "write_graphs"]

ABOUT_KEYS: Final = {
    "name": "short name of the data set",
    "description": "one paragraph",
    "license": "SPDX identifier or address of the licence",
    "url": "where the data set lives",
    "version": "of the data, for example 1.0.0",
    "datePublished": "YYYY-MM-DD",
    "citeAs": "how to cite it, BibTeX or text",
    "creator": "person or organisation",
    "language": "ISO 639 code of the texts",
}
"""Keys of the description and what they mean; the names are Croissant's (schema.org's)."""

RAI_KEYS: Final = (
    "rai:dataCollection",
    "rai:dataAnnotationProtocol",
    "rai:annotationsPerItem",
    "rai:annotatorDemographics",
    "rai:dataBiases",
    "rai:dataLimitations",
    "rai:personalSensitiveInformation",
    "rai:dataUseCases",
    "rai:dataSocialImpact",
    "rai:hasSyntheticData",
)
"""Further keys: Croissant's vocabulary for responsible AI."""

_MAX: Final = 100_000


def check_about(about: Mapping[str, object] | None) -> dict[str, str]:
    """Return the description with a name.

    Raises:
        UserError: for an unknown key, or a value that is no text.
    """
    found: dict[str, str] = {"name": "recordings"}
    known = (*ABOUT_KEYS, *RAI_KEYS)
    for key, value in (about or {}).items():
        if key not in known:
            raise UserError(
                f"'{str(key)[:80]}' is no key of a description.", hint=f"known: {', '.join(known)}"
            )
        if not isinstance(value, str) or len(value) > _MAX:
            raise UserError(f"the description's '{key}' must be a text of at most {_MAX:,} characters.")
        found[key] = value
    return found


# -- task graphs in a file of their own beside the tables of recordings: ``task_graphs.json`` ----------------------

TASK_GRAPHS: Final = "task_graphs.json"
_JSON: Final = next(f for f in GRAPH_FORMATS if f.name == "graph-json")


def list_lost(graphs: Iterable[TaskGraph], why: str) -> list[Dropped]:
    """Return a row for each graph that is not written: how many steps and edges it has, and why not."""
    return [
        Dropped(g.id[:120], "graph_lost", f"{len(g.steps)} steps and {len(g.edges)} edges: {why}")
        for g in graphs
    ]


def write_graphs(graphs: Mapping[str, TaskGraph], folder: Path) -> list[Dropped]:
    """Write the graphs, by activity id, into the folder, if there are any; return those that were not written.

    Raises:
        UserError: if two graphs have one id, or a text is no Unicode text.
    """
    given = tuple(graphs.values())
    if sum(len(g.steps) for g in given) > MAX_STEPS or sum(len(g.edges) for g in given) > MAX_EDGES:
        return list_lost(given, f"a file holds {MAX_STEPS:,} steps and {MAX_EDGES:,} edges at most")
    if given:
        assert _JSON.write is not None
        _JSON.write(given, folder / TASK_GRAPHS)
    return []


def read_graphs(file: Path) -> dict[str, TaskGraph]:
    """Return the graphs of the file by activity id; none where there is no such file.

    Raises:
        UserError: if the file is broken, or two graphs have one id.
    """
    if not file.exists():
        return {}
    assert _JSON.read is not None
    found = [g for g in _JSON.read(file).objects if isinstance(g, TaskGraph)]
    graphs = {g.id: g for g in found}
    if len(graphs) < len(found):
        raise UserError("two task graphs have the same id.", where=str(file), hint="rename one")
    return graphs
