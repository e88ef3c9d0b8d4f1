"""``proctor study order-table``: the paper's tables of people and alternative orders, of one's own files, printed rows beside.

People's performance is the mean over all orders that were collected; beside it stands the mean over manuals of the means of
each. Source: Wu et al. 2022, Tables 4 to 6 and 8 to 10, Figure 3; docs/sequencing.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.datasets.manual_categories import OTHERS, top_category
from proctor.datasets.sequence_files import MODALITY_NAMES, read_sequences
from proctor.errors import UserError
from proctor.learn.sequencing.published import COLUMNS, OTHER_TABLES, PROTOCOL, Corpus, OtherTable, TableRow
from proctor.metrics.figure import IntervalPlot
from proctor.metrics.order_agreement import AlternativeInstance, alternative_order_agreement, order_agreement
from proctor.metrics.ordering import best_of_references, measure_orders, reference_counts
from proctor.metrics.table import ScoreTable
from proctor.procedure.manual import MODALITIES, Modality, Order, Sequence
from proctor.records import Dropped
from proctor.settings import Settings, argument, option
from proctor.stages.order_people import HELPED, Censored, People, Spelled, read_people, settled
from proctor.stages.scoring.ordering_files import read_predictions

__all__ = ["OrderTable", "OrderTableSettings", "order_table"]

_FEW: Final = 10
"""A category needs more sequences than this."""
_PRINTED: Final = (("position_accuracy", 100), ("perfect_match_ratio", 100), ("longest_common_substring", 1))
"""Measures of Table 4, and by what they are multiplied in print."""


class OrderTableSettings(Settings, frozen=True, kw_only=True):
    """Which table of what."""

    number: Annotated[OtherTable, argument("4 (and 10), 5, 6, 8, 9, people (Table 2), agreement, fig3.")]
    sequences: Annotated[Path, option("File of sequences, with references.", metavar="FILE")]
    people: Annotated[Path | None, option("Answers of people, one a line.", metavar="FILE")] = None
    predictions: Annotated[
        tuple[str, ...], option("Orders of models (repeatable).", metavar="NAME=FILE")
    ] = ()
    modality: Annotated[Spelled, option("What the models were shown.")] = "both"
    corpus: Annotated[Corpus | None, option("Show the printed rows of this data set alone.")] = None
    html: Annotated[Path | None, option("Write the picture of fig3, too.", metavar="FILE")] = None
    form: Annotated[Literal["text", "markdown", "latex"], option("How it is printed.")] = "text"


class OrderTable(msgspec.Struct, frozen=True):
    """The table; ``censored`` lists assignments that do not count, ``dropped`` lines of files that were left out."""

    number: OtherTable
    columns: tuple[str, ...]
    rows: list[TableRow]
    notes: list[str]
    censored: tuple[Censored, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True)
class _System:
    """Orders of sequences: by a model, or by people, who give several of one."""

    name: str
    modality: Modality
    shown: List[Sequence]
    orders: List[Order]

    def ways(self) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield names and weights: every order counts alike, then every sequence."""
        yield self.name, np.ones(len(self.shown))
        if self.name == "people":
            count = Counter(s.id for s in self.shown)
            yield "people, mean of manuals", np.array([1 / count[s.id] for s in self.shown])

    def perfect(self) -> dict[str, float]:
        """Return the share of right orders by sequence, against the authored one."""
        found: dict[str, list[bool]] = defaultdict(list)
        for sequence, order in zip(self.shown, self.orders, strict=True):
            found[sequence.id].append(order == sequence.authored)
        return {id_: sum(own) / len(own) for id_, own in found.items()}


