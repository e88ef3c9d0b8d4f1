"""A page of a data set's statistics: tables and charts in one file that works offline and runs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Template
from markupsafe import Markup

from proctor.datasets.statistics import RecordingStatistics, Spread
from proctor.metrics.figure import Bars, Figure, IntervalPlot, Matrix
from proctor.records import atomic_write
from proctor.report.figures import draw_figure
from proctor.report.page import asset, content_policy, new_environment
from proctor.report.plaintext import clip_line
from proctor.stages.datasets_stats import (
    BESIDE_HEADS,
    GROUP_HEADS,
    LENGTH_HEADS,
    DatasetStatistics,
    beside_rows,
    bin_labels,
    change_rows,
    facts,
    group_rows,
    histograms,
    length_rows,
    mistake_kinds,
    mistake_rows,
    paper_cell,
    pivot,
    reasons_of,
    show_number,
    show_orders,
    spreads,
)

__all__ = [
    "figures_of",
    "group_figures",
    "mistake_figures",
    "render_statistics_page",
    "write_statistics_page",
]

_MAX_TEXT: Final = 300
_OPEN: Final = 60
"""So many lines of a table are shown at once; the others unfold."""

_TEMPLATE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Proctor">
<title>{{ s.title|line }}: statistics</title>
<style>{{ style }}</style>
</head>
<body>
{% macro table(heads, rows, label) %}
<div class="scroll" role="region" aria-label="{{ label }}" tabindex="0">
<table class="scores">
  <thead><tr>{% for head in heads %}<th scope="col"{% if not loop.first %} class="num"{% endif %}>{% if head %}<bdi>{{ head|line }}</bdi>{% else %}<span class="sr">name</span>{% endif %}</th>{% endfor %}</tr></thead>
  <tbody>
  {% for row in rows %}
  <tr>{% for cell in row %}{% if loop.first %}<th scope="row"><bdi>{{ cell|line }}</bdi></th>{% else %}<td class="num"><bdi>{{ cell|line if cell else "" }}</bdi></td>{% endif %}{% endfor %}</tr>
  {% endfor %}
  </tbody>
</table>
</div>
{% endmacro %}
{% macro drawings(pictures, name) %}
  {% for title, drawn in pictures %}
  <figure class="picture" aria-labelledby="h-{{ name }}-{{ loop.index }}">
    <figcaption><h3 id="h-{{ name }}-{{ loop.index }}"><bdi>{{ title|line }}</bdi></h3></figcaption>
    {{ drawn }}
  </figure>
  {% endfor %}
{% endmacro %}
{% macro folded(heads, rows, label) %}
{{ table(heads, rows[:open_lines], label) }}
{% if rows|length > open_lines %}<details><summary>The other {{ "{:,}".format(rows|length - open_lines) }}</summary>{{ table(heads, rows[open_lines:], label) }}</details>{% endif %}
{% endmacro %}
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
  <div class="top-inner">
    <p class="brand"><bdi>{{ s.title|line }}</bdi></p>
    <nav aria-label="Sections"><ul>{% for id, title in sections %}<li><a href="#{{ id }}">{{ title }}</a></li>{% endfor %}</ul></nav>
  </div>
</header>
<main id="main">
<section id="numbers" aria-labelledby="title">
  <h1 id="title"><bdi>{{ s.title|line }}</bdi></h1>
  <p class="note"><bdi>{{ s.version|line }}</bdi>, {{ s.kind }}, read as {{ s.corrections }}.</p>
  <dl class="facts">{% for name, value in facts %}<div><dt><bdi>{{ name|line }}</bdi></dt><dd>{{ value|line }}</dd></div>{% endfor %}</dl>
  {% for reason, n in s.dropped.items() %}<p class="note">Left out while reading: {{ "{:,}".format(n) }} ({{ reason|line }}).</p>{% endfor %}
</section>
{% if s.corrections_made %}
<section id="corrections" aria-labelledby="h-corrections">
  <h2 id="h-corrections">What the corrections change</h2>
  {% if changes %}{{ table(["", "in the files", "as read"], changes, "What the corrections change") }}{% endif %}
  <details><summary>{{ "{:,}".format(s.corrections_made.values()|sum) }} corrections, and why</summary><ul>{% for reason, n in s.corrections_made.items() %}<li>{{ "{:,}".format(n) }}: <bdi>{{ reason|line }}</bdi></li>{% endfor %}</ul></details>
</section>
{% endif %}
{% if single or labelled %}
<section id="paper" aria-labelledby="h-paper">
  <h2 id="h-paper">Paper and found</h2>
  <p class="note">What the paper prints beside what the files give, measured on the files as they are. Where the two differ, the reason is said as far as it is known.</p>
  {% if single %}
  <div class="scroll" role="region" aria-label="Paper and found" tabindex="0">
  <table class="scores">
    <thead><tr><th scope="col"><span class="sr">quantity</span></th><th scope="col" class="num">paper</th><th scope="col" class="num">found</th><th scope="col">where, and why they differ</th></tr></thead>
    <tbody>
    {% for c in single %}
    <tr><th scope="row">{{ c.quantity|words|line }}</th><td class="num">{{ c.paper|number(c.digits) }}</td><td class="num{{ "" if c.same else " warn" }}">{{ c.found|number(c.digits) }}{% if not c.same %}<span class="sr"> (differs)</span>{% endif %}</td><td>{{ c.where|line }}{% if c.why %}<span class="source soft">{{ c.why|line }}</span>{% endif %}</td></tr>
    {% endfor %}
    </tbody>
  </table>
  </div>
  {% endif %}
  {% if labelled %}
  <h3>One by one</h3>
  <p class="note">Two numbers with an arrow: paper → found.</p>
  {{ folded(columns, labelled, "Paper and found, one by one") }}
  {% for reason in reasons %}<p class="note">{{ reason|line }}</p>{% endfor %}
  {% endif %}
</section>
{% endif %}
{% if further %}
<section id="further" aria-labelledby="h-further">
  <h2 id="h-further">Further figures</h2>
  <details><summary>{{ further|length }} figures of the data set's own rules</summary>{{ table(["", "found"], further, "Further figures") }}</details>
</section>
{% endif %}
<section id="spread" aria-labelledby="h-spread">
  <h2 id="h-spread">How it is spread</h2>
  {{ table(["", "n", "mean", "s.d.", "least", "25 %", "median", "75 %", "most"], spreads, "Distributions") }}
  {{ drawings(pictures, "spread") }}
</section>
{% if lengths %}
<section id="mistakes" aria-labelledby="h-mistakes">
  <h2 id="h-mistakes">Mistakes</h2>
  <h3>Length without and with mistakes</h3>
  {{ folded(length_heads, lengths, "Length without and with mistakes") }}
  {{ drawings(mistakes, "mistake") }}
</section>
{% endif %}
{% if groups %}
<section id="groups" aria-labelledby="h-groups">
  <h2 id="h-groups">People, places and parts</h2>
  {% for attribute, rows in groups.items() %}
  <h3><bdi>{{ attribute|line }}</bdi></h3>
  {{ folded(group_heads, rows, attribute|line) }}
  {% endfor %}
  {{ drawings(shares, "group") }}
</section>
{% endif %}
{% if activities %}
<section id="activities" aria-labelledby="h-activities">
  <h2 id="h-activities">Activities</h2>
  {{ folded(["", "recordings", "with mistakes", "hours", "steps", "mean step (s)"], activities, "Activities") }}
</section>
{% endif %}
{% if graphs %}
<section id="graphs" aria-labelledby="h-graphs">
  <h2 id="h-graphs">Task graphs</h2>
  <p class="note">Width: the most steps of which none has to wait for another. Depth: steps of the longest chain. Orders: in how many orders the steps can be done.</p>
  {{ folded(["", "steps", "edges", "width", "depth", "orders"], graphs, "Task graphs") }}
</section>
{% endif %}
{% if beside %}
<section id="beside" aria-labelledby="h-beside">
  <h2 id="h-beside">Steps, data set by data set</h2>
  {{ table(beside_heads, beside, "Steps, data set by data set") }}
</section>
{% endif %}
</main>
<footer><p>Written by Proctor. This page runs no script and asks for no other file.</p></footer>
</body>
</html>
"""


