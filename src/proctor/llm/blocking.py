"""Calls from ordinary code: an event loop in a thread that hands the results over."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final

from proctor.llm.crew import GRACE_SECONDS

if TYPE_CHECKING:
    from proctor.llm.caller import Caller
    from proctor.llm.message import Request
    from proctor.llm.outcome import Outcome

__all__ = ["Halt", "new_event_loop", "run_calls"]

_WAITING_RESULTS: Final = 256
"""Results that wait for the consumer; then the calls do."""


def run_calls(
    caller: Caller,
    requests: Iterable[Request],
    *,
    stage: str = "",
    progress: Callable[[], None] | None = None,
    grace: float = GRACE_SECONDS,
    halt: Halt | None = None,
) -> Iterator[tuple[Request, Outcome]]:
    """Yield every request with its outcome, in any order, from code that is not a coroutine.

    The calls are made in a thread with an event loop of its own, so this works inside a running loop too. When the
    consumer stops (Ctrl-C, an error, ``close`` of the iterator), the run stops as that of ``Caller.ask_all``; a second
    Ctrl-C does not wait for calls in flight. ``requests`` are taken in another thread.

    Args:
        caller: asks.
        requests: what to ask.
        stage: name that the calls are stored and summed under.
        progress: called once for each result.
        grace: seconds for calls in flight after a stop.
        halt: ends the run from another thread, as Ctrl-C does in this one.

    Raises:
        UserError: as ``Caller.ask``.
        KeyboardInterrupt: if it was halted.
    """
    runner = _Runner(caller, requests, stage, grace)
    with halt.ends(runner.halt) if halt is not None else nullcontext():
        runner.start()
        try:
            while (pair := runner.next()) is not None:
                yield pair
                if progress is not None:
                    progress()
        finally:
            runner.stop()
    if runner.error is not None:
        raise runner.error


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop, which takes a tenth less time a call; of asyncio where there is no uvloop."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Halt:
    """A switch that ends runs in other threads: Ctrl-C reaches the main thread alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[object, Callable[[], None]] = {}
        self.is_on = False

    def now(self) -> None:
        """End all runs; a second time, without waiting for calls in flight."""
        self.is_on = True
        with self._lock:
            ends = tuple(self._ends.values())
        for end in ends:
            end()

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` whenever the switch is used while this goes on, at once if it was before."""
        key = object()
        with self._lock:
            self._ends[key] = end
        try:
            if self.is_on:
                end()
            yield
        finally:
            with self._lock:
                del self._ends[key]


class _Runner(threading.Thread):
    """An event loop in a thread that makes calls and hands results over."""

    def __init__(self, caller: Caller, requests: Iterable[Request], stage: str, grace: float) -> None:
        super().__init__(name="proctor-caller", daemon=True)
        self._caller = caller
        self._requests = requests
        self._stage = stage
        self._grace = grace
        # Ctrl-C may leave a queue.Queue locked for good (it is Python, interrupted between any two lines); this one is C.
        self._results: queue.SimpleQueue[tuple[Request, Outcome] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._halted = False
        self.error: BaseException | None = None

    def next(self) -> tuple[Request, Outcome] | None:
        """Return the next result; None after the last.

        Raises:
            KeyboardInterrupt: if it was halted.
        """
        pair = self._results.get()
        if self._halted:
            raise KeyboardInterrupt
        return pair

    def halt(self) -> None:
        """Let whoever reads the results stop, from any thread; the second time end the calls at once."""
        if self._halted:
            self._cancel()
        self._halted = True
        self._results.put(None)

    def run(self) -> None:
        """Make the calls."""
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self._main())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # raised again where the results are read
            self.error = error
        finally:
            self._ready.set()
            self._results.put(None)
            self._ended.set()

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        try:
            results = self._caller.ask_all(self._requests, stage=self._stage, grace=self._grace)
            async with aclosing(results):
                async for pair in results:
                    while self._results.qsize() >= _WAITING_RESULTS and not self._stopping.is_set():
                        await asyncio.sleep(0.005)
                    self._results.put(pair)
        finally:
            await self._caller.close()

    def stop(self) -> None:
        """End the run and wait for its end; a second interruption ends it at once."""
        self._stopping.set()
        self._ready.wait()
        self._cancel()
        try:
            self._ended.wait()  # not join: Python 3.11 takes an interrupted join for the end of the thread
        except KeyboardInterrupt:
            self._cancel()
            self._ended.wait()
            raise
        finally:
            self.join(1.0)

    def _cancel(self) -> None:
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)
