"""Error recognition scored from files: every metric beside what knowing nothing gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from msgspec.structs import replace as replace_settings
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics import classification as metrics
from proctor.metrics.calibration import reliability_bins
from proctor.metrics.classification import (
    PUBLISHED_THRESHOLDS,
    Chance,
    ChosenThreshold,
    Options,
    above_threshold,
    choose_threshold,
    rescale_min_max,
)
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.classification_files import Level, Samples, read_samples
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.options import ClassificationSettings
from proctor.stages.scoring.tables import interval_plot

__all__ = ["score_classification"]


LEVEL_NAMES: Final[Mapping[Level, str]] = {"step": "steps", "sub-step": "sub-steps"}


@dataclass(frozen=True)
class Rule:
    """How scores become decisions: a number, and the words for the signature."""

    threshold: float
    words: str


def _options(settings: ClassificationSettings, samples: Samples, **parts: str) -> Options:
    """Return what the metrics take beside their arrays."""
    words = {"level": samples.level, "protocol": settings.protocol, **parts}
    if samples.level == "step":
        words |= {"aggregation": settings.aggregate, "repeated": settings.repeated}
    clusters = samples.recordings if settings.resamples else None
    return {"clusters": clusters, **settings.resampling, "settings": words}


def rescaled(samples: Samples, settings: ClassificationSettings) -> Samples:
    """Rescale the scores over the whole test set, as published; corrected scores stay."""
    if settings.protocol == "corrected" or samples.scores is None:
        return samples
    kinds = {kind: rescale_min_max(values) for kind, values in samples.kind_scores.items()}
    return replace(samples, scores=rescale_min_max(samples.scores), kind_scores=kinds)


def rule_of_part(
    samples: Samples, validation: Samples | None, settings: ClassificationSettings
) -> Rule | None:
    """Choose the threshold: by the validation data, as given, or 0.5."""
    if samples.scores is None:
        return None
    if validation is not None:
        if validation.scores is None:
            raise UserError("the validation predictions have no scores.", where="--validation")
        with explained("--validation"):
            return chosen_rule(choose_threshold(validation.labels, validation.scores))
    if settings.threshold is None:
        return Rule(0.5, "default=0.5")
    kind = "rescaled" if settings.protocol == "published" else "fixed"
    return Rule(settings.threshold, f"{kind}={settings.threshold:g}")


def chosen_rule(found: ChosenThreshold) -> Rule:
    """The rule of a threshold that was chosen on validation data."""
    return Rule(found.value, f"validation-f1={found.value:.6g}")


LABELS: Final = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1_score": "F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "PR-AUC",
    "equal_error_rate": "EER",
    "within_roc_auc": "ROC-AUC within recordings",
    "between_roc_auc": "ROC-AUC between recordings",
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

_OF_PAIRS: Final = {
    "within_roc_auc": metrics.within_roc_auc,
    "between_roc_auc": metrics.between_roc_auc,
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


def main_rows(
    line: str, samples: Samples, rule: Rule | None, settings: ClassificationSettings
) -> Iterator[ScoreRow]:
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
    settings: ClassificationSettings,
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
        options = _options(
            settings, samples, **(words or {}), threshold="given" if rule is None else rule.words
        )
        for name, decision in _DECISIONS.items():
            yield score_row(line, name, decision(truth, calls, **options), samples)
    if values is not None and rankings:
        options = _options(settings, samples, **(words or {}))
        for name, ranking in _RANKINGS.items():
            yield score_row(line, name, ranking(truth, values, **options), samples)
        if labels is None and len(set(samples.recordings)) > 1:
            paired: Options = {**options, "clusters": samples.recordings}
            for name, ranking in _OF_PAIRS.items():
                yield ScoreRow(LABELS[name], ranking(truth, values, **paired), line)
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
    settings: ClassificationSettings,
    predictors: Sequence[Chance],
) -> Iterator[ScoreRow]:
    """What knowing nothing about the samples gives."""
    options = _options(settings, samples)
    for predictor in predictors:
        for name, score in metrics.chance_scores(labels, predictor, **options).items():
            if samples.scores is not None or name in _DECISIONS:
                yield score_row(f"{line}: {_CHANCE_NAMES[predictor]}", name, score, samples, chance=True)


def sliced_rows(
    line: str, samples: Samples, rule: Rule | None, settings: ClassificationSettings
) -> Iterator[ScoreRow]:
    """Score each value of each slice with the threshold of the whole."""
    for column, values in samples.slices.items():
        for value in sorted(set(values)):
            part = samples.where(np.array([v == value for v in values], dtype=np.bool_))
            name = _line(line, f"{column}={value}")
            yield from _scores(name, part, rule, settings)
            yield from chance_rows(name, part.labels, part, settings, ("always-error",))


def kind_rows(
    line: str,
    samples: Samples,
    validation: Samples | None,
    rule: Rule | None,
    settings: ClassificationSettings,
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
        options = _options(settings, samples)
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


DIFFERENCE: Final = "difference: "

_MOST_PAIRS: Final = 15


def difference_rows(
    parts: Mapping[str, Mapping[Level, Samples]],
    rules: Mapping[str, Rule | None],
    settings: ClassificationSettings,
) -> Iterator[ScoreRow]:
    """Compare predictions that were divided, on the steps that all of them have; every pair, if they are few."""
    steps = {part: levels["step"] for part, levels in parts.items()}
    whole = {part: samples for part, samples in steps.items() if not samples.failed + samples.skipped}
    pairs = list(combinations(whole, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [(next(iter(whole)), part) for part in list(whole)[1:]]
    for a, b in pairs:
        first, second = rescaled(whole[a], settings), rescaled(whole[b], settings)
        options = _options(settings, first)
        line = f"{DIFFERENCE}{b} − {a}"
        calls = [
            calls_of(samples, rules.get(part, rules.get(f"{LEVEL_NAMES['step']}, {part}")))
            for part, samples in ((a, first), (b, second))
        ]
        if calls[0] is not None and calls[1] is not None:
            for name in ("accuracy", "f1_score"):
                score = metrics.paired_difference(name, first.labels, calls[0], calls[1], **options)
                yield score_row(line, name, score, first)
        if first.scores is not None and second.scores is not None:
            paired: Options = {**options, "clusters": first.recordings}
            for name in ("roc_auc", "average_precision", *_OF_PAIRS):
                chosen = paired if name in _OF_PAIRS else options
                score = metrics.paired_difference(name, first.labels, first.scores, second.scores, **chosen)
                yield score_row(line, name, score, first)


def calls_of(samples: Samples, rule: Rule | None) -> NDArray[np.bool_] | None:
    """Decisions of a part: those given, or the scores above its threshold."""
    if rule is None or samples.scores is None:
        return samples.calls
    return above_threshold(samples.scores, rule.threshold)


def figures_of_part(
    line: str, samples: Samples, rule: Rule | None, rows: Sequence[ScoreRow], settings: ClassificationSettings
) -> Iterator[Figure]:
    """Confusion and reliability of one part of the predictions."""
    calls = calls_of(samples, rule)
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
    yield interval_plot(
        f"Scores and the best of the chance rows, {line}",
        ((row.metric, row.score) for row in plotted),
        chance=[max((v for v in chance[row.metric] if not math.isnan(v)), default=None) for row in plotted],
    )
    yield from _reliability(line, samples, settings)


def _reliability(line: str, samples: Samples, settings: ClassificationSettings) -> Iterator[Figure]:
    """Compare scores that can be probabilities with what came true; rescaled ones and votes are none."""
    if samples.scores is None or settings.protocol == "published" or not probable(samples):
        return
    if settings.aggregate == "vote" and samples.level == "step":
        return
    bins = reliability_bins(samples.labels, samples.scores, interval_confidence=settings.confidence)
    yield bins.as_figure(f"Score against share of mistakes, {line}")


_PLOTTED: Final = ("accuracy", "precision", "recall", "F1", "ROC-AUC", "PR-AUC")


def comparison_plots(rows: Sequence[ScoreRow]) -> Iterator[Figure]:
    """ROC-AUC of all lines beside each other, where there are several."""
    lines = [row for row in rows if row.metric == "ROC-AUC" and not row.chance]
    lines = [row for row in lines if not row.slice.startswith(DIFFERENCE)]
    if len(lines) > 1:
        yield interval_plot(
            "ROC-AUC by line", ((row.slice, row.score) for row in lines), chance=[0.5] * len(lines)
        )


def score_classification(settings: ClassificationSettings) -> ScoreTable:
    """Score error recognition.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    _require_options(settings)
    parts = read_samples(settings.gt, settings.pred, settings)
    held_out = _validation(settings, parts)

    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    rules: dict[str, Rule | None] = {}
    levels = [level for level in LEVEL_NAMES if level in next(iter(parts.values()))]
    with explained(settings.pred):
        for level in levels:
            known: list[bytes] = []
            for part in parts:
                samples = rescaled(parts[part][level], settings)
                other = held_out.get(part, held_out.get("", {})).get(level)
                words = (LEVEL_NAMES[level] if len(levels) > 1 else "", part)
                line = ", ".join(text for text in words if text) or ALL
                rule = rules[line] = rule_of_part(samples, other, settings)
                rows += main_rows(line, samples, rule, settings)
                if (labels := samples.labels.tobytes()) not in known:
                    known.append(labels)
                    rows += chance_rows(line, samples.labels, samples, settings, metrics.CHANCE)
                rows += sliced_rows(line, samples, rule, settings)
                if level == "step":
                    rows += kind_rows(line, samples, other, rule, settings)
                figures += figures_of_part(line, samples, rule, rows, settings)
        rows += difference_rows(parts, rules, settings)
    first = next(iter(parts.values()))["step"]
    notes = tuple(_notes(parts, rules, rows, held_out, settings))
    aside = next(iter(held_out.values()), {})
    validated = {"validation steps": len(aside["step"])} if "step" in aside else {}
    return ScoreTable(
        "classification",
        tuple(rows),
        _headline(rows, first, rules, settings),
        {**first.counts, "failed": first.failed, "skipped": first.skipped, **validated},
        notes,
        (*comparison_plots(rows), *figures),
    )


