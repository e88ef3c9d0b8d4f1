"""A context that keeps what a sensor emits, samples on disk, and the counter of a simulated picture."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np

from proctor.capture.records import Sample
from proctor.capture.segments import SegmentWriter
from proctor_rehearsal.kitchen.sensors import BITS


class Kept:
    """Keeps samples and what was said; ``enough`` is set when there are ``most``."""

    def __init__(self, folder: Path, most: int = 10**9) -> None:
        self.folder, self.most = folder, most
        self.samples: list[tuple[int, bytes, int]] = []
        self.texts: list[str] = []
        self.enough = asyncio.Event()

    async def emit(self, device_ns: int, payload: bytes, host_ns: int | None = None) -> None:
        self.samples.append((device_ns, payload, host_ns or time.monotonic_ns()))
        if len(self.samples) >= self.most:
            self.enough.set()

    def said(self, text: str) -> None:
        self.texts.append(text)


def stored(folder: Path, samples: list[tuple[int, bytes, int]]) -> None:
    """Write samples (device time, bytes, host time) as the recorder does."""
    writer = SegmentWriter(folder)
    for device, payload, host in samples:
        writer.add(Sample(device, host, payload))
    writer.close()


def counter(image: np.ndarray[Any, Any]) -> int:
    """Return the number that is burnt into a picture (height × width × 3)."""
    side = image.shape[1] // BITS
    row = image[-side // 2, :, 1].astype(int)
    return sum(int(row[side * i + side // 2] > 127) << (BITS - 1 - i) for i in range(BITS))
