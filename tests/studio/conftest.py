"""A whole studio in one process, with people and small items, for the tests of its pages."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stores import copy_store

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.drawing.layout import Layouts
from proctor.exam.kinds.example import Example
from proctor.exam.library import Library
from proctor.exam.question import Question
from proctor.llm.media import MediaStore
from proctor.studio.app import build_app
from proctor.studio.auth import Auth, hash_token, new_token
from proctor.studio.context import Settings, Studio
from proctor.studio.passwords import Passwords
from proctor.verify.desk import documents, people, work
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.items import sync_items
from proctor.verify.desk.records import Person, Sheet
from proctor.verify.schema import tables
from proctor.verify.store import append_verdicts
from proctor.verify.verdict import AnswerVerdict, Verdict

ORIGIN = "http://127.0.0.1:8642"
_SIGNS: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}


class Office:
    """A studio, its clock, and short ways to do and look at things."""

    origin = ORIGIN

    def __init__(self, folder: Path) -> None:
        self.time = 1_700_000_000.0
        self.desk = Desk.open(copy_store(folder / "store.sqlite"), secret=b"s" * 32, clock=lambda: self.time)
        self.do(documents.ensure_defaults)
        auth = Auth(self.desk, ORIGIN, passwords=Passwords(time_cost=1, memory_kib=64, lanes=1))
        self.studio = Studio(
            desk=self.desk,
            settings=Settings(project="Kitchen", origin=ORIGIN, folder=folder),
            library=Library(media=MediaStore()),
            find_video=lambda example: None,
            clips=None,
            layouts=Layouts(folder / "drawings"),
            auth=auth,
        )
        self.app = build_app(self.studio)
        self.clients: dict[int, TestClient] = {}
        self.pairs: list[Question] = []

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.studio.auth.close()
        self.desk.close()

    # -- short ways ------------------------------------------------------------------------------------------

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result(60)

    def rows(self, table: str, **where: Any) -> list[Any]:
        with self.desk.reading() as connection:
            found = connection.execute(getattr(tables(), table).select()).all()
        return [row for row in found if all(getattr(row, k) == v for k, v in where.items())]

    def events(self, kind: str) -> list[Any]:
        return self.rows("events", kind=kind)

    def hire(self, handle: str, role: str = "annotator", gate: str = "open", *, ready: bool = True) -> Person:
        """An account; ``ready``: consent is given and the guideline read."""
        person: Person = self.do(
            people.add, handle=handle, name=handle.title(), role=role, actor="cli", gate=gate
        )
        if ready:
            self.do(people.consent_given, person, 1)
            self.do(people.guideline_ticked, person, 1)
        return self.now(person)

    def now(self, person: Person) -> Person:
        found = self.desk.read(lambda c: people.by_id(self.desk, c, person.id))
        assert found is not None
        return found

    def protocol(self, **more: Any) -> None:
        self.do(documents.set_protocol, documents.Protocol(**more), actor="cli")

    def sync(self, count: int, *, kinds: tuple[str, ...] = ("next", "missing"), recordings: int = 5) -> None:
        """Let there be items ``c000`` and so on, with two answers each."""
        self.pairs = [self._pair(n, kinds[n % len(kinds)], f"r{n % recordings}") for n in range(count)]
        self.do(sync_items, self.pairs, {}, actor="cli")

    @staticmethod
    def _pair(n: int, kind: str, recording: str) -> Question:
        example = Example(
            id=f"e{n}",
            clip_id=recording,
            recording_id=recording,
            activity_id="tea",
            activity_name="Tea",
            type=kind,
            end=10.0 + n,
            state="ongoing",
            noisy=False,
        )
        candidate = Candidate(
            id=f"c{n:03}",
            example_id=example.id,
            recording_id=recording,
            type=kind,
            question=f"What about number {n}?",
            answers=(Answer(f"Stir {n}."), Answer(f"Pour {n}.")),
            provenance=Provenance(generator="hand", version="1"),
        )
        return moment_question(candidate, example)

    def oracle(self, name: str, judged: str) -> None:
        """Let the oracle say ``"+ +-"`` of an item: the question, then the answers."""
        question, _, answers = judged.partition(" ")
        verdict = Verdict(
            candidate_id=name,
            annotator="oracle",
            annotator_kind="oracle",
            at="2026-01-01T00:00:00Z",
            question=AnswerVerdict(_SIGNS[question], 1.0, reason="asked in words of the graph"),
            answers=tuple(AnswerVerdict(_SIGNS[sign], 1.0, reason=f"because {sign}") for sign in answers),
        )
        self.desk.write(lambda c: append_verdicts(self.desk.database, c, [verdict])).result(60)

    def item(self, name: str) -> Any:
        return self.rows("items", candidate_id=name)[0]

    def open_work(self, person: Person, stage: str = "judge") -> list[Any]:
        mine = self.rows("assignments", person_id=person.id, stage=stage, state="open", live=True)
        return sorted(mine, key=lambda row: (row.queue_pos, row.id))

    def submit(self, pid: str, person: Person, judged: str = "+ +-", rev: int = 0) -> None:
        question, _, answers = judged.partition(" ")
        sheet = Sheet(question=_SIGNS[question], answers=tuple(_SIGNS[sign] for sign in answers))
        protocol = self.desk.read(documents.protocol)
        self.do(
            work.submit, pid, person, sheet=sheet, rev=rev, key=f"{pid}-{rev}", active_ms=9, protocol=protocol
        )

    # -- HTTP ------------------------------------------------------------------------------------------------

    def client(self, person: Person) -> TestClient:
        """A browser in which somebody is signed in."""
        if person.id not in self.clients:
            token = new_token()
            self.do(people.open_session, hash_token(token), person)
            client = TestClient(self.app, base_url=ORIGIN, follow_redirects=False)
            client.headers.update({"Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": ORIGIN})
            client.cookies.set(self.studio.auth.cookie, token)
            self.clients[person.id] = client
        return self.clients[person.id]

    def visit(self, path: str) -> Any:
        """Look at a page without being signed in."""
        with TestClient(self.app, base_url=ORIGIN, follow_redirects=False) as client:
            return client.get(path, headers={"Accept": "text/html"})

    def get(self, who: Person, path: str, /, **query: Any) -> Any:
        return self.client(who).get(path, params=query or None)

    def post(self, who: Person, path: str, /, **form: Any) -> Any:
        return self.client(who).post(path, data=form)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    found = Office(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="session")
def demo_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project without recordings; copied by whoever changes it."""
    from proctor.stages.studio_demo import make_demo

    @contextmanager
    def quiet(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
        yield lambda: None

    folder = tmp_path_factory.mktemp("demo")
    make_demo(folder, show=quiet)
    return folder


@pytest.fixture(scope="session")
def demo_bench(demo_workspace: Path) -> Path:
    """Its workspace; copied, never changed."""
    return demo_workspace / "bench"


@pytest.fixture(scope="session")
def words() -> Callable[[Any], str]:
    """What a page says, without its marks."""

    def strip(response: Any) -> str:
        body = re.sub(r"<(script|style).*?</\1>", " ", response.text, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())

    return strip


@pytest.fixture(scope="session")
def hidden() -> Callable[[Any, str], str]:
    """The value of the first input of a name on a page."""

    def find(response: Any, name: str) -> str:
        for tag in re.findall(r"<input[^>]*>", response.text):
            if f'name="{name}"' in tag:
                value = re.search(r'value="([^"]*)"', tag)
                return html.unescape(value.group(1)) if value else ""
        raise AssertionError(f"no input {name!r}")

    return find
