"""The prompt that asks a model for question–answer pairs about an example (ProMQA), in our own words.

A template says how the procedure is shown (as DOT, as a picture, or only the excerpt that the friend knows) and how the
recording is shown (as steps or as frames). Every template carries what the published one carries, and is better informed
where that one misleads: DOT names nodes by id, an activity that is stuck is told apart from one that is over, and a mistake
in the order comes with the prerequisites that were broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.ask.moment.parse import ParsedResponse, parse_pairs
from proctor.errors import UserError, did_you_mean
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment_question import JUDGING
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, read_object, spoken_text
from proctor.procedure.graph import TaskGraph, render_dot

__all__ = [
    "DEFAULT_TEMPLATE",
    "PAIRS_SCHEMA",
    "PUBLISHED_NAMES",
    "TEMPLATES",
    "TemplateNeeds",
    "generation_prompt",
    "generation_prompts",
    "read_pairs",
]


@dataclass(frozen=True, slots=True)
class TemplateNeeds:
    """What has to be attached to a prompt, in this order: the picture of the procedure, then the frames."""

    recipe_image: bool = False
    frames: bool = False


TEMPLATES: Final[Mapping[str, TemplateNeeds]] = {
    "dot-frames": TemplateNeeds(frames=True),
    "image-frames": TemplateNeeds(recipe_image=True, frames=True),
    "excerpt-frames": TemplateNeeds(frames=True),
    "dot-steps": TemplateNeeds(),
    "image-steps": TemplateNeeds(recipe_image=True),
    "excerpt-steps": TemplateNeeds(),
    "excerpt-frames-steps": TemplateNeeds(frames=True),
    "dot-excerpt-steps": TemplateNeeds(),
    "excerpt-steps-mistakes": TemplateNeeds(),
    "excerpt-current": TemplateNeeds(),
}
"""The templates, and what has to be attached to each."""

PUBLISHED_NAMES: Final[Mapping[str, str]] = {
    "video-dot": "dot-frames",
    "video-image": "image-frames",
    "video-target": "excerpt-frames",
    "step-dot": "dot-steps",
    "step-image": "image-steps",
    "step-target": "excerpt-steps",
    "video-step-target": "excerpt-frames-steps",
    "step-dot-target": "dot-excerpt-steps",
    "step-errors-target": "excerpt-steps-mistakes",
    "one-step-target": "excerpt-current",
}
"""What the published code calls the templates."""

DEFAULT_TEMPLATE: Final = "excerpt-steps"

PAIRS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "answers": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["question", "answers"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pairs"],
    "additionalProperties": False,
}
"""JSON Schema of a reply, for providers with structured output."""


def generation_prompts(own: Path | None = None, *, published: bool = False) -> PromptSet:
    """Return the templates of generation, the user's own in place of ours where there are any.

    Args:
        own: folder of the user's own.
        published: those that a published protocol knows say no more than it says: writers are told no criteria, and verifiers
            give the verdict before the reason.
    """
    ask = Path(__file__).parents[1]
    return PromptSet("generate", ask / "prompts", own, ask / "published" if published else None)


def generation_prompt(
    example: Example,
    graph: TaskGraph,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    template: str = DEFAULT_TEMPLATE,
    pairs: int = 3,
    frames: Sequence[str] | None = None,
    form: Literal["text", "json"] = "text",
) -> Rendered:
    """Build the prompt of an example.

    Args:
        example: the moment to ask about.
        graph: its activity.
        prompts: the templates.
        secret: of the workspace.
        template: a name of ``TEMPLATES``, or the published name.
        pairs: how many to ask for.
        frames: labels of the frames that will be attached (``proctor.llm.prompt.frame_labels``).
        form: ``json`` asks for JSON, for providers with structured output.

    Raises:
        UserError: for an unknown template, a step that the graph does not have, or frames that are lacking.
    """
    name = PUBLISHED_NAMES.get(template, template)
    needs = TEMPLATES.get(name)
    if needs is None:
        raise UserError(f"there is no template '{template}'.", hint=did_you_mean(template, TEMPLATES))
    if needs.frames and not frames:
        raise UserError(f"the template '{name}' needs frames.", where=example.id)
    chosen = prompts[name]
    values = _values(example, graph, mistakes=name == "excerpt-steps-mistakes") | {
        "frames": tuple(frames or ()),
        "recipe_image": needs.recipe_image,
        "pairs": pairs,
        "form": form,
        "criteria": [f"{criterion.text}. {criterion.example}" for criterion in JUDGING.criteria],
    }
    taken = chosen.data | chosen.plain | chosen.accepted
    return chosen.render(secret, **{n: v for n, v in values.items() if n in taken})


def _values(example: Example, graph: TaskGraph, *, mistakes: bool) -> dict[str, Any]:
    """Return all facts of an example by the names of the templates' variables."""
    current = example.current
    original = _instruction(current, graph, example.id) if current is not None else None
    is_step_type = example.type not in ("next", "missing", "order")
    return {
        "activity": example.activity_name or graph.name or graph.id,
        "type": example.type,
        "state": example.state,
        "dot": render_dot(graph),
        "done": _performed(example.previous, mistakes=mistakes) or None,
        "current": _performed((current,), mistakes=mistakes) if current is not None else None,
        "next_steps": _texts(example.next_steps) if example.type == "next" else None,
        "missing_steps": _missing(example),
        "mistakes": list(example.mistake_texts) or None,
        "original": [original] if is_step_type and original else None,
        "violated": _violated(example, graph) if example.type == "order" else None,
    }


