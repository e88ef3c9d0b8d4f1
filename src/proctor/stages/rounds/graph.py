"""Rounds in which task graphs are written from texts, or inferred edges are reviewed, and what comes out of them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.interchange.graph_json import render_own
from proctor.errors import UserError
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Reply
from proctor.llm.structured import read_object
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, atomic_write, read_bytes, read_jsonl, write_json
from proctor.said import say_in
from proctor.spreadsheet import csv_text
from proctor.stages.graph_review import ReviewRow, review_rows, write_rows
from proctor.stages.models import open_models
from proctor.stages.naming import file_name
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import GraphRoundSettings
from proctor.verify.agreement import Estimate
from proctor.verify.desk.records import InvalidError
from proctor.verify.llm_prompt import verification_prompts
from proctor.verify.rounds import graph as rules
from proctor.verify.rounds.agreement import Figures
from proctor.verify.rounds.graph import GraphSheet, GraphStep, GraphTask, ProposedEdge
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_STAGE: Final = "round graph"
_ID: Final = re.compile(r"\w(?:[\w .-]{0,98}[\w.-])?")
_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """Read the text. Choose the words of each action and make them a step; a step is one thing that is done.
Then say which steps must come before which: only what *must* wait, not what happens to stand later. Accept a proposal only where
you would have written it yourself.
""",
)


def make(workspace: Workspace, settings: GraphRoundSettings) -> Made:
    """Return a task for every text, or for every graph of a table of edges.

    Raises:
        UserError: if a file cannot be read, a text is too long, or a model is wrong.
    """
    dropped: list[Dropped] = []
    if settings.edges is not None and settings.texts is None and settings.draft is None:
        bodies = _reviews(settings.edges)
    elif settings.texts is not None and settings.edges is None:
        bodies = [_checked(task) for task in _texts(settings.texts)]
        if settings.draft:
            bodies = list(_drafted(workspace, bodies, settings.draft, dropped))
    else:
        raise UserError("either texts are needed or edges.", hint="--texts FOLDER, or --edges FILE alone")
    if not bodies:
        raise UserError("there is nothing in it.", where=str(settings.texts or settings.edges))
    options = rules.GraphOptions(write=settings.write)
    tasks = [task_of(body.id, body) for body in bodies]
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def _texts(path: Path) -> Iterator[GraphTask]:
    if path.suffix.lower() == ".jsonl":
        yield from read_jsonl(path, GraphTask)
        return
    for file in sorted(path.glob("*.txt")) if path.is_dir() else (path,):
        try:
            text = "\n".join(read_bytes(file).decode("utf-8-sig").splitlines()).strip()
        except UnicodeDecodeError:
            raise UserError("it is no UTF-8 text.", where=str(file), hint="save it as UTF-8") from None
        yield GraphTask(id=file.stem, title=file.stem.replace("_", " "), text=text)


def _checked(task: GraphTask) -> GraphTask:
    """Return a task whose proposals could be accepted."""
    if _ID.fullmatch(task.id) is None:
        raise UserError(f"'{task.id[:80]}' is no id: letters, digits and - . _, at most 100.")
    steps = task.steps or (GraphStep(id="s1", text="-"),)
    pairs = tuple((e.before, e.after) for e in task.edges)
    try:
        rules.KIND.check(GraphSheet(steps=steps, refused=pairs), task, rules.GraphOptions())
    except InvalidError as error:
        raise UserError(error.message, where=f"the text '{task.id}'") from None
    return msgspec.structs.replace(task, title=task.title or task.id, fixed=False)


def _reviews(path: Path) -> list[GraphTask]:
    """Return a task for each graph of a table, with its rows in their order: the most doubtful first."""
    rows: dict[str, list[ReviewRow]] = {}
    for row in review_rows(path):
        rows.setdefault(row.graph, []).append(row)
    tasks = []
    for graph, edges in rows.items():
        texts = {i: t for r in edges for i, t in ((r.before, r.before_text), (r.after, r.after_text))}
        steps = tuple(GraphStep(id=i, text=text or i) for i, text in texts.items())
        proposed = tuple(ProposedEdge(r.before, r.after, r.probability) for r in edges)
        tasks.append(GraphTask(id=graph, title=graph, steps=steps, edges=proposed, fixed=True))
    return tasks


class _Draft(msgspec.Struct, frozen=True):
    """Steps as (text, quote), edges as (before, after, how sure), by number from 1."""

    steps: list[tuple[str, str]]
    edges: list[tuple[int, int, float]] = []


def _drafted(
    workspace: Workspace, tasks: list[GraphTask], model: str, dropped: list[Dropped]
) -> Iterator[GraphTask]:
    template = verification_prompts()["graph-draft"]
    with open_models(workspace) as models:
        how = models.replying.over(Parameters(temperature=0.0, max_tokens=4_096), model, "generator")
        prompts = [template.render(models.secret, title=task.title, text=task.text) for task in tasks]
        requests = [Request(model=model, messages=prompt.messages, parameters=how) for prompt in prompts]
        outcomes = {request.key: outcome for request, outcome in models.ask(_STAGE)(requests)}
    for task, request in zip(tasks, requests, strict=True):
        said = outcomes.get(request.key)
        draft = read_object(said.text, _Draft, required=("steps",)) if isinstance(said, Reply) else None
        if isinstance(draft, _Draft):
            yield _proposed(task, draft)
        else:
            dropped.append(Dropped(task.id, "no_draft", "there was no reply, or it was not as asked"))
            yield task


def _proposed(task: GraphTask, draft: _Draft) -> GraphTask:
    """Return the task with a draft's steps, at the place where its text says them, and its edges, the most doubtful first."""
    steps, at = [], 0
    for n, (text, quote) in enumerate(draft.steps[: rules.MAX_STEPS], 1):
        begin = task.text.find(quote, at) if quote.strip() else -1
        at = max(at, begin)
        spans = ((begin, begin + len(quote)),) if begin >= 0 else ()
        steps.append(GraphStep(id=f"d{n}", text=text.strip()[:1000] or "…", spans=spans))
    pairs = {(a, b): sure for a, b, sure in draft.edges if a != b and {a, b} <= {*range(1, len(steps) + 1)}}
    doubtful = sorted(pairs.items(), key=lambda pair: pair[1])
    edges = tuple(ProposedEdge(f"d{a}", f"d{b}", sure) for (a, b), sure in doubtful)
    return msgspec.structs.replace(task, steps=tuple(steps), edges=edges)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write what all agree on, the rest, and how far people agree two by two.

    The folder is a plain folder: ``activities`` holds the settled graphs, for ``read plain``. Of reviewed edges, ``edges.csv``
    holds the decisions that all made, for ``graph induce --reviewed``.
    """
    folder = out or workspace.file("rounds") / file_name(round_.name)
    files = [folder / "agreement.json", folder / "disagreements.csv"]
    graphs: dict[str, TaskGraph] = {}
    numbers: dict[str, Estimate] = {}
    counts = Counter[str]()
    rows, decided, lines = list[tuple[str, ...]](), list[ReviewRow](), list[str]()
    for id_, group in itertools.groupby((r for r in readings if r.counts), key=lambda r: r.task):
        read = [(r, msgspec.json.decode(r.sheet, type=GraphSheet)) for r in group]
        task = msgspec.json.decode(read[0][0].body, type=GraphTask)
        who = [rules.authored(r.person, sheet, task) for r, sheet in read]
        graph, disputes = rules.settle(who)
        for a, b in itertools.combinations(who, 2):
            matched, f1 = rules.agreement_of(a, b)
            note = "" if matched else "no step in common"
            numbers[f"{id_}, {a.person} and {b.person}, edge F1"] = Estimate(f1, n=matched, note=note)
        rows += [(id_, *dispute, str(len(who))) for dispute in disputes]
        steps, edges = (len(graph.steps), len(graph.edges)) if graph is not None else (0, 0)
        counts.update({"graphs": 1, "steps": steps, "edges that all agree on": edges, "disagreements": len(disputes)})  # fmt: skip
        if task.fixed:
            decided += _decided(task, [sheet for _, sheet in read])
            continue
        if graph is not None:
            graphs[id_] = graph
            files.append(folder / "activities" / f"{id_}.json")
            with atomic_write(files[-1]) as stream:
                stream.write(render_own([graph])[0])
    figures = Figures(counts=counts, numbers=numbers)
    write_json(files[0], figures)
    head = ("task", "kind", "before", "after", "text", "said_by", "of")
    with atomic_write(files[1]) as stream:
        stream.write(csv_text(head, rows).encode("utf-8-sig", "replace"))
    if decided:
        files.append(folder / "edges.csv")
        write_rows(files[-1], decided)
    if graphs and msgspec.json.decode(round_.options, type=rules.GraphOptions).write:
        lines.append(_put(workspace, graphs))
    return Collected(files=tuple(files), lines=(*figures.lines(), *lines), figures=figures)


def _decided(task: GraphTask, sheets: Sequence[GraphSheet]) -> Iterator[ReviewRow]:
    """Yield the rows of a review: with a decision where everybody made the same; links of their own that all made."""
    texts = {step.id: step.text for step in task.steps}
    known = {(e.before, e.after): e.probability for e in task.edges}
    own = set.intersection(*({*sheet.edges} for sheet in sheets)) - known.keys()
    for a, b in (*known, *sorted(own)):
        said = {"accept" if (a, b) in s.edges else "refuse" for s in sheets}
        yield ReviewRow(
            graph=task.id, before=a, after=b, probability=known.get((a, b)),
            before_text=texts[a], after_text=texts[b], decision=said.pop() if len(said) == 1 else "",
        )  # fmt: skip


def _put(workspace: Workspace, graphs: dict[str, TaskGraph]) -> str:
    """Put settled graphs into the workspace; those that came with the data stay."""
    there = workspace.known_graphs()
    record = workspace.stages().get(_STAGE)
    ours = set(record.settings["settled"]) if record is not None else set()
    new = {id_: g for id_, g in graphs.items() if id_ in ours or id_ not in there or not there[id_].edges}
    workspace.write_graphs(there | new)
    settings, counts = {"settled": sorted(ours | new.keys())}, {"graphs": len(new)}
    workspace.record(_STAGE, settings=settings, counts=counts, outputs=("graphs.json",))
    return (
        f"{len(new)} graphs are in the workspace now; {len(graphs) - len(new)} that came with the data stay"
    )
