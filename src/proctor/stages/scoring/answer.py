"""``proctor metrics answer``: answers from files against references, letters against options, judgements averaged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from proctor.errors import UserError
from proctor.metrics.answer import best_constant_answer, mean_score
from proctor.metrics.choice.letters import letter_counts
from proctor.metrics.choice.marks import (
    chance_accuracy,
    letter_balance,
    letter_confusion,
    option_tells,
    recall_by_letter,
    recall_spread,
)
from proctor.metrics.choice.reading import ParsedLetter
from proctor.metrics.figure import Bars, Figure
from proctor.metrics.names import near_miss_note
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.answer_values import (
    ANSWER_METRICS,
    METRIC_LABELS,
    METRIC_NAMES,
    AnswerData,
    AnswerMetric,
    Measured,
    Missing,
    Question,
    bert_values,
    choice_values,
    given_responses,
    judged_values,
    overlap_values,
    parsed_letters,
    read_answers,
    without_gaps,
)
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.options import AnswerSettings
from proctor.stages.scoring.tables import interval_plot, interval_words, slice_word, sliced

__all__ = ["score_answer"]


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
        told = (
            "longest_right",
            "chance",
            "words_right",
            "words_wrong",
            "characters_right",
            "characters_wrong",
        )
        headline["option_tells"] = {name: getattr(tells, name) for name in told}
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


_NO_CHANCE: Final[Mapping[AnswerMetric, str]] = {
    "judge": "no chance level of judgements: only a judge can say what answers without knowledge get; judge such a run too",
    "bertscore": "no chance level of BERTScore: unrelated texts are far above 0, and --baseline takes that out",
}


def answer_counts(data: AnswerData, letters: Sequence[ParsedLetter | None]) -> dict[str, int]:
    """Numbers to print below the table."""
    counts = {"questions": len(data.questions), "clusters": len({q.cluster for q in data.questions})}
    if data.has_responses:
        responses = given_responses(data)
        counts["answered"] = sum(r is not None for r in responses)
        counts["without response"] = sum(r is None for r in responses)
        counts["empty responses"] = sum(r is not None and not r.strip() for r in responses)
    if data.has_judgements:
        counts["judged"] = sum(reply.judgement is not None for reply in data.replies.values())
        counts["judgements unparsed"] = sum(reply.unparsed for reply in data.replies.values())
    if letters:
        counts["letters unparsed"] = sum(p is not None and p.letter is None for p in letters)
    counts["predictions of unknown questions"] = len(data.unknown)
    return counts


def reading_notes(data: AnswerData, missing: Missing) -> list[str]:
    """Say which questions have no prediction, which predictions no question, and what is drawn."""
    notes = []
    without = sum(
        q.id not in data.replies or (data.has_responses and data.replies[q.id].response is None)
        for q in data.questions
    )
    if without:
        fate = "count as wrong" if missing == "wrong" else "are left out of the means and counted as failed"
        notes.append(f"{without:,} of {len(data.questions):,} questions have no prediction: they {fate}")
    if near := near_miss_note([q.id for q in data.questions], data.unknown, "ids"):
        notes.append(near)
    if data.unknown:
        shown = ", ".join(map(repr, data.unknown[:3]))
        notes.append(
            f"{len(data.unknown):,} predictions have the id of no question and are not used ({shown})"
        )
    if data.cluster == "item":
        notes.append(
            "every question is drawn by itself; questions about one recording are not independent: name its column "
            "with --cluster"
        )
    return notes


def score_row(
    measured: Measured, name: str, indices: Sequence[int], data: AnswerData, settings: AnswerSettings
) -> ScoreRow:
    """One metric on the questions of one slice."""
    signature = Signature(
        METRIC_NAMES[measured.metric],
        {
            **interval_words(settings, data.cluster),
            # A judgement that is missing is never a 0.
            "missing": "failed" if measured.metric == "judge" else settings.missing,
            "weighting": "item",
            **measured.parameters,
            **slice_word(name),
        },
    )
    score = mean_score(
        [measured.values[i] for i in indices],
        [data.questions[i].cluster for i in indices],
        signature,
        **settings.resampling,
    )
    judged = measured.metric == "judge"
    return ScoreRow(METRIC_LABELS[measured.metric], score, name, digits=1 if judged else 3)


def chance_rows(metric: AnswerMetric, data: AnswerData, settings: AnswerSettings) -> list[ScoreRow]:
    """What knowing nothing gives: guessing, the commonest letter, the longest option; the best constant answer."""
    n = len(data.questions)
    found: list[tuple[str, float]] = []
    if metric == "choice":
        found.append(("guessing", chance_accuracy([q.option_count for q in data.questions])))
        letter, often = min(Counter(q.gold for q in data.questions).items(), key=lambda p: (-p[1], p[0]))
        found.append((f"always {letter}", often / n))
        if all(q.options for q in data.questions):
            tells = option_tells([q.options for q in data.questions], [q.gold for q in data.questions])
            found.append(("longest option", tells.longest_right))
    elif metric == "exact":
        answer, often = best_constant_answer(
            [q.references for q in data.questions], normalisation=settings.normalisation
        )
        if often:
            found.append((f"always {answer[:40]!r}", often / n))
    shuffled = _of_other_questions(metric, data, settings)
    return [
        ScoreRow(
            METRIC_LABELS[metric],
            Score(value, Signature(f"{METRIC_NAMES[metric]}_chance", {"answer": name.replace("|", "/")}), n),
            name,
            chance=True,
        )
        for name, value in found
    ] + ([] if shuffled is None else [shuffled])


def _of_other_questions(metric: AnswerMetric, data: AnswerData, settings: AnswerSettings) -> ScoreRow | None:
    """The same answers, each given to another question: style and length without knowledge."""
    answered = [q.id for q in data.questions if (r := data.replies.get(q.id)) and r.response is not None]
    if metric not in ("exact", "f1", "rouge1", "rougel") or len(answered) < 2:
        return None
    order = np.random.default_rng(settings.seed).permutation(len(answered))
    turned = zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)
    replies = {answered[at]: data.replies[answered[other]] for at, other in turned}
    measured = without_gaps(
        overlap_values(replace(data, replies=replies), metric, settings), settings.missing
    )
    values = [value for value in measured.values if value is not None]
    words = {**measured.parameters, "answers": "of-other-questions", "missing": settings.missing}
    signature = Signature(METRIC_NAMES[metric], {**words, "interval": "none", "seed": str(settings.seed)})
    score = Score(math.fsum(values) / len(values), signature, len(values))
    return ScoreRow(METRIC_LABELS[metric], score, "answers of other questions", chance=True)


def slice_figures(
    measured: Sequence[Measured], rows: Sequence[ScoreRow], parts: Mapping[str, Any], data: AnswerData
) -> list[Figure]:
    """One picture a metric with the values of its slices; none without slices."""
    if len(parts) < 2:
        return []
    figures: list[Figure] = []
    for m in measured:
        own = [r for r in rows if r.metric == METRIC_LABELS[m.metric] and not r.chance]
        chance: tuple[float | None, ...] = ()
        if m.metric == "choice":
            chance = tuple(
                chance_accuracy([data.questions[i].option_count for i in parts[r.slice]]) for r in own
            )
        figures.append(
            interval_plot(
                f"{METRIC_LABELS[m.metric]} by slice",
                ((r.slice, r.score) for r in own),
                chance=chance,
                scale=(0.0, 100.0) if m.metric == "judge" else (0.0, 1.0),
            )
        )
    return figures


def score_answer(settings: AnswerSettings, *, step: Callable[[], None] | None = None) -> ScoreTable:
    """Score answers.

    Args:
        settings: the files and what is measured.
        step: called once per pair of texts that BERTScore has compared, for a progress bar.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    gt, missing = settings.gt, settings.missing
    data = read_answers(settings)
    chosen = _named_metrics(settings.chosen) or _default_metrics(data)
    _require_columns(data, chosen, gt, settings.pred)
    measured: list[Measured] = []
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    headline: dict[str, object] = {}
    notes = reading_notes(data, missing)
    letters: list[ParsedLetter | None] = []
    with explained(gt):
        for metric in chosen:
            if metric == "bertscore":
                found = bert_values(data, settings, step)
            elif metric == "choice":
                letters = parsed_letters(data, settings.opened_bracket)
                found = choice_values(data, letters, settings.opened_bracket)
            elif metric == "judge":
                found = judged_values(data, settings.judge_scale)
            else:
                found = overlap_values(data, metric, settings)
            measured.append(without_gaps(found, missing))
            notes += found.notes
        parts = sliced([q.slices for q in data.questions], settings.slices)
        for name, indices in parts.items():
            rows += [score_row(m, name, indices, data, settings) for m in measured]
        for m in measured:
            rows += chance_rows(m.metric, data, settings)
            headline |= m.headline
        if letters:
            more = letter_report(data, letters)
            headline |= more[0]
            figures += more[1]
            notes += more[2]
    notes += [note for metric, note in _NO_CHANCE.items() if metric in chosen]
    figures += slice_figures(measured, rows, parts, data)
    mains = {
        m.metric: next(r.score.value for r in rows if r.metric == METRIC_LABELS[m.metric]) for m in measured
    }
    return ScoreTable(
        family="answer",
        rows=tuple(rows),
        headline={**{METRIC_NAMES[k]: v for k, v in mains.items()}, **headline},
        counts=answer_counts(data, letters),
        notes=tuple(dict.fromkeys(notes)),
        figures=tuple(figures),
    )


