"""The table of question answering over sources: judge, ROUGE-1 and BERTScore by style and modality.

SMMQG: a cell is 50 times the mean mark, so from 0 to 100; all questions weigh the same (``all``), and
beside it stands the mean of the styles. Failed answers and marks that could not be read are in no mean and are counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.cells import document_slices
from proctor.exam.kinds.documents_marker import UNPARSED
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.self_preference import model_family
from proctor.exam.source_question import SourceQuestion
from proctor.exam.table import Resampling, ScoreRow, ScoreTable, row_of, rows_of
from proctor.metrics.answer import points
from proctor.metrics.answer_text import Tokeniser, rouge_1_overlap
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

if TYPE_CHECKING:
    from proctor.metrics.bert_score import BertEncoder

__all__ = ["TextColumn", "bert_column", "judge_measure", "rouge_column", "score_answers"]

MEAN_OF_STYLES: Final = "mean of styles"
"""Slice in which every style weighs the same."""


class TextColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column that needs no judge: likeness of answer and reference, from 0 to 100, by question.

    Attributes:
        name: of the column.
        signature: of the number, without its interval.
        values: by question; a question without an answer or a reference is missing.
    """

    name: str
    signature: str
    values: Mapping[str, float]


# -- columns ---------------------------------------------------------------------------------------------------


def rouge_column(
    questions: Sequence[SourceQuestion],
    predictions: Sequence[Prediction],
    *,
    tokeniser: Tokeniser = "unicode",
) -> TextColumn:
    """Return ROUGE-1 F1 without stemming of each answer against its reference, times 100.

    Args:
        questions: with references.
        predictions: answers to them.
        tokeniser: ``unicode`` keeps the words of all scripts; ``ascii`` is the published one, which differs from it only where
            there are other letters than a to z.

    Raises:
        UserError: if the tokeniser leaves nothing of a reference with letters.
    """
    values = {}
    for question, answer in _answered(questions, predictions):
        try:
            values[question.id] = 100 * rouge_1_overlap(question.answer, answer, tokeniser=tokeniser).f1
        except MetricInputError as error:
            raise UserError(f"{error.message}.", where=question.id, hint=error.hint or None) from None
    signature = Signature(
        "rouge_1", {"scale": "100", "stemming": "no", "tokeniser": tokeniser, "value": "f1"}
    )
    return TextColumn(name="rouge-1", signature=str(signature), values=values)


def bert_column(
    questions: Sequence[SourceQuestion],
    predictions: Sequence[Prediction],
    model: Path | BertEncoder,
    *,
    batch: int = 64,
) -> TextColumn:
    """Return BERTScore F1 of each answer against its reference, times 100.

    Args:
        questions: with references.
        predictions: answers to them.
        model: folder of a model, or an encoder (the paper: microsoft/deberta-xlarge-mnli).
        batch: texts run at a time.

    Raises:
        MissingExtraError: without the packages of the extra ``bertscore``.
        UserError: if the model cannot be used.
    """
    from proctor.metrics.bert_score import bert_score

    pairs = list(_answered(questions, predictions))
    try:
        found = bert_score([q.answer for q, _ in pairs], [a for _, a in pairs], model, batch=batch)
    except MetricInputError as error:
        raise UserError(f"{error.message}.", hint=error.hint or None) from None
    values = {q.id: 100 * match.f1 for (q, _), match in zip(pairs, found.matches, strict=True)}
    signature = Signature("bert_score", {**found.parameters, "scale": "100", "value": "f1"})
    return TextColumn(name="bertscore", signature=str(signature), values=values)


def _answered(
    questions: Sequence[SourceQuestion], predictions: Sequence[Prediction]
) -> Iterator[tuple[SourceQuestion, str]]:
    by_id = {p.item_id: p for p in predictions}
    for question in questions:
        prediction = by_id.get(question.id)
        if prediction is not None and prediction.answer is not None and question.answer.strip():
            yield question, prediction.answer


# -- the table -------------------------------------------------------------------------------------------------


