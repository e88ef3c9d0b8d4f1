"""What the page of a recording sends: slices, questions for clock and recorder, which tablet records; and its service worker."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Final, Literal

import msgspec
from anyio import to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.context import number_in, person_of, read, studio_of
from proctor.studio.local_ca import CA_FILE
from proctor.studio.rendering import STATIC, data_of, json_body, problem
from proctor.studio.slices import MissingSliceError, hold_lease, keep_slice
from proctor.verify.desk import tasks, work
from proctor.verify.desk.records import GoneError
from proctor.verify.rounds.record import RecordTask

__all__ = ["ROUTES"]


class _Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    client: Annotated[str, msgspec.Meta(pattern="^[!-~]{8,64}$")]
    take: bool = False
    verb: Literal["preflight", "arm", "start", "stop"] = "preflight"


_ASK: Final = msgspec.json.Decoder(_Ask)


async def put_slice(request: Request) -> Response:
    """Keep a slice, once; also of a recording that is no longer its person's, for it was made while it was."""
    await _own(request)
    path, told, folder = request.path_params, request.headers, studio_of(request).settings.folder
    data, seq, perf_ns = await request.body(), number_in(path["seq"]), number_in(told.get("proctor-perf-ns", ""))  # fmt: skip
    kind, sha256, wall = (told.get(name, "") for name in ("content-type", "proctor-sha256", "proctor-wall"))
    keep = partial(keep_slice, kind=kind, sha256=sha256, perf_ns=perf_ns, wall=wall)
    try:
        kept = await to_thread.run_sync(keep, folder, path["pid"], path["part"], seq, data)
        return data_of({"kept": kept})
    except MissingSliceError as error:
        return problem(
            409,
            say("A slice is missing"),
            say("Slice {n} comes first.", n=error.args[0]),
            needs=error.args[0],
        )
    except UserError as error:
        return problem(422, say("Not kept"), error.message)
    except OSError as error:
        return problem(
            507, say("Not kept"), say("The slice cannot be kept: {why}.", why=error.strerror or error)
        )


async def tell_clock(request: Request) -> Response:
    """Tell the time of this machine's clock; the page measures how long the question took."""
    await _own(request)
    return data_of({"host_ns": time.monotonic_ns()})


async def lease(request: Request) -> Response:
    """Tell a tablet whether it records or looks on; ``take`` makes it the one that records."""
    await _own(request)
    asked, folder, pid = await json_body(request, _ASK), studio_of(request).settings.folder, request.path_params["pid"]  # fmt: skip
    return data_of({"mine": await to_thread.run_sync(lambda: hold_lease(folder, pid, asked.client, take=asked.take))})  # fmt: skip


async def ask(request: Request) -> Response:
    """Hand a verb to the recorder of other sensors, and tell how it is; null where none listens."""
    from proctor.capture.control import NoRecorderError, ask_recorder

    task, root, asked = await _own(request), studio_of(request).library.root, await json_body(request, _ASK)
    try:
        return data_of(await to_thread.run_sync(
            lambda: ask_recorder(root, task.slot.id, asked.verb, holder=asked.client, take_over=asked.take)
        ))  # fmt: skip
    except NoRecorderError:
        return data_of(None)


async def send_worker(request: Request) -> Response:
    """Send a service worker: below ``/`` it may serve the page of one recording, or items of a queue; each says which it serves."""
    name = "tablet_worker.js" if request.url.path == "/tablet.js" else "ahead_worker.js"
    script = STATIC / "js" / name
    return FileResponse(script, media_type="text/javascript", headers={"Cache-Control": "no-cache"})


async def send_authority(request: Request) -> Response:
    """Send the certificate that tablets have to trust, where this studio made its own (``--tls``)."""
    path = studio_of(request).settings.folder / "tls" / CA_FILE
    if not path.is_file():
        raise GoneError
    return FileResponse(path, media_type="application/x-x509-ca-cert", filename="proctor-ca.pem")


async def _own(request: Request) -> RecordTask:
    """Return the recording of the address; GoneError unless it is one, and the person's own."""
    pid, person = request.path_params["pid"], person_of(request)

    def find(connection: Connection) -> object:
        found = work.find_assignment(connection, pid, person)
        return tasks.asked_of(connection, found).body if found is not None and found.stage == "task" else None

    task = await read(request, find)
    if not isinstance(task, RecordTask):
        raise GoneError
    return task


ROUTES: Final = (
    ("/w/{pid}/slice/{part}/{seq}", "PUT", put_slice, "own-assignment"),
    ("/w/{pid}/clock", "GET", tell_clock, "own-assignment"),
    ("/w/{pid}/lease", "POST", lease, "own-assignment"),
    ("/w/{pid}/recorder", "POST", ask, "own-assignment"),
    ("/tablet.js", "GET", send_worker, "public"),
    ("/ahead.js", "GET", send_worker, "public"),
    ("/ca.pem", "GET", send_authority, "public"),
)
