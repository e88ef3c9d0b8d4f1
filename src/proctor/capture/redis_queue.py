"""A queue in Redis Streams: what waits outlives the process that records. Extra ``redis``.

An entry's id is its sequence number + 1, so a sample that comes twice after a crash is known by it: Redis refuses to add it again,
and the writer, which knows the number of its next record, neither writes it twice nor leaves one out. Nothing but the stream's own
key is touched.
"""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Any, Final

from proctor.capture.queue import Dropped, QueueSettings
from proctor.capture.records import Sample, StreamSpec
from proctor.errors import MissingExtraError, UserError

__all__ = ["RedisQueue", "stream_key"]

_GROUP: Final = "writer"
_TIMES: Final = struct.Struct("<qq")
_COUNT: Final = 200


def stream_key(recording: str, stream: str) -> str:
    """Return the key of a stream."""
    return f"rec:{recording}:{stream}"


class RedisQueue:
    """A queue of one stream; see ``MemoryQueue`` for what each method promises.

    Raises:
        UserError: if Redis is not installed or not there.
    """

    durable = True

    def __init__(
        self, settings: QueueSettings, recording: str, spec: StreamSpec, consumer: str = "host"
    ) -> None:
        try:
            import redis
        except ModuleNotFoundError:
            raise MissingExtraError("redis", "redis", "A queue in Redis") from None
        self._gone = (redis.ConnectionError, redis.TimeoutError)
        self._key, self._consumer = stream_key(recording, spec.name), consumer
        self._most = settings.maxlen or max(1000, int(60 * spec.rate_hz))
        self._claim_ms, self._block = int(settings.claim_s * 1000), spec.policy == "block"
        try:
            self._redis: Any = redis.Redis.from_url(settings.redis)
            self._adding: Any = redis.Redis.from_url(settings.redis)
            try:
                self._redis.xgroup_create(self._key, _GROUP, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
            last = self._redis.xinfo_stream(self._key)["last-generated-id"]
        except (redis.RedisError, ValueError) as error:
            raise UserError(
                f"Redis cannot be used: {error}", where=settings.redis, hint="start it, or leave --redis out"
            ) from None
        self._added = int(last.split(b"-")[0])
        self.next_seq = self._done = 0
        self._waiting: dict[int, bytes] = {}
        self._taken: list[str] = []
        self._mine: bytes | None = b"0"
        self._claimed = 0.0
        self._closed: float | None = None
        self._nothing = False
        self._lost: Dropped | None = None

    async def put(self, sample: Sample) -> None:
        """Append; waits while Redis is gone, and while 9 of 10 places are taken and the policy is ``block``."""
        data = _TIMES.pack(sample.device_ns, sample.host_ns) + sample.payload
        while self._closed is None:
            try:
                if not (self._block and self.backlog() > 0.9):
                    self._added = max(self._added, self.next_seq)
                    self._adding.xadd(self._key, {b"s": data}, f"{self._added + 1}-0", maxlen=self._most)
                    self._added += 1
                    return
                await asyncio.sleep(0.01)
            except self._gone:
                await asyncio.sleep(0.2)
        self._drop(1, sample.host_ns, sample.host_ns)

    def _drop(self, count: int, start_ns: int, end_ns: int) -> None:
        had = self._lost
        self._lost = Dropped(count + (had.number if had else 0), had.start_ns if had else start_ns, end_ns)

    def take(self, seq: int, timeout_s: float) -> list[Sample] | None:
        """Return what waits from ``seq`` on without a hole; what Redis trimmed before it was read is lost (``next_seq``)."""
        self.next_seq = self._done = seq
        try:
            if not self._waiting:
                self._read(int(1000 * timeout_s))
            self._taken += [f"{n + 1}-0" for n in self._waiting if n < seq]
            self._waiting = {n: data for n, data in self._waiting.items() if n >= seq}
            if (
                self._waiting and (first := min(self._waiting)) > seq
            ):  # taken by a consumer that is gone, or trimmed
                self._add(self._redis.xrange(self._key, f"{seq + 1}-0", f"{first}-0"))
        except self._gone:
            if self._closed is None or time.monotonic() < self._closed + 10:
                time.sleep(timeout_s)
                return []
            self._drop(self._added - seq, 0, time.monotonic_ns())
            return None
        if not self._waiting:
            return None if self._closed is not None and self._nothing else []
        self.next_seq = at = min(self._waiting)
        found: list[Sample] = []
        while (data := self._waiting.pop(at, None)) is not None:
            device, host = _TIMES.unpack_from(data)
            found.append(Sample(device, host, data[_TIMES.size :]))
            at += 1
            self._taken.append(f"{at}-0")
        if self.next_seq > seq:
            self._drop(self.next_seq - seq, found[0].host_ns, found[0].host_ns)
        return found

    def _read(self, block_ms: int) -> None:
        """Get entries: first what this consumer took before it died, now and then what others left, otherwise new ones."""
        self._nothing = False
        if self._mine is not None:
            got = self._redis.xreadgroup(_GROUP, self._consumer, {self._key: self._mine}, _COUNT)
            entries = got[0][1] if got else []
            self._mine = entries[-1][0] if entries else None
        elif time.monotonic() > self._claimed + self._claim_ms / 1000:
            entries = self._redis.xautoclaim(self._key, _GROUP, self._consumer, self._claim_ms, count=_COUNT)[
                1
            ]
            if len(entries) < _COUNT:
                self._claimed = time.monotonic()
        else:
            got = self._redis.xreadgroup(_GROUP, self._consumer, {self._key: ">"}, _COUNT, max(block_ms, 1))
            entries = got[0][1] if got else []
            self._nothing = not entries
        self._add(entries)

    def _add(self, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        for key, fields in entries:
            if fields:  # a trimmed one has none
                self._waiting[int(key.split(b"-")[0]) - 1] = fields[b"s"]
            else:
                self._taken.append(key.decode())

    def lost(self) -> Dropped | None:
        """Return what was dropped since the last call."""
        found, self._lost = self._lost, None
        return found

    def written(self) -> None:
        """Acknowledge what was taken: it is on disk."""
        taken, self._taken = self._taken, []
        try:
            for i in range(0, len(taken), 1000):
                self._redis.xack(self._key, _GROUP, *taken[i : i + 1000])
        except self._gone:
            self._taken = taken + self._taken

    def close(self) -> None:
        """Let ``take`` end when all is read."""
        self._closed = self._closed or time.monotonic()

    def remove(self) -> None:
        """Remove the stream's key: its recording is over, and all of it on disk."""
        self._redis.delete(self._key)

    def backlog(self) -> float:
        """Return the share of the places that is taken by what is not on disk."""
        return max(0, self._added - self._done) / self._most
