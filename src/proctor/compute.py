"""Map a function over many items: here, in threads, in processes, or on a Ray cluster.

Whoever calls ``map_items`` does not know where it runs: outcomes come in the order of the items, and are the same
everywhere as long as the function depends on its item alone. At most ``in_flight`` items are held at a time, so an endless
iterator of items needs flat memory. An item that fails is told with its name and does not stop the others; a worker that
is killed, or whose machine goes away, costs only time: its item is given to another one.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import signal
import socket
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

__all__ = [
    "HERE",
    "Failure",
    "Outcome",
    "Place",
    "batches",
    "map_items",
    "on_ray",
    "place_of",
    "processes",
    "threads",
]

T = TypeVar("T")
R = TypeVar("R")

RETRIES: Final = 3
"""How often an item whose worker died is given to another one."""

_GRACE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where functions run.

    Attributes:
        kind: ``here`` (in the caller's thread), ``threads``, ``processes`` or ``ray``.
        workers: threads or processes; of Ray, as many tasks as the cluster has processors.
        address: of the head of a Ray cluster (``host:port``), or ``auto`` for one on this machine.
    """

    kind: Literal["here", "threads", "processes", "ray"] = "here"
    workers: int = 1
    address: str = ""


HERE: Final = Place()
"""One item after the other in the caller's thread."""


def threads(workers: int) -> Place:
    """Return threads of this process: for functions that wait for a disk or a network.

    Raises:
        UserError: if it is not a number of at least 1.
    """
    return Place("threads", _at_least_one(workers))


def processes(workers: int) -> Place:
    """Return processes on this machine: for functions that compute. Function, items and results must be picklable.

    Raises:
        UserError: if it is not a number of at least 1.
    """
    return Place("processes", _at_least_one(workers))


def on_ray(address: str = "auto") -> Place:
    """Return a Ray cluster; ``proctor`` has to be installed on each of its machines.

    Raises:
        UserError: if the address is empty.
    """
    if not address.strip():
        raise UserError("the address of the Ray cluster is empty.", hint="give host:port, or auto")
    return Place("ray", address=address.strip())


def place_of(workers: str | None) -> Place:
    """Return where ``--workers`` wants functions to run: so many processes here, or a Ray cluster.

    Args:
        workers: a number, ``ray://HOST:PORT``, or ``ray://auto`` for a cluster on this machine; None for no workers.

    Raises:
        UserError: if it is none of them.
    """
    if workers is None or workers == "1":
        return HERE
    if workers.startswith("ray://"):
        return on_ray(workers.removeprefix("ray://"))
    if not workers.isascii() or not workers.isdigit():
        raise UserError(
            f"--workers is {workers!r}.", hint="give a number of processes, ray://HOST:PORT or ray://auto"
        )
    return processes(int(workers))


def batches(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield the items in tuples of ``size``, the last one shorter: one item is often too little work to send away."""
    rest = iter(items)
    while batch := tuple(islice(rest, size)):
        yield batch


def _at_least_one(workers: int) -> int:
    if workers < 1:
        raise UserError(f"{workers} workers can do nothing.", hint="give 1 or more")
    return workers


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no value.

    Attributes:
        kind: name of the exception's class, or ``worker-died``.
        message: for users.
        trace: where it was raised, for developers; empty where a worker died.
    """

    kind: str
    message: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T, R]):
    """What became of one item.

    Attributes:
        index: of the item, counted from 0.
        item: itself.
        name: of the item, for messages.
        failure: why there is no value; None where there is one.
    """

    index: int
    item: T
    name: str
    _value: R | None
    failure: Failure | None = None

    @property
    def value(self) -> R:
        """The value of the function.

        Raises:
            UserError: if the item failed, saying which item and why.
        """
        if self.failure is not None:
            kind = "" if self.failure.kind == UserError.__name__ else f"{self.failure.kind}: "
            raise UserError(f"{kind}{self.failure.message}", where=self.name)
        return self._value  # type: ignore[return-value]


@dataclass(slots=True)
class _Job(Generic[T]):
    index: int
    item: T
    handle: Any = None


_Reply = tuple[Any, Failure | None]
_Function = Callable[[Any], Any]
_Jobs = Iterator[_Job[Any]]
_Replies = Iterator[tuple[_Job[Any], _Reply]]


