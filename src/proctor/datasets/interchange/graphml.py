"""Task graphs in GraphML, as NetworkX and yEd read and write it.

The instruction of a node is its attribute ``label``, ``text``, ``name``, ``title`` or ``description`` (the first that
the file has, in this order), else yEd's label, else its id. Written are a ``label`` for programs and a yEd label for
eyes; yEd shows all nodes in one place until a layout is chosen there. Ids that XML does not take as names of nodes, and
texts with characters that XML cannot hold, are kept as JSON in attributes of our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.graph_file import exporter, guess_terminals, importer, node_names, too_many
from proctor.datasets.interchange.safe_xml import clean_text, parse_xml, render_element
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, Step, TaskGraph
from proctor.records import Dropped

__all__ = ["FORMATS", "parse_graphml", "render_graphml"]

_TEXTS: Final = ("label", "text", "name", "title", "description")
_ID: Final = "proctor_id"
_EXACT: Final = "proctor_text"
_ROLE: Final = "proctor_role"
_OURS: Final = "proctor_version"
_NODE_NAME: Final = re.compile(r"[A-Za-z0-9_.:\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff-]+")


# -- reading -----------------------------------------------------------------------------------------------------


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


@dataclass(slots=True)
class _Found:
    """One graph as it is being read."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    data: dict[str, str] = field(default_factory=dict)
    hyperedges: int = 0
    decorated: int = 0


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    default: str | None


def _keys(root: Element) -> dict[str, _Key]:
    """Return the declared attributes: id to name; yEd's drawings are called ``yed``."""
    keys = {}
    for element in root:
        if _local(element.tag) == "key":
            drawn = element.get("yfiles.type") == "nodegraphics"
            name = "yed" if drawn else element.get("attr.name") or element.get("id") or ""
            default = next((_words(child) for child in element if _local(child.tag) == "default"), None)
            keys[element.get("id") or ""] = _Key(name, default)
    return keys


def _words(element: Element) -> str:
    return "".join(element.itertext())


def _values(element: Element, keys: Mapping[str, _Key]) -> dict[str, str]:
    """Return the attributes of a node or graph by name."""
    values: dict[str, str] = {}
    for child in element:
        if _local(child.tag) != "data":
            continue
        key = keys.get(child.get("key") or "", _Key(child.get("key") or "", None)).name
        if key == "yed":
            labels = [e for e in child.iter() if _local(e.tag) == "NodeLabel"]
            if labels:
                values.setdefault("yed", (labels[0].text or "").strip())
        else:
            values.setdefault(key, _words(child))
    return values


def _collect(graph: Element, keys: Mapping[str, _Key], found: _Found, where: str) -> None:
    """Read nodes and edges of a graph and of the graphs inside its nodes, in the order of the file."""
    if graph.get("edgedefault", "directed") != "directed":
        raise UserError(
            "its edges have no direction.", where=where, hint='a task graph has edgedefault="directed"'
        )
    for child in graph:
        match _local(child.tag):
            case "node":
                inner = [e for e in child if _local(e.tag) == "graph"]
                id_ = child.get("id")
                if id_ is None:
                    raise UserError("a node has no id.", where=where, hint="give each node an id")
                if inner:
                    found.groups.add(id_)
                else:
                    found.order.append(id_)
                    found.nodes.setdefault(id_, _values(child, keys))
                for nested in inner:
                    _collect(nested, keys, found, where)
            case "edge":
                ends = child.get("source"), child.get("target")
                if ends[0] is None or ends[1] is None:
                    raise UserError(
                        "an edge has no source or no target.", where=where, hint="correct the file"
                    )
                if child.get("directed") == "false":
                    raise UserError(
                        f"the edge {ends[0][:60]} → {ends[1][:60]} has no direction.",
                        where=where,
                        hint='remove directed="false", or the edge',
                    )
                found.edges.append((ends[0], ends[1]))
                found.decorated += any(v.strip() for k, v in _values(child, keys).items() if k in _TEXTS)
            case "hyperedge":
                found.hyperedges += 1
            case _:
                pass


def _text(values: Mapping[str, str], keys: Sequence[str]) -> str | None:
    if values.get(_EXACT):
        return _from_json(values[_EXACT])
    for key in keys:
        if key in values:
            return values[key]
    return values.get("yed") or None


def _from_json(text: str) -> str:
    try:
        value = json.loads(text)
        value.encode()
    except (ValueError, AttributeError, RecursionError):
        return text
    return str(value)


def _draft(
    element: Element, keys: Mapping[str, _Key], where: str, stem: str
) -> tuple[GraphDraft, list[str], list[Dropped]]:
    found = _Found(data=_values(element, keys))
    _collect(element, keys, found, where)
    ours = _OURS in found.data
    id_ = _from_json(found.data[_ID]) if ours and _ID in found.data else element.get("id") or stem
    name = found.data.get("name", id_)
    if ours and found.data.get(_EXACT):
        name = _from_json(found.data[_EXACT])
    names = {
        node: _from_json(values[_ID]) if ours and _ID in values else node
        for node, values in found.nodes.items()
    }
    seen = {key for values in found.nodes.values() for key in values}
    wanted = [key for key in _TEXTS if key in seen][:1]
    defaults = {k.name: k.default for k in keys.values() if k.default is not None}
    steps, nameless = [], 0
    for node in found.order:
        text = _text(found.nodes[node], wanted)
        if text is None:
            text = next((defaults[key] for key in wanted if defaults.get(key)), None)
        nameless += text is None
        optional = ours and found.nodes[node].get(_ROLE) == "optional"
        steps.append(Step(names[node], node if text is None else text, optional))
    roles = {values.get(_ROLE): names[node] for node, values in found.nodes.items()} if ours else {}
    kept = [e for e in found.edges if not found.groups.intersection(e)]
    dropped = [
        Dropped(f"{a} → {b}", "edge_of_group", "an end of the edge is a group of nodes")
        for a, b in found.edges
        if found.groups.intersection((a, b))
    ]
    dropped += [
        Dropped(group, "group", "a node that holds a graph is no step") for group in sorted(found.groups)
    ]
    if found.hyperedges:
        dropped.append(Dropped(id_, "hyperedge", f"{found.hyperedges} edge(s) between more than two nodes"))
    edges = tuple((names.get(a, a), names.get(b, b)) for a, b in kept)
    draft = GraphDraft(id_, name, tuple(steps), edges, roles.get("start"), roles.get("end"))
    notes = [f"graph '{id_}': {nameless} node(s) without a text were called by their id."] if nameless else []
    if found.decorated:
        notes.append(f"graph '{id_}': {found.decorated} edge(s) have labels, which are not kept.")
    if not ours:
        draft, guessed = guess_terminals(draft)
        notes += guessed
    return draft, notes, dropped


