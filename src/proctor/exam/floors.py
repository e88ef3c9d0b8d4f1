"""Predictors that need no model: floors that a model has to beat; the bound is in ``proctor.exam.bound``.

Read a score of a model against all of them (docs/evaluate.md): a model below ``constant`` has learned less than
which answer is frequent, one below ``recipe-text`` less than the recipe and the question tell without any video.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.errors import UserError
from proctor.exam.bound import AnnotationBound
from proctor.exam.kind import Floor
from proctor.exam.kinds.moment_question import FLOOR_NAMES
from proctor.exam.mishap import as_sentence
from proctor.exam.predict import Predictor, PrivilegedPredictor, Task, make_task
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Procedure, gold_texts, part_of
from proctor.exam.reading import Vocabulary, asks_for_fault, is_yes_no, read_answer, read_question
from proctor.procedure.graph import Step, TaskGraph, TooManyDownsetsError
from proctor.procedure.phrase import parse_phrase

__all__ = [
    "AnnotationBound",
    "ConstantFloor",
    "EchoGold",
    "RandomStepFloor",
    "RecipeTextFloor",
    "any_order",
    "make_floor",
    "moment_floor",
]


def make_floor(name: str, items: Sequence[Item]) -> Predictor | PrivilegedPredictor:
    """Make a floor or bound by name; ``constant`` is fitted on the items.

    Raises:
        ValueError: if there is none of that name.
    """
    if name == "constant":
        return ConstantFloor.fit(items)
    if name == "recipe-text":
        return RecipeTextFloor()
    if name == "random-step":
        return RandomStepFloor()
    if name == "annotations":
        return AnnotationBound()
    raise ValueError(f"there is no floor {name!r}; known: {', '.join(FLOOR_NAMES)}")


def moment_floor(who: Predictor | PrivilegedPredictor, graphs: Mapping[str, TaskGraph]) -> Floor:
    """Return a predictor of questions about moments as a system without a model; it needs each activity's task graph."""

    def answer(item: Item, rng: random.Random) -> Prediction:
        procedure = part_of(item.question, Procedure)
        name = "" if procedure is None else procedure.id
        graph = graphs.get(name)
        if graph is None:
            raise UserError(f"there is no task graph for activity '{name}'.", where=item.id)
        if isinstance(who, PrivilegedPredictor):
            return who.predict_item(item, graph, rng)
        return who.predict(make_task(item, graph), rng)

    privilege = str(getattr(who, "privilege", ""))
    return Floor(who.name, answer, privilege, upper=isinstance(who, AnnotationBound))


def _answer(predictor: str, item_id: str, text: str, **details: str) -> Prediction:
    return Prediction(item_id=item_id, predictor=predictor, answer=text, details=details)


def _side(question: str, *, well: bool) -> str:
    """Start of an answer: the one of yes and no that says in reply to this question that all is well, or not.

    Empty where the question cannot be answered by yes or no.
    """
    seeks_fault = asks_for_fault(question)
    if seeks_fault is None or not is_yes_no(question):
        return ""
    return "No, " if well == seeks_fault else "Yes, "


# -- constant --------------------------------------------------------------------------------------------------

_Class = tuple[str | None, str | None]
_CONSTANTS: Mapping[_Class, str] = {
    ("no", "fine"): "No, you are on track.",
    ("yes", "fine"): "Yes, you did it correctly.",
    (None, "fine"): "You are on track.",
    ("no", "finished"): "No, you have completed all the steps.",
    ("yes", "finished"): "Yes, you have completed all the steps.",
    (None, "finished"): "You have completed all the steps.",
    ("yes", "act"): "Yes.",
    ("no", "act"): "No.",
}
_FALLBACK: _Class = ("no", "fine")


def _classes(item: Item) -> set[_Class]:
    """Which constant answers the golds of an item speak for; each counts once an item."""
    readings = map(read_answer, gold_texts(item))
    found: set[_Class] = {(r.polarity, r.stance) for r in readings}
    return found & _CONSTANTS.keys()


@dataclass(frozen=True)
class ConstantFloor:
    """One answer a question type: the most frequent kind of gold answer.

    It is told the type and it is fitted on the release's own golds, both of which a predictor must not see. It does
    not see the golds of the recording that it is asked about: those are left out of its counts.
    """

    totals: Mapping[str, Counter[_Class]]
    by_recording: Mapping[tuple[str, str], Counter[_Class]] = field(default_factory=dict)

    @classmethod
    def fit(cls, items: Iterable[Item]) -> ConstantFloor:
        """Count the kinds of gold answers of each question type, in all and in each recording."""
        totals: dict[str, Counter[_Class]] = {}
        by_recording: dict[tuple[str, str], Counter[_Class]] = {}
        for item in items:
            found = _classes(item)
            type_ = item.question.facets["type"]
            totals.setdefault(type_, Counter()).update(found)
            by_recording.setdefault((type_, item.question.cluster), Counter()).update(found)
        return cls(totals, by_recording)

    @property
    def name(self) -> str:
        """Name."""
        return "constant"

    @property
    def privilege(self) -> str:
        """What it sees that a predictor must not."""
        return "is shown the question type and the golds of all other recordings"

    def constant(self, type_: str, recording_id: str) -> str:
        """Return the answer to all questions of a type about a recording."""
        counts = Counter(self.totals.get(type_, {}))
        counts.subtract(self.by_recording.get((type_, recording_id), {}))
        best = max(_CONSTANTS, key=lambda c: (counts[c], c == _FALLBACK))
        return _CONSTANTS[best]

    def predict_item(self, item: Item, graph: TaskGraph, rng: random.Random) -> Prediction:  # noqa: ARG002
        """Answer by type."""
        question = item.question
        return _answer(self.name, item.id, self.constant(question.facets["type"], question.cluster))


