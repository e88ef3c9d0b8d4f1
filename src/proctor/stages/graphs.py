"""Task graphs in files: lint, convert, draw, and induce from recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from proctor.datasets.interchange.format import Format, find_format, guess_format
from proctor.datasets.interchange.graph_file import build_graph
from proctor.datasets.interchange.graphs import GRAPH_PARSERS, graph_format, load_graph_drafts
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError
from proctor.metrics.interval import wilson_interval
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.graph_compare import PrecedenceAgreement, compare_precedence
from proctor.procedure.graph_lint import GraphShape, lint_graph, measure_graph
from proctor.procedure.induce import (
    InducedOrder,
    PairSupport,
    Performance,
    TangledOrdersError,
    add_terminals,
    induce_order,
    observe_order,
    observe_recording,
)
from proctor.procedure.recording import Recording
from proctor.records import Dropped, atomic_write, read_bytes, read_jsonl, write_jsonl
from proctor.stages.graph_settings import ConvertSettings, DrawSettings, InduceSettings
from proctor.stages.inputs import load_recordings
from proctor.workspace import Workspace

__all__ = ["convert_graphs", "draw_graph_file", "graph_files", "induce_graphs", "lint_graphs", "load_graphs"]

_SUFFIXES: Final = (".json", ".dot", ".gv", ".graphml", ".jsonld")
_HINT: Final = "see docs/graphs.md"


# -- reading -----------------------------------------------------------------------------------------------------


def graph_files(path: Path) -> list[Path]:
    """Return the files that a path means: itself, or what lies in a folder.

    Of a workspace that is ``graphs.json``, of a data set ``task_graphs`` or ``activities``, else every file with the
    ending of a graph format.

    Raises:
        UserError: if the folder has none.
    """
    if not path.is_dir():
        return [path]
    if (path / "graphs.json").exists():
        return [path / "graphs.json"]
    for inside in ("task_graphs", "activities"):
        if (path / inside).is_dir():
            return graph_files(path / inside)
    found = sorted(p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES and not p.name.startswith("."))
    if not found:
        raise UserError("there are no task graphs in it.", where=str(path), hint=_HINT)
    return found


@dataclass(slots=True)
class _Read:
    """The graphs of one or more files."""

    graphs: list[TaskGraph] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def load_graphs(source: Path, format_: str | None = None) -> _Read:
    """Read the task graphs of a file or folder.

    Raises:
        UserError: if a file is missing or broken, or a graph in it is no task graph.
    """
    read = _Read()
    for path in graph_files(source):
        name, found = load_graph_drafts(path, format_)
        read.formats.append(name)
        read.warnings += found.warnings
        read.dropped += found.dropped
        read.graphs += [build_graph(draft, path) for draft in found.objects]
    return read


def _choose(graphs: Sequence[TaskGraph], wanted: Sequence[str], source: Path) -> list[TaskGraph]:
    """Return the graphs of these ids or names, all where none is named."""
    chosen = []
    for name in wanted:
        fitting = [g for g in graphs if g.id == name] or [g for g in graphs if g.name == name]
        if len(fitting) != 1:
            seen = f"{len(fitting)} graphs are" if fitting else "no graph is"
            known = ", ".join(g.id for g in graphs[:20]) + (", …" if len(graphs) > 20 else "")
            raise UserError(f"{seen} called '{name}'.", where=str(source), hint=f"there are: {known}")
        chosen += fitting
    return chosen or list(graphs)


# -- results -----------------------------------------------------------------------------------------------------


class Found(msgspec.Struct, frozen=True):
    """A finding: its rule, the step or edge, what was seen, and whether the graph is broken by it."""

    rule: str
    where: str
    seen: str
    broken: bool


class LintedGraph(msgspec.Struct, frozen=True):
    """A graph of a file with its numbers (None where it is broken) and findings."""

    file: str
    format: str
    id: str
    name: str
    broken: bool
    shape: GraphShape | None
    findings: list[Found]


class Linted(msgspec.Struct, frozen=True):
    """Graphs, findings by rule, how many graphs are broken, and warnings of the readers."""

    graphs: list[LintedGraph]
    counts: dict[str, int]
    broken: int
    warnings: list[str]


class Left(msgspec.Struct, frozen=True):
    """What was not read, or lost in writing, and why."""

    id: str
    reason: str
    detail: str


class Converted(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """What was written where, what the format cannot hold, and what of that was there."""

    file: str
    from_: list[str]
    to: str
    graphs: int
    steps: int
    edges: int
    lossless: bool
    loss: list[str]
    lost: list[Left]
    warnings: list[str]
    dropped: list[Left]


class Drawn(msgspec.Struct, frozen=True):
    """The drawing of a graph."""

    file: str
    graph: str
    steps: int
    bytes: int


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
    implied: int
    removed: int
    least_together: int | None
    agreement: Agreement | msgspec.UnsetType = msgspec.UNSET


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """Support of an edge with the Wilson interval of its share (95 %, recordings taken as independent)."""

    graph: str
    before: str
    after: str
    agreeing: int
    together: int
    share: float
    low: float | None
    high: float | None


class Induced(msgspec.Struct, frozen=True, kw_only=True):
    """What was induced, from what, and how sure it is."""

    file: str | None
    to: str | None
    written: list[str] | None
    warnings: list[str]
    threshold: float
    min_support: int
    evidence: str
    activities: list[InducedGraph]
    agreement: Agreement | None
    support: list[Edge]
    removed: list[Edge]
    lost: list[Left]


def _left(dropped: Iterable[Dropped]) -> list[Left]:
    return [Left(d.id, d.reason, d.detail) for d in dropped]


# -- lint --------------------------------------------------------------------------------------------------------


def lint_graphs(sources: Iterable[Path], format_: str | None = None) -> Linted:
    """Say what is wrong or odd with every graph of these files and folders, and what its numbers are.

    Raises:
        UserError: if a file cannot be read at all.
    """
    graphs: list[LintedGraph] = []
    warnings: list[str] = []
    for path in (p for source in sources for p in graph_files(source)):
        name, found = load_graph_drafts(path, format_)
        warnings += [f"{path}: {w}" for w in found.warnings]
        warnings += [f"{path}: not read: {d.id} ({d.reason}: {d.detail})" for d in found.dropped]
        for draft in found.objects:
            findings = [Found(f.rule, f.where, f.seen, f.broken) for f in lint_graph(draft)]
            broken = any(f.broken for f in findings)
            shape = None if broken else measure_graph(draft.build())
            graphs.append(LintedGraph(str(path), name, draft.id, draft.name, broken, shape, findings))
    counts = Counter(f.rule for graph in graphs for f in graph.findings)
    return Linted(graphs, dict(counts), sum(graph.broken for graph in graphs), warnings)


# -- convert -----------------------------------------------------------------------------------------------------


def convert_graphs(settings: ConvertSettings) -> Converted:
    """Read task graphs and write them in another format; say what was lost on the way.

    Raises:
        UserError: if anything cannot be read or written, or the formats are unknown.
    """
    source, target = settings.source, settings.target
    format_ = _target_format(target, settings.to)
    read = load_graphs(source, settings.from_)
    graphs = _choose(read.graphs, settings.graph, source)
    lost = _write(graphs, target, format_)
    return Converted(
        file=str(target),
        from_=sorted(set(read.formats)),
        to=format_.name,
        graphs=len(graphs),
        steps=sum(len(g.steps) for g in graphs),
        edges=sum(len(g.edges) for g in graphs),
        lossless=format_.lossless,
        loss=list(format_.loss),
        lost=_left(lost),
        warnings=read.warnings,
        dropped=_left(read.dropped),
    )


def _target_format(target: Path, to: str | None) -> Format:
    if to is not None:
        return graph_format(to)
    if target.suffix.lower() == ".json":  # two formats end so; ours is the one that loses nothing
        return find_format("graph-json")
    return guess_format(target, "graph")


def _write(graphs: Sequence[TaskGraph], target: Path, format_: Format) -> tuple[Dropped, ...]:
    if format_.write is None:
        raise UserError(
            f"the format '{format_.name}' is only read.", hint=f"known: {', '.join(GRAPH_PARSERS)}"
        )
    return format_.write(graphs, target)


# -- draw --------------------------------------------------------------------------------------------------------

_STYLE: Final = (
    'svg.graph text{font:12px "Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;fill:#1b1f24;'
    "unicode-bidi:plaintext}svg.graph .page{fill:#fff}svg.graph .box{fill:#fff;stroke:#57606a}"
    "svg.graph .frame{fill:none;stroke:#d0d7de}svg.graph .edges path{fill:none;stroke:#57606a;stroke-width:1.2}"
    "svg.graph .edges polygon{fill:#57606a}svg.graph .terminal text{fill:#57606a}"
)


def draw_graph_file(settings: DrawSettings) -> Drawn:
    """Draw one task graph as an SVG file that needs nothing else.

    Raises:
        UserError: if there are several graphs and none is chosen, or the graph cannot be drawn.
    """
    from proctor.drawing.layout import Layouts
    from proctor.drawing.sketch import NotDrawnError

    source, target, wanted = settings.source, settings.target, settings.graph
    if target.suffix.lower() != ".svg":
        raise UserError(
            "drawings are SVG files.",
            where=str(target),
            hint="end the name in .svg; for other pictures convert to DOT and use Graphviz",
        )
    graphs = _choose(load_graphs(source, settings.from_).graphs, [wanted] if wanted else [], source)
    if len(graphs) > 1:
        known = ", ".join(g.id for g in graphs[:20]) + (", …" if len(graphs) > 20 else "")
        raise UserError(
            f"there are {len(graphs)} graphs, one is drawn.",
            where=str(source),
            hint=f"--graph with one of: {known}",
        )
    graph = graphs[0]
    try:
        drawn = _standalone(graph, Layouts())
    except NotDrawnError as error:
        raise UserError(
            f"task graph '{graph.name}' is not drawn: {error}.",
            where=str(source),
            hint="proctor graph convert writes DOT or GraphML, which other programs draw",
        ) from None
    with atomic_write(target) as stream:
        stream.write(drawn.encode("utf-8", "replace"))
    return Drawn(str(target), graph.id, len(graph.actions), len(drawn.encode()))


def _standalone(graph: TaskGraph, layouts: Any) -> str:
    from proctor.drawing.svg import draw_layout
    from proctor.drawing.text import escape_xml, show_text

    layout = layouts.find(graph)
    inside = str(draw_layout(layout, graph)).partition(">")[2]
    placed = layout.placement
    width, height = (placed.width, placed.height) if placed is not None else (0.0, 0.0)
    title = escape_xml(f"Task graph: {show_text(graph.name or graph.id)}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title><style>{_STYLE}</style>"
        f'<rect class="page" width="{width:g}" height="{height:g}"/>\n{inside}\n'
    )


# -- induce ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Activity:
    """What was seen of one activity."""

    id: str
    name: str
    performances: list[Performance] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    seen: set[str] = field(default_factory=set)
    numbers: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of steps whose id is a whole number: every text that they have, and a recording that has it."""


