"""Texts and settings that work is done under: guideline, consent, protocol. Versions are added, never changed."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from sqlalchemy import Connection, Row, func

from proctor.database import Note, fetch_all
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.records import canonical_json
from proctor.said import say, say_in
from proctor.verify.desk.events import add_event
from proctor.verify.desk.people import COMMAND_LINE
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError, Stage
from proctor.verify.schema import FIRST_KIND, tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = [
    "DEFAULT_CONSENT",
    "MAX_BODY",
    "DiffLine",
    "Document",
    "Kind",
    "Protocol",
    "add",
    "at_version",
    "diff",
    "ensure_defaults",
    "freeze",
    "guideline_of",
    "guidelines",
    "in_force",
    "latest",
    "note_in_force",
    "notes",
    "protocol",
    "protocol_hash",
    "set_protocol",
    "unfreeze",
    "versions",
]

Kind: TypeAlias = str
"""``guideline`` (of the first kind; of another ``guideline/KIND``), ``consent`` or ``protocol``."""
MAX_BODY: Final = 200_000
"""Characters of one document."""
_IN_FORCE: Final = Note[Sequence[Any]]("protocol")
"""What ``in_force`` found."""
_NAMES: Final[Mapping[str, str]] = {
    "guideline": say_in("a text of the project", "guideline"),
    "consent": say_in("a text of the project", "consent"),
    "protocol": say_in("a text of the project", "protocol"),
}
DiffLine = tuple[Literal["add", "del", "same"], str]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a text; versions count from 1."""

    kind: Kind
    version: int
    body: str
    sha256: str
    made_by: str
    created_at: float
    frozen: bool = False


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How this project works; the defaults are the published procedure where it says something.

    Attributes:
        per_item: people who judge an item.
        training_required: nobody judges before the training set is done and the gate is open; on in new projects, without
            effect while the set is empty.
        gate: who opens it after training: the ``coordinator``, or it opens by itself (``automatic``).
        pass_at: share of training statements that must match the reference for ``automatic``, in [0, 1].
        reasons: ask why a question is wrong.
        show_settled: adjudicators see answers on which people agreed (this gives machine answers away).
        undo_seconds: how long a submitted sheet can be taken back.
        repeat_share: share of items that a person gets a second time without being told, in [0, 0.5].
        lease_minutes: how long an opened case belongs to one adjudicator.
        frozen_stages: in which submitted sheets can no longer be changed.
    """

    per_item: int = 2
    training_required: bool = False
    gate: Literal["coordinator", "automatic"] = "coordinator"
    pass_at: float = 0.8
    reasons: bool = False
    show_settled: bool = False
    undo_seconds: int = 10
    repeat_share: float = 0.05
    lease_minutes: int = 30
    frozen_stages: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        for name, low, high in _BOUNDS:
            value = getattr(self, name)
            if not low <= value <= high:  # false for NaN as well
                raise ValueError(f"'{name}' must be between {low} and {high}, not {value}")


_BOUNDS: Final = (
    ("per_item", 1, 9),
    ("pass_at", 0.0, 1.0),
    ("undo_seconds", 0, 300),
    ("repeat_share", 0.0, 0.5),
    ("lease_minutes", 1, 24 * 60),
)

_RETIRED: Final = ("store_watched",)
"""Settings that earlier versions wrote and that never had an effect; a project that names one is read without it."""


# -- versions ------------------------------------------------------------------------------------------------


def add(
    desk: Desk,
    connection: Connection,
    kind: Kind,
    body: str,
    *,
    actor: str,
    base: int | None = None,
    note: str = "",
) -> Document:
    """Add a version; the same text again is no new one.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        kind: of the text.
        body: Markdown; JSON for the protocol.
        actor: pid of who made it.
        base: version that the editor started from; None for no check.
        note: what changed, for the list of versions.

    Raises:
        ConflictError: if somebody has added a version since ``base``, or the last one is frozen.
        InvalidError: if the text is empty or too long.
    """
    text = body.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").strip() + "\n"
    if not 1 < len(text) <= MAX_BODY:
        raise InvalidError([("body", say("Write something, at most {most:,} characters.", most=MAX_BODY))])
    last = latest(connection, kind)
    number = 0 if last is None else last.version
    if base is not None and base != number:
        raise ConflictError(
            say("Version {version} has come out while you were writing.", version=number), version=number
        )
    if last is not None and last.body == text:
        return last
    if last is not None and last.frozen:
        raise ConflictError(
            say("The {kind} is frozen at version {version}.", kind=_NAMES.get(kind, kind), version=number),
            version=number,
        )
    digest = hashlib.sha256(text.encode()).hexdigest()
    made = Document(
        kind=kind, version=number + 1, body=text, sha256=digest, made_by=actor, created_at=desk.now()
    )
    connection.execute(tables().documents.insert(), msgspec.structs.asdict(made))
    _IN_FORCE.put(connection, None)
    add_event(desk, connection, "document", kind, actor, version=number + 1, sha256=digest, note=note[:500])
    return made


def latest(connection: Connection, kind: Kind) -> Document | None:
    """Return the version in force, None before there is one."""
    table = tables().documents
    query = table.select().where(table.c.kind == kind).order_by(table.c.version.desc()).limit(1)
    return _document(connection.execute(query).first())


def at_version(connection: Connection, kind: Kind, version: int) -> Document | None:
    """Return one version, None if there is none."""
    table = tables().documents
    query = table.select().where(table.c.kind == kind, table.c.version == version)
    return _document(connection.execute(query).first())


def versions(connection: Connection, kind: Kind) -> list[Document]:
    """Return all versions, newest first."""
    table = tables().documents
    rows = connection.execute(table.select().where(table.c.kind == kind).order_by(table.c.version.desc()))
    return [found for row in rows if (found := _document(row)) is not None]


def notes(connection: Connection, kind: Kind) -> dict[int, str]:
    """Return what authors said about their versions."""
    table = tables().events
    query = table.select().where(table.c.subject == kind, table.c.kind == "document")
    bodies = (msgspec.json.decode(row.body) for row in connection.execute(query))
    return {body["version"]: body["note"] for body in bodies if body["note"]}


def freeze(desk: Desk, connection: Connection, kind: Kind, *, actor: str) -> None:
    """Let the version in force be the last one until ``unfreeze``.

    Raises:
        GoneError: if there is none.
    """
    _set_frozen(desk, connection, kind, actor, frozen=True)


def unfreeze(desk: Desk, connection: Connection, kind: Kind, *, actor: str) -> None:
    """Allow new versions again.

    Raises:
        GoneError: if there is none.
    """
    _set_frozen(desk, connection, kind, actor, frozen=False)


def guideline_of(kind: str) -> Kind:
    """Return the name of the guideline for a kind of questions."""
    return "guideline" if kind == FIRST_KIND else f"guideline/{kind}"


def guidelines(connection: Connection) -> dict[str, int]:
    """Return the version in force of every kind's guideline, by kind, that of the first kind first."""
    t = tables().documents
    query = t.select().with_only_columns(t.c.kind, func.max(t.c.version)).group_by(t.c.kind)
    found = {str(name): int(version) for name, version in connection.execute(query.order_by(t.c.kind))}
    names = {name: FIRST_KIND if name == "guideline" else name.removeprefix("guideline/") for name in found}
    return {kind: found[name] for name, kind in names.items() if name == guideline_of(kind)}


