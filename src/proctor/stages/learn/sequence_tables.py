"""``proctor learn sequence-table``: Tables 2 and 3 of the paper on sequencing, on the data at hand beside what is printed.

Source: Wu et al. 2022; the printed figures are in ``learn.sequencing.published``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from proctor.errors import UserError
from proctor.learn.sequencing.data import MODALITY, Shown
from proctor.learn.sequencing.figures import OrderFigures
from proctor.learn.sequencing.published import MEASURE_NAMES, OBJECTIVES, PRETRAINING, PROTOCOL, Corpus
from proctor.learn.settings import TrainOptions
from proctor.metrics.ordering import ORDER_COLUMNS
from proctor.stages.learn.sequence import LearnedSequence, learn_sequence
from proctor.stages.learn.sequence_settings import SequenceSettings, SequenceTableSettings

__all__ = ["OrderTable", "OrderTableRow", "order_table", "table_runs"]

Model = Literal["tiny", "pairwise", "berson"]
_ALL: Final[dict[Shown, str]] = {"image": "isp,pisp,smrm", "text": "mlm", "both": "mlm,isp,pisp,smrm"}
_ADDED: Final[dict[Shown, tuple[str, ...]]] = {
    "image": ("", "isp", "isp,pisp", "isp,pisp,smrm"),
    "both": ("", "mlm", "mlm,isp", "mlm,smrm", "mlm,isp,pisp", "mlm,isp,smrm", "mlm,isp,pisp,smrm"),
}


class OrderTableRow(msgspec.Struct, frozen=True):
    """One row; Acc and PMR in per cent, the rest raw, as the paper prints it.

    ``data`` is the file or the published data set, ``n`` are test sequences of the first seed, ``values`` are by ``MEASURE_NAMES``,
    means over the seeds with their sample ``deviations`` (none of a single one), ``note`` says why a row is missing.
    """

    source: Literal["printed", "ours", "chance", "missing"]
    data: str
    modality: str
    model: str
    pretraining: str
    n: int | None = None
    values: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    note: str = ""


class OrderTable(msgspec.Struct, frozen=True):
    """A table of the paper: printed rows first, then those of each file, with chance on its test sequences."""

    number: str
    columns: tuple[str, ...]
    rows: tuple[OrderTableRow, ...]
    notes: tuple[str, ...]


def table_runs(settings: SequenceTableSettings) -> list[SequenceSettings]:
    """Return what is trained, the seeds of a cell one after the other.

    Raises:
        UserError: if a row that was asked for is none.
    """
    cells: list[tuple[Model, str | None, Shown, str]]
    if settings.number == "3":
        cells = [("tiny", None, shown, added) for shown, steps in _ADDED.items() for added in steps]
    else:
        networks: list[tuple[Model, str | None, Shown]] = []
        networks += [("tiny", None, shown) for shown in _ALL if "tiny" in settings.model]
        for text in settings.encoder:
            shown, _, folder = text.partition("=")
            if shown not in _ALL or not folder:
                raise UserError(f"'{text[:80]}' is no row.", where="--encoder", hint="write text=text:DIR")
            networks.append(("berson", folder, shown))
        cells = [(*network, pretrain) for network in networks for pretrain in ("", _ALL[network[2]])]
        cells += [("pairwise", None, "text", "")] * ("pairwise" in settings.model)
    runs = []
    for number, data in enumerate(dict.fromkeys(settings.data), 1):
        for model, encoder, shown, pretrain in cells:
            for seed in range(settings.seeds):
                parts = (number, data.stem, model, encoder, shown, pretrain, seed)
                name = "-".join(str(part) for part in parts if part not in ("", None))
                runs.append(
                    SequenceSettings(
                        data=data, model=model, encoder=encoder, modality=shown, pretrain=pretrain, protocol=settings.protocol,
                        seed=seed, resamples=settings.resamples, out=settings.out / name.replace(",", "+").replace("/", "_"),
                    )
                )  # fmt: skip
    return runs


def order_table(
    settings: SequenceTableSettings, seen: Callable[[], None], options: TrainOptions
) -> OrderTable:
    """Train every cell that can be trained (``seen`` is called after each), beside the printed rows; what cannot says why.

    Raises:
        UserError: if a row that was asked for is none.
    """
    runs = table_runs(settings)
    rows: list[OrderTableRow] = []
    for data in dict.fromkeys(settings.data):
        mine, chance = [run for run in runs if run.data == data], dict[str, OrderTableRow]()
        firsts = range(0, len(mine), settings.seeds)
        rows += [_cell(mine[k : k + settings.seeds], seen, options, chance) for k in firsts]
        rows += chance.values()
    printed = PRETRAINING if settings.number == "2" else OBJECTIVES
    published = [
        OrderTableRow("printed", corpus, shown, model, pretraining, None, values)
        for shown, model, pretraining, *both in printed
        for corpus, values in zip(get_args(Corpus), both, strict=True)
    ]
    return OrderTable(settings.number, MEASURE_NAMES, (*published, *rows), tuple(_notes(settings)))


def _cell(
    seeds: Sequence[SequenceSettings],
    seen: Callable[[], None],
    options: TrainOptions,
    chance: dict[str, OrderTableRow],
) -> OrderTableRow:
    one, modality = seeds[0], MODALITY[seeds[0].modality]
    model, pretraining = one.encoder or one.model, one.pretrain.replace(",", "+").upper()
    row = OrderTableRow("missing", one.data.stem, modality, model, pretraining)
    found: list[LearnedSequence] = []
    try:
        for run in seeds:
            found.append(learn_sequence(run, options))
            seen()
    except UserError as error:
        for _ in seeds[len(found) :]:
            seen()
        return replace(row, note=error.message)
    values = np.array([_values(result.test) for result in found])
    row = replace(row, n=found[0].test.n)
    floor = replace(row, source="chance", model="random order", pretraining="")
    chance.setdefault(modality, replace(floor, values=_values(found[0].floors["chance"])))
    spread = tuple(map(float, values.std(0, ddof=1))) if len(found) > 1 else ()
    return replace(row, source="ours", values=tuple(map(float, values.mean(0))), deviations=spread)


def _values(figures: OrderFigures) -> tuple[float, ...]:
    columns = ORDER_COLUMNS[: len(MEASURE_NAMES)]
    return tuple(getattr(figures, column.name) * (100 if column.percent else 1) for column in columns)


def _notes(settings: SequenceTableSettings) -> Iterator[str]:
    yield f"Printed: {PROTOCOL}"
    yield "No printed figure can be made again here: their manuals and weights are not at hand, and ours are other data."
    yield "Ours: test tasks that were in no other part, everything chosen on dev; chance is the exact expectation."
    if settings.seeds > 1:
        yield f"Means of {settings.seeds} seeds, ± their sample deviation; each seed divides and draws again."
