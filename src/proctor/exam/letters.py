"""Answers with a letter are marked by rule: the option that was chosen, as the reply is read again, against the right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proctor.exam.choice_reading import choice_of
from proctor.exam.library import Library
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.metrics.choice.reading import PARSER

__all__ = ["LETTERS_MARKER", "LettersMarker"]


@dataclass(frozen=True, slots=True)
class LettersMarker:
    """Match or wrong; a reply without a readable letter is wrong, and says so."""

    name: str = PARSER

    def mark(self, item: Item, prediction: Prediction, library: Library) -> Judgement:  # noqa: ARG002
        """Mark one answer; one that failed stays unscored."""
        score, rationale, failure = None, "", prediction.failure
        if failure is None:
            choice = choice_of(prediction, item)
            score = 2 if choice.right else 0
            rationale = (
                f"{choice.printed} ({choice.rule})" if choice.printed else f"no letter ({choice.rule})"
            )
        rotation = prediction.details.get("rotation")
        return Judgement(
            item_id=item.id,
            predictor=prediction.predictor,
            judge=self.name,
            score=score,
            rationale=rationale,
            failure=None if failure is None else f"prediction failed: {failure}",
            details={} if rotation is None else {"rotation": rotation},
        )


LETTERS_MARKER: Final = LettersMarker()
