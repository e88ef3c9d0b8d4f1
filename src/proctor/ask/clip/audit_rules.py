"""Rules that make questions with one known fault, and sound ones, from the steps of a clip: material of the planted audit.

Nothing here is written by a model: what is asked and what is wrong with it follows from the annotation, so that it is known what a
filter should say. Steps whose text has no verb that we know, or that cannot be told from another one, are passed over.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeVar, get_args

from proctor.ask.clip.record import Category, FilterName, Level, ShownClip, ShownStep, top_steps
from proctor.procedure.inflect import gerund
from proctor.procedure.phrase import Phrase, parse_phrase

__all__ = ["CATCHES", "PLANTED_KINDS", "RULES", "Draft", "Foreign", "PlantedKind", "Rule", "Scene"]

T = TypeVar("T")

PlantedKind = Literal["vague", "tricky", "hallucinated", "blind-solvable", "sound"]
PLANTED_KINDS: Final[tuple[PlantedKind, ...]] = get_args(PlantedKind)

CATCHES: Final[Mapping[PlantedKind, FilterName]] = {
    "vague": "unspecific",
    "tricky": "tricky",
    "hallucinated": "hallucination",
    "blind-solvable": "blind",
}
"""Which filter is there for which fault."""

_GENERIC: Final = (
    "Something is done with it",
    "The next part of the work",
    "Another thing is prepared",
    "An action with some of the things",
)
_STATES: Final = (
    ("chop cut dice grate mince shred slice", "In pieces"),
    ("wash rinse clean wipe", "Clean"),
    ("boil heat warm preheat", "Hot"),
    ("chill cool refrigerate", "Cold"),
    ("freeze", "Frozen"),
    ("melt", "Liquid"),
    ("mix stir whisk blend combine", "Mixed"),
    ("peel", "Without its skin"),
    ("drain", "Without the liquid"),
    ("fold", "Folded"),
    ("paint", "Covered with paint"),
    ("open", "Open"),
    ("close", "Closed"),
)
_RESULTS: Final = {verb: state for verbs, state in _STATES for verb in verbs.split()}
"""What everybody knows of a thing to which this was done."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question by rule, not yet a record.

    Attributes:
        question: as asked.
        answer: with the fault, where there is one.
        steps: that it speaks of.
        problem: what a filter that catches it would call it; empty for a sound one.
        level: coarse for order, fine for what is in a step.
        category: of the closed list.
    """

    question: str
    answer: str
    steps: tuple[ShownStep, ...]
    problem: str = ""
    level: Level = "coarse"
    category: Category = "ordering"


@dataclass(frozen=True, slots=True)
class Act:
    """A step with the words in which a question can speak of it."""

    step: ShownStep
    phrase: Phrase

    @property
    def name(self) -> str:
        """It as something that goes on: ``cutting the bread``."""
        return self.phrase.brief_gerund or self.phrase.gerund

    @property
    def told(self) -> str:
        """It as an answer: ``Cut the bread into slices``."""
        return self.phrase.imperative[:1].upper() + self.phrase.imperative[1:]

    @property
    def thing(self) -> str:
        """What it is done to; empty when not known or when it is several things."""
        return "" if re.search(r",| and | or ", self.phrase.object) else self.phrase.object


Foreign = Callable[["Scene", random.Random], Act | None]
"""Draws an act of another video and task that speaks of nothing in this one; None where there is none."""


@dataclass(frozen=True)
class Scene:
    """A clip's steps as acts, in the order of their start; substeps are left out.

    Attributes:
        clip: where they are from.
        acts: steps whose text can be turned into a phrase.
        foreign: draws acts of other clips.
    """

    clip: ShownClip
    acts: tuple[Act | None, ...]
    foreign: Foreign

    @classmethod
    def of(cls, clip: ShownClip, foreign: Foreign) -> Scene:
        """Read a clip."""
        steps = sorted(top_steps(clip), key=lambda s: (s.start, s.end))
        return cls(clip, tuple(_act(step) for step in steps), foreign)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of its steps and its task."""
        texts = (self.clip.task, *(step.text for step in self.clip.steps))
        return frozenset(word for text in texts for word in words_of(text))

    @cached_property
    def _names(self) -> Counter[str]:
        return Counter(act.name.casefold() for act in self.acts if act is not None)

    @cached_property
    def named(self) -> tuple[Act, ...]:
        """Acts that a question can speak of without meaning two."""
        return tuple(act for act in self.acts if act is not None and self._names[act.name.casefold()] == 1)

    @cached_property
    def pairs(self) -> tuple[tuple[Act, Act], ...]:
        """Neighbours that do not overlap, both of which can be named, and of which the names differ."""
        return tuple(
            (a, b)
            for a, b in zip(self.acts, self.acts[1:], strict=False)
            if self._follow(a, b) and a in self.named and b in self.named
        )

    @cached_property
    def threes(self) -> tuple[tuple[Act, Act, Act], ...]:
        """Three neighbours in a row, like ``pairs``."""
        return tuple(
            (a, b, c) for (a, b), (again, c) in zip(self.pairs, self.pairs[1:], strict=False) if b is again
        )

    @cached_property
    def apart(self) -> tuple[tuple[Act, Act], ...]:
        """An earlier and a later act that can be named, with at least one step between them."""
        place = {act.step.id: n for n, act in enumerate(self.acts) if act is not None}
        return tuple(
            (a, b)
            for a in self.named
            for b in self.named
            if place[b.step.id] - place[a.step.id] >= 2 and a.step.end <= b.step.start
        )

    @cached_property
    def repeated(self) -> tuple[tuple[Act, Act], ...]:
        """An act that is done more than once, each time followed by another one: with one of the followers."""
        followers: dict[str, list[tuple[Act, Act]]] = {}
        for a, b in zip(self.acts, self.acts[1:], strict=False):
            if a is not None and b is not None and self._names[a.name.casefold()] > 1 and self._follow(a, b):
                followers.setdefault(a.name.casefold(), []).append((a, b))
        return tuple(
            pair
            for pairs in followers.values()
            if len({b.name.casefold() for _, b in pairs}) > 1
            for pair in pairs
        )

    def _follow(self, a: Act | None, b: Act | None) -> bool:
        return (
            a is not None
            and b is not None
            and a.step.end <= b.step.start
            and a.name.casefold() != b.name.casefold()
        )


