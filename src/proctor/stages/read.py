"""The stage ``read``: a data set's folder into a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proctor.compute import HERE, Place
from proctor.datasets.dataset import load_dataset
from proctor.datasets.lint import find_always_ready
from proctor.errors import UserError
from proctor.records import write_jsonl
from proctor.workspace import Workspace

__all__ = ["read"]


def read(
    dataset: str, folder: Path, root: Path, corrections: str | None = None, *, place: Place = HERE
) -> dict[str, Any]:
    """Read a data set into a workspace and return the counts of the closing line.

    Args:
        dataset: its name.
        folder: where it is.
        root: the workspace.
        corrections: ``corrected`` (default) or ``published``.
        place: where it runs; the files are the same everywhere.

    Raises:
        UserError: if anything about the data set or the workspace is wrong.
    """
    if corrections not in (None, "published", "corrected"):
        raise UserError(f"--corrections is {corrections!r}.", hint="use 'corrected' or 'published'")
    declared = load_dataset(dataset)
    if declared.kind != "recordings":
        raise UserError(
            f"{declared.title} holds {declared.kind}, not recordings.",
            where=str(folder),
            hint=f"proctor datasets stats {declared.name} says what is in it",
        )
    workspace = Workspace(root)
    workspace.create()
    defaults = {"dataset": "", "folder": "", "corrections": "corrected"}
    given = {"dataset": dataset, "folder": str(folder), "corrections": corrections}
    settings = workspace.settings("read", given, defaults)
    mode = settings["corrections"]
    result = declared.read_in(place, folder, mode)
    if not result.recordings:
        raise UserError(
            "no recording could be read.",
            where=str(folder),
            hint="see 'proctor datasets check' for the reasons",
        )
    write_jsonl(workspace.file("recordings.jsonl"), result.recordings)
    workspace.write_graphs(result.graphs)
    write_jsonl(workspace.file("corrections.jsonl"), result.corrections)
    dropped = workspace.write_dropped("read", result.dropped)
    steps = sum(len(r.segments) for r in result.recordings)
    counts: dict[str, Any] = {
        "recordings": len(result.recordings),
        "activities": len(result.graphs or {r.activity_id for r in result.recordings}),
        "task_graphs": len(result.graphs),
        "steps": steps,
        **result.counts,
        "steps_kept": steps,
        "corrections": len(result.corrections),
        "dropped": len(result.dropped),
    }
    about = {
        "title": declared.title,
        "version": declared.version,
        "licence": declared.licence,
        "citation": declared.citation,
        "homepage": declared.homepage,
    } | {("title" if key == "name" else key): text for key, text in result.about.items() if text}
    outputs = ("recordings.jsonl", "graphs.json")
    workspace.record("read", settings=settings, counts=counts | {"about": about}, outputs=outputs)
    return {
        "dataset": declared.name,
        "about": about,
        "corrections": mode,
        "counts": counts,
        "dropped": dropped,
        "findings": [
            f"{f.where}: {f.seen}"
            for f in (*result.findings, *find_always_ready(result.recordings, result.graphs))
        ],
    }
