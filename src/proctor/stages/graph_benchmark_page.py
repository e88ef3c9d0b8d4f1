"""The benchmark of inferred task graphs in print: Markdown for ``docs/graphs.md``, a page, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Reliability
from proctor.records import atomic_write
from proctor.report.figures.reliability import draw_reliability
from proctor.report.grid import render_grid
from proctor.report.page import standalone_svg, write_page
from proctor.report.parts import Page, Paragraph, Section, Table
from proctor.stages.graph_benchmark import Benchmark, Variant
from proctor.stages.graph_synthetic import Recovered

__all__ = ["BEGIN", "END", "Grid", "benchmark_grids", "write_benchmark_markdown", "write_benchmark_page"]

BEGIN: Final = "<!-- proctor graph benchmark --markdown: from here -->"
END: Final = "<!-- proctor graph benchmark --markdown: to here -->"

MAIN: Final = "Edges of inferred graphs against released ones"
FEW_SHOT: Final = "Few performances"
RELIABILITY: Final = "Reliability of probabilities"

Grid = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A title, the names of the columns, and rows of cells, of which the first holds words."""


def benchmark_grids(found: Benchmark) -> list[Grid]:
    """Return the tables of a benchmark; shares in per cent."""
    rows = [
        (f"{p.name} (published, recalled)", *_shares(p.precision, p.recall, p.f1)) for p in found.published
    ]
    rows += [(v.name, *_shares(v.precision, v.recall, v.f1)) for v in found.others]
    ours = (
        f"{found.method}, {found.performances} performances",
        *_shares(found.precision, found.recall, found.f1),
    )
    head = ("method", "precision", "recall", "F1")
    grids: list[Grid] = [(MAIN, head, [*rows, ours])]
    if found.few:
        grids.append(
            (
                FEW_SHOT,
                ("performances", "precision", "recall", "F1", "± over draws", "draws"),
                list(map(_few, found.few)),
            )
        )
    if found.reliability is not None:
        bins = [
            (
                f"{low:.1f} to {high:.1f}",
                str(n),
                *(f"{x:.3f}" if x is not None else "" for x in (mean, share)),
            )
            for low, high, n, mean, share in found.reliability.bins
            if n
        ]
        grids.append((RELIABILITY, ("probability", "pairs", "mean", "share that are edges"), bins))
    if found.synthetic:
        grids.append(_recovery(found.synthetic))
    return grids


def _recovery(rows: Sequence[Recovered]) -> Grid:
    """Lay F1 out by steps and performances, with the seconds of the largest number."""
    counts = sorted({r.performances for r in rows})
    by_size: dict[int, dict[int, Recovered]] = {}
    for row in rows:
        by_size.setdefault(row.steps, {})[row.performances] = row
    cells: list[tuple[str, ...]] = [
        (
            str(steps),
            *(f"{of[n].f1:.1f} ± {of[n].spread:.1f}" for n in counts),
            f"{of[counts[-1]].seconds:.2f}",
        )
        for steps, of in by_size.items()
    ]
    head = ("steps", *(f"{n} performances" for n in counts), f"seconds, {counts[-1]} performances")
    return f"F1 on random graphs, {rows[0].graphs} of each size (± standard deviation)", head, cells


def _shares(*values: float) -> Iterator[str]:
    return (f"{value:.1f}" for value in values)


def _few(row: Variant) -> tuple[str, ...]:
    count = "all" if row.performances is None else str(row.performances)
    return (
        count,
        *_shares(row.precision, row.recall, row.f1),
        f"{row.spread:.1f}" if row.draws > 1 else "",
        str(row.draws),
    )


