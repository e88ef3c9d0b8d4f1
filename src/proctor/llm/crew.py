"""The workers that answer many requests at once: what is stored at once, the rest as the flow lets them.

Requests are taken as they are needed, so memory does not grow with their number, and a slow maker of requests or a slow
consumer of results holds up nothing but itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from proctor.llm.call import FIRST_PAUSE, Prepared, Stop
from proctor.llm.converse import Feed

if TYPE_CHECKING:
    from proctor.llm.caller import Caller
    from proctor.llm.message import Request
    from proctor.llm.outcome import Outcome

__all__ = ["GRACE_SECONDS", "Crew"]

GRACE_SECONDS: Final = 5.0
"""How long calls in flight may still come in after the run was stopped; they are paid for already."""
_WAITING: Final = 1_000
"""Calls that another process is making, and that a run waits for beside its own."""
_CHUNK: Final = 256
_CHUNK_SECONDS: Final = 0.02
"""Requests are taken this many, or this long, at a time: making one may be slow."""


class Crew(Stop):
    """Workers that answer requests for one ``ask_all``."""

    def __init__(self, caller: Caller, requests: Iterable[Request], stage: str) -> None:
        self._caller = caller
        self._requests = requests
        self._stage = stage
        self._todo: asyncio.Queue[Prepared | None] = asyncio.Queue(caller.concurrency)
        self._results: asyncio.Queue[list[tuple[Request, Outcome]] | None] = asyncio.Queue(_CHUNK)
        self._waiting = 0
        self._error: Exception | None = None
        self._group = asyncio.TaskGroup()
        self._main: asyncio.Task[None] | None = None

    async def results(self) -> AsyncGenerator[tuple[Request, Outcome], None]:
        """Yield results; ends when all are there, or raises what went wrong."""
        self._main = asyncio.create_task(self._work())
        while (pairs := await self._results.get()) is not None:
            for pair in pairs:
                yield pair
        if self._error is not None:
            raise self._error

    async def stop(self, grace: float) -> None:
        """Send nothing more, let calls in flight come in for a while, cancel the rest."""
        main = self._main
        if main is None:
            return
        self.stopping = True
        self._end_of_work()
        if isinstance(self._requests, Feed):
            self._requests.end()  # or the thread that takes from it waits for outcomes that never come
        until = time.monotonic() + grace
        try:
            while not main.done() and time.monotonic() < until:
                self._discard()
                await asyncio.wait({main}, timeout=0.02)
        finally:
            main.cancel()
            while not main.done():
                self._discard()
                await asyncio.wait({main}, timeout=0.02)
            if not main.cancelled() and (error := main.exception()) is not None:
                raise error

    def _discard(self) -> None:
        """Make room, so that workers that want to deliver can end."""
        with suppress(asyncio.QueueEmpty):
            while True:
                self._results.get_nowait()

    def _fail(self, error: Exception) -> None:
        """End the run for an error; calls in flight may still come in."""
        self._error = self._error or error
        self.stopping = True
        self._discard()
        self._results.put_nowait(None)

    def _end_of_work(self) -> None:
        """Send the workers home, whatever is left to do."""
        with suppress(asyncio.QueueEmpty):
            while True:
                self._todo.get_nowait()
        for _ in range(self._caller.concurrency):
            self._todo.put_nowait(None)

    async def _work(self) -> None:
        async with self._group as group:
            group.create_task(self._feed())
            for _ in range(self._caller.concurrency):
                group.create_task(self._worker())
        await self._results.put(None)

    async def _feed(self) -> None:
        """Take requests in chunks, answer what is stored at once, and leave the rest to the workers."""
        ahead: tuple[list[Prepared], asyncio.Future[dict[str, str]]] | None = None
        try:
            async with aclosing(_chunks(self._requests)) as chunks:
                async for chunk in chunks:
                    if self.stopping:
                        return
                    asks = [self._caller.prepare(request, self._stage) for request in chunk]
                    behind, ahead = ahead, (asks, self._caller.look_up(asks))
                    if behind is not None:
                        await self._hand_out(*behind)
                    if not isinstance(self._requests, list | tuple):
                        # The next chunk may be slow to make. Of a list, it is prepared during the look-up instead.
                        behind, ahead = ahead, None
                        await self._hand_out(*behind)
            if ahead is not None:
                await self._hand_out(*ahead)
        except Exception as error:  # raised where the results are read
            self._fail(error)
            return
        finally:
            if ahead is not None:
                ahead[1].cancel()
        for _ in range(self._caller.concurrency):
            if not self.stopping:
                await self._todo.put(None)

    async def _hand_out(self, asks: list[Prepared], lookup: asyncio.Future[dict[str, str]]) -> None:
        """Deliver what is stored, and give the rest to the workers."""
        found = await lookup
        stored: list[tuple[Request, Outcome]] = []
        missing: list[Prepared] = []
        for ask in asks:
            text = found.get(ask.key)
            if text is None:
                missing.append(ask)
            else:
                stored.append((ask.request, self._caller.decode(ask, text)))
        self._caller.tally.stored += len(stored)
        await self._deliver(stored)
        for ask in missing:
            if not self.stopping:
                await self._todo.put(ask)

    async def _worker(self) -> None:
        while (ask := await self._todo.get()) is not None:
            if not self.stopping:
                await self._answer(ask, patient=self._waiting >= _WAITING)

    async def _wait(self, ask: Prepared) -> None:
        await asyncio.sleep(FIRST_PAUSE)
        await self._answer(ask, patient=True)
        self._waiting -= 1

    async def _answer(self, ask: Prepared, *, patient: bool) -> None:
        try:
            outcome = await self._caller.answer(ask, self, patient=patient)
        except Exception as error:  # raised where the results are read
            self._fail(error)
            return
        if outcome is None:  # another process is making it: go on with something else meanwhile
            self._waiting += 1
            self._group.create_task(self._wait(ask))
        else:
            await self._deliver([(ask.request, outcome)])

    async def _deliver(self, pairs: list[tuple[Request, Outcome]]) -> None:
        if pairs:
            for request, outcome in pairs:
                self._caller.tally.add(request, outcome)
            await self._results.put(pairs)


async def _chunks(requests: Iterable[Request]) -> AsyncGenerator[Sequence[Request], None]:
    """Yield requests in chunks without ever holding up the event loop."""
    if isinstance(requests, list | tuple):
        for start in range(0, len(requests), _CHUNK):
            yield requests[start : start + _CHUNK]
        return
    iterator = iter(requests)
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(
        1, "proctor-requests"
    )  # always the same thread: the iterator may hold a database
    try:
        while chunk := await loop.run_in_executor(executor, _take, iterator):
            yield chunk
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            executor.submit(close)
        executor.shutdown(wait=False)


def _take(iterator: Iterator[Request]) -> list[Request]:
    if isinstance(iterator, Feed):  # what comes next may hang on the outcomes of what is there
        return iterator.take(_CHUNK)
    until = time.monotonic() + _CHUNK_SECONDS
    chunk: list[Request] = []
    for request in islice(iterator, _CHUNK):
        chunk.append(request)
        if time.monotonic() > until:
            break
    return chunk
