"""Writing task graphs from texts: actions are marked, become steps, and steps wait for one another.

As CaptainCook4D's task graphs were made (its appendix C, figure 14): steps that wait for nothing follow START, those that nothing waits
for precede END. Spans are characters ``[begin, end)`` of the text, counted as Unicode code points. A model's draft, or a graph that was
inferred, comes as proposals: they count where somebody accepts them, and all are decided on before a sheet is submitted.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from proctor.drawing.sketch import NotDrawnError
from proctor.drawing.svg import Tell, draw_layout
from proctor.drawing.view import default_layouts
from proctor.exam.floors import any_order
from proctor.procedure.graph import GraphDraft, Step, TaskGraph
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.graph_lint import GRAPH_RULES, LONG_TEXT, lint_graph, measure_graph
from proctor.procedure.induce import add_terminals
from proctor.said import say
from proctor.verify.desk.records import MAX_TEXT, InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import TaskKind

__all__ = [
    "KIND", "MAX_SOURCE", "Authored", "GraphLook", "GraphOptions", "GraphSheet", "GraphStep", "GraphTask",
    "ProposedEdge", "agreement_of", "authored", "match_steps", "settle",
]  # fmt: skip

Pair = tuple[str, str]
MAX_SOURCE: Final = 30_000
"""Characters of a text; a draft of a sheet may hold it."""
MAX_STEPS: Final = 300
MATCHED: Final = 0.5
"""Steps of two people are the same from this overlap on (intersection over union)."""
_ORDERS: Final = 4


class GraphStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step: its wording, and the parts of the text that it was made from."""

    id: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()


class ProposedEdge(msgspec.Struct, frozen=True):
    """A pair of steps that may be an edge, and how sure who proposes it is (0 to 1)."""

    before: str
    after: str
    probability: float | None = None


class GraphTask(msgspec.Struct, frozen=True, kw_only=True):
    """An activity's text (empty where people paste one), and steps and edges that are proposed, the most doubtful first.

    Where steps are ``fixed`` they are those of an inferred graph: only their order is decided on.
    """

    id: str
    title: str = ""
    text: str = ""
    steps: tuple[GraphStep, ...] = ()
    edges: tuple[ProposedEdge, ...] = ()
    fixed: bool = False


class GraphSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody wrote, accepted proposals among it, and what they refuse; text and steps where the task leaves these to them."""

    text: str = ""
    steps: tuple[GraphStep, ...] = ()
    edges: tuple[Pair, ...] = ()
    refused_steps: tuple[str, ...] = ()
    refused: tuple[Pair, ...] = ()
    note: str = ""


class GraphOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a round; ``write``: what is settled goes into the workspace's graphs when it is collected."""

    write: bool = False


class Finding(msgspec.Struct, frozen=True):
    """What is wrong (``broken``) or odd; steps are called by their numbers on the page, ``step`` is the first of them or 0."""

    text: str
    broken: bool = False
    step: int = 0


class GraphLook(msgspec.Struct, frozen=True, kw_only=True):
    """How a sheet stands: findings, a drawing or why there is none (``note``), and orders in which the steps can be done.

    Orders are drawn uniformly where ``count`` says how many there are, else step by step.
    """

    findings: tuple[Finding, ...]
    svg: str = ""
    note: str = ""
    orders: tuple[tuple[str, ...], ...] = ()
    count: int | None = None


