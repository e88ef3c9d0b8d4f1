"""Coming in and going out: sign-in, invitations, links, consent, guideline, one's own settings."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say
from proctor.studio.auth import Auth, RefusedError, SlowDownError, hash_token
from proctor.studio.context import desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.language import LANGUAGES, date_text
from proctor.studio.markdown import render_markdown
from proctor.studio.oidc import ProviderError, openid_of
from proctor.studio.pages.narrations import forget_voice
from proctor.studio.pages.tasks import find_task
from proctor.studio.pages.work import cut_ahead
from proctor.studio.passwords import check_password
from proctor.studio.rendering import data_of, problem, render, see_other, wants_page
from proctor.studio.views import (
    Choice,
    ConsentView,
    Field,
    GuidelineView,
    InviteView,
    KeyBinding,
    MessageView,
    MyView,
    SessionRow,
    SetupView,
    SigninView,
    TokenRow,
)
from proctor.verify.desk import documents, flow, identities, people, tokens
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import list_events
from proctor.verify.desk.items import get_item
from proctor.verify.desk.people import COMMAND_LINE, Invite, Session
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError, Person, Stage, at_least
from proctor.verify.desk.tokens import Token
from proctor.verify.desk.withdrawal import withdraw_consent
from proctor.verify.desk.work import find_assignment, is_begun
from proctor.verify.schema import FIRST_KIND

__all__ = [
    "AT_PROVIDER",
    "ROUTES",
    "StartView",
    "first_step",
    "keys_of",
    "led_away",
    "local_address",
    "show_my",
    "signed_in",
]

AT_PROVIDER: Final = "at-provider"
"""What the cookie is for by which a browser knows that somebody has signed in at the provider on it."""
_LOCAL: Final = re.compile(r"/(?![/\\])[A-Za-z0-9._~/-]*", re.ASCII)
_KEY: Final = re.compile(r"(?:Mod\+|Alt\+|Shift\+)*(?:[!-~]|[A-Z][A-Za-z0-9]{1,15})", re.ASCII)
_THEMES: Final = ("auto", "light", "dark")
_VERSIONS_SECONDS: Final = 2.0
_OWN: Final[tuple[Stage, ...]] = ("training", "judge")
_DUTIES: Final[Mapping[str, str]] = {
    "annotator": say("You watch short clips and judge questions and answers about them."),
    "adjudicator": say("You decide where two people who judged alone did not agree."),
    "coordinator": say("You invite people, give out the work and follow how far they agree."),
    "owner": say("You own this project: you give roles and can do everything in it."),
}
_KEYS: Final[tuple[tuple[str, str, str], ...]] = (
    ("submit", say("Submit"), "Mod+Enter"),
    ("yes", say("Yes"), "y"),
    ("no", say("No"), "n"),
    ("own", say("Add your own answer"), "a"),
    ("undo", say("Undo"), "z"),
    ("flag", say("Can't judge"), "f"),
    ("prev", say("Previous item"), "Alt+ArrowLeft"),
    ("next", say("Next item"), "Alt+ArrowRight"),
    ("play", say("Play or pause"), "Space"),
    ("graph", say("Graph on the full screen"), "g"),
    ("steps", say("Go to the list of steps"), "t"),
)
"""Actions of ``static/js/work.js`` whose keys can be changed here; the sheet behind ``?`` changes all."""


class StartView(Struct, frozen=True):
    """``start``: a one-time link for somebody who has an account; the button posts to ``action``."""

    action: str
    name: str
    expires: str


# -- what stands before the work -----------------------------------------------------------------------------


async def first_step(request: Request, person: Person) -> str:
    """Return the address of what a person has to do before this request, "" for nothing.

    Everybody who judges gives consent to the text in force and has ticked a version of the guideline. A newer version
    is ticked before the next item; an item that somebody has begun keeps its version, and shows a banner. Coordinators
    are not asked before they judge themselves.
    """
    permission = getattr(getattr(request.state, "route", None), "permission", "")
    if at_least(person.role, "coordinator") and permission != "own-assignment":
        return ""
    consent, guidelines = await _versions(request)
    if person.consent_version < consent:
        return "/consent"
    behind = any(person.guidelines.get(kind, 0) < version for kind, version in guidelines.items())
    if behind and permission == "own-assignment" and await find_task(request):
        return ""  # guidelines are of verification; a round has its instructions
    if guidelines and not person.guidelines:
        return "/guideline"
    if all(person.guidelines.get(kind, 0) >= version for kind, version in guidelines.items()):
        return ""
    kind = await _next_kind(request, person)
    newer = person.guidelines.get(kind, 0) < guidelines.get(kind, 0)
    if not newer:
        return ""
    return "/guideline" if kind == next(iter(guidelines)) else f"/guideline?{urlencode({'kind': kind})}"


async def _next_kind(request: Request, person: Person) -> str:
    """Return the kind of an item that the person has not begun, on its page; what is sent from a page that is open is taken."""
    route = getattr(request.state, "route", None)
    if route is None or route.path != "/w/{pid}" or route.method != "GET":
        return ""
    pid = request.path_params["pid"]

    def look(connection: Connection) -> str:
        found = find_assignment(connection, pid, person)
        if found is None or not found.live or is_begun(connection, found):
            return ""
        return get_item(connection, found.item_id).question.kind

    return await read(request, look)


def keys_of(person: Person) -> dict[str, Any]:
    """Return the person's choice of keys as ``keys.js`` reads it: ``{"single": bool, "map": {action: [key]}}``."""
    kept = person.settings.get("keys")
    keys: Mapping[str, Any] = kept if isinstance(kept, dict) else {}
    return {"single": keys.get("single", True) is not False, "map": keys.get("map", {})}


