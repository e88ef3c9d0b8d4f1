"""What is asked of one step: whether it was carried out (V1), or one question for each category of mistakes (V2).

The categories and what each question says are as published (CaptainCook4D, Peddi et al. 2024, Section 4.1 and Appendix); the wording
is ours, several a category. A category is skipped where the step has nothing of it: no amount, no heat, no duration, nothing
before it. ``published`` asks all seven, with a wording that says what to answer then.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from proctor.ask.step.entry import Entry
from proctor.exam.question import Choice, Footage, Gold, Item, Open, Pick, Question, Text
from proctor.procedure.inflect import singular
from proctor.procedure.phrase import parse_phrase
from proctor.procedure.quantity import find_levels, find_quantities

__all__ = [
    "CATEGORIES",
    "CATEGORY_TEMPLATES",
    "STEP",
    "Asker",
    "Protocol",
    "Template",
    "Variant",
    "categories_of",
]

Variant = Literal["v1", "v2"]
Protocol = Literal["right", "published"]
STEP: Final = "step"
"""The single question of V1; ``missing`` asks the same."""
CATEGORIES: Final = ("technique", "preparation", "order", "missing", "measurement", "temperature", "timing")
"""In the order of the paper; the kinds of mistakes that they look for have the same names."""
SEVERAL: Final = 3
"""Wrong options beside the right one."""


class Template(NamedTuple):
    """A wording, with ``{step}``, ``{recipe}`` and what the category has: ``{before}``, ``{amount}``, ``{heat}``, ``{time}``."""

    name: str
    text: str


_DONE: Final = (
    Template("a", 'While making {recipe}, did the person carry out this step: "{step}"?'),
    Template(
        "b", 'The recipe is {recipe}, and one of its instructions is "{step}". Was this instruction followed?'
    ),
    Template("c", 'Is this what the person does for {recipe}: "{step}"?'),
)
CATEGORY_TEMPLATES: Final[Mapping[str, tuple[Template, ...]]] = {
    STEP: _DONE,
    "missing": _DONE,
    "technique": (
        Template("a", '"{step}" is a step of {recipe} that wants care. Was it done neatly, with nothing spilled or dropped?'),
        Template("b", 'For {recipe} the person has to do this: "{step}". Did they handle everything properly, without a slip or a mess?'),
    ),
    "preparation": (
        Template("a", 'A step of {recipe} reads "{step}". Which of these was really used where the dots are?'),
        Template("b", 'Look at what the person takes for the step "{step}" of {recipe}. What is it that stands at the dots?'),
    ),
    "order": (
        Template("a", 'In {recipe}, {before} comes before "{step}". Was that finished first, and was the step then done?'),
        Template("b", 'Did the person do "{step}" for {recipe} only once this was complete: {before}?'),
    ),
    "measurement": (
        Template("a", 'The step "{step}" of {recipe} asks for {amount}. Did the person take exactly this, measured or weighed?'),
        Template("b", '{amount} is needed for "{step}" ({recipe}). Was that the amount?'),
    ),
    "temperature": (
        Template("a", 'The step "{step}" of {recipe} needs {heat}. Was the heat or power set as it should be?'),
        Template("b", 'Something is heated in "{step}" ({recipe}): {heat}. Was this setting respected?'),
    ),
    "timing": (
        Template("a", 'The step "{step}" of {recipe} is to last {time}. Did it last that long?'),
        Template("b", 'Was {time} kept as the duration of "{step}" for {recipe}?'),
    ),
}  # fmt: skip
"""Wordings by category; the first one is used where none was chosen."""

_WITHOUT: Final[Mapping[str, Template]] = {
    "preparation": Template("none", 'Were the right tools and ingredients used for the step "{step}" of {recipe}?'),
    "order": Template("none", 'Was the step "{step}" done at its right place in the order of {recipe}?'),
    "measurement": Template("none", 'If the step "{step}" of {recipe} names an amount, was it measured exactly? If it names none, say yes.'),
    "temperature": Template("none", 'If the step "{step}" of {recipe} heats something, was the setting right? If it heats nothing, say yes.'),
    "timing": Template("none", 'If the step "{step}" of {recipe} names a duration, was it kept? If it names none, say yes.'),
}  # fmt: skip
"""What ``published`` asks of a step that has nothing of the category."""

_HEAT: Final = re.compile(
    r"\b(?:microwav(?!e-safe|able)|heat|boil|fry|fried|bak(?:e|ing(?! powder| soda))\b|simmer|toast|oven|stove|sear|saut|melt|cook(?!ing spray)|grill|"
    r"brown|warm|hot\b|steam|roast|"
    r"scrambl|caramel)",
    re.IGNORECASE,
)
_END: Final = r"(?!(?:of|and|or|to|for|with|until|in|on|onto|into|using|from|so|that|is|over|at|by|then|around|without|during|before|after|while)\b)"
_NOUN: Final = rf"((?:{_END}[a-z-]+\s?){{1,3}})"
_WITH: Final = re.compile(rf"\b(?:with|using)\s+(?:a|an|the|your)\s+{_NOUN}", re.IGNORECASE)
_WHERE: Final = re.compile(rf"\b(?:in|into|to|on|onto|from)\s+(?:a|an|the|your)\s+{_NOUN}", re.IGNORECASE)
_VAGUE: Final = frozenset(
    {"contents", "mixture", "bottom", "top", "heat", "step", "length", "side", "ingredients"}
)


class _Facts(NamedTuple):
    """What a step's text says of the categories; empty where it says nothing."""

    amount: str
    heat: str
    time: str
    used: str


