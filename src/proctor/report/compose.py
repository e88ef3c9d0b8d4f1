"""The page of a benchmark, section by section; a section is left out where what it needs is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

from proctor.exam.corrected import CorrectedScore
from proctor.exam.prediction import Prediction
from proctor.report.answers import NO_DESCRIPTIONS, answers
from proctor.report.benchmark import benchmark_section, describe_exam, funnel_section, verification_section
from proctor.report.data import Exam, ReportData, ReportOptions
from proctor.report.highlights import highlights
from proctor.report.judging import corrected_of, judging_section
from proctor.report.naming import RunName
from proctor.report.numbers import count, counted, show_value
from proctor.report.page import write_page
from proctor.report.parts import Cell, Page, Section
from proctor.report.results import results_section, standing_plot
from proctor.report.standing import Line, Standing, lacks, stand

__all__ = ["caveats", "compose", "result", "summarize", "write_report"]

_CHARTS: Final = 3
"""Exams whose scores are drawn on top of the page."""
_GALLERY: Final = 6

_SIGNATURES = 400
"""Runs whose signatures the page lists."""


def write_report(path: Path, data: ReportData, options: ReportOptions | None = None) -> Path:
    """Write the report as one HTML file, whole or not at all, and return its path.

    Raises:
        UserError: if the folder cannot be written; else see ``compose``.
    """
    return write_page(path, compose(data, options))


def compose(data: ReportData, options: ReportOptions | None = None) -> Page:
    """Return the page; equal data and options give equal pages.

    Raises:
        UserError: if two runs of an exam have the same name, or a verdict does not fit its question.
    """
    options = options or ReportOptions()
    standings = [stand(exam, options) for exam in data.exams]
    several = len(standings) > 1
    picked = [highlights(s, data.examples) for s in standings]
    shown = [one for found in picked for one in found[:1]]
    gallery = [one for found in picked for one in found[1:]]
    return Page(
        title=data.title or data.about.name or "Benchmark",
        lead=tuple(_titled(s, result(s, level=options.confidence), several=several) for s in standings)
        or ("The benchmark holds no questions.",),
        charts=tuple(filter(None, map(standing_plot, standings[:_CHARTS]))),
        striking=shown[0] if shown else None,
        gallery=tuple([*shown[1:], *gallery][:_GALLERY]),
        notes=(
            *filter(None, [data.about.lacking]),
            *(
                _titled(s, f"{describe_exam(s.exam)} {caveats(s)}".strip(), several=several)
                for s in standings
            ),
        ),
        warning=data.about.rehearsal,
        sections=tuple(_sections(data, standings, options)),
        examples=data.examples,
        left=sum(len(exam.items) for exam in data.exams) - len(data.examples),
        method=tuple(_method(data, standings, options)),
    )


def _titled(standing: Standing, text: str, *, several: bool) -> str:
    return f"{standing.exam.title[:1].upper()}{standing.exam.title[1:]}: {text}" if several else text


def _sections(data: ReportData, standings: list[Standing], options: ReportOptions) -> Iterator[Section]:
    level = options.confidence
    for n, standing in enumerate(standings):
        yield results_section(
            standing,
            _corrected(data, standing.exam),
            data.shared if n == 0 else (),
            calibrated=data.judging is not None,
            level=level,
            plot=n >= _CHARTS,
        )
    if data.judging is not None:
        names: dict[str, RunName] = {}
        for standing in standings:
            names |= standing.names
        texts = {item.id: item.question.text for exam in data.exams for item in exam.items}
        yield judging_section(data.judging, names, texts)
    yield from data.results
    for section in _made(data):
        yield section if section.place == "appendix" else replace(section, place="behind")


def _made(data: ReportData) -> Iterator[Section]:
    """Yield how the benchmark came about, which a page tells behind its examples."""
    yield benchmark_section(data.about, data.exams, {example.id for example in data.examples})
    yield from data.making
    if data.funnel:
        yield funnel_section(data.funnel, data.exams)
    verified = verification_section(data.asked, data.against, data.exams)
    if verified is not None:
        yield verified


def _corrected(data: ReportData, exam: Exam) -> dict[str, CorrectedScore]:
    if data.judging is None:
        return {}
    found = {run.name: corrected_of(run, data.judging) for run in exam.runs}
    return {name: score for name, score in found.items() if score is not None}


def _method(
    data: ReportData, standings: list[Standing], options: ReportOptions
) -> Iterator[tuple[str, str | Cell]]:
    yield from data.method
    yield (
        "intervals",
        (
            f"bias-corrected bootstrap over clusters; comparisons: {options.resamples:,} draws, {100 * options.confidence:g} %, "
            f"seed {options.seed}"
        ),
    )
    if data.missing_captions:
        yield "answers whose descriptions of frames are not shown", _undescribed(data, standings)
    signatures: dict[str, list[str]] = {}
    for standing in standings:
        for line in standing.scored:
            for measure in standing.measures:
                if (row := line.row("all", measure)) is not None and row.signature:
                    signatures.setdefault(row.signature, []).append(f"{line.name.short}, {measure}")
    for text, whose in list(signatures.items())[:_SIGNATURES]:
        yield f"signature: {'; '.join(whose)}"[:600], text
    for standing in standings:
        for line in standing.lines:
            if same := _same(line.run.predictions):
                yield f"all answers of {line.name.label}", same
    for name, value in sorted(data.about.hashes.items()):
        yield f"hash: {name}", value


def _undescribed(data: ReportData, standings: Sequence[Standing]) -> Cell:
    """Return how many answers lack what the call store holds; each exam's open them."""
    found = [(s.exam.id, answers(s).counts.get(NO_DESCRIPTIONS, 0)) for s in standings]
    led = tuple(counted(n, among=(f"answers-{id_}", NO_DESCRIPTIONS)) for id_, n in found if n)
    whole = led if sum(n for _, n in found) == data.missing_captions else (counted(data.missing_captions),)
    return Cell(parts=whole, small="the call store that holds them was not there")