async def _versions(request: Request) -> tuple[int, dict[str, int]]:
    """Return the versions of consent and guidelines (by kind) in force, remembered for two seconds: every request asks."""
    more = studio_of(request).more
    found: tuple[int, dict[str, int]]
    at, found = more.get("versions", (-1e9, (0, {})))
    if time.monotonic() - at < _VERSIONS_SECONDS:
        return found
    read_at = time.monotonic()

    def look(connection: Connection) -> tuple[int, dict[str, int]]:
        consent = documents.latest(connection, "consent")
        return consent.version if consent else 0, documents.guidelines(connection)

    versions = await read(request, look)
    more["versions"] = (read_at, versions)
    return versions


# -- signing in and out --------------------------------------------------------------------------------------


async def show_signin(request: Request) -> Response:
    """Show the form; whoever is signed in goes on."""
    address = local_address(request.query_params.get("next", ""))
    if request.state.person is not None:
        return see_other(address)
    return render(request, "signin", SigninView(next=address))


async def sign_in(request: Request) -> Response:
    """Check name and password; the dialog above a page asks for data, the page for a redirect."""
    form = await _form(request)
    handle, address = text_in(form, "handle"), local_address(text_in(form, "next"))
    auth = _auth(request)
    try:
        person, token = await auth.sign_in(request, handle, str(form.get("password", "")))
    except RefusedError as error:
        return _refused(request, handle, address, 401, error.message, {})
    except SlowDownError as error:
        text = say("Too many attempts. Try again in {seconds} seconds.", seconds=error.seconds)
        return _refused(request, handle, address, 429, text, {"Retry-After": str(error.seconds)})
    response = see_other(address) if wants_page(request) else data_of({"person": person.pid, "next": address})
    auth.set_cookie(response, token)
    auth.know_device(request, response, person.handle)
    return response


def _refused(
    request: Request, handle: str, address: str, status: int, text: str, headers: Mapping[str, str]
) -> Response:
    if not wants_page(request):
        return problem(status, say("Not signed in"), text, headers=headers)
    view = SigninView(handle=handle[:80], next=address, error=text)
    response = render(request, "signin", view, status=status)
    response.headers.update(headers)
    return response