def sentences_of(found: Benchmark) -> list[str]:
    """Return what has to be known beside the tables."""
    held_out = found.held_out.replace("-", " ")
    amount = f"{found.activities} activities, {found.performances} performances, {held_out}"
    said = [f"{amount}; all graphs are inferred in {found.seconds:.2f} s."]
    if "f1" in found.intervals:
        low, high = found.intervals["f1"]
        said.append(f"95 % interval of F1 over activities: {low:.1f} to {high:.1f}.")
    if (r := found.reliability) is not None:
        said.append(
            f"Expected calibration error of {r.pairs} pairs: {r.ece:.3f} (a perfectly calibrated method would show {r.chance[0]:.3f}, "
            f"{r.chance[1]:.3f} to {r.chance[2]:.3f}); Brier score {r.brier:.3f}."
        )
    return said + found.notes


def write_benchmark_markdown(path: Path, found: Benchmark) -> None:
    """Write the tables: between the marks of a page that has them, else as a page of their own.

    Raises:
        UserError: if the page has one mark without the other, or cannot be written.
    """
    parts = [BEGIN]
    for title, head, rows in benchmark_grids(found):
        parts += [f"**{title}**", render_grid(head, rows, "markdown", text_columns=1)]
    section = "\n\n".join([*parts, "\n".join(f"* {sentence}" for sentence in sentences_of(found)), END])
    text = path.read_text(encoding="utf-8") if path.exists() else f"{BEGIN}{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UserError(
            "the page has no place for the tables.",
            where=str(path),
            hint=f"write the lines '{BEGIN}' and '{END}' where they belong, or name a new file",
        )
    before, _, rest = text.partition(BEGIN)
    with atomic_write(path) as stream:
        stream.write(f"{before}{section}{rest.partition(END)[2]}".encode())


def write_benchmark_page(folder: Path, found: Benchmark, reliability: Reliability | None) -> list[Path]:
    """Write ``benchmark.html``, and ``reliability.svg`` where there are probabilities; return the files.

    Raises:
        UserError: if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = {title: Table(title, head, tuple(rows)) for title, head, rows in benchmark_grids(found)}
    names = ("precision", "recall", "f1")
    low, high = zip(*(found.intervals.get(name, (None, None)) for name in names), strict=True)
    ours = IntervalPlot(
        f"{found.method}, with intervals over activities", ("precision", "recall", "F1"),
        (found.precision, found.recall, found.f1), low, high, scale=(0.0, 100.0),
    )  # fmt: skip
    said = tuple(Paragraph(sentence) for sentence in sentences_of(found))
    sections = [Section("edges", "Edges", (*said, ours, tables.pop(MAIN), _activities(found)))]
    if reliability is not None:
        sections.append(Section("reliability", "Probabilities", (reliability,)))
        tables.pop(RELIABILITY)
    if found.few:
        sections.append(Section("few", "Few performances", (_curve(found.few), tables.pop(FEW_SHOT))))
    sections += [Section("random", title, (table,)) for title, table in tables.items()]
    lead = ("Task graphs inferred from recordings, edge by edge against the released ones.",)
    files = [
        write_page(folder / "benchmark.html", Page("Inferred task graphs", lead, sections=tuple(sections)))
    ]
    if reliability is not None:
        files.append(folder / "reliability.svg")
        with atomic_write(files[-1]) as stream:
            stream.write(standalone_svg(draw_reliability(reliability)).encode())
    return files


def _activities(found: Benchmark) -> Table:
    rows = (
        (name, str(r.steps), str(r.performances), *_shares(r.precision, r.recall, r.f1))
        for name, r in found.by_activity.items()
    )
    head = ("activity", "steps", "performances", "precision", "recall", "F1")
    return Table("By activity", head, tuple(rows), sortable=True)


def _curve(few: Sequence[Variant]) -> IntervalPlot:
    """Draw F1 by number of performances; ends are one standard deviation over draws away."""
    return IntervalPlot(
        "F1 by performances; lines reach one standard deviation over draws",
        tuple(v.name for v in few),
        tuple(v.f1 for v in few),
        tuple(v.f1 - v.spread if v.draws > 1 else None for v in few),
        tuple(v.f1 + v.spread if v.draws > 1 else None for v in few),
        scale=(0.0, 100.0),
    )
