"""Send a file to a browser, in parts if it asks for parts; whether it may is for the caller to decide.

Starlette's ``FileResponse`` does the sending. What it would make of an odd ``Range`` line is decided here instead: one
satisfiable range is sent (206), one that begins after the end is refused (416), and everything else (several ranges,
other units, words) is ignored and the whole file sent (200), which RFC 9110, section 14.2, allows. No player asks for
several ranges, and a thousand of them are an attack.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

__all__ = ["HEADERS", "Handover", "Header", "find_file", "send_file"]

Header = Literal["X-Accel-Redirect", "X-Sendfile"]
HEADERS: Final[tuple[Header, ...]] = ("X-Accel-Redirect", "X-Sendfile")
"""Headers by which a web server in front sends a file: nginx; Apache and lighttpd."""

_NAME: Final = re.compile(r"[0-9a-f]{16,64}\.[a-z0-9]{2,5}", re.ASCII)
_ONE_RANGE: Final = re.compile(
    r"[ \t]*bytes[ \t]*=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.ASCII | re.IGNORECASE
)
_ETAG: Final = re.compile(r"[0-9a-f]{16,64}", re.ASCII)


class Handover(msgspec.Struct, frozen=True):
    """Let the web server in front send the file: it is named in a header and not read here.

    Attributes:
        header: ``X-Accel-Redirect`` (nginx) or ``X-Sendfile`` (Apache, lighttpd).
        prefix: for nginx, the address of its internal location that stands for the folder, e.g. ``/internal-clips/``.
    """

    header: Header
    prefix: str = "/internal-clips/"


def find_file(folder: Path, name: str) -> Path | None:
    """Return a regular file of a folder by its name; None for everything else.

    A name is 16 to 64 lower hexadecimal digits, a point and an ending: a path, a hidden file or an odd character is no
    name. Links are followed only within the folder.
    """
    if not _NAME.fullmatch(name):
        return None
    try:
        root = folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
        return path if path.parent == root and stat.S_ISREG(path.stat().st_mode) else None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        return None


def send_file(
    request: Request,
    folder: Path,
    name: str,
    *,
    sha256: str,
    media_type: str,
    handover: Handover | None = None,
) -> Response:
    """Answer a GET or HEAD request with a file of a folder: 200, 206, 304, 404 or 416.

    Args:
        request: its headers ``Range``, ``If-Range`` and ``If-None-Match`` count.
        folder: where the file is.
        name: of the file, see ``find_file``; the caller has checked that this person may see it.
        sha256: of its contents, as hexadecimal digits: its ETag.
        media_type: e.g. ``video/mp4``.
        handover: let the web server in front send it.

    Raises:
        ValueError: if ``sha256`` is not one.
    """
    if not _ETAG.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is not a hash")
    headers = {
        "Cache-Control": "private, max-age=3600",
        "ETag": f'"{sha256}"',
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    path = find_file(folder, name)
    try:
        state = path.stat() if path is not None else None
    except OSError:  # it went away just now
        state = None
    if path is None or state is None:
        return _refusal(404, {})
    if _is_known(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if handover is not None:
        place = handover.prefix + quote(name) if handover.header == "X-Accel-Redirect" else quote(str(path))
        return Response(headers={**headers, handover.header: place}, media_type=media_type)
    asked = _asked(request.headers, headers["ETag"])
    if asked is not None and _begins_after(asked, state.st_size):
        return _refusal(416, {**headers, "Content-Range": f"bytes */{state.st_size}"})
    return _File(path, headers=headers, media_type=media_type, stat_result=state)


def _refusal(status: int, headers: Mapping[str, str]) -> Response:
    kept = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
    return Response(status_code=status, headers={**headers, **kept}, media_type="text/plain")


def _is_known(if_none_match: str | None, etag: str) -> bool:
    """Compare weakly, as RFC 9110, section 13.1.2, asks for."""
    if if_none_match is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]


def _asked(headers: Headers, etag: str) -> tuple[int | None, int | None] | None:
    """Return the one range that counts as (first, last) byte; (None, n) means the last n; None without one."""
    lines = headers.getlist("range")
    found = _ONE_RANGE.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None or headers.get("if-range", etag) != etag:
        return None
    first, last = (int(part) if part else None for part in found.groups())
    if (first is None and last is None) or (first is not None and last is not None and last < first):
        return None
    return first, last


def _begins_after(asked: tuple[int | None, int | None], size: int) -> bool:
    first, last = asked
    return first >= size if first is not None else last == 0 or size == 0


class _File(FileResponse):
    """A file response that sees only a ``Range`` line which this module has understood."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = _asked(Headers(scope=scope), self.headers["etag"])
        kept = [(k, v) for k, v in scope["headers"] if k.lower() not in (b"range", b"if-range")]
        if asked is not None:
            first, last = ("" if part is None else str(part) for part in asked)
            kept.append((b"range", f"bytes={first}-{last}".encode("ascii")))
        await super().__call__({**scope, "headers": kept}, receive, send)
