"""CaptainCook4D: 384 recordings of 24 recipes with step times, mistakes and task graphs.

Reads ``annotation_json/error_annotations.json`` (steps, times, mistakes), ``complete_step_annotations.json``
(activity names, person, environment) and ``task_graphs/*.json``; ``metadata/video_information.csv`` (duration)
and ``no_4k_video.json`` (recordings without a 4K video) are used when present. promqa.md sections 1 and 2.

Two correction modes. ``published`` reproduces the annotations behind the ProMQA release, including one
correction that went into the wrong recording. ``corrected`` puts that right, applies rules R2 to R5 to whatever
the hand-made patches do not cover, and gives a *skipped* step of a repeated text the node of its place in the
file, where the release gives it the first one.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.corrections import Patch, PatchFile, load_patches
from proctor.datasets.dataset import Correction, Corrections, DataFile, Dataset, Finding, ReadResult
from proctor.datasets.lint import empty_order_mistakes, lint_recording
from proctor.errors import UserError
from proctor.procedure.graph import GraphError, Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment, mistake_kind
from proctor.records import Dropped, read_bytes, read_json

__all__ = ["DATASET", "activity_key", "read_graphs"]

ERRORS: Final = "annotation_json/error_annotations.json"
COMPLETE: Final = "annotation_json/complete_step_annotations.json"
VIDEOS: Final = "metadata/video_information.csv"
NO_4K: Final = "no_4k_video.json"
_ID: Final = "recording_id"
_SECONDS: Final = "duration(sec)"


# -- the files as they are -------------------------------------------------------------------------------------


class _RawMistake(msgspec.Struct):
    tag: str
    description: str


class _RawStep(msgspec.Struct):
    description: str
    step_id: int
    start_time: float
    end_time: float
    errors: list[_RawMistake] = []
    modified_description: str | None = None


class _RawRecording(msgspec.Struct):
    recording_id: str
    activity_id: int
    is_error: bool
    step_annotations: list[_RawStep]


class _RawInfo(msgspec.Struct):
    activity_id: int
    activity_name: str
    person_id: int
    environment: int


class _RawGraph(msgspec.Struct):
    steps: dict[str, str]
    edges: list[tuple[int, int]]


class _No4k(msgspec.Struct):
    recordings: list[str]


@dataclass(frozen=True, slots=True)
class _Video:
    """A row of the table of videos: seconds, and the person that it names (which is not always the JSON's)."""

    duration: float
    person: str


@dataclass(slots=True)
class _Raw:
    """Everything that was in the folder, decoded but not interpreted."""

    recordings: list[_RawRecording]
    infos: dict[str, _RawInfo]
    graphs: dict[str, TaskGraph]
    videos: dict[str, _Video]
    no_4k: frozenset[str] = frozenset()


def activity_key(name: str) -> str:
    """Return the file name that a recipe's task graph has: lower case, no spaces."""
    return "".join(name.lower().split())


def read_graphs(root: Path) -> dict[str, TaskGraph]:
    """Return the task graphs of a folder, keyed by ``activity_key``; their ids are the keys too.

    Raises:
        UserError: if there is none, or one is broken or cyclic.
    """
    paths = sorted((root / "task_graphs").glob("*.json"))
    if not paths:
        raise UserError("there are no task graphs (*.json) in it.", where=str(root / "task_graphs"))
    return {path.stem: _graph(path) for path in paths}


def _graph(path: Path) -> TaskGraph:
    raw: _RawGraph = read_json(path, _RawGraph)
    strange = [key for key in raw.steps if not key.isdecimal()]
    if strange:
        raise UserError(f"the step id {strange[0]!r} is not a number.", where=f"{path}: steps")
    if not raw.steps:
        raise UserError("the graph has no steps.", where=f"{path}: steps")
    start, end = (min(raw.steps, key=int), max(raw.steps, key=int))
    steps = tuple(Step(key, text) for key, text in raw.steps.items())
    edges = tuple((str(a), str(b)) for a, b in raw.edges)
    try:
        return TaskGraph(path.stem, path.stem, steps, edges, start, end)
    except GraphError as error:
        raise UserError(f"{error}.", where=str(path), hint="mend the edges of the file") from None


def _read_raw(root: Path) -> _Raw:
    DATASET.require_files(root)
    recordings: list[_RawRecording] = read_json(root / ERRORS, list[_RawRecording])
    if not recordings:
        raise UserError("it holds no recordings.", where=str(root / ERRORS))
    twice = [i for i, n in Counter(r.recording_id for r in recordings).items() if n > 1]
    if twice:
        raise UserError(f"recording id '{twice[0]}' occurs more than once.", where=str(root / ERRORS))
    infos: dict[str, _RawInfo] = read_json(root / COMPLETE, dict[str, _RawInfo])
    no_4k: _No4k = read_json(root / NO_4K, _No4k) if _is_there(root / NO_4K) else _No4k([])
    videos = _read_videos(root / VIDEOS) if _is_there(root / VIDEOS) else {}
    return _Raw(recordings, infos, read_graphs(root), videos, frozenset(no_4k.recordings))


def _is_there(path: Path) -> bool:
    """True when there is a file or a link, even one that leads nowhere: that has to be told, not passed over."""
    return path.exists() or path.is_symlink()


def _read_videos(path: Path) -> dict[str, _Video]:
    """Return the row of every recording of the table.

    Raises:
        UserError: if the table cannot be read, a column is missing or a duration is no positive number.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text)))
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason} at byte {error.start}.", where=str(path)) from None
    except csv.Error as error:
        raise UserError(f"not a table: {error}.", where=str(path)) from None
    lacking = [c for c in (_ID, _SECONDS) if rows and c not in rows[0]]
    if lacking:
        raise UserError(f"the column '{lacking[0]}' is missing.", where=str(path))
    return {row[_ID]: _Video(_duration(row, path), row.get("person_id") or "") for row in rows}


def _duration(row: Mapping[str, str | None], path: Path) -> float:
    try:
        seconds = float(row[_SECONDS] or "")
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        seen = str(row[_SECONDS])[:40]
        raise UserError(
            f"the duration of '{str(row[_ID])[:80]}' is {seen!r}, not seconds.", where=f"{path}: {_SECONDS}"
        )
    return seconds


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Log:
    """What happens to the annotations on their way, collected for ``ReadResult``."""

    corrections: list[Correction] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def _read(root: Path, mode: Corrections) -> ReadResult:
    raw = _read_raw(root)
    patches, log = load_patches("captaincook4d"), _Log()
    changed = DATASET.changed_files(root)
    log.findings += [
        Finding("checksum", path, "differs from the release that the corrections were made for")
        for path in changed
    ]
    graphs: dict[str, TaskGraph] = {}
    recordings = []
    for source in raw.recordings:
        graph = _graph_of(source, raw, log)
        if graph is None:
            continue
        recording = _recording(source, graph, raw, mode, patches, log)
        if recording is not None:
            graphs[graph.id] = graph
            recordings.append(recording)
    _report_unused(patches, raw, mode, log)
    return ReadResult(
        tuple(recordings),
        graphs,
        tuple(log.corrections),
        tuple(log.dropped),
        tuple(log.findings),
        count_oddities(raw, graphs, recordings),
    )


def _graph_of(source: _RawRecording, raw: _Raw, log: _Log) -> TaskGraph | None:
    info = raw.infos.get(source.recording_id)
    if info is None:
        log.dropped.append(Dropped(source.recording_id, "no_activity", f"not in {COMPLETE}"))
        return None
    graph = raw.graphs.get(activity_key(info.activity_name))
    if graph is None:
        log.dropped.append(
            Dropped(source.recording_id, "no_task_graph", f"no graph for '{info.activity_name}'")
        )
        return None
    return replace(graph, id=str(source.activity_id), name=info.activity_name)


def _recording(
    source: _RawRecording, graph: TaskGraph, raw: _Raw, mode: Corrections, patches: PatchFile, log: _Log
) -> Recording | None:
    steps = _patched(source, mode, patches, log)
    broken = next(filter(None, map(_broken_times, steps)), None)
    if broken:
        log.dropped.append(Dropped(source.recording_id, "bad_times", broken))
        return None
    if mode == "corrected":
        steps = _by_rules(source.recording_id, steps, graph, log)
    unknown = next((s for s in steps if not _nodes(graph, s.description)), None)
    if unknown is not None:
        log.dropped.append(
            Dropped(source.recording_id, "unknown_step", f"{unknown.description!r} is not in '{graph.name}'")
        )
        return None
    ids = _node_ids(steps, graph, by_place=mode == "corrected")
    order = sorted(range(len(steps)), key=lambda i: steps[i].start_time)
    segments = tuple(_segment(steps[i], ids[i]) for i in order)
    recording = _with_information(Recording(source.recording_id, graph.id, graph.name, segments), raw)
    return _without_empty_order_mistakes(recording, graph, patches, log) if mode == "corrected" else recording


def _broken_times(step: _RawStep) -> str:
    """Say what is wrong with the times of a step; empty when nothing is."""
    start, end = step.start_time, step.end_time
    if start == end == -1:
        return ""
    if not (math.isfinite(start) and math.isfinite(end)) or start < 0 or end < 0:
        return f"step {step.step_id}: times {start:g} and {end:g} s"
    return f"step {step.step_id}: it ends at {end:g} s and starts at {start:g} s" if end <= start else ""


def _segment(step: _RawStep, node: str) -> Segment:
    skipped = step.end_time < 0
    return Segment(
        step_id=node,
        text=step.description,
        start=None if skipped else step.start_time,
        end=None if skipped else step.end_time,
        performed=step.modified_description,
        mistakes=tuple(Mistake(mistake_kind(e.tag), e.description) for e in step.errors),
    )


def _with_information(recording: Recording, raw: _Raw) -> Recording:
    info = raw.infos[recording.id]
    attributes = {"person": str(info.person_id), "environment": str(info.environment)}
    if raw.no_4k:
        attributes["video_4k"] = "no" if recording.id in raw.no_4k else "yes"
    video = raw.videos.get(recording.id)
    return replace(recording, duration=video.duration if video else None, attributes=attributes)


# -- which node of the graph a step is -------------------------------------------------------------------------


def _nodes(graph: TaskGraph, text: str) -> list[str]:
    """Ids of the nodes with this text, in topological order."""
    return [i for i in graph.topological_order if graph[i].text == text]


def _node_ids(steps: Sequence[_RawStep], graph: TaskGraph, *, by_place: bool) -> list[str]:
    """Return the graph node of every step, in the order of ``steps``.

    A text that occurs once is that node. Of a text that occurs several times the nodes are handed out in
    topological order, the last one again for any further repetition. Published: in order of start time, so that
    skipped steps, which sort first, take the first node (promqa.md 2.1). ``by_place``: a skipped step keeps the
    node of its place in the file, and the performed ones share the others in order of time.
    """
    ids = [""] * len(steps)
    groups: dict[str, list[int]] = defaultdict(list)
    for i, step in enumerate(steps):
        groups[step.description].append(i)
    for text, members in groups.items():
        nodes = _nodes(graph, text)
        ordered = sorted(members, key=lambda i: steps[i].start_time)
        if by_place:
            timed = iter([i for i in ordered if steps[i].end_time >= 0])
            ordered = [i if steps[i].end_time < 0 else next(timed) for i in members]
        for n, i in enumerate(ordered):
            ids[i] = nodes[min(n, len(nodes) - 1)]
    return ids


# -- corrections -----------------------------------------------------------------------------------------------


def _patched(source: _RawRecording, mode: Corrections, patches: PatchFile, log: _Log) -> list[_RawStep]:
    """Apply the hand-made patches of a recording; every one is resolved on the untouched entries."""
    steps = [msgspec.structs.replace(s) for s in source.step_annotations]
    removed = set()
    for patch in patches.patches:
        if patch.recording != source.recording_id or mode not in patch.modes:
            continue
        place = _find(source.step_annotations, patch)
        if place is None or _value(source.step_annotations[place], patch) != patch.old:
            log.findings.append(
                Finding("patch", patch.place, f"expected {patch.field} {patch.old!r}; not applied")
            )
            continue
        if patch.field == "entry":
            removed.add(place)
        else:
            _set(steps[place], patch)
        log.corrections.append(_correction(patch))
    return [s for i, s in enumerate(steps) if i not in removed]


def _find(steps: Sequence[_RawStep], patch: Patch) -> int | None:
    places = [i for i, s in enumerate(steps) if s.step_id == patch.step]
    return places[patch.occurrence - 1] if patch.occurrence <= len(places) else None


def _value(step: _RawStep, patch: Patch) -> object:
    match patch.field:
        case "text" | "entry":
            return step.description
        case "performed":
            return step.modified_description
        case "times":
            return [step.start_time, step.end_time]
        case "mistakes":
            return [(e.tag, e.description) for e in step.errors]


def _set(step: _RawStep, patch: Patch) -> None:
    new = patch.new
    if patch.field == "text" and isinstance(new, str):
        step.description = new
    elif patch.field == "performed" and isinstance(new, str):
        step.modified_description = new
    elif patch.field == "times" and isinstance(new, list):
        step.start_time, step.end_time = (float(t) for t in new if not isinstance(t, tuple))
    elif patch.field == "mistakes" and isinstance(new, list):
        step.errors = [_RawMistake(*pair) for pair in new if isinstance(pair, tuple)]


def _correction(patch: Patch) -> Correction:
    return Correction(
        patch.recording,
        f"patch:{patch.field}",
        patch.reason,
        str(patch.step),
        _show(patch.old),
        _show(patch.new),
    )


def _show(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _report_unused(patches: PatchFile, raw: _Raw, mode: Corrections, log: _Log) -> None:
    known = {r.recording_id for r in raw.recordings}
    log.findings += [
        Finding("patch", p.place, "there is no such recording")
        for p in patches.patches
        if mode in p.modes and p.recording not in known
    ]


def _by_rules(recording_id: str, steps: list[_RawStep], graph: TaskGraph, log: _Log) -> list[_RawStep]:
    """Apply rules R2, R3 and R4 to what the patches left."""
    used = {s.description for s in steps}
    for step in steps:
        missing = any(e.tag == "Missing Step" for e in step.errors)
        if step.end_time < 0 and not missing:
            step.errors = [*step.errors, _RawMistake("Missing Step", "")]
            log.corrections.append(
                Correction(
                    recording_id, "R2", "no times, so it was not done", str(step.step_id), "", "missing"
                )
            )
        elif step.end_time >= 0 and missing:
            _mend_missing(recording_id, step, log)
        if not _nodes(graph, step.description):
            _mend_text(recording_id, step, graph, used, log)
    return steps


def _mend_missing(recording_id: str, step: _RawStep, log: _Log) -> None:
    """R3: with other mistakes it was done, badly; otherwise it was not done and the times are wrong."""
    others = [e for e in step.errors if e.tag != "Missing Step"]
    if others:
        step.errors = others
        reason, new = "marked missing, but other mistakes show that it was done", "not missing"
    else:
        step.start_time = step.end_time = -1.0
        reason, new = "marked missing, yet it carries times", "no times"
    log.corrections.append(Correction(recording_id, "R3", reason, str(step.step_id), "missing", new))


def _mend_text(recording_id: str, step: _RawStep, graph: TaskGraph, used: set[str], log: _Log) -> None:
    """R4: take the nearest text of the recipe that no other step of the recording has, if only one is near."""
    free = [
        (SequenceMatcher(None, step.description, s.text).ratio(), s.text)
        for s in graph.actions
        if s.text not in used
    ]
    near = [text for ratio, text in sorted(free, reverse=True) if ratio >= 0.6]
    if len(near) == 1 or (len(near) > 1 and sorted(free)[-1][0] - sorted(free)[-2][0] >= 0.1):
        log.corrections.append(
            Correction(
                recording_id,
                "R4",
                "nearest unused step of the recipe",
                str(step.step_id),
                step.description,
                near[0],
            )
        )
        step.description = near[0]
        used.add(near[0])


def _without_empty_order_mistakes(
    recording: Recording, graph: TaskGraph, patches: PatchFile, log: _Log
) -> Recording:
    """R5: drop order mistakes that no prerequisite supports, except those known to be genuine."""
    performed = [s for s in recording.segments if not s.skipped]
    segments = list(recording.segments)
    for position in empty_order_mistakes(recording, graph):
        segment = performed[position]
        if (recording.id, segment.step_id) in patches.genuine_order_mistakes:
            continue
        kept = tuple(m for m in segment.mistakes if m.kind != "order")
        segments[segments.index(segment)] = replace(segment, mistakes=kept)
        log.corrections.append(
            Correction(
                recording.id,
                "R5",
                "order mistake without a violated prerequisite",
                segment.step_id,
                "order",
                "",
            )
        )
    return replace(recording, segments=tuple(segments))


# -- checking --------------------------------------------------------------------------------------------------


def _as_annotated(source: _RawRecording, graph: TaskGraph) -> Recording:
    """Return the recording in file order with no correction; a step that is not in the graph has no id."""
    known = {s.text for s in graph.actions}
    steps = source.step_annotations
    ids = _node_ids([s for s in steps if s.description in known], graph, by_place=False)
    remaining = iter(ids)
    segments = tuple(_segment(s, next(remaining) if s.description in known else "") for s in steps)
    return Recording(source.recording_id, graph.id, graph.name, segments)


def _check(root: Path) -> tuple[Finding, ...]:
    raw, log = _read_raw(root), _Log()
    findings = [
        Finding("checksum", path, "differs from the known release") for path in DATASET.changed_files(root)
    ]
    for source in raw.recordings:
        graph = _graph_of(source, raw, log)
        if graph is not None:
            findings += lint_recording(_as_annotated(source, graph), graph)
    findings += [Finding(d.reason, d.id, d.detail) for d in log.dropped]
    return tuple(findings)


def count_oddities(
    raw: _Raw, graphs: Mapping[str, TaskGraph], recordings: Sequence[Recording]
) -> dict[str, int]:
    """Return the numbers of promqa.md 1.2 about the raw files, and about repeats after correction."""
    steps = [s for r in raw.recordings for s in r.step_annotations]
    skipped = [s for s in steps if s.start_time == s.end_time == -1]
    missing = [s for s in steps if any(e.tag == "Missing Step" for e in s.errors)]
    tags = Counter(e.tag for s in steps for e in s.errors)
    counts = {
        "recordings": len(raw.recordings),
        "error_recordings": sum(r.is_error for r in raw.recordings),
        "normal_recordings": sum(not r.is_error for r in raw.recordings),
        "activities": len({r.activity_id for r in raw.recordings}),
        "steps": len(steps),
        "skipped_steps_time_minus1": len(skipped),
        "missing_tag_steps": len(missing),
        "minus1_without_missing_tag": sum(s not in missing for s in skipped),
        "missing_tag_with_real_time": sum(s.end_time >= 0 for s in missing),
        "missing_tag_with_another_tag": sum(len({e.tag for e in s.errors}) > 1 for s in missing),
        "steps_with_errors": sum(bool(s.errors) for s in steps),
        "errors": sum(tags.values()),
        "modified_descriptions": sum(s.modified_description is not None for s in steps),
        "person_mismatch_video_information": sum(
            video.person not in ("", str(raw.infos[i].person_id))
            for i, video in raw.videos.items()
            if i in raw.infos
        ),
        "recordings_without_gopro_4k": sum(r.recording_id in raw.no_4k for r in raw.recordings),
    }
    counts |= {f"tags.{tag}": n for tag, n in tags.items()}
    counts |= _count_order(raw) | _count_labels(raw, graphs) | _count_text(steps)
    repeats = sum(
        n - 1 for r in recordings for n in Counter(s.step_id for s in r.performed).values() if n > 1
    )
    return counts | {"repeated_performed_ids_after_remap": repeats}


def _count_order(raw: _Raw) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for r in raw.recordings:
        starts = [s.start_time for s in r.step_annotations]
        timed = [s for s in r.step_annotations if s.end_time >= 0]
        counts["list_not_sorted_by_start_recordings"] += starts != sorted(starts)
        in_file = [s.start_time for s in timed]
        counts["performed_steps_not_in_start_order_recordings"] += in_file != sorted(in_file)
        pairs = list(pairwise(sorted(timed, key=lambda s: s.start_time)))
        counts["adjacent_pairs"] += len(pairs)
        counts["adjacent_overlap_gt2s"] += sum(a.end_time - b.start_time > 2 for a, b in pairs)
        counts["adjacent_near_identical"] += sum(
            abs(a.start_time - b.start_time) + abs(a.end_time - b.end_time) < 2 for a, b in pairs
        )
        spans = Counter((s.start_time, s.end_time) for s in timed)
        counts["identical_interval_pairs"] += sum(n * (n - 1) // 2 for n in spans.values())
        ids = Counter(s.step_id for s in r.step_annotations)
        counts["repeated_raw_step_ids.pairs"] += sum(n > 1 for n in ids.values())
        counts["repeated_raw_step_ids.recordings"] += any(n > 1 for n in ids.values())
    return dict(counts)


def _count_labels(raw: _Raw, graphs: Mapping[str, TaskGraph]) -> dict[str, int]:
    """Count texts that are in no graph, and texts whose node id is not the global id minus the offset."""
    offset: dict[int, int] = {}
    for r in raw.recordings:
        for s in r.step_annotations:
            offset[r.activity_id] = min(offset.get(r.activity_id, s.step_id), s.step_id)
    unknown = equal = 0
    for r in raw.recordings:
        graph = graphs.get(str(r.activity_id))
        if graph is None:
            continue
        texts = {s.text for s in graph.actions}
        for s in r.step_annotations:
            node = str(s.step_id - offset[r.activity_id] + 1)
            equal += node in graph and graph[node].text == s.description
            unknown += s.description not in texts
    total = sum(len(r.step_annotations) for r in raw.recordings)
    return {
        "description_not_in_graph": unknown,
        "annotation_id_minus_offset_equals_graph_id.equal": equal,
        "annotation_id_minus_offset_equals_graph_id.different": total - equal,
    }


def _count_text(steps: Sequence[_RawStep]) -> dict[str, int]:
    return {
        "errors_without_modified_description": sum(
            bool(s.errors) and s.modified_description is None for s in steps
        ),
        "errors_but_modified_equals_description": sum(
            bool(s.errors) and s.modified_description == s.description for s in steps
        ),
        "modified_description_without_errors": sum(
            not s.errors and s.modified_description is not None for s in steps
        ),
    }


DATASET: Final = Dataset(
    name="captaincook4d",
    title="CaptainCook4D",
    version="annotations a8a920a3",
    licence="MIT",
    citation=(
        "Peddi et al. CaptainCook4D: A Dataset for Understanding Errors in Procedural Activities. "
        "NeurIPS 2024 Datasets and Benchmarks."
    ),
    homepage="https://captaincook4d.github.io",
    files=(
        DataFile(
            ERRORS,
            "steps, times and mistakes of every recording",
            "52a9c304a32bb7f01aebe0b9c28ed5b93ad291487ee4b15f6c057023e6cacc53",
        ),
        DataFile(
            COMPLETE,
            "activity names, persons and environments",
            "54d274416ab4ad5c78edb748c758de0a7374f5b7cb2b58f3434cde82529e131b",
        ),
        DataFile("task_graphs/*.json", "the task graph of every recipe"),
        DataFile(VIDEOS, "durations", required=False),
        DataFile(NO_4K, "recordings without a 4K video", required=False),
    ),
    read=_read,
    check=_check,
)
