"""Task graphs as JSON: Proctor's own, and CaptainCook4D's ``{"steps": {id: text}, "edges": [[a, b]]}``.

Proctor's own file is one activity as in a plain folder (``docs/datasets/plain.md``), or an object of activities by id as
in a workspace's ``graphs.json``. A step of an edge is named by its id or, where one step alone has it, by its text.
The limits that a plain folder sets to ids and texts do not hold here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

import msgspec

from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.graph_file import exporter, importer, one_graph, optional_lost, too_many
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, Step, TaskGraph, closing_edges
from proctor.records import Dropped

__all__ = ["FORMATS", "parse_captaincook", "parse_own", "render_captaincook", "render_own"]

_Name = str | int


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    id: _Name
    text: str
    after: list[_Name] = []
    optional: bool = False
    last: bool = False


class _Graph(msgspec.Struct, forbid_unknown_fields=True):
    id: _Name
    steps: list[_Step]
    name: str | None = None
    edges: list[tuple[_Name, _Name]] = []
    start: _Name | None = None
    end: _Name | None = None
    schema_link: str | None = msgspec.field(default=None, name="$schema")


class _CaptainCook(msgspec.Struct):
    steps: dict[str, str]
    edges: list[tuple[int, int]]


def _require_few(graphs: list[Any], where: str) -> None:
    """Refuse too many steps or edges before each becomes an object of ours."""
    counts = dict.fromkeys(("steps", "edges"), 0)
    for graph in graphs:
        for key in counts:
            if isinstance(graph, dict) and isinstance(graph.get(key), list | dict):
                counts[key] += len(graph[key])
    too_many(counts["steps"], counts["edges"], where)


def _shaped(value: object, type_: Any, where: str) -> Any:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{error}.", where=where, hint="docs/graphs.md shows what the file looks like"
        ) from None
    except (RecursionError, OverflowError):
        raise UserError("it is nested too deeply or has too large numbers.", where=where) from None


# -- Proctor's own ---------------------------------------------------------------------------------------------


def parse_own(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:  # noqa: ARG001 - ids are in the file
    """Return the drafts of a file: of one activity, a list of activities, or an object of activities by id.

    Raises:
        UserError: if it is not JSON of that shape, or the id of an activity is not its key.
    """
    value = parse_json(data, where)
    if isinstance(value, dict) and not isinstance(value.get("steps"), list):
        _require_few(list(value.values()), where)
        graphs = _shaped(value, dict[str, _Graph], where)
        for key, graph in graphs.items():
            if str(graph.id) != key:
                raise UserError(
                    f"the graph under '{key[:60]}' has the id '{str(graph.id)[:60]}'.",
                    where=where,
                    hint="make key and id equal",
                )
        return Imported(tuple(map(_draft, graphs.values())))
    listed = value if isinstance(value, list) else [value]
    _require_few(listed, where)
    return Imported(tuple(map(_draft, _shaped(listed, list[_Graph], where))))


def _draft(graph: _Graph) -> GraphDraft:
    ids = {str(s.id) for s in graph.steps}
    texts: dict[str, list[str]] = {}
    for step in graph.steps:
        texts.setdefault(step.text, []).append(str(step.id))

    def named(name: _Name) -> str:
        owners = texts.get(str(name), [])
        return owners[0] if str(name) not in ids and len(owners) == 1 else str(name)

    edges = [(named(a), named(b)) for a, b in graph.edges]
    given = set(edges)
    waits = [(named(earlier), str(s.id)) for s in graph.steps for earlier in s.after]
    edges += [edge for edge in waits if edge not in given]
    start, end = (None if node is None else named(node) for node in (graph.start, graph.end))
    last = [str(s.id) for s in graph.steps if s.last]
    edges += closing_edges([str(s.id) for s in graph.steps], edges, last, start, end)
    return GraphDraft(
        str(graph.id),
        str(graph.id) if graph.name is None else graph.name,
        tuple(Step(str(s.id), s.text, s.optional) for s in graph.steps),
        tuple(edges),
        start,
        end,
    )


def render_own(graphs: Sequence[TaskGraph]) -> tuple[bytes, tuple[Dropped, ...]]:
    """Return one activity, or several by id.

    Raises:
        UserError: if two graphs have the same id.
    """
    by_id = {g.id: _plain(g) for g in graphs}
    if len(by_id) < len(graphs):
        raise UserError("two graphs have the same id.", hint="rename one")
    value = next(iter(by_id.values())) if len(by_id) == 1 else by_id
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n", ()


def _plain(graph: TaskGraph) -> dict[str, object]:
    for text in (graph.id, graph.name, *(t for s in graph.steps for t in (s.id, s.text))):
        text.encode()
    value: dict[str, object] = {
        "id": graph.id,
        "name": graph.name,
        "steps": [
            {"id": s.id, "text": s.text} | ({"optional": True} if s.optional else {}) for s in graph.steps
        ],
        "edges": graph.edges,
    }
    roles = {"start": graph.start, "end": graph.end}
    return value | {role: node for role, node in roles.items() if node is not None}


# -- CaptainCook4D's -------------------------------------------------------------------------------------------


def parse_captaincook(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:
    """Return the draft of a file; the lowest step is the start and the highest the end, as in CaptainCook4D's.

    Raises:
        UserError: if it is not JSON of that shape or an id is not a number.
    """
    value = parse_json(data, where)
    _require_few([value], where)
    raw = cast("_CaptainCook", _shaped(value, _CaptainCook, where))
    strange = [key for key in raw.steps if not (key.isascii() and key.isdecimal() and len(key) < 19)]
    if strange:
        raise UserError(f"the step id {strange[0][:60]!r} is not a number.", where=f"{where}: steps")
    if not raw.steps:
        raise UserError("the graph has no steps.", where=f"{where}: steps")
    draft = GraphDraft(
        stem,
        stem,
        tuple(Step(key, text) for key, text in raw.steps.items()),
        tuple((str(a), str(b)) for a, b in raw.edges),
        min(raw.steps, key=int),
        max(raw.steps, key=int),
    )
    return Imported((draft,))


def render_captaincook(graphs: Sequence[TaskGraph]) -> tuple[bytes, tuple[Dropped, ...]]:
    """Return the graph with its own ids where they fit the format, else numbered in a possible order.

    Raises:
        UserError: if there is more than one graph.
    """
    graph = one_graph(graphs, "CaptainCook4D's format")
    lost = [
        Dropped(graph.id, "graph_name", f"'{graph.name}': id and name are taken from the name of the file")
    ]
    lost += optional_lost(graph)
    if not _fits(graph):
        graph, renamed = _numbered(_with_terminals(graph))
        lost += [Dropped(old, "step_id", f"became {new}") for old, new in renamed.items() if old != new]
    for step in graph.steps:
        step.text.encode()
    value = {
        "steps": {s.id: s.text for s in graph.steps},
        "edges": [(int(a), int(b)) for a, b in graph.edges],
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=4) + b"\n", tuple(lost)


def _fits(graph: TaskGraph) -> bool:
    """True when the ids are plain numbers, the lowest that of the start and the highest that of the end."""
    ids = [s.id for s in graph.steps]
    if not all(i.isascii() and i.isdecimal() and len(i) < 19 and str(int(i)) == i for i in ids):
        return False
    return (graph.start, graph.end) == (min(ids, key=int), max(ids, key=int))


def _with_terminals(graph: TaskGraph) -> TaskGraph:
    start = graph.start if graph.start is not None else _free("START", graph)
    end = graph.end if graph.end is not None else _free("END", graph)
    steps, edges = list(graph.steps), list(graph.edges)
    if graph.start is None:
        steps.insert(0, Step(start, "START"))
        edges = [(start, s.id) for s in graph.steps if not graph.predecessors(s.id)] + edges
    if graph.end is None:
        steps.append(Step(end, "END"))
        edges += [(s.id, end) for s in graph.steps if not graph.successors(s.id)]
    return TaskGraph(graph.id, graph.name, tuple(steps), tuple(edges), start, end)


def _free(name: str, graph: TaskGraph) -> str:
    while name in graph:
        name += "_"
    return name


def _numbered(graph: TaskGraph) -> tuple[TaskGraph, dict[str, str]]:
    """Number the nodes in an order in which they can be done, so that start and end come to lie outside."""
    ids = {old: str(n) for n, old in enumerate(graph.topological_order)}
    steps = tuple(replace(graph[old], id=ids[old]) for old in graph.topological_order)
    edges = tuple((ids[a], ids[b]) for a, b in graph.edges)
    start, end = (ids[node] for node in (graph.start, graph.end) if node is not None)
    return TaskGraph(graph.id, graph.name, steps, edges, start, end), ids


FORMATS: Final = (
    Format(
        name="graph-json",
        title="Proctor's own task graphs (JSON)",
        suffixes=(".json",),
        kind="graph",
        lossless=True,
        read=importer(parse_own),
        write=exporter(render_own),
    ),
    Format(
        name="captaincook4d-graph",
        title="CaptainCook4D task graph (JSON)",
        suffixes=(".json",),
        kind="graph",
        lossless=False,
        loss=(
            "id and name of the graph: the name of the file stands for both",
            "ids of steps, where they are not numbers between those of start and end: nodes are renumbered",
            "that there is no start or no end: START and END are added",
            "that steps are optional",
            "all graphs but one: a file holds one",
        ),
        read=importer(parse_captaincook),
        write=exporter(render_captaincook),
    ),
)
