"""schema.org HowTo and Recipe in JSON-LD, both ways.

A HowTo is a list of steps, perhaps in sections; that two steps may be done in any order cannot be said. Reading makes
every step wait for the one before it, and says so. Writing puts the steps into one possible order and lists what the
list claims without the graph. Contexts are never fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.graph_file import exporter, importer, one_graph, optional_lost, too_many
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, Step, TaskGraph
from proctor.records import Dropped

__all__ = ["FORMATS", "parse_howto", "render_howto"]

_MAX_DEPTH: Final = 20
_PREFIX: Final = re.compile(r"^(?:https?://schema\.org/|schema:)")
_STEPS: Final = {"HowTo": ("step", "steps"), "Recipe": ("recipeInstructions", "step")}
_LISTS: Final = ("HowToSection", "ItemList", "CreativeWork")


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _types(node: Mapping[str, Any]) -> list[str]:
    return [_PREFIX.sub("", t) for t in _items(node.get("@type")) if isinstance(t, str)]


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the keys of schema.org without their prefix."""
    return {_PREFIX.sub("", key): value for key, value in node.items()}


def _string(value: object) -> str:
    """Return a text; a JSON-LD value object or a list gives the text inside."""
    for item in _items(value):
        if isinstance(item, str):
            return item
        if isinstance(item, int | float) and not isinstance(item, bool):
            whole = isinstance(item, float) and item.is_integer()
            return str(int(item) if whole else item)
        if isinstance(item, dict) and isinstance(item.get("@value"), str):
            return str(item["@value"])
    return ""


