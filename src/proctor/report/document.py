"""What all our pages share: own files inlined, one template environment, a policy that allows only what is ours."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

__all__ = ["asset", "content_policy", "new_environment"]

_HERE = Path(__file__).parent


@cache
def asset(name: str) -> str:
    """Read one of our own files; a script must not end the element that it stands in."""
    return (_HERE / "static" / name).read_text("utf-8").replace("</script", "<\\/script")


def new_environment() -> Environment:
    """Return templates that escape what they print and fail on a name that they do not know."""
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def content_policy(style: str, scripts: Sequence[str] = (), *, wasm: bool = False) -> str:
    """Return the content security policy of a page with this style sheet and these scripts, and nothing else.

    A page without scripts allows none.
    """
    hashes = " ".join(_source_hash(text) for text in scripts)
    return "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {hashes}" + (" 'wasm-unsafe-eval'" if wasm else "")] if scripts else []),
            f"style-src {_source_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
