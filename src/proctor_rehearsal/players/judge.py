"""The judge's role: the mark of the rule-based judge on the references of the prompt, with slips to a neighbouring mark.

A judge of quality *q* slips on a share of ``(1 - q) * difficulty`` of the answers. The difficulty is 1 where it sees question
and references only, less where it sees the procedure or the performed steps, so that templates differ. Which way it slips
depends on its leniency, a number from -1 to 1 that follows from its name: a lenient judge slips upwards more often, a strict
one downwards. So judges differ from each other as calibration tables expect, and always in the same way.
"""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Final

import msgspec

from proctor.exam.kinds.example import QUESTION_TYPES
from proctor.exam.kinds.moment_question import moment_example
from proctor.procedure.graph import Step, TaskGraph
from proctor_rehearsal.players.answers import mark_answer
from proctor_rehearsal.players.files import Now, activity_names
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import VERDICT_FORMS, pick, verdict_text
from proctor_rehearsal.standin.call import Call, draw

__all__ = ["leniency", "play_judge", "true_mark"]

_DIFFICULTY: Final = {"performed steps": 0.8, "procedure": 0.9}
_VARIED: Final = 0.3
_TWICE: Final = 0.05
_FORGETS: Final = 0.02
"""Shares of replies: in another form than the one asked for, with a verdict that is taken up again, without any."""
_LINES: Final = tuple(form for form in VERDICT_FORMS if form not in ("json", "fenced", "bracket"))
"""Forms of a line; a word in brackets is read as a verdict only where it is Judge."""
_BINARY = re.compile(r"\b(?:one number, |with the number )0 or 1\b")
_JSON = re.compile(r"\bOne JSON object\b|\bwith one JSON object\b")
_NO_GRAPH: Final = TaskGraph("", "", (Step("0", "go on"),))
_REASONS: Final = {
    0: (
        "The answer names another step than the {n} reference answers do.",
        "The answer says the opposite of reference answer {n}.",
        "None of the {n} points that a reference answer makes is there.",
    ),
    1: (
        "One of the {n} details of the reference is there; the rest is vague.",
        "The answer is right in part: step 1 of {n} is named, the others are not.",
    ),
    2: (
        "The answer says what reference answer {n} says, in other words.",
        "All of the {n} details agree, 100% of them.",
    ),
}


def leniency(model: str, seed: int = 0) -> float:
    """Return how lenient a judge is, from -1 (strict) to 1, by its name."""
    return 2 * draw("leniency", seed, model) - 1


def play_judge(asked: Asked, now: Now, quality: float, seed: int) -> Answer:
    """Mark an answer."""
    asked = _regardless_of_order(asked)
    call = asked.call
    binary = _BINARY.search(asked.words) is not None
    mark = true_mark(asked, now)
    share, lenient = _share(asked, quality), leniency(call.model, seed)
    if binary:
        return _say(asked, _slip_binary(call, mark, share, lenient, seed), 1, seed)
    return _say(asked, _slip(call, mark, share, lenient, seed), 2, seed)


def _regardless_of_order(asked: Asked) -> Asked:
    """Return the request under a name that the order of the references does not change: it may follow from ids."""
    texts = sorted((label.rstrip("0123456789"), text) for label, text in asked.blocks.items())
    own = copy.copy(asked.call)
    own.key = f"{draw(own.model, asked.words, 2 if asked.again else 1, texts)}"
    return replace(asked, call=own)


def true_mark(asked: Asked, now: Now) -> int:
    """Return the mark that the rule-based judge would give, by the references in the prompt."""
    question, golds = asked.blocks["question"], asked.each("reference answer")
    activity = asked.blocks.get("activity", "")
    items = [
        i
        for i in now.items_of.get(question, ())
        if activity in activity_names(e := moment_example(i.question), now.graphs.get(e.activity_id))
    ]
    graph = (
        now.graphs.get(moment_example(items[0].question).activity_id)
        if items
        else now.graph_named.get(activity)
    )
    types = {i.question.facets["type"] for i in items}
    type_ = min(types, key=QUESTION_TYPES.index) if types else ""
    return mark_answer(asked.blocks["answer"], golds, question, graph or _NO_GRAPH, type_)


def _share(asked: Asked, quality: float) -> float:
    difficulty = min((_DIFFICULTY[label] for label in _DIFFICULTY if label in asked.blocks), default=1.0)
    return (1.0 - quality) * difficulty


def _slip(call: Call, mark: int, share: float, lenient: float, seed: int) -> int:
    """Return the mark, or a neighbouring one; leniency moves slips from one direction to the other."""
    if mark == 1:
        if call.draw("slip", seed) >= share:
            return mark
        return 2 if call.draw("way", seed) < (1 + lenient) / 2 else 0
    towards = lenient if mark == 0 else -lenient
    return 1 if call.draw("slip", seed) < share * (1 + towards / 2) else mark


def _slip_binary(call: Call, mark: int, share: float, lenient: float, seed: int) -> int:
    """Return 1 for a match and 0 otherwise, or the other one; what is partly right is hard to place."""
    right = int(mark == 2)
    towards = -lenient if right else lenient
    chance = share * (1 + towards / 2) * (1.5 if mark == 1 else 1.0)
    return 1 - right if call.draw("slip", seed) < chance else right


def _say(asked: Asked, mark: int, top: int, seed: int) -> Answer:
    """Put a mark into words: reasons first, the verdict last."""
    call = asked.call
    number = 1 + int(call.draw("number", seed) * 9)
    reason = pick(call, _REASONS[mark * 2 // top], "reason", seed).format(n=number)
    if _JSON.search(asked.words) or call.content.schema is not None:
        text = msgspec.json.encode({"rationale": reason, "verdict": mark}).decode()
        fenced = call.content.schema is None and call.draw("varied", seed) < _VARIED
        return Answer(text=f"```json\n{text}\n```" if fenced else text)
    if not asked.again and call.draw("forgets", seed) < _FORGETS:
        return Answer(text=reason)
    form = pick(call, _LINES, "form", seed) if call.draw("varied", seed) < _VARIED else "plain"
    text = verdict_text(mark, reason, form, most=top, marker="Verdict")
    if not asked.again and call.draw("twice", seed) < _TWICE:
        first = pick(call, [m for m in range(top + 1) if m != mark], "first", seed)
        text = verdict_text(mark, reason, most=top, marker="Revised verdict")
        text = f"At first sight it is another case.\nVerdict: {first}\nThat does not hold on a closer look. {text}"
    return Answer(text=text)
