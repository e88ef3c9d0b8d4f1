"""Answers to an item, right and wrong, made from the task graph and the annotations.

What is right or wrong here is so by the rule-based judge: an answer counts as right when the item's golds make it a match.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.exam.bound import AnnotationBound, Facts
from proctor.exam.judge import RuleJudge, compare_answer
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.mishap import as_sentence
from proctor.exam.predict import item_rng
from proctor.exam.question import Item, gold_texts
from proctor.exam.reading import is_yes_no
from proctor.procedure.graph import TaskGraph

__all__ = ["AnswerSheet", "answer_sheet", "choices", "mark_answer", "wrong_answers"]

_RULES: Final = RuleJudge()
_WRONG: Final = 4
"""Wrong answers that a model chooses from."""
_BLIND: Final = (
    "Yes, you can go on like this.",
    "No, you should stop here.",
    "You have completed all the steps.",
    "You should wait for a moment.",
)


@dataclass(frozen=True, slots=True)
class AnswerSheet:
    """What may be said to an item.

    Attributes:
        right: answers that are a match.
        wrong: answers that are not: other steps, the wrong side, half of it.
        blind: answers that are not and that need no procedure to say.
    """

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    blind: tuple[str, ...] = ()


def mark_answer(answer: str, golds: Sequence[str], question: str, graph: TaskGraph, type_: str) -> int:
    """Return the mark of the rule-based judge: 0, 1 or 2."""
    if not golds:
        return 0
    value = compare_answer(answer, golds, question, graph, type_=type_).value + 1e-9
    return 2 if value >= _RULES.match else 1 if value >= _RULES.partial else 0


def answer_sheet(item: Item, graph: TaskGraph) -> AnswerSheet:
    """Return right and wrong answers to an item.

    The first right one is what the annotations say in plain words, where the golds agree with it; the others are golds.
    """
    golds = sorted(gold_texts(item))  # their order may follow from ids, which no reply depends on
    question, type_ = item.question.text, item.question.facets["type"]

    def mark(text: str) -> int:
        return mark_answer(text, golds, question, graph, type_)

    said = AnnotationBound().predict_item(item, graph, item_rng(0, item.id)).answer or ""
    right = [text for text in dict.fromkeys((said, *golds)) if mark(text) == 2]
    wrong = wrong_answers(item, graph)
    marks = {text: mark(text) for text in wrong}
    zeros = [text for text in wrong if marks[text] == 0][: _WRONG - 1]
    halves = [text for text in wrong if marks[text] == 1]
    if right and not halves:
        halves = [text for z in zeros if mark(text := f"{right[0].rstrip('.')}. {z}") == 1]
    blind = tuple(sorted((text for text in _BLIND if mark(text) < 2), key=mark))[:3]
    return AnswerSheet(tuple(right or golds[:1]), (*zeros, *halves[: _WRONG - len(zeros)]), blind)


def wrong_answers(item: Item, graph: TaskGraph) -> list[str]:
    """Return what models say instead: a neighbouring step, a step that is done, one that comes later, the other side."""
    facts = Facts(moment_example(item.question), graph)
    type_, yes_no = facts.example.type, is_yes_no(item.question.text)
    found = []
    for step in _neighbours(facts, f"{item.question.text} {facts.example.id}"):
        words = facts.phrase(step)
        if type_ == "missing":
            text = f"{'Yes, ' if yes_no else ''}you forgot to {words.imperative}"
        elif type_ == "order":
            text = f"{'Yes, ' if yes_no else ''}you should have {words.participle} first"
        elif type_ == "next":
            text = f"{'Yes, ' if yes_no else ''}you should {words.imperative}"
        else:
            text = f"{'No, ' if yes_no else ''}you should have {words.participle} instead"
        found.append(as_sentence(text))
    sides = ("No, everything is fine.", "Yes, that was right.") if yes_no else ("Everything is fine so far.",)
    return [*found[:3], *sides, *found[3:]]


def _neighbours(facts: Facts, seed: str) -> Iterator[str]:
    """Yield steps near the moment, then the others, in an order that depends on question and moment alone."""
    graph = facts.graph
    ids = [step.id for step in graph.actions]
    right = {*facts.next, *facts.missing, *facts.early}
    performed = [p.step_id for p in facts.example.performed[-3:]]
    near = [i for p in performed if p in graph for i in (*graph.successors(p), *graph.predecessors(p), p)]
    near = [i for i in dict.fromkeys(near) if i in set(ids)]
    far = sorted(
        (i for i in ids if i not in near), key=lambda i: hashlib.sha256(f"{seed} {i}".encode()).digest()
    )
    yield from (i for i in (*near, *far) if i not in right)


def choices(item: Item, graph: TaskGraph) -> int:
    """Return how many answers somebody has to choose from who knows the procedure and was not there.

    A question for yes or no leaves two sides; any other one as many answers as there are steps.
    """
    return 2 if is_yes_no(item.question.text) else max(2, len(graph.actions))
