"""The stage ``read``: a data set's folder into a workspace."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from proctor.compute import HERE, Place
from proctor.datasets.dataset import dataset_names, load_dataset
from proctor.datasets.interchange import formats
from proctor.datasets.lint import find_always_ready
from proctor.errors import UserError
from proctor.records import write_jsonl
from proctor.stages.settings import ReadSettings
from proctor.tables import Shown
from proctor.workspace import Workspace

__all__ = ["Read", "read"]


class Read(Shown, msgspec.Struct, frozen=True):
    """What was read.

    Attributes:
        dataset: its name.
        about: title, version, licence, citation and homepage.
        corrections: ``corrected`` or ``published``.
        counts: recordings, steps and what else the data set counts.
        dropped: recordings left out, by reason.
        findings: oddities, one sentence each.
    """

    dataset: str
    about: dict[str, str]
    corrections: str
    counts: dict[str, int]
    dropped: dict[str, int]
    findings: list[str]


def read(
    dataset: str, folder: Path, root: Path, settings: ReadSettings | None = None, *, place: Place = HERE
) -> Read:
    """Read a data set into a workspace and return the counts of the closing line.

    Args:
        dataset: its name.
        folder: where it is.
        root: the workspace.
        settings: how; as the workspace was read before by default.
        place: where it runs; the files are the same everywhere.

    Raises:
        UserError: if anything about the data set or the workspace is wrong.
    """
    _require_no_format(dataset, folder, root)
    declared = load_dataset(dataset)
    if declared.kind != "recordings":
        raise UserError(
            f"{declared.title} holds {declared.kind}, not recordings.",
            where=str(folder),
            hint=f"proctor datasets stats {declared.name} says what is in it",
        )
    workspace = Workspace(root)
    settings = settings or workspace.resolve(ReadSettings)
    mode = settings.corrections
    result = declared.read_in(place, folder, mode)
    if not result.recordings:
        raise UserError(
            "no recording could be read.",
            where=str(folder),
            hint="see 'proctor datasets check' for the reasons",
        )
    workspace.create()
    write_jsonl(workspace.file("recordings.jsonl"), result.recordings)
    workspace.write_graphs(result.graphs)
    write_jsonl(workspace.file("corrections.jsonl"), result.corrections)
    dropped = workspace.write_dropped("read", result.dropped)
    steps = sum(len(r.segments) for r in result.recordings)
    counts = {
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
    kept = {**msgspec.structs.asdict(settings), "dataset": dataset, "folder": str(folder)}
    workspace.record("read", settings=kept, counts=counts | {"about": about}, outputs=outputs)
    findings = (*result.findings, *find_always_ready(result.recordings, result.graphs))
    told = [f"{f.where}: {f.seen}" for f in findings]
    return Read(declared.name, about, mode, counts, dropped, told)


def _require_no_format(dataset: str, folder: Path, root: Path) -> None:
    """Say how files of other tools are read: not as a data set, but as what they are converted to.

    Raises:
        UserError: if a format is named in place of a data set, or a file of one in place of a plain folder.
    """
    of_recordings = [f for f in formats() if f.kind == "recordings" and f.read is not None]
    named = dataset not in dataset_names() and any(f.name == dataset for f in of_recordings)
    fitting = [f.name for f in of_recordings if folder.suffix.lower() in f.suffixes]
    if not named and not (dataset == "plain" and fitting and folder.is_file()):
        return
    target = f"{folder.resolve().stem or 'recordings'}-plain"
    paths = [shlex.quote(str(path)) for path in (folder, target, root)]
    from_ = f" --from {dataset}" if named else ""
    raise UserError(
        f"'{dataset}' is a format of files, and no data set."
        if named
        else "this is a file, a folder was expected.",
        where=str(folder),
        hint=f"first: proctor datasets convert {paths[0]} {paths[1]}{from_} --to plain; then: proctor read plain {paths[1]} {paths[2]}",
    )
