"""Options of commands that make questions about instructional videos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AssistantOption",
    "BenchmarkShareOption",
    "CategoriserOption",
    "DataOption",
    "DatasetOption",
    "FilterJudgeOption",
    "LevelOption",
    "PairGeneratorOption",
    "PerClipOption",
    "TotalPairsOption",
    "TypedOption",
    "WriterOption",
]

DataOption = Annotated[
    list[Path] | None, typer.Option(help="Folder of annotated videos; may be repeated (the first time only).")
]
DatasetOption = Annotated[
    list[str] | None, typer.Option(help="Reader of each folder; found out by its files where none is named.")
]
PairGeneratorOption = Annotated[str, typer.Option("--generator", "-g", help="Model that writes pairs.")]
CategoriserOption = Annotated[
    str | None, typer.Option(help="Model that names the category of a pair (default: the generator).")
]
LevelOption = Annotated[list[str] | None, typer.Option(help="coarse (events), fine (objects); default both.")]
TotalPairsOption = Annotated[int | None, typer.Option(min=1, help="Pairs in all (default 100).")]
PerClipOption = Annotated[int | None, typer.Option(min=1, help="Pairs of every clip and level.")]
FilterJudgeOption = Annotated[
    list[str] | None,
    typer.Option("--judge", "-j", help="Model that filters with the steps at hand; may be repeated."),
]
AssistantOption = Annotated[
    list[str] | None,
    typer.Option("--assistant", "-a", help="Model that votes; three different ones in the paper."),
]
BenchmarkShareOption = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="Of the kept pairs, by whole videos, for the benchmark; the others train."
    ),
]
WriterOption = Annotated[str, typer.Option("--writer", "-w", help="Model that writes wrong answers.")]
TypedOption = Annotated[
    int, typer.Option(min=0, max=4, help="Wrong answers made by rule from annotations, of four.")
]