async def sign_out(request: Request) -> Response:
    """End this session."""
    await _auth(request).sign_out(request)
    return await _signed_out(request)


async def end_everywhere(request: Request) -> Response:
    """End all sessions of the person, this one too."""
    person, desk = person_of(request), desk_of(request)
    await write(request, lambda c: people.end_all_sessions(desk, c, person, actor=person.pid))
    return await _signed_out(request)


async def _signed_out(request: Request) -> Response:
    """Go on after a session has ended: to the provider's log-out, if somebody signed in there on this browser and it has one."""
    auth = _auth(request)
    response = see_other("/signin?said=signed-out") if wants_page(request) else Response(status_code=204)
    if auth.cookie_for(AT_PROVIDER) in request.cookies and wants_page(request):
        with suppress(
            GoneError, SlowDownError, ProviderError
        ):  # here they are signed out, whatever it answers
            openid, was_right = openid_of(request), auth.take_try(request, "provider")
            if address := await openid.end():
                request.state.person = None
                text = say("{name} asks you next whether you sign out there, too.", name=openid.provider.name)
                response = led_away(request, say("You are signed out here"), text, address)
            was_right()
    auth.clear_cookie(response)
    response.delete_cookie(auth.cookie_for(AT_PROVIDER), secure=auth.secure, httponly=True, samesite="lax")
    return response


def led_away(request: Request, title: str, text: str, address: str) -> Response:
    """Lead to the provider by a page that goes on by itself: a form may lead to our own pages alone (``form-action``)."""
    action = say("Go on with {name}", name=openid_of(request).provider.name)
    response = render(request, "message", MessageView(title, text, address, action))
    response.headers["Refresh"] = f"0; url={address}"
    return response


async def show_again(request: Request) -> Response:
    """Say where the work goes on: it waits in the tab from which somebody came to sign in (js/signin.js)."""
    text = say("Go back to the page in your other tab: it goes on by itself. You can close this one.")
    view = MessageView(say("You are signed in"), text, "/", say("To your work list"))
    return render(request, "message", view)


async def end_one(request: Request) -> Response:
    """End one of the person's own sessions."""
    person, desk, pid = person_of(request), desk_of(request), request.path_params["pid"]
    await write(request, lambda c: people.end_session_of(desk, c, person, pid))
    return see_other("/my?said=done")


# -- invitations and links -----------------------------------------------------------------------------------


async def show_invite(request: Request) -> Response:
    """Show an invitation; nothing is used up, for programs that check mail follow links."""
    if request.state.person is not None:
        return _signed_in_already(request)
    invite, by = await _read_invite(request)
    if invite is None:
        return _used_link(request)
    return render(request, *_invite_view(request, invite, by))


async def accept_invite(request: Request) -> Response:
    """Make the account and sign in; a form with a mistake comes back and leaves the invitation usable."""
    if request.state.person is not None:
        return _signed_in_already(request)
    invite, by = await _read_invite(request)
    if invite is None:
        return _used_link(request)
    form = await _form(request)
    handle, name, password = text_in(form, "handle"), text_in(form, "name"), str(form.get("password", ""))
    try:
        person = await _make_account(request, invite, handle, name, password)
    except InvalidError as error:
        template, view = _invite_view(request, invite, by)
        errors = tuple(Field(field, message) for field, message in error.errors)
        view = replace(view, handle=handle[:80], name=name[:80], errors=errors)
        return render(request, template, view, status=422)
    except GoneError:
        return _used_link(request)
    return await signed_in(request, person)


async def _make_account(request: Request, invite: Invite, handle: str, name: str, password: str) -> Person:
    errors = _account_errors(handle, name, password, required=_is_setup(invite))
    if errors:
        raise InvalidError(errors)
    auth, desk, token = _auth(request), desk_of(request), hash_token(request.path_params["token"])
    hashed = await auth.passwords.hash(password) if password else ""

    def work(connection: Connection) -> Person:
        return people.consume_invite(
            desk,
            connection,
            token,
            handle=handle,
            name=name,
            password=hashed,
            gate=identities.gate_for(connection, invite.role),
        )

    return await write(request, work)


