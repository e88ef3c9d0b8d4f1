"""Measuring the oracle against people: pure functions over rows, one row a judged answer.

Conventions: *agreement* is the share of answers where oracle and label say the same. *Over all* answers the oracle
has to say right or wrong, so where it is unsure its likelier side counts; *over decided* only answers whose
confidence reaches the threshold count. *Accept-precision* at a probability is the share of right answers among
those that the oracle takes for right with at least this probability; its coverage is their share of all answers.
Intervals: ``low`` and ``high`` come from a bootstrap over clusters (recordings), BCa, 95 %; ``wilson`` treats
answers as independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.interval import wilson_interval
from proctor.verify.oracle.confidence import fit_calibration

__all__ = ["AnswerRow", "cross_validate", "evaluate"]

THRESHOLDS: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95)
PRIOR: Final = 2.0
"""Weight of the overall share of right answers against a rule's own, in answers."""
Refit = Literal["calibration", "rules"]
COVERAGES: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One machine answer, what people said of it and what the oracle says.

    Attributes:
        id: question id and number of the answer, unique.
        question_id: of the example.
        type: question type of the example.
        intent: what the oracle took the question to ask.
        cluster: recording.
        group: recipe; what cross-validation leaves out.
        label: the adjudicated judgement, True for right.
        humans: the annotators' judgements; None where one rejected the question.
        lean: of the deciding ground; None when the answer could not be read.
        probability: that the answer is right.
        rule: name of the deciding ground.
        reason: the oracle's sentence.
        question: text.
        answer: text.
    """

    id: str
    question_id: str
    type: str
    intent: str
    cluster: str
    group: str
    label: bool
    probability: float
    humans: tuple[bool | None, ...] = ()
    lean: float | None = None
    rule: str = ""
    reason: str = ""
    question: str = ""
    answer: str = ""

    @property
    def guess(self) -> bool:
        """What the oracle says when it must."""
        return self.probability >= 0.5

    @property
    def confidence(self) -> float:
        """Probability of the likelier side."""
        return max(self.probability, 1 - self.probability)

    @property
    def agrees(self) -> bool:
        """True when the guess is the label."""
        return self.guess == self.label


def evaluate(
    rows: Sequence[AnswerRow], *, threshold: float, resamples: int = 2_000, seed: int = 0
) -> dict[str, Any]:
    """Return every figure about one set of rows, ready for JSON.

    Args:
        rows: one a judged answer; ids must be unique.
        threshold: confidence from which an answer counts as decided.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: if ids repeat or the threshold is no confidence.
    """
    if not 0.5 <= threshold <= 1.0:
        raise ValueError(f"threshold must lie in [0.5, 1], got {threshold}")
    if len({r.id for r in rows}) != len(rows):
        raise ValueError("row ids repeat")

    def share(chosen: Sequence[AnswerRow], hit: Callable[[AnswerRow], bool]) -> dict[str, Any]:
        return _share(chosen, hit, resamples, seed)

    decided = [r for r in rows if r.confidence >= threshold]
    return {
        "n": len(rows),
        "questions": len({r.question_id for r in rows}),
        "clusters": len({r.cluster for r in rows}),
        "groups": len({r.group for r in rows}),
        "right": sum(r.label for r in rows),
        "threshold": threshold,
        "decided": len(decided),
        "coverage": _ratio(len(decided), len(rows)),
        "agreement_decided": share(decided, _agrees),
        "agreement_all": share(rows, _agrees),
        "kappa_all": _kappa(rows),
        "brier": _mean((r.probability - r.label) ** 2 for r in rows),
        "always_right_agreement": _ratio(sum(r.label for r in rows), len(rows)),
        "accept_by_threshold": [
            {"threshold": t, **_accepted([r for r in rows if r.probability >= t], len(rows), share)}
            for t in THRESHOLDS
        ],
        "accept_by_coverage": [
            {"wanted_coverage": c, **_accepted(_surest(rows, c), len(rows), share)} for c in COVERAGES
        ],
        "agreement_by_threshold": [
            {
                "threshold": t,
                "decided": len(kept),
                "coverage": _ratio(len(kept), len(rows)),
                "agreement": share(kept, _agrees),
            }
            for t in THRESHOLDS
            for kept in [[r for r in rows if r.confidence >= t]]
        ],
        "by_type": _breakdown(rows, lambda r: r.type, threshold, share),
        "by_intent": _breakdown(rows, lambda r: r.intent, threshold, share),
        "by_rule": _breakdown(rows, lambda r: r.rule, threshold, share),
        "by_group": _breakdown(rows, lambda r: r.group, threshold, share),
        "confusion_by_type": {
            t: _confusion(r for r in rows if r.type == t) for t in _keys(rows, lambda r: r.type)
        },
        "confusion": _confusion(rows),
        "human": _humans(rows, share),
        "disagreements": [_disagreement(r, threshold) for r in rows if not r.agrees],
    }


def cross_validate(
    rows: Sequence[AnswerRow], *, refit: Refit = "calibration", ridge: float = 1.0
) -> list[AnswerRow]:
    """Return the rows with probabilities from what was learnt on the other groups alone.

    Args:
        rows: at least two groups.
        refit: ``calibration`` fits the two numbers of the logistic curve anew and keeps the leans of the rules.
            ``rules`` forgets the leans as well: the probability of a rule (and lean) is the share of right
            answers that it had in the other groups, drawn towards their overall share by ``PRIOR`` answers.
        ridge: penalty of the logistic curve.

    The wording of the rules themselves stays as it is in both.

    Raises:
        ValueError: if there is only one group.
    """
    groups = _keys(rows, lambda r: r.group)
    if len(groups) < 2:
        raise ValueError("cross-validation needs at least two groups")
    result: list[AnswerRow] = []
    for group in groups:
        others = [r for r in rows if r.group != group and r.lean is not None]
        own = [r for r in rows if r.group == group]
        estimate = _estimate(others, refit, ridge) if others else None
        result += [
            r if r.lean is None or estimate is None else replace(r, probability=estimate(r)) for r in own
        ]
    place = {r.id: n for n, r in enumerate(rows)}
    return sorted(result, key=lambda r: place[r.id])


def _estimate(others: Sequence[AnswerRow], refit: Refit, ridge: float) -> Callable[[AnswerRow], float]:
    if refit == "calibration":
        leans = [r.lean if r.lean is not None else 0.0 for r in others]
        fitted = fit_calibration(leans, [r.label for r in others], ridge=ridge)
        return lambda row: fitted.probability(row.lean or 0.0)
    overall = sum(r.label for r in others) / len(others)
    seen: dict[tuple[str, float | None], list[bool]] = {}
    for row in others:
        seen.setdefault((row.rule, row.lean), []).append(row.label)

    def share(row: AnswerRow) -> float:
        labels = seen.get((row.rule, row.lean), [])
        return (sum(labels) + PRIOR * overall) / (len(labels) + PRIOR)

    return share


# -- parts -----------------------------------------------------------------------------------------------------


def _agrees(row: AnswerRow) -> bool:
    return row.agrees


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else None


def _keys(rows: Iterable[AnswerRow], key: Callable[[AnswerRow], str]) -> list[str]:
    return sorted({key(r) for r in rows})


def _share(
    rows: Sequence[AnswerRow], hit: Callable[[AnswerRow], bool], resamples: int, seed: int
) -> dict[str, Any]:
    """A proportion with both intervals."""
    hits = [hit(r) for r in rows]
    count = sum(hits)
    sums = cluster_sums([[float(h) for h in hits], [1.0] * len(hits)], [r.cluster for r in rows])
    interval = bootstrap_interval(sums, resamples=resamples, seed=seed)
    wilson = wilson_interval(count, len(hits))
    note = interval.note
    return {
        "value": _ratio(count, len(hits)),
        "n": len(hits),
        "low": interval.low,
        "high": interval.high,
        "wilson": [wilson.low, wilson.high],
        **({"note": note} if note else {}),
    }


def _surest(rows: Sequence[AnswerRow], coverage: float) -> list[AnswerRow]:
    """Return the answers with the highest probability of being right; ties at the border come along."""
    wanted = math.ceil(coverage * len(rows))
    ranked = sorted((r.probability for r in rows if r.guess), reverse=True)
    if not ranked or not wanted:
        return []
    border = ranked[min(wanted, len(ranked)) - 1]
    return [r for r in rows if r.guess and r.probability >= border]


def _accepted(
    accepted: Sequence[AnswerRow],
    n: int,
    share: Callable[[Sequence[AnswerRow], Callable[[AnswerRow], bool]], dict[str, Any]],
) -> dict[str, Any]:
    return {
        "accepted": len(accepted),
        "coverage": _ratio(len(accepted), n),
        "border": min((r.probability for r in accepted), default=None),
        "precision": share(accepted, lambda r: r.label),
    }


def _breakdown(
    rows: Sequence[AnswerRow],
    key: Callable[[AnswerRow], str],
    threshold: float,
    share: Callable[[Sequence[AnswerRow], Callable[[AnswerRow], bool]], dict[str, Any]],
) -> dict[str, Any]:
    result = {}
    for name in _keys(rows, key):
        own = [r for r in rows if key(r) == name]
        decided = [r for r in own if r.confidence >= threshold]
        result[name] = {
            "n": len(own),
            "right": sum(r.label for r in own),
            "decided": len(decided),
            "coverage": _ratio(len(decided), len(own)),
            "agreement_all": share(own, _agrees),
            "agreement_decided": share(decided, _agrees),
        }
    return result


def _confusion(rows: Iterable[AnswerRow]) -> dict[str, int]:
    """Counts named ``<label>_said_<oracle>``."""
    cells = dict.fromkeys(("right_said_right", "right_said_wrong", "wrong_said_right", "wrong_said_wrong"), 0)
    for row in rows:
        cells[f"{_word(row.label)}_said_{_word(row.guess)}"] += 1
    return cells


def _word(right: bool) -> str:
    return "right" if right else "wrong"


def _kappa(rows: Sequence[AnswerRow]) -> float | None:
    """Cohen's kappa of guess and label."""
    if not rows:
        return None
    n = len(rows)
    observed = sum(r.agrees for r in rows) / n
    said, true = sum(r.guess for r in rows) / n, sum(r.label for r in rows) / n
    chance = said * true + (1 - said) * (1 - true)
    return (observed - chance) / (1 - chance) if chance < 1 else None


