"""Putting steps in order in Label Studio, with its ``List`` and ``Ranker``: tasks for it, and what comes back.

Steps go out in their fixed shuffle under the numbers of its slots, so that no id tells the authored order. A result comes in either
shape of Label Studio's pages: a list of ids, or lists of ids by the name of a tag or bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from proctor.datasets.interchange.safe_xml import clean_text, render_element
from proctor.procedure.manual import Sequence, fixed_shuffle
from proctor.records import Dropped, atomic_write, read_json
from proctor.stages.order_people import OrderRecord

__all__ = ["read_label_studio_orders", "write_label_studio_orders"]

_CONFIG: Final = (
    render_element("Header", {"value": "$goal"}, indent=1),
    render_element("List", {"name": "steps", "value": "$steps", "title": "First at the top"}, indent=1),
    render_element("Ranker", {"name": "order", "toName": "steps"}, indent=1),
)


def write_label_studio_orders(sequences: Iterable[Sequence], path: Path) -> int:
    """Write tasks (JSON) and their labelling configuration (``<stem>.config.xml``), and return how many; pictures keep their paths."""
    tasks = []
    for one in sequences:
        steps = []
        for n, place in enumerate(fixed_shuffle(one.id, len(one.steps)), 1):
            images = [render_element("img", {"src": src, "height": "120"}) for src in one.steps[place].images]
            text = clean_text(one.steps[place].text)[0]
            steps.append({"id": str(n), "title": "", "body": text, "html": "".join(images)})
        tasks.append({"data": {"item_id": one.id, "goal": clean_text(one.goal)[0], "steps": steps}})
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(tasks)))
    with atomic_write(path.with_suffix(".config.xml")) as stream:
        stream.write(render_element("View", {}, _CONFIG).encode())
    return len(tasks)


class _Result(msgspec.Struct):
    value: dict[str, Any] = {}  # relations have none
    from_name: str = ""


class _Annotation(msgspec.Struct):
    result: list[_Result] = []
    completed_by: int | str | dict[str, Any] | None = None
    lead_time: Annotated[float, msgspec.Meta(ge=0)] | None = None
    was_cancelled: bool = False


class _Task(msgspec.Struct):
    data: dict[str, Any]
    annotations: list[_Annotation] = []


def read_label_studio_orders(
    path: Path, sequences: Mapping[str, Sequence], dropped: list[Dropped]
) -> Iterator[OrderRecord]:
    """Yield people's orders of an export of tasks with annotations; what is none is put into ``dropped``.

    Raises:
        UserError: if the file is no such export; with the place.
    """
    tasks: list[_Task] = read_json(path, list[_Task])
    for number, task in enumerate(tasks, 1):
        sequence = sequences.get(str(task.data.get("item_id")))
        if sequence is None:
            dropped.append(Dropped(f"task {number}", "unknown-item", str(task.data.get("item_id"))[:300]))
            continue
        steps = fixed_shuffle(sequence.id, len(sequence.steps))
        for one in task.annotations:
            said = [r.value.get("ranker") for r in one.result if r.from_name == "order"]
            order = _ranked(said, {str(n): step for n, step in enumerate(steps, 1)})
            if order is None or one.was_cancelled:
                why = "cancelled" if one.was_cancelled else "not every step once"
                dropped.append(Dropped(sequence.id, "no-permutation", f"task {number}: {why}"))
                continue
            who = one.completed_by
            yield OrderRecord(
                item_id=sequence.id, modality="both" if any(step.images for step in sequence.steps) else "text",
                worker_id=str(who.get("email", who.get("id")) if isinstance(who, dict) else who),
                submitted_order=order, presented=[*steps], seconds=one.lead_time,
            )  # fmt: skip


def _ranked(said: list[Any], steps: Mapping[str, int]) -> list[int] | None:
    """Return the steps of a ranker's values; None where no list in them holds each once."""
    lists = [ids for value in said for ids in (value.values() if isinstance(value, dict) else [value])]
    found = (ids for ids in lists if isinstance(ids, list) and sorted(map(str, ids)) == sorted(steps))
    return next(([steps[str(id_)] for id_ in ids] for ids in found), None)