def _account_errors(handle: str, name: str, password: str, *, required: bool) -> list[tuple[str, str]]:
    """Return all that is wrong at once: nobody likes to be told one thing after the other."""
    errors: list[tuple[str, str]] = []
    checks: list[Callable[[], object]] = [
        lambda: people.clean_name(name),
        lambda: people.clean_handle(handle),
    ]
    if password or required:
        checks.append(lambda: check_password(password, handle, name))
    for check in checks:
        try:
            check()
        except InvalidError as error:
            errors += error.errors
    return errors


async def show_start(request: Request) -> Response:
    """Show a button: only pressing it uses the link up."""
    desk, token = desk_of(request), hash_token(request.path_params["token"])

    def look(connection: Connection) -> tuple[Invite, Person] | None:
        invite = people.read_invite(desk, connection, token)
        if invite is None or invite.person_id is None:
            return None
        person = people.by_id(desk, connection, invite.person_id)
        return None if person is None else (invite, person)

    found = await read(request, look)
    if found is None:
        return _used_link(request)
    invite, person = found
    return render(request, "start", StartView(request.url.path, person.name, date_text(invite.expires_at)))


async def use_start(request: Request) -> Response:
    """Use the link up and sign in; whoever was signed in here is signed out."""
    desk, token = desk_of(request), hash_token(request.path_params["token"])
    try:
        person = await write(request, lambda c: people.consume_link(desk, c, token))
    except GoneError:
        return _used_link(request)
    return await signed_in(request, person)


async def signed_in(
    request: Request, person: Person, address: str = "/", *, provider_session: str | None = None
) -> Response:
    """Open a session (``people.Session``), which ends the one that the request came with, and go on."""
    auth = _auth(request)
    response = see_other(address)
    auth.set_cookie(response, await auth.open(request, person, provider_session=provider_session))
    auth.know_device(request, response, person.handle)
    return response


async def _read_invite(request: Request) -> tuple[Invite | None, str]:
    desk, token = desk_of(request), hash_token(request.path_params["token"])

    def look(connection: Connection) -> tuple[Invite | None, str]:
        invite = people.read_invite(desk, connection, token)
        if invite is None or invite.person_id is not None:
            return None, ""
        by = people.by_pid(desk, connection, invite.made_by)
        return invite, by.name if by else studio_of(request).settings.project

    return await read(request, look)


def _is_setup(invite: Invite) -> bool:
    return invite.made_by == COMMAND_LINE and invite.role == "owner"


def _invite_view(request: Request, invite: Invite, by: str) -> tuple[str, InviteView | SetupView]:
    action, expires, token = request.url.path, date_text(invite.expires_at), request.path_params["token"]
    if _is_setup(invite):
        return "setup", SetupView(action, expires, token=token)
    return "invite", InviteView(action, by, invite.role, _DUTIES[invite.role], expires, token=token)


def _used_link(request: Request) -> Response:
    view = MessageView(
        say("This link does not work"),
        say("It was used already, is too old, or was taken back. Ask your coordinator for a new one."),
        "/signin",
        say("To the sign-in page"),
    )
    return render(request, "message", view, status=404)


def _signed_in_already(request: Request) -> Response:
    person: Person = request.state.person
    text = say(
        "You are signed in as {name}. An invitation makes a new account: sign out first if it is for another person.",
        name=person.name,
    )
    view = MessageView(say("You have an account"), text, "/", say("To your work list"))
    return render(request, "message", view, status=409)


# -- consent and guideline -----------------------------------------------------------------------------------


async def give_consent(request: Request) -> Response:
    """Note that the person agrees to the version that they were shown."""
    form, person, desk = await _form(request), person_of(request), desk_of(request)
    if text_in(form, "agree") != "1":
        return await show_consent(request, say("Press the button if you want to take part."))
    asked = number_in(text_in(form, "version"))

    def work(connection: Connection) -> str:
        _check_version(connection, "consent", asked)
        people.consent_given(desk, connection, person, asked)
        return "/"

    return await _noted(request, work, show_consent)


