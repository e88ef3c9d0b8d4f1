"""``proctor score answer``: answers from files against references, letters against options, judgements averaged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from proctor.errors import UserError
from proctor.metrics.answer import JudgeScale, mean_score, points
from proctor.metrics.answer_text import (
    Normalisation,
    Overlap,
    Tokeniser,
    best_constant_answer,
    exact_match,
    lost_words,
    normalise_answer,
    rouge_1,
    rouge_l,
    token_f1,
)
from proctor.metrics.bert_score import Match, bert_score
from proctor.metrics.choice import (
    PARSER,
    ChoiceCounts,
    ParsedLetter,
    chance_accuracy,
    choice_accuracy,
    letter_balance,
    letter_confusion,
    letter_counts,
    option_tells,
    parse_letter,
    recall_by_letter,
    recall_spread,
)
from proctor.metrics.figure import Bars, Figure, IntervalPlot
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.answer_files import AnswerData, Question, read_answers
from proctor.stages.scoring.files import explained

__all__ = ["ANSWER_METRICS", "AnswerMetric", "Missing", "score_answer"]

AnswerMetric = Literal["exact", "f1", "rouge1", "rougel", "bertscore", "choice", "judge"]
ANSWER_METRICS: Final[tuple[AnswerMetric, ...]] = get_args(AnswerMetric)
Missing = Literal["failed", "wrong"]

_LABELS: Final[Mapping[AnswerMetric, str]] = {
    "exact": "EM",
    "f1": "F1",
    "rouge1": "ROUGE-1",
    "rougel": "ROUGE-L",
    "bertscore": "BERTScore",
    "choice": "Accuracy",
    "judge": "score",
}
_NAMES: Final[Mapping[AnswerMetric, str]] = {
    "exact": "exact_match",
    "f1": "token_f1",
    "rouge1": "rouge_1",
    "rougel": "rouge_l",
    "bertscore": "bert_score",
    "choice": "choice_accuracy",
    "judge": "mean_score",
}
_ALL: Final = "all"
_SHOWN_LETTERS: Final = 12
_MANY_LOST: Final = 0.01
"""Share of words with letters outside of a-z from which on ROUGE's published tokeniser is worth a warning."""

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class _Settings:
    normalisation: Normalisation
    tokeniser: Tokeniser
    judge_scale: JudgeScale
    opened_bracket: bool
    missing: Missing
    confidence: float
    resamples: int
    seed: int

    def words(self, cluster: str, metric: AnswerMetric) -> dict[str, str]:
        """What every signature of this run says; a judgement that is missing is never a 0."""
        missing = "failed" if metric == "judge" else self.missing
        drawn = {"cluster": cluster, "resamples": str(self.resamples), "seed": str(self.seed)}
        interval = f"bca-{100 * self.confidence:g}" if self.resamples else "none"
        return {"interval": interval, "missing": missing, "weighting": "item"} | (
            drawn if self.resamples else {}
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    """Values of one metric by question, None where the question failed."""

    metric: AnswerMetric
    values: Values
    parameters: Mapping[str, str]
    headline: Mapping[str, object]
    notes: Sequence[str] = ()


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
        gt, pred, slices=slices, cluster=cluster, option_count=option_count, judge_scale=judge_scale
    )
    chosen = _named_metrics(metrics) or _default_metrics(data)
    _require_columns(data, chosen, gt, pred)
    settings = _Settings(
        normalisation, tokeniser, judge_scale, opened_bracket, missing, confidence, resamples, seed
    )
    measured: list[_Measured] = []
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    headline: dict[str, object] = {}
    notes = _reading_notes(data, missing)
    letters: list[ParsedLetter | None] = []
    with explained(gt):
        for metric in chosen:
            if metric == "bertscore":
                found = _bert(data, model, layer, idf, baseline, device, step)
            elif metric == "choice":
                letters = _letters(data, opened_bracket)
                found = _choice(data, letters, opened_bracket)
            elif metric == "judge":
                found = _judge(data, judge_scale)
            else:
                found = _overlap(data, metric, settings)
            measured.append(_without_gaps(found, missing))
            notes += found.notes
        parts = _parts(data.questions, slices)
        for name, indices in parts.items():
            rows += [_row(m, name, indices, data, settings) for m in measured]
        for m in measured:
            rows += _chance_rows(m.metric, data, settings)
            headline |= m.headline
        if letters:
            more = _letter_report(data, letters)
            headline |= more[0]
            figures += more[1]
            notes += more[2]
    figures += _slice_figures(measured, rows, parts, data)
    mains = {m.metric: next(r.score.value for r in rows if r.metric == _LABELS[m.metric]) for m in measured}
    return ScoreTable(
        family="answer",
        rows=tuple(rows),
        headline={**{_NAMES[k]: v for k, v in mains.items()}, **headline},
        counts=_counts(data, letters),
        notes=tuple(dict.fromkeys(notes)),
        figures=tuple(figures),
    )


