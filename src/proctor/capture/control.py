"""Five verbs to a running recorder over a local socket: preflight, arm, start, mark, stop; each answered with its ``Status``."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from proctor.capture.records import Check, Event, State, recording_folder
from proctor.capture.session import holder_of
from proctor.errors import UserError

__all__ = [
    "PATIENCE_S",
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
PATIENCE_S: Final = 3.0


class SensorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One sensor: green, amber (silent, or begun again) or red; ``seen_s`` is how many seconds ago something came."""

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
    """How a session is.

    Attributes:
        recording: its id.
        state: see ``records.STATES``.
        sensors: in the order of the file of sensors.
        minutes_left: that the disk has space for; None where nobody can tell.
        battery: percent; None on mains.
        elapsed_s: since it was started.
        checks: of the last preflight.
        warnings: what somebody should look at now.
        asks: what the operator has to decide: a required sensor is lost.
        holder: who operates it; empty while nobody does.
        viewer: who asked is not that one, so arm, start and stop do nothing.
    """

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


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A status, or why there is none."""

    status: Status | None = None
    error: str = ""
    hint: str | None = None


class NoRecorderError(UserError):
    """No recorder listens for this recording."""


def socket_path(folder: Path) -> Path:
    """Return where the recorder of a folder listens: a short name (108 bytes at most) in a folder of this user alone.

    Raises:
        UserError: if that folder belongs to somebody else.
    """
    home = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"proctor-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    there = home.lstat()
    if there.st_uid != os.getuid() or there.st_mode & 0o077 or not home.is_dir() or home.is_symlink():
        raise UserError(
            "this folder is open to others.", where=str(home), hint="remove it, or set XDG_RUNTIME_DIR"
        )
    return home / f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.sock"


async def listen(path: Path, answer: Callable[[Ask], Awaitable[Status]]) -> asyncio.Server:
    """Listen for verbs; ``answer`` may raise ``UserError``. What takes longer than 3 s goes on after its answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                try:
                    reply = Answer(status=await answer(msgspec.json.decode(line, type=Ask)))
                except UserError as error:
                    reply = Answer(error=error.message, hint=error.hint)
                except msgspec.MsgspecError as error:
                    reply = Answer(error=f"this is no verb: {error}")
                writer.write(msgspec.json.encode(reply) + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):  # gone, or a line without end
            pass
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    return await asyncio.start_unix_server(serve, path, limit=1 << 20)


def ask_recorder(
    workspace: Path, recording: str, verb: Verb, event: Event | None = None, timeout_s: float = 5.0, *,
    holder: str = "", take_over: bool = False,
) -> Status:  # fmt: skip
    """Send a verb to the recorder of a recording, and return its status.

    Raises:
        NoRecorderError: if none listens, or it does not answer in time.
        UserError: if it refuses: a check failed, the state is another.
    """
    folder = recording_folder(workspace, recording)
    found = holder_of(folder)
    hint = f"proctor capture record --serve, for '{recording}'"
    if found is None or not found.socket:
        raise NoRecorderError(f"no recorder runs for '{recording}'.", hint=hint)
    ask = msgspec.json.encode(Ask(verb=verb, event=event, holder=holder, take_over=take_over)) + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(timeout_s)
            line.connect(found.socket)
            line.sendall(ask)
            with line.makefile("rb") as file:
                reply = msgspec.json.decode(file.readline(), type=Answer)
    except (OSError, msgspec.MsgspecError) as error:
        raise NoRecorderError(f"the recorder of '{recording}' does not answer: {error}", hint=hint) from None
    if reply.status is None:
        raise UserError(reply.error, hint=reply.hint)
    return reply.status
