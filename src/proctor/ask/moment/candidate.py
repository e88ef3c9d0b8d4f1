"""The record that generation produces: a question, its answers, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import msgspec

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import TaskGraph
from proctor.tables import Shown

__all__ = ["Answer", "AnswerKind", "Candidate", "Generator", "Provenance"]

AnswerKind = Literal["direct", "suggestion", "intervention"]
"""``direct`` answers the question, ``suggestion`` adds a corrective action, ``intervention`` says that it cannot
be repaired: go back or start over (ProMQA)."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One acceptable answer; ``step_ids`` are the graph steps that it speaks of."""

    text: str
    kind: AnswerKind = "direct"
    step_ids: tuple[str, ...] = ()


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who made a candidate, from what, and how to make it again."""

    generator: str
    version: str
    seed: int | None = None
    form: str | None = None
    model: str | None = None
    prompt_hash: str | None = None
    example_hash: str = ""
    details: Mapping[str, str] = {}


class Candidate(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with all its proposed answers, not yet verified. ``id`` is stable under re-generation."""

    id: str
    example_id: str
    recording_id: str
    type: str
    question: str
    answers: tuple[Answer, ...]
    provenance: Provenance


class Generator(Protocol):
    """Turns an example into candidates; rules and models sit behind the same door."""

    @property
    def name(self) -> str:
        """Short name that goes into provenance."""
        ...

    def generate(self, example: Example, graph: TaskGraph) -> Iterable[Candidate]:
        """Yield the candidates of one example; the result depends on nothing but the arguments and the seed."""
        ...
