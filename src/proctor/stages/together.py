"""Jobs of one stage side by side: those that ask different endpoints run at once, those of one endpoint one after the other.

Each job has a thread, and each of its calls the event loop and the gates that it would have alone; all share one budget and one
store of calls. A server on this machine counts as one endpoint whatever it serves, since its models share an accelerator; so do
models and functions that run in this process.
Results are handed over in the order of the jobs, so what is written does not hang on who was faster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from proctor.errors import UserError
from proctor.llm.blocking import Halt
from proctor.llm.keys import is_loopback
from proctor.llm.model import FUNCTION, Model
from proctor.llm.store import CallStore
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS
from proctor.stages.rehearsing import choose_models

if TYPE_CHECKING:
    from proctor.stages.show import Show

__all__ = ["Job", "Turn", "side_by_side"]

R = TypeVar("R")


class Turn(NamedTuple):
    """What a job is done with.

    Attributes:
        limits: with the budget and the store that all jobs share.
        seen: called after each call of a model.
        later: what is put here is done when all jobs have ended, in the order of the jobs: what two of them write.
    """

    limits: Limits
    seen: Callable[[], None]
    later: list[Callable[[], None]]


@dataclass(slots=True, eq=False, kw_only=True)
class Job(Generic[R]):
    """Something that asks models.

    Attributes:
        title: of its progress.
        do: does it.
        models: that it asks.
        after: jobs that it reads the results of.
        ends: tells from what came of it that no further job is to begin.
        result: what came of it; None before its end.
        error: what it failed with.
    """

    title: str
    do: Callable[[Turn], R]
    models: Sequence[str] = ()
    after: Sequence[Job[Any]] = ()
    ends: Callable[[R], object] = lambda _: False
    result: R | None = None
    error: BaseException | None = None
    _later: list[Callable[[], None]] = field(default_factory=list)

    def run(self, limits: Limits, show: Show) -> bool:
        """Do it in this thread; return whether another one may begin."""
        try:
            with show(self.title) as seen:
                self.result = self.do(Turn(limits, seen, self._later))
        except BaseException as error:  # raised again when the others have ended
            self.error = error
            return False
        return not self.ends(self.result)

    def finish(self) -> None:
        """Do what had to wait for the others."""
        while self._later:
            self._later.pop(0)()


J = TypeVar("J", bound=Job[Any])


def side_by_side(root: Path, jobs: Sequence[J], limits: Limits, show: Show) -> Iterator[J]:
    """Do jobs and yield those that came to their end, in their order.

    When one fails or ends early, those that have begun go on to their end and no other one begins; its error is raised after the
    others are yielded. Ctrl-C stops all of them: calls in flight have a moment to come in, and a second Ctrl-C ends them at once.

    Args:
        root: the workspace.
        jobs: with those that others come after before them.
        limits: for all of them together.
        show: shows progress; each job has its own.

    Raises:
        UserError: of the first job that failed.
        KeyboardInterrupt: if they were stopped.
    """
    limits = limits.shared()
    halt = Halt()
    if len(jobs) < 2 or limits.listen is not None:  # who listens hears all in order
        for job in jobs:
            if not job.run(limits, show):
                break
    else:
        resolve = choose_models(root, limits.calls, limits.rehearsal)
        played = limits.rehearsal is not None
        lanes = [  # what no two jobs may use at a time
            frozenset(_lane(name, resolve, played=played) for name in job.models if name)
            or frozenset({_HERE})
            for job in jobs
        ]
        with CallStore.open(limits.calls or root / CALLS) as store:
            shared = msgspec.structs.replace(limits, store=store, halt=halt)
            _Round(jobs, lanes, shared, show, halt).run()
    for job in jobs:
        job.finish()
    yield from (job for job in jobs if job.result is not None)
    if halt.is_on:
        raise KeyboardInterrupt
    for job in jobs:
        if job.error is not None:
            raise job.error


_HERE: Final = "this machine"


def _lane(name: str, resolve: Callable[[str], Model], *, played: bool) -> str:
    if name.startswith((FUNCTION, "transformers/")):
        return _HERE
    try:
        endpoint = resolve(name).endpoint
    except UserError:  # all of its calls are stored, or the job says what is wrong
        return name
    if not played and is_loopback(endpoint):
        return urlsplit(endpoint).netloc
    return endpoint or name


class _Round:
    """The jobs that are left, and those that are under way."""

    def __init__(
        self,
        jobs: Sequence[Job[Any]],
        lanes: Sequence[frozenset[str]],
        limits: Limits,
        show: Show,
        halt: Halt,
    ) -> None:
        self._left = list(zip(jobs, lanes, strict=True))
        self._limits = limits
        self._show = show
        self._halt = halt
        self._going: dict[Job[Any], frozenset[str]] = {}
        self._changed = threading.Condition()

    def run(self) -> None:
        """Do all; return when none is under way."""
        with self._changed:
            while True:
                try:
                    self._begin()
                    if not self._going:
                        return
                    self._changed.wait()
                except KeyboardInterrupt:
                    self._left.clear()
                    self._halt.now()

    def _begin(self) -> None:
        """Begin every job whose endpoints are free and whose forerunners have ended."""
        for job, lanes in tuple(self._left):
            if any(lanes & others for others in self._going.values()) or any(
                before.result is None for before in job.after
            ):
                continue
            self._left.remove((job, lanes))
            self._going[job] = lanes
            threading.Thread(target=self._do, args=(job,), name="proctor-job", daemon=True).start()

    def _do(self, job: Job[Any]) -> None:
        goes_on = job.run(self._limits, self._show)
        with self._changed:
            del self._going[job]
            if not goes_on:
                self._left.clear()
            self._changed.notify()
