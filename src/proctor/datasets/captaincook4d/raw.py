"""The files of CaptainCook4D as they are: decoded, checked for shape, not interpreted."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.procedure.graph import GraphError, Step, TaskGraph
from proctor.records import decode_text, read_bytes, read_json

__all__ = [
    "COMPLETE",
    "ERRORS",
    "NO_4K",
    "VIDEOS",
    "Raw",
    "RawInfo",
    "RawMistake",
    "RawRecording",
    "RawStep",
    "Recipe",
    "Video",
    "activity_key",
    "is_there",
    "read_graphs",
    "read_infos",
    "read_raw",
    "read_recordings",
    "read_videos",
]

ERRORS: Final = "annotation_json/error_annotations.json"
COMPLETE: Final = "annotation_json/complete_step_annotations.json"
VIDEOS: Final = "metadata/video_information.csv"
NO_4K: Final = "no_4k_video.json"
_ID: Final = "recording_id"
_SECONDS: Final = "duration(sec)"


class RawMistake(msgspec.Struct):
    """What went wrong in a step, in the annotators' words."""

    tag: str
    description: str


class RawStep(msgspec.Struct):
    """An entry of the list of steps; times of -1 mean that it was skipped."""

    description: str
    step_id: int
    start_time: float
    end_time: float
    errors: list[RawMistake] = []
    modified_description: str | None = None


class RawRecording(msgspec.Struct):
    """A recording of the file of mistakes."""

    recording_id: str
    activity_id: int
    is_error: bool
    step_annotations: list[RawStep]


class RawInfo(msgspec.Struct):
    """What only the file of complete steps knows of a recording."""

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
class Video:
    """A row of the table of videos: seconds, the person that it names (not always the JSON's), the environment."""

    duration: float
    person: str
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A task graph under the activity's own id, and the nodes with each text in topological order."""

    graph: TaskGraph
    nodes: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Raw:
    """Everything that was in the folder, decoded but not interpreted."""

    recordings: list[RawRecording]
    infos: dict[str, RawInfo]
    graphs: dict[str, TaskGraph]
    videos: dict[str, Video]
    no_4k: frozenset[str] = frozenset()
    _recipes: dict[tuple[int, str], Recipe] = field(default_factory=dict)

    def recipe(self, recording: RawRecording) -> Recipe | None:
        """Return the recipe of a recording; None when its activity or its graph is not known."""
        info = self.infos.get(recording.recording_id)
        if info is None:
            return None
        key = recording.activity_id, info.activity_name
        if key not in self._recipes:
            graph = self.graphs.get(activity_key(info.activity_name))
            if graph is None:
                return None
            named = replace(graph, id=str(recording.activity_id), name=info.activity_name)
            self._recipes[key] = Recipe(named, _nodes_by_text(named))
        return self._recipes[key]


def _nodes_by_text(graph: TaskGraph) -> dict[str, tuple[str, ...]]:
    nodes: dict[str, tuple[str, ...]] = {}
    for id_ in graph.topological_order:
        nodes[graph[id_].text] = (*nodes.get(graph[id_].text, ()), id_)
    return nodes


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
        raise UserError(f"{error}.", where=str(path), hint="correct the edges of the file") from None


def read_raw(root: Path) -> Raw:
    """Read what recordings are made of.

    Raises:
        UserError: if a file cannot be read, or a recording occurs twice.
    """
    no_4k: _No4k = read_json(root / NO_4K, _No4k) if is_there(root / NO_4K) else _No4k([])
    return Raw(
        read_recordings(root),
        read_infos(root),
        read_graphs(root),
        read_videos(root / VIDEOS) if is_there(root / VIDEOS) else {},
        frozenset(no_4k.recordings),
    )


def read_recordings(root: Path) -> list[RawRecording]:
    """Return the recordings in file order.

    Raises:
        UserError: if the file cannot be read, holds none, or one twice.
    """
    recordings: list[RawRecording] = read_json(root / ERRORS, list[RawRecording])
    if not recordings:
        raise UserError("it holds no recordings.", where=str(root / ERRORS))
    twice = [i for i, n in Counter(r.recording_id for r in recordings).items() if n > 1]
    if twice:
        raise UserError(f"recording id '{twice[0]}' occurs more than once.", where=str(root / ERRORS))
    return recordings


def read_infos(root: Path) -> dict[str, RawInfo]:
    """Return activity, person and environment by recording.

    Raises:
        UserError: if the file cannot be read.
    """
    infos: dict[str, RawInfo] = read_json(root / COMPLETE, dict[str, RawInfo])
    return infos


def is_there(path: Path) -> bool:
    """True when there is a file or a link, even one that leads nowhere: that has to be told, not passed over."""
    return path.exists() or path.is_symlink()


def read_videos(path: Path) -> dict[str, Video]:
    """Return the row of every recording of the table.

    Raises:
        UserError: if the table cannot be read, a column is missing or a duration is no positive number.
    """
    try:
        text = decode_text(read_bytes(path), str(path))
        table = csv.DictReader(io.StringIO(text))
        rows = list(table)
    except csv.Error as error:
        raise UserError(f"not a table: {error}.", where=str(path)) from None
    lacking = [c for c in (_ID, _SECONDS) if c not in (table.fieldnames or ())]
    if lacking:
        raise UserError(f"the column '{lacking[0]}' is missing.", where=str(path))
    return {
        row[_ID]: Video(_duration(row, path), row.get("person_id") or "", row.get("environment_id") or "")
        for row in rows
    }


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
