"""``proctor corpus``: build a corpus of texts, tables and images, look at it, find what is in it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from proctor.cli.console import WorkspaceArgument, counted, emit, group_app, table
from proctor.cli.models import closing_text, emit_estimates
from proctor.cli.options import DryRun, Output, Spread, with_settings
from proctor.stages.documents.settings import CorpusOptions, DedupeOptions, EmbedOptions
from proctor.stages.limits import Limits
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.stages.documents.corpus import Built, Counted, Described

app = group_app(
    "Build a corpus of texts, tables and images, inspect it, and find duplicates.\n\n"
    "Example: proctor corpus build bench --from manuals/ --licence CC-BY-4.0"
)


@app.command()
@with_settings
def build(
    workspace: WorkspaceArgument,
    options: CorpusOptions,
    limits: Limits,
    trying: DryRun,
    output: Output,
) -> None:
    """Read files, data sets and workspaces into the workspace's corpus.

    Writes corpus/ (sources.jsonl, aliases.jsonl, images/, manifest.json); what was left out is listed in corpus/dropped.jsonl with the reason. The workspace must not be inside a folder that is read. Of duplicates the first is kept. Questions that come with a data set go to questions.jsonl.

    Example: proctor corpus build bench --from manuals/ --licence CC-BY-4.0 --near 0.9

    Example: proctor corpus build bench --data multimodalqa --verbaliser openai/gpt-4o-mini --max-cost 5
    """
    from proctor.stages.documents.corpus import build as stage

    if trying.dry_run:
        from proctor.stages.documents.corpus import estimate_corpus
        from proctor.stages.trial import trial

        with trial(workspace, limits) as (workspace, limits):
            estimate = estimate_corpus(workspace, options, limits=limits)
        emit_estimates([estimate], as_json=output.as_json)
        return
    with progress("reading sources", quiet=output.as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    text = _counts_text(result) + _dropped_text(result)
    if result.calls:
        text += f"\n\n{closing_text(result.calls)}"
    if result.complete:
        text += f"\nnext: proctor generate documents {workspace}"
    emit(result, text, as_json=output.as_json)
    if not result.complete:
        warn("not all images were described, so no corpus was written; the same command continues from here")
        raise typer.Exit(3 if result.calls and result.calls.stopped else 1)


@app.command()
@with_settings
def info(workspace: WorkspaceArgument, output: Output) -> None:
    """Show what the corpus holds: sources by modality, documents, lengths, licences, duplicates, what was left out.

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
    licences = ", ".join(f"{name} {n:,}" for name, n in found.licences.items())
    text += f"\nlicences: {licences or 'none known'}"
    emit(found, text + _dropped_text(found), as_json=output.as_json)


@app.command()
@with_settings
def embed(
    workspace: WorkspaceArgument, settings: EmbedOptions, trying: DryRun, spread: Spread, output: Output
) -> None:
    """Embed all sources before they are needed, in processes or on a Ray cluster.

    Vectors are kept by content: what was embedded before, here or in an interrupted run, is not embedded again. generate documents and retrieve use them.

    Example: proctor corpus embed bench -e onnx/models/e5-large --workers 4
    """
    from proctor.compute import place_of
    from proctor.stages.documents.library import Library
    from proctor.workspace import Workspace

    if trying.dry_run:
        from proctor.stages.trial import trial

        with trial(workspace) as (workspace, _):
            left = Library(Workspace(workspace)).missing(settings.embedder)
        text = f"{left.texts:,} texts ({left.characters:,} characters) and {left.pictures:,} pictures have no vector yet"
        emit(left._asdict(), text, as_json=output.as_json)
        return
    with progress("embedding", quiet=output.as_json) as seen:
        library = Library(Workspace(workspace), place=place_of(spread.workers), seen=seen)
        vectors = library.vectors(settings.embedder)
    name = library.embedder(settings.embedder).name
    result = {"embedder": name, "sources": len(vectors), "dimension": int(vectors.shape[1])}
    emit(
        result,
        f"{len(vectors):,} sources have vectors of {vectors.shape[1]} numbers by {name}",
        as_json=output.as_json,
    )


@app.command()
@with_settings
def dedupe(workspace: WorkspaceArgument, settings: DedupeOptions, output: Output) -> None:
    """List duplicate sources, and merge them with --apply.

    Duplicates would be drawn as seeds more often, and would be distractors of their own copies.

    Example: proctor corpus dedupe bench --near 0.8
    """
    from proctor.stages.documents.corpus import dedupe as stage

    found = stage(workspace, near=None if settings.exact else settings.near, apply=settings.apply)
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
    emit(found, text, as_json=output.as_json)


def _counts_text(found: Counted) -> str:
    rows = [*found.modalities.items(), ("all", found.sources)]
    text = table(rows, ("modality", "sources"))
    return text + (f"\n{found.aliases:,} duplicates are known as aliases" if found.aliases else "")


def _dropped_text(found: Built | Described) -> str:
    text = f"\nleft out: {counted(found.dropped)}" if found.dropped else ""
    if found.guessed:
        text += f"\nread in an encoding that was guessed: {found.guessed:,} (corpus/dropped.jsonl says which; save them as UTF-8 to be sure)"
    return text
