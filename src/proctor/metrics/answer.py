"""Marks of free-text answers: ternary judgements read from a judge's words, and their mean in points from 0 to 100.

A judge says 0 (wrong), 1 (partial) or 2 (match); a mark is 50 points a step (ProMQA). Values are
kept per item and aggregated last, so every slice (question type, clean, noisy, activity) is a mean over the same
marks. Items without a judgement are None: they are counted and never become 0, and never silently raise a mean
either, because every score carries how many of them there are. ``mean_score`` takes any values by item (exact match,
ROUGE, letters), not only marks.

References: ProMQA; SMMQG (judge, style overlap).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from proctor.metrics.bootstrap import BootstrapMethod, bootstrap_interval, cluster_sums
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Matrix
from proctor.metrics.metric import Metric
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "POINTS",
    "JudgeScale",
    "StyleOverlap",
    "answer_signature",
    "mean_score",
    "parse_judge_score",
    "points",
    "pooled_mean",
    "slice_scores",
    "style_overlap",
]

POINTS = 50.0
"""Points of one step of the ternary scale."""

JudgeScale = Literal["smmqg", "promqa"]
"""Whose rule reads a judge's words: ``smmqg`` takes the first number behind the last marker "score", ``promqa`` the last
0, 1 or 2 behind the last "judge", "judgement", "judgment" or "score"."""

_MARKERS: Final[dict[str, str]] = {"smmqg": "score", "promqa": "judgement|judgment|judge|score"}
_MARKER_FORMS: Final = (r"(?:{})[\"']?\s*[:=]", r"(?:{})\b")
"""A marker with a colon is preferred: the word "score" also stands in explanations."""
_JUDGE_MARKUP: Final = re.compile(r"[*_`~#$]+")
_DENOMINATOR: Final = re.compile(r"(?<=\d)\s*(?:/|\bout of\b)\s*\d+")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)?(?!\w)")
_RANGE: Final = re.compile(r"\s*(?:-|–|—|/|\bor\b|\bto\b)\s*\d")
_MAX_JUDGEMENT: Final = 100_000
"""Characters of a judge's words that are read, from the end."""


def points(judgement: int | None) -> float | None:
    """Return the mark of a judgement in points; an unscored answer has none.

    Raises:
        ValueError: if the judgement is not 0, 1, 2 or None.
    """
    if judgement is None:
        return None
    if isinstance(judgement, bool) or judgement not in (0, 1, 2):
        raise ValueError(f"a judgement is 0, 1 or 2, got {judgement!r}")
    return POINTS * judgement


def parse_judge_score(response: str, *, scale: JudgeScale = "smmqg") -> int | None:
    """Read the judgement from a judge's words: an explanation, a marker ("Score:"), a number.

    Markdown is taken out first, and so is a denominator ("2/2" is 2, "1/2" is 1). A number that is no judgement (3, -1,
    1.5) or a range ("1-2", "1 or 2") reads as nothing; no number is guessed from words.

    Args:
        response: what the judge wrote.
        scale: whose rule; see ``JudgeScale``.

    Returns:
        0, 1 or 2; None when the judgement is unparsed. Ask once more, then exclude it and report the count: such an
        answer is no 0.

    Raises:
        MetricInputError: if the response is not a text or the scale is unknown.

    Reference: SMMQG; ProMQA.
    """
    if not isinstance(response, str):
        raise MetricInputError(f"a judge's response is a text, got {response!r}")
    if scale not in get_args(JudgeScale):
        raise MetricInputError(f"unknown scale {scale!r}", f"use one of {', '.join(get_args(JudgeScale))}")
    text = _JUDGE_MARKUP.sub("", response[-_MAX_JUDGEMENT:])
    rest = _behind_marker(text, _MARKERS[scale])
    if rest is None:
        return None
    rest = _DENOMINATOR.sub("", rest)
    numbers = list(_NUMBER.finditer(rest))
    if scale == "promqa":
        numbers = [m for m in reversed(numbers) if m[0] in {"0", "1", "2"}]
    if not numbers or _RANGE.match(rest, numbers[0].end()):
        return None
    value = float(numbers[0][0].replace(",", "."))
    return int(value) if value in (0.0, 1.0, 2.0) else None


