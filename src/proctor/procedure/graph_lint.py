"""What is wrong or odd with a task graph that somebody wrote.

Two kinds of findings: *broken* ones mean that ``TaskGraph`` refuses the graph, *odd* ones that it is accepted but
that its author may have meant something else. Nothing is repaired, and no set of orders is ever listed: a graph
of 30 independent steps has 2.7e32 of them. Time and memory grow with the square of the number of steps at most
(5,000 steps take about a second).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from proctor.procedure.cycles import each_bit, find_cycle, strong_components
from proctor.procedure.graph import GraphDraft, Step, TaskGraph
from proctor.procedure.inflect import word_set
from proctor.said import Said, say

__all__ = [
    "BROKEN_RULES",
    "GRAPH_RULES",
    "LONG_TEXT",
    "ORDERS_BOUND",
    "GraphFinding",
    "GraphShape",
    "lint_graph",
    "measure_graph",
]

LONG_TEXT: Final = 1_000
"""Characters of one step beyond which it is hardly one instruction."""
ORDERS_BOUND: Final = 200_000
"""Orders are counted only where the graph can have no more downsets than this."""

BROKEN_RULES: Final = word_set(
    "empty duplicate_id unknown_step self_edge duplicate_edge cycle unreached dead_end"
)
"""With a finding of one of these a draft does not build."""

_HIDDEN: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class GraphFinding:
    """One finding: its rule (a key of ``GRAPH_RULES``), the step or edge, and what was seen."""

    rule: str
    where: Said
    seen: str

    @property
    def broken(self) -> bool:
        """True when the graph is no task graph because of it."""
        return self.rule in BROKEN_RULES


def lint_graph(draft: GraphDraft, quote: str = "'") -> tuple[GraphFinding, ...]:
    """Return every finding of every rule, in the order of ``GRAPH_RULES``.

    The draft builds exactly when no finding is ``broken``. Ids and texts are set in quotation marks, "" for none. The first
    value of a place (``where.values``) begins with the first step's id.
    """
    graph = _Rows(draft, quote)
    return tuple(
        GraphFinding(rule, where, seen) for rule, check in _CHECKS.items() for where, seen in check(graph)
    )


class _Rows:
    """A draft with its usable edges as rows of bits: between known, different steps; of equal ids the first counts."""

    def __init__(self, draft: GraphDraft, quote: str) -> None:
        self.draft = draft
        self.quote = quote
        self.index: dict[str, int] = {}
        for step in draft.steps:
            self.index.setdefault(step.id, len(self.index))
        self.ids = tuple(self.index)
        self.after = [0] * len(self.ids)
        self.before = [0] * len(self.ids)
        for a, b in draft.edges:
            if a != b and a in self.index and b in self.index:
                self.after[self.index[a]] |= 1 << self.index[b]
                self.before[self.index[b]] |= 1 << self.index[a]
        self.components = strong_components(self.after, self.before)
        self.cyclic = len(self.components) < len(self.ids)

    def step(self, id_: str) -> Said:
        return say("step {id}", id=self.quoted(id_))

    def quoted(self, text: str) -> str:
        return f"{self.quote}{_cut(text)}{self.quote}"

    def listed(self, words: list[str]) -> str:
        first, more = ", ".join(map(self.quoted, words[:6])), len(words) - 6
        return say("{first} and {n} more", first=first, n=more) if more > 0 else first

    def reached(self, rows: list[int], root: int) -> int:
        seen, todo = 1 << root, [root]
        while todo:
            fresh = rows[todo.pop()] & ~seen
            seen |= fresh
            todo.extend(each_bit(fresh))
        return seen

    def outside(self, rows: list[int], role: str | None) -> Iterator[str]:
        """Ids that a role's node does not reach; nothing where there is no such node."""
        if role in self.index:
            everything = (1 << len(self.ids)) - 1
            yield from (
                self.ids[i] for i in each_bit(everything & ~self.reached(rows, self.index[role or ""]))
            )


_Found = Iterator[tuple[Said, str]]
_Check = Callable[[_Rows], _Found]

GRAPH_RULES: Final[dict[str, Said]] = {}
"""Every rule and what it finds, in order; a contributor adds a rule as a check under ``_rule``."""
_CHECKS: Final[dict[str, _Check]] = {}


def _rule(what: Said) -> Callable[[_Check], _Check]:
    """Make a check the rule of its name."""

    def add(check: _Check) -> _Check:
        name = check.__name__.removeprefix("_")
        GRAPH_RULES[name], _CHECKS[name] = what, check
        return check

    return add


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _edge(edge: tuple[str, str]) -> Said:
    return say("edge {before} → {after}", before=_cut(edge[0]), after=_cut(edge[1]))


@_rule(say("there is no step that a person performs"))
def _empty(g: _Rows) -> _Found:
    if not set(g.ids) - {g.draft.start, g.draft.end}:
        yield say("steps"), say("{n} node(s), none to perform", n=len(g.ids))


