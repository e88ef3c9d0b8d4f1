"""Rounds, their tasks and batches."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from proctor.verify.rounds.form import Field

__all__ = ["Batch", "BatchState", "QuizItem", "Reading", "Round", "RoundSettings", "Task", "TaskRole"]

TaskRole = Literal["real", "test", "attention"]
"""``test``: its right answer is known; ``attention``: it says itself what to answer. Both look like every other task."""
BatchState = Literal["open", "complete", "expired", "refused"]
"""``expired``: its time ran out; ``refused``: a reviewer set it aside, and its ratings do not count."""


class QuizItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of the quiz on the instructions: a field of a form, its right answer, and why."""

    field: Field
    right: str
    why: str = ""


class RoundSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the tasks of a round are given out.

    Attributes:
        title: of the work, on people's pages; the kind's where there is none.
        wanted: people that do each real task.
        batch: real tasks of a batch; 0 for all that a person may do.
        tests: tasks of the role ``test`` in each batch.
        attention: tasks of the role ``attention`` in each batch.
        lease_minutes: after which a batch ends and its open tasks go to others; 0 for never.
        grace_minutes: after the lease in which what is being filled in still counts.
        rest_days: before somebody gets another variant of what they have done.
        batches: that one person may do; 0 for any number.
        workers: open to people without an account, by a link with their id on a platform.
        not_rounds: names of rounds: who did a task of a group there does not get one of that group here.
        seed: of what is drawn.
        instructions: Markdown, shown before the first task and again with the key ``I``.
        quiz: on the instructions, before the first task; what is wrong is explained and asked again.
        consent: Markdown, for people without an account.
        code: completion code that all get; empty for one of their own.
        redirect: address that they are sent back to; ``{code}`` is the code.
    """

    title: str = ""
    wanted: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 2
    batch: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    tests: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    attention: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    lease_minutes: Annotated[float, msgspec.Meta(ge=0, le=100_000)] = 0
    grace_minutes: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 15
    rest_days: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 7
    batches: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    workers: bool = False
    not_rounds: tuple[str, ...] = ()
    seed: int = 0
    instructions: str = ""
    quiz: tuple[QuizItem, ...] = ()
    consent: str = ""
    code: str = ""
    redirect: str = ""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round of work.

    Attributes:
        pid: in its address.
        name: for coordinators and commands; one of its own in the project.
        kind: of its tasks.
        settings: see ``RoundSettings``.
        options: of the kind, as JSON; see ``TaskKind.options``.
        state: ``closed`` rounds give nothing out, and nothing in them can be changed.
    """

    id: int
    pid: str
    name: str
    kind: str
    settings: RoundSettings
    options: msgspec.Raw
    state: Literal["open", "closed"]
    created_at: float


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be done, in a round.

    Attributes:
        name: its id outside, one of its own in the round.
        body: what is asked, as JSON; see ``TaskKind.task``.
        stratum: batches are even over these.
        group: tasks about the same thing in other forms (a sample in three modalities, a question).
        variant: which of them (the modality).
        role: see ``TaskRole``.
        wanted: people that do it; None for what the round says.
        held: somebody could not do it; nobody else gets it until a coordinator gives it out again.
    """

    name: str
    body: msgspec.Raw
    stratum: str = ""
    group: str = ""
    variant: str = ""
    role: TaskRole = "real"
    wanted: int | None = None
    held: bool = False
    id: int = 0
    pid: str = ""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that somebody has taken on together."""

    id: int
    pid: str
    round_id: int
    person_id: int
    state: BatchState
    code: str
    created_at: float
    lease_until: float | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody submitted for a task, as it stands: what ``stages.rounds`` collects.

    Attributes:
        task: its name; ``group``, ``variant``, ``stratum`` and ``role`` are the task's.
        person: a random id; nobody's name.
        batch: pid of the batch.
        sheet: what was filled in, as JSON; see ``TaskKind.sheet``.
        seconds: of work on it (the page visible, and used).
        rev: revision; earlier ones stay in the store.
        at: seconds since 1970.
        counts: False where the batch was set aside by a reviewer.
        corrected: what a reviewer put in its place, as JSON; None where nobody did.
        body: the task's, as JSON.
    """

    round: str
    kind: str
    task: str
    person: str
    batch: str
    sheet: msgspec.Raw
    seconds: float
    rev: int
    at: float
    group: str = ""
    variant: str = ""
    stratum: str = ""
    role: TaskRole = "real"
    counts: bool = True
    assignment: str = ""
    corrected: msgspec.Raw | None = None
    body: msgspec.Raw = msgspec.field(
        default_factory=lambda: msgspec.Raw(b"null")
    )  # JSON schemas know no default of Raw
