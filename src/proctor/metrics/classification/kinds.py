"""Means over the kinds of mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats
from proctor.metrics.classification.curves import Curve
from proctor.metrics.classification.scoring import (
    Options,
    given_settings,
    interval_over_recordings,
    score_of,
    signature_of,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.separation import Ranking

__all__ = ["macro_average_precision", "macro_kind_roc_auc"]


def macro_average_precision(
    reference: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], **options: Unpack[Options]
) -> Score:
    """Mean over mistake kinds of the average precision of each, one kind against everything else.

    Args:
        reference: by kind, 1 or True where the item has a mistake of that kind; shape (n,) each.
        scores: by the same kinds; shape (n,) each.
        **options: see ``Options``.

    Returns:
        Between 0 and 1; kinds that do not occur are left out and named in the note.

    Raises:
        MetricInputError: if kinds or shapes differ or a score is not finite.
    """
    return _over_kinds(
        "macro_average_precision", reference, scores, lambda r, w: r.average_precision(w), options
    )


def macro_kind_roc_auc(
    reference: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], **options: Unpack[Options]
) -> Score:
    """Mean over mistake kinds of the ROC-AUC of each, one kind against everything else.

    Args:
        reference: by kind, 1 or True where the item has a mistake of that kind; shape (n,) each.
        scores: by the same kinds; shape (n,) each.
        **options: see ``Options``.

    Returns:
        Between 0 and 1; kinds that do not occur, or occur everywhere, are left out and named in the note.

    Raises:
        MetricInputError: if kinds or shapes differ or a score is not finite.
    """
    return _over_kinds("macro_kind_roc_auc", reference, scores, lambda r, w: r.roc_auc(w), options)


def _over_kinds(
    name: str,
    reference: Mapping[str, ArrayLike],
    scores: Mapping[str, ArrayLike],
    curve: Curve,
    options: Options,
) -> Score:
    if set(reference) != set(scores):
        odd = sorted(set(reference) ^ set(scores))
        raise MetricInputError(f"reference and scores must have the same kinds; only one has {odd[0]!r}")
    clusters = options.get("clusters")
    rankings = {kind: Ranking.of(reference[kind], scores[kind], clusters) for kind in sorted(reference)}
    sizes = {ranking.positive.size for ranking in rankings.values()}
    if len(sizes) > 1:
        raise MetricInputError(
            f"all kinds must have the same items, got {' and '.join(map(str, sorted(sizes)))}"
        )
    n = max(sizes, default=0)
    signature = signature_of(name, {**given_settings(options), "over": "kinds"})
    values = {
        kind: float(curve(ranking, np.ones((1, ranking.clusters)))[0]) for kind, ranking in rankings.items()
    }
    kept = [kind for kind, value in values.items() if not math.isnan(value)]
    left_out = [kind for kind in values if kind not in kept]
    if not kept:
        note = (
            f"no kind of mistake has a value ({', '.join(left_out)})" if left_out else "no kinds were given"
        )
        return Score(math.nan, signature.having(interval="none"), n, note=note)

    def mean(counts: Floats) -> Floats:
        result: Floats = np.mean([curve(rankings[kind], counts) for kind in kept], axis=0)
        return result

    interval = None
    if clusters is not None:
        interval = interval_over_recordings(np.eye(rankings[kept[0]].clusters), mean, options)
    note = f"left out, because they do not occur: {', '.join(left_out)}" if left_out else ""
    value = math.fsum(values[kind] for kind in kept) / len(kept)
    return score_of(value, signature.having(kinds=str(len(kept))), n, interval, note, options)
