"""The page of a benchmark, section by section; a section is left out where what it needs is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from proctor.exam.corrected import CorrectedScore
from proctor.exam.prediction import Prediction
from proctor.report.benchmark import benchmark_section, describe_exam, funnel_section, verification_section
from proctor.report.data import Exam, ReportData, ReportOptions
from proctor.report.judging import corrected_of, judging_section
from proctor.report.naming import RunName
from proctor.report.page import write_page
from proctor.report.parts import Page, Section
from proctor.report.results import results_section
from proctor.report.standing import Standing, stand
from proctor.report.summary import summarize

__all__ = ["compose", "write_report"]

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
    lead = tuple(text for s in standings for text in _lead(s, options, several=len(standings) > 1))
    return Page(
        title=data.title or data.about.name or "Benchmark",
        lead=lead or (("The benchmark holds no questions.",) if not data.exams else ()),
        warning=data.about.rehearsal,
        sections=tuple(_sections(data, standings, options)),
        examples=data.examples,
        left=data.left,
        method=tuple(_method(data, standings, options)),
    )


def _lead(standing: Standing, options: ReportOptions, *, several: bool) -> Iterator[str]:
    start = f"{standing.exam.title[:1].upper()}{standing.exam.title[1:]}: " if several else ""
    yield f"{start}{describe_exam(standing.exam)} {summarize(standing, level=options.confidence)}"


def _sections(data: ReportData, standings: list[Standing], options: ReportOptions) -> Iterator[Section]:
    level = options.confidence
    for n, standing in enumerate(standings):
        yield results_section(
            standing,
            _corrected(data, standing.exam),
            data.shared if n == 0 else (),
            calibrated=data.judging is not None,
            level=level,
        )
    if data.judging is not None:
        names: dict[str, RunName] = {}
        for standing in standings:
            names |= standing.names
        yield judging_section(data.judging, names)
    yield from data.results
    yield benchmark_section(data.about, data.exams)
    yield from data.making
    if data.funnel:
        yield funnel_section(data.funnel)
    verified = verification_section(data.asked)
    if verified is not None:
        yield verified


def _corrected(data: ReportData, exam: Exam) -> dict[str, CorrectedScore]:
    if data.judging is None:
        return {}
    found = {run.name: corrected_of(run, data.judging) for run in exam.runs}
    return {name: score for name, score in found.items() if score is not None}


def _method(data: ReportData, standings: list[Standing], options: ReportOptions) -> Iterator[tuple[str, str]]:
    yield from data.method
    yield (
        "intervals",
        (
            f"bias-corrected bootstrap over clusters; comparisons: {options.resamples:,} draws, {100 * options.confidence:g} %, "
            f"seed {options.seed}"
        ),
    )
    if data.missing_captions:
        yield (
            "not shown",
            (
                f"the descriptions of frames of {data.missing_captions:,} answers: the call store that holds them was not there"
            ),
        )
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


def _same(records: Sequence[Prediction]) -> str:
    """Return the details that all answers of a run share."""
    details = [record.details for record in records]
    first = details[0] if details else {}
    return ", ".join(f"{k} {v}" for k, v in sorted(first.items()) if all(d.get(k) == v for d in details))
