"""Patience of the tests: a machine that is slow or busy with other things fails nobody's test.

A test that waits for something waits for ``PATIENCE`` and goes on as soon as it is there. A test that says how long
something may take counts the processor's time, which is the same however many others want the processor.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from typing import Any, Final, TypeVar

import pytest

__all__ = [
    "LOW_PRIORITY_PATIENCE",
    "PATIENCE",
    "PATIENCE_MS",
    "Effort",
    "effort",
    "first_process_is_killed",
    "least_effort",
    "wait_until",
]

T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds to wait for what takes moments on a quiet machine; below the time after which a test is stopped."""

LOW_PRIORITY_PATIENCE: Final = 150.0
"""Seconds to wait for a process that gives way to all others, as those that work beside the studio's requests do."""

PATIENCE_MS: Final = PATIENCE * 1000
"""The same in milliseconds, as Playwright counts."""


def wait_until(
    check: Callable[[], T], seconds: float = PATIENCE, *, pause: float = 0.02, what: object = None
) -> T:
    """Poll until ``check`` says something true, and return that.

    Args:
        check: is asked once more after the time is over, so that a test that was paused itself is not misled.
        seconds: to wait at most.
        pause: seconds between two looks.
        what: is waited for; said with the last value where it did not come.
    """
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        if found := check():
            return found
        assert not late, f"still {found!r} after {seconds:g} s" + (f": {what}" if what is not None else "")
        time.sleep(pause)


class Effort:
    """Processor time of this process, all of its threads together.

    Attributes:
        seconds: known at the end of ``with``.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Effort:
        self._begun = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._begun


@contextmanager
def effort(at_most: float, what: object = None) -> Iterator[None]:
    """Fail when what is done inside takes more seconds of the processor than this, and say for what it did."""
    with Effort() as spent:
        yield
    said = f"{spent.seconds:.3f} s of the processor; at most {at_most:g} s"
    assert spent.seconds < at_most, said + (f": {what}" if what is not None else "")


def least_effort(work: Callable[[], Any], times: int = 3) -> float:
    """Return the fewest seconds of the processor of several tries: caches that others emptied are not counted."""
    tries = []
    for _ in range(times):
        with Effort() as spent:
            work()
        tries.append(spent.seconds)
    return min(tries)


@contextmanager
def first_process_is_killed() -> Iterator[list[int]]:
    """Kill the next process that is spawned here as soon as it is there, before it can have done anything.

    Whoever looks for its number and kills it then may come too late: it may have ended. Yields the numbers of the killed.
    """
    killed: list[int] = []
    start = SpawnProcess.start

    def start_and_kill(self: SpawnProcess) -> None:
        start(self)
        if not killed:
            assert self.pid is not None
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpawnProcess, "start", start_and_kill)
        yield killed
