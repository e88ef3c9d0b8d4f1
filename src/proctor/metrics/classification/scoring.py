"""What all scores of mistakes share: options, signature, interval over recordings, and when there is no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict

import numpy as np

from proctor.metrics.bootstrap import Floats, bootstrap_interval
from proctor.metrics.errors import require_options
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "NOTHING",
    "NOT_CALLED",
    "NO_MISTAKE",
    "Options",
    "given_settings",
    "interval_over_recordings",
    "score_of",
    "signature_of",
    "why_undefined",
]


NO_MISTAKE: Final = "no item of the reference is a mistake"
_NO_NORMAL: Final = "every item of the reference is a mistake"
NOTHING: Final = "there is nothing to score"
NOT_CALLED: Final = "nothing was called a mistake: precision is set to 0, as published"


class Options(TypedDict, total=False):
    """What every score of this family takes beside its arrays.

    Attributes:
        clusters: recording of each item; needed for an interval (BCa bootstrap over recordings).
        confidence: of the interval, 0.95 when not given.
        resamples: of the bootstrap, 10,000 when not given; 0 leaves the interval out.
        seed: of the bootstrap, 0 when not given.
        settings: further parts of the signature (level, threshold, protocol).
    """

    clusters: Sequence[str] | None
    confidence: float
    resamples: int
    seed: int
    settings: Mapping[str, str]


def why_undefined(name: str, n: int, positives: int) -> str:
    """Why a metric has no value on such a reference; empty when it has one."""
    if not n:
        return NOTHING
    if not positives and name not in ("accuracy", "precision"):
        return NO_MISTAKE
    return _NO_NORMAL if positives == n and name in ("roc_auc", "equal_error_rate") else ""


def given_settings(options: Options) -> Mapping[str, str]:
    """Further parts of the signature, as the caller gave them.

    Raises:
        MetricInputError: if an option is not one of ``Options``: a misspelt one would be without effect.
    """
    require_options(options, Options.__annotations__)
    return options.get("settings", {})


def signature_of(name: str, settings: Mapping[str, str]) -> Signature:
    """Return a signature that says which class is positive."""
    return Signature(name, {"positive": "error", **settings})


def interval_over_recordings(
    sums: Floats, statistic: Callable[[Floats], Floats], options: Options
) -> Interval | None:
    """Draw whole recordings; None when no resamples are wanted."""
    resamples = options.get("resamples", 10_000)
    if not resamples:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        return bootstrap_interval(
            sums,
            statistic,
            confidence=options.get("confidence", 0.95),
            resamples=resamples,
            seed=options.get("seed", 0),
        )


def score_of(
    value: float,
    signature: Signature,
    n: int,
    interval: Interval | None,
    note: str,
    options: Options,
    skipped: int = 0,
) -> Score:
    """Put value, interval and notes together as a score."""
    if interval is None:
        return Score(value, signature.having(interval="none"), n, skipped=skipped, note=note)
    parts = {
        "cluster": "recording",
        "interval": interval.method,
        "resamples": str(options.get("resamples", 10_000)),
        "seed": str(options.get("seed", 0)),
    }
    notes = "; ".join(text for text in (note, interval.note) if text)
    return Score(
        value, signature.having(**parts), n, interval.low, interval.high, skipped=skipped, note=notes
    )
