"""The task graph: which steps there are and what must come before what.

Conventions: an edge ``(a, b)`` means that ``a`` must come before ``b``. Nodes are told apart by id, never by
text: two steps may have the same text. A graph may have a *start* and an *end* node that stand for no action;
they take part in reachability but are never asked for. Steps and edges keep the order of the file, because
published data sets list derived sets in that order.

Sets of steps are kept as integers with one bit a step, so that ancestor and downset operations cost a few
machine words for graphs of usual size (up to about 1,000 steps).

``TaskGraph`` refuses what is no task graph. Who wants to know what is wrong with a file needs a value that can hold
the wrong thing: readers of graph files make drafts, the linter looks at them, and ``build`` makes graphs of them.

Nodes are named by the ids of the steps and labelled with their texts. (The published prompts name nodes by text; steps
with equal texts then melt into one, and three of the 24 published recipes get cycles or a self-loop.)
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from proctor.tables import Shown

__all__ = [
    "DOWNSET_LIMIT",
    "GraphDraft",
    "GraphError",
    "Step",
    "TaskGraph",
    "TooManyDownsetsError",
    "closing_edges",
    "render_dot",
]

DOWNSET_LIMIT = 2_000_000
"""Counting and sampling of orders walk the downsets (sets closed under prerequisites) of the graph. Wide graphs
have exponentially many; beyond this number the operations refuse instead of filling the memory."""


class GraphError(ValueError):
    """The graph is not a task graph. ``problems`` lists everything that was found, not just the first."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"task graph '{name}': " + "; ".join(problems))


class TooManyDownsetsError(ValueError):
    """The graph is too wide for exact counting or uniform sampling of its orders."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a procedure.

    Attributes:
        id: unique in its graph.
        text: the instruction.
        optional: it may be left out: it is never missing and holds nothing up.
    """

    id: str
    text: str
    optional: bool = False


