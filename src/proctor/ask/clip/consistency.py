"""Do two answers to one question mean the same? Asked by the blind filter, as the marker of answers in words asks it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import msgspec

from proctor.ask.clip.asking import Asked, ask_once_more
from proctor.exam.kinds.clip_marker import (
    CONSISTENCY,
    CONSISTENCY_FORM,
    CONSISTENCY_LIMITS,
    CONSISTENCY_TEMPLATE,
    Consistency,
    consistency_schema,
    read_consistency,
)
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome
from proctor.llm.prompt import PromptSet, Rendered

__all__ = ["ConsistencyJudge"]


@dataclass(frozen=True, slots=True)
class ConsistencyJudge:
    """A model that says whether two answers mean the same.

    Attributes:
        model: full name.
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
        structured: also sends the JSON Schema, for providers with structured output.
        repair: asks once more for a reply that cannot be read.
        draw: number of the repetition, 0 for the first.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    structured: bool = False
    repair: bool = True
    draw: int = 0

    @property
    def name(self) -> str:
        """Name on verdicts and judgements: the model and the hash of the template."""
        again = f"#{self.draw}" if self.draw else ""
        return f"{self.model} (consistency {self.prompts[CONSISTENCY_TEMPLATE].hash[:8]}){again}"

    def prompt(self, question: str, golds: Sequence[str], prediction: str) -> Rendered:
        """Return the prompt.

        Args:
            question: that was answered.
            golds: accepted answers, of which one suffices.
            prediction: the answer to be judged.
        """
        return self.prompts[CONSISTENCY_TEMPLATE].render(
            self.secret,
            limits=CONSISTENCY_LIMITS,
            question=question,
            golds=list(golds),
            prediction=prediction,
        )

    def request(self, question: str, golds: Sequence[str], prediction: str) -> Request:
        """Return the first call, without sending it."""
        parameters = CONSISTENCY
        if self.structured:
            parameters = msgspec.structs.replace(parameters, json_schema=dict(consistency_schema()))
        messages = self.prompt(question, golds, prediction).messages
        return Request(model=self.model, messages=messages, parameters=parameters, draw=self.draw)

    def judge(
        self, question: str, golds: Sequence[str], prediction: str
    ) -> Generator[Request, Outcome, Asked[Consistency]]:
        """Ask whether the prediction means the same as an accepted answer; a part of a conversation."""
        request = self.request(question, golds, prediction)
        return (yield from ask_once_more(request, read_consistency, CONSISTENCY_FORM, repair=self.repair))
