"""How far people agree who did the same tasks of a round, and what came of it in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from proctor.metrics.agreement import mean_pair_agreement
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.score import Score
from proctor.verify.agreement import Estimate

__all__ = ["Figures", "as_estimate", "people_agreement"]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a round: how many of what there are, and numbers with their intervals, such as agreement."""

    counts: dict[str, int]
    numbers: dict[str, Estimate] = {}

    def lines(self) -> Iterator[str]:
        """Yield them for people."""
        yield ", ".join(f"{n:,} {what}" for what, n in self.counts.items() if n) or "nothing"
        for what, found in self.numbers.items():
            ends = "" if found.low is None else f" ({found.low:.3g} to {found.high:.3g})"
            value = f"undefined ({found.note})" if found.value is None else f"{found.value:.3g}{ends}"
            yield f"{what}: {value}, n {found.n:,}"


def people_agreement(
    of: str,
    labels: Mapping[str, Mapping[str, str | int]],
    clusters: Mapping[str, str],
    level: Literal["nominal", "ordinal"] = "nominal",
) -> dict[str, Estimate]:
    """Return raw agreement and Cohen's kappa (means over pairs of people) and Krippendorff's alpha; nothing where no two did the same.

    Kappa of an ordinal level has quadratic weights.

    Args:
        of: what they agree on, for the names of the numbers.
        labels: what they said, by person and task; numbers where the level of alpha is ordinal.
        clusters: of the tasks: what intervals draw whole.
        level: of alpha.
    """
    units = {
        task: [own[task] for own in labels.values() if task in own] for own in labels.values() for task in own
    }
    units = {task: given for task, given in units.items() if len(given) > 1}
    if not units:
        return {}
    weights: Literal["none", "quadratic"] = "quadratic" if level == "ordinal" else "none"
    raw = mean_pair_agreement(labels, clusters=clusters)
    kappa = mean_pair_agreement(labels, "kappa", weights=weights, clusters=clusters)
    alpha = krippendorff_alpha([*units.values()], level=level, clusters=[clusters[task] for task in units])
    names = {"raw agreement": raw, "mean kappa": kappa, "alpha": alpha}
    return {f"{of}, {name}": as_estimate(score) for name, score in names.items()}


def as_estimate(score: Score) -> Estimate:
    """Return a score as JSON has it."""
    value = None if math.isnan(score.value) else score.value
    return Estimate(value, score.low, score.high, score.n, note=score.note)
