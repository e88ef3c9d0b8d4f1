"""Rounds of answering: items as questions to people, and their answers as runs beside those of systems. docs/rounds.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.exam.choice import shown_order
from proctor.exam.kind import kind_named
from proctor.exam.predict import item_rng
from proctor.exam.question import Choice, Item
from proctor.records import content_hash, write_jsonl
from proctor.said import say_in
from proctor.stages.inputs import load_all_items, load_judgements
from proctor.stages.naming import file_name
from proctor.stages.predict import form_of, import_predictions
from proctor.stages.rounds.opening import Collected, Made, folder_of, task_of
from proctor.stages.rounds.settings import AnswerSettings
from proctor.verify.agreement import Estimate
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
_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """\
You answer the questions that systems answer. Watch the clip to its end, read what stands beside it, and answer from that and nothing else; if you are
unsure, give the answer that is most likely. One sentence is enough. *Can't do this* is for pages that are broken. Work alone, and do not
ask a chat assistant.
""",
)


def make(workspace: Workspace, settings: AnswerSettings) -> Made:
    """Return the items of a workspace as tasks, without anything that tells what is right.

    Raises:
        UserError: if there are none of the kind.
    """
    items = [i for i in load_all_items(workspace) if settings.kind in ("", i.question.kind)]
    if not items:
        where = str(workspace.file("items.jsonl"))
        hint = did_you_mean(settings.kind, dict.fromkeys(i.question.kind for i in load_all_items(workspace)))
        raise UserError(f"there are no items of the kind '{settings.kind[:40]}'.", where=where, hint=hint)
    strata = _strata(items)
    chosen = draw_evenly(strata, settings.sample, settings.seed)
    tasks = []
    for item in (item for item in items if item.id in chosen):
        body, stratum = _task(item, settings.seed), strata[item.id]
        tasks.append(task_of(item.id, body, group=item.id, variant=content_hash(body), stratum=stratum))
    return Made(tasks=tasks, options=NoOptions(), instructions=_INSTRUCTIONS)


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
    """Write the answers as runs: ``people`` with one answer to each question, and one for each person where there are several.

    A round that is not called ``answer`` or ``people`` adds its name to that. Of several answers to one question the round's seed
    draws the one in ``people``. What nobody answered is in no run.

    Raises:
        UserError: if nobody has answered anything that is still asked so.
    """
    items, seed = {item.id: item for item in load_all_items(workspace)}, round_.settings.seed
    lines: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    labels: dict[str, dict[str, dict[str, str | int]]] = defaultdict(lambda: defaultdict(dict))
    for reading in readings:
        item = items.get(reading.task) if reading.counts else None
        if item is not None and content_hash(task := _task(item, seed)) == reading.variant:
            answer, details = given_answer(task, msgspec.json.decode(reading.sheet, type=FormSheet))
            line = {"item_id": item.id, "answer": answer, "details": details, "seconds": reading.seconds}
            lines[reading.person][item.id] = line
            words = "".join(c if c.isalnum() else " " for c in str(answer).casefold()).split()
            said = "words" if form_of(item) == "open" else form_of(item)
            labels[said][reading.person][item.id] = " ".join(words)
    counts = {"people": len(lines), "questions": len({id_ for own in lines.values() for id_ in own})}
    counts["answers"] = sum(map(len, lines.values()))
    counts["answers left out (set aside, or asked otherwise since)"] = len(readings) - counts["answers"]
    if not lines:
        hint = "items.jsonl was built again since: begin another round"
        raise UserError("no answer is to a question that is still asked so.", where=round_.name, hint=hint)
    drawn: dict[str, dict[str, Any]] = {}
    for id_ in items:
        if who := sorted(who for who, own in lines.items() if id_ in own):
            drawn[id_] = lines[item_rng(seed, f"people/{id_}").choice(who)][id_]
    base = "people" if round_.name in ("answer", "people") else file_name(f"people-{round_.name}")
    files = {base: drawn} | {f"{base}-{who[:6]}": own for who, own in lines.items() if len(lines) > 1}
    folder, runs = out or folder_of(workspace, round_), list[str]()
    for name, rows in files.items():
        path = folder / f"{name}.jsonl"
        write_jsonl(path, rows.values())
        made = import_predictions(path, workspace.root, name, "human", sample=True).runs
        runs += [run.run for run in made]
        for run in made if name != base else ():
            file = workspace.run_folder(run.run) / "judgements.jsonl"
            if is_there(file) and not workspace.changed(f"judge/{run.run}"):
                marks = load_judgements(file.parent, items.values())
                labels["marks of answers"][name] |= {m.item_id: m.score for m in marks if m.score is not None}
    clusters = {id_: item.question.cluster or id_ for id_, item in items.items()}
    numbers: dict[str, Estimate] = {}
    for of, by in labels.items():
        level: Literal["nominal", "ordinal"] = "ordinal" if of == "marks of answers" else "nominal"
        found = people_agreement(of, by, clusters, level)
        numbers |= {name: n for name, n in found.items() if of != "words" or "raw" in name}
    figures = Figures(counts=counts, numbers=numbers)
    again = f"runs {', '.join(runs)}; next: proctor judge {workspace.root}, proctor score {workspace.root}"
    paths = tuple(folder / f"{name}.jsonl" for name in files)
    return Collected(files=paths, lines=(*figures.lines(), again), figures=figures)
