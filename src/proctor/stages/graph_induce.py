"""Task graphs from recordings and orders: which steps must come before which, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_compare import PrecedenceAgreement, compare_precedence
from proctor.procedure.induce import Evidence, TangledOrdersError, add_terminals, support_of
from proctor.records import Dropped, write_jsonl
from proctor.stages.graph_methods import (
    Belief,
    Infer,
    Inferred,
    counted,
    infer_by_counting,
    infer_by_likelihood,
)
from proctor.stages.graph_review import Decided, Decision, apply_review, read_review, write_review
from proctor.stages.graph_settings import InduceSettings, Method
from proctor.stages.graph_sources import Activity, choose_activities, observe, only_numbered
from proctor.stages.graphs import Left, left, load_graphs, target_format, write_graphs
from proctor.workspace import Workspace

__all__ = ["Agreement", "Edge", "Induced", "InducedGraph", "induce_graphs"]

_STAGE: Final = "graph induce"
_SHOWN: Final = 5


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Ordered pairs of induced graphs against those of references; shares are None where nothing is ordered.

    Attributes:
        activities: that were compared, of the sum over all.
        missing: pairs that only the reference orders, of one activity.
        extra: pairs that only the induced graph orders, of one activity.
        steps_not_seen: of the reference.
        steps_not_known: to the reference.
    """

    activities: int | msgspec.UnsetType = msgspec.UNSET
    precision: float | None
    recall: float | None
    f1: float | None
    pairs_both: int
    pairs_missing: int
    pairs_extra: int
    pairs_reversed: int
    missing: tuple[tuple[str, str], ...] | msgspec.UnsetType = msgspec.UNSET
    extra: tuple[tuple[str, str], ...] | msgspec.UnsetType = msgspec.UNSET
    steps_not_seen: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    steps_not_known: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class InducedGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The graph of an activity: what it rests on, its pairs, and how far it agrees with a reference."""

    id: str
    name: str
    recordings: int
    left_out: int
    steps: int
    edges: int
    pairs: int
    implied: int | None
    removed: int
    open: int
    least_together: int | None
    agreement: Agreement | msgspec.UnsetType = msgspec.UNSET


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """An ordered pair, what it rests on, and the Wilson interval of its share (95 %, recordings taken as independent).

    Attributes:
        graph: id of its graph.
        before: id of the earlier step.
        after: id of the later step.
        probability: that the pair is an edge of the graph; None where the method gives none.
        agreeing: recordings that show this order.
        contradicting: recordings that show the opposite.
        together: recordings that have both steps.
        share: of these, how many agree; None where none has both.
        low: lower end of the interval.
        high: upper end.
        decision: what a person decided about it.
    """

    graph: str
    before: str
    after: str
    probability: float | None
    agreeing: int
    contradicting: int
    together: int
    share: float | None
    low: float | None
    high: float | None
    decision: Decision | None = None


class Induced(msgspec.Struct, frozen=True, kw_only=True):
    """What was induced, from what, and how sure it is; pairs are listed with the most doubtful first.

    Attributes:
        edges: of all graphs.
        open: doubtful pairs that were not taken.
        removed: pairs that were accepted first and lay on a cycle.
        decisions: of people, from a review.
        unseen: steps that no recording with a say has, by graph; they are in no order.
    """

    file: str | None
    to: str | None
    written: list[str] | None
    review: str | None
    warnings: list[str]
    method: Method
    threshold: float | None
    min_support: int | None
    evidence: str | None
    activities: list[InducedGraph]
    agreement: Agreement | None
    edges: list[Edge]
    open: list[Edge]
    removed: list[Edge]
    decisions: list[Decided]
    unseen: dict[str, list[str]]
    lost: list[Left]


def induce_graphs(settings: InduceSettings) -> Induced:
    """Induce the task graph of every activity from its recordings or orders, by likelihood or by counting.

    The source is a workspace, a data set's folder, recordings as JSON Lines or in any interchange format, or orders as
    JSON: a list of lists of steps, an object of such lists by name, or ``{"steps": {id: text}, "performances": orders}``.
    What is written into a workspace are graphs of activities whose graph is missing, has no edge, or was induced before;
    steps that no recording with a say performs are in it, without edges.

    Raises:
        UserError: if anything cannot be read or written, an option is out of range, the recordings contradict one
            another too much, a review contradicts itself, one file would be read and written or written twice, or
            ``write`` would replace a graph that came with the data or rest on steps that are only numbered.
    """
    source, target, write = settings.source, settings.target, settings.write
    if write and (settings.dataset is not None or settings.from_ is not None or not source.is_dir()):
        raise UserError(
            "--write puts graphs into a workspace, and this is none.",
            where=str(source),
            hint="first: proctor read DATASET FOLDER WORKSPACE; then: proctor graph induce WORKSPACE --write",
        )
    _keep_apart(settings)
    format_ = None if target is None else target_format(target, settings.to)
    found, brought = observe(source, settings.from_, settings.dataset, settings.without)
    chosen = choose_activities(found, settings.activities, source)
    warnings = [sentence for activity in chosen if (sentence := only_numbered(activity))]
    if write:
        chosen = _writable(Workspace(source), chosen, named=bool(settings.activities), numbered=warnings)
    references = _references(chosen, brought, settings)
    for activity in chosen:
        if activity.id in references:
            activity.texts = {s.id: s.text for s in references[activity.id].steps} | activity.texts
    rules = _rules(settings)
    pairs = [(activity, _infer(activity, source, rules)) for activity in chosen]
    decided: list[Decided] = []
    if settings.reviewed is not None:
        pairs, decided = _reviewed(settings.reviewed, pairs, rules, warnings)
    graphs = [_finished(inferred.graph, settings.terminals) for _, inferred in pairs]
    lost: tuple[Dropped, ...] = ()
    if target is not None and format_ is not None:
        lost = write_graphs(graphs, target, format_)
    agreed = {a.id: compare_precedence(references[a.id], i.graph) for a, i in pairs if a.id in references}
    said = {(d.graph, d.before, d.after): d.decision for d in decided}
    edges = [_edge(i.graph, belief, said) for _, i in pairs for belief in i.edges]
    if settings.support is not None:
        write_jsonl(settings.support, edges)
    if settings.review is not None:
        write_review(settings.review, [i for _, i in pairs], decided)
    warnings += _doubts(pairs, edges, rules)
    if write:
        whole = [
            _finished(_with_steps(i.graph, _unwritten(a, brought.get(a.id)), a.texts), settings.terminals)
            for a, i in pairs
        ]
        more = {"without": list(settings.without), "terminals": settings.terminals}
        more |= {"decisions": len(decided)} if decided else {}
        _put(Workspace(source), whole, msgspec.to_builtins(rules) | more)
    return Induced(
        file=None if target is None else str(target),
        to=None if format_ is None else format_.name,
        written=[a.id for a, _ in pairs] if write else None,
        review=None if settings.review is None else str(settings.review),
        warnings=warnings,
        method=rules.method,
        threshold=rules.threshold,
        min_support=rules.min_support,
        evidence=rules.evidence,
        activities=[_row(a, i, agreed.get(a.id)) for a, i in pairs],
        agreement=_agreement(list(agreed.values())) if agreed else None,
        edges=_listed(pairs, "edges", said),
        open=_listed(pairs, "open", said),
        removed=_listed(pairs, "removed", said),
        decisions=decided,
        unseen={a.id: unseen for a, _ in pairs if (unseen := _unseen(a))},
        lost=left(lost),
    )


def _keep_apart(settings: InduceSettings) -> None:
    """Refuse to write over what is read; ``reviewed`` may be ``review``, where decisions are kept."""
    taken = {p.resolve() for p in (settings.source, settings.reference) if p is not None}
    for path in (settings.target, settings.support, settings.review):
        if path is None:
            continue
        if path.resolve() in taken:
            raise UserError(
                "one file would be read and written, or written twice.",
                where=str(path),
                hint="give every file that is written a name of its own",
            )
        taken.add(path.resolve())


class _Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How graphs are inferred; counting alone has a threshold and the like."""

    method: Method
    threshold: float | None = None
    min_support: int | None = None
    evidence: Evidence | None = None


