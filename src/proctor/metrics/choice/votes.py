"""Probabilities of repeated blind attempts."""

from __future__ import annotations

import math

from proctor.metrics.errors import MetricInputError

__all__ = ["blind_pass_probability", "vote_probability"]


def vote_probability(accuracy: float, *, voters: int = 3, needed: int = 2) -> float:
    """Probability that at least ``needed`` of independent voters are right (binomial tail).

    With the defaults: that one attempt at a set of options fails because two of three assistants answer without
    seeing the steps (stage 3 of InstructionBench).

    Args:
        accuracy: of each voter, 0 to 1.
        voters: how many vote.
        needed: how many must be right.

    Raises:
        MetricInputError: if the accuracy is no probability, or not 0 <= needed <= voters with a voter.
    """
    if not 0.0 <= accuracy <= 1.0:
        raise MetricInputError(f"an accuracy lies between 0 and 1, got {accuracy}")
    if voters < 1 or not 0 <= needed <= voters:
        raise MetricInputError(f"{needed} of {voters} voters cannot be asked for")
    return math.fsum(
        math.comb(voters, k) * accuracy**k * (1 - accuracy) ** (voters - k) for k in range(needed, voters + 1)
    )


def blind_pass_probability(accuracy: float, *, attempts: int = 10, voters: int = 3, needed: int = 2) -> float:
    """Probability that a question guessable with this accuracy passes the blind vote in one of several attempts.

    Retrying until a vote passes selects luck (the *retry leak*): with three assistants right on 80 % of the questions
    without seeing anything, one attempt passes 10.4 %, ten attempts 66.7 %. A fresh vote on the accepted options
    shows it.

    Raises:
        MetricInputError: as ``vote_probability``, or if there is no attempt.

    Reference: InstructionBench's supplement (10 attempts are ours, inferred from its 5,635 → 5,000 pairs).
    """
    if attempts < 1:
        raise MetricInputError(f"at least one attempt is needed, got {attempts}")
    return 1.0 - vote_probability(accuracy, voters=voters, needed=needed) ** attempts