def order_table(settings: OrderTableSettings) -> OrderTable:
    """Make the table.

    Raises:
        UserError: if a file cannot be read or written, or what the table needs was not given.
    """
    if settings.html is not None and settings.number != "fig3":
        raise UserError(f"{settings.number} is no picture.", where="--html", hint="ask for fig3")
    found = read_sequences(settings.sequences)
    by_id = {s.id: s for s in found.sequences}
    people = People() if settings.people is None else read_people(settings.people, by_id)
    dropped = [*found.dropped, *people.dropped]
    modality = MODALITY_NAMES[settings.modality]
    models = [_model(text, modality, by_id, dropped) for text in settings.predictions]
    said = [(m, [a for a in people.main if a.modality == m]) for m in MODALITIES]
    humans = [_System("people", m, [a.item for a in own], [a.order for a in own]) for m, own in said if own]
    helped = [a.record.helped for a in people.main if a.modality == "multimodal" and a.record.helped]
    sure = [a.record.confidence for a in people.main if a.record.confidence]
    make: dict[OtherTable, Callable[[], Iterator[TableRow]]] = {
        "4": lambda: _alternatives([*(m for m in models if m.orders), *humans]),
        "5": lambda: _references(found.sequences),
        "6": lambda: _categories(found.sequences),
        "8": lambda: _shares("what helped", "multimodal", helped, HELPED),
        "9": lambda: _shares("confidence", None, sure, (5, 4, 3, 2, 1)),
        "people": lambda: _performance(humans),
        "agreement": lambda: _agreement(people, by_id),
        "fig3": lambda: _gaps(models, humans),
    }
    rows = list(make[settings.number]())
    if not rows:
        message = f"nothing at hand makes {settings.number}: {len(people.main)} answers that count, {len(models)} models."
        hint = f"give --people and --predictions NAME=FILE; 6 and fig3 want more than {_FEW} sequences of a category"
        raise UserError(message, where=str(settings.sequences), hint=hint)
    if settings.html is not None:
        from proctor.report.score_page import write_score_page

        table = ScoreTable("ordering", (), figures=(_gap_figure(rows),))
        write_score_page(settings.html, table, title="Figure 3")
    printed = [row for row in OTHER_TABLES[settings.number] if settings.corpus in (None, row.corpus)]
    columns, notes = COLUMNS[settings.number], [f"Printed rows: {PROTOCOL}"] if printed else []
    return OrderTable(settings.number, columns, [*rows, *printed], notes, people.censored, tuple(dropped))


def _model(text: str, modality: Modality, by_id: Mapping[str, Sequence], dropped: list[Dropped]) -> _System:
    name, sign, file = text.partition("=")
    if not sign:
        raise UserError(f"--predictions is {text[:60]!r}.", hint="write NAME=FILE")
    orders: dict[str, Order] = {}
    predictions = read_predictions(Path(file))
    for id_, sequence in by_id.items():
        order = predictions[id_].order if id_ in predictions else None
        if order is None or sorted(order) != sorted(map(str, sequence.authored)):
            dropped.append(Dropped(id_, "no-prediction" if order is None else "no-permutation", name))
        elif not any(sequence.alike(modality)):
            dropped.append(Dropped(id_, "all-alike", name))
        else:
            orders[id_] = settled(sequence, modality, tuple(map(int, order)))
    dropped += [Dropped(id_, "unknown-item", name) for id_ in predictions if id_ not in by_id]
    return _System(name, modality, [by_id[id_] for id_ in orders], list(orders.values()))


def _alternatives(systems: List[_System]) -> Iterator[TableRow]:
    for system in systems:
        best = best_of_references([s.orders(system.modality) for s in system.shown], system.orders)
        several, every = best.references > 1, (best.first, best.best)
        columns = [
            (factor * measures.column(measure), rows)
            for rows, kinds in ((~several, every[:1]), (several, every), (several | True, every))
            for measure, factor in _PRINTED
            for measures in kinds
        ]
        count = len({s.id for s, some in zip(system.shown, several, strict=True) if some})
        for name, weights in system.ways():
            means = (
                float(np.average(column[rows], weights=weights[rows])) if rows.any() else None
                for column, rows in (*columns, (100 * best.benefits, several))
            )
            yield TableRow("ours", system.modality, name, (count, *means))


