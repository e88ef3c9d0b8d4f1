"""Walking a plain folder: every file is read, every problem is told, nothing is repaired silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from proctor.compute import HERE, Place, batches, map_items
from proctor.datasets.dataset import (
    Correction,
    Corrections,
    Performance,
    Performances,
    ReadResult,
    refuse_special,
)
from proctor.datasets.plain.build import StepNames, build_graph, build_recording
from proctor.datasets.plain.format import Place as Spot
from proctor.datasets.plain.format import PlainActivity, PlainDescription, PlainRecording, Problems
from proctor.datasets.plain.parse import parse_file
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import read_bytes

__all__ = ["Folder", "load_folder", "read_performances", "read_plain"]

_LINES: Final = "recordings.jsonl"
_ABOUT: Final = "dataset.json"


@dataclass(slots=True)
class Folder:
    """A plain folder as it is written: recordings keep the order of their segments in the file."""

    root: Path
    graphs: dict[str, TaskGraph] = field(default_factory=dict)
    recordings: list[Recording] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)


def read_plain(root: Path, corrections: Corrections = "corrected", *, place: Place = HERE) -> ReadResult:
    """Read a folder of the plain format.

    Segments are put in the order of their start, skipped ones first; their order in the file carries no meaning.
    In mode ``corrected`` a skipped step is marked ``missing`` (rule R2), and a step that is marked ``missing`` but
    has times loses the mark when it has other mistakes (it was done, badly), else its times (rule R3).

    Args:
        root: the folder.
        corrections: ``published`` takes the annotations as they are.
        place: where files are parsed and checked; the result is the same everywhere.

    Raises:
        UserError: naming every file and place that cannot be read.
    """
    folder = load_folder(root, place)
    changes: list[Correction] = []
    recordings = []
    for recording in folder.recordings:
        segments = sorted(recording.segments, key=lambda s: -1.0 if s.start is None else s.start)
        if corrections == "corrected":
            graph = folder.graphs[recording.activity_id]
            segments = [
                _corrected(s, recording.id, changes, optional=graph[s.step_id].optional) for s in segments
            ]
            segments.sort(key=lambda s: -1.0 if s.start is None else s.start)
        recordings.append(replace(recording, segments=tuple(segments)))
    return ReadResult(
        recordings=tuple(recordings),
        graphs=folder.graphs,
        corrections=tuple(changes),
        counts=_counts(folder),
        about=folder.about,
    )


def read_performances(root: Path) -> Performances:
    """Return every recording as annotated, nothing corrected; see ``Performance``.

    A step's key is ``activity/step``, since every activity counts its steps anew.

    Raises:
        UserError: naming every file and place that cannot be read.
    """
    read = read_plain(root, "published")
    found = (
        Performance(r, tuple(f"{r.activity_id}/{s.step_id}" for s in r.segments)) for r in read.recordings
    )
    return Performances(tuple(found), read.graphs)


def load_folder(root: Path, place: Place = HERE) -> Folder:
    """Read all files of a folder, recordings in the given place.

    Raises:
        UserError: naming every file and place that cannot be read.
    """
    _require_folder(root)
    problems = Problems(str(root))
    folder = Folder(root)
    known, unread = _load_activities(folder, problems)
    graphs = {id_: folder.graphs.get(id_) for id_ in known}
    _load_recordings(folder, graphs, problems, place, unread=unread)
    _load_about(folder, problems)
    _check_clip_ids(folder.recordings, problems)
    problems.raise_if_any()
    return folder


# -- files -----------------------------------------------------------------------------------------------------


def _require_folder(root: Path) -> None:
    hint = "docs/datasets/plain.md shows a folder that can be copied"
    try:
        if not root.exists():
            raise UserError("there is no such folder.", where=str(root), hint=hint)
        if not root.is_dir():
            raise UserError("this is a file, a folder was expected.", where=str(root), hint=hint)
        lacking = [] if _files(root, "activities") else ["activities/*.json"]
        if not _files(root, "recordings") and not (root / _LINES).exists():
            lacking.append("recordings/*.json or recordings.jsonl")
    except (OSError, RuntimeError, ValueError) as error:
        seen = getattr(error, "strerror", None) or error
        raise UserError(f"cannot be opened: {seen}.", where=str(root)) from None
    if lacking:
        raise UserError(
            f"this is not a folder of plain recordings: {' and '.join(lacking)} missing.",
            where=str(root),
            hint=_instead(root) or hint,
        )


def _instead(root: Path) -> str:
    """Say what is there in place of what is lacking: a folder within that is one, or files that are not read."""
    try:
        inside = sorted(p for p in root.iterdir() if p.is_dir() and (p / "activities").is_dir())
        others = [p for name in ("activities", "recordings") for p in sorted((root / name).glob("[!.]*"))]
    except OSError:
        return ""
    if inside:
        return f"the folder within looks like one: give {inside[0]}"
    if root.name in ("activities", "recordings"):
        return f"give the folder that it is in: {root.parent}"
    unread = [p.relative_to(root).as_posix() for p in others if p.suffix != ".json"]
    if unread:
        return f"only files called *.json are read there, not {unread[0][:80]}"
    return ""


def _files(root: Path, folder: str) -> list[Path]:
    """Paths of the JSON files, by name; hidden ones, which file managers leave behind, are not ours."""
    return sorted(p for p in (root / folder).glob("*.json") if not p.name.startswith("."))


def _read(path: Path, place: Spot, problems: Problems) -> bytes | None:
    try:
        refuse_special(path)
        return read_bytes(path)
    except UserError as error:
        problems.add_error(place, error)
        return None


def _load_activities(folder: Folder, problems: Problems) -> tuple[list[str], bool]:
    """Take the graphs of all sound activities; return the ids of all, and whether there may be others."""
    unread = False
    first: dict[str, str] = {}
    for path in _files(folder.root, "activities"):
        place = Spot(f"activities/{path.name}")
        data = _read(path, place, problems)
        parsed = None if data is None else parse_file(data, PlainActivity, place, problems)
        if parsed is None:
            unread = True
            continue
        id_ = str(parsed.value.id)
        if id_ in first:
            problems.add(place / "id", f"the activity '{id_[:60]}' is also in {first[id_]}.", "rename one")
            folder.graphs.pop(id_, None)  # nobody knows which of them a recording means
            continue
        first[id_] = place.file
        graph = build_graph(parsed.value, place, problems) if parsed.complete else None
        if graph is not None:
            folder.graphs[id_] = graph
    return list(first), unread


_Document = tuple[Spot, bytes, int]
"""Where a recording is written, its JSON, and the line of its beginning."""

_AT_ONCE: Final = 64
"""Documents that are sent to a worker together."""


def _documents(folder: Folder, problems: Problems) -> Iterator[_Document]:
    for path in _files(folder.root, "recordings"):
        place = Spot(f"recordings/{path.name}")
        data = _read(path, place, problems)
        if data is not None:
            yield place, data, 1
    path = folder.root / _LINES
    if not (path.is_symlink() or path.exists()):
        return
    content = _read(path, Spot(_LINES), problems)
    if content is None:
        return
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        problems.add(_LINES, "the file is empty.", "add one recording a line or remove the file")
        return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield Spot(f"{_LINES}:{number}"), line, number


class _Found(NamedTuple):
    """What one document says: its id where it can be read, and what is wrong with it before and after that."""

    id: str | None
    recording: Recording | None
    unreadable: Problems
    unsound: Problems


def _load_recordings(
    folder: Folder, graphs: Mapping[str, TaskGraph | None], problems: Problems, place: Place, *, unread: bool
) -> None:
    first: dict[str, str] = {}
    read = partial(_read_documents, folder.root, graphs, unread)
    for outcome in map_items(read, batches(_documents(folder, problems), _AT_ONCE), place):
        for (spot, _, _), found in zip(outcome.item, outcome.value, strict=True):
            problems.extend(found.unreadable)
            if found.id is None:
                continue
            if found.id in first:
                seen = f"the recording '{found.id[:60]}' is also in {first[found.id]}."
                problems.add(spot / "id", seen, "rename one")
                continue
            first[found.id] = spot.file
            problems.extend(found.unsound)
            if found.recording is not None:
                folder.recordings.append(found.recording)


def _read_documents(
    root: Path, graphs: Mapping[str, TaskGraph | None], unread: bool, documents: Sequence[_Document]
) -> list[_Found]:
    names = {id_: StepNames(graph.steps if graph is not None else ()) for id_, graph in graphs.items()}
    found = []
    for spot, data, line in documents:
        unreadable, unsound = Problems(str(root)), Problems(str(root))
        parsed = parse_file(data, PlainRecording, spot, unreadable, line)
        if parsed is None:
            found.append(_Found(None, None, unreadable, unsound))
            continue
        known = dict(graphs)
        if unread:  # it may follow an activity whose file is broken: no second complaint about that
            known.setdefault(str(parsed.value.activity), None)
        recording = build_recording(parsed, known, names, root, spot, unsound)
        found.append(_Found(str(parsed.value.id), recording, unreadable, unsound))
    return found


def _load_about(folder: Folder, problems: Problems) -> None:
    path = folder.root / _ABOUT
    if not (path.is_symlink() or path.exists()):
        return
    data = _read(path, Spot(_ABOUT), problems)
    parsed = None if data is None else parse_file(data, PlainDescription, Spot(_ABOUT), problems)
    if parsed is not None:
        keys = ("name", "version", "licence", "citation", "homepage")
        folder.about = {key: value for key in keys if (value := getattr(parsed.value, key)) is not None}


def _check_clip_ids(recordings: list[Recording], problems: Problems) -> None:
    """Clips are called ``<recording>_<step>``: two different pairs must not give one name."""
    owner: dict[str, tuple[str, str]] = {}
    for recording in recordings:
        for step_id in dict.fromkeys(s.step_id for s in recording.segments):
            pair = (recording.id, step_id)
            other = owner.setdefault(f"{recording.id}_{step_id}", pair)
            if other != pair:
                problems.add(
                    "",
                    f"recording '{pair[0]}' with step '{pair[1]}' and recording '{other[0]}' with step "
                    f"'{other[1]}' would get the same name.",
                    "rename one of the recordings",
                )


# -- corrections -----------------------------------------------------------------------------------------------


def _corrected(segment: Segment, recording_id: str, changes: list[Correction], *, optional: bool) -> Segment:
    marked = any(m.kind == "missing" for m in segment.mistakes)
    if segment.end is None and not marked and not optional:
        changes.append(
            Correction(recording_id, "R2", "a skipped step is a missing step", segment.step_id, new="missing")
        )
        return replace(segment, mistakes=(*segment.mistakes, Mistake("missing")))
    if segment.end is None or not marked:
        return segment
    others = tuple(m for m in segment.mistakes if m.kind != "missing")
    if others:
        changes.append(
            Correction(recording_id, "R3", "it has times and other mistakes", segment.step_id, old="missing")
        )
        return replace(segment, mistakes=others)
    times = f"{segment.start:g}-{segment.end:g}"
    changes.append(Correction(recording_id, "R3", "it is marked missing", segment.step_id, old=times))
    return replace(segment, start=None, end=None)


def _counts(folder: Folder) -> dict[str, int]:
    segments = [s for r in folder.recordings for s in r.segments]
    return {
        "activities": len(folder.graphs),
        "recordings": len(folder.recordings),
        "steps": len(segments),
        "skipped": sum(s.end is None for s in segments),
        "mistakes": sum(len(s.mistakes) for s in segments),
    } | ({"actions": actions} if (actions := sum(len(r.actions) for r in folder.recordings)) else {})
