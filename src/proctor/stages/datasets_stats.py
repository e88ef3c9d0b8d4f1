"""Statistics of a data set: the paper's figures beside what is found, and the common numbers of any data set.

``dataset_statistics`` reads record by record and keeps numbers only. The result is a value: ``statistics_dict`` for
programs, ``render_statistics`` for people, ``datasets_stats_page.write_statistics_page`` for a page with charts.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from proctor.compute import HERE, Place
from proctor.datasets.dataset import Corrections, Dataset, Log, corrections_mode, load_dataset
from proctor.datasets.statistics import (
    Comparison,
    GraphRow,
    Histogram,
    RecordingStatistics,
    RecordingTally,
    Spread,
    TextStatistics,
    compare_published,
    graph_rows,
    spread_of,
    text_statistics,
)
from proctor.errors import UserError
from proctor.procedure.recording import mistake_kind
from proctor.records import Json
from proctor.report.plaintext import clip_line

__all__ = [
    "BESIDE_HEADS",
    "GROUP_HEADS",
    "LENGTH_HEADS",
    "Beside",
    "Change",
    "DatasetStatistics",
    "SourceStatistics",
    "beside_rows",
    "bin_labels",
    "change_rows",
    "common_figures",
    "dataset_statistics",
    "facts",
    "group_rows",
    "histograms",
    "length_rows",
    "mistake_kinds",
    "mistake_rows",
    "paper_cell",
    "pivot",
    "reasons_of",
    "render_beside",
    "render_statistics",
    "show_number",
    "show_orders",
    "spreads",
    "statistics_dict",
]

_AS_THEY_ARE: Final = " (in the files as they are, without corrections)"
_BAR: Final = 32
"""Characters of the longest bar."""
_EXACT: Final = 2**53
_HUGE: Final = 10**308
_ROWS: Final = 60
"""Activities that the text lists."""
_NAME: Final = 40
"""Characters of a label in a table."""
_KINDS: Final = 12
"""Kinds of mistakes that have a column of their own; the others share one."""
LENGTH_HEADS: Final = (
    "",
    "videos",
    "hours",
    "mean (min)",
    "with mistakes",
    "hours",
    "mean (min)",
    "steps",
    "mean (s)",
    "with mistakes",
    "mean (s)",
)
"""Heads of ``length_rows``."""
GROUP_HEADS: Final = ("", "recordings", "with mistakes", "activities", "hours", "steps", "with mistakes")
"""Heads of ``group_rows``."""
BESIDE_HEADS: Final = (
    "",
    "recordings",
    "hours",
    "activities",
    "mean video (min)",
    "steps with times",
    "a recording",
    "mean step (s)",
    "median step (s)",
    "time in steps",
    "steps with mistakes",
)
"""Heads of ``beside_rows``."""


class SourceStatistics(msgspec.Struct, frozen=True):
    """The numbers of a corpus: sources by modality, and words of their text (titles and cells included)."""

    sources: int
    modalities: dict[str, int]
    documents: int
    words_of_a_source: Spread | None


class _Measured(NamedTuple):
    """What belongs to the kind of a data set."""

    recordings: RecordingStatistics | None = None
    texts: TextStatistics | None = None
    sources: SourceStatistics | None = None


class Change(msgspec.Struct, frozen=True):
    """A number that the corrections changed: as the files have it, and as it was read."""

    quantity: str
    files: float
    read: float


class DatasetStatistics(msgspec.Struct, frozen=True):
    """Everything that was measured.

    Attributes:
        dataset: name of the data set.
        title: its full name.
        version: of the annotations.
        kind: what it holds.
        corrections: mode in which it was read.
        paper: figures of the paper beside what is found.
        found: all figures that the data set's own rules measure, by key; None where undefined.
        recordings: of a data set of recordings.
        graphs: shapes of its task graphs.
        texts: of manuals.
        sources: of a corpus.
        dropped: what was left out, by reason.
        findings: oddities told while reading, by rule.
        corrections_made: how many, by their reason; a data set may need some in mode ``published``, too.
        changes: the numbers that they changed.
    """

    dataset: str
    title: str
    version: str
    kind: str
    corrections: str
    paper: tuple[Comparison, ...] = ()
    found: dict[str, float | None] = {}
    recordings: RecordingStatistics | None = None
    graphs: tuple[GraphRow, ...] = ()
    texts: TextStatistics | None = None
    sources: SourceStatistics | None = None
    dropped: dict[str, int] = {}
    findings: dict[str, int] = {}
    corrections_made: dict[str, int] = {}
    changes: tuple[Change, ...] = ()


class Beside(DatasetStatistics, frozen=True, kw_only=True):
    """The same, with the statistics of other data sets beside it."""

    beside: tuple[DatasetStatistics, ...]


def dataset_statistics(
    dataset: str,
    folder: Path,
    *,
    corrections: str | None = None,
    options: Mapping[str, str] | None = None,
    place: Place = HERE,
) -> DatasetStatistics:
    """Measure a data set.

    Args:
        dataset: its name.
        folder: where it is.
        corrections: mode, ``corrected`` by default. The figures of the paper are measured on the files as they are.
        options: of the reader.
        place: where it is read; what is measured is the same everywhere.

    Raises:
        UserError: if there is no such data set, the folder cannot be read, or nothing in it can.
    """
    mode = corrections_mode(corrections)
    declared = load_dataset(dataset)
    declared.check_options(options or {})
    measured, graphs, log = _measured(declared, folder, mode, options or {}, place)
    found = _found(declared, folder, measured)
    recordings = measured.recordings
    made = Counter(c.reason or c.rule for c in log.corrections)
    return msgspec.structs.replace(
        DatasetStatistics(
            declared.name,
            declared.title,
            declared.version,
            declared.kind,
            mode,
            recordings=recordings,
            texts=measured.texts,
            sources=measured.sources,
        ),
        paper=compare_published(declared.published, {k: v for k, v in found.items() if v is not None}),
        found=found,
        graphs=graphs,
        dropped=dict(log.reasons.most_common()),
        findings=dict(Counter(f.rule for f in log.findings).most_common()),
        corrections_made=dict(made.most_common()),
        changes=_changes(declared, folder, found, recordings, options or {}, place)
        if made and recordings
        else (),
    )


def _measured(
    declared: Dataset, folder: Path, mode: Corrections, options: Mapping[str, str], place: Place
) -> tuple[_Measured, tuple[GraphRow, ...], Log]:
    """Read the data set in a mode; return its statistics by field, the shapes of its graphs, and what was told."""
    if declared.iterate is not None:
        log = Log(sink=lambda _: None)
        return _of_kind(declared, declared.iter_records(folder, mode, log, **options)), (), log
    result = declared.read_in(place, folder, mode, **options)
    log = Log()
    log.findings.extend(result.findings)
    log.corrections.extend(result.corrections)
    for dropped in result.dropped:
        log.drop(dropped.id, dropped.reason)
    records: Iterable[Any] = result.recordings or result.manuals or result.sources
    return _of_kind(declared, records), graph_rows(result.graphs.values()), log


def _changes(
    declared: Dataset,
    folder: Path,
    found: Mapping[str, float | None],
    r: RecordingStatistics,
    options: Mapping[str, str],
    place: Place,
) -> tuple[Change, ...]:
    """Compare what was read with the files as they are: the data set's own measure, else mode ``published``."""
    if declared.measure is None:
        raw = _measured(declared, folder, "published", options, place)[0].recordings
        found = common_figures(raw) if raw is not None else {}
    read = common_figures(r)
    return tuple(
        Change(key, before, read[name])
        for key, before in found.items()
        if (name := _as_read(key)) in read
        and before is not None
        and not math.isclose(before, read[name], rel_tol=1e-9)
    )


