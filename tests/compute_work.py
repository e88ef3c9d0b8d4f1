"""What the tests of ``proctor.compute`` let workers do; in a file of its own, so that a worker can import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from proctor.errors import UserError


def square(number: int) -> int:
    return number * number


def late_if_even(number: int) -> int:
    time.sleep(0.02 if number % 2 == 0 else 0)
    return number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is not wanted")
    if number == 4:
        raise UserError("four is not wanted.", where="the list", hint="take it out")
    return number


def die_once(work: tuple[str, int]) -> int:
    """Kill the own process at the first try of item 5."""
    folder, number = work
    mark = Path(folder, "died")
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die_always(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def unpicklable(number: int) -> Any:
    return (lambda: number) if number == 1 else number


def wait_until(work: tuple[str, int]) -> int:
    """Say that it began, and wait until a file is there (two minutes at most)."""
    folder, number = work
    Path(folder, f"began-{number}").write_text(str(os.getpid()))
    end = time.monotonic() + 120
    while not Path(folder, "go").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return number * number


def sleep_long(number: int) -> int:
    time.sleep(60)
    return number


def node_of(_: int) -> str:
    import ray

    time.sleep(0.2)
    return str(ray.get_runtime_context().get_node_id())
