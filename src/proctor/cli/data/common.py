"""What the commands on data sets share: which data set is meant, and its options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.datasets.dataset import Dataset

__all__ = ["OptionsFlag", "PlaceArgument", "find_place", "read_options"]

PlaceArgument: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="[DATASET] FOLDER",
        help="Folder with the data set's files; its name before it where the files do not show it.",
    ),
]
OptionsFlag: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="A choice of the reader (see 'proctor datasets info')."
    ),
]


def find_place(words: Sequence[str]) -> tuple[Dataset, Path]:
    """Return the data set and the folder that are meant by one or two words.

    Raises:
        UserError: if there are more, the name is unknown, or the files are of no data set, or of several.
    """
    from proctor.datasets.dataset import guess_dataset, load_dataset

    if len(words) > 2:
        raise UserError(
            f"{len(words)} words are too many.", hint="give a folder, or a data set and its folder"
        )
    folder = Path(words[-1])
    return (load_dataset(words[0]) if len(words) == 2 else guess_dataset(folder)), folder


def read_options(given: Sequence[str] | None) -> dict[str, str]:
    """Return ``NAME=VALUE`` texts as a mapping.

    Raises:
        UserError: if one is no such pair, or a name comes twice.
    """
    options: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UserError(f"--option is {text!r}.", hint="write NAME=VALUE, for example level=leaf")
        if name in options:
            raise UserError(f"--option {name} is given twice.")
        options[name] = value
    return options
