"""Dry runs: everything is tried on a copy of the workspace, so that nothing in it changes, not by a byte.

What cannot be looked at without sending or keeping something is left out and named: recordings whose videos are not here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.fence import FENCE_FILE
from proctor.records import is_there
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS, MEDIA
from proctor.stages.rehearsing import TRIAL_FILE
from proctor.workspace import Workspace

__all__ = ["trial"]


def _hard(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


_COPIED: Final = ("runs", "cells", "retrieval", "vectors", "index")
"""Folders of which files are appended to."""
_LINKED: Final[Mapping[str, Callable[[str, str], object]]] = {
    MEDIA: os.symlink,
    "corpus": _hard,
    "pictures": _hard,
}
"""Folders whose files are replaced and never changed: each file is a link (pixels have to lie in the folder that names them)."""
_LEFT: Final = ("release", "former-runs")
"""Folders that no stage which asks reads."""


@contextmanager
def trial(root: Path, limits: Limits | None = None) -> Iterator[tuple[Path, Limits]]:
    """Yield a copy of a workspace to try things on, and limits that read the workspace's own call store.

    Messages of errors name the workspace, not its copy.

    Args:
        root: the workspace.
        limits: of the run that is tried.

    Raises:
        UserError: if the workspace cannot be read, or what is tried raises it.
    """
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="proctor-trial-") as folder:
        copy = Path(folder, "bench")
        _copy(root, copy)
        (copy / TRIAL_FILE).touch()
        own = None
        if not limits.calls and is_there(root / CALLS):
            own = str((root / CALLS).resolve())
        try:
            yield copy, msgspec.structs.replace(limits, calls=own or limits.calls, left_out=set())
        except UserError as error:
            if error.where == str(copy) and not root.is_dir() and (meant := Workspace(root).meant()):
                error.hint = f"{meant} If not, {error.hint}"
            for name in ("message", "where", "hint"):
                said = getattr(error, name)
                if said:
                    setattr(error, name, said.replace(str(copy), str(root)))
            raise


def _copy(root: Path, copy: Path) -> None:
    copy.mkdir()
    if not root.is_dir():
        return
    for path in root.resolve().iterdir():
        if path.name in _COPIED:
            shutil.copytree(path, copy / path.name, symlinks=True)
        elif path.name in _LINKED:
            shutil.copytree(path, copy / path.name, copy_function=_LINKED[path.name])
        elif path.is_dir():
            if path.name not in _LEFT:
                (copy / path.name).symlink_to(path, target_is_directory=True)
        elif not path.name.startswith(CALLS) and path.name != "report.html":
            with suppress(FileNotFoundError):  # another process is at work
                shutil.copy2(path, copy / path.name)
    if (root / FENCE_FILE).exists() and not (copy / FENCE_FILE).exists():
        raise UserError("the secret of the workspace's fences cannot be read.", where=str(root / FENCE_FILE))
