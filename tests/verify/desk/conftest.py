"""A desk on both databases with a clock, people and small items, for the tests of its modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.stores import copy_database, copy_store

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example
from proctor.exam.question import Question
from proctor.verify.desk import flow, people, work
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.items import get_item, sync_items
from proctor.verify.desk.records import Item, Person, Saved, Sheet, Submitted
from proctor.verify.schema import tables
from proctor.verify.store import append_verdicts, latest_verdicts
from proctor.verify.verdict import Verdict

SIGNS: dict[str, Any] = {"+": "right", "-": "wrong", "?": None}


def a_sheet(judged: str, *own: str, note: str = "", reasons: tuple[str, ...] = ()) -> Sheet:
    """``"+ +-?"``: the question, then the answers; ``"_ +-"`` where the question is settled."""
    question, _, answers = judged.partition(" ")
    return Sheet(
        question=SIGNS.get(question),
        answers=tuple(SIGNS[sign] for sign in answers),
        own_answers=own,
        note=note,
        reasons=reasons,
    )


def a_pair(
    name: str, *answers: str, kind: str = "next", recording: str = "", end: float = 10.0, question: str = ""
) -> Question:
    """A question about a moment."""
    example = Example(
        id=f"example-{name}",
        clip_id=f"clip-{name}",
        recording_id=recording or f"r-{name}",
        activity_id="tea",
        activity_name="Tea",
        type=kind,  # type: ignore[arg-type]
        end=end,
        state="ongoing",
        noisy=False,
    )
    candidate = Candidate(
        id=name,
        example_id=example.id,
        recording_id=example.recording_id,
        type=kind,  # type: ignore[arg-type]
        question=question or f"What now, {name}?",
        answers=tuple(Answer(text) for text in answers),
        provenance=Provenance(generator="hand", version="1"),
    )
    return moment_question(candidate, example)


class Bench:
    """A desk, its clock, and short ways to do things."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.time = 1_700_000_000.0
        self.protocol = Protocol(repeat_share=0.0)
        self.keys = 0
        self.desk = self.open()
        self.pairs: dict[str, Question] = {}

    def open(self) -> Desk:
        return Desk.open(self.target, secret=b"k" * 32, clock=lambda: self.time)

    # -- short ways ------------------------------------------------------------------------------------------

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result(60)

    def see(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.read(lambda c: function(self.desk, c, *args, **more))

    def rows(self, table: str, **where: Any) -> list[Any]:
        with self.desk.reading() as connection:
            found = connection.execute(getattr(tables(), table).select()).all()
        return [row for row in found if all(getattr(row, k) == v for k, v in where.items())]

    def verdicts(self, name: str | None = None) -> list[Verdict]:
        return self.desk.read(lambda c: latest_verdicts(c, name))

    def counts(self) -> dict[str, int]:
        """Rows of what a submit writes."""
        names = ("responses", "question_judgements", "answer_judgements", "own_answers", "verdicts", "events")
        return {name: len(self.rows(name)) for name in names}

    # -- people and items --------------------------------------------------------------------------------------

    def hire(self, *handles: str, role: str = "annotator", gate: str = "open") -> list[Person]:
        return [
            self.do(people.add, handle=h, name=h.title(), role=role, actor="cli", gate=gate) for h in handles
        ]

    def sync(self, *pairs: Question) -> Any:
        """Let these be the candidates."""
        self.pairs = {question.id: question for question in pairs}
        return self.do(sync_items, pairs, {}, actor="cli")

    def item(self, name: str) -> Item:
        row = self.rows("items", candidate_id=name)[0]
        return self.desk.read(lambda c: get_item(c, row.id))

    def give(self, name: str, *persons: Person, stage: str = "judge", at: int = 0) -> list[str]:
        """Let these people judge an item; returns the pids of their assignments."""
        item, pids = self.item(name), [new_pid() for _ in persons]
        values = [
            {
                "pid": pid,
                "item_id": item.id,
                "person_id": person.id,
                "stage": stage,
                "slot": slot,
                "state": "open",
                "live": True,
                "queue_pos": at,
                "created_at": self.time,
            }
            for slot, (pid, person) in enumerate(zip(pids, persons, strict=True))
        ]

        def job(_desk: Desk, c: Any) -> None:
            c.execute(tables().assignments.insert(), values)
            i = tables().items
            c.execute(i.update().where(i.c.id == item.id).values(state="judging", wanted=len(persons)))

        self.do(job)
        return pids

    def append(self, verdicts: Sequence[Verdict]) -> None:
        self.do(lambda desk, c: append_verdicts(desk.database, c, verdicts))

    # -- work ------------------------------------------------------------------------------------------------

    def submit(
        self,
        pid: str,
        person: Person,
        judged: str | Sheet,
        *own: str,
        rev: int = 0,
        key: str = "",
        **more: Any,
    ) -> Submitted:
        self.keys += 1
        self.time += 1.0
        sheet = judged if isinstance(judged, Sheet) else a_sheet(judged, *own, **more)
        done: Submitted = self.do(
            work.submit,
            pid,
            person,
            sheet=sheet,
            rev=rev,
            key=key or f"key-{self.keys}",
            active_ms=1_500,
            protocol=self.protocol,
        )
        return done

    def undo(self, pid: str, person: Person, rev: int = 1) -> Submitted:
        done: Submitted = self.do(work.undo, pid, person, rev=rev, protocol=self.protocol)
        return done

    def draft(
        self, pid: str, person: Person, sheet: Sheet, *, client: str = "tab-1", seq: int = 1, base: int = 0
    ) -> Saved:
        saved: Saved = self.do(
            work.save_draft, pid, person, sheet=sheet, client_id=client, seq=seq, base=base, active_ms=7
        )
        return saved

    def look(self, pid: str, person: Person) -> work.Work:
        found: work.Work = self.see(work.load_work, pid, person)
        return found

    def next(self, person: Person, stage: Any = None) -> str | None:
        found: str | None = self.do(flow.next_work, person, self.protocol, stage)
        return found

    def decide(
        self, pid: str, person: Person, said: dict[str, str], *own: str, question: str = "+"
    ) -> Submitted:
        """Submit an adjudication by the texts of the cards."""
        cards = self.look(pid, person).cards
        answers = "".join(said[text] for text in cards.texts) if question == "+" else ""
        return self.submit(pid, person, f"{question if cards.question_open else '_'} {answers}", *own)

    def state(self, name: str) -> str:
        return str(self.item(name).state)

    def final(self, name: str) -> list[tuple[str, str, str]]:
        rows = sorted(self.rows("final_answers", item_id=self.item(name).id), key=lambda row: row.position)
        return [(row.text, row.source, row.approved_by) for row in rows]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store with nothing in it: an SQLite file, then a PostgreSQL database."""
    if request.param == "sqlite":
        yield str(copy_store(tmp_path / "store.sqlite"))
    else:
        with copy_database(request.getfixturevalue("postgres_server")) as url:
            yield url


@pytest.fixture
def bench(target: str) -> Iterator[Bench]:
    found = Bench(target)
    yield found
    found.desk.close()


@pytest.fixture(name="a_sheet", scope="session")
def sheet_fixture() -> Callable[..., Sheet]:
    """The function ``a_sheet``: tests cannot import from here."""
    return a_sheet


@pytest.fixture(name="a_pair", scope="session")
def pair_fixture() -> Callable[..., Question]:
    """The function ``a_pair``."""
    return a_pair


@pytest.fixture(name="open_bench", scope="session")
def open_bench() -> Callable[[str], Bench]:
    """The class ``Bench``."""
    return Bench
