"""The stand-in: a real HTTP server on loopback that plays OpenAI, Anthropic and Google."""

from __future__ import annotations

import asyncio
import hmac
import inspect
import ipaddress
import socket
import struct
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from aiohttp import web

from proctor.errors import UserError
from proctor_rehearsal.standin.answer import Answer, Used, count_tokens, count_used, cut, finish
from proctor_rehearsal.standin.behaviours import check_rule, make_behaviour, pick
from proctor_rehearsal.standin.call import Call, MediaCheck, Rejected, request_key
from proctor_rehearsal.standin.faults import (
    AFTER,
    BEFORE,
    MODEL,
    Faults,
    Wire,
    error_page,
    retry_headers,
    spoil,
)
from proctor_rehearsal.standin.ledger import Ledger, Record
from proctor_rehearsal.standin.protocols.anthropic import MESSAGES
from proctor_rehearsal.standin.protocols.base import Protocol, Said, Trouble
from proctor_rehearsal.standin.protocols.embeddings import EMBEDDINGS, VECTORS
from proctor_rehearsal.standin.protocols.google import GENERATE, model_of
from proctor_rehearsal.standin.protocols.openai import CHAT
from proctor_rehearsal.standin.protocols.responses import RESPONSES
from proctor_rehearsal.standin.schema import follows, instance, violation
from proctor_rehearsal.standin.script import Fault, Rule, Script, parse_script

__all__ = ["Answering", "Standin"]

Answering = Callable[
    [Call], "Answer | str | dict[str, Any] | Awaitable[Answer | str | dict[str, Any] | None] | None"
]
"""A rule in Python: gets the request, returns the reply, or None to leave it to the next rule."""

_READ: Final = 4 * 2**20
_JSON: Final = "application/json"
_ROUTES: Final[dict[str, Protocol]] = {
    "/v1/chat/completions": CHAT,
    "/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/responses": RESPONSES,
    "/v1/messages": MESSAGES,
    "/v1/embeddings": EMBEDDINGS,
    "/embeddings": EMBEDDINGS,
}
_GOOGLE: Final = ("/v1beta/models/", "/v1/models/", "/v1alpha/models/")


class _State:
    """A script at work: what it says, how far its faults have come, what was said last."""

    def __init__(self, script: Script, answers: tuple[Answering, ...]) -> None:
        self.script = script
        self.answers = answers
        self.faults = Faults(script.faults, script.seed)
        self.media = MediaCheck(script.media_limit)
        self.turns: dict[int, int] = {}
        self.said: dict[str, Answer] = {}

    def turn(self, rule: Rule) -> int:
        """Return how often a rule was used before."""
        count = self.turns.get(id(rule), 0)
        self.turns[id(rule)] = count + 1
        return count


