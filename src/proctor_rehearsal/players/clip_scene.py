"""What a played model makes of the steps that it is shown: questions with their answers, and the answers to given questions.

Questions are made by rule from all steps, with every answer that the steps give to them. So the same rules write pairs, answer
questions, and judge whether an answer is the right one and the only one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from proctor.ask.clip.record import Category, Level
from proctor.ask.documents.duplicates import normalise_question
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.procedure.quantity import find_quantities
from proctor_rehearsal.players.clip_words import content

__all__ = ["Act", "Fact", "Line", "Scene", "capital", "scene_of"]

_ADDS: Final = (
    "add",
    "pour",
    "sprinkle",
    "mix",
    "drizzle",
    "season",
    "melt",
    "stir",
    "whisk",
    "spread",
    "brush",
)
_PLACES: Final = "in|into|onto|on|under|inside|over|beside|around|through"
_TAIL = re.compile(
    rf"(?<= )(?P<link>{_PLACES}|with|using|until|by) (?P<rest>(?!and |then )[^,;.]+?)"
    r"(?=,|;|\.|$| and | then | until | with | using | for | while | before | after | so )"
)
_PIECES = re.compile(
    r"\b(?:slices?|pieces?|strips?|cubes?|halves|half|quarters?|rings?|rounds?|chunks?|wedges?|shapes?|balls?|sticks?|dice|parts?)\b"
)
_TWO = re.compile(r"(?:which of the two|which takes).*?: (?P<one>.+) or (?P<other>.+?)[ ?.]*$", re.IGNORECASE)
_LONGER = re.compile(r"\blonger\b", re.IGNORECASE)
_TIMES: Final = {1: "once", 2: "twice"}
_MOST_WORDS: Final = 28
_CLEARLY_LONGER: Final = 1.3
_MOST_COUNTED: Final = 12


@dataclass(frozen=True, slots=True)
class Line:
    """Something that is known.

    Attributes:
        id: as it is shown; empty where there is none.
        text: what is done, or what a source says.
        start: seconds, where it has a time.
        end: seconds, exclusive.
        said: what is noted beside it.
    """

    id: str
    text: str
    start: float | None = None
    end: float | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """A step with the words in which a question can speak of it."""

    line: Line
    phrase: Phrase

    @property
    def name(self) -> str:
        """It as something that goes on: ``cutting the bread``."""
        return self.phrase.brief_gerund or self.phrase.gerund

    @property
    def told(self) -> str:
        """It as an answer: ``Cut the bread into slices``."""
        return capital(self.phrase.imperative)


@dataclass(frozen=True, slots=True)
class Fact:
    """A question by rule, with its answer.

    Attributes:
        question: as asked.
        answer: by the steps.
        ids: of the steps that prove it, in their order.
        category: of the closed list.
        level: coarse for how events hang together, fine for what is in a step.
        whole: the whole video has to be known for it.
    """

    question: str
    answer: str
    ids: tuple[str, ...]
    category: Category
    level: Level
    whole: bool = False


@lru_cache(maxsize=1_024)
def scene_of(lines: tuple[Line, ...]) -> Scene:
    """Return the scene of some lines; kept, as many requests are about the same ones."""
    return Scene(lines)


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is known.

    Attributes:
        lines: in the order shown.
    """

    lines: tuple[Line, ...]

    @cached_property
    def acts(self) -> tuple[Act | None, ...]:
        """Steps in their order; None for one that no question can speak of. Substeps are left out."""
        timed = [line for line in self.lines if line.start is not None and "." not in line.id]
        return tuple(_act(line) for line in timed or self.lines)

    @cached_property
    def known(self) -> tuple[Act, ...]:
        """Steps that a question can speak of."""
        return tuple(act for act in self.acts if act is not None)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words that carry meaning."""
        return frozenset().union(*(content(f"{line.text} {line.said}") for line in self.lines))

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Act]]:
        """Steps by name, small letters: more than one where something is done again."""
        found: dict[str, list[Act]] = defaultdict(list)
        for act in self.known:
            found[act.name.casefold()].append(act)
        return found

    @cached_property
    def pairs(self) -> tuple[tuple[Act, Act], ...]:
        """Neighbours that follow each other and differ."""
        return tuple(
            (a, b)
            for a, b in zip(self.acts, self.acts[1:], strict=False)
            if a is not None and b is not None and _follows(a, b) and a.name.casefold() != b.name.casefold()
        )

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Everything that can be asked, whether or not it has one answer."""
        made = (fact for maker in (_orders, _counts, _objects, _details) for fact in maker(self))
        return tuple(
            f
            for f in made
            if len(f.answer.split()) <= _MOST_WORDS and len(f.question.split()) <= 2 * _MOST_WORDS
        )

    @cached_property
    def _by_question(self) -> Mapping[str, Sequence[Fact]]:
        found: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            found[normalise_question(fact.question)].append(fact)
        return found

    @cached_property
    def sound(self) -> tuple[Fact, ...]:
        """Facts with one answer that the question does not give away."""
        kept = []
        for fact in self.facts:
            answers = {
                normalise_question(f.answer) for f in self._by_question[normalise_question(fact.question)]
            }
            given_away = content(fact.answer) <= content(fact.question) and fact.category != "comparison"
            if len(answers) == 1 and not given_away:
                kept.append(fact)
        return tuple(kept)

    def solve(self, question: str) -> tuple[Fact, ...]:
        """Return the answers that the steps give to a question, different ones only; none when it is not understood."""
        found = self._by_question.get(normalise_question(question)) or self._of_two(question)
        return tuple({normalise_question(fact.answer): fact for fact in found}.values())

    def _of_two(self, question: str) -> Sequence[Fact]:
        """Compare two steps that a question names."""
        text = " ".join(question.split())
        match = _TWO.search(text)
        if match is None:
            return []
        one, other = match["one"].casefold(), match["other"].casefold()
        if one not in self.by_name or other not in self.by_name:
            return []
        a, b = self.by_name[one][0], self.by_name[other][0]
        longer = _LONGER.search(text) is not None
        first = a if (_length(a) >= _length(b) if longer else self.is_earlier(a, b)) else b
        ids = tuple(act.line.id for act in self.known if act in (a, b))
        return [Fact(question, capital(first.name), ids, "comparison" if longer else "ordering", "coarse")]

    def is_earlier(self, a: Act, b: Act) -> bool:
        """True when a begins before b."""
        return self.known.index(a) < self.known.index(b)

    def foul_premise(self, question: str) -> str:
        """Return which order a question takes for granted although the steps say otherwise; empty for none."""
        text = " ".join(question.casefold().split()).rstrip("?. ")
        for link in re.finditer(r" (before|after) ", text):
            left = [acts for name, acts in self.by_name.items() if text[: link.start()].endswith(name)]
            right = [acts for name, acts in self.by_name.items() if text[link.end() :].startswith(name)]
            for ones, others in ((a, b) for a in left for b in right):
                early, late = (ones, others) if link[1] == "before" else (others, ones)
                if not any(self.is_earlier(a, b) for a in early for b in late):
                    return f"{ones[0].name} does not come {link[1]} {others[0].name}"
        return ""

    def said_by(self, text: str) -> tuple[Act, ...]:
        """Return the steps that a text tells of: one of those that say the same, and none that is a part of another."""
        words = content(text)
        told = {own: act for act in self.known if (own := content(act.phrase.imperative)) and own <= words}
        return tuple(act for own, act in told.items() if not any(own < other for other in told))

    def nearest(self, *texts: str) -> tuple[str, ...]:
        """Return the ids of at most three lines that have the most words of some texts; none where there is none."""
        words = frozenset().union(*map(content, texts))
        ranked = sorted(self.lines, key=lambda line: -len(words & content(f"{line.text} {line.said}")))
        return tuple(
            line.id for line in ranked[:3] if line.id and words & content(f"{line.text} {line.said}")
        )


