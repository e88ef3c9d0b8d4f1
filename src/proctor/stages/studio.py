"""The studio of a workspace: candidates into the desk, and the web application with all that it needs."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.drawing.layout import Layouts
from proctor.errors import MissingExtraError, UserError, did_you_mean
from proctor.exam.library import Library
from proctor.exam.question import Footage, Question, part_of
from proctor.exam.question import Source as Cited
from proctor.llm.media import MediaStore
from proctor.records import iter_jsonl
from proctor.stages.clip.reading import CHOICES, CLIPS, KEPT, PAIRS
from proctor.stages.documents.reading import CORPUS, WRITTEN, corpus_of
from proctor.stages.questions import IMPORTED, PEOPLE, required_questions, workspace_questions
from proctor.stages.verify import DEFAULTS
from proctor.stages.videos import workspace_videos
from proctor.verify.desk import documents, items, people, rounds, tasks, tokens
from proctor.verify.desk.cases import take_over_verdicts
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.intake import read_verdicts, take_in
from proctor.verify.desk.items import Synced
from proctor.verify.desk.records import Person, at_least
from proctor.verify.schema import tables
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from proctor.studio.clips import ClipShop
    from proctor.studio.context import Settings, Studio

__all__ = [
    "KEY_FILE",
    "desk_target",
    "first_link",
    "open_desk",
    "open_studio",
    "prepare_clips",
    "program_token",
    "sign_in_link",
    "sync_desk",
]

KEY_FILE: Final = "studio-secret"
"""File of the workspace with the project's key: 32 bytes as hexadecimal digits, readable for its owner alone."""

_SOURCES: Final = (
    *("candidates.jsonl", "examples.jsonl", "graphs.json", CLIPS, PAIRS, KEPT, CHOICES, WRITTEN, IMPORTED),
    *("questions.jsonl", "corpus/manifest.json", PEOPLE),
)
_SYNCED: Final = "studio_synced"
_KEY_PRINT: Final = "studio_secret"


def desk_target(workspace: Workspace, database: str | None = None) -> str | Path:
    """Return where verdicts and people's work are kept: the URL or file of the settings, or what was given."""
    where = str(workspace.settings("verify", {"store": database}, DEFAULTS)["store"])
    return where if "://" in where else workspace.file(where)


@contextmanager
def open_desk(
    root: Path,
    database: str | None = None,
    *,
    seed: int = 0,
    create: bool = True,
    key: bytes | None = None,
) -> Iterator[Desk]:
    """Open the desk of a workspace.

    Args:
        root: of the workspace.
        database: file in it or ``postgresql://`` URL; that of the settings by default.
        seed: of what is drawn.
        create: make a store where there is none.
        key: 32 bytes for a project that has no key yet; random by default, as every real project's must be.

    Raises:
        UserError: if the workspace is not there, the desk cannot be opened, or its key is gone.
    """
    workspace = Workspace(root)
    workspace.require_folder()
    with Desk.open(desk_target(workspace, database), secret=b"", create=create, seed=seed) as desk:
        desk.secret = _secret(desk, workspace, key)
        yield desk


def sync_desk(
    root: Path, desk: Desk, *, seen: Callable[[], None] | None = None, language: str = "en"
) -> Synced | None:
    """Bring the desk's items in line with the workspace's candidates; None when nothing has changed since.

    Args:
        root: of the workspace.
        desk: open.
        seen: called once for each candidate that is looked at.
        language: of the texts that a new project begins with.

    Raises:
        UserError: if the workspace's files are missing, broken or do not fit each other. A workspace with rounds needs no
            questions.
    """
    workspace = Workspace(root)
    signs = _signs(workspace)
    if _meta(desk, _SYNCED) == signs:
        return None
    graphs = workspace.known_graphs()
    has_rounds = bool(desk.read(rounds.list_rounds))
    questions = (workspace_questions if has_rounds else required_questions)(workspace)
    sources = _cited(workspace, questions)

    def job(connection: Any) -> Synced:
        result = items.sync_items(
            desk, connection, questions, graphs, sources=sources, actor="proctor", seen=seen
        )
        take_over_verdicts(desk, connection)
        documents.ensure_defaults(desk, connection, sorted({q.kind for q in questions}), language=language)
        _set_meta(desk, connection, _SYNCED, signs)
        return result

    return desk.write(job).result()


