"""Do two answers to one question mean the same? The consistency judge, yes or no (InstructionBench's supplement).

It marks closed-book answers for the blind filter, and predictions in open-ended evaluation. It sees question, accepted answers
and the given answer, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from proctor.ask.clip.asking import Asked, ask_once_more
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Outcome
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, read_object, spoken_text

__all__ = [
    "CONSISTENCY",
    "CONSISTENCY_FORM",
    "CONSISTENCY_LIMITS",
    "CONSISTENCY_TEMPLATE",
    "Consistency",
    "ConsistencyJudge",
    "consistency_schema",
    "read_consistency",
]

CONSISTENCY: Final = Parameters(temperature=0.0, max_tokens=256)
"""Parameters of the call [R]."""

CONSISTENCY_FORM: Final = (
    'One JSON object with the keys "reason" (one sentence) and "consistent" ("yes" or "no"), in this order.'
)
"""The wanted form in words, for the repair round."""

CONSISTENCY_TEMPLATE: Final = "filter-consistency"
CONSISTENCY_LIMITS: Final = {"question": 4_000, "golds": 4_000, "prediction": 4_000}
_REASON: Final = 500
_ALONE = re.compile(r"[\W_]*(yes|no)[\W_]*", re.IGNORECASE)


class Consistency(msgspec.Struct, frozen=True):
    """What the judge says: do they mean the same, and why."""

    consistent: bool
    reason: str = ""


class _Said(msgspec.Struct, frozen=True):
    consistent: Literal["yes", "no", "Yes", "No", "YES", "NO"] | bool
    reason: str | None = None


def consistency_schema() -> Mapping[str, Any]:
    """Return the JSON Schema of a reply, for providers with structured output."""
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "consistent": {"type": "string", "enum": ["yes", "no"]},
        },
        "required": ["reason", "consistent"],
        "additionalProperties": False,
    }


def read_consistency(reply: str) -> Consistency | Unreadable:
    """Read a reply; never raises, whatever the text. A reply that is nothing but yes or no counts as well.

    Example:
        >>> read_consistency('{"reason": "The same tool.", "consistent": "yes"}').consistent
        True
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return text
    if alone := _ALONE.fullmatch(text):
        return Consistency(alone[1].casefold() == "yes")
    said = read_object(reply, _Said, required=("consistent",))
    if isinstance(said, Unreadable):
        return said
    value = said.consistent
    return Consistency(
        value if isinstance(value, bool) else value.casefold() == "yes",
        " ".join((said.reason or "").split())[:_REASON],
    )


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
