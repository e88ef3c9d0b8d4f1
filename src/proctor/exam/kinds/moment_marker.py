"""How answers about a moment are marked by a model (ProMQA): reasons first, the verdict last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from proctor.exam.judge import RuleJudge
from proctor.exam.judge_prompt import Rubric, judge_prompt, verdict_form, verdict_schema
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Procedure, gold_texts, part_of
from proctor.exam.verdict.reply import read_verdict
from proctor.llm.message import Parameters

__all__ = ["RubricMarker", "RulesMarker"]

_TOKENS: Final = 512
"""The published limit of 256 cuts rationales off before their verdict."""


@dataclass(frozen=True, slots=True)
class RulesMarker:
    """Rules that know the task graph (``proctor.exam.judge``)."""

    rules: RuleJudge = field(default_factory=RuleJudge)

    @property
    def name(self) -> str:
        """With version and thresholds."""
        return self.rules.name

    def mark(self, item: Item, prediction: Prediction, library: Library) -> Judgement:
        """Mark one answer by the best of the item's golds."""
        return self.rules.judge(item, library.graph(item.question), prediction)


@dataclass(frozen=True, slots=True)
class RubricMarker:
    """A rubric: scale, context and form."""

    rubric: Rubric = field(default_factory=Rubric)
    empty: str = ""

    @property
    def name(self) -> str:
        """Of the rubric."""
        return self.rubric.name

    @property
    def template(self) -> str:
        """Name of its template."""
        return self.rubric.template

    @property
    def scale(self) -> str:
        """``binary`` or ``ternary``."""
        return self.rubric.scale

    @property
    def parameters(self) -> Parameters:
        """Greedy; with a JSON Schema where the form is ``json``."""
        schema = dict(verdict_schema(self.rubric.scale)) if self.rubric.form == "json" else None
        return Parameters(temperature=0.0, max_tokens=_TOKENS, json_schema=schema)

    @property
    def form(self) -> str:
        """The wanted form of a reply in words."""
        return verdict_form(self.rubric)

    def prompt(
        self, item: Item, prediction: Prediction, library: Library, prompts: Prompts
    ) -> MarkPrompt | str:
        """Return what is asked."""
        question = item.question
        procedure = part_of(question, Procedure)
        example = moment_example(question)
        rendered = judge_prompt(
            self.rubric,
            prompts.templates,
            prompts.secret,
            activity="" if procedure is None else procedure.title or procedure.id,
            question=question.text,
            golds=gold_texts(item),
            prediction=prediction.answer or "",
            graph=library.graph(question),
            performed=(*example.previous, *((example.current,) if example.current else ())),
            view=prediction.details.get("view", ""),
        )
        return MarkPrompt(rendered)

    def read(self, reply: str) -> Reading:
        """Read the verdict."""
        found = read_verdict(reply, self.rubric.scale)
        failure = "" if found.reason is None else f"{found.reason}: {found.detail}: {reply.strip()[:200]}"
        return Reading(found.score, found.rationale, found.problem, failure)
