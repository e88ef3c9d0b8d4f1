"""How open-ended answers about clips are marked by a model (InstructionBench): do both mean the same, yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proctor.ask.clip.consistency import (
    CONSISTENCY,
    CONSISTENCY_FORM,
    CONSISTENCY_LIMITS,
    CONSISTENCY_TEMPLATE,
    read_consistency,
)
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.llm.message import Parameters
from proctor.llm.structured import Unreadable

__all__ = ["CONSISTENCY_MARKER", "ConsistencyMarker"]

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
