"""``proctor studio``: the web pages on which people verify, adjudicate and see how far they agree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

from proctor.cli.console import Group, WorkspaceArgument, counted, emit, group_app
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import Settings, argument, option
from proctor.stages.rounds.settings import Database, Stored
from proctor.stages.settings import Videos
from proctor.terminal import note, progress

_HELP = "Folder of the benchmark in the making; of several, each is served at http://NAME.localhost:8642."
Workspaces = Annotated[list[Path], typer.Argument(metavar="WORKSPACE", help=_HELP)]


class Prepare(Settings, frozen=True, kw_only=True):
    """Where videos are."""

    videos: Videos = None


class Listening(Settings, frozen=True, kw_only=True):
    """Where the server listens."""

    host: Annotated[str, option("Address to listen on; others than this machine need TLS.")] = "127.0.0.1"
    port: Annotated[int, option("Port; 0 takes any that is free.", ge=0, le=65535)] = 8642
    language: Annotated[
        Literal["auto", "de", "en"], option("Of the pages for people who chose none; auto: what their browser asks for.")
    ] = "en"  # fmt: skip


class Serving(Listening, frozen=True, kw_only=True):
    """How a studio is reached."""

    tls: Annotated[
        bool,
        option(
            "Make a certificate for this machine in the local network, and show how to make tablets trust it."
        ),
    ] = False
    tls_cert: Annotated[Path | None, option("Certificate chain (PEM), for TLS.")] = None
    tls_key: Annotated[Path | None, option("Its private key (PEM).")] = None
    origin: Annotated[
        str | None, option("Address that browsers use, behind a proxy: https://studio.example.org")
    ] = None
    proxy: Annotated[
        tuple[str, ...],
        option("Address of a proxy whose X-Forwarded headers are believed; may be given again."),
    ] = ()
    project: Annotated[str | None, option("Name of the project (default: the folder's).")] = None
    accel: Annotated[
        str | None, option("Let the proxy send clips: X-Accel-Redirect (nginx) or X-Sendfile (Apache).")
    ] = None
    database: Database = None
    videos: Videos = None
    oidc: Annotated[str | None, option("People sign in by this provider of OpenID Connect (extra sso).")] = (
        None
    )
    oidc_client: Annotated[str, option("What the provider calls this studio; PROCTOR_OIDC_SECRET has the secret.")] = ""  # fmt: skip
    oidc_name: Annotated[str, option("What the button says; by default: your institution's login.")] = ""
    oidc_allow: Annotated[
        tuple[str, ...], option("Checked e-mail addresses like this (*@example.org) need no invitation; may be given again.")
    ] = ()  # fmt: skip


class Demo(Listening, frozen=True, kw_only=True):
    """Where the sample project is, and how it is shown."""

    folder: Annotated[
        Path, argument("Folder of the project; made the first time, then used again.", "FOLDER")
    ] = Path("studio-demo")
    browser: Annotated[bool, option("Open a browser when it is ready.")] = True


class Link(Settings, frozen=True, kw_only=True):
    """Who signs in, and where."""

    handle: Annotated[str, argument("What the person signs in with.", "NAME")]
    origin: Annotated[str, option("Address that browsers use.")] = "http://127.0.0.1:8642"
    database: Database = None


class Program(Settings, frozen=True, kw_only=True):
    """In whose name a program works, and what it may do."""

    handle: Annotated[str, argument("What the person signs in with: a coordinator or an owner.", "NAME")]
    scope: Annotated[Literal["read", "write"], option("What the program may do.")] = "read"
    days: Annotated[int, option("Days until it expires.", ge=1, le=366)] = 90
    database: Database = None


class Brought(Settings, frozen=True, kw_only=True):
    """Whose verdicts are brought in."""

    file: Annotated[Path, argument("JSON Lines of verdicts, or of raw rows.", "FILE")]
    database: Database = None


class Export(Settings, frozen=True, kw_only=True):
    """What is written, and where to."""

    kind: Annotated[str, argument("published, rows or csv.", "KIND")]
    file: Annotated[Path, argument("File to write.", "FILE")]
    database: Database = None


class _Group(Group):
    """``proctor studio bench`` serves ``bench``; a first word that is a command is that command."""

    default: ClassVar[str] = "serve"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front of what is none."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


app = group_app(
    "Web pages on which people verify question-answer pairs, adjudicate, and see how far they agree.\n\n"
    "proctor studio WORKSPACE serves a workspace that has candidates; proctor studio demo shows a project half done. "
    "docs/studio.md goes from a candidates file to a verified benchmark.\n\n"
    "Example: proctor studio bench",
    cls=_Group,
)


@app.command()
@with_settings
def serve(workspaces: Workspaces, settings: Serving) -> None:
    """Serve the studio of a workspace (the default command), or of several on one server.

    SQLite and this machine alone by default. The first start prints a link that works once, with which the first owner makes an account.

    Example: proctor studio bench

    Example: proctor studio bench --database postgresql://me@db/proctor --origin https://studio.example.org --proxy 10.0.0.2

    Example: proctor studio bench line2 manuals
    """
    from proctor.cli.studio_serving import Address, serve_projects, serve_workspace

    provider = None
    if settings.oidc is not None:
        from proctor.studio.oidc import Provider, check_provider

        secret = os.environ.get("PROCTOR_OIDC_SECRET", "")  # others can read the arguments of a process
        name, allow = settings.oidc_name, settings.oidc_allow
        provider = check_provider(Provider(issuer=settings.oidc, client=settings.oidc_client, secret=secret, name=name, allow=allow))  # fmt: skip
    elif settings.oidc_client or settings.oidc_name or settings.oidc_allow:
        message = "--oidc-client, --oidc-name and --oidc-allow are of a provider, and none is named."
        raise UserError(message, hint="give --oidc ADDRESS")
    address = Address(
        settings.host, settings.port, settings.origin, settings.proxy, settings.tls_cert, settings.tls_key,
        settings.accel, settings.tls, provider, settings.language,
    )  # fmt: skip
    named, database, videos = settings.project, settings.database, settings.videos
    if len(workspaces) > 1:
        serve_projects(workspaces, address, database=database, project=named, videos=videos)
    else:
        serve_workspace(workspaces[0], address, database=database, project=named, videos=videos)


@app.command()
@with_settings
def demo(settings: Demo) -> None:
    """Make a sample project, half done by three fictional annotators, and serve it.

    The first page lets you be any of them: an annotator, the adjudicator, the coordinator. Nothing needs a password,
    so this works on this machine alone.

    Example: proctor studio demo
    """
    from proctor.cli.studio_serving import Address, serve_demo

    address = Address(settings.host, settings.port, language=settings.language)
    serve_demo(settings.folder, address, browser=settings.browser)


@app.command()
@with_settings
def link(workspace: WorkspaceArgument, settings: Link, output: Output) -> None:
    """Print a link that signs a person in once, after a forgotten password.

    Example: proctor studio link bench ana
    """
    from proctor.stages.studio import open_desk, sign_in_link

    with open_desk(workspace, settings.database, create=False) as desk:
        address = sign_in_link(desk, settings.origin, settings.handle)
    emit({"link": address}, f"{address}\nIt works once, for 24 hours.", as_json=output.as_json)


@app.command()
@with_settings
def token(workspace: WorkspaceArgument, settings: Program, output: Output) -> None:
    """Print a token with which a program uses the HTTP interface in a person's name (docs/studio-api.md).

    Example: proctor studio token bench gita --scope read
    """
    from proctor.stages.studio import open_desk, program_token

    with open_desk(workspace, settings.database, create=False) as desk:
        made = program_token(desk, settings.handle, settings.scope, settings.days)
    emit({"token": made}, made, as_json=output.as_json)
    note("it is shown this once; My account ends it")


@app.command()
@with_settings
def check(workspace: WorkspaceArgument, stored: Stored, output: Output) -> None:
    """Check the chain of events: rows that were changed by hand are found.

    Example: proctor studio check bench
    """
    from proctor.stages.studio import open_desk
    from proctor.verify.desk.events import check_chain

    with open_desk(workspace, stored.database, create=False) as desk:
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
        as_json=output.as_json,
    )


@app.command()
@with_settings
def backup(workspace: WorkspaceArgument, stored: Stored, output: Output) -> None:
    """Back up the store, also while it is in use, to a file next to it (SQLite; PostgreSQL has pg_dump).

    Example: proctor studio backup bench
    """
    import time

    from proctor.stages.studio import open_desk

    with open_desk(workspace, stored.database, create=False) as desk:
        copy = desk.database.back_up(time.strftime("%Y%m%d-%H%M%S"))
    if copy is None:
        raise UserError("the store is in PostgreSQL.", hint="use pg_dump")
    emit({"copy": str(copy)}, f"copied to {copy}", as_json=output.as_json)


@app.command("import")
@with_settings
def import_(workspace: WorkspaceArgument, settings: Brought, output: Output) -> None:
    """Bring verdicts from elsewhere in; items that have enough of them are settled, or become cases.

    Verdicts on candidates that are unknown here, or have another text, are dropped, counted and listed in
    studio.import.dropped.jsonl.

    Example: proctor studio import bench verdicts.jsonl
    """
    from proctor.stages.studio import import_verdicts

    result = import_verdicts(workspace, settings.file, database=settings.database)
    text = f"{result.verdicts:,} verdicts, {result.new:,} of them new; dropped: {counted(result.dropped)}"
    emit(result, f"{text}\n\nnext: proctor studio {workspace}", as_json=output.as_json)


@app.command()
@with_settings
def export(workspace: WorkspaceArgument, settings: Export, output: Output) -> None:
    """Write what people said: the published shape, every raw row, or a table. None of them holds names.

    Example: proctor studio export bench published verified.json
    """
    from proctor.stages.studio import export_desk

    result = export_desk(workspace, settings.kind, settings.file, database=settings.database)
    what = "items" if result.kind == "published" else "lines"
    emit(result, f"{result.file}: {result.rows:,} {what}", as_json=output.as_json)


@app.command()
@with_settings
def prepare(workspace: WorkspaceArgument, settings: Prepare, output: Output) -> None:
    """Cut all clips now, so that annotators need not wait for them later.

    Example: proctor studio prepare bench
    """
    from proctor.stages.studio import prepare_clips

    with progress("cutting clips", quiet=output.as_json) as seen:
        result = prepare_clips(workspace, videos=settings.videos, seen=seen)
    lines = [
        f"{result.ready} of {result.clips} clips are ready; {result.without_video} items have no recording"
    ]
    lines += [f"  {where} at {end:.1f} s: {reason}" for where, end, reason in result.failures]
    emit(result, "\n".join(lines), as_json=output.as_json)
    if result.failures:
        note("items whose clip is missing can be returned by annotators, or removed from the candidates")
