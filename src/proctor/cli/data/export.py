"""``proctor datasets export``: any data set as sharded Parquet or JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from proctor.cli.console import command_app, emit, table
from proctor.cli.data.common import Choices, PlaceSettings, find_place, read_options
from proctor.cli.options import Output, Spread, with_settings
from proctor.settings import option
from proctor.stages.settings import Corrections
from proctor.terminal import progress

app = command_app()


class ExportSettings(PlaceSettings, frozen=True, kw_only=True):
    """What is written, in which form, and where to."""

    out: Annotated[Path, option("Folder to write; an export cut short there goes on.")]
    format: Annotated[Literal["parquet", "jsonl"], option("parquet or jsonl.")] = "parquet"
    rows: Annotated[int, option("Records of a shard.", ge=1)] = 50_000
    min_text: Annotated[int, option("Of a corpus: drop texts of fewer characters (SMMQG: 200).", ge=0)] = 0
    corrections: Corrections = "corrected"
    choices: Choices = ()


@app.command()
@with_settings
def export(settings: ExportSettings, spread: Spread, output: Output) -> None:
    """Write a data set as Parquet or JSON Lines, in shards, however large it is.

    Records are streamed: memory stays flat. The same data give the same bytes, with any number of workers, here or on a
    cluster. Run the same command again after an interruption: shards that are there are kept.

    Example: proctor datasets export ~/data/multimodalqa --out corpus --rows 20000 --workers 4
    """
    from proctor.compute import place_of
    from proctor.stages.datasets_export import export_dataset

    dataset, folder = find_place(settings.place)
    with progress("shards", quiet=output.as_json) as step:
        result = export_dataset(
            dataset,
            folder,
            settings.out,
            format=settings.format,
            rows=settings.rows,
            place=place_of(spread.workers),
            corrections=settings.corrections,
            options=read_options(settings.choices),
            min_text=settings.min_text,
            seen=step,
        )
    emit(result, _text(msgspec.to_builtins(result)), as_json=output.as_json)


def _text(result: dict[str, Any]) -> str:
    shown = [
        (
            name.replace("_", " "),
            ", ".join(f"{k} {n:,}" for k, n in value.items()) if isinstance(value, dict) else _number(value),
        )
        for name, value in result.items()
        if value not in (None, {}, 0)
    ]
    return table(shown)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