def _documents(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield every HowTo and Recipe of a document, those inside ``@graph`` and ``mainEntity`` too."""
    if depth > _MAX_DEPTH:
        return
    for item in _items(value):
        if not isinstance(item, dict):
            continue
        node = _plain(item)
        if any(t in _STEPS for t in _types(node)):
            yield node
        else:
            for key in ("@graph", "mainEntity", "itemListElement", "item"):
                yield from _documents(node.get(key), depth + 1)


class _Reading:
    """The steps of one HowTo, as they are found."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.steps: list[tuple[str, str]] = []
        self.sections: list[str] = []
        self.dropped: list[Dropped] = []
        self.sorted = 0

    def take(self, value: object, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise UserError(f"sections are nested deeper than {_MAX_DEPTH}.", where=self.where)
        for item in self.in_position(_items(value)):
            too_many(len(self.steps), 0, self.where)
            if isinstance(item, str):
                self.steps += [("", line.strip()) for line in item.splitlines() if line.strip()]
            elif isinstance(item, dict):
                self.take_object(_plain(item), depth)
            else:
                self.drop(item, "not_a_step")

    def take_object(self, node: dict[str, Any], depth: int) -> None:
        types = _types(node)
        inside = node.get("itemListElement")
        if "ListItem" in types and isinstance(node.get("item"), (dict, list, str)):
            self.take(node["item"], depth + 1)
        elif "HowToTip" in types:
            self.drop(_string(node.get("text")), "tip")
        elif any(t in _LISTS for t in types) or (not types and inside is not None):
            if title := _string(node.get("name")):
                self.sections.append(title)
            self.take(inside if inside is not None else node.get("step"), depth + 1)
        else:
            self.take_step(node, inside)

    def take_step(self, node: dict[str, Any], inside: object) -> None:
        text = _string(node.get("text")) or self.directions(inside) or _string(node.get("name"))
        if text:
            self.steps.append((_string(node.get("identifier")), text))
        else:
            self.drop(node.get("@id") or node.get("position"), "no_text")

    def directions(self, inside: object) -> str:
        """Return the directions of a step, joined; tips among them are dropped."""
        texts = []
        for item in self.in_position(_items(inside)):
            node = _plain(item) if isinstance(item, dict) else {"text": item}
            text = _string(node.get("text")) or _string(node.get("name"))
            if "HowToTip" in _types(node):
                self.drop(text, "tip")
            elif text:
                texts.append(text)
        return " ".join(texts)

    def in_position(self, items: list[Any]) -> list[Any]:
        """Return the items by ``position`` where each has a number of its own, else as they stand."""
        places = []
        for item in items:
            place = _string(_plain(item).get("position")) if isinstance(item, dict) else ""
            if not re.fullmatch(r"[0-9]{1,9}", place):
                return items
            places.append(int(place))
        if len(set(places)) < len(places) or places == sorted(places):
            return items
        self.sorted += 1
        return [items[k] for k in sorted(range(len(items)), key=places.__getitem__)]

    def drop(self, what: object, reason: str) -> None:
        self.dropped.append(Dropped(f"step {len(self.steps)}", reason, str(what)[:200]))


def _draft(node: dict[str, Any], reading: _Reading, stem: str) -> tuple[GraphDraft, list[str]]:
    for type_ in _types(node):
        for key in _STEPS.get(type_, ()):
            if not reading.steps:
                reading.take(node.get(key))
    name = _string(node.get("name")) or stem
    id_ = _string(node.get("identifier")) or stem
    given = [own for own, _ in reading.steps]
    unique = all(given) and len(set(given)) == len(given)
    steps = tuple(
        Step(own if unique else str(n), text) for n, (own, text) in enumerate(reading.steps, start=1)
    )
    edges = tuple((a.id, b.id) for a, b in pairwise(steps))
    notes = [f"'{name}': a HowTo is a list, so every step was made to wait for the one before it."]
    if reading.sections:
        shown = ", ".join(f"'{s[:40]}'" for s in reading.sections[:6])
        notes.append(f"'{name}': {len(reading.sections)} section(s) are not kept: {shown}.")
    if reading.sorted:
        notes.append(f"'{name}': steps were put in the order of their positions.")
    return GraphDraft(id_, name, steps, edges), notes


def parse_howto(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:
    """Return a chain of steps for every HowTo and Recipe of a JSON-LD document.

    Raises:
        UserError: if it is not JSON, has neither, or one of them has no steps.
    """
    drafts: list[GraphDraft] = []
    warnings: list[str] = []
    dropped: list[Dropped] = []
    documents = list(_documents(parse_json(data, where)))
    for number, node in enumerate(documents, start=1):
        reading = _Reading(where)
        draft, notes = _draft(node, reading, stem if len(documents) == 1 else f"{stem}-{number}")
        if not draft.steps:
            raise UserError(f"'{draft.name[:60]}' has no steps.", where=where, hint="look at its key 'step'")
        drafts.append(draft)
        warnings += notes
        dropped += reading.dropped
    if not drafts:
        raise UserError(
            "there is no HowTo and no Recipe in it.", where=where, hint="is it JSON-LD of schema.org?"
        )
    return Imported(tuple(drafts), tuple(warnings), tuple(dropped))


def render_howto(graphs: Sequence[TaskGraph]) -> tuple[bytes, tuple[Dropped, ...]]:
    """Return one possible order of the steps.

    The order is always that of the first ready step in the file. What is lost is one row for each role and one with
    the number of pairs that the list orders without need.

    Raises:
        UserError: if there is more than one graph.
    """
    graph = one_graph(graphs, "a HowTo")
    order = [i for i in graph.topological_order if i not in (graph.start, graph.end)]
    steps = [
        {"@type": "HowToStep", "position": n, "identifier": i, "text": graph[i].text}
        for n, i in enumerate(order, start=1)
    ]
    value = {
        "@context": "https://schema.org",
        "@type": "HowTo",
        "identifier": graph.id,
        "name": graph.name,
        "step": steps,
    }
    lost = [
        Dropped(node, role, f"'{graph[node].text[:60]}': a HowTo has no such node")
        for role, node in (("start", graph.start), ("end", graph.end))
        if node is not None
    ]
    lost += [
        Dropped(s.id, "empty_text", "a step without words is no step to a reader")
        for s in graph.actions
        if not s.text
    ]
    lost += optional_lost(graph)
    actions = graph.action_mask
    said = sum((graph.ancestors_mask(1 << graph.index[i]) & actions).bit_count() for i in order)
    claimed = len(order) * (len(order) - 1) // 2
    if claimed > said:
        lost.append(
            Dropped(
                graph.id,
                "partial_order",
                f"the list orders {claimed - said:,} pairs that may be done either way",
            )
        )
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode(), tuple(lost)


FORMATS: Final = (
    Format(
        name="howto",
        title="schema.org HowTo (JSON-LD)",
        suffixes=(".jsonld",),
        kind="graph",
        lossless=False,
        loss=(
            "which steps may be done in another order: a HowTo is a list, and reads back as a chain",
            "start and end nodes, and steps without words",
            "that steps are optional",
            "edges as they were given",
            "all graphs but one: a file holds one",
        ),
        read=importer(parse_howto),
        write=exporter(render_howto),
    ),
)
