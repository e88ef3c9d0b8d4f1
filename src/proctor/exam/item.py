"""The record that a benchmark is made of: a verified question with its gold answers and its facts."""

from __future__ import annotations

from typing import Literal

import msgspec

from proctor.examples.example import Example
from proctor.generate.candidate import AnswerKind

__all__ = ["Gold", "Item"]


class Gold(msgspec.Struct, frozen=True, omit_defaults=True):
    """One accepted answer: who wrote it (``source``) and who let it pass (``approved_by``)."""

    text: str
    source: Literal["machine", "annotator", "adjudicator"] = "machine"
    approved_by: Literal["annotator", "adjudicator", "oracle", "model"] = "annotator"
    kind: AnswerKind = "direct"
    step_ids: tuple[str, ...] = ()


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen benchmark question.

    ``example`` holds the facts that decide the answer: they are for judges and for reading, never shown to a
    predictor.
    """

    id: str
    candidate_id: str
    question: str
    golds: tuple[Gold, ...]
    example: Example
    question_approved_by: str = "annotator"
    candidate_hash: str = ""

    @property
    def type(self) -> str:
        """Question type."""
        return self.example.type

    @property
    def recording_id(self) -> str:
        """The recording it is about; intervals are clustered by it."""
        return self.example.recording_id
