"""The page of a recording: what is to be done, what is planned to go wrong, and what the tablet records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.procedure.recording import MISTAKE_KINDS
from proctor.studio.guard import CAMERA
from proctor.verify.rounds.record import CHECKS, RecordOptions, RecordSheet, RecordTask

if TYPE_CHECKING:
    from proctor.studio.context import Studio

__all__ = ["HEADERS", "RecordView", "view"]

HEADERS: Final = {"permissions-policy": CAMERA}
"""People are filmed on this page."""
_TITLES: Final = {
    "normal": "Do everything as the text says", "impromptu": "Do it; where you feel like it, make a mistake of your own",
    "disordered": "The steps come in another order on purpose", "missing": "Some steps are left out on purpose",
    "induced": "Make the mistakes that are planned",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordView:
    """``task_record``: title, what is asked of the participant, what is needed, what is confirmed beforehand, whether something
    can be prepared, and all that the page draws, as JSON.
    """  # noqa: D205

    title: str
    strategy: str
    items: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]
    prepares: bool
    paragraph: bool
    data: str


def view(
    studio: Studio,  # noqa: ARG001 - as all kinds are called
    task: RecordTask,
    sheet: RecordSheet,  # noqa: ARG001
    options: RecordOptions,
    address: str,  # noqa: ARG001
) -> RecordView:
    """Return what the page shows."""
    script, slot = task.script, task.slot
    kinds = {kind: "Missing step" if kind == "missing" else kind.capitalize() for kind in MISTAKE_KINDS}
    data = {
        "recording": slot.id, "steps": script.steps, "left_out": [(s, task.left_out.get(s, s)) for s in script.left_out],
        "mistakes": script.mistakes, "hints": script.hints, "kinds": kinds, "checks": tuple(CHECKS), "prepares": slot.strategy == "induced", **msgspec.structs.asdict(options),
    }  # fmt: skip
    return RecordView(
        title=script.title,
        strategy=_TITLES[slot.strategy],
        items=script.items,
        checks=tuple(CHECKS.items()),
        prepares=slot.strategy == "induced",
        paragraph=options.paragraph,
        data=msgspec.json.encode(data).decode(),
    )