def induce_graphs(settings: InduceSettings) -> Induced:
    """Induce the task graph of every activity from its recordings or orders.

    The source is a workspace, a data set's folder, recordings as JSON Lines or in any interchange format, or orders as
    JSON (a list of lists of steps, or an object of such lists by name). What is written into a workspace are graphs of
    activities whose graph is missing, has no edge, or was induced before; steps that no recording with a say performs
    are in it, without edges.

    Raises:
        UserError: if anything cannot be read or written, an option is out of range, the recordings contradict one
            another too much, or ``write`` would replace a graph that came with the data or rest on steps that are
            only numbered.
    """
    source, target, dataset, write = settings.source, settings.target, settings.dataset, settings.write
    from_, reference, terminals = settings.from_, settings.reference, settings.terminals
    if write and (dataset is not None or from_ is not None or not source.is_dir()):
        raise UserError(
            "--write puts graphs into a workspace, and this is none.",
            where=str(source),
            hint="first: proctor read DATASET FOLDER WORKSPACE; then: proctor graph induce WORKSPACE --write",
        )
    format_ = None if target is None else _target_format(target, settings.to)
    found, brought = _observe(source, from_, dataset, settings.without)
    made = _induced_before(Workspace(source)) if dataset is None and source.is_dir() else set()
    known = {
        id_: g for id_, g in brought.items() if g.edges and id_ not in made
    }  # what says something of its own
    if reference is not None:
        known = {g.id: g for g in load_graphs(reference).graphs}
    results = []
    chosen = _chosen(found, settings.activities, source)
    warnings = [sentence for activity in chosen if (sentence := _numbered(activity))]
    if write:
        chosen = _writable(Workspace(source), chosen, named=bool(settings.activities), numbered=warnings)
    for activity in chosen:
        # two single graphs are meant to be compared, whatever they are called
        alone = reference is not None and len(chosen) == len(known) == 1
        theirs = next(iter(known.values())) if alone else _namesake(activity, known)
        if theirs is not None:
            activity.texts = {s.id: s.text for s in theirs.steps} | activity.texts
        induced = _induce(activity, source, settings)
        agreed = None if theirs is None else compare_precedence(theirs, induced.graph)
        results.append((activity, induced, agreed))
    graphs = [_finished(induced.graph, terminals) for _, induced, _ in results]
    lost: tuple[Dropped, ...] = ()
    if target is not None and format_ is not None:
        lost = _write(graphs, target, format_)
    compared = [agreed for _, _, agreed in results if agreed is not None]
    rows = [_row(activity, induced, agreed) for activity, induced, agreed in results]
    edges = [_edge(induced.graph, s) for _, induced, _ in results for s in induced.support]
    if settings.support is not None:
        write_jsonl(settings.support, edges)
    lonely = sum(edge.together == 1 for edge in edges)
    if lonely:
        warnings.append(
            f"{lonely:,} of {len(edges):,} edges rest on a single recording, where every habit looks like a rule; "
            "--min-support 3 leaves such pairs open"
        )
    rules: dict[str, Any] = {
        name: getattr(settings, name) for name in ("threshold", "min_support", "evidence")
    }
    if write:
        whole = [_finished(_with_unseen(i.graph, a, brought.get(a.id)), terminals) for a, i, _ in results]
        _put(Workspace(source), whole, rules | {"without": list(settings.without), "terminals": terminals})
    return Induced(
        file=None if target is None else str(target),
        to=None if format_ is None else format_.name,
        written=[row.id for row in rows] if write else None,
        warnings=warnings,
        **rules,
        activities=rows,
        agreement=_agreement(compared) if compared else None,
        support=edges,
        removed=[_edge(induced.graph, s) for _, induced, _ in results for s in induced.removed],
        lost=_left(lost),
    )