def _require_options(settings: ClassificationSettings) -> None:
    threshold, validation = settings.threshold, settings.validation
    if threshold is not None and math.isnan(threshold):
        raise UserError("the threshold is not a number.", where="--threshold")
    if validation is not None and threshold is not None:
        raise UserError(
            "--validation and --threshold were both given.",
            hint="the threshold is either chosen on validation data or fixed",
        )
    if settings.validation_gt is not None and validation is None:
        raise UserError("--validation-gt needs --validation, the predictions for it.")
    if settings.protocol == "published" and (threshold is None or validation is not None):
        known = ", ".join(f"{t:g} for split {s}" for s, t in PUBLISHED_THRESHOLDS.items())
        raise UserError(
            "the published protocol cuts rescaled scores at a constant.",
            hint=f"give the constant of the split: --threshold ({known})",
        )


def _validation(
    settings: ClassificationSettings, parts: Mapping[str, Mapping[Level, Samples]]
) -> dict[str, dict[Level, Samples]]:
    """Read the validation predictions, divided as those of the test set are if they can be."""
    path, gt = settings.validation, settings.validation_gt
    if path is None:
        return {}
    columns: tuple[str, ...] = ()
    if list(parts) != [""] and settings.slices:
        columns = tuple(text.partition("=")[0] for text in next(iter(parts)).split(", "))
        if gt is None:
            raise UserError(
                f"predictions divided by {columns[0]!r} need the labels of the validation data by themselves.",
                where=str(path),
                hint="give them with --validation-gt",
            )
    return read_samples(gt, path, replace_settings(settings, slices=columns, allow_missing=True))