def _as_read(key: str) -> str:
    """Return the name of a figure with the kind that a data set's own word for a mistake was read as."""
    quantity, bracket, label = key.partition("[")
    return f"{quantity}[{mistake_kind(label[:-1])}]" if bracket and quantity == "mistakes" else key


def _of_kind(declared: Dataset, records: Iterable[Any]) -> _Measured:
    """Return the part of the statistics that belongs to the kind of the data set."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None:
        raise UserError(
            f"no record of {declared.title} could be read.",
            hint="see 'proctor datasets check' for the reasons",
        )
    records = chain([first], iterator)
    match declared.kind:
        case "recordings":
            tally = RecordingTally()
            for recording in records:
                tally.add(recording)
            return _Measured(recordings=tally.statistics())
        case "manuals":
            from proctor.metrics.text_statistics import tokenize

            return _Measured(texts=text_statistics(_tasks(records), tokenize))
        case "corpus":
            return _Measured(sources=_of_sources(records))


def _tasks(manuals: Iterable[Any]) -> Iterator[list[str]]:
    """Yield the texts of the steps of every section, headlines left out (Wu et al. 2022)."""
    for manual in manuals:
        for section in manual.sections:
            yield [" ".join(filter(None, (step.text, *step.bullets))) for step in section.steps]


def _of_sources(sources: Iterable[Any]) -> SourceStatistics:
    from proctor.corpus.source import render_source

    modalities: Counter[str] = Counter()
    documents: set[int] = set()
    words = array("d")
    for source in sources:
        modalities[source.modality] += 1
        documents.add(hash(source.doc_id or source.id))
        words.append(len(render_source(source).split()))
    return SourceStatistics(modalities.total(), dict(modalities), len(documents), spread_of(words))


def _found(declared: Dataset, folder: Path, measured: _Measured) -> dict[str, float | None]:
    """Return the figures by the keys of ``published``: the data set's own measure, else the common statistics."""
    if declared.measure is not None:
        figures: Mapping[str, float] = declared.measure(folder)
    else:
        figures = common_figures(measured.recordings) if measured.recordings is not None else {}
    return {key: value if math.isfinite(value) else None for key, value in figures.items()}


