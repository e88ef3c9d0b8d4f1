"""Do annotators put the same steps in the same order, and do they name the same other orders?

Conventions: an order is a sequence of step ids, first step first (``order[t]`` is done at time t), never a list of
ranks; the two coincide only for some orders, so a file of ranks must be turned over first (``order_of_ranks``). All
orders of one instance hold the same ids, each once. An instance with fewer than two annotators or fewer than two
steps has no agreement: it is skipped and counted, never 1.

*Standard agreement* (Wu et al. 2022): Cohen's kappa of the one-hot vectors over all ordered pairs of steps, mean
over the pairs of annotators, then over instances. It equals Kendall's tau of the two orders: half of each vector is
ones, so chance is 1/2, and every inverted pair flips two cells. Both are here, and tests hold them together.

*Alternative orders* (6.2, 6.3): annotators who see the authored order list others that would do as well. With the
pairs that each of two orders inverts against the authored one, and a pairs inverted by both, b and c by one only,
kappa on the positions where either differs is ``-2bc / (b² + c² + a(b + c))``; identical orders score 1, by decision
(the kappa is 0/0). It is 1 for identical orders and never above 0 otherwise, so a mean of 0.75 says that most matches
are exact, mostly "no other order" on both sides.

**Erratum.** The paper's worked example (authored 123, orders 132 and 213) ends with the lists {0011} and {0110}. Its
own difference vectors, 000101 and 101000, have the union {1, 3, 4, 6} and give {0011} and {1100}: kappa is -1, not 0.

Better measures of the same lists, defined for empty ones too: the Jaccard index of the sets of acceptable orders (the
authored one belongs to both), of the sets of interchangeable pairs, and Krippendorff's alpha on pairs of steps
labelled fixed or interchangeable.

Reference: Wu et al. 2022 (arXiv 2110.08486), section on agreement and Algorithm 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.agreement import bootstrap_signature, ratio_score, require_resampling
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError, require_choice
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.ordering.orders import count_inversions
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "AlternativeInstance",
    "Matching",
    "Order",
    "Pair",
    "Penalty",
    "Pooling",
    "Step",
    "alternative_annotator_agreement",
    "alternative_instance_agreement",
    "alternative_order_agreement",
    "alternative_pair_score",
    "alternative_series_scores",
    "checked_instances",
    "distinct_orders",
    "instance_order_agreement",
    "interchangeable_pair_alpha",
    "interchangeable_pairs",
    "inverted_pairs",
    "majority_vote",
    "mean_or_none",
    "mean_over_instances",
    "naming_the_instance",
    "order_agreement",
    "order_of_ranks",
    "order_set_jaccard",
    "pair_set_jaccard",
    "places_in",
    "require_same_steps",
    "score_of_inversions",
    "series_by_name",
    "tau_of_orders",
]


# Orders of the same steps: checks, and tau of two orders.

Step = str | int
Order = Sequence[Step]


def require_same_steps(reference: Order, *others: Order) -> None:
    """Make sure that all orders hold the same ids, each once.

    Raises:
        MetricInputError: naming the first id that is there twice, missing or unknown.
    """
    orders = (reference, *others)
    try:
        known = set(reference)
        if all(len(o) == len(known) and not isinstance(o, str) and known == set(o) for o in orders):
            return
        counted = [Counter(order) for order in orders]
    except TypeError:
        raise MetricInputError("an order is a list of step ids, each a text or a number") from None
    for order, count in zip(orders, counted, strict=True):
        if isinstance(order, str):
            raise MetricInputError(f"an order is a list of step ids, got the text {order!r}", "split it")
        if twice := [step for step, n in count.items() if n > 1]:
            raise MetricInputError(f"the order {_shown(order)} holds the step {twice[0]!r} twice")
    for order in others:
        if known == set(order):
            continue
        missing, unknown = known - set(order), set(order) - known
        what = (
            f"lacks {min(missing, key=repr)!r}"
            if missing
            else f"has the unknown step {min(unknown, key=repr)!r}"
        )
        raise MetricInputError(
            f"the order {_shown(order)} {what}; the steps are those of {_shown(reference)}",
            "all orders of one instance must hold the same steps",
        )


def _shown(order: Order) -> str:
    shown = " ".join(map(str, order[:12]))
    return f"({shown}{' …' if len(order) > 12 else ''})"


def places_in(reference: Order, order: Order) -> NDArray[np.int64]:
    """For each step of ``order`` its place in ``reference``."""
    place: dict[Hashable, int] = {step: i for i, step in enumerate(reference)}
    return np.array([place[step] for step in order], dtype=np.int64)


def order_of_ranks(ranks: Sequence[int], steps: Order) -> tuple[Step, ...]:
    """Return the order in which ``ranks[i]`` says at which time (from 0) ``steps[i]`` is done.

    Raises:
        MetricInputError: if the ranks are not 0 to N-1, each once.
    """
    if sorted(ranks) != list(range(len(steps))):
        raise MetricInputError(f"ranks must be 0 to {len(steps) - 1}, each once, got {list(ranks)}")
    return tuple(step for _, step in sorted(zip(ranks, steps, strict=True), key=lambda pair: pair[0]))


def tau_of_orders(a: Order, b: Order) -> float | None:
    """Kendall's tau of two orders, None below two steps."""
    if len(a) < 2:
        return None
    pairs = len(a) * (len(a) - 1) // 2
    place: dict[Hashable, int] = {step: i for i, step in enumerate(a)}
    return (pairs - 2 * count_inversions(place[step] for step in b)) / pairs


