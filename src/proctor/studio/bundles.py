"""Scripts and style sheets as one file for each page: what a browser would fetch in thirty requests, compressed once.

The modules under ``static/js`` import each other by name, and need no build. A bundle holds them in the order in which a
browser would run them, each in a scope of its own; comments of whole lines are left out. Addresses change with the content
(``rendering.static_url``), so that browsers keep a bundle for good.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from proctor.studio.language import LANGUAGES, script_words

__all__ = ["SHEETS", "Bundles", "accepts_gzip", "bundle"]

SHEETS: Final = ("graph.css", *(f"css/{name}.css" for name in ("tokens", "base", "desk", "work", "print")))
"""Style sheets of every page, in this order."""
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_YEAR: Final = 365 * 24 * 3600

_IMPORT: Final = re.compile(r"^import\s*(?:\{([^}]*)\}\s*from\s*)?\"\./([a-z_]+\.js)\";\n", re.MULTILINE)
_EXPORT: Final = re.compile(
    r"^export (?=(?:async )?(?:function|class|const) ?\*? ?([A-Za-z_$][\w$]*))", re.MULTILINE
)
_WORDS: Final = re.compile(r"words-([a-z]{2})\.js")
_COMMENT: Final = re.compile(r"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/)[ \t]*\n", re.MULTILINE)


@cache
def bundle(folder: Path, name: str) -> bytes:
    """Return ``all.css``, the words of a language, or a script of ``js`` with all that it imports, the site's own first.

    Raises:
        KeyError: if there is no such script.
    """
    if name == "all.css":
        return "".join(_COMMENT.sub("", (folder / path).read_text("utf-8")) for path in SHEETS).encode()
    if (words := _WORDS.fullmatch(name)) and words[1] in LANGUAGES:
        return script_words(words[1])
    scripts: dict[str, str] = {}
    for entry in dict.fromkeys(("site.js", name)):
        _add(folder / "js", entry, scripts)
    return "".join(scripts.values()).encode()


class Bundles(StaticFiles):
    """Static files, and bundles under ``bundle/``; text is compressed, once. Addresses change with the content: nobody asks again."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer GET and HEAD."""
        kind = _TYPES.get(PurePosixPath(path).suffix)
        if kind is None or scope["method"] not in ("GET", "HEAD"):
            return await super().get_response(path, scope)
        try:
            plain, packed = _packed(Path(str(self.directory)), path)
        except (KeyError, OSError, ValueError):
            raise HTTPException(404) from None
        headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable", "Vary": "Accept-Encoding"}
        if not accepts_gzip(Headers(scope=scope)):
            return Response(plain, headers=headers, media_type=kind)
        return Response(packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)


def accepts_gzip(headers: Headers) -> bool:
    """True when a browser says that it reads gzip."""
    return (
        re.search(r"\bgzip\b(?!\s*;\s*q=0\.?0*(?:,|$))", headers.get("accept-encoding", "").lower())
        is not None
    )


@cache
def _packed(folder: Path, path: str) -> tuple[bytes, bytes]:
    """Return a file or a bundle, as it is and as gzip has it."""
    if path.startswith("bundle/"):
        data = bundle(folder, path.removeprefix("bundle/"))
    else:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder.resolve()):
            raise KeyError(path)
        data = file.read_bytes()
    return data, gzip.compress(data, 9, mtime=0)


def _add(folder: Path, name: str, scripts: dict[str, str]) -> None:
    """Add a module behind those that it imports."""
    if name in scripts:
        return
    path = folder / name
    if not path.is_file():
        raise KeyError(name)
    text = path.read_text("utf-8")
    wanted = []
    for match in _IMPORT.finditer(text):
        _add(folder, match[2], scripts)
        names = [part.strip().replace(" as ", ": ") for part in (match[1] or "").split(",") if part.strip()]
        if names:
            wanted.append(f"const {{ {', '.join(names)} }} = {_scope(match[2])};\n")
    exported = _EXPORT.findall(text)
    body = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
    scripts[name] = (
        f"const {_scope(name)} = (() => {{\n{''.join(wanted)}{body}return {{ {', '.join(exported)} }};\n}})();\n"
    )


def _scope(name: str) -> str:
    return "m_" + name.removesuffix(".js")
