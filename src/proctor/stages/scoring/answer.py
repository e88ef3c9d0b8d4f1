"""``proctor score answer``: answers from files against references, letters against options, judgements averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from proctor.errors import UserError
from proctor.metrics.answer import JudgeScale
from proctor.metrics.answer_text import Normalisation, Tokeniser
from proctor.metrics.choice import ParsedLetter
from proctor.metrics.figure import Figure
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.answer_figures import slice_figures
from proctor.stages.scoring.answer_files import AnswerData, MarkScale, read_answers
from proctor.stages.scoring.answer_letters import letter_report
from proctor.stages.scoring.answer_notes import answer_counts, chance_notes, reading_notes
from proctor.stages.scoring.answer_rows import chance_rows, score_row, sliced_questions
from proctor.stages.scoring.answer_values import (
    ANSWER_METRICS,
    METRIC_LABELS,
    METRIC_NAMES,
    AnswerMetric,
    Measured,
    Missing,
    Settings,
    bert_values,
    choice_values,
    judged_values,
    overlap_values,
    parsed_letters,
    without_gaps,
)
from proctor.stages.scoring.files import explained

__all__ = ["ANSWER_METRICS", "AnswerMetric", "Missing", "score_answer"]


def score_answer(
    gt: Path,
    pred: Path,
    *,
    metrics: Sequence[str] = (),
    normalisation: Normalisation = "squad",
    tokeniser: Tokeniser = "ascii",
    model: Path | None = None,
    layer: int | None = None,
    idf: bool = False,
    baseline: Path | None = None,
    device: str = "cpu",
    option_count: int | None = None,
    opened_bracket: bool = False,
    judge_scale: JudgeScale = "smmqg",
    scale: MarkScale | None = None,
    missing: Missing = "failed",
    slices: Sequence[str] = (),
    cluster: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    step: Callable[[], None] | None = None,
) -> ScoreTable:
    """Score answers.

    Args:
        gt: questions; see ``read_answers``.
        pred: responses or judgements; see ``read_answers``.
        metrics: which; by default what the files hold: judgements, letters of options, else exact match, F1, ROUGE-1.
        normalisation: of exact match and F1.
        tokeniser: of ROUGE.
        model: folder of the model for BERTScore.
        layer: of the model.
        idf: weigh BERTScore's tokens by inverse document frequency.
        baseline: file that rescales BERTScore.
        device: of torch.
        option_count: number of options where the reference has letters but no texts.
        opened_bracket: the prompt ended on an opened bracket, which the responses complete.
        judge_scale: how the words of a judge are read.
        scale: of judgements that are numbers: ``ternary`` (0, 1, 2) or ``binary`` (0, 1); asked for where none is 2.
        missing: ``failed`` leaves questions without a response out of the mean and counts them, ``wrong`` makes them 0.
        slices: columns of ``gt`` to slice by.
        cluster: column of ``gt`` that the bootstrap draws by.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves the intervals out.
        seed: of the bootstrap.
        step: called once per pair of texts that BERTScore has compared, for a progress bar.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    if not 0 < confidence < 1:
        raise UserError(f"the confidence must lie between 0 and 1, got {confidence}.", hint="try 0.95")
    data = read_answers(
        gt,
        pred,
        slices=slices,
        cluster=cluster,
        option_count=option_count,
        judge_scale=judge_scale,
        scale=scale,
    )
    chosen = _named_metrics(metrics) or _default_metrics(data)
    _require_columns(data, chosen, gt, pred)
    settings = Settings(
        normalisation, tokeniser, judge_scale, opened_bracket, missing, confidence, resamples, seed
    )
    measured: list[Measured] = []
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    headline: dict[str, object] = {}
    notes = reading_notes(data, missing)
    letters: list[ParsedLetter | None] = []
    with explained(gt):
        for metric in chosen:
            if metric == "bertscore":
                found = bert_values(data, model, layer, idf, baseline, device, step)
            elif metric == "choice":
                letters = parsed_letters(data, opened_bracket)
                found = choice_values(data, letters, opened_bracket)
            elif metric == "judge":
                found = judged_values(data, judge_scale)
            else:
                found = overlap_values(data, metric, settings)
            measured.append(without_gaps(found, missing))
            notes += found.notes
        parts = sliced_questions(data.questions, slices)
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
    notes += chance_notes(chosen)
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
