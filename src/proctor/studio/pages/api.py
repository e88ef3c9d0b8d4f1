"""What programs ask for with a token (``/api/v1/``), the description of it all (OpenAPI), and making tokens. docs/studio-api.md.

A program gets what its person's pages show, by the same functions, and people under the random ids of exports.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from anyio import to_thread
from sqlalchemy import Connection
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proctor.errors import UserError
from proctor.exam.question import Question, proposed_texts
from proctor.records import Dropped, file_sha256
from proctor.studio.auth import hash_token, new_token
from proctor.studio.context import desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.exporting import EXPORTS, write_export
from proctor.studio.language import PROGRAMS
from proctor.studio.pages.account import show_my
from proctor.studio.pages.dashboard import summary
from proctor.studio.pages.rounds import round_row
from proctor.studio.rendering import data_of, see_other
from proctor.studio.views import RoundRow
from proctor.verify.desk import browse, intake, items, people, roster, rounds, tokens
from proctor.verify.desk.events import add_event, list_events
from proctor.verify.desk.records import GoneError, InvalidError, Role
from proctor.verify.rounds.records import Reading, Round
from proctor.verify.store import latest_verdicts
from proctor.verify.verdict import Verdict

__all__ = ["CALLS", "ROUTES"]

T = TypeVar("T")
_MOST: Final = 200
_BASE: Final = f"{PROGRAMS}v1"
_DAY: Final = 24 * 3600.0
_LINES: Final = "application/jsonl"


class Project(msgspec.Struct, frozen=True):
    """Where a project stands: items by state, first readings open and submitted, and the headline of the page *Progress*."""

    name: str
    items: Mapping[str, int]
    readings_open: int
    readings_submitted: int
    headline: str
    agreement_at: float | None


class Item(msgspec.Struct, frozen=True):
    """An item; ``id`` names it in addresses, ``candidate`` in the files of the workspace."""

    id: str
    candidate: str
    kind: str
    type: str
    title: str
    question: str
    state: str
    agreement: str
    proposals: tuple[str, ...]


class Items(msgspec.Struct, frozen=True):
    """Items in the order in which they came; ``next`` is ``after`` of the next page, null at the end."""

    items: tuple[Item, ...]
    next: str | None


class Judged(msgspec.Struct, frozen=True):
    """An item with the verdicts of people and machines that count."""

    item: Item
    verdicts: tuple[Verdict, ...]


class Member(msgspec.Struct, frozen=True):
    """A person with an account; ``id`` is their name in verdicts and exports."""

    id: str
    name: str
    handle: str
    role: Role
    state: str
    gate: str
    readings_given: int
    readings_done: int


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is invited."""

    role: Role = "annotator"
    email: str = ""


class Invited(msgspec.Struct, frozen=True):
    """The link of an invitation, shown this once, and when it ends."""

    link: str
    expires_at: float


class Taken(msgspec.Struct, frozen=True):
    """Verdicts that came, those that are new, items that they changed, and what was left out, with why."""

    verdicts: int
    new: int
    items: int
    dropped: list[Dropped]


class Published(msgspec.Struct, frozen=True):
    """An accepted item as ProMQA publishes it: what every one has. How it was made and verified stands beside."""

    recording_id: str
    example_id: str
    question_id: str
    activity_name: str
    type: str
    end_time: str
    is_noisy: bool
    question: str
    question_approved_by: str
    answers: tuple[str, ...]
    answer_tags: tuple[str, ...]
    answer_approved_by: tuple[str, ...]


class Row(msgspec.Struct, frozen=True):
    """A row of the store: the table that it is of, and the columns of that table beside it."""

    table: str


class Wrong(msgspec.Struct, frozen=True):
    """A field that is not as it should be, and why."""

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True):
    """What went wrong (RFC 9457); ``errors`` where a request is not as it should be."""

    title: str
    status: int
    detail: str
    errors: tuple[Wrong, ...] = ()


# -- the project and its items -----------------------------------------------------------------------------------


async def show_project(request: Request) -> Response:
    """Say where the project stands."""
    counts, headline, at = await summary(request)
    name = studio_of(request).settings.project
    return data_of(Project(name, counts.states, *counts.readings, headline, at))


