"""The coordinator's numbers: equal to the pure functions', told again when something was said, never waited for for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.patience import LOW_PRIORITY_PATIENCE, PATIENCE, first_process_is_killed

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.question import Question, version_of
from proctor.verify.agreement import agreement_report
from proctor.verify.desk import documents, items, people, snapshot
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import Person
from proctor.verify.desk.snapshot import Key, Snapshot, Snapshots, compute_snapshot, current_key
from proctor.verify.policy import POLICIES, compare_policies, median_minutes
from proctor.verify.schema import tables
from proctor.verify.store import append_verdicts, latest_verdicts
from proctor.verify.verdict import AnswerVerdict, Verdict

SIGNS: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}


def a_pair(n: int) -> Question:
    example = Example(
        id=f"e{n}",
        clip_id=f"clip{n}",
        recording_id=f"r{n % 4}",
        activity_id="tea",
        activity_name="Tea",
        type="next" if n % 2 else "missing",
        end=5.0 + n,
        state="ongoing",
        noisy=False,
    )
    return moment_question(Candidate(
        id=f"c{n}",
        example_id=example.id,
        recording_id=example.recording_id,
        type=example.type,
        question=f"What now, {n}?",
        answers=(Answer("Stir."), Answer("Pour.")),
        provenance=Provenance(generator="hand", version="1"),
    ), example)  # fmt: skip


class Room:
    """A desk with items that two people judged, written directly."""

    def __init__(self, target: str) -> None:
        self.desk = Desk.open(target, secret=b"k" * 32, clock=lambda: 1_700_000_000.0)
        self.do(documents.ensure_defaults)
        self.pairs = [a_pair(n) for n in range(12)]
        self.do(items.sync_items, self.pairs, {}, actor="cli")
        self.ana, self.ben = (self.hire(name) for name in ("ana", "ben"))

    def do(self, function: Any, *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result(60)

    def hire(self, name: str) -> Person:
        found: Person = self.do(people.add, handle=name, name=name.title(), role="annotator", actor="cli")
        return found

    def say(self, n: int, who: str, judged: str, *, kind: Any = "human", stale: bool = False) -> str:
        question, _, answers = judged.partition(" ")
        verdict = Verdict(
            candidate_id=f"c{n}",
            annotator=who,
            annotator_kind=kind,
            at=f"2026-01-{1 + n:02}T10:00:00+00:00",
            question=AnswerVerdict(SIGNS[question]),
            answers=tuple(AnswerVerdict(SIGNS[a]) for a in answers),
            candidate_hash="f" * 16 if stale else version_of(self.pairs[n]),
        )
        return self.desk.write(lambda c: append_verdicts(self.desk.database, c, [verdict])).result(60)[0]

    def state(self, n: int, state: str, agreement: str = "same") -> None:
        t = tables().items
        self.desk.write(
            lambda c: c.execute(
                t.update().where(t.c.candidate_id == f"c{n}").values(state=state, agreement=agreement)
            )
        ).result(30)

    def spend(self, n: int, person: Person, stage: str, milliseconds: int) -> None:
        a, t = tables().assignments, tables().items

        def job(c: Any) -> None:
            item = c.execute(t.select().where(t.c.candidate_id == f"c{n}")).one()
            row = {
                "pid": new_pid(),
                "item_id": item.id,
                "person_id": person.id,
                "stage": stage,
                "slot": person.id,
            }
            c.execute(
                a.insert(),
                row
                | {
                    "state": "submitted",
                    "live": True,
                    "queue_pos": 1,
                    "active_ms": milliseconds,
                    "created_at": 1.0,
                },
            )

        self.desk.write(job).result(60)

    def judge_all(self) -> None:
        said = ("+ ++", "+ +-", "-", "+ --", "+ ++", "+ -+", "+ ++", "-", "+ +-", "+ ++", "+ ++", "+ ++")
        for n in range(10):
            self.say(n, self.ana.pid, said[n])
            self.say(n, self.ben.pid, said[n] if n % 3 else said[(n + 2) % 10])
            self.say(n, "oracle", "+ ++", kind="oracle")
            self.state(n, "settled")
            self.spend(n, self.ana, "judge", 60_000 + n)

    def look(self) -> Snapshot:
        return self.desk.read(lambda c: compute_snapshot(c, at=7.0, resamples=50))


@pytest.fixture
def room(target: str) -> Iterator[Room]:
    found = Room(target)
    yield found
    found.desk.close()


@pytest.fixture
def small_room(tmp_path: Path) -> Iterator[Room]:
    found = Room(str(tmp_path / "store.sqlite"))
    found.judge_all()
    yield found
    found.desk.close()


# -- the numbers -----------------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_pure_functions(room: Room) -> None:
    room.judge_all()
    made = room.look()
    candidates = room.pairs[:10]
    verdicts = room.desk.read(latest_verdicts)
    assert made.report == agreement_report(candidates, verdicts, resamples=50)
    expected = compare_policies(
        candidates, verdicts, median_minutes([60_000 + n for n in range(10)], []), POLICIES
    )
    assert made.policies is not None
    assert [msgspec.structs.replace(o, changes=()) for o in expected.outcomes] == list(made.policies.outcomes)
    assert made.report.double_judged == 10
    assert made.report.questions.overall.raw.value not in (None, 1.0)
    assert made.policies.minutes.judgement == pytest.approx(60_004.5 / 60_000)
    assert made.at == 7.0


def test_what_was_not_shown_as_work_is_no_part(room: Room) -> None:
    room.judge_all()
    for n, state in ((0, "training"), (1, "undealt"), (2, "machine"), (3, "gone")):
        room.state(n, state)
    room.say(10, room.ana.pid, "+ ++", stale=True)
    room.say(10, room.ben.pid, "+ ++")
    room.state(10, "judging", "")
    made = room.look()
    assert made.report.items == 7  # c4 to c10
    assert made.report.double_judged == 6
    assert made.report.single_judged == 1  # the verdict on an older text does not count
    assert not made.report.left_out


def test_a_verdict_that_does_not_fit_costs_the_comparison_only(room: Room) -> None:
    room.judge_all()
    room.say(4, room.ana.pid, "+ +")
    made = room.look()
    assert made.policies is None
    assert "judges 1 answers" in made.problem
    assert made.report.double_judged == 9
    assert made.report.left_out == {"answers-do-not-fit": 1}


def test_adjudications_are_timed_apart_and_blind_repeats_not_at_all(room: Room) -> None:
    room.judge_all()
    room.spend(3, room.ben, "adjudicate", 30_000)
    room.spend(4, room.ben, "training", 1)
    made = room.look()
    assert made.policies is not None
    assert (made.policies.minutes.adjudication, made.policies.minutes.adjudications) == (0.5, 1)
    assert made.policies.minutes.judgements == 10


def test_a_snapshot_survives_being_written_down(room: Room) -> None:
    room.judge_all()
    made = room.look()
    assert msgspec.json.decode(msgspec.json.encode(made), type=Snapshot) == made


# -- what they depend on ---------------------------------------------------------------------------------------


def test_the_key_changes_with_whatever_changes_the_numbers(room: Room) -> None:
    seen = [room.desk.read(current_key)]

    def changed() -> bool:
        seen.append(room.desk.read(current_key))
        return seen[-1] != seen[-2]

    assert not changed()
    digest = room.say(0, room.ana.pid, "+ ++")
    assert changed()
    void = {"digest": digest, "at": 1.0, "actor": "cli", "reason": "test"}
    room.desk.write(lambda c: c.execute(tables().voids.insert(), void)).result(60)
    assert changed()
    room.do(add_event, "items.dealt", "items", "cli", policy="everything")
    assert changed()
    room.do(add_event, "name", "somebody", "cli")
    assert not changed()


# -- when ------------------------------------------------------------------------------------------------------


def test_small_numbers_are_there_at_once_and_again_when_something_is_said(small_room: Room) -> None:
    kept = Snapshots(small_room.desk)
    first = kept.look(wait=LOW_PRIORITY_PATIENCE)
    assert first.fresh
    assert first.snapshot is not None
    assert not first.computing
    assert kept.pid is None
    assert kept.look(wait=LOW_PRIORITY_PATIENCE).snapshot is first.snapshot
    small_room.say(5, small_room.ben.pid, "-")
    second = kept.look(wait=LOW_PRIORITY_PATIENCE)
    assert second.fresh
    assert second.snapshot is not None
    assert second.snapshot.report != first.snapshot.report


def test_nobody_waits_while_a_small_one_is_slow(small_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, honest, began = threading.Event(), compute_snapshot, []

    def slow(connection: Any, **more: Any) -> Snapshot:
        began.append(1)
        assert may_end.wait(PATIENCE)
        return honest(connection, **more)

    monkeypatch.setattr(snapshot, "compute_snapshot", slow)
    kept = Snapshots(small_room.desk)
    # One that waited for its end would find it over: it ends below, or fails for want of patience.
    looks = [kept.look(), kept.look(wait=0.05), kept.look(now=True)]
    assert [(one.snapshot, one.computing) for one in looks] == [(None, True)] * 3
    may_end.set()
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    assert len(began) == 1
    assert kept.look().snapshot is not None


def test_large_ones_are_computed_in_a_process_and_kept_across_restarts(room: Room) -> None:
    room.judge_all()
    kept = Snapshots(room.desk, small=3)
    look = kept.look(wait=LOW_PRIORITY_PATIENCE)
    assert look.computing
    assert look.snapshot is None
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    made = kept.look().snapshot
    assert made is not None
    assert not kept.look().problem
    here = room.desk.read(lambda c: compute_snapshot(c, at=made.at))
    assert msgspec.structs.replace(made, seconds=0.0) == msgspec.structs.replace(here, seconds=0.0)
    later = Snapshots(room.desk, small=3).look()
    assert later.snapshot == made
    assert later.fresh
    assert not later.computing


def test_large_ones_are_not_computed_all_the_time_but_when_asked_for(
    small_room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Snapshots(small_room.desk, small=3)
    calls: list[int] = []

    def instead(self: Snapshots) -> Snapshot:
        calls.append(1)
        return self._here()

    monkeypatch.setattr(Snapshots, "_apart", instead)
    assert kept.look().computing
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    small_room.say(5, small_room.ben.pid, "-")
    stale = kept.look()
    assert (stale.fresh, stale.computing, len(calls)) == (False, False, 1)
    assert kept.look(now=True).computing
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    assert kept.look().fresh
    assert len(calls) == 2


def test_a_killed_process_is_told_about_and_tried_again(small_room: Room) -> None:
    kept = Snapshots(small_room.desk, small=3, again_seconds=0.0)
    with first_process_is_killed() as killed:
        kept.look()
        assert kept.wait(LOW_PRIORITY_PATIENCE)
    assert len(killed) == 1
    again = kept.look()
    assert "ended unexpectedly" in again.problem
    assert again.computing
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    assert kept.look().problem == ""
    assert kept.look().fresh


def test_a_process_that_hangs_is_stopped(small_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Snapshots(small_room.desk, small=3, longest_seconds=0.01)
    kept.look()
    assert kept.wait(LOW_PRIORITY_PATIENCE)
    assert "so it was stopped" in kept.look().problem
    assert kept.pid is None


def test_what_goes_wrong_inside_is_told(small_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: Any, **more: Any) -> Snapshot:
        raise UserError("nothing works.")

    monkeypatch.setattr(snapshot, "compute_snapshot", broken)
    kept = Snapshots(small_room.desk)
    look = kept.look(wait=LOW_PRIORITY_PATIENCE)
    assert look.problem == "nothing works."
    assert not kept.look(wait=LOW_PRIORITY_PATIENCE).computing  # not at every view


def test_what_was_kept_by_another_version_is_computed_anew(small_room: Room) -> None:
    row = {"key": "dashboard_snapshot", "value": '{"key": 3}'}
    small_room.desk.write(lambda c: c.execute(tables().meta.insert(), row)).result(60)
    look = Snapshots(small_room.desk).look(wait=LOW_PRIORITY_PATIENCE)
    assert look.fresh


def test_a_closed_one_begins_nothing(small_room: Room) -> None:
    kept = Snapshots(small_room.desk, small=3)
    kept.close()
    assert kept.look(now=True).computing is False
    assert isinstance(small_room.desk.read(current_key), Key)
