"""The reader contract: what a data set declares and what reading it returns.

A data set module declares one ``Dataset`` value and registers it under the entry-point group
``proctor.datasets``. Reading returns recordings and graphs, and tells everything that was dropped or corrected;
nothing is repaired silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

import msgspec

from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import Dropped, file_sha256

__all__ = [
    "Correction",
    "Corrections",
    "DataFile",
    "Dataset",
    "Finding",
    "ReadResult",
    "dataset_names",
    "load_dataset",
]

Corrections = Literal["published", "corrected"]
"""``published`` reproduces the release, its mistakes included; ``corrected`` is right (default)."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a reader opens: its path in the folder, what it holds, and its checksum where it is fixed."""

    path: str
    what: str
    sha256: str | None = None
    required: bool = True


class Correction(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change that was made to the raw annotations, with its reason (rule id or hand edit)."""

    recording_id: str
    rule: str
    reason: str
    step: str = ""
    old: str = ""
    new: str = ""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One oddity that ``check`` found: rule id, where, and what was seen."""

    rule: str
    where: str
    seen: str


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a reader returns.

    ``counts`` are raw numbers before correction (steps, mistakes, ...); ``about`` is what the folder says of itself
    where that is not fixed by the format (name, version, licence, citation, homepage).
    """

    recordings: tuple[Recording, ...]
    graphs: Mapping[str, TaskGraph]
    corrections: tuple[Correction, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The declaration of a data set.

    Attributes:
        name: what users type.
        title: its full name.
        version: of the annotations.
        licence: of the annotations, SPDX where there is one.
        citation: how to cite it.
        homepage: where users get it.
        files: what is read from the folder.
        read: folder and correction mode to recordings and graphs.
        check: folder to every oddity that the linter finds in the raw files.
    """

    name: str
    title: str
    version: str
    licence: str
    citation: str
    homepage: str
    files: tuple[DataFile, ...]
    read: Callable[[Path, Corrections], ReadResult]
    check: Callable[[Path], tuple[Finding, ...]]

    def require_files(self, root: Path) -> None:
        """Make sure that every required file is there.

        Raises:
            UserError: naming all that are missing and where to get the data.
        """
        if not root.is_dir():
            raise UserError(
                "there is no such folder.", where=str(root), hint=f"{self.title} is at {self.homepage}"
            )
        missing = [f.path for f in self.files if f.required and not any(root.glob(f.path))]
        if missing:
            raise UserError(
                f"this is not a {self.title} folder: {', '.join(missing)} missing.",
                where=str(root),
                hint=f"give the folder that holds {self.files[0].path}; the data are at {self.homepage}",
            )

    def changed_files(self, root: Path) -> tuple[str, ...]:
        """Paths of files whose checksum is not the declared one."""
        return tuple(
            f.path
            for f in self.files
            if f.sha256 and (root / f.path).is_file() and file_sha256(root / f.path) != f.sha256
        )


def dataset_names() -> tuple[str, ...]:
    """Names of all registered data sets, ours and those of plugins."""
    return tuple(sorted(e.name for e in entry_points(group="proctor.datasets")))


def load_dataset(name: str) -> Dataset:
    """Return the declaration of a registered data set.

    Raises:
        UserError: if no data set of that name is registered, or its plugin does not load.
    """
    found = [e for e in entry_points(group="proctor.datasets") if e.name == name]
    if not found:
        raise UserError(f"there is no data set '{name}'.", hint=f"known: {', '.join(dataset_names())}")
    try:
        dataset = found[0].load()
    except ImportError as error:
        raise UserError(f"the plugin of data set '{name}' does not load: {error}.") from error
    if not isinstance(dataset, Dataset):
        raise UserError(f"the plugin of data set '{name}' does not declare a Dataset.")
    return dataset