@lru_cache(maxsize=4_096)
def _facts(text: str) -> _Facts:
    found = find_quantities(text)
    levels = [w if of == "water" else f"{w} heat or power" for w, _, of in find_levels(text)]
    degrees = [q.text for q in found if q.dimension == "temperature"]
    heated = bool(levels or degrees or _HEAT.search(text))
    return _Facts(
        amount=", ".join(
            f"{q.text} {q.counted}".strip() for q in found if q.dimension in ("amount", "count", "length")
        ),
        heat=", ".join([*levels, *degrees]) or ("heat as the step says" if heated else ""),
        time=" and ".join(q.text for q in found if q.dimension == "time"),
        used=_used(text),
    )


def _used(text: str) -> str:
    """Return the tool or ingredient that a step names: behind "with", else what its verb acts on, else the vessel."""
    where = (match[1].strip() if (match := rule.search(text)) else "" for rule in (_WITH, _WHERE))
    tool, vessel = where
    thing = parse_phrase(text).object
    for words in (tool, thing, vessel):
        if words and len(words.split()) <= 3 and not _VAGUE & set(words.lower().split()) and words in text:
            return words
    return ""


def categories_of(entry: Entry, variant: Variant, protocol: Protocol) -> tuple[str, ...]:
    """Return which categories are asked of an entry, in the order of the paper.

    Args:
        entry: of the annotation.
        variant: ``v1`` asks one question.
        protocol: ``published`` asks all seven, whatever the step is.
    """
    if variant == "v1":
        return (STEP,)
    if protocol == "published":
        return CATEGORIES
    facts = _facts(entry.text)
    there = {
        "preparation": facts.used,
        "order": entry.before,
        "measurement": facts.amount,
        "temperature": facts.heat,
        "timing": facts.time,
    }
    return tuple(category for category in CATEGORIES if there.get(category, True))


