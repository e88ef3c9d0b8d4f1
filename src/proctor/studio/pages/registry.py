"""Where groups of pages add their routes: rows of path, method, endpoint and permission."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["more_routes"]


_PAGES: Final = (
    "dashboard", "items", "exports", "people", "deal", "lessons", "texts", "events", "rounds", "reviews", "narrations", "recordings", "comments", "sso", "api",
)  # fmt: skip


def more_routes() -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the other pages."""
    from importlib import import_module

    for name in _PAGES:
        yield from import_module(f"proctor.studio.pages.{name}").ROUTES
