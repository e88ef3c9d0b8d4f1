"""A page of steps in time: for each recording what happened, what a localizer found, and what decoding made of it.

Recordings stand from the one that was found worst to the best. Every bar's times also stand in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from proctor.report.figures.parts import Scale, join, label, percent
from proctor.report.numbers import count, show_value
from proctor.report.parts import AnswerView, Cell, ExampleView, Page, Paragraph, Part, Row, Section, Table

__all__ = ["RecordingLines", "RunFigures", "RunLine", "StepLine", "timelines_page"]

Times = tuple[tuple[float, float], ...]

_LANE: Final = 9
_CARDS: Final = 200
_BARS: Final[Mapping[str, str]] = {
    "truth": "what happened",
    "found": "the localizer's best segment",
    "decoded": "decoded",
    "late": "decoded, out of order",
}


@dataclass(frozen=True)
class StepLine:
    """A step of a recording: its text, and when it was carried out, in seconds."""

    step: str
    text: str
    truth: Times


@dataclass(frozen=True)
class RunLine:
    """What one run says of a recording.

    Attributes:
        run: its name.
        found: best segment by step, in seconds.
        decoded: segment of the best sequence by step; None where the run was not decoded.
        missing: steps that the decoded sequence lacks.
        late: steps out of order, each with those that need it and were begun before it.
        overlap: mean over the executed steps of the IoU with what was decoded (else found), 0 to 1.
    """

    run: str
    found: Mapping[str, tuple[float, float]]
    decoded: Mapping[str, tuple[float, float]] | None = None
    missing: tuple[str, ...] = ()
    late: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overlap: float = 0.0


@dataclass(frozen=True)
class RecordingLines:
    """A recording: its steps by their first start, then those that never occur, and what every run says of it."""

    id: str
    activity: str
    seconds: float
    steps: tuple[StepLine, ...]
    runs: tuple[RunLine, ...]

    @property
    def overlap(self) -> float:
        """Mean over the runs."""
        return sum(run.overlap for run in self.runs) / max(1, len(self.runs))


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A line of the table, in per cent: mAP at tIoU .1, .3, .5, their mean, and R@1x at .5."""

    name: str
    what: str
    values: tuple[float | None, ...]


def timelines_page(
    title: str, figures: Sequence[RunFigures], recordings: Sequence[RecordingLines], notes: Sequence[str] = ()
) -> Page:
    """Return the page; equal runs give equal pages."""
    rows: tuple[Row, ...] = tuple((Cell(f.name, f.what), *(show_value(v) for v in f.values)) for f in figures)
    head = ("run", "mAP@.1", "mAP@.3", "mAP@.5", "mean of .1 to .5", "R@1x@.5")
    note = "In per cent. Rescored: the same segments with scores that take the order of steps into account."
    ordered = sorted(recordings, key=lambda r: (r.overlap, r.id))
    shown = ordered[:_CARDS]
    worst = Table(
        "Recordings, from the worst",
        ("recording", "activity", "steps", "mean overlap", "missing", "out of order"),
        tuple(_line(r) for r in shown),
        "Mean overlap: IoU of each executed step with what was decoded, else found, in per cent; over all runs.",
        words=frozenset({1}),
        sortable=True,
    )
    parts: tuple[Part, ...] = (
        *(Paragraph(text, beware=True) for text in notes),
        Table("How well steps are found", head, rows, note),
    )
    left = (
        f" {len(ordered) - len(shown):,} that were found better are left out."
        if len(ordered) > len(shown)
        else ""
    )
    return Page(
        title,
        (
            "Each recording as a line of time: what happened, what was found, and what its order makes of that.",
        ),
        sections=(Section("figures", "Figures", parts), Section("worst", "Recordings", (worst,))),
        examples=tuple(_card(r) for r in shown),
        examples_title="Timelines",
        examples_note=f"{count(len(shown), 'recording')}, from the one found worst.{left}",
    )


def _line(recording: RecordingLines) -> Row:
    missing = sum(len(run.missing) for run in recording.runs)
    late = sum(len(run.late) for run in recording.runs)
    executed = sum(bool(s.truth) for s in recording.steps)
    return (
        Cell(recording.id, item=recording.id), recording.activity, f"{executed}", show_value(100 * recording.overlap),
        f"{missing}", f"{late}",
    )  # fmt: skip


