"""``proctor graph``: lint, convert, draw and induce task graphs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from proctor.cli.console import JsonFlag, command_app, emit, table, warn

app = command_app(help="Lint, convert and draw task graphs, and induce them from recordings.")

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="graph-json, captaincook4d-graph, dot, graphml or howto; recognised by the ending by default.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option("--to", metavar="FORMAT", help="Format to write; recognised by the ending by default."),
]
_SHOWN: Final = 3
_WIDTH: Final = 40
_LOST: Final = 5


@app.callback()
def _group() -> None:
    """Lint, convert and draw task graphs, and induce them from recordings."""


@app.command()
def lint(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files or folders of task graphs; a workspace stands for its graphs.json."),
    ],
    format_: FromOption = None,
    rule: Annotated[
        str | None, typer.Option(help="List every finding of this rule, for example implied_edge.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what is wrong or odd with task graphs. Nothing is changed.

    Ends with status 2 when a graph is broken: it has a cycle, names unknown steps or the like.

    Example: proctor graph lint recipes/*.graphml
    """
    from proctor.errors import UserError
    from proctor.procedure.graph_lint import GRAPH_RULES
    from proctor.stages.graphs import lint_graphs

    if rule is not None and rule not in GRAPH_RULES:
        raise UserError(f"there is no rule {rule!r}.", hint=f"known: {', '.join(GRAPH_RULES)}")
    result = lint_graphs(files, format_)
    for warning in result["warnings"]:
        warn(warning)
    text = _rule_text(result, rule) if rule is not None else _lint_text(result)
    emit(result, text, as_json=as_json)
    if result["broken"]:
        raise typer.Exit(2)


def _lint_text(result: dict[str, Any]) -> str:
    from proctor.procedure.graph_lint import GRAPH_RULES

    rows = []
    for graph in result["graphs"]:
        shape = graph["shape"] or {}
        orders = shape.get("orders")
        rows.append(
            (
                graph["name"] or graph["id"],
                shape.get("steps", ""),
                shape.get("edges", ""),
                shape.get("longest", ""),
                "" if graph["broken"] else "many" if orders is None else orders,
                "broken" if graph["broken"] else "ok",
                len(graph["findings"]),
            )
        )
    text = table(rows, ("graph", "steps", "edges", "longest", "orders", "state", "findings"))
    counted = []
    for name, n in result["counts"].items():
        where = [
            f"{graph['name'] or graph['id']}: {finding['where']}"
            for graph in result["graphs"]
            for finding in graph["findings"]
            if finding["rule"] == name
        ]
        more = f" and {n - _SHOWN:,} more" if n > _SHOWN else ""
        counted.append((name, n, GRAPH_RULES[name], "; ".join(where[:_SHOWN]) + more))
    return text + (
        "\n\n" + table(counted, ("rule", "found", "what", "where")) if counted else "\n\nnothing odd"
    )


