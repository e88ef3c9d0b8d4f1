"""How open-ended answers about clips are marked by a model (InstructionBench): do both mean the same, yes or no."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.llm.message import Parameters
from proctor.llm.structured import Unreadable, read_object, spoken_text

__all__ = [
    "CONSISTENCY",
    "CONSISTENCY_FORM",
    "CONSISTENCY_LIMITS",
    "CONSISTENCY_MARKER",
    "CONSISTENCY_TEMPLATE",
    "Consistency",
    "ConsistencyMarker",
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


_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class ConsistencyMarker:
    """Yes or no: does an answer mean the same as an accepted one."""

    name: str = "consistency"
    template: str = CONSISTENCY_TEMPLATE
    scale: str = "binary"
    parameters: Parameters = CONSISTENCY
    form: str = CONSISTENCY_FORM
    empty: str = "unparsed"

    def prompt(
        self,
        item: Item,
        prediction: Prediction,
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> MarkPrompt | str:
        """Return what is asked."""
        golds = gold_texts(item)
        return MarkPrompt(
            prompts.render(
                self.template,
                CONSISTENCY_LIMITS,
                question=item.question.text,
                golds=golds,
                prediction=prediction.answer,
            )
        )

    def read(self, reply: str) -> Reading:
        """Read yes or no."""
        said = read_consistency(reply)
        if isinstance(said, Unreadable):
            shown = " ".join(reply.split()) or said.detail
            return Reading(None, problem=said, failure=f"unparsed: {said.reason}: {shown}"[:_SHOWN])
        return Reading(int(said.consistent), said.reason)


CONSISTENCY_MARKER: Final = ConsistencyMarker()