def write_statistics_page(
    path: Path, statistics: DatasetStatistics, others: Sequence[DatasetStatistics] = ()
) -> Path:
    """Write the page, whole or not at all, and return its path.

    Args:
        path: of the HTML file.
        statistics: of the data set.
        others: data sets whose steps are set beside.

    Raises:
        UserError: if the folder cannot be written.
    """
    page = render_statistics_page(statistics, others)
    with atomic_write(path) as stream:
        stream.write(page.encode("utf-8", "replace"))
    return path


def render_statistics_page(s: DatasetStatistics, others: Sequence[DatasetStatistics] = ()) -> str:
    """Return the page as HTML; equal statistics give equal text."""
    style = asset("base.css") + asset("figures.css") + asset("scores.css")
    columns, labelled = pivot(s.paper)
    single = [c for c in s.paper if "[" not in c.quantity]
    named = {c.quantity for c in s.paper}
    further = [
        (_words(k), show_number(v, 0 if v is None or v == int(v) else 3))
        for k, v in s.found.items()
        if k not in named and k.partition("[")[0] not in columns
    ]
    r = s.recordings
    lengths = length_rows(r) if r else []
    groups = group_rows(r) if r else {}
    activities = list(_activities(s))
    graphs = [
        (g.name, str(g.steps), str(g.edges), str(g.width), str(g.depth), show_orders(g)) for g in s.graphs
    ]
    shown = [
        ("numbers", "Numbers", True),
        ("corrections", "Corrections", bool(s.corrections_made)),
        ("paper", "Paper and found", bool(s.paper)),
        ("spread", "Spread", True),
        ("mistakes", "Mistakes", bool(lengths)),
        ("groups", "People and places", bool(groups)),
        ("activities", "Activities", bool(activities)),
        ("graphs", "Task graphs", bool(graphs)),
        ("beside", "Other data sets", bool(others)),
    ]
    return _template().render(
        s=s,
        facts=facts(s),
        sections=[(id_, title) for id_, title, there in shown if there],
        single=single,
        columns=["", *map(_words, columns)],
        labelled=[(label, *map(paper_cell, cells)) for label, cells in labelled],
        reasons=[reason.strip() for reason in reasons_of(s.paper)],
        further=further,
        spreads=[
            (name, f"{v.n:,}", *map(show_number, (v.mean, v.sd, v.least, v.q25, v.median, v.q75, v.most)))
            for name, v in spreads(s)
        ],
        pictures=_drawn(figures_of(s)),
        mistakes=_drawn(mistake_figures(r) if r else ()),
        lengths=lengths,
        length_heads=LENGTH_HEADS,
        groups=groups,
        group_heads=GROUP_HEADS,
        shares=_drawn(group_figures(r) if r else ()),
        changes=change_rows(s),
        beside=beside_rows([s, *others]) if others else [],
        beside_heads=BESIDE_HEADS,
        activities=activities,
        graphs=graphs,
        open_lines=_OPEN,
        policy=content_policy(style),
        style=Markup(style),  # noqa: S704 - our own file
    )


