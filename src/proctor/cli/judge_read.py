"""``proctor judge read``: what a judge model's replies are read as, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument, option

app = command_app()

_SHOWN = 72


class Replies(Settings, frozen=True, kw_only=True):
    """What is read, and what was asked for."""

    file: Annotated[Path, argument('JSON Lines, one reply a line: {"id": ..., "reply": "..."}.', "FILE")]
    scale: Annotated[str, option("What the judge was asked for: ternary (0, 1, 2) or binary (0, 1).")] = (
        "ternary"
    )


@app.command()
@with_settings
def read(settings: Replies, output: Output) -> None:
    """Show how each reply of a judge model is read: a score, or why it stays unscored. No model is asked.

    Prints id, score (or null), rule and reason of each reply, in the order of the file. The rule of a score is the
    form that it was read from (line, next_line, json, tag, bare, references); of an unscored reply, what kind of
    reply it is. docs/evaluate.md lists both. With --json it is a list of objects with these four keys.

    Example: proctor judge read replies.jsonl --scale binary --json
    """
    from proctor.stages.judge import read_replies

    found = read_replies(settings.file, settings.scale)
    rows = [
        (
            line["id"],
            "unscored" if line["score"] is None else line["score"],
            line["rule"],
            line["reason"][:_SHOWN],
        )
        for line in found
    ]
    unscored = sum(line["score"] is None for line in found)
    text = table(rows, ("id", "score", "rule", "reason")) + f"\n\n{len(found)} replies, {unscored} unscored"
    emit(found, text, as_json=output.as_json)
