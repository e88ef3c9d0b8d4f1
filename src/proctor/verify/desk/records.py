"""What the desk hands out and takes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic, Literal, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.said import say
from proctor.verify.verdict import Judgment

__all__ = [
    "CANT_REASONS",
    "GATES",
    "MAX_OWN_ANSWERS",
    "MAX_TEXT",
    "ROLES",
    "STAGES",
    "AnyStage",
    "Assignment",
    "ConflictError",
    "Draft",
    "Gate",
    "GoneError",
    "InvalidError",
    "Item",
    "Person",
    "Role",
    "Saved",
    "Sheet",
    "Stage",
    "Submitted",
    "at_least",
    "gate_in",
]

S = TypeVar("S", bound=msgspec.Struct)

Role = Literal["worker", "annotator", "adjudicator", "coordinator", "owner"]
ROLES: Final[tuple[Role, ...]] = ("annotator", "adjudicator", "coordinator", "owner")
"""Roles of accounts, the least first. A ``worker`` has none: a link of a platform leads to the tasks of a round, and nothing else."""
Gate = Literal["waiting", "training", "open"]
GATES: Final[tuple[Gate, ...]] = ("waiting", "training", "open")
Stage = Literal["training", "judge", "adjudicate"]
STAGES: Final[tuple[Stage, ...]] = ("training", "judge", "adjudicate")
AnyStage = Literal["training", "judge", "adjudicate", "task"]
"""Stages of verification, and the work on a task of a round."""

MAX_TEXT: Final = 4_000
"""Characters of one sentence that somebody writes."""
MAX_OWN_ANSWERS: Final = 20

CANT_REASONS: Final[Mapping[str, str]] = {
    "media": say("The clip does not play or shows nothing"),
    "text": say("A text is broken or missing"),
    "upsetting": say("What it shows is upsetting"),
    "other": say("Something else"),
}


def at_least(role: str, needed: Role) -> bool:
    """True when a role includes another: every coordinator may do what an annotator may."""
    ranks = ("worker", *ROLES)
    return role in ranks and ranks.index(role) >= ranks.index(needed)


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody with an account.

    Attributes:
        id: inside the store.
        pid: random; the annotator's name in verdicts.
        handle: what they sign in with.
        name: for other people.
        role: see ``ROLES``.
        state: ``active``, ``left`` or ``withdrawn``.
        gates: by kind of question ``training`` (not done yet), ``waiting`` (for the coordinator) or ``open``; under the empty
            name for every kind that is not named.
        consent_version: of the consent they gave; 0 for none.
        guidelines: by kind, the version that they ticked.
    """

    id: int
    pid: str
    handle: str
    name: str
    role: Role
    state: Literal["active", "left", "withdrawn"]
    gates: Mapping[str, Gate]
    email: str = ""
    consent_version: int = 0
    guidelines: Mapping[str, int] = {}
    settings: Mapping[str, object] = {}
    has_password: bool = False
    created_at: float = 0.0

    def gate_of(self, kind: str) -> Gate:
        """Return whether they may judge questions of a kind."""
        return self.gates.get(kind, self.gates.get("", "training"))

    @property
    def gate(self) -> Gate:
        """Where they stand in all: ``waiting`` for a coordinator with any kind, else in training for any, else let in."""
        return gate_in(self.gates)


def gate_in(gates: Mapping[str, Gate]) -> Gate:
    """Return where somebody stands in all, by their gates for each kind; see ``Person.gate``."""
    known = {gate for kind, gate in gates.items() if kind} or {gates.get("", "training")}
    return next((gate for gate in GATES if gate in known), "training")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A question as people meet it.

    Attributes:
        candidate_hash: of this version of the question (``exam.question.version_of``).
        stratum: the question's type.
        title: what it is about, in words; may be empty.
        state: ``undealt`` (nobody was asked), ``machine`` (machines have settled it), ``judging``, ``case`` (an
            adjudicator is needed), ``settled``, ``rejected``, ``held`` and ``returned`` (for the coordinator),
            ``gone`` (no longer among the candidates, or changed).
        agreement: of the people: "" (fewer than two), ``same``, ``question`` or ``answers`` (where they differ).
    """

    id: int
    pid: str
    question: Question
    candidate_hash: str
    state: str
    stratum: str = ""
    title: str = ""
    wanted: int = 0
    reason: str = ""
    agreement: str = ""
    in_training: bool = False


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One person, one item, one stage; or one person and one task of a round, and ``item_id`` is 0."""

    id: int
    pid: str
    item_id: int
    person_id: int
    stage: AnyStage
    slot: int
    state: Literal["open", "submitted", "returned", "moved", "void"]
    live: bool
    blind_repeat: bool = False
    queue_pos: int = 0
    guideline_version: int = 0
    case_hash: str = ""
    lease_until: float | None = None
    submitted_at: float | None = None
    rev: int = 0
    reason: str = ""
    task_id: int = 0
    batch_id: int = 0


class Sheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the form holds; ``answers`` is parallel to the cards in the order shown."""

    question: Judgment | None = None
    reasons: tuple[str, ...] = ()
    answers: tuple[Judgment | None, ...] = ()
    own_answers: tuple[str, ...] = ()
    note: str = ""


class Draft(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """A sheet that is not submitted."""

    sheet: S
    version: int
    client_id: str
    seq: int
    saved_at: float


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a draft; ``stale`` when a later one of the same page was there already."""

    version: int
    saved_at: float
    stale: bool = False


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a submitted sheet.

    Attributes:
        rev: of the sheet.
        stage: of the assignment.
        again: it had been submitted before under the same key.
        queued: pid of the first open assignment in the person's queue of this stage; None when there is none, or nobody
            looked. ``flow.next_work`` says what is really next.
    """

    rev: int
    stage: AnyStage = "judge"
    again: bool = False
    queued: str | None = None


class GoneError(UserError):
    """There is no such thing, or it is not theirs to see: both read alike."""

    def __init__(self) -> None:
        super().__init__(say("There is nothing here."), hint=say("go back to your work list"))


class ConflictError(UserError):
    """Somebody, or another page, was here first.

    Args:
        message: what happened.
        rev: the revision that stands now.
        theirs: the sheet that stands now.
    """

    def __init__(
        self, message: str, *, rev: int = 0, version: int = 0, theirs: msgspec.Struct | None = None
    ) -> None:
        super().__init__(message, hint=say("compare both and send again"))
        self.rev = rev
        self.version = version
        self.theirs = theirs


class InvalidError(UserError):
    """A sheet that cannot be submitted as it is.

    Args:
        errors: (field, message), in the order of the page.
    """

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__(errors[0][1] if errors else say("Something is missing."))
        self.errors = errors
