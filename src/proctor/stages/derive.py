"""The stage ``derive``: recordings to examples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

from proctor.errors import UserError
from proctor.examples.derive import derive_examples, rules_for
from proctor.examples.example import Example
from proctor.records import Dropped, write_jsonl
from proctor.stages.inputs import load_recordings
from proctor.workspace import Workspace

__all__ = ["DEFAULTS", "derive"]

DEFAULTS: dict[str, Any] = {"protocol": ""}
"""An empty protocol means: as the recordings were read."""


def derive(root: Path, protocol: str | None = None) -> dict[str, Any]:
    """Derive the examples of a workspace and return the counts.

    Raises:
        UserError: if the workspace has no recordings or the protocol is unknown.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    recordings = load_recordings(workspace, graphs)
    settings = workspace.settings("derive", {"protocol": protocol}, DEFAULTS)
    chosen = _protocol(settings["protocol"] or _how_read(workspace))
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

    n = write_jsonl(workspace.file("examples.jsonl"), examples())
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
        settings={"protocol": chosen},
        counts=counts,
        inputs=("recordings.jsonl", "graphs.json"),
        outputs=("examples.jsonl",),
        kept=settings,
    )
    return {"protocol": chosen, **counts}


def _protocol(name: str) -> Literal["published", "corrected"]:
    if name == "published":
        return "published"
    if name == "corrected":
        return "corrected"
    raise UserError(f"there is no protocol {name!r}.", where="derive", hint="known: corrected, published")


def _how_read(workspace: Workspace) -> str:
    """Return the correction mode that the recordings were read in."""
    read = workspace.stages().get("read")
    return str(read.settings.get("corrections", "corrected")) if read else "corrected"