def score_answers(
    questions: Sequence[SourceQuestion],
    predictions: Sequence[Prediction],
    judgements: Mapping[str, Sequence[Judgement]],
    columns: Sequence[TextColumn] = (),
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Make the table of one system.

    Args:
        questions: all that were to be answered.
        predictions: of one predictor.
        judgements: of these predictions, by the name of the column (``judge``, ``reference judge``), one judge each.
        columns: without a judge.
        confidence: of the intervals (BCa bootstrap over questions).
        resamples: 0 leaves the intervals out.
        seed: of the draws.

    Raises:
        UserError: if there are no questions, records are of several predictors or judges, belong to no question, or are there
            twice.
    """
    ids = {question.id for question in questions}
    if not ids or len(ids) < len(questions):
        raise UserError("there are no questions to score, or two of them have the same id.")
    predictor = _only({p.predictor for p in predictions}, "predictors")
    _once([p.item_id for p in predictions], ids, "predictions")
    how = Resampling(confidence=confidence, resamples=resamples, seed=seed)
    cells: list[ScoreRow] = []
    marks: dict[str, dict[str, float | None]] = {}
    counts: Counter[str] = Counter(
        {
            "questions": len(questions),
            "failed answers": sum(p.failure is not None for p in predictions),
            "not asked": len(ids) - len(predictions),
        }
    )
    notes: list[str] = []
    for name, made in judgements.items():
        if {j.predictor for j in made} - {predictor}:
            raise UserError(f"judgements of other predictors than '{predictor}'.", where=name)
        judge = _only({j.judge for j in made}, "judges")
        _once([j.item_id for j in made], ids, f"judgements of {judge}")
        by_id = {j.item_id: j for j in made}
        marks[name] = {q.id: points(by_id[q.id].score) if q.id in by_id else None for q in questions}
        counts.update(_mark_counts(name, made))
        signature = Signature("mean_score", {"judge": judge.replace("|", "_"), "scale": "0-50-100"})
        cells += _column(predictor, name, signature, questions, marks[name], how)
        notes += _kinship(questions, predictions, made, judge)
    for column in columns:
        signature = Signature.parse(column.signature)
        values = {q.id: column.values.get(q.id) for q in questions}
        cells += _column(predictor, column.name, signature, questions, values, how)
    notes += _authorship(questions, predictions)
    return ScoreTable(
        predictor=predictor,
        rows=tuple(cells),
        marks=marks,
        counts={key: n for key, n in counts.items() if n},
        notes=tuple(dict.fromkeys(notes)),
    )


def judge_measure(kind: str) -> str:
    """Return the name of the column of a kind of judge: ``judge`` for the one with sources."""
    return "judge" if kind == "source" else f"{kind} judge"


def _only(names: set[str], what: str) -> str:
    if len(names) != 1:
        raise UserError(
            f"there are {len(names)} {what}; a table is of one.",
            where=", ".join(sorted(names))[:200] or None,
            hint="score each system and judge by itself",
        )
    return next(iter(names))


def _once(found: Sequence[str], known: set[str], what: str) -> None:
    for id_, n in Counter(found).items():
        if id_ not in known:
            raise UserError(f"there is no question '{id_}'.", where=what)
        if n > 1:
            raise UserError("it is there twice.", where=f"{what}: {id_}")


def _mark_counts(name: str, judgements: Sequence[Judgement]) -> dict[str, int]:
    scores = Counter(j.score for j in judgements if j.score is not None)
    unparsed = sum((j.failure or "").startswith(UNPARSED) for j in judgements)
    unscored = sum(j.score is None for j in judgements)
    failed = sum((j.failure or "").startswith("prediction failed") for j in judgements)
    return {
        **{f"{name}: {score}": scores[score] for score in (0, 1, 2)},
        f"{name}: {UNPARSED}": unparsed,
        f"{name}: unscored otherwise": unscored - unparsed - failed,
    }


def _column(
    system: str,
    measure: str,
    signature: Signature,
    questions: Sequence[SourceQuestion],
    values: Mapping[str, float | None],
    how: Resampling,
) -> list[ScoreRow]:
    def sign(name: str) -> Signature:
        return signature.having(slice=name.replace("|", "_"), weighting="question", interval=how.name)

    alone = {question.id: question.id for question in questions}
    rows = rows_of(document_slices(questions), values, alone, sign, measure, resampling=how, system=system)
    styles = [row for row in rows if row.kind == "style"]
    own = signature.having(slice=MEAN_OF_STYLES, weighting="style", interval="none")
    mean = row_of(_mean_of_styles(styles, own), measure, MEAN_OF_STYLES, "all", system=system)
    return [*rows, mean]


def _mean_of_styles(styles: Sequence[ScoreRow], signature: Signature) -> Score:
    values = [row.value for row in styles if row.value is not None]
    n, failed = sum(row.n for row in styles), sum(row.failed for row in styles)
    if not values:
        return Score(math.nan, signature, n, failed=failed, note="no style has a value")
    lost = len(styles) - len(values)
    note = f"{lost} styles have no value and are left out" if lost else ""
    return Score(math.fsum(values) / len(values), signature, n, failed=failed, note=note)


# -- who wrote, answered and marked ----------------------------------------------------------------------------


def _models(predictions: Sequence[Prediction]) -> list[str]:
    return sorted({model for p in predictions if (model := p.details.get("model"))})


def _authorship(questions: Sequence[SourceQuestion], predictions: Sequence[Prediction]) -> Iterator[str]:
    """Say which contestants (or models of their family) wrote questions that they answer."""
    authors = Counter(question.generator for question in questions if question.generator)
    for model in _models(predictions):
        for author, n in sorted(authors.items()):
            if model == author:
                yield f"{model} wrote {n:,} of the {len(questions):,} questions that it answers: report it separately"
            elif model_family(model) and model_family(model) == model_family(author):
                yield f"{model} answers {n:,} questions that {author}, of the same family, wrote"


def _kinship(
    questions: Sequence[SourceQuestion],
    predictions: Sequence[Prediction],
    judgements: Sequence[Judgement],
    judge: str,
) -> Iterator[str]:
    """Say where a judge marks its own answers, or questions that it wrote."""
    models = {j.details.get("model", "") for j in judgements} - {""}
    for model in sorted(models & set(_models(predictions))):
        yield f"{judge}: {model} marks its own answers"
    written = sum(question.generator in models for question in questions)
    if written:
        yield f"{judge}: the judge wrote {written:,} of the {len(questions):,} questions and their references"