def _performed(steps: Sequence[Performed], *, mistakes: bool) -> list[Any]:
    lines: list[Any] = []
    for step in steps:
        lines.append(step.text)
        if mistakes and step.mistakes:
            lines.append([f"{m.kind}: {m.text}" if m.text else m.kind for m in step.mistakes])
    return lines


def _instruction(step: Performed, graph: TaskGraph, where: str) -> str:
    if step.step_id in graph:
        return graph[step.step_id].text
    if step.instruction:
        return step.instruction
    raise UserError(f"the step '{step.step_id}' is not in the task graph.", where=where)


def _texts(steps: Sequence[StepRef] | None) -> list[str] | None:
    return [s.text for s in steps] if steps else None


def _missing(example: Example) -> list[str] | None:
    """Steps left out: the target of type ``missing``, and what blocks an activity of type ``next``."""
    if example.type == "missing":
        return _texts(example.missing_steps)
    if example.type == "next" and example.state == "blocked":
        return _texts(example.all_missing)
    return None


def _violated(example: Example, graph: TaskGraph) -> list[str] | None:
    """Return the prerequisites that the latest step broke, or that were broken by coming before it."""
    now = example.current.step_id if example.current is not None else None
    pairs = [(a, b) for a, b in example.blocking if now in (a, b) and a in graph and b in graph]
    return [f"{graph[a].text} -> {graph[b].text}" for a, b in pairs] or None


# -- replies ---------------------------------------------------------------------------------------------------


class _Pair(msgspec.Struct):
    question: str
    answers: list[str]


class _Pairs(msgspec.Struct):
    pairs: list[_Pair]


def read_pairs(reply: str) -> ParsedResponse:
    """Read a reply to a generation prompt: the star list in all its varieties, or JSON.

    Nothing is raised whatever the text; what cannot be used is listed with its reason (``ParsedResponse.problems``).
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return ParsedResponse((), ((text.reason, text.detail),))
    found = read_object(text, _Pairs, required=("pairs",))
    if isinstance(found, Unreadable):
        return parse_pairs(text)
    lines = []
    for pair in found.pairs:
        lines.append(f"* {_one_line(pair.question)}")
        lines += [f"    * {_one_line(answer)}" for answer in pair.answers]
    return parse_pairs("\n".join(lines))


def _one_line(text: str) -> str:
    return " ".join(text.split())
