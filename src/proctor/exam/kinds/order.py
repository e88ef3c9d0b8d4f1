"""Questions about the order of steps: shown in random order, by their texts, pictures or both. Source: Wu et al. 2022.

Asked for the whole order at once (``listwise``), or for every two steps both ways round which of them is done first (``pairwise``),
from which the best order is computed (``metrics.ordering.decode_pairwise``). What is shown stands in ``docs/order-exam.md``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final, Literal, get_args

import msgspec
import numpy as np

from proctor.errors import UserError, did_you_mean
from proctor.exam.card import Exhibited, evidence_parts
from proctor.exam.choice import CREDIT, read_choice
from proctor.exam.kind import Answer, Call, Exhibit, Exhibits, Floor, Kind, Shown, Talk, Turn, ViewOptions
from proctor.exam.kinds.order_marks import order_measures, right_orders, slot_texts
from proctor.exam.kinds.order_reply import OrderRead, read_order, spell_slots
from proctor.exam.library import Library, Prompts
from proctor.exam.lines import image_of
from proctor.exam.measured import Measured, Slices
from proctor.exam.prediction import Prediction, why_no_reply
from proctor.exam.question import Form, Item, Order, Ordering, Picture, Question, Words, seen_hash
from proctor.exam.table import Computed
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply
from proctor.metrics.ordering.decoding import decode_pairwise
from proctor.procedure.order_heuristics import HEURISTICS
from proctor.said import say

__all__ = ["KIND", "OrderView"]

Shows = Literal["both", "text", "image", "question"]
Style = Literal["listwise", "pairwise"]

_LISTWISE: Final = Parameters(temperature=0.0, max_tokens=512)
_PAIRWISE: Final = Parameters(temperature=0.0, max_tokens=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """What a system is shown of each step, whether it is told the goal, and how it is asked."""

    shows: Shows = "both"
    goal: bool = False
    style: Style = "listwise"

    @property
    def label(self) -> str:
        """Short name for runs."""
        shown = self.shows + ("+goal" if self.goal else "")
        return shown if self.style == "listwise" else f"{shown}, {self.style}"

    @property
    def privilege(self) -> str:
        """None: people are told the goal, too."""
        return ""

    @property
    def blind(self) -> bool:
        """True where nothing of the steps is shown."""
        return self.shows == "question"

    @property
    def details(self) -> Mapping[str, str]:
        """For every record."""
        return {"view": self.label, "style": self.style}


class _Order(Kind[OrderView]):
    """Questions about the order of steps."""

    name = "order"
    measured = Measured(cluster="task", weighting="question", computed=True)

    def seen(self, question: Question) -> str:
        """Return the hash of the question with the goal, which people are shown."""
        return seen_hash(question, _goal(question))

    def card(self, question: Question, library: Library) -> tuple[Exhibited, ...]:
        """Return the goal, and the steps as they are presented, each under the id by which proposals name it."""
        shown = [Exhibited(say("Goal"), goal)] if (goal := _goal(question)) else []
        for part, made in zip(question.evidence, evidence_parts(question, library), strict=True):
            shown.append(
                made._replace(heading=say("Step {id}", id=part.id))
                if isinstance(part, Words | Picture)
                else made
            )
        return tuple(shown)

    def blind(self, question: Question) -> Question:
        """Return the question with its goal, which people are told."""
        goal = {"goal": _goal(question)} if _goal(question) else {}
        return msgspec.structs.replace(super().blind(question), facts=goal)

    def check(self, item: Item, library: Library) -> None:  # noqa: ARG002
        """Refuse items without a right order."""
        right_orders(item)

    def require(self, items: Sequence[Item], view: OrderView, library: Library, model: str) -> None:  # noqa: ARG002
        """Refuse to show what not one step has, and to ask blind for pairs, of which all are the same."""
        if view.blind and view.style == "pairwise":
            raise UserError("of steps that are not shown no two can be compared.", hint="leave out --style")
        if view.shows in ("text", "image") and view.shows not in self.views(items):
            why = f"not one step has what the view '{view.label}' shows."
            raise UserError(why, hint="show something else (--show)")

    def views(self, items: Sequence[Item]) -> Sequence[str]:
        """Return what the steps have, and the blind control."""
        parts = {type(part) for item in items for part in item.question.evidence}
        found = [name for name, part in (("text", Words), ("image", Picture)) if part in parts]
        return (*(["both"] if len(found) > 1 else []), *found, "question")

    def view(self, text: str, options: ViewOptions) -> OrderView:
        """Return the view that a text such as ``text+goal`` names, in a style.

        Raises:
            UserError: if it names none.
        """
        named, plus, more = text.strip().partition("+")
        shows = next((known for known in get_args(Shows) if known == named), None)
        style = next((known for known in get_args(Style) if known == (options.style or "listwise")), None)
        if shows is None or (plus and more != "goal"):
            hint = did_you_mean(
                named,
                get_args(Shows) if shows is None else (),
                f"views: {', '.join(get_args(Shows))}; each +goal",
            )
            raise UserError(f"{text!r} is no view of steps to order.", hint=hint)
        if style is None:
            hint = did_you_mean(options.style or "", get_args(Style))
            raise UserError(f"{options.style!r} is no style of orders.", hint=hint)
        return OrderView(shows=shows, goal=bool(plus), style=style)

    def exhibits(self, item: Item, view: OrderView, library: Library) -> Exhibits:
        """Yield the steps as they are presented; where that is too much, with one picture a step.

        Raises:
            UserError: if no step has what the view shows, or a picture cannot be read.
        """
        pieces = tuple(_pieces(item, view, library))
        if not pieces and not view.blind:
            raise UserError(f"no step has anything that the view '{view.label}' shows.", where=item.id)
        yield Exhibit(pieces)
        first = {piece.id: piece for piece in reversed(pieces) if piece.media is not None}
        fewer = tuple(piece for piece in pieces if piece.media is None or first[piece.id] is piece)
        if left := len(pieces) - len(fewer):
            yield Exhibit(fewer, {"shrunk": f"{left} further pictures of steps left out"})

    def talk(
        self,
        item: Item,
        turn: Turn,  # noqa: ARG002
        exhibit: Exhibit,
        view: OrderView,
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> Talk:
        """Ask for the whole order, or for all pairs, and read it."""
        ids = item.question.form.ids if isinstance(item.question.form, Order) else ()
        goal = _goal(item.question) if view.goal else ""
        shown = [[piece for piece in exhibit.pieces if piece.id == id_] for id_ in ids]
        if view.style == "pairwise":
            return (yield from _pairwise(shown, goal, ids, prompts))
        texted = any(piece.text for piece in exhibit.pieces)
        rendered = prompts.render(
            "order-ask",
            goal=goal or None,
            steps=[f"{n}: {_text(pieces)}" for n, pieces in enumerate(shown, 1)] if texted else None,
            count=len(ids),
            pictures=_legend({f"step {n}": pieces for n, pieces in enumerate(shown, 1)}) or None,
        )
        outcome: Outcome = yield Call(messages=rendered.with_media(exhibit.media), parameters=_LISTWISE)
        failure = why_no_reply(outcome)
        if failure is not None or not isinstance(outcome, Reply):
            return Answer(None, failure, None, rendered.details)
        said = outcome.text.strip()
        read = read_order(said, slot_texts(item))
        value = None if read.order is None else Ordering(ids=tuple(ids[slot] for slot in read.order))
        return Answer(said, None, value, {**rendered.details, **_details(read)})

    def floors(self, items: Sequence[Item]) -> Sequence[str]:
        """Return chance and the order as presented, and heuristics where there are texts."""
        return ("chance", "presented", *(HEURISTICS if "text" in self.views(items) else ()))

    def fit(self, name: str, items: Sequence[Item], library: Library) -> Floor:
        """Return one of ``floors``; that of chance is scored by what it gets on average."""
        if name not in self.floors(items):
            return super().fit(name, items, library)

        def answer(item: Item, rng: random.Random) -> Prediction:
            texts = slot_texts(item)
            order = list(HEURISTICS[name](texts)) if name in HEURISTICS else list(range(len(texts)))
            if name == "chance":
                rng.shuffle(order)
            said = spell_slots(order)
            details = {"order": said, **({CREDIT: "expected"} if name == "chance" else {})}
            return Prediction(item_id=item.id, predictor=f"floor: {name}", answer=said, details=details)

        return Floor(f"floor: {name}", answer, salt=f"{name}/")

    def markers(self, form: Form) -> Sequence[str]:  # noqa: ARG002
        """None: no judge is needed."""
        return ()

    def measures(self, items: Sequence[Item], predictions: Sequence[Prediction]) -> Computed:
        """Measure orders against those that are right."""
        return order_measures(items, predictions)

    def slices(self, items: Sequence[Item]) -> Slices:
        """Return all, each category, and whether there are several right orders."""
        cut: dict[str, list[str]] = {"one": [], "several": []}
        for item in items:
            cut["several" if right_orders(item).several else "one"].append(item.id)
        cuts = {f"alternatives={name}": ("alternatives", ids) for name, ids in cut.items()}
        return {**super().slices(items), **(cuts if all(cut.values()) else {})}


def _goal(question: Question) -> str:
    return str(question.facts.get("goal", ""))


def _pieces(item: Item, view: OrderView, library: Library) -> Iterator[Shown]:
    form = item.question.form
    slots = {id_: n for n, id_ in enumerate(form.ids, 1)} if isinstance(form, Order) else {}
    for part in item.question.evidence:
        if not isinstance(part, Words | Picture) or part.id not in slots:
            continue
        if isinstance(part, Words) and view.shows in ("both", "text") and part.text.strip():
            yield Shown(text=part.text.strip(), kind=f"step {slots[part.id]}", id=part.id)
        elif isinstance(part, Picture) and view.shows in ("both", "image"):
            image = image_of(part, library)
            if isinstance(image, str):
                raise UserError(f"the picture of a step cannot be shown ({image}).", where=item.id)
            yield Shown(image, kind=f"picture of step {slots[part.id]}", id=part.id)


def _text(pieces: Sequence[Shown]) -> str:
    return "\n".join(piece.text for piece in pieces if piece.text) or "(no text)"


def _legend(shown: Mapping[str, Sequence[Shown]]) -> list[str]:
    """Return which of the attached pictures shows what, in the order in which they are attached; nothing where none is."""
    pictured = [(name, sum(piece.media is not None for piece in pieces)) for name, pieces in shown.items()]
    names = [name for name, count in pictured for _ in range(count)]
    lacking = [f"none shows {name}" for name, count in pictured if not count]
    return [f"picture {n} shows {name}" for n, name in enumerate(names, 1)] + (lacking if names else [])


def _pairwise(shown: Sequence[Sequence[Shown]], goal: str, ids: Sequence[str], prompts: Prompts) -> Talk:
    """Ask of every two steps, both ways round, which is done first; those that look the same are not asked about."""
    looks = [[(piece.text, piece.media) for piece in pieces] for pieces in shown]
    pairs = [(i, j) for i, j in permutations(range(len(shown)), 2) if looks[i] != looks[j]]
    texted = any(piece.text for pieces in shown for piece in pieces)
    calls, details = [], {}
    for i, j in pairs:
        rendered = prompts.render(
            "order-pair",
            goal=goal or None,
            first=_text(shown[i]) if texted else None,
            second=_text(shown[j]) if texted else None,
            pictures=_legend({"step A": shown[i], "step B": shown[j]}) or None,
        )
        media = [piece.media for k in (i, j) for piece in shown[k] if piece.media is not None]
        calls.append(Call(messages=rendered.with_media(media), parameters=_PAIRWISE, assume="A"))
        details = dict(rendered.details)
    if not calls:
        return Answer(None, "not_shown: all steps look the same, so that no two can be compared")
    outcomes: tuple[Outcome, ...] = yield tuple(calls)
    firsts = np.full((len(shown), len(shown)), 0.5)
    unread = 0
    for (i, j), outcome in zip(pairs, outcomes, strict=True):
        failure = why_no_reply(outcome)
        if failure is not None or not isinstance(outcome, Reply):
            return Answer(None, failure, None, details)
        letter = read_choice(outcome.text, ("step A", "step B"), "A", (0, 1)).printed
        firsts[i, j] = {"A": 1.0, "B": 0.0}.get(letter or "", 0.5)
        unread += letter is None
    swayed = sum(firsts[i, j] == firsts[j, i] != 0.5 for i, j in pairs if i < j)
    details |= {"pairs": str(len(pairs)), "pairs_unread": str(unread), "pairs_swayed": str(swayed)}
    if unread == len(pairs):
        return Answer("no pair could be read", None, None, details)
    order = decode_pairwise(firsts).order
    value = Ordering(ids=tuple(ids[slot] for slot in order))
    return Answer(spell_slots(order), None, value, {**details, "order": spell_slots(order)})


def _details(read: OrderRead) -> dict[str, str]:
    """Return for the record what was read, and how it was repaired."""
    if (made := read.repaired) is None:
        return {"read": read.rule}
    said = {
        "unknown": "; ".join(str(name)[:40] for name in made.unknown),
        "repeated": spell_slots(made.repeated),
        "missing": spell_slots(made.missing),
    }
    repaired = ", ".join(f"{name} {what}" for name, what in said.items() if what)
    found = {"read": read.rule, "order": spell_slots(made.order)}
    return found | ({"repaired": repaired} if repaired else {})


KIND: Final = _Order()
