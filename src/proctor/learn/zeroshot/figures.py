"""What a run is worth: its figures, beside what the paper prints and what knowing nothing gives.

The published rows (``learn.published``) imply the prevalence of all 5,700 entries. "Always a mistake" has an F1 of 51.3 there, which
is more than every one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.ask.step.questions import CATEGORIES
from proctor.exam.estimate import Estimate
from proctor.learn.published import ZERO_SHOT, ZERO_SHOT_KINDS, PublishedRow
from proctor.learn.zeroshot.deciding import Replies
from proctor.metrics import classification as metrics
from proctor.metrics.classification import CHANCE, Chance

__all__ = ["CategoryFigures", "Figures", "Row", "judge_calls", "table_of_categories"]

Bools = NDArray[np.bool_]
MEASURES: Final = ("accuracy", "precision", "recall", "f1_score")


_NAMES: Final[dict[Chance, str]] = {
    "always-error": "always a mistake",
    "always-normal": "never a mistake",
    "prior": "guessing at the rate",
}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one way to call mistakes, 0 to 1.

    Attributes:
        name: who calls.
        source: ``run``, ``chance`` or ``published``.
        accuracy: with its interval over recordings, where there is one; likewise the others.
    """

    name: str
    source: str
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate


class CategoryFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One category: over all entries, those that it was not asked of counting as "no mistake".

    Attributes:
        category: its name.
        asked: entries that it was asked of.
        mistakes: entries that carry such a mistake; ``unasked`` of them it was not asked of.
        rows: the run, then what knowing nothing gives, then what is published.
    """

    category: str
    asked: int
    mistakes: int
    unasked: int
    rows: tuple[Row, ...]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is worth.

    Attributes:
        n: entries that were scored.
        mistakes: of them.
        rows: the run, what knowing nothing gives, what is published.
        categories: for V2.
        said: by category, how many replies come to what.
        verdict: in words, whether the run is better than calling everything a mistake.
    """

    n: int
    mistakes: int
    rows: tuple[Row, ...]
    categories: tuple[CategoryFigures, ...] = ()
    said: dict[str, dict[str, int]]
    verdict: str


def judge_calls(
    name: str, variant: str, replies: Replies, calls: Bools, *, resamples: int = 2_000, seed: int = 0
) -> Figures:
    """Score calls of entries beside chance and what is published.

    Args:
        name: of the model.
        variant: ``v1`` or ``v2``.
        replies: what was said of the entries.
        calls: which of the entries are called a mistake; shape (entries,).
        resamples: of the bootstrap over recordings; 0 for no intervals.
        seed: of it.
    """
    labels = np.array([e.mistaken for e in replies.entries], np.bool_)
    clusters = [e.recording for e in replies.entries]
    own = _row(name, labels, calls, clusters, resamples, seed)
    chance = _chance(labels, calls)
    printed = map(_printed, ZERO_SHOT)
    categories = table_of_categories(name, replies, resamples=resamples, seed=seed) if variant == "v2" else ()
    return Figures(
        n=labels.size,
        mistakes=int(labels.sum()),
        rows=(own, *chance, *printed),
        categories=categories,
        said=replies.counts(),
        verdict=_verdict(own, chance[0], chance[-1]),
    )


def table_of_categories(
    name: str, replies: Replies, *, resamples: int = 2_000, seed: int = 0
) -> tuple[CategoryFigures, ...]:
    """Score each category's question against the mistakes of this category, over all entries."""
    clusters = [e.recording for e in replies.entries]
    found = []
    for category in CATEGORIES:
        labels = np.array([category in e.kinds for e in replies.entries], np.bool_)
        asked = replies.asked(category)
        printed = map(_printed, (row for row in ZERO_SHOT_KINDS if row.kind == category))
        found.append(
            CategoryFigures(
                category=category,
                asked=int(asked.sum()),
                mistakes=int(labels.sum()),
                unasked=int((labels & ~asked).sum()),
                rows=(
                    _row(name, labels, replies.signals(category), clusters, resamples, seed),
                    *_chance(labels, replies.signals(category)),
                    *printed,
                ),
            )
        )
    return tuple(found)


def _row(name: str, labels: Bools, calls: Bools, clusters: Sequence[str], resamples: int, seed: int) -> Row:
    drawn = {"clusters": clusters, "resamples": resamples, "seed": seed} if resamples else {}
    scores = [getattr(metrics, measure)(labels, calls, **drawn) for measure in MEASURES]
    return _named(name, "run", *map(Estimate.of, scores))


def _chance(labels: Bools, calls: Bools) -> list[Row]:
    rows = []
    for predictor in CHANCE:
        scores = metrics.chance_scores(labels, predictor)
        values = (Estimate.of(scores[measure]) for measure in MEASURES)
        rows.append(_named(_NAMES[predictor], "chance", *values))
    p, r = (float(part.mean()) if part.size else math.nan for part in (labels, calls))
    # Expectations over calls that hang on nothing; of precision and F1 up to 1/n.
    often = (p * r + (1 - p) * (1 - r), p, r, 2 * p * r / (p + r) if p + r else math.nan)
    values = (Estimate(value=None if math.isnan(v) else v, n=labels.size) for v in often)
    return [*rows, _named("guessing as often as this run", "chance", *values)]


def _named(
    name: str, source: str, accuracy: Estimate, precision: Estimate, recall: Estimate, f1: Estimate
) -> Row:
    return Row(name=name, source=source, accuracy=accuracy, precision=precision, recall=recall, f1=f1)


def _printed(row: PublishedRow) -> Row:
    """Return a printed row as it is printed, with what is wrong with it."""
    values = (row.accuracy, row.precision, row.recall, row.f1)
    return _named(row.name, "published", *(Estimate(value=value / 100, note=row.note) for value in values))


def _verdict(own: Row, always: Row, often: Row) -> str:
    mine, all_, guessed = own.f1.value, always.f1.value, often.f1.value
    if all_ is None:
        return "There is no mistake among these entries, so F1 says nothing."
    best = max(row.f1 for row in ZERO_SHOT)
    said = (
        f"Calling every step a mistake has an F1 of {100 * all_:.1f} here, and 51.3 on all 5,700 steps, which is more than every "
        f"published row ({best:.1f} at most)."
    )
    if mine is None or guessed is None:
        return said
    said += f" This run has {100 * mine:.1f}; guessing as often as it calls mistakes has {100 * guessed:.1f}"
    if mine <= all_ + 1e-9:
        return f"{said}. It is no better than not looking."
    sure = "" if own.f1.low is not None and own.f1.low > all_ else ", but its interval reaches down to that"
    return f"{said}. It is better than not looking{sure}."
