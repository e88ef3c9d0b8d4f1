"""``proctor sequences``: a file of sequences from any manuals."""

from __future__ import annotations

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.stages.sequences import SequenceSettings, make_sequences
from proctor.terminal import progress

app = command_app()


@app.command()
@with_settings
def sequences(settings: SequenceSettings, output: Output) -> None:
    """Make a file of sequences, steps in their right order, of manuals, recordings without mistakes, or task graphs.

    What is left out is counted by reason and listed in FILE.dropped.jsonl. The file is what 'learn sequence' reads.

    Example: proctor sequences ~/data/wikihow --protocol paper --semantics ranks --out wikihow.jsonl

    Example: proctor sequences captaincook4d ~/data/captaincook4d --out graphs.jsonl
    """
    with progress("manuals", quiet=output.as_json) as seen:
        made = make_sequences(settings, seen)
    rows = [(name, f"{getattr(made, name):,}") for name in ("sequences", "tasks", "steps", "pictures")]
    rows += [(f"left out: {reason}", f"{n:,}") for reason, n in made.dropped.items()]
    emit(made, f"{table(rows)}\n{made.file}, {made.dropped_file}", as_json=output.as_json)
