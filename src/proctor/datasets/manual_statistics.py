"""Figures of manuals as in Table 1 of Wu et al. 2022, in one pass and without keeping the manuals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from proctor.datasets.manual_caps import PUBLISHED_CAPS, TextField, step_text
from proctor.datasets.sentences import split_sentences
from proctor.procedure.manual import Manual

__all__ = ["measure_manuals"]


@dataclass(slots=True)
class _Spread:
    """Mean, population standard deviation and ends of whole numbers that come one by one."""

    count: int = 0
    total: int = 0
    squares: int = 0
    least: int = 0
    most: int = 0

    def add(self, value: int) -> None:
        self.least = value if self.count == 0 else min(self.least, value)
        self.most = max(self.most, value)
        self.count += 1
        self.total += value
        self.squares += value * value

    def figures(self, name: str) -> dict[str, float]:
        if not self.count:
            return {f"{name}_{part}": math.nan for part in ("mean", "std", "min", "max")}
        mean = self.total / self.count
        # whole numbers to the end, so that nothing is cancelled out
        variance = (self.count * self.squares - self.total**2) / self.count**2
        return {
            f"{name}_mean": mean,
            f"{name}_std": math.sqrt(variance),
            f"{name}_min": float(self.least),
            f"{name}_max": float(self.most),
        }


def measure_manuals(
    manuals: Iterable[Manual], fields: tuple[TextField, ...] = PUBLISHED_CAPS.text_fields
) -> dict[str, float]:
    """Return the figures of Table 1 by name.

    Args:
        manuals: read once.
        fields: of a step that count as its text.

    Returns:
        ``manuals``, ``manuals_<split>``, ``images``, ``types``, ``tokens`` and ``type_token_ratio`` (words in lower case
        and marks of punctuation), and ``tokens_per_step_*``, ``sentences_per_step_*`` and ``steps_per_task_*`` (a task is a
        section) with ``mean``, ``std`` (of the population), ``min`` and ``max``; ``nan`` where there is nothing to measure.
    """
    from proctor.metrics.text_statistics import tokenize

    splits: Counter[str] = Counter()
    vocabulary: set[str] = set()
    tokens, sentences, steps, images, total = _Spread(), _Spread(), _Spread(), 0, 0
    for manual in manuals:
        total += 1
        if split := manual.attributes.get("split"):
            splits[f"manuals_{split}"] += 1
        for section in manual.sections:
            steps.add(len(section.steps))
            for step in section.steps:
                text = step_text(step, fields)
                words = tokenize(text.lower())
                vocabulary.update(words)
                tokens.add(len(words))
                sentences.add(len(split_sentences(text)))
                images += len(step.images)
    return {
        "manuals": float(total),
        **{name: float(n) for name, n in sorted(splits.items())},
        "images": float(images),
        "types": float(len(vocabulary)),
        "tokens": float(tokens.total),
        "type_token_ratio": len(vocabulary) / tokens.total if tokens.total else math.nan,
        **tokens.figures("tokens_per_step"),
        **sentences.figures("sentences_per_step"),
        **steps.figures("steps_per_task"),
    }
