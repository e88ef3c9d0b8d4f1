"""The route table: every address, what may be done there, and who may do it.

A route without a permission cannot be written down; one with an unknown permission fails when the studio starts. The
tests that try every route as every role are made from this table.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.context import studio_of
from proctor.studio.language import choose, speak
from proctor.studio.pages import account, home, tasks, work
from proctor.studio.rendering import problem, see_other, wants_page
from proctor.verify.desk.records import GoneError, Person, Role, at_least

__all__ = ["ROUTES", "Permission", "StudioRoute", "build_routes"]

Permission = Literal[
    "public", "signed-in", "own-assignment", "worker", "annotator", "adjudicator", "coordinator", "owner", "read", "write"
]  # fmt: skip
"""``public``: everybody. ``signed-in``: whoever has an account, consent given or not. ``own-assignment``: the person whom
the assignment in the address belongs to; the desk checks it, and everybody else reads that there is nothing. The
others: at least this role, with consent given and the guideline read. People without an account (``worker``) have the tasks
of a round, and nothing else. ``read`` and ``write``: a program with a token of that scope, which only coordinators and owners
have; cookies are not looked at, so that no page elsewhere can use them."""

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class StudioRoute:
    """One address.

    Attributes:
        path: with parameters in braces.
        method: of HTTP; GET stands for HEAD, too, and changes nothing that people work on.
        endpoint: what answers.
        permission: see ``Permission``.
    """

    path: str
    method: Literal["GET", "POST", "PUT"]
    endpoint: Endpoint
    permission: Permission


def _routes() -> list[StudioRoute]:
    from proctor.studio.pages.registry import more_routes

    return [
        StudioRoute("/", "GET", home.show_home, "annotator"),
        StudioRoute("/projects", "GET", home.show_projects, "annotator"),
        StudioRoute("/next", "POST", work.start_next, "annotator"),
        StudioRoute("/w/{pid}", "GET", work.show_work, "own-assignment"),
        StudioRoute("/w/{pid}/state", "GET", work.work_state, "own-assignment"),
        StudioRoute("/w/{pid}/ahead", "GET", work.ahead, "own-assignment"),
        StudioRoute("/w/{pid}/draft", "PUT", work.put_draft, "own-assignment"),
        StudioRoute("/w/{pid}/submit", "POST", work.submit, "own-assignment"),
        StudioRoute("/w/{pid}/undo", "POST", work.undo, "own-assignment"),
        StudioRoute("/w/{pid}/cant", "POST", work.cant_judge, "own-assignment"),
        StudioRoute("/w/{pid}/dispute", "POST", work.dispute, "own-assignment"),
        StudioRoute("/w/{pid}/clip.mp4", "GET", work.clip, "own-assignment"),
        StudioRoute("/w/{pid}/poster.jpg", "GET", work.poster, "own-assignment"),
        StudioRoute("/w/{pid}/picture", "GET", work.picture, "own-assignment"),
        StudioRoute("/w/{pid}/sound", "GET", work.sound, "own-assignment"),
        StudioRoute("/w/{pid}/look", "POST", tasks.look, "own-assignment"),
        *(StudioRoute(*row) for row in account.ROUTES),
        *(StudioRoute(*row) for row in more_routes()),
    ]


def build_routes(routes: Sequence[StudioRoute] | None = None) -> list[Route]:
    """Return the routes with their guards.

    Raises:
        UserError: if a route's permission is none, or one address and method stand twice.
    """
    known = set(get_args(Permission))
    seen: set[tuple[str, str]] = set()
    built = []
    for route in routes if routes is not None else ROUTES():
        if route.permission not in known:
            raise UserError(
                f"the route {route.method} {route.path} declares no permission.", where="studio/routes.py"
            )
        if (route.path, route.method) in seen:
            raise UserError(f"the route {route.method} {route.path} stands twice.", where="studio/routes.py")
        seen.add((route.path, route.method))
        built.append(Route(route.path, _guarded(route), methods=[route.method]))
    return built


def ROUTES() -> list[StudioRoute]:  # noqa: N802 - reads as the table that it is
    """Return the table."""
    return _routes()


class _Request(Request):
    """A request whose form has no files: none of our forms takes one, and one that is sent would lie open on the disk."""

    def form(
        self, *, max_files: int | float = 0, max_fields: int | float = 1_000, max_part_size: int = 1024 * 1024
    ) -> Any:
        """Return the form; 400 with a file in it."""
        return super().form(max_files=max_files, max_fields=max_fields, max_part_size=max_part_size)


def _guarded(route: StudioRoute) -> Endpoint:
    async def answer(request: Request) -> Response:
        request = _Request(request.scope, request.receive)
        if route.permission in ("read", "write"):
            return await _for_program(route, request)
        person: Person | None = await request.app.state.studio.auth.find(request)
        request.state.person = person
        request.state.route = route
        speak(choose(request, person, studio_of(request).settings.language))
        if route.permission == "public":
            return await route.endpoint(request)
        if person is None:
            return _sign_in(request)
        other = request.headers.get("proctor-person")
        if other is not None and other != person.pid:
            # A page of somebody else sends what it holds: it must not be taken for this person's.
            return problem(
                401,
                say("Another person is signed in"),
                say("This page belongs to another person."),
                person=person.pid,
            )
        if route.permission == "signed-in":
            return await route.endpoint(request)
        if person.state != "active":
            raise GoneError
        if not at_least(person.role, _needed(route.permission)):
            if person.role == "worker" and route.path == "/":
                return see_other("/r")
            raise GoneError
        if person.role == "worker" or route.permission == "worker":
            return await route.endpoint(request)  # their consent is that of the round
        missing = await account.first_step(request, person)
        if missing and (route.method == "GET" and wants_page(request)):
            return see_other(missing)
        if missing:
            return problem(
                403, say("Not yet"), say("Give your consent and read the guideline first."), go=missing
            )
        return await route.endpoint(request)

    return answer


async def _for_program(route: StudioRoute, request: Request) -> Response:
    request.state.route = route
    request.state.token, request.state.person = await request.app.state.studio.auth.find_program(request)
    if route.permission == "write" and request.state.token.scope != "write":
        return problem(403, say("Not allowed"), say("This token may only read."))
    return await route.endpoint(request)


def _needed(permission: Permission) -> Role:
    return permission if permission in ("annotator", "adjudicator", "coordinator", "owner") else "worker"


_SIGN_IN: Final = "/signin"


def _sign_in(request: Request) -> Response:
    """Ask to sign in: a page is led there; data routes say 401, so that a form is never lost in a redirect."""
    if wants_page(request):
        here = request.url.path if request.method == "GET" else "/"
        return see_other(f"{_SIGN_IN}?next={quote(here, safe='/')}")
    return problem(401, say("Signed out"), say("Sign in again; what you filled in is kept."))