def _card(recording: RecordingLines) -> ExampleView:
    marks = {
        "missing": any(r.missing for r in recording.runs),
        "out of order": any(r.late for r in recording.runs),
    }
    mark = " and ".join(name for name, there in marks.items() if there) or "nothing"
    executed = sum(bool(s.truth) for s in recording.steps)
    return ExampleView(
        recording.id,
        f"{recording.activity}, overlap {show_value(100 * recording.overlap)} %",
        recording.id,
        f"{count(executed, 'step')} carried out in {_clock(recording.seconds)}.",
        answers=tuple(_said(run, recording) for run in recording.runs),
        drawing=_drawn(recording),
        drawing_label="Timelines of the recording; each line says its times in words",
        facets={"recording": recording.id, "activity": recording.activity, "decoded as wrong": mark},
    )


def _said(run: RunLine, recording: RecordingLines) -> AnswerView:
    texts = {s.step: s.text for s in recording.steps}
    more = []
    if run.missing:
        more.append("missing: " + "; ".join(texts.get(s, s) for s in run.missing))
    more += [
        f"out of order: {texts.get(s, s)} (after {'; '.join(texts.get(e, e) for e in early)})"
        for s, early in run.late.items()
    ]
    what = f"mean overlap {show_value(100 * run.overlap)} %"
    if run.decoded is None:
        return AnswerView(run.run, f"{what}; not decoded", code="not decoded")
    code = "out of order" if run.late else "missing" if run.missing else "in order"
    said = f"{what}; {len(run.missing)} missing, {len(run.late)} out of order"
    return AnswerView(run.run, said, code, tuple(more), code=code)


def _drawn(recording: RecordingLines) -> Markup:
    scale = Scale.between(0.0, recording.seconds)
    several = len(recording.runs) > 1
    body = join(_step(step, recording, scale, several) for step in recording.steps)
    legend = join(
        Markup(
            '<li><svg class="bars" width="14" height="10" aria-hidden="true"><rect class="bar-{}" width="14" height="9"/></svg> {}</li>'
        ).format(name, text)
        for name, text in _BARS.items()
    )
    axis = Markup('<li><span class="n">{}</span>{}</li>').format("seconds", scale.axis())
    return Markup('<ul class="legend">{}</ul><ul class="timelines">{}{}</ul>').format(legend, body, axis)


def _step(step: StepLine, recording: RecordingLines, scale: Scale, several: bool) -> Markup:
    lanes: list[tuple[str, Times]] = [("truth", step.truth)]
    words = [f"happened {_times(step.truth)}" if step.truth else "never happened"]
    tags: list[str] = []
    for run in recording.runs:
        name = f"{run.run}: " if several else ""
        found = (run.found[step.step],) if step.step in run.found else ()
        lanes.append(("found", found))
        words.append(f"{name}found {_times(found)}" if found else f"{name}not found")
        if run.decoded is not None:
            decoded = (run.decoded[step.step],) if step.step in run.decoded else ()
            late = step.step in run.late
            lanes.append(("late" if late else "decoded", decoded))
            words.append(f"{name}decoded {_times(decoded)}" if decoded else f"{name}decoded as missing")
            tags += [f"{name}missing"] if step.step in run.missing else []
            tags += [f"{name}out of order"] if late else []
    height = _LANE * len(lanes) + 2
    bars = join(_bars(kind, times, n, scale) for n, (kind, times) in enumerate(lanes))
    return Markup(
        '<li><span><bdi>{}</bdi>{}<span class="n"> {}</span></span><svg height="{}" aria-hidden="true" focusable="false">{}</svg></li>'
    ).format(
        label(step.text or f"step {step.step}"),
        join(Markup(' <span class="tag">{}</span>').format(label(tag)) for tag in tags),
        label("; ".join(words)) if not several else "; ".join(words),
        height,
        bars,
    )


def _bars(kind: str, times: Times, lane: int, scale: Scale) -> Markup:
    return join(
        Markup('<rect class="bar-{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
            kind,
            percent(scale.place(start)),
            _LANE * lane + 2,
            percent(max(scale.place(end) - scale.place(start), 0.3)),
            _LANE - 2,
            f"{_BARS[kind]}: {_times(((start, end),))}",
        )
        for start, end in times
    )


def _times(times: Times) -> str:
    return ", ".join(f"{_clock(start)} to {_clock(end)}" for start, end in times)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02d}"
