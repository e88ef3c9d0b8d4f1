"""Exports: made on request, listed with who and when, sent to coordinators alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from anyio import to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from proctor.said import say_count
from proctor.studio.context import desk_of, person_of, read, studio_of
from proctor.studio.exporting import EXPORTS, Export, find_export, list_exports, make_export
from proctor.studio.language import figures
from proctor.studio.rendering import render, see_other, when_text
from proctor.studio.views import Choice, ExportRow, ExportsView
from proctor.verify.desk import items, people
from proctor.verify.desk.records import GoneError

__all__ = ["ROUTES"]


async def show_exports(request: Request) -> Response:
    """Show what was exported, and what can be."""
    folder, desk = _folder(request), desk_of(request)

    def look(connection: Connection) -> ExportsView:
        names = {p.pid: p.name for p in people.list_people(desk, connection)}
        settled = sum(kinds.get("settled", 0) for kinds in items.count_items(connection).values())
        return ExportsView(
            kinds=tuple(
                Choice(kind, title, kind == "published", note) for kind, (title, note, _) in EXPORTS.items()
            ),
            rows=tuple(_row(export, names, folder) for export in list_exports(connection)),
            ready=say_count(settled, "{n:,} item is accepted so far", "{n:,} items are accepted so far"),
        )

    return render(request, "exports", await read(request, look))


def _row(export: Export, names: dict[str, str], folder: Path) -> ExportRow:
    path = folder / _stored(export)
    there = path.is_file()
    return ExportRow(
        at=when_text(export.created_at),
        who=names.get(export.made_by, export.made_by),
        what=say_count(
            export.rows, "{export}, {n:,} item", "{export}, {n:,} items", export=EXPORTS[export.kind][0]
        )
        if export.kind == "published"
        else say_count(
            export.rows, "{export}, {n:,} line", "{export}, {n:,} lines", export=EXPORTS[export.kind][0]
        ),
        size=_size_text(path.stat().st_size) if there else "",
        digest=export.sha256[:12],
        href=f"/exports/{export.pid}",
        gone=not there,
    )


def _size_text(count: int) -> str:
    return figures(f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3)):,} kB")


async def make(request: Request) -> Response:
    """Make an export."""
    kind = str((await request.form()).get("kind", ""))
    studio, actor = studio_of(request), person_of(request).pid
    folder = _folder(request)
    await to_thread.run_sync(
        lambda: make_export(studio.desk, kind, folder, actor=actor, project=studio.settings.project)
    )
    return see_other("/exports?said=exported")


async def download(request: Request) -> Response:
    """Send the file of an export."""
    pid = request.path_params["pid"]
    export = await read(request, lambda c: find_export(c, pid))
    path = _folder(request) / _stored(export)
    if not path.is_file():
        raise GoneError
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
    return FileResponse(
        path, media_type="application/octet-stream", filename=export.file_name, headers=headers
    )


def _folder(request: Request) -> Path:
    return studio_of(request).settings.folder / "exports"


def _stored(export: Export) -> str:
    return f"{export.pid}.{EXPORTS[export.kind][2]}"


ROUTES: Final = (
    ("/exports", "GET", show_exports, "coordinator"),
    ("/exports", "POST", make, "coordinator"),
    ("/exports/{pid}", "GET", download, "coordinator"),
)
"""Rows of the route table."""
