"""The record of an exam: a question about anything, with what may be shown of it, in which form it is answered, and its golds.

A question is made of *parts*: what it is about is a tuple of them (``evidence``), not a record for each kind of question. A kind
(``proctor.exam.kind``) composes them, and says what of them is shown, how it is asked and what is accepted. What many questions
share (task graphs, corpora, rankings) is named here and kept in a library (``proctor.exam.library``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.records import content_hash
from proctor.tables import Shown

__all__ = [
    "Choice",
    "Footage",
    "Form",
    "Gold",
    "Item",
    "Open",
    "Order",
    "Ordering",
    "Part",
    "Pick",
    "Picture",
    "Procedure",
    "Proposed",
    "Question",
    "Source",
    "Text",
    "Value",
    "Words",
    "check_questions",
    "gold_texts",
    "item_cells",
    "part_of",
    "proposed_texts",
    "question_cells",
    "right_texts",
    "seen_hash",
    "type_of",
    "value_text",
    "version_of",
    "wrong_ordering",
]


# -- evidence: what a question is about ----------------------------------------------------------------------------


class Footage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="footage"):
    """A recording from ``start`` to ``end``.

    Attributes:
        recording: its id.
        end: seconds, exclusive.
        start: seconds.
        video: path of the video relative to the data set's root, where it is known.
        dataset: name of the reader.
    """

    recording: str
    end: float
    start: float = 0.0
    video: str = ""
    dataset: str = ""

    def __post_init__(self) -> None:
        """Keep times as floats: ``9`` and ``9.0`` are one time, and have one hash."""
        for name in ("start", "end"):
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))


class Procedure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="procedure"
):
    """The procedure that is followed; its task graph is in the library.

    Attributes:
        id: of the graph.
        title: as people call it.
    """

    id: str
    title: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="source"):
    """A text, table or image of a corpus; its content is in the library.

    Attributes:
        id: in its corpus.
        corpus: which; empty for the workspace's only one.
        hash: of the content that was seen, where it is kept.
    """

    id: str
    corpus: str = ""
    hash: str = ""


class Picture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="picture"):
    """A picture.

    Attributes:
        path: of the file, relative to the workspace.
        sha256: of its bytes, where it is kept.
        caption: in words.
        id: of what it shows, such as a step that is to be put into order; empty where it shows nothing that has one.
    """

    path: str
    sha256: str = ""
    caption: str = ""
    id: str = ""


class Words(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="words"):
    """A text that belongs to this question alone, such as a step that is to be put into order."""

    id: str
    text: str


Part = Footage | Procedure | Source | Picture | Words


# -- form: how a question is answered; values: what an answer is ---------------------------------------------------


class Open(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="open"):
    """Answered in words. ``need`` says whether any one gold suffices or all of them have to be given."""

    need: Literal["any", "all"] = "any"


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="choice"):
    """Answered by one of the options, in the order in which they are printed."""

    options: tuple[str, ...]


class Order(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="order"):
    """Answered by putting things in order: ids of the evidence (``Words``, ``Picture``), as they are presented."""

    ids: tuple[str, ...]


Form = Open | Choice | Order


class Text(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="text"):
    """An answer in words; ``kind`` and ``cites`` (steps, sources) as generation knows them."""

    text: str
    kind: str = "direct"
    cites: tuple[str, ...] = ()


class Pick(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="pick"):
    """An option by its place as printed, from 0."""

    option: int


class Ordering(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="ordering"):
    """Ids in the order in which they are done, each once.

    Where there are pairs (before, after) every order that keeps them is right, and ``ids`` is one of them; None: it alone counts.
    """

    ids: tuple[str, ...]
    before: tuple[tuple[str, str], ...] | None = None


Value = Text | Pick | Ordering


class Proposed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that generation claims to be right or wrong; verdicts are parallel to these. ``origin`` says where it came from."""

    value: Value
    claim: Literal["right", "wrong"] = "right"
    origin: str = ""


