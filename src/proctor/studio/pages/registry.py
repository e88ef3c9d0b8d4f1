"""Where groups of pages add their routes: rows of path, method, endpoint and permission."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["more_routes"]


def more_routes() -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the coordinator's pages."""
    from proctor.studio.pages import (
        dashboard,
        deal,
        events,
        exports,
        items,
        lessons,
        people,
        reviews,
        rounds,
        texts,
    )

    yield from dashboard.ROUTES
    yield from items.ROUTES
    yield from exports.ROUTES
    yield from people.ROUTES
    yield from deal.ROUTES
    yield from lessons.ROUTES
    yield from texts.ROUTES
    yield from events.ROUTES
    yield from rounds.ROUTES
    yield from reviews.ROUTES
