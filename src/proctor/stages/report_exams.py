"""The exams of a workspace: its questions of each kind and form, with everybody who took them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.prediction import Judgement
from proctor.exam.question import Gold, Item, Question
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable
from proctor.llm.store import CallStore, Selection
from proctor.metrics.score import Signature
from proctor.records import is_there, read_json, read_jsonl
from proctor.report.data import Exam, Run, SharedCost
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.inputs import load_all_items, load_judgements, load_predictions
from proctor.stages.models import CALLS
from proctor.stages.predict import Form, RunInfo, form_of, items_of_run, read_run_info
from proctor.stages.score import benchmark_name, run_judgements, run_likeness
from proctor.workspace import Workspace

__all__ = ["Described", "described_frames", "load_exams", "read_descriptions", "stored_scores"]

_TITLES: Final = {"moment": "moments", "clip": "clips", "documents": "documents", "order": "orders of steps"}


def load_exams(workspace: Workspace, questions: Sequence[Question]) -> tuple[Exam, ...]:
    """Return the exams: built items of every kind with the runs over them, and questions of other kinds that could be built.

    Args:
        workspace: that holds them.
        questions: all of the workspace.

    Raises:
        UserError: if a file is broken, or a run does not belong to the items.
    """
    built = tuple(_built(workspace))
    return (*built, *_unbuilt(questions, {exam.kind for exam in built}))


def _built(workspace: Workspace) -> Iterator[Exam]:
    if not is_there(workspace.file("items.jsonl")):
        return
    items = load_all_items(workspace)
    changed = workspace.changed("build")
    again = f"Out of date (build): {' and '.join(changed)} changed since; run proctor build again."
    outdated = (again,) if changed else ()
    groups: dict[tuple[str, Form, str], list[str]] = {}
    for name in workspace.run_names():
        info = read_run_info(workspace.run_folder(name))
        groups.setdefault((info.kind, info.form, info.questions), []).append(name)
    for item in items:  # that nobody has answered yet
        if not any(key[:2] == (item.question.kind, form_of(item)) for key in groups):
            groups[item.question.kind, form_of(item), ""] = []
    for (kind, form, which), names in groups.items():
        own = items_of_run(items, RunInfo(predictor="", kind=kind, form=form, questions=which))
        runs = tuple(_run(workspace, name, own) for name in names)
        yield Exam(*_named(kind, form, which), tuple(own), runs, outdated)


def _run(workspace: Workspace, name: str, items: Sequence[Item]) -> Run:
    folder = workspace.run_folder(name)
    info = read_run_info(folder)
    predictions = load_predictions(folder, items)
    judged = is_there(folder / "judgements.jsonl")
    judgements = load_judgements(folder, items) if judged else []
    how = Resampling(**workspace.resolve(ScoreSettings).resampling)
    kind = kind_named(info.kind)
    table = None
    if judgements or (predictions and (info.form == "choice" or kind.measured.computed)):
        in_words = info.form != "choice"
        make = partial(
            score_run,
            kind,
            items,
            predictions,
            run_judgements(kind, folder, items) if judged else {},
            run_likeness(kind, items, predictions) if in_words else (),
            benchmark=benchmark_name(workspace),
            privilege=info.privilege,
        )
        plain = make(resampling=Resampling(resamples=0))
        table = stored_scores(folder / "scores.json", plain, how) or make(resampling=how)
    return Run(
        name=name,
        predictor=info.predictor,
        role=info.role,
        predictions=tuple(predictions),
        judgements=tuple(judgements),
        table=table,
        opinions=_opinions(workspace, name, judgements, {item.id for item in items}),
    )


def stored_scores(path: Path, now: ScoreTable, how: Resampling) -> ScoreTable | None:
    """Return the scores of a run as they were written; None where its marks, or how intervals are made, are other ones now.

    Args:
        path: of the scores.
        now: as they would be now, without intervals.
        how: intervals are made now.
    """
    if not is_there(path):
        return None
    table: ScoreTable = read_json(path, ScoreTable)
    made = Signature.parse(table.row().signature).parameters
    wanted = {"interval": how.name, "resamples": str(how.resamples), "seed": str(how.seed)}
    alike = all(made.get(name, value) == value for name, value in wanted.items())
    alike = alike and table.row().least is not None  # tables had no bounds once
    return table if alike and all(table.marks.get(m) == marks for m, marks in now.marks.items()) else None


def _opinions(
    workspace: Workspace, name: str, judgements: Sequence[Judgement], known: set[str]
) -> tuple[Judgement, ...]:
    """Return what further judges said of a run's answers: all that is not what the run's score is made with."""
    own = {(j.judge, j.details.get("template", ""), j.item_id) for j in judgements}
    found: list[Judgement] = []
    for path in sorted(workspace.run_folder(name).glob("judgements/*.jsonl")):
        said: list[Judgement] = read_jsonl(path, Judgement)
        found += [
            j
            for j in said
            if j.item_id in known and (j.judge, j.details.get("template", ""), j.item_id) not in own
        ]
    return tuple(found)


def _unbuilt(questions: Sequence[Question], built: Collection[str]) -> Iterator[Exam]:
    """Yield questions that could be built as they were generated; of moments somebody has to approve first."""
    groups: dict[tuple[str, Form], list[Item]] = {}
    for question in questions:
        if question.kind in (MOMENT, *built) or question.provenance.get("set") == "data":
            continue  # a data set's own questions stand under Retrieval until they are built
        golds = tuple(Gold(value=p.value) for p in question.proposals if p.claim == "right")
        item = Item(question=question, golds=golds)
        groups.setdefault((question.kind, form_of(item)), []).append(item)
    for (kind, form), items in groups.items():
        yield Exam(*_named(kind, form, ""), tuple(items), ())


def _named(kind: str, form: Form, which: str) -> tuple[str, str]:
    """Return the id and the title of an exam."""
    parts = (kind, "" if form in ("open", kind) else form, which)
    words = (_TITLES.get(kind, kind), "multiple choice" if form == "choice" else "", which)
    return "-".join(filter(None, parts)), ", ".join(filter(None, words))


_BLOCK: Final = re.compile(
    r"<<<BEGIN descriptions (?P<code>[0-9a-f]+)>>>\n(?P<lines>.*?)\n<<<END descriptions (?P=code)>>>",
    re.DOTALL,
)
_LINE: Final = re.compile(r"(?:^|\n)- (?P<number>\d+) at ")
_DIGITS: Final = 16
"""Of a request's hash, as predictions keep it."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Descriptions and costs.

    Attributes:
        captions: run to item id to what was said of each frame, in order.
        costs: of each describing model, over all runs that had it describe.
        missing: answers whose descriptions were looked for and not found.
    """

    captions: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    costs: tuple[SharedCost, ...] = ()
    missing: int = 0


def described_frames(workspace: Workspace, runs: Sequence[Run]) -> Described:
    """Read what other models said of frames in the place of which it stood."""
    wanted = {run.name: found for run in runs if (found := _requests(run))}
    if not wanted:
        return Described()
    nothing = Described(missing=sum(map(len, wanted.values())))
    path = workspace.root / CALLS
    if not is_there(path):
        return nothing
    try:
        with CallStore.open(path, create=False) as store:
            captions = {name: _captions(store, name, items) for name, items in wanted.items()}
            costs = tuple(_costs(store, [run for run in runs if run.name in wanted]))
    except UserError:
        return nothing
    there = sum(map(len, captions.values()))
    return Described(captions=captions, costs=costs, missing=nothing.missing - there)


def read_descriptions(request: str) -> tuple[str, ...]:
    """Return the descriptions that stand in a stored request, each with number and time of its frame; none if there are none.

    Only what stands between the marks with the code that the request's own instructions name is taken.
    """
    try:
        messages = msgspec.json.decode(request)["messages"]
        texts = [
            part["text"] for message in messages for part in message["parts"] if part.get("type") == "text"
        ]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return ()
    blocks = [match for text in texts for match in _BLOCK.finditer(text)]
    known = [match for match in blocks if texts[0].count(match["code"])]
    if len(known) != 1:
        return ()
    lines = known[0]["lines"]
    starts = [match.start() + (lines[match.start()] == "\n") for match in _LINE.finditer(lines)]
    ends = [*starts[1:], len(lines)]
    return tuple(lines[a:b].strip().removeprefix("- ") for a, b in zip(starts, ends, strict=True))


def _requests(run: Run) -> dict[str, str]:
    """Return the hash of each request that held descriptions, to its item."""
    return {
        p.details["request"]: p.item_id
        for p in run.predictions
        if p.details.get("view") == "captions" and p.details.get("request")
    }


def _captions(store: CallStore, run: str, items: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    # The run's own calls first, then those of others: whoever asked first is named with a call.
    stages = (f"predict/{run}", "predict/*")
    for call in (call for stage in stages for call in store.calls(Selection(stage=stage))):
        item_id = items.get(call.key[:_DIGITS])
        if item_id is not None and item_id not in found and (captions := read_descriptions(call.request)):
            found[item_id] = captions
        if len(found) == len(items):
            break
    return found


def _costs(store: CallStore, runs: Sequence[Run]) -> Iterator[SharedCost]:
    by_model: dict[str, list[str]] = {}
    for run in runs:
        for model in {p.details.get("captioner", "") for p in run.predictions} - {""}:
            by_model.setdefault(model, []).append(run.name)
    for model, names in sorted(by_model.items()):
        calls = [c for name in names for c in store.calls(Selection(stage=f"predict/{name}", model=model))]
        # A model that answers too describes under the same name; its descriptions are what carries no request of a run.
        answers = {p.details.get("request") for run in runs for p in run.predictions}
        mine = [c for c in calls if c.key[:_DIGITS] not in answers]
        if mine:
            yield SharedCost(
                name=f"descriptions of frames by {model}, for {len(names)} {'run' if len(names) == 1 else 'runs'}",
                calls=len(mine),
                tokens_in=sum(c.input or 0 for c in mine),
                tokens_out=sum(c.output or 0 for c in mine),
                cost=sum(c.cost or 0 for c in mine) / 10**9,
                unpriced=any(c.cost is None for c in mine),
            )