class GraphKind(TaskKind[GraphTask, GraphSheet, GraphOptions]):
    """Steps of a text and what must come before what."""

    name, title = "graph", say("Task graphs")
    detail = say("Mark the actions of a text, make them steps, and say which must come before which.")
    task, sheet, options = GraphTask, GraphSheet, GraphOptions

    def check(self, sheet: GraphSheet, task: GraphTask, options: GraphOptions) -> GraphSheet:  # noqa: ARG002
        """Return the sheet with trimmed texts, each link once, and no decision that nothing asked for.

        Raises:
            InvalidError: if a step has no words or lies outside the text, steps wait for one another, or proposals are open.
        """
        text = task.text or sheet.text
        change = msgspec.structs.replace
        steps = [change(s, text=s.text.strip(), spans=tuple(sorted({*s.spans}))) for s in sheet.steps]
        kept = change(
            sheet, steps=() if task.fixed else tuple(steps), edges=tuple(dict.fromkeys(sheet.edges))
        )
        errors = list(_wrong(kept, task, text))
        if not errors:
            errors += [("edges", f.text) for f in _findings(kept, task) if f.broken]
        ids = {step.id for step in _steps(kept, task)}
        asked = [(e.before, e.after) for e in task.edges if {e.before, e.after} <= ids]
        refused = tuple(p for p in asked if p in sheet.refused and p not in kept.edges)
        gone = tuple(s.id for s in task.steps if s.id in sheet.refused_steps and s.id not in ids)
        undecided = len(asked) - len(refused) - len({*asked} & {*kept.edges})
        if undecided := undecided + len({s.id for s in task.steps} - ids - {*gone}):
            errors.append(
                ("proposals", say("Accept or refuse each proposal: {n} are not decided on.", n=undecided))
            )
        if is_bad_text(sheet.note):
            errors.append(("note", say("A note holds at most {most:,} characters of text.", most=MAX_TEXT)))
        if errors:
            raise InvalidError(errors)
        pasted = "" if task.text else sheet.text
        return change(kept, text=pasted, refused=refused, refused_steps=gone, note=sheet.note.strip())

    def look(
        self,
        sheet: GraphSheet,
        task: GraphTask,
        options: GraphOptions,  # noqa: ARG002
        tell: Tell = str,
    ) -> GraphLook:
        """Return how a sheet stands, a draft as well."""
        steps = _steps(sheet, task)
        findings = tuple(_findings(sheet, task)) if steps else ()
        if not steps or any(f.broken for f in findings):
            return GraphLook(
                findings=findings, note=say("Drawn once there are steps and none waits for itself.")
            )
        graph = _numbered(sheet, task).build()
        # without an edge every order is valid, and counting them would take the longest
        count = measure_graph(graph).orders if graph.edges else None
        svg = note = ""
        try:
            closed = add_terminals(graph)
            svg = str(draw_layout(default_layouts().find(closed), closed, tell=tell))
        except NotDrawnError as error:
            note = say("Not drawn: {why}. The list says the same.", why=error.args[0])
        rng = random.Random(0)  # noqa: S311 - the same orders for the same graph
        draw = any_order if count is None else TaskGraph.sample_order
        drawn = dict.fromkeys(draw(graph, rng) for _ in range(3 * _ORDERS) if len(steps) > 1)
        orders = tuple(tuple(steps[int(n) - 1].id for n in order) for order in drawn)
        return GraphLook(findings=findings, svg=svg, note=note, orders=orders[:_ORDERS], count=count)


KIND: Final = GraphKind()


def _steps(sheet: GraphSheet, task: GraphTask) -> tuple[GraphStep, ...]:
    return task.steps if task.fixed else sheet.steps[:MAX_STEPS]


def _numbered(sheet: GraphSheet, task: GraphTask) -> GraphDraft:
    """Return the sheet as a draft whose steps are called by their numbers on the page, so that findings name these."""
    steps = _steps(sheet, task)
    numbers = {step.id: str(n) for n, step in enumerate(steps, 1)}
    edges = tuple((numbers.get(a, a), numbers.get(b, b)) for a, b in dict.fromkeys(sheet.edges))
    return GraphDraft(task.id, task.title, tuple(Step(str(n), s.text) for n, s in enumerate(steps, 1)), edges)


def _wrong(sheet: GraphSheet, task: GraphTask, text: str) -> Iterator[tuple[str, str]]:
    if len(text) > MAX_SOURCE or any(map(is_bad_text, re.findall(f"(?s).{{1,{MAX_TEXT}}}", text))):
        yield (
            "text",
            say("A text has at most {most:,} characters, and no control characters.", most=MAX_SOURCE),
        )
    steps = sheet.steps
    if not steps and not task.fixed:
        yield "steps", say("There is no step yet: choose words of the text, and make them a step.")
    if len(steps) > MAX_STEPS or len({s.id for s in steps}) < len(steps):
        yield (
            "steps",
            say(
                "At most {most} steps, each with an id of its own; there are {n:,}.",
                most=MAX_STEPS,
                n=len(steps),
            ),
        )
    for n, s in enumerate(steps, 1):
        if not s.text or len(s.text) > LONG_TEXT or is_bad_text(s.text) or not 0 < len(s.id) <= 200:
            yield (
                f"steps.{s.id}",
                say("Step {n} has no words, or more than {most:,} characters.", n=n, most=LONG_TEXT),
            )
        if any(not 0 <= begin < end <= len(text) for begin, end in s.spans):
            yield (
                f"steps.{s.id}",
                say("Step {n} uses words that the text does not have: choose them again.", n=n),
            )


def _findings(sheet: GraphSheet, task: GraphTask) -> Iterator[Finding]:
    draft, steps = _numbered(sheet, task), _steps(sheet, task)
    found = [f for f in lint_graph(draft, quote="") if f.rule not in ("no_start", "no_end")]
    for f in found:
        what = GRAPH_RULES[f.rule]
        if f.rule in ("alone", "empty_text", "implied_edge"):
            text = say("{where:capital}: {what}.", where=f.where, what=what)
        else:
            text = say("{where:capital}: {what} ({seen}).", where=f.where, what=what, seen=f.seen)
        step = re.match(r"\d+", str(next(iter(f.where.values.values()), "")))
        yield Finding(text, f.broken, int(step[0]) if step else 0)
    if any(f.broken for f in found):
        return
    graph, numbers = draft.build(), {s.id: n for n, s in enumerate(steps, 1)}
    for a, b in sheet.refused:
        if a in numbers and b in numbers and graph.comes_before(str(numbers[a]), str(numbers[b])):
            text = say(
                "Edge {before} → {after} is refused, but follows from the others.",
                before=numbers[a],
                after=numbers[b],
            )
            yield Finding(text, task.fixed and (a, b) not in sheet.edges, numbers[a])


