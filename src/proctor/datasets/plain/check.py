"""Oddities of a plain folder: legal, but worth a look before questions are made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from proctor.datasets.dataset import Finding
from proctor.datasets.lint import find_always_ready, lint_recording
from proctor.datasets.plain.parse import nearest
from proctor.datasets.plain.read import Folder, load_folder
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import MISTAKE_KINDS, Recording

__all__ = ["OVERLAP_SECONDS", "PLAIN_RULES", "check_plain"]

OVERLAP_SECONDS: Final = 2.0
"""Two steps that overlap by more than this make one of the two moments unusable for questions."""

PLAIN_RULES: Final[dict[str, str]] = {
    "P1": "a segment goes on after the end of the video",
    "P2": "two performed steps overlap by more than 2 seconds",
    "P3": "a kind of mistake that no question is made for",
    "P4": "steps that a recording neither performs nor skips",
    "P5": "a step that is both skipped and performed",
    "P6": "the video file is not there",
    "P7": "an activity in which any order is right",
    "P8": "an edge that other edges imply",
    "P9": "an activity without recordings",
    "P10": "a file that is not read",
}


def check_plain(root: Path) -> tuple[Finding, ...]:
    """Return every oddity: the linter's rules (R…) and those of this format (P…).

    Raises:
        UserError: if the folder cannot be read; see ``read_plain``.
    """
    folder = load_folder(root)
    found = [*_check_activities(folder), *_check_files(root)]
    found += find_always_ready(folder.recordings, folder.graphs)
    for recording in folder.recordings:
        graph = folder.graphs[recording.activity_id]
        found += lint_recording(recording, graph)
        found += (
            Finding(rule, f"{recording.id}: {where}" if where else recording.id, seen)
            for rule, where, seen in _check_recording(recording, graph, root)
        )
    return tuple(found)


_Rows = Iterator[tuple[str, str, str]]


def _check_activities(folder: Folder) -> Iterator[Finding]:
    used = Counter(r.activity_id for r in folder.recordings)
    for graph in folder.graphs.values():
        if not graph.edges and len(graph.actions) > 1:
            yield Finding("P7", graph.id, f"{len(graph.actions)} steps and no edge")
        reduced = set(graph.transitive_reduction().edges)
        for a, b in graph.edges:
            if (a, b) not in reduced:
                yield Finding("P8", graph.id, f"{a} → {b}")
        if not used[graph.id]:
            yield Finding("P9", graph.id, "no recording")


def _check_files(root: Path) -> Iterator[Finding]:
    for folder in ("activities", "recordings"):
        for path in sorted((root / folder).glob("*")):
            if not path.name.startswith(".") and path.suffix != ".json":
                yield Finding("P10", f"{folder}/{path.name}", "only *.json is read here")


def _check_recording(recording: Recording, graph: TaskGraph, root: Path) -> _Rows:
    yield from _check_times(recording)
    for segment in recording.segments:
        for kind in dict.fromkeys(m.kind for m in segment.mistakes):
            if kind not in MISTAKE_KINDS:
                close = nearest(kind, list(MISTAKE_KINDS))
                yield "P3", f"step {segment.step_id}", f"'{kind}'" + (f": is it '{close}'?" if close else "")
    done = {s.step_id for s in recording.performed}
    skipped = {s.step_id for s in recording.segments if s.skipped}
    if silent := [s.id for s in graph.actions if not s.optional and s.id not in done | skipped]:
        yield "P4", "", f"step(s) {', '.join(silent)}"
    for step_id in sorted(done & skipped):
        yield "P5", f"step {step_id}", "both"
    if recording.video is not None and not (root / recording.video).is_file():
        yield "P6", "", recording.video


def _check_times(recording: Recording) -> _Rows:
    spans = [
        (s.start, s.end, s.step_id) for s in recording.performed if s.start is not None and s.end is not None
    ]
    if recording.duration is not None:
        for _, end, step_id in spans:
            if end > recording.duration:
                yield "P1", f"step {step_id}", f"ends at {end:g} s, the video at {recording.duration:g} s"
    for (_, end, a), (start, later, b) in pairwise(sorted(spans)):
        if (overlap := min(end, later) - start) > OVERLAP_SECONDS:
            yield "P2", f"steps {a} and {b}", f"by {overlap:g} s"
