"""``proctor datasets export``: any data set as sharded Parquet or JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer

from proctor.cli.console import JsonFlag, WorkersOption, command_app, emit, progress, table
from proctor.cli.data.common import OptionsFlag, PlaceArgument, find_place, read_options
from proctor.errors import UserError

app = command_app()


@app.command()
def export(
    place: PlaceArgument,
    out: Annotated[Path, typer.Option("--out", help="Folder to write; an export cut short there goes on.")],
    format: Annotated[str, typer.Option(help="parquet or jsonl.")] = "parquet",
    rows: Annotated[int, typer.Option(min=1, help="Records of a shard.")] = 50_000,
    workers: WorkersOption = None,
    corrections: Annotated[str, typer.Option(help="corrected or published.")] = "corrected",
    min_text: Annotated[
        int,
        typer.Option("--min-text", min=0, help="Of a corpus: drop texts of fewer characters (SMMQG: 200)."),
    ] = 0,
    option: OptionsFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a data set as Parquet or JSON Lines, in shards, however large it is.

    Records are streamed: memory stays flat. The same data give the same bytes, with any number of workers, here or on a
    cluster. Run the same command again after an interruption: shards that are there are kept.

    Example: proctor datasets export ~/data/multimodalqa --out corpus --rows 20000 --workers 4
    """
    from proctor.compute import place_of
    from proctor.datasets.shards import FORMATS
    from proctor.stages.datasets_export import export_dataset

    if format not in FORMATS:
        raise UserError(f"--format is {format!r}.", hint=f"one of {', '.join(FORMATS)}")
    dataset, folder = find_place(place)
    with progress("shards", quiet=as_json) as step:
        result = export_dataset(
            dataset,
            folder,
            out,
            format=cast("Any", format),
            rows=rows,
            place=place_of(workers),
            corrections=cast("Any", corrections),
            options=read_options(option),
            min_text=min_text,
            seen=step,
        )
    emit(result, _text(msgspec.to_builtins(result)), as_json=as_json)


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