def _performance(humans: List[_System]) -> Iterator[TableRow]:
    for system in humans:
        measured = measure_orders([s.authored for s in system.shown], system.orders)
        for name, weights in system.ways():
            means = np.average(measured.values, axis=0, weights=weights) * (100, 100, 1, 1, 1, 1)
            yield TableRow("ours", system.modality, name, tuple(means.tolist()))


def _references(sequences: List[Sequence]) -> Iterator[TableRow]:
    for modality in MODALITIES:
        c = reference_counts([len(s.orders(modality)) for s in sequences])
        values = (c.count, c.low, c.high, c.mean, c.deviation, c.mean_all)
        yield TableRow("ours", modality, "references", values)


def _by_category(sequences: Iterable[Sequence]) -> dict[str, list[Sequence]]:
    """Return the sequences of each top category, of categories with more than ten."""
    found: dict[str, list[Sequence]] = defaultdict(list)
    for sequence in sequences:
        for category in dict.fromkeys(map(top_category, sequence.category_paths)) or (OTHERS,):
            found[category].append(sequence)
    return {name: own for name, own in sorted(found.items()) if len(own) > _FEW}


def _categories(sequences: List[Sequence]) -> Iterator[TableRow]:
    """Yield the five categories with most references a manual with several, all modalities together."""
    total, rows = {}, {}
    for name, own in _by_category(sequences).items():
        counts = [(m, reference_counts([len(s.orders(m)) for s in own])) for m in MODALITIES]
        if n := sum(c.count for _, c in counts):
            total[name] = sum((c.mean or 0) * c.count for _, c in counts) / n
            rows[name] = [TableRow("ours", m, name, (c.mean, c.count)) for m, c in counts]
    for name in sorted(total, key=lambda name: (-total[name], name))[:5]:
        yield from rows[name]


def _shares(name: str, shown: Modality | None, said: List[object], known: List[object]) -> Iterator[TableRow]:
    if n := len(said):
        values = tuple(100 * said.count(k) / n for k in known)
        yield TableRow("ours", shown, f"{name}, {n:,} answers", values)


def _agreement(people: People, by_id: Mapping[str, Sequence]) -> Iterator[TableRow]:
    for modality in MODALITIES:
        orders: dict[str, dict[str, Order]] = defaultdict(dict)
        for a in people.main:
            if a.modality == modality:
                orders[a.item.id][a.worker] = a.order
        series = {id_: own for (id_, shown), own in people.series.items() if shown == modality}
        others = {id_: AlternativeInstance(by_id[id_].authored, own) for id_, own in series.items()}
        if orders or others:
            scores = (order_agreement(orders, resamples=0), alternative_order_agreement(others, resamples=0))
            values = tuple(None if math.isnan(s.value) else s.value for s in scores)
            yield TableRow("ours", modality, "people", values)


def _gaps(models: List[_System], humans: List[_System]) -> Iterator[TableRow]:
    """Yield of each model the three categories where people are furthest ahead, and the two where they are least (Figure 3)."""
    for model, human in ((m, h) for m in models for h in humans if h.modality == m.modality):
        theirs, ours = human.perfect(), model.perfect()
        shared = {s.id: s for s in human.shown if s.id in ours}
        gaps = {
            name: (sum(theirs[s.id] - ours[s.id] for s in own) * 100 / len(own), len(own))
            for name, own in _by_category(shared.values()).items()
        }
        ranked = sorted(gaps, key=lambda name: (-gaps[name][0], name))
        for name in dict.fromkeys([*ranked[:3], *ranked[-2:]]):
            yield TableRow("ours", model.modality, f"{model.name}: {name}", gaps[name])


def _gap_figure(rows: List[TableRow]) -> IntervalPlot:
    values, none = tuple(row.values[0] or 0.0 for row in rows), (None,) * len(rows)
    labels = tuple(f"{row.name} (n = {row.values[1]})" for row in rows)
    scale = (min(0.0, *values), max(1.0, *values))
    return IntervalPlot("PMR of people − model, points", labels, values, none, none, scale=scale)
