"""Which wording a category is asked with: they compete on a few steps of the training part, half of them with such a mistake.

The one with the best balanced accuracy is taken, so that one which always gets "yes" gains nothing; of equals the first. A reply that
signals nothing counts as "no mistake", as in the run. Figures and choice are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import (
    CATEGORIES,
    CATEGORY_TEMPLATES,
    STEP,
    Asker,
    Template,
    Variant,
    categories_of,
)
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.learn.zeroshot.deciding import read_replies
from proctor.metrics.classification import count_outcomes

__all__ = ["Competition", "Competitor", "choose_templates", "development_items"]


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """One wording.

    Attributes:
        name: of the wording.
        text: with its gaps.
        n: steps that it was tried on; ``mistakes`` of them carry such a mistake.
        balanced: mean of the shares of mistakes and of others that it tells right.
        f1: of the mistakes.
        unread: replies that said nothing.
    """

    name: str
    text: str
    n: int
    mistakes: int
    balanced: float | None
    f1: float | None
    unread: int


class Competition(msgspec.Struct, frozen=True, kw_only=True):
    """The wordings of one category, and the one that is asked with."""

    category: str
    chosen: str
    tried: tuple[Competitor, ...]


def development_items(
    entries: Sequence[Entry], asker: Asker, variant: Variant, size: int, seed: int, *, of: str
) -> list[Item]:
    """Return the questions of all wordings about a few steps, half of them with a mistake of the category.

    Args:
        entries: of the training part.
        asker: makes the questions.
        variant: ``v1`` or ``v2``.
        size: steps for each category; fewer where there are not so many mistakes.
        seed: of the draw.
        of: name of the set of questions.
    """
    found = []
    for category in (STEP,) if variant == "v1" else CATEGORIES:
        asked = [e for e in entries if category in categories_of(e, variant, "right")]
        for entry in _drawn(asked, category, size, seed):
            found += [asker.item(entry, category, t, of=of) for t in CATEGORY_TEMPLATES[category]]
    return found


def _drawn(entries: Sequence[Entry], category: str, size: int, seed: int) -> list[Entry]:
    rng = random.Random(f"{seed}/{category}")  # noqa: S311
    wrong = [e for e in entries if _carries(e, category)]
    fine = [e for e in entries if not _carries(e, category)]
    half = min(size // 2, len(wrong), len(fine))
    return [*rng.sample(wrong, half), *rng.sample(fine, half)]


def _carries(entry: Entry, category: str) -> bool:
    return entry.mistaken if category == STEP else category in entry.kinds


def choose_templates(
    entries: Sequence[Entry], items: Iterable[Item], predictions: Iterable[Prediction]
) -> tuple[dict[str, Template], tuple[Competition, ...]]:
    """Return the wording of each category that did best, and the figures of all.

    Args:
        entries: that were asked about, and maybe others.
        items: of ``development_items``.
        predictions: the answers to them.
    """
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault(
            (item.question.facets["category"], item.question.provenance["template"]), []
        ).append(item)
    known = {e.id: e for e in entries}
    answers = list(predictions)
    chosen: dict[str, Template] = {}
    held: list[Competition] = []
    for category in dict.fromkeys(category for category, _ in groups):
        templates = [t for t in CATEGORY_TEMPLATES[category] if (category, t.name) in groups]
        tried = [_tried(t, category, groups[category, t.name], known, answers) for t in templates]
        best = max(range(len(tried)), key=lambda n: (tried[n].balanced or 0.0, -n))
        chosen[category] = templates[best]
        held.append(Competition(category=category, chosen=templates[best].name, tried=tuple(tried)))
    return chosen, tuple(held)


def _tried(
    template: Template,
    category: str,
    items: Sequence[Item],
    known: Mapping[str, Entry],
    answers: Sequence[Prediction],
) -> Competitor:
    entries = [known[str(item.question.facts["entry"])] for item in items]
    replies = read_replies(entries, items, answers)
    labels = np.array([_carries(e, category) for e in entries], np.bool_)
    found = count_outcomes(labels, replies.signals(category))
    fine = found.false_positives + found.true_negatives
    both = found.positives and fine
    balanced = (found.true_positives / found.positives + found.true_negatives / fine) / 2 if both else None
    f1 = 2 * found.true_positives / (found.positives + found.called) if found.positives else None
    unread = sum(n for name, n in replies.counts()[category].items() if name not in ("mistake", "fine"))
    return Competitor(
        name=template.name,
        text=template.text,
        n=found.n,
        mistakes=found.positives,
        balanced=balanced,
        f1=f1,
        unread=unread,
    )