def _rules(settings: InduceSettings) -> _Rules:
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("threshold", "min_support", "evidence")
        if getattr(settings, name) is not None
    ]
    if settings.method == "likelihood" and given:
        raise UserError(
            f"{given[0]} says how to count, and the method is the likelihood.",
            hint="leave one of them out, or take --method counting",
        )
    if settings.method == "likelihood" or (settings.method is None and not given):
        return _Rules(method="likelihood")
    return _Rules(
        method="counting",
        threshold=1.0 if settings.threshold is None else settings.threshold,
        min_support=settings.min_support or 1,
        evidence=settings.evidence or "starts",
    )


def _infer(activity: Activity, source: Path, rules: _Rules) -> Inferred:
    where = f"{source}: activity '{activity.name or activity.id}'"
    infer: Infer = infer_by_likelihood
    if rules.threshold is not None and rules.min_support is not None and rules.evidence is not None:
        infer = partial(
            infer_by_counting,
            threshold=rules.threshold,
            min_support=rules.min_support,
            evidence=rules.evidence,
        )
    try:
        inferred = infer(activity.performances, activity.texts, id=activity.id, name=activity.name)
    except TangledOrdersError as error:
        raise UserError(
            f"the recordings contradict one another: {error}.",
            where=where,
            hint="raise --threshold or --min-support, or look whether the steps have the right names",
        ) from None
    except ValueError as error:
        hint = f"{activity.left_out} recording(s) were left out by --without" if activity.left_out else None
        raise UserError(f"{error}.", where=where, hint=hint) from None
    return replace(inferred, graph=_with_steps(inferred.graph, activity.listed, activity.texts))