def mean_or_none(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None


# One alternative order of each annotator, compared by the pairs of steps that they turn round.

Pair = tuple[Step, Step]


def inverted_pairs(gold: Order, order: Order) -> frozenset[Pair]:
    """Return the pairs of steps, as in ``gold``, that ``order`` turns round.

    Raises:
        MetricInputError: if the two do not hold the same ids.
    """
    require_same_steps(gold, order)
    rank: dict[Hashable, int] = {step: i for i, step in enumerate(order)}
    return frozenset((x, y) for x, y in combinations(gold, 2) if rank[x] > rank[y])


def score_of_inversions(one: frozenset[Pair], two: frozenset[Pair]) -> float:
    """Score two sets of inverted pairs: 1 where both turn round the same."""
    both, first, second = len(one & two), len(one - two), len(two - one)
    if not first and not second:
        return 1.0
    return -2.0 * first * second / (first**2 + second**2 + both * (first + second)) + 0.0


def alternative_pair_score(gold: Order, a: Order, b: Order) -> float:
    """Agreement f of two alternative orders, from -1 to 1, in closed form: 1 if identical, else 0 or below.

    Raises:
        MetricInputError: if the three do not hold the same ids.
    """
    return score_of_inversions(inverted_pairs(gold, a), inverted_pairs(gold, b))


# Series of alternative orders of two annotators: matched as Algorithm 1 does, and scored.

Matching = Literal["greedy", "hungarian"]
Penalty = Literal["union", "tau"]
Pooling = Literal["pooled", "pair_mean"]


def distinct_orders(series: Sequence[Order]) -> list[tuple[Step, ...]]:
    """Every order once, where it first stands."""
    return list(dict.fromkeys(tuple(order) for order in series))


def alternative_series_scores(
    gold: Order,
    a: Sequence[Order],
    b: Sequence[Order],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
) -> tuple[float, ...]:
    """Match two annotators' series of orders (Algorithm 1): the scores of the matches, then of what was left over.

    The best pair is taken first, ties by the place in the shorter series, then in the longer one (for series of equal
    length, by the place in ``a``, then ``b``). An order listed twice counts once. Both series empty: one score of 1,
    both say that there is no other order.

    Args:
        gold: the authored order.
        a: orders of one annotator.
        b: orders of the other.
        matching: ``greedy`` as published, or ``hungarian`` for the best total of the matched pairs.
        penalty: what an order without a partner scores: ``union`` is f against the authored order (0, or 1 if it is
            the authored order itself); ``tau`` is Kendall's tau against it.

    Raises:
        MetricInputError: if the orders do not all hold the same ids, or an option is unknown.
    """
    require_choice(matching, get_args(Matching), "matching")
    require_choice(penalty, get_args(Penalty), "penalty")
    short, long = sorted((distinct_orders(a), distinct_orders(b)), key=len)
    require_same_steps(gold)
    inverted = [[inverted_pairs(gold, order) for order in series] for series in (short, long)]
    if not long:
        return (1.0,)
    scores = np.array(
        [[score_of_inversions(x, y) for y in inverted[1]] for x in inverted[0]], dtype=np.float64
    )
    scores = scores.reshape(len(short), len(long))
    pairs = _greedy(scores) if matching == "greedy" else _best_total(scores)
    left = sorted(set(range(len(long))) - {n for _, n in pairs})
    found = [float(scores[pair]) for pair in pairs]
    return (*found, *(_penalty(gold, long[n], inverted[1][n], penalty) for n in left))


def _greedy(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The largest score first; equal ones by row, then column."""
    left = scores.copy()
    pairs = []
    for _ in range(min(scores.shape)):
        m, n = (int(i) for i in np.unravel_index(int(left.argmax()), left.shape))
        pairs.append((m, n))
        left[m, :] = left[:, n] = -np.inf
    return pairs


def _best_total(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    if not scores.size:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _penalty(gold: Order, order: Order, inverted: frozenset[Pair], penalty: Penalty) -> float:
    if penalty == "union":
        return score_of_inversions(frozenset(), inverted)
    tau = tau_of_orders(gold, order)
    return 1.0 if tau is None else tau


def alternative_instance_agreement(
    gold: Order,
    series: Sequence[Sequence[Order]],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
) -> float | None:
    """Agreement of one instance's series of alternative orders, -1 to 1; None below two annotators.

    Args:
        gold: the authored order.
        series: one list of orders an annotator, empty for "no other".
        matching: as in ``alternative_series_scores``.
        penalty: as there.
        pooling: ``pooled`` is the mean over all scores of all pairs of annotators (the paper's box); ``pair_mean`` the
            mean over pairs of the mean of each (its prose). They differ when series differ in length.

    Raises:
        MetricInputError: if the orders do not all hold the same ids, or an option is unknown.
    """
    require_choice(pooling, get_args(Pooling), "pooling")
    require_same_steps(gold, *(order for one in series for order in one))
    pairs = [
        alternative_series_scores(gold, a, b, matching=matching, penalty=penalty)
        for a, b in combinations(series, 2)
    ]
    if pooling == "pooled":
        return mean_or_none([score for scores in pairs for score in scores])
    return mean_or_none([math.fsum(scores) / len(scores) for scores in pairs])


# Agreement on the right order: mean over the pairs of annotators, then over instances.


def instance_order_agreement(orders: Sequence[Order]) -> float | None:
    """Mean over the pairs of annotators of one instance, -1 to 1; None below two annotators or two steps.

    Raises:
        MetricInputError: if not all orders hold the same ids.
    """
    if len(orders):
        require_same_steps(*orders)
    taus = [tau_of_orders(a, b) for a, b in combinations(orders, 2)]
    return mean_or_none([tau for tau in taus if tau is not None])


def order_agreement(
    instances: Mapping[str, Mapping[str, Order]],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Standard agreement of orders, -1 to 1: the mean over instances of the mean over pairs of annotators.

    Args:
        instances: instance id to annotator to order.
        clusters: instance id to what is drawn together; every instance alone when not given.
        confidence: of the percentile bootstrap interval over instances or clusters.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` instances, ``skipped`` those with one annotator or one step.

    Raises:
        MetricInputError: naming the instance, if its orders do not hold the same ids; or an option is out of range.
    """
    signature = bootstrap_signature("order_agreement", clusters, confidence, resamples, seed)
    values: dict[str, float | None] = {}
    for name, by in sorted(instances.items()):
        with naming_the_instance(name):
            values[name] = instance_order_agreement([by[who] for who in sorted(by)])
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


@contextmanager
def naming_the_instance(instance: str) -> Iterator[None]:
    """Let errors name the instance."""
    try:
        yield
    except MetricInputError as error:
        raise MetricInputError(f"instance {instance!r}: {error.message}", error.hint) from None


def mean_over_instances(
    values: Mapping[str, float | None],
    signature: Signature,
    clusters: Mapping[str, str] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Score:
    """Mean of the defined values, one an instance."""
    require_resampling(confidence, resamples, seed)
    defined = {name: value for name, value in sorted(values.items()) if value is not None}
    skipped = len(values) - len(defined)
    why = "no instance has two annotators and two steps" if values else "there is no instance"
    groups = None
    if clusters is not None:
        if lost := [name for name in defined if name not in clusters]:
            raise MetricInputError(f"instance {lost[0]!r} has no cluster", "give every instance one")
        groups = [clusters[name] for name in defined]
    columns = np.array([list(defined.values()), [1.0] * len(defined)])
    return ratio_score(
        columns, groups, signature, len(defined), why, confidence, resamples, seed, skipped=skipped
    )


# Agreement on alternative orders over instances, as a score and by pair of annotators.


@dataclass(frozen=True, slots=True)
class AlternativeInstance:
    """One instance of the alternative-orders task.

    Attributes:
        gold: the authored order.
        series: annotator to the orders that this one accepts beside it; an empty list says "no other".
    """

    gold: Order
    series: Mapping[str, Sequence[Order]]


def series_by_name(instance: AlternativeInstance) -> list[Sequence[Order]]:
    """The series in the order of the annotators' names; the place of an order in its list decides ties."""
    return [instance.series[who] for who in sorted(instance.series)]


def checked_instances(instances: Mapping[str, AlternativeInstance]) -> dict[str, AlternativeInstance]:
    """The instances by name, each with the same steps throughout."""
    for name, one in instances.items():
        with naming_the_instance(name):
            require_same_steps(one.gold, *(order for series in one.series.values() for order in series))
    return dict(sorted(instances.items()))


def alternative_order_agreement(
    instances: Mapping[str, AlternativeInstance],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement on alternative orders over a data set, -1 to 1: the mean over instances of Algorithm 1.

    Args:
        instances: instance id to its authored order and series. Annotators are taken by name; of two pairs of
            orders that score alike the one that was listed first is matched first.
        matching: as in ``alternative_series_scores``.
        penalty: as there.
        pooling: as in ``alternative_instance_agreement``.
        clusters: instance id to what is drawn together; every instance alone when not given.
        confidence: of the percentile bootstrap interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` instances, ``skipped`` those with fewer than two annotators.

    Raises:
        MetricInputError: naming the instance whose orders do not hold the same ids; or if an option is unknown.
    """
    signature = bootstrap_signature(
        "alternative_order_agreement", clusters, confidence, resamples, seed,
        matching=matching, penalty=penalty, pooling=pooling,
    )  # fmt: skip
    values = {
        name: alternative_instance_agreement(
            one.gold, series_by_name(one), matching=matching, penalty=penalty, pooling=pooling
        )
        for name, one in checked_instances(instances).items()
    }
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


def alternative_annotator_agreement(
    instances: Mapping[str, AlternativeInstance],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
) -> dict[str, tuple[float, int]]:
    """Each annotator's mean agreement with the others, and in how many pairs: who falls below a threshold is removed.

    Returns:
        Annotator, sorted, to the mean over pairs of the mean score of the pair, and the number of pairs.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    scores: dict[str, list[float]] = {}
    for one in checked_instances(instances).values():
        for (a, x), (b, y) in combinations(zip(sorted(one.series), series_by_name(one), strict=True), 2):
            found = alternative_series_scores(one.gold, x, y, matching=matching, penalty=penalty)
            for who in (a, b):
                scores.setdefault(who, []).append(math.fsum(found) / len(found))
    return {who: (math.fsum(found) / len(found), len(found)) for who, found in sorted(scores.items())}


# Alternative orders as sets: Jaccard indices, interchangeable pairs, and votes.


def interchangeable_pairs(gold: Order, series: Sequence[Order]) -> frozenset[Pair]:
    """Return the pairs of steps that some order of the series turns round; all others are fixed.

    Raises:
        MetricInputError: if the orders do not all hold the same ids.
    """
    return frozenset[Pair]().union(*(inverted_pairs(gold, order) for order in series))


def _set_score(
    name: str,
    instances: Mapping[str, AlternativeInstance],
    as_set: Callable[[Order, Sequence[Order]], frozenset[Any]],
    clusters: Mapping[str, str] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Score:
    values = {}
    for key, one in checked_instances(instances).items():
        sets = [as_set(one.gold, series) for series in series_by_name(one)]
        values[key] = mean_or_none(
            [(len(a & b) / len(a | b) if a or b else 1.0) for a, b in combinations(sets, 2)]
        )
    signature = bootstrap_signature(name, clusters, confidence, resamples, seed)
    return mean_over_instances(values, signature, clusters, confidence, resamples, seed)


def order_set_jaccard(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Jaccard index of two annotators' sets of acceptable orders, the authored one among them, 0 to 1.

    Mean over pairs of annotators, then over instances. Two empty lists give 1 (both accept the authored order only),
    one empty list beside k orders gives 1 / (k + 1).

    Args:
        instances: instance id to its authored order and series.
        clusters: as in ``alternative_order_agreement``, and so the other options.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    return _set_score(
        "order_set_jaccard", instances,
        lambda gold, series: frozenset({tuple(gold), *map(tuple, series)}),
        clusters, confidence, resamples, seed,
    )  # fmt: skip


def pair_set_jaccard(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Jaccard index of two annotators' sets of interchangeable pairs of steps, 0 to 1; both empty give 1.

    For one order each it is the Jaccard index of the paper's difference sets. Orders that are alike but not identical
    count as alike, which Algorithm 1 denies them.

    Args:
        instances: instance id to its authored order and series.
        clusters: as in ``alternative_order_agreement``, and so the other options.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``alternative_order_agreement``.
    """
    return _set_score(
        "pair_set_jaccard", instances, interchangeable_pairs, clusters, confidence, resamples, seed
    )  # fmt: skip


def interchangeable_pair_alpha(
    instances: Mapping[str, AlternativeInstance],
    *,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Krippendorff's alpha (nominal) on pairs of steps, labelled fixed or interchangeable by every annotator.

    Args:
        instances: instance id to its authored order and series.
        clusters: instance id to what is drawn together; whole instances are drawn when not given.
        confidence: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        The score; ``n`` counts pairs of steps with two annotators.

    Raises:
        MetricInputError: as ``alternative_order_agreement``, or if an instance has no cluster.
    """
    rows: list[list[str]] = []
    groups: list[str] = []
    for name, one in checked_instances(instances).items():
        if clusters is not None and name not in clusters:
            raise MetricInputError(f"instance {name!r} has no cluster", "give every instance one")
        free = [interchangeable_pairs(one.gold, series) for series in series_by_name(one)]
        for pair in combinations(one.gold, 2):
            rows.append(["interchangeable" if pair in found else "fixed" for found in free])
            groups.append(name if clusters is None else clusters[name])
    score = krippendorff_alpha(rows, clusters=groups, confidence=confidence, resamples=resamples, seed=seed)
    drawn = {"cluster": "instance" if clusters is None else "given"} if resamples else {}
    signature = Signature("interchangeable_pair_alpha", {**score.signature.parameters, **drawn})
    return Score(
        score.value, signature, score.n, score.low, score.high, skipped=score.skipped, note=score.note
    )


def majority_vote(
    gold: Order, series: Sequence[Sequence[Order]], *, quorum: int = 1
) -> tuple[tuple[Step, ...], ...]:
    """Return the reference orders of an instance: the authored one, then those that most annotators listed.

    An order is kept if strictly more than half of the instance's annotators listed it (with two annotators one vote
    is not enough). With fewer than ``quorum`` annotators there is no vote, and the authored order stands alone. Most
    votes first, then by the places of their steps in the authored order.

    Args:
        gold: the authored order, always the first reference.
        series: one list of orders an annotator, empty for "no other"; an order listed twice counts once.
        quorum: annotators that it takes to hold a vote.

    Raises:
        MetricInputError: if the orders do not all hold the same ids or the quorum is below 1.
    """
    if quorum < 1:
        raise MetricInputError(f"the quorum must be 1 or more, got {quorum}")
    require_same_steps(gold, *(order for one in series for order in one))
    votes = Counter(order for one in series for order in distinct_orders(one))
    held = len(series) >= quorum
    kept = [o for o, n in votes.items() if held and 2 * n > len(series) and o != tuple(gold)]
    return (tuple(gold), *sorted(kept, key=lambda o: (-votes[o], places_in(gold, o).tolist())))


# The metrics of this family, for the catalogue.

_BOOTSTRAP: Final = "interval:percentile-95|"
_REST: Final = "resamples:2000|seed:0"

_entry: Final = Entries("agreement", "order_agreement")

METRICS: Final = (
    _entry(
        "order_agreement",
        "order κ = τ",
        "Mean over instances of the mean over pairs of annotators of Cohen's kappa on one-hot vectors of "
        "ordered pairs of steps, which is Kendall's tau of the two orders.",
        range="-1 to 1",
        signature=f"cluster:item|{_BOOTSTRAP}{_REST}",
        citation="Wu et al. 2022",
        traps="Orders are sequences, not ranks. An instance with one annotator or one step is skipped, not 1.",
    ),
    _entry(
        "alternative_order_agreement",
        "alternatives (Alg. 1)",
        "Mean over instances of Algorithm 1: two series of orders are matched greedily by "
        "f = -2bc / (b² + c² + a(b + c)) on inverted pairs (1 if identical); what is left over scores against the "
        "authored order.",
        range="-1 to 1",
        signature=f"cluster:item|{_BOOTSTRAP}matching:greedy|penalty:union|pooling:pooled|{_REST}",
        citation="Wu et al. 2022, Algorithm 1",
        traps="Erratum: the paper's worked example prints {0110} where its own vectors give {1100}: f is -1, not 0. "
        "f is 1 or at most 0, so the value is mostly the share of exact matches; greedy matching is not the best one; "
        "box (pooled) and prose (mean of pairs) of the paper differ.",
    ),
    _entry(
        "order_set_jaccard",
        "Jaccard of orders",
        "Shared over all acceptable orders of two annotators, the authored one among them; mean over "
        "pairs of annotators, then instances.",
        signature=f"cluster:item|{_BOOTSTRAP}{_REST}",
        citation="ours",
        traps="Never 0, because both accept the authored order.",
    ),
    _entry(
        "pair_set_jaccard",
        "Jaccard of pairs",
        "Shared over all pairs of steps that two annotators' orders turn round against the authored "
        "order; both none is 1; mean over pairs of annotators, then instances.",
        signature=f"cluster:item|{_BOOTSTRAP}{_REST}",
        citation="ours (Jaccard of difference sets)",
        traps="Not corrected for chance: where most pairs are fixed for everybody read the alpha beside it.",
    ),
    _entry(
        "interchangeable_pair_alpha",
        "α of pairs",
        "Krippendorff's alpha on every pair of steps, labelled fixed or interchangeable by each annotator.",
        range="below 0 to 1",
        signature=f"cluster:instance|{_BOOTSTRAP}level:nominal|{_REST}",
        citation="ours",
        traps="Undefined when nobody lists another order.",
    ),
)
