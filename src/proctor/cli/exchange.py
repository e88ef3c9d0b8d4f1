"""``proctor import`` and ``proctor export``: published benchmarks in and out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from proctor.cli.console import counted, emit, extras_note, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument, option

_import = group_app(
    "Bring a published benchmark, questions or answers into a workspace.\n\nExample: proctor import release everyday bench\n\n"
    "Example: proctor import predictions answers.jsonl bench --run mine"
)
_export = group_app(
    "Write a workspace as a published format.\n\nExample: proctor export promqa bench examples.json"
)

apps = {"import": _import, "export": _export}

NewFolder: TypeAlias = Annotated[Path, argument("New folder.")]
Benchmark: TypeAlias = Annotated[Path, argument("Folder of the benchmark.")]


class Published(Settings, frozen=True, kw_only=True):
    """Published examples, what they are about, and where they go."""

    file: Annotated[Path, argument("JSON file of published ProMQA examples.")]
    workspace: NewFolder
    annotations: Annotated[Path, option("Folder of the CaptainCook4D annotations, for the task graphs.")]


class Released(Settings, frozen=True, kw_only=True):
    """A release, and where it goes."""

    release: Annotated[
        str, argument("A release folder, or the name of a registered benchmark.", metavar="FOLDER|BENCHMARK")
    ]
    workspace: NewFolder


class Asked(Settings, frozen=True, kw_only=True):
    """Questions, and where they go."""

    file: Annotated[Path, argument("JSON Lines of questions (proctor.exam.question.Question).")]
    workspace: Annotated[Path, argument("Folder of the benchmark; made where it is not there.")]


class Sequences(Settings, frozen=True, kw_only=True):
    """Sequences of steps, and where they go."""

    file: Annotated[
        Path, argument('JSON Lines of {"id": …, "steps": [text, …]} in the order in which they are done.')
    ]
    workspace: NewFolder
    modality: Annotated[
        Literal["both", "text", "image"],
        option("What is kept of the steps, and whose right orders count: both (default), text or image."),
    ] = "both"


class Answered(Settings, frozen=True, kw_only=True):
    """Answers, and the run that they become."""

    file: Annotated[
        Path, argument('JSON Lines of {"item_id": …, "answer": …}, or CSV with these columns.', "FILE")
    ]
    workspace: Benchmark
    run: Annotated[
        str, option("Name of the run; with the kind before it where the file answers several.", metavar="RUN")
    ]


class ToFile(Settings, frozen=True, kw_only=True):
    """A benchmark, and where it is written."""

    workspace: Benchmark
    file: Annotated[Path, argument("JSON file to write.")]


class Training(Settings, frozen=True, kw_only=True):
    """Pairs to train on, and where they are written."""

    workspace: Annotated[Path, argument("Workspace of clips, filtered with a share for training.")]
    out: Annotated[Path, argument("Folder for the files.")]


@_import.command("promqa")
@with_settings
def import_promqa(settings: Published, output: Output) -> None:
    """Bring published ProMQA examples in: examples, candidates, every person's verdict, and items.

    Nothing is lost: `proctor export promqa` writes the same file again.

    Example: proctor import promqa examples.json bench --annotations data/captaincook4d
    """
    from proctor.stages import exchange

    result = exchange.import_published(settings.file, settings.annotations, settings.workspace)
    _say(result, settings.workspace, output)


@_import.command("release")
@with_settings
def import_release(settings: Released, output: Output) -> None:
    """Bring a released benchmark in, to have predictors answer it; every file is checked against its hash.

    Example: proctor import release bench/release theirs && proctor predict theirs
    """
    from proctor.stages import exchange

    _say(exchange.import_release(settings.release, settings.workspace), settings.workspace, output)


def _say(result: msgspec.Struct, workspace: Path, output: Output) -> None:
    text = f"{table(list(msgspec.structs.asdict(result).items()))}\n\nnext: proctor predict {workspace}"
    emit(result, text, as_json=output.as_json)


@_import.command("questions")
@with_settings
def import_questions(settings: Asked, output: Output) -> None:
    """Bring questions of any kind in, with what is proposed as their answers, to be verified and built like our own.

    Writes imported.jsonl, and import.dropped.jsonl with the reason for every question that was left out.

    Example: proctor import questions pictures.jsonl bench
    """
    from proctor.stages.questions import import_questions as stage

    result = stage(settings.file, settings.workspace)
    text = table([*result.kinds.items(), ("all", result.questions)], ("kind", "questions"))
    text += f"\n\nleft out: {counted(result.dropped)}\nnext: proctor build {settings.workspace}"
    emit(result, text, as_json=output.as_json)


@_import.command("sequences", epilog=extras_note("proctor import sequences", more=("corpus",)))
@with_settings
def import_sequences(settings: Sequences, output: Output) -> None:
    """Make questions about the order of steps of a file of sequences, a manual a line, its steps in the order in which they are done.

    The right orders are those of the file: the authors', references of the modality, and every one that keeps a task graph. Steps are presented in an order that depends only on the sequence's id. A sequence with a step that shows nothing in the modality is left
    out, and so are pictures that are missing or broken: build.dropped.jsonl lists them.

    Example: proctor import sequences manuals.jsonl bench --modality text && proctor predict bench -p cue-words
    """
    from proctor.stages.sequence_items import import_sequences as stage

    result = stage(
        settings.file, settings.workspace, "multimodal" if settings.modality == "both" else settings.modality
    )
    rows = [
        ("questions", result.items),
        ("with several right orders", result.several),
        ("pictures", result.pictures),
    ]
    text = f"{table(rows)}\n\nleft out: {counted(result.dropped)}\nnext: proctor predict {settings.workspace} -p cue-words"
    emit(result, text, as_json=output.as_json)


@_import.command("predictions")
@with_settings
def import_predictions(settings: Answered, output: Output) -> None:
    """Bring answers of your own system in as a run, to be marked, scored and compared like any other.

    One line per item: item_id as in items.jsonl, and answer; of questions with options the letter, the option's words, or its
    number from 0 (as in items.jsonl). Where there is no answer, failure says why. An item without a line is one that was not answered: it lowers the
    coverage. Lines that answer nothing are left out and listed in predictions.dropped.jsonl. Another file of the same name
    replaces the run.

    Example: proctor import predictions answers.jsonl bench --run mine && proctor judge bench --run mine
    """
    from proctor.stages.predict import import_predictions as stage

    result = stage(settings.file, settings.workspace, settings.run)
    rows = [
        (r.run, r.kind, r.items, r.items - r.failures.get("unanswered", 0), r.failed) for r in result.runs
    ]
    text = table(rows, ("run", "kind", "items", "with an answer or failure", "failed"))
    text += "".join(f"\n{r.run}: {r.note}" for r in result.runs if r.note)
    text += f"\n\nlines left out: {counted(result.dropped)}"
    text += f"\nnext: proctor judge {settings.workspace} --run {shlex.quote(settings.run)}"
    emit(result, text, as_json=output.as_json)


@_export.command("promqa")
@with_settings
def export_promqa(settings: ToFile, output: Output) -> None:
    """Write the benchmark in the published ProMQA format.

    Example: proctor export promqa bench examples.json
    """
    from proctor.stages import exchange

    result = exchange.export_published(settings.workspace, settings.file)
    emit(result, f"{result.file}: {result.examples} examples", as_json=output.as_json)


@_export.command("training")
@with_settings
def export_training(settings: Training, output: Output) -> None:
    """Write training pairs as LLaVA/ShareGPT conversations and as Hugging Face messages.

    No video is in the benchmark, too: the manifest holds the check.

    Example: proctor export training bench training
    """
    from proctor.stages.clip.training import export_training as stage

    result = stage(settings.workspace, settings.out)
    counts = [("pairs", result.pairs), ("videos", result.videos), ("clips", result.clips)]
    text = table(counts) + "\n" + "\n".join(sorted(result.files))
    found = {**msgspec.to_builtins(result), "out": str(settings.out)}
    emit(found, f"{text}\nin {settings.out}", as_json=output.as_json)
