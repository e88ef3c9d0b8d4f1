"""Error recognition scored from files: every metric beside what knowing nothing gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.errors import UserError
from proctor.metrics import classification as metrics
from proctor.metrics.aggregation import Aggregation, Repeated
from proctor.metrics.figure import Figure
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.metrics.thresholds import PUBLISHED_THRESHOLDS
from proctor.stages.scoring.classification_differences import DIFFERENCE, difference_rows
from proctor.stages.scoring.classification_figures import comparison_plots, figures_of_part
from proctor.stages.scoring.classification_rows import (
    ALL,
    LABELS,
    chance_rows,
    kind_rows,
    main_rows,
    probable,
    sliced_rows,
)
from proctor.stages.scoring.classification_rules import (
    LEVEL_NAMES,
    PROTOCOLS,
    Protocol,
    Rule,
    Settings,
    rescaled,
    rule_of_part,
)
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.recognition import Level, Samples, read_samples

__all__ = ["PROTOCOLS", "Protocol", "score_classification"]


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
    settings = Settings(aggregate, protocol, repeated, threshold, confidence, resamples, seed)
    reading: dict[str, Any] = {"aggregate": aggregate, "repeated": repeated}
    parts = read_samples(gt, pred, slices=slices, allow_missing=allow_missing, **reading)
    held_out = _validation(validation, validation_gt, slices, parts, reading)

    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    rules: dict[str, Rule | None] = {}
    levels = [level for level in LEVEL_NAMES if level in next(iter(parts.values()))]
    with explained(pred):
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
    return ScoreTable(
        "classification",
        tuple(rows),
        _headline(rows, first, rules, settings),
        {**first.counts, "failed": first.failed, "skipped": first.skipped, **_validation_size(held_out)},
        notes,
        (*comparison_plots(rows), *figures),
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


def _headline(
    rows: Sequence[ScoreRow], samples: Samples, rules: Mapping[str, Rule | None], settings: Settings
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
    settings: Settings,
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
    seen = dict.fromkeys(f"{row.slice}: {row.metric}: {row.score.note}" for row in rows if _said(row))
    yield from seen


def _said(row: ScoreRow) -> bool:
    """Whether the note of a score belongs under the table: zeros by convention and undefined values."""
    return bool(row.score.note) and not row.chance and (not row.score.value or math.isnan(row.score.value))


def _below_chance(rules: Mapping[str, Rule | None], rows: Sequence[ScoreRow]) -> Iterator[str]:
    found = {(row.slice, row.metric): row.score.value for row in rows}
    for line in rules:
        for label, predictor in (("F1", "always error"), ("accuracy", "always normal")):
            value, chance = found.get((line, label)), found.get((f"{line}: {predictor}", label))
            if value is not None and chance is not None and value <= chance:
                yield f"{line}: {label} {value:.3f} does not beat '{predictor}' ({chance:.3f})"
