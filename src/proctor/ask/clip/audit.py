"""The planted audit: questions with known faults go through the filters, and what each filter finds is counted.

Rules make the questions, so many of each kind, the same for the same clips and seed. Nothing is written by a model: what is asked and
what is wrong with it follows from the annotation, so that it is known what a filter should say. Steps whose text has no verb that we
know, or that cannot be told from another one, are passed over.

``score_audit`` says of each filter how much of what it is there for it catches (recall), how much of what it drops is what it is
there for (precision), and both in one number, with intervals; and which filter dropped what.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeVar, get_args

import msgspec

from proctor.ask.clip.filters import FilterResult
from proctor.ask.clip.known import Known, known_question
from proctor.ask.clip.record import (
    FILTERS,
    Category,
    ClipPair,
    FilterName,
    Level,
    ShownClip,
    ShownStep,
    pair_question,
    top_steps,
)
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.metrics.interval import wilson_interval
from proctor.procedure.inflect import gerund
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.records import canonical_json, content_hash

__all__ = [
    "CATCHES",
    "PLANTED_KINDS",
    "RULES",
    "AuditReport",
    "AuditRow",
    "AuditSet",
    "Draft",
    "Foreign",
    "Planted",
    "PlantedKind",
    "Rate",
    "Rule",
    "Scene",
    "plant_audit",
    "score_audit",
]


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
        "generic": lambda scene, rng: (
            Draft(_ask_neighbour(a, b, rng), rng.choice(_GENERIC), (a.step, b.step), "generic")
            for a, b in _shuffled(scene.pairs, rng)
        ),
        "not-an-answer": _not_an_answer,
        "partial": _partial,
        "shorter-list": _shorter_list,
    },
    "tricky": {
        "repeated-step": lambda scene, rng: (
            Draft(_ask_after(a), b.told, (a.step, b.step), "several-answers")
            for a, b in _shuffled(scene.repeated, rng)
        ),
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
        "after": lambda scene, rng: (
            Draft(_ask_after(a), b.told, (a.step, b.step)) for a, b in _shuffled(scene.pairs, rng)
        ),
        "before": lambda scene, rng: (
            Draft(_ask_before(b), a.told, (a.step, b.step)) for a, b in _shuffled(scene.pairs, rng)
        ),
        "between": _between,
        "first-of-two": _first_of_two,
    },
}
"""Rules by what they plant."""


class Planted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with a known fault, or a sound one.

    Attributes:
        pair: the question; nothing in it says what was planted.
        kind: what was planted.
        rule: by which rule.
        problem: what a filter that catches it would call it; empty for a sound one.
    """

    pair: ClipPair
    kind: PlantedKind
    rule: str
    problem: str = ""


class AuditSet(msgspec.Struct, frozen=True, kw_only=True):
    """What was planted.

    Attributes:
        planted: in an order that says nothing of their kinds.
        missing: kinds of which the clips did not give enough, with how many are lacking.
        seed: of the draws.
    """

    planted: tuple[Planted, ...]
    missing: Mapping[PlantedKind, int]
    seed: int

    def questions(self, clips: Sequence[ShownClip]) -> list[Known]:
        """Return the questions as the filters see them.

        Raises:
            UserError: if a clip is not among the given ones.
        """
        by_id, library = {clip.id: clip for clip in clips}, Library(media=MediaStore())
        return [known_question(pair_question(planted.pair, by_id), library) for planted in self.planted]


# -- planting ------------------------------------------------------------------------------------------------------


