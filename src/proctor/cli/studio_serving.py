"""From the options of ``proctor studio`` to a running server."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proctor.errors import MissingExtraError, UserError
from proctor.terminal import note, progress

if TYPE_CHECKING:
    from proctor.studio.context import Settings, Studio
    from proctor.studio.oidc import Provider
    from proctor.studio.serving import Header

__all__ = ["Address", "serve_demo", "serve_projects", "serve_workspace"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a studio listens, and where browsers find it.

    Attributes:
        host: to listen on.
        port: 0 for any.
        origin: that browsers use; host and port by default.
        proxies: whose forwarded headers are believed.
        certificate: for TLS.
        key: of the certificate.
        accel: header by which a proxy sends clips itself, in any case (``serving.HEADERS``).
        local: TLS with certificates that are made here, for the local network.
        provider: by which people may sign in.
        language: of the pages for people who chose none; "auto" for what their browser asks for.
    """

    host: str
    port: int
    origin: str | None = None
    proxies: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    accel: str | None = None
    local: bool = False
    provider: Provider | None = None
    language: str = "en"


def serve_workspace(
    workspace: Path, address: Address, *, database: str | None, project: str | None, videos: Path | None
) -> None:
    """Serve a workspace until the process is stopped.

    Raises:
        UserError: if the address is not safe or taken, or the workspace cannot be used.
    """
    _require_extra()
    from proctor.stages.studio import first_link, open_studio
    from proctor.studio.app import build_app
    from proctor.studio.server import bind, serve
    from proctor.workspace import Workspace

    _check(address)
    Workspace(workspace).require_folder()  # before a certificate is kept in it, which makes the folder
    with bind(address.host, address.port) as listening:
        if address.local:
            address = _with_certificate(address, listening.getsockname()[1], workspace / "studio" / "tls")
        settings = _settings(
            address, listening.getsockname()[1], project or workspace.resolve().name or "project", workspace
        )
        with ExitStack() as stack:
            with progress("taking the candidates in") as seen:
                opened = open_studio(workspace, settings, database=database, videos=videos, seen=seen)
                studio = stack.enter_context(opened)
            link = first_link(studio.desk, settings.origin)

            def ready() -> None:
                note(f"studio of {settings.project}: {settings.origin}")
                if link:
                    note(f"the first owner makes their account here (works once, 7 days): {link}")
                if address.local:
                    _show_authority(settings.origin)
                if settings.provider is not None:
                    note(_to_register(settings))
                note("stop with Ctrl-C")

            app = build_app(studio)
            serve(app, listening, certificate=address.certificate, key=address.key, ready=ready)


def serve_projects(
    workspaces: Sequence[Path],
    address: Address,
    *,
    database: str | None,
    project: str | None,
    videos: Path | None,
) -> None:
    """Serve several workspaces until the process is stopped, each at a host of its own.

    One that cannot be opened does not keep the others from it: it is listed as such, and the terminal says why.

    Raises:
        UserError: if the address is not safe, taken, or none under which several can be found; or none can be opened.
    """
    _require_extra()
    from proctor.stages.studio import desk_target, first_link, open_studio
    from proctor.studio.app import build_app
    from proctor.studio.projects import Project, Projects, labels_of, origin_of
    from proctor.studio.server import bind, serve
    from proctor.workspace import Workspace

    _check(address)
    _check_together(address, database, project, videos)
    labels, stores = labels_of(workspaces), dict[str, str]()
    with bind(address.host, address.port) as listening, ExitStack() as stack:
        port = listening.getsockname()[1]
        scheme = "https" if address.certificate is not None else "http"
        origin = (address.origin or f"{scheme}://localhost:{port}").rstrip("/")

        def open_one(workspace: Path, label: str, settings: Settings) -> Studio:
            where = database.replace("{project}", label) if database else None
            folder = Path(str(videos).replace("{project}", label)) if videos else None
            target = desk_target(Workspace(workspace), where)
            store = str(target.resolve() if isinstance(target, Path) else target)
            if (other := stores.setdefault(store, settings.project)) != settings.project:
                raise UserError(f"its store is that of {other}.", hint="give each project a store of its own")
            with progress(f"taking the candidates of {settings.project} in") as seen:
                opened = open_studio(workspace, settings, database=where, videos=folder, seen=seen)
                return stack.enter_context(opened)

        projects, lines = [], [f"all projects: {origin}"]
        for label, workspace in labels.items():
            name = workspace.resolve().name
            settings = _settings(replace(address, origin=origin_of(origin, label)), port, name, workspace)
            settings = replace(settings, together=origin)
            try:
                studio = open_one(workspace, label, settings)
                link = first_link(studio.desk, settings.origin)
                projects.append(Project(name, settings.origin, build_app(studio), studio))
                lines.append(f"studio of {name}: {settings.origin}")
                lines += [f"  its first owner's account (works once, 7 days): {link}"] if link else []
                lines += [f"  {_to_register(settings)}"] if settings.provider else []
            except (UserError, OSError) as error:
                why = error.render() if isinstance(error, UserError) else str(error)
                projects.append(Project(name, settings.origin, None))
                lines.append(f"{name} is not available: {why}")
        if not any(p.app for p in projects):
            raise UserError("\n".join(["none of the projects can be opened.", *lines[1:]]))
        app, said = Projects(projects, origin, address.language), "\n".join([*lines, "stop with Ctrl-C"])
        serve(app, listening, certificate=address.certificate, key=address.key, ready=lambda: note(said))