async def show_consent(request: Request, error: str = "", status: int = 422) -> Response:
    """Show the text in force."""
    person = person_of(request)

    def look(connection: Connection) -> ConsentView:
        text = documents.latest(connection, "consent")
        if text is None:
            raise GoneError
        agreed = person.consent_version == text.version
        return ConsentView(
            version=text.version,
            html=render_markdown(text.body),
            agreed=_when(connection, person, "consent") if agreed else "",
            error=error,
        )

    view = await read(request, look)
    return render(request, "consent", view, status=status if error else 200)


async def tick_guideline(request: Request) -> Response:
    """Note that the person has read the version that they were shown; a newcomer goes on with their first item."""
    form, person, desk = await _form(request), person_of(request), desk_of(request)
    if text_in(form, "read") != "1":
        return await show_guideline(request, say("Press the button when you have read it."))
    asked = number_in(text_in(form, "version"))

    def work(connection: Connection) -> str:
        kind = text_in(form, "kind") or next(iter(documents.guidelines(connection)), "")
        _check_version(connection, documents.guideline_of(kind), asked)
        people.guideline_ticked(desk, connection, person, asked, kind)
        return "/" if person.guidelines else _first_item(desk, connection, person)  # newcomers go straight on

    return await _noted(request, work, show_guideline)


async def show_guideline(request: Request, error: str = "", status: int = 422) -> Response:
    """Show the version in force, and what changed since the one that the person has read."""
    person = person_of(request)
    asked = request.query_params.get("kind", "")
    if request.method == "POST":
        asked = text_in(await _form(request), "kind")

    def look(connection: Connection) -> GuidelineView:
        there = documents.guidelines(connection)
        kind = asked if asked in there else next(iter(there), "")
        name = documents.guideline_of(kind)
        text = documents.latest(connection, name)
        if text is None or (asked and asked != kind):
            raise GoneError
        known = person.guidelines.get(kind, 0)
        before = documents.at_version(connection, name, known) if known else None
        return GuidelineView(
            kind=kind,
            kinds=tuple(Choice(k, k, k == kind) for k in there) if len(there) > 1 else (),
            version=text.version,
            at=date_text(text.created_at),
            html=render_markdown(text.body),
            read=_when(connection, person, "guideline-read", kind) if known == text.version else "",
            changed=documents.diff(before.body, text.body) if before else (),
            previous=known,
            error=error,
        )

    view = await read(request, look)
    response = render(request, "guideline", view, status=status if error else 200)
    cut_ahead(request, response, person)  # while it is read
    return response


def _first_item(desk: Desk, connection: Connection, person: Person) -> str:
    """Return where somebody's own items begin, or home; a case, which would be reserved, has to be asked for."""
    now = people.by_id(desk, connection, person.id)
    protocol = documents.protocol(connection)
    if now is None or at_least(now.role, "coordinator"):
        return "/"
    found = (flow.next_work(desk, connection, now, protocol, stage) for stage in _OWN)
    return next((f"/w/{pid}" for pid in found if pid), "/")


async def _noted(
    request: Request, work: Callable[[Connection], str], page: Callable[..., Awaitable[Response]]
) -> Response:
    try:
        return see_other(await write(request, work))
    except ConflictError as error:
        return await page(request, error.message, 409)


def _check_version(connection: Connection, kind: documents.Kind, asked: int) -> None:
    text = documents.latest(connection, kind)
    if text is None or text.version != asked:
        raise ConflictError(say("A newer version has just come out. Please read this one."))


def _when(connection: Connection, person: Person, what: str, of: str = "") -> str:
    events = list_events(connection, subject=person.pid, limit=200)
    mine = (e for e in events if e.kind == what and (not of or e.body.get("of", FIRST_KIND) == of))
    return next((date_text(event.at) for event in mine), say("an earlier day"))


