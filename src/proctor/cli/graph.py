"""``proctor graph``: lint, convert, draw and induce task graphs, and measure how well they are induced."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import typer

from proctor.cli.console import counted, emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.stages.graph_settings import (
    BenchmarkSettings,
    ConvertSettings,
    DrawSettings,
    InduceSettings,
    LintSettings,
    OrderMistakesSettings,
)
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proctor.learn.evaluate import Figure
    from proctor.stages.graph_benchmark import Benchmark
    from proctor.stages.graph_induce import Edge, Induced
    from proctor.stages.graph_online import Judged, OrderMistakes
    from proctor.stages.graphs import Linted

app = group_app(
    "Check, convert and draw task graphs, infer them from recordings, and measure how well that works (docs/graphs.md).\n\n"
    "Example: proctor graph lint bench\n\nExample: proctor graph induce performances.json --json"
)

_SHOWN: Final = 3
_WIDTH: Final = 40
_LOST: Final = 5
_PAIRS: Final = 20


@app.command()
@with_settings
def lint(settings: LintSettings, output: Output) -> None:
    """List what is wrong or odd in task graphs. Nothing is changed.

    Ends with status 2 when a graph is broken: it has a cycle, names unknown steps or the like.

    Example: proctor graph lint recipes/*.graphml
    """
    from proctor.errors import UserError, did_you_mean
    from proctor.procedure.graph_lint import GRAPH_RULES
    from proctor.stages.graphs import lint_graphs

    rule = settings.rule
    if rule is not None and rule not in GRAPH_RULES:
        raise UserError(f"there is no rule {rule!r}.", hint=did_you_mean(rule, GRAPH_RULES))
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
    """Write task graphs in another format, and list what the format cannot hold.

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
    """Infer from recordings which steps must come before which, with probabilities.

    By likelihood the graph that best explains the recordings and the texts of the steps, each edge with a probability; by
    counting (--method counting, --threshold) pairs that all recordings agree on. People have the last word: --review writes
    every edge and every doubtful pair to a table, --reviewed puts into the graphs what they decided.

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
    text += f"\n\nby {result.method}" + _pairs_text("edges, the most doubtful first", result.edges)
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


@app.command()
@with_settings
def benchmark(settings: BenchmarkSettings, output: Output) -> None:
    """Measure how well task graphs are inferred from recordings: edges against released graphs, beside published figures.

    What is learned for an activity is learned on all other activities. Printed are the table, the curve of few performances,
    and whether probabilities are as high as what comes true.

    Example: proctor graph benchmark --annotations ~/data/captaincook4d --json

    Example: proctor graph benchmark --annotations ~/data/captaincook4d --synthetic 5 --markdown docs/graphs.md --out benchmark
    """
    from proctor.stages.graph_benchmark import benchmark_graphs, parts_of
    from proctor.stages.graph_benchmark_page import write_benchmark_markdown, write_benchmark_page

    with progress("inferring", parts_of(settings), quiet=output.as_json) as seen:
        result, reliability = benchmark_graphs(settings, seen)
    written = []
    if settings.markdown is not None:
        write_benchmark_markdown(settings.markdown, result)
        written.append(settings.markdown)
    if settings.out is not None:
        written += write_benchmark_page(settings.out, result, reliability)
    emit(result, "\n\n".join([_benchmark_text(result), *map(str, written)]), as_json=output.as_json)


def _benchmark_text(result: Benchmark) -> str:
    from proctor.stages.graph_benchmark_page import benchmark_grids, sentences_of

    parts = [f"{title}\n\n{table(rows, head)}" for title, head, rows in benchmark_grids(result)]
    return "\n\n".join([*parts, *sentences_of(result), f"left out: {counted(result.dropped)}"])


@app.command("order-mistakes")
@with_settings
def order_mistakes(settings: OrderMistakesSettings, output: Output) -> None:
    """Find mistakes of order step by step: is the current step's prerequisite done? By released and by inferred graphs.

    Judgements are compared with the tags of annotators and with the released graph's own. Where those two differ is counted
    as well: it is noise that no inference can get below.

    Example: proctor graph order-mistakes --annotations ~/data/captaincook4d --json
    """
    from proctor.stages.graph_online import judge_orders

    result = judge_orders(settings)
    emit(result, _orders_text(result), as_json=output.as_json)


def _orders_text(result: OrderMistakes) -> str:
    rows = [("tags", name, *_judged(judged)) for name, judged in result.against_tags.items()]
    rows += [("released graph", name, *_judged(judged)) for name, judged in result.against_released.items()]
    head = ("against", "graph", "called", "precision", "recall", "F1", "F1 of 'correct'", "mean F1")
    noise = [(name.replace("_", " "), getattr(result.noise, name)) for name in result.noise.__struct_fields__]
    gaps = [
        f"F1 of the released graph minus that of {name}: {_interval(gap.f1)}; {_percent(gap.explained)} of what {name} lacks "
        "against the tags the released graph lacks as well"
        for name, gap in result.gap.items()
    ]
    return "\n\n".join(
        [
            f"{result.steps:,} steps of {result.recordings:,} recordings, {result.tagged:,} tagged as a mistake of order",
            table(rows, head),
            table(noise, ("released graph and tags", "steps")),
            *gaps,
            f"held out: {result.held_out}; left out: {counted(result.dropped)}",
        ]
    )


def _judged(judged: Judged) -> tuple[object, ...]:
    figures = (judged.precision, judged.recall, judged.f1, judged.correct_f1)
    return judged.called, *map(_interval, figures), _percent(judged.mean_f1)


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return _percent(figure.value)
    return f"{_percent(figure.value)} ({_percent(figure.low)} to {_percent(figure.high)})"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
