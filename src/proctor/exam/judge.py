"""Marking an answer against the gold answers: 0 wrong, 1 partial, 2 match.

``RuleJudge`` is a judge without any model. It reads answer and golds with
``proctor.exam.reading`` and compares what they say: that all is well or that something is to be done, yes or
no, which words (weighted by how much they tell in this activity), which steps, which amounts, what instead of
what, what before what. Matching one of several golds suffices; an answer that gives several of them is held
against all of them together. The judge knows the golds and the task graph, never the annotations, so it cannot
accept a right answer that nobody wrote down: it is stricter than people there (docs/evaluate.md has the numbers).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from proctor.exam.kinds.example import PROCESS_TYPES
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, gold_texts
from proctor.exam.reading import (
    FAMILY,
    Amount,
    Reading,
    Stance,
    Vocabulary,
    asks_for_amount,
    asks_for_count,
    asks_for_fault,
    is_open,
    is_yes_no,
    read_answer,
    read_question,
    words,
)
from proctor.procedure.graph import TaskGraph

__all__ = ["ANSWER_LIMIT", "RuleJudge", "Similarity", "compare_answer"]

ANSWER_LIMIT = 20_000
"""Characters beyond which an answer is no answer: a sentence was asked for. It is marked wrong, because leaving
it unscored would reward whoever floods the judge."""


_CONFLICT = 0.15
"""Similarity of an answer that contradicts the gold in what matters."""


_SAME_FAMILY = 0.2
"""What another action of the same family is worth ("chop" for "dice"): it says that something of the sort was done."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """An answer held against golds.

    Attributes:
        value: in [0, 1]; what the thresholds of the judge cut.
        gold: index of the gold that decided, None when there is none.
        reason: for people.
    """

    value: float
    gold: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Question:
    """What stays the same while the answers to one question are compared."""

    vocabulary: Vocabulary
    seeks_fault: bool | None
    asked: frozenset[str]
    asks_next: bool
    yes_no: bool
    open: bool
    asks_amount: bool
    asks_count: bool

    @classmethod
    def of(cls, question: str, graph: TaskGraph, type_: str) -> _Question:
        return cls(
            vocabulary=_vocabulary(graph),
            seeks_fault=asks_for_fault(question),
            asked=read_question(question),
            asks_next=type_ == "next",
            yes_no=is_yes_no(question),
            open=is_open(question),
            asks_amount=asks_for_amount(question),
            asks_count=asks_for_count(question),
        )

    def weight(self, word: str) -> float:
        """Weight of a word; what the question already says tells little, and so does a bare figure."""
        if word[0] == "#":
            return 0.5 * self.vocabulary.unseen
        return self.vocabulary.weight(word) * (0.35 if word in self.asked else 1.0)

    def covered(self, said: _Said, by: Collection[str]) -> float:
        """Share of the weight of an answer's stems found in ``by``; another action of the same family counts a little.

        What the answer only mentions weighs little.
        """
        families = {FAMILY[w] for w in by if w in FAMILY}
        found = whole = 0.0
        for stem in sorted(said.content):
            weight = self.weight(stem) * (1.0 if stem in said.told else 0.4)
            whole += weight
            if stem in by:
                found += weight
            elif FAMILY.get(stem) in families:
                found += _SAME_FAMILY * weight
        return found / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class _Said:
    """A reading in the light of the question."""

    reading: Reading
    stance: Stance | None
    polarity: str | None
    content: frozenset[str]
    told: frozenset[str]
    steps: frozenset[str]

    @property
    def well(self) -> bool:
        """True when it says that nothing is wrong or left to do."""
        return self.stance in ("fine", "finished")

    @property
    def claims(self) -> bool:
        """True when it says only by its yes or no that all is well, and gives a reason of its own."""
        return self.reading.assumed or self.reading.place is not None

    @property
    def bare(self) -> bool:
        """True when it says yes or no and nothing else."""
        return not self.content and self.reading.place is None


def _interpret(reading: Reading, question: _Question) -> _Said:
    stance, polarity = reading.stance, reading.polarity
    if (stance is None or reading.assumed) and polarity is not None and question.seeks_fault is not None:
        stance = "fine" if (polarity == "no") == question.seeks_fault else "act"
    recognised = [question.vocabulary.recognise(unit) for unit in reading.units]
    figures = frozenset(f"#{a.value}{a.unit}" for a in reading.amounts)
    told = figures.union(*reading.units)
    return _Said(reading, stance, polarity, reading.content | figures, told, frozenset().union(*recognised))


def _expected_polarity(said: _Said, question: _Question) -> str | None:
    """Yes or no of an answer; where it is not said, what its stance would have been called."""
    if said.polarity is not None or question.seeks_fault is None or said.stance in (None, "unknown"):
        return said.polarity
    return "no" if said.well == question.seeks_fault else "yes"


# -- one answer against one gold -------------------------------------------------------------------------------


def _compare(
    answer: _Said, gold: _Said, pool: frozenset[str], steps: frozenset[str], question: _Question
) -> tuple[float, str]:
    """Similarity in [0, 1] and the reason; ``pool`` and ``steps`` are what all golds of the gold's stance say."""
    a, b = _expected_polarity(answer, question), _expected_polarity(gold, question)
    same = a is None or b is None or a == b
    if answer.stance == "unknown" or gold.stance == "unknown":
        both = answer.stance == gold.stance
        return (
            (1.0, "both say that it cannot be known") if both else (0.0, "one says that it cannot be known")
        )
    if answer.bare and question.open and answer.reading.stance is None:
        return 0.0, "a yes or no does not answer the question"
    if answer.well and gold.well:
        if _opposed(answer, gold, question):
            return 0.3, "both say that all is well, but yes against no"
        if answer.claims and gold.claims:
            return _same_claim(answer, gold, pool, steps, question, same)
        if answer.claims and not gold.claims and not gold.bare:
            return 0.3, "says that all is well for a reason that the gold does not give"
        if gold.claims and not answer.claims:
            return 0.5, "says that all is well, without the gold's reason"
        said = answer.polarity is not None and answer.polarity == gold.polarity and question.yes_no
        if answer.stance != gold.stance and question.asks_next and not said:
            return 0.5, "one says that all is done, the other that all is well so far"
        return (
            (1.0, "both say that all is well")
            if same
            else (0.5, "both say that all is well, but yes against no")
        )
    if answer.well != gold.well:
        if answer.reading.mixed or gold.reading.mixed:
            return 0.5, "one adds to 'all is well' that something is not"
        return 0.0, "one says that all is well, the other does not"
    if answer.bare:
        sided = _expected_polarity(gold, question) is not None
        if answer.polarity is None or not same or not question.yes_no or not sided:
            return 0.0, "says nothing that the gold says"
        return (1.0, "the same yes or no") if gold.bare else (0.5, f"only the right '{answer.polarity}'")
    if conflict := _conflict(answer.reading, gold.reading):
        return _CONFLICT, conflict
    if (answer.reading.place == "done") != (gold.reading.place == "done"):
        return 0.3, "one says that it is done already, the other does not"
    within = (answer.content | gold.content) <= question.asked
    if within and same and question.yes_no and answer.polarity == gold.polarity is not None:
        return 1.0, "the same yes or no, and nothing beyond the question"
    value, reason = _overlap(answer, gold, pool, steps, question, same)
    if question.asks_amount and same:
        return _weigh_figures(answer.reading, gold.reading, value, reason)
    return value, reason