def ensure_defaults(
    desk: Desk, connection: Connection, kinds: Iterable[str] = (FIRST_KIND,), *, language: str = "en"
) -> None:
    """Give a new project a guideline for each kind of questions, a consent text and a protocol; those that exist are left alone.

    Args:
        desk: of the store.
        connection: in a writing transaction.
        kinds: of the questions.
        language: of the texts; English where there is none in it.
    """
    for kind in kinds:
        if latest(connection, guideline_of(kind)) is None:
            text = _in_language(kind_named(kind).judging.guideline, language)
            add(desk, connection, guideline_of(kind), text, actor=COMMAND_LINE)
    if latest(connection, "consent") is None:
        add(desk, connection, "consent", _in_language(DEFAULT_CONSENT, language), actor=COMMAND_LINE)
    if latest(connection, "protocol") is None:
        set_protocol(desk, connection, Protocol(training_required=True), actor=COMMAND_LINE)


def _in_language(text: str, language: str) -> str:
    if language != "de":
        return text
    from proctor.verify.desk.german import IN_GERMAN  # long, and wanted once in the life of a project

    return IN_GERMAN.get(text, text)


# -- what changed --------------------------------------------------------------------------------------------


def diff(old: str, new: str, *, context: int = 3) -> tuple[DiffLine, ...]:
    """Return the lines that changed between two texts, with unchanged ones around them; () when nothing did.

    Args:
        old: text before.
        new: text after.
        context: unchanged lines shown around a change; a line ``…`` stands for what was left out between changes.
    """
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines: list[DiffLine] = []
    for group in matcher.get_grouped_opcodes(context):
        if lines:
            lines.append(("same", "…"))
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += _lines("same", before[i:j])
            else:
                lines += _lines("del", before[i:j]) + _lines("add", after[k:m])
    return tuple(lines)


