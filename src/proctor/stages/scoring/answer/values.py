"""Values of every metric of answers by question, None where a question failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.metrics.answer import JudgeScale, points
from proctor.metrics.answer_text import (
    Overlap,
    Tokeniser,
    is_exact_match,
    lost_words,
    normalise_answer,
    rouge_1_overlap,
    rouge_l_overlap,
    token_overlap,
)
from proctor.metrics.bert_score import Match, bert_score
from proctor.metrics.choice.marks import choice_counts
from proctor.metrics.choice.reading import PARSER, ParsedLetter, parse_letter
from proctor.stages.scoring.answer import AnswerSettings
from proctor.stages.scoring.answer.files import AnswerData, Question
from proctor.stages.scoring.files import explained

__all__ = [
    "ANSWER_METRICS",
    "METRIC_LABELS",
    "METRIC_NAMES",
    "AnswerMetric",
    "Measured",
    "Missing",
    "bert_values",
    "choice_values",
    "given_responses",
    "judged_values",
    "overlap_values",
    "parsed_letters",
    "without_gaps",
]


AnswerMetric = Literal["exact", "f1", "rouge1", "rougel", "bertscore", "choice", "judge"]

ANSWER_METRICS: Final[tuple[AnswerMetric, ...]] = get_args(AnswerMetric)

Missing = Literal["failed", "wrong"]

METRIC_LABELS: Final[Mapping[AnswerMetric, str]] = {
    "exact": "EM",
    "f1": "F1",
    "rouge1": "ROUGE-1",
    "rougel": "ROUGE-L",
    "bertscore": "BERTScore",
    "choice": "Accuracy",
    "judge": "score",
}

METRIC_NAMES: Final[Mapping[AnswerMetric, str]] = {
    "exact": "exact_match",
    "f1": "token_f1",
    "rouge1": "rouge_1",
    "rougel": "rouge_l",
    "bertscore": "bert_score",
    "choice": "choice_accuracy",
    "judge": "mean_score",
}

_MANY_LOST: Final = 0.01

"""Share of words with letters outside of a-z from which on ROUGE's published tokeniser is worth a warning."""

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of one metric by question, None where the question failed."""

    metric: AnswerMetric
    values: Values
    parameters: Mapping[str, str]
    headline: Mapping[str, object]
    notes: Sequence[str] = ()


def given_responses(data: AnswerData) -> list[str | None]:
    """The response to every question, None where there is none."""
    return [reply.response if (reply := data.replies.get(q.id)) else None for q in data.questions]


def overlap_values(data: AnswerData, metric: AnswerMetric, settings: AnswerSettings) -> Measured:
    """Exact match, F1 and ROUGE."""
    pairs = [(q, r) for q, r in zip(data.questions, given_responses(data), strict=True) if r is not None]
    normal, tokens = {"normalisation": settings.normalisation}, {"tokeniser": settings.tokeniser}
    if metric == "exact":
        values = {
            q.id: is_exact_match(q.references, r, normalisation=settings.normalisation) for q, r in pairs
        }
        return Measured(
            metric,
            _by_question(data, values),
            {**normal, "references": "any"},
            {},
            _erased_note(data, settings),
        )
    functions: Mapping[str, Callable[[Question, str], Overlap]] = {
        "f1": lambda q, r: token_overlap(q.references, r, normalisation=settings.normalisation),
        "rouge1": lambda q, r: rouge_1_overlap(q.references, r, tokeniser=settings.tokeniser),
        "rougel": lambda q, r: rouge_l_overlap(q.references, r, tokeniser=settings.tokeniser),
    }
    overlaps = {q.id: functions[metric](q, r) for q, r in pairs}
    parameters = {"references": "best-f1", "value": "f1", **(normal if metric == "f1" else tokens)}
    if metric != "f1":
        parameters["stemming"] = "no"
    return Measured(
        metric,
        _by_question(data, {i: o.f1 for i, o in overlaps.items()}),
        parameters,
        _precision_recall(metric, overlaps.values()),
        () if metric == "f1" else _lost_note(data, settings.tokeniser),
    )


def _by_question(data: AnswerData, values: Mapping[str, float]) -> Values:
    return [values.get(q.id) for q in data.questions]


def _precision_recall(metric: AnswerMetric, found: Iterable[Overlap | Match]) -> dict[str, object]:
    values = list(found)
    name = METRIC_NAMES[metric]
    return {
        f"{name}_precision": _mean([o.precision for o in values]),
        f"{name}_recall": _mean([o.recall for o in values]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _erased_note(data: AnswerData, settings: AnswerSettings) -> list[str]:
    erased = sum(
        any(r.strip() and not normalise_answer(r, settings.normalisation) for r in q.references)
        for q in data.questions
    )
    if not erased:
        return []
    message = (
        f"{erased:,} questions have a reference that the normalisation empties (an article, punctuation): such "
        "references match each other. Read letters with --metric choice, or use --normalisation unicode"
    )
    return [message]


def _lost_note(data: AnswerData, tokeniser: Tokeniser) -> list[str]:
    if tokeniser != "ascii":
        return []
    counted = [lost_words(r) for q in data.questions for r in q.references]
    lost, words = sum(a for a, _ in counted), sum(b for _, b in counted)
    if lost <= _MANY_LOST * words:
        return []
    message = (
        f"ROUGE's published tokeniser cuts or drops {lost:,} of {words:,} words of the references, which have letters "
        "outside of a-z: use --tokeniser unicode"
    )
    return [message]


def bert_values(data: AnswerData, settings: AnswerSettings, step: Callable[[], None] | None) -> Measured:
    """BERTScore."""
    if settings.model is None:
        raise UserError(
            "BERTScore needs a model.",
            hint="give the folder of a downloaded one with --model (published: microsoft/deberta-xlarge-mnli)",
        )
    pairs = [(q, r) for q, r in zip(data.questions, given_responses(data), strict=True) if r is not None]
    with explained("BERTScore"):
        scores = bert_score(
            [q.references for q, _ in pairs],
            [r for _, r in pairs],
            settings.model,
            layer=settings.layer,
            idf=settings.idf,
            baseline=settings.baseline,
            device=settings.device,
            step=step,
        )
    values = {q.id: m.f1 for (q, _), m in zip(pairs, scores.matches, strict=True)}
    notes = [scores.note] if scores.note else []
    if scores.truncated:
        notes.append(f"{scores.truncated:,} texts are longer than the model takes and were cut")
    return Measured(
        "bertscore",
        _by_question(data, values),
        {**scores.parameters, "value": "f1"},
        _precision_recall("bertscore", scores.matches),
        notes,
    )


def judged_values(data: AnswerData, scale: JudgeScale) -> Measured:
    """Points of the judgements."""
    judgements = [reply.judgement if (reply := data.replies.get(q.id)) else None for q in data.questions]
    unparsed = sum(reply.unparsed for reply in data.replies.values())
    text = f"{unparsed:,} judgements could not be read: they are excluded and counted as failed, never 0"
    return Measured(
        "judge",
        [points(j) for j in judgements],
        {"judge": "given", "parser": scale, "scale": "0-100" if data.scale == "binary" else "0-50-100"},
        {
            "judgements": {str(j): sum(x == j for x in judgements) for j in (0, 1, 2)},
            "judge_unparsed": unparsed,
        },
        [text] if unparsed else [],
    )


def parsed_letters(data: AnswerData, opened_bracket: bool) -> list[ParsedLetter | None]:
    """The letter of every response; None where there is no response."""
    return [
        None if r is None else parse_letter(r, q.options or q.option_count, opened_bracket=opened_bracket)
        for q, r in zip(data.questions, given_responses(data), strict=True)
    ]


def choice_values(data: AnswerData, letters: Sequence[ParsedLetter | None], opened_bracket: bool) -> Measured:
    """Right letters."""
    said = [(q.gold, p.letter) for q, p in zip(data.questions, letters, strict=True) if p is not None]
    counts = choice_counts([gold for gold, _ in said], [letter for _, letter in said])
    marks = iter(counts.marks)
    return Measured(
        "choice",
        [None if letter is None else next(marks) for letter in letters],
        {
            "completion": "bracket" if opened_bracket else "no",
            "parser": PARSER,
            "unparsed": "wrong",
        },
        {
            "right": counts.right,
            "wrong": counts.wrong,
            "unparsed": counts.unparsed,
            "accuracy_of_parsed": counts.accuracy_of_parsed,
        },
    )


def without_gaps(found: Measured, missing: Missing) -> Measured:
    """Make questions without a response 0 where these count as wrong."""
    if missing == "failed" or found.metric == "judge":
        return found
    return replace(found, values=[0.0 if v is None else v for v in found.values])