def common_figures(s: RecordingStatistics) -> dict[str, float]:
    """Return the common statistics of recordings by the keys that ``Published`` uses."""
    steps, videos = s.step_seconds, s.video_seconds
    nothing = math.nan
    return {
        "recordings": s.recordings,
        "hours": s.hours,
        "activities": len(s.activities),
        "steps": s.steps,
        "timed_steps": s.timed_steps,
        "segments": s.timed_steps,
        "steps_per_recording": s.timed_steps / s.recordings if s.recordings else nothing,
        "mean_step_seconds": steps.mean if steps else nothing,
        "median_step_seconds": steps.median if steps else nothing,
        "mean_video_seconds": videos.mean if videos else nothing,
        "mean_video_minutes": videos.mean / 60 if videos else nothing,
        "longest_video_minutes": videos.most / 60 if videos else nothing,
        "annotated_share": s.coverage.annotated_share if s.coverage else nothing,
        "error_recordings": s.with_mistakes,
        "normal_recordings": s.recordings - s.with_mistakes,
        "error_hours": s.hours_with_mistakes,
        "normal_hours": s.hours - s.hours_with_mistakes,
        "mistaken_steps": s.mistaken_steps,
        "mistakes": sum(m.mistakes for m in s.mistakes),
        **{f"mistakes[{m.kind}]": m.mistakes for m in s.mistakes},
        **{f"recordings[{a.name or a.id}]": a.recordings for a in s.activities},
    }


def statistics_dict(statistics: DatasetStatistics) -> dict[str, Json]:
    """Return the statistics as plain values that JSON knows; whole numbers beyond 2^53 (orders) become floats."""
    plain: dict[str, Json] = _plain(msgspec.to_builtins(statistics, str_keys=True))
    return plain


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case int() if abs(value) > _EXACT:
            return float(value) if abs(value) < _HUGE else sys.float_info.max
        case _:
            return value


