"""``proctor capture``: from a plan to recordings, and from these to a data set and a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from proctor.cli.console import group_app
from proctor.cli.lazy import RESIDUALS, SIMULATE, Brought, LazyGroup

__all__ = ["app"]

_COMMANDS = "proctor.cli.capture_commands"


class _Capture(LazyGroup):
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "plan": (_COMMANDS, "Draw scripts from task graphs, and plan who records which, where and when."),
        "status": (_COMMANDS, "Show what is recorded and what is still to do."),
        "record": (_COMMANDS, "Record one session with sensors."),
        "sync": (_COMMANDS, "Synchronise all streams of recordings, and measure how well."),
        "ingest": (_COMMANDS, "Check recordings, make their videos, annotate them from what was noted."),
        "consent": (_COMMANDS, "Note what a participant agreed to."),
        "release": (_COMMANDS, "Pack recordings with checksums, datasheet and licence."),
        "withdraw": (_COMMANDS, "Remove everything of a participant who takes consent back."),
    }
    brought: ClassVar[Mapping[str, Brought]] = {"simulate": SIMULATE, "residuals": RESIDUALS}


app = group_app(
    "Make recordings: plan them, record them with sensors or a tablet, synchronise, annotate, release.\n\n"
    "The commands in their order; the tablet is a round of tasks (proctor round record WORKSPACE). More: docs/capture.md\n\n"
    "Example: proctor capture plan kitchen --graphs activities --people 5",
    cls=_Capture,
)
