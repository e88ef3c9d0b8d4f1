"""``proctor studio``: the web pages on which people verify, adjudicate and see how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from proctor.cli.console import JsonFlag, WorkspaceArgument, emit, note, progress
from proctor.errors import UserError

DatabaseOption = Annotated[
    str | None,
    typer.Option(help="Where verdicts and work are kept: a file in the workspace, or a postgresql:// URL."),
]
HostOption = Annotated[str, typer.Option(help="Address to listen on; others than this machine need TLS.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")]


class _Group(TyperGroup):
    """``proctor studio bench`` serves ``bench``; a first word that is a command is that command."""

    default: ClassVar[str] = "serve"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front of what is none."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help=(
        "Web pages on which people verify question-answer pairs, adjudicate, and see how far they agree.\n\n"
        "proctor studio WORKSPACE serves a workspace that has candidates; proctor studio demo shows a project half done. "
        "docs/studio.md goes from a candidates file to a verified benchmark.\n\n"
        "Example: proctor studio bench"
    ),
)


@app.callback()
def _group() -> None:
    """Web pages on which people verify question-answer pairs, adjudicate, and see how far they agree."""


@app.command()
def serve(
    workspace: WorkspaceArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8642,
    database: DatabaseOption = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain (PEM), for TLS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="Address that browsers use, behind a proxy: https://studio.example.org"),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy whose X-Forwarded headers are believed; may be given again."),
    ] = None,
    project: Annotated[str | None, typer.Option(help="Name of the project (default: the folder's).")] = None,
    videos: Annotated[
        Path | None, typer.Option(help="Folder of the recordings (default: the data set's).")
    ] = None,
    accel: Annotated[
        str | None,
        typer.Option(help="Let the proxy send clips: X-Accel-Redirect (nginx) or X-Sendfile (Apache)."),
    ] = None,
) -> None:
    """Serve the studio of a workspace (the default command).

    SQLite and this machine alone by default. The first start prints a link, good for once, under which the first owner
    makes their account.

    Example: proctor studio bench

    Example: proctor studio bench --database postgresql://me@db/proctor --origin https://studio.example.org --proxy 10.0.0.2
    """
    from proctor.cli.studio_serving import Address, serve_workspace

    address = Address(host, port, origin, tuple(proxy or ()), tls_cert, tls_key, accel)
    serve_workspace(workspace, address, database=database, project=project, videos=videos)


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the project is made; made once, used again.")
    ] = Path("studio-demo"),
    host: HostOption = "127.0.0.1",
    port: PortOption = 8642,
    browser: Annotated[bool, typer.Option(help="Open a browser when it is ready.")] = True,
) -> None:
    """Make a sample project, half done by three fictional annotators, and serve it.

    The first page lets you be any of them: an annotator, the adjudicator, the coordinator. Nothing needs a password,
    so this works on this machine alone.

    Example: proctor studio demo
    """
    from proctor.cli.studio_serving import Address, serve_demo

    serve_demo(folder, Address(host, port), browser=browser)


@app.command()
def link(
    workspace: WorkspaceArgument,
    handle: Annotated[str, typer.Argument(metavar="NAME", help="What the person signs in with.")],
    database: DatabaseOption = None,
    origin: Annotated[str, typer.Option(help="Address that browsers use.")] = "http://127.0.0.1:8642",
    as_json: JsonFlag = False,
) -> None:
    """Print a link that signs somebody in once: for who has forgotten a password.

    Example: proctor studio link bench ana
    """
    from proctor.stages.studio import open_desk, sign_in_link

    with open_desk(workspace, database, create=False) as desk:
        address = sign_in_link(desk, origin, handle)
    emit({"link": address}, f"{address}\nIt works once, for 24 hours.", as_json=as_json)


@app.command()
def check(workspace: WorkspaceArgument, database: DatabaseOption = None, as_json: JsonFlag = False) -> None:
    """Check the chain of events: whoever changed a row by hand is found.

    Example: proctor studio check bench
    """
    from proctor.stages.studio import open_desk
    from proctor.verify.desk.events import check_chain

    with open_desk(workspace, database, create=False) as desk:
        count, broken = desk.read(check_chain)
    if broken is not None:
        raise UserError(
            f"event {broken} does not fit the one before it: a row was changed by hand.",
            where=str(workspace),
            hint="compare with a copy of the store",
        )
    emit(
        {"events": count, "intact": True},
        f"{count:,} events, each bound to the one before it",
        as_json=as_json,
    )


@app.command()
def backup(workspace: WorkspaceArgument, database: DatabaseOption = None, as_json: JsonFlag = False) -> None:
    """Copy the store, in use or not, to a file beside it (SQLite; PostgreSQL has pg_dump).

    Example: proctor studio backup bench
    """
    import time

    from proctor.stages.studio import open_desk

    with open_desk(workspace, database, create=False) as desk:
        copy = desk.database.back_up(time.strftime("%Y%m%d-%H%M%S"))
    if copy is None:
        raise UserError("the store is in PostgreSQL.", hint="use pg_dump")
    emit({"copy": str(copy)}, f"copied to {copy}", as_json=as_json)


@app.command("import")
def import_(
    workspace: WorkspaceArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON Lines of verdicts, or of raw rows.")],
    database: DatabaseOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring verdicts from elsewhere in; items that have enough of them need nobody, or become cases.

    Verdicts on candidates that are unknown here, or have another text, are dropped, counted and listed in
    studio.import.dropped.jsonl.

    Example: proctor studio import bench verdicts.jsonl
    """
    from proctor.stages.studio import import_verdicts

    result = import_verdicts(workspace, file, database=database)
    dropped = ", ".join(f"{n} {reason}" for reason, n in result["dropped"].items()) or "none"
    text = f"{result['verdicts']:,} verdicts, {result['new']:,} of them new; dropped: {dropped}"
    emit(result, f"{text}\n\nnext: proctor studio {workspace}", as_json=as_json)


@app.command()
def export(
    workspace: WorkspaceArgument,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="published, rows or csv.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")],
    database: DatabaseOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write what people said: the published shape, every raw row, or a table. Nobody's name is in any of them.

    Example: proctor studio export bench published verified.json
    """
    from proctor.stages.studio import export_desk

    result = export_desk(workspace, kind, file, database=database)
    what = "items" if result["kind"] == "published" else "lines"
    emit(result, f"{result['file']}: {result['rows']:,} {what}", as_json=as_json)


@app.command()
def prepare(
    workspace: WorkspaceArgument,
    videos: Annotated[
        Path | None, typer.Option(help="Folder of the recordings (default: the data set's).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Cut all clips now, so that nobody waits for one later.

    Example: proctor studio prepare bench
    """
    from proctor.stages.studio import prepare_clips

    with progress("cutting clips", quiet=as_json) as seen:
        result = prepare_clips(workspace, videos=videos, seen=seen)
    lines = [
        f"{result['ready']} of {result['clips']} clips are ready; {result['without_video']} items have no recording"
    ]
    lines += [f"  {where} at {end:.1f} s: {reason}" for where, end, reason in result["failures"]]
    emit(result, "\n".join(lines), as_json=as_json)
    if result["failures"]:
        note("items whose clip is missing can be returned by annotators, or removed from the candidates")
