"""How far a judge can be believed: held against answers whose worth people decided.

Cases come from a verified release. An answer that annotators accepted, judged against the *other* accepted answers
to the same question, should be marked at least partial; an answer that they rejected, and an accepted answer to a
question with other facts, should be marked wrong. Labels are as good as that rule: accepted answers to one
question may name different steps, so only questions with at most one right step give the ``accepted`` cases.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.predict import item_rng
from proctor.exam.question import Item, gold_texts
from proctor.exam.reading import words

CaseKind = Literal["accepted", "rejected", "other"]


@dataclass(frozen=True, slots=True)
class CalibrationCase:
    """One answer, the golds that it is held against, and whether it should be marked above 0.

    Attributes:
        item: the question; its golds are not used.
        answer: what is judged.
        golds: what it is judged against.
        kind: ``accepted`` by annotators, ``rejected`` by them, or the answer to an ``other`` question.
    """

    item: Item
    answer: str
    golds: tuple[str, ...]
    kind: CaseKind

    @property
    def good(self) -> bool:
        """True when it should be marked at least partial."""
        return self.kind == "accepted"


@dataclass(frozen=True, slots=True)
class Separation:
    """How well similarities tell good answers from bad ones at a threshold.

    Attributes:
        n: cases by kind.
        auc: probability that a good case is above a bad one; None when one side is empty.
        accepted: share of accepted cases at or above the threshold.
        rejected: share of rejected cases below it.
        other: share of cases of other questions below it.
        balanced: mean of the share of good cases above and of bad cases below; None when one side is empty.
    """

    n: Mapping[str, int]
    auc: float | None
    accepted: float | None
    rejected: float | None
    other: float | None
    balanced: float | None


def _normal(text: str) -> str:
    return " ".join(words(text))


def _facts(item: Item) -> frozenset[str]:
    """What a right answer to the item speaks of."""
    example = moment_example(item.question)
    if example.type == "next":
        return frozenset(s.step_id for s in example.next_steps or ())
    if example.type == "missing":
        return frozenset(s.step_id for s in example.missing_steps or ())
    return frozenset({f"{example.type} of {example.current.step_id if example.current else ''}"})


def calibration_cases(
    items: Sequence[Item], rejected: Mapping[str, Sequence[str]], *, seed: int = 0, others: int = 3
) -> Iterator[CalibrationCase]:
    """Build the cases of a release.

    Args:
        items: verified questions.
        rejected: answers that annotators rejected, by item id.
        seed: of the choice of other questions.
        others: how many answers to other questions of the same activity to take for each item.
    """
    by_activity: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_activity[moment_example(item.question).activity_id].append(item)
    for item in items:
        golds = tuple(dict.fromkeys(gold_texts(item)))
        accepted = {_normal(g) for g in golds}
        if len(_facts(item)) <= 1:
            for gold in golds:
                rest = tuple(g for g in golds if _normal(g) != _normal(gold))
                if rest:
                    yield CalibrationCase(item, gold, rest, "accepted")
        for answer in rejected.get(item.id, ()):
            if _normal(answer) not in accepted:
                yield CalibrationCase(item, answer, golds, "rejected")
        foreign = _foreign(item, by_activity[moment_example(item.question).activity_id], accepted)
        rng: random.Random = item_rng(seed, item.id)
        for answer in rng.sample(foreign, min(others, len(foreign))):
            yield CalibrationCase(item, answer, golds, "other")


def _foreign(item: Item, siblings: Iterable[Item], accepted: set[str]) -> list[str]:
    """Golds of questions of the same activity whose facts share nothing with this item's."""
    facts = _facts(item)
    found = [
        gold
        for other in siblings
        if (theirs := _facts(other)) | facts and not theirs & facts
        for gold in gold_texts(other)
        if _normal(gold) not in accepted
    ]
    return list(dict.fromkeys(found))


def separation(cases: Sequence[CalibrationCase], values: Sequence[float], threshold: float) -> Separation:
    """Say how well similarities separate the cases at a threshold."""
    right = [(v >= threshold) == c.good for c, v in zip(cases, values, strict=True)]
    good = [v for c, v in zip(cases, values, strict=True) if c.good]
    bad = [v for c, v in zip(cases, values, strict=True) if not c.good]

    def share(*kinds: CaseKind) -> float | None:
        chosen = [r for c, r in zip(cases, right, strict=True) if c.kind in kinds]
        return sum(chosen) / len(chosen) if chosen else None

    above, below = share("accepted"), share("rejected", "other")
    balanced = (above + below) / 2 if above is not None and below is not None else None
    return Separation(
        n={kind: sum(c.kind == kind for c in cases) for kind in ("accepted", "rejected", "other")},
        auc=sum((a > b) + (a == b) / 2 for a in good for b in bad) / (len(good) * len(bad))
        if good and bad
        else None,
        accepted=share("accepted"),
        rejected=share("rejected"),
        other=share("other"),
        balanced=balanced,
    )
