"""Wrong answers made by rule: a judge that accepts them is too lenient.

Every control starts from a gold answer and changes the one thing that makes it right: the step it names, its yes or
no, its amount, or the question it belongs to. What is made must be wrong by the facts of the example, so a control
is left out where that is not certain.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.predict import item_rng
from proctor.exam.question import Gold, Item, Text, gold_texts
from proctor.exam.reading import is_yes_no, read_answer, words
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import parse_phrase

ControlKind = Literal["other-step", "flipped", "amount", "other-item"]
CONTROL_KINDS: tuple[ControlKind, ...] = ("other-step", "flipped", "amount", "other-item")

_LEAD = re.compile(r"^(?P<lead>yes|no|not yet)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[./]\d+)?")


@dataclass(frozen=True, slots=True)
class Control:
    """A wrong answer to an item and how it was made."""

    item: Item
    answer: str
    kind: ControlKind


def make_controls(
    items: Sequence[Item], graphs: Mapping[str, TaskGraph], *, seed: int = 0
) -> Iterator[Control]:
    """Make at most one control of each kind for every item.

    ``other-step``: a step that is neither in a gold nor due, missing or just done. ``flipped``: the gold with the
    other one of yes and no. ``amount``: the gold of a measurement or timing question with a number at least
    three times as large. ``other-item``: the gold of a question about the same activity that names only steps which have nothing
    to do with this one.
    """
    siblings: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        siblings[moment_example(item.question).activity_id].append(item)
    for item in items:
        graph = graphs.get(moment_example(item.question).activity_id)
        if graph is None or not item.golds:
            continue
        rng = item_rng(seed, item.id)
        gold = gold_texts(item)[0]
        made: dict[ControlKind, str | None] = {
            "other-step": _other_step(item, graph, rng),
            "flipped": _flipped(item, gold),
            "amount": _other_amount(item),
            "other-item": _foreign(item, graph, siblings[moment_example(item.question).activity_id], rng),
        }
        for kind, text in made.items():
            if text is not None and not _is_gold(text, item):
                yield Control(item, text, kind)


def _is_gold(text: str, item: Item) -> bool:
    return any(words(text) == words(gold) for gold in gold_texts(item))


def _cites(gold: Gold) -> set[str]:
    return set(gold.value.cites) if isinstance(gold.value, Text) else set()


def _concerned(item: Item, graph: TaskGraph) -> set[str]:
    """Steps that a right answer could name, and all steps that are worded like one of them."""
    example = moment_example(item.question)
    ids = {i for g in item.golds for i in _cites(g)}
    ids |= {s.step_id for s in (*example.all_next, *example.all_missing)}
    ids |= {i for pair in example.blocking for i in pair}
    if example.current is not None:
        ids.add(example.current.step_id)
    texts = {graph[i].text.strip().lower() for i in ids if i in graph}
    named = " ".join((item.question.text, *gold_texts(item))).lower()
    return ids | {
        s.id
        for s in graph.actions
        if s.text.strip().lower() in texts or parse_phrase(s.text).imperative.lower() in named
    }


def _other_step(item: Item, graph: TaskGraph, rng: random.Random) -> str | None:
    if item.question.facets["type"] not in ("next", "missing") or not any(map(_cites, item.golds)):
        return None
    concerned = _concerned(item, graph)
    free = [s for s in graph.actions if s.id not in concerned and not parse_phrase(s.text).quoted]
    if not free:
        return None
    phrase = parse_phrase(rng.choice(free).text)
    lead = "Yes, " if is_yes_no(item.question.text) and item.question.facets["type"] == "missing" else ""
    return (
        f"{lead}you forgot to {phrase.imperative}."
        if item.question.facets["type"] == "missing"
        else f"You should {phrase.imperative}."
    )


def _flipped(item: Item, text: str) -> str | None:
    """The other one of yes and no; left out where the golds themselves do not agree on it."""
    match = _LEAD.match(text)
    leads = {read_answer(text).polarity for text in gold_texts(item)}
    if match is None or len(leads) != 1 or not is_yes_no(item.question.text):
        return None
    return f"{'No' if match['lead'].lower() == 'yes' else 'Yes'}{text[match.end() :]}"


def _other_amount(item: Item) -> str | None:
    if item.question.facets["type"] not in ("measurement", "timing"):
        return None
    for gold in gold_texts(item):
        match = _NUMBER.search(gold)
        if match is not None and len(_NUMBER.findall(gold)) == 1:
            shown = _unused_number(match[0], {n for text in gold_texts(item) for n in _NUMBER.findall(text)})
            return f"{gold[: match.start()]}{shown}{gold[match.end() :]}"
    return None


def _unused_number(text: str, used: set[str]) -> str:
    """Three times the number, or the first larger odd multiple that no gold has."""
    value = Fraction(7) if text.endswith("/0") else Fraction(text)
    factor = 3
    while (shown := _shown(factor * value)) in used:
        factor += 2
    return shown


def _shown(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"


def _foreign(item: Item, graph: TaskGraph, siblings: Sequence[Item], rng: random.Random) -> str | None:
    concerned = _concerned(item, graph)
    pool = [
        text
        for other in siblings
        if other.question.cluster != item.question.cluster or other.id != item.id
        for gold, text in zip(other.golds, gold_texts(other), strict=True)
        if _cites(gold) and not _cites(gold) & concerned
    ]
    return rng.choice(pool) if pool and any(map(_cites, item.golds)) else None