def _opposed(answer: _Said, gold: _Said, question: _Question) -> bool:
    """True when one says yes and the other no to a question that wants one of the two."""
    return (
        question.yes_no and None not in (answer.polarity, gold.polarity) and answer.polarity != gold.polarity
    )


def _same_claim(
    answer: _Said, gold: _Said, pool: frozenset[str], steps: frozenset[str], question: _Question, same: bool
) -> tuple[float, str]:
    """Two answers that say by their yes or no only that all is well, and claim something beside it."""
    places = {answer.reading.place, gold.reading.place} - {None}
    if len(places) > 1:
        return 0.3, "all is well for another reason"
    if len(places) == 1 and answer.reading.place == gold.reading.place:
        return 1.0, "the same reason why all is well"
    value, reason = _overlap(answer, gold, pool, steps, question, same)
    if answer.steps and steps and not answer.steps & steps:
        return min(value, 0.3), reason
    return max(value, 0.5), reason


def _stated(reading: Reading) -> list[Amount]:
    """Amounts that an answer stands behind: not those which it says were used in place of the right ones."""
    return [a for a in reading.amounts if f"#{a.value}{a.unit}" not in reading.actual]


def _weigh_figures(answer: Reading, gold: Reading, value: float, reason: str) -> tuple[float, str]:
    """Where a figure is asked for, it decides."""
    mine, theirs = _stated(answer), _stated(gold)
    if not theirs or not mine:
        return value, reason
    hit = [t for t in theirs if any(t.equals(m) for m in mine)]
    if not hit:
        return _CONFLICT, f"amounts differ: {mine[0]} against {theirs[0]}"
    if len(hit) == len(theirs) and all(any(t.equals(m) for t in theirs) for m in mine):
        return max(value, 0.8), f"the same figure: {theirs[0]}"
    return max(value, 0.5), f"one of the figures is the same: {hit[0]}"