def _check_together(address: Address, database: str | None, project: str | None, videos: Path | None) -> None:
    """Refuse what cannot hold for several projects at once."""
    from proctor.studio.server import is_loopback

    name = urlsplit(address.origin).hostname or "" if address.origin else "localhost"
    nowhere = address.origin is None and not is_loopback(address.host)
    wrong = [
        (project is not None, "several projects are called as their folders are.", "leave --project out"),
        (address.local, "--tls makes a certificate for one name, and each project has its own.", "give --origin with a name, and --tls-cert with a certificate for it and for *.NAME"),
        (nowhere, "several projects need a name below which each has its own.", "give --origin https://studio.example.org; browsers then find https://PROJECT.studio.example.org"),
        (not name.strip("0123456789.") or ":" in name, "there are no names below an address of numbers.", "give a name: --origin https://studio.example.org"),
    ]  # fmt: skip
    for option, value in (("database", database), ("videos", videos)):
        alone = value is not None and "{project}" not in str(value)
        hint = f"write {{project}} in --{option}, where the project's name belongs; or leave it to each workspace's settings"
        wrong.append((alone, f"several projects cannot share one --{option}.", hint))
    for is_so, message, hint in wrong:
        if is_so:
            raise UserError(message, hint=hint)


def serve_demo(folder: Path, address: Address, *, browser: bool) -> None:
    """Make the sample project if it is not there, and serve it on this machine while its videos are drawn.

    Raises:
        UserError: if the folder cannot be written, or the address is not this machine's.
    """
    _require_extra()
    from proctor.stages.studio import open_studio
    from proctor.stages.studio_demo import draw_behind, make_demo
    from proctor.studio.app import build_app
    from proctor.studio.server import bind, is_loopback, serve

    if not is_loopback(address.host):
        raise UserError(
            "the demo knows no passwords, so it is served on this machine alone.",
            where=f"--host {address.host}",
            hint="leave --host out",
        )
    with bind(address.host, address.port) as listening:
        workspace = make_demo(folder, show=progress)
        settings = _settings(address, listening.getsockname()[1], "Everyday sample", workspace)
        with open_studio(workspace, settings) as studio:

            def ready() -> None:
                note(f"studio of the sample: {settings.origin}/demo")
                note("stop with Ctrl-C")
                if browser and sys.stdout.isatty():
                    with suppress(Exception):
                        webbrowser.open(f"{settings.origin}/demo")

            with draw_behind(folder, studio, show=progress):
                serve(build_app(studio, demo=True), listening, ready=ready)


def _require_extra() -> None:
    for module, package in (
        ("starlette", "starlette"),
        ("uvicorn", "uvicorn"),
        ("argon2", "argon2-cffi"),
        ("python_multipart", "python-multipart"),
        ("markdown_it", "markdown-it-py"),
    ):
        try:
            __import__(module)
        except ModuleNotFoundError:
            raise MissingExtraError(package, "studio", "the studio") from None