def _drawn(figures: Sequence[Figure]) -> list[tuple[str, Markup]]:
    return [(figure.title, draw_figure(figure)) for figure in figures]


def mistake_figures(r: RecordingStatistics) -> tuple[Figure, ...]:
    """Return the charts of mistakes: by kind and activity, and lengths of videos and steps without and with them."""
    counted = mistake_rows(r)
    if not counted:
        return ()
    kinds = mistake_kinds(r)
    columns = (*kinds, *(["other kinds"] if len(r.mistakes) > len(kinds) else []))
    matrix = Matrix(
        "Mistakes by activity (rows) and kind, shaded by the share of the row",
        tuple(name for name, _ in counted),
        columns,
        tuple(own for _, own in counted),
        row_title="activity",
        column_title="kind of mistake",
    )
    shown = r.activities[:_OPEN]  # the table above has all
    videos = [(a.name or a.id, a.normal_videos, a.mistaken_videos) for a in shown]
    steps = [(a.name or a.id, a.normal_steps, a.mistaken_steps) for a in shown]
    return (
        matrix,
        _lengths("Length of a video in minutes: median and middle half", videos, 60),
        _lengths("Length of a step in seconds: median and middle half", steps, 1),
    )


def _lengths(title: str, rows: Sequence[tuple[str, Spread | None, Spread | None]], unit: int) -> IntervalPlot:
    lines = [
        (label, part)
        for name, normal, mistaken in rows
        for label, part in ((name, normal), (f"{name}, with mistakes", mistaken))
        if part is not None
    ]
    return IntervalPlot(
        title,
        tuple(name for name, _ in lines),
        tuple(part.median / unit for _, part in lines),
        tuple(part.q25 / unit for _, part in lines),
        tuple(part.q75 / unit for _, part in lines),
        scale=(0.0, max((part.q75 / unit for _, part in lines), default=1.0) or 1.0),
    )


