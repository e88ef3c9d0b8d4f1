"""Rounds of timelines: tasks out of recordings and their videos, and one annotation of what people marked. docs/rounds.md."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.capture.records import SCRIPT, Script, recording_folder
from proctor.datasets.dataset import load_dataset
from proctor.datasets.interchange import guess_format
from proctor.datasets.plain import write_plain
from proctor.errors import UserError
from proctor.media.steady import check_steady
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.records import Dropped, is_there, read_bytes, read_json, read_jsonl, write_jsonl
from proctor.said import say_in
from proctor.stages.rounds.opening import Collected, Made, folder_of, task_of
from proctor.stages.rounds.settings import TimelineSettings
from proctor.stages.rounds.transcribe import write_narrations
from proctor.stages.scoring.localization import read_predictions
from proctor.stages.videos import VIDEO_SUFFIXES, workspace_videos
from proctor.verify.rounds.records import Reading, Round
from proctor.verify.rounds.timeline import (
    TAGS,
    ErrorMark,
    SegmentMark,
    TimelineOptions,
    TimelineSheet,
    TimelineStep,
    TimelineTask,
)
from proctor.verify.rounds.timeline_settle import ACTIONS, Decision, settle, timeline_agreement
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_INSTRUCTIONS = say_in(
    "a shipped round",
    """\
Mark each step from its first movement to its last: `I` is the start, `O` the end. A step that is done in two stretches has two
segments, and steps may overlap. A step that was left out has no segment and the tag *Missing step*. A step may have several
tags, each with a sentence about what was seen. Review the boundaries before you submit (`R`).
""",
)


def make(workspace: Workspace, settings: TimelineSettings) -> Made:
    """Return a task for each recording with a video.

    Raises:
        UserError: if there are no recordings or videos, or videos are not steady, with what makes them so.
    """
    found = list(_recordings(workspace, settings))
    ids = [one[0] for one in found if not settings.recording or one[0] in settings.recording]
    if unknown := sorted({*settings.recording} - {*ids}) or ([] if ids else ["…"]):
        where, hint = str(settings.videos or workspace.root), "see --videos, --steps"
        raise UserError(f"there is no recording '{unknown[0][:60]}'.", where=where, hint=hint)
    videos = workspace_videos(workspace, settings.videos, ids)
    labels = _prelabels(settings.prelabels) if settings.prelabels else {}
    keys = _own_steps(workspace) if labels else {}
    tasks, dropped, unsteady = [], [], []
    for id_, graph, named, noted in (one for one in found if one[0] in ids):
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
            script=tuple(s for s in graph.topological_order if s not in (graph.start, graph.end)),
            before=tuple(e for e in graph.edges if graph.start not in e and graph.end not in e),
        )  # fmt: skip
        marks = tuple(_marks(task, labels.get(id_, []), keys))
        if labels and not marks:
            dropped.append(Dropped(id_, "no_prelabels", "no prediction is of one of its steps"))
        body = _as_scripted(workspace, msgspec.structs.replace(task, prelabels=marks), noted)
        tasks.append(task_of(id_, body, group=id_, stratum=graph.id))
    if unsteady:
        seen = f"{len(unsteady)} of the videos cannot be annotated by frames."
        raise UserError("\n".join([seen, *unsteady]), hint="choose others with --recording")
    options = TimelineOptions(complete=not settings.incomplete, least_iou=settings.least_iou)
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def _recordings(
    workspace: Workspace, settings: TimelineSettings
) -> Iterator[tuple[str, TaskGraph, str | None, tuple[Segment, ...]]]:
    """Yield ids with task graphs, named videos and segments: of the workspace, or of a folder whose videos follow one graph."""
    if not settings.steps:
        graphs = workspace.graphs()
        for recording in workspace.load("recordings.jsonl", Recording):
            if recording.activity_id in graphs:
                yield recording.id, graphs[recording.activity_id], recording.video, recording.performed
        return
    if settings.videos is None or not settings.videos.is_dir():
        raise UserError("a folder of videos is needed.", hint="say --videos FOLDER")
    graph = _steps(workspace, settings.steps)
    for path in sorted(settings.videos.iterdir()):
        if path.suffix.lower() in VIDEO_SUFFIXES and not path.name.startswith("."):
            yield path.stem, graph, path.name, ()


def _steps(workspace: Workspace, name: str) -> TaskGraph:
    known = workspace.known_graphs()
    if name in known:
        return known[name]
    path = Path(name)
    if path.suffix.lower() == ".txt":
        lines = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
        steps = [Step(str(n), text) for n, text in enumerate(filter(None, map(str.strip, lines)), 1)]
        graphs: Sequence[object] = [TaskGraph(path.stem, path.stem, tuple(steps))] if steps else []
    else:
        read = guess_format(path, "graph", to_read=True).read
        graphs = read(path).objects if read else ()
    if len(graphs) != 1 or not isinstance(graphs[0], TaskGraph):
        raise UserError(f"there are {len(graphs)} task graphs in it.", where=name, hint="give a file of one")
    return graphs[0]


def _prelabels(path: Path) -> dict[str, list[tuple[float, float, float, str]]]:
    """Return predictions by recording, the surest first: minus their confidence, start, end and label."""
    rows = read_predictions(path)
    found: dict[str, list[tuple[float, float, float, str]]] = {}
    for n, video in enumerate(rows.video.tolist()):
        sure = 0.0 if rows.score is None else float(rows.score[n])
        label = (-sure, float(rows.start[n]), float(rows.end[n]), str(rows.labels[rows.label[n]]))
        found.setdefault(str(rows.videos[video]), []).append(label)
    return {video: sorted(labels) for video, labels in found.items()}


def _own_steps(workspace: Workspace) -> dict[str, dict[str, str]]:
    """Return the steps of task graphs by activity and by the data set's own step ids, which localizers learn."""
    read = workspace.stages().get("read")
    folder = Path(read.settings["folder"]) if read is not None else Path()
    performances = load_dataset(read.settings["dataset"]).performances if read is not None else None
    found: dict[str, dict[str, str]] = {}
    for one in performances(folder).all if performances is not None and folder.is_dir() else ():
        steps = {key: s.step_id for key, s in zip(one.keys, one.recording.segments, strict=True)}
        found.setdefault(one.recording.activity_id, {}).update(steps)
    return found


