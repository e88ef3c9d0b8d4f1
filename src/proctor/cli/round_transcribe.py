"""``proctor round transcribe``."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, emit
from proctor.cli.options import Output, with_settings
from proctor.stages.rounds.transcribe import Transcribe

__all__ = ["transcribe"]


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
