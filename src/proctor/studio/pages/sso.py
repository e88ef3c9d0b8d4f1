"""Sign-in by a provider of OpenID Connect: going there, coming back, connecting one's account. docs/studio.md."""

from __future__ import annotations

import hmac
from typing import Final

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say
from proctor.studio.auth import Auth, SlowDownError, hash_token
from proctor.studio.context import desk_of, person_of, studio_of, text_in, write
from proctor.studio.oidc import BACK_CHANNEL, GOING_SECONDS, Going, ProviderError, openid_of
from proctor.studio.pages.account import AT_PROVIDER, led_away, local_address, show_my, signed_in
from proctor.studio.rendering import explain, problem, render, see_other
from proctor.studio.views import MessageView
from proctor.verify.desk import identities, people
from proctor.verify.desk.identities import Claimed
from proctor.verify.desk.people import ABSOLUTE_SECONDS
from proctor.verify.desk.records import ConflictError, GoneError, Person

__all__ = ["ROUTES"]

_ELSEWHERE: Final = say("This sign-in was begun in another browser, or too long ago. Begin again.")
_SINCE: Final = say("Another person has signed in here since. Sign in, and connect again.")
_NOBODY: Final = say(
    "Nobody here signs in with this login. With an invitation you can; who has an account connects the login on My account."
)


async def begin(request: Request) -> Response:
    """Send a browser to the provider, to sign in or to accept an invitation."""
    form = await request.form()
    address, invite = local_address(text_in(form, "next")), text_in(form, "invite")[:100]
    return await _leave(request, openid_of(request).going(next=address, invite=invite))


async def connect(request: Request) -> Response:
    """Send somebody who is signed in to the provider, to connect their account."""
    return await _leave(request, openid_of(request).going(next="/my", person=person_of(request).pid))


async def _leave(request: Request, going: Going) -> Response:
    openid, auth = openid_of(request), _auth(request)
    try:
        auth.take_try(request, "provider")
        address = await openid.address(going)
    except (SlowDownError, ProviderError) as error:
        return _message(request, explain(error), 429 if isinstance(error, SlowDownError) else 503)
    name, text = openid.provider.name, say("You sign in there and come back by yourself.")
    response = led_away(request, say("To {name}", name=name), text, address)
    note, seconds = going.sealed(openid.key), int(GOING_SECONDS)
    response.set_cookie(auth.cookie_for("provider"), note, seconds, path="/", secure=auth.secure, httponly=True, samesite="lax")  # fmt: skip
    return response


async def finish(request: Request) -> Response:
    """Take in who comes back from the provider; the note of their browser works once. With nothing they come from its log-out."""
    if request.method != "GET":
        raise HTTPException(405)
    openid, auth = openid_of(request), _auth(request)
    if not request.query_params:
        return see_other("/signin?said=signed-out")
    going = Going.opened(request.cookies.get(auth.cookie_for("provider"), ""), openid.key, openid.clock())
    try:
        response = await _taken_in(request, going)
    except (SlowDownError, ProviderError) as error:
        response = _message(request, explain(error), 429 if isinstance(error, SlowDownError) else 502)
    except ConflictError as error:
        response = _message(request, error.message, 409)
    except GoneError:
        response = _message(request, _NOBODY, 403)
    if going is not None:
        response.delete_cookie(auth.cookie_for("provider"), secure=auth.secure, httponly=True, samesite="lax")
    return response


async def _taken_in(request: Request, going: Going | None) -> Response:
    query, openid, auth = request.query_params, openid_of(request), _auth(request)
    if going is None or not hmac.compare_digest(going.state.encode(), query.get("state", "").encode()):
        return _message(request, _ELSEWHERE, 400)
    if query.get("error") or not query.get("code"):
        return _message(request, say("You did not sign in at {name}.", name=openid.provider.name), 400)
    me: Person | None = request.state.person
    if going.person and (me is None or me.pid != going.person):
        return _message(request, _SINCE, 409)
    was_right = auth.take_try(request, "provider")
    claimed = await openid.claims(going, query["code"], query.get("iss"))
    was_right()
    if going.person and me is not None:
        desk = desk_of(request)
        await write(request, lambda c: identities.connect(desk, c, me, claimed))
        response = see_other("/my?said=connected")
    else:
        person = await _whose(request, going, claimed)
        response = await signed_in(request, person, going.next, provider_session=claimed.session_hash)
    response.set_cookie(auth.cookie_for(AT_PROVIDER), "1", int(ABSOLUTE_SECONDS), path="/", secure=auth.secure, httponly=True, samesite="lax")  # fmt: skip
    return response


async def _whose(request: Request, going: Going, claimed: Claimed) -> Person:
    """Return whose account it is; a new one where an invitation or the provider's addresses allow it."""
    desk, allowed = desk_of(request), openid_of(request).provider.allow
    if going.invite:
        token = hash_token(going.invite)
        return await write(request, lambda c: identities.accept_invite(desk, c, token, claimed))
    return await write(request, lambda c: identities.sign_in(desk, c, claimed, allowed))


async def signed_out(request: Request) -> Response:
    """End sessions when the provider says that somebody has signed out there: the one that it names, else all of the person.

    Who has none is signed out already (OpenID Connect Back-Channel Logout 1.0, section 2.7).
    """
    openid, auth, desk, form = openid_of(request), _auth(request), desk_of(request), await request.form()
    try:
        was_right = auth.take_try(request, "logout")
        claimed = await openid.signed_out(text_in(form, "logout_token"))
    except (SlowDownError, ProviderError) as error:
        said = explain(error) if isinstance(error, SlowDownError) else "The server's log says why."
        return problem(429 if isinstance(error, SlowDownError) else 400, say("Refused"), said)
    was_right()

    def end(connection: Connection) -> None:
        person = identities.find(desk, connection, claimed)
        if claimed.session:
            people.end_provider_session(desk, connection, claimed.session_hash, person)
        elif person is not None:
            people.end_all_sessions(desk, connection, person, actor="studio")

    await write(request, end)
    return Response(status_code=204)


async def disconnect(request: Request) -> Response:
    """Take the provider's login from one's account."""
    person, desk, issuer = person_of(request), desk_of(request), openid_of(request).provider.issuer
    try:
        await write(request, lambda c: identities.disconnect(desk, c, person, issuer))
    except ConflictError as error:
        return await show_my(request, [("provider", error.message)], 409)
    return see_other("/my?said=saved")


def _message(request: Request, text: str, status: int) -> Response:
    view = MessageView(say("Not signed in"), text, "/signin", say("To the sign-in page"))
    return render(request, "message", view, status=status)


def _auth(request: Request) -> Auth:
    auth: Auth = studio_of(request).auth
    return auth


ROUTES: Final = (
    ("/signin/provider", "POST", begin, "public"),
    ("/signin/provider/done", "GET", finish, "public"),
    (BACK_CHANNEL, "POST", signed_out, "public"),
    ("/my/provider", "POST", connect, "signed-in"),
    ("/my/provider/end", "POST", disconnect, "signed-in"),
)
"""Rows of the route table."""
