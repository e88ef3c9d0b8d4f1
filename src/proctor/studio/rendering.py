"""Views to pages: templates, what surrounds them, and addresses of static files that change with their content."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from proctor.drawing.text import show_text
from proctor.errors import UserError
from proctor.said import Said, capital, say
from proctor.studio.context import studio_of
from proctor.studio.language import (
    CATALOGS,
    PROGRAMS,
    encoded,
    figures,
    language,
    look_up,
    translated,
    when_text,
)
from proctor.studio.views import NavLink, Shell, Viewer
from proctor.verify.desk.records import InvalidError, Person, at_least

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = [
    "STATIC",
    "clock_text",
    "compile_templates",
    "data_of",
    "explain",
    "json_body",
    "looking_again",
    "problem",
    "render",
    "see_other",
    "static_url",
    "time_text",
    "wants_page",
    "when_text",
]

_AGAIN_SECONDS: Final = 2
STATIC: Final = Path(str(files("proctor.studio"))) / "static"
_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TEMPLATES: Final = Path(str(files("proctor.studio"))) / "templates"

FLASHES: Final[Mapping[str, str]] = {
    "saved": say("Saved."),
    "invited": say("The invitation is made. Copy its link now; it is not shown again."),
    "dealt": say("The items are dealt."),
    "moved": say("The open items have been given to the others."),
    "left": say("This person has left the project."),
    "let-in": say("They can begin."),
    "returned": say("Given back to the queue."),
    "resolved": say("Resolved."),
    "given-out": say("Given out again to those who returned it."),
    "released": say("The case is free again."),
    "annulled": say("Their judgements no longer count."),
    "done": say("Done."),
    "cant": say("Given back to the coordinator."),
    "added": say("Added."),
    "removed": say("Removed."),
    "signed-out": say("You are signed out."),
    "exported": say("The file is ready."),
    "frozen": say("The stage is closed."),
    "thawed": say("The stage is open again."),
    "undone": say("Taken back; it is open again."),
    "invite-gone": say("The invitation no longer works."),
    "joined": say("They have their share of the open items."),
    "ended": say("They are signed out everywhere."),
    "withdrawn": say("Nothing shows any more who they were."),
    "kept": say("Kept as a new version."),
    "asked": say("Sent to the coordinators."),
    "connected": say("Your login is connected."),
    "stopped": say("What you submitted is kept. The rest has gone to others."),
}
"""Sentences that an address may ask for (``?said=saved``): words of the address itself are never shown."""


@cache
def _hashes() -> dict[str, str]:
    return {
        path.relative_to(STATIC).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        for path in sorted(STATIC.rglob("*"))
        if path.is_file()
    }


def static_url(path: str) -> str:
    """Return the address of a static file or a bundle, with a hash of all of them in it: modules import each other by name.

    Raises:
        KeyError: if there is no such file (a mistake in a template).
    """
    if not path.startswith("bundle/"):
        _hashes()[path]
    return f"/static/{static_version()}/{path}"


@cache
def static_version() -> str:
    """Return a hash of all static files, and of how they are bundled."""
    made = files("proctor.studio").joinpath("bundles.py").read_bytes()
    words = b"".join(path.read_bytes() for path in sorted(CATALOGS.glob("*.po")))
    return hashlib.sha256(repr(sorted(_hashes().items())).encode() + made + words).hexdigest()[:12]


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and a name that is missing is an error.

    Characters that turn the reading direction or have no shape are made visible in everything that is shown. What goes
    back with a form must come back as it was: ``| e`` in the template keeps it.
    """
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.policies["ext.i18n.trimmed"] = True
    made.extend(newstyle_gettext=True)
    made.add_extension("jinja2.ext.i18n")
    made.globals.update(
        gettext=_gettext, ngettext=_ngettext, pgettext=_pgettext, npgettext=_npgettext, say=say
    )
    made.filters["figures"] = figures
    made.globals["static"] = static_url
    made.globals["marks_hint"] = _marks_hint
    return made


def _shown(value: object) -> object:
    """Return a value as pages show it; Markup is escaped already, and ours."""
    if isinstance(value, Said):
        value = translated(value)
    return show_text(value) if type(value) is str else value


def _filled(pattern: str, values: Mapping[str, object]) -> Markup:
    """Return a sentence of a template, which is HTML, with its values as pages show them."""
    return Markup(pattern) % {name: _shown(value) for name, value in values.items()}  # noqa: S704 - ours


def _gettext(pattern: str, /, **values: object) -> Markup:
    return _filled(look_up(pattern), values)


def _ngettext(one: str, many: str, n: int, /, **values: object) -> Markup:
    return _filled(look_up(one, many, n), {"num": n, **values})


def _pgettext(about: str, pattern: str, /, **values: object) -> Markup:
    return _filled(look_up(pattern, about=about), values)


def _npgettext(about: str, one: str, many: str, n: int, /, **values: object) -> Markup:
    return _filled(look_up(one, many, n, about), {"num": n, **values})