def _cited(workspace: Workspace, questions: Sequence[Question]) -> list[Source]:
    """Return the sources of the corpus that questions name."""
    wanted = {part.id for q in questions for part in q.evidence if isinstance(part, Cited)}
    if not wanted:
        return []
    corpus = corpus_of(workspace)
    return [source for name in sorted(wanted) if (source := corpus.get(name)) is not None]


def _library(workspace: Workspace, desk: Desk) -> Library:
    sources = desk.read(items.load_sources)
    return Library(
        media=MediaStore(),
        graphs=desk.read(items.load_graphs),
        corpus=Corpus(sources.values(), workspace.file(CORPUS)) if sources else None,
        root=workspace.root,
    )


def _signs(workspace: Workspace) -> str:
    """Tell files apart by size and time of change: reading half a gigabyte at every start would take seconds."""
    found = []
    for name in _SOURCES:
        path = workspace.file(name)
        if is_there(path):
            state = path.stat()
            found.append([name, state.st_size, state.st_mtime_ns])
    return msgspec.json.encode(found).decode()


# -- the key ---------------------------------------------------------------------------------------------------


def _secret(desk: Desk, workspace: Workspace, given: bytes | None) -> bytes:
    """Return the project's key, made at the first time and never again: cards would change under people's hands.

    Raises:
        UserError: if it is gone, another one, or cannot be made.
    """
    path, known = workspace.file(KEY_FILE), _meta(desk, _KEY_PRINT)
    try:
        key = _read_key(path) if path.exists() or known is not None else _make_key(path, given)
    except (OSError, ValueError) as error:
        raise UserError(
            f"the project's key cannot be read or made: {getattr(error, 'strerror', None) or error}.",
            where=str(path),
            hint="restore the file from a copy of the workspace" if known else "make the folder writable",
        ) from None
    sign = hashlib.sha256(b"proctor studio\x00" + key).hexdigest()[:16]
    if known is None:
        desk.write(lambda c: _set_meta(desk, c, _KEY_PRINT, sign)).result()
    elif known != sign:
        raise UserError(
            "the project's key is not the one that this store was begun with.",
            where=str(path),
            hint="restore the file from a copy of the workspace",
        )
    return key


def _read_key(path: Path) -> bytes:
    key = bytes.fromhex(path.read_text("ascii").strip())
    if len(key) != 32:
        raise ValueError(f"it has {len(key)} bytes, not 32")
    return key


def _make_key(path: Path, given: bytes | None) -> bytes:
    key = given or secrets.token_bytes(32)
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def _meta(desk: Desk, key: str) -> str | None:
    t = tables().meta
    row = desk.read(lambda c: c.execute(t.select().where(t.c.key == key)).first())
    return None if row is None else str(row.value)


def _set_meta(desk: Desk, connection: Any, key: str, value: str) -> None:
    t = tables().meta
    connection.execute(t.delete().where(t.c.key == key))
    connection.execute(desk.database.insert(t), {"key": key, "value": value})


# -- the application -------------------------------------------------------------------------------------------


