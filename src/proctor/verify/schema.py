"""The tables of a store of verdicts, and of the work of people that produces them.

Revision 1 had verdicts alone. Revision 2 adds what the studio needs: people and their sessions, items, assignments,
drafts, responses with their typed rows, cases, and the chain of events. Revision 3 adds what people see of each version of a
candidate. Revision 4 lets items be questions of any kind: what cards look up is in a library, and who may begin, and which
guideline they read, is kept for each kind. Revision 5 adds rounds, revision 6 comments, sign-in by a provider and tokens of
programs, revision 7 which of the provider's sessions a session comes from. Whatever people wrote is appended, never changed: ``verdicts``, ``responses`` with their rows, ``events``. What is void is listed in a table of its own. The rest
is state, which can be told again from those.

Times are float seconds since 1970 (UTC). Ids that others see (``pid``) are random; numbers stay inside.
"""

from __future__ import annotations

from ast import literal_eval
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection, Index, Table

__all__ = ["FIRST_KIND", "SCHEMA_VERSION", "Tables", "tables"]

SCHEMA_VERSION: Final = 7
FIRST_KIND: Final = "moment"
"""Kind of the questions in what was stored before kinds were named."""


class Tables(NamedTuple):
    """All tables; ``meta`` stands first, as ``database.StoreKind`` wants it."""

    meta: Table
    verdicts: Table
    voids: Table
    seen: Table
    people: Table
    sessions: Table
    invites: Table
    documents: Table
    library: Table
    items: Table
    assignments: Table
    drafts: Table
    responses: Table
    question_judgements: Table
    answer_judgements: Table
    own_answers: Table
    cases: Table
    final_answers: Table
    training: Table
    exports: Table
    events: Table
    rounds: Table
    tasks: Table
    batches: Table
    reviews: Table
    platform_ids: Table
    comments: Table
    identities: Table
    tokens: Table


