"""Bounded queues between a sensor and its writer: the sensor's event loop puts, the writer's thread takes; never silent loss."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Final, Literal, NamedTuple

import msgspec

from proctor.capture.records import Sample

__all__ = ["Dropped", "MemoryQueue", "QueueSettings"]

_OVERHEAD: Final = 120
"""Bytes that a sample takes beside its payload."""
_BATCH: Final = 8 * 2**20


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How samples wait for their writer."""

    most_bytes: int = 64 * 2**20  # of each stream in memory
    redis: str = (
        ""  # URL of a server (redis://, unix://) that holds them instead, so that they outlive the process
    )
    maxlen: int = 0  # entries of a Redis stream; 0 for 60 seconds of its rate, at least 1000
    claim_s: float = 30.0  # after which entries of a consumer that is gone are taken over


class Dropped(NamedTuple):
    """Samples that a queue lost: how many, and the host times of the first and the last."""

    number: int
    start_ns: int
    end_ns: int


class MemoryQueue:
    """A queue of one stream with one writer, in memory, bounded by bytes.

    The writer is not woken for each sample but looks every ``timeout_s``, or when a quarter is full: many
    small samples would otherwise cost a switch of threads each.
    """

    durable = False
    """What was taken is kept until ``written``, so that the writer syncs each batch."""

    def __init__(self, settings: QueueSettings, policy: Literal["block", "drop-oldest"]) -> None:
        self._most, self._policy, self._bytes = settings.most_bytes, policy, 0
        self._items: deque[Sample] = deque()
        self._ready = threading.Condition()
        self._room, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self._closed, self._lost = False, Dropped(0, 0, 0)
        self.next_seq = 0
        """Number of the first sample that ``take`` returned, where samples before it were lost that had one."""

    async def put(self, sample: Sample) -> None:
        """Append; waits while it is full and its policy is ``block``. A sample larger than the queue goes in alone."""
        size = len(sample.payload) + _OVERHEAD
        while True:
            with self._ready:
                if self._closed:
                    return self.drop(1, sample.host_ns, sample.host_ns)
                while self._policy == "drop-oldest" and self._items and self._bytes + size > self._most:
                    old = self._items.popleft()
                    self._bytes -= len(old.payload) + _OVERHEAD
                    self.drop(1, old.host_ns, old.host_ns)
                if fits := not self._items or self._bytes + size <= self._most:
                    self._items.append(sample)
                    self._bytes += size
                else:
                    self._room.clear()
                if self._bytes * 4 > self._most:
                    self._ready.notify()
            if fits:
                return None
            await self._room.wait()

    def take(self, seq: int, timeout_s: float) -> list[Sample] | None:
        """Return what waits, some MB at most; None once it is closed and empty. ``seq`` is the number of the next sample."""
        found, size = [], 0
        with self._ready:
            self.next_seq = seq
            if not self._closed and self._bytes * 4 <= self._most:
                self._ready.wait(timeout_s)
            if not self._items and self._closed:
                return None
            while self._items and size < _BATCH:
                found.append(self._items.popleft())
                size += len(found[-1].payload) + _OVERHEAD
            self._bytes -= size
        self._loop.call_soon_threadsafe(self._room.set)
        return found

    def drop(self, number: int, start_ns: int, end_ns: int) -> None:
        """Note that samples are lost."""
        with self._ready:
            had = self._lost
            self._lost = Dropped(had.number + number, had.start_ns if had.number else start_ns, end_ns)

    def lost(self) -> Dropped | None:
        """Return what was dropped since the last call."""
        with self._ready:
            found, self._lost = self._lost, Dropped(0, 0, 0)
        return found if found.number else None

    def written(self) -> None:
        """Note that everything taken is on disk."""

    def remove(self) -> None:
        """Remove what is kept elsewhere: the recording is over, and all of it on disk."""

    def close(self) -> None:
        """Let ``take`` end when it is empty; what is put afterwards is dropped and counted."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._room.set()

    def backlog(self) -> float:
        """Return the share of the queue that is full."""
        return self._bytes / self._most