async def list_items(request: Request) -> Response:
    """List items, a page at a time."""
    asked = _asked(request)
    limit, after = number_in(asked.get("limit", "50"), -1), number_in(asked.get("after", "0"), -1)
    narrow = browse.Narrow(asked.get("state", ""), asked.get("type", ""))
    if narrow.state not in {"", *items.ITEM_STATES} or not 1 <= limit <= _MOST or after < 0:
        known = f"state is one of {', '.join(items.ITEM_STATES)}; limit 1 to {_MOST}; after comes from next."
        raise InvalidError([("query", known)])

    def look(connection: Connection) -> Items:
        strata = sorted(items.count_items(connection))
        if narrow.stratum not in {"", *strata}:
            raise InvalidError([("type", f"One of {', '.join(strata)}.")])
        found = browse.page_items(connection, narrow, strata, after=after, limit=limit + 1)
        following = str(found[limit - 1].id) if len(found) > limit else None
        return Items(tuple(_item(one, one.body) for one in found[:limit]), following)

    return data_of(await read(request, look))


async def show_item(request: Request) -> Response:
    """Show an item with its verdicts."""

    def look(connection: Connection) -> Judged:
        item = items.find_item(connection, request.path_params["pid"])
        said = latest_verdicts(connection, item.question.id)
        today = tuple(v for v in said if v.candidate_hash in ("", item.candidate_hash))
        return Judged(_item(item, item.question), today)

    return data_of(await read(request, look))


def _item(one: Any, q: Question) -> Item:
    """Return an item of a list, or a whole one, with its question."""
    texts = tuple(proposed_texts(q))
    return Item(one.pid, q.id, q.kind, one.stratum, one.title, q.text, one.state, one.agreement, texts)


async def bring_verdicts(request: Request) -> Response:
    """Take in verdicts from elsewhere, as ``proctor studio import`` does."""
    desk, me = desk_of(request), person_of(request)
    rows = _strict(await request.body(), list[dict[str, Any]])

    def take() -> Taken:
        try:
            given = list(intake.read_verdicts(rows, "verdict"))
        except UserError as error:
            raise InvalidError([(error.where or "body", error.message)]) from None
        ours = {p.pid for p in desk.read(lambda c: people.list_people(desk, c))}
        if any(v.annotator in ours for v in given):
            raise InvalidError([("annotator", "What people of this project say comes from their own pages.")])
        taken = intake.take_in(desk, given)
        note = {"verdicts": len(given), "new": taken.new, "dropped": len(taken.dropped)}
        desk.write(lambda c: add_event(desk, c, "items.brought", "items", me.pid, **note)).result()
        return Taken(len(given), taken.new, taken.items, taken.dropped)

    return data_of(await to_thread.run_sync(take))


# -- people --------------------------------------------------------------------------------------------------------


async def list_people(request: Request) -> Response:
    """List people."""

    def look(connection: Connection) -> list[Member]:
        work, none = roster.count_readings(connection), dict[str, int]()
        found = ((p, work.get(p.id, none)) for p in people.list_people(desk_of(request), connection))
        return [
            Member(p.pid, p.name, p.handle, p.role, p.state, p.gate, sum(w.values()), w.get("submitted", 0))
            for p, w in found
        ]

    return data_of(await read(request, look))


async def invite(request: Request) -> Response:
    """Make an invitation, to no role above the person's own."""
    asked = _strict(await request.body(), Asked)
    desk, me, token = desk_of(request), person_of(request), new_token()
    more = {"actor": me.pid, "email": asked.email}
    made = await write(
        request, lambda c: people.create_invite(desk, c, hash_token(token), asked.role, **more)
    )
    response = data_of(Invited(f"{studio_of(request).settings.origin}/invite/{token}", made.expires_at))
    response.status_code = 201
    return response


# -- rounds and exports ----------------------------------------------------------------------------------------------


async def list_rounds(request: Request) -> Response:
    """List rounds, the newest first."""
    return data_of(await read(request, lambda c: [_line(c, one) for one in rounds.list_rounds(c)]))


async def show_round(request: Request) -> Response:
    """Show a round."""
    return data_of(await read(request, lambda c: _line(c, _named(request, c))))


async def close_round(request: Request) -> Response:
    """Close a round: nothing is given out any more."""
    desk, me = desk_of(request), person_of(request)

    def job(connection: Connection) -> RoundRow:
        one = _named(request, connection)
        if one.state == "open":
            rounds.set_state(desk, connection, one, "closed", actor=me.pid)
        return _line(connection, _named(request, connection))

    return data_of(await write(request, job))


