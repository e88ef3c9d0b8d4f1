"""Five verbs to a running recorder over a local socket: preflight, arm, start, mark, stop; each answered with its ``Status``."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from proctor.capture.records import Check, Event, State, recording_folder
from proctor.capture.session import holder_of
from proctor.errors import UserError

__all__ = [
    "Ask",
    "NoRecorderError",
    "SensorStatus",
    "Status",
    "Verb",
    "ask_recorder",
    "listen",
    "socket_path",
]

Verb: TypeAlias = Literal["preflight", "arm", "start", "mark", "stop"]


class SensorStatus(msgspec.Struct, kw_only=True):
    """One sensor: green, amber (silent, or begun again) or red; something came ``seen_s`` seconds ago."""

    name: str
    state: Literal["green", "amber", "red"]
    required: bool = True
    samples: int = 0
    bytes: int = 0
    dropped: int = 0
    refused: int = 0
    seen_s: float | None = None
    message: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is: space on the disk in minutes and battery in percent (None: nobody can tell, on mains), seconds since its start,
    the last preflight, what to look at (``warnings``) and decide (``asks``). ``viewer``: who asked is not ``holder``, its operator, so
    arm, start and stop did nothing.
    """  # noqa: D205

    recording: str
    state: State
    sensors: tuple[SensorStatus, ...] = ()
    minutes_left: float | None = None
    battery: float | None = None
    elapsed_s: float = 0.0
    checks: tuple[Check, ...] = ()
    warnings: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    holder: str = ""
    viewer: bool = False


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A verb; ``holder`` says who sends it, ``take_over`` makes that one the operator."""

    verb: Verb
    event: Event | None = None
    holder: str = ""
    take_over: bool = False


class _Answer(msgspec.Struct, frozen=True):
    status: Status | None = None
    error: str = ""
    hint: str | None = None


class NoRecorderError(UserError):
    """No recorder listens for this recording."""


def socket_path(folder: Path) -> Path:
    """Return where a recorder listens, by a short name; ``UserError`` if others can use that folder."""
    home = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"proctor-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    there = home.lstat()
    if there.st_uid != os.getuid() or there.st_mode & 0o077 or home.is_symlink():
        hint = "remove it, or set XDG_RUNTIME_DIR"
        raise UserError("others can use this folder.", where=str(home), hint=hint)
    return home / f"{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}.sock"


async def listen(path: Path, answer: Callable[[Ask], Awaitable[Status]]) -> asyncio.Server:
    """Listen for verbs, one JSON line for each connection; ``answer`` may raise ``UserError``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, ValueError):  # gone, or a line without end
            try:
                reply = _Answer(await answer(msgspec.json.decode(await reader.readline(), type=Ask)))
            except UserError as error:
                reply = _Answer(error=error.message, hint=error.hint)
            except msgspec.MsgspecError as error:
                reply = _Answer(error=f"this is no verb: {error}")
            writer.write(msgspec.json.encode(reply) + b"\n")
            await writer.drain()

    path.unlink(missing_ok=True)
    return await asyncio.start_unix_server(serve, path, limit=1 << 20)


def ask_recorder(
    workspace: Path, recording: str, verb: Verb, event: Event | None = None, timeout_s: float = 5.0, *,
    holder: str = "", take_over: bool = False,
) -> Status:  # fmt: skip
    """Send a verb to the recorder of a recording, and return its status.

    Raises ``NoRecorderError`` if none answers in time, ``UserError`` if it refuses: a check failed.
    """
    found = holder_of(recording_folder(workspace, recording))
    ask = Ask(verb=verb, event=event, holder=holder, take_over=take_over)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(timeout_s)
            line.connect(found.socket if found is not None else "")
            line.sendall(msgspec.json.encode(ask) + b"\n")
            with line.makefile("rb") as file:
                reply = msgspec.json.decode(file.readline(), type=_Answer)
    except (OSError, msgspec.MsgspecError) as error:
        said, hint = f"no recorder answers for '{recording}': {error}", "proctor capture record --serve"
        raise NoRecorderError(said, hint=hint) from None
    if reply.status is None:
        raise UserError(reply.error, hint=reply.hint)
    return reply.status
