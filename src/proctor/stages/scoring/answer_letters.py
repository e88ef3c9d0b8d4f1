"""What else letters tell: position bias, and options that give themselves away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from proctor.metrics.choice import (
    ParsedLetter,
    letter_balance,
    letter_confusion,
    letter_counts,
    option_tells,
    recall_by_letter,
    recall_spread,
)
from proctor.metrics.figure import Bars, Figure
from proctor.stages.scoring.answer_files import AnswerData, Question

__all__ = ["letter_report"]

_SHOWN_LETTERS: Final = 12


def letter_report(
    data: AnswerData, letters: Sequence[ParsedLetter | None]
) -> tuple[dict[str, object], list[Figure], list[str]]:
    """Position bias and tells of the options: headline values, pictures, notes."""
    gold = [q.gold for q in data.questions]
    answered = [(q, p.letter) for q, p in zip(data.questions, letters, strict=True) if p is not None]
    asked, said = [q.gold for q, _ in answered], [letter for _, letter in answered]
    widest = max(q.option_count for q in data.questions)
    golds = letter_balance(*_letter_tables(data.questions, gold))
    predicted = letter_balance(*_letter_tables([q for q, _ in answered], said))
    recalls = recall_by_letter(asked, said, widest)
    headline: dict[str, object] = {
        "rules": dict(sorted(Counter(p.rule for p in letters if p is not None).items())),
        "gold_letters": {"counts": letter_counts(gold, widest), "chi2": golds.chi2, "p": golds.p},
        "predicted_letters": {
            "counts": letter_counts(said, widest),
            "chi2": predicted.chi2,
            "p": predicted.p,
        },
        "recall_by_letter": recalls,
        "recall_spread": recall_spread(list(recalls.values())).value,
    }
    notes = []
    unparsed = sum(letter is None for letter in said)
    if unparsed:
        notes.append(f"{unparsed:,} of {len(said):,} responses have no readable letter: they count as wrong")
    for what, test in (("gold", golds), ("predicted", predicted)):
        if test.p < 0.05:
            notes.append(f"{what} letters are not equally frequent (χ² = {test.chi2:.2f}, p = {test.p:.2g})")
    if all(q.options for q in data.questions):
        tells = option_tells([q.options for q in data.questions], gold)
        headline["option_tells"] = {
            "longest_right": tells.longest_right,
            "chance": tells.chance,
            "words_right": tells.words_right,
            "words_wrong": tells.words_wrong,
            "characters_right": tells.characters_right,
            "characters_wrong": tells.characters_wrong,
        }
    figures: list[Figure] = []
    if widest <= _SHOWN_LETTERS and answered:
        figures.append(letter_confusion(asked, said, widest, title="Gold and predicted letters"))
        counts = letter_counts(asked, widest)
        figures.append(
            Bars(
                "Accuracy by gold letter",
                tuple(recalls),
                tuple(recalls.values()),
                tuple(counts.values()),
                high=1.0,
            )
        )
    return headline, figures, notes


def _letter_tables(questions: Sequence[Question], letters: Sequence[str | None]) -> list[list[int]]:
    """Count letters apart for each number of options."""
    tables = []
    for options in sorted({q.option_count for q in questions}):
        chosen = [letter for q, letter in zip(questions, letters, strict=True) if q.option_count == options]
        tables.append(list(letter_counts(chosen, options).values()))
    return tables
