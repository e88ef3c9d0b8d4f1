"""``proctor generate styled``: questions in styles about a corpus of texts, tables and images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
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
from proctor.cli.models import DryRunFlag, closing_text, end_unfinished, estimate_text
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

app = command_app()


@app.command()
@with_settings
def styled(
    workspace: WorkspaceArgument,
    generator: GeneratorOption,
    image_generator: ImageGeneratorOption = None,
    entity_model: EntityModelOption = None,
    verifier: VerifierOption = None,
    style: StyleOption = None,
    per_cell: PerCellOption = None,
    total: TotalOption = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="The numbers of the published set: 1,024 questions of five styles."),
    ] = False,
    combination: CombinationOption = None,
    embedder: EmbedderOption = "lsa",
    scale: ScaleOption = "multiply",
    seed_modalities: Annotated[
        str, typer.Option(help="Seeds of any source (as published), or only of the required modalities.")
    ] = "any",
    document_quota: Annotated[
        int | None, typer.Option(min=1, help="Seeds of one document at most, in each round of attempts.")
    ] = None,
    necessity: NecessityOption = "prompt",
    attempts: AttemptsOption = 8,
    closed_book: Annotated[
        str,
        typer.Option(help="Can it be answered without any source? off, measure, or refuse such questions."),
    ] = "off",
    one_source: Annotated[
        str, typer.Option(help="Can it be answered from one of its sources? off, measure, or refuse.")
    ] = "off",
    gold_rank: Annotated[
        bool,
        typer.Option("--gold-rank", help="Measure the rank of the cited sources for the question (BM25)."),
    ] = False,
    max_rank: Annotated[
        int | None, typer.Option(min=1, help="Refuse questions whose cited sources rank lower than this.")
    ] = None,
    min_rank: Annotated[
        int | None,
        typer.Option(min=1, help="Refuse questions whose worst cited source ranks higher than this."),
    ] = None,
    known: Annotated[
        list[Path] | None,
        typer.Option(
            help="File of questions that models may have learnt from; near ones are listed. May be repeated."
        ),
    ] = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Generate questions of given styles that need given numbers of texts, tables and images.

    For each question a seed source gives an entity, the entity finds candidates of each modality, a model writes a question on
    some of them or refuses, and a verifier checks style, answer and whether every source is needed. Up to eight attempts;
    every outcome is counted. A style of your own is one file: see docs/corpus.md.

    Writes styled.jsonl, styled.attempts.jsonl and styled.json. Calls are kept: the same command goes on where it ended.

    Example: proctor generate styled bench -g openai/gpt-4o --verifier anthropic/claude-sonnet-4-5 --per-cell 5 --dry-run

    Example: proctor generate styled bench -g openai/gpt-4o --style my-style.md --combination 1-1-0 --total 50 --max-cost 10
    """
    options = styled_options(
        generator, image_generator=image_generator, entity_model=entity_model, verifier=verifier, styles=style,
        per_cell=per_cell, total=total, published=published, combinations=combination, embedder=embedder, scale=scale,
        seed_modalities=seed_modalities, document_quota=document_quota, necessity=necessity, attempts=attempts,
        closed_book=closed_book, one_source=one_source, gold_rank=gold_rank, max_rank=max_rank, min_rank=min_rank, seed=seed,
    )  # fmt: skip
    if dry_run:
        from proctor.stages.styled.foresee import estimate_styled

        estimate, played, planned = estimate_styled(workspace, options, limits=limits)
        text = (
            estimate_text(estimate)
            + f"\n\nfor {played:,} of {planned:,} questions, as models that are right 4 times of 5 would go on"
        )
        if played < planned:
            text += f"; all of them: about {planned / played:.1f} times that"
        found = {"estimates": [msgspec.to_builtins(estimate)], "played": played, "planned": planned}
        emit(found, text, as_json=as_json)
        return
    from proctor.stages.styled.generate import generate as stage

    with progress("generating", quiet=as_json) as seen:
        result = stage(workspace, options, known=known or (), limits=limits, seen=seen)
    for line in result["short"]:
        warn(line)
    emit(
        result,
        f"{styled_text(result)}\n\n{closing_text(result['calls'])}\nnext: proctor retrieve {workspace}",
        as_json=as_json,
    )
    end_unfinished(result, f"{result['open']:,} questions are still open")


def styled_text(result: dict[str, Any]) -> str:
    """Return what was asked for and made, and what became of the attempts."""
    rows = [
        (
            c["style"],
            c["combination"],
            c["asked"],
            c["achieved"],
            c["attempts"],
            _yield(c),
            c["cost"] or "not known",
        )
        for c in result["cells"]
    ]
    text = table(rows, ("style", "sources", "asked", "made", "attempts", "yield", "cost"))
    text += f"\n\n{result['achieved']:,} of {result['asked']:,} questions in {result['attempts']:,} attempts"
    text += "\n" + ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in result["outcomes"].items())
    if result["near_known"]:
        text += f"\n{result['near_known']:,} are near questions that models may have learnt from (styled.json lists them)"
    return text


def _yield(cell: dict[str, Any]) -> str:
    return "" if cell["yield"] is None else f"{cell['yield']:.0%}"
