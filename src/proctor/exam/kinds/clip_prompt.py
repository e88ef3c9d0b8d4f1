"""The prompts of multiple choice, in our own words: the four published styles, text-only floors, and open-ended questions.

InstructionBench's supplement gives the styles: (a) watch closely, then video, question and options, the letter only
(Video-LLaVA, LLaVA-NeXT-Video, LLaMA-VID); (b) the same, asking for the one best option and ending on an opened bracket, which the
model completes (VideoChat2); (c) as (a), asking for the best option only (VideoLLaMA2); (d) an analyst of videos who is told that a
series of frames follows (closed models). Pictures stand where the published styles have the video: before the question.

None of them is told the answer, the category, or (but for the floor with steps) anything that was annotated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import Order, lettered
from proctor.exam.library import Prompts
from proctor.exam.question import Choice, Question
from proctor.llm.message import Media, Message, Text
from proctor.llm.prompt import Rendered
from proctor.metrics.choice.letters import LETTERS

__all__ = [
    "CHOICE_TEMPLATES",
    "STYLES",
    "STYLE_OF_FAMILY",
    "ChoicePrompt",
    "ChoiceStyle",
    "ClipFacts",
    "choice_prompt",
    "open_prompt",
    "text_prompt",
]

ChoiceStyle = Literal["a", "b", "c", "d"]
STYLES: Final[tuple[ChoiceStyle, ...]] = get_args(ChoiceStyle)

STYLE_OF_FAMILY: Final = {
    "video-llava": "a",
    "llava-next-video": "a",
    "llama-vid": "a",
    "videochat2": "b",
    "videollama2": "c",
    "closed": "d",
}
"""Which models the paper asks in which style."""

CHOICE_TEMPLATES: Final = (*(f"choice-{style}" for style in STYLES), "choice-text", "choice-open")
"""Names of all templates of this module."""

LIMITS: Final = {"question": 4_000, "options": 2_000, "steps": 1_000, "goal": 1_000}
"""Characters that a prompt holds of one text."""


class ClipFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the annotation says of a clip; only the floor with the annotated steps is shown it.

    Attributes:
        steps: one line each, with id and times.
        goal: of the recording.
    """

    steps: tuple[str, ...] = ()
    goal: str = ""


@dataclass(frozen=True, slots=True)
class ChoicePrompt:
    """A prompt with the place where its pictures go.

    Attributes:
        rendered: the text, with the mark of the pictures in it.
        opened_bracket: whether it ends on an opened bracket.
    """

    rendered: Rendered
    opened_bracket: bool = False

    def messages(self, pictures: Sequence[Media] = ()) -> tuple[Message, ...]:
        """Return the messages with the pictures at their mark; behind the text where a template has no mark."""
        *before, last = self.rendered.messages
        mark = f"[video {self.rendered.token}]"
        if mark not in last.text:
            return self.rendered.with_media(pictures) if pictures else self.rendered.messages
        # The token is in no value, so the mark is the template's own.
        lead, _, rest = last.text.partition(mark)
        parts = (Text(lead.rstrip()), *pictures, Text(rest.replace(mark, "").lstrip()))
        return (*before, Message(last.role, parts))


def choice_prompt(
    question: Question,
    order: Order,
    style: ChoiceStyle,
    prompts: Prompts,
    *,
    frames: int,
) -> ChoicePrompt:
    """Build the prompt of a question with options that goes with pictures.

    Args:
        question: with options.
        order: in which they are shown.
        style: one of the four.
        prompts: templates of the room ``evaluate``.
        frames: pictures that are attached.

    Raises:
        UserError: for a style that is none, no pictures, or a template of the user's that cannot be filled.
    """
    if style not in STYLES:
        raise UserError(f"{style!r} is no style of prompts.", hint=f"choose of {', '.join(STYLES)}")
    if frames < 1:
        raise UserError("there are no frames to show.", where=question.id)
    rendered = prompts.render(
        f"choice-{style}",
        LIMITS,
        question=question.text,
        options=lettered(_options(question), order),
        letters=list(LETTERS[: len(order)]),
        frames=frames,
    )
    return ChoicePrompt(rendered, opened_bracket=rendered.messages[-1].text.endswith("("))


def text_prompt(question: Question, order: Order, prompts: Prompts, *, steps: bool) -> ChoicePrompt:
    """Build the prompt of a question with options for a system that sees no picture.

    Args:
        question: with options.
        order: in which they are shown.
        prompts: templates of the room ``evaluate``.
        steps: whether it is told the annotated steps; without them it is blind.

    Raises:
        UserError: if steps are wanted and the clip is not known.
    """
    rendered = prompts.render(
        "choice-text",
        LIMITS,
        question=question.text,
        options=lettered(_options(question), order),
        letters=list(LETTERS[: len(order)]),
        **(_annotated(question) if steps else {}),
    )
    return ChoicePrompt(rendered)


def open_prompt(
    question: Question, prompts: Prompts, *, frames: int = 0, steps: bool = False
) -> ChoicePrompt:
    """Build the prompt of an open-ended question, with pictures, with the annotated steps, or blind.

    Raises:
        UserError: if steps are wanted and the clip is not known.
    """
    rendered = prompts.render(
        "choice-open",
        LIMITS,
        question=question.text,
        frames=frames or None,
        **(_annotated(question) if steps else {}),
    )
    return ChoicePrompt(rendered)


def _options(question: Question) -> tuple[str, ...]:
    return question.form.options if isinstance(question.form, Choice) else ()


def _annotated(question: Question) -> dict[str, object]:
    facts = msgspec.convert(question.facts, ClipFacts)
    if not facts.steps:
        raise UserError("the steps of the question's clip are not known.", where=question.id)
    return {"steps": list(facts.steps), "goal": facts.goal or None}