# -- two people and more -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Authored:
    """A graph that somebody wrote, with the text that its spans lie in; ``fixed``: ids of steps are the same for all."""

    person: str
    text: str
    steps: tuple[GraphStep, ...]
    graph: TaskGraph
    fixed: bool


def authored(person: str, sheet: GraphSheet, task: GraphTask) -> Authored:
    """Return the graph of a submitted sheet."""
    steps = _steps(sheet, task)
    graph = TaskGraph(task.id, task.title, tuple(Step(s.id, s.text) for s in steps), sheet.edges)
    return Authored(person, task.text or sheet.text, steps, graph, task.fixed)


def match_steps(one: Authored, two: Authored) -> dict[str, str]:
    """Return which step of ``one`` is which of ``two``, one to one, with as much overlap as possible.

    Steps are compared by the characters marked, where both have some in the same text, else by the words of their wording.
    """
    if one.fixed:
        return {s.id: s.id for s in one.steps}
    from scipy.optimize import linear_sum_assignment

    same = one.text == two.text
    marks = [[{k for b, e in s.spans for k in range(b, e)} for s in who.steps] for who in (one, two)]
    words = [[{*re.findall(r"\w+", s.text.casefold())} for s in who.steps] for who in (one, two)]
    left, right = (list(zip(*both, strict=True)) for both in zip(marks, words, strict=True))
    gain = [[_iou(m, n) if same and m and n else _iou(v, w) for n, w in right] for m, v in left]
    pairs = zip(*(found.tolist() for found in linear_sum_assignment(gain, maximize=True)), strict=True)
    return {one.steps[i].id: two.steps[j].id for i, j in pairs if gain[i][j] >= MATCHED}


def _iou(a: Collection[object], b: Collection[object]) -> float:
    return len({*a} & {*b}) / (len({*a} | {*b}) or 1)


def agreement_of(one: Authored, two: Authored) -> tuple[int, float | None]:
    """Return how many steps both have, and over these F1 of the reductions' edges, those of START and END included (``compare_edges``).

    None where they share no step.
    """
    if not (same := match_steps(one, two)):
        return 0, None
    a, b = _within(one.graph, {i: i for i in same}), _within(two.graph, {j: i for i, j in same.items()})
    return len(same), compare_edges(a, b).f1


def _within(graph: TaskGraph, names: Mapping[str, str]) -> TaskGraph:
    """Return the order of some of a graph's steps, under new names, reduced."""
    pairs = (pair for pair in itertools.permutations(names, 2) if graph.comes_before(*pair))
    edges = tuple((names[a], names[b]) for a, b in pairs)
    steps = tuple(Step(new, graph[old].text) for old, new in names.items())
    return TaskGraph(graph.id, graph.name, steps, edges).transitive_reduction()


def settle(people: Sequence[Authored]) -> tuple[TaskGraph | None, list[tuple[str, str, str, str, str]]]:
    """Return what all agree on, in the words and ids of the one who shares most steps with the others, and what only some say.

    Steps are those that everybody has (no graph where there are none); one comes before another where everybody says so, implied or
    not. What only some say is a step or an edge of somebody's reduction: its kind, id or ids, words, and the people.
    """
    anchor = max(people, key=lambda one: sum(len(match_steps(one, two)) for two in people if two is not one))
    same = {who.person: match_steps(anchor, who) for who in people if who is not anchor}
    same[anchor.person] = {step.id: step.id for step in anchor.steps}
    has = {step.id: [name for name, ids in same.items() if step.id in ids] for step in anchor.steps}
    agreed = [id_ for id_, names in has.items() if len(names) == len(people)]
    rest = [("step", s.id, "", s.text, " ".join(has[s.id])) for s in anchor.steps if s.id not in agreed]
    for who in people:
        only = [s for s in who.steps if s.id not in same[who.person].values()]
        rest += [("step", s.id, "", s.text, who.person) for s in only]
    if not agreed:
        return None, rest
    graphs = {who.person: _within(who.graph, {same[who.person][i]: i for i in agreed}) for who in people}
    pairs = itertools.permutations(agreed, 2)
    common = dict.fromkeys(p for p in pairs if all(g.comes_before(*p) for g in graphs.values()))
    for a, b in dict.fromkeys(edge for g in graphs.values() for edge in g.edges):
        if (a, b) not in common:
            names = [name for name, g in graphs.items() if g.comes_before(a, b)]
            rest.append(("edge", a, b, f"{anchor.graph[a].text} → {anchor.graph[b].text}", " ".join(names)))
    steps = tuple(anchor.graph[i] for i in agreed)
    return TaskGraph(anchor.graph.id, anchor.graph.name, steps, tuple(common)).transitive_reduction(), rest
