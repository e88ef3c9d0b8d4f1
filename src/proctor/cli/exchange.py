"""``proctor import`` and ``proctor export``: published benchmarks in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from proctor.cli.console import JsonFlag, command_app, emit, table

_import = command_app(help="Bring a published benchmark into a workspace.")
_export = command_app(help="Write a workspace as a published format.")

apps = {"import": _import, "export": _export}


@_import.callback()
def _import_group() -> None:
    """Bring a published benchmark into a workspace."""


@_export.callback()
def _export_group() -> None:
    """Write a workspace as a published format."""


@_import.command("promqa")
def import_promqa(
    file: Annotated[Path, typer.Argument(help="JSON file of published ProMQA examples.")],
    workspace: Annotated[Path, typer.Argument(help="New folder.")],
    annotations: Annotated[
        Path, typer.Option(help="Folder of the CaptainCook4D annotations, for the task graphs.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Bring published ProMQA examples in: examples, candidates, every person's verdict, and items.

    Nothing is lost: `proctor export promqa` writes the same file again.

    Example: proctor import promqa examples.json bench --annotations data/captaincook4d
    """
    from proctor.stages import exchange

    result = exchange.import_published(file, annotations, workspace)
    emit(result, table(list(result.items())) + f"\n\nnext: proctor predict {workspace}", as_json=as_json)


@_import.command("release")
def import_release(
    release: Annotated[str, typer.Argument(help="A release folder, or the name of a registered benchmark.")],
    workspace: Annotated[Path, typer.Argument(help="New folder.")],
    as_json: JsonFlag = False,
) -> None:
    """Bring a released benchmark in, to have predictors answer it; every file is checked against its hash.

    Example: proctor import release bench/release theirs && proctor predict theirs
    """
    from proctor.stages import exchange

    result = exchange.import_release(release, workspace)
    emit(result, table(list(result.items())) + f"\n\nnext: proctor predict {workspace}", as_json=as_json)


@_import.command("questions")
def import_questions(
    file: Annotated[Path, typer.Argument(help="JSON Lines of questions (proctor.exam.question.Question).")],
    workspace: Annotated[Path, typer.Argument(help="Folder of the benchmark; made where it is not there.")],
    as_json: JsonFlag = False,
) -> None:
    """Bring questions of any kind in, with what is proposed as their answers, to be verified and built like our own.

    Writes imported.jsonl, and import.dropped.jsonl with the reason for every question that was left out.

    Example: proctor import questions pictures.jsonl bench
    """
    from proctor.stages.questions import import_questions as stage

    result = stage(file, workspace)
    rows = [*result.kinds.items(), ("all", result.questions)]
    dropped = ", ".join(f"{n} {reason}" for reason, n in result.dropped.items()) or "none"
    text = table(rows, ("kind", "questions")) + f"\n\nleft out: {dropped}\nnext: proctor build {workspace}"
    emit(result, text, as_json=as_json)


@_export.command("promqa")
def export_promqa(
    workspace: Annotated[Path, typer.Argument(help="Folder of the benchmark.")],
    file: Annotated[Path, typer.Argument(help="JSON file to write.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the benchmark in the published ProMQA format.

    Example: proctor export promqa bench examples.json
    """
    from proctor.stages import exchange

    result = exchange.export_published(workspace, file)
    emit(result, f"{result['file']}: {result['examples']} examples", as_json=as_json)


@_export.command("training")
def export_training(
    workspace: Annotated[
        Path, typer.Argument(help="Workspace of clips, filtered with a share for training.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder for the files.")],
    as_json: JsonFlag = False,
) -> None:
    """Write training pairs as LLaVA/ShareGPT conversations and as Hugging Face messages.

    No video is in the benchmark, too: the manifest holds the check.

    Example: proctor export training bench training
    """
    from proctor.stages.clip.training import export_training as stage

    result = stage(workspace, out)
    counts = [("pairs", result.pairs), ("videos", result.videos), ("clips", result.clips)]
    text = table(counts) + "\n" + "\n".join(sorted(result.files))
    emit({**msgspec.to_builtins(result), "out": str(out)}, f"{text}\nin {out}", as_json=as_json)
