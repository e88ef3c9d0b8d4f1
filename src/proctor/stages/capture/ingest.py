"""``proctor capture ingest``: recordings that are over, checked, made playable, annotated, as a plain folder. docs/capture.md."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.annotate import annotate
from proctor.capture.records import (
    EVENTS,
    MANIFEST,
    REVIEW,
    SCRIPT,
    TABLET_EVENTS,
    Event,
    Manifest,
    Review,
    Script,
    StreamSpec,
    capture_folder,
)  # fmt: skip
from proctor.capture.sync.clock import event_times, stream_map
from proctor.datasets.plain import write_plain
from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.procedure.recording import Recording
from proctor.records import Dropped, file_sha256, is_there, read_json, read_jsonl, write_jsonl
from proctor.stages.capture.settings import IngestSettings
from proctor.workspace import Workspace

__all__ = ["DATASET", "Ingested", "finished", "ingest", "recordings_of", "video_of"]

DATASET: Final = "dataset"
"""Plain folder below ``capture/`` with everything that was ingested."""
_OVER: Final = ("stopped", "stopped_disk", "incomplete")


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the recordings: in the plain folder ``folder``, left out by reason, and what to look at by recording."""

    folder: str
    recordings: int
    dropped: dict[str, int]
    notes: dict[str, tuple[str, ...]]


def recordings_of(workspace: Path) -> list[tuple[Path, Manifest]]:
    """Return the folders and manifests of all recordings, by id.

    Raises:
        UserError: if a manifest cannot be read.
    """
    found = sorted((capture_folder(workspace) / "recordings").glob(f"*/{MANIFEST}"))
    return [(path.parent, read_json(path, Manifest)) for path in found]


def finished(workspace: Path, wanted: Iterable[str] = ()) -> list[tuple[Path, Manifest]]:
    """Return the recordings that are over, or those that are named.

    Raises:
        UserError: if a named one is not there, or not over.
    """
    known = {manifest.id: (folder, manifest) for folder, manifest in recordings_of(workspace)}
    for name in wanted:
        state = known[name][1].state if name in known else "not there"
        if state not in _OVER:
            hint = "proctor capture record WORKSPACE --recording ID --close ends an interrupted one"
            raise UserError(f"the recording '{name[:40]}' is {state}.", where=str(workspace), hint=hint)
    return [known[name] for name in sorted(wanted)] or [
        one for one in known.values() if one[1].state in _OVER
    ]


def ingest(root: Path, settings: IngestSettings, *, seen: Callable[[str], None] = lambda _: None) -> Ingested:
    """Check every recording that is over against its hashes, make its video, annotate it, and write all as a plain folder.

    Raw files are only read. The folder is written anew each time; videos that are there and right are kept.

    Raises:
        UserError: if there is nothing to ingest, or the folder cannot be written.
    """
    workspace = Workspace(root)
    graphs, target = workspace.graphs(), capture_folder(root) / DATASET
    found = finished(root, settings.recording)
    if not found:
        raise UserError("no recording is over.", where=str(root), hint="proctor capture record, or simulate")
    done: list[Recording] = []
    videos: dict[str, Path] = {}
    dropped: list[Dropped] = []
    notes: dict[str, tuple[str, ...]] = {}
    for folder, manifest in found:
        seen(manifest.id)
        try:
            _verify(folder, manifest)
            if manifest.activity not in graphs:
                raise _LeftOutError("no_graph", f"there is no task graph '{manifest.activity}'")
            if not is_there(folder / REVIEW) and not settings.unreviewed:
                raise _LeftOutError(
                    "no_review", "nobody said what happened; --unreviewed takes it all the same"
                )
            recording, said = _annotated(folder, manifest, graphs[manifest.activity], videos, settings)
        except _LeftOutError as error:
            dropped.append(Dropped(manifest.id, error.reason, error.detail))
            continue
        except UserError as error:
            dropped.append(Dropped(manifest.id, "damaged", error.render()))
            continue
        done.append(recording)
        if said:
            notes[manifest.id] = said
    counts = workspace.write_dropped("capture", dropped)
    if not done:
        first = dropped[0]
        raise UserError(
            f"no recording can be used: {first.id}: {first.detail}",
            where=str(root),
            hint="see capture.dropped.jsonl",
        )
    _write(target, done, {r.activity_id: graphs[r.activity_id] for r in done}, videos)
    write_jsonl(
        capture_folder(root) / "ingest.notes.jsonl", [{"id": k, "notes": v} for k, v in notes.items()]
    )
    return Ingested(folder=str(target), recordings=len(done), dropped=counts, notes=notes)


