"""The sample's first page: become anybody in it. Only ``proctor studio demo`` has it, on this machine alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say
from proctor.studio.context import desk_of, read, studio_of
from proctor.studio.rendering import render, see_other
from proctor.studio.routes import StudioRoute
from proctor.verify.desk import people
from proctor.verify.desk.records import GoneError

__all__ = ["DEMO_ROUTES"]

_STORIES: Final = {
    "ana": say("has judged most of her items"),
    "ben": say("has judged most of his items"),
    "chloe": say("has judged most of her items"),
    "dev": say("is new; gives consent, reads the guideline and begins with the training"),
    "edda": say("decides what the annotators see differently, without knowing who said what"),
    "farid": say("sees progress and agreement, invites people, deals items, exports"),
}
_ROLES: Final[Mapping[str, str]] = {
    "annotator": say("Annotator"),
    "adjudicator": say("Adjudicator"),
    "coordinator": say("Coordinator"),
    "owner": say("Owner"),
    "worker": say("Worker"),
}


class Cast(Struct, frozen=True):
    """One of them."""

    handle: str
    name: str
    role: str
    story: str


class DemoView(Struct, frozen=True):
    """``demo``: posts ``handle`` to ``/demo``."""

    cast: tuple[Cast, ...]


async def show_cast(request: Request) -> Response:
    """Show everybody in the sample."""
    desk = desk_of(request)
    everybody = await read(request, lambda c: people.list_people(desk, c, state="active"))
    cast = (
        Cast(p.handle, p.name, _ROLES[p.role], _STORIES.get(p.handle, say("was made by you")))
        for p in everybody
    )
    return render(request, "demo", DemoView(tuple(sorted(cast, key=lambda one: one.handle))))


async def become(request: Request) -> Response:
    """Sign in as somebody of the sample."""
    desk, auth = desk_of(request), studio_of(request).auth
    handle = str((await request.form()).get("handle", ""))
    person = await read(request, lambda c: people.by_handle(desk, c, handle))
    if person is None or person.state != "active":
        raise GoneError
    response = see_other("/")
    auth.set_cookie(response, await auth.open(request, person))
    return response


DEMO_ROUTES: Final = (
    StudioRoute("/demo", "GET", show_cast, "public"),
    StudioRoute("/demo", "POST", become, "public"),
)
