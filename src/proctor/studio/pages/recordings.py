"""What the page of a recording sends: slices, questions for the clock, which tablet records; and its service worker."""

from __future__ import annotations

import time
from typing import Annotated, Final, Literal

import msgspec
from anyio import to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proctor.errors import UserError
from proctor.studio.context import number_in, person_of, read, studio_of
from proctor.studio.rendering import STATIC, data_of, json_body, problem
from proctor.studio.slices import Kept, hold_lease, keep_slice
from proctor.verify.desk import tasks, work
from proctor.verify.desk.records import GoneError
from proctor.verify.rounds.record import RecordTask

__all__ = ["ROUTES"]

_Client = Annotated[str, msgspec.Meta(pattern="^[!-~]{8,64}$")]


class _Lease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    client: _Client
    take: bool = False


class _Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    client: _Client
    verb: Literal["preflight", "arm", "start", "stop"]


_LEASE, _ASK = msgspec.json.Decoder(_Lease), msgspec.json.Decoder(_Ask)


async def put_slice(request: Request) -> Response:
    """Keep a slice, once; also of a recording that is no longer its person's, for it was made while it was."""
    task, headers, parts = await _own(request), request.headers, request.path_params
    data, folder, seq = await request.body(), studio_of(request).settings.folder, number_in(parts["seq"])

    def keep() -> Kept:
        return keep_slice(
            folder, parts["pid"], parts["part"], seq, data, kind=headers.get("content-type", ""),
            sha256=headers.get("proctor-sha256", ""), perf_ns=number_in(headers.get("proctor-perf-ns", "")),
            wall=headers.get("proctor-wall", ""),
        )  # fmt: skip

    try:
        kept = await to_thread.run_sync(keep)
    except UserError as error:
        return problem(422, "Not kept", f"{error.message[:1].upper()}{error.message[1:]}")
    except OSError as error:
        return problem(507, "Not kept", f"The slice cannot be kept: {error.strerror or error}.")
    if kept.what == "refused":
        needs = kept.needs
        return problem(
            409, "A slice is missing", f"Slice {needs} of '{parts['part']}' comes first.", needs=needs
        )
    return data_of({"kept": kept.what, "recording": task.slot.id})


async def tell_clock(request: Request) -> Response:
    """Tell the time of this machine's clock; the page measures how long the question took."""
    await _own(request)
    return data_of({"host_ns": time.monotonic_ns()})


async def lease(request: Request) -> Response:
    """Tell a tablet whether it records or looks on; ``take`` makes it the one that records."""
    await _own(request)
    asked, folder = await json_body(request, _LEASE), studio_of(request).settings.folder
    pid = request.path_params["pid"]
    mine = await to_thread.run_sync(lambda: hold_lease(folder, pid, asked.client, take=asked.take))
    return data_of({"mine": mine})


async def ask(request: Request) -> Response:
    """Hand a verb to the recorder of other sensors, and tell how it is; null where none listens."""
    task, root = await _own(request), studio_of(request).library.root
    asked = await json_body(request, _ASK)
    if root is None:
        return data_of(None)
    from proctor.capture.control import NoRecorderError, ask_recorder

    try:
        status = await to_thread.run_sync(
            lambda: ask_recorder(root, task.slot.id, asked.verb, holder=asked.client)
        )
    except NoRecorderError:
        return data_of(None)
    return data_of(status)


async def send_worker(_request: Request) -> Response:
    """Send the service worker; below ``/`` it may serve the page of one recording, which is all that asks for it."""
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(STATIC / "js" / "tablet_worker.js", media_type="text/javascript", headers=headers)


async def _own(request: Request) -> RecordTask:
    """Return the recording of the address; GoneError unless it is one, and the person's own."""
    pid, person = request.path_params["pid"], person_of(request)

    def find(connection: Connection) -> RecordTask | None:
        found = work.find_assignment(connection, pid, person)
        body = tasks.asked_of(connection, found).body if found is not None and found.stage == "task" else None
        return body if isinstance(body, RecordTask) else None

    task = await read(request, find)
    if task is None:
        raise GoneError
    return task


ROUTES: Final = (
    ("/w/{pid}/slice/{part}/{seq}", "PUT", put_slice, "own-assignment"),
    ("/w/{pid}/clock", "GET", tell_clock, "own-assignment"),
    ("/w/{pid}/lease", "POST", lease, "own-assignment"),
    ("/w/{pid}/recorder", "POST", ask, "own-assignment"),
    ("/tablet.js", "GET", send_worker, "public"),
)
