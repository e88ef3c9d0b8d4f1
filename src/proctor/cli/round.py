"""``proctor round``: tasks for people, and what they said."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, emit, extras_note, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import COMMANDS
from proctor.stages.rounds.settings import Collect, Stored, Transcribe, Which

__all__ = ["app"]

app = group_app(
    "Give tasks to people, each task to as many as you say, and collect their answers.\n\n"
    "A round has tasks of one kind; people do them in the studio (proctor studio WORKSPACE), with an account or by the link "
    "of a platform. Begin a round with the command of its kind, then 'list', 'collect', 'close'. More: docs/rounds.md\n\n"
    "Example: proctor round answer bench --questions 20 --name people"
)

for _command in COMMANDS:
    app.command()(_command)


@app.command(epilog=extras_note("proctor round transcribe", ("asr",)))
@with_settings
def transcribe(workspace: WorkspaceArgument, settings: Transcribe, output: Output) -> None:
    """Write down what people said on timelines (pause-and-talk), with a model on this machine.

    Silence is left out first, so that no text is invented for it. The sound stays; people can correct the text on the page.

    Example: proctor round transcribe bench timelines --model models/faster-whisper-small
    """
    from proctor.stages.rounds.transcribe import transcribe_round

    done = transcribe_round(workspace, settings)
    lines = [f"{done.written} written down, {done.silent} without speech, {done.before} from before"]
    lines += [f"not written down: {path}: {why}" for path, why in done.failed.items()]
    emit(done, "\n".join(lines), as_json=output.as_json)


@app.command("list")
@with_settings
def list_(workspace: WorkspaceArgument, where: Stored, output: Output) -> None:
    """List the rounds of a workspace, and how far they are.

    Example: proctor round list bench
    """
    from proctor.stages.rounds.opening import list_rounds

    found = list_rounds(workspace, where.database)
    rows = [(r.round, r.kind, r.state, r.tasks, f"{r.done} of {r.wanted}", r.held, r.people) for r in found]
    head = ("round", "kind", "state", "tasks", "done", "held", "people")
    emit(found, table(rows, head) if rows else "no rounds yet", as_json=output.as_json)


@app.command()
@with_settings
def collect(workspace: WorkspaceArgument, settings: Collect, output: Output) -> None:
    """Write what people said where the other commands read it, and show how far they agree.

    Answers become a run, marks go to 'calibrate', ratings to 'study tables', orders to 'study order-table', own tasks into a
    table, task graphs and timelines into files that 'read' takes.

    Example: proctor round collect bench people
    """
    from proctor.stages.rounds.opening import collect_round

    round_, collected = collect_round(workspace, settings)
    lines = [*collected.lines, *(f"written: {path}" for path in collected.files)]
    result = {
        "round": round_.name,
        "files": [str(path) for path in collected.files],
        "figures": collected.figures,
    }
    emit(result, "\n".join(lines), as_json=output.as_json)


@app.command()
@with_settings
def close(workspace: WorkspaceArgument, which: Which, output: Output) -> None:
    """Close a round: nothing more is given out or changed in it.

    Example: proctor round close bench people
    """
    from proctor.stages.rounds.opening import set_round

    set_round(workspace, which.round, "closed", which.database)
    emit(
        {"round": which.round, "state": "closed"},
        f"round {which.round} is closed: nothing more is given out or changed in it",
        as_json=output.as_json,
    )


@app.command()
@with_settings
def reopen(workspace: WorkspaceArgument, which: Which, output: Output) -> None:
    """Open a closed round again.

    Example: proctor round reopen bench people
    """
    from proctor.stages.rounds.opening import set_round

    set_round(workspace, which.round, "open", which.database)
    emit(
        {"round": which.round, "state": "open"}, f"round {which.round} is open again", as_json=output.as_json
    )