# -- making --------------------------------------------------------------------------------------------------------


def _act(line: Line) -> Act | None:
    text = " ".join(line.text.split())
    if not text or len(text) > 200:
        return None
    phrase = parse_phrase(text)
    return None if phrase.quoted or not phrase.object else Act(line, phrase)


def capital(text: str) -> str:
    """Return a text with a capital in front."""
    return text[:1].upper() + text[1:]


def _follows(a: Act, b: Act) -> bool:
    return a.line.end is None or b.line.start is None or a.line.end <= b.line.start


def _length(act: Act) -> float:
    return 0.0 if act.line.start is None or act.line.end is None else act.line.end - act.line.start


def _orders(scene: Scene) -> Iterator[Fact]:
    for a, b in scene.pairs:
        ids = (a.line.id, b.line.id)
        yield Fact(f"What does the person do right after {a.name}?", b.told, ids, "ordering", "coarse")
        yield Fact(f"What does the person do right before {b.name}?", a.told, ids, "ordering", "coarse")
        yield Fact(f"What does {a.name} lead up to directly?", b.told, ids, "purpose-cause", "coarse")
        if (
            min(_length(a), _length(b)) > 0
            and not 1 / _CLEARLY_LONGER < _length(a) / _length(b) < _CLEARLY_LONGER
        ):
            longer = max((a, b), key=_length)
            asked = f"Which takes the person longer: {a.name} or {b.name}?"
            yield Fact(asked, capital(longer.name), ids, "comparison", "coarse")
    for (a, b), (again, c) in zip(scene.pairs, scene.pairs[1:], strict=False):
        if b is not again:
            continue
        three = (a.line.id, b.line.id, c.line.id)
        asked = f"What does the person do between {a.name} and {c.name}?"
        yield Fact(asked, b.told, three, "ordering", "coarse")
        if b.phrase.brief and a.name.casefold() != c.name.casefold():
            asked = f"Between which two actions does the person {b.phrase.brief}?"
            yield Fact(asked, f"Between {a.name} and {c.name}", three, "localisation", "coarse")


