"""What is odd within the recordings of CaptainCook4D (docs/datasets/captaincook4d.md).

Every finding names one recording (and step), so that the number of findings of a rule is the number that the
papers print. Rules R1 to R11 are those of ``datasets.lint``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from proctor.datasets.captaincook4d.raw import Raw, RawRecording, RawStep, Recipe
from proctor.datasets.captaincook4d.read import as_annotated, recipe_of
from proctor.datasets.dataset import Finding, Log
from proctor.datasets.lint import lint_recording

__all__ = ["LONG_OVERLAP", "ROUNDING", "RULES", "find_in_recordings", "id_offsets"]

LONG_OVERLAP: Final = 2.0
"""Seconds."""
ROUNDING: Final = 1e-9
"""Seconds: times that are equal on paper differ by up to this in the files (25 pairs of neighbours do)."""

RULES: Final[dict[str, str]] = {
    "skipped": "a step without times (both are -1): it was not done",
    "missing-tag": "a step that is marked missing",
    "missing-and-other": "a step marked missing and with another mistake, too",
    "same-tag-twice": "a step that carries one kind of mistake twice",
    "overlap": "a step begins before the one that began before it has ended",
    "long-overlap": "such an overlap of more than 2 s",
    "same-interval": "two steps with exactly the same times",
    "after-video": "a step ends after the listed length of its video",
    "repeated-id": "a step id that is listed more than once in a recording",
    "repeated-step": "a step id with more than one segment in a recording",
    "mixed-labels": "a step id of which some segments of a recording carry mistakes and others none",
    "skipped-and-performed": "a step of the graph that is both skipped and performed in a recording",
    "not-listed": "a step of the graph that a recording does not list, neither as performed nor as skipped",
    "renumbered": "the step id less the recipe's offset is not the id of the node with that text",
    "no-performed-text": "a step with mistakes and no text of what was done",
    "performed-as-told": "a step with mistakes, yet what was done repeats the instruction",
    "performed-without-mistake": "a text of what was done on a step without mistakes",
    "number-says-normal": "the recording's number stands for a script without mistakes, yet mistakes are marked",
    "mistake-flag": "is_error is not what the steps of the recording say",
    "person-differs": "the table of videos names another person than the annotations",
    "environment-differs": "the table of videos names another environment than the annotations",
    "no-4k": "there is no 4K video of the recording",
    "no_activity": "the recording is not in the file that names the activities; it is left out",
    "no_task_graph": "there is no task graph of the recording's recipe; it is left out",
    "bad_times": "times that cannot be; the recording is left out",
    "unknown_step": "a step that is not in the recipe's graph even after the corrections; the recording is left out",
    "patch": "a hand-made correction that does not fit the files; it is not applied",
    "checksum": "a file is not the one of the release",
}  # fmt: skip

_Rows = Iterator[tuple[str, str]]
"""Place within the recording, and what was seen."""


def find_in_recordings(raw: Raw) -> list[Finding]:
    """Return the findings of every recording, in file order."""
    log, offsets = Log(), id_offsets(raw)
    found: list[Finding] = []
    for source in raw.recordings:
        found += _of_steps(source)
        found += _of_recording(source, raw)
        recipe = recipe_of(source, raw, log)
        if recipe is not None:
            annotated = as_annotated(source, recipe)
            found += lint_recording(annotated, recipe.graph)
            found += _of_graph(source, recipe, offsets[source.activity_id])
    return [*found, *(Finding(d.reason, d.id, d.detail) for d in log.dropped)]


def id_offsets(raw: Raw) -> dict[int, int]:
    """Return for every activity its smallest step id less one."""
    offsets: dict[int, int] = {}
    for r in raw.recordings:
        for s in r.step_annotations:
            offsets[r.activity_id] = min(offsets.get(r.activity_id, s.step_id), s.step_id)
    return {activity: smallest - 1 for activity, smallest in offsets.items()}


def _named(rule: str, source: RawRecording, rows: _Rows) -> Iterator[Finding]:
    for place, seen in rows:
        yield Finding(rule, f"{source.recording_id}: {place}" if place else source.recording_id, seen)


# -- steps one by one --------------------------------------------------------------------------------------------


def _of_steps(source: RawRecording) -> Iterator[Finding]:
    for step in source.step_annotations:
        where = f"{source.recording_id}: step {step.step_id}"
        for rule, seen in _of_step(step):
            yield Finding(rule, where, seen)


def _of_step(step: RawStep) -> Iterator[tuple[str, str]]:
    tags = Counter(e.tag for e in step.errors)
    if step.start_time == step.end_time == -1:
        yield "skipped", "no times"
    if "Missing Step" in tags:
        yield "missing-tag", "Missing Step"
        if len(tags) > 1:
            yield "missing-and-other", ", ".join(tags)
    if twice := [tag for tag, n in tags.items() if n > 1]:
        yield "same-tag-twice", ", ".join(twice)
    told = step.modified_description
    if tags and told is None:
        yield "no-performed-text", ", ".join(tags)
    elif tags and told == step.description:
        yield "performed-as-told", ", ".join(tags)
    elif not tags and told is not None:
        yield "performed-without-mistake", told[:80]


# -- steps of a recording together -------------------------------------------------------------------------------


def _of_recording(source: RawRecording, raw: Raw) -> Iterator[Finding]:
    timed = [s for s in source.step_annotations if s.end_time >= 0]
    yield from _named("overlap", source, _overlaps(timed, ROUNDING))
    yield from _named("long-overlap", source, _overlaps(timed, LONG_OVERLAP))
    yield from _named("same-interval", source, _same_intervals(timed))
    yield from _repeats(source, timed)
    yield from _flags(source)
    yield from _of_video(source, raw, timed)


def _overlaps(timed: Sequence[RawStep], least: float) -> _Rows:
    for a, b in pairwise(sorted(timed, key=lambda s: (s.start_time, s.end_time))):
        if a.end_time - b.start_time > least:
            yield f"steps {a.step_id} and {b.step_id}", f"by {a.end_time - b.start_time:.3f} s"


def _same_intervals(timed: Sequence[RawStep]) -> _Rows:
    groups: dict[tuple[float, float], list[int]] = defaultdict(list)
    for s in timed:
        groups[s.start_time, s.end_time].append(s.step_id)
    for (start, end), ids in groups.items():
        for n, a in enumerate(ids):
            for b in ids[n + 1 :]:
                yield f"steps {a} and {b}", f"{start:g}-{end:g} s"


def _repeats(source: RawRecording, timed: Sequence[RawStep]) -> Iterator[Finding]:
    listed = Counter(s.step_id for s in source.step_annotations)
    yield from _named(
        "repeated-id", source, ((f"step {i}", f"{n} times") for i, n in listed.items() if n > 1)
    )
    labels: dict[int, list[bool]] = defaultdict(list)
    for s in timed:
        labels[s.step_id].append(bool(s.errors))
    again = {i: found for i, found in labels.items() if len(found) > 1}
    yield from _named(
        "repeated-step", source, ((f"step {i}", f"{len(found)} segments") for i, found in again.items())
    )
    yield from _named(
        "mixed-labels",
        source,
        (
            (f"step {i}", f"{sum(found)} of {len(found)} segments with mistakes")
            for i, found in again.items()
            if len(set(found)) > 1
        ),
    )


def _flags(source: RawRecording) -> Iterator[Finding]:
    marked = any(s.errors for s in source.step_annotations)
    if marked != source.is_error:
        seen = f"is_error is {source.is_error}, steps with mistakes: {marked}"
        yield Finding("mistake-flag", source.recording_id, seen)
    number = source.recording_id.rpartition("_")[2]
    if marked and number.isdecimal() and is_normal_number(int(number)):
        seen = f"{sum(bool(s.errors) for s in source.step_annotations)} step(s) with mistakes"
        yield Finding("number-says-normal", source.recording_id, seen)


def is_normal_number(number: int) -> bool:
    """True for numbers of scripts in a right order: 1 to 25 and 100 to 125."""
    return 1 <= number <= 25 or 100 <= number <= 125


def _of_video(source: RawRecording, raw: Raw, timed: Sequence[RawStep]) -> Iterator[Finding]:
    id_, video, info = (
        source.recording_id,
        raw.videos.get(source.recording_id),
        raw.infos.get(source.recording_id),
    )
    if id_ in raw.no_4k:
        yield Finding("no-4k", id_, "no 4K video")
    if video is None:
        return
    for s in timed:
        if s.end_time > video.duration:
            late = s.end_time - video.duration
            yield Finding(
                "after-video", f"{id_}: step {s.step_id}", f"{late * 1000:.1f} ms after {video.duration:g} s"
            )
    if info is not None and video.person not in ("", str(info.person_id)):
        yield Finding(
            "person-differs", id_, f"{info.person_id} in the annotations, {video.person} in the table"
        )
    if info is not None and video.environment not in ("", str(info.environment)):
        seen = f"{info.environment} in the annotations, {video.environment} in the table"
        yield Finding("environment-differs", id_, seen)


# -- steps and the graph -----------------------------------------------------------------------------------------


def _of_graph(source: RawRecording, recipe: Recipe, offset: int) -> Iterator[Finding]:
    steps, graph = source.step_annotations, recipe.graph
    for s in steps:
        node = str(s.step_id - offset)
        if node not in graph or graph[node].text != s.description:
            nodes = ", ".join(recipe.nodes.get(s.description, ())) or "none"
            yield Finding(
                "renumbered",
                f"{source.recording_id}: step {s.step_id}",
                f"{node} by its number, {nodes} by its text",
            )
    states: Mapping[str, set[bool]] = _states(source, recipe)
    for node, seen in states.items():
        if len(seen) > 1:
            yield Finding(
                "skipped-and-performed", f"{source.recording_id}: step {node}", graph[node].text[:80]
            )
    for step in graph.actions:
        if step.id not in states:
            yield Finding("not-listed", f"{source.recording_id}: step {step.id}", step.text[:80])


def _states(source: RawRecording, recipe: Recipe) -> dict[str, set[bool]]:
    """Return for every node that is listed whether it was done, not done, or both."""
    states: dict[str, set[bool]] = defaultdict(set)
    for segment in as_annotated(source, recipe).segments:
        if segment.step_id:
            states[segment.step_id].add(segment.end is not None)
    return states
