"""Task graphs in files: lint, convert, draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.datasets.interchange.format import Format, find_format, guess_format
from proctor.datasets.interchange.graph_file import build_graph
from proctor.datasets.interchange.graphs import GRAPH_PARSERS, graph_format, load_graph_drafts
from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_lint import GraphShape, lint_graph, measure_graph
from proctor.records import Dropped, atomic_write
from proctor.stages.graph_settings import ConvertSettings, DrawSettings

__all__ = [
    "Left",
    "convert_graphs",
    "draw_graph_file",
    "graph_files",
    "left",
    "lint_graphs",
    "load_graphs",
    "target_format",
    "write_graphs",
]

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
            hint = did_you_mean(name, (g.id for g in graphs))
            raise UserError(f"{seen} called '{name}'.", where=str(source), hint=hint)
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


def left(dropped: Iterable[Dropped]) -> list[Left]:
    """Return what was dropped, as results list it."""
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
            findings = [Found(f.rule, str(f.where), str(f.seen), f.broken) for f in lint_graph(draft)]
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
    format_ = target_format(target, settings.to)
    read = load_graphs(source, settings.from_)
    graphs = _choose(read.graphs, settings.graph, source)
    lost = write_graphs(graphs, target, format_)
    return Converted(
        file=str(target),
        from_=sorted(set(read.formats)),
        to=format_.name,
        graphs=len(graphs),
        steps=sum(len(g.steps) for g in graphs),
        edges=sum(len(g.edges) for g in graphs),
        lossless=format_.lossless,
        loss=list(format_.loss),
        lost=left(lost),
        warnings=read.warnings,
        dropped=left(read.dropped),
    )


def target_format(target: Path, to: str | None) -> Format:
    """Return the format to write: the named one, or what the ending says.

    Raises:
        UserError: if there is none.
    """
    if to is not None:
        return graph_format(to)
    if target.suffix.lower() == ".json":  # two formats end so; ours is the one that loses nothing
        return find_format("graph-json")
    return guess_format(target, "graph")


def write_graphs(graphs: Sequence[TaskGraph], target: Path, format_: Format) -> tuple[Dropped, ...]:
    """Write graphs to a file and return what the format cannot hold.

    Raises:
        UserError: if the format is only read, or the file cannot be written.
    """
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
