"""``compat/NAME@URL`` and ``openai/NAME``: vectors from a server that speaks OpenAI's ``/embeddings``.

Calls go the way of all model calls: one shared HTTP session, redirects not followed, replies bounded, keys from the environment
only, pauses and repeats by ``proctor.llm.flow``. A reply counts only when it holds one finite vector, not zero, for each text,
told apart by its index; anything else is a broken body and asked for again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Prefixes, TextRole, Vectors, check_texts, guess_prefixes, unit_rows
from proctor.errors import UserError
from proctor.llm.flow import Flow, FlowSettings, Limits
from proctor.llm.http import HttpReply, Lease
from proctor.llm.keys import Key, find_base_url, find_key
from proctor.llm.model import ModelName
from proctor.llm.outcome import AttemptRecord, Failure, Outcome, Reply, Usage
from proctor.llm.providers.openai import BASE_URL
from proctor.llm.providers.wire import decode_reply, encode, not_a_reply

__all__ = ["BATCH", "EndpointEmbedder", "Spent", "open_endpoint", "parse_vectors"]

BATCH: Final = 64
"""Texts of one request."""
_CHARACTERS: Final = 200_000
"""Of one request, about: OpenAI takes 300,000 tokens."""
_LIMITS: Final = Limits(concurrency=4, max_concurrency=16)
_LOG: Final = logging.getLogger("proctor.corpus")


@dataclass(slots=True)
class Spent:
    """What was used so far.

    Attributes:
        calls: replies that came.
        tokens: as the server counted them.
        uncounted: replies that did not say how many tokens they took.
        lost: requests that went out and whose end is not known; the provider may charge for them.
    """

    calls: int = 0
    tokens: int = 0
    uncounted: int = 0
    lost: int = 0


class _Entry(msgspec.Struct):
    embedding: list[float]
    index: int


class _Body(msgspec.Struct):
    data: list[_Entry] | None = None
    model: Any = None
    usage: Any = None
    error: Any = None


_decoder: Final = msgspec.json.Decoder(_Body)


def parse_vectors(
    status: int, headers: Mapping[str, str], body: bytes, count: int, dimension: int | None
) -> tuple[NDArray[np.float64], Usage] | Failure:
    """Return the vectors of a reply in the order of their texts, shape (count, dimension), or what is wrong; never raises.

    Args:
        status: of HTTP.
        headers: for Retry-After.
        body: as it came.
        count: texts that were sent.
        dimension: numbers of the vectors before; None where these are the first.
    """
    reply = decode_reply(status, headers, body, _decoder)
    if isinstance(reply, Failure):
        return reply
    if not reply.data or reply.error:
        return not_a_reply(status, headers, body, "the reply holds no vectors.")
    if sorted(entry.index for entry in reply.data) != list(range(count)):
        return _broken(
            f"{len(reply.data)} vectors came for {count} texts, or their indices do not fit", status
        )
    ordered = sorted(reply.data, key=lambda entry: entry.index)
    sizes = {len(entry.embedding) for entry in ordered}
    if len(sizes) != 1 or 0 in sizes:
        return _broken(f"the vectors of one reply have {sorted(sizes)} numbers", status)
    rows = np.array([entry.embedding for entry in ordered], np.float64)
    if not (np.abs(rows) < np.finfo(np.float32).max).all():
        return _broken("a vector holds a number that is too large", status)
    if not rows.any(axis=1).all():
        return _broken(f"the vector of text {int(np.flatnonzero(~rows.any(axis=1))[0]) + 1} is zero", status)
    if dimension is not None and rows.shape[1] != dimension:
        return Failure(
            kind="bad_request",
            message=f"the vectors have {rows.shape[1]} numbers, and had {dimension} before: another model answers.",
            status=status,
        )
    return rows, _usage(reply.usage)


def _broken(why: str, status: int) -> Failure:
    return Failure(kind="server", message=f"{why}.", status=status, lost=True)


def _usage(usage: Any) -> Usage:
    tokens = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, dict) else None
    good = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**53
    return Usage(input=tokens if good else None, output=0)


class EndpointEmbedder:
    """Embeds texts by asking a server; used by several threads at once.

    Args:
        name: ``PROVIDER/MODEL@URL``.
        base_url: of the server, without a slash at the end.
        key: sent as a bearer token; None where none is.
        prefixes: words in front of texts; those that the model's name calls for when None.
        batch: texts of one request at most.
        settings: how calls are repeated and paced.

    Attributes:
        spent: calls and tokens so far.
        batch: texts of one request at most.
        waits: True: it waits for others, so threads serve it and processes do not.
    """

    waits: Final = True

    def __init__(
        self,
        name: ModelName,
        base_url: str,
        key: Key | None,
        *,
        prefixes: Prefixes | None = None,
        batch: int = BATCH,
        settings: FlowSettings | None = None,
    ) -> None:
        if batch < 1:
            raise UserError(f"{batch} texts a request are too few.", hint="give 1 or more")
        self._model = name.model
        self._prefixes = guess_prefixes(name.model) if prefixes is None else prefixes
        self.name = f"{name.provider}/{name.model}@{base_url}{self._prefixes.tag}"
        self.batch = batch
        self.spent = Spent()
        self._endpoint = f"{base_url}#{name.model}"
        self._url = f"{base_url}/embeddings"
        self._key = key
        self._headers = {} if key is None else key.header("Authorization", "Bearer ")
        self._flow = Flow(settings or FlowSettings(limits=_LIMITS))
        self._dimension: int | None = None
        self._loop = _Loop()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r})"

    @property
    def dimension(self) -> int:
        """Numbers in a vector; known from the first reply, for which one word is sent where there was none yet.

        Raises:
            UserError: if the server cannot be asked.
        """
        if self._dimension is None:
            self.embed(["dimension"], "query")
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text.

        Raises:
            UserError: if a text is empty or too long for the model, or the server gives no vectors.
        """
        check_texts(texts)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        batches = _batches(self._prefixes.put(texts, role), self.batch)
        return np.concatenate(self._loop.run(lambda: self._all(batches)))

    async def _all(self, batches: list[list[str]]) -> list[Vectors]:
        lease = Lease()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._batch(batch, lease)) for batch in batches]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await lease.close()
        return [task.result() for task in tasks]

    async def _batch(self, texts: list[str], lease: Lease) -> Vectors:
        """Return the rows of one request; one that is too large for the server is sent in two halves."""
        held: list[NDArray[np.float64]] = []
        try:
            body = [encode({"model": self._model, "input": texts, "encoding_format": "float"})]
        except UnicodeEncodeError:
            raise UserError("a text is not Unicode (half a surrogate pair).", where=self.name) from None

        async def attempt(seconds: float) -> Outcome:
            held.clear()
            reply = await lease.post(self._url, self._headers, body, timeout=seconds)
            if not isinstance(reply, HttpReply):
                return reply
            found = parse_vectors(reply.status, reply.headers, reply.body, len(texts), self._dimension)
            if isinstance(found, Failure):
                message = self._key.hide(found.message) if self._key is not None else found.message
                return msgspec.structs.replace(found, message=message)
            held.append(found[0])
            return Reply(text="", usage=found[1], model=self._model)

        outcome = await self._flow.run(
            self._endpoint, sum(len(text) // 4 + 1 for text in texts), attempt, self._count
        )
        if isinstance(outcome, Reply):
            with self._lock:
                self._dimension = held[0].shape[1] if self._dimension is None else self._dimension
            if held[0].shape[1] != self._dimension:
                raise UserError("the server gives vectors of different sizes.", where=self.name)
            return unit_rows(held[0])
        assert isinstance(outcome, Failure)
        if outcome.kind == "too_large" and len(texts) > 1:
            half = len(texts) // 2
            first = await self._batch(texts[:half], lease)
            return np.concatenate([first, await self._batch(texts[half:], lease)])
        raise self._error(outcome, texts)

    def _count(self, record: AttemptRecord) -> None:
        with self._lock:
            if record.outcome == "reply":
                self.spent.calls += 1
                self.spent.tokens += record.usage.input or 0
                self.spent.uncounted += record.usage.input is None
            elif record.lost:
                self.spent.lost += 1

    def _error(self, failure: Failure, texts: list[str]) -> UserError:
        if failure.kind == "too_large":
            return UserError(
                f"a text of {len(texts[0]):,} characters is too long for the model: {failure.message}",
                where=f"{self.name}, text that begins with {texts[0][:60]!r}",
                hint="cut the source into passages, or take a model with a longer context",
            )
        hints = {
            "auth": f"check the key in {self._key.variable}" if self._key else "set the key of the server",
            "connection": "is the server running at this address?",
            "bad_request": "check the name of the model and the address (it ends in /v1 mostly)",
        }
        return UserError(
            f"no vectors came: {failure.message}",
            where=self.name,
            hint=hints.get(failure.kind, "run the same command again later; what came is kept"),
        )


def _batches(texts: list[str], most: int) -> list[list[str]]:
    """Cut the texts into requests by number and by length."""
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        if not batches or len(batches[-1]) >= most or size + len(text) > _CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += len(text)
    return batches


class _Loop:
    """An event loop in a thread, there as long as somebody uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Any) -> Any:
        """Run a coroutine (made by ``work``) and return its result."""
        loop = self._enter()
        future = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return future.result()
        except BaseException:
            if future.cancel():  # Ctrl-C
                _LOG.info("requests for vectors were given up")
            raise
        finally:
            self._leave()

    def _enter(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="proctor-embed", daemon=True
                )
                self._thread.start()
            return self._loop

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users or self._loop is None or self._thread is None:
                return
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def open_endpoint(
    spec: str, *, prefixes: Prefixes | None = None, batch: int = BATCH, settings: FlowSettings | None = None
) -> EndpointEmbedder:
    """Return the embedder of ``compat/NAME@URL`` (key in ``COMPAT_API_KEY``, optional) or ``openai/NAME`` (``OPENAI_API_KEY``).

    Args:
        spec: name of the model.
        prefixes: words in front of texts; those that the model's name calls for when None.
        batch: texts of one request at most.
        settings: how calls are repeated and paced.

    Raises:
        UserError: if the key or the address is missing.
    """
    name = ModelName.parse(spec)
    if name.provider == "openai":
        key = find_key("OPENAI_API_KEY")
        base = find_base_url(name.base_url, "OPENAI_BASE_URL", default=BASE_URL, sends_key=True)
    else:
        key = find_key("COMPAT_API_KEY", required=False)
        base = find_base_url(name.base_url, "COMPAT_BASE_URL", default="", sends_key=key is not None)
    return EndpointEmbedder(name, base, key, prefixes=prefixes, batch=batch, settings=settings)
