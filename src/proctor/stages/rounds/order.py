"""Rounds of putting steps in order: items of the kind ``order`` as tasks, people's orders as the file that tables are made of, and runs.

An item is a task in each modality that it has; steps keep their ids. Source: Wu et al. 2022; docs/rounds.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.order import KIND
from proctor.exam.kinds.order_marks import right_orders
from proctor.exam.predict import item_rng
from proctor.exam.question import Item, Order, Picture, Words
from proctor.metrics.order_agreement import order_agreement
from proctor.procedure import manual
from proctor.records import Dropped, content_hash, write_jsonl
from proctor.said import say_in
from proctor.stages.inputs import load_all_items
from proctor.stages.naming import file_name
from proctor.stages.order_exchange import write_label_studio_orders
from proctor.stages.order_people import OrderRecord, read_people
from proctor.stages.predict import import_predictions
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import OrderSettings, SampleSettings
from proctor.verify.agreement import Estimate
from proctor.verify.rounds.agreement import Figures, as_estimate
from proctor.verify.rounds.order import MAX_STEPS, OrderOptions, OrderSheet, OrderTask, Shows, Step, presented
from proctor.verify.rounds.records import Reading, Round, Task
from proctor.workspace import Workspace

__all__ = ["SHOWN", "authored", "collect", "line_of", "make", "ordered_items", "sequence_of", "still_asked", "tasks_of"]  # fmt: skip

SHOWN: Final[Mapping[str, Shows]] = {"multimodal": "both", "text": "text", "image": "image"}
_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """\
Each page shows the steps of a manual in a random order. Put them into the order in which they happen: what is done first is at the top.
Then say how sure you are and, where texts and pictures are shown, what helped you. Work alone, and do not look for the manual.
""",
)


def ordered_items(workspace: Workspace, only: Sequence[str] = ()) -> dict[str, Item]:
    """Return the items that are answered by an order, or some of them.

    Raises:
        UserError: if there is none, or not one that is asked for.
    """
    found = {item.id: item for item in load_all_items(workspace) if isinstance(item.question.form, Order)}
    where = str(workspace.file("items.jsonl"))
    if not found:
        hint = "proctor import sequences FILE WORKSPACE makes some of a file of sequences"
        raise UserError("no item is answered by an order.", where=where, hint=hint)
    if unknown := [id_ for id_ in only if id_ not in found]:
        raise UserError(f"there is no item '{unknown[0][:80]}' that is answered by an order.", where=where)
    return {id_: found[id_] for id_ in only or found}


def authored(item: Item) -> tuple[str, ...]:
    """Return the ids of an item's steps in their authored order."""
    return _by_id(item, right_orders(item).orders[0])


def _by_id(item: Item, slots: Sequence[int]) -> tuple[str, ...]:
    ids = item.question.form.ids if isinstance(item.question.form, Order) else ()
    return tuple(ids[slot] for slot in slots)


def _steps(item: Item, shows: Shows) -> tuple[Step, ...]:
    """Return what a modality shows of the steps, in the authored order."""
    texts: dict[str, list[str]] = defaultdict(list)
    pictures: dict[str, list[str]] = defaultdict(list)
    for part in item.question.evidence:
        if isinstance(part, Words) and shows != "image" and part.text.strip():
            texts[part.id].append(part.text.strip())
        elif isinstance(part, Picture) and shows != "text":
            pictures[part.id].append(part.path)
    return tuple(Step(id=i, text="\n".join(texts[i]), pictures=tuple(pictures[i])) for i in authored(item))


def task_name(item: Item, shows: Shows) -> str:
    """Return the name of a task, which changes when the steps do: orders of others are not taken for orders of these."""
    return f"{item.id} ({shows}, {content_hash(_steps(item, shows))[:8]})"


def still_asked(readings: Sequence[Reading], items: Mapping[str, Item], left: Counter[str]) -> Iterator[tuple[Reading, Item]]:  # fmt: skip
    """Yield readings with their items; those of items that are others now, or set aside by a reviewer, are counted in ``left``."""
    for reading in readings:
        item = items.get(reading.group)
        if item is None or reading.task != task_name(item, msgspec.convert(reading.variant, Shows)):
            left["of steps that are others now"] += 1
        elif not reading.counts:
            left["set aside by a reviewer"] += 1
        else:
            yield reading, item


def tasks_of(workspace: Workspace, settings: SampleSettings, *, shuffled: bool) -> tuple[list[Task], list[Dropped]]:  # fmt: skip
    """Return the tasks of a round and what cannot be one: a group for each item, a variant for each modality.

    With two steps, a start that is never the right one would tell it: they are left out where steps are shuffled.
    """
    tasks, dropped = list[Task](), list[Dropped]()
    for item in ordered_items(workspace, settings.item).values():
        views = [name for name in KIND.views([item]) if name != "question"]
        for shows in SHOWN.values():
            steps, why = _steps(item, shows), ""
            if shows not in (settings.shows or views):
                continue
            if shows not in views or not all(step.text or step.pictures for step in steps):
                why = "step-not-shown"
            elif not (3 if shuffled else 2) <= len(steps) <= MAX_STEPS:
                why = "two-steps" if len(steps) < 3 else "too-many-steps"
            elif len({(step.text, step.pictures) for step in steps}) == 1:
                why = "all-alike"
            if why:
                dropped.append(Dropped(item.id, why, shows))
                continue
            if shuffled:
                right = [_by_id(item, order) for order in right_orders(item).orders]
                start = presented(authored(item), right, settings.seed, item.id, shows)
                steps = tuple(sorted(steps, key=lambda step: start.index(step.id)))
            body = OrderTask(shows=shows, goal=str(item.question.facts.get("goal", "")), steps=steps)
            long = f"up to {-(-len(steps) // 5) * 5} steps"  # batches are even over lengths
            tasks.append(task_of(task_name(item, shows), body, group=item.id, variant=shows, stratum=long))
    return tasks, dropped