def _humans(
    rows: Sequence[AnswerRow],
    share: Callable[[Sequence[AnswerRow], Callable[[AnswerRow], bool]], dict[str, Any]],
) -> dict[str, Any]:
    """Agreement of the two annotators with each other, and of each with the oracle, on the same answers."""
    both = [r for r in rows if len(r.humans) == 2 and None not in r.humans]
    split = [r for r in both if r.humans[0] != r.humans[1]]
    unanimous = [r for r in both if r.humans[0] == r.humans[1]]
    single: list[AnswerRow] = []
    for row in both:
        for number, value in enumerate(row.humans):
            single.append(replace(row, id=f"{row.id}#{number}", label=bool(value)))
    return {
        "between_annotators": share(both, lambda r: r.humans[0] == r.humans[1]),
        "oracle_with_one_annotator": share(single, _agrees),
        "oracle_where_annotators_agree": share(unanimous, _agrees),
        "oracle_where_annotators_differ": share(split, _agrees),
    }


def _disagreement(row: AnswerRow, threshold: float) -> Mapping[str, Any]:
    return {
        "id": row.id,
        "type": row.type,
        "intent": row.intent,
        "label": _word(row.label),
        "oracle": _word(row.guess),
        "decided": row.confidence >= threshold,
        "probability": round(row.probability, 4),
        "rule": row.rule,
        "reason": row.reason,
        "humans": list(row.humans),
        "question": row.question,
        "answer": row.answer,
    }
