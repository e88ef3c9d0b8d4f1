"""Agreement on labels: raw, kappa and alpha of all, of every pair, and the mean of the pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, Literal

from proctor.metrics.agreement import (
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
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.krippendorff import Level, krippendorff_alpha
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.agreement_figures import agreement_plot, heat_map
from proctor.stages.scoring.agreement_files import Judged
from proctor.stages.scoring.agreement_rows import (
    MANY_PAIRS,
    Resampling,
    chance_row,
    name_of_pair,
    named_score,
    slice_note,
)

__all__ = ["score_labels"]

_FEW_LABELS: Final = 6
"""With more labels than this, their specific agreement and prevalence are left out of the table."""
_ONE_SIDED: Final = 0.9


def score_labels(judged: Judged[Label], level: Level, drawn: Resampling) -> ScoreTable:
    """Score labels: all pooled, by slice, by pair, and the mean of the pairs."""
    rows = [
        row
        for name, units in judged.slices.items()
        for row in _label_rows(judged, judged.within(units), name, level, drawn)
    ]
    pairs = list(judged.pairs())
    of_pairs = drawn if len(pairs) <= MANY_PAIRS else replace(drawn, resamples=0)
    by_pair = {(a, b): _pair_rows(judged, a, b, both, level, of_pairs) for a, b, both in pairs}
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
    drawn: Resampling,
) -> list[ScoreRow]:
    options = drawn.options()
    a, b, units = _pooled_pairs(said)
    clusters = units if judged.cluster_of is None else [judged.cluster_of[u] for u in units]
    choice = {"cluster": judged.cluster_name, "pairs": "pooled"}
    rows = [
        ScoreRow("raw", named_score(raw_agreement(a, b, confidence=drawn.confidence), pairs="pooled"), name)
    ]
    if judged.cluster_of is not None or len(set(units)) < len(units):
        clustered = raw_agreement(a, b, clusters=clusters, **options)
        rows.append(ScoreRow("raw, clustered", named_score(clustered, **choice), name))
    for metric, weights in _kappas(level).items():
        kappa = cohen_kappa(a, b, weights=weights, values=judged.values, clusters=clusters, **options)
        rows.append(ScoreRow(metric, named_score(kappa, **choice), name))
    ratings, groups = _rating_rows(judged, said)
    alpha = krippendorff_alpha(ratings, level=level, values=judged.values, clusters=groups, **options)
    rows.append(ScoreRow("α", named_score(alpha, cluster=judged.cluster_name), name))
    if level == "nominal" and any(len(by) > 2 for by in said.values()):
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


def _pair_rows(
    judged: Judged[Label],
    a: str,
    b: str,
    both: Mapping[str, Mapping[str, Label]],
    level: Level,
    drawn: Resampling,
) -> list[ScoreRow]:
    """Raw agreement, kappa and alpha of two annotators on the units that both labelled."""
    units, options = sorted(both), drawn.options()
    one, two = [both[u][a] for u in units], [both[u][b] for u in units]
    clusters = units if judged.cluster_of is None else [judged.cluster_of[u] for u in units]
    name, drawn_from = name_of_pair(a, b), {"cluster": judged.cluster_name}
    rows = [ScoreRow("raw", named_score(raw_agreement(one, two, confidence=drawn.confidence)), name)]
    for label, weights in _kappas(level).items():
        kappa = cohen_kappa(one, two, weights=weights, values=judged.values, clusters=clusters, **options)
        rows.append(ScoreRow(label, named_score(kappa, **drawn_from), name))
    alpha = krippendorff_alpha(
        list(zip(one, two, strict=True)), level=level, values=judged.values, clusters=clusters, **options
    )
    return [*rows, ScoreRow("α", named_score(alpha, **drawn_from), name)]


def _mean_rows(judged: Judged[Label], level: Level, drawn: Resampling) -> list[ScoreRow]:
    labels: dict[str, dict[str, Label]] = {who: {} for who in judged.annotators}
    for unit, by in judged.said.items():
        for who, label in by.items():
            labels[who][unit] = label
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.options()}
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
