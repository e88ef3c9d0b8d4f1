r"""Task graphs in DOT, the language of Graphviz, both ways.

Read is the whole language (subgraphs, defaults, edges between groups, ports, HTML labels, comments), not only what
Proctor writes; ``procedure.graph.render_dot`` is something else, the text that prompts show. The label of a node is its
instruction; a node without one is its own instruction. Written files carry what DOT has no word for in attributes of
our own (``proctor_id``, ``proctor_role``), which Graphviz passes on untouched.

Two layers of escapes are kept apart, as Graphviz does: in a quoted string only ``\"`` and a backslash before a line
break mean something; in labels ``\n``, ``\l``, ``\r``, ``\N``, ``\G``, ``\\`` and character references do, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Final, NoReturn

from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.graph_file import (
    exporter,
    guess_terminals,
    importer,
    node_names,
    too_many,
)
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, Step, TaskGraph
from proctor.records import Dropped, decode_text

__all__ = ["FORMATS", "parse_dot", "render_dot_file"]

_MAX_DEPTH: Final = 100
_MAX_TOKENS: Final = 4_000_000
"""Words and signs of one file: sixteen for each edge that is read."""
_ID: Final = "proctor_id"
_ROLE: Final = "proctor_role"
_OURS: Final = "proctor_version"

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f\v\ufeff]+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
    |(?P<arrow>->|--)
    |(?P<mark>[{}\[\];,:=+])
    |(?P<number>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))
    |(?P<name>[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)
    |(?P<quoted>"(?:[^"\\]++|\\.)*+")
    |(?P<html><)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Token:
    """``kind``: name (unquoted), text (quoted, number), html, mark or end; ``at``: where in the file."""

    kind: str
    value: str
    at: int


class _Text(str):
    """A value of an attribute that was written as HTML."""

    __slots__ = ()


def _fail(
    text: str, at: int, where: str, seen: str, hint: str = "is it a DOT file, and complete?"
) -> NoReturn:
    line = text.count("\n", 0, at) + 1
    raise UserError(f"not DOT: {seen} in line {line}.", where=where, hint=hint)


def _tokens(text: str, where: str) -> Iterator[_Token]:
    """Yield the tokens one by one: a list of them would take fifty times the room of the file."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            _fail(text, at, where, f"{text[at : at + 20]!r} was not expected")
        kind, value, end = found.lastgroup or "", found[0], found.end()
        if kind == "html":
            end = _html_end(text, at, where)
            yield _Token("html", text[at + 1 : end - 1], at)
        elif kind == "quoted":
            yield _Token("text", _unquoted(value), at)
        elif kind in ("number", "name"):
            yield _Token("text" if kind == "number" else kind, value, at)
        elif kind != "space":
            yield _Token("mark", value, at)
        at = end
    yield _Token("end", "", len(text))


def _html_end(text: str, at: int, where: str) -> int:
    depth = 0
    for found in re.compile("[<>]").finditer(text, at):
        depth += 1 if found[0] == "<" else -1
        if depth == 0:
            return found.end()
    _fail(text, at, where, "an HTML text that does not end")


def _unquoted(literal: str) -> str:
    inside = literal[1:-1]
    if "\\" not in inside:
        return inside
    meant = {'\\"': '"', "\\\n": ""}
    return re.sub(r"\\(?:.|\n)", lambda m: meant.get(m[0], m[0]), inside)


