"""``proctor capture ingest``: recordings that are over, checked, made playable, annotated, as a plain folder. docs/capture.md."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from proctor.capture.records import (
    EVENTS,
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
from proctor.capture.segments import load_index
from proctor.capture.sync.clock import coarse_clocks, event_times
from proctor.capture.sync.report import SyncReport
from proctor.capture.sync.run import video_files
from proctor.datasets.plain import write_plain
from proctor.errors import MissingExtraError, UserError
from proctor.media.probe import probe
from proctor.media.proxy import write_proxy
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import Dropped, file_sha256, is_there, read_json, read_jsonl, write_jsonl
from proctor.stages.capture.annotate import annotate
from proctor.stages.capture.dropped import take_dropped
from proctor.stages.capture.manifests import recordings_of
from proctor.stages.capture.playable import write_media
from proctor.stages.capture.settings import IngestSettings
from proctor.workspace import Workspace

__all__ = ["DATASET", "Ingested", "finished", "ingest", "synced", "video_of"]

DATASET: Final = "dataset"
"""Plain folder below ``capture/`` with everything that was ingested."""
_OVER: Final = ("stopped", "stopped_disk", "incomplete")


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the recordings: in the plain folder ``folder``, left out by reason, and what to look at by recording."""

    folder: str
    recordings: int
    dropped: dict[str, int]
    notes: dict[str, tuple[str, ...]]


def finished(
    workspace: Path, wanted: Iterable[str], unreadable: list[Dropped]
) -> list[tuple[Path, Manifest]]:
    """Return the recordings that are over, or those that are named; those that cannot be read go into ``unreadable``.

    Raises:
        UserError: if there is none, or a named one is not there, not over, or cannot be read.
    """
    read = recordings_of(workspace, unreadable)
    known = {manifest.id: (folder, manifest) for folder, manifest in read}
    broken = {one.id: one.detail for one in unreadable}
    for name in wanted:
        if name in broken:
            raise UserError(
                f"the recording '{name[:40]}' cannot be read: {broken[name]}", where=str(workspace)
            )
        state = known[name][1].state if name in known else "not there"
        if state not in _OVER:
            hint = "proctor capture record WORKSPACE RECORDING --close ends an interrupted one"
            raise UserError(f"the recording '{name[:40]}' is {state}.", where=str(workspace), hint=hint)
    if chosen := [known[name] for name in sorted(wanted)]:
        unreadable.clear()  # nobody asked about these
        return chosen
    over = [one for one in known.values() if one[1].state in _OVER]
    if not over:
        lost = [f" '{one.id[:40]}' cannot be read: {one.detail}" for one in unreadable[:1]]
        seen = "".join(["no recording is over.", *lost])
        raise UserError(seen, where=str(workspace), hint="proctor capture record, or simulate")
    return over


def ingest(root: Path, settings: IngestSettings, *, seen: Callable[[str], None] = lambda _: None) -> Ingested:
    """Check every recording that is over against its hashes, make its video, annotate it, and write all as a plain folder.

    Raw files are only read, but for those that were put into ``drop/`` and are copied now. The folder is
    written anew each time; videos that are there and right are kept.

    Raises:
        UserError: if there is nothing to ingest, or the folder cannot be written.
    """
    workspace = Workspace(root)
    graphs, target = workspace.graphs(), capture_folder(root) / DATASET
    dropped: list[Dropped] = []
    found = finished(root, settings.recording, dropped)
    done: list[Recording] = []
    videos: dict[str, Path] = {}
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
            manifest, late = take_dropped(folder, manifest)
            recording, said = _annotated(folder, manifest, graphs[manifest.activity], videos, settings)
        except _LeftOutError as error:
            dropped.append(Dropped(manifest.id, error.reason, error.detail))
            continue
        except MissingExtraError:
            raise  # it is not the recording's fault
        except UserError as error:
            dropped.append(Dropped(manifest.id, "damaged", error.render()))
            continue
        done.append(recording)
        if said := late + said:
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
    folder: Path, manifest: Manifest, graph: TaskGraph, videos: dict[str, Path], settings: IngestSettings
) -> tuple[Recording, tuple[str, ...]]:
    spec = video_of(manifest, settings.stream)
    if spec is None:
        raise _LeftOutError("no_video", "it has no stream of pictures")
    events: list[Event] = read_jsonl(folder / EVENTS, Event) if is_there(folder / EVENTS) else []
    tablet: list[Event] = (
        read_jsonl(folder / TABLET_EVENTS, Event) if is_there(folder / TABLET_EVENTS) else []
    )
    coarse = tuple(
        f"the clock '{clock[:40]}' was never compared with the recorder's: its events stand by wall time"
        for clock in coarse_clocks(events, tablet)
    )
    path, start_ns = _video(folder, spec)
    duration = probe(path).duration or 0.0
    videos[manifest.id] = path
    review = read_json(folder / REVIEW, Review) if is_there(folder / REVIEW) else None
    one = annotate(
        manifest, read_json(folder / SCRIPT, Script), graph, event_times(events, tablet), review,
        start_ns=start_ns, duration=duration, video=f"videos/{manifest.id}{path.suffix}",
    )  # fmt: skip
    return one.recording, coarse + one.notes