def parse_graphml(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:
    """Return the drafts of all graphs of a file.

    Raises:
        UserError: if it is not GraphML, has a document type, or edges without direction, or too many of anything.
    """
    root = parse_xml(data, where)
    if _local(root.tag) != "graphml":
        raise UserError(f"the file is <{root.tag[:60]}>, not <graphml>.", where=where, hint="is it GraphML?")
    keys = _keys(root)
    drafts: list[GraphDraft] = []
    warnings: list[str] = []
    dropped: list[Dropped] = []
    for element in (child for child in root if _local(child.tag) == "graph"):
        draft, notes, lost = _draft(element, keys, where, stem)
        drafts.append(draft)
        warnings += notes
        dropped += lost
        too_many(sum(len(d.steps) for d in drafts), sum(len(d.edges) for d in drafts), where)
    return Imported(tuple(drafts), tuple(warnings), tuple(dropped))


# -- writing -----------------------------------------------------------------------------------------------------

_HEAD: Final = {
    "xmlns": "http://graphml.graphdrawing.org/xmlns",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xmlns:y": "http://www.yworks.com/xml/graphml",
    "xsi:schemaLocation": (
        "http://graphml.graphdrawing.org/xmlns http://www.yworks.com/xml/schema/graphml/1.1/ygraphml.xsd"
    ),
}
_DECLARED: Final = (
    ("d0", "graph", _OURS),
    ("d1", "graph", "name"),
    ("d2", "graph", _ID),
    ("d3", "graph", _EXACT),
    ("d4", "node", "label"),
    ("d5", "node", _ROLE),
    ("d6", "node", _ID),
    ("d7", "node", _EXACT),
)
_DRAWN: Final = "d8"


def render_graphml(graphs: Sequence[TaskGraph]) -> tuple[bytes, tuple[Dropped, ...]]:
    """Return all graphs in one file; nothing is lost."""
    declared = [
        render_element("key", {"id": k, "for": of, "attr.name": name, "attr.type": "string"}, indent=1)
        for k, of, name in _DECLARED
    ]
    declared.append(
        render_element("key", {"id": _DRAWN, "for": "node", "yfiles.type": "nodegraphics"}, indent=1)
    )
    parts = [_graph(g, n) for n, g in enumerate(graphs)]
    body = render_element("graphml", _HEAD, [*declared, *parts])
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + body).encode(), ()


def _data(key: str, text: str, indent: int) -> str:
    return render_element("data", {"key": key}, text, indent=indent)


def _named(text: str, key: str, exact: str, indent: int) -> list[str]:
    """Return a text as data, and once more as JSON where XML cannot hold all of it."""
    cleaned, replaced = clean_text(text)
    parts = [_data(key, cleaned, indent)]
    if replaced:
        text.encode()
        parts.append(_data(exact, json.dumps(text), indent))
    return parts


def _graph(graph: TaskGraph, number: int) -> str:
    names = node_names(graph, _NODE_NAME.fullmatch)
    parts = [_data("d0", "1", 2), *_named(graph.name, "d1", "d3", 2)]
    own = (
        graph.id
        if number == 0 and _NODE_NAME.fullmatch(graph.id) and graph.id not in names.values()
        else None
    )
    if own is None:
        graph.id.encode()
        parts.append(_data("d2", json.dumps(graph.id), 2))
    parts += [_node(graph, step, names[step.id]) for step in graph.steps]
    for n, (a, b) in enumerate(graph.edges):
        ends = {"id": f"e{number}.{n}", "source": names[a], "target": names[b]}
        parts.append(render_element("edge", ends, indent=2))
    head = {"id": own or f"graph.{number}", "edgedefault": "directed"}
    return render_element("graph", head, parts, indent=1)


def _node(graph: TaskGraph, step: Step, name: str) -> str:
    parts = _named(step.text, "d4", "d7", 3)
    for role, node in (("start", graph.start), ("end", graph.end)):
        if node == step.id:
            parts.append(_data("d5", role, 3))
    if step.optional:
        parts.append(_data("d5", "optional", 3))
    if name != step.id:
        step.id.encode()
        parts.append(_data("d6", json.dumps(step.id), 3))
    label = render_element("y:NodeLabel", {}, clean_text(step.text)[0], indent=5)
    shape = render_element("y:ShapeNode", {}, [label], indent=4)
    parts.append(render_element("data", {"key": _DRAWN}, [shape], indent=3))
    return render_element("node", {"id": name}, parts, indent=2)


FORMATS: Final = (
    Format(
        name="graphml",
        title="GraphML (NetworkX, yEd)",
        suffixes=(".graphml",),
        kind="graph",
        lossless=True,
        read=importer(parse_graphml),
        write=exporter(render_graphml),
    ),
)