@_rule(say("two steps have the same id"))
def _duplicate_id(g: _Rows) -> _Found:
    for id_, n in Counter(s.id for s in g.draft.steps).items():
        if n > 1:
            yield g.step(id_), say("{n} times", n=n)


@_rule(say("an edge, the start or the end names a step that is not there"))
def _unknown_step(g: _Rows) -> _Found:
    for role, id_ in ((say("start"), g.draft.start), (say("end"), g.draft.end)):
        if id_ is not None and id_ not in g.index:
            yield role, say("{id} is not among the steps", id=g.quoted(id_))
    for edge in dict.fromkeys(g.draft.edges):
        for id_ in dict.fromkeys(edge):
            if id_ not in g.index:
                yield _edge(edge), say("{id} is not among the steps", id=g.quoted(id_))


@_rule(say("a step is its own prerequisite"))
def _self_edge(g: _Rows) -> _Found:
    for a, b in dict.fromkeys(g.draft.edges):
        if a == b:
            yield _edge((a, b)), say("from a step to itself")


@_rule(say("the same edge is given more than once"))
def _duplicate_edge(g: _Rows) -> _Found:
    for edge, n in Counter(g.draft.edges).items():
        if n > 1:
            yield _edge(edge), say("{n} times", n=n)


@_rule(say("steps wait for one another"))
def _cycle(g: _Rows) -> _Found:
    for members in sorted(g.components):
        if len(members) > 1:
            ids = [g.ids[i] for i in find_cycle(g.after, members)]
            path, n = _path([*ids, ids[0]]), len(members)
            all_ = say("{path}; {n} steps wait for one another", path=path, n=n) if n > len(ids) else path
            yield g.step(ids[0]), all_


def _path(ids: list[str]) -> str:
    if len(ids) <= 12:
        return " → ".join(map(_cut, ids))
    first, last = _path(ids[:6]), _path(ids[-6:])
    return say("{first} → … {n} more … → {last}", first=first, n=len(ids) - 12, last=last)


@_rule(say("the start does not lead to the step"))
def _unreached(g: _Rows) -> _Found:
    for id_ in g.outside(g.after, g.draft.start):
        yield g.step(id_), say("no way from {id}", id=g.quoted(g.draft.start or ""))


@_rule(say("the step does not lead to the end"))
def _dead_end(g: _Rows) -> _Found:
    for id_ in g.outside(g.before, g.draft.end):
        yield g.step(id_), say("no way to {id}", id=g.quoted(g.draft.end or ""))


@_rule(say("no node stands for 'nothing done yet'"))
def _no_start(g: _Rows) -> _Found:
    if g.draft.start is None:
        yield say("start"), say("{n} step(s) may come first", n=sum(not row for row in g.before))


@_rule(say("no node stands for 'all done'"))
def _no_end(g: _Rows) -> _Found:
    if g.draft.end is None:
        yield say("end"), say("{n} step(s) may come last", n=sum(not row for row in g.after))


@_rule(say("no step waits for another"))
def _no_edges(g: _Rows) -> _Found:
    if not g.draft.edges and len(g.ids) > 1:
        yield say("edges"), say("{n} steps in any order", n=len(g.ids))


@_rule(say("the graph falls into parts that no edge joins"))
def _parts(g: _Rows) -> _Found:
    if not g.draft.edges:
        return
    both = [a | b for a, b in zip(g.after, g.before, strict=True)]
    left, parts = (1 << len(g.ids)) - 1, []
    while left:
        part = g.reached(both, (left & -left).bit_length() - 1)
        parts.append(part)
        left &= ~part
    if len(parts) > 1:
        sizes = sorted((p.bit_count() for p in parts), reverse=True)
        shown = ", ".join(map(str, sizes[:8])) + (", …" if len(sizes) > 8 else "")
        yield say("edges"), say("{n} parts of {sizes} steps", n=len(parts), sizes=shown)


@_rule(say("no edge leads to or from the step"))
def _alone(g: _Rows) -> _Found:
    if g.draft.edges and len(g.ids) > 1:
        for id_, after, before in zip(g.ids, g.after, g.before, strict=True):
            if not after | before:
                yield g.step(id_), say("no edge")


@_rule(say("the edge says only what others say already"))
def _implied_edge(g: _Rows) -> _Found:
    if g.cyclic:
        return  # on a cycle every edge is implied by the others
    above = [0] * len(g.ids)
    for (i,) in g.components:
        for j in each_bit(g.before[i]):
            above[i] |= above[j] | 1 << j
    for i, id_ in enumerate(g.ids):
        indirect = 0
        for j in each_bit(g.before[i]):
            indirect |= above[j]
        for j in each_bit(g.before[i] & indirect):
            yield _edge((g.ids[j], id_)), say("other edges say so already")


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _actions(g: _Rows) -> list[Step]:
    return [s for s in g.draft.steps if s.id not in (g.draft.start, g.draft.end)]


