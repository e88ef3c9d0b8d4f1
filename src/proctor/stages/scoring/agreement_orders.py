"""Agreement on orders, and on alternative orders beside an authored one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proctor.metrics.figure import Figure
from proctor.metrics.order_agreement import (
    Matching,
    Order,
    Penalty,
    Pooling,
    alternative_annotator_agreement,
    alternative_order_agreement,
    interchangeable_pair_alpha,
    majority_vote,
    order_agreement,
    order_set_jaccard,
    pair_set_jaccard,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.agreement_figures import agreement_plot, heat_map
from proctor.stages.scoring.agreement_files import Alternatives, Judged
from proctor.stages.scoring.agreement_rows import (
    MANY_PAIRS,
    Resampling,
    chance_row,
    name_of_pair,
    named_score,
    slice_note,
)

__all__ = ["score_alternatives", "score_orders"]


def score_orders(judged: Judged[Order], drawn: Resampling) -> ScoreTable:
    """Score orders: all, by slice and by pair."""
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.options()}

    def row(said: Mapping[str, Mapping[str, Order]], name: str) -> ScoreRow:
        return ScoreRow(
            "κ = τ", named_score(order_agreement(said, **options), cluster=judged.cluster_name), name
        )

    rows = [row(judged.within(units), name) for name, units in judged.slices.items()]
    pairs = list(judged.pairs())
    if len(pairs) > MANY_PAIRS:
        options["resamples"] = 0  # their intervals are shown nowhere
    by_pair = {(a, b): row(both, name_of_pair(a, b)) for a, b, both in pairs}
    if 1 < len(by_pair) <= MANY_PAIRS:
        rows += by_pair.values()
    rows.append(chance_row(rows[0]))
    figures: list[Figure] = []
    if by_pair:
        values = {pair: found.score.value for pair, found in by_pair.items()}
        figures.append(
            heat_map("Agreement of orders (κ = τ) of every two annotators", judged.annotators, values)
        )
    figures.append(agreement_plot("Agreement of orders", (r for r in rows if r.slice in judged.slices)))
    notes = [
        "κ on the one-hot vectors of ordered pairs of steps equals Kendall's τ; units with one annotator or one step are skipped"
    ]
    return ScoreTable(
        family="agreement", rows=tuple(rows), headline={"order_agreement": rows[0].score.value},
        counts=judged.counts(sum(map(len, judged.said.values()))),
        notes=(*notes, *slice_note(judged.slices)), figures=tuple(figures),
    )  # fmt: skip


def score_alternatives(
    read: Alternatives, choice: tuple[Matching, Penalty, Pooling], quorum: int, drawn: Resampling
) -> ScoreTable:
    """Score alternative orders: all, by slice and by annotator."""
    judged, (matching, penalty, pooling) = read.judged, choice
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.options()}
    algorithm: dict[str, Any] = {"matching": matching, "penalty": penalty, "pooling": pooling}
    metrics: dict[str, Callable[..., Score]] = {
        "Algorithm 1": lambda instances: alternative_order_agreement(instances, **algorithm, **options),
        "Jaccard of orders": lambda instances: order_set_jaccard(instances, **options),
        "Jaccard of pairs": lambda instances: pair_set_jaccard(instances, **options),
        "α of pairs": lambda instances: interchangeable_pair_alpha(instances, **options),
    }
    rows = []
    for name, units in judged.slices.items():
        instances = read.instances(judged.within(units))
        rows += [
            ScoreRow(metric, named_score(score(instances), cluster=judged.cluster_name), name)
            for metric, score in metrics.items()
        ]
    everything = read.instances(judged.said)
    signature = Signature("alternative_annotator_agreement", {"matching": matching, "penalty": penalty})
    for who, (value, n) in alternative_annotator_agreement(
        everything, matching=matching, penalty=penalty
    ).items():
        rows.append(ScoreRow("Algorithm 1", Score(value, signature, n), f"{who} with the others"))
    rows.append(next(chance_row(row) for row in rows if row.metric == "α of pairs"))
    references = {
        unit: majority_vote(one.gold, list(one.series.values()), quorum=quorum)
        for unit, one in sorted(everything.items())
    }
    figures: list[Figure] = []
    pairs = {(a, b): read.instances(both) for a, b, both in judged.pairs()}
    if pairs:
        values = {
            pair: alternative_order_agreement(instances, **algorithm, resamples=0).value
            for pair, instances in pairs.items()
        }
        figures.append(heat_map("Agreement on alternative orders (Algorithm 1)", judged.annotators, values))
    figures.append(
        agreement_plot("Agreement on alternative orders", (r for r in rows if r.slice in judged.slices))
    )
    notes = [
        (
            "no chance level of Algorithm 1 and the Jaccards: it hangs on how many orders an annotator could have listed"
        ),
        (
            "a pair of orders scores 1 if identical and otherwise 0 or less, so Algorithm 1 is mostly the share of "
            "exact matches; the other columns give credit to orders that are alike"
        ),
        (
            "references: an order that more than half of a unit's annotators listed "
            f"(quorum {quorum}), the authored order first"
        ),
    ]
    return ScoreTable(
        family="agreement", rows=tuple(rows),
        headline={"algorithm_1": rows[0].score.value, "references": references},
        counts={
            **judged.counts(sum(map(len, judged.said.values()))),
            "units with several references": sum(len(found) > 1 for found in references.values()),
        },
        notes=(*notes, *slice_note(judged.slices)), figures=tuple(figures),
    )  # fmt: skip