@dataclass(frozen=True)
class Asker:
    """Makes questions of entries.

    Attributes:
        things: tools and ingredients that the steps of each recipe name, by activity; wrong options are drawn from them.
        seed: of the options.
    """

    things: Mapping[str, tuple[str, ...]]
    seed: int = 0

    @classmethod
    def of(cls, entries: Iterable[Entry], seed: int = 0) -> Asker:
        """Return one that knows what all entries name."""
        found: dict[str, dict[str, None]] = {}
        for entry in entries:
            if used := _facts(entry.text).used:
                found.setdefault(entry.activity, {})[used] = None
        return cls({activity: tuple(sorted(words)) for activity, words in found.items()}, seed)

    def item(self, entry: Entry, category: str, template: Template | None = None, *, of: str = "") -> Item:
        """Return the question of one category about one entry, with its right answer by the annotation.

        Args:
            entry: of the annotation.
            category: one of ``CATEGORIES``, or ``STEP``.
            template: the wording; the category's first one by default.
            of: name of the set, which stands before the id.
        """
        facts = _facts(entry.text)
        options = self._options(entry, facts.used) if category == "preparation" and facts.used else ()
        template = template or CATEGORY_TEMPLATES[category][0]
        there = {"order": entry.before, "preparation": facts.used, "measurement": facts.amount}
        there |= {"temperature": facts.heat, "timing": facts.time}
        if not there.get(category, True):
            template = _WITHOUT[category]
        wrong = entry.mistaken if category == STEP else category in entry.kinds
        right = options.index(facts.used) if options else -1
        values: list[Text | Pick] = [Text(text="no" if wrong else "yes")]
        if options:  # the one that the step names, or any other where something else was used
            values = [Pick(option=n) for n in range(len(options)) if (n == right) != wrong]
        question = Question(
            id=f"{of}{'/' if of else ''}{entry.id}:{category}:{template.name}",
            kind="step",
            text=_worded(template, entry, facts, masked=bool(options)),
            form=Choice(options=options) if options else Open(),
            evidence=(
                Footage(recording=entry.recording, start=entry.start, end=entry.end, video=entry.video),
            ),
            facts={
                "entry": entry.id,
                "category": category,
                "right": right,
                "step": entry.text,
                "recipe": entry.recipe,
            },
            facets={"category": category, "clip": entry.clip},
            cluster=entry.recording,
            provenance={"set": of or "asked", "template": template.name},
        )
        return Item(question=question, golds=tuple(Gold(value=v) for v in values), approved_by="annotation")

    def _options(self, entry: Entry, used: str) -> tuple[str, ...]:
        """Return the right thing among three others: of the same recipe first, never named by the step itself."""
        said = _nouns(f"{entry.text} {used}")
        own = self.things.get(entry.activity, ())
        others = sorted({word for words in self.things.values() for word in words} - set(own))
        apart: list[str] = []
        for words in (*self._drawn(entry, own), *self._drawn(entry, others)):
            named = _nouns(words)
            if not named & said:
                apart.append(words)
                said |= named
            if len(apart) == SEVERAL:
                break
        if len(apart) < SEVERAL:
            return ()
        place = self._number(entry, "place") % (SEVERAL + 1)
        return (*apart[:place], used, *apart[place:])

    def _drawn(self, entry: Entry, words: Sequence[str]) -> list[str]:
        return sorted(words, key=lambda word: self._number(entry, word))

    def _number(self, entry: Entry, word: str) -> int:
        # The same for all who carry out the step: equal questions are one call.
        name = f"{self.seed}\0{entry.activity}\0{entry.text}\0{word}"
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def _nouns(text: str) -> set[str]:
    """Return the words of a text, one or many of a thing alike: "tomatoes" beside "tomato" is no other option."""
    return {singular(word) or word for word in re.findall(r"[a-z]+", text.lower())}


def _worded(template: Template, entry: Entry, facts: _Facts, *, masked: bool) -> str:
    step = entry.text.rstrip(" .")
    if masked:  # the step names what is asked for
        step = re.sub(rf"\b{re.escape(facts.used)}", "…", step)
    before = " and ".join(f'"{text.rstrip(" .")}"' for text in entry.before)
    return template.text.format(
        step=step, recipe=entry.recipe, before=before, amount=facts.amount, heat=facts.heat, time=facts.time
    )
