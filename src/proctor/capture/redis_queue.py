"""A queue in Redis Streams: what waits outlives the process that records. Extra ``redis``.

An entry's id is its sequence number + 1, so a sample that comes twice after a crash is known by it: Redis refuses to add it again,
and the writer, which knows the number of its next record, neither writes it twice nor leaves one out. Nothing but the stream's own
key is touched.
"""

from __future__ import annotations

import asyncio
import struct
import time
from contextlib import suppress
from typing import Any, Final

from proctor.capture.queue import MemoryQueue, QueueSettings
from proctor.capture.records import Sample, StreamSpec
from proctor.errors import MissingExtraError, UserError

__all__ = ["RedisQueue", "connect", "stream_key"]

_GROUP: Final = "writer"
_CONSUMER: Final = "host"
"""Always the same name, so that a process which is started again gets what its predecessor took and did not acknowledge."""
_TIMES: Final = struct.Struct("<qq")
_COUNT: Final = 200


def stream_key(recording: str, stream: str) -> str:
    """Return the key of a stream."""
    return f"rec:{recording}:{stream}"


def connect(url: str) -> Any:
    """Return a client; ``UserError`` if Redis is not installed, not there, or does not keep what it holds."""
    try:
        import redis

        client = redis.Redis.from_url(url, socket_timeout=5)
        kept = client.info("persistence").get("aof_enabled")
    except ModuleNotFoundError:
        raise MissingExtraError("redis", "redis", "A queue in Redis") from None
    except (redis.RedisError, ValueError) as error:
        hint = "start it, or leave --redis out"
        raise UserError(f"Redis cannot be used: {error}", where=url, hint=hint) from None
    if not kept:
        said, hint = "appendonly is off: what waits is lost if Redis dies.", "CONFIG SET appendonly yes"
        raise UserError(said, where=url, hint=hint)
    return client


class RedisQueue(MemoryQueue):
    """A queue of one stream in Redis; ``UserError`` if that is not installed or not there."""

    durable = True

    def __init__(self, settings: QueueSettings, recording: str, spec: StreamSpec) -> None:
        self._redis, self._adding = connect(settings.redis), connect(settings.redis)
        super().__init__(settings, spec.policy)
        import redis

        self._gone, self._refused = (redis.ConnectionError, redis.TimeoutError), redis.ResponseError
        self._key = stream_key(recording, spec.name)
        self._most = settings.maxlen or max(1000, int(60 * spec.rate_hz))
        self._claim_s = settings.claim_s
        try:
            self._redis.xgroup_create(self._key, _GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._added = int(self._redis.xinfo_stream(self._key)["last-generated-id"].split(b"-")[0])
        self._done = 0
        self._waiting: dict[int, bytes] = {}
        self._taken: list[str] = []
        self._mine: bytes | None = b"0"
        self._claimed = self._ended = 0.0
        self._nothing = False

    async def put(self, sample: Sample) -> None:
        """Append; waits while Redis is gone, and while 9 of 10 places are taken and the policy is ``block``."""
        data = _TIMES.pack(sample.device_ns, sample.host_ns) + sample.payload
        while not self._closed:
            try:
                if not (self._policy == "block" and self.backlog() > 0.9):
                    self._added = max(self._added, self.next_seq)
                    self._adding.xadd(self._key, {b"s": data}, f"{self._added + 1}-0", maxlen=self._most)
                    self._added += 1
                    return
                await asyncio.sleep(0.01)
            except self._gone:
                await asyncio.sleep(0.2)
            except self._refused as error:
                if "equal or smaller" not in str(error):  # otherwise it is there: only the answer was lost
                    raise
                self._added += 1
                return
        self.drop(1, sample.host_ns, sample.host_ns)

    def take(self, seq: int, timeout_s: float) -> list[Sample] | None:
        """Return what waits from ``seq`` on without a hole; what Redis trimmed before it was read is lost (``next_seq``)."""
        self.next_seq = self._done = seq
        try:
            if not self._waiting:
                self._read(max(1, int(1000 * timeout_s)))
            self._taken += [f"{n + 1}-0" for n in self._waiting if n < seq]
            self._waiting = {n: data for n, data in self._waiting.items() if n >= seq}
            first = min(self._waiting, default=seq)
            if first > seq:  # those before it were taken by a consumer that is gone, or trimmed
                self._keep(self._redis.xrange(self._key, f"{seq + 1}-0", f"{first}-0"))
        except self._gone:
            if not self._closed or time.monotonic() < self._ended + 10:
                time.sleep(timeout_s)
                return []
            self.drop(self._added - seq, 0, time.monotonic_ns())
            return None
        if not self._waiting:
            return None if self._closed and self._nothing else []
        self.next_seq = at = min(self._waiting)
        found: list[Sample] = []
        while (data := self._waiting.pop(at, None)) is not None:
            device, host = _TIMES.unpack_from(data)
            found.append(Sample(device, host, data[_TIMES.size :]))
            at += 1
            self._taken.append(f"{at}-0")
        if self.next_seq > seq:
            self.drop(self.next_seq - seq, found[0].host_ns, found[0].host_ns)
        return found

    def _read(self, block_ms: int) -> None:
        """Get entries: first what this consumer took before it died, now and then what others left, otherwise new ones."""
        self._nothing = False
        if self._mine is None and time.monotonic() > self._claimed + self._claim_s:
            idle = int(1000 * self._claim_s)
            entries = self._redis.xautoclaim(self._key, _GROUP, _CONSUMER, idle, count=_COUNT)[1]
            self._claimed = 0.0 if len(entries) == _COUNT else time.monotonic()
        else:
            keys = {self._key: ">" if self._mine is None else self._mine}
            got = self._redis.xreadgroup(_GROUP, _CONSUMER, keys, _COUNT, block_ms)
            entries = got[0][1] if got else []
            self._nothing = self._mine is None and not entries
            self._mine = entries[-1][0] if entries and self._mine is not None else None
        self._keep(entries)

    def _keep(self, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        for key, fields in entries:
            if fields:
                self._waiting[int(key.split(b"-")[0]) - 1] = fields[b"s"]
            else:  # trimmed after it was taken
                self._taken.append(key.decode())

    def written(self) -> None:
        """Acknowledge what was taken: it is on disk."""
        with suppress(*self._gone):
            while part := self._taken[:1000]:
                self._redis.xack(self._key, _GROUP, *part)
                del self._taken[:1000]

    def remove(self) -> None:
        """Remove the stream's key: its recording is over, and all of it on disk."""
        self._redis.delete(self._key)

    def close(self) -> None:
        """Let ``take`` end when all is read, and 10 s later also without Redis."""
        self._closed, self._ended = True, self._ended or time.monotonic()

    def backlog(self) -> float:
        """Return the share of the places that is taken by what is not on disk."""
        return max(0, self._added - self._done) / self._most
