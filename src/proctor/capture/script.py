"""Scripts: performances that are to be recorded, drawn from a task graph. docs/capture.md, *Scripts*.

Every script has a seed of its own, made of the run's seed and the script's id: how many scripts there are of
a kind changes no other, and asking for more changes none. What a participant reads instead of a text is
``ScriptStep.modified``.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, get_args

from proctor.capture.hints import INDUCED_KINDS, Hints, text_hints
from proctor.capture.records import PlannedMistake, Script, ScriptStep, Strategy
from proctor.procedure.altered import mistakes_in
from proctor.procedure.graph import TaskGraph, TooManyDownsetsError
from proctor.procedure.showing import shown_text
from proctor.records import content_hash

__all__ = ["STRATEGIES", "count_performances", "draw_order", "draw_scripts", "short_name"]

Method = Literal["uniform", "random-ready"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
# steps of one depth, waiting for none of each other; more have over 2^20 sets, too many to count by
_WIDE: Final = 20
_OPTIONAL: Final = 6  # steps, up to which performances are counted for each choice of them
# recordings of CaptainCook4D with one to four steps left out (8 of 142 have more)
_MISSING: Final = (70, 33, 18, 13)
_TRIES: Final = 200
_Planned = list[PlannedMistake]
_OPEN: Final = ("preparation", "technique", "other")  # kinds of which no text says what they would be


def draw_order(graph: TaskGraph, seed: str) -> tuple[tuple[str, ...], Method]:
    """Draw a valid order: uniformly where the orders can be counted, else by taking any step that is ready, each time.

    An optional step is in or out by the toss of a coin, and the order is drawn among those that are in. Ready
    steps do not make all orders equally likely, so the outcome says how it was drawn.
    """
    rng = random.Random(seed)  # noqa: S311 - not a secret
    out = [s.id for s in graph.actions if s.optional and rng.random() < 0.5]
    part = _part(graph, frozenset(out) if len(out) < len(graph.actions) else frozenset())
    if _countable(part):
        return part.sample_order(rng), "uniform"
    order: list[str] = []
    while ready := part.ready(order):
        order.append(rng.choice(ready))
    return tuple(order), "random-ready"


@lru_cache(maxsize=16)
def _part(graph: TaskGraph, out: frozenset[str]) -> TaskGraph:
    """Return the graph of the actions but those; what had to wait for one of them waits for what came before it."""
    edges = dict.fromkeys(graph.edges)
    for gone in (s.id for s in graph.steps if s not in graph.actions or s.id in out):
        before, after = [a for a, b in edges if b == gone], [b for a, b in edges if a == gone]
        edges = dict.fromkeys(e for e in (*edges, *itertools.product(before, after)) if gone not in e)
    steps = tuple(replace(s, optional=False) for s in graph.actions if s.id not in out)
    return TaskGraph(graph.id, graph.name, steps, tuple(edges))


@lru_cache(maxsize=16)
def _countable(part: TaskGraph) -> bool:
    """Tell whether the orders of a graph without start, end and optional steps can be counted by sets of done steps."""
    depth: dict[str, int] = {}
    for step in part.topological_order:
        depth[step] = 1 + max((depth[before] for before in part.predecessors(step)), default=0)
    try:
        return max(Counter(depth.values()).values()) <= _WIDE and part.count_orders() > 0
    except TooManyDownsetsError:
        return False


def count_performances(graph: TaskGraph) -> int | None:
    """Return how many distinct normal scripts there are; None where there are too many sets of steps to count them by."""
    optional = [s.id for s in graph.actions if s.optional]
    if len(optional) > _OPTIONAL or not _countable(_part(graph, frozenset())):
        return None
    sizes = range(min(len(optional), len(graph.actions) - 1) + 1)
    choices = itertools.chain.from_iterable(itertools.combinations(optional, n) for n in sizes)
    return sum(_part(graph, frozenset(out)).count_orders() for out in choices)


def short_name(activity: str) -> str:
    """Return what ids of scripts and recordings begin with: lower case, at most 40 characters, of one activity alone."""
    name = re.sub(r"[^a-z0-9]+", "-", activity.lower(), flags=re.ASCII).strip("-")[:33].strip("-")
    return name if name and name == activity else f"{name or 'activity'}-{content_hash(activity)[:6]}"


def draw_scripts(
    graph: TaskGraph, counts: Mapping[Strategy, int], seed: int, hints: Hints | None = None
) -> list[Script]:
    """Return the scripts of an activity, by strategy and number; fewer where the graph has none of a kind.

    Those of one strategy differ while there are others (``count_performances``); then all come again. Without
    steps that wait for others no order is wrong, and of a single step none can be missing. ``hints`` are for
    scripts whose mistakes people choose; what the texts say by default.
    """
    said = text_hints(graph) if hints is None else hints
    each = (itertools.islice(_scripts(graph, s, seed, said), counts.get(s, 0)) for s in STRATEGIES)
    return list(itertools.chain.from_iterable(each))


def _scripts(graph: TaskGraph, strategy: Strategy, seed: int, hints: Hints) -> Iterator[Script]:
    total = count_performances(graph) if strategy in ("normal", "impromptu") else None
    choices = 2 ** sum(s.optional for s in graph.actions) if total is not None else 0
    seen: set[object] = set()
    for n in itertools.count(1):
        id_ = f"{short_name(graph.id)}-{strategy}-{n:03d}"
        if len(seen) == total:
            seen.clear()
        # While there is a performance that was not drawn, one in so many draws finds one: this is all but certain to.
        tries = range(max(_TRIES, 50 * choices * (len(seen) + 1)))
        script = key = None
        for text in (f"{seed}/{id_}/{n}" if n else f"{seed}/{id_}" for n in tries):
            if (found := _script(graph, strategy, id_, text, hints)) is not None:
                script, key = found, (found.steps, found.mistakes)
                if key not in seen:
                    break
        if script is None:
            return
        if key in seen:
            seen.clear()
        seen.add(key)
        yield script


def _script(graph: TaskGraph, strategy: Strategy, id_: str, seed: str, hints: Hints) -> Script | None:
    """Return what a seed gives; None where it gives nothing of this strategy."""
    (order, method), rng = draw_order(graph, seed), random.Random(f"{seed}/mistakes")  # noqa: S311 - not a secret
    steps, mistakes, modified = list(order), _Planned(), dict[str, str]()
    if strategy == "missing":
        mistakes = _leave_out(graph, steps, rng)
    elif strategy == "disordered":
        mistakes = _disorder(graph, steps, rng)
    elif strategy == "induced":
        mistakes = _induce(graph, steps, rng, modified)
    if not mistakes and strategy not in ("normal", "impromptu"):
        return None
    proposed = (hints.get(i, ()) for i in steps if strategy in ("impromptu", "induced"))
    return Script(
        id=id_, activity=graph.id, title=graph.name or graph.id, strategy=strategy, method=method, seed=seed,
        steps=tuple(ScriptStep(step=i, text=graph[i].text, modified=modified.get(i)) for i in steps),
        left_out=tuple(m.step for m in mistakes if m.kind == "missing"),
        mistakes=tuple(mistakes), hints=tuple(itertools.chain.from_iterable(proposed)),
    )  # fmt: skip


def _leave_out(graph: TaskGraph, steps: list[str], rng: random.Random) -> _Planned:
    """Leave out one to four steps, at most half of them, as often as people did; an optional step would not be missed."""
    needed = [i for i in steps if not graph[i].optional]
    (n,) = rng.choices(range(1, 1 + len(_MISSING)), _MISSING)
    gone = sorted(rng.sample(needed, min(n, len(needed), len(steps) // 2)), key=steps.index)
    steps[:] = [i for i in steps if i not in gone]
    return [PlannedMistake(step=i, kind="missing") for i in gone]


def _disorder(graph: TaskGraph, steps: list[str], rng: random.Random) -> _Planned:
    """Do a step before one that it must wait for, or swap the two; once, twice or three times."""
    part = _part(graph, frozenset(s.id for s in graph.actions) - {*steps})
    for _ in range(rng.randint(1, 3) if part.edges else 0):
        early, late = sorted(map(steps.index, rng.choice(part.edges)))
        if rng.random() < 0.5:
            steps.insert(early, steps.pop(late))
        else:
            steps[early], steps[late] = steps[late], steps[early]
    later = {i: [b for b in steps[n:] if part.comes_before(b, i)] for n, i in enumerate(steps)}
    texts = {i: f"before: {shown_text(graph[waits[0]].text)}" for i, waits in later.items() if waits}
    return [PlannedMistake(step=i, kind="order", text=text) for i, text in texts.items()]


def _induce(graph: TaskGraph, steps: list[str], rng: random.Random, modified: dict[str, str]) -> _Planned:
    """Plan mistakes inside up to half of the steps; where the text has no number or heat to change, what it is stays open."""
    mistakes = []
    for i in sorted(rng.sample(steps, rng.randint(1, (len(steps) + 1) // 2)), key=steps.index):
        said = mistakes_in(graph[i].text)
        kind = rng.choice([k for k in INDUCED_KINDS if k in _OPEN or k in {one[0] for one in said}])
        text = ""
        if fitting := [one for one in said if one[0] == kind]:
            _, text, modified[i] = rng.choice(fitting)
        mistakes.append(PlannedMistake(step=i, kind=kind, text=text))
    return mistakes
