"""How answers about a moment are marked by a model (ProMQA): a scale, a context, reasons first and the verdict last.

Question, references, the answer to be marked and everything else that others wrote stand in fences
(``proctor.llm.fence``); what to do with them is said before, and the form of the verdict at the very end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from proctor.errors import UserError, did_you_mean
from proctor.exam.judge import ANSWER_LIMIT, RuleJudge
from proctor.exam.judge_marks import Scale
from proctor.exam.kinds.example import Performed
from proctor.exam.kinds.moment_question import shown_moment
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Procedure, gold_texts, part_of
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters
from proctor.llm.prompt import PromptSet, Rendered
from proctor.procedure.graph import TaskGraph, render_dot

__all__ = [
    "CONTEXTS",
    "FORMS",
    "SCALES",
    "Context",
    "Form",
    "Rubric",
    "RubricMarker",
    "RulesMarker",
    "judge_prompt",
    "rubrics",
    "verdict_form",
    "verdict_schema",
]


Context = Literal["none", "recipe", "step"]
CONTEXTS: Final[tuple[Context, ...]] = ("none", "recipe", "step")
SCALES: Final[tuple[Scale, ...]] = ("ternary", "binary")
Form = Literal["text", "json"]
FORMS: Final[tuple[Form, ...]] = ("text", "json")


_SAW: Final[Mapping[str, str]] = {
    "question": "the question alone",
    "recipe": "the procedure, and nothing of the video",
    "captions": "the procedure and descriptions of pictures of the video",
    "frames": "the procedure and pictures of the video",
    "video": "the procedure and pictures of the video",
}
"""What a judge is told that an answer was made from, by the kind of its view."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """How a judge model is asked.

    Attributes:
        scale: ``binary`` (0, 1) or ``ternary`` (0, 1, 2).
        context: beside question and references nothing, the procedure as DOT, or the performed steps.
        with_mistakes: what annotators say went wrong stands below each performed step. The released code shows it
            (``ternary-step-mistakes``), the paper's figure does not (``ternary-step``, the default); a predictor cannot
            know it.
        form: ``json`` for providers with structured output.
    """

    scale: Scale = "ternary"
    context: Context = "step"
    with_mistakes: bool = False
    form: Form = "text"

    @property
    def template(self) -> str:
        """Name of the template."""
        return f"judge-{self.scale}" + ("" if self.context == "none" else f"-{self.context}")

    @property
    def name(self) -> str:
        """Name for judges and signatures, such as ``ternary-step`` or ``ternary-step-mistakes-json``."""
        mistakes = "-mistakes" if self.context == "step" and self.with_mistakes else ""
        return self.template.removeprefix("judge-") + mistakes + ("-json" if self.form == "json" else "")

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """Return the rubric of a name.

        Raises:
            UserError: if there is none of this name.
        """
        found = next((rubric for rubric in rubrics() if rubric.name == text.strip()), None)
        if found is None:
            raise UserError(
                f"there is no rubric {text[:80]!r}.",
                hint=did_you_mean(text, (r.name for r in rubrics())),
            )
        return found


def rubrics() -> list[Rubric]:
    """Return all rubrics, each once."""
    return [
        Rubric(scale, context, mistakes, form)
        for form in FORMS
        for scale in SCALES
        for context in CONTEXTS
        for mistakes in ((False, True) if context == "step" else (False,))
    ]


def judge_prompt(
    rubric: Rubric,
    prompts: PromptSet,
    secret: FenceSecret,
    *,
    activity: str,
    question: str,
    golds: Sequence[str],
    prediction: str,
    graph: TaskGraph | None = None,
    performed: Sequence[Performed] = (),
    view: str = "",
) -> Rendered:
    """Build the prompt that asks for a verdict on one answer.

    An answer of more than ``ANSWER_LIMIT`` characters is shown with its middle left out (``Rendered.shortened`` says
    so); the rule judge marks such an answer wrong unread, and whoever calls a model should do the same.

    Args:
        rubric: scale, context and form.
        prompts: the templates.
        secret: of the workspace.
        activity: its name.
        question: of the item.
        golds: reference answers; matching one suffices.
        prediction: the answer to be marked.
        graph: of the activity; needed for the context ``recipe``.
        performed: what was done, the latest step last; for the context ``step``.
        view: kind of the view of whoever answered (``frames``, ``recipe``, ...). Of an answer without one (a floor, a
            person, another program) the judge is told nothing about what it was made from.

    Raises:
        UserError: without references, or without the graph where it is needed.
    """
    if not golds:
        raise UserError("there is no reference answer to mark against.", where=question[:200])
    values: dict[str, Any] = {
        "activity": activity,
        "question": question,
        "golds": list(golds),
        "prediction": prediction,
        "form": rubric.form,
        "saw": _SAW.get(view),
    }
    if rubric.context == "recipe":
        if graph is None:
            raise UserError("this rubric shows the procedure, which was not given.", where=rubric.name)
        values["dot"] = render_dot(graph)
    elif rubric.context == "step":
        values["steps"] = _steps(performed, with_mistakes=rubric.with_mistakes) or None
        values["with_mistakes"] = rubric.with_mistakes
    return prompts[rubric.template].render(secret, limits={"prediction": ANSWER_LIMIT}, **values)


def _steps(performed: Sequence[Performed], *, with_mistakes: bool) -> list[Any]:
    lines: list[Any] = []
    for step in performed:
        lines.append(step.text)
        if with_mistakes and step.mistakes:
            lines.append([f"[{m.kind}] {m.text}" if m.text else f"[{m.kind}]" for m in step.mistakes])
    return lines


def verdict_schema(scale: Scale) -> Mapping[str, Any]:
    """Return the JSON Schema of a reply, for providers with structured output; reasons come before the verdict."""
    return {
        "type": "object",
        "properties": {
            "rationale": {"type": "string"},
            "verdict": {"type": "integer", "enum": [0, 1] if scale == "binary" else [0, 1, 2]},
        },
        "required": ["rationale", "verdict"],
        "additionalProperties": False,
    }


def verdict_form(rubric: Rubric) -> str:
    """Return the wanted form in words, for the repair round."""
    numbers = "0 or 1" if rubric.scale == "binary" else "0, 1 or 2"
    if rubric.form == "json":
        return f'One JSON object with the key "rationale" (text) and then the key "verdict" (the number {numbers}).'
    return f"Your reasons in one to three sentences, then a last line with the word Verdict, a colon and one number: {numbers}."


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
        example = shown_moment(question, library)
        rendered = judge_prompt(
            self.rubric,
            prompts.templates,
            prompts.secret,
            activity="" if procedure is None else procedure.title or procedure.id,
            question=question.text,
            golds=gold_texts(item),
            prediction=prediction.answer or "",
            graph=library.shown_graph(question),
            performed=example.performed,
            view=prediction.details.get("view", ""),
        )
        return MarkPrompt(rendered)

    def read(self, reply: str) -> Reading:
        """Read the verdict."""
        # (its rules take longer to load than all else here)
        from proctor.exam.verdict.reply import read_verdict

        found = read_verdict(reply, self.rubric.scale)
        failure = "" if found.reason is None else f"{found.reason}: {found.detail}: {reply.strip()[:200]}"
        return Reading(found.score, found.rationale, found.problem, failure)
