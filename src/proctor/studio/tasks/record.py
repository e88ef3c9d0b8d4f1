"""The page of a recording: what is to be done, what is planned to go wrong, and what the tablet records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from proctor.capture.hints import sayable
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.said import say
from proctor.studio.guard import CAMERA
from proctor.studio.language import encoded
from proctor.verify.rounds.record import CHECKS, RecordOptions, RecordTask
from proctor.verify.rounds.timeline import TAGS

__all__ = ["HEADERS", "RecordView", "view"]

HEADERS: Final = {"permissions-policy": CAMERA}  # people are filmed on this page
_STRATEGIES: Final = {
    "normal": say("Do everything as the text says"),
    "impromptu": say("Do it; where you feel like it, make a mistake of your own"),
    "disordered": say("The steps come in another order on purpose"),
    "missing": say("Some steps are left out on purpose"),
    "induced": say("Make the mistakes that are planned"),
}


@dataclass(frozen=True, slots=True)
class RecordView:
    """``task_record``: title, what is asked, what is needed, what is confirmed beforehand, and all that the page draws, as JSON."""

    title: str
    strategy: str
    items: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]
    paragraph: bool
    data: str


def view(_studio: Any, task: RecordTask, _sheet: Any, options: RecordOptions, _address: str) -> RecordView:
    """Return what the page shows."""
    script, strategy = task.script, task.slot.strategy
    data = {
        "steps": script.steps, "left_out": [(s, task.left_out.get(s, s)) for s in script.left_out], "checks": tuple(CHECKS),
        "mistakes": script.mistakes, "hints": tuple(map(sayable, script.hints)), "prepares": strategy == "induced",
        "kinds": {kind: TAGS[kind] for kind in MISTAKE_KINDS},
    }  # fmt: skip
    json = encoded(data | msgspec.structs.asdict(options)).decode()
    return RecordView(script.title, _STRATEGIES[strategy], script.items, tuple(CHECKS.items()), options.paragraph, json)  # fmt: skip
