"""``proctor experiment styled``: SMMQG's whole experiment in one command."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.console import (
    JsonFlag,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
    warn,
)
from proctor.cli.lazy import STANDIN
from proctor.cli.models import rehearsed
from proctor.cli.options import with_settings
from proctor.cli.styled_options import (
    AttemptsOption,
    CombinationOption,
    EmbedderOption,
    EntityModelOption,
    GeneratorOption,
    ImageGeneratorOption,
    NecessityOption,
    PerCellOption,
    ScaleOption,
    StyleOption,
    TotalOption,
    VerifierOption,
    styled_options,
)
from proctor.stages.limits import Limits

if TYPE_CHECKING:
    from proctor.stages.styled.experiment import Done

app = command_app()


@app.command()
@with_settings
def styled(
    workspace: WorkspaceArgument,
    generator: GeneratorOption,
    files: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="PATH", help="File or folder of documents; may be repeated."),
    ] = None,
    data: Annotated[list[Path] | None, typer.Option(help="Folder of a data set that holds a corpus.")] = None,
    recordings: Annotated[
        list[Path] | None,
        typer.Option(metavar="WORKSPACE", help="Workspace of recordings, as sources and questions."),
    ] = None,
    min_text: Annotated[int, typer.Option(min=0, help="Shorter texts are left out: characters.")] = 200,
    licence: Annotated[str | None, typer.Option(help="Of the files, as SPDX names it.")] = None,
    verbaliser: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Model that describes images.")
    ] = None,
    image_generator: ImageGeneratorOption = None,
    entity_model: EntityModelOption = None,
    verifier: VerifierOption = None,
    style: StyleOption = None,
    per_cell: PerCellOption = None,
    total: TotalOption = None,
    combination: CombinationOption = None,
    embedder: EmbedderOption = "lsa",
    scale: ScaleOption = "multiply",
    necessity: NecessityOption = "prompt",
    attempts: AttemptsOption = 8,
    closed_book: Annotated[
        str, typer.Option(help="off, measure, or refuse questions that need no source.")
    ] = "off",
    gold_rank: Annotated[
        bool, typer.Option("--gold-rank", help="Measure the rank of the cited sources.")
    ] = False,
    retriever: Annotated[
        list[str] | None,
        typer.Option("--retriever", "-r", help="As for proctor retrieve (default: bm25, lsa, bm25+lsa)."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="Model that answers, or LLM,LMM: the second where a source is an image."
        ),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(help="What models answer from: gold (default), bm25@5; may be repeated."),
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option("--judge", "-j", help="Model that marks; may be repeated.")
    ] = None,
    reference_judge: Annotated[
        list[str] | None, typer.Option(help="Model that marks by the reference alone; may be repeated.")
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model that says of which styles questions are: style overlap."),
    ] = None,
    known: Annotated[
        list[Path] | None, typer.Option(help="File of questions that models may have learnt from.")
    ] = None,
    rehearse: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            hidden=not STANDIN.is_installed,
            metavar="QUALITY",
            help="Play all models on this machine, right with this probability; pictures that are missing are drawn.",
        ),
    ] = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    as_json: JsonFlag = False,
) -> None:
    """Build a corpus, generate questions in styles, search, answer, mark, compare and report: SMMQG with your models.

    The same command goes on where it ended, and nothing is paid for twice. --max-cost and the like hold for all stages
    together. Each stage is a command of its own: corpus build, generate styled, retrieve, answer, report.

    Example: proctor experiment styled bench --from manuals -g openai/gpt-4o -m openai/gpt-4o-mini -j openai/gpt-4o --max-cost 20

    Example: proctor experiment styled rehearsal --from manuals -g openai/gpt-4o -m openai/gpt-4o-mini -j openai/gpt-4o --rehearse 0.8
    """
    from proctor.stages.styled.experiment import StyledPlan, conduct
    from proctor.stages.styled.settings import DEFAULT_RETRIEVERS, CorpusOptions

    options = styled_options(
        generator, image_generator=image_generator, entity_model=entity_model, verifier=verifier, styles=style,
        per_cell=per_cell, total=total, combinations=combination, embedder=embedder, scale=scale, necessity=necessity,
        attempts=attempts, closed_book=closed_book, gold_rank=gold_rank, known=known, seed=seed,
    )  # fmt: skip
    corpus = None
    if files or data or recordings:
        corpus = CorpusOptions(
            files=tuple(files or ()), data=tuple(data or ()), recordings=tuple(recordings or ()), minimum=min_text, licence=licence,
            verbaliser=verbaliser, draw_missing=rehearse is not None,
        )  # fmt: skip
    plan = StyledPlan(
        questions=options, corpus=corpus, retrievers=tuple(retriever or DEFAULT_RETRIEVERS), systems=tuple(model or ()),
        sources=tuple(sources or ("gold",)), judges=tuple(judge or ()), reference_judges=tuple(reference_judge or ()),
        classifier=classifier, seed=seed or 0,
    )  # fmt: skip
    showing = partial(progress, quiet=as_json)
    with rehearsed(limits, workspace, rehearse, seed=options.seed, quiet=as_json) as limits:
        done = conduct(workspace, plan, limits=limits, show=showing)
    for line in done.notes:
        warn(line)
    if done.stopped:
        warn(f"stopped early: {done.stopped}; the same command goes on from here")
    emit(_facts(done), _text(done), as_json=as_json)
    if done.stopped:
        raise typer.Exit(3)


def _facts(done: Done) -> dict[str, Any]:
    return {
        "stages": [{"stage": part.name, **part.counts} for part in done.parts],
        "report": done.report,
        "stopped": done.stopped,
        "notes": done.notes,
    }


def _text(done: Done) -> str:
    rows = [
        (
            part.name,
            part.calls["sent"],
            part.calls["from_store"],
            sum(part.calls["outcomes"].values()) - part.calls["outcomes"].get("reply", 0),
            part.calls["cost"],
        )
        for part in done.parts
        if part.calls is not None
    ]
    text = table(rows, ("stage", "sent", "from the store", "not replied", "cost")) if rows else ""
    for part in done.parts:
        if part.name == "generate":
            text += f"\n\n{part.counts['achieved']:,} of {part.counts['asked']:,} questions were made"
        if part.name.startswith("retrieve/"):
            cells = [
                c
                for c in part.counts["table"]["cells"]
                if c["slice"] == "all" and c["measure"].count(" ") == 0
            ]
            found = [(c["system"], c["measure"], "" if c["value"] is None else c["value"]) for c in cells]
            text += f"\n\n{part.name}\n" + table(found, ("retriever", "measure", "value"))
        if part.name.startswith("answer/"):
            cells = [c for c in part.counts["table"]["rows"] if c["slice"] == "all"]
            text += f"\n\n{part.name}\n" + table(
                [(c["measure"], "" if c["value"] is None else c["value"]) for c in cells],
                ("measure", "value"),
            )
    return text + (f"\n\nreport: {done.report}" if done.report else "")