class Gold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that counts as right: who wrote it, who let it pass, and which proposal it was."""

    value: Value
    written_by: str = "machine"
    approved_by: str = "annotator"
    proposal: int | None = None


class Question(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with everything that is known of it.

    Attributes:
        id: unique in the workspace.
        kind: name of its kind.
        text: as asked.
        form: how it is answered.
        evidence: what it is about, and what may be shown.
        proposals: values that generation proposes, to be verified.
        facts: what decides the answer, typed by the kind (``Kind.facts``). Who answers sees them only under a view with a
            privilege, which is shown beside the score.
        facets: what tables slice by.
        cluster: what intervals cluster by.
        place: orders the questions of one cluster: nobody is shown a later place first.
        parent: the same question in another form; seeds use it in place of the id.
        provenance: who made it, as text.
    """

    id: str
    kind: str
    text: str
    form: Form
    evidence: tuple[Part, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    facts: dict[str, Any] = {}
    facets: Mapping[str, str] = {}
    cluster: str = ""
    place: float | None = None
    parent: str = ""
    provenance: Mapping[str, str] = {}

    def _cells(self) -> dict[str, object]:
        return question_cells(self)


class Item(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A verified question with what counts as right.

    Attributes:
        question: what is asked.
        golds: accepted values.
        approved_by: who let the question pass.
        seen: hash of what was verified (``seen_hash``).
    """

    question: Question
    golds: tuple[Gold, ...]
    approved_by: str = "annotator"
    seen: str = ""

    @property
    def id(self) -> str:
        """Of the question."""
        return self.question.id

    def _cells(self) -> dict[str, object]:
        return item_cells(self)


P = TypeVar("P", bound=Part)


def part_of(question: Question, kind: type[P]) -> P | None:
    """Return the first part of a kind among the evidence; None where there is none.

    Example:
        >>> part_of(Question(id="q", kind="k", text="?", form=Open(), evidence=(Words(id="a", text="Stir."),)), Words).text
        'Stir.'
    """
    return next((part for part in question.evidence if isinstance(part, kind)), None)


def proposed_texts(question: Question) -> tuple[str, ...]:
    """Return what is proposed in words, in order: the answers, or the options.

    Example:
        >>> proposed_texts(
        ...     Question(id="q", kind="k", text="?", form=Choice(options=("tea", "milk")), proposals=(Proposed(value=Pick(option=1)),))
        ... )
        ('milk',)
    """
    return tuple(value_text(proposal.value, question.form) for proposal in question.proposals)


def right_texts(question: Question) -> tuple[str, ...]:
    """Return what is proposed as right, in words and in order."""
    return tuple(value_text(p.value, question.form) for p in question.proposals if p.claim == "right")


def gold_texts(item: Item) -> tuple[str, ...]:
    """Return what counts as right in words, in order: the answers, or the options."""
    return tuple(value_text(gold.value, item.question.form) for gold in item.golds)


def value_text(value: Value, form: Form) -> str:
    """Return a value in words: the answer, the option, or the ids of an order with arrows between them."""
    if isinstance(value, Pick):
        return form.options[value.option] if isinstance(form, Choice) else ""
    return value.text if isinstance(value, Text) else " → ".join(value.ids)


def question_cells(question: Question) -> dict[str, object]:
    """Return what a table shows of a question: its words, its right answers, and what it is sliced by."""
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.text,
        "answers": "; ".join(right_texts(question)),
        **question.facets,
        "cluster": question.cluster,
    }


def item_cells(item: Item) -> dict[str, object]:
    """Return what a table shows of a verified question, with its golds as answers."""
    return question_cells(item.question) | {"answers": "; ".join(gold_texts(item))}


def seen_hash(question: Question, *shown: object) -> str:
    """Return the hash of what people see when they verify, and nothing of where it came from.

    Args:
        question: its words, form, evidence and proposals count.
        shown: what its kind shows people of the facts.
    """
    proposed = [(p.value, p.claim) for p in question.proposals]
    seen = (question.text, question.form, question.evidence, proposed, *shown)
    return content_hash(msgspec.to_builtins(seen))


def version_of(question: Question) -> str:
    """Return the hash of exactly this question, facts and provenance included, on which machines' verdicts hang.

    A question that was made from a record of generation has that record's (``provenance["candidate_hash"]``).
    """
    return question.provenance.get("candidate_hash") or content_hash(question)


def type_of(question: Question) -> str:
    """Return what people's lists, deals and tables of agreement slice a question by: its type, category or style; else its kind.

    Example:
        >>> type_of(Question(id="q", kind="clip", text="?", form=Open(), facets={"category": "ordering"}))
        'ordering'
    """
    names = ("type", "category", "style")
    return next((question.facets[name] for name in names if name in question.facets), question.kind)


# -- checks that need no kind --------------------------------------------------------------------------------------


def check_questions(questions: Iterable[Question]) -> None:
    """Refuse what cannot be asked, whatever its kind.

    Raises:
        UserError: for an id that is empty or there twice, an empty question, fewer than two, more than letters or equal options,
            fewer than two things to be put into order, or one twice or without evidence, a proposal that is no option or no such
            order, or footage whose times are not finite, negative or swapped; it names the question.
    """
    ids: Counter[str] = Counter()
    for question in questions:
        ids[question.id] += 1
        if why := _wrong(question):
            raise UserError(why, where=question.id[:200] or question.text[:80])
        if ids[question.id] > 1:
            raise UserError("two questions have this id.", where=question.id[:200], hint="ids must be unique")


def _wrong(question: Question) -> str:
    if not question.id.strip():
        return "a question has no id."
    if not question.text.strip():
        return "the question is empty."
    if isinstance(question.form, Choice) and (why := _wrong_options(question.form.options)):
        return why
    if isinstance(question.form, Order) and (why := _wrong_ids(question.form.ids, question.evidence)):
        return why
    for part in question.evidence:
        if isinstance(part, Footage) and not (math.isfinite(part.end) and 0 <= part.start < part.end):
            return f"the footage is from {part.start} to {part.end} s."
    for proposal in question.proposals:
        if isinstance(value := proposal.value, Pick) and not (
            isinstance(question.form, Choice) and 0 <= value.option < len(question.form.options)
        ):
            return f"option {value.option} is proposed, which the question does not have."
        if why := wrong_ordering(proposal.value, question.form):
            return f"an order is proposed that {why}."
    return ""


def _wrong_options(options: Sequence[str]) -> str:
    from proctor.metrics.choice.letters import LETTERS  # few questions have options

    if not 2 <= len(options) <= len(LETTERS):
        return f"the question has {len(options)} options; 2 to {len(LETTERS)} have letters."
    return "two options are the same." if len(set(options)) < len(options) else ""


def _wrong_ids(ids: Sequence[str], evidence: Sequence[Part]) -> str:
    if len(ids) < 2 or len(set(ids)) < len(ids):
        return f"the question puts {len(ids)} things into order, {len(set(ids))} of them different; two or more are needed."
    shown = {part.id for part in evidence if isinstance(part, Words | Picture)}
    if lacking := [id_ for id_ in ids if id_ not in shown]:
        return f"nothing among the evidence shows '{lacking[0][:80]}', which is to be put into order."
    for n, id_ in enumerate(ids, 1):
        if id_.strip().isdecimal() and id_ != str(n):
            return f"what is presented as number {n} has the id '{id_[:20]}', and answers would name another one by it."
    return ""


def wrong_ordering(value: Value, form: Form) -> str:
    """Return why a value is no order of what a question puts into order, in words behind "an order that"; empty where it is one."""
    if not isinstance(value, Ordering):
        return "is none" if isinstance(form, Order) else ""
    if not isinstance(form, Order):
        return "answers a question of another form"
    if sorted(value.ids) != sorted(form.ids):
        return "does not hold each of its things once"
    place = {id_: n for n, id_ in enumerate(value.ids)}
    for before, after in value.before or ():
        if before not in place or after not in place:
            return f"is bound by '{before[:40]}' before '{after[:40]}', which are not among its things"
        if place[before] >= place[after]:
            return f"breaks its own '{before[:40]}' before '{after[:40]}'"
    return ""
