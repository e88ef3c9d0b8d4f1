"""The real application as a process on a real store, and Chromium in front of it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, wait_until
from tests.stores import copy_database
from tests.studio.chromium import CHROMIUM, let_it_act

HERE = Path(__file__).parent
PASSWORD = "a long and quiet river"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(f"{HERE}{os.sep}"):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"))


class Site:
    """A studio that can be killed and started again, and its desk as seen by the test."""

    def __init__(self, root: Path, database: str = "-", videos: Path | None = None) -> None:
        from proctor.stages.studio import open_desk

        self.root, self.database, self.videos = root, database, videos
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Any = None
        self.people: dict[str, Any] = {}
        self.begun = time.monotonic()
        self.start()
        self.stack = ExitStack()
        self.desk = self.stack.enter_context(open_desk(root, None if database == "-" else database))

    def start(self) -> None:
        command = [sys.executable, str(HERE / "serve.py"), str(self.root), self.database, str(self.port)]
        self.process = subprocess.Popen([*command, *([str(self.videos)] if self.videos else [])])
        wait_until(self._answers, what="the studio")

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the studio did not start"
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=PATIENCE):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.stack.close()
        self.kill()

    @property
    def cookie(self) -> str:
        """The name of the cookie of sessions."""
        from proctor.studio.auth import _cookie_name

        return _cookie_name(self.url)

    # -- the desk --------------------------------------------------------------------------------------------

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result(PATIENCE)

    def rows(self, table: str, **where: Any) -> list[Any]:
        from proctor.verify.schema import tables

        with self.desk.reading() as connection:
            found = connection.execute(getattr(tables(), table).select()).all()
        return [row for row in found if all(getattr(row, k) == v for k, v in where.items())]

    def hire(self, role: str = "annotator", password: str = "") -> Any:
        """Somebody new, who has given consent and read the guideline."""
        from argon2 import PasswordHasher

        from proctor.verify.desk import documents, people

        handle = f"p{len(self.rows('people'))}"
        person = self.do(people.add, handle=handle, name=handle.title(), role=role, actor="cli", gate="open")
        for kind, note in (("consent", people.consent_given), ("guideline", people.guideline_ticked)):
            document = self.desk.read(lambda c, k=kind: documents.latest(c, k))  # type: ignore[misc,arg-type]
            if document is not None:
                self.do(note, person, document.version)
        if password:
            hashed = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(password)
            self.do(people.set_password, person, hashed, actor="cli")
        return self.desk.read(lambda c: people.by_id(self.desk, c, person.id))

    def deal(self, *people: Any, count: int = 1, answers: int = 2) -> list[list[str]]:
        """Let these people judge items that nobody was asked about; returns the pids by item."""
        from proctor.verify.desk.desk import new_pid
        from proctor.verify.desk.items import get_item
        from proctor.verify.schema import tables

        given: list[list[str]] = []
        for row in sorted(self.rows("items", state="undealt"), key=lambda r: r.id):
            if len(given) == count:
                break
            item = self.desk.read(lambda c, n=row.id: get_item(c, n))  # type: ignore[misc]
            if len(item.question.proposals) != answers:
                continue
            pids = [new_pid() for _ in people]
            values = [
                {
                    "pid": pid, "item_id": row.id, "person_id": person.id, "stage": "judge", "slot": slot, "state": "open",
                    "live": True, "queue_pos": len(given), "created_at": time.time(),
                }
                for slot, (pid, person) in enumerate(zip(pids, people, strict=True))
            ]  # fmt: skip

            def job(_desk: Any, c: Any, values: Any = values, number: int = row.id) -> None:
                c.execute(tables().assignments.insert(), values)
                i = tables().items
                c.execute(i.update().where(i.c.id == number).values(state="judging", wanted=len(values)))

            self.do(job)
            given.append(pids)
        assert len(given) == count, "too few items"
        return given

    def candidates_with(self, *texts: str, question: str = "What now?") -> Any:
        """Put other texts into an undealt item; returns its number."""
        import msgspec

        from proctor.exam.question import Proposed, Text
        from proctor.records import canonical_json
        from proctor.verify.desk.items import get_item
        from proctor.verify.schema import tables

        row = min(self.rows("items", state="undealt"), key=lambda r: r.id)
        item = self.desk.read(lambda c: get_item(c, row.id))
        changed = msgspec.structs.replace(
            item.question, proposals=tuple(Proposed(value=Text(text=t)) for t in texts), text=question
        )
        values = {"body": canonical_json(changed).decode(), "candidate_hash": "e" * 16}
        i = tables().items
        self.do(lambda _d, c: c.execute(i.update().where(i.c.id == row.id).values(**values)))
        return row.id

    def token(self, person: Any) -> str:
        from proctor.studio.auth import hash_token, new_token
        from proctor.verify.desk import people

        token = new_token()
        self.do(people.open_session, hash_token(token), person)
        return token

    def responses(self, pid: str) -> list[Any]:
        (assignment,) = self.rows("assignments", pid=pid)
        return self.rows("responses", assignment_id=assignment.id)

    def draft(self, pid: str) -> dict[str, Any]:
        import json

        (assignment,) = self.rows("assignments", pid=pid)
        found = self.rows("drafts", assignment_id=assignment.id)
        return json.loads(found[0].sheet) if found else {}


BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="module", params=BOTH)
def site(request: pytest.FixtureRequest, demo_workspace: Path, tmp_path_factory: Any) -> Iterator[Site]:
    """A studio of the sample's questions that nobody has touched, on either database."""
    root = tmp_path_factory.mktemp("site") / "bench"
    shutil.copytree(demo_workspace / "bench", root)
    with ExitStack() as stack:
        database = "walk.sqlite"
        if request.param == "postgres":
            database = stack.enter_context(copy_database(request.getfixturevalue("postgres_server")))
        found = Site(root, database)
        stack.callback(found.close)
        yield found