@dataclass(frozen=True, repr=False)
class TaskGraph(Shown):
    """A procedure as a directed acyclic graph of steps.

    Args:
        id: unique id of the activity.
        name: for people.
        steps: all nodes, start and end included, in file order.
        edges: (before, after) pairs of step ids, in file order.
        start: id of the node that means "nothing done yet", if there is one.
        end: id of the node that means "all done", if there is one.

    Raises:
        GraphError: unknown or duplicate ids, self-loops, duplicate edges, cycles (reported as the cycle
            itself), steps that the start does not reach or that do not reach the end.
    """

    id: str
    name: str
    steps: tuple[Step, ...]
    edges: tuple[tuple[str, str], ...] = ()
    start: str | None = None
    end: str | None = None

    def __post_init__(self) -> None:
        problems = self._problems()
        if problems:
            raise GraphError(self.name or self.id, problems)

    def _cells(self) -> dict[str, object]:
        return {"id": self.id, "name": self.name, "steps": len(self.steps), "edges": len(self.edges)}

    # -- validation ------------------------------------------------------------------------------------------

    def _problems(self) -> list[str]:
        ids = [s.id for s in self.steps]
        known = set(ids)
        if not known - {self.start, self.end}:
            return ["it has no steps that a person performs"]
        problems = [f"step id '{i}' occurs {n} times" for i, n in Counter(ids).items() if n > 1]
        for role, node in (("start", self.start), ("end", self.end)):
            if node is not None and node not in known:
                problems.append(f"{role} '{node}' is not among the steps")
        for (before, after), n in Counter(self.edges).items():
            unknown = [node for node in (before, after) if node not in known]
            problems += [f"edge {before} → {after} names the unknown step '{node}'" for node in unknown]
            if before == after:
                problems.append(f"step '{before}' is its own prerequisite")
            if n > 1:
                problems.append(f"edge {before} → {after} occurs {n} times")
        if problems:
            return problems
        cycle = self._cycle()
        if cycle:
            return ["its prerequisites form a cycle: " + " → ".join(cycle)]
        return self._unreachable()

    def _cycle(self) -> list[str]:
        """Return one cycle as ids with the first repeated at the end; empty when there is none."""
        after = self._adjacency
        state = dict.fromkeys((s.id for s in self.steps), 0)
        for root in state:
            if state[root]:
                continue
            path, stack = [root], [iter(after.get(root, ()))]
            state[root] = 1
            while stack:
                child = next(stack[-1], None)
                if child is None:
                    stack.pop()
                    state[path.pop()] = 2
                elif state[child] == 1:
                    return [*path[path.index(child) :], child]
                elif state[child] == 0:
                    state[child] = 1
                    path.append(child)
                    stack.append(iter(after.get(child, ())))
        return []

    def _unreachable(self) -> list[str]:
        problems = []
        everything = (1 << len(self.steps)) - 1
        if self.start is not None:
            start = self.index[self.start]
            if cut := self.ids(everything & ~self._below[start] & ~(1 << start)):
                problems.append(f"the start does not lead to step(s) {', '.join(cut)}")
        if self.end is not None:
            end = self.index[self.end]
            if cut := self.ids(everything & ~self._above[end] & ~(1 << end)):
                problems.append(f"step(s) {', '.join(cut)} do not lead to the end")
        return problems

    # -- look-up ---------------------------------------------------------------------------------------------

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Bit number of every step id."""
        return {s.id: i for i, s in enumerate(self.steps)}

    @cached_property
    def actions(self) -> tuple[Step, ...]:
        """The steps that a person performs: all but start and end, in file order."""
        return tuple(s for s in self.steps if s.id not in (self.start, self.end))

    def __contains__(self, step_id: object) -> bool:
        return step_id in self.index

    def __getitem__(self, step_id: str) -> Step:
        """Return the step with this id.

        Raises:
            KeyError: if the graph has no such step.
        """
        return self.steps[self.index[step_id]]

    @cached_property
    def _adjacency(self) -> dict[str, list[str]]:
        after: dict[str, list[str]] = defaultdict(list)
        for a, b in self.edges:
            after[a].append(b)
        return dict(after)

    @cached_property
    def scan_order(self) -> tuple[str, ...]:
        """Step ids in the order of first appearance in the edge list (before, then after), then the rest.

        The published data list derived sets in this order.
        """
        seen = dict.fromkeys(node for edge in self.edges for node in edge)
        return tuple(seen | dict.fromkeys(s.id for s in self.steps))

    # -- bitsets ---------------------------------------------------------------------------------------------

    def mask(self, step_ids: Iterable[str]) -> int:
        """Return the bitset of these steps.

        Raises:
            KeyError: if one of them is unknown.
        """
        bits = 0
        for step_id in step_ids:
            bits |= 1 << self.index[step_id]
        return bits

    def ids(self, mask: int, order: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the step ids of a bitset, in file order or in the given order."""
        chosen = tuple([self.steps[i].id for i in _bits(mask)])
        if order is None or len(chosen) < 2:
            return chosen
        wanted = set(chosen)
        return tuple(i for i in order if i in wanted)

    @cached_property
    def _before(self) -> tuple[int, ...]:
        """Bitset of direct predecessors for each bit."""
        masks = [0] * len(self.steps)
        for a, b in self.edges:
            masks[self.index[b]] |= 1 << self.index[a]
        return tuple(masks)

    @cached_property
    def _after(self) -> tuple[int, ...]:
        masks = [0] * len(self.steps)
        for a, b in self.edges:
            masks[self.index[a]] |= 1 << self.index[b]
        return tuple(masks)

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """One valid order of all nodes: always the first ready step in file order."""
        open_edges = [before.bit_count() for before in self._before]
        ready = [i for i, n in enumerate(open_edges) if n == 0]
        order = []
        while ready:
            i = heapq.heappop(ready)
            order.append(self.steps[i].id)
            for j in _bits(self._after[i]):
                open_edges[j] -= 1
                if open_edges[j] == 0:
                    heapq.heappush(ready, j)
        return tuple(order)

    @cached_property
    def _above(self) -> tuple[int, ...]:
        """Bitset of all ancestors for each bit."""
        masks = [0] * len(self.steps)
        for step_id in self.topological_order:
            i = self.index[step_id]
            for j in _bits(self._before[i]):
                masks[i] |= masks[j] | 1 << j
        return tuple(masks)

    @cached_property
    def _below(self) -> tuple[int, ...]:
        masks = [0] * len(self.steps)
        for step_id in reversed(self.topological_order):
            i = self.index[step_id]
            for j in _bits(self._after[i]):
                masks[i] |= masks[j] | 1 << j
        return tuple(masks)

    @cached_property
    def action_mask(self) -> int:
        """Bitset of the steps that a person performs."""
        return self.mask(s.id for s in self.actions)

    @cached_property
    def optional_mask(self) -> int:
        """Bitset of the steps that may be left out."""
        return self.mask(s.id for s in self.actions if s.optional)

    def ancestors_mask(self, mask: int) -> int:
        """Bitset of everything that must come before any step of ``mask`` (without ``mask`` unless implied)."""
        bits = 0
        for i in _bits(mask):
            bits |= self._above[i]
        return bits

    # -- relations -------------------------------------------------------------------------------------------

    def predecessors(self, step_id: str) -> tuple[str, ...]:
        """Direct prerequisites, in file order."""
        return self.ids(self._before[self.index[step_id]])

    def successors(self, step_id: str) -> tuple[str, ...]:
        """Steps that this one is a direct prerequisite of, in file order."""
        return self.ids(self._after[self.index[step_id]])

    def ancestors(self, step_id: str) -> tuple[str, ...]:
        """All steps that must come before, in file order."""
        return self.ids(self._above[self.index[step_id]])

    def descendants(self, step_id: str) -> tuple[str, ...]:
        """All steps that must come after, in file order."""
        return self.ids(self._below[self.index[step_id]])

    def comes_before(self, a: str, b: str) -> bool:
        """True when ``a`` must come before ``b``."""
        return bool(self._above[self.index[b]] >> self.index[a] & 1)

    def transitive_reduction(self) -> TaskGraph:
        """Return the graph without the edges that others imply; edge order is kept."""
        implied = [self.ancestors_mask(before) for before in self._before]
        kept = tuple((a, b) for a, b in self.edges if not implied[self.index[b]] >> self.index[a] & 1)
        return TaskGraph(self.id, self.name, self.steps, kept, self.start, self.end)

    def ready(self, done: Collection[str]) -> tuple[str, ...]:
        """Steps not done whose direct prerequisites are all done, in file order; start and end count as steps.

        An optional prerequisite need not be done; then what comes before it has to be.

        Raises:
            KeyError: if ``done`` names an unknown step.
        """
        return self.ids(self.ready_mask(self.mask(done)))

    def ready_mask(self, done: int) -> int:
        """Bitset version of ``ready``."""
        bits, undone = 0, ((1 << len(self.steps)) - 1) & ~done
        waiting = undone & ~self._passed_over(done)
        for i in _bits(undone):
            if not self._before[i] & waiting:
                bits |= 1 << i
        return bits

    def _passed_over(self, done: int) -> int:
        """Bitset of the optional steps that hold nothing up: what comes before them is done or holds nothing up."""
        passed = 0
        if self.optional_mask & ~done:
            for step_id in self.topological_order:
                i = self.index[step_id]
                if self.optional_mask >> i & 1 and not self._before[i] & ~(done | passed):
                    passed |= 1 << i
        return passed

    # -- orders ----------------------------------------------------------------------------------------------

    def violated_edges(self, order: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Return the (before, after) edges that an order breaks; of a repeated step the first counts.

        A prerequisite that does not occur in the order at all breaks no edge: it is missing, not out of order.

        Raises:
            KeyError: if the order names an unknown step.
        """
        position: dict[str, int] = {}
        for n, step_id in enumerate(order):
            position.setdefault(self[step_id].id, n)
        return tuple(
            (a, b) for a, b in self.edges if a in position and b in position and position[a] > position[b]
        )

    def is_valid_order(self, order: Sequence[str]) -> bool:
        """True when the order holds every action exactly once and breaks no prerequisite, implied ones included.

        Optional steps may be left out.
        """
        known = {s.id for s in self.actions}
        named = [i for i in order if i not in (self.start, self.end)]
        if (
            len(set(named)) != len(named)
            or not {s.id for s in self.actions if not s.optional} <= set(named) <= known
        ):
            return False
        wanted, done = self.mask(named), 0
        for step_id in named:
            if self._above[self.index[step_id]] & wanted & ~done:
                return False
            done |= 1 << self.index[step_id]
        return True

    @cached_property
    def _ways(self) -> dict[int, int]:
        """For every downset of actions the number of orders in which it can be reached, smallest sets first."""
        actions = self.action_mask
        before = [mask & actions for mask in self._before]
        after = [mask & actions for mask in self._after]
        ways = {0: 1}
        layer = {0: sum(1 << i for i in _bits(actions) if not before[i])}
        while layer:
            following: dict[int, int] = {}
            for done, ready in layer.items():
                for i in _bits(ready):
                    grown = done | 1 << i
                    if grown not in ways:
                        ways[grown] = 0
                        freed = sum(1 << j for j in _bits(after[i]) if not before[j] & ~grown)
                        following[grown] = ready & ~(1 << i) | freed
                    ways[grown] += ways[done]
                if len(ways) > DOWNSET_LIMIT:
                    raise TooManyDownsetsError(
                        f"task graph '{self.name or self.id}' has more than {DOWNSET_LIMIT:,} downsets: "
                        "its orders cannot be counted or sampled exactly"
                    )
            layer = following
        return ways

    def count_orders(self) -> int:
        """Return the exact number of valid orders of all actions, optional ones included.

        Raises:
            TooManyDownsetsError: if the graph has more than ``DOWNSET_LIMIT`` downsets.
        """
        return self._ways[self.action_mask]

    def sample_order(self, rng: random.Random) -> tuple[str, ...]:
        """Draw one valid order of all actions, optional ones included, each with equal probability.

        Raises:
            TooManyDownsetsError: if the graph has more than ``DOWNSET_LIMIT`` downsets.
        """
        ways, done, order = self._ways, self.action_mask, []
        while done:
            pick = rng.randrange(ways[done])
            for i in _bits(done):
                pick -= ways.get(done & ~(1 << i), 0)
                if pick < 0:
                    done &= ~(1 << i)
                    order.append(self.steps[i].id)
                    break
        return tuple(reversed(order))


def _bits(mask: int) -> list[int]:
    """Return the numbers of the set bits, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


# -- a task graph as somebody wrote it, before anything about it was checked ---------------------------------------


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """The fields of a ``TaskGraph`` without its promises: cycles, unknown and repeated ids are possible."""

    id: str
    name: str
    steps: tuple[Step, ...]
    edges: tuple[tuple[str, str], ...] = ()
    start: str | None = None
    end: str | None = None

    @classmethod
    def of(cls, graph: TaskGraph) -> GraphDraft:
        """Return a graph as a draft."""
        return cls(graph.id, graph.name, graph.steps, graph.edges, graph.start, graph.end)

    def build(self) -> TaskGraph:
        """Return the task graph.

        Raises:
            GraphError: if it is none; it lists the problems.
        """
        return TaskGraph(self.id, self.name, self.steps, self.edges, self.start, self.end)


def closing_edges(
    ids: Sequence[str],
    edges: Collection[tuple[str, str]],
    last: Iterable[str],
    start: str | None = None,
    end: str | None = None,
) -> list[tuple[str, str]]:
    """Return the edges that make steps close an activity ("wipe the bench"), beside those that are given.

    A last step comes after every step that no other step waits for, and before the end where there is one. Several last
    steps have no order among themselves but for what the edges say.

    Args:
        ids: of all steps, in file order.
        edges: (before, after) pairs that are given.
        last: ids of the steps that close the activity.
        start: node that means "nothing done yet", which is no step.
        end: node that means "all done", which is no step.
    """
    closing = dict.fromkeys(last)
    followed = {a for a, b in edges if b != end and b not in closing}
    tips = [i for i in ids if i not in followed and i not in closing and i not in (start, end)]
    made = [(tip, i) for i in closing for tip in tips]
    if end is not None:
        made += [(i, end) for i in closing]
    return [edge for edge in made if edge not in set(edges)]


# -- a task graph in Graphviz DOT, for people and models to read ---------------------------------------------------


def render_dot(graph: TaskGraph) -> str:
    """Return the graph as DOT: all nodes, then all edges, each in file order; an edge leads to what comes later."""
    names = {graph.start: "START", graph.end: "END"}
    lines = ["digraph {"]
    for s in graph.steps:
        label = names.get(s.id) or (f"{s.text} (optional)" if s.optional else s.text)
        lines.append(f"  {_quoted(s.id)} [label={_quoted(label)}];")
    lines += [f"  {_quoted(before)} -> {_quoted(after)};" for before, after in graph.edges]
    return "\n".join((*lines, "}"))


def _quoted(text: str) -> str:
    """Return a DOT string: quotes and backslashes are escaped, line breaks written as backslash n."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines()) + '"'
