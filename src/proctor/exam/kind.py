"""What differs between kinds of questions, in one value each: what is shown, how it is asked, how answers are read.

Everything else (shrinking to what a provider takes, sharing equal calls, prices, resuming, run folders, scores) is done by
the same code for all. Kinds of other packages are found behind the entry point ``proctor.kinds``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.exam.card import GENERAL, Exhibited, Judging, evidence_parts
from proctor.exam.lines import Line, evidence_lines, procedure_title
from proctor.exam.measured import Measured, Slices, facet_slices
from proctor.exam.question import Choice, Form, Item, Open, Question, Value, seen_hash
from proctor.llm.limits import Excess
from proctor.llm.message import Media, Message, Parameters
from proctor.plugins import load_plugin

if TYPE_CHECKING:
    import random

    from proctor.exam.library import Library, Prompts
    from proctor.exam.marker import Marker
    from proctor.exam.prediction import Judgement, Prediction
    from proctor.exam.table import Computed

__all__ = [
    "Answer",
    "Call",
    "Exhibit",
    "Exhibits",
    "Floor",
    "Kind",
    "RuleMarker",
    "Shown",
    "Talk",
    "TooMuch",
    "Turn",
    "View",
    "ViewOptions",
    "kind_named",
]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of a talk says; the engine makes the request of it.

    Attributes:
        messages: with their media.
        parameters: of the protocol; the user's stand over them.
        role: which of the models is asked: ``answer``, ``lmm``, ``captioner``, ``judge``.
        draw: number of the repetition.
        assume: the reply with which a dry run goes on.
        shared: the call belongs to many questions; it is not counted with each of them.
    """

    messages: tuple[Message, ...]
    parameters: Parameters
    role: str = "answer"
    draw: int = 0
    assume: str = ""
    shared: bool = False


class Answer(NamedTuple):
    """How a talk ends: with the words of an answer and what was read in them, or with a failure.

    Attributes:
        text: the answer in words; None where there is none.
        failure: why there is none; its first word is a code that can be counted.
        value: what was read; None where the words are all there is, or nothing could be read.
        details: for the record.
    """

    text: str | None = None
    failure: str | None = None
    value: Value | None = None
    details: Mapping[str, str] = {}


Talk: TypeAlias = Generator[Call | tuple[Call, ...], Any, Answer]
"""Yields a call and is sent its outcome, or a tuple of calls and is sent a tuple of outcomes; ends in an answer."""


class Shown(NamedTuple):
    """One piece of an exhibit.

    Attributes:
        media: what is attached; None where it is shown in words.
        text: its words, for the prompt.
        kind: what it is, in words, for the prompt.
        time: of a frame, seconds.
        number: of a frame: which one it is, as the exhibit's details say under ``frame_numbers``.
        id: of a source.
    """

    media: Media | None = None
    text: str = ""
    kind: str = ""
    time: float | None = None
    number: int = 0
    id: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What is shown of a question, in order.

    Attributes:
        pieces: pictures, clips, sources, in order.
        details: what a record says of them.
        failure: why the question cannot be asked at all, with its code; None when it can.
    """

    pieces: tuple[Shown, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None

    @property
    def media(self) -> tuple[Media, ...]:
        """What is attached to the prompt, in order."""
        return tuple(piece.media for piece in self.pieces if piece.media is not None)


class Turn(NamedTuple):
    """One of the ways in which an item is asked, such as a rotation of its options; what a record says of it."""

    name: str = ""
    details: Mapping[str, str] = {}


class TooMuch(NamedTuple):
    """Why an exhibit has to be smaller: what its requests have too much of, for which model."""

    model: str
    excess: tuple[Excess, ...]


Exhibits: TypeAlias = Generator[Exhibit, TooMuch, None]
"""Yields what is shown as asked; is sent what was too much, and yields something smaller, until nothing is left to leave out."""


class View(Protocol):
    """What a system is shown, and how it is asked; goes into its name and every record."""

    @property
    def label(self) -> str:
        """Name for people and files."""
        ...

    @property
    def privilege(self) -> str:
        """What it is shown that a system must not know; empty for honest views."""
        ...

    @property
    def blind(self) -> bool:
        """True when nothing of the evidence is shown: such a system is a floor."""
        ...

    @property
    def details(self) -> Mapping[str, str]:
        """What every record says of it."""
        ...


V = TypeVar("V", bound=View)


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What users say of a view beside its text; a kind takes what it knows, and leaves the rest: scripts give the same to all.

    Attributes:
        frames: at most so many.
        height: of pictures or the clip, in pixels.
        sampling: which frames.
        captioner: model that describes frames.
        style: of the prompts.
        shuffle: seed of an order of the options for each question; None shows them as printed.
        circular: every rotation of the options is asked.
    """

    frames: int | None = None
    height: int | None = None
    sampling: str | None = None
    captioner: str = ""
    style: str | None = None
    shuffle: int | None = None
    circular: bool = False


