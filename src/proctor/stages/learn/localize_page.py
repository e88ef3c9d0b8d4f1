"""``proctor learn localize-page``: runs of a localizer, decoded or not, as timelines side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.metrics.localization import Segments, localization_scores
from proctor.procedure.phrase import render_step
from proctor.records import read_jsonl
from proctor.report.numbers import count
from proctor.report.page import write_page
from proctor.report.timelines import RecordingLines, RunFigures, RunLine, StepLine, timelines_page
from proctor.stages.learn.decode import OrderLine
from proctor.stages.learn.decode_settings import LocalizePageSettings
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.localization import read_ground_truth, read_predictions

__all__ = ["LocalizePage", "draw_timelines"]

TRUTH: Final = "truth.csv"
PREDICTIONS: Final = "predictions.csv"


class LocalizePage(msgspec.Struct, frozen=True):
    """What was drawn: the file, runs as the page calls them, recordings, and notes for the reader."""

    page: str
    runs: tuple[str, ...]
    recordings: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    folder: Path
    name: str
    truth: Segments
    predictions: Segments
    rescored: Segments | None
    decoded: Segments | None
    order: Mapping[str, OrderLine]


def draw_timelines(settings: LocalizePageSettings) -> LocalizePage:
    """Read runs and write the page.

    Raises:
        UserError: if a folder lacks truth.csv or predictions.csv, is given twice, a file is damaged, or runs share no recording.
    """
    twice = [str(f) for f, n in Counter(folder.resolve() for folder in settings.runs).items() if n > 1]
    if twice:
        raise UserError("the run is given twice.", where=twice[0], hint="name each run once")
    names = Counter(folder.name for folder in settings.runs)
    runs = [_read(f, f.name if names[f.name] == 1 and f.name else str(f)) for f in settings.runs]
    videos = set.intersection(*({str(v) for v in run.truth.used_videos()} for run in runs))
    if not videos:
        raise UserError("the runs' truth has no recording in common.", hint="draw one page for each")
    activities, texts, lengths = _about(settings.annotations, runs)
    recordings = [
        _recording(v, runs, activities.get(v, "not known"), texts, lengths.get(v, 0.0))
        for v in sorted(videos)
    ]
    notes = []
    if settings.annotations is None and not texts:
        notes.append("Without --annotations steps are shown by their ids.")
    every = set.union(*({str(v) for v in run.truth.used_videos()} for run in runs))
    if len(every) > len(videos):
        notes.append(
            f"Left out: {count(len(every) - len(videos), 'recording')} that not every run has truth of."
        )
    if blind := set().union(*(map(str, run.predictions.used_videos()) for run in runs)) - every:
        notes.append(f"Left out: {count(len(blind), 'recording')} with predictions and no truth.")
    figures = [line for run in runs for line in _figures(run, videos)]
    write_page(settings.out, timelines_page(settings.title or "Steps in time", figures, recordings, notes))
    return LocalizePage(str(settings.out), tuple(run.name for run in runs), len(recordings), tuple(notes))


def _read(folder: Path, name: str) -> _Run:
    for file in (TRUTH, PREDICTIONS):
        if not (folder / file).is_file():
            raise UserError(
                f"the run has no {file}.",
                where=str(folder),
                hint="give a folder of proctor learn localize, or of proctor learn decode with --truth",
            )
    order, decoded = folder / "order.jsonl", folder / "decoded.csv"
    lines: list[OrderLine] = read_jsonl(order, OrderLine) if order.is_file() else []
    twice = [name for name, n in Counter(line.recording for line in lines).items() if n > 1]
    if twice:
        raise UserError(
            f"recording {twice[0]!r} is there twice.", where=str(order), hint="run proctor learn decode again"
        )
    if bool(lines) != decoded.is_file():
        raise UserError(
            f"of {order.name} and {decoded.name} there is only one.",
            where=str(folder),
            hint="run proctor learn decode again, or remove both",
        )
    return _Run(
        folder,
        name,
        read_ground_truth(folder / TRUTH).trimmed(),
        read_predictions(folder / PREDICTIONS).trimmed(),
        read_predictions(folder / "rescored.csv") if (folder / "rescored.csv").is_file() else None,
        read_predictions(decoded) if decoded.is_file() else None,
        {line.recording: line for line in lines},
    )


def _about(
    annotations: Path | None, runs: Sequence[_Run]
) -> tuple[dict[str, str], dict[tuple[str, str], str], dict[str, float]]:
    """Return activity by recording, text by recording and step, and length by recording, from annotations or order.jsonl."""
    activities: dict[str, str] = {}
    texts: dict[tuple[str, str], str] = {}
    lengths: dict[str, float] = {}
    for run in runs:
        for line in run.order.values():
            activities.setdefault(line.recording, line.activity)
            texts |= {(line.recording, step): text for step, text in line.texts.items()}
    if annotations is not None:
        from proctor.learn.localize.data import localize_data
        from proctor.learn.samples import read_step_data

        steps, _ = read_step_data(annotations)
        data = localize_data(steps)
        for id_, recording in data.recordings.items():
            named = steps.performances[id_].recording.activity_name
            activities[id_], lengths[id_] = named or recording.activity_id, recording.seconds
            texts |= {(id_, span.step): data.texts[span.step] for span in recording.spans}
    return activities, texts, lengths


def _recording(
    video: str, runs: Sequence[_Run], activity: str, texts: Mapping[tuple[str, str], str], seconds: float
) -> RecordingLines:
    truth: dict[str, list[tuple[float, float]]] = {}
    for step, start, end, _ in sorted(_of(runs[0].truth, video), key=lambda row: (row[1], row[2], row[0])):
        truth.setdefault(step, []).append((start, end))
    lines = [_line(run, video, truth) for run in runs]
    missing = sorted({step for line in lines for step in (*line.missing, *(line.decoded or ()))} - set(truth))
    steps = [
        StepLine(s, render_step(texts.get((video, s), "")), tuple(truth.get(s, ())))
        for s in (*truth, *missing)
    ]
    last = max((end for times in truth.values() for _, end in times), default=0.0)
    return RecordingLines(video, activity, max(seconds, last), tuple(steps), tuple(lines))


def _line(run: _Run, video: str, truth: Mapping[str, Sequence[tuple[float, float]]]) -> RunLine:
    order = run.order.get(video)
    own = None if order is None else {*order.steps, *order.missing}
    best: dict[str, tuple[float, float, float]] = {}
    for step, start, end, score in _of(run.predictions, video):
        if (step in truth or own is None or step in own) and (
            step not in best or (score, -start, -end) > best[step]
        ):
            best[step] = (score, -start, -end)
    found = {
        step: (-start, -end) for step, (_, start, end) in best.items() if step in truth or own is not None
    }
    decoded = None
    if run.decoded is not None and order is not None:
        decoded = {step: (start, end) for step, start, end, _ in _of(run.decoded, video)}
    used = found if decoded is None else decoded
    overlaps = [max(_iou(used[s], t) for t in times) if s in used else 0.0 for s, times in truth.items()]
    return RunLine(
        run.name, found, decoded,
        () if order is None else order.missing,
        {} if order is None else dict(order.out_of_order),
        float(np.mean(overlaps)) if overlaps else 0.0,
    )  # fmt: skip


def _of(segments: Segments, video: str) -> list[tuple[str, float, float, float]]:
    """Return step, start, end and score of a recording's segments."""
    rows = np.flatnonzero(segments.in_videos([video]))
    score = np.zeros(len(segments)) if segments.score is None else segments.score
    return [
        (
            str(segments.labels[segments.label[r]]),
            float(segments.start[r]),
            float(segments.end[r]),
            float(score[r]),
        )
        for r in rows.tolist()
    ]


def _iou(one: tuple[float, float], other: tuple[float, float]) -> float:
    shared = max(0.0, min(one[1], other[1]) - max(one[0], other[0]))
    whole = one[1] - one[0] + other[1] - other[0] - shared
    return shared / whole if whole > 0 else 0.0


def _figures(run: _Run, videos: set[str]) -> list[RunFigures]:
    truth = run.truth.take(run.truth.in_videos(videos))
    lines: list[RunFigures] = []
    for segments, what in ((run.predictions, "as predicted"), (run.rescored, "rescored")):
        if segments is not None:
            with explained(run.folder):
                scores = localization_scores(truth, segments.take(segments.in_videos(videos)))
            picked = [
                *scores.mean_ap[[0, 2, 4]].tolist(),
                scores.average_map,
                float(scores.mean_recall[1][4]),
            ]
            lines.append(RunFigures(run.name, what, tuple(100 * v for v in picked)))
    return lines
