"""Asking: the store first, then budget and flow, then the model; what came of it is on disk before anybody sees it.

``Caller`` asks from coroutines, ``proctor.llm.blocking.run_calls`` from ordinary code. Order and concurrency never change an
outcome; only the order in which results appear differs.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from proctor.errors import UserError
from proctor.llm.call import (
    FIRST_PAUSE,
    NEVER,
    BudgetLike,
    Call,
    FlowLike,
    Means,
    Meter,
    Prepared,
    Stop,
    Tally,
    cancelled,
)
from proctor.llm.crew import GRACE_SECONDS, Crew
from proctor.llm.lane import Claim
from proctor.llm.outcome import Failure, Outcome, is_settled
from proctor.llm.store import decode_outcome
from proctor.records import canonical_json

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Request
    from proctor.llm.model import Model
    from proctor.llm.store import CallStore

__all__ = ["CONCURRENCY", "Caller", "Tally"]

CONCURRENCY: Final = 512
"""Calls that are asked at once. How many are really sent is for the flow to say; the others wait for the disk meanwhile."""
_LONGEST_PAUSE: Final = 2.0
"""Seconds between two looks at a call that somebody else is making, at most."""
_SECRET_LENGTH: Final = 16
"""A variable that is shorter holds no key, and hiding it would change innocent words."""


class Caller:
    """Asks models, and pays for nothing twice.

    One caller may serve any number of coroutines, and several event loops one after the other.

    Args:
        store: where calls are kept.
        media: where the bytes of images, video and audio are.
        flow: decides when a call is sent, and whether again.
        budget: limits of the run.
        resolve: from a name to a model; called only when something has to be sent, so that a run whose calls are all
            stored needs no key. ``proctor.llm.registry.resolve`` by default.
        meter: tokens and prices; Proctor's tables by default.
        offline: never send: what is not stored is a failure of the kind ``replay_miss``.
        concurrency: calls asked at once by ``ask_all``.
        settled: failures by key that are the answer to their calls; those that come are added, so that nothing that failed is
            sent a second time. What failed is always sent again when None.
    """

    def __init__(
        self,
        store: CallStore,
        media: MediaStore,
        flow: FlowLike,
        budget: BudgetLike,
        resolve: Callable[[str], Model] | None = None,
        *,
        meter: Meter | None = None,
        offline: bool = False,
        concurrency: int = CONCURRENCY,
        settled: dict[str, Failure] | None = None,
    ) -> None:
        self._store = store
        self._media = media
        self._resolve = resolve or _default_resolve
        self._given_meter = meter
        self._offline = offline
        self.concurrency = concurrency
        self.settled = settled
        self.tally = Tally()
        self._secrets = _secrets()
        self._models: dict[tuple[asyncio.AbstractEventLoop, str], Model] = {}
        self._asking: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Outcome | None]] = {}
        self._means = Means(
            store=store,
            media=media,
            flow=flow,
            budget=budget,
            tally=self.tally,
            meter=self._meter,
            model=self._model,
            hide=self.hide,
        )

    def _meter(self) -> Meter:
        """Tables of prices are read when the first call is made, and not for a run that is all stored."""
        if self._given_meter is None:
            self._given_meter = _default_meter()
        return self._given_meter

    # -- one call --------------------------------------------------------------------------------------------

    async def ask(self, request: Request, *, stage: str = "") -> Outcome:
        """Return what became of a request, now or earlier. Equal requests at once are one call.

        A limit that is reached is ``Failure(kind="budget")``, and from then on nothing more is sent.

        Raises:
            UserError: if the model does not exist, has no key, or the store cannot be written.
        """
        outcome = await self.answer(self.prepare(request, stage), NEVER, patient=True)
        assert outcome is not None
        self.tally.add(request, outcome)
        return outcome

    async def close(self) -> None:
        """Give the connections of this event loop back; the next question opens new ones."""
        loop = asyncio.get_running_loop()
        mine = [name for name in self._models if name[0] is loop]
        for name in mine:
            await self._models.pop(name).close()

    # -- its parts, for those who answer many ----------------------------------------------------------------

    def prepare(self, request: Request, stage: str) -> Prepared:
        """Return a request with its canonical form.

        Raises:
            UserError: if it holds a key of ours, or what cannot be stored.
        """
        try:
            body = canonical_json(request)
            text = body.decode()
        except UnicodeError:
            raise UserError("a request holds text that is not Unicode.", where=request.model[:80]) from None
        for variable, secret in self._secrets:
            if secret in text:
                raise UserError(
                    f"a request holds what is in the environment variable {variable}.",
                    where=request.model[:80],
                    hint="keys are not part of a request: Proctor reads them from the environment itself",
                )
        if "\x00" in request.model or "\x00" in stage:
            raise UserError("the name of a model or a stage holds a NUL character.")
        return Prepared(request, hashlib.sha256(body).hexdigest(), text, stage)

    def look_up(self, asks: Sequence[Prepared]) -> asyncio.Future[dict[str, str]]:
        """Begin to look for requests in the store; the result has the outcome of those that are there, as JSON."""
        return self._store.lane.lookup([ask.key for ask in asks])

    def decode(self, ask: Prepared, text: str) -> Outcome:
        """Read the stored outcome of a request.

        Raises:
            UserError: if it is none.
        """
        return decode_outcome(text, f"{self._store.place}: call {ask.key[:12]}")

    async def answer(self, ask: Prepared, stop: Stop, *, patient: bool) -> Outcome | None:
        """Return what became of a request: join the call if it is being made here already, else lead it.

        Args:
            ask: the request.
            stop: nothing more is sent once it says so.
            patient: wait while another process makes the call, else return None.
        """
        name = (asyncio.get_running_loop(), ask.key)
        while (leader := self._asking.get(name)) is not None:
            # Shielded, since a follower that is cancelled must not take the others with it.
            outcome = await asyncio.shield(leader)
            if outcome is not None:
                return outcome
        mine = self._asking[name] = name[0].create_future()
        outcome = None
        try:
            outcome = await self._lead(ask, stop, patient=patient)
        finally:
            del self._asking[name]
            if not mine.done():
                # None: those who waited try for themselves. That our run is being stopped does not concern theirs.
                stopped = isinstance(outcome, Failure) and outcome.kind == "cancelled"
                mine.set_result(None if stopped else outcome)
        return outcome

    async def _lead(self, ask: Prepared, stop: Stop, *, patient: bool) -> Outcome | None:
        if ask.request.model.startswith("replay/"):
            return await self._model(ask.request.model).attempt(ask.request, self._media, timeout=60.0)
        if self.settled is not None and (failure := self.settled.get(ask.key)) is not None:
            self.tally.stored += 1
            return failure
        if self._offline or self.tally.stopped:
            return await self._only_stored(ask)
        pause = FIRST_PAUSE
        while True:
            state = await self._store.lane.begin(ask.key)
            if isinstance(state, str):
                self.tally.stored += 1
                return self.decode(ask, state)
            if state is Claim.OURS:
                break
            if not patient:
                return None
            if stop.stopping:
                return cancelled()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        outcome = await Call(self._means, ask, stop).run()
        if self.settled is not None and isinstance(outcome, Failure) and is_settled(outcome.kind):
            self.settled[ask.key] = outcome
        return outcome

    async def _only_stored(self, ask: Prepared) -> Outcome:
        found = (await self.look_up([ask])).get(ask.key)
        if found is not None:
            self.tally.stored += 1
            return self.decode(ask, found)
        if self.tally.stopped:
            return Failure(kind="budget", message=self.tally.stopped)
        return Failure(
            kind="replay_miss", message=f"the store has no call {ask.key[:12]}, and nothing is sent"
        )

    def _model(self, name: str) -> Model:
        place = (asyncio.get_running_loop(), name)
        model = self._models.get(place)
        if model is None:
            model = self._models[place] = self._resolve(name)
        return model

    def hide(self, text: str) -> str:
        """Return a text without the keys of the environment."""
        for variable, secret in self._secrets:
            text = text.replace(secret, f"[{variable}]")
        return text

    # -- many calls ------------------------------------------------------------------------------------------

    async def ask_all(
        self, requests: Iterable[Request], *, stage: str = "", grace: float = GRACE_SECONDS
    ) -> AsyncGenerator[tuple[Request, Outcome], None]:
        """Yield every request with its outcome, in any order; memory does not grow with their number.

        Requests are taken as they are needed: a list in this thread, any other iterable in a thread of its own (making
        a request may mean to encode images). When the consumer stops (it is cancelled, or closes the iterator: use
        ``contextlib.aclosing``), nothing more is sent, calls in flight have ``grace`` seconds to come in and be stored,
        and the rest is recorded as cancelled.

        Args:
            requests: what to ask; equal ones are one call, and each gets its outcome.
            stage: name that the calls are stored and summed under.
            grace: seconds for calls in flight after a stop.

        Raises:
            UserError: as ``ask``; calls in flight then end as after a stop.
        """
        run = Crew(self, requests, stage)
        try:
            async with aclosing(run.results()) as results:
                async for pair in results:
                    yield pair
        finally:
            await run.stop(grace)


def _secrets() -> list[tuple[str, str]]:
    """Return the environment's keys: they must never reach the store, whoever writes them into a text."""
    return [
        (name, value.strip())
        for name, value in os.environ.items()
        if name.endswith(("_API_KEY", "_TOKEN", "_KEY")) and len(value.strip()) >= _SECRET_LENGTH
    ]


def _default_resolve(name: str) -> Model:
    from proctor.llm.registry import resolve

    return resolve(name)


def _default_meter() -> Meter:
    from proctor.llm.estimate import Meter as Standard

    return Standard()
