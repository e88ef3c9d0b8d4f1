"""Pipes, devices and sockets in place of files: refused at once, since opening or reading one may never end."""

from __future__ import annotations

import stat
from pathlib import Path

from proctor.errors import UserError

__all__ = ["refuse_special"]


def refuse_special(path: Path) -> None:
    """Make sure that a path is no pipe, device or socket, nor a link to one; whether it can be read is not asked.

    Raises:
        UserError: naming what it is.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # whoever opens it says what is wrong
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise UserError(f"this is {kind}, a file was expected.", where=str(path), hint="give a file")
