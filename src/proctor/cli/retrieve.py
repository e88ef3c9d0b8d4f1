"""``proctor retrieve``: which sources do retrievers find for the questions?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from proctor.cli.console import (
    JsonFlag,
    LimitOption,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
    warn,
)
from proctor.cli.models import closing_text, end_with_status
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def retrieve(
    workspace: WorkspaceArgument,
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever",
            "-r",
            help="bm25, an embedder (lsa, onnx/PATH, st/PATH, compat/NAME@URL, clip/PATH), several joined by + (fused by ranks; "
            "bm25+lsa:zscore by scores), each with ~RERANKER (cross/PATH, embed/EMBEDDER or a model). May be repeated "
            "(default: bm25, lsa, bm25+lsa).",
        ),
    ] = None,
    questions: Annotated[
        str, typer.Option(help="styled: what was generated; data: what came with the data.")
    ] = "styled",
    pool: Annotated[
        str, typer.Option(help="Which sources compete: all, required_modalities or per_modality.")
    ] = "all",
    score: Annotated[str, typer.Option(help="raw, or zscore within each modality.")] = "raw",
    search: Annotated[
        str,
        typer.Option(
            help="exact, an approximate search such as hnsw (its recall is measured and printed), or a server that holds the "
            "vectors: qdrant:URL, postgresql://…"
        ),
    ] = "exact",
    depth: Annotated[int, typer.Option(min=1, help="Sources of a ranking.")] = 100,
    k: Annotated[
        list[int] | None, typer.Option("-k", help="Cut-off of recall; may be repeated (default 5 and 10).")
    ] = None,
    limit: LimitOption = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    as_json: JsonFlag = False,
) -> None:
    """Let retrievers rank all sources for every question, and compute recall by style and by modalities.

    recall@k is the share of a question's cited sources among the first k, as published; all-gold@k counts questions of which
    all were found. Rankings go to retrieval/, for 'proctor answer --sources bm25@5'; the table there, which the report and 'proctor
    concur' read, holds the retrievers of the last command.

    Example: proctor retrieve bench -r bm25 -r lsa -r bm25+lsa

    Example: proctor retrieve bench -r bm25~cross/models/reranker --questions data
    """
    from proctor.stages.styled.retrieve import DEFAULT_RETRIEVERS, RetrievalOptions, retrieve_all

    options = RetrievalOptions(
        retrievers=tuple(retriever or DEFAULT_RETRIEVERS), questions=questions, pool=pool, score=score,  # type: ignore[arg-type]
        method=search, depth=depth, cuts=tuple(k or (5, 10)), limit=limit, seed=seed or 0,
    )  # fmt: skip
    with progress("searching", len(options.retrievers), quiet=as_json) as seen:
        result = retrieve_all(workspace, options, limits=limits, seen=seen)
    for note in result["table"].get("notes", ()):
        warn(note)
    text = cells_text(result["table"]["cells"])
    if counts := result["table"].get("counts"):
        text += "\n\n" + "; ".join(f"{name}: {n:,}" for name, n in counts.items())
    if result["left_out"]:
        text += f"\n{result['left_out']:,} further questions are left out: not all of their sources are known"
    if "recall_of_search" in result:
        text += "\n" + "\n".join(result["recall_of_search"])
    if "calls" in result:
        text += f"\n\n{closing_text(result['calls'])}"
    emit(result, text, as_json=as_json)
    end_with_status(result.get("calls"))
    if result.get("calls", {}).get("stopped"):
        warn("rankings that were not reranked have failed; the same command goes on from here")
        raise typer.Exit(3)


def cells_text(cells: list[dict[str, Any]]) -> str:
    """Return numbers as a table: one line a slice and system, one column a measure."""
    measures = [
        m for m in dict.fromkeys(c["measure"] for c in cells) if " " not in m or not m.startswith("recall")
    ]
    kinds = ("all", "style", "modalities")
    slices = list(dict.fromkeys(c["slice"] for c in cells if c["kind"] in kinds))
    systems = list(dict.fromkeys(c["system"] for c in cells))
    by = {(c["system"], c["measure"], c["slice"]): c for c in cells}
    rows = []
    for place in slices:
        for system in systems:
            found = [by.get((system, m, place)) for m in measures]
            if any(found):
                rows.append((place, system, *map(_number, found), max(c.get("n", 0) for c in found if c)))
    return table(rows, ("slice", "system", *measures, "n"))


def _number(cell: dict[str, Any] | None) -> str:
    if cell is None or cell.get("value") is None:
        return ""
    ends = f" [{cell['low']:.1f}, {cell['high']:.1f}]" if cell.get("low") is not None else ""
    return f"{cell['value']:.1f}{ends}" if cell["kind"] == "all" else f"{cell['value']:.1f}"
