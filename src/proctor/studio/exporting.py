"""What leaves the studio: the published file, raw rows, a table. People appear under their random ids alone.

Names, addresses, passwords, sessions and links are in none of them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Connection

from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.question import proposed_texts, type_of
from proctor.records import atomic_write, canonical_json, file_sha256
from proctor.release.build import RULES, build_items
from proctor.release.promqa import export_promqa, render_promqa
from proctor.said import say
from proctor.spreadsheet import safe_cell
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.items import iter_questions
from proctor.verify.desk.records import GoneError, InvalidError, gate_in
from proctor.verify.schema import FIRST_KIND, tables
from proctor.verify.store import latest_verdicts, unfinished_items

__all__ = ["EXPORTS", "Export", "ExportKind", "list_exports", "make_export", "write_export"]

ExportKind = Literal["published", "rows", "csv"]

EXPORTS: Final[dict[ExportKind, tuple[str, str, str]]] = {
    "published": (
        say("Published shape (JSON)"),
        say(
            "accepted items as ProMQA publishes them: judges, adjudication, answers with who wrote and approved them"
        ),
        "json",
    ),
    "rows": (
        say("Raw rows (JSON Lines)"),
        say("every response, verdict, case, final answer and event, void ones too, to compute anything from"),
        "jsonl",
    ),
    "csv": (
        say("Judgements (CSV)"),
        say("one line for each judgement of a question or an answer, for a spreadsheet"),
        "csv",
    ),
}
"""Kinds of exports: what they are called, what is in them, and how their files end."""

_NEVER: Final = frozenset({"password", "email", "handle", "name", "settings", "token_hash", "idem_key"})
_OUTSIDE: Final = {"cluster": "recording_id"}
"""Columns that the rows call as they always did."""
_PEOPLE: Final = ("pid", "role", "state", "gates", "consent_version", "guidelines", "created_at")


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was made.

    Attributes:
        pid: in its address.
        kind: see ``EXPORTS``.
        file_name: for whoever downloads it.
        sha256: of the file.
        rows: items or lines.
        made_by: pid of who asked for it.
        created_at: seconds since 1970.
    """

    pid: str
    kind: ExportKind
    file_name: str
    sha256: str
    rows: int
    made_by: str
    created_at: float


def make_export(desk: Desk, kind: str, folder: Path, *, actor: str, project: str = "project") -> Export:
    """Write an export into a folder, list it, and return what is listed.

    Args:
        desk: the desk.
        kind: see ``EXPORTS``.
        folder: the file is named by a random id there.
        actor: pid of who asks.
        project: its name becomes part of the file's name.

    Raises:
        InvalidError: if there is no such kind.
        UserError: if the file cannot be written, or nothing is accepted yet (``published``).
    """
    known = next((k for k in EXPORTS if k == kind), None)
    if known is None:
        raise InvalidError([("kind", say("Choose what to export."))])
    pid, ending = new_pid(), EXPORTS[known][2]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pid}.{ending}"
    rows = write_export(desk, known, path)
    now = desk.now()
    export = Export(
        pid=pid,
        kind=known,
        file_name=f"{_slug(project)}-{known}-{pid[:6]}.{ending}",
        sha256=file_sha256(path),
        rows=rows,
        made_by=actor,
        created_at=now,
    )

    def note(connection: Connection) -> None:
        row = {name: getattr(export, name) for name in Export.__slots__}
        connection.execute(tables().exports.insert(), row)
        add_event(desk, connection, "export", pid, actor, what=known, rows=rows, sha256=export.sha256)

    desk.write(note).result()
    return export


def list_exports(connection: Connection) -> list[Export]:
    """Return the exports that were made, newest first."""
    t = tables().exports
    columns = [t.c[name] for name in Export.__slots__]
    query = t.select().with_only_columns(*columns).order_by(t.c.id.desc()).limit(100)
    return [Export(*row) for row in connection.execute(query)]


def find_export(connection: Connection, pid: str) -> Export:
    """Return an export by its id.

    Raises:
        GoneError: if there is none.
    """
    t = tables().exports
    columns = [t.c[name] for name in Export.__slots__]
    row = connection.execute(t.select().with_only_columns(*columns).where(t.c.pid == pid)).first()
    if row is None:
        raise GoneError
    return Export(*row)


def write_export(desk: Desk, kind: ExportKind, path: Path) -> int:
    """Write an export to a file, whole or not at all, and return how many items or lines it has."""
    with desk.reading() as connection:
        if kind == "published":
            return _write_published(desk, connection, path)
        if kind == "rows":
            return _write_rows(connection, path)
        return _write_csv(connection, path)


# -- the published shape ---------------------------------------------------------------------------------------


def _write_published(desk: Desk, connection: Connection, path: Path) -> int:
    questions = [q for q in iter_questions(connection) if q.kind == MOMENT]
    named = {q.id for q in questions}
    verdicts = [v for v in latest_verdicts(connection) if v.candidate_id in named]
    rules, waiting = RULES["humans"], unfinished_items(connection)
    items, _ = build_items(questions, verdicts, rules, seed=desk.seed, unfinished=waiting)
    people = [v for v in verdicts if v.annotator_kind == "human"]
    objects = export_promqa(items, questions, people, order="blind", seed=desk.seed)
    with atomic_write(path) as stream:
        stream.write(render_promqa(objects))
    return len(items)