def _observe(
    source: Path, from_: str | None, dataset: str | None, without: Sequence[str]
) -> tuple[dict[str, _Activity], Mapping[str, TaskGraph]]:
    """Return the activities by id, and the graphs that the source itself brings."""
    if dataset is not None:
        from proctor.datasets.dataset import load_dataset

        read = load_dataset(dataset).read(source, "corrected")
        return _of_recordings(read.recordings, without, read.graphs), read.graphs
    if from_ is not None:
        return _of_recordings(_imported(source, from_), without, {}), {}
    if source.is_dir():
        workspace = Workspace(source)
        graphs = workspace.graphs()
        return _of_recordings(load_recordings(workspace, graphs), without, graphs), graphs
    if source.suffix.lower() == ".json":
        if without:
            raise UserError("orders carry no mistakes, so --without finds none.", where=str(source))
        return _of_orders(source), {}
    if source.suffix.lower() == ".jsonl":
        return _of_recordings(read_jsonl(source, Recording), without, {}), {}
    return _of_recordings(
        _imported(source, guess_format(source, "recordings", to_read=True).name), without, {}
    ), {}


def _imported(source: Path, name: str) -> list[Recording]:
    format_ = find_format(name)
    if format_.read is None or format_.kind != "recordings":
        raise UserError(f"the format '{name}' gives no recordings.", hint=_HINT)
    return [cast("Recording", r) for r in format_.read(source).objects]