def plant_audit(clips: Sequence[ShownClip], *, seed: int = 0, each: int = 100) -> AuditSet:
    """Make questions of every kind.

    Kinds take turns, within a kind rules do, and within a rule clips, so that a set is as varied as the clips allow. The order
    of the clips changes nothing.

    Args:
        clips: with real annotations, ids unique.
        seed: of the draws.
        each: questions of each kind.

    Raises:
        UserError: if two clips have one id, or ``each`` is below 1.
    """
    if each < 1:
        raise UserError(f"{each} questions of each kind make no audit.", hint="take at least 1")
    ordered = sorted(clips, key=lambda clip: clip.id)
    if len({clip.id for clip in ordered}) < len(ordered):
        raise UserError("two clips have the same id.", where="planted audit")
    foreign = _ForeignActs(ordered)
    scenes = [scene for clip in ordered if len((scene := Scene.of(clip, foreign)).acts) > 1]
    foreign.fill(scenes)
    # A question is in the set once: asked twice it would share the replies of those who see it alone.
    seen: set[str] = set()
    streams = {
        kind: _taking_turns(
            [_only_new(_drafts(name, rule, scenes, seed, kind), seen) for name, rule in RULES[kind].items()]
        )
        for kind in PLANTED_KINDS
    }
    planted: list[Planted] = []
    missing: dict[PlantedKind, int] = {}
    for number in range(each):
        for kind in PLANTED_KINDS:
            found = None if kind in missing else next(streams[kind], None)
            if found is None:
                missing.setdefault(kind, each - number)
            else:
                name, scene, draft = found
                planted.append(_planted(kind, name, scene.clip, draft))
    planted.sort(key=lambda p: content_hash([seed, p.pair.id]))
    return AuditSet(planted=tuple(planted), missing=missing, seed=seed)


class _ForeignActs:
    """Acts of all clips, to draw one from that speaks of nothing in a given clip."""

    _TRIES = 40

    def __init__(self, clips: Sequence[ShownClip]) -> None:
        self._task = {clip.id: (clip.task.casefold(), clip.video_id) for clip in clips}
        self._acts: list[tuple[str, Act, frozenset[str]]] = []

    def fill(self, scenes: Sequence[Scene]) -> None:
        """Take the acts of these scenes."""
        for scene in scenes:
            for act in scene.named:
                words = frozenset(words_of(act.phrase.object))
                if words and act.thing:
                    self._acts.append((scene.clip.id, act, words))

    def __call__(self, scene: Scene, rng: random.Random) -> Act | None:
        if not self._acts:
            return None
        task, video = self._task[scene.clip.id]
        for _ in range(self._TRIES):
            clip_id, act, words = self._acts[rng.randrange(len(self._acts))]
            other_task, other_video = self._task[clip_id]
            if other_video == video or (task and other_task == task):
                continue
            if not words & scene.words:
                return act
        return None


def _drafts(
    name: str, rule: Rule, scenes: Sequence[Scene], seed: int, kind: PlantedKind
) -> Iterator[tuple[str, Scene, Draft]]:
    """Yield the drafts of one rule: one of each scene, then a second of each, and so on."""
    streams = []
    for scene in scenes:
        digest = hashlib.sha256(canonical_json(["audit", seed, kind, name, scene.clip.id])).digest()
        rng = random.Random(int.from_bytes(digest[:16]))  # noqa: S311 - no secret
        streams.append((digest, _of_scene(name, rule, scene, rng)))
    streams.sort(key=lambda pair: pair[0])
    yield from _taking_turns([stream for _, stream in streams])


def _of_scene(name: str, rule: Rule, scene: Scene, rng: random.Random) -> Iterator[tuple[str, Scene, Draft]]:
    for draft in rule(scene, rng):
        yield name, scene, draft


def _taking_turns(
    streams: Sequence[Iterator[tuple[str, Scene, Draft]]],
) -> Iterator[tuple[str, Scene, Draft]]:
    waiting = deque(streams)
    while waiting:
        stream = waiting.popleft()
        for found in stream:
            yield found
            waiting.append(stream)
            break


def _only_new(
    stream: Iterator[tuple[str, Scene, Draft]], seen: set[str]
) -> Iterator[tuple[str, Scene, Draft]]:
    """Yield the drafts of which the question is in the set not yet."""
    for name, scene, draft in stream:
        key = f"{scene.clip.id}\n{normalise_question(draft.question)}"
        if key not in seen:
            seen.add(key)
            yield name, scene, draft


