"""Names of files and runs that come from names of models."""

from __future__ import annotations

import re
from typing import Final

from proctor.records import content_hash

__all__ = ["LONGEST_NAME", "file_name"]

LONGEST_NAME: Final = 120
_ADDRESS: Final = re.compile(r"@https?://[^ ]*")
_HASH: Final = 8


def file_name(text: str) -> str:
    """Return what a file can be called after a model, a judge or a system.

    Addresses are left out: where a server is does not matter. Long texts are cut, and then end in a hash, or two that
    begin alike would be one.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _ADDRESS.sub("", text)).strip("-.")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - _HASH - 1]}-{content_hash(name)[:_HASH]}"
