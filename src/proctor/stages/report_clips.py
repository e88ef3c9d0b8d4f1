"""What the page says of clips: how questions about them came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from proctor.ask.clip.audit import Planted
from proctor.ask.clip.choice_run import ChoiceSummary
from proctor.ask.clip.choices import ChoiceAttempt
from proctor.ask.clip.record import FilterVerdict
from proctor.errors import UserError
from proctor.records import Dropped, is_there, read_json, read_jsonl
from proctor.report.clip import ClipMaking, PairsSummary, clip_sections
from proctor.report.data import Exam
from proctor.report.parts import Section
from proctor.stages.clip.audit import AUDIT_PLANTED, AUDIT_VERDICTS, load_audit
from proctor.stages.clip.reading import (
    CHOICES,
    CHOICES_ATTEMPTS,
    CHOICES_SUMMARY,
    KEPT,
    PAIRS_SUMMARY,
    VERDICTS,
    load_choices,
    load_clips,
    load_kept,
    load_pairs,
    load_training,
    load_verdicts,
)
from proctor.workspace import Workspace

__all__ = ["clip_making"]


class _Summary(msgspec.Struct):
    summary: PairsSummary = msgspec.field(default_factory=PairsSummary)
    tasks: dict[str, str] = {}


class _Choices(msgspec.Struct):
    summary: ChoiceSummary


def clip_making(workspace: Workspace, exams: Sequence[Exam]) -> Iterator[Section]:
    """Yield how questions about clips came about, in a workspace that has pairs."""

    def lines(name: str, kind: type) -> Sequence[Any]:
        return read_jsonl(path, kind) if is_there(path := workspace.file(name)) else ()

    filtered = is_there(workspace.file(VERDICTS))
    path = workspace.file(PAIRS_SUMMARY)
    written = read_json(path, _Summary) if is_there(path) else _Summary()
    choices: _Choices | None = None
    if is_there(workspace.file(CHOICES)):
        if not is_there(workspace.file(CHOICES_SUMMARY)):
            raise UserError(
                f"{CHOICES_SUMMARY} is not there.",
                where=str(workspace.root),
                hint=f"run again: proctor choices {workspace.root}",
            )
        choices = read_json(workspace.file(CHOICES_SUMMARY), _Choices)
    made = ClipMaking(
        pairs=load_pairs(workspace),
        clips=load_clips(workspace),
        summary=written.summary,
        tasks=written.tasks,
        verdicts=load_verdicts(workspace) if filtered else None,
        kept=load_kept(workspace) if filtered and is_there(workspace.file(KEPT)) else (),
        audit=load_audit(workspace),
        items=load_choices(workspace) if choices is not None else (),
        choices=choices.summary if choices is not None else None,
        training=load_training(workspace),
        gone=lines("pairs.dropped.jsonl", Dropped),
        attempts=lines(CHOICES_ATTEMPTS, ChoiceAttempt),
        unfit=lines("choices.dropped.jsonl", Dropped),
        planted=lines(AUDIT_PLANTED, Planted),
        audited=lines(AUDIT_VERDICTS, FilterVerdict),
        built={id_: i.id for exam in exams for i in exam.items for id_ in (i.id, i.question.parent)},
    )
    yield from clip_sections(made)
