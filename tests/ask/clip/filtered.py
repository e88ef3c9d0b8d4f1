"""Small clips, questions about them, and models that are played from the prompts: what the tests of the filters share."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor.ask.clip.filters import FilterModels, Filters, FilterSettings
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import ShownClip, ShownStep
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.exam.lines import Line
from proctor.exam.question import Footage, Open, Part, Procedure, Question, Words
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome, Reply, Usage

__all__ = [
    "MATTER",
    "MODELS",
    "PROMPTS",
    "SECRET",
    "Played",
    "clip",
    "clips",
    "fences",
    "filters",
    "kind_of_call",
    "question",
    "replied",
]  # fmt: skip

SECRET = FenceSecret(b"the secret of the filters' tests")
PROMPTS = generation_prompts()
MODELS = FilterModels(
    judges=("made/judge",), assistants=("made/a", "made/b", "made/c"), consistency="made/comparer"
)
_FENCE = re.compile(r"<<<BEGIN ([a-z0-9 -]+) ([0-9a-f]{16})>>>\n?(.*?)\n?<<<END \1 \2>>>", re.DOTALL)
_CALLS = {
    "question for specificity": "unspecific",
    "question for fairness": "tricky",
    "question for support": "hallucination",
    "question without context": "blind",
    "compared question": "consistency",
}


MATTER: Mapping[str, Part] = {
    "video": Footage(recording="video-1", end=9.0), "procedure": Procedure(id="soup"), "sources": Words(id="w", text=""),
}  # fmt: skip
"""A part of evidence by what lines are called of questions that have it."""


def question(id: str = "q1", *, text: str | None = None, matter: str = "video", **changes: Any) -> Known:
    """A question about two steps."""
    asked = f"What does the person do right after rinsing the carrot ({id})?" if text is None else text
    values: dict[str, Any] = {
        "question": Question(id=id, kind="clip", text=asked, form=Open(), evidence=(MATTER[matter],)),
        "answers": ("Peel the carrot",),
        "lines": (Line("s1", "0.0 to 3.0 s: rinse the carrot"), Line("s2", "3.0 to 9.0 s: peel the carrot")),
        "topic": "carrot soup",
    }
    return Known(**values | changes)


def clip(id: str, task: str, texts: str, **changes: Any) -> ShownClip:
    """A clip of steps that follow each other, ten seconds each; texts are separated by semicolons."""
    steps = tuple(
        ShownStep(id=f"s{n}", text=text.strip(), start=10.0 * n - 10, end=10.0 * n - 2)
        for n, text in enumerate(texts.split(";"), 1)
    )
    values: dict[str, Any] = {
        "id": id, "dataset": "made", "video_id": id, "task": task, "start": 0.0, "end": 10.0 * len(steps), "steps": steps,
    }  # fmt: skip
    return ShownClip(**values | changes)


def clips() -> list[ShownClip]:
    """A few clips of different tasks, one of which repeats a step."""
    return [
        clip(
            "salad",
            "make a salad",
            "wash the lettuce; chop the tomato; add the olive oil; mix the lettuce in a bowl; grate the cheese; "
            "sprinkle the cheese over the salad; serve the salad on a plate",
        ),
        clip(
            "shelf",
            "build a shelf",
            "measure the board; cut the board; drill two holes; paint the board; drill two holes; fix the bracket with screws; "
            "hang the shelf",
        ),
        clip(
            "pasta",
            "cook pasta",
            "boil the water; add the pasta to the pot; drain the pasta; melt the butter; stir the sauce; fry the garlic; "
            "pour the sauce over the noodles",
        ),
        clip(
            "scarf",
            "knit a scarf",
            "choose the yarn; cast on twenty stitches; knit the first row; turn the needles; fold the scarf; wash the scarf",
        ),
    ]


def fences(request: Request) -> dict[str, str]:
    """The fenced values of a prompt by label."""
    return {
        label: content for label, _, content in _FENCE.findall("\n".join(m.text for m in request.messages))
    }


def kind_of_call(request: Request) -> str:
    """Which filter asks, or ``consistency``."""
    found = [name for label, name in _CALLS.items() if label in fences(request)]
    assert len(found) == 1, f"nobody knows this prompt:\n{request.messages[-1].text[:500]}"
    return found[0]


def replied(text: str | Mapping[str, Any]) -> Reply:
    """A reply, of a mapping its JSON."""
    said = text if isinstance(text, str) else json.dumps(text)
    return Reply(text=said, usage=Usage(input=100, output=10), model="made-1", stop="stop")


def filters(
    settings: FilterSettings | None = None, models: FilterModels | None = None, **more: Any
) -> Filters:
    """The filters with played models."""
    return Filters(models or MODELS, PROMPTS, SECRET, settings or FilterSettings(), **more)


_CATCHES = {"unspecific": "vague", "tricky": "tricky", "hallucination": "hallucinated"}
_PROBLEM = {"unspecific": "generic", "tricky": "several-answers", "hallucination": "unsupported"}


class Played:
    """Plays judges, assistants and the comparer with a stated quality; what they say depends on the prompt alone.

    Args:
        kinds: what is wrong with each question, by its text (``vague`` … ``sound``).
        answers: accepted answer by question.
        hit: chance that a judge notices its own fault.
        alarm: chance that a judge drops anything else.
        solve: chance that an assistant solves what can be solved blind.
        luck: chance that it solves anything else.
        seed: of the draws.
    """

    def __init__(
        self,
        kinds: Mapping[str, str],
        answers: Mapping[str, str],
        *,
        hit: float = 0.9,
        alarm: float = 0.05,
        solve: float = 0.9,
        luck: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.kinds, self.answers = kinds, answers
        self.hit, self.alarm, self.solve, self.luck, self.seed = hit, alarm, solve, luck, seed

    def __call__(self, request: Request) -> Outcome:
        kind, told = kind_of_call(request), fences(request)
        if kind == "consistency":
            same = told["accepted answer 1"].casefold() in told["compared answer"].casefold()
            return replied({"reason": "as it stands there", "consistent": "yes" if same else "no"})
        asked = next(told[label] for label in _CALLS if label in told)
        fault = self.kinds[asked]
        if kind == "blind":
            chance = self.solve if fault == "blind-solvable" else self.luck
            solved = self._happens(chance, "blind", request.model, asked)
            return replied(f"I would say: {self.answers[asked]}" if solved else "a wild guess")
        chance = self.hit if fault == _CATCHES[kind] else self.alarm
        dropped = self._happens(chance, kind, request.model, asked)
        said: dict[str, Any] = {"reason": "because", "problem": _PROBLEM[kind] if dropped else "none"}
        if kind == "hallucination":
            said["ids"] = [line[2:].partition(":")[0] for line in told["context lines"].splitlines()][:2]
        return replied(said | {"verdict": "drop" if dropped else "keep"})

    def _happens(self, chance: float, *of: str) -> bool:
        digest = hashlib.sha256(json.dumps([self.seed, *of]).encode()).digest()
        return random.Random(digest).random() < chance


def judge_says(**by_filter: Any) -> Callable[[Request], Outcome]:
    """Play all roles by table: ``unspecific={"verdict": "drop"}``; what is not named keeps, and nobody solves anything blind.

    A value may be an outcome, a text, a mapping, a sequence of these (one for each time that the same filter asks), or a function.
    """
    keep: dict[str, Any] = {"reason": "fine", "problem": "none", "verdict": "keep"}
    table: dict[str, Any] = {
        "unspecific": keep, "tricky": keep, "hallucination": {**keep, "ids": ["s1", "s2"]},
        "blind": "some guess", "consistency": {"reason": "another thing", "consistent": "no"},
    } | by_filter  # fmt: skip
    times: dict[str, int] = {}

    def play(request: Request) -> Outcome:
        kind = kind_of_call(request)
        value = table[kind]
        if callable(value):
            value = value(request)
        if isinstance(value, Sequence) and not isinstance(value, str):
            n = times[kind] = times.get(kind, -1) + 1
            value = value[min(n, len(value) - 1)]
        return replied(value) if isinstance(value, str | Mapping) else value

    return play