def _groups(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each key that has several different members, with these."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for key, member in pairs:
        found[key][member] = None
    yield from ((key, list(members)) for key, members in found.items() if len(members) > 1)


def _parts_of(step: Step) -> Iterator[tuple[Said, str]]:
    yield say("its id"), step.id
    yield say("its text"), step.text


@_rule(say("different steps have the same text"))
def _same_text(g: _Rows) -> _Found:
    for text, ids in _groups((s.text, s.id) for s in _actions(g) if s.text.strip()):
        yield say("steps {ids}", ids=g.listed(ids)), g.quoted(text)


@_rule(say("texts differ only in Unicode form, case or spaces"))
def _alike_text(g: _Rows) -> _Found:
    for _, texts in _groups((_folded(s.text), s.text) for s in _actions(g) if s.text.strip()):
        yield say("texts"), g.listed([ascii(t)[1:-1] for t in texts])


@_rule(say("ids differ only in Unicode form, case or spaces"))
def _alike_id(g: _Rows) -> _Found:
    for _, ids in _groups((_folded(id_), id_) for id_ in g.ids):
        yield say("ids"), g.listed([ascii(i)[1:-1] for i in ids])


@_rule(say("not in Unicode normal form C"))
def _unicode_form(g: _Rows) -> _Found:
    for step in g.draft.steps:
        for part, text in _parts_of(step):
            if not unicodedata.is_normalized("NFC", text):
                yield g.step(step.id), say("{part}: {text}", part=part, text=_cut(ascii(text)[1:-1]))


@_rule(say("characters that nobody sees"))
def _hidden_characters(g: _Rows) -> _Found:
    for step in g.draft.steps:
        for part, text in _parts_of(step):
            codes = dict.fromkeys(f"U+{ord(c):04X}" for c in _HIDDEN.findall(text))
            if codes:
                yield g.step(step.id), say("{part} has {codes}", part=part, codes=", ".join(list(codes)[:6]))


@_rule(say("the step says nothing"))
def _empty_text(g: _Rows) -> _Found:
    for step in _actions(g):
        if not step.text.strip():
            yield g.step(step.id), say("no words")


@_rule(say("the text has more than {most:,} characters", most=LONG_TEXT))
def _long_text(g: _Rows) -> _Found:
    for step in g.draft.steps:
        if len(step.text) > LONG_TEXT:
            yield g.step(step.id), say("{n:,} characters", n=len(step.text))


# -- shape -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphShape:
    """The numbers of a sound graph; start and end do not count as steps.

    Attributes:
        steps: that a person performs.
        edges: as given, those of start and end included.
        first: steps that may come first.
        last: steps that may come last.
        longest: steps of the longest chain in which each must wait for the one before.
        pairs: pairs of steps of which one must come before the other.
        orders: in how many orders the steps can be done; None where that was not counted (``ORDERS_BOUND``).
    """

    steps: int
    edges: int
    first: int
    last: int
    longest: int
    pairs: int
    orders: int | None


def measure_graph(graph: TaskGraph) -> GraphShape:
    """Return the numbers of a graph in time quadratic in its steps."""
    actions = graph.action_mask
    depth: dict[str, int] = {}
    first = last = pairs = 0
    for id_ in graph.topological_order:
        waits = max((depth[p] for p in graph.predecessors(id_)), default=0)
        performed = id_ not in (graph.start, graph.end)
        depth[id_] = waits + performed
        if performed:
            above = graph.ancestors_mask(1 << graph.index[id_]) & actions
            pairs += above.bit_count()
            first += not above
            last += set(graph.successors(id_)) <= {graph.end}
    few = _downset_bound(graph) <= ORDERS_BOUND
    return GraphShape(
        len(graph.actions),
        len(graph.edges),
        first,
        last,
        max(depth.values()),
        pairs,
        graph.count_orders() if few else None,
    )


def _downset_bound(graph: TaskGraph) -> int:
    """Return a number of downsets that the graph does not exceed, or one above ``ORDERS_BOUND``.

    The steps are shared out among chains; a downset is told by how far it reaches into each.
    """
    chains: list[tuple[int, int]] = []
    bound = 1
    for id_ in graph.topological_order:
        if id_ in (graph.start, graph.end):
            continue
        above = graph.ancestors_mask(1 << graph.index[id_])
        place = next((k for k, (tip, _) in enumerate(chains) if above >> tip & 1), None)
        if place is None:
            chains.append((graph.index[id_], 1))
            bound *= 2
        else:
            length = chains[place][1]
            chains[place] = (graph.index[id_], length + 1)
            bound = bound // (length + 1) * (length + 2)
        if bound > ORDERS_BOUND:
            break
    return bound
