"""The prompts of predictors (ProMQA): what each kind of system is shown, in our own words.

- ``predict-question`` and ``predict-recipe`` see nothing of the recording: text-only systems, and the blind floors that
  stand beside every score.
- ``caption-frame`` and ``predict-captions`` are the two halves of a Socratic system. The first one knows no question, so
  that a frame is described once however many questions share it.
- ``predict-frames`` and ``predict-video`` see the recording up to the moment of the question.

None of them is shown the question type, performed steps, mistakes or golds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from proctor.errors import UserError
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import PromptSet, Rendered, frame_labels
from proctor.procedure.graph import render_dot

if TYPE_CHECKING:
    from proctor.exam.predict import Task

__all__ = [
    "PREDICT_TEMPLATES",
    "caption_prompt",
    "captions_prompt",
    "evaluation_prompts",
    "frames_prompt",
    "question_prompt",
    "recipe_prompt",
    "video_prompt",
]

PREDICT_TEMPLATES: Final = (
    "predict-question",
    "predict-recipe",
    "predict-captions",
    "predict-frames",
    "predict-video",
)


def evaluation_prompts(own: Path | None = None) -> PromptSet:
    """Return the templates of predictors and judges, the user's own in place of ours where there are any."""
    return PromptSet("evaluate", Path(__file__).parent / "prompts", own)


def question_prompt(task: Task, prompts: PromptSet, secret: FenceSecret) -> Rendered:
    """Build the prompt of the floor that sees the question alone."""
    return prompts["predict-question"].render(secret, question=task.question)


def recipe_prompt(task: Task, prompts: PromptSet, secret: FenceSecret) -> Rendered:
    """Build the prompt of text-only systems: question and procedure."""
    return prompts["predict-recipe"].render(
        secret, activity=_activity(task), dot=render_dot(task.graph), question=task.question
    )


def frames_prompt(
    task: Task,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    times: Sequence[float],
    numbers: Sequence[int] = (),
) -> Rendered:
    """Build the prompt that goes with frames; attach them behind it in this order.

    Args:
        task: the question.
        prompts: the templates.
        secret: of the workspace.
        times: of the frames, seconds, increasing.
        numbers: which frames they are (``proctor.exam.kind.Shown``).

    Raises:
        UserError: without frames, or for a frame after the moment of the question.
    """
    _check_times(task, times)
    return prompts["predict-frames"].render(
        secret,
        activity=_activity(task),
        dot=render_dot(task.graph),
        question=task.question,
        frames=frame_labels(times, numbers),
        end=_seconds(task.end),
    )


def video_prompt(task: Task, prompts: PromptSet, secret: FenceSecret) -> Rendered:
    """Build the prompt that goes with the clip itself, cut at the moment of the question."""
    return prompts["predict-video"].render(
        secret,
        activity=_activity(task),
        dot=render_dot(task.graph),
        question=task.question,
        end=_seconds(task.end),
    )


def caption_prompt(prompts: PromptSet, secret: FenceSecret, *, activity: str = "") -> Rendered:
    """Build the prompt that asks for the description of one frame; the same for all frames of an activity.

    Args:
        prompts: the templates.
        secret: of the workspace.
        activity: its name; without one the describer is told nothing at all.
    """
    return prompts["caption-frame"].render(secret, activity=activity or None)


def captions_prompt(
    task: Task,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    captions: Sequence[str],
    times: Sequence[float],
    numbers: Sequence[int] = (),
) -> Rendered:
    """Build the prompt of a Socratic answerer: descriptions of frames in order of time.

    Raises:
        UserError: without descriptions, or for a frame after the moment of the question.
    """
    _check_times(task, times)
    labels = frame_labels(times, numbers)
    lines = [f"{label}: {caption.strip()}" for label, caption in zip(labels, captions, strict=True)]
    return prompts["predict-captions"].render(
        secret,
        activity=_activity(task),
        dot=render_dot(task.graph),
        captions=lines,
        question=task.question,
        end=_seconds(task.end),
    )


def _activity(task: Task) -> str:
    return task.activity_name or task.graph.name or task.graph.id


def _seconds(value: float) -> str:
    return f"{value:.2f}"


def _check_times(task: Task, times: Sequence[float]) -> None:
    if not times:
        raise UserError("there are no frames to show.", where=task.item_id)
    late = [t for t in times if t >= task.end]
    if late:
        raise UserError(
            f"a frame at {late[0]:.2f} s is after the moment of the question ({task.end:.2f} s).",
            where=task.item_id,
        )
