"""What the commands on data sets share: which data set is meant, and its options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from proctor.errors import UserError
from proctor.settings import Settings, argument, option

if TYPE_CHECKING:
    from proctor.datasets.dataset import Dataset

__all__ = ["Choices", "PlaceSettings", "find_place", "read_options"]


class PlaceSettings(Settings, frozen=True, kw_only=True):
    """Which data set is meant."""

    place: Annotated[
        tuple[str, ...],
        argument(
            "Folder with the data set's files; its name before it where the files do not show it.",
            "[DATASET] FOLDER",
        ),
    ]


Choices: TypeAlias = Annotated[
    tuple[str, ...],
    option("A choice of the reader (see 'proctor datasets info').", "--option", metavar="NAME=VALUE"),
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


def read_options(given: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` texts as a mapping.

    Raises:
        UserError: if one is no such pair, or a name comes twice.
    """
    options: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UserError(f"--option is {text!r}.", hint="write NAME=VALUE, for example level=leaf")
        if name in options:
            raise UserError(f"--option {name} is given twice.")
        options[name] = value
    return options