def _planted(kind: PlantedKind, rule: str, clip: ShownClip, draft: Draft) -> Planted:
    place = {step.id: n for n, step in enumerate(clip.steps)}
    ids = tuple(sorted({step.id for step in draft.steps}, key=place.__getitem__))
    third = min(2, 3 * place[ids[0]] // max(1, len(clip.steps)))
    pair = ClipPair(
        id=f"{clip.id}/audit-{content_hash([clip.id, draft.question, draft.answer])[:12]}",
        clip_id=clip.id,
        dataset=clip.dataset,
        video_id=clip.video_id,
        level=draft.level,
        category=draft.category,
        question=draft.question,
        answer=draft.answer,
        step_ids=ids,
        position=("early", "middle", "late")[third],
    )
    return Planted(pair=pair, kind=kind, rule=rule, problem=draft.problem)


# -- scoring -------------------------------------------------------------------------------------------------------


class Rate(msgspec.Struct, frozen=True):
    """A share with its Wilson interval.

    Attributes:
        value: None where nothing was counted.
        low: lower end.
        high: upper end.
        hits: counted.
        n: of so many.
    """

    value: float | None
    low: float | None
    high: float | None
    hits: int
    n: int

    @classmethod
    def of(cls, hits: int, n: int, confidence: float = 0.95) -> Rate:
        """Return hits of n."""
        interval = wilson_interval(hits, n, confidence)
        return cls(hits / n if n else None, interval.low, interval.high, hits, n)

    @classmethod
    def f1(cls, hits: int, n: int, confidence: float = 0.95) -> Rate:
        """Return F1 of ``hits`` true positives in a union of ``n`` (true and false positives, false negatives).

        F1 is ``2 J / (1 + J)`` with the share ``J = hits / n``, and grows with it: its interval is that of J, carried over.
        """
        share = cls.of(hits, n, confidence)
        value, low, high = (
            None if x is None else 2 * x / (1 + x) for x in (share.value, share.low, share.high)
        )
        return cls(value, low, high, hits, n)


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One filter.

    Attributes:
        filter: its name.
        catches: the kind that it is there for.
        seen: questions on which it decided.
        dropped: of these.
        caught: of its kind that it dropped.
        other: of other faults that it dropped: no sound question is lost by them.
        sound: sound ones that it dropped.
        postponed: on which it could not decide; in no rate.
        precision: dropped ones that are of its kind.
        precision_any: dropped ones that have any fault.
        recall: of its kind, those that it dropped; what an earlier filter had dropped counts as missed.
        recall_seen: the same among those that it saw.
        false_alarm: of the sound ones that it saw, those that it dropped.
        f1: of precision and recall.
    """

    filter: FilterName
    catches: PlantedKind
    seen: int
    dropped: int
    caught: int
    other: int
    sound: int
    postponed: int
    precision: Rate
    precision_any: Rate
    recall: Rate
    recall_seen: Rate
    false_alarm: Rate
    f1: Rate


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit found.

    Attributes:
        rows: filter by filter.
        precision: of all filters together: dropped questions that have a fault.
        recall: questions with a fault that any filter dropped.
        f1: of the two.
        confusion: kind that was planted, to how many each filter dropped (first), and how many were ``kept`` or ``postponed``.
        by_rule: rule (``kind/rule``) to the share that any filter dropped.
        planted: how many of each kind.
        confidence: of all intervals.
    """

    rows: tuple[AuditRow, ...]
    precision: Rate
    recall: Rate
    f1: Rate
    confusion: Mapping[str, Mapping[str, int]]
    by_rule: Mapping[str, Rate]
    planted: Mapping[str, int]
    confidence: float = 0.95


def score_audit(
    planted: Sequence[Planted], results: Sequence[FilterResult], *, confidence: float = 0.95
) -> AuditReport:
    """Hold what the filters said against what was planted.

    Args:
        planted: all questions that were given to the filters.
        results: of each of them; from filters that go on after a drop (``exhaustive``) every filter is measured on everything,
            from others on what earlier ones let pass.
        confidence: of the intervals.

    Raises:
        UserError: if a planted question has no result, or two, or a result belongs to none.
    """
    kind_of = {p.pair.id: p.kind for p in planted}
    if len(kind_of) < len(planted):
        raise UserError("a question was planted twice.", where="planted audit")
    _check_complete(kind_of, results)
    filters = [n for n in FILTERS if any(v.filter == n for r in results for v in r.verdicts)]
    bad = sum(kind != "sound" for kind in kind_of.values())
    dropped = [r.item_id for r in results if r.outcome == "dropped"]
    late = sum(kind_of[r.item_id] != "sound" and r.outcome == "postponed" for r in results)
    right = sum(kind_of[id] != "sound" for id in dropped)
    rule_of = {p.pair.id: f"{p.kind}/{p.rule}" for p in planted}
    gone = Counter(rule_of[id] for id in dropped)
    decided = Counter(rule_of[r.item_id] for r in results if r.outcome != "postponed")
    return AuditReport(
        rows=tuple(_row(name, kind_of, results, confidence) for name in filters),
        precision=Rate.of(right, len(dropped), confidence),
        recall=Rate.of(right, bad - late, confidence),
        f1=Rate.f1(right, len(dropped) + bad - late - right, confidence),
        confusion=_confusion(kind_of, results, filters),
        by_rule={rule: Rate.of(gone[rule], n, confidence) for rule, n in sorted(decided.items())},
        planted=dict(Counter(kind_of[p.pair.id] for p in planted)),
        confidence=confidence,
    )


def _check_complete(kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult]) -> None:
    counts = Counter(result.item_id for result in results)
    for id in counts:
        if id not in kind_of:
            raise UserError(f"the question '{id}' was not planted.", where="planted audit")
    for id in kind_of:
        if counts[id] != 1:
            raise UserError(f"the question '{id}' has {counts[id]} results.", where="planted audit")


