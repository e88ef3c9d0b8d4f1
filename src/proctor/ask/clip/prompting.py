"""How a clip stands in a prompt, and the prompt that asks for pairs about it (InstructionBench's supplement).

There is one style of prompt for each data set of the paper and a general one for all others, each at two levels. The model works
from annotations alone: goal, numbered steps with times, substeps, and what is said, where these are known. A clip with too much
of it is shown in part, and the prompt says so.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from proctor.ask.clip.category import MEANINGS
from proctor.ask.clip.pair_reply import ANSWER_WORDS
from proctor.ask.clip.plan import POSITIONS, PairTask, Position, position_of
from proctor.ask.clip.record import Level, ShownClip, ShownStep, render_step
from proctor.errors import UserError
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import PromptSet, Rendered

__all__ = [
    "PAIRS_FORM",
    "PAIRS_SCHEMA",
    "STYLES",
    "ClipLimits",
    "ShownPart",
    "pair_prompt",
    "show_part",
    "template_name",
]

STYLES: Final = ("youcook2", "hirest", "goalstep", "egoexo4d")
"""Data sets with a style of their own; every other one has the style ``general``."""

PAIRS_FORM: Final = 'A JSON list and nothing else: [{"question": "...", "answer": "...", "step_ids": ["s1"]}], one object a pair.'
"""The wanted form in words, for the repair round."""

PAIRS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "answer": {"type": "string"},
                    "step_ids": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["question", "answer", "step_ids"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pairs"],
    "additionalProperties": False,
}
"""JSON Schema of a reply, for providers with structured output; these take objects only."""


@dataclass(frozen=True, slots=True)
class ClipLimits:
    """How much of a clip a model gets to read.

    Attributes:
        steps: lines of steps and substeps.
        characters: of all these lines.
        text: characters of a step's text and of its category.
        narration: characters of what is said in a step.
        questions: earlier questions about the clip that are named, so that they are not asked again.

    Raises:
        UserError: if a number makes no sense.
    """

    steps: int = 120
    characters: int = 24_000
    text: int = 400
    narration: int = 400
    questions: int = 40

    def __post_init__(self) -> None:
        """Refuse limits under which nothing could be shown."""
        for name in ("steps", "characters", "text", "narration"):
            if getattr(self, name) < 1:
                raise UserError(f"the limit {name} is {getattr(self, name)}.", hint="it has to be at least 1")


@dataclass(frozen=True, slots=True)
class ShownPart:
    """What a model reads of a clip.

    Attributes:
        steps: in order; their texts may be cut.
        total: steps of the clip, substeps included.
        cut: what is not shown, in words; empty when all is.
    """

    steps: tuple[ShownStep, ...]
    total: int
    cut: str = ""

    @property
    def ids(self) -> frozenset[str]:
        """Of the shown steps: what a pair may cite."""
        return frozenset(step.id for step in self.steps)

    @property
    def is_whole(self) -> bool:
        """True when every step is shown."""
        return len(self.steps) == self.total


def template_name(dataset: str, level: Level) -> str:
    """Return the template of a data set and level."""
    return f"instructional-{dataset if dataset in STYLES else 'general'}-{level}"


def show_part(
    clip: ShownClip, limits: ClipLimits, rng: random.Random, near: Sequence[Position] = ()
) -> ShownPart:
    """Return as much of a clip as a prompt may hold: all of it, or steps that follow each other.

    Args:
        clip: the clip.
        limits: how much that is.
        rng: decides which stretch of a long clip is shown.
        near: positions that are wanted; the stretch is at one of them.
    """
    steps = [_shortened(step, limits) for step in clip.steps]
    groups = _groups(steps)
    sizes = [sum(len(render_step(step)) + 3 for step in group) for group in groups]
    if len(steps) <= limits.steps and sum(sizes) <= limits.characters:
        return ShownPart(tuple(steps), len(steps), _told(clip.steps, steps, len(steps)))
    begin = _begin(clip, groups, rng, near)
    first = past = begin
    lines = size = 0
    while past < len(groups) and _fits(lines, size, groups[past], sizes[past], limits):
        lines, size, past = lines + len(groups[past]), size + sizes[past], past + 1
    while first > 0 and _fits(lines, size, groups[first - 1], sizes[first - 1], limits):
        first -= 1
        lines, size = lines + len(groups[first]), size + sizes[first]
    shown = [step for group in groups[first:past] for step in group]
    if not shown:  # one step with its substeps is more than all that fits
        shown = groups[begin][: limits.steps]
    return ShownPart(tuple(shown), len(steps), _told(clip.steps, shown, len(steps)))


def pair_prompt(
    clip: ShownClip,
    part: ShownPart,
    task: PairTask,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    before: Sequence[str] = (),
    words: int = ANSWER_WORDS,
) -> Rendered:
    """Build the prompt of a task.

    Args:
        clip: what it is about.
        part: what is shown of it.
        task: what is wanted.
        prompts: the templates.
        secret: of the workspace.
        before: questions that were asked about the clip already.
        words: words that an answer has at most.

    Raises:
        UserError: if a template of the user's cannot be filled.
    """
    template = prompts[template_name(clip.dataset, task.level)]
    values: dict[str, Any] = {
        "goal": clip.task or None,
        "steps": _nested_lines(part.steps),
        "before": list(before) or None,
        "pairs": len(task.wants),
        "seconds": round(clip.end - clip.start),
        "wants": _wants(clip, part, task),
        "kinds": list(dict.fromkeys(category for category, _ in task.wants)),
        "meanings": [MEANINGS[c] for c in dict.fromkeys(category for category, _ in task.wants)],
        "narrated": any(step.narration for step in part.steps),
        "substeps": any("." in step.id for step in part.steps),
        "part": None if part.is_whole else [part.steps[0].id, part.steps[-1].id],
        "total": part.total,
        "words": words,
    }
    taken = template.data | template.plain | template.accepted
    return template.render(secret, **{name: value for name, value in values.items() if name in taken})


# -- the shown part ----------------------------------------------------------------------------------------------


def _groups(steps: Sequence[ShownStep]) -> list[list[ShownStep]]:
    """Put every step together with its substeps."""
    groups: list[list[ShownStep]] = []
    for step in steps:
        if groups and step.id.partition(".")[0] == groups[-1][0].id.partition(".")[0]:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _fits(lines: int, size: int, group: Sequence[ShownStep], more: int, limits: ClipLimits) -> bool:
    return lines + len(group) <= limits.steps and size + more <= limits.characters


def _begin(
    clip: ShownClip, groups: Sequence[Sequence[ShownStep]], rng: random.Random, near: Sequence[Position]
) -> int:
    """Return where the stretch begins: with a step at a wanted position."""
    wanted = rng.choice(list(near)) if near else None
    fitting = [n for n, group in enumerate(groups) if position_of(clip, (group[0].id,)) == wanted]
    return rng.choice(fitting or range(len(groups)))


def _shortened(step: ShownStep, limits: ClipLimits) -> ShownStep:
    return ShownStep(
        id=step.id,
        text=_cut(step.text, limits.text),
        start=step.start,
        end=step.end,
        category=_cut(step.category, limits.text),
        narration=_cut(step.narration, limits.narration),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()} [...]"


def _told(whole: Sequence[ShownStep], shown: Sequence[ShownStep], total: int) -> str:
    notes = []
    if len(shown) < total:
        notes.append(f"{len(shown)} of {total} steps are shown ({shown[0].id} to {shown[-1].id})")
    by_id = {step.id: step for step in whole}
    cut = sum(by_id[step.id] != step for step in shown)
    if cut:
        notes.append(f"texts of {cut} step{'s' * (cut != 1)} are cut")
    return "; ".join(notes)


# -- the prompt --------------------------------------------------------------------------------------------------


def _nested_lines(steps: Sequence[ShownStep]) -> list[Any]:
    """Return steps as lines, substeps as a list behind their step."""
    lines: list[Any] = []
    for group in _groups(steps):
        inner = [render_step(step) for step in group if "." in step.id]
        lines += [render_step(step) for step in group if "." not in step.id]
        if inner:
            lines.append(inner)
    return lines


def _wants(clip: ShownClip, part: ShownPart, task: PairTask) -> list[str]:
    """Return what is wanted in words: ``ordering, early (s1 to s4)``; without a place where nothing of it is shown."""
    places: dict[Position, str] = {}
    for position in POSITIONS:
        ids = [s.id for s in part.steps if "." not in s.id and position_of(clip, (s.id,)) == position]
        if ids:
            places[position] = ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
    return [
        f"{category}, {position} ({places[position]})" if position in places else category
        for category, position in task.wants
    ]