Rule = Callable[[Scene, random.Random], Iterator[Draft]]
"""All drafts of one scene, in an order that chance decides."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return re.findall(r"[^\W\d_]{2,}", text.casefold())


def _act(step: ShownStep) -> Act | None:
    text = " ".join(step.text.split())
    if not text or len(text) > 200:
        return None
    phrase = parse_phrase(text)
    if phrase.quoted or not phrase.object:
        return None
    return Act(step, phrase)


def _shuffled(things: Sequence[T], rng: random.Random) -> list[T]:
    return rng.sample(things, len(things))


# -- sound ---------------------------------------------------------------------------------------------------------


def _after(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        yield Draft(_ask_after(a), b.told, (a.step, b.step))


def _before(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        yield Draft(_ask_before(b), a.told, (a.step, b.step))


def _between(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b, c in _shuffled(scene.threes, rng):
        question = f"What does the person do between {a.name} and {c.name}?"
        yield Draft(question, b.told, (a.step, b.step, c.step))


def _first_of_two(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.apart, rng):
        one, other = rng.sample((a, b), 2)
        question = f"Which of the two does the person do first: {one.name} or {other.name}?"
        yield Draft(question, a.name[:1].upper() + a.name[1:], (a.step, b.step))


def _ask_after(a: Act) -> str:
    return f"What does the person do right after {a.name}?"


def _ask_before(b: Act) -> str:
    return f"What does the person do right before {b.name}?"


def _ask_neighbour(a: Act, b: Act, rng: random.Random) -> str:
    """Ask for one of two neighbours."""
    return rng.choice((_ask_after(a), _ask_before(b)))


# -- vague ---------------------------------------------------------------------------------------------------------


def _generic(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        yield Draft(_ask_neighbour(a, b, rng), rng.choice(_GENERIC), (a.step, b.step), "generic")


def _not_an_answer(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        seconds = f"About {max(1, round(b.step.end - b.step.start))} seconds"
        answer = rng.choice(("Yes", "No", seconds))
        yield Draft(_ask_neighbour(a, b, rng), answer, (a.step, b.step), "not-an-answer")


def _partial(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b, c in _shuffled(scene.threes, rng):
        question = f"Which two things does the person do right after {a.name}, and in which order?"
        yield Draft(question, b.told, (a.step, b.step, c.step), "partial")


def _shorter_list(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    steps = scene.acts
    for n in _shuffled(range(2, min(6, len(steps))), rng):
        last, first = steps[n], steps[0]
        earlier = steps[:n]
        if last is None or first is None or last not in scene.named or None in earlier:
            continue
        if any(act.step.end > last.step.start for act in earlier if act is not None):
            continue
        shown = tuple(act.step for act in earlier if act is not None)
        question = f"What are all the things that the person does before {last.name}?"
        yield Draft(question, first.told, (*shown, last.step), "shorter-list")


# -- tricky --------------------------------------------------------------------------------------------------------


def _repeated_step(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.repeated, rng):
        yield Draft(_ask_after(a), b.told, (a.step, b.step), "several-answers")


def _at_some_time(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, c in _shuffled(scene.apart, rng):
        question = f"What does the person do at some time before {c.name}?"
        yield Draft(question, a.told, (a.step, c.step), "several-answers")


def _artefact(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for n, act in _shuffled([(n, a) for n, a in enumerate(scene.acts, 1) if a is not None], rng):
        question = rng.choice(
            (
                f"Which text does the annotation have at number {n}?",
                f"Which labelled step begins at exactly {act.step.start:.1f} seconds?",
                f"What is described by the line with the id {act.step.id}?",
            )
        )
        yield Draft(question, act.told, (act.step,), "artefact", category="localisation")


def _wordplay(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for act in _shuffled([act for act in scene.named if act.thing], rng):
        word = act.thing.split()[-1]
        question, answer = rng.choice(
            (
                (f"Spelled backwards, what does the person handle when {act.name}?", word[::-1]),
                (
                    f"How many letters has the last word for what the person handles when {act.name}?",
                    str(len(word)),
                ),
            )
        )
        yield Draft(question, answer, (act.step,), "wordplay", "fine", "object-tool")


def _false_premise(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.apart, rng):
        question, answer = rng.choice(
            (
                (
                    f"Why does the person go back to {a.name} after {b.name}?",
                    "Because it was not finished the first time",
                ),
                (f"Why does the person start {b.name} before {a.name}?", "Because it takes longer"),
            )
        )
        yield Draft(question, answer, (a.step, b.step), "false-premise", category="purpose-cause")


# -- hallucinated --------------------------------------------------------------------------------------------------


def _foreign_answer(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        if (other := scene.foreign(scene, rng)) is not None:
            yield Draft(_ask_after(a), other.told, (a.step, b.step), "unsupported")


def _foreign_thing(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        other = scene.foreign(scene, rng)
        if other is None or not b.thing or not other.thing:
            continue
        new = other.thing.replace("\\", "")
        changed = re.sub(rf"\b{re.escape(b.thing)}\b", new, b.told, count=1)
        if changed != b.told:
            yield Draft(_ask_after(a), changed, (a.step, b.step), "unsupported")


def _foreign_addition(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b in _shuffled(scene.pairs, rng):
        if (other := scene.foreign(scene, rng)) is not None:
            yield Draft(
                _ask_after(a),
                f"{b.told}, and then {other.phrase.imperative}",
                (a.step, b.step),
                "unsupported",
            )


def _reversed_order(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for a, b, c in _shuffled(scene.threes, rng):
        if a.told != c.told:
            yield Draft(_ask_after(b), a.told, (a.step, b.step, c.step), "contradicted")


# -- blind-solvable ------------------------------------------------------------------------------------------------


def _echo(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for act in _shuffled([act for act in scene.named if act.thing and act.phrase.brief_gerund], rng):
        question = f"While {act.name}, what is the person {gerund(act.phrase.verb)}?"
        yield Draft(question, f"The {act.thing}", (act.step,), "blind-solved", "fine", "object-tool")


def _result(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for act in _shuffled([act for act in scene.named if act.thing and act.phrase.verb in _RESULTS], rng):
        question = f"In what state does the person leave the {act.thing} by {act.name}?"
        state = _RESULTS[act.phrase.verb]
        yield Draft(question, state, (act.step,), "blind-solved", "fine", "state-attribute")


def _needed(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    for act in _shuffled([act for act in scene.named if act.thing and act.phrase.brief_gerund], rng):
        question = f"Does the person handle the {act.thing} at all while {act.name}?"
        yield Draft(question, "Yes", (act.step,), "blind-solved", "fine", "object-tool")


RULES: Final[Mapping[PlantedKind, Mapping[str, Rule]]] = {
    "vague": {
        "generic": _generic,
        "not-an-answer": _not_an_answer,
        "partial": _partial,
        "shorter-list": _shorter_list,
    },
    "tricky": {
        "repeated-step": _repeated_step,
        "at-some-time": _at_some_time,
        "artefact": _artefact,
        "wordplay": _wordplay,
        "false-premise": _false_premise,
    },
    "hallucinated": {
        "foreign-answer": _foreign_answer,
        "foreign-thing": _foreign_thing,
        "foreign-addition": _foreign_addition,
        "reversed-order": _reversed_order,
    },
    "blind-solvable": {"echo": _echo, "result": _result, "needed": _needed},
    "sound": {
        "after": _after,
        "before": _before,
        "between": _between,
        "first-of-two": _first_of_two,
    },
}
"""Rules by what they plant."""
