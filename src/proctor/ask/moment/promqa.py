"""The published ProMQA file: reading it strictly and turning its examples into ours.

The file is one JSON list. Every object is checked and given types here; ``origin`` keeps the
object as it was read, unknown fields and key order included, so that it can be written again without loss
(see ``proctor.release.promqa``). Ids are integers there and strings here; the START step is ``-1`` there and
``None`` here; times are ``HH:MM:SS`` there and float seconds here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.example import QUESTION_TYPES, Example, Performed, StepRef
from proctor.procedure.graph import GraphError, Step, TaskGraph
from proctor.procedure.progress import derive_progress
from proctor.procedure.recording import Mistake, mistake_kind
from proctor.records import read_json

__all__ = [
    "START_ID",
    "PromqaAdjudication",
    "PromqaEvaluation",
    "PromqaExample",
    "PromqaGeneration",
    "PromqaInit",
    "PromqaJudge",
    "PromqaMistake",
    "PromqaPair",
    "PromqaPrediction",
    "PromqaStep",
    "PromqaVerification",
    "kind_to_tag",
    "parse_clock",
    "read_promqa",
    "read_promqa_graphs",
    "render_clock",
    "to_example",
]

START_ID: Final = -1
"""Step id of the published file for "nothing done yet"."""

_CLOCK = re.compile(r"([0-9]{1,4}):([0-5][0-9]):([0-5][0-9])")


class PromqaMistake(msgspec.Struct, frozen=True):
    """An entry of ``errors``: the tag of the data set and the annotators' words."""

    tag: str
    description: str


class PromqaStep(msgspec.Struct, frozen=True):
    """A step with its id in the task graph; ``errors`` is absent when there are none."""

    step_id: int
    description: str
    errors: tuple[PromqaMistake, ...] = ()


class PromqaPair(msgspec.Struct, frozen=True):
    """One generated question with its answers."""

    question: str
    answers: tuple[str, ...]


class PromqaGeneration(msgspec.Struct, frozen=True):
    """The call that generated the pairs; ``qas`` are its parsed pairs, shuffled, the first one was picked."""

    prompt: str
    response: str
    model_id: str
    template_type: str
    qas: tuple[PromqaPair, ...]


class PromqaJudge(msgspec.Struct, frozen=True):
    """A person's say: question, each answer, own answers (``comment``). None means that it was left open."""

    question: bool | None
    answers: tuple[bool | None, ...]
    comment: tuple[str, ...] = ()


class PromqaVerification(msgspec.Struct, frozen=True):
    """The picked pair and what the annotators said of it, each alone."""

    question: str
    answers: tuple[str, ...]
    judges: tuple[PromqaJudge, ...]


class PromqaInit(msgspec.Struct, frozen=True):
    """What the annotators' agreement had settled before the adjudicator looked; None is open."""

    question: bool | None
    answers: tuple[bool | None, ...]


class PromqaAdjudication(msgspec.Struct, frozen=True):
    """The adjudicator's case: shuffled answers with their origin, and the judge when one was needed."""

    question: str
    answers: tuple[str, ...]
    answer_tags: tuple[Literal["machine", "human"], ...]
    init: PromqaInit
    judge: PromqaJudge | None = None


class PromqaPrediction(msgspec.Struct, frozen=True):
    """What a model answered (a later block of the published pipeline)."""

    response: str
    model_id: str = ""
    prompt: Any = None
    frame_ids: Any = None
    rate_inverse: Any = None
    dirpath_images: Any = None


class PromqaEvaluation(msgspec.Struct, frozen=True):
    """What the judge model said of a prediction; ``judge`` is text in the published files."""

    response: str
    model_id: str = ""
    template_type: str = ""
    prompt: Any = None
    judge: str | int | None = None
    rationale: str | None = None


