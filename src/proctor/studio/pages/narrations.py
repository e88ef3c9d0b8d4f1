"""Sound of narrations: sent by the page of a timeline, heard by whoever spoke alone."""

from __future__ import annotations

from typing import Final

from anyio import to_thread
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.context import person_of, read, studio_of
from proctor.studio.narrations import forget_sounds, keep_sound, list_sounds
from proctor.studio.rendering import data_of, problem
from proctor.verify.desk import tasks, work
from proctor.verify.desk.records import GoneError
from proctor.verify.schema import tables

__all__ = ["ROUTES", "forget_voice"]


async def put_sound(request: Request) -> Response:
    """Keep a sound, once; also of a task that is no longer its person's, for they spoke while it was."""
    pid, name = await _own(request)
    data, folder = await request.body(), studio_of(request).settings.folder
    try:
        new = await to_thread.run_sync(keep_sound, folder, pid, name, data)
    except UserError as error:
        return problem(422, say("Not kept"), error.message)
    except OSError as error:
        return problem(
            507, say("Not kept"), say("The sound cannot be kept: {why}.", why=error.strerror or error)
        )
    return data_of({"again": not new})


async def send_sound(request: Request) -> Response:
    """Send a sound to whoever spoke, as a file: by its contents it is one, whatever somebody called it."""
    pid, name = await _own(request)
    for sound in await to_thread.run_sync(list_sounds, studio_of(request).settings.folder, pid):
        if sound.id == name:
            return FileResponse(sound.path, media_type=sound.mime, filename=sound.path.name)
    raise GoneError


async def _own(request: Request) -> tuple[str, str]:
    """Return the assignment and id of the address; GoneError unless it is a timeline of the person's own."""
    pid, name, person = request.path_params["pid"], request.path_params["name"], person_of(request)

    def find(connection: Connection) -> str:
        found = work.find_assignment(connection, pid, person)
        task = found is not None and found.stage == "task"
        return tasks.asked_of(connection, found).kind.name if found and task else ""

    if await read(request, find) != "timeline":
        raise GoneError
    return pid, name


async def forget_voice(request: Request, person: str) -> None:
    """Remove everything that somebody said, once they (by their random id) have withdrawn."""
    a, p = tables().assignments, tables().people
    query = select(a.c.pid).join(p, p.c.id == a.c.person_id).where(p.c.pid == person, a.c.stage == "task")
    pids = await read(request, lambda c: list(c.execute(query).scalars()))
    await to_thread.run_sync(forget_sounds, studio_of(request).settings.folder, pids)


ROUTES: Final = (
    ("/w/{pid}/narration/{name}", "PUT", put_sound, "own-assignment"),
    ("/w/{pid}/narration/{name}", "GET", send_sound, "own-assignment"),
)
