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
    where: str
    seen: str

    @property
    def broken(self) -> bool:
        """True when the graph is no task graph because of it."""
        return self.rule in BROKEN_RULES


def lint_graph(draft: GraphDraft) -> tuple[GraphFinding, ...]:
    """Return every finding of every rule, in the order of ``GRAPH_RULES``.

    The draft builds exactly when no finding is ``broken``.
    """
    graph = _Rows(draft)
    return tuple(
        GraphFinding(rule, where, seen) for rule, check in _CHECKS.items() for where, seen in check(graph)
    )


class _Rows:
    """A draft with its usable edges as rows of bits: between known, different steps; of equal ids the first counts."""

    def __init__(self, draft: GraphDraft) -> None:
        self.draft = draft
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


_Found = Iterator[tuple[str, str]]
_Check = Callable[[_Rows], _Found]

GRAPH_RULES: Final[dict[str, str]] = {}
"""Every rule and what it finds, in order; a contributor adds a rule as a check under ``_rule``."""
_CHECKS: Final[dict[str, _Check]] = {}


def _rule(what: str) -> Callable[[_Check], _Check]:
    """Make a check the rule of its name."""

    def add(check: _Check) -> _Check:
        name = check.__name__.removeprefix("_")
        GRAPH_RULES[name], _CHECKS[name] = what, check
        return check

    return add


def _step(id_: str) -> str:
    return f"step '{_cut(id_)}'"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _edge(edge: tuple[str, str]) -> str:
    return f"edge {_cut(edge[0])} → {_cut(edge[1])}"


@_rule("there is no step that a person performs")
def _empty(g: _Rows) -> _Found:
    if not set(g.ids) - {g.draft.start, g.draft.end}:
        yield "steps", f"{len(g.ids)} node(s), none to perform"


@_rule("two steps have the same id")
def _duplicate_id(g: _Rows) -> _Found:
    for id_, n in Counter(s.id for s in g.draft.steps).items():
        if n > 1:
            yield _step(id_), f"{n} times"


@_rule("an edge, the start or the end names a step that is not there")
def _unknown_step(g: _Rows) -> _Found:
    for role, id_ in (("start", g.draft.start), ("end", g.draft.end)):
        if id_ is not None and id_ not in g.index:
            yield role, f"'{_cut(id_)}' is not among the steps"
    for edge in dict.fromkeys(g.draft.edges):
        for id_ in dict.fromkeys(edge):
            if id_ not in g.index:
                yield _edge(edge), f"'{_cut(id_)}' is not among the steps"


@_rule("a step is its own prerequisite")
def _self_edge(g: _Rows) -> _Found:
    for a, b in dict.fromkeys(g.draft.edges):
        if a == b:
            yield _edge((a, b)), "from a step to itself"


@_rule("the same edge is given more than once")
def _duplicate_edge(g: _Rows) -> _Found:
    for edge, n in Counter(g.draft.edges).items():
        if n > 1:
            yield _edge(edge), f"{n} times"


@_rule("steps wait for one another")
def _cycle(g: _Rows) -> _Found:
    for members in sorted(g.components):
        if len(members) > 1:
            ids = [g.ids[i] for i in find_cycle(g.after, members)]
            more = f"; {len(members)} steps wait for one another" if len(members) > len(ids) else ""
            yield _step(ids[0]), _cut_path([*ids, ids[0]]) + more


def _cut_path(ids: list[str]) -> str:
    shown = ids if len(ids) <= 12 else [*ids[:6], f"… {len(ids) - 12} more …", *ids[-6:]]
    return " → ".join(map(_cut, shown))


@_rule("the start does not lead to the step")
def _unreached(g: _Rows) -> _Found:
    for id_ in g.outside(g.after, g.draft.start):
        yield _step(id_), f"no way from '{_cut(g.draft.start or '')}'"


@_rule("the step does not lead to the end")
def _dead_end(g: _Rows) -> _Found:
    for id_ in g.outside(g.before, g.draft.end):
        yield _step(id_), f"no way to '{_cut(g.draft.end or '')}'"


@_rule("no node stands for 'nothing done yet'")
def _no_start(g: _Rows) -> _Found:
    if g.draft.start is None:
        yield "start", f"{sum(not row for row in g.before)} step(s) may come first"


@_rule("no node stands for 'all done'")
def _no_end(g: _Rows) -> _Found:
    if g.draft.end is None:
        yield "end", f"{sum(not row for row in g.after)} step(s) may come last"


@_rule("no step waits for another")
def _no_edges(g: _Rows) -> _Found:
    if not g.draft.edges and len(g.ids) > 1:
        yield "edges", f"{len(g.ids)} steps in any order"


@_rule("the graph falls into parts that no edge joins")
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
        yield "edges", f"{len(parts)} parts of {shown} steps"


@_rule("no edge leads to or from the step")
def _alone(g: _Rows) -> _Found:
    if g.draft.edges and len(g.ids) > 1:
        for id_, after, before in zip(g.ids, g.after, g.before, strict=True):
            if not after | before:
                yield _step(id_), "no edge"


@_rule("the edge says only what others say already")
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
            yield _edge((g.ids[j], id_)), "other edges say so already"


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


def _listed(words: list[str]) -> str:
    return ", ".join(f"'{_cut(w)}'" for w in words[:6]) + (f" and {len(words) - 6} more" * (len(words) > 6))


@_rule("different steps have the same text")
def _same_text(g: _Rows) -> _Found:
    for text, ids in _groups((s.text, s.id) for s in _actions(g) if s.text.strip()):
        yield f"steps {_listed(ids)}", f"'{_cut(text)}'"


@_rule("texts differ only in Unicode form, case or spaces")
def _alike_text(g: _Rows) -> _Found:
    for _, texts in _groups((_folded(s.text), s.text) for s in _actions(g) if s.text.strip()):
        yield "texts", _listed([ascii(t)[1:-1] for t in texts])


@_rule("ids differ only in Unicode form, case or spaces")
def _alike_id(g: _Rows) -> _Found:
    for _, ids in _groups((_folded(id_), id_) for id_ in g.ids):
        yield "ids", _listed([ascii(i)[1:-1] for i in ids])


@_rule("not in Unicode normal form C")
def _unicode_form(g: _Rows) -> _Found:
    for step in g.draft.steps:
        for what, text in (("id", step.id), ("text", step.text)):
            if not unicodedata.is_normalized("NFC", text):
                yield _step(step.id), f"its {what}: {_cut(ascii(text)[1:-1])}"


@_rule("characters that nobody sees")
def _hidden_characters(g: _Rows) -> _Found:
    for step in g.draft.steps:
        for what, text in (("id", step.id), ("text", step.text)):
            codes = dict.fromkeys(f"U+{ord(c):04X}" for c in _HIDDEN.findall(text))
            if codes:
                yield _step(step.id), f"its {what} has {', '.join(list(codes)[:6])}"


@_rule("the step says nothing")
def _empty_text(g: _Rows) -> _Found:
    for step in _actions(g):
        if not step.text.strip():
            yield _step(step.id), "no words"


@_rule(f"the text has more than {LONG_TEXT:,} characters")
def _long_text(g: _Rows) -> _Found:
    for step in g.draft.steps:
        if len(step.text) > LONG_TEXT:
            yield _step(step.id), f"{len(step.text):,} characters"


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
