"""Runs over clips and documents: each had a folder of its own kind, and its questions were no items."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.records import file_sha256, is_there, read_jsonl, write_json, write_jsonl
from proctor.release.build import RULES, build_items
from proctor.stages.naming import file_name
from proctor.stages.predict import RunInfo, count_answers, full_run_name, run_inputs
from proctor.stages.questions import workspace_questions
from proctor.stages.upgrade.part import Part
from proctor.workspace import StageRecord, Workspace

__all__ = ["built_items", "rename_digest", "take_over", "told"]


def built_items(workspace: Workspace) -> list[Item]:
    """Return the items of a workspace; those about clips and documents are built as they were generated where there are none.

    Raises:
        UserError: if a file is broken, or questions do not fit what they were made of.
    """
    path = workspace.file("items.jsonl")
    there: list[Item] = read_jsonl(path, Item) if is_there(path) else []
    known = {item.question.kind for item in there} | {MOMENT}
    questions = [q for q in workspace_questions(workspace) if q.kind not in known]
    made, _ = build_items(questions, [], RULES["oracle"])
    if not made:
        return there
    digest = file_sha256(path) if is_there(path) else ""
    write_jsonl(path, [*there, *made])
    rename_digest(workspace, path, digest)
    return [*there, *made]


def rename_digest(workspace: Workspace, path: Path, before: str, *, was: str = "") -> None:
    """Say in ``stages.json`` that the stages which read or wrote the old file (called ``was``) did so with the new one."""
    now, was = file_sha256(path), was or path.name

    def renamed(digests: Mapping[str, str]) -> dict[str, str]:
        return {
            path.name if n == was else n: now if (n, d) == (was, before) else d for n, d in digests.items()
        }

    records: dict[str, StageRecord] = {
        name: msgspec.structs.replace(record, inputs=renamed(record.inputs), outputs=renamed(record.outputs))
        for name, record in workspace.stages().items()
    }
    if records:
        write_json(workspace.file("stages.json"), records)


def take_over(
    workspace: Workspace,
    old: Path,
    info: RunInfo,
    predictions: Sequence[Prediction],
    marks: Sequence[Sequence[Judgement]],
    record: str,
) -> None:
    """Write a run as it is written today, and remove the old one.

    Args:
        workspace: the copy.
        old: folder of the run.
        info: what it is.
        predictions: its answers.
        marks: of each judge; scores are made of the first one's.
        record: name of the old stage in ``stages.json``.

    Raises:
        UserError: if a file cannot be read or written.
    """
    who = file_name(f"{info.predictor.removesuffix(f' ({info.show})')} {info.show}")
    folder = workspace.run_folder(full_run_name(info.kind, info.form, info.questions, who))
    write_jsonl(folder / "predictions.jsonl", predictions)
    write_json(folder / "run.json", info)
    records = workspace.stages()
    if records.pop(record, None) is not None:
        write_json(workspace.file("stages.json"), records)
    answers = f"runs/{folder.name}/predictions.jsonl"
    inputs = list(run_inputs(workspace))
    workspace.record(
        f"predict/{folder.name}",
        settings={"predictor": info.predictor, "view": info.show},
        counts=count_answers(predictions),
        inputs=inputs,
        outputs=(answers,),
    )
    for made in marks:
        write_jsonl(folder / "judgements" / f"{file_name(made[0].judge)}.jsonl", made)
    if marks:
        write_jsonl(folder / "judgements.jsonl", marks[0])
        workspace.record(
            f"judge/{folder.name}",
            settings={"judge": marks[0][0].judge, "repeats": 1},
            counts={"marks": len(marks[0])},
            inputs=(*inputs, answers),
            outputs=(f"runs/{folder.name}/judgements.jsonl",),
        )
    shutil.rmtree(old)


def told(
    kind: str, runs: int, tables: int, floors: int, others: Sequence[str], error: UserError | None
) -> Part:
    """Return what became of the runs of a kind.

    Args:
        kind: of their questions.
        runs: how many were taken over.
        tables: how many of these had a table.
        floors: how many systems without a model were left out.
        others: folders of runs over questions that were made anew since.
        error: why there are no items; None where there are.
    """
    notes = [f"Runs about {kind} stay as they were: {error.message}"] if error is not None else []
    if others:
        notes.append(
            f"{len(others)} runs about {kind} answered questions that were made again since, and stay as they were: "
            f"{', '.join(others)}"
        )
    left_out = {"table.json": tables, "systems without a model": floors}
    return Part(
        changed={f"runs about {kind}": runs},
        left_out={name: n for name, n in left_out.items() if n},
        again=(
            *(["build"] if runs or floors else []),
            *(["predict"] if floors else []),
            *(["score"] if runs else []),
        ),
        notes=tuple(notes),
    )
