"""Rounds of timelines: tasks out of recordings and their videos, and one annotation of what people marked. docs/rounds.md."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from proctor.datasets.interchange import find_format, guess_format
from proctor.datasets.plain import write_plain
from proctor.errors import UserError
from proctor.media.steady import check_steady
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Action, Mistake, Recording, Segment
from proctor.records import Dropped, is_there, read_bytes, read_jsonl, write_jsonl
from proctor.settings import option
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import Given
from proctor.stages.scoring.localization import read_predictions
from proctor.stages.videos import VIDEO_SUFFIXES, workspace_videos
from proctor.verify.rounds.records import Reading, Round
from proctor.verify.rounds.timeline import (
    SegmentMark,
    TimelineOptions,
    TimelineSheet,
    TimelineStep,
    TimelineTask,
    frame_at,
)
from proctor.verify.rounds.timeline_settle import Decision, Settled, settle, timeline_agreement
from proctor.workspace import Workspace

__all__ = ["TimelineSettings", "collect", "make"]

_FRAMES = "label-studio-frames"
_INSTRUCTIONS = """\
Mark each step from its first movement to its last, what belongs to it before and after included. Go through the steps in
their order: `I` is the start, `O` the end. A step that is done in two stretches has two segments, and steps may overlap.

Then say what went wrong. A step that was left out has no segment and the tag *Missing step*. A step may have several tags,
each with a sentence of its own about what was seen. Review the boundaries before you submit (`R`).
"""


class TimelineSettings(Given, frozen=True, kw_only=True):
    """Which recordings are annotated."""

    videos: Annotated[Path | None, option("Folder of the videos; that of the data set by default.")] = None
    graph: Annotated[
        str, option("Task graph of the workspace that all videos of the folder follow, recordings or not.")
    ] = ""
    steps: Annotated[
        Path | None,
        option("The same from a file: a task graph, or text with one step a line.", metavar="FILE"),
    ] = None
    recording: Annotated[tuple[str, ...], option("Only this recording (repeatable).")] = ()
    prelabels: Annotated[
        Path | None, option("Segments to begin with: predictions of a localizer, as 'score' reads them.")
    ] = None
    incomplete: Annotated[bool, option("Steps may be left unmarked without being missing.")] = False
    least_iou: Annotated[float, option("Overlap from which two segments agree.", ge=0.01, le=1)] = 0.5
    format: Annotated[
        tuple[str, ...],
        option(
            f"Write what is settled in this format, too (repeatable): elan, webvtt, label-studio, {_FRAMES}, …"
        ),
    ] = ()


# -- making ------------------------------------------------------------------------------------------------------


def make(workspace: Workspace, settings: TimelineSettings) -> Made:
    """Return a task for each recording with a video.

    Raises:
        UserError: if there are no recordings or videos, or videos are not steady, with what makes them so.
    """
    for name in settings.format:
        find_format(name.removesuffix("-frames") if name == _FRAMES else name)
    found = list(_recordings(workspace, settings))
    unknown = set(settings.recording) - {id_ for id_, _, _ in found}
    if unknown or not found:
        seen = f"there is no recording '{min(unknown)[:60]}'." if unknown else "there are no recordings."
        raise UserError(
            seen, where=str(settings.videos or workspace.root), hint="see --videos, --graph and --steps"
        )
    videos = workspace_videos(workspace, settings.videos, [id_ for id_, _, _ in found])
    labels = _prelabels(settings.prelabels) if settings.prelabels else {}
    tasks, dropped, unsteady = [], [], []
    for id_, graph, named in found:
        if settings.recording and id_ not in settings.recording:
            continue
        try:
            path = videos.find(id_, named)
        except UserError as error:
            dropped.append(Dropped(id_, "no_video", error.message))
            continue
        if path is None:
            raise UserError("it is not known where the videos are.", hint="say --videos FOLDER")
        try:
            steady = check_steady(path)
        except UserError as error:
            unsteady.append(str(error))
            continue
        task = TimelineTask(
            recording=id_, title=graph.name, activity=graph.id, video=videos.name(path),
            duration_s=float(steady.duration), frames=steady.frames,
            fps_num=steady.fps.numerator, fps_den=steady.fps.denominator,
            steps=tuple(TimelineStep(id=s.id, text=s.text, optional=s.optional) for s in graph.actions),
            script=tuple(s for s in graph.topological_order() if s not in (graph.start, graph.end)),
            before=tuple(e for e in graph.edges if graph.start not in e and graph.end not in e),
        )  # fmt: skip
        marks = tuple(_marks(task, labels.get(id_, ())))
        if labels and not marks:
            dropped.append(Dropped(f"{id_}/prelabels", "no_prelabels", "no prediction names a step of it"))
        tasks.append(
            task_of(id_, msgspec.structs.replace(task, prelabels=marks), group=id_, stratum=graph.id)
        )
    if unsteady:
        raise UserError(
            "\n".join([f"{len(unsteady)} videos cannot be annotated by frames.", *unsteady]),
            hint="make them so with the commands above, or choose others with --recording",
        )
    options = TimelineOptions(
        complete=not settings.incomplete, least_iou=settings.least_iou, formats=settings.format
    )
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def _recordings(
    workspace: Workspace, settings: TimelineSettings
) -> Iterator[tuple[str, TaskGraph, str | None]]:
    """Yield ids with task graphs and named videos: of the workspace, or of a folder whose videos follow one graph."""
    if settings.steps is None and not settings.graph:
        graphs = workspace.graphs()
        for recording in workspace.load("recordings.jsonl", Recording):
            if recording.activity_id in graphs:
                yield recording.id, graphs[recording.activity_id], recording.video
        return
    if settings.steps is not None:
        graph = _steps(settings.steps)
    elif settings.graph in (graphs := workspace.graphs()):
        graph = graphs[settings.graph]
    else:
        known = ", ".join(list(graphs)[:20])
        raise UserError(
            f"there is no task graph '{settings.graph[:60]}' in the workspace.", hint=f"known: {known}"
        )
    if settings.videos is None or not settings.videos.is_dir():
        raise UserError("a folder of videos is needed.", hint="say --videos FOLDER")
    files = sorted(p for p in settings.videos.iterdir() if p.suffix.lower() in VIDEO_SUFFIXES)
    yield from ((p.stem, graph, p.name) for p in files if not p.name.startswith("."))


def _steps(path: Path) -> TaskGraph:
    if path.suffix.lower() == ".txt":
        lines = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
        texts = [line.strip() for line in lines if line.strip()]
        if not texts:
            raise UserError("there are no steps in it.", where=str(path), hint="write one step a line")
        return TaskGraph(path.stem, path.stem, tuple(Step(str(n), t) for n, t in enumerate(texts, 1)))
    format_ = guess_format(path, "graph", to_read=True)
    graphs = format_.read(path).objects if format_.read else ()
    if len(graphs) != 1 or not isinstance(graphs[0], TaskGraph):
        raise UserError(
            f"there are {len(graphs)} task graphs in it.", where=str(path), hint="give a file with one"
        )
    return graphs[0]


_Label = tuple[str, float, float, float]
"""Name of a step, start and end in seconds, confidence."""


def _prelabels(path: Path) -> dict[str, list[_Label]]:
    """Return predictions by recording, the surest first."""
    found: dict[str, list[_Label]] = {}
    rows = read_predictions(path)
    score = [1.0] * len(rows) if rows.score is None else rows.score.tolist()
    codes = (rows.video.tolist(), rows.label.tolist(), rows.start.tolist(), rows.end.tolist())
    for video, label, start, end, sure in zip(*codes, score, strict=True):
        found.setdefault(str(rows.videos[video]), []).append((str(rows.labels[label]), start, end, sure))
    return {video: sorted(labels, key=lambda one: (-one[3], one[1:3])) for video, labels in found.items()}


def _marks(task: TimelineTask, labels: Sequence[_Label]) -> Iterator[SegmentMark]:
    """Yield the surest segment of each step; steps are named by id, ``activity/id`` or text."""
    names = {s.text: s.id for s in task.steps}
    names |= {name: s.id for s in task.steps for name in (s.id, f"{task.activity}/{s.id}")}
    seen: set[str] = set()
    for label, start, end, _ in labels:
        step, last = names.get(label), min(end, task.duration_s)
        if step is not None and step not in seen and 0 <= start < last:
            seen.add(step)
            yield SegmentMark(id=f"p{len(seen)}", step=step, start_s=start, end_s=last)


# -- collecting --------------------------------------------------------------------------------------------------


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write one annotation of each recording, as a plain folder ``annotated`` for ``read plain``, and what is open.

    Of recordings with an open step nothing is written but ``open.jsonl``; ``decisions.jsonl`` beside it, which people
    write, says whose word counts (``Decision``).

    Raises:
        UserError: if the decisions cannot be read, or a file cannot be written.
    """
    folder = out or workspace.root / "rounds" / round_.name
    options = msgspec.json.decode(round_.options, type=TimelineOptions)
    marked: dict[str, tuple[TimelineTask, dict[str, TimelineSheet]]] = {}
    bodies = {t.name: msgspec.json.decode(t.body, type=TimelineTask) for t in round_.tasks}
    for one in readings:
        if one.counts:
            by = marked.setdefault(one.task, (bodies[one.task], {}))[1]
            by[one.person] = msgspec.json.decode(one.sheet, type=TimelineSheet)
    path = folder / "decisions.jsonl"
    decisions = read_jsonl(path, Decision) if is_there(path) else []
    settled = {name: settle(task, by, decisions, options.least_iou) for name, (task, by) in marked.items()}
    whole = [
        _recording(marked[name][0], one, len(marked[name][1])) for name, one in settled.items() if one.whole
    ]
    left = [part for one in settled.values() for part in one.open]
    write_jsonl(folder / "open.jsonl", left)
    write_jsonl(folder / "segments.jsonl", _rows(marked))
    files = [folder / "open.jsonl", folder / "segments.jsonl"]
    dropped: list[Dropped] = []
    if whole:
        graphs = {task.activity: _graph(task) for task, _ in marked.values()}
        used = {r.activity_id: graphs[r.activity_id] for r in whole}
        write_plain(_fresh(folder / "annotated"), whole, used)
        files.append(folder / "annotated")
        for name in options.formats:
            files.append(_export(folder, name, whole, used, dropped))
    write_jsonl(folder / "dropped.jsonl", dropped)
    figures = timeline_agreement(marked)
    steps = Counter(part.recording for part in left if part.step != "actions")
    lines = [
        f"{len(whole)} of {len(marked)} recordings are settled",
        *(f"{name}: {count} steps are open, see open.jsonl" for name, count in sorted(steps.items())),
        f"agreement over {figures.recordings} recordings: IoU per step {_said(figures.iou)}, boundaries "
        f"{_said(figures.boundary_median)} s (median) and {_said(figures.boundary_p90)} s (90 %), F1 "
        + ", ".join(f"{_said(f1)} at IoU {t}" for t, f1 in figures.f1.items()),
        f"error tags: {_said(figures.tags)} the same, kappa {_said(figures.tags_kappa)}",
        f"actions: F1 {_said(figures.actions_f1['0.5'])} at IoU 0.5; of {figures.actions} pairs "
        f"{_said(figures.verbs)} the same verb, {_said(figures.nouns)} the same noun",
    ]
    if dropped:
        lines.append(f"{len(dropped)} things have no place in a format, see dropped.jsonl")
    return Collected(files=tuple(files), lines=tuple(lines), figures=figures)


