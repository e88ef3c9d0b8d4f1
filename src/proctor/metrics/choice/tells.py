"""What gives the right option away without the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.metrics.choice.letters import LETTERS, require_options
from proctor.metrics.choice.marks import chance_accuracy
from proctor.metrics.errors import MetricInputError

__all__ = ["OptionTells", "longest_option_credit", "option_tells"]


def longest_option_credit(options: Sequence[str], gold: str) -> float:
    """Chance that who always takes the longest option (characters, edges stripped) is right: 1, 0, or 1/m of m ties.

    Raises:
        MetricInputError: if the gold letter is not one of the options or their number is out of range.
    """
    right = _gold_index(options, gold)
    lengths = [len(text.strip()) for text in options]
    longest = [i for i, n in enumerate(lengths) if n == max(lengths)]
    return 1 / len(longest) if right in longest else 0.0


def _gold_index(options: Sequence[str], gold: str) -> int:
    valid = LETTERS[: require_options(len(options))]
    if len(gold) != 1 or gold not in valid:
        raise MetricInputError(f"gold letter {gold!r} is not one of {valid[0]} to {valid[-1]}")
    return valid.index(gold)


@dataclass(frozen=True, slots=True)
class OptionTells:
    """What the options give away without the question.

    Attributes:
        questions: how many.
        longest_right: share of questions whose longest option is right, ties shared; ``nan`` without questions.
        chance: what that share would be without a tell.
        words_right: mean words between white space of the right options.
        words_wrong: of the wrong ones.
        characters_right: mean characters of the right options.
        characters_wrong: of the wrong ones.
        credits: ``longest_option_credit`` of each question.
    """

    questions: int
    longest_right: float
    chance: float
    words_right: float
    words_wrong: float
    characters_right: float
    characters_wrong: float
    credits: tuple[float, ...]


def option_tells(options: Sequence[Sequence[str]], gold: Sequence[str]) -> OptionTells:
    """Compare right with wrong options by length, over all questions.

    Args:
        options: texts of each question's options, in the order shown.
        gold: the right letter of each; parallel.

    Raises:
        MetricInputError: if lengths differ, a gold letter is none of its options, or a number of options is out of range.

    Reference: ours.
    """
    if len(options) != len(gold):
        raise MetricInputError(f"options of {len(options)} questions for {len(gold)} gold letters")
    right: list[str] = []
    wrong: list[str] = []
    for texts, letter in zip(options, gold, strict=True):
        index = _gold_index(texts, letter)
        right.append(texts[index])
        wrong += [text for i, text in enumerate(texts) if i != index]
    credits_ = tuple(
        longest_option_credit(texts, letter) for texts, letter in zip(options, gold, strict=True)
    )
    return OptionTells(
        questions=len(options),
        longest_right=_mean(credits_),
        chance=chance_accuracy([len(texts) for texts in options]),
        words_right=_mean([len(text.split()) for text in right]),
        words_wrong=_mean([len(text.split()) for text in wrong]),
        characters_right=_mean([len(text.strip()) for text in right]),
        characters_wrong=_mean([len(text.strip()) for text in wrong]),
        credits=credits_,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