def _same(records: Sequence[Prediction]) -> str:
    """Return the details that all answers of a run share."""
    details = [record.details for record in records]
    first = details[0] if details else {}
    return ", ".join(f"{k} {v}" for k, v in sorted(first.items()) if all(d.get(k) == v for d in details))


_NAMED = 4
"""Runs named in one sentence; the others are counted."""
_PAIRS = 2
"""Pairs of runs named in one sentence; more of them are counted and stand in the table."""


def result(standing: Standing, *, level: float = 0.95) -> str:
    """Return the main result in words: who leads, who can be told apart, what floors reach."""
    if not standing.scored:
        return "No run has been scored yet."
    return " ".join(_result(standing, level))


def caveats(standing: Standing) -> str:
    """Return what else has to be known: who is not ranked, the upper bound, which difference would show, what is missing."""
    return " ".join(_caveats(standing)) if standing.scored else ""


def summarize(standing: Standing, *, level: float = 0.95) -> str:
    """Return both as one paragraph."""
    return f"{result(standing, level=level)} {caveats(standing)}".strip()


def _result(standing: Standing, level: float) -> Iterator[str]:
    systems = standing.ranked
    if not systems:
        yield "No system is ranked yet."
    by_judge: dict[str, list[Line]] = {}
    for line in systems:
        by_judge.setdefault(line.judge, []).append(line)
    for judge, lines in by_judge.items():
        judged = f" marked by {judge}" if len(by_judge) > 1 else ""
        alike = [line.name.label for line in lines if line.rank.place == 1]
        if len(alike) > 1:
            names, score = ", ".join(alike), show_value(lines[0].value)
            yield f"{names} share the first place of {len(lines)} systems{judged} with {score} of 100."
            continue
        rank = f" is first of {len(lines)} systems{judged} with " if len(lines) > 1 else " scores "
        row = lines[0].row()
        ends = ""
        if row is not None and row.low is not None and row.high is not None:
            ends = f" ({100 * level:g}\u00a0% interval {row.low:.1f} to {row.high:.1f})"
        yield f"{lines[0].name.label}{rank}{show_value(lines[0].value)} of 100{ends}."
    if standing.compared:
        yield from _ties(standing, systems)
    yield from _floor(standing, systems)