def _named(request: Request, connection: Connection) -> Round:
    """Return the round of the address, which says its id or its name."""
    said = request.path_params["name"]
    found = next((r for r in rounds.list_rounds(connection) if said in (r.pid, r.name)), None)
    if found is None:
        raise GoneError
    return found


def _line(connection: Connection, one: Round) -> RoundRow:
    return round_row(connection, one, f"{_BASE}/rounds/{one.pid}")


async def send_readings(request: Request) -> Response:
    """Send what was submitted in a round and stands."""
    desk = desk_of(request)
    one = await read(request, lambda c: _named(request, c))

    def fill(path: Path) -> None:
        with desk.reading() as connection, path.open("wb") as stream:
            for reading in rounds.read_readings(connection, one):
                stream.write(msgspec.json.encode(reading) + b"\n")

    return await _sent(request, _LINES, fill)


async def send_export(request: Request) -> Response:
    """Send what the page *Exports* makes; the log names the token, once a day for each kind, so that asking again changes nothing."""
    desk, me, token = desk_of(request), person_of(request), request.state.token
    known = next((k for k in EXPORTS if k == request.path_params["kind"]), None)
    if known is None:
        raise GoneError

    def note(connection: Connection, rows: int, digest: str) -> None:
        of_token, since = list_events(connection, subject=token.pid), desk.now() - _DAY
        if not any((e.kind, e.body.get("what")) == ("export", known) and e.at > since for e in of_token):
            add_event(desk, connection, "export", token.pid, me.pid, what=known, rows=rows, sha256=digest)

    def fill(path: Path) -> None:
        rows, digest = write_export(desk, known, path), file_sha256(path)
        desk.write(lambda c: note(c, rows, digest)).result()

    media = {"json": "application/json", "jsonl": _LINES, "csv": "text/csv; charset=utf-8"}
    return await _sent(request, media[EXPORTS[known][2]], fill)


async def _sent(request: Request, media: str, fill: Callable[[Path], None]) -> Response:
    """Send a file that is made for this request, however large, and remove it."""
    if request.method == "HEAD":
        return Response(media_type=media)
    folder = tempfile.TemporaryDirectory(prefix="proctor-sent-")
    path = Path(folder.name) / "file"
    try:
        await to_thread.run_sync(fill, path)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(path, media_type=media, background=BackgroundTask(folder.cleanup))


# -- what was asked ----------------------------------------------------------------------------------------------------


def _asked(request: Request) -> dict[str, str]:
    """Return what the address asks for; what it does not know, or has twice, would be left out silently, and is refused."""
    known = next(c for c in CALLS if c.path == request.state.route.path.removeprefix(_BASE)).query
    pairs = request.query_params.multi_items()
    if not set(dict(pairs)) <= set(known) or len(dict(pairs)) < len(pairs):
        raise InvalidError([("query", f"This address knows {', '.join(known)}, each once.")])
    return dict(pairs)