@dataclass(frozen=True, slots=True)
class _How:
    """Where jobs run, how many at a time at most, and how often one is given to another worker."""

    place: Place
    in_flight: int | None
    retries: int


def map_items(
    function: Callable[[T], R],
    items: Iterable[T],
    place: Place = HERE,
    *,
    name: Callable[[T], str] | None = None,
    in_flight: int | None = None,
    retries: int = RETRIES,
    seen: Callable[[], None] | None = None,
) -> Iterator[Outcome[T, R]]:
    """Yield the outcome of every item, in the order of the items, wherever the function ran.

    Args:
        function: must depend on its item alone; for processes it has to be a function of a module.
        items: taken only as fast as outcomes are.
        place: where it runs.
        name: of an item, for messages; ``item <index>`` without one.
        in_flight: items that are held at most, those waiting for their turn to be yielded included; twice as many as
            workers without it.
        retries: how often an item is given to another worker when its worker died.
        seen: called after each outcome (for progress bars).

    Raises:
        UserError: if the Ray cluster cannot be reached, or the function cannot be sent to a process.
        MissingExtraError: without Ray, where it is asked for.
    """
    if in_flight is not None and in_flight < 1:
        raise UserError(f"{in_flight} items in flight are too few.", hint="give 1 or more")
    runner = _RUNNERS[place.kind]
    jobs = (_Job(i, item) for i, item in enumerate(items))
    outcomes = runner(function, jobs, _How(place, in_flight, max(0, retries)))
    try:
        for job, (value, failure) in outcomes:
            said = name(job.item) if name is not None else f"item {job.index}"
            yield Outcome(job.index, job.item, said, value, failure)
            if seen is not None:
                seen()
    finally:
        outcomes.close()


def _call(function: Callable[[T], R], item: T) -> _Reply:
    """Call the function where it runs; its exceptions become values, because not all of them can travel."""
    try:
        return function(item), None
    except Exception as error:
        return None, _failure(error)


def _failure(error: BaseException) -> Failure:
    message = error.render() if isinstance(error, UserError) else str(error) or type(error).__name__
    return Failure(type(error).__name__, message, "".join(traceback.format_exception(error))[-4_000:])


# -- here and in threads -----------------------------------------------------------------------------------------


def _run_here(function: _Function, jobs: _Jobs, how: _How) -> _Replies:
    del how
    for job in jobs:
        yield job, _call(function, job.item)


def _run_threads(function: _Function, jobs: _Jobs, how: _How) -> _Replies:
    pool = ThreadPoolExecutor(how.place.workers)
    window: deque[_Job[Any]] = deque()
    try:
        size = how.in_flight or 2 * how.place.workers
        while _fill(window, jobs, size, lambda job: pool.submit(_call, function, job.item)):
            yield window[0], window[0].handle.result()
            window.popleft()
    finally:
        pool.shutdown(wait=not window, cancel_futures=True)


def _fill(
    window: deque[_Job[Any]], jobs: Iterator[_Job[Any]], size: int, submit: Callable[[_Job[Any]], Any]
) -> bool:
    """Take jobs until the window is full; return False when there is nothing left to do."""
    while len(window) < size:
        job = next(jobs, None)
        if job is None:
            break
        job.handle = submit(job)
        window.append(job)
    return bool(window)


# -- processes -----------------------------------------------------------------------------------------------------


def _run_processes(function: _Function, jobs: _Jobs, how: _How) -> _Replies:
    _check_picklable(function)
    pool = _pool(how.place.workers)
    window: deque[_Job[Any]] = deque()

    def submit(job: _Job[Any]) -> Future[_Reply]:
        try:
            return pool.submit(_call, function, job.item)
        except BrokenExecutor as error:  # a worker died since the last look; the job waits for the new pool
            broken: Future[_Reply] = Future()
            broken.set_exception(error)
            return broken

    try:
        while _fill(window, jobs, how.in_flight or 2 * how.place.workers, submit):
            reply = _reply(window[0].handle)
            if reply is None:
                _end(pool)
                _run_alone(function, window, how.retries)
                pool = _pool(how.place.workers)
                continue
            yield window[0], reply
            window.popleft()
        pool.shutdown()
    finally:
        _end(pool)


