"""The task graph as an annotator: the ``Annotator`` that needs no page, no model and no network."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from proctor.exam.kinds.example import Example
from proctor.exam.question import Question as Asked
from proctor.exam.question import proposed_texts, version_of
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle.answer import AnswerText, parse_answer
from proctor.verify.oracle.case import Ground
from proctor.verify.oracle.confidence import Calibration, load_calibration
from proctor.verify.oracle.decide import decide
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.question import Question, parse_question
from proctor.verify.oracle.text import MAX_CHARACTERS, is_english, words
from proctor.verify.verdict import DEFAULT_THRESHOLD, AnnotatorKind, AnswerVerdict, Judgment, Verdict

__all__ = ["DEFAULT_THRESHOLD", "Decision", "Oracle"]

UNDECIDED: Final = 0.5

_GRAPHS_KEPT: Final = 64
_PLACEHOLDER = re.compile(r"<[^<>]{1,60}>|\{[^{}]{1,60}\}")


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything the oracle found out about one answer.

    Attributes:
        value: right, wrong, or unsure when the confidence is below the threshold or nothing can be told.
        probability: that people take the answer for right.
        reason: sentence for people.
        ground: the rule that decided; None when the text could not be read.
        question: the parsed question.
        answer: the parsed answer.
    """

    value: Judgment
    probability: float
    reason: str
    ground: Ground | None
    question: Question
    answer: AnswerText

    @property
    def confidence(self) -> float:
        """Probability of the likelier of right and wrong."""
        return max(self.probability, 1.0 - self.probability)

    @property
    def guess(self) -> bool:
        """What it would say if it had to: True for right."""
        return self.probability >= UNDECIDED


class Oracle:
    """Judges answers by the task graph and the annotations of the moment.

    Args:
        threshold: confidence in [0.5, 1] below which it says "unsure"; a higher one decides less and errs less.
        calibration: from leans to probabilities; the shipped one by default.
        clock: gives the time that verdicts carry, ISO 8601 with zone.
        name: under which verdicts are stored.

    Raises:
        ValueError: if the threshold lies outside [0.5, 1].
    """

    def __init__(
        self,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        calibration: Calibration | None = None,
        clock: Callable[[], str] | None = None,
        name: str = "task-graph-oracle",
    ) -> None:
        if not 0.5 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie in [0.5, 1], got {threshold}")
        self.threshold = threshold
        self.calibration = calibration or load_calibration()
        self._clock = clock or (lambda: datetime.now(UTC).isoformat(timespec="seconds"))
        self._name = name
        self._indexes: OrderedDict[int, tuple[TaskGraph, StepIndex]] = OrderedDict()
        self._moment: Moment | None = None

    @property
    def name(self) -> str:
        """Name under which the verdicts are stored."""
        return self._name

    @property
    def kind(self) -> AnnotatorKind:
        """It is an oracle."""
        return "oracle"

    # -- verdicts ----------------------------------------------------------------------------------------------

    def judge(self, asked: Asked, graph: TaskGraph) -> Verdict:
        """Give the verdict on one question about a moment, and on each answer when the question is not rejected.

        Raises:
            UserError: if the example names a step that the graph does not have.
        """
        question = judge_question(asked.text)
        decisions: Sequence[Decision] = ()
        if question.value != "wrong":
            example = msgspec.convert(asked.facts, Example)
            decisions = [self.decide(asked.text, text, example, graph) for text in proposed_texts(asked)]
        return Verdict(
            candidate_id=asked.id,
            candidate_hash=version_of(asked),
            annotator=self.name,
            annotator_kind=self.kind,
            at=self._clock(),
            question=question,
            answers=tuple(_verdict(d) for d in decisions),
        )

    def judge_answer(self, question: str, answer: str, example: Example, graph: TaskGraph) -> AnswerVerdict:
        """Give the verdict on one answer.

        Raises:
            UserError: if the example names a step that the graph does not have.
        """
        return _verdict(self.decide(question, answer, example, graph))

    def decide(self, question: str, answer: str, example: Example, graph: TaskGraph) -> Decision:
        """Decide one answer and keep what was found on the way.

        Raises:
            UserError: if the example names a step that the graph does not have.
        """
        asked, said = parse_question(question), parse_answer(answer)
        index, moment = self._index(graph), self._at(example, graph)
        unreadable = _unreadable(said, index)
        if unreadable is not None:
            verdict, why, chance = unreadable
            return Decision(verdict, chance, why, None, asked, said)
        ground = decide(asked, said, moment, index)
        probability = self.calibration.probability(ground.lean)
        value: Judgment = "right" if probability >= UNDECIDED else "wrong"
        reason = ground.reason[:1].upper() + ground.reason[1:]
        if len(answer) > MAX_CHARACTERS or len(question) > MAX_CHARACTERS:
            reason += f"; only the first {MAX_CHARACTERS:,} characters were read"
            value = "unsure"
        elif max(probability, 1 - probability) < self.threshold:
            value = "unsure"
        return Decision(value, probability, reason + ".", ground, asked, said)

    # -- caches ------------------------------------------------------------------------------------------------

    def _index(self, graph: TaskGraph) -> StepIndex:
        """Return the step index of a graph. Graphs are told apart by identity: hashing one is slower."""
        held = self._indexes.get(id(graph))
        if held is not None and held[0] is graph:
            return held[1]
        index = StepIndex(graph)
        self._indexes[id(graph)] = (graph, index)
        if len(self._indexes) > _GRAPHS_KEPT:
            self._indexes.popitem(last=False)
        return index

    def _at(self, example: Example, graph: TaskGraph) -> Moment:
        moment = self._moment
        if moment is None or moment.example != example or moment.graph is not graph:
            moment = self._moment = Moment(example, graph)
        return moment