_COLUMNS: Final = {
    "meta": "key text key, value text",
    "verdicts": (
        "sequence bigserial, digest text unique, candidate_id text, annotator text, role text, body text"
    ),
    "voids": "digest text key, at real, actor text, reason text",
    # Of every version of a candidate that was ever here: hash of what people see of it.
    "seen": "candidate_id text key, candidate_hash text key, seen text",
    # One signs in with the handle. State: active, left, withdrawn. By kind: gates (training, waiting, open), and guidelines
    # (the version they have read).
    "people": (
        "id serial, pid text unique, handle text unique, name text, email text ='', role text, state text, "
        "password text ='', consent_version integer =0, settings text ='{}', created_at real, "
        "gates text stored='{}', guidelines text stored='{}'"
    ),
    # Provider session: hash of its `sid` where somebody came by a provider (identities.Claimed), "" where it named none.
    "sessions": (
        "id serial, token_hash text unique, person_id integer, created_at real, seen_at real, "
        "ended_at real null, agent text ='', provider_session text null"
    ),
    # With a person it is a link to sign in, not an invitation.
    "invites": (
        "id serial, token_hash text unique, role text, email text ='', person_id integer null, made_by text, "
        "created_at real, expires_at real, used_at real null"
    ),
    # Kind: guideline (of a kind: guideline/clip), consent, protocol.
    "documents": (
        "id serial, kind text, version integer, body text, sha256 text, made_by text, created_at real, "
        "frozen boolean =False"
    ),
    # What questions name and do not hold. Part: graph, source.
    "library": "part text key, id text key, body text",
    # Body: the question. Stratum: its type. Deals may be even inside of a topic; the title is the topic in words. Wanted: human
    # verdicts, by the policy. Agreement of people: "", same, question, answers. Repeat lot: an item on which people agree is
    # repeated when it is below the share. Place: nobody is shown a later place of a cluster first.
    "items": (
        "id serial, pid text unique, candidate_id text unique, candidate_hash text, body text, stratum text, "
        "cluster text, topic text, title text, wanted integer =0, state text, reason text ='', "
        "agreement text ='', in_training boolean =False, repeat_lot real null, changed_at real, "
        f"kind text stored={FIRST_KIND!r}, place real null"
    ),
    # Either of an item or of a task of a round. Stage: training, judge, adjudicate, task. State: open, submitted, returned,
    # moved, void.
    "assignments": (
        "id serial, pid text unique, item_id integer null, person_id integer, stage text, slot integer, "
        "state text, live boolean, blind_repeat boolean =False, queue_pos integer, "
        "guideline_version integer =0, case_hash text ='', lease_until real null, started_at real null, "
        "submitted_at real null, rev integer =0, active_ms integer =0, reason text ='', created_at real, "
        "task_id integer null, batch_id integer null"
    ),
    "drafts": (
        "assignment_id integer key, sheet text, version integer, client_id text, seq bigint, "
        "active_ms integer =0, saved_at real"
    ),
    "responses": (
        "id serial, assignment_id integer, rev integer, idem_key text, sheet text, schema_version integer, "
        "guideline_version integer, verdict_digest text ='', active_ms integer, created_at real"
    ),
    "question_judgements": "response_id integer key, value text, reasons text ='[]'",
    # Target: place in source order.
    "answer_judgements": "response_id integer key, target integer key, value text",
    "own_answers": "response_id integer key, position integer key, text text",
    "cases": (
        "item_id integer key, case_hash text, open_question boolean, open_answers integer, may_add boolean, "
        "opened_at real, decided_at real null"
    ),
    "final_answers": "item_id integer key, position integer key, text text, source text, approved_by text",
    "training": (
        "item_id integer key, position integer, reference text, explanation text ='', made_by text, "
        "created_at real"
    ),
    "exports": (
        "id serial, pid text unique, kind text, file_name text, sha256 text, rows integer, made_by text, "
        "created_at real"
    ),
    "events": "id bigserial, at real, actor text, kind text, subject text, body text, digest text",
    # State: open, closed.
    "rounds": (
        "id serial, pid text unique, name text unique, kind text, settings text, options text, state text, "
        "made_by text, created_at real"
    ),
    # Cluster: tasks about the same thing, one of them at a time. Role: real, test, attention. Held: somebody could not do it.
    "tasks": (
        "id serial, pid text unique, round_id integer, name text, body text, stratum text, cluster text, "
        "variant text, role text, wanted integer, held boolean =False"
    ),
    # State: open, complete, expired, refused.
    "batches": (
        "id serial, pid text unique, round_id integer, person_id integer, state text, code text, "
        "lease_until real null, created_at real, ended_at real null"
    ),
    # What a reviewer said of a batch or corrected in it; what was submitted stays.
    "reviews": (
        "id serial, batch_id integer, assignment_id integer null, person_id integer, action text, "
        "before text, after text, reason text, created_at real"
    ),
    # What a platform calls its workers: apart from everything else, and not for ever.
    "platform_ids": ("person_id integer key, platform_id text, study text, session text, keep_until real"),
    # About an item or a task of a round. Thread: the person who began it (people.id), each has one of their own; 0 for notes among
    # coordinators. Closed: when a coordinator found it answered.
    "comments": (
        "id serial, pid text unique, item_id integer null, task_id integer null, thread integer, "
        "person_id integer, body text, created_at real, closed_at real null"
    ),
    # Who signs in by OpenID Connect: the provider's address and its name for the person.
    "identities": "id serial, issuer text, subject text, person_id integer, created_at real",
    # Of programs that use the HTTP interface in a person's name. Scope: read, write.
    "tokens": (
        "id serial, pid text unique, token_hash text unique, person_id integer, name text, scope text, "
        "created_at real, expires_at real null, used_at real null, ended_at real null"
    ),
}
"""By table: ``name type [key | unique | null] [=default | stored=default]``; a default is stored where the database itself has it.

A ``serial`` is a key that counts up, and no number comes twice.
"""
_NAMES: Final = {"meta": "proctor_verdicts_meta", "voids": "proctor_verdicts_void"}
"""Tables that are not ``proctor_`` and what we call them."""
_REFERENCES: Final = {
    "item_id": "proctor_items.id",
    "person_id": "proctor_people.id",
    "assignment_id": "proctor_assignments.id",
    "response_id": "proctor_responses.id",
    "task_id": "proctor_tasks.id",
    "batch_id": "proctor_batches.id",
    "round_id": "proctor_rounds.id",
}
"""What a column of this name refers to, in every table."""
_UNIQUE: Final = {
    "documents": ("kind, version",),
    "responses": ("assignment_id, idem_key", "assignment_id, rev"),
    "tasks": ("round_id, name",),
    "identities": ("issuer, subject",),
}
_INDEXES: Final = {
    "verdicts": {"key": "candidate_id, annotator, role"},
    "sessions": {"person": "person_id"},
    "items": {
        "state": "state, stratum, id",
        "stratum": "stratum, id",
        "agreement": "agreement, stratum, id, state",
        "repeats": "state, repeat_lot",
        "cluster": "cluster",
    },
    "assignments": {
        "batch": "batch_id",
        "queue": "person_id, stage, state, queue_pos",
        "place": "person_id, stage, live, queue_pos",
        "item": "item_id, stage",
        "state": "stage, state, person_id",
    },
    "events": {"subject": "subject"},
    "batches": {"person": "person_id, round_id", "round": "round_id, state"},
    "reviews": {"batch": "batch_id"},
    "comments": {"item": "item_id", "task": "task_id", "thread": "thread"},
    "identities": {"person": "person_id"},
    "tokens": {"person": "person_id"},
}
_OF_LIVE: Final = {
    "slot": "item_id, stage, slot",
    "once": "item_id, stage, person_id",
    "task_slot": "task_id, slot",
    "task_once": "task_id, person_id",
}
"""Indexes of assignments over the live ones, each once."""