def _of_recordings(
    recordings: Iterable[Recording], without: Sequence[str], graphs: Mapping[str, TaskGraph]
) -> dict[str, _Activity]:
    activities: dict[str, _Activity] = {}
    for recording in recordings:
        id_ = recording.activity_id
        activity = activities.setdefault(id_, _Activity(id_, recording.activity_name))
        for segment in recording.segments:
            activity.seen.add(segment.step_id)
            activity.texts.setdefault(segment.step_id, segment.text)
            if segment.step_id.isdecimal():
                said = activity.numbers.setdefault(segment.step_id, {})
                said.setdefault(" ".join(segment.text.casefold().split()), recording.id)
        kinds = {m.kind for s in recording.segments for m in s.mistakes}
        if kinds & set(without) or ("any" in without and kinds):
            activity.left_out += 1
            continue
        activity.performances.append(observe_recording(recording))
    for id_, graph in graphs.items():
        if id_ in activities:
            activities[id_].texts |= {s.id: s.text for s in graph.steps}
    return activities


def _of_orders(source: Path) -> dict[str, _Activity]:
    value = parse_json(read_bytes(source), str(source))
    named = dict(enumerate(value, start=1)) if isinstance(value, list) else value
    if not isinstance(named, dict):
        raise UserError("a list of orders was expected.", where=str(source), hint=_HINT)
    activity = _Activity(source.stem, source.stem)
    for name, steps in named.items():
        if not isinstance(steps, list) or not all(isinstance(s, str | int) for s in steps):
            raise UserError(
                f"order {name} is not a list of steps.", where=str(source), hint='like ["boil", "pour"]'
            )
        activity.performances.append(observe_order(str(name), map(str, steps)))
    return {activity.id: activity}


