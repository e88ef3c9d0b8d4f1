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
    from proctor.errors import UserError

    known = {**RULES, **PLAIN_RULES}
    findings = load_dataset(dataset).check(folder)
    if rule is not None and rule not in known and rule not in {f.rule for f in findings}:
        raise UserError(f"there is no rule {rule!r}.", hint=f"known: {', '.join(known)}")
    counts = Counter(f.rule for f in findings)
    chosen = [f for f in findings if rule is None or f.rule == rule]
    if rule is not None:
        rows = [(f.where, f.seen) for f in chosen]
        text = table(rows, ("where", "seen")) if rows else f"no finding of rule {rule}"
    else:
        counted = []
        for name, n in sorted(counts.items(), key=lambda pair: (len(pair[0]), pair[0])):
            where = [f.where for f in findings if f.rule == name]
            more = f" and {n - _SHOWN} more" if n > _SHOWN else ""
            counted.append(
                (name, n, known.get(name, name.replace("_", " ")), "; ".join(where[:_SHOWN]) + more)
            )
        header = ("rule", "found", "what", "where")
        text = table(counted, header) if counted else "nothing odd"
    listed = [{"rule": f.rule, "where": f.where, "seen": f.seen} for f in chosen]
    emit({"dataset": dataset, "counts": dict(counts), "findings": listed}, text, as_json=as_json)
