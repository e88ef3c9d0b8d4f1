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

from proctor.metrics.order_agreement.alternatives import (
    AlternativeInstance,
    alternative_annotator_agreement,
    alternative_order_agreement,
)
from proctor.metrics.order_agreement.entries import METRICS
from proctor.metrics.order_agreement.inversions import (
    alternative_pair_kappa,
    alternative_pair_score,
    inverted_pairs,
)
from proctor.metrics.order_agreement.orders import (
    Order,
    order_of_ranks,
    order_pair_kappa,
    order_pair_tau,
    pair_vector,
)
from proctor.metrics.order_agreement.series import (
    Matching,
    Penalty,
    Pooling,
    alternative_instance_agreement,
    alternative_series_scores,
)
from proctor.metrics.order_agreement.sets import (
    interchangeable_pair_alpha,
    interchangeable_pairs,
    majority_vote,
    order_set_jaccard,
    pair_set_jaccard,
)
from proctor.metrics.order_agreement.standard import instance_order_agreement, order_agreement

__all__ = [
    "METRICS",
    "AlternativeInstance",
    "Matching",
    "Order",
    "Penalty",
    "Pooling",
    "alternative_annotator_agreement",
    "alternative_instance_agreement",
    "alternative_order_agreement",
    "alternative_pair_kappa",
    "alternative_pair_score",
    "alternative_series_scores",
    "instance_order_agreement",
    "interchangeable_pair_alpha",
    "interchangeable_pairs",
    "inverted_pairs",
    "majority_vote",
    "order_agreement",
    "order_of_ranks",
    "order_pair_kappa",
    "order_pair_tau",
    "order_set_jaccard",
    "pair_set_jaccard",
    "pair_vector",
]
