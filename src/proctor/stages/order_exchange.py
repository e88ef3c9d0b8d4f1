"""Putting steps in order in Label Studio, with its ``List`` and ``Ranker``: tasks for it, and what comes back.

Steps go out in their fixed shuffle under the numbers of its slots, so that no id tells the authored order. A result comes in either
shape of Label Studio's pages: a list of ids, or lists of ids by the name of a tag or bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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
        shown = [one.steps[step] for step in fixed_shuffle(one.id, len(one.steps))]
        steps = [
            {
                "id": str(n),
                "title": "",
                "body": clean_text(step.text)[0],
                "html": "".join(
                    render_element("img", {"src": image, "height": "120"}) for image in step.images
                ),
            }
            for n, step in enumerate(shown, 1)
        ]
        tasks.append({"data": {"item_id": one.id, "goal": clean_text(one.goal)[0], "steps": steps}})
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(tasks)))
    with atomic_write(path.with_suffix(".config.xml")) as stream:
        stream.write(render_element("View", {}, _CONFIG).encode())
    return len(tasks)


def read_label_studio_orders(
    path: Path, sequences: Mapping[str, Sequence], dropped: list[Dropped]
) -> Iterator[OrderRecord]:
    """Yield people's orders of an export of tasks with annotations; what is none is put into ``dropped``.

    Raises:
        UserError: if the file is no JSON array of objects.
    """
    tasks: list[dict[str, Any]] = read_json(path, list[dict[str, Any]])
    for number, task in enumerate(tasks, 1):
        try:
            data = msgspec.convert(task, _Task)
            sequence = sequences[data.data.item_id]
        except (msgspec.ValidationError, KeyError) as error:
            dropped.append(Dropped(f"task {number}", "unknown-item", str(error)[:300]))
            continue
        steps = fixed_shuffle(sequence.id, len(sequence.steps))
        modality = "both" if any(step.images for step in sequence.steps) else "text"
        for one in data.annotations:
            said = {r.from_name: r.value for r in one.result}
            order = _ranked(said.get("order", {}), {str(n): step for n, step in enumerate(steps, 1)})
            who = one.completed_by
            line = {
                "item_id": sequence.id, "modality": modality, "submitted_order": order, "presented": steps, "seconds": one.lead_time,
                "worker_id": str(who.get("email", who.get("id")) if isinstance(who, dict) else who),
            }  # fmt: skip
            try:
                if order is None or one.was_cancelled:
                    raise msgspec.ValidationError("cancelled, or not every step once")
                yield msgspec.convert(line, OrderRecord)
            except msgspec.ValidationError as error:
                dropped.append(Dropped(sequence.id, "no-permutation", f"task {number}: {error}"[:300]))


class _Data(msgspec.Struct):
    item_id: str


class _Result(msgspec.Struct):
    value: dict[str, Any]
    from_name: str = ""


class _Annotation(msgspec.Struct):
    result: list[_Result] = []
    completed_by: int | str | dict[str, Any] | None = None
    lead_time: float | None = None
    was_cancelled: bool = False


class _Task(msgspec.Struct):
    data: _Data
    annotations: list[_Annotation] = []


def _ranked(value: Mapping[str, Any], steps: Mapping[str, int]) -> list[int] | None:
    """Return the steps of a ranker's value; None where no list in it holds each once."""
    found = value.get("ranker")
    for ids in found.values() if isinstance(found, dict) else [found]:
        if isinstance(ids, list) and sorted(map(str, ids)) == sorted(steps):
            return [steps[str(id_)] for id_ in ids]
    return None
