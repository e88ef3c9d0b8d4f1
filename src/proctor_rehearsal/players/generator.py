"""The generator's role: questions with answers by the rule-based generator, spoilt as models spoil them.

The example is found by what the prompt tells: activity and kind of question, performed steps, what the friend is aware of, the
time of the last frame. Each pair is right with the chosen quality; else it has a neighbouring step for an answer, yes for no, an
answer too few, or a placeholder. A weak generator also gives fewer pairs than it was asked for, talks, or declines.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from proctor.ask.moment.facts import UncertainError
from proctor.ask.moment.rules import RuleGenerator
from proctor.exam.bound import AnnotationBound
from proctor.exam.kinds.example import Example, StepRef
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.predict import item_rng
from proctor.exam.question import Item
from proctor.procedure.graph import TaskGraph
from proctor.procedure.showing import shown_text
from proctor_rehearsal.players.answers import wrong_answers
from proctor_rehearsal.players.files import Now, shown
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.players.slips import flip_yes_no
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import STAR_FORMS, pick, star_text
from proctor_rehearsal.standin.call import Call

__all__ = ["MISTAKES", "find_example", "play_generator"]

Pair = tuple[str, tuple[str, ...]]

MISTAKES: Final = {"other": 5.0, "flip": 3.0, "left out": 2.0, "placeholder": 1.0}
"""Kinds of mistakes in a pair and how often they are made, in proportion."""

_SLACK: Final = 0.5
"""Of what is not quality, the share that shows in the whole reply as well."""
_VARIED: Final = 0.2
"""Share of lists in another form than the one asked for."""
_TYPES: Final = (
    (re.compile(r"about the step or steps to be done next\?"), "next"),
    (re.compile(r"about a step, or steps, left out\?"), "missing"),
    (re.compile(r"about having done things in a wrong order\?"), "order"),
    (
        re.compile(
            r"about a fault of (preparation|measurement|timing|technique|temperature) in the latest step\?"
        ),
        "",
    ),
)
_PAIRS = re.compile(r"\bGive exactly (\d{1,3}) ")
_JSON = re.compile(r"\bReply with one JSON object\b")
_PROSE: Final = (
    "This person seems to be in the middle of the activity. They could ask what comes next, or whether all is well so far.",
    "Sure! What would you like to know about the recipe?",
)
_REFUSAL: Final = "I'm sorry, but I can't make questions about what a person does in a video."
_QUESTIONS: Final = {
    "next": ("What should I do next?", "What comes now?", "Is there anything left to do?"),
    "missing": ("Did I forget anything so far?", "Have I left out a step?", "Am I missing something?"),
    "order": (
        "Did I do this step at the right moment?",
        "Was it too early for this step?",
        "Is the order right so far?",
    ),
    "": ("Did I do this step correctly?", "Was that right?", "Have I made a mistake in this step?"),
}


def play_generator(asked: Asked, now: Now, quality: float, seed: int) -> Answer | None:
    """Invent questions with answers; None where no example fits the prompt."""
    call = asked.call
    example = find_example(asked, now)
    graph = now.graphs.get(example.activity_id) if example is not None else None
    if example is None or graph is None:
        return None
    wanted = int(found[1]) if (found := _PAIRS.search(asked.words)) else 3
    slack = _SLACK * (1 - quality)
    if not asked.again and call.draw("loose", seed) < slack / 2:
        if call.draw("refuses", seed) < 0.2:
            return Answer(text=_REFUSAL, outcome="refusal")
        return _said(asked, pick(call, _PROSE, "prose", seed))
    pairs = _right_pairs(call, example, graph, wanted, seed)
    pairs = [_spoilt(call, p, n, example, graph, quality, seed) for n, p in enumerate(pairs)]
    if len(pairs) > 1 and call.draw("fewer", seed) < slack / 2:
        pairs = pairs[:-1]
    if _JSON.search(asked.words) or call.content.schema is not None:
        listed = [{"question": q, "answers": list(a)} for q, a in pairs]
        return Answer(text=msgspec.json.encode({"pairs": listed}).decode())
    varied = call.draw("varied", seed) < _VARIED
    return Answer(text=star_text(pairs, pick(call, STAR_FORMS, "form", seed) if varied else "star"))


def _said(asked: Asked, text: str) -> Answer:
    """Return prose; where a schema is forced, pairs that are none."""
    return Answer(text='{"pairs":[]}' if asked.call.content.schema is not None else text)


# -- the example -----------------------------------------------------------------------------------------------------


def find_example(asked: Asked, now: Now) -> Example | None:
    """Return the example that a prompt is made of, or the likeliest one where it does not tell all; None where none fits."""
    type_ = question_type(asked.words)
    if type_ is None:
        return None
    times = asked.frame_times
    known = {
        label: entries
        for label in ("latest step", "allowed now", "left out", "observed", "finished steps")
        if (entries := asked.entries(label)) is not None
    }
    found = [
        e
        for e in now.examples_of.get((asked.blocks.get("activity", ""), type_), ())
        if all(_tells(entries, e, label) for label, entries in known.items())
        and not (times and times[-1] >= e.end)
        and not ("no step has been done yet" in asked.words and e.performed)
    ]
    if not found:
        return None
    last = times[-1] if times else 0.0
    return min(found, key=lambda e: (e.end - last if times else len(e.previous), e.id))


def question_type(words: str) -> str | None:
    """Return the kind of question that a prompt wants; None where it is none of ours."""
    for pattern, name in _TYPES:
        if found := pattern.search(words):
            return name or found[1]
    return None


def _tells(entries: Sequence[str], example: Example, label: str) -> bool:
    """True when a prompt lists under a label what this example says: as models are shown it, or as published."""
    texts: Iterable[str]
    if label == "finished steps":
        texts = (p.text for p in example.previous)
    elif label == "latest step":
        texts = (example.current.text,) if example.current is not None else ()
    elif label == "allowed now":
        texts = _texts(example.next_steps)
    elif label == "left out":
        texts = _texts(example.missing_steps if example.type == "missing" else example.all_missing)
    else:
        texts = example.mistake_texts
    told = [*texts]
    return len(told) == len(entries) and all(
        entry in (shown(shown_text(text)), shown(text)) for entry, text in zip(entries, told, strict=True)
    )


def _texts(steps: Sequence[StepRef] | None) -> list[str]:
    return [s.text for s in steps or ()]


# -- pairs -----------------------------------------------------------------------------------------------------------


def _right_pairs(call: Call, example: Example, graph: TaskGraph, wanted: int, seed: int) -> list[Pair]:
    """Return so many pairs by rule; where the rules are not certain of anything, plain questions answered by annotations."""
    rules = RuleGenerator(int(call.draw("rules", seed) * 2**31), per_example=wanted)
    found: dict[str, tuple[str, ...]] = {}
    try:
        for candidate in rules.generate(example, graph):
            found.setdefault(candidate.question, tuple(a.text for a in candidate.answers))
    except UncertainError:
        pass
    plain = list(_QUESTIONS.get(example.type, _QUESTIONS[""]))
    random.Random(int(call.draw("plain", seed) * 2**31)).shuffle(plain)  # noqa: S311 - play, not secrecy
    for question in plain:
        if len(found) >= wanted:
            break
        item = _item(example, question)
        answer = AnnotationBound().predict_item(item, graph, item_rng(0, item.id)).answer
        if answer:
            found.setdefault(question, (answer,))
    return [(_one_line(q), tuple(map(_one_line, answers))) for q, answers in found.items()][:wanted]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _item(example: Example, question: str) -> Item:
    return Item(question=question_about(example, example.id, question), golds=())


def _spoilt(
    call: Call, pair: Pair, number: int, example: Example, graph: TaskGraph, quality: float, seed: int
) -> Pair:
    """Return the pair as it is with the chosen probability, else with a mistake."""
    if call.draw("pair", seed, number) < quality:
        return pair
    question, answers = pair
    flipped = tuple(text for a in answers if (text := flip_yes_no(a)) is not None)
    wrong = [w for w in wrong_answers(_item(example, question), graph) if w not in answers]
    possible = {"other": bool(wrong), "flip": bool(flipped), "left out": len(answers) > 1}
    weights = {kind: w for kind, w in MISTAKES.items() if possible.get(kind, True)}
    rng = random.Random(int(call.draw("mistake", seed, number) * 2**31))  # noqa: S311 - play, not secrecy
    kind = rng.choices(list(weights), list(weights.values()))[0]
    if kind == "other":
        return question, (rng.choice(wrong[:4]),)
    if kind == "flip":
        return question, flipped
    if kind == "left out":
        return question, answers[:-1]
    return question, ("You should do <one step> now.",)
