"""Kinds of tasks that people do in rounds: what is asked, what is filled in, and when that is complete. One module a kind.

A kind knows nothing of the web. Its page is ``studio/tasks/<name>.py`` with ``templates/task_<name>.html.j2`` and
``static/js/task_<name>.js``; how its tasks come out of a workspace and where what people said goes is
``stages/rounds/<name>.py``. Giving out, leases, drafts, submitting once, taking back and handing back are the same code for
all (``verify.desk.rounds``, ``verify.desk.work``). docs/rounds.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.said import say

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlalchemy import Connection

    from proctor.drawing.svg import Tell
    from proctor.exam.question import Footage, Question
    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.form import Field
    from proctor.verify.rounds.records import Round

__all__ = ["Fields", "NoOptions", "Offer", "TaskKind", "task_kind"]

T = TypeVar("T", bound=msgspec.Struct)
S = TypeVar("S", bound=msgspec.Struct)
O = TypeVar("O", bound=msgspec.Struct)  # noqa: E741 - of the round

_KINDS: Final = {
    "answer": "proctor.verify.rounds.answer:KIND",
    "mark": "proctor.verify.rounds.mark:KIND",
    "write": "proctor.verify.rounds.write:KIND",
    "rate": "proctor.verify.rounds.rate:KIND",
    "own": "proctor.verify.rounds.own:KIND",
    "order": "proctor.verify.rounds.order:KIND",
    "alternatives": "proctor.verify.rounds.alternatives:KIND",
    "graph": "proctor.verify.rounds.graph:KIND",
    "timeline": "proctor.verify.rounds.timeline:KIND",
    "record": "proctor.verify.rounds.record:KIND",
}


class Fields(Protocol):
    """Fields of a plain form, as Starlette has them."""

    def get(self, key: str, /) -> object:
        """Return the last value of a field, None where there is none."""

    def getlist(self, key: Any, /) -> list[Any]:
        """Return all values of a field."""


class NoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind whose rounds have no settings of their own."""


class Offer(NamedTuple):
    """A task that people choose: whose it is (a name to sign in with; empty: anybody's), its name, what it needs, its steps."""

    owner: str
    title: str
    needs: str
    steps: tuple[str, ...]


class TaskKind(ABC, Generic[T, S, O]):
    """A kind of tasks.

    Attributes:
        name: of the kind; part of the names of its page, template and module.
        title: of the work, on the first page.
        detail: what one does, in a sentence.
        page: whose page, template and module are its own; empty for ``name``, ``form`` for forms.
        task: what is asked; kept as JSON with the task. It may hold what the page must not show (a source, a role): the page's
            view is made field by field.
        sheet: what is filled in; every field has a default, so that a blank sheet can be made, and unknown fields are refused.
        options: settings of a round of this kind.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    detail: ClassVar[str]
    page: ClassVar[str] = ""
    task: type[T]
    sheet: type[S]
    options: type[O]

    @abstractmethod
    def check(self, sheet: S, task: T, options: O) -> S:
        """Return a sheet ready to be kept: complete, trimmed, without what does not count.

        Raises:
            InvalidError: with every field that is missing or wrong, in the order of the page.
        """

    def of_form(self, fields: Fields, task: T, options: O) -> S:  # noqa: ARG002 - for kinds that can
        """Return the sheet of a plain form; what cannot be meant counts as not filled in. Kinds that need JavaScript say so."""
        raise UserError(say("This page needs JavaScript."), hint=say("switch it on, or use another browser"))

    def question(self, task: T) -> Question | None:  # noqa: ARG002 - for kinds that have one
        """Return the question whose card is shown beside the task; None where there is none."""
        return None

    def fields(self, task: T, options: O) -> Sequence[Field]:  # noqa: ARG002 - for kinds that are forms
        """Return the fields of the form; none for kinds with a page of their own."""
        return ()

    def texts(self, task: T) -> Mapping[str, str]:  # noqa: ARG002 - for kinds that have some
        """Return the texts in which words can be marked, by column."""
        return {}

    def pictures(self, task: T) -> Sequence[str]:  # noqa: ARG002 - for kinds that have some
        """Return paths of pictures, relative to the workspace, that the page shows as ``/w/{pid}/picture?part=<place>``.

        Where there are none, the parts of the question's card are counted.
        """
        return ()

    def look(self, sheet: S, task: T, options: O, tell: Tell = str) -> msgspec.Struct:  # noqa: ARG002 - for kinds that have something to say
        """Return what the page asks the server about a sheet while it is filled in (``POST /w/{pid}/look``); nothing is kept.

        ``tell`` says our own words in a drawing to whoever looks.

        Raises:
            GoneError: if pages of this kind ask nothing.
        """
        from proctor.verify.desk.records import GoneError

        raise GoneError

    def footage(self, task: T) -> Footage | None:
        """Return the recording that the page plays; that of the question by default."""
        from proctor.exam.question import Footage, part_of

        question = self.question(task)
        return part_of(question, Footage) if question is not None else None

    def rate(self, task: T) -> Fraction | None:  # noqa: ARG002
        """Return the frames a second of the recording where the page has to show each of them."""
        return None

    def offer(self, task: T) -> Offer | None:  # noqa: ARG002 - for kinds whose tasks people choose
        """Return how a task is offered to whoever may choose it; None where tasks are drawn."""
        return None

    def barred(self, connection: Connection, round_: Round, person: Person) -> Collection[str]:  # noqa: ARG002 - for kinds with rules
        """Return the groups of tasks (``Task.group``) that a person must not get, such as questions that they verified."""
        return ()


def task_kind(name: str) -> TaskKind[Any, Any, Any]:
    """Return a kind.

    Raises:
        UserError: if there is none of that name.
    """
    if name not in _KINDS:
        raise UserError(f"there is no kind of tasks '{name[:40]}'.", hint=f"kinds: {', '.join(_KINDS)}")
    module, _, value = _KINDS[name].partition(":")
    kind: TaskKind[Any, Any, Any] = getattr(import_module(module), value)
    return kind
