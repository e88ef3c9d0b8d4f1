"""The page of a synchronised recording: verdicts first, then what is covered, clock maps, distances and claps; no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup

from proctor.capture.sync.report import StreamReport, SyncReport, Verdict
from proctor.metrics.figure import Histogram
from proctor.report.figures.parts import Scale, join, label, line, percent, plain_svg, text_at, ticks
from proctor.report.page import write_page
from proctor.report.parts import Cell, Drawn, Fold, Page, Paragraph, Part, Section, Table

__all__ = ["sync_page", "write_sync_page"]

_TONES: Final[dict[Verdict, str]] = {"good": "better", "usable": "", "poor": "worse"}
_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT, _BOTTOM = 760, 58, 12, 10, 130, 38
_GUIDE: Final = (
    "Each point is the least delay of ten seconds, or a two-way probe: how far it lies above the map, a straight line for each segment. "
    "Whole lines across are borders of segments, where the clock jumped or started over. A good map has points close to 0 without a bend."
)
_SHOWN: Final = 40
"""Gaps of a stream that are listed; the others are counted."""


def write_sync_page(path: Path, report: SyncReport) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises:
        UserError: if the folder cannot be written.
    """
    return write_page(path, sync_page(report))


def sync_page(report: SyncReport) -> Page:
    """Return the page; equal reports give equal pages."""
    good = sum(s.verdict == "good" for s in report.streams)
    facts = (("Verdict", report.verdict), ("Streams that are good", f"{good} of {len(report.streams)}"), ("Base", report.base or "none"),
             ("Moments of the base", f"{report.frames:,}"), ("Length", f"{report.seconds:,.1f} s"))  # fmt: skip
    lead = ["Every stream at the moments of one of them, on the clock of the machine that recorded."]
    if report.config.rule == "published":
        lead.append("Matched by the published rule: raw device times, one pointer, 10 s of tolerance.")
    of_streams = {f"{s.name} is {s.verdict}" for s in report.streams}
    said: list[Part] = [
        Paragraph(text, beware=report.verdict == "poor") for text in report.reasons if text not in of_streams
    ]
    rows = tuple((s.name, "; ".join(s.reasons)) for s in report.streams if s.reasons)
    why = [Table("What was seen", ("stream", "what"), rows, digits=False)] if rows else []
    sections = [Section("verdicts", "Verdicts", (*said, _verdicts(report), *why), facts)]
    maps = tuple(
        Drawn(f"Clock of {s.name}", _residuals(s, report), _GUIDE) for s in report.streams if s.clock
    )
    if maps:
        first, *others = maps
        shown = [Drawn(d.title, d.markup) for d in others]
        sections.append(Section("clocks", "Clocks", (_clocks(report), first, *shown)))
    distances: list[Part] = [h for s in report.streams if s.name != report.base and (h := _histogram(s))]
    if distances:
        sections.append(Section("distances", "Distances", (_distances(report), *distances)))
    if report.checks:
        sections.append(Section("claps", "Claps and flashes", (_claps(report),)))
    gaps = tuple(_gaps(report))
    if gaps:
        sections.append(Section("gaps", "Gaps", gaps))
    chosen = (
        (name.replace("_", " "), getattr(report.config, name)) for name in report.config.__struct_fields__
    )
    about = f"Settings {report.hash}: " + ", ".join(
        f"{name} {value if value != '' else 'the first required video'}" for name, value in chosen
    )
    sections.append(Section("settings", "Settings", (Paragraph(about),)))
    return Page(f"Synchronisation of {report.recording}", tuple(lead), sections=tuple(sections))


def _verdicts(report: SyncReport) -> Table:
    rows = tuple(
        (Cell(s.name, s.kind if s.required else f"{s.kind}, not required", tag="base" if s.name == report.base else ""),
         Cell(s.verdict, tone=_TONES[s.verdict]), f"{100 * s.coverage:.1f} %", f"{s.samples:,}", Cell(drawn=_coverage(s, report.seconds)))
        for s in report.streams
    )  # fmt: skip
    note = "Covered: share of the base's moments with a sample close enough; of the base, the share of time without gaps. The bar is the time of the recording, open where nothing came."
    head = ("stream", "verdict", "covered", "samples", "when")
    return Table("How good each stream is", head, rows, note)


def _coverage(s: StreamReport, seconds: float) -> Markup:
    """Draw the time of a recording with its gaps left open."""
    scale, at, body = Scale.between(0.0, seconds), 0.0, '<line class="zero" x1="0" x2="100%" y1="7" y2="7"/>'
    for begin, length in (*s.gaps, (seconds, 0.0)) if s.samples else ():
        left, right = scale.place(at), scale.place(begin)
        if right > left:
            body += (
                f'<rect class="bar" x="{percent(left)}" width="{percent(right - left)}" y="0" height="14"/>'
            )
        at = begin + length
    return plain_svg(14, body, "chart")


