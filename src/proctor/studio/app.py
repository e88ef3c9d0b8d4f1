"""The web application: routes behind guards, static files, and errors as pages or as data."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.bundles import Bundles, bundle
from proctor.studio.context import Studio, studio_of
from proctor.studio.guard import REFUSED, guarded
from proctor.studio.language import LANGUAGES, choose, speak
from proctor.studio.pages.demo import DEMO_ROUTES
from proctor.studio.rendering import STATIC, compile_templates, problem, render, static_version, wants_page
from proctor.studio.routes import ROUTES, build_routes
from proctor.studio.views import ErrorView
from proctor.verify.desk import people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError

__all__ = ["build_app"]

_LOG = logging.getLogger("proctor.studio")
_HOUR: Final = 3600.0

_Handler = Callable[[Request, Exception], Awaitable[Response]]


def build_app(studio: Studio, *, demo: bool = False) -> Any:
    """Return the ASGI application of a studio.

    Args:
        studio: open.
        demo: add the page on which a visitor of the sample becomes anybody in it, without a password.

    Raises:
        UserError: if a route declares no permission.
    """
    routes = [
        Route("/healthz", _health, methods=["GET"]),
        Mount(f"/static/{static_version()}", Bundles(directory=STATIC)),
        *build_routes([*ROUTES(), *DEMO_ROUTES] if demo else None),
    ]
    handlers: dict[Any, _Handler] = {
        GoneError: _gone,
        ConflictError: _conflict,
        InvalidError: _invalid,
        UserError: _refused,
        HTTPException: _http,
        Exception: _broken,
    }
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=_lifespan)
    app.state.studio = studio
    app.state.desk = studio.desk
    return guarded(app, studio.settings, studio.auth.reader)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Compile the templates beside the first requests, so that nobody waits for them; keep house every hour."""
    threading.Thread(target=_warm_up, daemon=True).start()
    keeping = asyncio.create_task(_keep_house(app.state.studio.desk))
    try:
        yield
    finally:
        keeping.cancel()


def _warm_up() -> None:
    """Do beside the first requests what one of them would wait for: templates, and the import that clips need."""
    compile_templates()
    for name in (
        "all.css",
        "site.js",
        "work.js",
        *(f"words-{code}.js" for code in LANGUAGES if code != "en"),
    ):
        bundle(STATIC, name)
    with suppress(ImportError):
        import av  # noqa: F401


async def _keep_house(desk: Desk) -> None:
    """Forget old sessions and links, and copy an SQLite store for every hour that the studio runs."""
    while True:
        try:
            await asyncio.wrap_future(desk.write(lambda c: people.tidy(desk, c)))
            await asyncio.sleep(_HOUR)
            await to_thread.run_sync(desk.database.back_up, "hourly")
        except UserError as error:
            _LOG.error("%s", error.render())
            await asyncio.sleep(_HOUR)


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok\n", headers={"Cache-Control": "no-store"})


# -- errors ----------------------------------------------------------------------------------------------------


async def _gone(request: Request, _error: Exception) -> Response:
    return _answer(
        request,
        404,
        say("There is nothing here"),
        say("The address is wrong, or what it names is not yours to see."),
    )


async def _conflict(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConflictError)
    more = {"rev": error.rev, "version": error.version, "theirs": error.theirs}
    return _answer(request, 409, say("Changed in the meantime"), error.message, **more)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidError)
    errors = [{"field": name, "message": text} for name, text in error.errors]
    return _answer(request, 422, say("Not complete"), error.message, errors=errors)


async def _refused(request: Request, error: Exception) -> Response:
    """A user's mistake, or the database's: the message says which."""
    assert isinstance(error, UserError)
    if "cannot be used" in error.message:
        _LOG.error("%s", error.render())
        full = "full" in error.message
        status, title = (
            (507, say("The server's disk is full")) if full else (503, say("The store cannot be reached"))
        )
        detail = say("Nothing that was saved is lost. Tell the coordinator; this page tries again by itself.")
        return _answer(request, status, title, detail)
    return _answer(request, 400, say("That did not work"), error.message, hint=error.hint or "")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not hasattr(request.state, "person"):  # no route was asked who this is, or it was too fast
        request.state.person = person = await studio_of(request).auth.reader(request)
        speak(choose(request, person, studio_of(request).settings.language))
    titles = {
        404: say("There is nothing here"),
        405: say("This cannot be done here"),
        413: say("Too large"),
        429: say("Too fast"),
    }
    status = request.scope.get(REFUSED, error.status_code)
    title = titles.get(status, say("That did not work"))
    details = {
        404: say("Check the address."),
        405: say("This address does not accept such a request."),
        413: say("A form may hold at most one megabyte. Go back and shorten the text."),
    }
    detail = details.get(status, error.detail)
    response = _answer(request, status, title, detail)
    response.headers.update(error.headers or {})
    return response


async def _broken(request: Request, error: Exception) -> Response:
    number = uuid.uuid4().hex[:8]
    route = getattr(request.state, "route", None)
    where = route.path if route is not None else "an unknown address"
    _LOG.error("error %s at %s %s", number, request.method, where, exc_info=error)
    detail = say(
        "This is an error in Proctor. Its number is {number}; the server's log says more.", number=number
    )
    return _answer(request, 500, say("Something broke"), detail)


def _answer(request: Request, status: int, title: str, detail: str, **more: Any) -> Response:
    if not wants_page(request):
        return problem(status, title, detail, **more)
    view = ErrorView(
        status=status, sentence=title, cause=detail, action=say("Go to your work list"), href="/"
    )
    return render(request, "error", view, status=status)
