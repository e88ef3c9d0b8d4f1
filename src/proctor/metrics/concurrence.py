"""Concurrence: do two benchmarks (or two metrics) rank the same systems alike?

Conventions: one score a system and benchmark, reference benchmark first; higher or lower does not matter as long as
it is the same in both. Systems tied in either benchmark are neither concordant nor discordant (tau-b). An undefined
value is None with a note.

References: Kendall (1938, 1945); SMMQG, tables 5 and 7: concurrence of a synthetic benchmark with
a human-made one; above 0.8 it is called strong there.

Errata of SMMQG, all against its own tables 6, 13 and 14: BERTScore against GPT-4 has 8 discordant pairs, so tau is 0.4286
(p 0.179), printed 0.50 and 0.11, which would be 7; ROUGE against GPT-4 is 0.7143, which rounds to 0.71, printed 0.72. The
retrieval value (0.8667, p 0.017) pools cut-offs 5 and 10 of the same retriever, which are not independent: cut-off 5 alone
gives 0.333 (p 1), cut-off 10 alone 1 (p 0.333), three systems each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats, cluster_sums, interval_tails, iter_resamples
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence
from proctor.metrics.score import Score, Signature

__all__ = ["METRICS", "Concurrence", "concurrence_interval", "rank_concurrence"]

_FEW_SYSTEMS = 5
"""Below this many systems no order of them is unlikely by chance (with four, p is at least 1/12)."""

_EXACT_SYSTEMS = 33
"""As in SciPy: up to here the exact distribution of tau is used when there are no ties."""


@dataclass(frozen=True, slots=True)
class Concurrence:
    """How alike two benchmarks rank systems.

    Attributes:
        tau: Kendall's tau-b, -1 to 1; None when undefined.
        p: two-sided p-value of "the rankings are unrelated"; None when undefined.
        n: systems.
        pairs: pairs of systems.
        concordant: pairs ranked alike.
        discordant: pairs ranked in opposite order.
        tied: pairs tied in either benchmark.
        signature: the number and how p was found.
        note: why something is undefined, or what to beware of.
    """

    tau: float | None
    p: float | None
    n: int
    pairs: int
    concordant: int
    discordant: int
    tied: int
    signature: Signature
    note: str = ""

    def as_score(self, interval: Interval | None = None) -> Score:
        """Return tau as a score, with the interval over questions when it is given."""
        low, high = (interval.low, interval.high) if interval is not None else (None, None)
        notes = [self.note, interval.note if interval is not None else ""]
        return Score(
            math.nan if self.tau is None else self.tau,
            self.signature,
            self.n,
            low,
            high,
            note="; ".join(text for text in notes if text),
        )


def rank_concurrence(a: ArrayLike, b: ArrayLike, *, families: Sequence[str] | None = None) -> Concurrence:
    """Kendall's tau-b of the scores that two benchmarks give to the same systems.

    ``tau = (C - D) / sqrt((C + D + T_a) (C + D + T_b))`` for C concordant and D discordant pairs and T_x pairs tied only
    in the other benchmark. p is exact without ties for up to 33 systems, otherwise a normal approximation (SciPy).

    Args:
        a: score of each system on the reference benchmark, shape (systems,).
        b: score of the same systems on the other benchmark.
        families: what each system is a version of (retriever, base model); repeated ones are noted, because such
            systems are not independent and p is then too small.

    Raises:
        MetricInputError: if lengths differ or a score is not finite.
    """
    first, second = _scores(a, "scores of a"), _scores(b, "scores of b")
    if first.size != second.size:
        raise MetricInputError(
            f"{first.size} scores of a, {second.size} of b", "give one score a system in both"
        )
    if families is not None and len(families) != first.size:
        raise MetricInputError(f"{len(families)} families for {first.size} systems")
    n = first.size
    upper = np.triu_indices(n, 1)
    signs = (_order(first[None])[0] * _order(second[None])[0])[upper]
    concordant, discordant = int((signs > 0).sum()), int((signs < 0).sum())
    pairs = n * (n - 1) // 2
    notes = _notes(n, families)
    tau = _tau_b(_order(first[None]), _order(second[None]))[0]
    signature = Signature("kendall_tau_b")
    if not math.isfinite(tau):
        why = "fewer than two systems have no order" if n < 2 else "all systems are tied in one benchmark"
        return Concurrence(
            None, None, n, pairs, concordant, discordant, pairs - concordant - discordant, signature, why
        )
    from scipy.stats import kendalltau

    ties = min(np.unique(first).size, np.unique(second).size) < n
    exact = not ties and n <= _EXACT_SYSTEMS
    p = float(kendalltau(first, second, method="exact" if exact else "asymptotic").pvalue)
    return Concurrence(
        float(tau),
        p if math.isfinite(p) else None,
        n,
        pairs,
        concordant,
        discordant,
        pairs - concordant - discordant,
        signature.having(p="exact" if exact else "asymptotic"),
        "; ".join(notes),
    )


def _scores(values: ArrayLike, what: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise MetricInputError(
            f"{what} must be finite numbers, one a system", "leave out systems that failed"
        )
    return found


def _notes(n: int, families: Sequence[str] | None) -> list[str]:
    notes = []
    if n < _FEW_SYSTEMS:
        notes.append(f"only {n} systems: no order of so few is unlikely by chance")
    repeated = sorted((name, k) for name, k in Counter(families or ()).items() if k > 1)
    if repeated:
        shown = ", ".join(f"{name} ×{k}" for name, k in repeated[:3]) + (", …" if len(repeated) > 3 else "")
        notes.append(f"systems of one family are not independent ({shown}): p is too small")
    return notes


def _order(scores: Floats) -> Floats:
    """Sign of the difference of every two systems, shape (rows, systems, systems); equal up to rounding is a tie."""
    gap = scores[:, :, None] - scores[:, None, :]
    size = np.abs(scores).max(axis=1, initial=1e-300)[:, None, None]
    return np.where(np.abs(gap) <= 1e-12 * size, 0.0, np.sign(gap))


def _tau_b(a: Floats, b: Floats) -> Floats:
    """Tau-b of each row; nan where all systems are tied."""
    agreement = (a * b).sum(axis=(1, 2))
    scale = np.sqrt((a * a).sum(axis=(1, 2)) * (b * b).sum(axis=(1, 2)))
    result: Floats = np.divide(agreement, scale, out=np.full(len(a), np.nan), where=scale > 0)
    return result


def concurrence_interval(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters_a: Sequence[str] | None = None,
    clusters_b: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap of tau-b over the questions of both benchmarks, drawn independently.

    It says how much of the concurrence hangs on the questions that happened to be asked; p of ``rank_concurrence`` takes the
    scores as given and speaks about systems.

    Args:
        a: marks on the reference benchmark, shape (questions, systems).
        b: marks on the other one, shape (other questions, the same systems).
        clusters_a: cluster of each question of ``a``; None when questions are independent.
        clusters_b: cluster of each question of ``b``.
        confidence: coverage aimed at.
        resamples: number of draws.
        seed: of the draws.

    Returns:
        The interval; without ends when a benchmark has fewer than two clusters or all draws are undefined.

    Raises:
        MetricInputError: if shapes do not fit, a mark is not finite or an option is out of range.
    """
    require_confidence(confidence)
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
    name = f"percentile-{100 * confidence:g}"
    sums = [_question_sums(a, clusters_a, "a"), _question_sums(b, clusters_b, "b")]
    if sums[0].shape[1] != sums[1].shape[1]:
        raise MetricInputError(
            f"{sums[0].shape[1] - 1} systems in a, {sums[1].shape[1] - 1} in b",
            "give the same systems in both",
        )
    if min(map(len, sums)) < 2:
        return Interval(None, None, name, "a benchmark has fewer than two questions (clusters)")
    generators = np.random.default_rng(seed).spawn(2)
    means = [_replicated_means(s, resamples, rng) for s, rng in zip(sums, generators, strict=True)]
    step = max(1, 2_000_000 // max(1, means[0].shape[1] ** 2))
    draws = np.concatenate(
        [
            _tau_b(_order(means[0][first : first + step]), _order(means[1][first : first + step]))
            for first in range(0, resamples, step)
        ]
    )
    defined = draws[np.isfinite(draws)]
    if not defined.size:
        return Interval(None, None, name, "no resample has a defined value")
    low, high = np.quantile(defined, interval_tails(confidence, min(map(len, sums))))
    lost = resamples - defined.size
    return Interval(float(low), float(high), name, f"{lost:,} undefined draws left out" if lost else "")


def _question_sums(marks: ArrayLike, clusters: Sequence[str] | None, what: str) -> Floats:
    data = np.asarray(marks, dtype=np.float64)
    if data.ndim != 2 or not data.shape[1]:
        raise MetricInputError(
            f"marks of {what} have shape {data.shape}", "the shape is (questions, systems)"
        )
    names: Sequence[str] = [f"{i:012}" for i in range(len(data))] if clusters is None else clusters
    if clusters is None:
        # Without clusters the order of questions must not matter either.
        data = data[np.lexsort(data.T[::-1])]
    return cluster_sums(np.concatenate([data.T, np.ones((1, len(data)))]), names)


def _replicated_means(sums: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    rows = np.concatenate(list(iter_resamples(sums, resamples=resamples, rng=rng)))
    result: Floats = rows[:, :-1] / rows[:, -1:]
    return result


_entry: Final = Entries("significance", "concurrence")

METRICS: Final = (
    _entry(
        "kendall_tau_b",
        "τ-b",
        "(C - D) / sqrt((C + D + T_a)(C + D + T_b)) over pairs of systems ranked by two benchmarks.",
        range="-1 to 1",
        function="rank_concurrence",
        signature="p:exact",
        citation="Kendall 1945; SMMQG tables 5 and 7",
        traps="Fewer than five systems show nothing; versions of one system are not independent. SMMQG table 7: BERTScore "
        "is 0.43 (printed 0.50), ROUGE 0.71 (printed 0.72); table 5 retrieval pools cut-offs of the same retrievers.",
    ),
)
