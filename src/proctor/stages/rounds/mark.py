"""Rounds of marking: answers of runs to people, who are not told whose they are, and their marks to ``calibrate``. docs/rounds.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.question import Item, gold_texts, type_of
from proctor.records import content_hash, write_jsonl
from proctor.said import say_in
from proctor.stages.inputs import load_all_items, load_predictions
from proctor.stages.judge import chosen_runs
from proctor.stages.predict import items_of_run, read_run_info
from proctor.stages.rounds.answer import draw_evenly
from proctor.stages.rounds.opening import Collected, Made, folder_of, task_of
from proctor.stages.rounds.settings import MarkSettings
from proctor.verify.rounds.agreement import Figures, people_agreement
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.mark import MarkOptions, MarkTask
from proctor.verify.rounds.records import Reading, Round, Task
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """\
Each page shows a question, the answers that are known to be right, and one answer to be marked. Mark each answer on its own, whatever you
said of another one to the same question: several systems and people may have answered it.
""",
)


def _answers(workspace: Workspace, runs: Sequence[str]) -> Iterator[tuple[str, Item, str, str]]:
    """Yield run, item, answer and name of its task: of all answers in words that a judge would mark."""
    items = load_all_items(workspace)
    for run in chosen_runs(workspace, runs):
        folder = workspace.run_folder(run)
        info = read_run_info(folder)
        if info.form != "open" or kind_named(info.kind).measured.computed:
            continue
        asked = {item.id: item for item in items_of_run(items, info)}
        for given in load_predictions(folder, asked.values()):
            if given.answer and given.answer.strip():
                text = given.answer.strip()
                yield run, asked[given.item_id], text, content_hash([given.item_id, text])[:16]


def make(workspace: Workspace, settings: MarkSettings) -> Made:
    """Return answers of runs as tasks: of every run so many, even over types of questions; equal answers to a question are one.

    Raises:
        UserError: if there are no runs with answers in words.
    """
    found = list(_answers(workspace, settings.run))
    if not found:
        hint = "answers to questions with options and orders are marked by rule"
        raise UserError("no run has answers in words.", where=str(workspace.runs), hint=hint)
    tasks: dict[str, Task] = {}
    for run in dict.fromkeys(run for run, *_ in found):
        own = {item.id: (item, text, name) for of, item, text, name in found if of == run}
        types = {id_: type_of(item.question) for id_, (item, _, _) in own.items()}
        for id_ in sorted(draw_evenly(types, settings.per_system, settings.seed)):
            item, text, name = own[id_]
            q, kind = item.question, kind_named(item.question.kind)
            asked = q if settings.evidence else kind.blind(q)
            body = MarkTask(question=asked, golds=gold_texts(item), answer=text, evidence=settings.evidence)
            task = task_of(name, body, group=name, variant=id_, stratum=f"{run}/{types[id_]}")
            tasks.setdefault(name, task)
    options = MarkOptions(scale=settings.scale)
    return Made(tasks=[*tasks.values()], options=options, instructions=_INSTRUCTIONS)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write the marks as ``proctor calibrate --human FILE`` takes them: to every run that gives a marked answer now.

    Raises:
        UserError: if there are none.
    """
    runs: dict[str, list[tuple[str, Item]]] = {}
    for run, item, _, name in _answers(workspace, ()):
        runs.setdefault(name, []).append((run, item))
    rows, marks = list[dict[str, object]](), dict[str, dict[str, int]]()
    for reading in readings:
        sheet = msgspec.json.decode(reading.sheet, type=FormSheet)
        for run, item in runs.get(reading.task, ()) if reading.counts else ():
            mark = int(str(sheet.values["mark"]))
            marks.setdefault(reading.person, {})[reading.task] = mark
            said = {"item_id": item.id, "run": run, "human": mark, "annotator": reading.person}
            rows.append({**said, "reason": sheet.values.get("reason", ""), "seconds": reading.seconds})
    if not rows:
        raise UserError("no mark is of an answer that a run gives now.", where=round_.name)
    file = out or folder_of(workspace, round_) / "marks.jsonl"
    write_jsonl(file, rows)
    clusters = {name: of[0][1].question.cluster or of[0][1].id for name, of in runs.items()}
    given = sum(map(len, marks.values()))
    counts = {
        "people": len(marks),
        "marks": given,
        "answers": len({t for own in marks.values() for t in own}),
    }
    counts["marks left out (set aside, or no run gives the answer any more)"] = len(readings) - given
    ternary = msgspec.json.decode(round_.options, type=MarkOptions).scale == "ternary"
    numbers = people_agreement("marks", marks, clusters, "ordinal" if ternary else "nominal")
    figures = Figures(counts=counts, numbers=numbers)
    again = f"next: proctor calibrate {workspace.root} --human {file}"
    return Collected(files=(file,), lines=(*figures.lines(), again), figures=figures)
