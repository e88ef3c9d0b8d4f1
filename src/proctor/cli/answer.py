"""``proctor answer``: models answer questions from sources, and judges mark them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import (
    JsonFlag,
    LimitOption,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    warn,
)
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_with_status
from proctor.cli.options import with_settings
from proctor.cli.retrieve import cells_text
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def answer(
    workspace: WorkspaceArgument,
    model: Annotated[str, typer.Option("--model", "-m", help="Who answers.")],
    image_model: Annotated[
        str | None,
        typer.Option(
            help="Who answers where a source is an image, as in the paper (default: the same model)."
        ),
    ] = None,
    sources: Annotated[
        str, typer.Option(help="gold (the cited sources alone), or RETRIEVER@k such as bm25@5: end to end.")
    ] = "gold",
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", "-j", help="Model that marks, with the sources; may be repeated."),
    ] = None,
    reference_judge: Annotated[
        list[str] | None,
        typer.Option(help="Model that marks by the reference answer alone; may be repeated."),
    ] = None,
    questions: Annotated[
        str, typer.Option(help="styled: what was generated; data: what came with the data.")
    ] = "styled",
    bert_score: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Model for BERTScore (extra bertscore); nothing is downloaded."),
    ] = None,
    limit: LimitOption = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Have questions answered from their sources, or from what a retriever found, and the answers marked.

    Judges give 0 (wrong), 1 (partly right) or 2 (right); scores are 50 times the mean. A mark that cannot be read is asked for once
    more, then left out and counted. ROUGE-1 stands beside them.

    Example: proctor answer bench -m openai/gpt-4o-mini --judge openai/gpt-4o --dry-run

    Example: proctor answer bench -m openai/gpt-4o-mini --sources bm25@5 --judge openai/gpt-4o --max-cost 5
    """
    from proctor.stages.styled.answer import AnswerOptions, estimate_answers
    from proctor.stages.styled.answer import answer as stage

    options = AnswerOptions(
        llm=model, lmm=image_model, sources=sources, judges=tuple(judge or ()), reference_judges=tuple(reference_judge or ()),
        questions=questions, bert_score=bert_score, limit=limit, seed=seed or 0,
    )  # fmt: skip
    if dry_run:
        emit_estimates([estimate_answers(workspace, options, limits=limits)], as_json=as_json)
        return
    with progress("answering and marking", quiet=as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    for note in result["table"].get("notes", ()):
        warn(note)
    counts = "; ".join(f"{name}: {n:,}" for name, n in result["table"].get("counts", {}).items())
    rows = [{**row, "system": result["system"]} for row in result["table"]["rows"]]
    text = f"{cells_text(rows)}\n\n{counts}\n\n{closing_text(result['calls'])}"
    emit(result, text, as_json=as_json)
    end_with_status(result["calls"])
    if result["calls"]["stopped"]:
        warn("what was not asked counts as failed; the same command goes on from here")
        raise typer.Exit(3)
