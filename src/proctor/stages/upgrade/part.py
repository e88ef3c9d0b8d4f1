"""What one part of an upgrade did."""

from __future__ import annotations

import msgspec

__all__ = ["Part"]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What was brought into today's form, and what was left out.

    Attributes:
        changed: what was rewritten, counted.
        left_out: files of the old form that are made again without asking any model, counted by name.
        again: the commands that make them, without the workspace.
        notes: what a person should know, one sentence each.
    """

    changed: dict[str, int] = {}
    left_out: dict[str, int] = {}
    again: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
