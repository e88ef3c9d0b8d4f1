"""Error recognition scored from files: every metric beside what knowing nothing gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics import classification as metrics
from proctor.metrics.aggregation import Aggregation, Repeated
from proctor.metrics.calibration import reliability_bins
from proctor.metrics.classification import Chance, Options
from proctor.metrics.figure import Figure, IntervalPlot, Matrix
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.metrics.thresholds import (
    PUBLISHED_THRESHOLDS,
    ChosenThreshold,
    above_threshold,
    choose_threshold,
    rescale_min_max,
)
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.recognition import Level, Samples, read_samples

__all__ = ["PROTOCOLS", "Protocol", "score_classification"]

Protocol = Literal["corrected", "published"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)
_LABELS: Final = {
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
_ALL: Final = "all"
_NONE: Final = np.zeros(0, dtype=np.bool_)
_LEVEL_NAMES: Final[Mapping[Level, str]] = {"step": "steps", "sub-step": "sub-steps"}


@dataclass(frozen=True)
class _Rule:
    """How scores become decisions: a number, and the words for the signature."""

    threshold: float
    words: str


@dataclass(frozen=True)
class _Settings:
    aggregate: Aggregation
    protocol: Protocol
    repeated: Repeated
    threshold: float | None
    confidence: float
    resamples: int
    seed: int

    def options(self, samples: Samples, **parts: str) -> Options:
        """Return what the metrics take beside their arrays."""
        words = {"level": samples.level, "protocol": self.protocol, **parts}
        if samples.level == "step":
            words |= {"aggregation": self.aggregate, "repeated": self.repeated}
        return {
            "clusters": samples.recordings if self.resamples else None,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
            "settings": words,
        }


def score_classification(
    pred: Path,
    *,
    gt: Path | None = None,
    validation: Path | None = None,
    validation_gt: Path | None = None,
    protocol: Protocol = "corrected",
    threshold: float | None = None,
    aggregate: Aggregation = "mean",
    repeated: Repeated = "or",
    slices: Sequence[str] = (),
    allow_missing: bool = False,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Score error recognition.

    Args:
        pred: predictions: recording, step, score (and label, if there is no ``gt``).
        gt: reference: recording, step, label; optionally kinds, segment, substep and columns to slice by.
        validation: predictions on validation data; the threshold is the one with the best F1 there.
        validation_gt: its labels, if they are not in the same file.
        protocol: ``corrected``, or ``published``: scores rescaled over the whole test set, ``threshold`` given.
        threshold: a fixed one.
        aggregate: how sub-steps become steps.
        repeated: label of a step that was executed several times.
        slices: columns to slice by; see ``read_samples``.
        allow_missing: leave steps without a score out and count them.
        confidence: of the intervals.
        resamples: of the bootstrap over recordings; 0 leaves the intervals out.
        seed: of the bootstrap.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    _require_options(protocol, threshold, validation, validation_gt)
    settings = _Settings(aggregate, protocol, repeated, threshold, confidence, resamples, seed)
    reading: dict[str, Any] = {"aggregate": aggregate, "repeated": repeated}
    parts = read_samples(gt, pred, slices=slices, allow_missing=allow_missing, **reading)
    held_out = _validation(validation, validation_gt, slices, parts, reading)

    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    rules: dict[str, _Rule | None] = {}
    levels = [level for level in _LEVEL_NAMES if level in next(iter(parts.values()))]
    with explained(pred):
        for level in levels:
            known: list[bytes] = []
            for part in parts:
                samples = _rescaled(parts[part][level], settings)
                other = held_out.get(part, held_out.get("", {})).get(level)
                words = (_LEVEL_NAMES[level] if len(levels) > 1 else "", part)
                line = ", ".join(text for text in words if text) or _ALL
                rule = rules[line] = _rule(samples, other, settings)
                rows += _main(line, samples, rule, settings)
                if (labels := samples.labels.tobytes()) not in known:
                    known.append(labels)
                    rows += _chance(line, samples.labels, samples, settings, metrics.CHANCE)
                rows += _sliced(line, samples, rule, settings)
                if level == "step":
                    rows += _kinds(line, samples, other, rule, settings)
                figures += _figures(line, samples, rule, rows, settings)
        rows += _differences(parts, rules, settings)
    first = next(iter(parts.values()))["step"]
    notes = tuple(_notes(parts, rules, rows, held_out, settings))
    return ScoreTable(
        "classification",
        tuple(rows),
        _headline(rows, first, rules, settings),
        {**first.counts, "failed": first.failed, "skipped": first.skipped, **_validation_size(held_out)},
        notes,
        (*_comparison(rows), *figures),
    )


def _require_options(
    protocol: str, threshold: float | None, validation: Path | None, validation_gt: Path | None
) -> None:
    if protocol not in PROTOCOLS:
        raise UserError(
            f"there is no protocol {protocol!r}.", where="--protocol", hint=f"choose {' or '.join(PROTOCOLS)}"
        )
    if threshold is not None and math.isnan(threshold):
        raise UserError("the threshold is not a number.", where="--threshold")
    if validation is not None and threshold is not None:
        raise UserError(
            "--validation and --threshold were both given.",
            hint="the threshold is either chosen on validation data or fixed",
        )
    if validation_gt is not None and validation is None:
        raise UserError("--validation-gt needs --validation, the predictions for it.")
    if protocol == "published" and (threshold is None or validation is not None):
        known = ", ".join(f"{t:g} for split {s}" for s, t in PUBLISHED_THRESHOLDS.items())
        raise UserError(
            "the published protocol cuts rescaled scores at a constant.",
            hint=f"give the constant of the split: --threshold ({known})",
        )


def _validation(
    path: Path | None,
    gt: Path | None,
    slices: Sequence[str],
    parts: Mapping[str, Mapping[Level, Samples]],
    reading: Mapping[str, Any],
) -> dict[str, dict[Level, Samples]]:
    """Read the validation predictions, divided as those of the test set are if they can be."""
    if path is None:
        return {}
    if list(parts) == [""] or not slices:
        return read_samples(gt, path, allow_missing=True, **reading)
    columns = [text.partition("=")[0] for text in next(iter(parts)).split(", ")]
    if gt is None:
        raise UserError(
            f"predictions divided by {columns[0]!r} need the labels of the validation data by themselves.",
            where=str(path),
            hint="give them with --validation-gt",
        )
    return read_samples(gt, path, slices=columns, allow_missing=True, **reading)


def _validation_size(held_out: Mapping[str, Mapping[Level, Samples]]) -> dict[str, int]:
    first = next(iter(held_out.values()), {})
    return {"validation steps": len(first["step"])} if "step" in first else {}


def _rescaled(samples: Samples, settings: _Settings) -> Samples:
    if settings.protocol == "corrected" or samples.scores is None:
        return samples
    kinds = {kind: rescale_min_max(values) for kind, values in samples.kind_scores.items()}
    return replace(samples, scores=rescale_min_max(samples.scores), kind_scores=kinds)


def _rule(samples: Samples, validation: Samples | None, settings: _Settings) -> _Rule | None:
    if samples.scores is None:
        return None
    if validation is not None:
        if validation.scores is None:
            raise UserError("the validation predictions have no scores.", where="--validation")
        with explained("--validation"):
            return _chosen(choose_threshold(validation.labels, validation.scores))
    if settings.threshold is None:
        return _Rule(0.5, "default=0.5")
    kind = "rescaled" if settings.protocol == "published" else "fixed"
    return _Rule(settings.threshold, f"{kind}={settings.threshold:g}")


def _chosen(found: ChosenThreshold) -> _Rule:
    return _Rule(found.value, f"validation-f1={found.value:.6g}")


def _main(line: str, samples: Samples, rule: _Rule | None, settings: _Settings) -> Iterator[ScoreRow]:
    yield from _scores(line, samples, rule, settings)
    if rule is not None and rule.threshold != 0.5 and settings.protocol == "corrected" and _probable(samples):
        half = _Rule(0.5, "fixed=0.5")
        yield from _scores(_line(line, "threshold 0.5"), samples, half, settings, rankings=False)


def _line(line: str, words: str) -> str:
    """Return the name of a part of a line."""
    return words if line == _ALL else f"{line}, {words}"


def _probable(samples: Samples) -> bool:
    """Whether the scores can be probabilities, so that 0.5 means something."""
    scores = samples.scores
    return scores is not None and bool(scores.size) and 0 <= float(scores.min()) <= float(scores.max()) <= 1


def _scores(
    line: str,
    samples: Samples,
    rule: _Rule | None,
    settings: _Settings,
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
            yield _row(line, name, decision(truth, calls, **options), samples)
    if values is not None and rankings:
        options = settings.options(samples, **(words or {}))
        for name, ranking in _RANKINGS.items():
            yield _row(line, name, ranking(truth, values, **options), samples)
        if labels is None and len(set(samples.recordings)) > 1:
            score = metrics.macro_roc_auc(truth, values, samples.recordings, **options)
            yield ScoreRow(_LABELS["macro_roc_auc"], score, line)


def _row(line: str, name: str, score: Score, samples: Samples, *, chance: bool = False) -> ScoreRow:
    counted = replace(score, failed=samples.failed, skipped=samples.skipped)
    return ScoreRow(_LABELS[name], counted, line, chance)


def _chance(
    line: str,
    labels: NDArray[np.bool_],
    samples: Samples,
    settings: _Settings,
    predictors: Sequence[Chance],
) -> Iterator[ScoreRow]:
    options = settings.options(samples)
    for predictor in predictors:
        for name, score in metrics.chance_scores(labels, predictor, **options).items():
            if samples.scores is not None or name in _DECISIONS:
                yield _row(f"{line}: {_CHANCE_NAMES[predictor]}", name, score, samples, chance=True)


def _sliced(line: str, samples: Samples, rule: _Rule | None, settings: _Settings) -> Iterator[ScoreRow]:
    """Score each value of each slice with the threshold of the whole."""
    for column, values in samples.slices.items():
        for value in sorted(set(values)):
            part = samples.where(np.array([v == value for v in values], dtype=np.bool_))
            name = _line(line, f"{column}={value}")
            yield from _scores(name, part, rule, settings)
            yield from _chance(name, part.labels, part, settings, ("always-error",))


def _kinds(
    line: str, samples: Samples, validation: Samples | None, rule: _Rule | None, settings: _Settings
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
        shown = set(_LABELS.values()) if own else {"recall", "ROC-AUC", "PR-AUC"}
        found = _scores(name, samples, used, settings, labels=labels, scores=scored[kind], words=words)
        yield from (row for row in found if row.metric in shown)
        chance = _chance(name, labels, samples, settings, ("always-error",))
        yield from (row for row in chance if row.metric in shown)
    if len(scored) > 1:
        options = settings.options(samples)
        flat = {kind: np.zeros(len(samples)) for kind in scored}
        constant: Options = {"settings": {**options["settings"], "predictor": "always-error"}}
        name = _line(line, "mean over kinds")
        for metric, over in _OVER_KINDS.items():
            yield _row(name, metric, over(samples.kinds, scored, **options), samples)
            chance_score = over(samples.kinds, flat, **constant)
            yield _row(f"{name}: always error", metric, chance_score, samples, chance=True)


def _kind_rule(kind: str, validation: Samples | None, rule: _Rule) -> _Rule:
    if validation is None:
        return rule
    if kind not in validation.kind_scores or not validation.kinds.get(kind, _NONE).any():
        return _Rule(0.5, "default=0.5")
    return _chosen(choose_threshold(validation.kinds[kind], validation.kind_scores[kind]))


_DIFFERENCE: Final = "difference: "
_MOST_PAIRS: Final = 15


def _differences(
    parts: Mapping[str, Mapping[Level, Samples]], rules: Mapping[str, _Rule | None], settings: _Settings
) -> Iterator[ScoreRow]:
    """Compare predictions that were divided, on the steps that all of them have; every pair, if they are few."""
    steps = {part: levels["step"] for part, levels in parts.items()}
    whole = {part: samples for part, samples in steps.items() if not samples.failed + samples.skipped}
    pairs = list(combinations(whole, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [(next(iter(whole)), part) for part in list(whole)[1:]]
    for a, b in pairs:
        first, second = _rescaled(whole[a], settings), _rescaled(whole[b], settings)
        options = settings.options(first)
        line = f"{_DIFFERENCE}{b} − {a}"
        calls = [_calls(samples, _rule_of(part, rules)) for part, samples in ((a, first), (b, second))]
        if calls[0] is not None and calls[1] is not None:
            for name in ("accuracy", "f1_score"):
                score = metrics.paired_difference(name, first.labels, calls[0], calls[1], **options)
                yield _row(line, name, score, first)
        if first.scores is not None and second.scores is not None:
            for name in ("roc_auc", "average_precision"):
                score = metrics.paired_difference(name, first.labels, first.scores, second.scores, **options)
                yield _row(line, name, score, first)


def _rule_of(part: str, rules: Mapping[str, _Rule | None]) -> _Rule | None:
    """Return the rule of the steps of a part of the predictions."""
    return rules[part] if part in rules else rules[f"{_LEVEL_NAMES['step']}, {part}"]


def _calls(samples: Samples, rule: _Rule | None) -> NDArray[np.bool_] | None:
    if rule is None or samples.scores is None:
        return samples.calls
    return above_threshold(samples.scores, rule.threshold)


def _headline(
    rows: Sequence[ScoreRow], samples: Samples, rules: Mapping[str, _Rule | None], settings: _Settings
) -> dict[str, object]:
    main = next(iter(rules))
    by_metric = {row.metric: row.score.value for row in rows if row.slice == main}
    rule = rules[main]
    named = {label: name for name, label in _LABELS.items()}
    return {
        "protocol": settings.protocol,
        "level": samples.level,
        "steps": len(samples),
        "positives": int(samples.labels.sum()),
        "threshold": None
        if rule is None
        else (rule.threshold if math.isfinite(rule.threshold) else str(rule.threshold)),
        **{named[label]: value for label, value in by_metric.items()},
    }


def _notes(
    parts: Mapping[str, Mapping[Level, Samples]],
    rules: Mapping[str, _Rule | None],
    rows: Sequence[ScoreRow],
    held_out: Mapping[str, object],
    settings: _Settings,
) -> Iterator[str]:
    samples = next(iter(parts.values()))["step"]
    if settings.protocol == "published":
        yield (
            "published protocol: scores were rescaled over the whole test set, and the thresholds 0.6 (S) and "
            "0.4 (R) were found on it; nobody can apply this to one recording"
        )
    elif samples.scores is not None and not held_out and settings.threshold is None:
        yield "no validation predictions (--validation): decisions at threshold 0.5"
        if not _probable(samples):
            yield "the scores are not between 0 and 1, so a threshold of 0.5 means nothing; give --validation"
    if samples.scores is None:
        yield "yes/no decisions have no ROC and no precision-recall curve; give a column 'score' for them"
    for line, rule in rules.items():
        if rule is not None and held_out and rule.words.startswith("default"):
            yield f"{line}: there are no validation predictions for it: decisions at threshold 0.5"
        if rule is not None and rule.threshold == -math.inf:
            yield f"{line}: on the validation data nothing had a better F1 than calling everything a mistake"
    if len(set(samples.recordings)) == 1 and settings.resamples:
        yield "there is one recording (or no column 'recording'): intervals over recordings are not possible"
    if samples.counts.get("predictions without a step"):
        yield f"{samples.counts['predictions without a step']:,} predictions are for steps that the reference has not"
    if any(row.slice.startswith(_DIFFERENCE) for row in rows):
        yield "differences: both see the same resamples; the intervals are not corrected for the number of pairs"
    unscored = sorted(set(samples.kinds) - set(samples.kind_scores))
    if unscored and samples.scores is not None:
        yield (
            f"no column 'score:KIND' for {', '.join(unscored)}: there the score for any mistake was used, and "
            "mistakes of other kinds count as false alarms"
        )
    yield from _below_chance(rules, rows)
    seen = dict.fromkeys(f"{row.slice}: {row.metric}: {row.score.note}" for row in rows if _said(row))
    yield from seen


def _said(row: ScoreRow) -> bool:
    """Whether the note of a score belongs under the table: zeros by convention and undefined values."""
    return bool(row.score.note) and not row.chance and (not row.score.value or math.isnan(row.score.value))


def _below_chance(rules: Mapping[str, _Rule | None], rows: Sequence[ScoreRow]) -> Iterator[str]:
    found = {(row.slice, row.metric): row.score.value for row in rows}
    for line in rules:
        for label, predictor in (("F1", "always error"), ("accuracy", "always normal")):
            value, chance = found.get((line, label)), found.get((f"{line}: {predictor}", label))
            if value is not None and chance is not None and value <= chance:
                yield f"{line}: {label} {value:.3f} does not beat '{predictor}' ({chance:.3f})"


def _figures(
    line: str, samples: Samples, rule: _Rule | None, rows: Sequence[ScoreRow], settings: _Settings
) -> Iterator[Figure]:
    calls = _calls(samples, rule)
    if calls is None:
        return
    counts = metrics.count_outcomes(samples.labels, calls)
    yield Matrix(
        f"Decisions, {line}" + ("" if rule is None else f" (threshold {rule.threshold:.3g})"),
        ("normal", "mistake"),
        ("normal", "mistake"),
        (
            (counts.true_negatives, counts.false_positives),
            (counts.false_negatives, counts.true_positives),
        ),
        row_title="reference",
        column_title="predicted",
    )
    plotted = [row for row in rows if row.slice == line and row.metric in _PLOTTED]
    chance: dict[str, list[float]] = {row.metric: [] for row in plotted}
    for row in rows:
        if row.chance and row.slice.rpartition(": ")[0] == line and row.metric in chance:
            chance[row.metric].append(row.score.value)
    yield _intervals(
        f"Scores and the best of the chance rows, {line}",
        [(row.metric, row.score, _best(chance[row.metric])) for row in plotted],
    )
    yield from _reliability(line, samples, settings)


def _reliability(line: str, samples: Samples, settings: _Settings) -> Iterator[Figure]:
    """Compare scores that can be probabilities with what came true; rescaled ones and votes are none."""
    if samples.scores is None or settings.protocol == "published" or not _probable(samples):
        return
    if settings.aggregate == "vote" and samples.level == "step":
        return
    bins = reliability_bins(samples.labels, samples.scores, interval_confidence=settings.confidence)
    yield bins.as_figure(f"Score against share of mistakes, {line}")


_PLOTTED: Final = ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC")


def _best(values: Sequence[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def _comparison(rows: Sequence[ScoreRow]) -> Iterator[Figure]:
    """ROC-AUC of all lines beside each other, where there are several."""
    lines = [row for row in rows if row.metric == "ROC-AUC" and not row.chance]
    lines = [row for row in lines if not row.slice.startswith(_DIFFERENCE)]
    if len(lines) > 1:
        yield _intervals("ROC-AUC by line", [(row.slice, row.score, 0.5) for row in lines])


def _intervals(title: str, lines: Sequence[tuple[str, Score, float | None]]) -> IntervalPlot:
    return IntervalPlot(
        title,
        tuple(name for name, _, _ in lines),
        tuple(None if math.isnan(score.value) else score.value for _, score, _ in lines),
        tuple(score.low for _, score, _ in lines),
        tuple(score.high for _, score, _ in lines),
        tuple(chance for _, _, chance in lines),
    )