# -- raw rows --------------------------------------------------------------------------------------------------


def _write_rows(connection: Connection, path: Path) -> int:
    count = 0
    with atomic_write(path) as stream:
        for line in _rows(connection):
            stream.write(canonical_json(line) + b"\n")
            count += 1
    return count


def _rows(connection: Connection) -> Iterator[dict[str, Any]]:
    t = tables()
    by_person = {row.id: row.pid for row in connection.execute(t.people.select())}
    by_item = {row.id: row.candidate_id for row in connection.execute(_only(t.items, "id", "candidate_id"))}
    for person in connection.execute(_only(t.people, "id", *_PEOPLE)):
        yield _person(person)
    items = (
        "pid",
        "candidate_id",
        "candidate_hash",
        "stratum",
        "cluster",
        "state",
        "wanted",
        "agreement",
        "kind",
    )
    for item in _stream(connection, _only(t.items, "id", *items)):
        known = {_OUTSIDE.get(name, name): getattr(item, name) for name in items}
        if known["kind"] == FIRST_KIND:
            del known["kind"]
        yield {"table": "item", **known}
    for name, table in (
        ("assignment", t.assignments),
        ("response", t.responses),
        ("question_judgement", t.question_judgements),
        ("answer_judgement", t.answer_judgements),
        ("own_answer", t.own_answers),
        ("case", t.cases),
        ("final_answer", t.final_answers),
        ("training", t.training),
        ("void", t.voids),
        ("event", t.events),
        ("round", t.rounds),
        ("task", t.tasks),
        ("batch", t.batches),
        ("review", t.reviews),
    ):
        for row in _stream(connection, table.select().order_by(*table.primary_key.columns)):
            never = frozenset[str]() if name in ("round", "task") else _NEVER
            yield {"table": name, **_plain(row, by_person, by_item, never)}
    for row in _stream(connection, t.comments.select().order_by(t.comments.c.id)):
        known = _plain(row, by_person, by_item, _NEVER | {"body", "thread"})
        yield {"table": "comment", **known, "thread": by_person.get(row.thread), "text": row.body}
    for row in _stream(connection, t.verdicts.select().order_by(t.verdicts.c.sequence)):
        body = msgspec.json.decode(row.body)
        yield {"table": "verdict", "sequence": row.sequence, "digest": row.digest, "verdict": body}


def _person(row: Any) -> dict[str, Any]:
    """Return a person as rows have them; gates and guidelines of other kinds than the first stand beside."""
    gates, read = msgspec.json.decode(row.gates), msgspec.json.decode(row.guidelines)
    more = {} if {*gates, *read} <= {"", FIRST_KIND} else {"gates": gates, "guidelines": read}
    known = {name: getattr(row, name) for name in _PEOPLE if name not in ("gates", "guidelines")}
    of_first = {"gate": gate_in(gates), "guideline_version": read.get(FIRST_KIND, 0)}
    return {"table": "person", **known, **of_first, **more}


def _only(table: Any, *names: str) -> Any:
    return table.select().with_only_columns(*(table.c[n] for n in names)).order_by(table.c.id)


def _stream(connection: Connection, query: Any) -> Any:
    return connection.execute(query.execution_options(yield_per=2_000))


def _plain(row: Any, people: dict[int, str], items: dict[int, str], never: frozenset[str]) -> dict[str, Any]:
    """Return a row with people and items under the ids that the outside knows, texts that are JSON as values."""
    plain: dict[str, Any] = {}
    for name, value in row._mapping.items():
        if name in never or (value is None and name in ("task_id", "batch_id")):
            continue  # what was judged in verification belongs to no round
        if name == "person_id":
            plain["person"] = people.get(value)
        elif name == "item_id":
            plain["candidate_id"] = items.get(value)
        elif name in ("sheet", "body", "reasons", "reference", "options", "settings"):
            plain[name] = msgspec.json.decode(value)
        else:
            plain[name] = value
    return plain


# -- a table ---------------------------------------------------------------------------------------------------


_COLUMNS: Final = (
    "candidate",
    "type",
    "recording",
    "annotator",
    "kind",
    "role",
    "at",
    "what",
    "text",
    "judgement",
    "reason",
)


def _write_csv(connection: Connection, path: Path) -> int:
    questions = {q.id: q for q in iter_questions(connection)}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(_COLUMNS)
    count = 0
    for verdict in latest_verdicts(connection):
        question = questions.get(verdict.candidate_id)
        if question is None:
            continue
        about: tuple[str, ...] = (
            question.id,
            type_of(question),
            question.cluster,
            verdict.annotator,
            verdict.annotator_kind,
            verdict.role,
            verdict.at,
        )
        lines = [("question", question.text, verdict.question.value, verdict.question.reason)]
        if verdict.role == "annotator":
            lines += [
                (f"answer {n + 1}", text, said.value, said.reason)
                for n, (text, said) in enumerate(zip(proposed_texts(question), verdict.answers, strict=False))
            ]
        lines += [("own answer", text, "right", "") for text in verdict.own_answers]
        writer.writerows([[safe_cell(cell) for cell in (*about, *line)] for line in lines])
        count += len(lines)
    with atomic_write(path) as stream:
        stream.write(buffer.getvalue().encode("utf-8"))
    return count


def _slug(text: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(filter(None, kept.split("-")))[:40] or "project"
