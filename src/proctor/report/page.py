"""One self-contained HTML page from report data: no other file, no request, no time stamp of its own.

The page's only scripts are this package's, allowed by their hash in its content security policy; all data comes in
as text or as JSON that no browser executes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from proctor.drawing.svg import draw_layout, error_pill, late_pill
from proctor.exam.kinds.moment_question import moment_example
from proctor.metrics.significance import Comparison
from proctor.procedure.graph import TaskGraph
from proctor.records import atomic_write
from proctor.report import charts
from proctor.report.data import ROLES, ReportData, ReportOptions
from proctor.report.document import asset, content_policy, new_environment
from proctor.report.drawing import Drawing, draw_graphs, draw_in_page, find_engine, show_step
from proctor.report.examples import describe_examples, pick_frames, show_clock
from proctor.report.experiment import describe_experiment
from proctor.report.failures import describe_failures
from proctor.report.figures.tradeoff import money
from proctor.report.judging import describe_judging, judge_names
from proctor.report.naming import name_runs
from proctor.report.plaintext import clip_line, clip_text, json_island
from proctor.report.standings import OUTCOMES, Standings, compute_standings
from proctor.report.states import STATE_WORDS, derive_step_states, list_steps, mark_states
from proctor.report.statistics import PUBLISHED_PROMQA, DatasetStatistics, compute_statistics
from proctor.report.summary import ALPHA, Link, Name, decided, summarize
from proctor.report.tables import show_interval, show_value
from proctor.report.views import describe_views

__all__ = ["render_report", "write_report"]

WIDE_DRAWING = 820
"""Pixels; a wider drawing stands above its list instead of beside it."""
MISTAKE = "mistake"
"""What this page calls a mistake, in drawings too."""


def write_report(path: Path, data: ReportData, options: ReportOptions | None = None) -> Path:
    """Write the report as one HTML file, whole or not at all, and return its path.

    Raises:
        UserError: if the folder cannot be written; else see ``render_report``.
    """
    page = render_report(data, options=options)
    with atomic_write(path) as stream:
        stream.write(page.encode("utf-8", "replace"))
    return path


def render_report(data: ReportData, *, options: ReportOptions | None = None) -> str:
    """Return the report as one HTML page; equal data and options give equal text.

    Raises:
        UserError: if two runs have the same name, a run does not belong to these items, or a verdict does not fit
            its candidate.
    """
    options = options or ReportOptions()
    standings = compute_standings(data, options)
    statistics = compute_statistics(
        data.items, graphs=data.graphs, candidates=data.candidates, verdicts=data.verdicts
    )
    drawings = _draw(data.graphs, options)
    frames = pick_frames(data, options)
    needs_viz = any(drawing.dot for drawing in drawings.values())
    judging = describe_judging(data)
    experiment = describe_experiment(standings)
    runs = name_runs([row.run for row in standings.rows])
    style = (
        asset("base.css")
        + (asset("figures.css") if judging or experiment.usage else "")
        + asset("report.css")
    )
    script = asset("report.js")
    viz = asset("viz/viz-global.js") if needs_viz else ""
    template = _environment().get_template("report.html.j2")
    return template.render(
        data=data,
        options=options,
        clip=lambda text: clip_text(str(text), options.max_text),
        policy=content_policy(style, [script, *([viz] if viz else [])], wasm=bool(viz)),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        viz=Markup(viz),  # noqa: S704 - our own file
        title=data.title or data.about.name or "Benchmark",
        names={**judge_names(judging), **runs},
        paragraphs=summarize(statistics, standings),
        few_recordings=_few_recordings(standings),
        standings=standings,
        statistics=statistics,
        experiment=experiment,
        failures=describe_failures(data, standings),
        questions={item.id: item.question.text for item in data.items},
        views=describe_views(standings, experiment, runs),
        judging=judging,
        comparisons=_pairs(standings),
        matrix=_matrix(standings),
        floor=_best_floor(standings),
        differences_span=_difference_span(standings),
        figures=_key_figures(statistics),
        published=PUBLISHED_PROMQA if statistics.published else None,
        graphs=_graph_views(data, drawings),
        sources=_dot_sources(data, drawings),
        specimens=_specimens(data, drawings),
        frames=frames,
        islands={n: Markup(json_island(v)) for n, v in frames.islands.items()},  # noqa: S704 - escaped JSON
        island=Markup(json_island(_with_pills(describe_examples(data, standings, options)))),  # noqa: S704 - escaped JSON
    )


# -- parts of the page -------------------------------------------------------------------------------------------


@cache
def _environment() -> Environment:
    environment = new_environment()
    environment.globals.update(
        charts=charts,
        clock=show_clock,
        outcomes=OUTCOMES,
        roles=ROLES,
        state_words=STATE_WORDS,
        decided=decided,
    )
    environment.globals["alpha"] = ALPHA
    environment.tests["name"] = lambda part: isinstance(part, Name)
    environment.tests["link"] = lambda part: isinstance(part, Link)
    environment.filters.update(
        value=show_value, interval=show_interval, p=_show_p, signed=_signed, money=money
    )
    return environment


def _draw(graphs: Mapping[str, TaskGraph], options: ReportOptions) -> Mapping[str, Drawing]:
    if options.drawing == "none":
        return dict.fromkeys(graphs, Drawing())
    engine = find_engine() if options.drawing in ("auto", "dot") else None
    if options.drawing == "dot" and (engine is None or engine.name != "dot"):
        return dict.fromkeys(graphs, Drawing(note="Not drawn: the Graphviz program 'dot' was not found."))
    return draw_graphs(graphs, engine) if engine is not None else draw_in_page(graphs.items())


def _graph_views(data: ReportData, drawings: Mapping[str, Drawing]) -> list[dict[str, Any]]:
    moments = [moment_example(item.question) for item in data.items]
    asked = Counter((moment.activity_id, moment.current.step_id) for moment in moments if moment.current)
    items = Counter(moment.activity_id for moment in moments)
    views = []
    for number, (key, graph) in enumerate(data.graphs.items()):
        listed = list_steps(graph)
        position = {step.id: n for n, step in enumerate(listed, start=1)}
        steps = [
            {
                "id": step.id,
                "text": show_step(step),
                "after": sorted(position[i] for i in graph.predecessors(step.id) if i in position),
                "asked": asked[key, step.id],
            }
            for step in listed
        ]
        views.append(
            {
                "number": number,
                "name": graph.name or key,
                "items": items[key],
                "steps": steps,
                "edges": len(graph.edges),
                "wide": drawings[key].width > WIDE_DRAWING,
                "svg": Markup(drawings[key].svg),  # noqa: S704 - written by us from escaped text
                "in_page": bool(drawings[key].dot),
                "note": drawings[key].note,
            }
        )
    return views


def _dot_sources(data: ReportData, drawings: Mapping[str, Drawing]) -> Markup:
    sources = [drawings[key].dot for key in data.graphs]
    return Markup(json_island(sources) if any(sources) else "")  # noqa: S704 - escaped JSON


def _with_pills(island: dict[str, Any]) -> dict[str, Any]:
    """Add the marks of steps with mistakes and out of order, measured, for the page to put on its drawings."""
    most = max((s[2] for item in island["items"] for s in item.get("X", {}).values()), default=0)
    errors = [error_pill(n, MISTAKE) for n in range(1, most + 1)]
    return {**island, "pills": {"errors": errors, "late": late_pill()}}


def _specimens(data: ReportData, drawings: Mapping[str, Drawing]) -> list[dict[str, Any]]:
    """One example of each type, for readers without scripts: the first one with a graph, else the first."""
    chosen: dict[str, Any] = {}
    for item in data.items:
        example = moment_example(item.question)
        known = example.activity_id in data.graphs
        if example.type not in chosen or (known and not chosen[example.type]["states"]):
            graph = data.graphs.get(example.activity_id)
            states = derive_step_states(example, graph) if graph is not None else ()
            steps = [(show_step(graph[s.step_id]), s.words) for s in states] if graph is not None else []
            layout = drawings[example.activity_id].layout if graph is not None else None
            svg = ""
            if graph is not None and layout is not None and layout.placement is not None:
                name = f"Task graph: {clip_line(graph.name or graph.id, 200)}"
                svg = draw_layout(layout, graph, mark_states(states), label=name, noun=MISTAKE)
            chosen[example.type] = {"item": item, "example": example, "states": steps, "svg": svg}
    return [chosen[key] for key in sorted(chosen)]


def _key_figures(s: DatasetStatistics) -> list[tuple[str, str, str]]:
    """Key, label and value of the figures that the published benchmark also gives."""
    agreed = s.verification.answers.raw.value if s.verification else None
    question, answer = s.all.question_words, s.all.answer_words
    approval = s.all.approval
    steps = s.steps_per_activity
    clip = s.clip_seconds
    return [
        ("items", "Questions", f"{s.all.items:,}"),
        ("distinct_questions", "different question texts", f"{s.distinct_questions:,}"),
        ("activities", "Activities", f"{len(s.activities):,}"),
        ("recordings", "Recordings", f"{s.recordings:,}"),
        (
            "steps_per_activity_weighted",
            "Steps per activity, weighted by question",
            show_value(s.steps_per_activity_weighted.mean),
        ),
        (
            "steps_per_activity",
            "Steps per activity, each counted once",
            _range(steps.mean, steps.low, steps.high),
        ),
        ("clip_seconds", "Length of what may be seen, mean", _minutes(clip.mean)),
        ("clip_range", "shortest to longest", f"{_minutes(clip.low)} to {_minutes(clip.high)}"),
        ("steps_so_far", "Steps performed up to the moment, mean", show_value(s.steps_so_far.mean)),
        (
            "answers_per_question",
            "Accepted answers per question, mean",
            show_value(s.answers_per_question, 2),
        ),
        ("question_tokens", "Words per question, punctuation counted", show_value(question.tokens)),
        ("question_words", "split at white space", show_value(question.split)),
        ("answer_tokens", "Words per answer, punctuation counted", show_value(answer.tokens)),
        ("answer_words", "split at white space", show_value(answer.split)),
        ("clean", "Clean moments: no earlier mistake", f"{s.all.clean:,}"),
        ("noisy", "Noisy moments: after a mistake", f"{s.all.noisy:,}"),
        ("approved", "Questions kept of those verified", _kept(approval.kept, approval.candidates)),
        (
            "answer_agreement",
            "Agreement of two people on an answer",
            show_value(agreed, 2),
        ),
    ]


def _range(mean: float | None, low: float | None, high: float | None) -> str:
    if mean is None or low is None or high is None:
        return "–"
    return f"{mean:.1f} ({low:g} to {high:g})"


def _minutes(seconds: float | None) -> str:
    if seconds is None or seconds != seconds:
        return "–"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s"


def _kept(kept: int, offered: int | None) -> str:
    return f"{kept:,} of {offered:,} ({kept / offered:.2f})" if offered else "–"


# -- comparisons -------------------------------------------------------------------------------------------------


def _pairs(standings: Standings) -> list[Comparison]:
    """Comparisons turned so that the first named run is the better one."""
    return [_turn(c) if (c.difference or 0) > 0 else _flip(c) for c in standings.comparisons]


def _flip(c: Comparison) -> Comparison:
    """Read ``b - a`` as it is stored the other way round: the record then says ``a - b``."""
    return replace(
        c,
        difference=None if c.difference is None else -c.difference,
        low=None if c.high is None else -c.high,
        high=None if c.low is None else -c.low,
        wins=c.losses,
        losses=c.wins,
    )


def _turn(c: Comparison) -> Comparison:
    return replace(c, a=c.b, b=c.a, mean_a=c.mean_b, mean_b=c.mean_a)


def _matrix(standings: Standings) -> list[list[dict[str, Any] | None]]:
    """For every row and column the difference row minus column, and who is ahead as a word and a sign."""
    names = [row.run.name for row in standings.rows]
    found = {(c.a, c.b): c for c in standings.comparisons}
    matrix: list[list[dict[str, Any] | None]] = []
    for a in names:
        line: list[dict[str, Any] | None] = []
        for b in names:
            pair = found.get((b, a)) or (_flip(found[a, b]) if (a, b) in found else None)
            line.append(None if pair is None or pair.difference is None else _cell(pair))
        matrix.append(line)
    return matrix


def _cell(pair: Comparison) -> dict[str, Any]:
    difference = pair.difference or 0.0
    if not decided(pair):
        return {"difference": difference, "p": pair.p_holm, "word": "tie", "sign": "≈"}
    better = difference > 0
    return {
        "difference": difference,
        "p": pair.p_holm,
        "word": "better" if better else "worse",
        "sign": "▲" if better else "▼",
    }


def _best_floor(standings: Standings) -> float | None:
    values = [r.score.value for r in standings.rows if r.run.role == "floor" and r.scored]
    return max(values, default=None)


def _few_recordings(standings: Standings) -> bool:
    keys = {s.key for s in standings.slices if s.group in ("noise", "type")}
    return any(s.note and s.n for row in standings.rows for key, s in row.scores.items() if key in keys)


def _difference_span(standings: Standings) -> float:
    ends = [abs(v) for c in standings.comparisons for v in (c.low, c.high, c.difference) if v is not None]
    return max([10.0, *ends])


def _show_p(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _signed(value: float | None, digits: int = 1) -> str:
    if value is None or value != value:
        return "–"
    return ("+" if round(value, digits) > 0 else "") + show_value(value, digits)
