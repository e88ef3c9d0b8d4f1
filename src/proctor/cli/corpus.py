"""``proctor corpus``: build a corpus of texts, tables and images, look at it, find what is in it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.console import (
    JsonFlag,
    WorkersOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
    warn,
)
from proctor.cli.models import closing_text
from proctor.cli.options import Output, with_settings
from proctor.stages.documents.settings import CorpusOptions
from proctor.stages.limits import Limits

if TYPE_CHECKING:
    from proctor.stages.documents.corpus import Counted

app = command_app(
    help="Build a corpus of texts, tables and images, look at it, and find what is in it twice.\n\n"
    "Example: proctor corpus build bench --from manuals/ --licence CC-BY-4.0"
)


@app.command()
@with_settings
def build(
    workspace: WorkspaceArgument,
    options: CorpusOptions,
    limits: Limits,
    output: Output,
) -> None:
    """Read files, data sets and workspaces into the workspace's corpus.

    Writes corpus/ (sources.jsonl, aliases.jsonl, images/, manifest.json); what was left out and why stands in
    corpus/dropped.jsonl. The workspace must not lie in a folder that is read. Of equal contents the first is kept. Questions that come with a data set go to questions.jsonl.

    Example: proctor corpus build bench --from manuals/ --licence CC-BY-4.0 --near 0.9

    Example: proctor corpus build bench --data multimodalqa --verbaliser openai/gpt-4o-mini --max-cost 5
    """
    from proctor.stages.documents.corpus import build as stage

    with progress("reading sources", quiet=output.as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    text = _counts_text(result) + _dropped_text(result.dropped)
    if result.calls:
        text += f"\n\n{closing_text(result.calls)}"
    if result.complete:
        text += f"\nnext: proctor generate documents {workspace}"
    emit(result, text, as_json=output.as_json)
    if not result.complete:
        warn("not all images were described, so no corpus was written; the same command goes on from here")
        raise typer.Exit(3 if result.calls and result.calls["stopped"] else 1)


@app.command()
def info(workspace: WorkspaceArgument, as_json: JsonFlag = False) -> None:
    """Say what the corpus holds: sources by modality, documents, lengths, licences, duplicates, what was left out.

    Example: proctor corpus info bench
    """
    from proctor.stages.documents.corpus import describe

    found = describe(workspace)
    lengths = [
        (modality, spread["min"], spread["median"], f"{spread['mean']:,.1f}", spread["max"])
        for modality, spread in found.characters.items()
    ]
    images = found.images
    text = _counts_text(found)
    text += "\n\n" + table(lengths, ("characters", "min", "median", "mean", "max"))
    text += f"\n\n{found.documents:,} documents; {found.questions:,} questions came with the data"
    text += f"\nimages: {images.with_pixels:,} with pixels, {images.verbalised:,} described"
    if images.drawn:
        text += f"; {images.drawn:,} of the pictures are drawn cards: a rehearsal"
    text += "\nlicences: " + (
        ", ".join(f"{name} {n:,}" for name, n in found.licences.items()) or "none known"
    )
    emit(found, text + _dropped_text(found.dropped), as_json=as_json)


@app.command()
def embed(
    workspace: WorkspaceArgument,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder", "-e", help="lsa, onnx/PATH, st/PATH, clip/PATH, compat/NAME@URL, openai/NAME."
        ),
    ] = "lsa",
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Embed all sources before they are needed, in processes or on a Ray cluster.

    Vectors are kept by content: what was embedded before, here or in an interrupted run, is not embedded again. generate documents and
    retrieve find them.

    Example: proctor corpus embed bench -e onnx/models/e5-large --workers 4
    """
    from proctor.compute import place_of
    from proctor.stages.documents.library import Library
    from proctor.workspace import Workspace

    with progress("embedding", quiet=as_json) as seen:
        library = Library(Workspace(workspace), place=place_of(workers), seen=seen)
        vectors = library.vectors(embedder)
    name = library.embedder(embedder).name
    result = {"embedder": name, "sources": len(vectors), "dimension": int(vectors.shape[1])}
    emit(
        result,
        f"{len(vectors):,} sources have vectors of {vectors.shape[1]} numbers by {name}",
        as_json=as_json,
    )


@app.command()
def dedupe(
    workspace: WorkspaceArgument,
    near: Annotated[
        float,
        typer.Option(
            min=0.01, max=1, help="Similarity from which two texts or tables count as one (Jaccard of words)."
        ),
    ] = 0.9,
    exact: Annotated[bool, typer.Option("--exact", help="Look for equal contents alone.")] = False,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Collapse them: the first one stays, the others become its aliases."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """List sources that say the same, and collapse them with --apply.

    Duplicates would draw the seeds of questions to themselves, and stand as distractors beside their own twins.

    Example: proctor corpus dedupe bench --near 0.8
    """
    from proctor.stages.documents.corpus import dedupe as stage

    found = stage(workspace, near=None if exact else near, apply=apply)
    groups = found.groups
    text = f"{found.exact:,} equal and {found.near:,} nearly equal sources among {found.sources:,}"
    if groups:
        rows = [(g.kept, len(g.aliases), ", ".join(g.aliases[:3])) for g in groups[:20]]
        text += "\n\n" + table(rows, ("stays", "others", "such as"))
        text += f"\n... and {len(groups) - 20:,} more groups (--json lists all)" if len(groups) > 20 else ""
    if found.applied:
        text += f"\n\ncollapsed: {found.left:,} sources are left"
    elif groups:
        text += f"\n\nnothing was changed; to collapse them: proctor corpus dedupe {workspace} --apply"
    emit(found, text, as_json=as_json)


def _counts_text(found: Counted) -> str:
    rows = [*found.modalities.items(), ("all", found.sources)]
    text = table(rows, ("modality", "sources"))
    return text + (f"\n{found.aliases:,} duplicates are known as aliases" if found.aliases else "")


def _dropped_text(dropped: dict[str, int]) -> str:
    if not dropped:
        return ""
    return "\nleft out: " + ", ".join(f"{n:,} {reason}" for reason, n in dropped.items())
