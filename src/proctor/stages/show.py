"""How stages show their progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Show"]


class Show(Protocol):
    """Shows the progress of one part of a job."""

    def __call__(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Begin a part; the value of the context is called once per finished item or call."""
        ...