def _clocks(report: SyncReport) -> Table:
    rows = []
    for s in report.streams:
        for n, c in enumerate(s.clock):
            begin, end = (max(0, t - report.host_ns) / 1e9 for t in (c.host_first_ns, c.host_last_ns))
            by = f"{s.jumps[n - 1][1]:+,.3f} s" if n else ""
            how = f"{c.probes} probes" if c.probes else "constant" if c.coarse else f"{len(c.points)} points"
            rows.append(
                (
                    s.name,
                    f"{begin:,.1f} to {end:,.1f}",
                    f"{round(c.drift_ppm, 2) + 0.0:+,.2f}",
                    f"{c.spread_ms:.3f}",
                    how,
                    by,
                )
            )
    head = ("stream", "from, to (s)", "gains (µs/s)", "spread (ms)", "from", "jumped by")
    note = "Seconds from the first moment of the base. Spread: robust standard deviation of the points around the line."
    return Table("Clock maps", head, tuple(rows), note, words=frozenset({4}))


def _residuals(s: StreamReport, report: SyncReport) -> Markup:
    """Draw the points of a clock map by time."""
    points = [
        ((c.host_first_ns - report.host_ns) / 1e9 + at, above) for c in s.clock for at, above in c.points
    ]
    most = max(abs(above) for _, above in points) * 1.1 or 0.1
    x, y = Scale.between(min(p[0] for p in points), max(p[0] for p in points)), Scale.between(-most, most)

    def across(value: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * x.place(value) / 100, 1)

    def up(value: float) -> float:
        return round(_TOP + _HEIGHT * (1 - y.place(value) / 100), 1)

    right, bottom = _WIDTH - _RIGHT, _TOP + _HEIGHT
    parts = [line("grid", _LEFT, up(t), right, up(t)) + text_at(_LEFT - 6, up(t) + 4, "end", f"{t:,.4g}".replace("-", "−"))
             for t in ticks(-most, most, 5)]  # fmt: skip
    parts += [line("grid", across(t), bottom, across(t), bottom + 4) + text_at(across(t), bottom + 16, "middle", f"{t:,.10g}")
              for t in ticks(x.low, x.high)]  # fmt: skip
    parts.append(text_at((_LEFT + right) / 2, bottom + 32, "middle", "seconds"))
    unit = Markup('<text transform="translate(11 {:g}) rotate(-90)" text-anchor="middle">ms</text>')
    parts.append(unit.format(_TOP + _HEIGHT / 2))
    parts.append(line("reference", _LEFT, up(0), right, up(0)))
    borders = [across((at - report.host_ns) / 1e9) for at, _ in s.jumps]
    parts += [line("own", at, _TOP, at, bottom) for at in borders if _LEFT <= at <= right]
    dot = Markup('<circle class="bar" cx="{:g}" cy="{:g}" r="3"><title>{}</title></circle>')
    parts += [dot.format(across(at), up(above), f"{at:,.1f} s: {above:+.3f} ms") for at, above in points]
    what = f"Clock of {s.name}: {len(points)} points within {most / 1.1:.3f} ms of its map, {len(s.clock)} segments"
    whole = Markup('<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
    return whole.format(_WIDTH, bottom + _BOTTOM, label(what), join(parts))


def _distances(report: SyncReport) -> Table:
    rows = tuple(
        (s.name, f"{s.tolerance_ms:.1f}", f"{s.matched:,}", *([f"{q:.2f}" for q in s.dt_ms] or ["", "", ""]))
        for s in report.streams
        if s.name != report.base
    )
    head = ("stream", "at most (ms)", "matched", "median", "95 %", "greatest")
    return Table("How far matches are from their moment (ms)", head, rows)


def _histogram(s: StreamReport) -> Histogram | None:
    if not any(s.histogram):
        return None
    step = 2 * s.tolerance_ms / len(s.histogram)
    edges = tuple(round(-s.tolerance_ms + step * n, 3) for n in range(len(s.histogram) + 1))
    return Histogram(f"{s.name}: sample minus moment", edges, s.histogram, "ms")


def _claps(report: SyncReport) -> Table:
    names: Sequence[str] = sorted({name for check in report.checks for name in check.found_ms})
    rows: list[tuple[str | Cell, ...]] = []
    for check in report.checks:
        seen = (f"{check.found_ms[n]:+,.1f}" if n in check.found_ms else "" for n in names)
        agree = Cell("yes" if check.agrees else "no", tone="better" if check.agrees else "worse")
        rows.append((f"{check.at_s:,.1f} s", *seen, f"{check.apart_ms:.1f}", agree))
    note = "Milliseconds from when it was noted to when a stream has it. Streams are compared with each other, not with the note; nothing is averaged away."
    head = ("noted at", *names, "apart", "agree")
    return Table("What each stream has of it", head, tuple(rows), note, words=frozenset({len(names) + 2}))


def _gaps(report: SyncReport) -> Iterator[Part]:
    for s in report.streams:
        if s.gaps:
            rows = tuple((f"{begin:,.2f} s", f"{length:,.2f}") for begin, length in s.gaps[:_SHOWN])
            more = f"{len(s.gaps) - _SHOWN:,} more are in report.json." if len(s.gaps) > _SHOWN else ""
            total = f"{s.name}: {len(s.gaps):,}, {sum(length for _, length in s.gaps):,.1f} s in all"
            yield Fold(
                total, (Table(f"Gaps of {s.name}", ("from", "seconds"), rows, more),), shown=len(rows) < 6
            )
