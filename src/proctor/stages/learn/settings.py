"""Options of ``proctor learn`` and ``proctor features``; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.settings import Settings, argument

__all__ = ["StoreSettings"]


class StoreSettings(Settings, frozen=True, kw_only=True):
    """Which store of features is meant."""

    store: Annotated[Path, argument("Folder of a store of features.", "STORE")]
