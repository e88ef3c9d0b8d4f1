"""``proctor round answer``, ``mark`` and ``write``: people sit the exam, mark answers and write questions."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import begin
from proctor.stages.rounds.exam_settings import AnswerSettings, MarkSettings, WriteSettings

__all__ = ["answer", "mark", "write"]


@with_settings
def answer(workspace: WorkspaceArgument, settings: AnswerSettings, output: Output) -> None:
    """Have people sit the exam: each answers questions that they never judged, decided, marked or wrote.

    'proctor round collect' makes their answers a run, 'people', that is judged, scored and reported like those of systems.

    Example: proctor round answer bench --questions 20 --name people
    """
    begin(workspace, "answer", settings, output)


@with_settings
def mark(workspace: WorkspaceArgument, settings: MarkSettings, output: Output) -> None:
    """Have people mark answers of runs, blind to whose they are; their marks calibrate judges.

    Example: proctor round mark bench --per-system 50 --people 2
    """
    begin(workspace, "mark", settings, output)


@with_settings
def write(workspace: WorkspaceArgument, settings: WriteSettings, output: Output) -> None:
    """Have people write questions about moments, without a candidate before their eyes, and take their time.

    Example: proctor round write bench --questions 50 --wage 20
    """
    begin(workspace, "write", settings, output)