def _with_steps(graph: TaskGraph, wanted: Iterable[str], texts: Mapping[str, str]) -> TaskGraph:
    """Return the graph with these steps, too, in no order."""
    more = tuple(Step(id_, texts.get(id_, id_)) for id_ in sorted(set(wanted) - graph.index.keys()))
    return replace(graph, steps=(*graph.steps, *more))


def _unseen(activity: Activity) -> list[str]:
    return sorted(activity.listed.difference(*(p.spans for p in activity.performances)))


def _doubts(
    pairs: Sequence[tuple[Activity, Inferred]], edges: Sequence[Edge], rules: _Rules
) -> Iterator[str]:
    """Say what graphs rest on that is hardly anything."""
    for activity, _ in pairs:
        if unseen := _unseen(activity):
            shown = ", ".join(f"'{id_[:60]}'" for id_ in unseen[:_SHOWN]) + (
                ", …" if len(unseen) > _SHOWN else ""
            )
            yield f"no performance has {len(unseen):,} of the steps ({shown}); they are in no order"
    lonely = sum(edge.together == 1 for edge in edges)
    if lonely:
        yield (
            f"{lonely:,} of {len(edges):,} edges rest on a single recording, where every habit looks like a rule"
            + ("; --min-support 3 leaves such pairs open" if rules.method == "counting" else "")
        )


def _references(
    chosen: Sequence[Activity], brought: Mapping[str, TaskGraph], settings: InduceSettings
) -> dict[str, TaskGraph]:
    """Return the graph that each activity is compared with: the given one, or one that came with the data."""
    source = settings.source
    if settings.reference is None:
        made = _induced_before(Workspace(source)) if settings.dataset is None and source.is_dir() else set()
        # what says something of its own
        known = {id_: g for id_, g in brought.items() if g.edges and id_ not in made}
    else:
        known = {g.id: g for g in load_graphs(settings.reference).graphs}
        if len(chosen) == len(known) == 1:
            # two single graphs are meant to be compared, whatever they are called
            return {chosen[0].id: next(iter(known.values()))}
    found = ((activity.id, _namesake(activity, known)) for activity in chosen)
    return {id_: graph for id_, graph in found if graph is not None}


def _reviewed(
    path: Path, pairs: Sequence[tuple[Activity, Inferred]], rules: _Rules, warnings: list[str]
) -> tuple[list[tuple[Activity, Inferred]], list[Decided]]:
    """Put the decisions of a file into the graphs; add a warning where it has some about other graphs."""
    review = read_review(path)
    revised, decided = [], list[Decided]()
    for activity, inferred in pairs:

        def evidence(before: str, after: str, activity: Activity = activity) -> Belief:
            return counted(support_of(activity.performances, before, after, rules.evidence or "starts"))

        found, these = apply_review(review, inferred, evidence)
        revised.append((activity, found))
        decided += these
    others = len(review.rows) - len(decided)
    if others > 0 and not decided:
        raise UserError(
            f"none of its {len(review.rows):,} decisions is about a graph that is induced here.",
            where=str(path),
            hint="the column graph holds the id of the activity",
        )
    if others > 0:
        warnings.append(f"{path}: {others:,} decision(s) are about other graphs, or said twice")
    return revised, decided


def _namesake(activity: Activity, known: Mapping[str, TaskGraph]) -> TaskGraph | None:
    """Return the graph of the same id, or of the same name without regard to case and spaces."""
    folded = "".join(activity.name.lower().split())
    same = [g for g in known.values() if "".join(g.name.lower().split()) == folded]
    return known.get(activity.id) or (same[0] if len(same) == 1 else None)


def _finished(graph: TaskGraph, terminals: bool) -> TaskGraph:
    if not terminals:
        return graph
    try:
        return add_terminals(graph)
    except ValueError as error:
        raise UserError(f"{error}.", hint="leave out --terminals") from None


# -- into a workspace --------------------------------------------------------------------------------------------


def _induced_before(workspace: Workspace) -> set[str]:
    """Return the activities whose graph an earlier run wrote; ``read`` takes the file back."""
    record = workspace.stages().get(_STAGE)
    if record is None or "graphs.json" not in record.outputs:
        return set()
    induced = record.settings.get("induced")
    return set(map(str, induced)) if isinstance(induced, list) else set()