def _lines(tag: Literal["add", "del", "same"], texts: Sequence[str]) -> list[DiffLine]:
    return [(tag, text) for text in texts]


# -- the protocol --------------------------------------------------------------------------------------------


def protocol(connection: Connection) -> Protocol:
    """Return the protocol in force; the defaults before one was set.

    Raises:
        UserError: if what is stored cannot be read (by this version).
    """
    rows = _IN_FORCE.get(connection)  # writes that share a transaction ask once
    if rows is None:
        rows = fetch_all(connection, in_force())
        note_in_force(connection, rows)
    if not rows:
        return Protocol()
    found = rows[0]
    try:
        return _parse_protocol(found.body)
    except (msgspec.DecodeError, ValueError) as error:
        raise UserError(
            f"the protocol of this project cannot be read: {error}.",
            where=f"protocol, version {found.version}",
            hint="was it written by a newer Proctor?",
        ) from error


def _parse_protocol(body: str) -> Protocol:
    stored = msgspec.json.decode(body)
    if isinstance(stored, dict):
        stored = {name: value for name, value in stored.items() if name not in _RETIRED}
    return msgspec.convert(stored, Protocol)


def set_protocol(
    desk: Desk, connection: Connection, settings: Protocol, *, actor: str, base: int | None = None
) -> Document:
    """Keep a version of the protocol; see ``add``."""
    body = msgspec.json.format(canonical_json(settings), indent=2).decode()
    return add(desk, connection, "protocol", body, actor=actor, base=base)


def protocol_hash(connection: Connection) -> str:
    """Return the first 8 hex digits of the protocol's SHA-256, for the foot of a print; "" before there is one."""
    found = latest(connection, "protocol")
    return "" if found is None else found.sha256[:8]


def note_in_force(connection: Connection, rows: Sequence[Any]) -> None:
    """Note what ``in_force`` found, for the rest of this transaction."""
    _IN_FORCE.put(connection, rows)


@cache
def in_force() -> Any:
    """Return the query for the protocol in force; every write asks, so it is made once."""
    t = tables().documents
    query = t.select().with_only_columns(t.c.version, t.c.body).where(t.c.kind == "protocol")
    return query.order_by(t.c.version.desc()).limit(1)


# -- inside --------------------------------------------------------------------------------------------------


def _document(row: Row[Any] | None) -> Document | None:
    if row is None:
        return None
    return Document(
        kind=row.kind,
        version=row.version,
        body=row.body,
        sha256=row.sha256,
        made_by=row.made_by,
        created_at=row.created_at,
        frozen=bool(row.frozen),
    )


def _set_frozen(desk: Desk, connection: Connection, kind: Kind, actor: str, *, frozen: bool) -> None:
    last = latest(connection, kind)
    if last is None:
        raise GoneError
    if last.frozen == frozen:
        return
    table = tables().documents
    where = (table.c.kind == kind) & (table.c.version == last.version)
    connection.execute(table.update().where(where).values(frozen=frozen))
    add_event(
        desk,
        connection,
        "document-frozen" if frozen else "document-thawed",
        kind,
        actor,
        version=last.version,
    )


DEFAULT_CONSENT: Final = """\
Please read this before you begin. If anything is unclear, ask the person who invited you.

# What you will do

You watch short clips of people carrying out a procedure, and judge questions and answers about them. You may take
breaks whenever you like.

# What we keep

- Your judgements, the answers and notes that you write, when you submitted them, and how long you were active on
  each item.
- Your sign-in name, your display name and, if you gave one, your e-mail address. They are kept apart from your
  judgements, which carry a random code instead.

# What may be published

Judgements and the answers that you write may be released as part of a public data set for research, under the random
code and never under your name. Please write nothing about yourself or about other people into answers and notes.

# Your rights

Taking part is voluntary. You can stop at any time without giving a reason. You can withdraw your consent on the page
*My account*: your name, sign-in name and e-mail address are then removed and your judgements are no longer used. What
was published before that cannot be called back.

# The people in the clips

They agreed to be recorded for research. Do not copy, share or describe what they look like.
"""
