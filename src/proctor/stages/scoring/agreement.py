"""Agreement of annotators from one file: labels, orders, alternative orders, or segments in time."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from proctor.errors import UserError
from proctor.metrics.agreement import (
    Label,
    cohen_kappa,
    fleiss_kappa,
    mean_pair_agreement,
    prevalence,
    raw_agreement,
    require_resampling,
    specific_agreement,
)
from proctor.metrics.figure import Bars, Figure, IntervalPlot, Matrix
from proctor.metrics.krippendorff import Level, krippendorff_alpha
from proctor.metrics.order_agreement import (
    AlternativeInstance,
    Matching,
    Order,
    Penalty,
    Pooling,
    alternative_annotator_agreement,
    alternative_order_agreement,
    interchangeable_pair_alpha,
    majority_vote,
    order_agreement,
    order_of_ranks,
    order_set_jaccard,
    pair_set_jaccard,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.segment_agreement import (
    DETECTION_THRESHOLDS,
    StepComparison,
    TimedStep,
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
    segment_counts,
)
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import Table, explained, read_table

__all__ = ["KINDS", "Kind", "Resampling", "Semantics", "score_agreement"]

T = TypeVar("T")
Kind = Literal["labels", "orders", "alternatives", "segments"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Semantics = Literal["order", "ranks"]

_UNIT: Final = ("unit", "item", "item_id", "instance", "id")
_ANNOTATOR: Final = ("annotator", "annotator_id", "worker_id", "rater", "coder")
_LABEL: Final = ("label", "value", "rating")
_CLUSTER: Final = ("cluster", "recording", "recording_id")
_RECORDING: Final = ("recording", "recording_id", "video-id", "video_id", "unit")
_STEP: Final = ("step", "step_id", "label")
_START: Final = ("start", "start_time", "t-start")
_END: Final = ("end", "end_time", "t-end")

_OPTIONS: Final[Mapping[str, tuple[object, tuple[Kind, ...]]]] = {
    "level": ("nominal", ("labels",)),
    "order": ((), ("labels",)),
    "cluster": (None, ("labels", "orders", "alternatives")),
    "semantics": ("order", ("orders", "alternatives")),
    "matching": ("greedy", ("alternatives",)),
    "penalty": ("union", ("alternatives",)),
    "pooling": ("pooled", ("alternatives",)),
    "quorum": (1, ("alternatives",)),
    "thresholds": (DETECTION_THRESHOLDS, ("segments",)),
}
"""Of options that not all kinds have: the default, and the kinds."""
_FEW_LABELS: Final = 6
"""With more labels than this, their specific agreement and prevalence are left out of the table."""
_FEW_STEPS: Final = 30
_ONE_SIDED: Final = 0.9
_MANY_PAIRS: Final = 15
"""With more pairs of annotators than this, the heat-map alone shows them."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Options of all intervals.

    Attributes:
        confidence: level.
        resamples: draws of the bootstrap; 0 leaves the intervals out.
        seed: of the draws.
    """

    confidence: float = 0.95
    resamples: int = 2_000
    seed: int = 0

    def options(self) -> dict[str, Any]:
        """Return them as keyword arguments of the metrics."""
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}


def score_agreement(
    path: Path,
    kind: Kind = "labels",
    *,
    level: Level = "nominal",
    order: Sequence[str] = (),
    cluster: str | None = None,
    slices: Sequence[str] = (),
    semantics: Semantics = "order",
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
    quorum: int = 1,
    thresholds: Sequence[float] = DETECTION_THRESHOLDS,
    resampling: Resampling | None = None,
) -> ScoreTable:
    """Score how far the annotators of a file agree.

    Args:
        path: a table with one row for each annotator and unit (or segment).
        kind: what the annotators gave.
        level: of measurement of labels.
        order: the labels from low to high, for ordinal texts.
        cluster: column of what is drawn together; ``cluster`` or ``recording`` when the file has it.
        slices: columns whose values are scored separately too.
        semantics: whether lists of steps are orders, or ranks of the steps 0 to N-1.
        matching: of alternative orders.
        penalty: of alternative orders that are left over.
        pooling: of alternative orders.
        quorum: annotators that it takes to vote for alternative orders.
        thresholds: IoU at which segments are the same.
        resampling: options of the intervals.

    Raises:
        UserError: if the file or an option is wrong; a unit that one annotator judged twice is named.
    """
    drawn = resampling or Resampling()
    with explained("the options of the intervals"):
        require_resampling(drawn.confidence, drawn.resamples, drawn.seed)
    if kind not in KINDS:
        raise UserError(f"the kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    _require_of_kind(
        kind, level=level, order=tuple(order), cluster=cluster, semantics=semantics, matching=matching,
        penalty=penalty, pooling=pooling, quorum=quorum, thresholds=tuple(thresholds),
    )  # fmt: skip
    table = read_table(path)
    with explained(path):
        if kind == "labels":
            return _score_labels(_read_labels(table, level, order, cluster, slices), level, drawn)
        if kind == "orders":
            return _score_orders(_read_orders(table, semantics, cluster, slices), drawn)
        if kind == "alternatives":
            read = _read_alternatives(table, semantics, cluster, slices)
            return _score_alternatives(read, (matching, penalty, pooling), quorum, drawn)
        return _score_segments(_read_segments(table, slices), thresholds, drawn)


def _require_of_kind(kind: Kind, **given: object) -> None:
    """Make sure that no option was given that this kind does not look at.

    Raises:
        UserError: naming the option and the kinds that know it.
    """
    for name, value in given.items():
        default, kinds = _OPTIONS[name]
        if value != default and kind not in kinds:
            raise UserError(
                f"the option {name!r} does not go with {kind}; it belongs to {' and '.join(kinds)}.",
                hint="segments are always drawn by recording" if name == "cluster" else "leave it out",
            )


# -- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judged(Generic[T]):
    """What annotators said about units.

    Attributes:
        said: unit to annotator to what it said.
        cluster_of: unit to cluster, None when units are drawn alone.
        cluster_name: what is drawn together, for signatures.
        slices: name of a slice (``type=next``) to its units; ``all`` first.
        missing: rows without a label.
        values: labels in their order, None to sort them.
    """

    said: Mapping[str, Mapping[str, T]]
    cluster_of: Mapping[str, str] | None
    cluster_name: str
    slices: Mapping[str, frozenset[str]]
    missing: int = 0
    values: tuple[str, ...] | None = None

    @property
    def annotators(self) -> list[str]:
        return sorted({who for by in self.said.values() for who in by})

    def pairs(self) -> Iterator[tuple[str, str, dict[str, Mapping[str, T]]]]:
        """Every two annotators with the units that both judged."""
        for a, b in combinations(self.annotators, 2):
            both: dict[str, Mapping[str, T]] = {
                u: {a: by[a], b: by[b]} for u, by in self.said.items() if a in by and b in by
            }
            if both:
                yield a, b, both

    def within(self, units: frozenset[str]) -> dict[str, Mapping[str, T]]:
        return {u: by for u, by in self.said.items() if u in units}

    def counts(self, rows: int) -> dict[str, int]:
        return {
            "rows": rows,
            "units": len(self.said),
            "annotators": len(self.annotators),
            "units with two or more": sum(len(by) > 1 for by in self.said.values()),
        }


def _judged(
    table: Table,
    values: Sequence[T],
    cluster: str | None,
    slices: Sequence[str],
    *,
    unit_columns: Sequence[str] = _UNIT,
    missing: int = 0,
    order: tuple[str, ...] | None = None,
) -> _Judged[T]:
    """Gather one value a row by unit and annotator.

    Raises:
        UserError: if an annotator judged a unit twice, or a unit has two clusters or two values of a slice.
    """
    units, annotators = table.texts(*unit_columns), table.texts(*_ANNOTATOR)
    said: dict[str, dict[str, T]] = {}
    for row, (unit, who, value) in enumerate(zip(units, annotators, values, strict=True)):
        if who in said.setdefault(unit, {}):
            raise table.wrong(
                row, table.require(*_ANNOTATOR), f"annotator {who!r} judged unit {unit!r} twice.",
                "keep one of the rows; a later judgement does not replace an earlier one by itself",
            )  # fmt: skip
        said[unit][who] = value
    column = cluster if cluster is not None else table.find(*(c for c in _CLUSTER if c not in unit_columns))
    cluster_of = None if column is None else _of_units(table, units, column)
    return _Judged(said, cluster_of, column or "unit", _sliced(table, units, slices), missing, order)


def _of_units(table: Table, units: Sequence[str], column: str) -> dict[str, str]:
    """One value of a column for each unit."""
    found: dict[str, str] = {}
    for row, (unit, value) in enumerate(zip(units, table.texts(column), strict=True)):
        if found.setdefault(unit, value) != value:
            raise table.wrong(
                row, column, f"unit {unit!r} has {value!r} here and {found[unit]!r} further up.",
                "one unit belongs to one; repair the column",
            )  # fmt: skip
    return found


def _sliced(table: Table, units: Sequence[str], columns: Sequence[str]) -> dict[str, frozenset[str]]:
    slices = {"all": frozenset(units)}
    for column in columns:
        value_of = _of_units(table, units, column)
        for value in sorted(set(value_of.values())):
            slices[f"{column}={value}"] = frozenset(u for u, v in value_of.items() if v == value)
    return slices


def _read_labels(
    table: Table, level: Level, order: Sequence[str], cluster: str | None, slices: Sequence[str]
) -> _Judged[Label]:
    column = table.require(*_LABEL)
    given = [row for row, value in enumerate(table.columns[column]) if value is not None and value != ""]
    if not given:
        raise UserError("there is no label in the whole file.", where=f"{table.path}, column {column!r}")
    kept = Table(
        table.path,
        {name: [values[row] for row in given] for name, values in table.columns.items()},
        [table.lines[row] for row in given],
        table.unit,
    )
    if order and level in ("interval", "ratio"):
        raise UserError(
            f"--order does not go with the {level} level.",
            hint="numbers have their order; use --level ordinal",
        )
    texts = kept.texts(column)
    labels: list[Label] = list(texts)
    if order:
        for row, text in enumerate(texts):
            if text not in order:
                raise kept.wrong(row, column, f"the label {text!r} is not in --order {','.join(order)}.")
    elif level != "nominal":
        try:
            labels = list(map(float, texts))
        except ValueError:
            hint = (
                "give --order LOW,…,HIGH"
                if level == "ordinal"
                else "use --level nominal, or ordinal with --order"
            )
            raise UserError(
                f"the {level} level needs numbers, got {next(t for t in texts if not _is_number(t))!r}.",
                where=f"{table.path}, column {column!r}",
                hint=hint,
            ) from None
        labels = kept.numbers(column).tolist()
    return _judged(
        kept, labels, cluster, slices, missing=len(table) - len(kept), order=tuple(order) if order else None
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_order(table: Table, row: int, column: str, value: object, semantics: Semantics) -> Order:
    """Return a list of step ids as texts; ranks are turned over into an order of the steps 0 to N-1."""
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list) or not value:
        raise table.wrong(row, column, f"a list of steps was expected, got {str(value)[:60]!r}.")
    for step in value:
        if isinstance(step, bool) or not isinstance(step, str | int) or step == "":
            raise table.wrong(row, column, f"a step is a text or a whole number, got {step!r}.")
    if semantics == "order":
        return tuple(map(str, value))
    try:
        ranks = [int(rank) for rank in value]
    except ValueError:
        raise table.wrong(
            row, column, f"ranks are whole numbers, got {value}.", "use --semantics order"
        ) from None
    with explained(table.place(row, column)):
        return order_of_ranks(ranks, [str(step) for step in range(len(ranks))])


def _order_cells(table: Table, column: str) -> list[list[Any]]:
    """Return a column of lists of steps; in a text cell without bars the steps stand between spaces."""
    cells = table.lists(column)
    for row, raw in enumerate(table.columns[column]):
        if isinstance(raw, str) and "|" not in raw and not raw.lstrip().startswith("["):
            cells[row] = raw.split()
    return cells


def _read_orders(
    table: Table, semantics: Semantics, cluster: str | None, slices: Sequence[str]
) -> _Judged[Order]:
    column = table.require("order", "steps")
    orders = [
        _as_order(table, row, column, v, semantics) for row, v in enumerate(_order_cells(table, column))
    ]
    return _judged(table, orders, cluster, slices)


@dataclass(frozen=True, slots=True)
class _Alternatives:
    judged: _Judged[Sequence[Order]]
    gold: Mapping[str, Order]

    def instances(self, said: Mapping[str, Mapping[str, Sequence[Order]]]) -> dict[str, AlternativeInstance]:
        return {unit: AlternativeInstance(self.gold[unit], by) for unit, by in said.items()}


def _read_alternatives(
    table: Table, semantics: Semantics, cluster: str | None, slices: Sequence[str]
) -> _Alternatives:
    column = table.require("orders", "alternatives")
    series = [
        [_as_order(table, row, column, order, semantics) for order in value]
        for row, value in enumerate(table.lists(column))
    ]
    golds = [_as_order(table, row, "gold", v, semantics) for row, v in enumerate(_order_cells(table, "gold"))]
    of_unit: dict[str, Order] = {}
    for row, (unit, gold) in enumerate(zip(table.texts(*_UNIT), golds, strict=True)):
        if of_unit.setdefault(unit, gold) != gold:
            raise table.wrong(
                row, "gold", f"unit {unit!r} has another authored order further up ({' '.join(map(str, of_unit[unit]))}).",
                "all rows of a unit name the same one",
            )  # fmt: skip
    return _Alternatives(_judged(table, series, cluster, slices), of_unit)


@dataclass(frozen=True, slots=True)
class _Segments:
    said: Mapping[str, Mapping[str, Sequence[TimedStep]]]
    slices: Mapping[str, frozenset[str]]
    rows: int


def _read_segments(table: Table, slices: Sequence[str]) -> _Segments:
    recordings, annotators = table.texts(*_RECORDING), table.texts(*_ANNOTATOR)
    steps, starts, ends = table.texts(*_STEP), table.numbers(*_START).tolist(), table.numbers(*_END).tolist()
    said: dict[str, dict[str, list[TimedStep]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[str, str, TimedStep]] = set()
    for row, (recording, who) in enumerate(zip(recordings, annotators, strict=True)):
        segment = (steps[row], starts[row], ends[row])
        if segment[2] <= segment[1]:
            raise table.wrong(
                row, table.require(*_END), f"the segment ends at {segment[2]:g} s, not after its start at {segment[1]:g} s.",
                "repair or remove the row",
            )  # fmt: skip
        if (recording, who, segment) in seen:
            raise table.wrong(
                row, table.require(*_STEP),
                f"annotator {who!r} marked step {segment[0]!r} of {recording!r} at these times twice.", "remove one row",
            )  # fmt: skip
        seen.add((recording, who, segment))
        said[recording][who].append(segment)
    return _Segments(said, _sliced(table, recordings, slices), len(table))


# -- shared ------------------------------------------------------------------------------------------------------


def _named(score: Score, **parameters: str) -> Score:
    """Return the score with choices of the stage in its signature."""
    if "cluster" not in score.signature.parameters:
        parameters.pop("cluster", None)
    return replace(score, signature=score.signature.having(**parameters))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _heat_map(title: str, annotators: Sequence[str], values: Mapping[tuple[str, str], float]) -> Matrix:
    """Agreement of every two annotators; nothing on the diagonal, nor where nothing is defined."""
    cells = tuple(
        tuple(_or_none(values.get((min(a, b), max(a, b)), math.nan)) if a != b else None for b in annotators)
        for a in annotators
    )
    lowest = min((v for row in cells for v in row if v is not None), default=0.0)
    return Matrix(
        title=title, rows=tuple(annotators), columns=tuple(annotators), cells=cells, kind="values",
        row_title="annotator", column_title="annotator", low=min(0.0, math.floor(lowest * 10) / 10), high=1.0,
    )  # fmt: skip


def _interval_plot(title: str, rows: Iterable[ScoreRow]) -> IntervalPlot:
    shown = list(rows)
    lows = [row.score.low for row in shown if row.score.low is not None]
    values = [row.score.value for row in shown if not math.isnan(row.score.value)]
    lowest = min([0.0, *lows, *values])
    return IntervalPlot(
        title=title,
        labels=tuple(f"{row.slice}: {row.metric}" for row in shown),
        values=tuple(_or_none(row.score.value) for row in shown),
        low=tuple(row.score.low for row in shown),
        high=tuple(row.score.high for row in shown),
        scale=(math.floor(lowest * 10) / 10, 1.0),
    )


def _pair_name(a: str, b: str) -> str:
    return f"{a} – {b}"


def _slice_note(slices: Mapping[str, object]) -> list[str]:
    if len(slices) < 2:
        return []
    return ["'all' pools the units of all slices; slices are shown each, never averaged"]


# -- labels ------------------------------------------------------------------------------------------------------


def _score_labels(judged: _Judged[Label], level: Level, drawn: Resampling) -> ScoreTable:
    rows = [
        row
        for name, units in judged.slices.items()
        for row in _label_rows(judged, judged.within(units), name, level, drawn)
    ]
    pairs = list(judged.pairs())
    of_pairs = drawn if len(pairs) <= _MANY_PAIRS else replace(drawn, resamples=0)
    by_pair = {(a, b): _pair_rows(judged, a, b, both, level, of_pairs) for a, b, both in pairs}
    if len(pairs) > 1:
        rows += _mean_rows(judged, level, drawn)
        if len(pairs) <= _MANY_PAIRS:
            rows += [row for found in by_pair.values() for row in found]
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
        notes=tuple(_label_notes(judged)),
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
    judged: _Judged[Label], said: Mapping[str, Mapping[str, Label]]
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
    judged: _Judged[Label],
    said: Mapping[str, Mapping[str, Label]],
    name: str,
    level: Level,
    drawn: Resampling,
) -> list[ScoreRow]:
    options = drawn.options()
    a, b, units = _pooled_pairs(said)
    clusters = units if judged.cluster_of is None else [judged.cluster_of[u] for u in units]
    choice = {"cluster": judged.cluster_name, "pairs": "pooled"}
    rows = [ScoreRow("raw", _named(raw_agreement(a, b, confidence=drawn.confidence), pairs="pooled"), name)]
    if judged.cluster_of is not None or len(set(units)) < len(units):
        clustered = raw_agreement(a, b, clusters=clusters, **options)
        rows.append(ScoreRow("raw, clustered", _named(clustered, **choice), name))
    for metric, weights in _kappas(level).items():
        kappa = cohen_kappa(a, b, weights=weights, values=judged.values, clusters=clusters, **options)
        rows.append(ScoreRow(metric, _named(kappa, **choice), name))
    ratings, groups = _rating_rows(judged, said)
    alpha = krippendorff_alpha(ratings, level=level, values=judged.values, clusters=groups, **options)
    rows.append(ScoreRow("α", _named(alpha, cluster=judged.cluster_name), name))
    if level == "nominal" and any(len(by) > 2 for by in said.values()):
        fleiss = fleiss_kappa(ratings, clusters=groups, **options)
        rows.append(ScoreRow("Fleiss κ", _named(fleiss, cluster=judged.cluster_name), name))
    known = _known(judged)
    for label in known if len(known) <= _FEW_LABELS else ():
        shown = _shown(label)
        specific = specific_agreement(a, b, label, clusters=clusters, **options)
        rows.append(ScoreRow(f"specific {shown}", _named(specific, **choice), name))
        share = prevalence(a, b, label, clusters=clusters, **options)
        rows.append(ScoreRow(f"prevalence {shown}", _named(share, **choice), name))
    return rows


def _shown(label: Label) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _known(judged: _Judged[Label]) -> tuple[Label, ...]:
    """The labels that occur, in their order."""
    seen = {label for by in judged.said.values() for label in by.values()}
    if judged.values is not None:
        return tuple(v for v in judged.values if v in seen)
    return tuple(sorted(seen))


def _pair_rows(
    judged: _Judged[Label],
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
    name, drawn_from = _pair_name(a, b), {"cluster": judged.cluster_name}
    rows = [ScoreRow("raw", _named(raw_agreement(one, two, confidence=drawn.confidence)), name)]
    for label, weights in _kappas(level).items():
        kappa = cohen_kappa(one, two, weights=weights, values=judged.values, clusters=clusters, **options)
        rows.append(ScoreRow(label, _named(kappa, **drawn_from), name))
    alpha = krippendorff_alpha(
        list(zip(one, two, strict=True)), level=level, values=judged.values, clusters=clusters, **options
    )
    return [*rows, ScoreRow("α", _named(alpha, **drawn_from), name)]


def _mean_rows(judged: _Judged[Label], level: Level, drawn: Resampling) -> list[ScoreRow]:
    labels: dict[str, dict[str, Label]] = {who: {} for who in judged.annotators}
    for unit, by in judged.said.items():
        for who, label in by.items():
            labels[who][unit] = label
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.options()}
    choice = {"cluster": judged.cluster_name}
    rows = [ScoreRow("raw", _named(mean_pair_agreement(labels, **options), **choice), "mean of pairs")]
    for label, weights in _kappas(level).items():
        kappa = mean_pair_agreement(labels, "kappa", weights=weights, values=judged.values, **options)
        rows.append(ScoreRow(label, _named(kappa, **choice), "mean of pairs"))
    return rows


def _label_notes(judged: _Judged[Label]) -> list[str]:
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
    return notes + _slice_note(judged.slices)


def _label_figures(
    judged: _Judged[Label], rows: Sequence[ScoreRow], by_pair: Mapping[tuple[str, str], Sequence[ScoreRow]]
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
            figures.append(_heat_map(title, judged.annotators, values))
        figures += _confusions(judged, by_pair)
    shown = [
        row for row in rows if row.slice in judged.slices and row.metric in ("raw", "κ", "κ quadratic", "α")
    ]
    figures.append(_interval_plot("Agreement with intervals", shown))
    return tuple(figures)


def _confusions(
    judged: _Judged[Label], by_pair: Mapping[tuple[str, str], Sequence[ScoreRow]]
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


# -- orders ------------------------------------------------------------------------------------------------------


def _score_orders(judged: _Judged[Order], drawn: Resampling) -> ScoreTable:
    options: dict[str, Any] = {"clusters": judged.cluster_of, **drawn.options()}

    def row(said: Mapping[str, Mapping[str, Order]], name: str) -> ScoreRow:
        return ScoreRow("κ = τ", _named(order_agreement(said, **options), cluster=judged.cluster_name), name)

    rows = [row(judged.within(units), name) for name, units in judged.slices.items()]
    pairs = list(judged.pairs())
    if len(pairs) > _MANY_PAIRS:
        options["resamples"] = 0  # their intervals are shown nowhere
    by_pair = {(a, b): row(both, _pair_name(a, b)) for a, b, both in pairs}
    if 1 < len(by_pair) <= _MANY_PAIRS:
        rows += by_pair.values()
    figures: list[Figure] = []
    if by_pair:
        values = {pair: found.score.value for pair, found in by_pair.items()}
        figures.append(
            _heat_map("Agreement of orders (κ = τ) of every two annotators", judged.annotators, values)
        )
    figures.append(_interval_plot("Agreement of orders", (r for r in rows if r.slice in judged.slices)))
    notes = [
        "κ on the one-hot vectors of ordered pairs of steps equals Kendall's τ; units with one annotator or one step are skipped"
    ]
    return ScoreTable(
        family="agreement", rows=tuple(rows), headline={"order_agreement": rows[0].score.value},
        counts=judged.counts(sum(map(len, judged.said.values()))),
        notes=(*notes, *_slice_note(judged.slices)), figures=tuple(figures),
    )  # fmt: skip


# -- alternative orders --------------------------------------------------------------------------------------------


def _score_alternatives(
    read: _Alternatives, choice: tuple[Matching, Penalty, Pooling], quorum: int, drawn: Resampling
) -> ScoreTable:
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
            ScoreRow(metric, _named(score(instances), cluster=judged.cluster_name), name)
            for metric, score in metrics.items()
        ]
    everything = read.instances(judged.said)
    signature = Signature("alternative_annotator_agreement", {"matching": matching, "penalty": penalty})
    for who, (value, n) in alternative_annotator_agreement(
        everything, matching=matching, penalty=penalty
    ).items():
        rows.append(ScoreRow("Algorithm 1", Score(value, signature, n), f"{who} with the others"))
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
        figures.append(_heat_map("Agreement on alternative orders (Algorithm 1)", judged.annotators, values))
    figures.append(
        _interval_plot("Agreement on alternative orders", (r for r in rows if r.slice in judged.slices))
    )
    notes = [
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
        notes=(*notes, *_slice_note(judged.slices)), figures=tuple(figures),
    )  # fmt: skip


# -- segments ----------------------------------------------------------------------------------------------------


def _score_segments(read: _Segments, thresholds: Sequence[float], drawn: Resampling) -> ScoreTable:
    comparisons = compare_segments(read.said)
    rows = [
        row
        for name, recordings in read.slices.items()
        for row in _segment_rows(
            [c for c in comparisons if c.recording in recordings], name, thresholds, drawn
        )
    ]
    names = sorted({(c.a, c.b) for c in comparisons})
    of_pair = {pair: [c for c in comparisons if (c.a, c.b) == pair] for pair in names}
    if 1 < len(names) <= _MANY_PAIRS:
        for (a, b), found in of_pair.items():
            rows += _segment_rows(found, _pair_name(a, b), thresholds, drawn)
    steps = sorted({c.step for c in comparisons})
    if 1 < len(steps) <= _FEW_STEPS:
        for step in steps:
            rows += _segment_rows(
                [c for c in comparisons if c.step == step], f"step {step}", thresholds, drawn
            )
    annotators = sorted({who for by in read.said.values() for who in by})
    figures: list[Figure] = []
    if of_pair:
        values = {pair: mean_segment_iou(found, resamples=0).value for pair, found in of_pair.items()}
        figures.append(_heat_map("Mean IoU per step of every two annotators", annotators, values))
    if len(steps) > 1:
        figures.append(_step_bars(comparisons, steps))
    shares = [r for r in rows if r.slice in read.slices and not r.metric.endswith(" s")]
    figures.append(_interval_plot("Agreement of segments", shares))
    alone = sum(len(by) < 2 for by in read.said.values())
    notes = ["an annotator who marked nothing in a recording has no row there, and is not compared on it"]
    return ScoreTable(
        family="agreement", rows=tuple(rows), headline={"mean_segment_iou": rows[0].score.value},
        counts={
            "rows": read.rows, "recordings": len(read.said), "annotators": len(annotators),
            "recordings with one annotator": alone, **segment_counts(comparisons),
        },
        notes=(*notes, *_slice_note(read.slices)), figures=tuple(figures),
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
    comparisons: Sequence[StepComparison], name: str, thresholds: Sequence[float], drawn: Resampling
) -> list[ScoreRow]:
    options = drawn.options()
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
        for threshold in thresholds
    ]
    return rows