def _marks(
    task: TimelineTask, labels: list[tuple[float, float, float, str]], keys: Mapping[str, Mapping[str, str]]
) -> Iterator[SegmentMark]:
    """Yield the surest segment of each step; a step is named by the data set's own id, else by id, ``activity/id`` or text."""
    known = {s.id for s in task.steps}
    names = {name: s.id for s in task.steps for name in (s.text, f"{task.activity}/{s.id}")}
    names |= {id_: id_ for id_ in known if not any(id_ in own for own in keys.values())}
    names |= {key: step for key, step in keys.get(task.activity, {}).items() if step in known}
    seen: set[str] = set()
    for _, start, end, label in labels:
        step, last = names.get(label, ""), min(end, task.duration_s)
        if step and step not in seen and 0 <= start < last:
            seen.add(step)
            yield SegmentMark(id=f"p{len(seen)}", step=step, start_s=start, end_s=last)


def _as_scripted(workspace: Workspace, task: TimelineTask, noted: tuple[Segment, ...]) -> TimelineTask:
    """Return the task with what was planned and noted while it was recorded here: order, mistakes, times of steps.

    Predictions that were asked for take the place of the noted times.
    """
    try:
        path = recording_folder(workspace.root, task.recording) / SCRIPT
    except UserError:  # an id of another data set, which no recording of ours has
        return task
    if not is_there(path):
        return task
    script: Script = read_json(path, Script)
    known = {s.id for s in task.steps}
    planned = (m for m in script.mistakes if m.step in known and m.kind in TAGS)
    times = ((s.step_id, s.start, s.end) for s in noted if s.step_id in known)
    marks = tuple(
        SegmentMark(id=f"e{n}", step=step, start_s=start, end_s=min(end, task.duration_s))
        for n, (step, start, end) in enumerate(times, 1)
        if start is not None and end is not None and start < task.duration_s
    )
    return msgspec.structs.replace(
        task,
        prelabels=task.prelabels or marks,
        script=tuple(s.step for s in script.steps if s.step in known),
        planned=tuple(ErrorMark(step=m.step, tag=m.kind, text=m.text, origin="script") for m in planned),  # type: ignore[arg-type]
    )


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write one annotation of each recording, as a plain folder ``annotated`` for ``read plain``, and what is open.

    A recording with an open step is in ``open.jsonl`` alone; ``decisions.jsonl`` beside it, which people write, says whose word
    counts (``Decision``).

    Raises:
        UserError: if the decisions cannot be read, or a file cannot be written.
    """
    folder = out or folder_of(workspace, round_)
    options = msgspec.json.decode(round_.options, type=TimelineOptions)
    marked: dict[str, tuple[TimelineTask, dict[str, TimelineSheet]]] = {}
    for one in readings:
        if one.counts:
            task = msgspec.json.decode(one.body, type=TimelineTask)
            sheet = msgspec.json.decode(one.sheet, type=TimelineSheet)
            marked.setdefault(one.task, (task, {}))[1][one.person] = sheet
    path = folder / "decisions.jsonl"
    decisions: list[Decision] = read_jsonl(path, Decision) if is_there(path) else []
    found = [settle(task, by, decisions, options.least_iou) for task, by in marked.values()]
    open_ = [part for _, parts in found for part in parts]
    whole = [recording for recording, parts in found if all(part.step == ACTIONS for part in parts)]
    files = [folder / "open.jsonl"]
    write_jsonl(files[0], open_)
    files += write_narrations(workspace, folder, readings)
    if whole:
        graphs = {}
        for task in (marked[recording.id][0] for recording in whole):
            steps = tuple(Step(s.id, s.text, s.optional) for s in task.steps)
            graphs[task.activity] = TaskGraph(task.activity, task.title, steps, task.before)
        files.append(folder / "annotated")
        if files[-1].is_dir() and not files[-1].is_symlink():
            shutil.rmtree(files[-1])  # of an earlier collection
        write_plain(files[-1], whole, graphs)
    agreement = timeline_agreement(marked)
    said = (f"{name} {'–' if value is None else f'{value:.3f}'}" for name, value in agreement.figures.items())
    lines = (
        f"{len(whole)} of {len(marked)} recordings are settled, {len(open_)} entries are in open.jsonl",
        f"agreement over {agreement.recordings} recordings: {', '.join(said)}",
        *([f"next: proctor read plain {files[-1]} FOLDER"] if whole else []),
    )
    return Collected(files=tuple(files), lines=lines, figures=agreement)