# -- parsing -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Graph:
    """One graph as it is being read."""

    name: str = ""
    strict: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    ports: int = 0
    groups: int = 0
    decorated: int = 0


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.tokens = _tokens(text, where)
        self.now = next(self.tokens)
        self.following = next(self.tokens, self.now)
        self.read = 0

    def next(self) -> _Token:
        self.read += 1
        if self.read > _MAX_TOKENS:
            self.fail(f"more than {_MAX_TOKENS:,} words and signs", "cut the file into parts")
        token, self.now = self.now, self.following
        self.following = next(self.tokens, self.now)
        return token

    def is_mark(self, value: str) -> bool:
        return self.now.kind == "mark" and self.now.value == value

    def is_word(self, *words: str) -> bool:
        return self.now.kind == "name" and self.now.value.lower() in words

    def take(self, value: str) -> bool:
        taken = self.is_mark(value)
        if taken:
            self.next()
        return taken

    def expect(self, value: str) -> None:
        if not self.take(value):
            self.fail(f"'{value}' was expected, not {self.seen()}")

    def seen(self) -> str:
        return "the end of the file" if self.now.kind == "end" else repr(self.now.value[:30])

    def fail(self, seen: str, hint: str = "is it a DOT file, and complete?") -> NoReturn:
        _fail(self.text, self.now.at, self.where, seen, hint)

    def graphs(self) -> list[_Graph]:
        found = []
        while self.now.kind != "end":
            found.append(self.graph())
        return found

    def graph(self) -> _Graph:
        graph = _Graph()
        if self.is_word("strict"):
            graph.strict = True
            self.next()
        if self.is_word("graph"):
            self.fail(
                "a graph whose edges have no direction begins", "a task graph is a 'digraph' with arrows '->'"
            )
        if not self.is_word("digraph"):
            self.fail(f"'digraph' was expected, not {self.seen()}")
        self.next()
        if not self.is_mark("{"):
            graph.name = self.identifier()
        self.expect("{")
        self.statements(graph, {}, {}, 0)
        return graph

    def identifier(self) -> str:
        if self.now.kind not in ("name", "text", "html"):
            self.fail(f"a name was expected, not {self.seen()}")
        token = self.next()
        parts = [token.value]
        while token.kind == "text" and self.take("+"):
            if self.now.kind != "text":
                self.fail(f"a quoted text was expected, not {self.seen()}")
            parts.append(self.next().value)
        value = "".join(parts)
        return _Text(value) if token.kind == "html" else value

    def statements(
        self, graph: _Graph, members: dict[str, None], defaults: Mapping[str, str], depth: int
    ) -> None:
        """Read to the closing brace; ``members`` takes the nodes that are named inside."""
        if depth > _MAX_DEPTH:
            self.fail(f"groups are nested deeper than {_MAX_DEPTH}")
        defaults = dict(defaults)
        while not self.take("}"):
            if self.now.kind == "end":
                self.fail("'}' was expected, not the end of the file")
            if self.take(";") or self.take(","):
                continue
            following = self.following
            if self.is_word("graph", "node", "edge") and (following.kind, following.value) == ("mark", "["):
                what = self.next().value.lower()
                given = self.attributes()
                if what == "node":
                    defaults |= given
                elif what == "graph" and depth == 0:
                    graph.attributes |= given
            elif (following.kind, following.value) == ("mark", "=") and self.now.kind != "mark":
                key = self.identifier()
                self.expect("=")
                value = self.identifier()
                if depth == 0:
                    graph.attributes[key] = value
            else:
                self.chain(graph, members, defaults, depth)

    def chain(self, graph: _Graph, members: dict[str, None], defaults: Mapping[str, str], depth: int) -> None:
        """Read a node or a group, or several with arrows between."""
        alone = not (self.is_mark("{") or self.is_word("subgraph"))
        left = self.operand(graph, defaults, depth)
        members |= left
        first, arrows = left, 0
        while self.now.kind == "mark" and self.now.value in ("->", "--"):
            if self.now.value == "--":
                self.fail("'--' has no direction", "write '->'")
            self.next()
            arrows += 1
            right = self.operand(graph, defaults, depth)
            too_many(0, len(graph.edges) + len(left) * len(right), self.where)
            graph.edges += [(a, b) for a in left for b in right]
            members |= right
            left = right
        given = self.attributes() if self.is_mark("[") else {}
        if arrows:
            graph.decorated += bool(given.keys() - {"style", "color", "weight", "penwidth", "arrowhead"})
        elif alone:
            graph.nodes[next(iter(first))].update(given)

    def operand(self, graph: _Graph, defaults: Mapping[str, str], depth: int) -> dict[str, None]:
        if self.is_word("subgraph") or self.is_mark("{"):
            if not self.is_mark("{"):
                self.next()
                if not self.is_mark("{"):
                    self.identifier()
            self.expect("{")
            graph.groups += 1
            inside: dict[str, None] = {}
            self.statements(graph, inside, defaults, depth + 1)
            return inside
        if self.is_word("node", "edge", "graph", "digraph", "strict"):
            self.fail(f"the word {self.seen()} was not expected", "put names that are words of DOT in quotes")
        name = str(self.identifier())
        while self.take(":"):
            self.identifier()
            graph.ports += 1
        if name not in graph.nodes:
            too_many(len(graph.nodes), 0, self.where)
            graph.nodes[name] = dict(defaults)
        return {name: None}

    def attributes(self) -> dict[str, str]:
        given: dict[str, str] = {}
        while self.take("["):
            while not self.take("]"):
                key = self.identifier()
                given[key] = self.identifier() if self.take("=") else "true"
                if not self.take(","):
                    self.take(";")
        return given


_ESCAPE: Final = re.compile(
    r"\\(.)|&(#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});", re.DOTALL
)


def _decoded(label: str, node: str, graph: str) -> str:
    """Return a label as Graphviz shows it."""

    def meant(found: re.Match[str]) -> str:
        escape, reference = found[1], found[2]
        if reference is not None:
            return _character(reference) or found[0]
        return {"n": "\n", "l": "\n", "r": "\n", "N": node, "G": graph}.get(escape, escape)

    return _ESCAPE.sub(meant, label)


