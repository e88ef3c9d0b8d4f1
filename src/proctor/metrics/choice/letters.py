"""Letters and numbers of options: what is valid, and how often each occurs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proctor.metrics.errors import MetricInputError

__all__ = ["LETTERS", "balanced_letter_counts", "letter_counts", "require_letter", "require_options"]


LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def require_options(count: int) -> int:
    """Return a number of options that has letters."""
    if isinstance(count, bool) or not 2 <= count <= len(LETTERS):
        raise MetricInputError(f"a question has 2 to {len(LETTERS)} options, got {count}")
    return count


def require_letter(letter: object, row: int, what: str) -> None:
    """Make sure that something is one letter A to Z."""
    if not (isinstance(letter, str) and len(letter) == 1 and letter in LETTERS):
        raise MetricInputError(f"{what} letter of question {row} is {letter!r}", "give one letter A to Z")


def letter_counts(letters: Sequence[str | None], options: int) -> dict[str, int]:
    """How often each of the first ``options`` letters occurs; unparsed ones (None) are left out.

    Raises:
        MetricInputError: if a letter is not one of them.
    """
    valid = LETTERS[: require_options(options)]
    counts = dict.fromkeys(valid, 0)
    for row, letter in enumerate(letters):
        if letter is None:
            continue
        if letter not in counts:
            raise MetricInputError(
                f"letter {letter!r} of question {row} is not one of {valid[0]} to {valid[-1]}"
            )
        counts[letter] += 1
    return counts


def balanced_letter_counts(questions: int, options: int) -> tuple[int, ...]:
    """Counts of an exactly balanced set, largest first: each letter ⌈n/k⌉ or ⌊n/k⌋ times (ours).

    Raises:
        MetricInputError: if the number of questions is negative or that of options out of range.
    """
    if questions < 0:
        raise MetricInputError(f"the number of questions must not be negative, got {questions}")
    each, more = divmod(questions, require_options(options))
    return (each + 1,) * more + (each,) * (options - more)