def _overlap(
    answer: _Said, gold: _Said, pool: frozenset[str], steps: frozenset[str], question: _Question, same: bool
) -> tuple[float, str]:
    recall = question.covered(gold, answer.content)
    precision = 0.5 * (question.covered(answer, gold.content) + question.covered(answer, pool))
    value = 2 * recall * precision / (recall + precision) if recall and precision else 0.0
    reason = f"{round(100 * recall)} % of the gold's words are there"
    if answer.steps and gold.steps:
        shared, extra = answer.steps & gold.steps, answer.steps - steps
        if not shared:
            value, reason = (
                0.4 * value,
                f"speaks of step {_ids(answer.steps)}, the gold of step {_ids(gold.steps)}",
            )
        else:
            value, reason = value + 0.3 * (1 - value), f"speaks of step {_ids(shared)} like the gold"
            if extra:
                value, reason = min(value, 0.6), f"{reason}, but also of step {_ids(extra)}"
    if not same:
        value, reason = 0.35 * value, f"{reason}, but yes against no"
    return value, reason


def _ids(steps: Iterable[str]) -> str:
    return ", ".join(sorted(steps)[:5])


def _conflict(a: Reading, b: Reading) -> str:
    """What the two contradict each other in; empty when in nothing."""
    if a.direction * b.direction < 0:
        return "one says too much, the other too little"
    swapped = a.wanted & b.actual and a.actual & b.wanted
    half = (a.wanted & b.actual and not a.wanted & b.wanted) or (
        a.actual & b.wanted and not a.actual & b.actual
    )
    if swapped or half:
        return "what should be and what was done are swapped"
    if (a.earlier - b.earlier) & b.later and (b.earlier - a.earlier) & a.later:
        return "the order is the other way round"
    return _amount_conflict(a.amounts, b.amounts)


def _amount_conflict(a: Sequence[Amount], b: Sequence[Amount]) -> str:
    for of in sorted({x.of for x in a} & {x.of for x in b}):
        mine, theirs = [x for x in a if x.of == of], [x for x in b if x.of == of]
        if not any(x.equals(y) for x in mine for y in theirs):
            return f"amounts differ: {mine[0]} against {theirs[0]}"
    return ""


# -- one answer against all golds ------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _vocabulary(graph: TaskGraph) -> Vocabulary:
    return Vocabulary.of(graph)


@lru_cache(maxsize=20_000)
def _frame(question: str, graph: TaskGraph, type_: str) -> _Question:
    return _Question.of(question, graph, type_)


@lru_cache(maxsize=50_000)
def _read(text: str) -> Reading:
    return read_answer(text)


def compare_answer(
    answer: str, golds: Sequence[str], question: str, graph: TaskGraph, *, type_: str = ""
) -> Similarity:
    """Hold one answer against the golds of a question; the best gold decides.

    Args:
        answer: any text.
        golds: accepted answers.
        question: what was asked; its words count little, its wording says what "no" means.
        graph: the activity.
        type_: question type; only ``next`` tells "all done" from "all well so far", and only in questions about a
            mistake in one step do the golds share their amounts.
    """
    frame = _frame(question, graph, type_)
    said = _interpret(read_answer(answer), frame)
    if said.reading.contradictory:
        return Similarity(0.0, None, "the answer says both yes and no")
    if said.stance is None and said.polarity is None:
        return Similarity(0.0, None, "the answer says nothing")
    if frame.asks_count and (counted := _compare_counts(said.reading, golds)) is not None:
        return counted
    readings = [_interpret(_read(g), frame) for g in golds]
    best = Similarity(0.0, None, "there is no gold answer")
    for i, gold in enumerate(readings):
        alike = [r for r in readings if r.well == gold.well]
        pool = frozenset().union(*(r.content for r in alike))
        steps = frozenset().union(*(r.steps for r in alike))
        value, reason = _compare(said, gold, pool, steps, frame)
        if best.gold is None or value > best.value:
            best = Similarity(value, i, reason)
    of_step = type_ not in PROCESS_TYPES
    if (
        of_step
        and not said.well
        and best.value > _CONFLICT
        and (conflict := _figure_conflict(said.reading, readings))
    ):
        return Similarity(_CONFLICT, best.gold, conflict)
    return best