def _rule_text(result: dict[str, Any], rule: str) -> str:
    rows = [
        (graph["name"] or graph["id"], finding["where"], finding["seen"])
        for graph in result["graphs"]
        for finding in graph["findings"]
        if finding["rule"] == rule
    ]
    return table(rows, ("graph", "where", "seen")) if rows else f"no finding of rule {rule}"


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="File or folder of task graphs.")],
    target: Annotated[Path, typer.Argument(help="File to write.")],
    from_: FromOption = None,
    to: ToOption = None,
    graph: Annotated[
        list[str] | None, typer.Option(help="Only the graph of this id or name; may be repeated.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write task graphs in another format, and say what the format cannot hold.

    Example: proctor graph convert bench tea.graphml --graph Tea
    """
    from proctor.stages.graphs import convert_graphs

    result = convert_graphs(source, target, from_=from_, to=to, wanted=graph or ())
    for warning in result["warnings"]:
        warn(warning)
    counted = f"{result['graphs']:,} graph(s), {result['steps']:,} nodes, {result['edges']:,} edges"
    lines = [f"{result['file']}: {counted} as {result['to']}"]
    for key, words in (("dropped", "not read"), ("lost", "lost")):
        for reason, n in Counter(row["reason"] for row in result[key]).items():
            shown = [f"{row['id']}: {row['detail']}" for row in result[key] if row["reason"] == reason]
            more = f" and {n - _LOST:,} more" if n > _LOST else ""
            lines.append(f"{words}: {reason.replace('_', ' ')} ({n:,}): {'; '.join(shown[:_LOST])}{more}")
    if not result["lost"]:
        lines.append("nothing was lost in writing")
    emit(result, "\n".join(lines), as_json=as_json)


@app.command()
def draw(
    source: Annotated[Path, typer.Argument(help="File or folder of task graphs.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET.svg", help="Drawing to write.")],
    from_: FromOption = None,
    graph: Annotated[
        str | None, typer.Option(help="Id or name of the graph, where there are several.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw a task graph as an SVG file.

    Example: proctor graph draw bench tea.svg --graph Tea
    """
    from proctor.stages.graphs import draw_graph_file

    result = draw_graph_file(source, target, from_=from_, wanted=graph)
    emit(result, f"{result['file']}: '{result['graph']}', {result['steps']:,} steps", as_json=as_json)


@app.command()
def induce(
    source: Annotated[
        Path,
        typer.Argument(
            help="Workspace, recordings (.jsonl or a format of other tools), or orders of steps (.json)."
        ),
    ],
    target: Annotated[
        Path | None, typer.Argument(help="File of the graphs; none is written without.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Interchange format of the recordings.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Data set that SOURCE is a folder of, like captaincook4d.")
    ] = None,
    to: ToOption = None,
    activity: Annotated[
        list[str] | None, typer.Option(help="Only the activity of this id or name; may be repeated.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Share of the recordings with both steps that must agree, above 0.5.")
    ] = 1.0,
    min_support: Annotated[int, typer.Option(min=1, help="How many recordings must have both steps.")] = 1,
    evidence: Annotated[
        str,
        typer.Option(
            help="'starts': a starts before b; 'intervals': a ends before b starts, overlaps say nothing."
        ),
    ] = "starts",
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out recordings with a mistake of this kind, like order; any: with any mistake."
        ),
    ] = None,
    terminals: Annotated[bool, typer.Option("--terminals", help="Add START and END.")] = False,
    reference: Annotated[
        Path | None,
        typer.Option(help="Task graphs to compare with; those of the workspace or data set by default."),
    ] = None,
    support: Annotated[
        Path | None, typer.Option(help="Write the support of every edge to this .jsonl file.")
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Put the graphs into the workspace, where it has none or none with an edge."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find out from recordings which steps must come before which, and how sure that is.

    A step comes before another when it did in all (or --threshold) of the recordings that have both.

    Example: proctor graph induce bench induced.json --without order --support support.jsonl

    Example: proctor graph induce bench --write
    """
    from proctor.stages.graphs import induce_graphs

    result = induce_graphs(
        source,
        target,
        from_=from_,
        dataset=dataset,
        to=to,
        activities=activity or (),
        threshold=threshold,
        min_support=min_support,
        evidence=evidence,
        without=without or (),
        terminals=terminals,
        reference=reference,
        support=support,
        write=write,
    )
    for warning in result["warnings"]:
        warn(warning)
    text = _induced_text(result)
    if write:
        text += f"\n\n{len(result['written']):,} graph(s) are in {source} now\nnext: proctor derive {source}"
    emit(result, text, as_json=as_json)


def _induced_text(result: dict[str, Any]) -> str:
    compared = result["agreement"] is not None
    rows = []
    for row in result["activities"]:
        agreed = row.get("agreement", {})
        cells = [
            _short(row["name"] or row["id"]),
            row["recordings"],
            row["steps"],
            row["edges"],
            row["removed"],
        ]
        cells.append("" if row["least_together"] is None else row["least_together"])
        if compared:
            cells += [_share(agreed.get("precision")), _share(agreed.get("recall"))]
        rows.append(cells)
    header = ["activity", "recordings", "steps", "edges", "removed", "least seen"]
    text = table(rows, [*header, "precision", "recall"] if compared else header)
    if compared:
        all_ = result["agreement"]
        text += (
            f"\n\npairs of all activities: precision {_share(all_['precision'])}, recall {_share(all_['recall'])}, "
            f"{all_['pairs_reversed']:,} reversed"
        )
    weak = sorted(result["support"], key=lambda s: (s["low"], s["graph"]))[:_LOST]
    if weak:
        listed = [
            (
                _short(s["graph"]),
                f"{_short(s['before'])} → {_short(s['after'])}",
                f"{s['agreeing']} of {s['together']}",
                _share(s["low"]),
            )
            for s in weak
        ]
        text += "\n\nthe least certain edges:\n"
        text += table(listed, ("activity", "edge", "recordings", "95 % at least"))
    return text + (f"\n\n{result['file']}: {len(rows):,} graph(s)" if result["file"] else "")


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
