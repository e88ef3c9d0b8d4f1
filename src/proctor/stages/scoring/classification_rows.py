"""Rows of the table of mistakes: all samples, slices, kinds of mistakes, and chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics import classification as metrics
from proctor.metrics.classification import Chance, Options
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow
from proctor.metrics.thresholds import above_threshold, choose_threshold
from proctor.stages.scoring.classification_rules import Rule, Settings, chosen_rule
from proctor.stages.scoring.recognition import Samples

__all__ = ["ALL", "LABELS", "chance_rows", "kind_rows", "main_rows", "probable", "score_row", "sliced_rows"]

LABELS: Final = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1_score": "F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "PR-AUC",
    "equal_error_rate": "EER",
    "macro_roc_auc": "ROC-AUC per recording",
}
_DECISIONS: Final = {
    "accuracy": metrics.accuracy,
    "precision": metrics.precision,
    "recall": metrics.recall,
    "f1_score": metrics.f1_score,
}
_RANKINGS: Final = {
    "roc_auc": metrics.roc_auc,
    "average_precision": metrics.average_precision,
    "equal_error_rate": metrics.equal_error_rate,
}
_OVER_KINDS: Final = {
    "roc_auc": metrics.macro_kind_roc_auc,
    "average_precision": metrics.macro_average_precision,
}
_CHANCE_NAMES: Final[Mapping[Chance, str]] = {
    "always-error": "always error",
    "always-normal": "always normal",
    "prior": "prior",
}
ALL: Final = "all"
_NONE: Final = np.zeros(0, dtype=np.bool_)


def main_rows(line: str, samples: Samples, rule: Rule | None, settings: Settings) -> Iterator[ScoreRow]:
    """All samples of a part, also at the threshold 0.5 where that means something."""
    yield from _scores(line, samples, rule, settings)
    if rule is not None and rule.threshold != 0.5 and settings.protocol == "corrected" and probable(samples):
        half = Rule(0.5, "fixed=0.5")
        yield from _scores(_line(line, "threshold 0.5"), samples, half, settings, rankings=False)


def _line(line: str, words: str) -> str:
    """Return the name of a part of a line."""
    return words if line == ALL else f"{line}, {words}"


def probable(samples: Samples) -> bool:
    """Whether the scores can be probabilities, so that 0.5 means something."""
    scores = samples.scores
    return scores is not None and bool(scores.size) and 0 <= float(scores.min()) <= float(scores.max()) <= 1


def _scores(
    line: str,
    samples: Samples,
    rule: Rule | None,
    settings: Settings,
    *,
    rankings: bool = True,
    labels: NDArray[np.bool_] | None = None,
    scores: NDArray[np.float64] | None = None,
    words: Mapping[str, str] | None = None,
) -> Iterator[ScoreRow]:
    truth = samples.labels if labels is None else labels
    values = samples.scores if scores is None else scores
    calls = samples.calls if rule is None or values is None else above_threshold(values, rule.threshold)
    if calls is not None:
        options = settings.options(
            samples, **(words or {}), threshold="given" if rule is None else rule.words
        )
        for name, decision in _DECISIONS.items():
            yield score_row(line, name, decision(truth, calls, **options), samples)
    if values is not None and rankings:
        options = settings.options(samples, **(words or {}))
        for name, ranking in _RANKINGS.items():
            yield score_row(line, name, ranking(truth, values, **options), samples)
        if labels is None and len(set(samples.recordings)) > 1:
            score = metrics.macro_roc_auc(truth, values, samples.recordings, **options)
            yield ScoreRow(LABELS["macro_roc_auc"], score, line)


def score_row(line: str, name: str, score: Score, samples: Samples, *, chance: bool = False) -> ScoreRow:
    """Return a row that counts the samples without a prediction."""
    counted = replace(score, failed=samples.failed, skipped=samples.skipped)
    return ScoreRow(LABELS[name], counted, line, chance)


def chance_rows(
    line: str,
    labels: NDArray[np.bool_],
    samples: Samples,
    settings: Settings,
    predictors: Sequence[Chance],
) -> Iterator[ScoreRow]:
    """What knowing nothing about the samples gives."""
    options = settings.options(samples)
    for predictor in predictors:
        for name, score in metrics.chance_scores(labels, predictor, **options).items():
            if samples.scores is not None or name in _DECISIONS:
                yield score_row(f"{line}: {_CHANCE_NAMES[predictor]}", name, score, samples, chance=True)


def sliced_rows(line: str, samples: Samples, rule: Rule | None, settings: Settings) -> Iterator[ScoreRow]:
    """Score each value of each slice with the threshold of the whole."""
    for column, values in samples.slices.items():
        for value in sorted(set(values)):
            part = samples.where(np.array([v == value for v in values], dtype=np.bool_))
            name = _line(line, f"{column}={value}")
            yield from _scores(name, part, rule, settings)
            yield from chance_rows(name, part.labels, part, settings, ("always-error",))


def kind_rows(
    line: str, samples: Samples, validation: Samples | None, rule: Rule | None, settings: Settings
) -> Iterator[ScoreRow]:
    """Score each kind of mistake against everything else, with its own detector where there is one.

    The score for any mistake says nothing about the kind, so its decisions are only asked for recall.
    """
    if samples.scores is None or rule is None:
        return
    scored: dict[str, NDArray[np.float64]] = {}
    for kind, labels in samples.kinds.items():
        own = kind in samples.kind_scores
        scored[kind] = samples.kind_scores[kind] if own else samples.scores
        used = _kind_rule(kind, validation, rule) if own else rule
        name = _line(line, f"kind={kind}")
        words = {"kind": kind.replace("|", "/"), "scored-by": "own" if own else "error"}
        shown = set(LABELS.values()) if own else {"recall", "ROC-AUC", "PR-AUC"}
        found = _scores(name, samples, used, settings, labels=labels, scores=scored[kind], words=words)
        yield from (row for row in found if row.metric in shown)
        chance = chance_rows(name, labels, samples, settings, ("always-error",))
        yield from (row for row in chance if row.metric in shown)
    if len(scored) > 1:
        options = settings.options(samples)
        flat = {kind: np.zeros(len(samples)) for kind in scored}
        constant: Options = {"settings": {**options["settings"], "predictor": "always-error"}}
        name = _line(line, "mean over kinds")
        for metric, over in _OVER_KINDS.items():
            yield score_row(name, metric, over(samples.kinds, scored, **options), samples)
            chance_score = over(samples.kinds, flat, **constant)
            yield score_row(f"{name}: always error", metric, chance_score, samples, chance=True)


def _kind_rule(kind: str, validation: Samples | None, rule: Rule) -> Rule:
    if validation is None:
        return rule
    if kind not in validation.kind_scores or not validation.kinds.get(kind, _NONE).any():
        return Rule(0.5, "default=0.5")
    return chosen_rule(choose_threshold(validation.kinds[kind], validation.kind_scores[kind]))
