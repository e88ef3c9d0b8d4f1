"""The page on which other right orders are named: the cards of the steps, in their authored order."""

from __future__ import annotations

from proctor.studio.tasks.order import view

__all__ = ["view"]
