"""The published ProMQA file in and out, without loss.

Import turns each published object into our records: an example, a candidate (the picked pair), the verdicts of two
annotators and of the adjudicator, and the item. Export builds the object again *from the records*, so that what is
edited here is edited there. What our records have no place for (the generating call, predictions, fields that we
do not know, key order) travels in an ``Origin`` beside them; a field that the records would not reproduce to the
byte travels there, too. So the round trip is lossless by construction, and the tests count how little needs it.

The published file knows no names of annotators and no times: they become ``annotator-1``, ``annotator-2``,
``adjudicator`` and empty times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.promqa import (
    START_ID,
    PromqaExample,
    PromqaJudge,
    kind_to_tag,
    render_clock,
    to_example,
)
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment_question import moment_candidate, moment_example, moment_seen, question_about
from proctor.exam.question import Gold, Item, Question, Text, gold_texts, proposed_texts
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash, iter_jsonl, write_jsonl
from proctor.verify.adjudicate import Case, Merge, Order, merge, open_case
from proctor.verify.verdict import AnswerVerdict, Judgment, Verdict

__all__ = [
    "Layout",
    "Origin",
    "PromqaRecords",
    "detect_layout",
    "export_promqa",
    "find_graph",
    "import_promqa",
    "merge_published",
    "read_origins",
    "render_promqa",
    "to_candidate",
    "to_item",
    "to_verdicts",
    "write_origins",
]

ADJUDICATOR: Final = "adjudicator"


class Layout(msgspec.Struct, frozen=True, tag="layout"):
    """How the published file is written: white space and escapes."""

    indent: int | str | None = 1
    ascii: bool = False
    end: str = ""


class Origin(msgspec.Struct, frozen=True, tag="example"):
    """What our records do not hold of one published object.

    Attributes:
        id: question id.
        keys: its keys in order.
        verbatim: fields that are kept as they were.
    """

    id: str
    keys: tuple[str, ...]
    verbatim: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PromqaRecords:
    """A published file as our records; the tuples are parallel, but for ``verdicts``."""

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    items: tuple[Item, ...]
    origins: tuple[Origin, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """The candidates with their examples."""
        return tuple(map(moment_question, self.candidates, self.examples))


# -- in ------------------------------------------------------------------------------------------------------


def import_promqa(
    published: Sequence[PromqaExample],
    graphs: Mapping[str, TaskGraph],
    *,
    annotators: Mapping[str, Sequence[str]] | None = None,
) -> PromqaRecords:
    """Turn a published file into our records.

    Args:
        published: as ``proctor.ask.moment.promqa.read_promqa`` returns it.
        graphs: task graphs of the activities, by id.
        annotators: question id to the names of its annotators, where they are known.

    Raises:
        UserError: if a task graph is missing or lacks a performed step.
    """
    examples, candidates, verdicts, items, origins = [], [], [], [], []
    for one in published:
        example = to_example(one, find_graph(one, graphs))
        candidate = to_candidate(one, example)
        said = to_verdicts(one, candidate, (annotators or {}).get(one.question_id))
        item = to_item(one, example, candidate)
        rebuilt = _render_object(item, moment_question(candidate, example), said, "published", 0)
        examples.append(example)
        candidates.append(candidate)
        verdicts += said
        items.append(item)
        origins.append(_residue(one, rebuilt))
    return PromqaRecords(tuple(examples), tuple(candidates), tuple(verdicts), tuple(items), tuple(origins))


def find_graph(published: PromqaExample, graphs: Mapping[str, TaskGraph]) -> TaskGraph:
    """Return the task graph of an example: by the activity's name, else by the number in its recording's id.

    Raises:
        UserError: if there is none.
    """
    for graph in graphs.values():
        if graph.name == published.activity_name:
            return graph
    number = published.recording_id.partition("_")[0]
    if number in graphs:
        return graphs[number]
    raise UserError(
        f"there is no task graph for the activity '{published.activity_name[:60]}'.",
        where=f"example {published.question_id}",
        hint="give the task graphs that belong to this release",
    )


def to_candidate(published: PromqaExample, example: Example) -> Candidate:
    """Return the pair that the annotators saw."""
    generation = published.generation
    return Candidate(
        id=published.question_id,
        example_id=example.id,
        recording_id=published.recording_id,
        type=published.type,
        question=published.verification.question,
        answers=tuple(Answer(text) for text in published.verification.answers),
        provenance=Provenance(
            generator="promqa",
            version="published",
            form=generation.template_type,
            model=generation.model_id,
            prompt_hash=content_hash(generation.prompt),
            example_hash=content_hash(example),
        ),
    )


def to_verdicts(
    published: PromqaExample, candidate: Candidate, annotators: Sequence[str] | None = None
) -> list[Verdict]:
    """Return the annotators' verdicts, then the adjudicator's if there was one.

    Raises:
        UserError: if other names are given than there were annotators.
    """
    judges = published.verification.judges
    names = annotators or [f"annotator-{n}" for n in range(1, len(judges) + 1)]
    if len(names) != len(judges):
        raise UserError(
            f"{len(names)} names were given for {len(judges)} annotators.",
            where=f"example {published.question_id}",
        )
    seen = content_hash(candidate)
    verdicts = [
        Verdict(
            candidate_id=candidate.id,
            annotator=name,
            annotator_kind="human",
            at="",
            question=_say(judge.question),
            answers=tuple(_say(answer) for answer in judge.answers),
            own_answers=judge.comment,
            candidate_hash=seen,
        )
        for name, judge in zip(names, judges, strict=True)
    ]
    judge = published.adjudication.judge
    if judge is not None:
        case = open_case(moment_question(candidate), verdicts, order="published")
        verdicts.append(_adjudication(judge, case, seen))
    return verdicts


def _adjudication(judge: PromqaJudge, case: Case, seen: str) -> Verdict:
    """Bring the adjudicator's answers from the shown order into the case's source order."""
    answers = [_say(None)] * len(case.rows)
    for place, value in zip(case.shown, judge.answers, strict=False):
        answers[place] = _say(value)
    return Verdict(
        candidate_id=case.candidate_id,
        annotator=ADJUDICATOR,
        annotator_kind="human",
        role="adjudicator",
        at="",
        question=_say(judge.question),
        answers=tuple(answers) if judge.answers else (),
        own_answers=judge.comment,
        candidate_hash=seen,
        case_hash=case.hash,
    )


def to_item(published: PromqaExample, example: Example, candidate: Candidate) -> Item:
    """Return the item with the gold answers that the file gives."""
    golds = (
        Gold(value=Text(text=text), written_by=tag, approved_by=approver)
        for text, tag, approver in zip(
            published.answers, published.answer_tags, published.answer_approved_by, strict=True
        )
    )
    provenance = {"candidate": candidate.id, "version": content_hash(candidate)}
    return Item(
        question=question_about(example, published.question_id, published.question, provenance=provenance),
        golds=tuple(golds),
        approved_by=published.question_approved_by,
        seen=moment_seen(moment_question(candidate, example)),
    )


def _say(value: bool | None) -> AnswerVerdict:
    judgment: Judgment = "unsure" if value is None else "right" if value else "wrong"
    return AnswerVerdict(judgment)


def _residue(published: PromqaExample, rebuilt: Mapping[str, Any]) -> Origin:
    kept = {
        key: value
        for key, value in published.origin.items()
        if key not in rebuilt or msgspec.json.encode(value) != msgspec.json.encode(rebuilt[key])
    }
    return Origin(published.question_id, tuple(published.origin), kept)


# -- the published merge, rebuilt from raw judgements ---------------------------------------------------------


def merge_published(published: PromqaExample) -> dict[str, Any]:
    """Rebuild what adjudication made of an example from the raw judgements alone.

    Reads ``verification`` and, where an adjudicator was asked, ``adjudication.judge``; nothing else.

    Returns:
        ``needs_adjudication``, and the fields ``adjudication``, ``question``, ``question_approved_by``,
        ``answers``, ``answer_tags`` and ``answer_approved_by`` as the published file writes them.
    """
    candidate = Candidate(
        id=published.question_id,
        example_id="",
        recording_id="",
        type=published.type,
        question=published.verification.question,
        answers=tuple(Answer(text) for text in published.verification.answers),
        provenance=Provenance(generator="promqa", version="published"),
    )
    verdicts = to_verdicts(published, candidate)
    case = open_case(moment_question(candidate), verdicts, order="published")
    judge = verdicts[-1] if verdicts[-1:] and verdicts[-1].role == "adjudicator" else None
    return {
        "needs_adjudication": case.needs_adjudication,
        "adjudication": _render_case(case, judge),
        **_render_merge(case, merge(case, judge)),
    }


def _render_merge(case: Case, result: Merge) -> dict[str, Any]:
    return {
        "question": case.question if result.state == "accepted" else None,
        "question_approved_by": result.question_approved_by,
        "answers": [a.text for a in result.answers],
        "answer_tags": [a.source for a in result.answers],
        "answer_approved_by": [a.approved_by for a in result.answers],
    }


# -- out -----------------------------------------------------------------------------------------------------


def export_promqa(
    items: Iterable[Item],
    questions: Iterable[Question],
    verdicts: Iterable[Verdict],
    origins: Iterable[Origin] = (),
    *,
    order: Order = "published",
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return the published objects of these items, in their order.

    Items that were not imported have no origin: ``generation`` then holds what the question's provenance tells,
    and the blocks ``verification`` and ``adjudication`` are left out where the question is not given.

    Args:
        items: the benchmark.
        questions: what was verified.
        verdicts: the latest of each annotator and role.
        origins: of an earlier import.
        order: in which adjudication showed the answers; ``published`` for what was imported.
        seed: of a blind order.
    """
    by_id = {question.id: question for question in questions}
    said: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        said.setdefault(verdict.candidate_id, []).append(verdict)
    kept = {origin.id: origin for origin in origins}
    made = ((item, moment_candidate(item.question)) for item in items)
    return [
        _restore(_render_object(item, by_id.get(of), said.get(of, []), order, seed), kept.get(item.id))
        for item, of in made
    ]


