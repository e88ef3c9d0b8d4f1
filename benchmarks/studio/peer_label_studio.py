"""Label Studio under load: what saving an annotation costs there, in a process of its own, on its SQLite.

Run: python benchmarks/studio/peer_label_studio.py [--plan 8x25] (several minutes; installs it where it is missing).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from peer import Outcome, closed_loop, row, run
from process import free_port, kill, memory_mb, server
from wire import Person, Reply

PACKAGE = "label-studio"
PLAN = ((1, 50), (8, 25))
OWNER = "owner@example.org"
PASSWORD = "bench-only-1"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="q" toName="text"><Choice value="right"/>'
    '<Choice value="wrong"/></Choices><TextArea name="note" toName="text"/></View>'
)
QUIET = {"COLLECT_ANALYTICS": "0", "LATEST_VERSION_CHECK": "0", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}


async def api(person: Person, path: str, body: Any) -> Any:
    """Post as the owner; return the reply's JSON.

    Raises:
        RuntimeError: if it was refused.
    """
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    reply = await person.request("POST", path, json.dumps(body).encode(), headers)
    if not 200 <= reply.status < 300:
        raise RuntimeError(f"{path}: {reply.status} {reply.body[:200]!r}")
    return json.loads(reply.body)


async def load(port: int, database: Path, annotators: int, count: int) -> Outcome:
    """Make a project, sign everybody up, save."""
    owner = Person("127.0.0.1", port, timeout=120)
    made = await api(owner, "/api/projects", {"title": "load", "label_config": CONFIG})
    texts = [{"data": {"text": f"Is step {n} the next one?"}} for n in range(count)]
    await api(owner, f"/api/projects/{made['id']}/import", texts)
    owner.close()
    with closing(sqlite3.connect(database)) as connection:
        tasks = [task for (task,) in connection.execute("SELECT id FROM task ORDER BY id")]
    people = [await signed_up(port, who) for who in range(annotators)]

    async def save(person: Person, who: int, item: int, text: str) -> Reply:
        result = [
            {"from_name": "q", "to_name": "text", "type": "choices", "value": {"choices": ["right"]}},
            {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": [text]}},
        ]
        body = json.dumps({"lead_time": 5.0, "result": result}).encode()
        headers = {"Content-Type": "application/json", "X-CSRFToken": person.cookies["csrftoken"]}
        return await person.request("POST", f"/api/tasks/{tasks[item]}/annotations/", body, headers)

    return await closed_loop(people, count, save)


async def signed_up(port: int, who: int) -> Person:
    """Return a person with an account and a session of their own."""
    person = Person("127.0.0.1", port, timeout=120)
    await person.request("GET", "/user/signup/")
    fields = {"email": f"person{who}@example.org", "password": PASSWORD}
    reply = await person.post_form(
        "/user/signup/", {**fields, "csrfmiddlewaretoken": person.cookies["csrftoken"]}
    )
    if reply.status != 302:
        raise RuntimeError(f"signing up: {reply.status}")
    return person


def kept(database: Path) -> Counter[str]:
    """Return the texts that the store holds."""
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(database)) as connection:
        for (result,) in connection.execute("SELECT result FROM task_completion"):
            parts = json.loads(result)
            found.update(text for part in parts for text in part["value"].get("text", ()))
    return found


def measure(home: Path, label: str, annotators: int, count: int) -> str:
    """Return the row of one loop against a fresh server."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="label-studio-") as name:
        folder = Path(name)
        data, program = folder / "data", str(home / "bin" / "label-studio")
        command = [program, "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1"]
        command += ["--data-dir", str(data), "--username", OWNER, "--password", PASSWORD]
        command += ["--user-token", TOKEN, "--enable-legacy-api-token", "--log-level", "ERROR"]
        variables = {**QUIET, "LABEL_STUDIO_BASE_DATA_DIR": str(data), "HOME": name}
        with server(command, port, folder, variables, health="/health") as (process, started):
            database = data / "label_studio.sqlite3"
            outcome = asyncio.run(load(port, database, annotators, count))
            memory = memory_mb(process.pid)
            kill(process)
            return row(label, outcome, kept(database), started=started, memory=memory)


if __name__ == "__main__":
    run("label-studio", PACKAGE, __doc__, measure, PLAN)
