"""What is shown of a plan, whether it is still the plan, and how readings are counted; on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from proctor.verify.desk import documents, people, roster, work
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import GoneError, Person
from proctor.verify.desk.roster import Outlook
from proctor.verify.policy import Policy

Pair = Callable[..., Any]


@pytest.fixture
def crew(bench: Any, a_pair: Pair) -> list[Person]:
    """Three people who have twelve items."""
    found: list[Person] = bench.hire("ana", "ben", "cyd")
    bench.sync(*(a_pair(f"c{n:03}", "a", "b") for n in range(12)))
    bench.do(roster.apply_deal, bench.see(roster.plan_deal, found, Policy(name="everything")), actor="cli")
    return found


def _look(bench: Any, kind: str, person: Person) -> Outlook:
    found: Outlook = bench.see(roster.look_ahead, kind, person.pid)
    return found


def _fresh(bench: Any, outlook: Outlook) -> str:
    return str(bench.desk.read(lambda c: roster.how_fresh(c, outlook)))


def _open(bench: Any, person: Person) -> list[Any]:
    rows = bench.rows("assignments", person_id=person.id, stage="judge", live=True, state="open")
    return sorted(rows, key=lambda row: row.queue_pos)


# -- what is shown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leave", "join", "annul"])
def test_the_outlook_tells_what_the_plan_would_do(bench: Any, crew: list[Person], kind: Any) -> None:
    ana, ben, cyd = crew
    for row in _open(bench, ana)[:3]:
        bench.submit(row.pid, ana, "+ +-")
    person = bench.hire("dev")[0] if kind == "join" else ana
    outlook, plan = _look(bench, kind, person), bench.see(roster.plan_for, kind, person.pid)
    assert outlook.digest == roster.change_digest(plan)
    assert (outlook.moved, outlook.kept, outlook.voided, outlook.stuck) == (
        len(plan.moves),
        plan.kept,
        plan.voided,
        len(plan.stuck),
    )
    assert outlook.moved > 0
    assert outlook.givers == len({move.old for move in plan.moves})
    assert {p: now for p, (now, _) in outlook.loads.items()} == plan.loads_before
    assert {p: then for p, (_, then) in outlook.loads.items()} == plan.loads_after
    assert {p: then for p, (_, then) in outlook.pairs.items()} == plan.pairs_after
    assert (outlook.load_spread, outlook.pair_spread) == (plan.load_spread, plan.pair_spread)
    assert outlook.event == max(row.id for row in bench.rows("events"))
    bench.do(roster.apply_person_change, plan, actor="boss")
    assert bench.desk.read(roster.judge_loads) == {p: then for p, (_, then) in outlook.loads.items() if then}
    assert (ben.state, cyd.state) == ("active", "active")


def test_what_nobody_can_take_is_shown_in_part(bench: Any, a_pair: Pair) -> None:
    ana, ben = bench.hire("ana", "ben")
    bench.sync(*(a_pair(f"c{n:03}", "a") for n in range(20)))
    for n in range(20):
        bench.give(f"c{n:03}", ana, ben)
    outlook = _look(bench, "leave", ana)
    assert (outlook.stuck, len(outlook.examples)) == (20, 12)
    assert all(one.reasons == ((ben.pid, "judges it already"),) for one in outlook.examples)
    assert (outlook.load_spread, outlook.pair_spread) == (None, None)


def test_of_nobody_there_is_no_plan(bench: Any, crew: list[Person]) -> None:
    with pytest.raises(GoneError):
        bench.see(roster.look_ahead, "leave", "nobody")


# -- whether it is still the plan --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leave", "annul"])
def test_a_plan_is_old_when_the_person_has_worked(bench: Any, crew: list[Person], kind: Any) -> None:
    ana, ben, _ = crew
    outlook = _look(bench, kind, ana)
    bench.submit(_open(bench, ben)[0].pid, ben, "+ +-")
    assert _fresh(bench, outlook) == "fresh"
    assert _look(bench, kind, ana).digest == outlook.digest  # others' work does not change it
    bench.submit(_open(bench, ana)[0].pid, ana, "+ +-")
    assert _fresh(bench, outlook) == "old"
    assert _look(bench, kind, ana).digest != outlook.digest


def test_a_joiners_plan_wears_when_others_work(bench: Any, crew: list[Person]) -> None:
    (dev,) = bench.hire("dev")
    outlook = _look(bench, "join", dev)
    assert _fresh(bench, outlook) == "fresh"
    bench.submit(_open(bench, crew[1])[0].pid, crew[1], "+ +-")
    assert _fresh(bench, outlook) == "worn"


def test_accounts_texts_and_training_leave_it_fresh(bench: Any, crew: list[Person]) -> None:
    ana, ben, _ = crew
    outlook = _look(bench, "leave", ana)
    bench.do(people.consent_given, ana, 1)
    bench.do(people.guideline_ticked, ana, 1)
    bench.do(people.end_all_sessions, ana, actor="boss")
    bench.do(people.set_gate, ben, "training", actor="boss")
    bench.do(documents.set_protocol, documents.Protocol(), actor="boss")
    bench.do(add_event, "export", "x", "boss")
    bench.do(add_event, "training.submitted", "x", ben.pid)
    kinds = {row.kind for row in bench.rows("events") if row.id > outlook.event}
    assert {"consent", "guideline-read", "gate", "document", "export"} <= kinds
    assert _fresh(bench, outlook) == "fresh"
    assert _look(bench, "leave", ana).digest == outlook.digest


@pytest.mark.parametrize("what", ["deal", "leave", "return", "role"])
def test_whatever_else_happens_makes_it_old(bench: Any, a_pair: Pair, crew: list[Person], what: str) -> None:
    ana, ben, cyd = crew
    outlook = _look(bench, "leave", ana)
    if what == "deal":
        bench.sync(*bench.pairs.values(), a_pair("c900", "a"))
        bench.do(roster.apply_deal, bench.see(roster.plan_deal, crew, Policy(name="everything")), actor="x")
    elif what == "leave":
        plan = bench.see(roster.plan_for, "leave", cyd.pid)
        bench.do(roster.apply_person_change, plan, actor="boss")
    elif what == "return":
        pid = _open(bench, ben)[0].pid
        bench.do(work.cant_judge, pid, ben, reason="media")
        bench.do(roster.give_out_again, bench.rows("assignments", pid=pid)[0].item_id, actor="boss")
    else:
        bench.do(people.set_role, ben, "adjudicator", actor="boss")
    assert _fresh(bench, outlook) == "old"


def test_after_very_many_events_it_is_old(
    bench: Any, crew: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "_MANY", 5)
    outlook = _look(bench, "leave", crew[0])
    for _ in range(5):
        bench.do(add_event, "export", "x", "boss")
    assert _fresh(bench, outlook) == "fresh"
    bench.do(add_event, "export", "x", "boss")
    assert _fresh(bench, outlook) == "old"


# -- counting ----------------------------------------------------------------------------------------------------


def test_readings_are_counted_by_person_and_state(bench: Any, crew: list[Person], a_pair: Pair) -> None:
    ana, ben, cyd = crew
    bench.hire("eva")
    bench.submit(_open(bench, ana)[0].pid, ana, "+ +-")
    bench.do(work.cant_judge, _open(bench, ben)[0].pid, ben, reason="media")
    plan = bench.see(roster.plan_for, "leave", cyd.pid)
    bench.do(roster.apply_person_change, plan, actor="boss")  # moved ones count no more
    live = bench.rows("assignments", stage="judge", live=True)
    wanted = Counter((row.person_id, row.state) for row in live)
    found = bench.desk.read(roster.count_readings)
    assert {(p, s): n for p, states in found.items() for s, n in states.items() if n} == wanted
    assert {states["returned"] for states in found.values()} == {0, 1}
    loads = bench.desk.read(roster.judge_loads)
    assert loads == dict(Counter({ana.id: ana.pid, ben.id: ben.pid}[row.person_id] for row in live))


def test_what_is_not_dealt_is_counted(bench: Any, a_pair: Pair, crew: list[Person]) -> None:
    assert bench.desk.read(roster.count_undealt) == 0
    bench.sync(*bench.pairs.values(), a_pair("c900", "a"), a_pair("c901", "a"))
    assert bench.desk.read(roster.count_undealt) == 2


def test_small_is_told_by_the_seats(bench: Any, crew: list[Person], monkeypatch: pytest.MonkeyPatch) -> None:
    for most, small in ((24, True), (23, False)):
        monkeypatch.setattr(roster, "SMALL", most)
        assert bench.desk.read(roster.is_small) is small


def test_the_counts_come_from_an_index_alone(bench: Any, crew: list[Person]) -> None:
    """A page with 100,000 items asks for them: reading rows would take a tenth of a second."""
    if not bench.desk.database.is_sqlite:
        pytest.skip("the plan of PostgreSQL depends on its statistics")
    with bench.desk.reading() as connection:
        for counted in (roster.count_readings, roster.count_undealt, roster.is_small):
            seen: list[str] = []

            class Spy:
                def __init__(self, seen: list[str]) -> None:
                    self.seen = seen

                def execute(self, query: Any) -> Any:
                    text = str(query.compile(connection.engine, compile_kwargs={"literal_binds": True}))
                    rows = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + text).all()
                    self.seen += [str(row[-1]) for row in rows]
                    return connection.execute(query)

            counted(Spy(seen))  # type: ignore[arg-type]
            big = [line for line in seen if "proctor_assignments" in line or "proctor_items" in line]
            assert big
            assert all("COVERING INDEX" in line for line in big), big