def _check_picklable(function: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(function)
    except Exception as error:
        raise UserError(
            f"the function cannot be sent to another process: {error}.",
            where=getattr(function, "__qualname__", repr(function)),
            hint="define it at the top of a module, or run in threads",
        ) from None


def _pool(workers: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Threads of this process (of Arrow, of Ray) may hold locks, which a forked child would never see released.
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin_worker)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it, however it ends."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def _reply(future: Future[_Reply]) -> _Reply | None:
    """Return what came back; None where a worker died, this one's or another's."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError):
        return None
    except Exception as error:  # the item or its value cannot be pickled
        return None, _failure(error)


def _run_alone(function: Callable[[Any], Any], window: deque[_Job[Any]], retries: int) -> None:
    """Give every item that was lost with the pool to a process of its own, so that the one that kills is found."""
    for job in window:
        reply = _reply(job.handle) if job.handle.done() else None
        attempts = 0
        while reply is None and attempts < max(1, retries):
            attempts += 1
            pool = _pool(1)
            try:
                reply = _reply(pool.submit(_call, function, job.item))
            finally:
                _end(pool)
        job.handle = Future()
        job.handle.set_result(reply if reply is not None else (None, _died(attempts + 1)))


def _died(times: int) -> Failure:
    return Failure(
        "worker-died",
        f"the worker was killed or crashed {times} times while it had this item; is there enough memory?",
    )


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop the workers, busy or not; they are gone when it returns."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    manager = getattr(pool, "_executor_manager_thread", None)  # the pool forgets both when it is shut down
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        with suppress(ValueError, AttributeError):
            worker.terminate()
    for worker in workers:
        with suppress(ValueError, AttributeError, AssertionError):
            worker.join(_GRACE_SECONDS)
            if worker.is_alive():
                worker.kill()
                worker.join(_GRACE_SECONDS)
    # The pool's thread waits for the same processes: whichever of us hears of an end, the other one is not told, and
    # would still count the worker as alive for a moment.
    if manager is not None:
        manager.join(_GRACE_SECONDS)


# -- Ray -----------------------------------------------------------------------------------------------------------


def _run_ray(function: _Function, jobs: _Jobs, how: _How) -> _Replies:
    ray = _ray()
    ours = _connect(ray, how.place.address)
    window: deque[_Job[Any]] = deque()
    try:
        call = ray.remote(num_cpus=1, max_retries=how.retries)(_call)
        size = how.in_flight or max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))
        while _fill(window, jobs, size, lambda job: call.remote(function, job.item)):
            yield window[0], _ray_reply(ray, window[0].handle, how.retries)
            window.popleft()
    finally:
        # No ray.cancel: it ends our process where a call finishes at that moment ("Tried to complete task that was not
        # pending", seen with Ray 2.60). The end of our connection ends its calls; with the user's own they run out.
        if ours:
            ray.shutdown()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtraError("ray", "ray", "Running on a Ray cluster") from None


def _connect(ray: Any, address: str) -> bool:
    """Connect to the cluster unless somebody did; return whether we did."""
    if ray.is_initialized():
        return False
    _knock(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        raise UserError(
            f"the Ray cluster cannot be reached: {str(error).splitlines()[0] if str(error) else error!r}.",
            where=address,
            hint="start one with 'ray start --head', and give the address that it prints",
        ) from None
    return True


def _knock(address: str) -> None:
    """Make sure that somebody listens there: Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_GRACE_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(
            f"no cluster answers there: {error}.",
            where=address,
            hint="start a cluster with 'ray start --head', and give the address that it prints",
        ) from None


def _ray_reply(ray: Any, handle: Any, retries: int) -> _Reply:
    try:
        reply: _Reply = ray.get(handle)
    except (
        ray.exceptions.RayTaskError
    ) as error:  # the function or its value could not be unpickled or pickled
        return None, Failure(type(error).__name__, str(error).strip().splitlines()[-1], str(error)[-4_000:])
    except ray.exceptions.RayError as error:
        died = _died(retries + 1)
        return None, Failure(died.kind, f"{died.message} ({type(error).__name__})", str(error)[-4_000:])
    return reply


_RUNNERS: Final[dict[str, Any]] = {
    "here": _run_here,
    "threads": _run_threads,
    "processes": _run_processes,
    "ray": _run_ray,
}
