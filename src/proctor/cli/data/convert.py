"""``proctor datasets convert``: from one tool's files to another's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from proctor.cli.console import JsonFlag, command_app, emit, table, warn
from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.stages.convert import Listed

app = command_app()


@app.command()
def convert(
    source: Annotated[Path | None, typer.Argument(help="File or folder to read.")] = None,
    target: Annotated[Path | None, typer.Argument(help="File or folder to write.")] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", help="Format, or data set, of the source; recognised by its ending or its files."
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Format of the target, or 'plain'; recognised by its ending.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of one of the formats.")
    ] = None,
    corrections: Annotated[str, typer.Option(help="Of a data set: corrected or published.")] = "corrected",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    formats: Annotated[bool, typer.Option("--formats", help="List the formats and what each loses.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Convert recordings or task graphs; whatever does not go over is listed beside the target.

    Example: proctor datasets convert session.eaf session.json --to activitynet

    Example: proctor datasets convert ~/data/captaincook4d steps.csv --from captaincook4d
    """
    from proctor.cli.data.common import read_options
    from proctor.stages.convert import convert, list_formats

    if formats:
        rows = list_formats()
        emit({"formats": rows}, _formats(rows), as_json=as_json)
        return
    if source is None or target is None:
        raise UserError(
            "a source and a target are needed.",
            hint="proctor datasets convert SOURCE TARGET; --formats lists them",
        )
    result = convert(
        source,
        target,
        source_format=from_,
        target_format=to,
        options=read_options(option),
        corrections=corrections,
        overwrite=overwrite,
    )
    for text in result.warnings:
        warn(text)
    shown = [
        (name.replace("_", " "), _plain(value))
        for name, value in msgspec.to_builtins(result).items()
        if value and name != "warnings"
    ]
    emit(result, table(shown), as_json=as_json)


def _formats(rows: Sequence[Listed]) -> str:
    shown = [
        (
            row.name,
            row.title,
            row.files,
            row.holds,
            " ".join(word for word, able in (("reads", row.reads), ("writes", row.writes)) if able),
            "" if row.loss else f"all {row.holds}",
        )
        for row in rows
    ]
    parts = [table(shown, ("format", "what", "files", "holds", "Proctor", "goes over"))]
    for row in rows:
        if row.loss:
            parts += ["", f"{row.name} loses", *(f"  {text}" for text in row.loss)]
    return "\n".join(parts)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{key} {n}" for key, n in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
