"""Potato under load: what saving an annotation costs there, in a process of its own.

Potato is GPL: it is run, never imported, and nothing of it is in this file; the requests are those its page sends.

Run: python benchmarks/studio/peer_potato.py [--plan 8x50] (about two minutes; installs it where it is missing).
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from pathlib import Path

from peer import Outcome, closed_loop, row, run
from process import free_port, kill, memory_mb, server
from wire import Person, Reply

PACKAGE = "potato-annotation"
PLAN = ((1, 200), (8, 500))


def project(folder: Path, annotators: int, items: int) -> Path:
    """Write a project of text items that everybody gets all of, in the same order; return its settings' file."""
    (folder / "data").mkdir()
    lines = [json.dumps({"id": f"i{n}", "text": f"Is step {n} the next one?"}) for n in range(items)]
    (folder / "data" / "items.json").write_text("\n".join(lines) + "\n")
    settings = {
        "annotation_task_name": "load",
        "task_dir": ".",
        "site_dir": "default",
        "output_annotation_dir": "out",
        "output_annotation_format": "jsonl",
        "data_files": ["data/items.json"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "require_password": False,
        "user_config": {"allow_all_users": True, "users": []},
        "max_annotations_per_user": items,
        "max_annotations_per_item": annotators,
        "assignment_strategy": "fixed_order",
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": "question",
                "description": "?",
                "labels": ["right", "wrong"],
            },
            {"annotation_type": "text", "name": "note", "description": "Note"},
        ],
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(settings))
    return path


async def save(person: Person, who: int, item: int, text: str) -> Reply:
    """Post one annotation as the page does."""
    labels = {"question:right": "right", "note:text_box": text}
    body = json.dumps({"instance_id": f"i{item}", "annotations": labels, "span_annotations": []}).encode()
    return await person.request("POST", "/updateinstance", body, {"Content-Type": "application/json"})


async def load(port: int, annotators: int, count: int) -> Outcome:
    """Sign everybody in, open the first page, save."""
    people = [Person("127.0.0.1", port) for _ in range(annotators)]
    for who, person in enumerate(people):
        await person.post_form("/auth", {"email": f"person{who}", "pass": ""})
        page = await person.request("GET", "/annotate")
        if page.status != 200:
            raise RuntimeError(f"signing in: the first page answers {page.status}")
    return await closed_loop(people, count, save)


def kept(folder: Path, annotators: int) -> Counter[str]:
    """Return the texts that the people's files hold."""
    found: Counter[str] = Counter()
    for who in range(annotators):
        path = folder / "out" / f"person{who}" / "user_state.json"
        state = json.loads(path.read_text())["instance_id_to_label_to_value"]
        found.update(text for text in _strings(state) if text.startswith("note-"))
    return found


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]


def measure(home: Path, label: str, annotators: int, count: int) -> str:
    """Return the row of one loop against a fresh server."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="potato-") as name:
        folder = Path(name)
        settings = project(folder, annotators, count)
        command = [
            str(home / "bin" / "potato"),
            "start",
            str(settings),
            "-p",
            str(port),
            "--host",
            "127.0.0.1",
        ]
        with server(command, port, folder, health="/health") as (process, started):
            outcome = asyncio.run(load(port, annotators, count))
            memory = memory_mb(process.pid)
            kill(process)
            return row(label, outcome, kept(folder, annotators), started=started, memory=memory)


if __name__ == "__main__":
    run("potato", PACKAGE, __doc__, measure, PLAN)
