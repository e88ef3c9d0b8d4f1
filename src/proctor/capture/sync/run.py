"""One recording, all its streams at the moments of one of them: a table each, and a report of how good they are. docs/capture.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from proctor.capture.records import EVENTS, MANIFEST, TABLET_EVENTS, Event, Manifest, StreamSpec
from proctor.capture.segments import load_index, load_vectors, read_payload, segment_files, write_index
from proctor.capture.sync.clean import FLAGS, clean
from proctor.capture.sync.clock import ClockMap, Floats, Ints, event_times, fit_clock, probes_of, wall_ns
from proctor.capture.sync.match import TICK_NS, interpolate, match, published_match, tolerance_ns
from proctor.capture.sync.report import CheckReport, StreamReport, SyncConfig, SyncReport, Verdict
from proctor.compute import batches
from proctor.errors import MissingExtraError, UserError
from proctor.media.marks import brightness, flash, loudness, onset, sound_offset, spike
from proctor.records import atomic_write, content_hash, read_bytes, read_json, write_json

__all__ = ["SyncConfig", "SyncReport", "synchronise", "video_files"]

VERSION: Final = 1
"""Of what is computed; another one gives other hashes."""
_VERDICTS: Final[tuple[Verdict, ...]] = ("good", "usable", "poor")
_AROUND_NS: Final = 2_000_000_000
_BINS: Final = 24
_VIDEOS: Final = frozenset({".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v"})
_CHAPTER: Final = re.compile(r"(?:joined-|G[A-Z](\d\d))(\d{4})", re.ASCII)


class _Stream:
    """A stream with its clock map and its samples in order; ``said`` is what there is to say: 0 to know, 1 usable, 2 poor."""

    def __init__(self, folder: Path, spec: StreamSpec, events: Sequence[Event]) -> None:
        self.folder, self.spec, self.said = folder / "raw" / spec.name, spec, list[tuple[int, str]]()
        self.index, self.files = load_index(self.folder), list[tuple[Path, float, float]]()
        sizes = {number: path.stat().st_size for number, path in segment_files(self.folder)}
        starts, last = np.unique(self.index["segment"][::-1], return_index=True)
        ends = (self.index["offset"] + self.index["size"])[::-1][last]
        if any(sizes.get(int(number), 0) < end for number, end in zip(starts, ends, strict=True)):
            known, self.index = len(self.index), write_index(self.folder)
            self.say(1, f"a segment is cut off or gone: {known - len(self.index):,} samples with it")
        if spec.format == "file":
            times = self._file_times()
            self.place(times, fit_clock(times, times))
            return
        host, device = self.index["host_ns"], self.index["device_ns"]
        if spec.format == "s16" and spec.sample_rate:  # a block is timed by its first sample
            in_a_second = 2 * max(1, spec.channels) * spec.sample_rate
            host = host - self.index["size"].astype(np.int64) * 10**9 // in_a_second
        probes = probes_of(events, spec.clock) if spec.clock else []
        self.place(device, fit_clock(device, host, probes))

    def say(self, weight: int, text: str) -> None:
        """Note something: 0 is good to know, 1 makes the stream usable, 2 poor."""
        self.said.append((weight, text))

    def place(self, device: Ints, clock: ClockMap) -> None:
        """Put the samples in order."""
        self.device, self.clock = device, clock
        self.cleaned = clean(device, clock, can_drop=self.spec.can_drop)
        self.times, placed = self.cleaned.host_ns, self.spec.format == "file"
        self.coarse = np.array([*(c.coarse and not c.probes and not placed for c in clock.segments), True])
        self.period = self.cleaned.period_ns or (round(1e9 / self.spec.rate_hz) if self.spec.rate_hz else 0)

    def _file_times(self) -> Ints:
        from proctor.media.probe import presentation_times

        found, start = [np.zeros(0, dtype=np.int64)], 0.0
        for path in video_files(self.folder):
            try:
                times, end = presentation_times(path)
            except MissingExtraError:
                raise
            except UserError as error:
                self.say(2, f"{path.name}: {error.message}")
                break  # nobody knows when the next one begins
            self.files.append((path, start, end))
            found.append(np.rint((np.array(times) + start) * 1e9).astype(np.int64))
            start += end
        return np.concatenate(found)

    def file_sound(self) -> Floats:
        """Return the loudness of each millisecond of its files."""
        from proctor.media.clips import sound_blocks

        found = np.zeros(int(self.device[-1]) // 1_000_000)
        for path, start, length in self.files:
            at = round(start * 1000)
            for some in batches(sound_blocks(path, 0.0, length), 375):  # whole milliseconds
                mono = np.concatenate([block.mean(axis=0) for _, block in some])
                at += _lay(found, at, loudness(mono, 48_000))
        return found

    def sound(self, places: Ints) -> Floats:
        """Return the loudness of each millisecond from the first of these samples on."""
        since, whole = self.times - self.times[places[0]], 2 * max(1, self.spec.channels)
        found = np.zeros(int(since[places[-1]]) // 1_000_000 + 1_000)
        for n in places:
            data = read_payload(self.folder, self.index[self.cleaned.rows[n]])
            parts = np.frombuffer(data[: len(data) // whole * whole], "<i2").reshape(-1, whole // 2)
            _lay(found, int(since[n]) // 1_000_000, loudness(parts.sum(axis=1), self.spec.sample_rate))
        return found

    def event_at(self, moment: int) -> int | None:
        """Return the host time of a clap, flash or shock near a moment, None where nothing is to be seen."""
        low, high = np.searchsorted(self.times, [moment - _AROUND_NS, moment + _AROUND_NS])
        places, picture = np.arange(low, high), self.spec.format == "jpeg"
        if not len(places):
            return None
        if self.spec.format == "s16" and self.spec.sample_rate >= 1_000:
            second = onset(self.sound(places))
            return None if second is None else int(self.times[low]) + round(second * 1e9)
        at = None
        if picture:
            shown = (read_payload(self.folder, self.index[r]) for r in self.cleaned.rows[places])
            at = flash([brightness(jpeg) for jpeg in shown])
        elif self.vectors.shape[1] and self.spec.kind == "imu":
            at = spike(self.vectors[places])
        if at is None:
            return None
        # (a flash began between two pictures)
        return int(self.times[low + at - picture] + self.times[low + at]) // 2

    @cached_property
    def vectors(self) -> Floats:
        """The vectors of the samples in order; no columns where there are none, or they cannot be read."""
        if self.spec.format == "f4" and len(self.cleaned.rows):
            try:
                return load_vectors(self.folder, self.spec)[self.cleaned.rows]
            except UserError as error:
                self.say(2, f"its vectors cannot be read: {error.message}")
        return np.zeros((len(self.cleaned.rows), 0))


def _lay(found: Floats, at: int, part: Floats) -> int:
    """Put a part into its place, cut where ``found`` ends; returns how many."""
    part = part[: max(0, len(found) - at)]
    found[at : at + len(part)] = part
    return len(part)


def video_files(folder: Path) -> list[Path]:
    """Return the videos of a stream of files in their order; chapters that were joined into one file are left out.

    A GoPro writes the chapter in front of the number (GX010042, GX020042).
    """
    videos = (path for path in folder.glob("[!.]*") if path.suffix.lower() in _VIDEOS)
    places = {path: (m[2], m[1] or "") if (m := _CHAPTER.match(path.name)) else ("", "") for path in videos}
    joined = {number for number, chapter in places.values() if number and not chapter}
    kept = (path for path, (number, chapter) in places.items() if not chapter or number not in joined)
    return sorted(kept, key=lambda path: (*places[path], path.name))


def _events(path: Path) -> Iterator[Event | None]:
    """Yield the events of a file, None for a line that cannot be read."""
    for line in read_bytes(path).splitlines() if path.is_file() else ():
        try:
            yield msgspec.json.decode(line, type=Event)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield None


def _place_files(streams: Sequence[_Stream], manifest: Manifest, begun: dict[str, int]) -> None:
    """Set the constant of streams without times of arrival: by sound, else an event (text ``began``), else what their files say."""
    ears = [s for s in streams if s.spec.format == "s16" and len(s.times) and s.spec.sample_rate >= 1_000]
    for stream in (s for s in streams if s.files):
        named, heard = _told(stream.files[0][0], manifest)
        offset, lag = manifest.host_start_ns or 0, None
        if ears and heard:
            try:
                lag = sound_offset(ears[0].sound(np.arange(len(ears[0].times))), stream.file_sound())
            except UserError as error:
                stream.say(1, f"its sound cannot be read: {error.message}")
        if lag is not None:
            offset = int(ears[0].times[0]) + round(lag * 1e9)
            stream.say(0, f"placed by its sound beside that of {ears[0].spec.name}")
            if named is not None and abs(named - offset) > _AROUND_NS:
                stream.say(0, f"its file says that it began {(named - offset) / 1e9:+,.1f} s from there")
        elif stream.spec.name in begun:
            offset = begun[stream.spec.name]
            stream.say(0, "placed by the event that says when it began")
        elif named is not None:
            offset = named
            stream.say(1, "placed by the time of creation in its file, which may be wrong")
        else:
            stream.say(2, "nothing tells when it began: it stands at the beginning of the recording")
        stream.place(stream.device, fit_clock(stream.device, stream.device + offset))


def _told(path: Path, manifest: Manifest) -> tuple[int | None, bool]:
    """Return the host time at which a file says it was begun, and whether it has sound."""
    from proctor.media.source import open_video

    with open_video(path) as (container, _):
        heard, label = bool(container.streams.audio), container.metadata.get("creation_time", "")
    made, began = wall_ns(label), wall_ns(manifest.wall_start)
    if made is None or began is None:
        return None, heard
    return (manifest.host_start_ns or 0) + made - began, heard


def synchronise(folder: Path, config: SyncConfig = SyncConfig()) -> SyncReport:  # noqa: B008 - frozen
    """Write ``sync/<hash>/`` of a recording: a table for each stream, and ``report.json``; the same input gives the same bytes.

    A table has ``base_idx``, ``src_idx`` (row of the index, of files the picture; -1 for none), ``t_base_ns``
    (host), ``dt_ms``, ``quality`` (0 none, 1 flagged or by a coarse clock, 2 good), and for vectors a column
    each, with its unit.

    Raises:
        UserError: if there is no manifest, or ``config.base`` is no stream of it.
        MissingExtraError: without the extra ``capture``.
    """
    manifest: Manifest = read_json(folder / MANIFEST, Manifest)
    own, tablet = list(_events(folder / EVENTS)), list(_events(folder / TABLET_EVENTS))
    streams = [_Stream(folder, spec, [e for e in own if e]) for spec in manifest.streams]
    timed = event_times(filter(None, own), filter(None, tablet))
    begun = {e.stream: at for e, at in timed[::-1] if e.kind == "sensor" and e.text == "began"}
    _place_files(streams, manifest, begun)
    base = _base(streams, config, str(folder / MANIFEST))
    grid = base.times if base else np.zeros(0, dtype=np.int64)
    zero = int(grid[0]) if len(grid) else manifest.host_start_ns or 0
    claps = [at for event, at in timed if event.kind == "clap"]
    checks = tuple(check for at in claps if (check := _check(streams, at, zero, config)))
    target = folder / "sync" / content_hash([VERSION, config])
    reports = [_write(s, base, grid, config, target) for s in streams]
    counted = [r for s, r in zip(streams, reports, strict=True) if r.required or s is base]
    reasons = [f"{r.name} is {r.verdict}" for r in reports if r.verdict != "good"]
    reasons += [] if reports else ["it has no stream"]
    if bad := own.count(None) + tablet.count(None):
        reasons.append(f"{bad} lines of events cannot be read")
    report = SyncReport(
        recording=manifest.id, hash=target.name, config=config, base=base.spec.name if base else "", frames=len(grid),
        seconds=(int(grid[-1]) - zero) / 1e9 if len(grid) else 0.0, host_ns=zero, streams=tuple(reports), checks=checks,
        verdict=_VERDICTS[max((_VERDICTS.index(r.verdict) for r in counted), default=2)], reasons=tuple(reasons),
    )  # fmt: skip
    write_json(target / "report.json", report)
    return report


def _base(streams: Sequence[_Stream], config: SyncConfig, where: str) -> _Stream | None:
    if config.base and not any(s.spec.name == config.base for s in streams):
        known = ", ".join(s.spec.name for s in streams) or "none"
        raise UserError(f"there is no stream '{config.base[:40]}'.", where=where, hint=f"streams: {known}")
    named = [s for s in streams if s.spec.name == config.base] or streams
    order = ((not len(s.times), s.spec.kind != "video", not s.spec.required) for s in named)
    return min(zip(order, range(len(named)), named, strict=True), default=(None, 0, None))[2]


def _check(streams: Sequence[_Stream], moment: int, zero: int, config: SyncConfig) -> CheckReport | None:
    """Look for a clap in every stream; those that lie farthest from the others are told so if that is too far."""
    found = {s: (at - moment) / 1e6 for s in streams if (at := s.event_at(moment)) is not None}
    if not found:
        return None
    middle, spread = float(np.median([*found.values()])), max(found.values()) - min(found.values())
    agrees = spread <= config.check_ms + max(s.period for s in found) / 1e6
    where = f"the clap at {(moment - zero) / 1e9:.1f} s comes"
    for s in [s for s, at in found.items() if not agrees and abs(at - middle) >= spread / 2 - 1e-6]:
        s.say(2, f"{where} {found[s] - middle:+.0f} ms from where others have it")
    seen = {s.spec.name: round(at, 2) for s, at in found.items()}
    return CheckReport(at_s=(moment - zero) / 1e9, found_ms=seen, apart_ms=round(spread, 2), agrees=agrees)


def _write(s: _Stream, base: _Stream | None, grid: Ints, config: SyncConfig, target: Path) -> StreamReport:
    """Match a stream with the base, write its table, and judge it."""
    cap, rows = round(config.tolerance_ms * 1e6), s.cleaned.rows
    tolerance = tolerance_ns(s.period, cap) if s.period else cap
    if config.rule == "published" and base is not None:
        moments, src = base.device[base.cleaned.rows], np.full(len(grid), -1, dtype=np.int64)
        src[np.argsort(moments, kind="stable")] = published_match(moments // TICK_NS, s.device // TICK_NS)
        apart = np.where(src >= 0, s.device[src] - moments, 0) if len(s.device) else np.zeros_like(src)
    else:
        found, apart = match(grid, s.times, tolerance, allow_repeat=config.allow_repeat)
        src = np.where(found >= 0, rows[found], -1) if len(rows) else found
    weak = s.coarse[s.clock.segment[src]] | (s.cleaned.flags[src] > 0) if len(s.device) else src < 0
    values = np.zeros((len(grid), 0))
    if s.spec.kind in ("imu", "pose") and s.vectors.shape[1]:
        values = interpolate(grid, s.times, s.vectors, s.spec.columns, round(config.longest * s.period))
    columns = {
        "base_idx": np.arange(len(grid), dtype=np.int32), "src_idx": src, "t_base_ns": grid,
        "dt_ms": (apart / 1e6).astype("f4"),
        "quality": np.where(src < 0, 0, np.where(weak, 1, 2)).astype(np.uint8),
    }  # fmt: skip
    columns |= {name: values[:, n].astype("f4") for n, name in enumerate(s.spec.columns[: values.shape[1]])}
    _write_table(target / f"{s.spec.name}.parquet", s.spec, columns)
    return _judge(s, base, grid, src >= 0, apart, tolerance)


def _write_table(path: Path, spec: StreamSpec, columns: dict[str, Any]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "capture", "Writing synchronised streams") from None
    units = dict(zip(spec.columns, spec.units, strict=False))
    marks = {name: {"unit": unit} for name, unit in units.items()}
    arrays = [pa.array(column, from_pandas=True) for column in columns.values()]
    fields = [pa.field(n, a.type, metadata=marks.get(n)) for n, a in zip(columns, arrays, strict=True)]
    about = {"stream": spec.name, "kind": spec.kind, "units": msgspec.json.encode(units)}
    table = pa.table(arrays, schema=pa.schema(fields, about))
    with atomic_write(path) as file:
        pq.write_table(table, file, compression="zstd")


def _judge(
    s: _Stream, base: _Stream | None, grid: Ints, good: Any, apart: Ints, tolerance: int
) -> StreamReport:
    clock, n = s.clock.segments, max(1, len(s.device))
    inside = s.times[(s.times >= grid[:1]) & (s.times <= grid[-1:])] if len(grid) else grid
    inside = np.concatenate([grid[:1], inside, grid[-1:]])
    steps = np.diff(inside) * bool(s.spec.rate_hz)
    wide = np.flatnonzero(steps > 3 * s.period)
    gaps = tuple((round(int(inside[i] - grid[0]) / 1e9, 3), round(int(steps[i]) / 1e9, 3)) for i in wide)
    coverage = float(good.mean()) if len(grid) else 0.0
    if s is base and len(grid) > 1:
        coverage = 1 - float(steps[wide].sum()) / max(1, int(np.ptp(grid)))
    flagged = {name: int((s.cleaned.flags & bit > 0).sum()) for name, bit in FLAGS.items()}
    flagged["lost"] = int(np.ptp(s.index["seq"])) + 1 - len(np.unique(s.index["seq"])) if len(s.index) else 0
    rate, nominal = 1e9 / s.cleaned.period_ns if s.cleaned.period_ns else 0.0, s.spec.rate_hz
    drift = max((abs(c.drift_ppm) for c in clock), default=0.0)
    spread, lost_s = max((c.spread_ms for c in clock), default=0.0), sum(length for _, length in gaps)
    s.said += [(weight, text) for told, weight, text in (
        (not len(s.device), 2, "it has no sample"),
        (len(s.device) > 0 and coverage < 0.99, 1 + (coverage < 0.9), f"{coverage:.1%} is covered"),
        (gaps, int(any(length > 1 for _, length in gaps)), f"{len(gaps)} gap{'s' * (len(gaps) != 1)}, {lost_s:.1f} s in all"),
        (len(clock) > 1, 1, f"its clock jumped or started over: {len(clock)} segments"),
        (s.coarse[:-1].any(), 1, "a part of it is too short for more than a coarse clock map"),
        (spread > 10, 1, f"its delays vary: the clock map is sure to {spread:.0f} ms only"),
        (drift > 1_000, 2, f"its clock is off by {drift:,.0f} µs in a second: are its times in another unit?"),
        (nominal and rate and abs(rate / nominal - 1) > 0.1, 1, f"it has {rate:.1f} samples a second, not {nominal:g}"),
        (flagged["odd"], 1, f"{flagged['odd']:,} samples have times that cannot be"),
        (flagged["duplicate"] > n / 1000, 0, f"{flagged['duplicate']:,} samples came twice"),
        (flagged["backward"] > n / 1000, 0, f"{flagged['backward']:,} samples came out of order"),
        (flagged["lost"], int(flagged["lost"] > n / 100), f"{flagged['lost']:,} samples were sent and are not there"),
    ) if told]  # fmt: skip
    dt, edge = np.abs(apart[good]) / 1e6, tolerance / 1e6
    return StreamReport(
        name=s.spec.name, kind=s.spec.kind, required=s.spec.required, samples=len(s.device), flagged=flagged, rate_hz=round(rate, 3),
        regular=s.cleaned.regular, tolerance_ms=edge, matched=int(good.sum()), coverage=round(coverage, 6), gaps=gaps,
        dt_ms=tuple(round(float(q), 4) for q in np.quantile(dt, (0.5, 0.95, 1.0))) if len(dt) else (),
        histogram=tuple(map(int, np.histogram(apart[good] / 1e6, np.linspace(-edge, edge, _BINS + 1))[0])), clock=clock,
        jumps=s.clock.jumps, verdict=_VERDICTS[max((weight for weight, _ in s.said), default=0)],
        reasons=tuple(text for _, text in sorted(s.said, key=lambda one: -one[0])),
    )  # fmt: skip
