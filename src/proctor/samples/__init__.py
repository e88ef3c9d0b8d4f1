"""The sample that ships with the package: three everyday activities, recorded by nobody, in the plain format.

Hand-made and tiny, with mistakes of every kind; the videos are rendered from the annotations when they are needed.
"""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from proctor.records import atomic_folder

__all__ = ["copy_sample", "path"]


def path() -> Path:
    """Return the folder of the sample inside the package; treat it as read-only."""
    return Path(str(files("proctor.samples") / "everyday"))


def copy_sample(target: Path) -> Path:
    """Copy the sample to a new or empty folder and return the folder.

    Raises:
        UserError: if there is something already, or it cannot be written; nothing is then left behind.
    """
    with atomic_folder(target) as work:
        shutil.copytree(path(), work, dirs_exist_ok=True)
    return target