def _named_metrics(names: Sequence[str]) -> tuple[AnswerMetric, ...]:
    unknown = [name for name in names if name not in ANSWER_METRICS]
    if unknown:
        raise UserError(
            f"there is no metric {unknown[0]!r} for answers.", hint=f"choose from {', '.join(ANSWER_METRICS)}"
        )
    return tuple(metric for metric in ANSWER_METRICS if metric in names)


def _default_metrics(data: AnswerData) -> tuple[AnswerMetric, ...]:
    judged: tuple[AnswerMetric, ...] = ("judge",) if data.has_judgements else ()
    if not data.has_responses:
        return judged
    if all(q.gold for q in data.questions):
        return (*judged, "choice")
    return (*judged, "exact", "f1", "rouge1")


def _require_columns(data: AnswerData, chosen: Iterable[AnswerMetric], gt: Path, pred: Path) -> None:
    for metric in chosen:
        if metric == "judge":
            if not data.has_judgements:
                raise UserError(
                    "the predictions have no judgements.",
                    where=str(pred),
                    hint="add the column 'judgement' (0, 1, 2)",
                )
            continue
        if not data.has_responses:
            raise UserError(
                f"{metric} needs the responses, which the predictions do not have.",
                where=str(pred),
                hint="add the column 'response'",
            )
        lacking = next(
            (q for q in data.questions if not (q.gold if metric == "choice" else q.references)), None
        )
        if lacking:
            what = "options with a gold letter" if metric == "choice" else "a reference answer"
            raise UserError(
                f"{metric} needs {what}, which question {lacking.id!r} does not have.",
                where=str(gt),
                hint="give the number of options with --option-count, or the column 'options'"
                if metric == "choice"
                else "add the column 'answer' or 'answers', or choose another --metric",
            )
