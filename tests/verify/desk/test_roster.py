"""Who has which items, on both databases: deals, people who come and go, items that came back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.verify.desk import people, roster
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.records import ConflictError, GoneError, Person
from proctor.verify.desk.roster import DealPlan
from proctor.verify.policy import Policy
from proctor.verify.repair import Repair
from proctor.verify.verdict import AnswerVerdict, Verdict

Pair = Callable[..., Any]
EVERYTHING = Policy(name="everything")


def _sync(bench: Any, a_pair: Pair, count: int, kinds: tuple[str, ...] = ("next", "missing")) -> None:
    bench.sync(
        *(
            a_pair(f"c{n:03}", "a", "b", kind=kinds[n % len(kinds)], recording=f"r{n % 5}", end=1000.0 - n)
            for n in range(count)
        )
    )


def _plan(bench: Any, persons: list[Person], policy: Policy = EVERYTHING, **more: Any) -> DealPlan:
    found: DealPlan = bench.see(roster.plan_deal, persons, policy, **more)
    return found


def _deal(bench: Any, persons: list[Person], policy: Policy = EVERYTHING, **more: Any) -> DealPlan:
    plan = _plan(bench, persons, policy, **more)
    bench.do(roster.apply_deal, plan, actor="cli")
    return plan


def _change(bench: Any, kind: Any, person: Person, others: list[Person]) -> Repair:
    found: Repair = bench.see(roster.plan_person_change, kind, person, others)
    return found


def _apply(bench: Any, repair: Repair) -> None:
    bench.do(roster.apply_person_change, repair, actor="boss", reason="why")


def _mine(bench: Any, person: Person, *states: str) -> list[Any]:
    rows = bench.rows("assignments", person_id=person.id, stage="judge", live=True)
    return sorted((r for r in rows if not states or r.state in states), key=lambda r: r.queue_pos)


def _invariants(bench: Any) -> None:
    """No two live seats of one item are of one person or one slot, and the chain of events holds."""
    groups: dict[int, list[Any]] = defaultdict(list)
    for row in bench.rows("assignments", stage="judge", live=True):
        groups[row.item_id].append(row)
    for rows in groups.values():
        assert len({r.person_id for r in rows}) == len({r.slot for r in rows}) == len(rows)
    assert bench.desk.read(check_chain)[1] is None


# -- dealing -----------------------------------------------------------------------------------------------------


def test_five_people_and_five_hundred_items_give_fifty_a_pair(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben", "cyd", "dev", "eva")
    _sync(bench, a_pair, 500)
    _deal(bench, crew)
    groups: dict[int, list[int]] = defaultdict(list)
    for row in bench.rows("assignments"):
        groups[row.item_id].append(row.person_id)
    pairs = Counter(tuple(sorted(group)) for group in groups.values())
    assert len(pairs) == 10
    assert set(pairs.values()) == {50}
    assert {row.wanted for row in bench.rows("items")} == {2}
    _invariants(bench)


def test_the_limit_takes_evenly_from_the_types_and_later_deals_go_on(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 30, kinds=("next", "next", "missing"))
    plan = _deal(bench, crew, limit=10)
    assert plan.skipped == 20
    assert Counter(plan.kinds.values()) == {"next": 5, "missing": 5}
    again = _deal(bench, crew)
    assert again.skipped == 0
    assert len(again.kinds) == 20
    assert sum(again.loads.values()) == 20  # what the first deal gave them
    assert all(row.state == "judging" for row in bench.rows("items"))
    _invariants(bench)


def test_a_limit_of_a_person_counts_earlier_deals(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 30)
    _deal(bench, crew, limit=12)
    _deal(bench, crew, most={crew[0].pid: 10})
    assert len(_mine(bench, crew[0])) == 10
    _sync(bench, a_pair, 40)
    with pytest.raises(UserError):
        _plan(bench, crew[:2], most={p.pid: 10 for p in crew})


def test_barred_recordings_hold_in_later_deals_and_changes(bench: Any, a_pair: Pair) -> None:
    ana, ben, cyd = crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 30)
    _deal(bench, crew, limit=10, barred=[(ana.pid, "r1")])
    later = _deal(bench, crew)  # said once
    assert later.barred == ((ana.pid, "r1"),)
    place = {row.id: row.cluster for row in bench.rows("items")}
    assert "r1" not in {place[row.item_id] for row in _mine(bench, ana)}
    repair = _change(bench, "leave", ben, crew)
    _apply(bench, repair)
    assert "r1" not in {place[row.item_id] for row in _mine(bench, ana)}
    stuck = {one.item for one in repair.stuck}
    assert stuck
    seats = Counter(seat.item for seat in bench.desk.read(roster.list_seats))
    assert {seats[name] for name in stuck} == {1}
    assert cyd.pid in repair.people
    _invariants(bench)


def test_the_queue_rises_inside_each_recording(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 40)
    _deal(bench, crew)
    where = {row.id: (row.cluster, row.place) for row in bench.rows("items")}
    for person in crew:
        ends: dict[str, list[float]] = defaultdict(list)
        for row in _mine(bench, person):
            ends[where[row.item_id][0]].append(where[row.item_id][1])
        assert all(times == sorted(times) for times in ends.values())


def test_plans_are_the_same_and_their_digests_tell_others_apart(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 20)
    plans = [
        _plan(bench, crew),
        _plan(bench, crew[:2]),
        _plan(bench, crew, limit=7),
        _plan(bench, crew, Policy(name="doubted")),
        _plan(bench, crew, barred=[(crew[0].pid, "r1")]),
        _plan(bench, crew, most={crew[0].pid: 99}),
    ]
    assert roster.deal_digest(plans[0]) == roster.deal_digest(_plan(bench, crew[::-1]))
    assert len({roster.deal_digest(plan) for plan in plans}) == len(plans)


def test_an_old_plan_is_refused_as_a_whole(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben")
    _sync(bench, a_pair, 10)
    old = _plan(bench, crew)
    _deal(bench, crew, limit=1)
    before = bench.rows("assignments")
    with pytest.raises(ConflictError, match="dealt or changed"):
        bench.do(roster.apply_deal, old, actor="cli")
    fresh = _plan(bench, crew)
    bench.do(people.leave, crew[0], actor="cli")
    with pytest.raises(ConflictError, match="has left"):
        bench.do(roster.apply_deal, fresh, actor="cli")
    assert bench.rows("assignments") == before


def test_what_machines_settle_reaches_nobody(bench: Any, a_pair: Pair) -> None:
    crew = bench.hire("ana", "ben")
    _sync(bench, a_pair, 10)
    sure = AnswerVerdict("right", 1.0)
    bench.append(
        [
            Verdict(
                candidate_id=f"c{n:03}",
                annotator="oracle",
                annotator_kind="oracle",
                at="2026-01-01T00:00:00Z",
                question=sure,
                answers=(sure, sure),
            )
            for n in range(6)
        ]
    )
    plan = _deal(bench, crew, Policy(name="doubted"))
    assert plan.to_machines == 6
    assert Counter(row.state for row in bench.rows("items")) == {"machine": 6, "judging": 4}
    body = msgspec.json.decode(bench.rows("events", kind="items.dealt")[0].body)
    assert (body["items"], body["to_machines"], body["digest"]) == (4, 6, roster.deal_digest(plan))


# -- people come and go ------------------------------------------------------------------------------------------


def test_leaving_moves_what_is_open_and_keeps_what_is_done(bench: Any, a_pair: Pair) -> None:
    ana, ben, cyd = crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 30)
    _deal(bench, crew)
    done = _mine(bench, ana)[:6]
    for row in done:
        bench.submit(row.pid, ana, "+ +-")
    repair = _change(bench, "leave", ana, crew)
    assert (len(repair.moves), repair.kept, repair.stuck) == (14, 6, ())
    _apply(bench, repair)
    assert {row.id for row in _mine(bench, ana)} == {row.id for row in done}
    assert len(_mine(bench, ben)) + len(_mine(bench, cyd)) == 54
    assert {v.annotator for v in bench.verdicts()} == {ana.pid}
    assert bench.see(people.by_id, ana.id).state == "left"
    _invariants(bench)


def test_a_plan_for_other_seats_is_refused(bench: Any, a_pair: Pair) -> None:
    ana, ben, _ = crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 12)
    _deal(bench, crew)
    repair = _change(bench, "leave", ana, crew)
    bench.submit(_mine(bench, ana)[0].pid, ana, "+ +-")
    assert roster.change_digest(_change(bench, "leave", ana, crew)) != roster.change_digest(repair)
    before = bench.rows("assignments")
    with pytest.raises(ConflictError):
        _apply(bench, repair)
    assert bench.rows("assignments") == before
    assert bench.see(people.by_id, ana.id).state == "active"
    bench.submit(_mine(bench, ben)[0].pid, ben, "+ +-")
    again = [roster.change_digest(_change(bench, "leave", ana, order)) for order in (crew, crew[::-1])]
    assert again[0] == again[1]


def test_who_joins_gets_nothing_that_somebody_has_begun(
    bench: Any, a_pair: Pair, a_sheet: Callable[..., Any]
) -> None:
    ana, ben = crew = bench.hire("ana", "ben")
    (dev,) = bench.hire("dev")
    _sync(bench, a_pair, 12)
    _deal(bench, crew)
    begun = {row.pid for row in _mine(bench, ana)[:8]}
    for pid in begun:
        bench.draft(pid, ana, a_sheet("+ +?"))
    back = _mine(bench, ben)[0].pid
    bench.submit(back, ben, "+ ++")
    bench.undo(back, ben)
    repair = _change(bench, "join", dev, crew)
    _apply(bench, repair)
    assert begun <= {row.pid for row in _mine(bench, ana)}
    assert back in {row.pid for row in _mine(bench, ben)}
    loads = bench.desk.read(roster.judge_loads)
    assert loads[dev.pid] in (7, 8)  # which of them depends on random ids
    assert loads[ana.pid] >= 8
    assert sum(loads.values()) == 24
    _invariants(bench)


def test_annulling_voids_every_revision_and_the_decisions_on_them(bench: Any, a_pair: Pair) -> None:
    ana, ben, cyd = crew = bench.hire("ana", "ben", "cyd")
    (edda,) = bench.hire("edda", role="adjudicator")
    bench.sync(a_pair("c000", "a", "b"))
    slots = dict(zip((ana.pid, ben.pid), bench.give("c000", ana, ben), strict=True))
    bench.submit(slots[ana.pid], ana, "+ +-")
    bench.submit(slots[ana.pid], ana, "+ ++", rev=1)
    bench.submit(slots[ben.pid], ben, "+ +-")
    case = bench.next(edda, "adjudicate")
    bench.decide(case, edda, {"b": "+"})
    assert bench.state("c000") == "settled"
    repair = _change(bench, "annul", ana, crew)
    assert repair.voided == 1
    _apply(bench, repair)
    assert {v.annotator for v in bench.verdicts()} == {ben.pid}
    assert bench.state("c000") == "judging"
    assert bench.final("c000") == []
    (fresh,) = _mine(bench, cyd)
    bench.submit(fresh.pid, cyd, "+ +-")  # nothing of the old decision stands in the way
    assert bench.state("c000") == "settled"
    assert [text for text, _, _ in bench.final("c000")] == ["a"]
    assert len(bench.rows("responses")) == 5
    assert {row.actor for row in bench.rows("voids")} == {"boss"}
    _invariants(bench)


def test_an_adjudicator_who_decided_an_item_does_not_get_its_place(bench: Any, a_pair: Pair) -> None:
    ana, ben, cyd = bench.hire("ana", "ben", "cyd")
    (edda,) = bench.hire("edda", role="adjudicator")
    bench.sync(a_pair("c000", "a"), a_pair("c001", "a"))
    pids = bench.give("c000", ana, ben)
    bench.give("c001", edda, cyd)
    for pid, person, judged in zip(pids, (ana, ben), ("+ +", "+ -"), strict=True):
        bench.submit(pid, person, judged)
    bench.decide(bench.next(edda, "adjudicate"), edda, {"a": "+"})
    repair = _change(bench, "annul", ana, [ben, cyd, edda])
    assert [(m.item, m.new) for m in repair.moves] == [("c000", cyd.pid)]


def test_who_left_is_annulled_and_who_is_unknown_is_not(bench: Any, a_pair: Pair) -> None:
    ana, _, _ = crew = bench.hire("ana", "ben", "cyd")
    _sync(bench, a_pair, 6)
    _deal(bench, crew)
    bench.submit(_mine(bench, ana)[0].pid, ana, "- ")
    bench.do(people.leave, ana, actor="cli")
    repair = _change(bench, "annul", ana, crew[1:])
    _apply(bench, repair)
    assert bench.verdicts() == []
    stranger = replace(_change(bench, "leave", crew[1], []), person="nobody")
    with pytest.raises(GoneError):
        _apply(bench, stranger)


def test_cases_that_somebody_had_open_go_back(bench: Any, a_pair: Pair) -> None:
    ana, ben = bench.hire("ana", "ben")
    edda, finn = bench.hire("edda", "finn", role="adjudicator")
    bench.sync(a_pair("c000", "a"))
    for pid, person, judged in zip(bench.give("c000", ana, ben), (ana, ben), ("+ +", "+ -"), strict=True):
        bench.submit(pid, person, judged)
    assert bench.next(edda, "adjudicate") is not None
    assert bench.next(finn, "adjudicate") is None
    _apply(bench, _change(bench, "leave", edda, [ana, ben]))
    assert bench.next(finn, "adjudicate") is not None


# -- what came back ----------------------------------------------------------------------------------------------


def test_a_place_that_nobody_could_take_is_filled_later(bench: Any, a_pair: Pair) -> None:
    ana, ben = crew = bench.hire("ana", "ben")
    _sync(bench, a_pair, 4)
    _deal(bench, crew)
    repair = _change(bench, "leave", ana, crew)
    assert len(repair.stuck) == 4
    assert all(reasons for reasons in (one.reasons for one in repair.stuck))
    _apply(bench, repair)
    for row in _mine(bench, ben, "open"):
        bench.submit(row.pid, ben, "+ +-")
    assert {row.state for row in bench.rows("items")} == {"returned"}
    item = bench.item("c000")
    with pytest.raises(ConflictError, match="nobody"):
        bench.do(roster.give_out_again, item.id, actor="boss")
    cyd, dev = bench.hire("cyd", "dev")
    bench.sync(*(bench.pairs.values()), a_pair("c900", "a", "b"))
    bench.give("c900", cyd, dev)  # now two more judge
    bench.do(roster.give_out_again, item.id, actor="boss")
    assert bench.state("c000") == "judging"
    (taken,) = [row for row in bench.rows("assignments", item_id=item.id, state="open") if row.live]
    assert taken.person_id in (cyd.id, dev.id)
    person = cyd if taken.person_id == cyd.id else dev
    bench.submit(taken.pid, person, "+ +-")
    assert bench.state("c000") == "settled"
    _invariants(bench)


def test_a_returned_item_goes_back_to_who_returned_it(bench: Any, a_pair: Pair) -> None:
    from proctor.verify.desk import work

    ana, ben = crew = bench.hire("ana", "ben")
    _sync(bench, a_pair, 2)
    _deal(bench, crew)
    row = _mine(bench, ana)[0]
    bench.do(work.cant_judge, row.pid, ana, reason="media")
    assert len(bench.rows("items", state="returned")) == 1
    joined = _change(bench, "join", bench.hire("cyd")[0], crew)
    assert row.item_id not in {
        i.id
        for i in bench.rows("items")
        for m in joined.moves
        if m.item == i.candidate_id and m.old == ana.pid
    }
    bench.do(roster.give_out_again, row.item_id, actor="boss")
    assert bench.rows("assignments", pid=row.pid)[0].state == "open"
    assert bench.rows("items", state="returned") == []
    with pytest.raises(ConflictError, match="Nobody has returned"):
        bench.do(roster.give_out_again, row.item_id, actor="boss")
    assert len(_mine(bench, ben)) == 2
