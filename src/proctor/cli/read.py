"""``proctor read``: a data set's folder into a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from proctor.cli.console import JsonFlag, emit, table, warn

app = typer.Typer()


@app.command()
def read(
    dataset: Annotated[
        str, typer.Argument(help="Name of the data set: captaincook4d, plain, or a plugin's.")
    ],
    folder: Annotated[Path, typer.Argument(help="Folder with the data set's files.")],
    workspace: Annotated[Path, typer.Argument(help="Folder of the benchmark in the making; made if needed.")],
    corrections: Annotated[
        str | None,
        typer.Option(
            help="'corrected' mends known mistakes of the annotations (default); 'published' keeps the release's."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read recordings and task graphs, correct what is known to be wrong, and say what was found.

    Writes recordings.jsonl, graphs.json, corrections.jsonl and read.dropped.jsonl. Nothing is mended silently:
    every correction is listed with its reason.

    Example: proctor read captaincook4d ~/data/captaincook4d bench
    """
    result = read_into(dataset, folder, workspace, corrections)
    counts = result["counts"]
    rows = [
        (key, counts[key])
        for key in ("recordings", "activities", "steps", "steps_kept", "corrections", "dropped")
        if key in counts
    ]
    for sentence in result["findings"][:5]:
        warn(sentence)
    text = table(rows) + f"\n\nnext: proctor derive {workspace}"
    emit(result, text, as_json=as_json)


def read_into(dataset: str, folder: Path, root: Path, corrections: str | None) -> dict[str, Any]:
    """Read a data set into a workspace and return the counts of the closing line.

    Raises:
        UserError: if anything about the data set or the workspace is wrong.
    """
    from proctor.datasets.dataset import load_dataset
    from proctor.errors import UserError
    from proctor.records import write_jsonl
    from proctor.workspace import Workspace

    if corrections not in (None, "published", "corrected"):
        raise UserError(f"--corrections is {corrections!r}.", hint="use 'corrected' or 'published'")
    declared = load_dataset(dataset)
    workspace = Workspace(root)
    workspace.create()
    defaults = {"dataset": "", "folder": "", "corrections": "corrected"}
    given = {"dataset": dataset, "folder": str(folder), "corrections": corrections}
    settings = workspace.settings("read", given, defaults)
    mode = settings["corrections"]
    result = declared.read(folder, mode)
    if not result.recordings:
        raise UserError(
            "no recording could be read.", where=str(folder), hint="see 'proctor check' for the reasons"
        )
    write_jsonl(workspace.file("recordings.jsonl"), result.recordings)
    workspace.write_graphs(result.graphs)
    write_jsonl(workspace.file("corrections.jsonl"), result.corrections)
    dropped = workspace.write_dropped("read", result.dropped)
    steps = sum(len(r.segments) for r in result.recordings)
    counts: dict[str, Any] = {
        "recordings": len(result.recordings),
        "activities": len(result.graphs),
        "steps": steps,
        **result.counts,
        "steps_kept": steps,
        "corrections": len(result.corrections),
        "dropped": len(result.dropped),
    }
    outputs = ("recordings.jsonl", "graphs.json")
    workspace.record("read", settings=settings, counts=counts, outputs=outputs)
    return {
        "dataset": declared.name,
        "version": declared.version,
        "licence": declared.licence,
        "corrections": mode,
        "counts": counts,
        "dropped": dropped,
        "findings": [f"{f.where}: {f.seen}" for f in result.findings],
    }