def synced(folder: Path) -> tuple[Path, SyncReport] | None:
    """Return the newest synchronisation of a recording: its folder and its report.

    Raises:
        UserError: if the report cannot be read.
    """
    found = sorted(
        (folder / "sync").glob("*/report.json"), key=lambda p: (p.stat().st_mtime_ns, p.parent.name)
    )
    return (found[-1].parent, read_json(found[-1], SyncReport)) if found else None


def _video(folder: Path, spec: StreamSpec) -> tuple[Path, int]:
    """Return the playable video of a recording and the host time of its first picture; made once for each synchronisation."""
    import pyarrow.parquet as pq

    found = synced(folder)
    if found is None or not is_there(table := found[0] / f"{spec.name}.parquet"):
        raise _LeftOutError("not_synced", "run first: proctor capture sync")
    rows = pq.read_table(table, columns=["src_idx", "t_base_ns", "dt_ms"])
    source = rows["src_idx"].to_numpy()
    used = source >= 0
    if not used.any():
        raise _LeftOutError("no_video", f"the stream '{spec.name}' has no picture with a time")
    times = rows["t_base_ns"].to_numpy()[used] + np.rint(rows["dt_ms"].to_numpy()[used] * 1e6).astype(
        np.int64
    )
    start_ns, raw = int(times.min()), folder / "raw" / spec.name
    if (
        spec.format == "file"
    ):  # its video begins with its first picture, whether the base has a moment there or not
        first = next(stream.clock[0] for stream in found[1].streams if stream.name == spec.name)
        start_ns = first.device_first_ns + first.offset_ns
    out = folder / "proxy" / f"{spec.name}-{found[1].hash}.mp4"
    if is_there(out):
        return out, start_ns
    out.parent.mkdir(exist_ok=True)
    if spec.format == "file":
        files = video_files(raw)
        if len(files) != 1:
            raise _LeftOutError(
                "no_video", f"the stream '{spec.name}' has {len(files)} files that play, not one"
            )
        write_proxy(files[0], out, height=720)
        return out, start_ns
    # What has no time of its own (a duplicate) stands where its neighbours do.
    order, count = np.argsort(source[used], kind="stable"), len(load_index(raw))
    known = np.interp(np.arange(count), source[used][order], (times[order] - start_ns).astype(float))
    write_media(raw, spec, out, start_ns=start_ns, times_ns=start_ns + np.rint(known).astype(np.int64))
    return out, start_ns


def _write(
    target: Path, done: list[Recording], graphs: dict[str, TaskGraph], videos: dict[str, Path]
) -> None:
    """Put the plain folder in the place of the one of before."""
    work = target.with_name(f".{DATASET}.new")
    shutil.rmtree(work, ignore_errors=True)
    write_plain(work, done, graphs, about={"name": "captured", "version": "1"})
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
