"""Clips and a way to have a prompt played: what the tests of rehearsals about clips share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.ask.documents.rehearsed import as_call

from proctor.ask.clip.known import Known, Sibling, known_clip, known_question
from proctor.ask.clip.record import ClipPair, ShownClip, ShownStep, pair_question
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.exam.library import Library
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.message import Message, Request
from proctor.llm.prompt import Rendered
from proctor_rehearsal.players.clip_reading import read_line
from proctor_rehearsal.players.clip_scene import Line, Scene, scene_of
from proctor_rehearsal.players.player import Rehearsal
from proctor_rehearsal.standin.answer import Answer

__all__ = [
    "NOWHERE", "PROMPTS", "SALAD", "SECRET", "SHELF", "answer_to", "choosable", "clip", "filterable", "lines", "pair", "scene",
]  # fmt: skip

PROMPTS = generation_prompts()
SECRET = FenceSecret(b"s" * 32)
NOWHERE = Path("/nonexistent")


def clip(id: str, task: str, texts: str, dataset: str = "youcook2") -> ShownClip:
    """A clip of steps that follow each other; texts are separated by semicolons, each step takes longer than the one before."""
    steps, at = [], 0.0
    for n, text in enumerate(texts.split(";"), 1):
        steps.append(ShownStep(id=f"s{n}", text=text.strip(), start=at, end=at + 4.0 * n))
        at += 4.0 * n + 1
    return ShownClip(id=id, dataset=dataset, video_id=id, task=task, start=0.0, end=at, steps=tuple(steps))


SALAD = clip(
    "salad",
    "make a salad",
    "wash the lettuce in the sink; cut the tomato into slices; add 2 cups of vinegar to the bowl; mix the lettuce with a spoon; "
    "grate the cheese; wash the lettuce in the sink; boil the eggs until they are hard; serve the salad on a plate",
)
SHELF = clip(
    "shelf",
    "build a shelf",
    "measure the board; saw the board with a handsaw; drill the holes; paint the board; sand the edge; fix the bracket with screws; "
    "hang the shelf on the wall",
    "hirest",
)


def lines(shown: ShownClip) -> tuple[Line, ...]:
    """Steps as a prompt of the filters shows them."""
    return tuple(read_line(f"{line.id}: {line.text}") for line in filterable(pair(), shown).lines)


def scene(shown: ShownClip = SALAD) -> Scene:
    """All that a model is shown."""
    return scene_of(lines(shown))


def pair(question: str = "q?", answer: str = "a", **changes: object) -> ClipPair:
    """A pair about the salad."""
    values = {
        "id": "p", "clip_id": "salad", "dataset": "youcook2", "video_id": "salad", "level": "coarse", "category": "ordering",
        "question": question, "answer": answer, "step_ids": ("s1", "s2"),
    }  # fmt: skip
    return ClipPair(**(values | changes))  # type: ignore[arg-type]


def filterable(one: ClipPair, shown: ShownClip = SALAD) -> Known:
    """A pair as the filters see it."""
    about = pair(one.question, one.answer, clip_id=shown.id, video_id=shown.video_id)
    return known_question(pair_question(about, {shown.id: shown}), Library(media=MediaStore()))


def choosable(one: ClipPair, shown: ShownClip = SALAD, siblings: Sequence[Sibling] = ()) -> Known:
    """A pair as those see it who write options."""
    return known_clip(pair_question(one, {shown.id: shown}), shown, one.step_ids, siblings)


def answer_to(
    prompt: Rendered | tuple[Message, ...],
    *,
    quality: float = 1.0,
    seed: int = 0,
    root: Path = NOWHERE,
    model: str = "m",
) -> str:
    """What is played for a prompt."""
    messages = prompt.messages if isinstance(prompt, Rendered) else prompt
    request = Request(model=f"compat/{model}@http://127.0.0.1:1/v1", messages=messages)
    found: Answer | None = Rehearsal(root, quality=quality, seed=seed)(as_call(request))
    assert found is not None, messages[-1].text[:400]
    return found.text if found.outcome == "reply" else "REFUSED"