def _caveats(standing: Standing) -> Iterator[str]:
    scored, systems = standing.scored, standing.ranked
    for line in scored:
        if line.run.role == "system" and line.rank.why:
            yield f"{line.name.label} is not ranked: {line.rank.why}."
    if (upper := next((line for line in scored if line.run.role == "upper"), None)) is not None:
        by = f" by the judge {upper.judge}" if systems and upper.judge != standing.judge else ""
        yield f"The upper bound, {upper.name.label}, is shown what systems must not see and reaches {show_value(upper.value)}{by}."
    if standing.detectable is not None:
        points = f"{standing.detectable:.1f} points"
        yield f"Two runs have to differ by about {points} to differ significantly here (power 0.8, two-sided level 0.05)."
    yield from _incomplete(standing)


def _ties(standing: Standing, systems: Sequence[Line]) -> Iterator[str]:
    pairs = [(a, b) for a, b in combinations(systems, 2) if (a.run.name, b.run.name) in standing.compared]
    tied = [(a, b) for a, b in pairs if not _apart(standing, a, b)]
    if len(pairs) == 1 and len(systems) == 2:
        yield f"The difference to {systems[1].name.label} is{' not' if tied else ''} significant."
    elif pairs and not tied:
        yield "Every two systems differ significantly."
    elif pairs and len(tied) == len(pairs):
        yield "No two systems differ significantly."
    elif pairs:
        start = f"Of {len(pairs):,} pairs of systems, {len(tied):,} {'does' if len(tied) == 1 else 'do'} not differ significantly"
        named = "; ".join(f"{a.name.label} and {b.name.label}" for a, b in tied)
        yield f"{start}: {named}." if len(tied) <= _PAIRS else f"{start}; a table shows which."


def _apart(standing: Standing, a: Line, b: Line) -> bool:
    told = standing.compared.get((a.run.name, b.run.name))
    return told is not None and told.decided


def _floor(standing: Standing, systems: Sequence[Line]) -> Iterator[str]:
    floors = [line for line in standing.scored if line.run.role == "floor" and not line.rank.why]
    floor = next((line for line in floors if line.judge == standing.judge), next(iter(floors), None))
    if floor is None:
        return
    start = f"The {standing.best_floor}, {floor.name.label}, answers without the evidence and reaches {show_value(floor.value)}"
    rivals = [s for s in systems if s.judge == floor.judge]
    below = [s for s in rivals if (s.value or 0.0) <= (floor.value or 0.0) or not _apart(standing, s, floor)]
    if not rivals:
        by = f" by the judge {floor.judge}, so that systems are not compared with it" if systems else ""
        yield f"{start}{by}."
    elif not below:
        yield f"{start}; every system is above it."
    else:
        names = [s.name.label for s in below[:_NAMED]] + (
            [f"{len(below) - _NAMED} more"] if len(below) > _NAMED else []
        )
        yield f"{start}; {'; '.join(names)} {'is' if len(below) == 1 else 'are'} not shown to be above it."


def _incomplete(standing: Standing) -> Iterator[str]:
    found = lacks(standing)
    skipped = sum(line.skipped for line in standing.lines)
    totals = {
        "failed": sum(f.kind == "failed" for f in found),
        "not judged": sum(f.kind == "unscored" for f in found),
        "not asked": skipped,
    }
    missing = sum(totals.values())
    if not missing:
        yield "Every run answered every question, and every answer has a mark."
        return
    runs = {f.run for f in found} | {line.run.name for line in standing.lines if line.skipped}
    what = ", ".join(f"{n:,} {name}" for name, n in totals.items() if n)
    verb = "mark is missing and counts" if missing == 1 else "marks are missing and count"
    yield f"In {count(len(runs), 'run')} {missing:,} {verb} neither for nor against: {what}."
