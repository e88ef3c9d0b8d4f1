"""CaptainCook4D into recordings: which node a step is, and what is corrected. Source: ProMQA.

Two correction modes. ``published`` reproduces the annotations behind the ProMQA release, including one
correction that went into the wrong recording. ``corrected`` puts that right, applies rules R2 to R5 to whatever
the hand-made patches do not cover, and gives a *skipped* step of a repeated text the node of its place in the
file, where the release gives it the first one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import msgspec

from proctor.datasets.captaincook4d.raw import (
    COMPLETE,
    Raw,
    RawMistake,
    RawRecording,
    RawStep,
    Recipe,
    read_raw,
)
from proctor.datasets.corrections import Patch, PatchFile, load_patches
from proctor.datasets.dataset import (
    Correction,
    Corrections,
    Log,
    Performance,
    Performances,
    ReadResult,
)
from proctor.datasets.lint import empty_order_mistakes
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment, mistake_kind

__all__ = ["as_annotated", "count_oddities", "read_performances", "read_recordings_of", "recipe_of"]


def count_oddities(
    raw: Raw, graphs: Mapping[str, TaskGraph], recordings: Sequence[Recording]
) -> dict[str, int]:
    """Return numbers about the raw files, and about repeats after correction."""
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
    counts |= (
        _count_order(raw)
        | _count_labels(raw, graphs)
        | (
            {
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
        )
    )
    repeats = sum(
        n - 1 for r in recordings for n in Counter(s.step_id for s in r.performed).values() if n > 1
    )
    return counts | {"repeated_performed_ids_after_remap": repeats}


def _count_order(raw: Raw) -> dict[str, int]:
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


def _count_labels(raw: Raw, graphs: Mapping[str, TaskGraph]) -> dict[str, int]:
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


# -- CaptainCook4D into recordings: which node a step is, and what is corrected (ProMQA) --------------------------


def read_recordings_of(raw: Raw, mode: Corrections, log: Log) -> ReadResult:
    """Interpret what was in the folder.

    Args:
        raw: the folder.
        mode: of correction.
        log: what is known of the folder already; everything else is told to it.
    """
    patches = load_patches("captaincook4d")
    graphs: dict[str, TaskGraph] = {}
    recordings = []
    for source in raw.recordings:
        recipe = recipe_of(source, raw, log)
        if recipe is None:
            continue
        recording = _recording(source, recipe, raw, mode, patches, log)
        if recording is not None:
            graphs[recipe.graph.id] = recipe.graph
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


def recipe_of(source: RawRecording, raw: Raw, log: Log) -> Recipe | None:
    """Return the recipe of a recording, or tell why it has none."""
    recipe = raw.recipe(source)
    if recipe is None:
        info = raw.infos.get(source.recording_id)
        if info is None:
            log.drop(source.recording_id, "no_activity", f"not in {COMPLETE}")
        else:
            log.drop(source.recording_id, "no_task_graph", f"no graph for '{info.activity_name}'")
    return recipe


def as_annotated(source: RawRecording, recipe: Recipe, *, skipped_last: bool = False) -> Recording:
    """Return the recording in file order with no correction; a step that is not in the graph has no id.

    Args:
        source: the recording.
        recipe: its recipe.
        skipped_last: see ``node_ids``.
    """
    known = recipe.nodes
    steps = source.step_annotations
    named = [s for s in steps if s.description in known]
    ids = node_ids(named, recipe, by_place=False, skipped_last=skipped_last)
    remaining = iter(ids)
    segments = tuple(make_segment(s, next(remaining) if s.description in known else "") for s in steps)
    return Recording(source.recording_id, recipe.graph.id, recipe.graph.name, segments)


def read_performances(root: Path) -> Performances:
    """Return every recording as annotated, nothing corrected; see ``Performance``.

    A step whose times make no sense becomes one without times, and is told.

    Raises:
        UserError: if a file cannot be read.
    """
    raw, log = read_raw(root), Log()
    found, graphs = [], {}
    for source in raw.recordings:
        recipe = recipe_of(source, raw, log)
        if recipe is None:
            continue
        graphs[recipe.graph.id] = recipe.graph
        for step in source.step_annotations:
            if broken := _broken_times(step):
                log.drop(f"{source.recording_id}:{step.step_id}", "bad_times", broken)
                step.start_time = step.end_time = -1
        recording = _with_information(as_annotated(source, recipe, skipped_last=True), raw)
        video = raw.videos.get(source.recording_id)
        attributes = {**recording.attributes, "video_person": video.person if video else ""}
        keys = tuple(str(step.step_id) for step in source.step_annotations)
        found.append(Performance(replace(recording, attributes=attributes), keys))
    return Performances(tuple(found), graphs, tuple(log.dropped))


def _recording(
    source: RawRecording, recipe: Recipe, raw: Raw, mode: Corrections, patches: PatchFile, log: Log
) -> Recording | None:
    graph = recipe.graph
    steps = _patched(source, mode, patches, log)
    broken = next(filter(None, map(_broken_times, steps)), None)
    if broken:
        log.drop(source.recording_id, "bad_times", broken)
        return None
    if mode == "corrected":
        steps = _by_rules(source.recording_id, steps, recipe, log)
    unknown = next((s for s in steps if s.description not in recipe.nodes), None)
    if unknown is not None:
        log.drop(source.recording_id, "unknown_step", f"{unknown.description!r} is not in '{graph.name}'")
        return None
    ids = node_ids(steps, recipe, by_place=mode == "corrected")
    order = sorted(range(len(steps)), key=lambda i: steps[i].start_time)
    segments = tuple(make_segment(steps[i], ids[i]) for i in order)
    recording = _with_information(Recording(source.recording_id, graph.id, graph.name, segments), raw)
    return _without_empty_order_mistakes(recording, graph, patches, log) if mode == "corrected" else recording


def _broken_times(step: RawStep) -> str:
    """Say what is wrong with the times of a step; empty when nothing is."""
    start, end = step.start_time, step.end_time
    if start == end == -1:
        return ""
    if not (math.isfinite(start) and math.isfinite(end)) or start < 0 or end < 0:
        return f"step {step.step_id}: times {start:g} and {end:g} s"
    return f"step {step.step_id}: it ends at {end:g} s and starts at {start:g} s" if end <= start else ""


def make_segment(step: RawStep, node: str) -> Segment:
    skipped = step.end_time < 0
    return Segment(
        step_id=node,
        text=step.description,
        start=None if skipped else step.start_time,
        end=None if skipped else step.end_time,
        performed=step.modified_description,
        mistakes=tuple(Mistake(mistake_kind(e.tag), e.description) for e in step.errors),
    )


def _with_information(recording: Recording, raw: Raw) -> Recording:
    info = raw.infos[recording.id]
    attributes = {"person": str(info.person_id), "environment": str(info.environment)}
    if raw.no_4k:
        attributes["video_4k"] = "no" if recording.id in raw.no_4k else "yes"
    video = raw.videos.get(recording.id)
    return replace(recording, duration=video.duration if video else None, attributes=attributes)


# -- which node of the graph a step is -------------------------------------------------------------------------


def node_ids(
    steps: Sequence[RawStep], recipe: Recipe, *, by_place: bool, skipped_last: bool = False
) -> list[str]:
    """Return the graph node of every step, in the order of ``steps``.

    A text that occurs once is that node. Of a text that occurs several times the nodes are handed out in
    topological order, the last one again for any further repetition. Published: in order of start time, so that
    skipped steps, which sort first, take the first node, as in ProMQA's code. ``by_place``: a skipped step keeps the
    node of its place in the file, and the performed ones share the others in order of time. ``skipped_last``: the
    skipped ones take what the performed ones leave, so that the node of a performed step does not tell of a skipped one.
    """
    ids = [""] * len(steps)
    groups: dict[str, list[int]] = defaultdict(list)
    for i, step in enumerate(steps):
        groups[step.description].append(i)
    for text, members in groups.items():
        nodes = recipe.nodes[text]
        ordered = sorted(members, key=lambda i: (skipped_last and steps[i].end_time < 0, steps[i].start_time))
        if by_place:
            timed = iter([i for i in ordered if steps[i].end_time >= 0])
            ordered = [i if steps[i].end_time < 0 else next(timed) for i in members]
        for n, i in enumerate(ordered):
            ids[i] = nodes[min(n, len(nodes) - 1)]
    return ids


# -- corrections -----------------------------------------------------------------------------------------------


def _patched(source: RawRecording, mode: Corrections, patches: PatchFile, log: Log) -> list[RawStep]:
    """Apply the hand-made patches of a recording; every one is resolved on the untouched entries."""
    steps = [msgspec.structs.replace(s) for s in source.step_annotations]
    removed = set()
    for patch in patches.patches:
        if patch.recording != source.recording_id or mode not in patch.modes:
            continue
        places = [i for i, s in enumerate(source.step_annotations) if s.step_id == patch.step]
        place = places[patch.occurrence - 1] if patch.occurrence <= len(places) else None
        if place is None or _value(source.step_annotations[place], patch) != patch.old:
            log.find("patch", patch.place, f"expected {patch.field} {patch.old!r}; not applied")
            continue
        if patch.field == "entry":
            removed.add(place)
        else:
            _set(steps[place], patch)
        log.correct(
            Correction(
                patch.recording,
                f"patch:{patch.field}",
                patch.reason,
                str(patch.step),
                _show(patch.old),
                _show(patch.new),
            )
        )
    return [s for i, s in enumerate(steps) if i not in removed]


def _value(step: RawStep, patch: Patch) -> object:
    match patch.field:
        case "text" | "entry":
            return step.description
        case "performed":
            return step.modified_description
        case "times":
            return [step.start_time, step.end_time]
        case "mistakes":
            return [(e.tag, e.description) for e in step.errors]


def _set(step: RawStep, patch: Patch) -> None:
    new = patch.new
    if patch.field == "text" and isinstance(new, str):
        step.description = new
    elif patch.field == "performed" and isinstance(new, str):
        step.modified_description = new
    elif patch.field == "times" and isinstance(new, list):
        step.start_time, step.end_time = (float(t) for t in new if not isinstance(t, tuple))
    elif patch.field == "mistakes" and isinstance(new, list):
        step.errors = [RawMistake(*pair) for pair in new if isinstance(pair, tuple)]


def _show(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _report_unused(patches: PatchFile, raw: Raw, mode: Corrections, log: Log) -> None:
    known = {r.recording_id for r in raw.recordings}
    for patch in patches.patches:
        if mode in patch.modes and patch.recording not in known:
            log.find("patch", patch.place, "there is no such recording")


def _by_rules(recording_id: str, steps: list[RawStep], recipe: Recipe, log: Log) -> list[RawStep]:
    """Apply rules R2, R3 and R4 to what the patches left."""
    used = {s.description for s in steps}
    for step in steps:
        missing = any(e.tag == "Missing Step" for e in step.errors)
        if step.end_time < 0 and not missing:
            step.errors = [*step.errors, RawMistake("Missing Step", "")]
            log.correct(
                Correction(
                    recording_id, "R2", "no times, so it was not done", str(step.step_id), "", "missing"
                )
            )
        elif step.end_time >= 0 and missing:
            _mend_missing(recording_id, step, log)
        if step.description not in recipe.nodes:
            _mend_text(recording_id, step, recipe.graph, used, log)
    return steps


def _mend_missing(recording_id: str, step: RawStep, log: Log) -> None:
    """R3: with other mistakes it was done, badly; otherwise it was not done and the times are wrong."""
    others = [e for e in step.errors if e.tag != "Missing Step"]
    if others:
        step.errors = others
        reason, new = "marked missing, but other mistakes show that it was done", "not missing"
    else:
        step.start_time = step.end_time = -1.0
        reason, new = "marked missing, yet it carries times", "no times"
    log.correct(Correction(recording_id, "R3", reason, str(step.step_id), "missing", new))


def _mend_text(recording_id: str, step: RawStep, graph: TaskGraph, used: set[str], log: Log) -> None:
    """R4: take the nearest text of the recipe that no other step of the recording has, if only one is near."""
    free = [
        (SequenceMatcher(None, step.description, s.text).ratio(), s.text)
        for s in graph.actions
        if s.text not in used
    ]
    near = [text for ratio, text in sorted(free, reverse=True) if ratio >= 0.6]
    if len(near) == 1 or (len(near) > 1 and sorted(free)[-1][0] - sorted(free)[-2][0] >= 0.1):
        log.correct(
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
    recording: Recording, graph: TaskGraph, patches: PatchFile, log: Log
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
        log.correct(
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
