"""Multiple choice: reading the chosen letter out of a response, accuracy, and the tells of a set of options.

Conventions: options are lettered A, B, C, … in the order in which they were shown; letters are upper case in every
result. A response in which no letter can be read is *unparsed*: it counts as wrong, because the question was asked
and answered, and it is counted apart, because it says more about the form of the answers than about knowledge. A
question without a response is another matter: it *failed*, and the caller counts it.

References: InstructionBench (options, votes); the order of the rules is ours; Zheng et al. 2024 (selection bias).
"""

from __future__ import annotations

from proctor.metrics.choice.balance import LetterBalance, letter_balance
from proctor.metrics.choice.entries import METRICS
from proctor.metrics.choice.letters import LETTERS, balanced_letter_counts, letter_counts
from proctor.metrics.choice.marks import (
    ChoiceCounts,
    chance_accuracy,
    choice_accuracy,
    choice_counts,
    letter_confusion,
    recall_by_letter,
    recall_spread,
)
from proctor.metrics.choice.reading import PARSER, LetterRule, ParsedLetter, parse_letter
from proctor.metrics.choice.tells import OptionTells, longest_option_credit, option_tells
from proctor.metrics.choice.votes import blind_pass_probability, vote_probability

__all__ = [
    "LETTERS",
    "METRICS",
    "PARSER",
    "ChoiceCounts",
    "LetterBalance",
    "LetterRule",
    "OptionTells",
    "ParsedLetter",
    "balanced_letter_counts",
    "blind_pass_probability",
    "chance_accuracy",
    "choice_accuracy",
    "choice_counts",
    "letter_balance",
    "letter_confusion",
    "letter_counts",
    "longest_option_credit",
    "option_tells",
    "parse_letter",
    "recall_by_letter",
    "recall_spread",
    "vote_probability",
]
