"""A whole studio on a copy of the sample project, visitors of every role, and its twin full of hostile texts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.studio import roundwork

from proctor.stages.studio import open_studio
from proctor.studio.app import build_app
from proctor.studio.auth import Auth, Limits, hash_token, new_token
from proctor.studio.context import Settings
from proctor.studio.passwords import Passwords
from proctor.verify.desk import documents, flow, people, roster, rounds, work
from proctor.verify.desk.browse import Narrow, page_items
from proctor.verify.desk.records import Person, Sheet
from proctor.verify.policy import Policy
from proctor.verify.schema import tables

ORIGIN = "http://127.0.0.1:8642"
PAGE = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
DATA = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
NOWHERE = "aaaaaaaaaaaaaaaa"
"""The pid of nothing: as long as a real one."""


class Visitor:
    """A browser with its own cookies, signed in or not."""

    def __init__(self, house: House, person: Person | None) -> None:
        self.house, self.person = house, person
        transport = httpx.ASGITransport(house.app, raise_app_exceptions=False, client=("127.0.0.1", 9))
        self.http = httpx.AsyncClient(transport=transport, base_url=ORIGIN)
        if person is not None:
            self.sign_in()

    def sign_in(self) -> None:
        assert self.person is not None
        token = new_token()
        self.house.do(people.open_session, hash_token(token), self.person)
        self.http.cookies.clear()
        self.http.cookies.set(self.house.studio.auth.cookie, token)

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        more.setdefault("headers", PAGE)
        more["headers"] = {
            "Accept-Encoding": "identity",
            **more["headers"],
        }  # answers are compared byte by byte
        return self.house.loop.run_until_complete(self.http.request(method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.send("GET", path, **more)

    def post(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        return self.send("POST", path, data=data or {}, **more)

    def draft(
        self, pid: str, sheet: Any, *, seq: int = 1, base: int = 0, client: str = "tab"
    ) -> httpx.Response:
        body = {"client_id": client, "seq": seq, "base": base, "sheet": sheet, "active_ms": 5}
        return self.send("PUT", f"/w/{pid}/draft", json=body, headers=DATA)

    def submit(self, pid: str, sheet: Any, *, rev: int = 0, key: str = "") -> httpx.Response:
        headers = {**DATA, "If-Match": f'"{rev}"', "Idempotency-Key": key or new_token()}
        body = {"sheet": sheet, "active_ms": 5, "client_id": "tab"}
        return self.send("POST", f"/w/{pid}/submit", json=body, headers=headers)


class House:
    """A studio whose limits of speed are out of the way."""

    def __init__(self, root: Path, *, project: str = "Sample", limits: Limits | None = None) -> None:
        self.root, self.stack = root, ExitStack()
        settings = Settings(project=project, origin=ORIGIN, folder=root / "studio")
        self.studio = self.stack.enter_context(open_studio(root, settings))
        self.desk = self.studio.desk
        self.studio.auth.close()
        cheap = Passwords(time_cost=1, memory_kib=64, lanes=1)
        self.studio.auth = Auth(self.desk, ORIGIN, passwords=cheap, limits=limits or Limits(1e6, 10**6, 5))
        self.stack.callback(self.studio.auth.close)
        self.app = build_app(self.studio)
        self.loop = asyncio.new_event_loop()
        self.visitors: list[Visitor] = []

    def close(self) -> None:
        for visitor in self.visitors:
            self.loop.run_until_complete(visitor.http.aclose())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        self.stack.close()

    def do(self, function: Any, *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    def person(self, handle: str) -> Person:
        found = self.desk.read(lambda c: people.by_handle(self.desk, c, handle))
        assert found is not None, handle
        return found

    def set_role(self, handle: str, role: str) -> None:
        """Give a role at once, whoever is left as owner."""
        t = tables().people
        change = t.update().where(t.c.handle == handle).values(role=role)
        self.desk.write(lambda c: c.execute(change)).result()

    def hire(self, handle: str, role: str = "annotator", name: str = "") -> Person:
        """Somebody new who has agreed and read everything."""
        added = self.do(people.add, handle=handle, name=name or handle, role=role, actor="cli", gate="open")
        for kind, note in (("consent", people.consent_given), ("guideline", people.guideline_ticked)):
            version = self.desk.read(lambda c, k=kind: documents.latest(c, k)).version
            self.do(note, added, version)
        return self.person(handle)

    def visitor(self, handle: str | None) -> Visitor:
        visitor = Visitor(self, self.person(handle) if handle else None)
        self.visitors.append(visitor)
        return visitor

    def work_of(self, handle: str, state: str = "open", stage: str = "judge", at: int = 0) -> str:
        a, person = tables().assignments, self.person(handle)
        query = a.select().where(
            a.c.person_id == person.id, a.c.state == state, a.c.stage == stage, a.c.live.is_(True)
        )
        return str(self.desk.read(lambda c: c.execute(query.order_by(a.c.id)).all())[at].pid)

    def next_for(self, handle: str, stage: Any = "judge") -> str | None:
        protocol = self.desk.read(documents.protocol)
        found: str | None = self.do(flow.next_work, self.person(handle), protocol, stage)
        return found

    def load(self, pid: str, handle: str) -> work.Work:
        return self.desk.read(lambda c: work.load_work(self.desk, c, pid, self.person(handle)))

    def say(self, pid: str, handle: str, sheet: Sheet, *, rev: int = 0) -> None:
        protocol = self.desk.read(documents.protocol)
        self.do(
            work.submit, pid, self.person(handle), sheet=sheet, rev=rev, key=new_token(), protocol=protocol
        )

    def task_of(self, handle: str, name: str) -> str:
        """An open task of somebody in a round; a batch is taken where there is none."""
        person = self.person(handle)
        round_ = self.desk.read(lambda c: next(r for r in rounds.list_rounds(c) if r.name == name))
        batch = self.do(rounds.open_batch, round_, person)
        return str(self.desk.read(lambda c: rounds.count_batch(c, batch)).following)

    def say_task(self, pid: str, handle: str, kind: str, note: str = "") -> None:
        sheet = msgspec.Raw(msgspec.json.encode(roundwork.sheet_of(kind, note)))
        self.do(work.submit, pid, self.person(handle), sheet=sheet, rev=0, key=new_token())

    def deal(self, handles: list[str], limit: int) -> None:
        chosen = [self.person(h) for h in handles]

        def job(c: Any) -> None:
            plan = roster.plan_deal(self.desk, c, chosen, Policy(name="everything"), limit=limit)
            roster.apply_deal(self.desk, c, plan, actor="cli")

        self.desk.write(job).result()

    def rows(self, *, without: tuple[str, ...] = ()) -> str:
        """A hash of every row of every table."""
        with self.desk.reading() as c:
            found = [c.execute(t.select()).all() for t in tables() if t.name not in without]
        return hashlib.sha256(repr(found).encode()).hexdigest()

    @contextmanager
    def unchanged(self, what: object = "") -> Iterator[None]:
        """Nobody commits anything in here, not even to write the same again (``PRAGMA data_version``)."""
        with closing(sqlite3.connect(self.root / "verification.sqlite")) as other:
            before = other.execute("PRAGMA data_version").fetchone()
            yield
            assert other.execute("PRAGMA data_version").fetchone() == before, f"{what} wrote something"

    def all_items(self) -> list[Any]:
        return self.desk.read(lambda c: page_items(c, Narrow(), (), limit=1_000))


@contextmanager
def _opening(folder: Path, demo_bench: Path) -> Iterator[Callable[..., House]]:
    houses: list[House] = []

    def make(root: Path | None = None, **more: Any) -> House:
        if root is None:
            root = folder / f"bench{len(houses)}"
            shutil.copytree(demo_bench, root)
        house = House(root, **more)
        houses.append(house)
        return house

    yield make
    for house in houses:
        house.close()


@pytest.fixture
def open_house(tmp_path: Path, demo_bench: Path) -> Iterator[Callable[..., House]]:
    """Opens studios on fresh copies of the sample."""
    with _opening(tmp_path, demo_bench) as make:
        yield make


@pytest.fixture(scope="module")
def open_lasting_house(
    tmp_path_factory: pytest.TempPathFactory, demo_bench: Path
) -> Iterator[Callable[..., House]]:
    """The same for what is made once for a module and then copied."""
    with _opening(tmp_path_factory.mktemp("houses"), demo_bench) as make:
        yield make


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, demo_bench: Path) -> Iterator[House]:
    """One studio for a module: the sample with a coordinator."""
    root = tmp_path_factory.mktemp("house") / "bench"
    shutil.copytree(demo_bench, root)
    made = House(root)
    made.hire("gita", "coordinator", "Gita Coordinator")
    made.hire("wanda", "worker")
    for kind in roundwork.KINDS:  # ana has tasks of all kinds, wanda of a study for people of a platform
        roundwork.begin(made.desk, kind, roundwork.make_tasks(kind, 6), wanted=3)
    study = roundwork.make_tasks("rate", 60, prefix="w")
    roundwork.begin(made.desk, "rate", study, name="study", wanted=1, batch=3, workers=True)
    for _ in range(3):  # a batch is done, and can be reviewed
        made.say_task(made.task_of("wanda", "study"), "wanda", "rate")
    yield made
    made.close()


@pytest.fixture(scope="module")
def crew(house: House) -> dict[str, Visitor]:
    """Somebody of every role, and nobody."""
    names = {"nobody": None, "annotator": "ana", "other": "ben", "adjudicator": "edda"}
    return {
        role: house.visitor(h)
        for role, h in {**names, "coordinator": "gita", "owner": "farid", "worker": "wanda"}.items()
    }


# -- texts ------------------------------------------------------------------------------------------------------

EVIL = (
    "<script>zqx()</script>",
    '"><img src=x onerror=zqx()>',
    "' onmouseover='zqx()' x='",
    "javascript:zqx()",
    "<svg onload=zqx()><a xlink:href=javascript:zqx()>zqx</a></svg>",
    "{{7*7}}{% for zqx in range(3) %}${7*7}",
    "\u202egnp.exe zqx\u202c",
    "</title></textarea></style><zqx-element zqx-attribute=1>",
    '"]; zqx [URL="javascript:zqx()"]; n1 [label="zqx',
    "&lt;img src=x onerror=zqx()&gt;",
    "<!--zqx--><![CDATA[zqx]]><base href=//zqx.example/>",
    "<iframe srcdoc='<script>parent.zqx()</script>'></iframe>",
    "<form action=//zqx.example/><button formaction=javascript:zqx()>zqx</button></form>",
    "zqx" + "w" * 10_000,
)
"""``zqx`` marks what must never become an element, an attribute or a script."""
PLAIN = "zqx plain words"


def spoil(rows: list[Any], texts: tuple[str, ...]) -> None:
    """Put a text at the end of every sentence of records of a workspace, in place."""
    number = 0

    def change(value: Any, key: str) -> Any:
        nonlocal number
        if isinstance(value, dict):
            return {k: change(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v, key) for v in value]
        if isinstance(value, str) and key in (
            "text",
            "question",
            "instruction",
            "activity_name",
            "name",
            "note",
        ):
            number += 1
            return f"{value} {texts[number % len(texts)]}"
        return value

    rows[:] = [change(row, "") for row in rows]


class Makes:
    """What a hostile project needs besides the class of the studio."""

    evil, plain, nowhere, page, data, origin = EVIL, PLAIN, NOWHERE, PAGE, DATA, ORIGIN


@pytest.fixture(scope="session")
def says() -> type[Makes]:
    """Constants: tests cannot import from here."""
    return Makes


@pytest.fixture(scope="module")
def make_project(
    tmp_path_factory: pytest.TempPathFactory, demo_bench: Path
) -> Iterator[Callable[..., House]]:
    """Builds a project in which every text that data or people can give ends in one of ``texts``."""
    houses: list[House] = []

    def make(texts: tuple[str, ...]) -> House:
        root = tmp_path_factory.mktemp("texts") / "bench"
        root.mkdir()
        for name in ("proctor.toml", "stages.json", "workspace.json", "recordings.jsonl"):
            shutil.copy(demo_bench / name, root / name)
        graphs = [json.loads((demo_bench / "graphs.json").read_text())]
        spoil(graphs, texts)
        (root / "graphs.json").write_text(json.dumps(graphs[0]))
        for name in ("examples.jsonl", "candidates.jsonl"):
            rows = [json.loads(line) for line in (demo_bench / name).read_text().splitlines()]
            spoil(rows, texts)
            names = {r: f"{r} {texts[1]}" for r in {row["recording_id"] for row in rows}}
            for row in rows:
                row["recording_id"] = names[row["recording_id"]]
                for mistake in row.get("mistakes", ()):
                    mistake["description"] = texts[0]
            (root / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        house = House(root, project=f"Project {texts[0]}")
        houses.append(house)
        _people_it(house, texts)
        return house

    yield make
    for house in houses:
        house.close()


def _people_it(house: House, texts: tuple[str, ...]) -> None:
    """Two judges who disagree, an adjudicator, an owner; their words are hostile, too."""
    short = [t[:70].replace("\u202e", "").replace("\u202c", "") for t in texts]
    for n, (handle, role) in enumerate(
        (("ana", "annotator"), ("ben", "annotator"), ("edda", "adjudicator"), ("farid", "owner"))
    ):
        house.hire(handle, role, f"{handle} {short[n % len(short)]}")
    for kind in ("guideline", "consent"):
        body = "# Title\n\n" + "\n\n".join(texts)
        house.desk.write(lambda c, k=kind, b=body: documents.add(house.desk, c, k, b, actor="cli")).result()
        note = people.consent_given if kind == "consent" else people.guideline_ticked
        for handle in ("ana", "ben", "edda", "farid"):
            house.do(
                note, house.person(handle), house.desk.read(lambda c, k=kind: documents.latest(c, k)).version
            )
    house.deal(["ana", "ben"], 24)
    for kind in roundwork.KINDS:
        tasks = [
            t
            for n, text in enumerate(texts)
            for t in roundwork.make_tasks(kind, 1, words=text, prefix=f"{n} {text[:60]}")
        ]
        told = {"instructions": "\n\n".join(texts), "consent": texts[0]}
        roundwork.begin(house.desk, kind, tasks, **told)
        for note in texts[:3]:
            house.say_task(house.task_of("ana", kind), "ana", kind, note[:900])
    a = tables().assignments
    mine: dict[str, dict[int, str]] = {}
    for handle in ("ana", "ben"):
        query = a.select().where(a.c.person_id == house.person(handle).id, a.c.state == "open")
        mine[handle] = {r.item_id: r.pid for r in house.desk.read(lambda c, q=query: c.execute(q).all())}
    for n, item in enumerate(sorted(set(mine["ana"]) & set(mine["ben"]))[:10]):
        for handle, value in (("ana", "right"), ("ben", "wrong" if n % 2 else "right")):
            pid = mine[handle][item]
            cards = house.load(pid, handle).cards
            own = tuple(t[:3_900] for t in texts) if n < 5 else ()
            if n == 9:
                house.do(work.cant_judge, pid, house.person(handle), reason="other", note=texts[1][:900])
                continue
            answers = (value,) * len(cards.texts)
            house.say(
                pid,
                handle,
                Sheet(
                    question="right",
                    answers=answers,
                    own_answers=own,
                    note=texts[n][:900] if n < len(texts) else "",
                ),
            )
    for number in range(3):
        pid = house.next_for("edda", "adjudicate") or ""
        cards = house.load(pid, "edda").cards
        if number < 2:
            sheet = Sheet(
                question="right" if cards.question_open else None,
                answers=("right",) * len(cards.texts),
                note=texts[2],
            )
            house.say(pid, "edda", sheet)