def _behind_marker(text: str, markers: str) -> str | None:
    for form in _MARKER_FORMS:
        found = list(re.finditer(rf"\b{form.format(markers)}", text, re.IGNORECASE))
        if found:
            return text[found[-1].end() :]
    return None


@dataclass(frozen=True, slots=True)
class StyleOverlap:
    """How many questions several style classifiers claim at once.

    Attributes:
        n: questions.
        overlap: share that two or more classifiers claim, 0 to 1; ``nan`` without questions.
        unclaimed: share that no classifier claims.
        own: share whose true style is among the claims; ``nan`` when the true styles are not known.
        matrix: picture of the percentage claimed, true styles by classifiers; None when true styles are not known.
        note: why shares are undefined.
    """

    n: int
    overlap: float
    unclaimed: float
    own: float
    matrix: Matrix | None = None
    note: str = ""


def style_overlap(positives: Sequence[Collection[str]], true: Sequence[str] | None = None) -> StyleOverlap:
    """Share of questions that at least two binary style classifiers claim.

    Args:
        positives: the styles whose classifier said yes, for each question; none is no overlap.
        true: the style that each question was written in.

    Raises:
        MetricInputError: if lengths differ or a question's styles are one text instead of a collection.

    Reference: SMMQG, Table 8 (4.3, 0.0, 4.9, 2.8, 20.0 by true style). The paper reports the overlap only; a
    question that no classifier claims is as ambiguous and counts as no overlap there.
    """
    if any(isinstance(styles, str | bytes) for styles in positives):
        raise MetricInputError(
            "the styles of a question are a collection, got one text", "put it into a list"
        )
    if true is not None and len(true) != len(positives):
        raise MetricInputError(f"{len(true)} true styles for {len(positives)} questions")
    claims = [frozenset(styles) for styles in positives]
    n = len(claims)
    if not n:
        return StyleOverlap(0, math.nan, math.nan, math.nan, note="there are no questions")
    own = math.nan
    if true is not None:
        own = sum(t in c for t, c in zip(true, claims, strict=True)) / n
    return StyleOverlap(
        n=n,
        overlap=sum(len(c) >= 2 for c in claims) / n,
        unclaimed=sum(not c for c in claims) / n,
        own=own,
        matrix=None if true is None else _style_matrix(true, claims),
        note="the true styles are not known" if true is None else "",
    )


def _style_matrix(true: Sequence[str], claims: Sequence[frozenset[str]]) -> Matrix:
    rows = tuple(sorted(set(true)))
    columns = tuple(sorted(set(true).union(*claims)))
    asked = Counter(true)
    said = Counter((t, style) for t, c in zip(true, claims, strict=True) for style in c)
    return Matrix(
        title="Styles claimed",
        rows=rows,
        columns=columns,
        cells=tuple(tuple(100 * said[row, column] / asked[row] for column in columns) for row in rows),
        kind="values",
        row_title="true style",
        column_title="classifier that says yes",
        high=100.0,
    )


def answer_signature(
    *,
    benchmark: str,
    judge: str,
    slice_: str = "all",
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    cluster: str = "recording",
) -> Signature:
    """Signature of a mean score: all that changes the number or its interval."""
    return Signature(
        "mean_score",
        {
            "benchmark": benchmark,
            "cluster": cluster,
            "interval": f"{method}-{100 * confidence:g}",
            "judge": judge,
            "resamples": str(resamples),
            "scale": "0-50-100",
            "seed": str(seed),
            "slice": slice_,
            "weighting": "item",
        },
    )


