"""Letters marked: accuracy beside chance, whether letters are equally frequent, blind votes, tells of the options."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.metrics.catalogue import Entries
from proctor.metrics.choice.letters import LETTERS, letter_counts, require_letter, require_options
from proctor.metrics.choice.reading import PARSER
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Matrix
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "ChoiceCounts",
    "LetterBalance",
    "OptionTells",
    "blind_pass_probability",
    "chance_accuracy",
    "choice_accuracy",
    "choice_counts",
    "letter_balance",
    "letter_confusion",
    "longest_option_credit",
    "option_tells",
    "recall_by_letter",
    "recall_spread",
    "vote_probability",
]


# Are letters equally frequent?


@dataclass(frozen=True, slots=True)
class LetterBalance:
    """Pearson's test of equally frequent letters.

    Attributes:
        chi2: the statistic.
        df: degrees of freedom.
        p: probability of a statistic at least as large under uniform letters; ``nan`` when nothing was counted.
        note: why it is undefined, or that the approximation is poor.
    """

    chi2: float
    df: int
    p: float
    note: str = ""


def letter_balance(*counts: Sequence[int]) -> LetterBalance:
    """Test whether letters are equally frequent: of the golds, or of what a system says (position bias).

    Args:
        counts: how often each letter occurs. Questions with different numbers of options are no one multinomial:
            give one sequence for each number of options; statistics and degrees of freedom add up.

    Returns:
        The test. A p-value near 1 is as it should be for golds that were balanced on purpose.

    Raises:
        MetricInputError: if a sequence has fewer than 2 counts, or a count is negative or no whole number.

    Reference: Pearson 1900. Equals ``scipy.stats.chisquare``.
    """
    chi2, df, smallest, total = 0.0, 0, math.inf, 0
    for group in counts:
        try:
            values = [int(c) for c in group]
        except (TypeError, ValueError, OverflowError):
            values = []
        if len(values) < 2 or min(values) < 0 or any(v != c for v, c in zip(values, group, strict=True)):
            raise MetricInputError(
                f"counts of at least two letters are wanted, whole and none negative, got {group!r:.60}"
            )
        if not sum(values):
            continue
        expected = sum(values) / len(values)
        chi2 += math.fsum((v - expected) ** 2 for v in values) / expected
        df += len(values) - 1
        smallest = min(smallest, expected)
        total += sum(values)
    if not total:
        return LetterBalance(math.nan, 0, math.nan, "no letter was counted")
    from scipy.special import chdtrc  # a tenth of the import time of scipy.stats

    poor = "fewer than 5 expected per letter: the p-value is rough" if smallest < 5 else ""
    return LetterBalance(chi2, df, float(chdtrc(df, chi2)), poor)


# Probabilities of repeated blind attempts.


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


# Right, wrong and unparsed: accuracy, chance, and recall by letter.


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


# What gives the right option away without the question.


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


# The metrics of this family, for the catalogue.

_entry: Final = Entries("answer", "choice")

METRICS: Final = (
    _entry(
        "choice_accuracy",
        "Accuracy",
        "Share of responses whose letter is the gold letter; responses without a letter are wrong.",
        range="0 to 1; chance 1/options",
        signature=f"parser:{PARSER}|unparsed:wrong",
        citation="InstructionBench's supplement",
        traps="Leaving unparsed responses out rewards silence. Naive parsers read the T of 'The' and the A of "
        "'A good choice'. A question without any response failed; it is no unparsed one.",
    ),
    _entry(
        "letter_balance",
        "χ² letters",
        "Σ (count - n/k)² / (n/k) over k letters, p from χ² with k-1 degrees of freedom.",
        range="0 to infinity; p 0 to 1",
        direction="neither",
        signature="test:pearson-uniform",
        citation="Pearson 1900",
        traps="Unequal numbers of options need one table each. Predicted letters follow the golds: judge bias by "
        "recall_spread unless golds are balanced.",
    ),
    _entry(
        "recall_spread",
        "RStd",
        "Standard deviation over letters of the accuracy on questions with that gold letter.",
        range="0.5 to 0",
        direction="lower",
        signature="deviation:population",
        citation="Zheng et al. 2024",
        traps="Few questions per letter give spread by luck alone.",
    ),
    _entry(
        "longest_option_right",
        "longest right",
        "Share of questions whose longest option is the right one, ties shared.",
        range="0 to 1; no tell at 1/options",
        direction="neither",
        function="option_tells",
        signature="length:characters|ties:shared",
        citation="InstructionBench's supplement",
        traps="Above chance, who reads no question scores above chance too.",
    ),
    _entry(
        "blind_pass_probability",
        "retry leak",
        "1 - P(at least 2 of 3 blind voters right)^attempts.",
        direction="lower",
        signature="attempts:10|needed:2|voters:3",
        citation="ours, on the voting of InstructionBench's supplement",
        traps="Ten attempts let 66.7 % of the questions pass that 80 % of blind voters answer: retries select luck.",
    ),
)