# -- one's own settings --------------------------------------------------------------------------------------


async def save_settings(request: Request) -> Response:
    """Keep theme and keys; what is not as it should be is said, and nothing is kept."""
    form, person, desk = await _form(request), person_of(request), desk_of(request)
    theme = text_in(form, "theme")
    errors: list[tuple[str, str]] = []
    if theme not in _THEMES:
        errors.append(("theme", say("There is no such theme.")))
    spoken = text_in(form, "language")
    if spoken and spoken not in LANGUAGES:
        errors.append(("language", say("There is no such language.")))
    keys: dict[str, list[str]] = {}
    for name, label, usual in _KEYS:
        key = text_in(form, f"key-{name}") if f"key-{name}" in form else usual
        if key and not _KEY.fullmatch(key):
            errors.append(
                (
                    f"key-{name}",
                    say("“{label}”: write one key, such as y, Mod+Enter or Alt+ArrowLeft.", label=label),
                )
            )
        elif key != usual:
            keys[name] = [key] if key else []
    if errors:
        return await show_my(request, errors)
    settings: dict[str, object] = {
        **person.settings,
        "theme": theme,
        "language": spoken,
        "keys": {"single": text_in(form, "single_keys") == "1", "map": keys},
    }
    await write(request, lambda c: people.set_settings(desk, c, person, settings))
    return see_other("/my?said=saved")


async def change_password(request: Request) -> Response:
    """Set another password, end all sessions and open a new one here."""
    form, person, auth, desk = await _form(request), person_of(request), _auth(request), desk_of(request)
    new = str(form.get("password", ""))
    if person.has_password:
        try:
            # The same limit as at the door: an unlocked screen is no place to guess from.
            await auth.check(request, person, str(form.get("current", "")))
        except RefusedError:
            return await show_my(request, [("current", say("The current password is not right."))])
        except SlowDownError as error:
            response = await show_my(request, [("current", error.message)], 429)
            response.headers["Retry-After"] = str(error.seconds)
            return response
    try:
        check_password(new, person.handle, person.name, person.email)
    except InvalidError as error:
        return await show_my(request, error.errors)
    hashed = await auth.passwords.hash(new)
    here: Session | None = request.state.session
    came_from = here.provider_session if here else None
    await write(request, lambda c: people.set_password(desk, c, person, hashed, actor=person.pid))
    response = see_other("/my?said=saved")
    auth.set_cookie(response, await auth.open(request, person, provider_session=came_from))
    auth.know_device(request, response, person.handle)
    return response


async def withdraw(request: Request) -> Response:
    """Take the consent back; see ``withdraw_consent``."""
    form, person, desk = await _form(request), person_of(request), desk_of(request)
    if text_in(form, "sure") != "1":
        return await show_my(request, [("sure", say("Tick the box if you are sure: this cannot be undone."))])
    try:
        await write(request, lambda c: withdraw_consent(desk, c, person, actor=person.pid))
    except ConflictError as error:
        return await show_my(request, [("sure", error.message)], 409)
    await forget_voice(request, person.pid)
    request.state.person = None
    view = MessageView(
        say("You have withdrawn"),
        say(
            "Your name and address are removed and your judgements no longer count. Thank you for your time."
        ),
        "/signin",
        say("To the sign-in page"),
    )
    response = render(request, "message", view)
    _auth(request).clear_cookie(response)
    return response


