"""What every command that begins a round does."""

from __future__ import annotations

from pathlib import Path

from proctor.cli.console import counted, emit
from proctor.cli.options import Output
from proctor.stages.rounds.settings import Given

__all__ = ["begin"]


def begin(workspace: Path, kind: str, settings: Given, output: Output) -> None:
    """Begin a round of a kind, and say how people come to it."""
    from proctor.stages.rounds.opening import open_round

    opened = open_round(workspace, kind, settings)
    text = f"round {opened.round}: {counted(opened.tasks)} tasks"
    if opened.dropped:
        text += f"; left out: {counted(opened.dropped)}, listed in round-{kind}.dropped.jsonl"
    text += f"\npeople find it at {opened.address}\n\nnext: proctor studio {workspace}"
    emit(opened, text, as_json=output.as_json)