def _marks_hint(text: str) -> Markup:
    """Return a line under a field that says which direction marks its text hides; nothing where there are none (js/direction.js)."""
    found = ", ".join(f"U+{ord(sign):04X}" for sign in sorted(set(_DIRECTION.findall(text))))
    said = translated(say("Contains hidden direction marks: {marks}.", marks=found))
    return Markup('<p class="marks-hint">{}</p>').format(said) if found else Markup()


def compile_templates() -> None:
    """Compile every template."""
    made = environment()
    for name in made.list_templates():
        made.get_template(name)


def render(request: Request, template: str, view: object, *, status: int = 200) -> Response:
    """Return a page.

    Args:
        request: that it answers.
        template: name without ending.
        view: what the page is about (``studio.views``).
        status: of HTTP.
    """
    from starlette.responses import HTMLResponse

    from proctor.studio.bundles import accepts_gzip

    page = environment().get_template(f"{template}.html.j2")
    text = page.render(shell=shell_of(request), view=view)
    if status >= 400 or not accepts_gzip(request.headers):  # refusals are alike to the byte
        return HTMLResponse(text, status_code=status)
    packed = gzip.compress(text.encode(), 5, mtime=0)
    return HTMLResponse(packed, status, headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})


def shell_of(request: Request) -> Shell:
    """Return what surrounds a page for whoever is signed in."""
    person = getattr(request.state, "person", None)
    studio = studio_of(request)
    url = studio.settings.origin + request.url.path
    flash = FLASHES.get(request.query_params.get("said", ""), "")
    protocol = str(studio.more.get("protocol_hash", ""))
    provider = studio.settings.provider.name if studio.settings.provider is not None else ""
    if person is None:
        return Shell(
            studio.settings.project, url, protocol, flash=flash, language=language(), provider=provider
        )
    theme = person.settings.get("theme", "auto")
    return Shell(
        project=studio.settings.project,
        url=url,
        protocol=protocol,
        viewer=Viewer(person.pid, person.name, person.role),
        nav=_nav(request.url.path, person.role, studio.settings.together),
        theme=theme if theme in ("auto", "light", "dark") else "auto",
        flash=flash,
        keys=_keys(person),
        language=language(),
        provider=provider,
    )


def _keys(person: Person) -> str:
    """Return the person's own keys for the page's modules; nothing for the usual ones."""
    if not person.settings.get("keys"):
        return ""
    from proctor.studio.pages.account import keys_of

    return msgspec.json.encode(keys_of(person)).decode()


_COORDINATION: Final = (
    (say("Progress"), "/dashboard"),
    (say("Items"), "/items"),
    (say("Disagreements"), "/disagreements"),
    (say("People"), "/people"),
    (say("Deal"), "/deal"),
    (say("Training set"), "/training"),
    (say("Texts"), "/guidelines"),
    (say("Rounds"), "/rounds"),
    (say("Exports"), "/exports"),
    (say("Log"), "/events"),
)


def _nav(path: str, role: str, together: str) -> tuple[NavLink, ...]:
    links = [(say("Work"), "/" if role != "worker" else "/r")]
    if at_least(role, "coordinator"):
        links += _COORDINATION
    if together and role != "worker":
        links.append((say("All projects"), "/projects"))
    return tuple(NavLink(label, href, current=_is_current(path, href)) for label, href in links)


def _is_current(path: str, href: str) -> bool:
    return path == href if href == "/" else path == href or path.startswith(href + "/")


def see_other(address: str) -> Response:
    """Send the browser on after a form; ``address`` is one of ours."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, status_code=303)


def problem(
    status: int, title: str, detail: str = "", *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return an error for a program: ``application/problem+json`` (RFC 9457)."""
    from starlette.responses import Response

    body = {"title": title, "status": status, "detail": detail, **more}
    return Response(encoded(body), status, headers=dict(headers or {}), media_type="application/problem+json")


def wants_page(request: Request) -> bool:
    """True when a person navigates, false when one of our modules fetches."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(PROGRAMS)


def explain(error: UserError) -> str:
    """Return a message with its hint as one paragraph."""
    if not error.hint:
        return error.message
    return f"{translated(error.message)} {capital(str(translated(error.hint)))}."


def looking_again(page: Response, address: str) -> Response:
    """Have the browser look again by itself, without JavaScript; nothing where there is no address of ours."""
    if address:
        page.headers["Refresh"] = f"{_AGAIN_SECONDS}; url={address}"
    return page


def data_of(value: object) -> Response:
    """Return a value as JSON."""
    from starlette.responses import Response

    return Response(encoded(value), media_type="application/json")


async def json_body(request: Request, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Return the body of a request as a decoder reads it.

    Raises:
        InvalidError: if it is no JSON, or not of this shape.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InvalidError([("body", say("JSON was expected."))])
    try:
        return decoder.decode(await request.body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = str(error)
        where = message.rpartition("`$.")[2].rstrip("`") if "`$." in message else "body"
        raise InvalidError([(where[:80], message[:300])]) from None


# -- times, in the server's zone -------------------------------------------------------------------------------


def clock_text(seconds: float) -> str:
    """Return a moment of a recording as ``07:53`` or ``1:07:53``."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes:02d}:{whole % 60:02d}"


def time_text(at: float) -> str:
    """Return a time of day, ``12:04``."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")
