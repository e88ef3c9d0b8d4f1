"""Agreement of annotators from one file: labels, orders, alternative orders, or segments in time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.metrics.agreement import (
    INDEPENDENT,
    Label,
    chance_agreement,
    chance_specific_agreement,
    cohen_kappa,
    fleiss_kappa,
    mean_pair_agreement,
    prevalence,
    raw_agreement,
    specific_agreement,
)
from proctor.metrics.figure import Bars, Figure, IntervalPlot, Matrix
from proctor.metrics.krippendorff import Level, krippendorff_alpha
from proctor.metrics.order_agreement import (
    Order,
    alternative_annotator_agreement,
    alternative_order_agreement,
    interchangeable_pair_alpha,
    majority_vote,
    order_agreement,
    order_set_jaccard,
    pair_set_jaccard,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.segment_agreement import (
    StepComparison,
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
    segment_counts,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.settings import fields_of
from proctor.stages.scoring.agreement_files import (
    Alternatives,
    Judged,
    Segments,
    read_alternatives,
    read_labels,
    read_orders,
    read_segments,
)
from proctor.stages.scoring.files import explained, read_table
from proctor.stages.scoring.options import AgreementSettings
from proctor.stages.scoring.settings import ScoreSettings
from proctor.stages.scoring.tables import defined, interval_plot

__all__ = [
    "MANY_PAIRS",
    "agreement_plot",
    "chance_row",
    "heat_map",
    "name_of_pair",
    "named_score",
    "score_agreement",
    "slice_note",
]


# Pictures of agreement: every two annotators, and values with intervals.

MANY_PAIRS: Final = 15

"""With more pairs of annotators than this, the heat-map alone shows them."""


def named_score(score: Score, **parameters: str) -> Score:
    """Return the score with choices of the stage in its signature."""
    if "cluster" not in score.signature.parameters:
        parameters.pop("cluster", None)
    return replace(score, signature=score.signature.having(**parameters))


def chance_row(row: ScoreRow, score: Score | None = None) -> ScoreRow:
    """The row of annotators who know nothing of each other; 0 where a measure is corrected for chance.

    A measure that these data leave undefined has no chance level either.
    """
    own = row.score.signature.parameters
    kept = {key: own[key] for key in ("label", "level", "pairs", "weights") if key in own}
    if score is None:
        score = Score(0.0, Signature(row.score.signature.name, INDEPENDENT), row.score.n)
    if math.isnan(row.score.value):
        score = replace(score, value=math.nan, note=row.score.note)
    return ScoreRow(row.metric, named_score(score, **kept), "independent annotators", chance=True)


def name_of_pair(a: str, b: str) -> str:
    """Name of the slice of two annotators."""
    return f"{a} – {b}"


def slice_note(slices: Mapping[str, object]) -> list[str]:
    """Say what ``all`` is where there are slices."""
    if len(slices) < 2:
        return []
    return ["'all' pools the units of all slices; slices are shown each, never averaged"]


def heat_map(title: str, annotators: Sequence[str], values: Mapping[tuple[str, str], float]) -> Matrix:
    """Agreement of every two annotators; nothing on the diagonal, nor where nothing is defined."""
    cells = tuple(
        tuple(defined(values.get((min(a, b), max(a, b)), math.nan)) if a != b else None for b in annotators)
        for a in annotators
    )
    lowest = min((v for row in cells for v in row if v is not None), default=0.0)
    return Matrix(
        title=title, rows=tuple(annotators), columns=tuple(annotators), cells=cells, kind="values",
        row_title="annotator", column_title="annotator", low=min(0.0, math.floor(lowest * 10) / 10), high=1.0,
    )  # fmt: skip


def agreement_plot(title: str, rows: Iterable[ScoreRow]) -> IntervalPlot:
    """Values of rows with their intervals, on one scale up to 1."""
    shown = list(rows)
    lows = [row.score.low for row in shown if row.score.low is not None]
    values = [row.score.value for row in shown if not math.isnan(row.score.value)]
    lowest = min([0.0, *lows, *values])
    return interval_plot(
        title,
        ((f"{row.slice}: {row.metric}", row.score) for row in shown),
        scale=(math.floor(lowest * 10) / 10, 1.0),
    )


_FEW_LABELS: Final = 6

"""With more labels than this, their specific agreement and prevalence are left out of the table."""

_ONE_SIDED: Final = 0.9


def score_labels(judged: Judged[Label], drawn: AgreementSettings) -> ScoreTable:
    """Score labels: all pooled, by slice, by pair, and the mean of the pairs."""
    level = drawn.level
    rows = [
        row
        for name, units in judged.slices.items()
        for row in _label_rows(judged, judged.within(units), name, level, drawn)
    ]
    pairs = list(judged.pairs())
    of_pairs = drawn if len(pairs) <= MANY_PAIRS else msgspec.structs.replace(drawn, resamples=0)
    by_pair = {(a, b): _main_rows(judged, both, name_of_pair(a, b), level, of_pairs) for a, b, both in pairs}
    if len(pairs) > 1:
        rows += _mean_rows(judged, level, drawn)
        if len(pairs) <= MANY_PAIRS:
            rows += [row for found in by_pair.values() for row in found]
    rows += _chance_rows(judged, [row for row in rows if row.slice == "all"])
    counts = judged.counts(sum(map(len, judged.said.values())) + judged.missing)
    if judged.missing:
        counts["labels missing"] = judged.missing
    main = {row.metric: row for row in rows if row.slice == "all"}
    mean = next(
        (row.score.value for row in rows if (row.slice, row.metric) == ("mean of pairs", "raw")), math.nan
    )
    return ScoreTable(
        family="agreement",
        rows=tuple(rows),
        headline={
            "raw": main["raw"].score.value,
            "kappa": main["κ"].score.value,
            "alpha": main["α"].score.value,
            "raw_mean_of_pairs": mean,
        },
        counts=counts,
        notes=(*judged.doubtful, *_label_notes(judged)),
        figures=_label_figures(judged, rows, by_pair),
    )


def _pooled_pairs(
    said: Mapping[str, Mapping[str, Label]],
) -> tuple[list[Label], list[Label], list[str]]:
    """All pairs of labels of a unit, the annotator whose name sorts first on the left, and their units."""
    found = [
        (by[a], by[b], unit) for unit, by in sorted(said.items()) for a, b in combinations(sorted(by), 2)
    ]
    return [p[0] for p in found], [p[1] for p in found], [p[2] for p in found]


def _rating_rows(
    judged: Judged[Label], said: Mapping[str, Mapping[str, Label]]
) -> tuple[list[list[Label]], list[str]]:
    """Labels of each unit, and its cluster."""
    units = sorted(said)
    clusters = [u if judged.cluster_of is None else judged.cluster_of[u] for u in units]
    return [list(said[u].values()) for u in units], clusters


def _kappas(level: Level) -> dict[str, Literal["none", "linear", "quadratic"]]:
    if level == "nominal":
        return {"κ": "none"}
    return {"κ": "none", "κ linear": "linear", "κ quadratic": "quadratic"}


def _label_rows(
    judged: Judged[Label],
    said: Mapping[str, Mapping[str, Label]],
    name: str,
    level: Level,
    drawn: ScoreSettings,
) -> list[ScoreRow]:
    options = drawn.resampling
    a, b, units = _pooled_pairs(said)
    clusters = units if judged.cluster_of is None else [judged.cluster_of[u] for u in units]
    choice = {"cluster": judged.cluster_name, "pairs": "pooled"}
    rows = _main_rows(judged, said, name, level, drawn, pairs="pooled")
    if judged.cluster_of is not None or len(set(units)) < len(units):
        clustered = raw_agreement(a, b, clusters=clusters, **options)
        rows.insert(1, ScoreRow("raw, clustered", named_score(clustered, **choice), name))
    if level == "nominal" and any(len(by) > 2 for by in said.values()):
        ratings, groups = _rating_rows(judged, said)
        fleiss = fleiss_kappa(ratings, clusters=groups, **options)
        rows.append(ScoreRow("Fleiss κ", named_score(fleiss, cluster=judged.cluster_name), name))
    known = _known(judged)
    for label in known if len(known) <= _FEW_LABELS else ():
        shown = _shown(label)
        specific = specific_agreement(a, b, label, clusters=clusters, **options)
        rows.append(ScoreRow(f"specific {shown}", named_score(specific, **choice), name))
        share = prevalence(a, b, label, clusters=clusters, **options)
        rows.append(ScoreRow(f"prevalence {shown}", named_score(share, **choice), name))
    return rows


def _chance_rows(judged: Judged[Label], rows: Sequence[ScoreRow]) -> Iterator[ScoreRow]:
    """What annotators would get who use the labels as often, without looking; prevalence has no such level."""
    a, b, _ = _pooled_pairs(judged.said)
    specific = {f"specific {_shown(label)}": label for label in _known(judged)}
    for row in rows:
        if row.metric in ("raw", "raw, clustered"):
            yield chance_row(row, chance_agreement(a, b))
        elif row.metric in specific:
            yield chance_row(row, chance_specific_agreement(a, b, specific[row.metric]))
        elif not row.metric.startswith("prevalence "):
            yield chance_row(row)


def _shown(label: Label) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _known(judged: Judged[Label]) -> tuple[Label, ...]:
    """The labels that occur, in their order."""
    seen = {label for by in judged.said.values() for label in by.values()}
    if judged.values is not None:
        return tuple(v for v in judged.values if v in seen)
    return tuple(sorted(seen))


def _main_rows(
    judged: Judged[Label],
    said: Mapping[str, Mapping[str, Label]],
    name: str,
    level: Level,
    drawn: ScoreSettings,
    **pairs: str,
) -> list[ScoreRow]:
    """Raw agreement, kappa and alpha of these units: of all pairs pooled, or of two annotators."""
    a, b, units = _pooled_pairs(said)
    clusters = units if judged.cluster_of is None else [judged.cluster_of[u] for u in units]
    rows = [ScoreRow("raw", named_score(raw_agreement(a, b, confidence=drawn.confidence), **pairs), name)]
    for metric, weights in _kappas(level).items():
        kappa = cohen_kappa(
            a, b, weights=weights, values=judged.values, clusters=clusters, **drawn.resampling
        )
        rows.append(ScoreRow(metric, named_score(kappa, cluster=judged.cluster_name, **pairs), name))
    ratings, groups = _rating_rows(judged, said)
    alpha = krippendorff_alpha(
        ratings, level=level, values=judged.values, clusters=groups, **drawn.resampling
    )
    return [*rows, ScoreRow("α", named_score(alpha, cluster=judged.cluster_name), name)]


def _mean_rows(judged: Judged[Label], level: Level, drawn: ScoreSettings) -> list[ScoreRow]:
    labels: dict[str, dict[str, Label]] = {who: {} for who in judged.annotators}
    for unit, by in judged.said.items():
        for who, label in by.items():
            labels[who][unit] = label
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.resampling}
    choice = {"cluster": judged.cluster_name}
    rows = [ScoreRow("raw", named_score(mean_pair_agreement(labels, **options), **choice), "mean of pairs")]
    for label, weights in _kappas(level).items():
        kappa = mean_pair_agreement(labels, "kappa", weights=weights, values=judged.values, **options)
        rows.append(ScoreRow(label, named_score(kappa, **choice), "mean of pairs"))
    return rows


def _label_notes(judged: Judged[Label]) -> list[str]:
    notes = []
    used = Counter(label for by in judged.said.values() if len(by) > 1 for label in by.values())
    if used:
        label, times = max(used.items(), key=lambda item: (item[1], repr(item[0])))
        share = times / used.total()
        if len(used) > 1 and share >= _ONE_SIDED:
            notes.append(
                f"{100 * share:.0f} % of the labels are {_shown(label)!r}: kappa and alpha say little; "
                "are units that were rejected missing from the file?"
            )
    else:
        notes.append("no unit has labels of two annotators: nothing can be compared")
    if judged.cluster_of is not None or any(len(by) > 2 for by in judged.said.values()):
        notes.append(
            f"the interval of 'raw' (Wilson) takes pairs of labels for independent; 'raw, clustered' draws whole "
            f"{judged.cluster_name}s, as do all the others"
        )
    return notes + slice_note(judged.slices)


def _label_figures(
    judged: Judged[Label], rows: Sequence[ScoreRow], by_pair: Mapping[tuple[str, str], Sequence[ScoreRow]]
) -> tuple[Figure, ...]:
    figures: list[Figure] = []
    if by_pair:
        for metric, title in (
            ("raw", "Raw agreement of every two annotators"),
            ("κ", "Cohen's κ of every two annotators"),
        ):
            values = {
                pair: row.score.value
                for pair, found in by_pair.items()
                for row in found
                if row.metric == metric
            }
            figures.append(heat_map(title, judged.annotators, values))
        figures += _confusions(judged, by_pair)
    shown = [
        row for row in rows if row.slice in judged.slices and row.metric in ("raw", "κ", "κ quadratic", "α")
    ]
    figures.append(agreement_plot("Agreement with intervals", shown))
    return tuple(figures)


def _confusions(
    judged: Judged[Label], by_pair: Mapping[tuple[str, str], Sequence[ScoreRow]]
) -> Iterator[Matrix]:
    """Labels of two annotators against each other: all pairs pooled, then the pair with the lowest raw agreement."""
    a, b, _ = _pooled_pairs(judged.said)
    known = _known(judged)
    if len(by_pair) > 1:
        first = "label of the annotator whose name sorts first"
        yield _confusion("Labels, all pairs of annotators", known, a, b, first, "label of the other")
    one, two = min(by_pair, key=lambda pair: (by_pair[pair][0].score.value, pair))
    both = [by for by in judged.said.values() if one in by and two in by]
    title = f"Labels of {one} and {two}" + (", the pair that agrees least" if len(by_pair) > 1 else "")
    first, second = f"label of {one}", f"label of {two}"
    yield _confusion(title, known, [by[one] for by in both], [by[two] for by in both], first, second)


def _confusion(
    title: str,
    known: Sequence[Label],
    a: Sequence[Label],
    b: Sequence[Label],
    row_title: str,
    column_title: str,
) -> Matrix:
    cells = Counter(zip(a, b, strict=True))
    names = tuple(map(_shown, known))
    return Matrix(
        title=title, rows=names, columns=names,
        cells=tuple(tuple(float(cells[x, y]) for y in known) for x in known),
        kind="counts", row_title=row_title, column_title=column_title,
    )  # fmt: skip


def score_orders(judged: Judged[Order], drawn: ScoreSettings) -> ScoreTable:
    """Score orders: all, by slice and by pair."""
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.resampling}

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


def score_alternatives(read: Alternatives, drawn: AgreementSettings) -> ScoreTable:
    """Score alternative orders: all, by slice and by annotator."""
    judged, matching, penalty, quorum = read.judged, drawn.matching, drawn.penalty, drawn.quorum
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.resampling}
    algorithm: dict[str, Any] = {"matching": matching, "penalty": penalty, "pooling": drawn.pooling}
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


_FEW_STEPS: Final = 30


def score_segments(read: Segments, drawn: AgreementSettings) -> ScoreTable:
    """Score segments: all, by slice, by pair and by step."""
    comparisons = compare_segments(read.said)
    rows = [
        row
        for name, recordings in read.slices.items()
        for row in _segment_rows([c for c in comparisons if c.recording in recordings], name, drawn)
    ]
    names = sorted({(c.a, c.b) for c in comparisons})
    of_pair = {pair: [c for c in comparisons if (c.a, c.b) == pair] for pair in names}
    if 1 < len(names) <= MANY_PAIRS:
        for (a, b), found in of_pair.items():
            rows += _segment_rows(found, name_of_pair(a, b), drawn)
    steps = sorted({c.step for c in comparisons})
    if 1 < len(steps) <= _FEW_STEPS:
        for step in steps:
            rows += _segment_rows([c for c in comparisons if c.step == step], f"step {step}", drawn)
    annotators = sorted({who for by in read.said.values() for who in by})
    figures: list[Figure] = []
    if of_pair:
        values = {pair: mean_segment_iou(found, resamples=0).value for pair, found in of_pair.items()}
        figures.append(heat_map("Mean IoU per step of every two annotators", annotators, values))
    if len(steps) > 1:
        figures.append(_step_bars(comparisons, steps))
    shares = [r for r in rows if r.slice in read.slices and not r.metric.endswith(" s")]
    figures.append(agreement_plot("Agreement of segments", shares))
    alone = sum(len(by) < 2 for by in read.said.values())
    notes = [
        "no chance level: what unrelated segments share hangs on where annotators could have marked anything",
        "an annotator who marked nothing in a recording has no row there, and is not compared on it",
    ]
    return ScoreTable(
        family="agreement", rows=tuple(rows), headline={"mean_segment_iou": rows[0].score.value},
        counts={
            "rows": read.rows, "recordings": len(read.said), "annotators": len(annotators),
            "recordings with one annotator": alone, **segment_counts(comparisons),
        },
        notes=(*notes, *slice_note(read.slices)), figures=tuple(figures),
    )  # fmt: skip


def _step_bars(comparisons: Sequence[StepComparison], steps: Sequence[str]) -> Bars:
    """Mean IoU of each step, the lowest first; of many steps those on which annotators agree least."""
    found = [
        (mean_segment_iou([c for c in comparisons if c.step == step], resamples=0), step) for step in steps
    ]
    lowest = sorted(found, key=lambda pair: (pair[0].value, pair[1]))[:_FEW_STEPS]
    return Bars(
        title="Mean IoU by step"
        + (f", the {_FEW_STEPS} lowest of {len(steps)}" if len(steps) > _FEW_STEPS else ""),
        labels=tuple(step for _, step in lowest),
        values=tuple(score.value for score, _ in lowest),
        counts=tuple(score.n for score, _ in lowest),
        high=1.0,
    )


def _segment_rows(
    comparisons: Sequence[StepComparison], name: str, drawn: AgreementSettings
) -> list[ScoreRow]:
    options = drawn.resampling
    rows = [
        ScoreRow("IoU", mean_segment_iou(comparisons, **options), name),
        ScoreRow("IoU where both", mean_segment_iou(comparisons, missing="skip", **options), name),
    ]
    for side in ("start", "end"):
        for quantile, label in ((0.5, "median"), (0.9, "p90")):
            error = boundary_error(comparisons, quantile, boundary=side, **options)
            rows.append(ScoreRow(f"{side} {label} s", error, name, digits=2))
    rows += [
        ScoreRow(f"F1@{threshold:g}", detection_agreement(comparisons, threshold, **options), name)
        for threshold in drawn.thresholds
    ]
    return rows


_OF_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "level": ("labels",),
    "order": ("labels",),
    "missing": ("labels",),
    "cluster": ("labels", "orders", "alternatives"),
    "semantics": ("orders", "alternatives"),
    "matching": ("alternatives",),
    "penalty": ("alternatives",),
    "pooling": ("alternatives",),
    "quorum": ("alternatives",),
    "thresholds": ("segments",),
}
"""Options that not all kinds have."""


def score_agreement(settings: AgreementSettings) -> ScoreTable:
    """Score how far the annotators of a file agree.

    Raises:
        UserError: if the file or an option is wrong; a unit that one annotator judged twice is named.
    """
    kind, cluster, slices = settings.kind, settings.cluster, settings.slices
    for option in fields_of(AgreementSettings):
        kinds = _OF_KINDS.get(option.name, (kind,))
        if getattr(settings, option.name) != option.default and kind not in kinds:
            raise UserError(
                f"the option {option.name!r} does not go with {kind}; it belongs to {' and '.join(kinds)}.",
                hint="segments are always drawn by recording" if option.name == "cluster" else "leave it out",
            )
    table = read_table(settings.file)
    with explained(settings.file):
        if kind == "labels":
            return score_labels(read_labels(table, settings), settings)
        if kind == "orders":
            return score_orders(read_orders(table, settings.semantics, cluster, slices), settings)
        if kind == "alternatives":
            return score_alternatives(read_alternatives(table, settings.semantics, cluster, slices), settings)
        return score_segments(read_segments(table, slices), settings)