def judge_question(text: str) -> AnswerVerdict:
    """Say whether a question can be asked: it has words, no unfilled placeholder, and an intent the oracle knows."""
    if not words(text[:MAX_CHARACTERS].casefold()):
        return AnswerVerdict("wrong", None, "The question has no words.", {"rule": "empty_question"})
    if _PLACEHOLDER.search(text[:MAX_CHARACTERS]):
        return AnswerVerdict(
            "wrong", None, "The question holds an unfilled placeholder.", {"rule": "placeholder"}
        )
    if len(text) > MAX_CHARACTERS:
        return AnswerVerdict(
            "unsure",
            None,
            f"The question is longer than {MAX_CHARACTERS:,} characters.",
            {"rule": "too_long"},
        )
    parsed = parse_question(text)
    evidence = {"rule": "intent", "intent": parsed.intent, "trouble": parsed.trouble}
    if parsed.intent == "other":
        return AnswerVerdict("unsure", None, "It is not clear what the question asks.", evidence)
    return AnswerVerdict("right", None, f"It asks {_ASKS[parsed.intent]}.", evidence)


_ASKS: Final = {
    "next": "what to do now",
    "left": "whether there is something (else) to do",
    "forgot": "whether something was left out",
    "forgot_step": "whether a certain step was left out",
    "skip": "whether a certain step may be left out",
    "all_good": "whether everything is done or right so far",
    "propose": "whether to do a certain thing now",
    "order": "whether something was done at the right moment",
    "check": "whether something was done right",
    "detail": "how, how much or how long",
}


def _unreadable(said: AnswerText, index: StepIndex) -> tuple[Judgment, str, float] | None:
    """Deal with answers that no rule can read."""
    tokens = words(said.plain)
    if not tokens:
        return "wrong", "The answer has no words.", 0.0
    if not is_english(tokens, index.weights):
        return "unsure", "Most of the answer's words are not known to the oracle.", UNDECIDED
    return None


def _verdict(decision: Decision) -> AnswerVerdict:
    evidence = {"intent": decision.question.intent, "probability": f"{decision.probability:.4f}"}
    ground = decision.ground
    if ground is None:
        evidence["rule"] = "unreadable"
    else:
        evidence |= {"rule": ground.name, "stance": ground.stance, "lean": f"{ground.lean:.2f}"}
        if ground.steps:
            evidence |= {"steps": ",".join(ground.steps), "match": f"{ground.match:.2f}"}
    return AnswerVerdict(decision.value, round(decision.confidence, 4), decision.reason, evidence)