# -- recipe only -----------------------------------------------------------------------------------------------

_ABOUT_FORGETTING = re.compile(r"\b(?:forg[oe]t\w*|miss\w*|skip\w*|overlook\w*|left out)\b", re.IGNORECASE)
_ABOUT_REST = re.compile(r"\b(?:anything|something|any)\b.*\b(?:else|more|left)\b", re.IGNORECASE)


@dataclass(frozen=True)
class RecipeTextFloor:
    """Guesses from question and task graph alone: no video, no annotations.

    It recognises the step that the question speaks of and answers with what follows it, or with its instruction;
    asked whether something was forgotten it says no, because mostly nothing was.
    """

    @property
    def name(self) -> str:
        """Name."""
        return "recipe-text"

    def predict(self, task: Task, rng: random.Random) -> Prediction:
        """Guess."""
        text, how = self._guess(task, rng)
        return _answer(self.name, task.item_id, text, form=how)

    def _guess(self, task: Task, rng: random.Random) -> tuple[str, str]:
        question, graph = task.question, task.graph
        if _ABOUT_FORGETTING.search(question):
            return as_sentence(f"{_side(question, well=True)}you are on track"), "nothing forgotten"
        recognised = Vocabulary.of(graph).recognise(read_question(question), 0.45)
        known = [s for s in graph.actions if s.id in recognised]
        if not is_yes_no(question) or _ABOUT_REST.search(question):
            return as_sentence(_what_follows(graph, known, rng)), "what follows"
        if known:
            side = _side(question, well=False) or "Yes, "
            instruction = parse_phrase(known[0].text).imperative
            return as_sentence(f"{side}you should {instruction}"), "instruction of the step asked about"
        return as_sentence(f"{_side(question, well=True) or 'Yes, '}that is fine"), "all well"


def _what_follows(graph: TaskGraph, known: Sequence[Step], rng: random.Random) -> str:
    after = {i for step in known for i in graph.successors(step.id)} - {s.id for s in known}
    following = [s for s in graph.actions if s.id in after]
    if known and not following:
        return "you have completed all the steps"
    step = following[0] if following else rng.choice(graph.actions)
    return f"you should {parse_phrase(step.text).imperative}"


@dataclass(frozen=True)
class RandomStepFloor:
    """Names a step that is next in a randomly drawn valid order.

    Attributes:
        seconds_per_step: where given, the place in the order follows from how long the clip is; otherwise every
            place is equally likely.
    """

    seconds_per_step: float | None = None

    def __post_init__(self) -> None:
        if self.seconds_per_step is not None and not self.seconds_per_step > 0:
            raise ValueError(f"seconds_per_step must be positive, got {self.seconds_per_step}")

    @property
    def name(self) -> str:
        """Name."""
        return "random-step"

    def predict(self, task: Task, rng: random.Random) -> Prediction:
        """Draw an order and a place in it."""
        try:
            order, how = task.graph.sample_order(rng), "uniform"
        except TooManyDownsetsError:
            order, how = any_order(task.graph, rng), "random ready steps"
        if self.seconds_per_step is None:
            place = rng.randrange(len(order) + 1)
        else:
            place = min(len(order), round(task.end / self.seconds_per_step))
        if place == len(order):
            text = "You have completed all the steps."
        else:
            text = as_sentence(f"you should {parse_phrase(task.graph[order[place]].text).imperative}")
        return _answer(self.name, task.item_id, text, order=how)


def any_order(graph: TaskGraph, rng: random.Random) -> tuple[str, ...]:
    """Draw a valid order by picking ready steps; not uniform over orders, but cheap for any graph."""
    actions = {s.id for s in graph.actions}
    done: list[str] = []
    while len(done) < len(graph.steps):
        done.append(rng.choice(graph.ready(done)))
    return tuple(i for i in done if i in actions)


# -- bounds ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EchoGold:
    """Answers with the first gold: a judge that does not give it full marks is broken. For checks only."""

    @property
    def name(self) -> str:
        """Name."""
        return "echo-gold"

    @property
    def privilege(self) -> str:
        """What it sees that a predictor must not."""
        return "copies the first gold answer"

    def predict_item(self, item: Item, graph: TaskGraph, rng: random.Random) -> Prediction:  # noqa: ARG002
        """Copy."""
        if not item.golds:
            return Prediction(item_id=item.id, predictor=self.name, failure="the item has no gold answer")
        return _answer(self.name, item.id, gold_texts(item)[0])
