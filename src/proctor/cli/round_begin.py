"""Commands of ``proctor round`` that begin a round, one for each kind of tasks."""

from __future__ import annotations

from pathlib import Path

from proctor.cli.console import WorkspaceArgument, counted, emit
from proctor.cli.options import Output, with_settings
from proctor.stages.rounds.settings import (
    AlternativesSettings,
    AnswerSettings,
    Given,
    GraphRoundSettings,
    MarkSettings,
    OrderSettings,
    OwnSettings,
    RateSettings,
    RecordRoundSettings,
    TimelineSettings,
    WriteSettings,
)

__all__ = ["COMMANDS"]


def _begin(workspace: Path, kind: str, settings: Given, output: Output) -> None:
    """Begin a round of a kind, and say how people come to it."""
    from proctor.stages.rounds.opening import open_round
    from proctor.workspace import Workspace

    opened = open_round(workspace, kind, settings)
    text = f"round {opened.round}: {counted(opened.tasks)} tasks"
    if opened.dropped:
        text += f"; left out: {counted(opened.dropped)}, listed in round-{kind}.dropped.jsonl"
    if opened.new:
        meant = Workspace(workspace).meant()
        text += f"\n{workspace} is a new workspace{meant and f' ({meant})'}"
    text += f"\npeople find it at {opened.address}\n\nnext: proctor studio {workspace}"
    emit(opened, text, as_json=output.as_json)


@with_settings
def answer(workspace: WorkspaceArgument, settings: AnswerSettings, output: Output) -> None:
    """Have people answer the benchmark: each answers questions that they never judged, decided, marked or wrote.

    'proctor round collect' makes their answers a run, 'people', that is judged, scored and reported like those of systems.

    Example: proctor round answer bench --questions 20 --name people
    """
    _begin(workspace, "answer", settings, output)


@with_settings
def mark(workspace: WorkspaceArgument, settings: MarkSettings, output: Output) -> None:
    """Have people mark answers of runs without seeing whose they are; their marks calibrate judges.

    Example: proctor round mark bench --per-system 50 --people 2
    """
    _begin(workspace, "mark", settings, output)


@with_settings
def write(workspace: WorkspaceArgument, settings: WriteSettings, output: Output) -> None:
    """Have people write questions about moments without seeing a candidate, and measure how long it takes.

    Example: proctor round write bench --questions 50 --wage 20
    """
    _begin(workspace, "write", settings, output)


@with_settings
def rate(workspace: WorkspaceArgument, settings: RateSettings, output: Output) -> None:
    """Have people rate questions by a form: SMMQG's five metrics, or fields of your own.

    Test samples (--key) and attention checks (--form) are in every batch, at random places. 'round collect' writes the
    ratings for 'study tables'.

    Example: proctor round rate bench study --form form.toml --workers --redirect 'https://example.org/done?cc={code}'
    """
    _begin(workspace, "rate", settings, output)


@with_settings
def own(workspace: WorkspaceArgument, settings: OwnSettings, output: Output) -> None:
    """Have people do tasks of your own: rows of a table, of which a form says what is shown and what is asked.

    Fields are scales, choices, numbers, texts, and words that are marked in a text. The workspace is made where there is none.
    'collect' writes answers.csv and answers.jsonl.

    Example: proctor round own bench tasks.csv --form form.toml --people 3 --batch 10
    """
    _begin(workspace, "own", settings, output)


@with_settings
def order(workspace: WorkspaceArgument, settings: OrderSettings, output: Output) -> None:
    """Let people put the steps of manuals in order: by texts, pictures or both, each form a week after the other.

    'collect' writes orders for 'study order-table' and a run 'people-<modality>', and names batches that are to be done again.

    Example: proctor round order bench --people 3 --batch 5
    """
    if settings.label_studio is None:
        _begin(workspace, "order", settings, output)
    else:
        from proctor.stages.rounds.order import write_tasks

        text = f"{write_tasks(workspace, settings):,} tasks: {settings.label_studio}, and the configuration beside"
        emit({"file": str(settings.label_studio)}, text, as_json=output.as_json)


@with_settings
def alternatives(workspace: WorkspaceArgument, settings: AlternativesSettings, output: Output) -> None:
    """Let other people name further right orders of manuals that they did not put in order.

    'collect' writes what they named, a file of sequences with the orders that most name, and votes for 'study golden'.

    Example: proctor round alternatives bench --shows both --people 3
    """
    _begin(workspace, "alternatives", settings, output)


@with_settings
def graph(workspace: WorkspaceArgument, settings: GraphRoundSettings, output: Output) -> None:
    """Let people write task graphs from texts: mark actions, make them steps, link what must wait; or review inferred edges.

    A model may draft (--draft); nothing of it counts unless a person accepts it. 'round collect' writes what all agree on.

    Example: proctor round graph bench --texts recipes --draft openai/gpt-4o

    Example: proctor round graph bench --edges review.csv --people 1
    """
    _begin(workspace, "graph", settings, output)


@with_settings
def timeline(workspace: WorkspaceArgument, settings: TimelineSettings, output: Output) -> None:
    """Have people mark the steps of recordings from start to end, with what went wrong, actions and narration.

    Recordings are those of the workspace, or the videos of a folder that all follow one task graph. 'round collect' compares
    what people marked, settles what two agree on, and writes a folder for 'read plain'.

    Example: proctor round timeline bench --videos videos --people 2

    Example: proctor round timeline bench --videos kitchen --steps recipe.txt --prelabels predictions.csv
    """
    _begin(workspace, "timeline", settings, output)


@with_settings
def record(workspace: WorkspaceArgument, settings: RecordRoundSettings, output: Output) -> None:
    """Have participants record the activities of the plan on a tablet: prepare, record, and say what went differently.

    They choose among the recordings that the plan has for them (their code is the name they sign in with). 'round collect'
    writes script, events, review and the tablet's video into the folder of each recording.

    Example: proctor round record bench --minutes 40
    """
    _begin(workspace, "record", settings, output)


COMMANDS = (answer, mark, write, rate, own, order, alternatives, graph, timeline, record)
"""In the order in which they are listed."""
