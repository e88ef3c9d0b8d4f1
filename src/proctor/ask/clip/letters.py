"""Which letter is right, and in which order options are shown (InstructionBench's supplement).

Letters are dealt over the whole set at once, so that each is right ⌊n/k⌋ or ⌈n/k⌉ times, and not roughly so. They depend on
the run's seed and on the set of ids: neither order nor concurrency change them, but a further question may change all of
them. So letters are dealt when a set is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError
from proctor.metrics.choice.letters import LETTERS, balanced_letter_counts

__all__ = ["arrange_options", "deal_letters", "vote_order"]

T = TypeVar("T")


def deal_letters(ids: Iterable[str], options: int, seed: int) -> dict[str, str]:
    """Return the letter of the right option for each question, exactly balanced.

    Args:
        ids: of the questions.
        options: of each, 2 to 26.
        seed: of the run.

    Raises:
        UserError: if an id occurs twice or there are no letters for so many options.
    """
    names = sorted(ids)
    if len(set(names)) < len(names):
        raise UserError("two questions have the same id.")
    if not 2 <= options <= len(LETTERS):
        raise UserError(f"a question has 2 to {len(LETTERS)} options, not {options}.")
    rng = attempt_random(seed, "", options, "letters")
    letters = list(LETTERS[:options])
    rng.shuffle(letters)  # chance says which letters are right once more than others
    counts = balanced_letter_counts(len(names), options)
    dealt = [letter for letter, count in zip(letters, counts, strict=True) for _ in range(count)]
    rng.shuffle(dealt)
    return dict(zip(names, dealt, strict=True))


def arrange_options(answer: T, wrong: Sequence[T], letter: str, id: str, seed: int) -> tuple[T, ...]:
    """Return options in the order in which they are printed: the answer at its letter, the others in an order of their own.

    Raises:
        UserError: if there is no such letter among so many options.
    """
    valid = LETTERS[: len(wrong) + 1]
    if len(letter) != 1 or letter not in valid:
        raise UserError(f"{letter!r} is no letter of {len(wrong) + 1} options.")
    others = list(wrong)
    attempt_random(seed, id, 0, "options").shuffle(others)
    at = valid.index(letter)
    return (*others[:at], answer, *others[at:])


def vote_order(options: int, *, seed: int, id: str, attempt: int, stage: str, voter: int) -> tuple[int, ...]:
    """Return how the options are shuffled for one vote: positions in the unshuffled list, in which the answer is first.

    Args:
        options: how many.
        seed: of the run.
        id: of the question.
        attempt: counted from 0.
        stage: of the vote.
        voter: place among the assistants: two that are the same model are shown different orders.
    """
    order = list(range(options))
    attempt_random(seed, id, attempt, f"vote {stage} {voter}").shuffle(order)
    return tuple(order)