def _writable(
    workspace: Workspace, chosen: list[Activity], *, named: bool, numbered: Sequence[str]
) -> list[Activity]:
    """Return the activities whose graph is missing, has no edge, or was induced before.

    Raises:
        UserError: if there are none, one that was named has a graph of its own, or steps are only numbered.
    """
    if numbered:
        raise UserError(
            f"{numbered[0]}.",
            where=str(workspace.root),
            hint="give equal steps one id: write a CSV ('proctor datasets convert'), fill in its column step_id, and "
            "bring it back as a plain folder; docs/graphs.md shows how",
        )
    before = _induced_before(workspace)
    graphs = workspace.graphs()
    free = [a for a in chosen if a.id in before or a.id not in graphs or not graphs[a.id].edges]
    kept = [a.id for a in chosen if a not in free]
    if kept and (named or not free):
        raise UserError(
            f"activity '{kept[0]}' has a task graph that came with the data; it is not replaced.",
            where=str(workspace.root),
            hint="to compare, write a file instead: proctor graph induce WORKSPACE found.json",
        )
    return free


def _unwritten(activity: Activity, known: TaskGraph | None) -> set[str]:
    """Return the steps that are known, whether or not a recording with a say performs them."""
    return activity.seen | ({s.id for s in known.actions} if known is not None else set())


def _put(workspace: Workspace, graphs: Sequence[TaskGraph], settings: Mapping[str, Any]) -> None:
    before = _induced_before(workspace)
    workspace.write_graphs(workspace.graphs() | {g.id: g for g in graphs})
    workspace.record(
        _STAGE,
        settings={**settings, "induced": sorted({*before, *(g.id for g in graphs)})},
        counts={"graphs": len(graphs), "edges": sum(len(g.edges) for g in graphs)},
        inputs=("recordings.jsonl",),
        outputs=("graphs.json",),
    )


def _row(activity: Activity, inferred: Inferred, agreed: PrecedenceAgreement | None) -> InducedGraph:
    return InducedGraph(
        id=activity.id,
        name=activity.name,
        recordings=inferred.performances,
        left_out=activity.left_out,
        steps=len(inferred.graph.steps),
        edges=len(inferred.graph.edges),
        pairs=inferred.pairs,
        implied=inferred.implied,
        removed=len(inferred.removed),
        open=len(inferred.open),
        least_together=min((b.together for b in inferred.edges), default=None),
        agreement=msgspec.UNSET if agreed is None else _agreement([agreed], one=agreed),
    )


def _agreement(agreed: Sequence[PrecedenceAgreement], one: PrecedenceAgreement | None = None) -> Agreement:
    """Return the shares over the pairs of activities that have a reference; of one activity the pairs, too."""
    both = sum(a.both for a in agreed)
    missing = sum(len(a.missing) for a in agreed)
    extra = sum(len(a.extra) for a in agreed)
    shares: dict[str, Any] = {
        "precision": both / (both + extra) if both + extra else None,
        "recall": both / (both + missing) if both + missing else None,
        "f1": 2 * both / (2 * both + missing + extra) if both + missing + extra else None,
        "pairs_both": both,
        "pairs_missing": missing,
        "pairs_extra": extra,
        "pairs_reversed": sum(len(a.reversed_) for a in agreed),
    }
    if one is None:
        return Agreement(activities=len(agreed), **shares)
    return Agreement(
        **shares,
        missing=one.missing,
        extra=one.extra,
        steps_not_seen=one.only_reference_steps,
        steps_not_known=one.only_candidate_steps,
    )


def _edge(graph: TaskGraph, belief: Belief, said: Mapping[tuple[str, str, str], Decision]) -> Edge:
    interval = belief.interval
    return Edge(
        graph=graph.id,
        **asdict(belief),
        share=belief.agreeing / belief.together if belief.together else None,
        low=interval.low,
        high=interval.high,
        decision=said.get((graph.id, belief.before, belief.after)),
    )


def _listed(
    pairs: Sequence[tuple[Activity, Inferred]],
    of: Literal["edges", "open", "removed"],
    said: Mapping[tuple[str, str, str], Decision],
) -> list[Edge]:
    """Return the pairs of all graphs, the most doubtful first."""
    found = [
        (belief.doubt(taken=of == "edges"), i.graph, belief) for _, i in pairs for belief in getattr(i, of)
    ]
    found.sort(key=lambda one: (one[0][:2], one[1].id, one[0][2:]))
    return [_edge(graph, belief, said) for _, graph, belief in found]
