"""The tables of a store of verdicts, and of the work of people that produces them.

Revision 1 had verdicts alone. Revision 2 adds what the studio needs: people and their sessions, items, assignments,
drafts, responses with their typed rows, cases, and the chain of events. Revision 3 adds what people see of each version of a
candidate. Revision 4 lets items be questions of any kind: what cards look up is in a library, and who may begin, and which
guideline they read, is kept for each kind. Whatever people wrote is appended, never changed: ``verdicts``, ``responses`` with their rows, ``events``. What is void is listed in a table of its own. The rest
is state, which can be told again from those.

Times are float seconds since 1970 (UTC). Ids that others see (``pid``) are random; numbers stay inside.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Connection, Index, MetaData, Table

__all__ = ["FIRST_KIND", "SCHEMA_VERSION", "Tables", "tables"]

SCHEMA_VERSION: Final = 5
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


@cache
def tables() -> Tables:
    """Return the tables at the newest revision."""
    from sqlalchemy import MetaData

    metadata = MetaData()
    meta, verdicts = _verdict_tables(metadata)
    people = _people_tables(metadata)
    return Tables(meta, verdicts, *people, *_work_tables(metadata), *_round_tables(metadata))


def _verdict_tables(metadata: MetaData) -> tuple[Table, Table]:
    from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

    meta = Table(
        "proctor_verdicts_meta",
        metadata,
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
    )
    verdicts = Table(
        "proctor_verdicts",
        metadata,
        Column(
            "sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        Column("digest", Text, nullable=False, unique=True),
        Column("candidate_id", Text, nullable=False),
        Column("annotator", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("body", Text, nullable=False),
        sqlite_autoincrement=True,
    )
    Index("proctor_verdicts_key", verdicts.c.candidate_id, verdicts.c.annotator, verdicts.c.role)
    return meta, verdicts


def _people_tables(metadata: MetaData) -> tuple[Table, ...]:
    from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

    voids = Table(
        "proctor_verdicts_void",
        metadata,
        Column("digest", Text, primary_key=True),
        Column("at", Float, nullable=False),
        Column("actor", Text, nullable=False),
        Column("reason", Text, nullable=False),
    )
    seen = Table(  # of every version of a candidate that was ever here: hash of what people see of it
        "proctor_seen",
        metadata,
        Column("candidate_id", Text, primary_key=True),
        Column("candidate_hash", Text, primary_key=True),
        Column("seen", Text, nullable=False),
    )
    people = Table(
        "proctor_people",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("handle", Text, nullable=False, unique=True),  # what one signs in with
        Column("name", Text, nullable=False),
        Column("email", Text, nullable=False, default=""),
        Column("role", Text, nullable=False),
        Column("state", Text, nullable=False),  # active, left, withdrawn
        Column("password", Text, nullable=False, default=""),
        Column("consent_version", Integer, nullable=False, default=0),
        Column("settings", Text, nullable=False, default="{}"),
        Column("created_at", Float, nullable=False),
        Column("gates", Text, nullable=False, server_default="{}"),  # by kind: training, waiting, open
        Column(
            "guidelines", Text, nullable=False, server_default="{}"
        ),  # by kind: the version they have read
        sqlite_autoincrement=True,
    )
    sessions = Table(
        "proctor_sessions",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("token_hash", Text, nullable=False, unique=True),
        Column("person_id", Integer, ForeignKey("proctor_people.id"), nullable=False),
        Column("created_at", Float, nullable=False),
        Column("seen_at", Float, nullable=False),
        Column("ended_at", Float),
        Column("agent", Text, nullable=False, default=""),
        sqlite_autoincrement=True,
    )
    Index("proctor_sessions_person", sessions.c.person_id)
    invites = Table(
        "proctor_invites",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("token_hash", Text, nullable=False, unique=True),
        Column("role", Text, nullable=False),
        Column("email", Text, nullable=False, default=""),
        Column("person_id", Integer, ForeignKey("proctor_people.id")),  # a link to sign in, not an invitation
        Column("made_by", Text, nullable=False),
        Column("created_at", Float, nullable=False),
        Column("expires_at", Float, nullable=False),
        Column("used_at", Float),
        sqlite_autoincrement=True,
    )
    documents = Table(
        "proctor_documents",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("kind", Text, nullable=False),  # guideline (of a kind: guideline/clip), consent, protocol
        Column("version", Integer, nullable=False),
        Column("body", Text, nullable=False),
        Column("sha256", Text, nullable=False),
        Column("made_by", Text, nullable=False),
        Column("created_at", Float, nullable=False),
        Column("frozen", Boolean, nullable=False, default=False),
        UniqueConstraint("kind", "version"),
        sqlite_autoincrement=True,
    )
    return voids, seen, people, sessions, invites, documents


def _work_tables(metadata: MetaData) -> tuple[Table, ...]:
    from sqlalchemy import (
        BigInteger,
        Boolean,
        Column,
        Float,
        ForeignKey,
        Index,
        Integer,
        Table,
        Text,
        UniqueConstraint,
        event,
        text,
    )

    library = Table(  # what questions name and do not hold
        "proctor_library",
        metadata,
        Column("part", Text, primary_key=True),  # graph, source
        Column("id", Text, primary_key=True),
        Column("body", Text, nullable=False),
    )
    items = Table(
        "proctor_items",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("candidate_id", Text, nullable=False, unique=True),
        Column("candidate_hash", Text, nullable=False),
        Column("body", Text, nullable=False),  # the question
        Column("stratum", Text, nullable=False),  # the question's type
        Column("cluster", Text, nullable=False),
        Column("topic", Text, nullable=False),  # what deals may be even inside of
        Column("title", Text, nullable=False),  # the topic in words
        Column("wanted", Integer, nullable=False, default=0),  # human verdicts, by the policy
        Column("state", Text, nullable=False),
        Column("reason", Text, nullable=False, default=""),
        Column("agreement", Text, nullable=False, default=""),  # of people: "", same, question, answers
        Column("in_training", Boolean, nullable=False, default=False),
        Column("repeat_lot", Float),  # of an item on which people agree: it is repeated when below the share
        Column("changed_at", Float, nullable=False),
        Column("kind", Text, nullable=False, server_default=FIRST_KIND),
        Column("place", Float),  # nobody is shown a later place of a cluster first
        sqlite_autoincrement=True,
    )
    Index("proctor_items_state", items.c.state, items.c.stratum, items.c.id)
    Index("proctor_items_stratum", items.c.stratum, items.c.id)
    Index("proctor_items_agreement", items.c.agreement, items.c.stratum, items.c.id, items.c.state)
    Index("proctor_items_repeats", items.c.state, items.c.repeat_lot)
    Index("proctor_items_cluster", items.c.cluster)
    assignments = Table(
        "proctor_assignments",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("item_id", Integer, ForeignKey("proctor_items.id")),  # None for a task of a round
        Column("person_id", Integer, ForeignKey("proctor_people.id"), nullable=False),
        Column("stage", Text, nullable=False),  # training, judge, adjudicate, task
        Column("slot", Integer, nullable=False),
        Column("state", Text, nullable=False),  # open, submitted, returned, moved, void
        Column("live", Boolean, nullable=False),
        Column("blind_repeat", Boolean, nullable=False, default=False),
        Column("queue_pos", Integer, nullable=False),
        Column("guideline_version", Integer, nullable=False, default=0),
        Column("case_hash", Text, nullable=False, default=""),
        Column("lease_until", Float),
        Column("started_at", Float),
        Column("submitted_at", Float),
        Column("rev", Integer, nullable=False, default=0),
        Column("active_ms", Integer, nullable=False, default=0),
        Column("reason", Text, nullable=False, default=""),
        Column("created_at", Float, nullable=False),
        Column("task_id", Integer, ForeignKey("proctor_tasks.id")),
        Column("batch_id", Integer, ForeignKey("proctor_batches.id")),
        sqlite_autoincrement=True,
    )

    def of_live_ones(index: Index, connection: Connection, **_: object) -> None:
        # Said when it is made: named here, PostgreSQL's dialect would be loaded wherever a file is opened.
        index.dialect_options[connection.dialect.name]["where"] = text("live")

    place = (assignments.c.item_id, assignments.c.stage)
    for name, last in (("slot", assignments.c.slot), ("once", assignments.c.person_id)):
        for index in (
            Index(f"proctor_assignments_{name}", *place, last, unique=True),
            Index(f"proctor_assignments_task_{name}", assignments.c.task_id, last, unique=True),
        ):
            event.listen(index, "before_create", of_live_ones)
    Index("proctor_assignments_batch", assignments.c.batch_id)
    Index(
        "proctor_assignments_queue",
        assignments.c.person_id,
        assignments.c.stage,
        assignments.c.state,
        assignments.c.queue_pos,
    )
    Index(
        "proctor_assignments_place",
        assignments.c.person_id,
        assignments.c.stage,
        assignments.c.live,
        assignments.c.queue_pos,
    )
    Index("proctor_assignments_item", assignments.c.item_id, assignments.c.stage)
    Index("proctor_assignments_state", assignments.c.stage, assignments.c.state, assignments.c.person_id)
    drafts = Table(
        "proctor_drafts",
        metadata,
        Column("assignment_id", Integer, ForeignKey("proctor_assignments.id"), primary_key=True),
        Column("sheet", Text, nullable=False),
        Column("version", Integer, nullable=False),
        Column("client_id", Text, nullable=False),
        Column("seq", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
        Column("active_ms", Integer, nullable=False, default=0),
        Column("saved_at", Float, nullable=False),
    )
    responses = Table(
        "proctor_responses",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("assignment_id", Integer, ForeignKey("proctor_assignments.id"), nullable=False),
        Column("rev", Integer, nullable=False),
        Column("idem_key", Text, nullable=False),
        Column("sheet", Text, nullable=False),
        Column("schema_version", Integer, nullable=False),
        Column("guideline_version", Integer, nullable=False),
        Column("verdict_digest", Text, nullable=False, default=""),
        Column("active_ms", Integer, nullable=False),
        Column("created_at", Float, nullable=False),
        UniqueConstraint("assignment_id", "idem_key"),
        UniqueConstraint("assignment_id", "rev"),
        sqlite_autoincrement=True,
    )
    question_judgements = Table(
        "proctor_question_judgements",
        metadata,
        Column("response_id", Integer, ForeignKey("proctor_responses.id"), primary_key=True),
        Column("value", Text, nullable=False),
        Column("reasons", Text, nullable=False, default="[]"),
    )
    answer_judgements = Table(
        "proctor_answer_judgements",
        metadata,
        Column("response_id", Integer, ForeignKey("proctor_responses.id"), primary_key=True),
        Column("target", Integer, primary_key=True, autoincrement=False),  # place in source order
        Column("value", Text, nullable=False),
    )
    own_answers = Table(
        "proctor_own_answers",
        metadata,
        Column("response_id", Integer, ForeignKey("proctor_responses.id"), primary_key=True),
        Column("position", Integer, primary_key=True, autoincrement=False),
        Column("text", Text, nullable=False),
    )
    cases = Table(
        "proctor_cases",
        metadata,
        Column("item_id", Integer, ForeignKey("proctor_items.id"), primary_key=True),
        Column("case_hash", Text, nullable=False),
        Column("open_question", Boolean, nullable=False),
        Column("open_answers", Integer, nullable=False),
        Column("may_add", Boolean, nullable=False),
        Column("opened_at", Float, nullable=False),
        Column("decided_at", Float),
    )
    final_answers = Table(
        "proctor_final_answers",
        metadata,
        Column("item_id", Integer, ForeignKey("proctor_items.id"), primary_key=True),
        Column("position", Integer, primary_key=True, autoincrement=False),
        Column("text", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("approved_by", Text, nullable=False),
    )
    training = Table(
        "proctor_training",
        metadata,
        Column("item_id", Integer, ForeignKey("proctor_items.id"), primary_key=True),
        Column("position", Integer, nullable=False),
        Column("reference", Text, nullable=False),
        Column("explanation", Text, nullable=False, default=""),
        Column("made_by", Text, nullable=False),
        Column("created_at", Float, nullable=False),
    )
    exports = Table(
        "proctor_exports",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("kind", Text, nullable=False),
        Column("file_name", Text, nullable=False),
        Column("sha256", Text, nullable=False),
        Column("rows", Integer, nullable=False),
        Column("made_by", Text, nullable=False),
        Column("created_at", Float, nullable=False),
        sqlite_autoincrement=True,
    )
    events = Table(
        "proctor_events",
        metadata,
        Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("at", Float, nullable=False),
        Column("actor", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("digest", Text, nullable=False),
        sqlite_autoincrement=True,
    )
    Index("proctor_events_subject", events.c.subject)
    return (
        library,
        items,
        assignments,
        drafts,
        responses,
        question_judgements,
        answer_judgements,
        own_answers,
        cases,
        final_answers,
        training,
        exports,
        events,
    )


def _round_tables(metadata: MetaData) -> tuple[Table, ...]:
    from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

    rounds = Table(
        "proctor_rounds",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("name", Text, nullable=False, unique=True),
        Column("kind", Text, nullable=False),
        Column("settings", Text, nullable=False),
        Column("options", Text, nullable=False),
        Column("state", Text, nullable=False),  # open, closed
        Column("made_by", Text, nullable=False),
        Column("created_at", Float, nullable=False),
        sqlite_autoincrement=True,
    )
    tasks = Table(
        "proctor_tasks",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("round_id", Integer, ForeignKey("proctor_rounds.id"), nullable=False),
        Column("name", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("stratum", Text, nullable=False),
        Column("cluster", Text, nullable=False),  # tasks about the same thing: one of them at a time
        Column("variant", Text, nullable=False),
        Column("role", Text, nullable=False),  # real, test, attention
        Column("wanted", Integer, nullable=False),
        Column("held", Boolean, nullable=False, default=False),  # somebody could not do it
        UniqueConstraint("round_id", "name"),
        sqlite_autoincrement=True,
    )
    batches = Table(
        "proctor_batches",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("pid", Text, nullable=False, unique=True),
        Column("round_id", Integer, ForeignKey("proctor_rounds.id"), nullable=False),
        Column("person_id", Integer, ForeignKey("proctor_people.id"), nullable=False),
        Column("state", Text, nullable=False),  # open, complete, expired, refused
        Column("code", Text, nullable=False),
        Column("lease_until", Float),
        Column("created_at", Float, nullable=False),
        Column("ended_at", Float),
        sqlite_autoincrement=True,
    )
    Index("proctor_batches_person", batches.c.person_id, batches.c.round_id)
    Index("proctor_batches_round", batches.c.round_id, batches.c.state)
    reviews = Table(  # what a reviewer said of a batch or corrected in it; what was submitted stays
        "proctor_reviews",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("batch_id", Integer, ForeignKey("proctor_batches.id"), nullable=False),
        Column("assignment_id", Integer, ForeignKey("proctor_assignments.id")),
        Column("person_id", Integer, ForeignKey("proctor_people.id"), nullable=False),
        Column("action", Text, nullable=False),
        Column("before", Text, nullable=False),
        Column("after", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("created_at", Float, nullable=False),
        sqlite_autoincrement=True,
    )
    Index("proctor_reviews_batch", reviews.c.batch_id)
    platform_ids = Table(  # what a platform calls its workers: apart from everything else, and not for ever
        "proctor_platform_ids",
        metadata,
        Column("person_id", Integer, ForeignKey("proctor_people.id"), primary_key=True),
        Column("platform_id", Text, nullable=False),
        Column("study", Text, nullable=False),
        Column("session", Text, nullable=False),
        Column("keep_until", Float, nullable=False),
    )
    return rounds, tasks, batches, reviews, platform_ids
