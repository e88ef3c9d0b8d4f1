"""Rounds of answering: items as questions to people, and their answers as runs beside those of systems. docs/rounds.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import shown_order
from proctor.exam.kind import kind_named
from proctor.exam.predict import item_rng
from proctor.exam.question import Choice, Item, Order
from proctor.records import Dropped, content_hash, write_jsonl
from proctor.stages.inputs import load_all_items, load_judgements
from proctor.stages.naming import file_name
from proctor.stages.predict import form_of, import_predictions
from proctor.stages.rounds.exam_settings import AnswerSettings
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.verify.batches import Free, draw_tasks
from proctor.verify.rounds.agreement import Figures, people_agreement
from proctor.verify.rounds.answer import AnswerTask, given_answer
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace, is_there

__all__ = ["collect", "draw_evenly", "make"]

_CUTS: Final = ("noise", "level", "style")
"""What strata are cut by, of all that tables slice by (``Kind.slices``)."""
_MOST_STEPS: Final = 21
_INSTRUCTIONS: Final = """\
You sit the exam that systems sit. Each page shows a question and what it is about. Watch the clip to its end, read what stands
beside it, and answer.

- Answer from what you see here and nothing else. One sentence is enough.
- If you are unsure, give the answer that is most likely. *Can't judge* is for pages that are broken.
- Work alone, and do not ask a chat assistant.
"""


def make(workspace: Workspace, settings: AnswerSettings) -> Made:
    """Return the items of a workspace as tasks, without anything that tells what is right.

    Raises:
        UserError: if there are none of the kind.
    """
    items = [i for i in load_all_items(workspace) if settings.kind in ("", i.question.kind)]
    if not items:
        where = str(workspace.file("items.jsonl"))
        raise UserError(f"there are no items of the kind '{settings.kind[:40]}'.", where=where)
    long = {i.id for i in items if isinstance(f := i.question.form, Order) and len(f.ids) > _MOST_STEPS}
    strata = {id_: stratum for id_, stratum in _strata(items).items() if id_ not in long}
    chosen = draw_evenly(strata, settings.sample, settings.seed)
    tasks = []
    for item in items:
        if item.id in chosen:
            body = _task(item, settings.seed)
            seen = content_hash(body)[:16]
            tasks.append(task_of(item.id, body, group=item.id, variant=seen, stratum=strata[item.id]))
    dropped = [Dropped(id_, "too-long", f"more than {_MOST_STEPS} steps") for id_ in sorted(long)]
    return Made(tasks=tasks, options=NoOptions(), dropped=dropped, instructions=_INSTRUCTIONS)


def _task(item: Item, seed: int) -> AnswerTask:
    form, kind = item.question.form, kind_named(item.question.kind)
    order = shown_order(item.id, len(form.options), seed) if isinstance(form, Choice) else ()
    return AnswerTask(question=kind.blind(item.question), order=order)


def _strata(items: Sequence[Item]) -> dict[str, str]:
    found = {item.id: [item.question.kind, form_of(item)] for item in items}
    for kind in sorted({item.question.kind for item in items}):
        slices = kind_named(kind).slices([item for item in items if item.question.kind == kind])
        for name, (cut, members) in slices.items():
            for id_ in members if cut in _CUTS else ():
                found[id_].append(name)
    return {id_: "/".join(names) for id_, names in found.items()}


def draw_evenly(strata: Mapping[str, str], size: int, seed: int) -> set[str]:
    """Return at most ``size`` ids (0: all), of each stratum as many as of another as long as there are any."""
    ids = sorted(strata)
    free = [Free(n, strata[id_]) for n, id_ in enumerate(ids)]
    return {ids[n] for n in draw_tasks(free, size, key=f"sample/{seed}")}


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write the answers as runs: ``people`` with one answer to each question, and where there are several people one run each.

    Of several answers to one question the round's seed draws the one in ``people``. What nobody answered is in no run.

    Raises:
        UserError: if nobody has answered anything that is still among the items.
    """
    items = {item.id: item for item in load_all_items(workspace)}
    lines: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    labels: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    dropped: list[str] = []
    for reading in readings:
        item, who = items.get(reading.task), reading.person
        task = _task(item, round_.settings.seed) if item is not None else None
        if item is None or task is None or content_hash(task)[:16] != reading.variant or not reading.counts:
            dropped.append(
                "answers to what is asked otherwise now" if reading.counts else "answers set aside"
            )
            continue
        answer, details = given_answer(task, msgspec.json.decode(reading.sheet, type=FormSheet))
        line = {"item_id": item.id, "answer": answer, "details": details, "person": who}
        lines[who][item.id] = {**line, "seconds": reading.seconds}
        words = "".join(c if c.isalnum() else " " for c in str(answer).casefold()).split()
        labels[form_of(item)][who][item.id] = " ".join(words)
    if not lines:
        hint = "items.jsonl was made anew since: begin another round"
        raise UserError("no answer is to a question that is still asked so.", where=round_.name, hint=hint)
    answered: dict[str, list[str]] = defaultdict(list)
    for who in sorted(lines):
        for id_ in lines[who]:
            answered[id_].append(who)
    drawn = {
        id_: item_rng(round_.settings.seed, f"people/{id_}").choice(who) for id_, who in answered.items()
    }
    files = {"people": [lines[who][id_] for id_, who in drawn.items()]}
    files |= {f"people-{who[:6]}": [*own.values()] for who, own in lines.items() if len(lines) > 1}
    folder, runs = out or workspace.file("rounds") / file_name(round_.name), list[str]()
    for name, rows in files.items():
        write_jsonl(folder / f"{name}.jsonl", rows)
        made = import_predictions(folder / f"{name}.jsonl", workspace.root, name, "human", sample=True)
        runs += [run.run for run in made.runs]
    clusters = {id_: item.question.cluster or id_ for id_, item in items.items()}
    numbers = people_agreement("marks", _marks(workspace, runs, items), clusters, "ordinal")
    for form, by in labels.items():
        numbers |= people_agreement("same words" if form == "open" else form, by, clusters)
    counts = {"people": len(lines), "questions": len(answered), "answers": sum(map(len, answered.values()))}
    figures = Figures(counts={**counts, "runs": len(runs), **Counter(dropped)}, numbers=numbers)
    again = f"runs {', '.join(runs)}; next: proctor judge {workspace.root}, proctor score {workspace.root}"
    paths = tuple(folder / f"{name}.jsonl" for name in files)
    return Collected(files=paths, lines=(*figures.lines(), again), figures=figures)


def _marks(workspace: Workspace, runs: Sequence[str], items: Mapping[str, Item]) -> dict[str, dict[str, int]]:
    """Return by run of one person the marks of its answers, where it is judged as it is now."""
    found: dict[str, dict[str, int]] = {}
    for run in (run for run in runs if "people-" in run):
        file = workspace.run_folder(run) / "judgements.jsonl"
        if is_there(file) and not workspace.changed(f"judge/{run}"):
            made = load_judgements(file.parent, items.values())
            found[run] = {mark.item_id: mark.score for mark in made if mark.score is not None}
    return found
