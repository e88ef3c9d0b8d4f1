"""``proctor check``: what is odd in a data set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, command_app, emit, table

app = command_app()

_SHOWN = 3


@app.command()
def check(
    dataset: Annotated[str, typer.Argument(help="Name of the data set.")],
    folder: Annotated[Path, typer.Argument(help="Folder with the data set's files.")],
    rule: Annotated[
        str | None, typer.Option(help="List every finding of this rule, for example R10.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List what is odd in the raw files of a data set, counted by rule. Nothing is changed.

    Example: proctor check captaincook4d ~/data/captaincook4d --rule R10
    """
    from proctor.datasets.dataset import load_dataset
    from proctor.datasets.lint import RULES
    from proctor.datasets.plain.check import PLAIN_RULES

    findings = load_dataset(dataset).check(folder)
    counts = Counter(f.rule for f in findings)
    chosen = [f for f in findings if rule is None or f.rule == rule]
    if rule is not None:
        text = table([(f.where, f.seen) for f in chosen], ("where", "seen")) or f"no finding of rule {rule}"
    else:
        rows = []
        for name, n in sorted(counts.items(), key=lambda pair: (len(pair[0]), pair[0])):
            where = [f.where for f in findings if f.rule == name]
            more = f" and {n - _SHOWN} more" if n > _SHOWN else ""
            rows.append((name, n, ({**RULES, **PLAIN_RULES}).get(name, ""), "; ".join(where[:_SHOWN]) + more))
        text = table(rows, ("rule", "found", "what", "where")) or "nothing odd"
    listed = [{"rule": f.rule, "where": f.where, "seen": f.seen} for f in chosen]
    emit({"dataset": dataset, "counts": dict(counts), "findings": listed}, text, as_json=as_json)
