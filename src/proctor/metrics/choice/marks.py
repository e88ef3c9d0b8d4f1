"""Right, wrong and unparsed: accuracy, chance, and recall by letter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.metrics.choice.letters import LETTERS, letter_counts, require_letter, require_options
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Matrix
from proctor.metrics.score import Score, Signature

__all__ = [
    "ChoiceCounts",
    "chance_accuracy",
    "choice_accuracy",
    "choice_counts",
    "letter_confusion",
    "recall_by_letter",
    "recall_spread",
]


@dataclass(frozen=True, slots=True)
class ChoiceCounts:
    """Right, wrong and unparsed responses; ``marks`` keeps them by question.

    Attributes:
        right: the gold letter was read.
        wrong: another letter was read.
        unparsed: no letter was read; part of the denominator.
        marks: 1.0 for right, 0.0 for wrong and unparsed, in the order of the questions.
    """

    right: int
    wrong: int
    unparsed: int
    marks: tuple[float, ...]

    @property
    def n(self) -> int:
        """All responses."""
        return self.right + self.wrong + self.unparsed

    @property
    def accuracy(self) -> float:
        """Right over all responses, unparsed ones included as wrong; ``nan`` without responses."""
        return self.right / self.n if self.n else math.nan

    @property
    def accuracy_of_parsed(self) -> float:
        """Right over the parsed ones: an upper reading that rewards silence; ``nan`` when nothing was parsed."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else math.nan


def choice_counts(gold: Sequence[str], predicted: Sequence[str | None]) -> ChoiceCounts:
    """Count right, wrong and unparsed letters.

    Args:
        gold: the right letter of each question, A to Z.
        predicted: the letter that was read, None for unparsed; parallel to ``gold``.

    Raises:
        MetricInputError: if lengths differ or something is not a letter A to Z.

    Reference: InstructionBench's supplement; chance is ``chance_accuracy``.
    """
    if isinstance(gold, str) or isinstance(predicted, str):
        raise MetricInputError("letters are a list, got one text", "put them into a list")
    if len(gold) != len(predicted):
        raise MetricInputError(f"{len(gold)} gold letters for {len(predicted)} predictions")
    for i, (wanted, said) in enumerate(zip(gold, predicted, strict=True)):
        require_letter(wanted, i, "gold")
        if said is not None:
            require_letter(said, i, "predicted")
    marks = tuple(float(g == p) for g, p in zip(gold, predicted, strict=True))
    unparsed = sum(p is None for p in predicted)
    right = int(sum(marks))
    return ChoiceCounts(right, len(gold) - right - unparsed, unparsed, marks)


def choice_accuracy(gold: Sequence[str], predicted: Sequence[str | None]) -> Score:
    """Right over all responses, unparsed ones included as wrong; undefined without responses.

    Raises:
        MetricInputError: as ``choice_counts``.
    """
    counts = choice_counts(gold, predicted)
    signature = Signature("choice_accuracy", {"interval": "none", "unparsed": "wrong"})
    return Score(counts.accuracy, signature, counts.n, note="" if counts.n else "there are no responses")


def chance_accuracy(options: Sequence[int]) -> float:
    """Expected accuracy of guessing: the mean of 1 over the number of options; ``nan`` for no questions.

    Raises:
        MetricInputError: if a question has fewer than 2 or more than 26 options.
    """
    return math.fsum(1 / require_options(k) for k in options) / len(options) if options else math.nan


def recall_by_letter(
    gold: Sequence[str], predicted: Sequence[str | None], options: int
) -> dict[str, float | None]:
    """Accuracy on the questions of each gold letter; None where a letter is never gold.

    Raises:
        MetricInputError: if lengths differ or a letter is not one of the first ``options``.
    """
    counts = choice_counts(gold, predicted)
    asked = letter_counts(gold, options)
    right = Counter(g for g, mark in zip(gold, counts.marks, strict=True) if mark)
    return {letter: right[letter] / n if n else None for letter, n in asked.items()}


def recall_spread(recalls: Sequence[float | None]) -> Score:
    """Standard deviation of the recalls by letter (RStd): 0 without selection bias; undefined with fewer than 2.

    The population form (divided by the number of letters). It measures bias also when gold letters are not balanced,
    which the balance of predicted letters does not.

    Raises:
        MetricInputError: if a recall does not lie between 0 and 1.

    Reference: Zheng et al. 2024.
    """
    known = [r for r in recalls if r is not None]
    for recall in known:
        if not 0 <= recall <= 1:
            raise MetricInputError(f"a recall lies between 0 and 1, got {recall!r:.60}")
    signature = Signature("recall_spread", {"deviation": "population"})
    if len(known) < 2:
        return Score(math.nan, signature, len(known), note="fewer than two letters have a recall")
    mean = math.fsum(known) / len(known)
    return Score(math.sqrt(math.fsum((r - mean) ** 2 for r in known) / len(known)), signature, len(known))


def letter_confusion(
    gold: Sequence[str], predicted: Sequence[str | None], options: int, *, title: str = "Letters"
) -> Matrix:
    """Picture of gold letters (rows) by predicted letters (columns), unparsed ones in the last column.

    Raises:
        MetricInputError: if lengths differ or a letter is not one of the first ``options``.
    """
    choice_counts(gold, predicted)
    letter_counts(gold, options)
    letter_counts(predicted, options)
    valid = LETTERS[:options]
    cells = Counter(zip(gold, predicted, strict=True))
    columns = (*valid, None)
    return Matrix(
        title=title,
        rows=tuple(valid),
        columns=(*valid, "unparsed"),
        cells=tuple(tuple(float(cells[g, p]) for p in columns) for g in valid),
        row_title="gold letter",
        column_title="predicted letter",
    )