# -- what to score -----------------------------------------------------------------------------------------------


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


def _parts(questions: Sequence[Question], slices: Sequence[str]) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {_ALL: list(range(len(questions)))}
    for column, name in enumerate(slices):
        for value in sorted({q.slices[column] for q in questions}):
            inside = [i for i, q in enumerate(questions) if q.slices[column] == value]
            parts[f"{name}={value}"] = inside
    return parts


def _responses(data: AnswerData) -> list[str | None]:
    return [reply.response if (reply := data.replies.get(q.id)) else None for q in data.questions]


# -- values by question ------------------------------------------------------------------------------------------


def _overlap(data: AnswerData, metric: AnswerMetric, settings: _Settings) -> _Measured:
    """Exact match, F1 and ROUGE."""
    pairs = [(q, r) for q, r in zip(data.questions, _responses(data), strict=True) if r is not None]
    normal, tokens = {"normalisation": settings.normalisation}, {"tokeniser": settings.tokeniser}
    if metric == "exact":
        values = {q.id: exact_match(q.references, r, normalisation=settings.normalisation) for q, r in pairs}
        return _Measured(
            metric,
            _by_question(data, values),
            {**normal, "references": "any"},
            {},
            _erased_note(data, settings),
        )
    functions: Mapping[str, Callable[[Question, str], Overlap]] = {
        "f1": lambda q, r: token_f1(q.references, r, normalisation=settings.normalisation),
        "rouge1": lambda q, r: rouge_1(q.references, r, tokeniser=settings.tokeniser),
        "rougel": lambda q, r: rouge_l(q.references, r, tokeniser=settings.tokeniser),
    }
    overlaps = {q.id: functions[metric](q, r) for q, r in pairs}
    parameters = {"references": "best-f1", "value": "f1", **(normal if metric == "f1" else tokens)}
    if metric != "f1":
        parameters["stemming"] = "no"
    return _Measured(
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
    name = _NAMES[metric]
    return {
        f"{name}_precision": _mean([o.precision for o in values]),
        f"{name}_recall": _mean([o.recall for o in values]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _erased_note(data: AnswerData, settings: _Settings) -> list[str]:
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


def _bert(
    data: AnswerData,
    model: Path | None,
    layer: int | None,
    idf: bool,
    baseline: Path | None,
    device: str,
    step: Callable[[], None] | None,
) -> _Measured:
    if model is None:
        raise UserError(
            "BERTScore needs a model.",
            hint="give the folder of a downloaded one with --model (published: microsoft/deberta-xlarge-mnli)",
        )
    pairs = [(q, r) for q, r in zip(data.questions, _responses(data), strict=True) if r is not None]
    with explained("BERTScore"):
        scores = bert_score(
            [q.references for q, _ in pairs],
            [r for _, r in pairs],
            model,
            layer=layer,
            idf=idf,
            baseline=baseline,
            device=device,
            step=step,
        )
    values = {q.id: m.f1 for (q, _), m in zip(pairs, scores.matches, strict=True)}
    notes = [scores.note] if scores.note else []
    if scores.truncated:
        notes.append(f"{scores.truncated:,} texts are longer than the model takes and were cut")
    return _Measured(
        "bertscore",
        _by_question(data, values),
        {**scores.parameters, "value": "f1"},
        _precision_recall("bertscore", scores.matches),
        notes,
    )


def _judge(data: AnswerData, scale: JudgeScale) -> _Measured:
    judgements = [reply.judgement if (reply := data.replies.get(q.id)) else None for q in data.questions]
    unparsed = sum(reply.unparsed for reply in data.replies.values())
    text = f"{unparsed:,} judgements could not be read: they are excluded and counted as failed, never 0"
    return _Measured(
        "judge",
        [points(j) for j in judgements],
        {"judge": "given", "parser": scale, "scale": "0-50-100"},
        {
            "judgements": {str(j): sum(x == j for x in judgements) for j in (0, 1, 2)},
            "judge_unparsed": unparsed,
        },
        [text] if unparsed else [],
    )


def _letters(data: AnswerData, opened_bracket: bool) -> list[ParsedLetter | None]:
    return [
        None if r is None else parse_letter(r, q.options or q.option_count, opened_bracket=opened_bracket)
        for q, r in zip(data.questions, _responses(data), strict=True)
    ]


def _choice(data: AnswerData, letters: Sequence[ParsedLetter | None], opened_bracket: bool) -> _Measured:
    counts = _choice_counts(data, letters)
    marks = iter(counts.marks)
    return _Measured(
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


def _choice_counts(data: AnswerData, letters: Sequence[ParsedLetter | None]) -> ChoiceCounts:
    said = [(q.gold, p.letter) for q, p in zip(data.questions, letters, strict=True) if p is not None]
    return choice_accuracy([g for g, _ in said], [p for _, p in said])


def _without_gaps(found: _Measured, missing: Missing) -> _Measured:
    if missing == "failed" or found.metric == "judge":
        return found
    return _Measured(
        found.metric,
        [0.0 if v is None else v for v in found.values],
        found.parameters,
        found.headline,
        found.notes,
    )


# -- rows --------------------------------------------------------------------------------------------------------


def _row(
    measured: _Measured, name: str, indices: Sequence[int], data: AnswerData, settings: _Settings
) -> ScoreRow:
    signature = Signature(
        _NAMES[measured.metric],
        {
            **settings.words(data.cluster, measured.metric),
            **measured.parameters,
            "slice": name.replace("|", "/"),
        },
    )
    score = mean_score(
        [measured.values[i] for i in indices],
        [data.questions[i].cluster for i in indices],
        signature,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    judged = measured.metric == "judge"
    return ScoreRow(_LABELS[measured.metric], score, name, digits=1 if judged else 3)


def _chance_rows(metric: AnswerMetric, data: AnswerData, settings: _Settings) -> list[ScoreRow]:
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
    return [
        ScoreRow(
            _LABELS[metric],
            Score(value, Signature(f"{_NAMES[metric]}_chance", {"answer": name.replace("|", "/")}), n),
            name,
            chance=True,
        )
        for name, value in found
    ]


# -- letters -----------------------------------------------------------------------------------------------------


def _letter_report(
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
        "recall_spread": recall_spread(list(recalls.values())),
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


# -- counts, notes, pictures -------------------------------------------------------------------------------------


def _counts(data: AnswerData, letters: Sequence[ParsedLetter | None]) -> dict[str, int]:
    counts = {"questions": len(data.questions), "clusters": len({q.cluster for q in data.questions})}
    if data.has_responses:
        responses = _responses(data)
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


def _reading_notes(data: AnswerData, missing: Missing) -> list[str]:
    notes = []
    without = sum(q.id not in data.replies for q in data.questions)
    if without:
        fate = "count as wrong" if missing == "wrong" else "are left out of the means and counted as failed"
        notes.append(f"{without:,} of {len(data.questions):,} questions have no prediction: they {fate}")
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


def _slice_figures(
    measured: Sequence[_Measured], rows: Sequence[ScoreRow], parts: Mapping[str, Any], data: AnswerData
) -> list[Figure]:
    if len(parts) < 2:
        return []
    figures: list[Figure] = []
    for m in measured:
        own = [r for r in rows if r.metric == _LABELS[m.metric] and not r.chance]
        chance: tuple[float | None, ...] = ()
        if m.metric == "choice":
            chance = tuple(
                chance_accuracy([data.questions[i].option_count for i in parts[r.slice]]) for r in own
            )
        figures.append(
            IntervalPlot(
                title=f"{_LABELS[m.metric]} by slice",
                labels=tuple(r.slice for r in own),
                values=tuple(None if math.isnan(r.score.value) else r.score.value for r in own),
                low=tuple(r.score.low for r in own),
                high=tuple(r.score.high for r in own),
                chance=chance,
                scale=(0.0, 100.0) if m.metric == "judge" else (0.0, 1.0),
            )
        )
    return figures
