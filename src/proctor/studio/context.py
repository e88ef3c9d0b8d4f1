"""What every request finds: the studio, the person, and ways to the desk that do not block the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyio import to_thread
from sqlalchemy import Connection

from proctor.drawing.layout import Layouts
from proctor.exam.library import Library
from proctor.exam.question import Footage
from proctor.verify.desk.beside import Beside
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import Person

if TYPE_CHECKING:
    from starlette.requests import Request

    from proctor.studio.clips import ClipShop
    from proctor.studio.oidc import Provider
    from proctor.studio.serving import Header

__all__ = [
    "Settings",
    "Studio",
    "beside_of",
    "desk_of",
    "number_in",
    "person_of",
    "read",
    "studio_of",
    "text_in",
    "write",
]

T = TypeVar("T")
_FIRST: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a studio is reached and what it may do.

    Attributes:
        project: its name, for people.
        origin: scheme, host and port that browsers use (``http://127.0.0.1:8642``).
        hosts: allowed values of the Host header, without port.
        proxies: addresses whose forwarded headers are believed.
        folder: for clips, exports and drawings.
        accel: header by which the web server in front sends clips itself; None where there is none that could.
        provider: by which people may sign in instead of a password; None for none.
        language: of the pages for whoever chose none; "auto" for what the browser asks for.
        together: address of the list of all projects of this server; "" where there is one alone.
    """

    project: str
    origin: str
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    proxies: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path)
    accel: Header | None = None
    provider: Provider | None = None
    language: str = "en"
    together: str = ""


@dataclass(slots=True, kw_only=True)
class Studio:
    """Everything that lives as long as the server.

    Attributes:
        desk: people's work.
        settings: see ``Settings``.
        library: what cards look up: task graphs, sources.
        find_video: the recording of a piece of footage on this machine, None when there is none.
        clips: cuts and keeps clips; None without the extra ``video``.
        layouts: where the boxes of the task graphs are.
        auth: sign-in and sessions.
        awaited: videos, as data sets name them, that are being drawn: pages wait for them as for a clip.
    """

    desk: Desk
    settings: Settings
    library: Library
    find_video: Callable[[Footage], Path | None]
    clips: ClipShop | None
    layouts: Layouts
    auth: Any
    awaited: set[str] = field(default_factory=set)
    more: dict[str, Any] = field(default_factory=dict)


def studio_of(request: Request) -> Studio:
    """Return the studio that a request has come to."""
    studio: Studio = request.app.state.studio
    return studio


def desk_of(request: Request) -> Desk:
    """Return the desk."""
    return studio_of(request).desk


def person_of(request: Request) -> Person:
    """Return who is signed in; the route table lets nobody else pass."""
    person: Person = request.state.person
    return person


def beside_of(studio: Studio) -> Beside:
    """Return what works beside the requests of a studio; made when it is asked for first."""
    with _FIRST:
        if "beside" not in studio.more:
            studio.more["beside"] = Beside(studio.desk)
        found: Beside = studio.more["beside"]
        return found


def text_in(form: Mapping[str, Any], name: str) -> str:
    """Return a field of a form or an address, without spaces around it; "" where it is not there or a file."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def number_in(text: str, otherwise: int = 0) -> int:
    """Return a whole number from 0, or ``otherwise`` for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else otherwise


async def read(request: Request, job: Callable[[Connection], T]) -> T:
    """Read from the desk in a thread, so that a slow query keeps nobody waiting."""
    return await to_thread.run_sync(desk_of(request).read, job)


async def write(request: Request, job: Callable[[Connection], T]) -> T:
    """Write to the desk; returns when it is on disk."""
    return await asyncio.wrap_future(desk_of(request).write(job))