def _strict(text: bytes, shape: type[T]) -> T:
    """Return JSON of a shape; what has a key twice, or numbers that JSON has not, is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a key stands twice")
        return found

    def no(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return msgspec.convert(json.loads(text, object_pairs_hook=once, parse_constant=no), shape)
    except (ValueError, RecursionError) as error:
        raise InvalidError([("body", str(error)[:300])]) from None


# -- the description ---------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """One address: with what ``body`` it is sent, and what it answers: a shape, or shapes by the type of media."""

    method: Literal["GET", "POST"]
    path: str
    endpoint: Callable[[Request], Awaitable[Response]]
    scope: tokens.Scope
    answer: Any
    body: Any = None
    query: tuple[str, ...] = ()

    @property
    def answers(self) -> Mapping[str, Any]:
        """Shapes by the type of media."""
        return self.answer if isinstance(self.answer, dict) else {"application/json": self.answer}


async def describe(request: Request) -> Response:
    """Describe all addresses (OpenAPI 3.1)."""
    shapes = [s for call in CALLS for s in (*call.answers.values(), call.body, Problem) if s is not None]
    schemas, parts = msgspec.json.schema_components(shapes, ref_template="#/components/schemas/{name}")
    named = dict(zip(map(repr, shapes), schemas, strict=True))

    def content(shapes: Mapping[str, Any]) -> dict[str, Any]:
        return {"content": {media: {"schema": schema(media, shape)} for media, shape in shapes.items()}}

    def schema(media: str, shape: Any) -> dict[str, Any]:
        if media.endswith("json"):
            return named[repr(shape)]
        # Text to HTTP clients; OpenAPI 3.1 has no other word for lines than what a text contains.
        lines = {"description": "One JSON object per line.", "contentSchema": named[repr(shape)]}
        return {"type": "string", "contentMediaType": media, **(lines if media == _LINES else {})}

    paths: dict[str, Any] = {}
    for call in CALLS:
        params = [(n, "path") for n in re.findall(r"{(\w+)}", call.path)] + [(n, "query") for n in call.query]
        done = {"description": "Done.", **content(call.answers)}
        failed = {"description": "It did not work.", **content({"application/problem+json": Problem})}
        told: dict[str, Any] = {
            "summary": call.endpoint.__doc__, "operationId": call.endpoint.__name__, "security": [{call.scope: []}],
            "parameters": [{"name": n, "in": i, "required": i == "path", "schema": {"type": "string"}} for n, i in params],
            "responses": {"201" if call.body is Asked else "200": done, "default": failed},
            **({"requestBody": {"required": True, **content({"application/json": call.body})}} if call.body else {}),
        }  # fmt: skip
        paths.setdefault(_BASE + call.path, {})[call.method.lower()] = told
    settings = studio_of(request).settings
    schemes = {scope: {"type": "http", "scheme": "bearer"} for scope in tokens.SCOPES}
    return data_of({
        "openapi": "3.1.0", "info": {"title": f"Proctor: {settings.project}", "version": "1"}, "servers": [{"url": settings.origin}],
        "paths": paths, "components": {"schemas": parts, "securitySchemes": schemes},
    })  # fmt: skip


_EXPORTED: Final = {"application/json": list[Published], _LINES: Row, "text/csv": str}
CALLS: Final = (
    Call("GET", "/project", show_project, "read", Project),
    Call("GET", "/items", list_items, "read", Items, query=("state", "type", "after", "limit")),
    Call("GET", "/items/{pid}", show_item, "read", Judged),
    Call("GET", "/people", list_people, "read", list[Member]),
    Call("POST", "/people", invite, "write", Invited, Asked),
    Call("GET", "/rounds", list_rounds, "read", list[RoundRow]),
    Call("GET", "/rounds/{name}", show_round, "read", RoundRow),
    Call("GET", "/rounds/{name}/readings", send_readings, "read", {_LINES: Reading}),
    Call("POST", "/rounds/{name}/close", close_round, "write", RoundRow),
    Call("GET", "/export/{kind}", send_export, "read", _EXPORTED),
    Call("POST", "/verdicts", bring_verdicts, "write", Taken, list[Verdict]),
    Call("GET", "/openapi.json", describe, "read", dict[str, Any]),
)
"""All addresses, after ``/api/v1``."""


# -- tokens, on My account ---------------------------------------------------------------------------------------------


async def make_token(request: Request) -> Response:
    """Make a token and show it, this once."""
    form, desk, me, secret = await request.form(), desk_of(request), person_of(request), tokens.new_secret()
    name, scope, days = text_in(form, "token_name"), text_in(form, "scope"), number_in(text_in(form, "days"))

    def job(connection: Connection) -> None:
        hashed = hash_token(secret)
        tokens.create(desk, connection, hashed, me, name=name, scope=scope, days=days, actor=me.pid)

    try:
        await write(request, job)
    except InvalidError as error:
        return await show_my(request, error.errors)
    return await show_my(request, made=secret)


async def end_token(request: Request) -> Response:
    """End one of the person's own tokens."""
    desk, me, pid = desk_of(request), person_of(request), request.path_params["pid"]
    await write(request, lambda c: tokens.end(desk, c, me, pid))
    return see_other("/my?said=done")


ROUTES: Final[tuple[tuple[str, str, Any, str], ...]] = (
    *((_BASE + call.path, call.method, call.endpoint, call.scope) for call in CALLS),
    ("/my/tokens", "POST", make_token, "coordinator"),
    ("/my/tokens/{pid}/end", "POST", end_token, "coordinator"),
)
"""Rows of the route table."""