def mean_score(
    values: Sequence[float | None],
    clusters: Sequence[str],
    signature: Signature,
    *,
    skipped: int = 0,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Mean over items, each item the same weight, with an interval clustered by recording.

    Args:
        values: one mark an item, None where prediction or judgement failed.
        clusters: recording of each item.
        signature: of this number; its interval options are the caller's (see ``answer_signature``).
        skipped: items that were not asked at all.
        method: see ``bootstrap_interval``.
        confidence: see ``bootstrap_interval``.
        resamples: see ``bootstrap_interval``; 0 leaves the interval out.
        seed: see ``bootstrap_interval``.

    Raises:
        ValueError: if lengths differ or a value is not finite.
    """
    if isinstance(clusters, str):
        raise MetricInputError(
            f"clusters are a list, got the text {clusters[:60]!r}", "name one for each item"
        )
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters")
    kept = [(v, c) for v, c in zip(values, clusters, strict=True) if v is not None]
    failed = len(values) - len(kept)
    if not kept:
        why = "every answer failed" if failed else "there are no items"
        return Score(math.nan, signature, 0, failed=failed, skipped=skipped, note=why)
    marks = [float(v) for v, _ in kept]
    if not resamples:
        if not all(map(math.isfinite, marks)):
            raise ValueError("values must be finite: leave failed items out and count them")
        return Score(math.fsum(marks) / len(marks), signature, len(marks), failed=failed, skipped=skipped)
    sums = cluster_sums([marks, [1.0] * len(marks)], [c for _, c in kept])
    interval = bootstrap_interval(sums, method=method, confidence=confidence, resamples=resamples, seed=seed)
    return Score(
        value=math.fsum(marks) / len(marks),
        signature=signature,
        n=len(marks),
        low=interval.low,
        high=interval.high,
        failed=failed,
        skipped=skipped,
        note=interval.note,
    )


def slice_scores(
    values: Sequence[float | None],
    clusters: Sequence[str],
    slices: Mapping[str, Sequence[bool]],
    signature: Signature,
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Score]:
    """Mean of each slice; a slice is a mask over the items, slices may overlap.

    Raises:
        ValueError: if a mask is not as long as the values.
    """
    scores = {}
    for name, mask in slices.items():
        if len(mask) != len(values):
            raise ValueError(f"slice {name!r} has {len(mask)} marks for {len(values)} items")
        chosen = [i for i, inside in enumerate(mask) if inside]
        scores[name] = mean_score(
            [values[i] for i in chosen],
            [clusters[i] for i in chosen],
            signature.having(slice=name),
            method=method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return scores


def pooled_mean(means: Sequence[float], counts: Sequence[int]) -> float:
    """Mean over all items from the means of disjoint slices: weights are item counts (ProMQA).

    Slices without items are left out whatever their mean.

    Raises:
        ValueError: if lengths differ, a count is negative or all are zero.
    """
    if len(means) != len(counts):
        raise ValueError(f"{len(means)} means for {len(counts)} counts")
    if any(n < 0 for n in counts) or not sum(counts):
        raise ValueError(f"counts must not be negative nor all zero, got {list(counts)}")
    return math.fsum(m * n for m, n in zip(means, counts, strict=True) if n) / sum(counts)


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="mean_score",
        label="score",
        family="answer",
        function="answer:mean_score",
        signature="mean_score|benchmark:NAME|cluster:recording|interval:bca-95|judge:NAME|resamples:10000|"
        "scale:0-50-100|seed:0|slice:all|weighting:item",
        range="0 to 100",
        direction="higher",
        definition="50 times the mean judgement (0 wrong, 1 partial, 2 match), each item the same weight.",
        citation="SMMQG; ProMQA",
        traps="An unparsed judgement is excluded and counted, never 0. Means of slices pool by item counts: SMMQG's "
        "weighted style means lie below its Table 6, unweighted ones above. ProMQA's Table 14 has eight rows with "
        "permuted columns, and its text swaps the counts of clean (176) and noisy (225).",
    ),
    Metric(
        name="style_overlap",
        label="overlap",
        family="answer",
        function="answer:style_overlap",
        signature="style_overlap|positives:2+",
        range="1 to 0",
        direction="lower",
        definition="Share of questions that at least two binary style classifiers claim.",
        citation="SMMQG, Table 8",
        traps="A question that no classifier claims is no overlap: report the share of unclaimed ones beside it.",
    ),
)