# -- for people --------------------------------------------------------------------------------------------------


def show_number(value: float | None, digits: int = 2) -> str:
    """Return a number as people read it: thousands apart, a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == int(value) and digits == 0:
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def facts(s: DatasetStatistics) -> list[tuple[str, str]]:
    """Return the numbers that are said first: name and text."""
    rows: list[tuple[str, str]] = []
    if r := s.recordings:
        hours = f" ({show_number(r.hours_with_mistakes)} h)" if r.hours_with_mistakes else ""
        rows += [
            ("recordings", f"{r.recordings:,}"),
            ("hours", show_number(r.hours)),
            ("activities", f"{len(r.activities):,}"),
            ("steps", f"{r.steps:,} ({r.timed_steps:,} with times)"),
            ("recordings with mistakes", f"{r.with_mistakes:,}{hours}"),
            ("steps with mistakes", f"{r.mistaken_steps:,}"),
        ]
        if r.coverage:
            rows.append(("time in steps", f"{r.coverage.annotated_share:.1%}"))
            rows.append(("time in several steps", f"{r.coverage.overlapping_share:.1%}"))
        if r.without_duration:
            rows.append(("recordings of unknown length", f"{r.without_duration:,}"))
        rows += [(f"values of {name}", f"{n:,}") for name, n in r.attributes.items() if n < r.recordings]
    if t := s.texts:
        rows += [
            ("tasks", f"{t.tasks:,}"),
            ("steps", f"{t.steps:,}"),
            ("different tokens", f"{t.types:,}"),
            ("tokens", f"{t.tokens:,}"),
            ("type-token ratio", show_number(t.type_token_ratio, 4)),
        ]
    if c := s.sources:
        rows += [("sources", f"{c.sources:,}"), ("documents", f"{c.documents:,}")]
        rows += [(f"of them {name}", f"{n:,}") for name, n in c.modalities.items()]
    return rows


def spreads(s: DatasetStatistics) -> list[tuple[str, Spread]]:
    """Return the distributions in numbers, with their names."""
    named: list[tuple[str, Spread | None]] = []
    if r := s.recordings:
        named += [
            ("step length (s)", r.step_seconds),
            ("video length (s)", r.video_seconds),
            ("performed steps of a recording", r.steps_of_a_recording),
        ]
    if t := s.texts:
        named += [
            ("tokens of a step", t.tokens_of_a_step),
            ("sentences of a step", t.sentences_of_a_step),
            ("steps of a task", t.steps_of_a_task),
        ]
    if s.sources:
        named.append(("words of a source", s.sources.words_of_a_source))
    return [(name, spread) for name, spread in named if spread is not None]


def histograms(s: DatasetStatistics) -> tuple[Histogram, ...]:
    """Return the distributions as counts in bins, without empty bins at the ends."""
    part = s.recordings or s.texts
    return tuple(_trimmed(h) for h in part.histograms if any(h.counts)) if part else ()


def _trimmed(h: Histogram) -> Histogram:
    filled = [n for n, count in enumerate(h.counts) if count]
    first, last = filled[0], filled[-1]
    if last == len(h.counts) - 1:
        return Histogram(h.title, h.unit, h.edges[first:], h.counts[first:])
    return Histogram(h.title, h.unit, h.edges[first : last + 2], h.counts[first : last + 1])


def bin_labels(histogram: Histogram) -> list[str]:
    """Name the bins: ``10 to 20 s``; whole numbers of things by themselves where a bin holds one.

    With as many edges as counts the last bin has no end.
    """
    labels = []
    ends = (*histogram.edges[1:], None)[: len(histogram.counts)]
    for low, high in zip(histogram.edges[: len(histogram.counts)], ends, strict=True):
        if high is None:
            labels.append(f"{low:g} {histogram.unit} and more")
        elif histogram.unit != "s" and high - low == 1:
            labels.append(f"{low:g} {histogram.unit}")
        elif histogram.unit != "s":
            labels.append(f"{low:g} to {high - 1:g} {histogram.unit}")
        else:
            labels.append(f"{low:g} to {high:g} {histogram.unit}")
    return labels


def change_rows(s: DatasetStatistics) -> list[list[str]]:
    """Return the numbers that the corrections changed: quantity, in the files, as read."""
    return [
        [_words(c.quantity), *(show_number(v, 0 if v == int(v) else 2) for v in (c.files, c.read))]
        for c in s.changes
    ]


def mistake_kinds(r: RecordingStatistics) -> tuple[str, ...]:
    """Return the kinds of mistakes that get a column each, the most frequent first."""
    return tuple(m.kind for m in r.mistakes[:_KINDS])


def mistake_rows(r: RecordingStatistics) -> list[tuple[str, tuple[int, ...]]]:
    """Return, for each activity, how many mistakes of each kind there are; further kinds are added up at the end."""
    kinds = mistake_kinds(r)
    rows = []
    for a in r.activities:
        own = tuple(a.mistakes.get(kind, 0) for kind in kinds)
        further = (sum(a.mistakes.values()) - sum(own),) if len(r.mistakes) > len(kinds) else ()
        rows.append((a.name or a.id, own + further))
    return rows if r.mistakes else []


def length_rows(r: RecordingStatistics) -> list[list[str]]:
    """Return, for each activity, how long videos and steps are without and with mistakes (``LENGTH_HEADS``)."""
    return [
        [
            a.name or a.id,
            *(
                cell
                for part in (a.normal_videos, a.mistaken_videos)
                for cell in _length_cells(part, 60, hours=True)
            ),
            *(
                cell
                for part in (a.normal_steps, a.mistaken_steps)
                for cell in _length_cells(part, 1, hours=False)
            ),
        ]
        for a in r.activities
        if r.mistakes
    ]


def _length_cells(part: Spread | None, unit: int, *, hours: bool) -> list[str]:
    if part is None:
        return ["0", *(["–"] if hours else []), "–"]
    total = [show_number(part.n * part.mean / 3600)] if hours else []
    return [f"{part.n:,}", *total, show_number(part.mean / unit, 1)]


def group_rows(r: RecordingStatistics) -> dict[str, list[list[str]]]:
    """Return, for each attribute such as the person, the numbers of each of its values (``GROUP_HEADS``)."""
    tables: dict[str, list[list[str]]] = {}
    for g in r.groups:
        counts = (g.recordings, g.with_mistakes, g.activities)
        row = [
            g.value,
            *(f"{n:,}" for n in counts),
            show_number(g.hours),
            f"{g.steps:,}",
            f"{g.mistaken_steps:,}",
        ]
        tables.setdefault(g.attribute, []).append(row)
    return tables


def beside_rows(several: Sequence[DatasetStatistics]) -> list[list[str]]:
    """Return the steps of data sets of recordings, a line each (``BESIDE_HEADS``)."""
    rows = []
    for s in several:
        if (r := s.recordings) is None:
            raise UserError(
                f"{s.title} holds no recordings.", hint="only data sets of recordings have steps to compare"
            )
        f = common_figures(r)
        rows.append(
            [
                s.title,
                f"{r.recordings:,}",
                show_number(r.hours),
                f"{len(r.activities):,}",
                show_number(f["mean_video_minutes"]),
                f"{r.timed_steps:,}",
                show_number(f["steps_per_recording"]),
                show_number(f["mean_step_seconds"]),
                show_number(f["median_step_seconds"]),
                f"{r.coverage.annotated_share:.1%}" if r.coverage else "–",
                f"{r.mistaken_steps:,}",
            ]
        )
    return rows


def render_beside(several: Sequence[DatasetStatistics]) -> str:
    """Return the table of the steps of several data sets as text.

    Raises:
        UserError: if one of them is no data set of recordings.
    """
    return _titled("Steps, data set by data set", _columns(BESIDE_HEADS, beside_rows(several)))


def pivot(paper: Sequence[Comparison]) -> tuple[list[str], list[tuple[str, list[Comparison | None]]]]:
    """Arrange figures such as ``hours[Ramen]``: one row a label, one column a quantity.

    Returns:
        names of the columns, and rows of label and figures (None where the paper has none).
    """
    columns: dict[str, None] = {}
    rows: dict[str, dict[str, Comparison]] = {}
    for c in paper:
        quantity, bracket, label = c.quantity.partition("[")
        if bracket:
            columns[quantity] = None
            rows.setdefault(label.removesuffix("]"), {})[quantity] = c
    return list(columns), [(label, [own.get(q) for q in columns]) for label, own in rows.items()]


def render_statistics(s: DatasetStatistics) -> str:
    """Return the statistics as text for a terminal."""
    parts = [
        f"{_said(s.title)}, {_said(s.version)} ({s.kind}, {s.corrections})",
        _columns([], [[name, value] for name, value in facts(s)]),
        *_render_changes(s),
        *_render_paper(s),
        *_render_recordings(s),
        _titled("How it is spread", _spread_table(s)),
        *(_titled(h.title, _bars(bin_labels(h), h.counts)) for h in histograms(s)),
        _titled("Task graphs", _graph_table(s.graphs)),
        _titled("Left out while reading", _columns([], [[k, f"{n:,}"] for k, n in s.dropped.items()])),
        _titled("Odd, found while reading", _columns([], [[k, f"{n:,}"] for k, n in s.findings.items()])),
    ]
    return "\n\n".join(part for part in parts if part)


def _render_changes(s: DatasetStatistics) -> Iterator[str]:
    total = sum(s.corrections_made.values())
    if not total:
        return
    reasons = _columns(
        [], [[f"{n:,}", _said(reason)] for reason, n in s.corrections_made.items()], left=(1,), name=90
    )
    changed = (
        _columns(["", "in the files", "as read"], change_rows(s)) or "They change none of the numbers above."
    )
    yield _titled(
        f"What {total:,} corrections change",
        f"{changed}\n\nWhy:\n{reasons}",
    )


def _render_paper(s: DatasetStatistics) -> Iterator[str]:
    single = [c for c in s.paper if "[" not in c.quantity]
    rows = [
        [
            _words(c.quantity),
            show_number(c.paper, c.digits),
            show_number(c.found, c.digits),
            "" if c.same else "≠",
            c.where,
        ]
        for c in single
    ]
    table = _columns(["", "paper", "found", "", "where"], rows)
    reasons = [f"  {_said(_words(c.quantity), _NAME)}: {_said(c.why)}" for c in single if c.why]
    yield _titled(
        f"Paper and found{_AS_THEY_ARE}",
        "\n".join([table, *(["", "Why:", *reasons] if reasons else [])]) if rows else "",
    )
    columns, labelled = pivot(s.paper)
    body = [[label, *map(paper_cell, cells)] for label, cells in labelled]
    yield _titled(
        "Paper and found, one by one (paper → found where they differ)",
        "\n".join(filter(None, [_columns(["", *map(_words, columns)], body), *reasons_of(s.paper)])),
    )
    told = {c.quantity for c in s.paper}
    rest = [(k, v) for k, v in s.found.items() if k not in told and k.partition("[")[0] not in columns]
    rows = [[_words(k), show_number(v, 0 if v is None or v == int(v) else 3)] for k, v in rest]
    yield _titled("Further figures", _columns([], rows))


def reasons_of(paper: Sequence[Comparison]) -> list[str]:
    """Return each reason for differences of figures of single activities, with the number of figures."""
    reasons = Counter(c.why for c in paper if c.why and "[" in c.quantity)
    return [f"  {n} figures: {_said(why)}" for why, n in reasons.most_common()]


def paper_cell(c: Comparison | None) -> str:
    """Return what a paper prints; where something else was found, that behind it."""
    if c is None:
        return ""
    paper = show_number(c.paper, c.digits)
    return paper if c.same else f"{paper} → {show_number(c.found, c.digits)}"


def _render_recordings(s: DatasetStatistics) -> Iterator[str]:
    r = s.recordings
    if r is None:
        return
    rows = [[m.kind, f"{m.mistakes:,}", f"{m.steps:,}"] for m in r.mistakes]
    yield _titled("Mistakes", _columns(["kind", "mistakes", "steps"], rows))
    rows = [
        [
            a.name or a.id,
            f"{a.recordings:,}",
            f"{a.with_mistakes:,}",
            show_number(a.hours),
            f"{a.steps:,}",
            show_number(a.mean_step_seconds, 1),
        ]
        for a in r.activities[:_ROWS]
    ]
    heads = ["", "recordings", "with mistakes", "hours", "steps", "mean step (s)"]
    rest = len(r.activities) - len(rows)
    more = f"\nand {rest:,} more: the JSON and the page have all" if rest > 0 else ""
    yield _titled("Activities", _columns(heads, rows) + more)
    kinds = [*mistake_kinds(r), *(["other kinds"] if len(r.mistakes) > _KINDS else [])]
    counted = [[name, *(f"{n:,}" for n in own), f"{sum(own):,}"] for name, own in mistake_rows(r)[:_ROWS]]
    yield _titled("Mistakes by kind and activity", _columns(["", *kinds, "all"], counted))
    yield _titled("Length without and with mistakes", _columns(LENGTH_HEADS, length_rows(r)[:_ROWS]))
    for attribute, lines in group_rows(r).items():
        yield _titled(f"By {_said(attribute, _NAME)}", _columns(GROUP_HEADS, lines[:_ROWS]))


def _spread_table(s: DatasetStatistics) -> str:
    heads = ["", "n", "mean", "s.d.", "least", "25 %", "median", "75 %", "most"]
    rows = [
        [name, f"{v.n:,}", *(show_number(x) for x in (v.mean, v.sd, v.least, v.q25, v.median, v.q75, v.most))]
        for name, v in spreads(s)
    ]
    return _columns(heads, rows)


def _graph_table(graphs: Sequence[GraphRow]) -> str:
    heads = ["", "steps", "edges", "width", "depth", "orders"]
    rows = [[g.name, str(g.steps), str(g.edges), str(g.width), str(g.depth), show_orders(g)] for g in graphs]
    return _columns(heads, rows)


def show_orders(g: GraphRow) -> str:
    """Return the number of orders, or that there are more than can be counted."""
    if g.orders is not None:
        return f"{g.orders:,}" if g.orders < 10**12 else f"{g.orders:.2e}"
    return (
        f"{g.orders_at_least:,} or more"
        if g.orders_at_least < 10**12
        else f"10^{len(str(g.orders_at_least)) - 1} or more"
    )


def _said(text: str, limit: int = 300) -> str:
    """Cut a text and make what does not print visible: it may come from anywhere."""
    return clip_line(text, limit)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _titled(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}" if body else ""


def _bars(labels: Sequence[str], counts: Sequence[int]) -> str:
    most, total = max(counts, default=0), sum(counts)
    rows = [
        [label, f"{n:,}", f"{n / total:6.1%}", "█" * round(_BAR * n / most) or ("▏" if n else "")]
        for label, n in zip(labels, counts, strict=True)
    ]
    return _columns([], rows, left=(0, 3))


def _columns(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), name: int = _NAME
) -> str:
    """Lay out columns, numbers to the right; what comes from data is cut and cannot steer the terminal."""
    if not rows:
        return ""
    cells = [
        [clip_line(cell, name) if cell else "" for cell in row]
        for row in ([heads] if heads else []) + list(rows)
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if n in left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)
