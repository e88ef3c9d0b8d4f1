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

__all__ = ["Figures", "as_estimate", "people_agreement", "spoken"]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a round: how many of what there are, and numbers with their intervals, such as agreement."""

    counts: dict[str, int]
    numbers: dict[str, Estimate] = {}

    def lines(self) -> Iterator[str]:
        """Yield them for people."""
        yield ", ".join(f"{n:,} {what}" for what, n in self.counts.items() if n)
        yield from (f"{what}: {spoken(number)}, n {number.n:,}" for what, number in self.numbers.items())


def people_agreement(
    of: str,
    labels: Mapping[str, Mapping[str, str | int]],
    clusters: Mapping[str, str],
    level: Literal["nominal", "ordinal"] = "nominal",
) -> dict[str, Estimate]:
    """Return raw agreement and Cohen's kappa (means over pairs of people) and Krippendorff's alpha; empty where no two did the same.

    Args:
        of: what they agree on, for the names of the numbers.
        labels: what they said, by person and task; numbers where the level is ordinal.
        clusters: of the tasks: what intervals draw whole.
        level: of alpha.
    """
    units: dict[str, list[str | int]] = {}
    for own in labels.values():
        for task, label in own.items():
            units.setdefault(task, []).append(label)
    units = {task: given for task, given in units.items() if len(given) > 1}
    if not units:
        return {}
    alpha = krippendorff_alpha(list(units.values()), level=level, clusters=[clusters[t] for t in units])
    raw, kappa = (mean_pair_agreement(labels, measure, clusters=clusters) for measure in ("raw", "kappa"))
    names = ("raw agreement", "mean kappa", "alpha")
    return {f"{of}, {n}": as_estimate(s) for n, s in zip(names, (raw, kappa, alpha), strict=True)}


def as_estimate(score: Score) -> Estimate:
    """Return a score as JSON has it."""
    value = None if math.isnan(score.value) else score.value
    return Estimate(value, score.low, score.high, score.n, note=score.note)


def spoken(found: Estimate) -> str:
    """Return a number for people, with its interval, or why there is none."""
    if found.value is None:
        return f"undefined ({found.note})"
    ends = "" if found.low is None or found.high is None else f" ({found.low:.3g} to {found.high:.3g})"
    return f"{found.value:.3g}{ends}"