@contextmanager
def open_studio(
    root: Path,
    settings: Settings,
    *,
    database: str | None = None,
    videos: Path | None = None,
    seed: int = 0,
    seen: Callable[[], None] | None = None,
) -> Iterator[Studio]:
    """Open everything that the server needs: the desk in line with the candidates, graphs, recordings, clips.

    Args:
        root: of the workspace.
        settings: how it is reached.
        database: see ``open_desk``.
        videos: folder of the recordings; the data set's by default.
        seed: of what is drawn.
        seen: called once for each candidate when they are taken in.

    Raises:
        UserError: if the workspace, the store or the folder of videos cannot be used.
        MissingExtraError: without the extra ``studio``.
    """
    try:
        from proctor.studio.auth import Auth
        from proctor.studio.context import Studio
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "studio", "the studio") from None

    workspace = Workspace(root)
    with open_desk(root, database, seed=seed) as desk:
        sync_desk(root, desk, seen=seen, language=settings.language)
        library = _library(workspace, desk)
        layouts, graphs = Layouts(workspace.file("studio") / "drawings"), library.graphs
        threading.Thread(target=layouts.prepare, args=(list(graphs.values()),), daemon=True).start()
        auth = Auth(desk, settings.origin)
        clips = _clip_shop(workspace)
        studio: Studio | None = None
        try:
            studio = Studio(
                desk=desk,
                settings=settings,
                library=library,
                find_video=_video_finder(workspace, videos),
                clips=clips,
                layouts=layouts,
                auth=auth,
                more={"protocol_hash": desk.read(documents.protocol_hash)},
            )
            yield studio
        finally:
            for name in ("snapshots", "beside"):
                if studio is not None and name in studio.more:
                    studio.more[name].close()
            auth.close()
            if clips is not None:
                clips.close()


def _clip_shop(workspace: Workspace) -> ClipShop | None:
    from proctor.studio.clips import ClipShop

    with suppress(MissingExtraError):
        return ClipShop(workspace.file("studio") / "clips")
    return None


def _video_finder(workspace: Workspace, folder: Path | None) -> Callable[[Footage], Path | None]:
    """Return a function that finds the recording of footage; what was found once is remembered."""
    videos = workspace_videos(workspace, folder)
    known: dict[tuple[str, str | None], Path | None] = {}

    def find(footage: Footage) -> Path | None:
        key = (footage.recording, footage.video or None)
        if known.get(key) is None:  # what is not there may come
            try:
                known[key] = videos.find(*key)
            except UserError:
                known[key] = None
        return known[key]

    return find


class Prepared(msgspec.Struct, frozen=True):
    """Clips that were cut.

    Attributes:
        clips: that were wanted.
        ready: how many are there.
        failures: file, moment, and reason.
        without_video: items that have no recording.
    """

    clips: int
    ready: int
    failures: tuple[tuple[str, float, str], ...]
    without_video: int


class Taken(msgspec.Struct, frozen=True):
    """Verdicts that were brought in: in the file, new, dropped by reason; and items that were told again."""

    verdicts: int
    new: int
    dropped: dict[str, int]
    items: int


class Exported(msgspec.Struct, frozen=True):
    """A file that was written, of which kind, with how many rows."""

    file: str
    kind: str
    rows: int


def prepare_clips(
    root: Path,
    *,
    videos: Path | None = None,
    seen: Callable[[], None] | None = None,
) -> Prepared:
    """Have the clip of every candidate, and of every task of an open round, made.

    Args:
        root: of the workspace.
        videos: folder of the recordings; the data set's by default.
        seen: called once for each clip that is ready or has failed.

    Raises:
        UserError: if the workspace cannot be read, or clips cannot be kept.
        MissingExtraError: without the extra ``studio``.
    """
    from proctor.studio.clips import ClipShop, Preparation

    workspace = Workspace(root)
    find = _video_finder(workspace, videos)
    asked = _footage_of_tasks(root)
    questions = (workspace_questions if asked else required_questions)(workspace)
    shown = [(part_of(q, Footage), None) for q in questions] + asked
    found = [(find(part), part.end, part.start, rate) for part, rate in shown if part is not None]
    wanted = [one for one in found if one[0] is not None and one[1] > one[2]]
    told = 0

    def tell(state: Preparation) -> None:
        nonlocal told
        for _ in range(state.ready + state.failed - told):
            if seen is not None:
                seen()
        told = state.ready + state.failed

    with ClipShop(workspace.file("studio") / "clips") as shop:
        done = shop.prepare_all(wanted, seen=tell)
    return Prepared(done.total, done.ready, tuple(done.failures), len(shown) - len(wanted))


def _footage_of_tasks(root: Path) -> list[tuple[Footage | None, Fraction | None]]:
    """Return what is played on the pages of open rounds, and at which rate where every frame has to be shown."""
    if not is_there(Path(desk_target(Workspace(root)))):
        return []
    with open_desk(root, create=False) as desk:
        every = desk.read(lambda c: list(tasks.every_task(c)))
    return [(f, one.kind.rate(one.body)) for one in every if (f := one.kind.footage(one.body)) is not None]