@cache
def tables() -> Tables:
    """Return the tables at the newest revision."""
    from sqlalchemy import Index, MetaData, Table, UniqueConstraint, event

    metadata = MetaData()
    made: dict[str, Table] = {}
    for table, columns in _COLUMNS.items():
        made[table] = Table(
            _NAMES.get(table, f"proctor_{table}"),
            metadata,
            *map(_column, columns.split(", ")),
            *(UniqueConstraint(*together.split(", ")) for together in _UNIQUE.get(table, ())),
            sqlite_autoincrement="serial" in columns,
        )
        for index, of in _INDEXES.get(table, {}).items():
            Index(f"proctor_{table}_{index}", *(made[table].c[name] for name in of.split(", ")))
    work = made["assignments"]
    for index, of in _OF_LIVE.items():
        live = Index(f"proctor_assignments_{index}", *(work.c[name] for name in of.split(", ")), unique=True)
        event.listen(live, "before_create", _of_live_ones)
    return Tables(**made)


def _column(said: str) -> Column[Any]:
    from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Integer, Text

    name, type_, *more = said.split()
    big = BigInteger().with_variant(Integer, "sqlite")
    types: dict[str, Any] = {
        "serial": Integer, "bigserial": big, "integer": Integer, "bigint": big, "real": Float, "boolean": Boolean, "text": Text,
    }  # fmt: skip
    options: dict[str, Any] = {"nullable": "null" in more}
    if type_.endswith("serial") or "key" in more:
        options = {"primary_key": True, "autoincrement": type_.endswith("serial") or "auto"}
    if "unique" in more:
        options["unique"] = True
    for word in more:
        how, given, default = word.partition("=")
        if given:
            options["server_default" if how else "default"] = literal_eval(default)
    refers = [ForeignKey(_REFERENCES[name])] if name in _REFERENCES else []
    return Column(name, types[type_], *refers, **options)


def _of_live_ones(index: Index, connection: Connection, **_: object) -> None:
    from sqlalchemy import text

    # Said when it is made: named in `tables`, PostgreSQL's dialect would be loaded wherever a file is opened.
    index.dialect_options[connection.dialect.name]["where"] = text("live")