def _chosen(found: Mapping[str, _Activity], wanted: Sequence[str], source: Path) -> list[_Activity]:
    if not found:
        raise UserError("there are no recordings in it.", where=str(source), hint=_HINT)
    chosen = []
    for name in wanted:
        fitting = [a for a in found.values() if name == a.id] or [a for a in found.values() if name == a.name]
        if len(fitting) != 1:
            known = ", ".join(f"{a.id} ({a.name})" for a in list(found.values())[:20])
            raise UserError(f"there is no activity '{name}'.", where=str(source), hint=f"there are: {known}")
        chosen += fitting
    return chosen or list(found.values())


def _induce(activity: _Activity, source: Path, settings: InduceSettings) -> InducedOrder:
    where = f"{source}: activity '{activity.name or activity.id}'"
    try:
        return induce_order(
            activity.performances,
            threshold=settings.threshold,
            min_support=settings.min_support,
            evidence=settings.evidence,
            texts=activity.texts,
            id=activity.id,
            name=activity.name,
        )
    except TangledOrdersError as error:
        raise UserError(
            f"the recordings contradict one another: {error}.",
            where=where,
            hint="raise --threshold or --min-support, or look whether the steps have the right names",
        ) from None
    except ValueError as error:
        hint = f"{activity.left_out} recording(s) were left out by --without" if activity.left_out else None
        raise UserError(f"{error}.", where=where, hint=hint) from None


def _namesake(activity: _Activity, known: Mapping[str, TaskGraph]) -> TaskGraph | None:
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

_STAGE: Final = "graph induce"


def _numbered(activity: _Activity) -> str | None:
    """Say so where step ids are but numbers within each recording: then equal ids mean nothing."""
    several = {id_: said for id_, said in activity.numbers.items() if len(said) > 1}
    if 2 * len(several) <= len(activity.seen):
        return None
    id_, said = next(iter(several.items()))
    (one, first), (other, second) = list(said.items())[:2]
    return (
        f"activity '{activity.name or activity.id}': its steps are only numbered within each recording: '{id_}' is "
        f"'{one[:60]}' in {first} and '{other[:60]}' in {second}, so an order of numbers means nothing"
    )


def _induced_before(workspace: Workspace) -> set[str]:
    """Return the activities whose graph an earlier run wrote; ``read`` takes the file back."""
    record = workspace.stages().get(_STAGE)
    if record is None or "graphs.json" not in record.outputs:
        return set()
    induced = record.settings.get("induced")
    return set(map(str, induced)) if isinstance(induced, list) else set()


def _writable(
    workspace: Workspace, chosen: list[_Activity], *, named: bool, numbered: Sequence[str]
) -> list[_Activity]:
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


def _with_unseen(graph: TaskGraph, activity: _Activity, known: TaskGraph | None) -> TaskGraph:
    """Add, without edges, the steps that are known and that no recording with a say performs."""
    wanted = activity.seen | ({s.id for s in known.actions} if known is not None else set())
    unseen = sorted(wanted - {s.id for s in graph.steps})
    more = tuple(Step(id_, activity.texts.get(id_, id_)) for id_ in unseen)
    return replace(graph, steps=(*graph.steps, *more))


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


def _row(activity: _Activity, induced: InducedOrder, agreed: PrecedenceAgreement | None) -> InducedGraph:
    return InducedGraph(
        id=activity.id,
        name=activity.name,
        recordings=induced.performances,
        left_out=activity.left_out,
        steps=len(induced.graph.steps),
        edges=len(induced.graph.edges),
        pairs=induced.accepted + induced.implied,
        implied=induced.implied,
        removed=len(induced.removed),
        least_together=min((s.together for s in induced.support), default=None),
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


def _edge(graph: TaskGraph, support: PairSupport) -> Edge:
    interval = wilson_interval(support.agreeing, support.together)
    return Edge(
        graph=graph.id,
        before=support.before,
        after=support.after,
        agreeing=support.agreeing,
        together=support.together,
        share=support.share,
        low=interval.low,
        high=interval.high,
    )