def make(workspace: Workspace, settings: OrderSettings) -> Made:
    """Return the items of a workspace as tasks, presented in an order that is not right.

    Raises:
        UserError: if no item is answered by an order, or one that is asked for is none.
    """
    tasks, dropped = tasks_of(workspace, settings, shuffled=True)
    options = OrderOptions(phase=settings.phase)
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def sequence_of(item: Item) -> manual.Sequence:
    """Return the sequence that an item was made of, as far as it is known, with its right orders."""
    steps = tuple(manual.SequenceStep(s.id, s.text, s.pictures) for s in _steps(item, "both"))
    right, task = right_orders(item), item.question.cluster
    place = {slot: n for n, slot in enumerate(right.orders[0])}
    pairs = None if right.before is None else tuple((place[a], place[b]) for a, b in right.before)
    orders = tuple(tuple(place[slot] for slot in order) for order in right.orders)
    modality = item.question.provenance.get("modality", "multimodal")
    return manual.Sequence(
        item.id, str(item.question.facts.get("goal", "")), steps, before=pairs, task="" if task == item.id else task,
        references=msgspec.convert({modality: orders}, dict[manual.Modality, tuple[manual.Order, ...]]),
    )  # fmt: skip


def write_tasks(root: Path, settings: OrderSettings) -> int:
    """Write the manuals for Label Studio, and return how many."""
    assert settings.label_studio is not None
    items = ordered_items(Workspace(root), settings.item).values()
    return write_label_studio_orders(map(sequence_of, items), settings.label_studio)


def line_of(reading: Reading, item: Item, order: Sequence[str] | None, **more: object) -> OrderRecord:
    """Return a line of the file of people's orders, whose steps are counted from 0 in the authored order."""
    line = {
        "item_id": item.id, "worker_id": reading.person, "modality": reading.variant, "seconds": reading.seconds,
        "assignment_id": reading.batch, "submitted_order": None if order is None else _numbers(item, order),
    }  # fmt: skip
    return msgspec.convert({**line, **more}, OrderRecord, strict=False)


def _numbers(item: Item, order: Sequence[str]) -> list[int]:
    place = {id_: n for n, id_ in enumerate(authored(item))}
    return [place[id_] for id_ in order]


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write ``people.jsonl`` for ``proctor study order-table``, and a run ``people-<modality>`` of one drawn order for each item.

    Batches below a fifth right, which chance reaches with five steps, are set aside and named, so that they can be done again.

    Raises:
        UserError: if no order is of steps that are still asked about.
    """
    items, left = ordered_items(workspace), Counter[str]()
    folder = out or workspace.file("rounds") / file_name(round_.name)
    phase = msgspec.json.decode(round_.options, type=OrderOptions).phase
    lines, files = list[OrderRecord](), [folder / "people.jsonl"]
    for reading, item in still_asked(readings, items, left):
        sheet = msgspec.json.decode(reading.sheet, type=OrderSheet)
        more = {"phase": phase, "presented": _numbers(item, sheet.start), **sheet.values}
        lines.append(line_of(reading, item, sheet.order, **more))
    if not write_jsonl(files[0], lines):
        hint = "items.jsonl was built again since: begin another round"
        raise UserError("no order is of steps that are still asked about.", where=round_.name, hint=hint)
    people = read_people(files[0], {id_: sequence_of(item) for id_, item in items.items()})
    clusters = {id_: item.question.cluster or id_ for id_, item in items.items()}
    numbers, said = dict[str, Estimate](), list[str]()
    for modality, shows in SHOWN.items():
        orders: dict[str, dict[str, manual.Order]] = defaultdict(dict)
        for answer in people.main:
            if answer.modality == modality:
                orders[answer.item.id][answer.worker] = answer.order
        if not orders:
            continue
        numbers[f"{shows}, agreement (tau)"] = as_estimate(order_agreement(orders, clusters=clusters))
        rng = {id_: item_rng(round_.settings.seed, f"people/{shows}/{id_}") for id_ in orders}
        drawn = {id_: by[rng[id_].choice(sorted(by))] for id_, by in orders.items()}
        files.append(folder / f"people-{shows}.jsonl")
        named = {id_: dict(enumerate(authored(items[id_]))) for id_ in drawn}
        write_jsonl(files[-1], [{"item_id": i, "answer": [named[i][n] for n in o]} for i, o in drawn.items()])
        made = import_predictions(files[-1], workspace.root, f"people-{shows}", "human", sample=True)
        said += [f"run: {run.run}; next: proctor score {workspace.root}" for run in made.runs]
    counts = {"orders": len(lines), "that count": len(people.main), "batches set aside": len(people.censored), **left}  # fmt: skip
    figures = Figures(counts=counts, numbers=numbers)
    said += [
        f"set aside: batch {c.assignment}, {c.accuracy:.0%} right; again: proctor round order {workspace.root} "
        f"--name again {' '.join(f'--item {id_}' for id_ in c.items)}"
        for c in people.censored
    ]
    if phase == "qualification":
        places: dict[str, list[bool]] = defaultdict(list)
        for line in lines:
            places[line.worker_id] += [n == step for n, step in enumerate(line.submitted_order or ())]
        said += [f"{who}: {sum(own) / len(own):.0%} of places right" for who, own in places.items()]
    return Collected(files=tuple(files), lines=(*figures.lines(), *said), figures=figures)
