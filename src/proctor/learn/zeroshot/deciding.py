"""From replies to decisions: what each reply says, which of them signal a mistake, and how those of one entry are combined.

``or``: one category that signals a mistake is enough, as published. ``logistic``: weights of the categories are fitted on a
validation part. A reply that hedges, is empty or cannot be read signals none, and neither does a call that failed; all of them
are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import CATEGORIES
from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.classification import choose_threshold

__all__ = ["READS", "Combine", "Replies", "Weights", "fit_weights", "read_replies", "require_both"]

Combine = Literal["or", "logistic"]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

READS: Final = ("mistake", "fine", "hedged", "empty", "unreadable", "failed")
"""What a reply comes to; all but the first signal no mistake."""
_ALL: Final = -1.0
_PENALTY: Final = 1.0
"""Weight of the squared size of weights, against one entry each: keeps what was hardly asked near 0."""


@dataclass(frozen=True)
class Replies:
    """What was said of entries.

    Attributes:
        entries: in order.
        said: one of ``READS``, by entry's id and category; what was not asked is not there.
    """

    entries: tuple[Entry, ...]
    said: Mapping[tuple[str, str], str]

    def signals(self, category: str) -> Bools:
        """Return which entries a category calls a mistake; shape (entries,)."""
        return np.array([self.said.get((e.id, category)) == "mistake" for e in self.entries], np.bool_)

    def asked(self, category: str) -> Bools:
        """Return which entries a category was asked of; shape (entries,)."""
        return np.array([(e.id, category) in self.said for e in self.entries], np.bool_)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return by category how many replies come to what."""
        found: dict[str, Counter[str]] = {}
        for (_, category), said in self.said.items():
            found.setdefault(category, Counter())[said] += 1
        order = [c for c in ("step", *CATEGORIES) if c in found]
        return {category: {name: found[category][name] for name in READS} for category in order}

    @property
    def any(self) -> Bools:
        """Which entries at least one category calls a mistake; shape (entries,)."""
        wrong = {entry for (entry, _), said in self.said.items() if said == "mistake"}
        return np.array([e.id in wrong for e in self.entries], np.bool_)

    def features(self) -> Floats:
        """Return 1 where a category signals a mistake, else 0; shape (entries, 7)."""
        return np.stack([self.signals(c) for c in CATEGORIES], axis=1).astype(np.float64)


def read_replies(
    entries: Sequence[Entry], items: Iterable[Item], predictions: Iterable[Prediction]
) -> Replies:
    """Return what replies come to, by the records of the exam.

    Args:
        entries: that were asked about.
        items: the questions.
        predictions: the answers; a question without one counts as failed.
    """
    answers = {prediction.item_id: prediction for prediction in predictions}
    said: dict[tuple[str, str], str] = {}
    for item in items:
        facts = item.question.facts
        said[str(facts["entry"]), str(facts["category"])] = _read(item, answers.get(item.id))
    return Replies(tuple(entries), said)


def _read(item: Item, prediction: Prediction | None) -> str:
    if prediction is None or prediction.failure is not None:
        return "failed"
    read, right = prediction.details.get("read", ""), item.question.facts["right"]
    if right >= 0:
        return (
            read if read not in LETTERS or not read else "fine" if LETTERS.index(read) == right else "mistake"
        )
    return {"no": "mistake", "yes": "fine"}.get(read, read)


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic regression over the categories' signals.

    Attributes:
        bias: log-odds where nothing signals.
        weights: by category, what its signal adds.
        threshold: an entry above this probability is called a mistake: the best F1 on the part that it was fitted on; -1 calls all.
        n: entries that it was fitted on.
    """

    bias: float
    weights: dict[str, float]
    threshold: float
    n: int

    def probabilities(self, features: Floats) -> Floats:
        """Return the probability of a mistake; shape (entries,)."""
        logits = self.bias + features @ np.array([self.weights[c] for c in CATEGORIES])
        result: Floats = 1 / (1 + np.exp(-logits))
        return result


def require_both(labels: Sequence[bool]) -> None:
    """Refuse to fit weights where mistakes or steps without any are lacking.

    Raises:
        UserError: if one of both is.
    """
    if len(set(labels)) < 2:
        raise UserError(
            f"the {len(labels):,} entries of the validation part are all alike, so nothing can be fitted.",
            hint="ask about more of them (--sample), or combine by --combine or",
        )


def fit_weights(features: Floats, labels: Bools) -> Weights:
    """Fit by Newton's method with a small ridge on the weights.

    Args:
        features: of the validation part; shape (entries, 7).
        labels: whether each entry is a mistake; shape (entries,).

    Raises:
        UserError: if the part holds one class only.
    """
    require_both(labels.tolist())
    design = np.hstack([np.ones((len(features), 1)), features])
    ridge = np.diag([0.0, *[_PENALTY] * features.shape[1]])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        step = np.linalg.solve(
            design.T @ (design * (p * (1 - p))[:, None]) + ridge, design.T @ (labels - p) - ridge @ beta
        )
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    fitted = Weights(
        bias=float(beta[0]),
        weights=dict(zip(CATEGORIES, beta[1:].tolist(), strict=True)),
        threshold=0.5,
        n=len(labels),
    )
    best = choose_threshold(labels, fitted.probabilities(features)).value
    return msgspec.structs.replace(fitted, threshold=max(best, _ALL))
