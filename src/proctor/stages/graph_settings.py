"""Options of the commands on task graphs in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.errors import UserError
from proctor.settings import Settings, argument, option

__all__ = [
    "BenchmarkSettings",
    "ConvertSettings",
    "DrawSettings",
    "InduceSettings",
    "LintSettings",
    "Method",
    "OrderMistakesSettings",
]

Method = Literal["likelihood", "counting"]
"""How a graph is inferred: ``procedure/infer``, or ``procedure/induce``."""

_GRAPHS = argument("File or folder of task graphs.")
_FROM = option(
    "graph-json, captaincook4d-graph, dot, graphml or howto; the default is what the ending says.",
    "--from",
    metavar="FORMAT",
)
_TO = option("Format to write; the default is what the ending says.", metavar="FORMAT")


class LintSettings(Settings, frozen=True, kw_only=True):
    """Which graphs are looked at."""

    files: Annotated[
        tuple[Path, ...],
        argument("Files or folders of task graphs; a workspace stands for its graphs.json.", "FILE"),
    ]
    from_: Annotated[str | None, _FROM] = None
    rule: Annotated[str | None, option("List every finding of this rule, for example implied_edge.")] = None


class ConvertSettings(Settings, frozen=True, kw_only=True):
    """Which graphs are written how."""

    source: Annotated[Path, _GRAPHS]
    target: Annotated[Path, argument("File to write.")]
    from_: Annotated[str | None, _FROM] = None
    to: Annotated[str | None, _TO] = None
    graph: Annotated[tuple[str, ...], option("Only the graph of this id or name; may be repeated.")] = ()


class DrawSettings(Settings, frozen=True, kw_only=True):
    """Which graph is drawn."""

    source: Annotated[Path, _GRAPHS]
    target: Annotated[Path, argument("Drawing to write.", metavar="TARGET.svg")]
    from_: Annotated[str | None, _FROM] = None
    graph: Annotated[str | None, option("Id or name of the graph, where there are several.")] = None


class InduceSettings(Settings, frozen=True, kw_only=True):
    """What graphs are induced from, when a step must come before another, and what people decided about that."""

    source: Annotated[
        Path,
        argument(
            "Workspace, recordings (.jsonl or a format of other tools), or orders of steps (.json), with the texts of the "
            "steps where they are known."
        ),
    ]
    target: Annotated[Path | None, argument("File of the graphs; none is written without.")] = None
    from_: Annotated[
        str | None, option("Interchange format of the recordings.", "--from", metavar="FORMAT")
    ] = None
    dataset: Annotated[
        str | None, option("Data set that SOURCE is a folder of, like captaincook4d.", metavar="DATASET")
    ] = None
    to: Annotated[str | None, _TO] = None
    activities: Annotated[
        tuple[str, ...], option("Only the activity of this id or name; may be repeated.", "--activity")
    ] = ()
    method: Annotated[
        Method | None,
        option(
            "likelihood: the graph that best explains the performances and the texts of the steps, each edge with a "
            "probability; counting: pairs that enough recordings agree on. likelihood by default, counting where "
            "--threshold, --min-support or --evidence is given."
        ),
    ] = None
    threshold: Annotated[
        float | None,
        option("Counting: share of the recordings with both steps that must agree, above 0.5; 1 by default."),
    ] = None
    min_support: Annotated[
        int | None, option("Counting: how many recordings must have both steps; 1 by default.", ge=1)
    ] = None
    evidence: Annotated[
        Literal["starts", "intervals"] | None,
        option(
            "Counting: 'starts' (the default): a starts before b; 'intervals': a ends before b starts, overlaps say nothing."
        ),
    ] = None
    without: Annotated[
        tuple[str, ...],
        option("Leave out recordings with a mistake of this kind, like order; any: with any mistake."),
    ] = ()
    terminals: Annotated[bool, option("Add START and END.")] = False
    reference: Annotated[
        Path | None,
        option("Task graphs to compare with; those of the workspace or data set by default."),
    ] = None
    support: Annotated[Path | None, option("Write the support of every edge to this .jsonl file.")] = None
    review: Annotated[
        Path | None,
        option(
            "Write every edge and every doubtful pair to this .csv or .jsonl file, most doubtful first, for people to "
            "accept or refuse.",
        ),
    ] = None
    reviewed: Annotated[
        Path | None, option("Read such a file back: refused edges go, accepted pairs come in.")
    ] = None
    write: Annotated[
        bool, option("Put the graphs into the workspace, where it has none or none with an edge.")
    ] = False


def _count_or_all(text: str) -> int | None:
    """Read the value of ``--performances``."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"--performances is '{text[:60]}'.", hint="a whole number from 1 on, or all")
    return int(text)


_ANNOTATIONS = option(
    "Annotations with task graphs: CaptainCook4D's, or a plain folder (docs/datasets/plain.md).",
    metavar="DIR",
)


_STEPS = option(
    "What orders the steps of a recording: when they begin, or the list in the annotations, which seems to be what people were "
    "asked to do."
)


class BenchmarkSettings(Settings, frozen=True, kw_only=True):
    """How inferred task graphs are held against the released ones."""

    annotations: Annotated[Path, _ANNOTATIONS]
    method: Annotated[
        Method,
        option(
            "What is measured: likelihood learns its weights on all other activities, counting learns nothing."
        ),
    ] = "likelihood"
    performances: Annotated[
        int | None,
        option(
            "Infer from this many performances of each activity, drawn by --seed; all of them by default.",
            metavar="N|all",
            parse=_count_or_all,
        ),
    ] = None
    steps: Annotated[Literal["times", "list"], _STEPS] = "times"
    seed: Annotated[int, option("Of draws and intervals.", ge=0)] = 0
    draws: Annotated[int, option("Draws for each point of the few-shot curve; 0 leaves it out.", ge=0)] = 5
    synthetic: Annotated[
        int, option("Random graphs for each size whose recovery is measured; 0 leaves them out.", ge=0)
    ] = 0
    resamples: Annotated[int, option("Of the bootstrap over activities; 0 leaves intervals out.", ge=0)] = (
        10_000
    )
    markdown: Annotated[
        Path | None,
        option(
            "Write the tables to this page; between the marks of docs/graphs.md, where it has them.",
            metavar="FILE",
        ),
    ] = None
    out: Annotated[
        Path | None,
        option("Write a page and the reliability diagram as SVG into this folder.", metavar="FOLDER"),
    ] = None


class OrderMistakesSettings(Settings, frozen=True, kw_only=True):
    """How mistakes of order are found while somebody works, and what they are held against."""

    annotations: Annotated[Path, _ANNOTATIONS]
    steps: Annotated[Literal["times", "list"], _STEPS] = "times"
    seed: Annotated[int, option("Of intervals.", ge=0)] = 0
    resamples: Annotated[int, option("Of the bootstrap over recordings; 0 leaves intervals out.", ge=0)] = (
        1_000
    )
