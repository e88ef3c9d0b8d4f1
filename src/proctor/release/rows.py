"""Items as flat rows for viewers and for ``datasets.load_dataset``, and rows as items again, without loss.

A row has only strings, numbers, booleans and lists of them, each column of one type and never null. What decides the
answer (the example with its steps, mistakes and derived sets) travels as one JSON text in ``facts``: it is for
judges and must not be shown to a predictor.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final, Literal, get_type_hints

import msgspec

from proctor.ask.moment.candidate import AnswerKind
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import MOMENT, moment_candidate, moment_example, question_about
from proctor.exam.question import Choice, Footage, Gold, Item, Text, gold_texts
from proctor.records import canonical_json, decode

__all__ = [
    "COLUMNS",
    "KIND_COLUMNS",
    "KindRow",
    "Row",
    "from_kind_row",
    "from_row",
    "to_kind_row",
    "to_row",
    "without_local_paths",
]


_TYPES: Final[dict[Any, str]] = {
    str: "string",
    float: "float64",
    bool: "bool",
    list[str]: "list",
    list[list[str]]: "lists",
}


def _columns(row: type[msgspec.Struct]) -> dict[str, str]:
    return {name: _TYPES[type_] for name, type_ in get_type_hints(row).items()}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``data/test.jsonl``. Times are seconds from the start of the recording.

    The lists ``answers``, ``answer_sources``, ``answer_approved_by``, ``answer_kinds`` and ``answer_step_ids`` are
    parallel. ``video`` is empty when no file is known; ``video_id`` repeats ``recording_id`` under the name that
    viewers expect. ``current_step`` is empty at the very start.
    """

    question_id: str
    question_type: str
    question: str
    answers: list[str]
    answer_sources: list[str]
    answer_approved_by: list[str]
    answer_kinds: list[str]
    answer_step_ids: list[list[str]]
    question_approved_by: str
    activity_id: str
    activity: str
    recording_id: str
    video_id: str
    video: str
    clip_id: str
    end_time: float
    current_step: str
    previous_steps: list[str]
    noisy: bool
    state: str
    candidate_id: str
    candidate_hash: str
    facts: str


COLUMNS: Final = _columns(Row)
"""Column names with their types: a scalar type, ``list`` of strings, or ``lists`` (a list of lists of strings)."""


def to_row(item: Item) -> Row:
    """Flatten an item."""
    question, example = item.question, moment_example(item.question)
    golds = [(gold, gold.value) for gold in item.golds if isinstance(gold.value, Text)]
    return Row(
        question_id=item.id,
        question_type=example.type,
        question=question.text,
        answers=[value.text for _, value in golds],
        answer_sources=[gold.written_by for gold, _ in golds],
        answer_approved_by=[gold.approved_by for gold, _ in golds],
        answer_kinds=[value.kind for _, value in golds],
        answer_step_ids=[list(value.cites) for _, value in golds],
        question_approved_by=item.approved_by,
        activity_id=example.activity_id,
        activity=example.activity_name,
        recording_id=example.recording_id,
        video_id=example.recording_id,
        video=example.video or "",
        clip_id=example.clip_id,
        end_time=example.end,
        current_step=example.current.text if example.current is not None else "",
        previous_steps=[step.text for step in example.previous],
        noisy=example.noisy,
        state=example.state,
        candidate_id=moment_candidate(question),
        candidate_hash=question.provenance.get("version", ""),
        facts=canonical_json(example).decode(),
    )


class _Answer(msgspec.Struct):
    """Lets msgspec check the values of the parallel lists."""

    text: str
    source: Literal["machine", "annotator", "adjudicator"]
    approved_by: Literal["annotator", "adjudicator", "oracle", "model"]
    kind: AnswerKind
    step_ids: tuple[str, ...]


