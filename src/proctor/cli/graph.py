"""``proctor graph``: lint, convert, draw and induce task graphs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import typer

from proctor.cli.console import emit, group_app, table, warn
from proctor.cli.options import Output, with_settings
from proctor.stages.graph_settings import ConvertSettings, DrawSettings, InduceSettings, LintSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proctor.stages.graph_induce import Edge, Induced
    from proctor.stages.graphs import Linted

app = group_app("Lint, convert and draw task graphs, and induce them from recordings.")

_SHOWN: Final = 3
_WIDTH: Final = 40
_LOST: Final = 5
_PAIRS: Final = 20


@app.command()
@with_settings
def lint(settings: LintSettings, output: Output) -> None:
    """Say what is wrong or odd with task graphs. Nothing is changed.

    Ends with status 2 when a graph is broken: it has a cycle, names unknown steps or the like.

    Example: proctor graph lint recipes/*.graphml
    """
    from proctor.errors import UserError
    from proctor.procedure.graph_lint import GRAPH_RULES
    from proctor.stages.graphs import lint_graphs

    rule = settings.rule
    if rule is not None and rule not in GRAPH_RULES:
        raise UserError(f"there is no rule {rule!r}.", hint=f"known: {', '.join(GRAPH_RULES)}")
    result = lint_graphs(settings.files, settings.from_)
    for warning in result.warnings:
        warn(warning)
    text = _rule_text(result, rule) if rule is not None else _lint_text(result)
    emit(result, text, as_json=output.as_json)
    if result.broken:
        raise typer.Exit(2)


def _lint_text(result: Linted) -> str:
    from proctor.procedure.graph_lint import GRAPH_RULES

    rows = []
    for graph in result.graphs:
        shape = graph.shape
        orders = "" if shape is None else "many" if shape.orders is None else shape.orders
        rows.append(
            (
                graph.name or graph.id,
                *(("", "", "") if shape is None else (shape.steps, shape.edges, shape.longest)),
                orders,
                "broken" if graph.broken else "ok",
                len(graph.findings),
            )
        )
    text = table(rows, ("graph", "steps", "edges", "longest", "orders", "state", "findings"))
    counted = []
    for name, n in result.counts.items():
        where = [
            f"{graph.name or graph.id}: {finding.where}"
            for graph in result.graphs
            for finding in graph.findings
            if finding.rule == name
        ]
        more = f" and {n - _SHOWN:,} more" if n > _SHOWN else ""
        counted.append((name, n, GRAPH_RULES[name], "; ".join(where[:_SHOWN]) + more))
    return text + (
        "\n\n" + table(counted, ("rule", "found", "what", "where")) if counted else "\n\nnothing odd"
    )


def _rule_text(result: Linted, rule: str) -> str:
    rows = [
        (graph.name or graph.id, finding.where, finding.seen)
        for graph in result.graphs
        for finding in graph.findings
        if finding.rule == rule
    ]
    return table(rows, ("graph", "where", "seen")) if rows else f"no finding of rule {rule}"


@app.command()
@with_settings
def convert(settings: ConvertSettings, output: Output) -> None:
    """Write task graphs in another format, and say what the format cannot hold.

    Example: proctor graph convert bench tea.graphml --graph Tea
    """
    from proctor.stages.graphs import convert_graphs

    result = convert_graphs(settings)
    for warning in result.warnings:
        warn(warning)
    counted = f"{result.graphs:,} graph(s), {result.steps:,} nodes, {result.edges:,} edges"
    lines = [f"{result.file}: {counted} as {result.to}"]
    for gone, words in ((result.dropped, "not read"), (result.lost, "lost")):
        for reason, n in Counter(row.reason for row in gone).items():
            shown = [f"{row.id}: {row.detail}" for row in gone if row.reason == reason]
            more = f" and {n - _LOST:,} more" if n > _LOST else ""
            lines.append(f"{words}: {reason.replace('_', ' ')} ({n:,}): {'; '.join(shown[:_LOST])}{more}")
    if not result.lost:
        lines.append("nothing was lost in writing")
    emit(result, "\n".join(lines), as_json=output.as_json)


@app.command()
@with_settings
def draw(settings: DrawSettings, output: Output) -> None:
    """Draw a task graph as an SVG file.

    Example: proctor graph draw bench tea.svg --graph Tea
    """
    from proctor.stages.graphs import draw_graph_file

    result = draw_graph_file(settings)
    emit(result, f"{result.file}: '{result.graph}', {result.steps:,} steps", as_json=output.as_json)


@app.command()
@with_settings
def induce(settings: InduceSettings, output: Output) -> None:
    """Find out from recordings which steps must come before which, and how sure that is.

    A step comes before another when it did in all (or --threshold) of the recordings that have both. People have the last
    word: --review writes every edge and every doubtful pair to a table, --reviewed puts into the graphs what they decided.

    Example: proctor graph induce bench induced.json --without order --support support.jsonl

    Example: proctor graph induce tea.json --review review.csv

    Example: proctor graph induce tea.json final.json --reviewed review.csv

    Example: proctor graph induce bench --write
    """
    from proctor.stages.graph_induce import induce_graphs

    result = induce_graphs(settings)
    for warning in result.warnings:
        warn(warning)
    text = _induced_text(result)
    if result.review is not None:
        text += (
            f"\n\n{result.review}: {len(result.edges):,} edges and {len(result.open):,} open pairs to decide on"
            f"\nnext: write accept or refuse into the column decision; then the same command with --reviewed {result.review}"
        )
    if settings.write:
        text += f"\n\n{len(result.written or ()):,} graph(s) are in {settings.source} now\nnext: proctor derive {settings.source}"
    emit(result, text, as_json=output.as_json)


def _induced_text(result: Induced) -> str:
    compared = result.agreement
    rows: list[list[object]] = []
    for row in result.activities:
        cells: list[object] = [_short(row.name or row.id), row.recordings, row.steps, row.edges, row.removed]
        cells.append("" if row.least_together is None else row.least_together)
        if compared:
            agreed = row.agreement or None
            cells += [_share(agreed and agreed.precision), _share(agreed and agreed.recall)]
        rows.append(cells)
    header = ["activity", "recordings", "steps", "edges", "removed", "least seen"]
    text = table(rows, [*header, "precision", "recall"] if compared else header)
    if compared:
        text += (
            f"\n\npairs of all activities: precision {_share(compared.precision)}, recall {_share(compared.recall)}, "
            f"{compared.pairs_reversed:,} reversed"
        )
    if result.decisions:
        counts = Counter(d.decision for d in result.decisions)
        text += f"\n\ndecided by people: {counts['accept']:,} accepted, {counts['refuse']:,} refused"
    text += _pairs_text("edges, the most doubtful first", result.edges)
    text += _pairs_text("open: not taken, the most doubtful first", result.open)
    return text + (f"\n\n{result.file}: {len(rows):,} graph(s)" if result.file else "")


def _pairs_text(title: str, edges: Sequence[Edge]) -> str:
    if not edges:
        return ""
    likely = any(edge.probability is not None for edge in edges)
    listed = [
        (
            _short(e.graph),
            f"{_short(e.before)} → {_short(e.after)}",
            *((_share(e.probability),) if likely else ()),
            f"{e.agreeing} of {e.together}",
            e.contradicting or "",
            _share(e.low),
            e.decision or "",
        )
        for e in edges[:_PAIRS]
    ]
    columns = (
        "activity",
        "edge",
        *(("probability",) if likely else ()),
        "recordings",
        "against",
        "95 % at least",
        "decided",
    )
    more = f"\nand {len(edges) - _PAIRS:,} more; --json and --review list all" if len(edges) > _PAIRS else ""
    return f"\n\n{title}:\n{table(listed, columns)}{more}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