async def show_my(
    request: Request, errors: list[tuple[str, str]] | None = None, status: int = 422, *, made: str = ""
) -> Response:
    """Show settings, sessions, password, tokens (one that was just made, this once) and the way out."""
    person, desk = person_of(request), desk_of(request)
    here: Session | None = request.state.session

    provider = studio_of(request).settings.provider

    def look(connection: Connection) -> tuple[list[Session], str, float | None, list[Token]]:
        agreed = _when(connection, person, "consent") if person.consent_version else ""
        since = identities.connected_since(connection, person, provider.issuer) if provider else None
        mine = tokens.list_tokens(desk, connection, person)
        return people.list_sessions(desk, connection, person), agreed, since, mine

    sessions, agreed, since, mine = await read(request, look)
    keys, theme = keys_of(person), person.settings.get("theme")
    view = MyView(
        handle=person.handle,
        name=person.name,
        theme=theme if theme in ("light", "dark") else "auto",
        languages=_languages(str(person.settings.get("language") or "")),
        single_keys=keys["single"],
        keys=tuple(KeyBinding(n, label, _first(keys["map"].get(n), usual)) for n, label, usual in _KEYS),
        sessions=tuple(
            SessionRow(
                s.pid,
                _agent_words(s.agent),
                date_text(s.created_at),
                date_text(s.seen_at),
                bool(here and s.pid == here.pid),
            )
            for s in sessions
        ),
        consent_version=person.consent_version,
        consent_at=agreed,
        has_password=person.has_password,
        connected=date_text(since) if since is not None else "",
        may_have_tokens=at_least(person.role, "coordinator"),
        tokens=tuple(_token_row(token) for token in mine),
        made=made,
        errors=tuple(Field(field, message) for field, message in errors or ()),
    )
    return render(request, "my", view, status=status if errors else 200)


def _languages(own: str) -> tuple[Choice, ...]:
    usual = Choice("", say("As the project or the browser has it"), own not in LANGUAGES)
    return usual, *(Choice(code, name, code == own) for code, name in LANGUAGES.items())


def _token_row(t: Token) -> TokenRow:
    ends = date_text(t.expires_at) if t.expires_at is not None else ""
    return TokenRow(
        t.pid, t.name, t.scope, ends, date_text(t.used_at) if t.used_at is not None else say("never")
    )


def _agent_words(agent: str) -> str:
    """Return a browser as people read it; ``auth.agent_name`` has a name for one that it does not know."""
    browser, _, system = agent.partition(", ")
    if browser != "A browser":
        return agent
    return say("A browser, {system}", system=system) if system else say("A browser")


def _first(keys: list[str] | None, usual: str) -> str:
    return usual if keys is None else (keys[0] if keys else "")


# -- small things --------------------------------------------------------------------------------------------


def _auth(request: Request) -> Auth:
    auth: Auth = studio_of(request).auth
    return auth


def local_address(address: str) -> str:
    """Return where to go on: only an address of ours."""
    return address if _LOCAL.fullmatch(address) else "/"


async def _form(request: Request) -> FormData:
    """Return the form; files are refused, for no form here has one."""
    return await request.form(max_files=0, max_fields=100)


ROUTES: Final[tuple[tuple[str, Any, Callable[[Request], Awaitable[Response]], Any], ...]] = (
    ("/signin", "GET", show_signin, "public"),
    ("/signin", "POST", sign_in, "public"),
    ("/signin/again", "GET", show_again, "signed-in"),
    ("/signout", "POST", sign_out, "public"),
    ("/invite/{token}", "GET", show_invite, "public"),
    ("/invite/{token}", "POST", accept_invite, "public"),
    ("/setup/{token}", "GET", show_invite, "public"),
    ("/setup/{token}", "POST", accept_invite, "public"),
    ("/start/{token}", "GET", show_start, "public"),
    ("/start/{token}", "POST", use_start, "public"),
    ("/consent", "GET", show_consent, "signed-in"),
    ("/consent", "POST", give_consent, "signed-in"),
    ("/guideline", "GET", show_guideline, "signed-in"),
    ("/guideline", "POST", tick_guideline, "signed-in"),
    ("/my", "GET", show_my, "signed-in"),
    ("/my/settings", "POST", save_settings, "signed-in"),
    ("/my/password", "POST", change_password, "signed-in"),
    ("/my/sessions/end-all", "POST", end_everywhere, "signed-in"),
    ("/my/sessions/{pid}/end", "POST", end_one, "signed-in"),
    ("/my/withdraw", "POST", withdraw, "signed-in"),
)
"""Rows of the route table: path, method, endpoint, permission."""
