"""Several projects on one server, each at a host of its own: ``bench.localhost``, ``line2.localhost``.

Browsers keep cookies, storage and service workers apart by host, so nothing inside a project has to know of the others. The Host
header alone decides; forwarded hosts are believed from nobody (``studio.guard`` takes them away). The host above lists the projects. It
gets none of their cookies: whoever comes from one by its link *All projects* brings a pass, by which the list shows their role there.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from anyio import to_thread
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proctor.errors import UserError
from proctor.said import listed, say, say_count
from proctor.studio.bundles import Bundles
from proctor.studio.context import Settings, Studio
from proctor.studio.guard import guarded
from proctor.studio.pages.dashboard import headline
from proctor.studio.pages.events import role_words
from proctor.studio.pages.home import items_waiting
from proctor.studio.pages.rounds import tasks_waiting
from proctor.studio.rendering import STATIC, render, see_other, static_version
from proctor.studio.views import ErrorView, ProjectRow
from proctor.verify.desk.records import at_least

__all__ = ["Project", "Projects", "host_label", "labels_of", "origin_of"]

_LONGEST: Final = 63  # RFC 1035, section 2.3.4
_PASS_SECONDS: Final = 60.0
"""From the link in a project to the list: what stands in an address also stands in histories."""
_PORT: Final = re.compile(r":\d+$", re.ASCII)


class Project(NamedTuple):
    """A project of a server: its name for people, the address that browsers use, its application and studio; None where it cannot be opened."""

    name: str
    origin: str
    app: ASGIApp | None
    studio: Studio | None = None


def host_label(name: str) -> str:
    """Return the part of a host name that stands for a project: letters a to z, digits and hyphens (``Line 2.b`` is ``line-2-b``).

    Raises:
        UserError: if none of its characters can stand there.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    label = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST].strip("-")
    if not label:
        message = f"the project '{name}' has no name that can stand in an address."
        raise UserError(message, hint="rename the folder: letters a to z, digits and hyphens")
    return label


def labels_of(folders: Sequence[Path]) -> dict[str, Path]:
    """Return folders by the labels of their names.

    Raises:
        UserError: if a name has no label, or two have the same.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        label = host_label(folder.resolve().name)
        if label in found:
            message = f"{found[label]} and {folder} would both be at {label}.…"
            raise UserError(message, hint="give each folder once, and rename one of two alike")
        found[label] = folder
    return found


def origin_of(origin: str, label: str) -> str:
    """Return a project's address below that of the server."""
    scheme, _, place = origin.rstrip("/").partition("://")
    return f"{scheme}://{label}.{place}"


class Projects:
    """The application around the projects: it looks at the host, and keeps all of them running. ``origin``: of the list of them, ``language``: of its pages."""

    def __init__(self, projects: Sequence[Project], origin: str, language: str = "en") -> None:
        self._projects = sorted(projects, key=lambda project: (project.name.lower(), project.origin))
        self._apps = {_host(p.origin): p.app for p in self._projects if p.app is not None}
        missing = (_host(p.origin) for p in self._projects if p.app is None)
        host = _host(origin)
        own = (host, "127.0.0.1", "[::1]") if host == "localhost" else (host,)
        settings = Settings(
            project=say("Projects"), origin=origin.rstrip("/"), hosts=(*own, *missing), language=language
        )
        static = Mount(f"/static/{static_version()}", Bundles(directory=STATIC))
        front = Starlette(
            routes=[
                Route("/healthz", lambda _: PlainTextResponse("ok\n")),
                static,
                Route("/{rest:path}", self._show),
            ]
        )
        front.state.studio = SimpleNamespace(settings=settings, more={})  # what pages need of a studio
        self._front = guarded(front, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to the project of its host; the list's own guard refuses hosts that are nobody's."""
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = _PORT.sub("", hosts[0].decode("latin-1").lower()) if len(hosts) == 1 else ""
        return await self._apps.get(host, self._front)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            for app in self._apps.values():
                await stack.enter_async_context(_running(app))
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _show(self, request: Request) -> Response:
        """List the projects, to whoever asks; at the host of one that is not available say so."""
        host = _PORT.sub("", request.headers["host"].lower())
        gone = next((p.name for p in self._projects if _host(p.origin) == host), "")
        if not gone and request.url.path == "/":
            if "pass" in request.query_params:
                return await self._let_know(request)
            rows = [await self._row(request, project) for project in self._projects]
            return render(request, "projects", rows)
        view = ErrorView(
            404, say("There is nothing here"), say("Check the address."), say("To the projects"), "/"
        )
        if gone:
            cause = say("It could not be opened when the server was started; the terminal there says why.")
            view = ErrorView(
                503, say("{project} is not available", project=gone), cause, say("Load the page again"), "/"
            )
        return render(request, "error", view, status=view.status)

    async def _let_know(self, request: Request) -> Response:
        """Keep the pass of somebody who comes from a project, in a cookie of this host."""
        response, text = see_other("/"), request.query_params["pass"]
        of = next((p for p in self._projects if p.origin == request.query_params.get("from")), None)
        if of and of.studio and await of.studio.auth.find_by_pass(text, within=_PASS_SECONDS):
            auth = of.studio.auth
            response.set_cookie(
                _cookie(of), text, path="/", secure=auth.secure, httponly=True, samesite="lax"
            )
        return response

    async def _row(self, request: Request, project: Project) -> ProjectRow:
        """Return a line of the list, with what is known of whoever asks; a store that fails costs its own project that alone."""
        studio, row = project.studio, ProjectRow(project.name, project.origin if project.app else "")
        text = request.cookies.get(_cookie(project), "") if studio else ""
        if studio is None or not text:
            return row
        with suppress(UserError):
            person = await studio.auth.find_by_pass(text)
            if person is None:
                return row
            desk = studio.desk
            n, of_rounds = await to_thread.run_sync(
                desk.read, lambda c: (items_waiting(c, person), tasks_waiting(desk, c, person))
            )
            waiting = say_count(n, "{n:,} item waits for you", "{n:,} items wait for you")
            tasks = say_count(of_rounds, "{n:,} task of a round", "{n:,} tasks of rounds")
            far = await headline(studio) if at_least(person.role, "coordinator") else ""
            return replace(
                row,
                person=person.name,
                role=role_words(person.role),
                waiting=listed([waiting, tasks]) if of_rounds else waiting,
                progress=far,
            )
        return row


def _cookie(project: Project) -> str:
    """Return under which name the list keeps a pass."""
    studio = project.studio
    return f"{studio.auth.cookie}-at-{_host(project.origin).partition('.')[0]}" if studio else ""


def _host(origin: str) -> str:
    return (urlsplit(origin).hostname or "").lower()


@asynccontextmanager
async def _running(app: Any) -> AsyncIterator[None]:
    """Start an application, and stop it at the end, by the messages of ASGI's lifespan protocol."""
    tell, hear = asyncio.Queue[Message](), asyncio.Queue[Message]()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    task = asyncio.create_task(app(scope, tell.get, hear.put))
    await tell.put({"type": "lifespan.startup"})
    await hear.get()  # the housekeeping of a project that did not begin is its own loss, and in the log
    try:
        yield
    finally:
        await tell.put({"type": "lifespan.shutdown"})
        await asyncio.wait([task])
