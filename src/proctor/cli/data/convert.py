"""``proctor datasets convert``: from one tool's files to another's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from proctor.cli.console import command_app, emit, table
from proctor.cli.data.common import read_options
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import Settings, argument, option
from proctor.stages.settings import Corrections
from proctor.terminal import warn

if TYPE_CHECKING:
    from proctor.stages.convert import Listed

app = command_app()


class ConvertSettings(Settings, frozen=True, kw_only=True):
    """What is converted to what."""

    source: Annotated[Path | None, argument("File or folder to read.")] = None
    target: Annotated[Path | None, argument("File or folder to write.")] = None
    from_: Annotated[
        str | None,
        option("Format, or data set, of the source; recognised by its ending or its files.", "--from"),
    ] = None
    to: Annotated[str | None, option("Format of the target, or 'plain'; recognised by its ending.")] = None
    choices: Annotated[
        tuple[str, ...], option("An option of one of the formats.", "--option", metavar="NAME=VALUE")
    ] = ()
    overwrite: Annotated[bool, option("Replace what is there.")] = False
    formats: Annotated[bool, option("List the formats and what each loses.")] = False
    corrections: Corrections = "corrected"


@app.command()
@with_settings
def convert(settings: ConvertSettings, output: Output) -> None:
    """Convert recordings or task graphs; what cannot be converted is listed next to the target.

    Example: proctor datasets convert session.eaf session.json --to activitynet

    Example: proctor datasets convert ~/data/captaincook4d steps.csv --from captaincook4d
    """
    from proctor.stages.convert import convert, list_formats

    if settings.formats:
        rows = list_formats()
        emit({"formats": rows}, _formats(rows), as_json=output.as_json)
        return
    if settings.source is None or settings.target is None:
        raise UserError(
            "a source and a target are needed.",
            hint="proctor datasets convert SOURCE TARGET; --formats lists them",
        )
    result = convert(
        settings.source,
        settings.target,
        source_format=settings.from_,
        target_format=settings.to,
        options=read_options(settings.choices),
        corrections=settings.corrections,
        overwrite=settings.overwrite,
    )
    for text in result.warnings:
        warn(text)
    shown = [
        (name.replace("_", " "), _plain(value))
        for name, value in msgspec.to_builtins(result).items()
        if value and name != "warnings"
    ]
    emit(result, table(shown), as_json=output.as_json)


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