def _restore(rebuilt: dict[str, Any], origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return rebuilt
    whole = {**rebuilt, **origin.verbatim}
    known = {key: whole[key] for key in origin.keys if key in whole}
    return known | {key: value for key, value in whole.items() if key not in known}


def _render_object(
    item: Item, asked: Question | None, verdicts: Sequence[Verdict], order: Order, seed: int
) -> dict[str, Any]:
    example = moment_example(item.question)
    now = example.current
    start = {"step_id": START_ID, "description": "Start-Start cooking."}
    return {
        "recording_id": example.recording_id,
        "example_id": example.clip_id,
        "end_time": render_clock(example.end),
        "activity_name": example.activity_name,
        "previous_steps": [_render_performed(step) for step in example.previous],
        "current_step": start if now is None else _render_performed(now),
        "type": example.type,
        **_render_target(example),
        "question_id": item.id,
        "is_noisy": example.noisy,
        **(_render_verification(asked, verdicts, order, seed) if asked is not None else {}),
        "question": item.question.text,
        "question_approved_by": item.approved_by,
        "answers": list(gold_texts(item)),
        "answer_tags": [gold.written_by for gold in item.golds],
        "answer_approved_by": [gold.approved_by for gold in item.golds],
    }


def _render_target(example: Example) -> dict[str, Any]:
    if example.type == "next":
        return {"next_steps": _render_steps(example.next_steps or ())}
    if example.type == "missing":
        return {"missing_steps": _render_steps(example.missing_steps or ())}
    return {"error_description": example.mistake_texts[-1] if example.mistake_texts else ""}


def _render_steps(steps: Iterable[StepRef]) -> list[dict[str, Any]]:
    return [{"step_id": _number(step.step_id), "description": step.text} for step in steps]


def _render_performed(step: Performed) -> dict[str, Any]:
    rendered: dict[str, Any] = {"step_id": _number(step.step_id), "description": step.text}
    if step.mistakes:
        rendered["errors"] = [{"tag": kind_to_tag(m.kind), "description": m.text} for m in step.mistakes]
    return rendered


def _number(step_id: str) -> int | str:
    """Step ids are numbers in the published file; ids of other data sets stay text."""
    return int(step_id) if step_id.isdecimal() else step_id


def _render_verification(
    question: Question, verdicts: Sequence[Verdict], order: Order, seed: int
) -> dict[str, Any]:
    answers, made = list(proposed_texts(question)), question.provenance
    by_name = sorted((v for v in verdicts if v.role == "annotator"), key=lambda v: v.annotator)
    adjudicators = [v for v in verdicts if v.role == "adjudicator"]
    case = open_case(question, by_name, order=order, seed=seed)
    return {
        "generation": {
            "model_id": made.get("model") or made["generator"],
            "template_type": made.get("form", ""),
            "qas": [{"question": question.text, "answers": answers}],
        },
        "adjudication": _render_case(case, adjudicators[-1] if adjudicators else None),
        "verification": {
            "question": question.text,
            "answers": answers,
            "judges": [_render_judge(v, [_truth(a) for a in v.answers]) for v in by_name],
        },
    }


def _render_case(case: Case, judge: Verdict | None) -> dict[str, Any]:
    truth: dict[str | None, bool | None] = {"right": True, "wrong": False, None: None}
    block: dict[str, Any] = {
        "question": case.question,
        "answers": [row.text for row in case.shown_rows],
        "answer_tags": [row.source for row in case.shown_rows],
        "init": {
            "question": truth[case.question_init],
            "answers": [truth[row.init] for row in case.shown_rows],
        },
    }
    if judge is not None:
        shown = [_truth(judge.answers[i]) for i in case.shown if i < len(judge.answers)]
        block["judge"] = _render_judge(judge, shown)
    return block


def _render_judge(verdict: Verdict, answers: list[bool | None]) -> dict[str, Any]:
    return {"question": _truth(verdict.question), "answers": answers, "comment": list(verdict.own_answers)}


def _truth(said: AnswerVerdict) -> bool | None:
    return None if said.value == "unsure" else said.value == "right"


# -- bytes ---------------------------------------------------------------------------------------------------


def detect_layout(data: bytes) -> Layout:
    """Tell from a file's bytes how it is laid out."""
    text = data.decode("utf-8", "replace")
    body = text.rstrip()
    lines = body.split("\n", 2)
    margin = lines[1][: len(lines[1]) - len(lines[1].lstrip())] if len(lines) > 1 else None
    indent: int | str | None = margin if margin is None or "\t" in margin else len(margin)
    return Layout(indent=indent, ascii=text.isascii() and "\\u" in text, end=text[len(body) :])


def render_promqa(objects: Sequence[Mapping[str, Any]], layout: Layout | None = None) -> bytes:
    """Return the file's bytes: equal to the imported file's, if a JSON writer of the usual kind wrote that."""
    how = layout or Layout()
    text = json.dumps(objects, indent=how.indent, ensure_ascii=how.ascii, allow_nan=False)
    return (text + how.end).encode()


def write_origins(path: Path, origins: Sequence[Origin], layout: Layout) -> None:
    """Keep what export will need, one line for the layout and one for each example.

    Raises:
        UserError: if the file cannot be written.
    """
    write_jsonl(path, [layout, *origins])


def read_origins(path: Path) -> tuple[tuple[Origin, ...], Layout]:
    """Read what ``write_origins`` wrote.

    Raises:
        UserError: if the file cannot be read or has another shape.
    """
    layout, origins = Layout(), list[Origin]()
    records: Iterator[Origin | Layout] = iter_jsonl(path, Origin | Layout)
    for record in records:
        if isinstance(record, Layout):
            layout = record
        else:
            origins.append(record)
    return tuple(origins), layout
