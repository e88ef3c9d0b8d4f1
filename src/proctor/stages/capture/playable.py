"""Stored streams of a recording as files that play: at their moments, by the clock that synchronisation found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from proctor.capture.records import StreamSpec
from proctor.capture.segments import load_index, read_payload
from proctor.errors import UserError
from proctor.media.streams import decode_packets, encode_pictures, encode_samples

__all__ = ["write_media"]

Times: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


def write_media(
    folder: Path, spec: StreamSpec, out: Path, *,
    start_ns: int, times_ns: Times | None = None, end_ns: int | None = None,
) -> Path:  # fmt: skip
    """Write a stream as a file that begins at ``start_ns``: pictures as mp4 at 30 a second exactly, sound as wav or m4a.

    A picture stands from its moment until the next one, black before the first; gaps of sound are silent.

    Args:
        folder: of the stream.
        spec: of the stream: ``jpeg``, ``packet`` or ``s16``; floats behind a picture, which its columns name, are left out.
        out: ``.mp4``; or ``.wav`` or ``.m4a`` for sound.
        start_ns: its beginning, on the clock of ``times_ns``.
        times_ns: moments of samples in the order of ``load_index``, as synchronisation found them; when they came by default.
        end_ns: its end; with the last sample by default.

    Raises:
        UserError: if there is nothing to write, it would last more than a day, or it cannot be written.
    """
    index, sound = load_index(folder), spec.format == "s16"
    times = np.asarray(index["host_ns"] if times_ns is None else times_ns, dtype=np.int64) - start_ns
    if not len(index) or len(times) != len(index) or spec.format not in ("jpeg", "packet", "s16"):
        seen = f"{len(index)} samples of format '{spec.format}' with {len(times)} times make no file."
        raise UserError(seen, where=str(folder))
    # packets are decoded in the order in which they came
    order = np.arange(len(times)) if spec.format == "packet" else np.argsort(times, kind="stable")
    rate, per_sample, tail = (
        (spec.sample_rate, 2 * spec.channels, 0) if sound else (30, 1, 4 * len(spec.columns))
    )
    places = [round(t * rate / 1_000_000_000) for t in times.tolist()]
    last = int(index["size"][order[-1]]) // per_sample if sound else 1
    until = max(places) + last if end_ns is None else round((end_ns - start_ns) * rate / 1_000_000_000)
    if not 0 < until <= 86_400 * rate:
        raise UserError(
            f"it would last {until / rate:.0f} s.", where=str(folder), hint="synchronise it first"
        )
    samples = (
        (n, data[: len(data) - tail]) for n in order.tolist() if (data := read_payload(folder, index[n]))
    )
    if sound:
        blocks = ((places[n], np.frombuffer(data, "<i2").reshape(-1, spec.channels)) for n, data in samples)
        encode_samples(out, rate, spec.channels, blocks, until)
    else:
        pictures = decode_packets(spec.codec or "mjpeg", spec.extradata, samples)
        encode_pictures(out, (spec.width, spec.height), ((places[n], one) for n, one in pictures), until)
    return out