def _headline(
    rows: Sequence[ScoreRow],
    samples: Samples,
    rules: Mapping[str, Rule | None],
    settings: ClassificationSettings,
) -> dict[str, object]:
    main = next(iter(rules))
    by_metric = {row.metric: row.score.value for row in rows if row.slice == main}
    rule = rules[main]
    named = {label: name for name, label in LABELS.items()}
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
    rules: Mapping[str, Rule | None],
    rows: Sequence[ScoreRow],
    held_out: Mapping[str, object],
    settings: ClassificationSettings,
) -> Iterator[str]:
    samples = next(iter(parts.values()))["step"]
    if settings.protocol == "published":
        yield (
            "published protocol: scores were rescaled over the whole test set, and the thresholds 0.6 (S) and "
            "0.4 (R) were found on it; nobody can apply this to one recording"
        )
    elif samples.scores is not None and not held_out and settings.threshold is None:
        yield "no validation predictions (--validation): decisions at threshold 0.5"
        if not probable(samples):
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
    if any(row.slice.startswith(DIFFERENCE) for row in rows):
        yield "differences: both see the same resamples; the intervals are not corrected for the number of pairs"
    unscored = sorted(set(samples.kinds) - set(samples.kind_scores))
    if unscored and samples.scores is not None:
        yield (
            f"no column 'score:KIND' for {', '.join(unscored)}: there the score for any mistake was used, and "
            "mistakes of other kinds count as false alarms"
        )
    yield from _below_chance(rules, rows)
    seen = dict.fromkeys(
        f"{row.slice}: {row.metric}: {row.score.note}"
        for row in rows  # zeros by convention and undefined values
        if row.score.note and not row.chance and (not row.score.value or math.isnan(row.score.value))
    )
    yield from seen


def _below_chance(rules: Mapping[str, Rule | None], rows: Sequence[ScoreRow]) -> Iterator[str]:
    found = {(row.slice, row.metric): row.score.value for row in rows}
    for line in rules:
        for label, predictor in (("F1", "always error"), ("accuracy", "always normal")):
            value, chance = found.get((line, label)), found.get((f"{line}: {predictor}", label))
            if value is not None and chance is not None and value <= chance:
                yield f"{line}: {label} {value:.3f} does not beat '{predictor}' ({chance:.3f})"