def _said(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _rows(marked: Mapping[str, tuple[TimelineTask, dict[str, TimelineSheet]]]) -> Iterator[dict[str, Any]]:
    """Yield every segment of everybody with its frames, and narrations."""
    for task, by in marked.values():
        for person, sheet in sorted(by.items()):
            head = {"recording": task.recording, "person": person}
            fps = {"fps_num": task.fps_num, "fps_den": task.fps_den}
            for s in sheet.segments:
                frames = {
                    "start_frame": frame_at(s.start_s, task.fps),
                    "end_frame": frame_at(s.end_s, task.fps),
                }
                yield head | {"step": s.step, "start_s": s.start_s, "end_s": s.end_s} | frames | fps
            yield from (head | {"video_s": n.video_s, "text": n.text, "asr": n.asr} for n in sheet.narrations)


def _graph(task: TimelineTask) -> TaskGraph:
    steps = tuple(Step(s.id, s.text, s.optional) for s in task.steps)
    return TaskGraph(task.activity, task.title, steps, task.before)


def _recording(task: TimelineTask, settled: Settled, people: int) -> Recording:
    """Return the recording; errors of a step in several stretches stand at the first."""
    texts = {s.id: s.text for s in task.steps}
    segments = []
    for step, (spans, errors) in settled.steps.items():
        mistakes = tuple(Mistake(e.tag, e.text) for e in errors)
        times: list[tuple[float, float] | tuple[None, None]] = [*spans]
        for n, (start, end) in enumerate(times or ([(None, None)] if errors else [])):
            segments.append(Segment(step, texts[step], start, end, mistakes=() if n else mistakes))
    return Recording(
        id=task.recording,
        activity_id=task.activity,
        activity_name=task.title,
        segments=tuple(sorted(segments, key=lambda s: -1.0 if s.start is None else s.start)),
        duration=task.duration_s,
        video=task.video or None,
        attributes={"fps": str(task.fps), "annotators": str(people)},
        actions=tuple(Action(*done[:5], done[5] or None) for done in settled.actions),
    )


def _export(
    folder: Path, name: str, whole: list[Recording], graphs: dict[str, TaskGraph], dropped: list[Dropped]
) -> Path:
    format_ = find_format("label-studio" if name == _FRAMES else name)
    each = not format_.suffixes or format_.name in ("elan", "webvtt", "srt")
    path = _fresh(folder / (name if each else name + format_.suffixes[0]))
    given: dict[str, Any] = {"convention": "frames"} if name == _FRAMES else {}
    if format_.carries_graphs:
        given["graphs"] = graphs
    if format_.write is None or format_.kind != "recordings":
        raise UserError(f"'{name}' holds no recordings, or is only read.", hint="choose another --format")
    dropped.extend(format_.write(whole, path, **given))
    return path


def _fresh(path: Path) -> Path:
    """Return a place that an earlier collection may have filled, empty."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    return path
