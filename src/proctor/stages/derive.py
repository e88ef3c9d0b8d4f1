"""The stage ``derive``: recordings to examples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from proctor.errors import UserError
from proctor.examples.derive import derive_examples, rules_for
from proctor.examples.example import Example
from proctor.procedure.recording import Recording
from proctor.records import Dropped, write_jsonl
from proctor.workspace import Workspace

__all__ = ["derive"]


def derive(root: Path, protocol: str | None = None) -> dict[str, Any]:
    """Derive the examples of a workspace and return the counts.

    Raises:
        UserError: if the workspace has no recordings or the protocol is unknown.
    """
    workspace = Workspace(root)
    recordings = workspace.load("recordings.jsonl", Recording)
    graphs = workspace.graphs()
    how_read = (
        workspace.stages()["read"].settings["corrections"] if "read" in workspace.stages() else "corrected"
    )
    settings = workspace.settings("derive", {"protocol": protocol}, {"protocol": how_read})
    chosen = settings["protocol"]
    if chosen not in ("published", "corrected"):
        raise UserError(
            f"the protocol is {chosen!r}.", where="[derive]", hint="use 'corrected' or 'published'"
        )
    dropped: list[Dropped] = []
    by_type: Counter[str] = Counter()
    states: Counter[str] = Counter()
    noisy = 0

    def examples() -> Any:
        nonlocal noisy
        for result in derive_examples(recordings, graphs, rules_for(chosen)):
            if isinstance(result, Example):
                by_type[result.type] += 1
                noisy += result.noisy
                states[result.state] += result.type == "next"
                yield result
            else:
                dropped.append(result)

    try:
        n = write_jsonl(workspace.file("examples.jsonl"), examples())
    except KeyError as error:
        raise UserError(
            f"step {error} is not in its task graph.", where=str(workspace.file("recordings.jsonl"))
        ) from None
    reasons = workspace.write_dropped("derive", dropped)
    counts = {
        "examples": n,
        "by_type": dict(by_type),
        "noisy": noisy,
        "states": dict(states),
        "recordings": len(recordings) - reasons.get("not_eligible", 0) - reasons.get("no_graph", 0),
        "dropped": reasons,
    }
    workspace.record(
        "derive",
        settings=settings,
        counts=counts,
        inputs=("recordings.jsonl", "graphs.json"),
        outputs=("examples.jsonl",),
    )
    return {"protocol": chosen, **counts}
