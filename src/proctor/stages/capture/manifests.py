"""The recordings of a workspace by their manifests, those that cannot be read among them. docs/capture.md, *On disk*."""

from __future__ import annotations

from pathlib import Path

from proctor.capture.records import MANIFEST, Manifest, capture_folder
from proctor.errors import UserError
from proctor.records import Dropped, read_json
from proctor.workspace import Workspace

__all__ = ["recordings_of"]


def recordings_of(workspace: Path, unreadable: list[Dropped] | None = None) -> list[tuple[Path, Manifest]]:
    """Return the folders and manifests of all recordings, by id; what cannot be read is listed where a list is given.

    Raises:
        UserError: if a manifest cannot be read, and there is no list for it.
    """
    Workspace(workspace)  # of this version
    found: list[tuple[Path, Manifest]] = []
    for path in sorted((capture_folder(workspace) / "recordings").glob(f"*/{MANIFEST}")):
        try:
            found.append((path.parent, read_json(path, Manifest)))
        except UserError as error:
            if unreadable is None:
                raise
            unreadable.append(Dropped(path.parent.name, "unreadable", f"{path}: {error.message}"))
    return found