@pytest.fixture(scope="module")
def demo(demo_workspace: Path, tmp_path_factory: Any) -> Iterator[Site]:
    """The sample as a newcomer finds it."""
    folder = tmp_path_factory.mktemp("demo-site")
    shutil.copytree(demo_workspace, folder, dirs_exist_ok=True)
    found = Site(folder / "bench")
    yield found
    found.close()


class Visit:
    """Browser contexts of signed-in people; collects what pages complain about."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []
        self.problems: list[str] = []

    def context(self, site: Site, person: Any = None, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = self.browser.new_context(base_url=site.url, reduced_motion="reduce", **options)
        if person is not None:
            self.sign_in(site, context, person)
        self.contexts.append(context)
        return context

    def sign_in(self, site: Site, context: Any, person: Any) -> None:
        cookie = {"name": site.cookie, "value": site.token(person), "url": site.url}
        context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Lax"}])

    def open(self, context: Any, path: str) -> Any:
        """Open a page; one of an assignment is waited for until it has met the server."""
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", self._hear)
        if path.startswith("/w/"):
            with page.expect_response(lambda response: response.url.endswith("/state")):
                page.goto(path)
            let_it_act(page)
        else:
            # A server that has much to do answers with a page that looks again by itself, and would leave under a test's hands.
            # Where that comes between, there is no answer to this visit.
            wait_until(
                lambda: (got := page.goto(path)) and "refresh" not in got.headers, what=f"{path} itself"
            )
        return page

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(message.text)


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    found = Visit(browser)
    yield found
    for context in found.contexts:
        browser.shut(context)
    assert found.problems == []


@pytest.fixture(scope="session")
def wait_for() -> Callable[..., Any]:
    """Poll until something is true."""
    return wait_until


@pytest.fixture(scope="session")
def password() -> str:
    return PASSWORD


@pytest.fixture
def open_site() -> Iterator[Callable[[Path, Path], Site]]:
    """Open the sample in a folder of its own."""
    opened: list[Site] = []

    def start(workspace: Path, folder: Path) -> Site:
        shutil.copytree(workspace, folder / "sample-copy")
        opened.append(Site(folder / "sample-copy" / "bench"))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