def from_row(row: Row, where: str) -> Item:
    """Rebuild the item of a row.

    Raises:
        UserError: if the lists are not parallel, a value is none of those that are known, or ``facts`` is broken.
    """
    example: Example = decode(row.facts.encode("utf-8", "replace"), Example, f"{where}: facts")
    columns: tuple[Sequence[Any], ...] = (
        row.answers,
        row.answer_sources,
        row.answer_approved_by,
        row.answer_kinds,
        row.answer_step_ids,
    )
    if len({len(column) for column in columns}) != 1:
        raise UserError("the lists of answers differ in length.", where=f"{where} ({row.question_id[:80]})")
    answers = [
        dict(zip(_Answer.__struct_fields__, values, strict=True)) for values in zip(*columns, strict=True)
    ]
    try:
        checked = msgspec.convert(answers, tuple[_Answer, ...])
    except msgspec.ValidationError as error:
        raise UserError(f"{error}.", where=f"{where} ({row.question_id[:80]})") from None
    provenance = {"candidate": row.candidate_id, "version": row.candidate_hash}
    return Item(
        question=question_about(example, row.question_id, row.question, provenance=provenance),
        golds=tuple(
            Gold(
                value=Text(text=a.text, kind=a.kind, cites=a.step_ids),
                written_by=a.source,
                approved_by=a.approved_by,
            )
            for a in checked
        ),
        approved_by=row.question_approved_by,
    )


class KindRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``data/<kind>.jsonl``, for questions of any kind but moments.

    ``answers``, ``answer_sources`` and ``answer_approved_by`` are parallel; ``options`` is empty for questions that are answered in
    words. ``facets`` is a JSON text of what tables slice by; ``record`` is the whole item (``exam.question.Item``) as a JSON text: it
    tells the answer and must not be shown to a predictor.
    """

    question_id: str
    kind: str
    question: str
    options: list[str]
    answers: list[str]
    answer_sources: list[str]
    answer_approved_by: list[str]
    question_approved_by: str
    cluster: str
    facets: str
    record: str


KIND_COLUMNS: Final = _columns(KindRow)
"""Column names of the kinds other than moments, with their types."""


def to_kind_row(item: Item) -> KindRow:
    """Flatten an item of any kind."""
    question = item.question
    return KindRow(
        question_id=item.id,
        kind=question.kind,
        question=question.text,
        options=list(question.form.options) if isinstance(question.form, Choice) else [],
        answers=list(gold_texts(item)),
        answer_sources=[gold.written_by for gold in item.golds],
        answer_approved_by=[gold.approved_by for gold in item.golds],
        question_approved_by=item.approved_by,
        cluster=question.cluster,
        facets=canonical_json(question.facets).decode(),
        record=canonical_json(item).decode(),
    )


def from_kind_row(row: KindRow, where: str) -> Item:
    """Return the item of a row.

    Raises:
        UserError: if the record is broken, or the columns say something else.
    """
    item: Item = decode(row.record.encode("utf-8", "replace"), Item, f"{where}: record")
    try:
        same = to_kind_row(item) == row
    except IndexError:  # a gold that is none of the options
        same = False
    if not same:
        raise UserError(
            "its columns say something else than its record.", where=f"{where} ({row.question_id[:80]})"
        )
    return item


def without_local_paths(item: Item) -> Item:
    """Return the item with no path of this machine in it: a video's path that is absolute keeps its name only."""
    if item.question.kind != MOMENT:
        evidence = tuple(
            msgspec.structs.replace(part, video=_shown_path(part.video))
            if isinstance(part, Footage)
            else part
            for part in item.question.evidence
        )
        return msgspec.structs.replace(
            item, question=msgspec.structs.replace(item.question, evidence=evidence)
        )
    question, example = item.question, moment_example(item.question)
    if example.video is None or _shown_path(example.video) == example.video:
        return item
    example = msgspec.structs.replace(example, video=_shown_path(example.video))
    shown = question_about(example, question.id, question.text, provenance=question.provenance)
    return msgspec.structs.replace(item, question=shown)


def _shown_path(path: str) -> str:
    windows = PureWindowsPath(path)
    local = PurePosixPath(path).is_absolute() or windows.is_absolute() or bool(windows.drive)
    return windows.name if local or ".." in windows.parts else path