class Standin:
    """A stand-in for the providers of models.

    It runs in a thread of its own, so that it can be used from plain tests, and with ``with`` and ``async with`` as well::

        with Standin(reply="Yes.") as standin:
            client = openai.OpenAI(base_url=standin.url + "/v1", api_key="any")

    Args:
        script: what it does; see ``Script``.
        answer: rules in Python, tried before those of the script.
        host: address to listen on.
        port: 0 for a free one.
        bodies: bytes of request bodies that are kept, the latest.
        plays: say on ``GET /standin/plays`` that the models of a workspace are played: others do not take the replies.
        fields: of the script, instead of a whole one; ``reply`` is short for the text of every reply.
    """

    def __init__(
        self,
        script: Script | Mapping[str, Any] | None = None,
        *,
        answer: Answering | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        bodies: int = 64 * 2**20,
        plays: bool = False,
        **fields: Any,
    ) -> None:
        self._host, self._port, self._plays = host, port, plays
        self.log = Ledger(bodies)
        self._state = _state(script, answer, fields)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.url = ""

    def __repr__(self) -> str:
        return f"<Standin {self.url or 'not running'}>"

    # -- what tests use ------------------------------------------------------------------------------------------

    def start(self, script: Script | Mapping[str, Any] | None = None) -> str:
        """Start the server and return its URL.

        Args:
            script: instead of the one that it was made with.

        Raises:
            UserError: if it cannot listen there.
        """
        if script is not None:
            self.script(script)
        if self._thread is not None:
            return self.url
        started = threading.Event()
        failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(started, failed), name="standin", daemon=True)
        self._thread.start()
        started.wait()
        if failed:
            self._thread.join()
            self._thread = None
            if isinstance(failed[0], OSError):
                raise UserError(
                    f"the stand-in cannot listen on {self._host} port {self._port}: {failed[0].strerror or failed[0]}.",
                    hint="choose another port, or 0 for a free one",
                ) from None
            raise failed[0]
        return self.url

    def close(self) -> None:
        """Stop: open connections are cut, the port is free afterwards. What was counted stays."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = self._stop = None

    def script(
        self,
        script: Script | Mapping[str, Any] | None = None,
        *,
        answer: Answering | None = None,
        **fields: Any,
    ) -> None:
        """Do something else from now on; schedules of faults begin anew, counts go on.

        Args:
            script: a whole script, or its fields as plain values.
            answer: rules in Python, tried first.
            fields: fields of the script; ``reply`` is short for the text of every reply.

        Raises:
            UserError: if a field is unknown or out of range.
        """
        self._state = _state(script, answer, fields)

    def reset(self) -> None:
        """Forget what was counted, and begin the schedules of faults anew."""
        self._state = _State(self._state.script, self._state.answers)
        self.log.reset()

    @property
    def requests(self) -> list[Record]:
        """The latest requests, oldest first."""
        return self.log.requests

    @property
    def count(self) -> int:
        """Requests for a reply since the last reset, whatever became of them."""
        return self.log.count

    @property
    def counts(self) -> dict[str, int]:
        """How often each request came, by the name of its path and body."""
        return dict(self.log.by_key)

    @property
    def most_in_flight(self) -> int:
        """How many requests were being answered at once at most."""
        return self.log.most_in_flight

    @property
    def errors(self) -> list[str]:
        """Tracebacks of rules that failed; tests look here when they get a 500 that they did not ask for."""
        return list(self.log.errors)

    @property
    def wants_key(self) -> bool:
        """True when clients must send the script's key."""
        return self._state.script.key is not None

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point the providers' own SDKs here."""
        key = self._state.script.key or "standin"
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": key,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_KEY": key,
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # -- the server ----------------------------------------------------------------------------------------------

    def _run(self, started: threading.Event, failed: list[BaseException]) -> None:
        try:
            asyncio.run(self._serve(started))
        except BaseException as error:
            if started.is_set():
                raise
            failed.append(error)
            started.set()

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            read_bufsize=_READ,
            max_field_size=65_536,
        )
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self._port, backlog=4096)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            started.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        if path.startswith(("http://", "https://")):  # a client behind a proxy names the whole URL
            path = "/" + path.split("/", 3)[-1]
        path = path.replace("%3A", ":").replace("%3a", ":")
        protocol = _ROUTES.get(path)
        if (
            protocol is None
            and path.startswith(_GOOGLE)
            and path.endswith(("generateContent", "GenerateContent"))
        ):
            protocol = GENERATE
        if protocol is not None and request.method == "POST":
            return await self._model(request, protocol, path, query)
        self.log.other += 1
        if path.startswith("/standin/"):
            return await self._control(request, path)
        return await self._catalogue(request, path, query)

    async def _model(
        self, request: web.BaseRequest, protocol: Protocol, path: str, query: str
    ) -> web.StreamResponse:
        state = self._state
        try:
            body = await _read(request, state.script.limit)
        except Rejected as refused:
            self.log.other += 1
            return _json(
                protocol.error(Trouble(refused.status, refused.message)),
                refused.status,
                protocol.headers("large"),
            )
        key = request_key(path, body)
        call, record = self.log.begin(protocol, path, body, key, request.headers)
        call._check = state.media
        try:
            response = await self._respond(request, state, call, record, query)
            if isinstance(response, _Raw) and not response.at_once:
                await response.write_eof()
                record.sent = True
            else:
                # Written down before the client can see the reply: a test that has it finds the count right.
                record.sent = request.transport is not None and not request.transport.is_closing()
            return response
        except ConnectionError:  # the client left in the middle of the reply
            return _Raw(request, Wire())
        finally:
            self.log.end(call, record)

    async def _respond(
        self, request: web.BaseRequest, state: _State, call: Call, record: Record, query: str
    ) -> web.StreamResponse:
        script, protocol = state.script, call.protocol
        name = f"{call.key[:20]}-{call.nth}"
        if script.key is not None and not _authorised(request, query, script.key):
            record.outcome, record.status = "auth", 401
            wrong = "Incorrect API key provided."
            return _json(protocol.error(Trouble(401, wrong, name=name)), 401, protocol.headers(name))
        try:
            if script.check != "none":
                call.content  # noqa: B018 - what the protocol does not allow is refused first
            fault = state.faults.due(call, self.log.in_flight)
            if fault is not None and fault.kind in BEFORE:
                return await self._fail(request, fault, call, record, name)
            self._look(script, call)
            answer, seconds = await self._answer(state, call)
        except Rejected as refused:
            record.outcome, record.status = "rejected", refused.status
            body = protocol.error(Trouble(refused.status, refused.message, param=refused.param, name=name))
            return _json(body, refused.status, protocol.headers(name))
        except Exception as error:
            self.log.note(_trace(error))
            record.outcome, record.status = "error", 500
            body = protocol.error(Trouble(500, "a rule of the stand-in failed; see its errors", name=name))
            return _json(body, 500, protocol.headers(name))
        answer = _model_fault(state, call, answer, fault)
        if seconds > 0:
            await asyncio.sleep(seconds)
        return self._send(request, script, call, record, answer, fault, name)

    def _look(self, script: Script, call: Call) -> None:
        """Look at the request as far as the script wants.

        Raises:
            Rejected: if the model is not there or a medium is broken.
        """
        if script.check == "full":
            call.media  # noqa: B018 - what is broken is refused
        if script.strict and call.model not in script.models:
            raise Rejected(f"The model '{call.model}' does not exist.", status=404)

    async def _answer(self, state: _State, call: Call) -> tuple[Answer, float]:
        """Return what the model says and how long it takes."""
        script = state.script
        if call.protocol is EMBEDDINGS:  # vectors follow from the texts; rules are for what is said
            call.content  # noqa: B018 - what cannot be embedded is refused here, where refusals are answered
            return Answer(text=VECTORS), script.latency.draw(call, script.seed)
        for rule in state.answers:
            said = rule(call)
            if inspect.isawaitable(said):
                said = await said
            if said is not None:
                return self._shape(script, call, _as_answer(said)), script.latency.draw(call, script.seed)
        for rule_ in (*script.rules, script.otherwise):
            if rule_ is script.otherwise or rule_.match.holds(call):
                latency = rule_.latency or script.latency
                answer = self._shape(script, call, _apply(rule_, state, call))
                return answer, latency.draw(call, script.seed)
        raise AssertionError("the last rule takes every request")  # pragma: no cover

    def _shape(self, script: Script, call: Call, answer: Answer) -> Answer:
        """Make the reply follow the schema, the stop strings and the limit on tokens of the request."""
        if not call.parsed:
            return answer
        content = call.content
        if content.choices > 1 and answer.copies == 1:
            answer = msgspec.structs.replace(answer, copies=content.choices)
        if answer.outcome == "reply":
            if content.schema is not None and (answer.data or not follows(answer.text, content.schema)):
                seed = f"{script.seed} {call.key}"
                made = instance(content.schema, values=answer.data, text=answer.text, seed=seed)
                answer = msgspec.structs.replace(answer, text=msgspec.json.encode(made).decode())
            elif content.json_mode and not follows(answer.text, {"type": "object"}):
                made = answer.data or {"answer": answer.text}
                answer = msgspec.structs.replace(answer, text=msgspec.json.encode(made).decode())
        return finish(call, answer)

    def _send(
        self,
        request: web.BaseRequest,
        script: Script,
        call: Call,
        record: Record,
        answer: Answer,
        fault: Fault | None,
        name: str,
    ) -> web.StreamResponse:
        protocol = call.protocol
        if call.parsed:
            used = count_used(call, answer, media=script.check == "full")
            model, stream = call.model, call.content.stream
        else:
            used = Used(-(-len(call.body) // 4), count_tokens(answer.text))
            model, stream = model_of(call.path) or "standin", False
        body = protocol.render(Said(call, answer, used, model, name))
        if fault is not None and fault.kind == "error_body":
            body = protocol.error(
                Trouble(500, fault.message or "An error occurred.", code=fault.code, name=name)
            )
            stream = False
        data = protocol.events(body) if stream else msgspec.json.encode(body)
        headers = protocol.headers(name) | script.headers
        headers["content-type"] = "text/event-stream; charset=utf-8" if stream else _JSON
        record.status, record.outcome = 200, answer.outcome
        if fault is None or fault.kind not in AFTER:
            if fault is not None:
                record.outcome = fault.kind
                headers |= fault.headers
            return web.Response(body=data, headers=headers)
        record.outcome = fault.kind
        return _Raw(request, spoil(fault, data, headers | fault.headers))

    async def _fail(
        self, request: web.BaseRequest, fault: Fault, call: Call, record: Record, name: str
    ) -> web.StreamResponse:
        """Do what a fault does that comes before the model."""
        protocol = call.protocol
        record.outcome = fault.kind
        headers = protocol.headers(name) | retry_headers(fault) | fault.headers
        if fault.kind == "stall":
            await asyncio.sleep(fault.seconds)
            return _Raw(request, Wire())
        if fault.kind in ("cut", "reset"):
            return _Raw(request, Wire(end="reset" if fault.kind == "reset" else "close"))
        if fault.kind == "redirect":
            record.status = 302
            return web.Response(status=302, headers=headers | {"location": fault.location})
        if fault.kind == "prompt_filter":
            used = count_used(call, Answer(), media=False)
            record.status, blocked = protocol.blocked_prompt(Said(call, Answer(), used, call.model, name))
            return _json(blocked, record.status, headers)
        if fault.kind == "html":
            record.status = fault.status or 502
            page = fault.body if fault.body is not None else error_page(record.status)
            return web.Response(text=page, status=record.status, content_type="text/html", headers=headers)
        record.status = fault.status or 429
        if fault.body is not None:
            return web.Response(
                body=fault.body.encode(), status=record.status, headers={"content-type": _JSON, **headers}
            )
        message = fault.message or _MESSAGES.get(record.status, "An error occurred.")
        error = protocol.error(
            Trouble(record.status, message, code=fault.code, wait=fault.retry_after, name=name)
        )
        return _json(error, record.status, headers)

    # -- beside the model ----------------------------------------------------------------------------------------

    async def _catalogue(self, request: web.BaseRequest, path: str, query: str) -> web.StreamResponse:
        """List models, count tokens; everything else is not found."""
        state = self._state
        anthropic = "anthropic-version" in request.headers
        google = path.startswith(("/v1beta", "/v1alpha")) or "x-goog-api-key" in request.headers
        protocol: Protocol = MESSAGES if anthropic else GENERATE if google else CHAT
        if state.script.key is not None and not _authorised(request, query, state.script.key):
            return _json(protocol.error(Trouble(401, "Incorrect API key provided.")), 401)
        if request.method == "POST" and path.endswith((":countTokens", "/messages/count_tokens")):
            return await self._count_tokens(
                request, state, MESSAGES if "messages" in path else GENERATE, path
            )
        parts = path.strip("/").split("/", 2)
        if request.method == "GET" and len(parts) >= 2 and parts[0].startswith("v1") and parts[1] == "models":
            names = state.script.models or ["standin"]
            if len(parts) == 2:
                return _json(_models(names, protocol), 200)
            if parts[2] in names:
                return _json(_one_model(parts[2], protocol), 200)
            return _json(protocol.error(Trouble(404, f"The model '{parts[2]}' does not exist.")), 404)
        return _json(protocol.error(Trouble(404, f"There is nothing at {request.method} {path[:200]}.")), 404)

    async def _count_tokens(
        self, request: web.BaseRequest, state: _State, protocol: Protocol, path: str
    ) -> web.StreamResponse:
        try:
            body = await _read(request, state.script.limit)
            tokens = count_used(Call(protocol, path, body, media=state.media), Answer()).input
        except Rejected as refused:
            return _json(protocol.error(Trouble(refused.status, refused.message)), refused.status)
        return _json({"input_tokens": tokens} if protocol is MESSAGES else {"totalTokens": tokens}, 200)

    async def _control(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        """Let tests in other processes read the log, set a script and reset; web pages are kept out."""
        if "origin" in request.headers or not _is_local(request.headers.get("host", "")):
            return _json({"error": "this door is for local programs, not for web pages"}, 403)
        if request.method == "GET" and path == "/standin/log":
            query = request.query
            last = int(query["last"]) if query.get("last", "").isdecimal() else 0
            return _json(self.log.summary(last=last, keys="keys" in query, bodies="bodies" in query), 200)
        if request.method == "GET" and path == "/standin/plays" and self._plays:
            return _json({"plays": True}, 200)
        if request.method == "GET" and path == "/standin/script":
            return _json(self._state.script.public(), 200)
        if request.method == "POST" and path == "/standin/reset":
            self.reset()
            return _json({"reset": True}, 200)
        if request.method == "POST" and path == "/standin/script":
            try:
                self.script(parse_script(await _read(request, 16 * 2**20)))
            except UserError as error:
                return _json({"error": error.render()}, 400)
            except Rejected as refused:
                return _json({"error": refused.message}, refused.status)
            return _json({"script": True}, 200)
        return _json({"error": "there is /standin/log, /standin/script and /standin/reset"}, 404)


_MESSAGES: Final = {
    400: "The request is invalid.",
    401: "Incorrect API key provided.",
    403: "You do not have access to this.",
    404: "The model does not exist.",
    413: "The request is too large.",
    429: "Rate limit reached for requests.",
    500: "The server had an error while processing your request.",
    503: "The model is overloaded. Please try again later.",
    529: "Overloaded",
}


class _Raw(web.StreamResponse):
    """A reply whose bytes are written as they are, outside the HTTP rules where a fault asks for it."""

    def __init__(self, request: web.BaseRequest, wire: Wire) -> None:
        super().__init__()
        self._asked = request
        self._wire: Wire | None = wire
        self._end = wire.end
        self.at_once = len(wire.pieces) < 2

    @property
    def keep_alive(self) -> bool:
        return self._end == "keep"

    async def prepare(self, request: web.BaseRequest) -> None:
        """Do nothing: the head is part of the wire."""

    async def write_eof(self, data: bytes = b"") -> None:  # noqa: ARG002 - the wire has it all
        wire, self._wire = self._wire, None
        if wire is None:
            return
        for wait, piece in wire.pieces:
            if wait:
                await asyncio.sleep(wait)
            transport = self._transport()
            if transport.get_write_buffer_size() > _READ:
                await self._asked.protocol._drain_helper()
            transport.write(piece)
        transport = self._transport()
        if wire.end == "reset":
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()
        elif wire.end == "close":
            transport.close()

    def _transport(self) -> asyncio.Transport:
        transport = self._asked.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        return transport


def _state(
    script: Script | Mapping[str, Any] | None, answer: Answering | None, fields: dict[str, Any]
) -> _State:
    """Make the state of a script from any of the forms in which it is given.

    Raises:
        UserError: if a field is unknown or out of range.
    """
    if "reply" in fields:
        fields = {**fields, "otherwise": Rule(reply=fields["reply"])}
        del fields["reply"]
    if script is not None and not isinstance(script, Script):
        script = parse_script(msgspec.json.encode(script))
    if fields:
        base = msgspec.structs.asdict(script) if script is not None else {}
        plain = msgspec.to_builtins({**base, **fields})
        try:
            script = msgspec.convert(plain, Script)
        except msgspec.ValidationError as error:
            raise UserError(f"{error}.", where="script") from None
    script = script or Script()
    for rule in (*script.rules, script.otherwise):
        check_rule(rule)
    return _State(script, () if answer is None else (answer,))


def _apply(rule: Rule, state: _State, call: Call) -> Answer:
    """Return what a rule says to a request that it matches."""
    if rule.behaviour is not None:
        answer = make_behaviour(rule.behaviour, rule.options)(call)
        if rule.data or rule.thinking or rule.outcome != "reply":
            data, thinking = {**answer.data, **rule.data}, rule.thinking
            answer = msgspec.structs.replace(answer, data=data, thinking=thinking, outcome=rule.outcome)
        return answer
    said = rule.reply
    if isinstance(said, list):
        turn = state.turn(rule) % len(said) if rule.pick == "turn" else None
        said = said[turn] if turn is not None else pick(call, said, "reply", state.script.seed)
    text = said if said is not None else msgspec.json.encode(rule.data).decode() if rule.data else ""
    if rule.expand and (found := rule.match.found(call)) is not None:
        text = found.expand(text)
    return Answer(text=text, data=rule.data, outcome=rule.outcome, thinking=rule.thinking)


def _as_answer(said: object) -> Answer:
    if isinstance(said, Answer):
        return said
    if isinstance(said, str):
        return Answer(text=said)
    if isinstance(said, Mapping):
        return Answer(text=msgspec.json.encode(said).decode(), data=dict(said))
    raise TypeError(
        f"a rule returned {type(said).__name__}; it must return an Answer, a text, a dict or None"
    )


def _model_fault(state: _State, call: Call, answer: Answer, fault: Fault | None) -> Answer:
    """Let the model itself go wrong, and remember what it said."""
    kind = fault.kind if fault is not None else None
    model = call.model if call.parsed else ""
    before, state.said[model] = state.said.get(model), answer
    if fault is None or kind not in MODEL:
        return answer
    change = msgspec.structs.replace
    if kind == "refusal":
        return Answer(text=fault.message or "I'm sorry, but I can't help with that.", outcome="refusal")
    if kind == "content_filter":
        return Answer(outcome="content_filter")
    if kind == "length":
        return cut(answer, max(1, count_tokens(answer.text) // 2))
    if kind == "empty_reply":
        return change(answer, text="")
    if kind == "two_choices":
        return change(answer, copies=answer.copies + 1)
    if kind == "duplicate":
        return before if before is not None else answer
    schema = call.content.schema
    seed = f"{state.script.seed} {call.key} {call.nth}"
    wrong = violation(schema, seed=seed) if schema is not None else {"unexpected": answer.text}
    return change(answer, text=msgspec.json.encode(wrong).decode())


async def _read(request: web.BaseRequest, limit: int) -> bytes:
    """Return the body.

    Raises:
        Rejected: if it is larger than the limit.
    """
    length = request.content_length
    if length is not None and length > limit:
        raise Rejected(f"the request exceeds {limit} bytes", status=413)
    if request.headers.get("expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    stream, size = request.content, 0
    blocks: list[bytes] = []
    while True:
        block, _ = await stream.readchunk()  # unlike read, it joins nothing
        if not block:
            return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        blocks.append(block)
        size += len(block)
        if size > limit:
            raise Rejected(f"the request exceeds {limit} bytes", status=413)


def _authorised(request: web.BaseRequest, query: str, key: str) -> bool:
    """Say whether the client sent the key, in any of the ways in which the providers take one."""
    headers = request.headers
    given = [headers.get("x-api-key", ""), headers.get("x-goog-api-key", "")]
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given += [token] if scheme.lower() == "bearer" else []
    given += [request.query.get("key", "")] if query else []
    return any(hmac.compare_digest(text.encode("utf-8", "surrogateescape"), key.encode()) for text in given)


def _is_local(host: str) -> bool:
    """Say whether a Host header names this machine: a page's DNS name that points here does not."""
    name = host.rpartition(":")[0] if host.count(":") == 1 else host.partition("]")[0].lstrip("[")
    name = name or host
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _json(value: object, status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, headers={"content-type": _JSON, **(headers or {})}
    )


def _models(names: list[str], protocol: Protocol) -> dict[str, Any]:
    listed = [_one_model(name, protocol) for name in names]
    if protocol is GENERATE:
        return {"models": listed}
    if protocol is MESSAGES:
        return {"data": listed, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"object": "list", "data": listed}


def _one_model(name: str, protocol: Protocol) -> dict[str, Any]:
    if protocol is GENERATE:
        return {
            "name": f"models/{name}",
            "displayName": name,
            "supportedGenerationMethods": ["generateContent"],
        }
    if protocol is MESSAGES:
        return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 1767225600, "owned_by": "standin"}


def _trace(error: BaseException) -> str:
    """Return where a rule failed, without the values of variables (they could hold a key)."""
    return "".join(traceback.format_exception(error))[-4_000:]