class PromqaExample(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the published file. ``origin`` is the object itself, as read."""

    recording_id: str
    example_id: str
    question_id: str
    activity_name: str
    type: str
    end_time: str
    previous_steps: tuple[PromqaStep, ...]
    current_step: PromqaStep
    is_noisy: bool
    generation: PromqaGeneration
    verification: PromqaVerification
    adjudication: PromqaAdjudication
    question: str
    question_approved_by: Literal["annotator", "adjudicator"]
    answers: tuple[str, ...]
    answer_tags: tuple[Literal["machine", "annotator", "adjudicator"], ...]
    answer_approved_by: tuple[Literal["annotator", "adjudicator"], ...]
    next_steps: tuple[PromqaStep, ...] | None = None
    missing_steps: tuple[PromqaStep, ...] | None = None
    error_description: str | None = None
    prediction: PromqaPrediction | None = None
    evaluation: PromqaEvaluation | None = None
    human_answer: Any = None
    origin: Mapping[str, Any] = msgspec.field(default_factory=dict, name="(as read)")


# -- reading -------------------------------------------------------------------------------------------------


def read_promqa(path: Path) -> list[PromqaExample]:
    """Read a published file.

    Raises:
        UserError: if the file is missing, truncated or not JSON, or if an example has another shape; the
            message names example and field.
    """
    document: Any = read_json(path)
    if not isinstance(document, list):
        names = {dict: "an object", str: "a string", bool: "true or false", type(None): "null"}
        raise UserError(
            f"a JSON list of examples was expected, this is {names.get(type(document), 'a number')}.",
            where=str(path),
            hint="give the file examples.json of the ProMQA release",
        )
    examples = [_convert(raw, n, path) for n, raw in enumerate(document)]
    repeated = [i for i, n in Counter(e.question_id for e in examples).items() if n > 1]
    if repeated:
        raise UserError(f"question_id '{repeated[0]}' occurs more than once.", where=str(path))
    return examples


def _convert(raw: Any, number: int, path: Path) -> PromqaExample:
    name = raw.get("question_id") if isinstance(raw, dict) else None
    where = f"{path}: example {number}" + (f" ({name[:80]})" if isinstance(name, str) else "")
    try:
        typed = msgspec.convert(raw, PromqaExample)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{error}.", where=where, hint="compare the field with the published ProMQA examples"
        ) from None
    for problem in _problems(typed):
        raise UserError(f"{problem}.", where=where)
    return msgspec.structs.replace(typed, origin=raw)


def _problems(example: PromqaExample) -> Iterator[str]:
    """Yield what the types alone cannot say."""
    if example.type not in QUESTION_TYPES:
        yield f"type '{example.type}' is none of {', '.join(QUESTION_TYPES)}"
    if not _CLOCK.fullmatch(example.end_time):
        yield f"end_time '{example.end_time[:40]}' has not the form HH:MM:SS"
    yield from _target_problems(example)
    machine = len(example.verification.answers)
    for n, judge in enumerate(example.verification.judges, 1):
        needed = judge.question or (judge.question is None and judge.answers)
        if needed and len(judge.answers) != machine:
            yield f"verification.judges[{n - 1}].answers has {len(judge.answers)} entries for {machine} answers"
    case = example.adjudication
    lengths = {
        "adjudication.answer_tags": (len(case.answer_tags), len(case.answers)),
        "adjudication.init.answers": (len(case.init.answers), len(case.answers)),
        "answer_tags": (len(example.answer_tags), len(example.answers)),
        "answer_approved_by": (len(example.answer_approved_by), len(example.answers)),
    }
    if case.judge is not None and case.judge.question:
        lengths["adjudication.judge.answers"] = (len(case.judge.answers), len(case.answers))
    yield from (
        f"{name} has {seen} entries for {n} answers" for name, (seen, n) in lengths.items() if seen != n
    )


def _target_problems(example: PromqaExample) -> Iterator[str]:
    wanted = {"next": "next_steps", "missing": "missing_steps"}.get(example.type, "error_description")
    for name in ("next_steps", "missing_steps", "error_description"):
        given = getattr(example, name) is not None
        if given != (name == wanted):
            yield f"{name} is {'there' if given else 'missing'} in an example of type '{example.type}'"


class _Graph(msgspec.Struct):
    """One entry of the published ``graphs.json``."""

    name: str
    steps: dict[str, str]
    edges: list[tuple[int, int]]


def read_promqa_graphs(path: Path) -> dict[str, TaskGraph]:
    """Read the published ``graphs.json``: activity id to name, steps and edges; START is 0, END the largest id.

    Raises:
        UserError: if the file cannot be read or a graph is none.
    """
    found: dict[str, _Graph] = read_json(path, dict[str, _Graph])
    graphs = {}
    for activity_id, raw in found.items():
        where = f"{path}: activity {activity_id[:40]}"
        if "0" not in raw.steps or not all(key.isdecimal() for key in raw.steps):
            raise UserError("step ids must be whole numbers, the start must be 0.", where=where)
        steps = tuple(Step(key, text) for key, text in raw.steps.items())
        edges = tuple((str(a), str(b)) for a, b in raw.edges)
        try:
            end = max(raw.steps, key=int)
            graphs[activity_id] = TaskGraph(activity_id, raw.name, steps, edges, "0", end)
        except GraphError as error:
            raise UserError(f"{error}.", where=where) from None
    return graphs


# -- small translations --------------------------------------------------------------------------------------


def kind_to_tag(kind: str) -> str:
    """Translate a mistake kind to the tag of the data set."""
    special = {"missing": "Missing Step", "other": "Other"}
    return special.get(kind) or f"{kind.capitalize()} Error"


def parse_clock(text: str) -> float:
    """Return the seconds of ``HH:MM:SS``.

    Raises:
        ValueError: if the text has another form.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} has not the form HH:MM:SS")
    hours, minutes, seconds = (int(part) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def render_clock(seconds: float) -> str:
    """Return ``HH:MM:SS``, the fraction cut off, as in the release."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


# -- to our record -------------------------------------------------------------------------------------------


def to_example(published: PromqaExample, graph: TaskGraph) -> Example:
    """Turn a published example into ours, its derived facts computed from the ids of the performed steps.

    Raises:
        UserError: if a performed step is not in the graph.
    """
    previous = tuple(_performed(step, published, graph) for step in published.previous_steps)
    current = published.current_step
    now = None if current.step_id == START_ID else _performed(current, published, graph)
    progress = derive_progress(graph, [s.step_id for s in (*previous, *([now] if now else []))])
    return Example(
        id=published.question_id,
        clip_id=published.example_id,
        recording_id=published.recording_id,
        activity_id=graph.id,
        activity_name=published.activity_name,
        type=published.type,
        end=parse_clock(published.end_time),
        state=progress.state,
        noisy=published.is_noisy,
        current=now,
        previous=previous,
        next_steps=_given(published.next_steps),
        missing_steps=_given(published.missing_steps),
        mistake_texts=_mistake_texts(published),
        blocking=progress.out_of_order,
        all_next=_references(graph, progress.next),
        all_missing=_references(graph, progress.missing),
    )


def _performed(step: PromqaStep, published: PromqaExample, graph: TaskGraph) -> Performed:
    step_id = str(step.step_id)
    if step_id not in graph:
        raise UserError(
            f"step {step_id} ({step.description[:60]!r}) is not in the task graph '{graph.name}'.",
            where=f"example {published.question_id}",
            hint="give the task graphs that belong to this release",
        )
    return Performed(
        step_id=step_id,
        text=step.description,
        instruction=graph[step_id].text,
        mistakes=tuple(Mistake(mistake_kind(m.tag), m.description) for m in step.errors),
    )


def _given(steps: Sequence[PromqaStep] | None) -> tuple[StepRef, ...] | None:
    return None if steps is None else tuple(StepRef(str(s.step_id), s.description) for s in steps)


def _references(graph: TaskGraph, ids: Sequence[str]) -> tuple[StepRef, ...]:
    return tuple(StepRef(i, graph[i].text) for i in ids)


def _mistake_texts(published: PromqaExample) -> tuple[str, ...]:
    """Collect the texts of the asked kind in the current step; the published one is always the last."""
    if published.error_description is None:
        return ()
    texts = [m.description for m in published.current_step.errors if mistake_kind(m.tag) == published.type]
    if texts[-1:] != [published.error_description]:
        texts.append(published.error_description)
    return tuple(texts)