def _figure_conflict(answer: Reading, golds: Sequence[_Said]) -> str:
    """Amounts of a unit of which every gold that has one has another; empty when there are none."""
    for unit in sorted({a.unit for a in answer.amounts if a.unit}):
        mine = [a for a in answer.amounts if a.unit == unit]
        theirs = [t for g in golds for t in g.reading.amounts if t.unit == unit]
        if theirs and not any(t.value == m.value for t in theirs for m in mine):
            return f"amounts differ: {mine[0]} against {theirs[0]}"
    return ""


_COUNTED = re.compile(
    r"^(?:(?:you|we|i|it|there|that|is|are|have|missed|skipped|forgot|left out|it's|that's) )*(\d{1,4})(?![./\d])|\b(\d{1,4}) (?:\w+ )?steps?\b"
)


def _count(reading: Reading) -> int | None:
    """How many an answer says: its first number, or none at all."""
    if reading.stance in ("fine", "finished"):
        return 0
    match = _COUNTED.search(" ".join(words(reading.text)))
    return int(match[1] or match[2]) if match else None


def _compare_counts(answer: Reading, golds: Sequence[str]) -> Similarity | None:
    """Compare how many; None where one of the two does not say."""
    mine = _count(answer)
    theirs = [_count(_read(g)) for g in golds]
    if None in theirs:
        return None
    if mine is None:
        return Similarity(0.0, 0, "does not say how many")
    for i, number in enumerate(theirs):
        if number == mine:
            return Similarity(1.0, i, f"both say {number}")
    return Similarity(0.0, 0, f"says {mine}, the gold {theirs[0]}")


def _golds_disagree(golds: Sequence[str], question: str) -> bool:
    """True when some golds say yes and others no, or, where they do not say, that all is well and that it is not."""
    readings = [_read(g) for g in golds]
    sides = {r.polarity for r in readings}
    if None not in sides:
        return len(sides) > 1
    wells = {r.stance in ("fine", "finished") for r in readings if r.stance is not None and not r.assumed}
    return len(sides) > 2 or (asks_for_fault(question) is not None and len(wells) > 1)


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """The rule-based judge.

    Attributes:
        partial: similarity from which an answer is partial (1).
        match: similarity from which it is a match (2).
    """

    partial: float = 0.4
    match: float = 0.7

    @property
    def name(self) -> str:
        """Name with version and thresholds."""
        return f"rules-2(partial={self.partial:g},match={self.match:g})"

    def judge(self, item: Item, graph: TaskGraph, prediction: Prediction) -> Judgement:
        """Mark one answer by the best of the item's golds; a failed prediction stays unscored."""
        empty = Judgement(item_id=item.id, predictor=prediction.predictor, judge=self.name)
        if prediction.answer is None:
            return _unscored(empty, f"there is no answer: {prediction.failure or 'no reason given'}")
        if not item.golds:
            return _unscored(empty, "the item has no gold answer")
        if len(prediction.answer) > ANSWER_LIMIT:
            return _scored(
                empty, 0, f"the answer has {len(prediction.answer):,} characters: no sentence", None
            )
        golds, question = gold_texts(item), item.question
        found = compare_answer(prediction.answer, golds, question.text, graph, type_=question.facets["type"])
        value = found.value + 1e-9
        score = 2 if value >= self.match else 1 if value >= self.partial else 0
        reason = f"{found.reason} ({found.value:.2f})"
        if found.gold is not None:
            reason = f"nearest gold {found.gold + 1}, {golds[found.gold].strip()!r}: {reason}"
        if _golds_disagree(golds, question.text):
            reason += "; the golds contradict each other"
        return _scored(empty, score, reason, found.gold)


def _unscored(blank: Judgement, why: str) -> Judgement:
    return Judgement(item_id=blank.item_id, predictor=blank.predictor, judge=blank.judge, failure=why)


def _scored(blank: Judgement, score: int, rationale: str, gold: int | None) -> Judgement:
    return Judgement(
        item_id=blank.item_id,
        predictor=blank.predictor,
        judge=blank.judge,
        score=score,
        rationale=rationale,
        gold=gold,
    )