def import_verdicts(root: Path, file: Path, *, database: str | None = None) -> Taken:
    """Bring verdicts from elsewhere in: JSON Lines of verdicts, or the raw rows of another studio.

    Args:
        root: of the workspace.
        file: one verdict in each line (``verify.verdict.Verdict``), or ``proctor studio export rows``.
        database: see ``open_desk``.

    Raises:
        UserError: if the file cannot be read, or a line is no verdict. Nothing is written then.
    """
    given = list(read_verdicts(iter_jsonl(file, dict[str, Any]), str(file)))
    with open_desk(root, database) as desk:
        sync_desk(root, desk)
        taken = take_in(desk, given)
        dropped = Workspace(root).write_dropped("studio.import", taken.dropped)
    return Taken(len(given), taken.new, dropped, taken.items)


def export_desk(root: Path, kind: str, file: Path, *, database: str | None = None) -> Exported:
    """Write what people said to a file: ``published``, ``rows`` or ``csv`` (``studio.exporting``).

    Raises:
        UserError: if there is no such kind, the store cannot be read, or the file cannot be written.
    """
    from proctor.studio.exporting import EXPORTS, write_export

    known = next((k for k in EXPORTS if k == kind), None)
    if known is None:
        raise UserError(f"there is no export '{kind[:40]}'.", hint=did_you_mean(kind, EXPORTS))
    with open_desk(root, database, create=False) as desk:
        rows = write_export(desk, known, file)
    return Exported(str(file), known, rows)


# -- links -----------------------------------------------------------------------------------------------------


def first_link(desk: Desk, origin: str) -> str | None:
    """Return a link under which the first owner makes their account, None when there is an owner already.

    It works once. Every start without an owner makes a new one; older ones stop working.
    """
    from proctor.studio.auth import hash_token, new_token

    everybody = desk.read(lambda c: people.list_people(desk, c, state="active"))
    if any(p.role == "owner" for p in everybody):
        return None
    token = new_token()

    def job(connection: Any) -> None:
        for old in people.list_invites(desk, connection):
            if old.role == "owner" and old.made_by == people.COMMAND_LINE:
                people.revoke_invite(desk, connection, old.pid, actor=people.COMMAND_LINE)
        people.create_invite(desk, connection, hash_token(token), "owner", actor=people.COMMAND_LINE)

    desk.write(job).result()
    return f"{origin}/setup/{token}"


def sign_in_link(desk: Desk, origin: str, handle: str) -> str:
    """Return a link that signs an existing person in once.

    Raises:
        UserError: if there is nobody of that name.
    """
    from proctor.studio.auth import hash_token, new_token

    person, token = _active(desk, handle), new_token()
    desk.write(
        lambda c: people.create_link(desk, c, hash_token(token), person, actor=people.COMMAND_LINE)
    ).result()
    return f"{origin}/start/{token}"


def program_token(desk: Desk, handle: str, scope: str, days: int) -> str:
    """Return a new token for programs that use the HTTP interface in somebody's name; it is shown this once.

    Raises:
        UserError: if there is nobody of that name, or they are no coordinator.
    """
    from proctor.studio.auth import hash_token

    person, secret, actor = _active(desk, handle), tokens.new_secret(), people.COMMAND_LINE
    if not at_least(person.role, "coordinator"):
        raise UserError(f"'{handle}' is {person.role}: only coordinators and owners have tokens.")
    desk.write(lambda c: tokens.create(desk, c, hash_token(secret), person, name="command line", scope=scope, days=days, actor=actor)).result()  # fmt: skip
    return secret


def _active(desk: Desk, handle: str) -> Person:
    """Return who signs in under a name; ``UserError`` if nobody does."""
    person = desk.read(lambda c: people.by_handle(desk, c, handle))
    if person is None or person.state != "active":
        known = [p.handle for p in desk.read(lambda c: people.list_people(desk, c, state="active"))]
        raise UserError(f"there is no account '{handle}'.", hint=did_you_mean(handle, known))
    return person
