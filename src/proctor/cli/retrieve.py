"""``proctor retrieve``: which sources do retrievers find for the questions?"""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status
from proctor.cli.options import DryRun, Output, with_settings
from proctor.stages.documents.settings import RetrievalOptions
from proctor.stages.limits import Limits
from proctor.terminal import progress, warn

app = command_app()


@app.command()
@with_settings
def retrieve(
    workspace: WorkspaceArgument,
    options: RetrievalOptions,
    limits: Limits,
    trying: DryRun,
    output: Output,
) -> None:
    """Let retrievers rank all sources for every question, and compute recall by style and by modalities.

    recall@k is the share of a question's cited sources among the first k, as published; all-gold@k counts questions of which
    all were found. Questions with a source that the corpus lacks are not scored; the first line counts them. Rankings go to retrieval/, for 'proctor predict --show bm25@5'; the table there, which the report and 'proctor
    concur' read, holds the retrievers of the last command.

    Example: proctor retrieve bench -r bm25 -r lsa -r bm25+lsa

    Example: proctor retrieve bench -r bm25~cross/models/reranker --questions data
    """
    from proctor.stages.documents.retrieve import estimate_retrieval, retrieve_all
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            estimate = estimate_retrieval(workspace, options, limits=limits)
        emit_estimates([estimate], as_json=output.as_json)
        return
    with progress("searching", len(options.retrievers), quiet=output.as_json) as seen:
        result = retrieve_all(workspace, options, limits=limits, seen=seen)
    for note in result.table.notes:
        warn(note)
    text = f"{result.table.told}\n\n{cells_text(msgspec.to_builtins(result.table.cells))}"
    if counts := result.table.counts:
        text += "\n\n" + "; ".join(f"{name}: {n:,}" for name, n in counts.items())
    if result.left_out:
        text += f"\n{result.left_out:,} further questions are left out: not all of their sources are known"
    if result.recall_of_search:
        text += "\n" + "\n".join(result.recall_of_search)
    if result.calls:
        text += f"\n\n{closing_text(result.calls)}"
    emit(result, text, as_json=output.as_json)
    end_with_status(result.calls or None, accepted=limits.accept_failures)


def cells_text(cells: list[dict[str, Any]], first: str = "slice") -> str:
    """Return numbers as a table: one line a slice and system, one column a measure; ``first`` is the title of the slices."""
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
    return table(rows, (first, "system", *measures, "n"))


def _number(cell: dict[str, Any] | None) -> str:
    if cell is None or cell.get("value") is None:
        return ""
    ends = f" [{cell['low']:.1f}, {cell['high']:.1f}]" if cell.get("low") is not None else ""
    return f"{cell['value']:.1f}{ends}" if cell["kind"] == "all" else f"{cell['value']:.1f}"
