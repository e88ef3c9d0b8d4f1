"""What the formats of task graphs share: limits, reading to drafts, drafts to task graphs, writing whole files.

A format's module has a function ``parse_*(data, where, stem)`` from bytes to drafts, which the linter uses too, and a
function ``render_*(graphs)`` to bytes. Importers and exporters of the registry are made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from proctor.datasets.interchange.format import Imported
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, GraphError, TaskGraph
from proctor.records import Dropped, atomic_write, read_bytes

__all__ = [
    "MAX_EDGES",
    "MAX_FILE_BYTES",
    "MAX_STEPS",
    "ParseGraphs",
    "RenderGraphs",
    "build_graph",
    "exporter",
    "guess_terminals",
    "importer",
    "load_drafts",
    "node_names",
    "one_graph",
    "optional_lost",
    "too_many",
]

MAX_FILE_BYTES: Final = 24 * 2**20
MAX_STEPS: Final = 10_000
"""Steps of all graphs of one file; what a graph says about pairs takes memory by the square of its steps."""
MAX_EDGES: Final = 250_000
"""Edges of all graphs of one file."""

ParseGraphs = Callable[[bytes, str, str], Imported[GraphDraft]]
"""Bytes, where they are from, and the file's name without ending to drafts."""
RenderGraphs = Callable[[Sequence[TaskGraph]], tuple[bytes, tuple[Dropped, ...]]]
"""Graphs to bytes and what these cannot say."""


def load_drafts(path: Path, parse: ParseGraphs) -> Imported[GraphDraft]:
    """Read a file.

    Raises:
        UserError: if it is missing, no file, too large, not in the format, or has no graph.
    """
    data = _bounded(path)
    found = parse(data, str(path), path.name.split(".")[0] or path.name)
    if not found.objects:
        raise UserError("there is no graph in it.", where=str(path), hint="is it the right file and format?")
    too_many(sum(len(d.steps) for d in found.objects), sum(len(d.edges) for d in found.objects), str(path))
    return found


def _bounded(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_dir():
            if not path.is_file():
                raise UserError("this is a device or a pipe, a file was expected.", where=str(path))
            size = path.stat().st_size
            if size > MAX_FILE_BYTES:
                raise UserError(
                    f"the file has {size >> 20:,} MB; at most {MAX_FILE_BYTES >> 20} are read.",
                    where=str(path),
                    hint="is it a task graph?",
                )
    except (OSError, ValueError):
        pass  # read_bytes says what is wrong
    return read_bytes(path)


def too_many(steps: int, edges: int, where: str) -> None:
    """Make sure that a file has no more steps and edges than are read.

    Raises:
        UserError: naming the limit.
    """
    for n, most, what in ((steps, MAX_STEPS, "steps"), (edges, MAX_EDGES, "edges")):
        if n > most:
            raise UserError(
                f"it has {n:,} {what} or more; files with up to {most:,} are read.",
                where=where,
                hint="cut the graph into parts",
            )


def importer(parse: ParseGraphs) -> Callable[[Path], Imported[object]]:
    """Return the function of the registry that reads task graphs."""

    def read(path: Path) -> Imported[object]:
        found = load_drafts(path, parse)
        return Imported(tuple(build_graph(d, path) for d in found.objects), found.warnings, found.dropped)

    return read


def build_graph(draft: GraphDraft, path: Path) -> TaskGraph:
    """Return the task graph of a draft.

    Raises:
        UserError: naming the file and the first problems, if it is none.
    """
    try:
        return draft.build()
    except GraphError as error:
        shown = "; ".join(error.problems[:5])
        more = f"; and {len(error.problems) - 5} more" if len(error.problems) > 5 else ""
        raise UserError(
            f"task graph '{draft.name or draft.id}': {shown}{more}.",
            where=str(path),
            hint=f"correct the file; everything is listed by: proctor graph lint {path}",
        ) from None


def exporter(render: RenderGraphs) -> Callable[[Sequence[TaskGraph], Path], tuple[Dropped, ...]]:
    """Return the function of the registry that writes task graphs."""

    def write(graphs: Sequence[TaskGraph], path: Path) -> tuple[Dropped, ...]:
        if not graphs:
            raise UserError("there is no graph to write.", where=str(path))
        try:
            data, lost = render(graphs)
        except UnicodeEncodeError as error:
            raise UserError(
                f"a text has half of a character ({error.object[error.start]!a}), which no file can hold.",
                where=str(path),
                hint="correct the text",
            ) from None
        with atomic_write(path) as stream:
            stream.write(data)
        return lost

    return write


def one_graph(graphs: Sequence[TaskGraph], title: str) -> TaskGraph:
    """Return the only graph.

    Raises:
        UserError: if there are more, since the format has room for one.
    """
    if len(graphs) > 1:
        raise UserError(
            f"{title} holds one graph, there are {len(graphs)}.",
            hint=f"choose one of: {', '.join(g.id for g in graphs[:20])}",
        )
    return graphs[0]


def node_names(graph: TaskGraph, fits: Callable[[str], object]) -> dict[str, str]:
    """Return the name of each node in a file: its id where that fits, else a new one (``n0``)."""
    names = {s.id: s.id for s in graph.steps if fits(s.id)}
    fresh = (f"n{n}" for n in count() if f"n{n}" not in names)
    return {s.id: names[s.id] if s.id in names else next(fresh) for s in graph.steps}


def optional_lost(graph: TaskGraph) -> list[Dropped]:
    """Return what is lost of a graph in a format that cannot say that a step may be left out."""
    return [
        Dropped(f"{graph.id}/{s.id}"[:120], "optional", "reads back as a step that has to be done")
        for s in graph.steps
        if s.optional
    ]


def guess_terminals(draft: GraphDraft) -> tuple[GraphDraft, tuple[str, ...]]:
    """Take the only steps with the texts START and END, where no edge speaks against it, for start and end."""
    start = [s.id for s in draft.steps if s.text == "START"]
    end = [s.id for s in draft.steps if s.text == "END"]
    sources, targets = {a for a, _ in draft.edges}, {b for _, b in draft.edges}
    first = start[0] if len(start) == 1 and start[0] in sources - targets else None
    last = end[0] if len(end) == 1 and end[0] in targets - sources else None
    words = [
        f"'{node}' as the {role}" for node, role in ((first, "start"), (last, "end")) if node is not None
    ]
    if not words:
        return draft, ()
    made = GraphDraft(draft.id, draft.name, draft.steps, draft.edges, first, last)
    return made, (f"graph '{draft.id}': took {' and '.join(words)}, because of the text.",)