def _character(reference: str) -> str:
    if not reference.startswith("#"):
        text = unescape(f"&{reference};")
        return "" if text.startswith("&") and text.endswith(";") else text
    digits = reference[1:]
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _draft(graph: _Graph, stem: str) -> tuple[GraphDraft, list[str]]:
    ours = _OURS in graph.attributes
    names = {}
    for node, given in graph.nodes.items():
        names[node] = _decoded(given[_ID], node, "") if ours and _ID in given else node
    title = str(graph.attributes.get("label", ""))
    id_ = graph.name or stem
    if ours and _ID in graph.attributes:
        id_ = _decoded(graph.attributes[_ID], "", "")
    name = _decoded(title, "", graph.name) if ours or title.strip() else id_
    steps, html = [], 0
    for node, given in graph.nodes.items():
        label = given.get("label", "\\N")
        if isinstance(label, _Text):  # HTML: its words; a <br/> is a line break
            html += 1
            broken = re.sub(r"<[bB][rR]\b[^<>]*>", "\n", label)
            text = unescape(re.sub(r"<[^<>]*>", "", broken)).strip()
        else:
            text = _decoded(label, names[node], graph.name)
        steps.append(Step(names[node], text, ours and given.get(_ROLE) == "optional"))
    edges = [(names[a], names[b]) for a, b in graph.edges]
    if graph.strict:
        edges = list(dict.fromkeys(edges))
    roles = {given.get(_ROLE): names[node] for node, given in graph.nodes.items()} if ours else {}
    draft = GraphDraft(id_, name, tuple(steps), tuple(edges), roles.get("start"), roles.get("end"))
    counted = (
        (html, "label(s) in HTML were read as their words"),
        (graph.groups, "group(s) of nodes are not kept"),
        (graph.ports, "port(s) are not kept"),
        (
            graph.decorated,
            "edge(s) have attributes that are not kept; every edge was read as 'must come before'",
        ),
    )
    return draft, [f"graph '{id_}': {n} {what}." for n, what in counted if n]


def parse_dot(data: bytes, where: str, stem: str) -> Imported[GraphDraft]:
    """Return the drafts of all graphs of a file.

    Raises:
        UserError: if it is not UTF-8 or not DOT, a graph has no direction, groups are nested more than 100 deep or there
            are more edges than are read.
    """
    text = decode_text(data, where)
    drafts, warnings = [], []
    for graph in _Parser(text.replace("\r\n", "\n"), where).graphs():
        draft, notes = _draft(graph, stem)
        if _OURS not in graph.attributes:
            draft, guessed = guess_terminals(draft)
            notes += guessed
        drafts.append(draft)
        warnings += notes
        too_many(0, sum(len(d.edges) for d in drafts), where)
    return Imported(tuple(drafts), tuple(warnings))


# -- writing -----------------------------------------------------------------------------------------------------

_LABEL: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
_SPECIAL: Final = re.compile(r'[\\"\n]|[\x00-\x09\x0b-\x1f\x7f]|&(?=#|[A-Za-z])')


def _label(text: str) -> str:
    """Return a quoted label that shows the text as it is."""

    def escaped(found: re.Match[str]) -> str:
        c = found[0]
        return _LABEL.get(c) or ("&amp;" if c == "&" else f"&#{ord(c)};")

    return f'"{_SPECIAL.sub(escaped, text)}"'


def _plain(text: str) -> bool:
    return not re.search(r"[\\\x00\r]", text)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def render_dot_file(graphs: Sequence[TaskGraph]) -> tuple[bytes, tuple[Dropped, ...]]:
    """Return the graphs one after the other; nothing is lost."""
    return "\n".join(_digraph(g) for g in graphs).encode(), ()


def _digraph(graph: TaskGraph) -> str:
    names = node_names(graph, _plain)
    own = f" {_ID}={_label(graph.id)};" if not (graph.id and _plain(graph.id)) else ""
    lines = [
        f"digraph {_quoted(graph.id if not own else 'graph')} {{",
        f"  {_OURS}=1;{own} label={_label(graph.name)}; labelloc=t;",
        "  node [shape=box];",
    ]
    for step in graph.steps:
        given = f"label={_label(step.text)}"
        if names[step.id] != step.id:
            given += f", {_ID}={_label(step.id)}"
        roles = [role for role, node in (("start", graph.start), ("end", graph.end)) if node == step.id]
        roles += ["optional"] * step.optional
        given += "".join(f", {_ROLE}={role}" for role in roles)
        lines.append(f"  {_quoted(names[step.id])} [{given}];")
    lines += [f"  {_quoted(names[a])} -> {_quoted(names[b])};" for a, b in graph.edges]
    return "\n".join((*lines, "}\n"))


FORMATS: Final = (
    Format(
        name="dot",
        title="DOT (Graphviz)",
        suffixes=(".dot", ".gv"),
        kind="graph",
        lossless=True,
        read=importer(parse_dot),
        write=exporter(render_dot_file),
    ),
)