class Floor(NamedTuple):
    """A system that asks no model.

    Attributes:
        name: on its predictions.
        answer: from an item and random numbers of its own to a prediction.
        privilege: what it is told that a system must not know.
        upper: it is no floor but a bound: told everything.
        salt: stands before the item's id (its parent's, where it has one) in the seed of its random numbers.
    """

    name: str
    answer: Callable[[Item, random.Random], Prediction]
    privilege: str = ""
    upper: bool = False
    salt: str = ""


class RuleMarker(Protocol):
    """Marks answers by rule, without a model."""

    @property
    def name(self) -> str:
        """On the marks, with its version."""
        ...

    def mark(self, item: Item, prediction: Prediction, library: Library) -> Judgement:
        """Mark one answer; one that failed stays unscored."""
        ...


class Kind(ABC, Generic[V]):
    """A kind of questions. One of another package overrides what differs: its name, ``view``, ``exhibits`` and ``talk`` at least.

    Attributes:
        name: as it stands in ``Question.kind``.
        roles: of the models that it asks beside the one that answers: ``lmm`` (in its place, where pictures are shown),
            ``captioner``.
        measured: how its numbers are measured and named in tables.
    """

    name: str = ""
    roles: tuple[str, ...] = ()
    measured: Measured = Measured(judge="consistency", share=True)

    # -- verifying -----------------------------------------------------------------------------------------

    def seen(self, question: Question) -> str:
        """Return the hash of what people see when they verify a question; people's verdicts hold as long as it is the same.

        By default that is its text, form, evidence and proposals; a kind that shows people more of the facts adds it
        (``exam.question.seen_hash``).
        """
        return seen_hash(question)

    judging: Judging = GENERAL
    """Criteria, reasons and guideline for the people who verify."""

    def card(self, question: Question, library: Library) -> tuple[Exhibited, ...]:
        """Return what people see beside a question, as data: by default its parts of evidence."""
        return evidence_parts(question, library)

    def blind(self, question: Question) -> Question:
        """Return a question as people see it who answer it: without proposals and facts; a kind whose card needs some keeps these."""
        return msgspec.structs.replace(question, proposals=(), facts={}, facets={}, provenance={})

    def lines(self, question: Question, library: Library) -> tuple[Line, ...]:
        """Return what is known of a question, line by line: filters, verifying models and those who write options see it.

        By default that is its evidence in words and pictures; a kind whose facts say more adds lines, with ids of their own.

        Raises:
            UserError: if something that the question names is not there.
        """
        return evidence_lines(question, library)

    def topic(self, question: Question, library: Library) -> str:
        """Return the goal or activity that the lines are about, empty where there is none; by default the procedure's name.

        Raises:
            UserError: if the procedure is not there.
        """
        return procedure_title(question, library)

    # -- asking --------------------------------------------------------------------------------------------

    def check(self, item: Item, library: Library) -> None:
        """Refuse what cannot be asked with this library at all, before anything is sent; by default nothing is.

        Raises:
            UserError: for the whole run.
        """

    def require(self, items: Sequence[Item], view: V, library: Library, model: str) -> None:
        """Refuse a run of a model that makes no sense as a whole, before anything is paid; by default none is.

        Raises:
            UserError: if the model cannot take the view, or not one item can be shown.
        """

    def views(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002 - for kinds whose views hang on the items
        """Return the texts of the usual views, the one that is meant when none is named first."""
        return ("question",)

    @abstractmethod
    def view(self, text: str, options: ViewOptions) -> V:
        """Return the view that a short text names.

        Raises:
            UserError: if it names none of this kind.
        """

    def parameters(self, form: Form) -> Parameters | None:  # noqa: ARG002
        """Return what the answering calls are made with, where it is always the same; it is told before anything is asked."""
        return None

    def turns(self, item: Item, view: V) -> Sequence[Turn]:  # noqa: ARG002
        """Return the ways in which an item is asked: a single one without a name, or one for each rotation of options."""
        return (Turn(),)

    @abstractmethod
    def exhibits(self, item: Item, view: V, library: Library) -> Exhibits:
        """Yield what is shown of an item, ever smaller.

        Raises:
            UserError: if it cannot be shown; the item then failed (``not_shown``), and the others go on.
        """

    @abstractmethod
    def talk(
        self, item: Item, turn: Turn, exhibit: Exhibit, view: V, library: Library, prompts: Prompts
    ) -> Talk:
        """Ask an item once, in as many calls as it takes. It depends on nothing but the arguments and its own outcomes."""

    # -- systems without a model ---------------------------------------------------------------------------

    def floors(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002
        """Return the names of the systems that ask no model; none by default."""
        return ()

    def fit(self, name: str, items: Sequence[Item], library: Library) -> Floor:  # noqa: ARG002
        """Return one of ``floors``; it may learn from all items.

        Raises:
            UserError: if there is none of this name, or an item lacks what it needs.
        """
        raise UserError(f"there is no system '{name}' that answers without a model.", where=self.name)

    # -- marking -------------------------------------------------------------------------------------------

    def markers(self, form: Form) -> Sequence[str]:
        """Return the names of the ways in which answers are marked, the usual one first.

        By default options are marked by their letter, and answers in words by whether they mean the same as an accepted one.
        """
        return ("letters",) if isinstance(form, Choice) else ("consistency",)

    def marker(self, name: str) -> Marker | RuleMarker:
        """Return one of ``markers``.

        Raises:
            UserError: if there is none of this name.
        """
        if name == "letters":
            from proctor.exam.choice import LETTERS_MARKER

            return LETTERS_MARKER
        if name == "consistency":
            from proctor.exam.kinds.clip_marker import CONSISTENCY_MARKER

            return CONSISTENCY_MARKER
        known = (*self.markers(Open()), *self.markers(Choice(options=())))
        raise UserError(
            f"answers to questions of the kind '{self.name}' are not marked by {name[:80]!r}.",
            hint=did_you_mean(name, dict.fromkeys(known)),
        )

    # -- scores --------------------------------------------------------------------------------------------

    def measures(self, items: Sequence[Item], predictions: Sequence[Prediction]) -> Computed:  # noqa: ARG002
        """Measure the answers of one run, failed ones included, where no judge is needed (``Measured.computed``).

        Raises:
            UserError: if the kind has no such measures, or an item lacks what they need.
        """
        raise UserError(f"answers to questions of the kind '{self.name}' are marked by a judge.")

    def slices(self, items: Sequence[Item]) -> Slices:
        """Return what tables slice by: all, the form where there are several, and each facet."""
        found = dict(facet_slices(items, sorted({name for item in items for name in item.question.facets})))
        if len({type(item.question.form) for item in items}) > 1:
            for name, form in (("open", Open), ("choice", Choice)):
                members = [item.id for item in items if isinstance(item.question.form, form)]
                found[f"form={name}"] = ("form", members)
        return found


_GROUP: Final = "proctor.kinds"
_OURS: Final = ("moment", "clip", "documents", "step", "order")
"""Kinds of this package, each the ``KIND`` of a module of ``proctor.exam.kinds``."""


def kind_named(name: str) -> Kind[Any]:
    """Return the kind of a name, from whichever package.

    Raises:
        UserError: if there is none (it names those that there are), or its package is broken.
    """
    if name in _OURS:
        ours: Kind[Any] = import_module(f"proctor.exam.kinds.{name}").KIND
        return ours
    points = entry_points(group=_GROUP)
    if name not in points.names:
        known = (*_OURS, *sorted(points.names))
        raise UserError(
            f"there is no kind of questions '{name[:80]}'.",
            hint=did_you_mean(
                name,
                known,
                f"installed are {', '.join(known)}; others come with packages (entry point {_GROUP})",
            ),
        )
    what, wanted = f"the kind '{name}'", "a kind of questions (proctor.exam.kind.Kind)"
    kind: Kind[Any] = load_plugin(
        points.select(name=name), what, wanted, lambda found: isinstance(found, Kind)
    )
    return kind