class _LeftOutError(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def _verify(folder: Path, manifest: Manifest) -> None:
    """Hold raw files against the manifest: they are written once."""
    for kept in manifest.files:
        path = folder / kept.path
        if not is_there(path):
            raise _LeftOutError("damaged", f"{kept.path} is gone")
        if path.stat().st_size != kept.bytes or file_sha256(path) != kept.sha256:
            raise _LeftOutError("damaged", f"{kept.path} is not what was recorded: its hash differs")
    if manifest.state == "incomplete" and not manifest.files:
        raise _LeftOutError("incomplete", "; ".join(manifest.reasons) or "nothing was recorded")


def video_of(manifest: Manifest, wanted: str = "") -> StreamSpec | None:
    """Return the stream that people watch: the named one, else the first required video, else the first video."""
    streams = [s for s in manifest.streams if s.kind == "video" and (not wanted or s.name == wanted)]
    return next((s for s in streams if s.required), streams[0] if streams else None)


def _annotated(
    folder: Path, manifest: Manifest, graph: object, videos: dict[str, Path], settings: IngestSettings
) -> tuple[Recording, tuple[str, ...]]:
    from proctor.procedure.graph import TaskGraph

    assert isinstance(graph, TaskGraph)
    spec = video_of(manifest, settings.stream)
    if spec is None:
        raise _LeftOutError("no_video", "it has no stream of pictures")
    events: list[Event] = read_jsonl(folder / EVENTS, Event) if is_there(folder / EVENTS) else []
    tablet: list[Event] = (
        read_jsonl(folder / TABLET_EVENTS, Event) if is_there(folder / TABLET_EVENTS) else []
    )
    path, start_ns = _video(folder, spec, events)
    duration = probe(path).duration or 0.0
    videos[manifest.id] = path
    review = read_json(folder / REVIEW, Review) if is_there(folder / REVIEW) else None
    one = annotate(
        manifest, read_json(folder / SCRIPT, Script), graph, event_times(events, tablet), review,
        start_ns=start_ns, duration=duration, video=f"videos/{manifest.id}{path.suffix}",
    )  # fmt: skip
    return one.recording, one.notes


def _video(folder: Path, spec: StreamSpec, events: list[Event]) -> tuple[Path, int]:
    """Return the playable video of a recording and the host time of its first picture; made once."""
    from proctor.capture.sensors.ffmpeg import write_media

    raw, out = folder / "raw" / spec.name, folder / "proxy" / f"{spec.name}.mp4"
    host = stream_map(folder, spec, events).host_ns
    host = host[host >= 0]
    if not len(host):
        raise _LeftOutError("no_video", f"the stream '{spec.name}' is empty")
    start_ns = int(host[0])
    if not is_there(out):
        out.parent.mkdir(exist_ok=True)
        write_media(raw, spec, out, start_ns=start_ns, times_ns=host)
    return out, start_ns


def _write(target: Path, done: list[Recording], graphs: dict[str, object], videos: dict[str, Path]) -> None:
    """Put the plain folder in the place of the one of before."""
    work = target.with_name(f".{DATASET}.new")
    shutil.rmtree(work, ignore_errors=True)
    write_plain(work, done, graphs, about={"name": "captured", "version": "1"})  # type: ignore[arg-type]
    (work / "videos").mkdir()
    for name, path in videos.items():
        place = work / "videos" / f"{name}{path.suffix}"
        try:
            os.link(path, place)  # the same bytes, without a copy of them
        except OSError:
            shutil.copyfile(path, place)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    work.replace(target)