def _with_certificate(address: Address, port: int, folder: Path) -> Address:
    """Return an address with a certificate for the name that browsers use: the one given, or this machine's in its network."""
    from proctor.studio.local_ca import issue, own_address

    anywhere = address.host in ("0.0.0.0", "::", "[::]")  # noqa: S104 - compared, not bound
    host = urlsplit(address.origin).hostname if address.origin else None
    name = host or (own_address() if anywhere else address.host)
    issued = issue(folder, (name, "localhost", "127.0.0.1"))
    origin = address.origin or f"https://{f'[{name}]' if ':' in name else name}:{port}"
    return replace(address, origin=origin, certificate=issued.certificate, key=issued.key)


def _show_authority(origin: str) -> None:
    """Show where devices get the authority that they have to trust, as a code for their camera too."""
    link = f"{origin}/ca.pem"
    note(
        f"each tablet once: open {link}, install it and trust it; without it there is no camera and no work offline"
    )
    if sys.stderr.isatty():
        import segno

        segno.make(link).terminal(sys.stderr, compact=True)


def _check(address: Address) -> None:
    """Refuse what would send passwords in the open, before anything listens."""
    from proctor.studio.server import is_loopback

    if address.local and address.certificate is not None:
        raise UserError("--tls makes a certificate, and --tls-cert has one.", hint="give one of them")
    if (address.certificate is None) != (address.key is None):
        raise UserError("--tls-cert and --tls-key belong together.", hint="give both")
    for path in (address.certificate, address.key):
        if path is not None and not path.is_file():
            raise UserError("there is no such file.", where=str(path), hint="give PEM files")
    if address.origin is not None:
        parts = urlsplit(address.origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise UserError(
                f"'{address.origin}' is no address of a site.",
                where="--origin",
                hint="give scheme and host, such as https://studio.example.org",
            )
    _accel(address)
    behind_tls = (
        address.local or address.certificate is not None or (address.origin or "").startswith("https://")
    )
    if not is_loopback(address.host) and not behind_tls:
        raise UserError(
            "others could read passwords on their way here.",
            where=f"--host {address.host}",
            hint="give --tls, or --tls-cert and --tls-key, or --origin https://… with a proxy in front; or leave --host out",
        )


def _accel(address: Address) -> Header | None:
    """Return the header by which a proxy sends clips; without a proxy, browsers would get empty clips."""
    from proctor.studio.serving import HEADERS

    if address.accel is None:
        return None
    known = next((name for name in HEADERS if name.lower() == address.accel.strip().lower()), None)
    if known is None:
        raise UserError(
            f"'{address.accel[:40]}' is no header by which a proxy sends files.",
            where="--accel",
            hint="X-Accel-Redirect for nginx, X-Sendfile for Apache or lighttpd",
        )
    if address.origin is None:
        raise UserError(
            "there is no proxy that could send the clips.",
            where=f"--accel {known}",
            hint="give --origin, the address of the proxy that browsers use; or leave --accel out",
        )
    return known


def _settings(address: Address, port: int, project: str, workspace: Path) -> Settings:
    from proctor.studio.context import Settings

    scheme = "https" if address.certificate is not None else "http"
    shown = f"[{address.host}]" if ":" in address.host and not address.host.startswith("[") else address.host
    shown = "127.0.0.1" if shown in ("0.0.0.0", "[::]") else shown  # noqa: S104 - compared, not bound
    origin = (address.origin or f"{scheme}://{shown}:{port}").rstrip("/")
    host = urlsplit(origin).hostname or shown
    hosts = {host, shown, "127.0.0.1", "localhost", "[::1]"} if address.origin is None else {host}
    return Settings(
        project=project,
        origin=origin,
        hosts=tuple(sorted(hosts)),
        proxies=address.proxies,
        folder=workspace / "studio",
        accel=_accel(address),
        provider=address.provider,
        language=address.language,
    )


def _to_register(settings: Settings) -> str:
    from proctor.studio.oidc import DONE

    name = settings.provider.name if settings.provider is not None else ""
    return f"register this address with {name}: {settings.origin}{DONE}"