def group_figures(r: RecordingStatistics) -> tuple[Bars, ...]:
    """Return a chart for each attribute: the share of steps with mistakes by person, by place, by part."""
    figures = []
    for attribute in dict.fromkeys(g.attribute for g in r.groups if r.mistakes):
        groups = [g for g in r.groups if g.attribute == attribute]
        shares = tuple(100 * g.mistaken_steps / g.steps if g.steps else None for g in groups)
        high = max((share for share in shares if share is not None), default=0.0)
        values, steps = tuple(g.value for g in groups), tuple(g.steps for g in groups)
        figures.append(Bars(f"Steps with mistakes by {attribute}", values, shares, steps, high or 1.0, "%"))
    return tuple(figures)


def figures_of(s: DatasetStatistics) -> tuple[Bars, ...]:
    """Return the charts as data: distributions, mistakes by kind, activities by their mean step."""
    figures = [_shares(h.title, bin_labels(h), h.counts) for h in histograms(s)]
    if (r := s.recordings) and r.mistakes:
        kinds, counts = [m.kind for m in r.mistakes], [m.mistakes for m in r.mistakes]
        figures.append(_shares("Mistakes by kind", kinds, counts))
    if (r := s.recordings) and len(r.activities) > 1:
        means = tuple(a.mean_step_seconds for a in r.activities)
        high = max((m for m in means if m is not None), default=1.0)
        names = tuple(a.name or a.id for a in r.activities)
        steps = tuple(a.timed_steps for a in r.activities)
        figures.append(Bars("Mean length of a step by activity", names, means, steps, high or 1.0, "s"))
    return tuple(figures)


def _shares(title: str, labels: Sequence[str], counts: Sequence[int]) -> Bars:
    """Return a chart of shares of all; how many they are stands beside them."""
    total = sum(counts)
    shares = tuple(100 * n / total for n in counts)
    return Bars(title, tuple(labels), shares, tuple(counts), max(shares), "%")


def _activities(s: DatasetStatistics) -> Iterator[Sequence[str]]:
    for a in s.recordings.activities if s.recordings else ():
        yield (
            a.name or a.id,
            f"{a.recordings:,}",
            f"{a.with_mistakes:,}",
            show_number(a.hours),
            f"{a.steps:,}",
            show_number(a.mean_step_seconds, 1),
        )


def _words(key: str) -> str:
    return key.replace("_", " ")


@cache
def _template() -> Template:
    environment = new_environment()
    environment.filters.update(
        line=lambda text: clip_line(str(text), _MAX_TEXT), number=show_number, words=_words
    )
    return environment.from_string(_TEMPLATE)