def _counts(scene: Scene) -> Iterator[Fact]:
    for acts in scene.by_name.values():
        if len(acts) > 1 and acts[0].phrase.brief:
            asked = f"How many separate times does the person {acts[0].phrase.brief}?"
            times = _TIMES.get(len(acts), f"{len(acts)} times")
            yield Fact(
                asked, capital(times), tuple(a.line.id for a in acts), "counting", "coarse", whole=True
            )
    for n, act in enumerate(scene.acts[:_MOST_COUNTED]):
        if act is not None and n > 1 and None not in scene.acts[:n]:
            asked = f"How many things does the person do, one after the other, before {act.name}?"
            ids = tuple(a.line.id for a in scene.acts[: n + 1] if a is not None)
            yield Fact(asked, f"{n} things", ids, "counting", "coarse", whole=True)


def _objects(scene: Scene) -> Iterator[Fact]:
    for a, b in scene.pairs:
        verb, thing = b.phrase.verb, b.phrase.object
        if re.search(rf"^{re.escape(verb)} (?:and|or) ", b.phrase.imperative):
            continue
        asked = f"What does the person {verb} right after {a.name}?"
        kind: Category = "ingredient-quantity" if verb in _ADDS else "object-tool"
        yield Fact(asked, f"The {thing}", (a.line.id, b.line.id), kind, "fine")


def _details(scene: Scene) -> Iterator[Fact]:
    for line in scene.lines:
        act = _act(line)
        if act is None:
            continue
        text, name = act.phrase.imperative, act.phrase.brief_gerund
        for quantity in find_quantities(text) if name else ():
            if quantity.text in name or (quantity.text == "half" and not quantity.unit):
                continue
            timed = quantity.dimension == "time"
            asked = (
                f"For how long does the person keep {name}?" if timed else f"How much is taken when {name}?"
            )
            counted = re.search(rf"{re.escape(quantity.text)} [\w-]+", text)
            answer = counted[0] if counted and not quantity.unit else quantity.text
            yield Fact(asked, answer, (line.id,), "manner" if timed else "ingredient-quantity", "fine")
        yield from _tails(act)


def _tails(act: Act) -> Iterator[Fact]:
    """Ask for where, with what, how, and until when something is done: what stands behind its object."""
    text, thing, ids = act.phrase.imperative, act.phrase.object, (act.line.id,)
    at = text.find(thing)
    for tail in _TAIL.finditer(text, at + len(thing)) if at >= 0 else ():
        head, answer = text[: tail.start()].rstrip(" ,"), tail[0]
        if tail["link"] in ("with", "using"):
            yield Fact(f"With what does the person {head}?", tail["rest"], ids, "object-tool", "fine")
        elif tail["link"] == "until":
            yield Fact(f"Up to which state does the person {head}?", answer, ids, "state-attribute", "fine")
        elif tail["link"] == "by" or (tail["link"] in ("in", "into") and _PIECES.search(answer)):
            yield Fact(f"How does the person {head}?", answer, ids, "manner", "fine")
        else:
            yield Fact(f"Where does the person {head}?", answer, ids, "location", "fine")
