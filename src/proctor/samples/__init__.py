"""The samples that ship with the package: recordings of three everyday activities, and five manuals.

Hand-made and tiny. The recordings are in the plain format, made by nobody, with mistakes of every kind; their videos are rendered from
the annotations when they are needed. The manuals have texts, tables and pictures.
"""

from __future__ import annotations

import os
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Literal

from proctor.records import atomic_folder

__all__ = ["copy_sample", "path"]

Sample = Literal["everyday", "manuals"]


def path(name: Sample = "everyday") -> Path:
    """Return the folder of a sample inside the package; treat it as read-only."""
    return Path(str(files("proctor.samples") / name))


def copy_sample(target: str | os.PathLike[str], name: Sample = "everyday") -> Path:
    """Copy a sample to a new or empty folder and return the folder.

    Raises:
        UserError: if there is something already, or it cannot be written; nothing is then left behind.
    """
    with atomic_folder(Path(target)) as work:
        shutil.copytree(path(name), work, dirs_exist_ok=True)
    return Path(target)