def _row(
    name: FilterName, kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult], confidence: float
) -> AuditRow:
    own = next(kind for kind, by in CATCHES.items() if by == name)
    said = {r.item_id: v.keep for r in results for v in r.verdicts if v.filter == name}
    undecided = {r.item_id for r in results if r.item_id not in said and r.outcome == "postponed"}
    undecided |= {id for id, keep in said.items() if keep is None}
    seen = [id for id, keep in said.items() if keep is not None]
    dropped = [id for id in seen if said[id] is False]
    by_kind, seen_by_kind = Counter(kind_of[id] for id in dropped), Counter(kind_of[id] for id in seen)
    caught, sound = by_kind[own], by_kind["sound"]
    whole = sum(kind == own and id not in undecided for id, kind in kind_of.items())
    return AuditRow(
        filter=name,
        catches=own,
        seen=len(seen),
        dropped=len(dropped),
        caught=caught,
        other=len(dropped) - caught - sound,
        sound=sound,
        postponed=len(undecided),
        precision=Rate.of(caught, len(dropped), confidence),
        precision_any=Rate.of(len(dropped) - sound, len(dropped), confidence),
        recall=Rate.of(caught, whole, confidence),
        recall_seen=Rate.of(caught, seen_by_kind[own], confidence),
        false_alarm=Rate.of(sound, seen_by_kind["sound"], confidence),
        f1=Rate.f1(caught, len(dropped) + whole - caught, confidence),
    )


def _confusion(
    kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult], filters: Sequence[FilterName]
) -> dict[str, dict[str, int]]:
    columns = (*filters, "kept", "postponed")
    table = {kind: dict.fromkeys(columns, 0) for kind in PLANTED_KINDS if kind in kind_of.values()}
    for result in results:
        by = result.dropped_by
        column: str = result.outcome if by is None else by.filter
        table[kind_of[result.item_id]][column] += 1
    return {str(kind): row for kind, row in table.items()}
