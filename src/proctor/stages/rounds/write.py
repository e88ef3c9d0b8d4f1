"""Rounds of writing: moments to people, and what they ask to verification; what that costs, and how varied it is. docs/rounds.md."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT, moment_candidate
from proctor.exam.question import Question
from proctor.llm.store import CallStore, Selection
from proctor.metrics.text_statistics import drawn_variety
from proctor.records import content_hash, read_jsonl, write_jsonl
from proctor.said import say_in
from proctor.stages.generate import sample_examples
from proctor.stages.inputs import load_all_items, some_examples
from proctor.stages.models import CALLS
from proctor.stages.questions import PEOPLE, workspace_questions
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import WriteSettings
from proctor.stages.settings import GenerateSettings
from proctor.verify.agreement import Estimate
from proctor.verify.rounds.agreement import Figures, as_estimate
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.records import Reading, Round
from proctor.verify.rounds.write import GENERATOR, WriteOptions, WriteTask, written
from proctor.workspace import Workspace, is_there

__all__ = ["collect", "make"]

_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """\
You see a person carrying out a procedure. Watch the clip to its end, read the steps, and write one question that this person could ask at
this moment, of the sort that the page names, with all its right answers. It needs both the recording and the instructions, and nothing from
outside. Write alone, and do not ask a chat assistant.
""",
)


def make(workspace: Workspace, settings: WriteSettings) -> Made:
    """Return moments as tasks; no candidate is looked at.

    Raises:
        UserError: if the workspace has no examples.
    """
    wanted = GenerateSettings(sample="quota", examples=settings.questions, seed=settings.seed)
    tasks = []
    for one in sample_examples(workspace, workspace.graphs(), wanted, None)[0]:
        stratum, seen = f"{one.type}/{'noisy' if one.noisy else 'clean'}", content_hash(one)
        tasks.append(task_of(one.id, WriteTask(example=one), group=one.id, variant=seen, stratum=stratum))
    options = WriteOptions(wage=settings.wage, draw=settings.draw)
    return Made(tasks=tasks, options=options, instructions=_INSTRUCTIONS)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Put what people wrote to the workspace's candidates (``people.jsonl``), and set its cost and variety beside that of generation.

    What another round wrote stays. With ``out`` the candidates go there, and the workspace keeps its own.

    Raises:
        UserError: if not one question is about a moment as the workspace has it now.
    """
    known = {e.id: e for e in some_examples(workspace, workspace.graphs(), {r.task for r in readings})}
    mine = [
        written(known[reading.task], msgspec.json.decode(reading.sheet, type=FormSheet), reading)
        for reading in readings
        if reading.counts and reading.task in known and content_hash(known[reading.task]) == reading.variant
    ]
    if not mine:
        hint = "the examples were derived anew since: begin another round"
        raise UserError("no question is about a moment that is still there.", where=round_.name, hint=hint)
    file = out or workspace.file(PEOPLE)
    there: list[Candidate] = read_jsonl(file, Candidate) if is_there(file) else []
    write_jsonl(file, [*(c for c in there if c.provenance.details.get("round") != round_.name), *mine])
    counts = {"people": len({c.provenance.details["writer"] for c in mine}), "questions": len(mine)}
    counts["questions left out (set aside, or of a moment that changed)"] = len(readings) - len(mine)
    if out is None:
        said = {"round": round_.name}
        workspace.record("round collect", settings=said, counts=counts, outputs=(PEOPLE,))
    options = msgspec.json.decode(round_.options, type=WriteOptions)
    figures = Figures(counts=counts, numbers=_compared(workspace, mine, options, round_.settings.seed))
    again = "next: verify them (proctor verify, or start the studio again), build, and collect again"
    return Collected(files=(file,), lines=(*figures.lines(), again), figures=figures)


def _compared(
    workspace: Workspace, mine: Sequence[Candidate], to: WriteOptions, seed: int
) -> dict[str, Estimate]:
    """Return minutes and dollars for a question that was written and for one that was accepted, and variety, by who wrote it."""
    wrote: dict[str, list[Question]] = {GENERATOR: [moment_question(c) for c in mine]}
    for q in workspace_questions(workspace):
        who = q.provenance.get("model") or q.provenance.get("generator", "")
        if q.kind == MOMENT and who not in ("", GENERATOR):
            wrote.setdefault(who, []).append(q)
    hours = sum(float(c.provenance.details["seconds"]) for c in mine) / 3600
    spent = {GENERATOR: (60 * hours, hours * to.wage)}
    if is_there(workspace.file(CALLS)):
        with CallStore.open(workspace.file(CALLS), create=False) as store:
            for who in wrote:
                if calls := list(store.calls(Selection(stage="generate", model=who))):
                    costs = [call.cost for call in calls if call.outcome is not None]
                    nano = [cost for cost in costs if cost is not None]
                    dollars = sum(nano) / 10**9 if len(nano) == len(costs) else math.nan
                    spent[who] = sum(call.seconds or 0 for call in calls) / 60, dollars
    items = load_all_items(workspace) if is_there(workspace.file("items.jsonl")) else []
    accepted = {moment_candidate(item.question) for item in items}
    found: dict[str, Estimate] = {}
    for who, totals in spent.items():
        passed = sum(q.id in accepted for q in wrote[who])
        for n, what in ((len(wrote[who]), "a question"), (passed, "an accepted question")):
            for unit, total in zip(("minutes", "dollars"), totals, strict=True):
                known = (total / n, "") if n and not math.isnan(total) else (None, "a price is not known")
                found |= {f"{who}: {unit} {what}": Estimate(known[0], n=n, note=known[1])} if n else {}
    texts: dict[str, dict[str, list[str]]] = {who: defaultdict(list) for who in wrote}
    for who, q in ((who, q) for who, questions in wrote.items() for q in questions):
        texts[who][q.facets["type"]].append(q.text)
    drawn = drawn_variety(texts, size=to.draw, seed=seed)
    return found | {f"{who}: type-token ratio": as_estimate(score) for who, score in drawn.items()}
