"""Bounded queues between a sensor and its writer: the sensor's event loop puts, the writer's thread takes; never silent loss."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from proctor.capture.records import Sample, StreamSpec

if TYPE_CHECKING:
    from proctor.capture.redis_queue import RedisQueue

__all__ = ["Dropped", "MemoryQueue", "QueueSettings", "SampleQueue", "queue_of"]

SampleQueue: TypeAlias = "MemoryQueue | RedisQueue"
"""A queue of one stream with one writer."""

_OVERHEAD: Final = 120
"""Bytes that a sample takes beside its payload."""
_BATCH: Final = 8 * 2**20


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How samples wait for their writer.

    Attributes:
        most_bytes: of each stream in memory.
        redis: URL of a Redis server (``redis://``, ``unix://``) that holds them instead, so that they outlive the process.
        maxlen: entries of a Redis stream; 0 for 60 seconds of its rate, at least 1000.
        claim_s: after which entries of a consumer that is gone are taken over.
    """

    most_bytes: int = 64 * 2**20
    redis: str = ""
    maxlen: int = 0
    claim_s: float = 30.0


class Dropped(NamedTuple):
    """Samples that a full queue lost: how many, and the host times of the first and the last."""

    number: int
    start_ns: int
    end_ns: int


class MemoryQueue:
    """A queue in memory, bounded by bytes.

    The writer is not woken for each sample but looks every ``timeout_s``, or when a quarter is full: many small samples would
    otherwise cost a switch of threads each.
    """

    durable = False
    """What was taken is kept until ``written``, so that the writer syncs each batch."""

    def __init__(self, settings: QueueSettings, policy: Literal["block", "drop-oldest"]) -> None:
        self._most, self._policy = settings.most_bytes, policy
        self._items: deque[Sample] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._lost: Dropped | None = None
        self.next_seq = 0
        """Number of the sample that comes next, where samples were lost that had one."""

    async def put(self, sample: Sample) -> None:
        """Append; waits while it is full and its policy is ``block``. A sample larger than the queue goes in alone."""
        size = len(sample.payload) + _OVERHEAD
        while True:
            with self._lock:
                if self._closed:
                    self._drop(sample)
                    return
                while self._policy == "drop-oldest" and self._items and self._bytes + size > self._most:
                    old = self._items.popleft()
                    self._bytes -= len(old.payload) + _OVERHEAD
                    self._drop(old)
                if not self._items or self._bytes + size <= self._most:
                    self._items.append(sample)
                    self._bytes += size
                    if self._bytes * 4 > self._most:
                        self._ready.notify()
                    return
                self._room.clear()
                self._ready.notify()
            await self._room.wait()

    def _drop(self, sample: Sample) -> None:
        before = self._lost
        start = sample.host_ns if before is None else before.start_ns
        self._lost = Dropped(1 + (before.number if before else 0), start, sample.host_ns)

    def take(self, seq: int, timeout_s: float) -> list[Sample] | None:
        """Return what waits, some MB at most; None once it is closed and empty. ``seq`` is the number of the next sample."""
        del seq  # in memory nothing is taken twice
        with self._lock:
            if not self._closed and self._bytes * 4 <= self._most:
                self._ready.wait(timeout_s)
            if not self._items:
                return None if self._closed else []
            found, size = [], 0
            while self._items and size < _BATCH:
                found.append(self._items.popleft())
                size += len(found[-1].payload) + _OVERHEAD
            self._bytes -= size
        self._loop.call_soon_threadsafe(self._room.set)
        return found

    def lost(self) -> Dropped | None:
        """Return what was dropped since the last call."""
        with self._lock:
            found, self._lost = self._lost, None
        return found

    def written(self) -> None:
        """Note that everything taken is on disk; nothing of it is kept here."""

    def remove(self) -> None:
        """Remove what is kept elsewhere: the recording is over, and all of it on disk."""

    def close(self) -> None:
        """Let ``take`` end when it is empty; what is put afterwards is dropped and counted."""
        with self._lock:
            self._closed = True
            self._ready.notify()
        self._room.set()

    def backlog(self) -> float:
        """Return the share of the queue that is full."""
        return self._bytes / self._most


def queue_of(settings: QueueSettings, recording: str, spec: StreamSpec) -> SampleQueue:
    """Return the queue of a stream; to be called in the event loop.

    Raises:
        UserError: if Redis is wanted and not installed, or not there.
    """
    if settings.redis:
        from proctor.capture.redis_queue import RedisQueue

        return RedisQueue(settings, recording, spec)
    return MemoryQueue(settings, spec.policy)
