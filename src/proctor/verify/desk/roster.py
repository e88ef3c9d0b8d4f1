"""Who has which items: dealing, leaving, joining, annulling, and giving returned items out again.

The plans are made by the pure rules (``verify.assignment``, ``verify.repair``); here they are read from the rows and
written to them, each in one transaction with its event. A plan that no longer fits is refused as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, func, select

from proctor.errors import UserError
from proctor.exam.question import Question, type_of
from proctor.records import canonical_json
from proctor.said import say
from proctor.verify.assignment import Constraints, Deal, deal_pairs
from proctor.verify.desk import people
from proctor.verify.desk.cases import refresh_item
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event, newest_event
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import ConflictError, GoneError, Person
from proctor.verify.desk.work import to_assignment, void_response
from proctor.verify.policy import Planned, Policy, plan
from proctor.verify.queue import Clip, requeue
from proctor.verify.repair import Repair, Seat, Stuck, annul, apply_repair, join, leave
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts

__all__ = [
    "Barred",
    "Change",
    "DealPlan",
    "Freshness",
    "Outlook",
    "Over",
    "apply_deal",
    "apply_person_change",
    "barred_pairs",
    "change_digest",
    "count_readings",
    "count_undealt",
    "deal_digest",
    "dispute_resolved",
    "give_out_again",
    "how_fresh",
    "is_deal_fresh",
    "is_small",
    "judge_loads",
    "list_seats",
    "look_ahead",
    "outlook_of",
    "plan_deal",
    "plan_for",
    "plan_person_change",
    "release_case",
]


Change = Literal["leave", "join", "annul"]
Over = Literal["type", "activity"]
Barred = tuple[str, str]
"""A person (pid) and a recording whose items they must not judge, because they performed it, say."""
_BY_TYPE: Final[tuple[Over, ...]] = ("type",)
_PLANS: Final = {"leave": leave, "join": join, "annul": annul}
_LIVE_STATES: Final = ("open", "submitted", "returned")
"""States of the assignments that somebody has."""
SMALL: Final = 1_500
"""Seats up to which a page plans a change while somebody waits: some 30 ms."""
_SHOWN: Final = 12
"""Seats that nobody can take, told one by one."""
_MANY: Final = 2_000
"""Events after which a plan is looked at no more, but made anew."""


class DealPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A deal as a coordinator looks at it before it is applied.

    Attributes:
        policy: what reaches people.
        deal: who gets what; None when no item needs anybody.
        planned: how many people each item of the plan needs, and why.
        skipped: undealt items that the limit leaves for later.
        kinds: question type of each item that people get.
        loads: items that each of the people has already.
        barred: who must not judge which recordings; kept for later changes.
        most: items that a person may have in all; None for no limit.
    """

    policy: Policy
    deal: Deal | None
    planned: Mapping[str, Planned]
    skipped: int
    kinds: Mapping[str, str] = {}
    loads: Mapping[str, int] = {}
    barred: tuple[Barred, ...] = ()
    most: Mapping[str, int] = {}

    @property
    def to_machines(self) -> int:
        """Items that no person will see."""
        return sum(p.people == 0 for p in self.planned.values())


# -- dealing ---------------------------------------------------------------------------------------------------


def plan_deal(
    desk: Desk,
    connection: Connection,
    annotators: Sequence[Person],
    policy: Policy,
    *,
    barred: Collection[Barred] = (),
    most: Mapping[str, int] | None = None,
    over: Collection[Over] = _BY_TYPE,
    limit: int | None = None,
) -> DealPlan:
    """Plan who judges the items that nobody was asked about yet; the same question gives the same plan.

    Args:
        desk: the desk.
        connection: in a transaction.
        annotators: who takes part.
        policy: what reaches people.
        barred: who must not judge which recordings, beside what earlier deals said.
        most: items that a person may have in all, those of earlier deals included, by pid.
        over: what the deal is even inside of: question types, activities, or both together.
        limit: deal at most so many items, drawn evenly from the question types.

    Raises:
        UserError: if there are too few annotators, or items remain that nobody can take.
    """
    rows = _undealt_rows(connection)
    questions = [msgspec.json.decode(row.body, type=Question) for row in rows]
    names = {q.id for q in questions}
    machine = (
        []
        if policy.name == "everything"
        else [
            v for v in latest_verdicts(connection) if v.candidate_id in names and v.annotator_kind != "human"
        ]
    )
    planned = plan(policy, questions, machine, seed=desk.seed)
    kinds = {q.id: type_of(q) for q in questions if planned[q.id].people}
    skipped = 0
    if limit is not None:
        kept = set(_evenly(list(kinds), kinds, limit))
        skipped = len(kinds) - len(kept)
        kinds = {name: kind for name, kind in kinds.items() if name in kept}
        planned = {name: p for name, p in planned.items() if name in kept or not p.people}
    every = sorted({*barred, *barred_pairs(connection)})
    loads = judge_loads(connection)
    deal = None
    if kinds:
        clusters = {q.id: q.cluster for q in questions if q.id in kinds}
        strata = {
            row.candidate_id: "\x1f".join(
                part for key, part in (("type", row.stratum), ("activity", row.topic)) if key in over
            )
            for row in rows
            if row.candidate_id in kinds
        }
        deal = deal_pairs(
            list(kinds),
            [p.pid for p in annotators],
            seed=desk.seed,
            strata=strata,
            per_item=policy.people,
            constraints=_constraints(
                annotators, clusters, every, most or {}, loads, _written_pairs(connection)
            ),
        )
    return DealPlan(
        policy=policy,
        deal=deal,
        planned=planned,
        skipped=skipped,
        kinds=kinds,
        loads={p.pid: loads.get(p.pid, 0) for p in annotators},
        barred=tuple(every),
        most=dict(most or {}),
    )


def deal_digest(dealt: DealPlan) -> str:
    """Return a digest of a plan: who gets what, and what goes to machines; equal plans have equal ones."""
    deal = dealt.deal.assignment if dealt.deal is not None else {}
    machine = sorted(name for name, p in dealt.planned.items() if not p.people)
    parts = [msgspec.to_builtins(dealt.policy), sorted(deal.items()), machine, sorted(dealt.most.items())]
    return hashlib.sha256(canonical_json([*parts, dealt.barred])).hexdigest()


def barred_pairs(connection: Connection) -> set[Barred]:
    """Return who must not judge which recordings, by what was said in any deal so far."""
    e = tables().events
    query = e.select().with_only_columns(e.c.body).where(e.c.subject == "items", e.c.kind == "items.dealt")
    bodies = [msgspec.json.decode(row.body) for row in connection.execute(query)]
    return {(who, recording) for body in bodies for who, recording in body.get("barred", ())}


def _written_pairs(connection: Connection) -> set[tuple[str, str]]:
    """Return who wrote which items in a round: nobody judges their own."""
    from proctor.verify.rounds.answer import written_id

    a, p, t, r = (getattr(tables(), name) for name in ("assignments", "people", "tasks", "rounds"))
    rounds = a.join(p, p.c.id == a.c.person_id).join(t, t.c.id == a.c.task_id).join(r, r.c.id == t.c.round_id)
    query = select(p.c.pid, a.c.pid).select_from(rounds).where(r.c.kind == "write", a.c.state == "submitted")
    return {(row[0], written_id(row[1])) for row in connection.execute(query)}


def judge_loads(connection: Connection) -> dict[str, int]:
    """Return how many items of the first stage each person has, by pid; done ones included."""
    pids = tables().people
    found = connection.execute(pids.select().with_only_columns(pids.c.id, pids.c.pid))
    counts = count_readings(connection)
    return {row.pid: sum(counts[row.id].values()) for row in found if row.id in counts}


def count_readings(connection: Connection) -> dict[int, dict[str, int]]:
    """Return for each person (by number) who has any how many readings of the first stage are in each live state."""
    a, p = tables().assignments, tables().people

    def count(state: str) -> Any:
        # Counted one by one from an index alone, this takes a quarter of what grouping all rows would.
        mine = (a.c.stage == "judge", a.c.state == state, a.c.person_id == p.c.id)
        return select(func.count()).select_from(a).where(*mine).correlate(p).scalar_subquery()

    counted = connection.execute(select(p.c.id, *map(count, _LIVE_STATES)))
    rows = {row[0]: dict(zip(_LIVE_STATES, row[1:], strict=True)) for row in counted}
    return {person: counts for person, counts in rows.items() if any(counts.values())}


def count_undealt(connection: Connection) -> int:
    """Return how many items nobody was asked about yet."""
    t = tables().items
    counted = select(func.count()).select_from(t).where(t.c.state == "undealt")
    return int(connection.execute(counted).scalar_one())


def _constraints(
    annotators: Sequence[Person],
    clusters: Mapping[str, str],
    barred: Sequence[Barred],
    most: Mapping[str, int],
    loads: Mapping[str, int],
    wrote: Collection[tuple[str, str]],
) -> Constraints:
    mine = {p.pid for p in annotators}
    items: dict[str, list[str]] = {}
    for name, cluster in clusters.items():
        items.setdefault(cluster, []).append(name)
    forbidden = {(who, name) for who, cluster in barred if who in mine for name in items.get(cluster, ())}
    forbidden |= {(who, name) for who, name in wrote if who in mine and name in clusters}
    capacity = {who: max(0, n - loads.get(who, 0)) for who, n in most.items() if who in mine}
    return Constraints(forbidden=forbidden, capacity=capacity)


def _undealt_rows(connection: Connection) -> Sequence[Any]:
    t = tables().items
    columns = [t.c.id, t.c.candidate_id, t.c.body, t.c.stratum, t.c.topic]
    query = t.select().with_only_columns(*columns).where(t.c.state == "undealt").order_by(t.c.id)
    return connection.execute(query).all()


def _undealt(connection: Connection) -> dict[str, int]:
    t = tables().items
    query = t.select().with_only_columns(t.c.candidate_id, t.c.id).where(t.c.state == "undealt")
    return {row.candidate_id: row.id for row in connection.execute(query)}


def _evenly(names: Sequence[str], stratum: Mapping[str, str], limit: int) -> list[str]:
    """Take from each type in turn, in the candidates' order."""
    piles: dict[str, list[str]] = {}
    for name in names:
        piles.setdefault(stratum[name], []).append(name)
    taken: set[str] = set()
    turn = 0
    while len(taken) < min(limit, len(names)):
        for kind in sorted(piles):
            if turn < len(piles[kind]) and len(taken) < limit:
                taken.add(piles[kind][turn])
        turn += 1
    return [name for name in names if name in taken]


def apply_deal(desk: Desk, connection: Connection, dealt: DealPlan, *, actor: str) -> int:
    """Give the items out as planned, and return how many there were.

    Raises:
        ConflictError: if an item of the plan was dealt, or one of the people went, in the meantime.
    """
    numbers = _undealt(connection)
    late = [name for name in dealt.planned if name not in numbers]
    if late:
        raise ConflictError(
            say(
                "{count} of these items were dealt or changed in the meantime. Look at the new plan.",
                count=len(late),
            )
        )
    a = tables().assignments
    now = desk.now()
    ids = {p.pid: p.id for p in people.list_people(desk, connection, state="active")}
    if dealt.deal is not None and not ids.keys() >= set(dealt.deal.annotators):
        raise ConflictError(say("One of these people has left in the meantime. Look at the new plan."))
    assignment = dealt.deal.assignment if dealt.deal is not None else {}
    rows = [
        {
            "pid": new_pid(),
            "item_id": numbers[name],
            "person_id": ids[pid],
            "stage": "judge",
            "slot": slot,
            "state": "open",
            "live": True,
            "queue_pos": 0,
            "created_at": now,
        }
        for name, group in assignment.items()
        for slot, pid in enumerate(group)
    ]
    for start in range(0, len(rows), 2_000):
        connection.execute(a.insert(), rows[start : start + 2_000])
    _set_states(connection, [numbers[n] for n in assignment], "judging", dealt.policy.people, now)
    machine = [numbers[name] for name, p in dealt.planned.items() if not p.people]
    _set_states(connection, machine, "machine", 0, now)
    for pid in dealt.deal.annotators if dealt.deal is not None else ():
        put_in_order(desk, connection, ids[pid], pid)
    add_event(
        desk,
        connection,
        "items.dealt",
        "items",
        actor,
        policy=dealt.policy.name,
        items=len(assignment),
        to_machines=len(machine),
        people=sorted(dealt.deal.annotators) if dealt.deal is not None else [],
        seed=desk.seed,
        audit_share=dealt.policy.audit_share if dealt.policy.name == "audit" else None,
        barred=dealt.barred,
        most=dealt.most,
        digest=deal_digest(dealt),
    )
    return len(assignment)


def _set_states(connection: Connection, ids: Sequence[int], state: str, wanted: int, now: float) -> None:
    t = tables().items
    if ids:
        query = (
            t.update().where(t.c.id == bindparam("one")).values(state=state, wanted=wanted, changed_at=now)
        )
        connection.execute(query, [{"one": number} for number in ids])


def put_in_order(desk: Desk, connection: Connection, person_id: int, pid: str) -> tuple[str, ...]:
    """Order a person's open items: clusters shuffled, inside each by rising place; return who has seen the future."""
    t, a = tables().items, tables().assignments
    query = (
        a.join(t, t.c.id == a.c.item_id)
        .select()
        .with_only_columns(a.c.id, a.c.state, a.c.live, t.c.candidate_id, t.c.cluster, t.c.place)
        .where(a.c.person_id == person_id, a.c.stage == "judge")
    )
    pending: dict[str, tuple[int, Clip]] = {}
    watched: dict[str, Clip] = {}
    for row in connection.execute(query):
        clip = Clip(row.candidate_id, row.cluster, row.place)
        if row.state == "open" and row.live:
            pending[row.candidate_id] = (row.id, clip)
        else:
            watched[row.candidate_id] = clip
    queue = requeue([c for _, c in pending.values()], watched.values(), pid, desk.seed)
    first = len(watched) + 1
    update = a.update().where(a.c.id == bindparam("one")).values(queue_pos=bindparam("place"))
    rows = [{"one": pending[name][0], "place": first + n} for n, name in enumerate(queue.order)]
    if rows:
        connection.execute(update, rows)
    return queue.seen_future


# -- people come and go ----------------------------------------------------------------------------------------


def list_seats(connection: Connection) -> list[Seat]:
    """Return every live slot of the first stage: candidate, slot, pid of who has it, done or begun."""
    t = tables()
    i, a, p, d = t.items, t.assignments, t.people, t.drafts
    query = (
        a.join(i, i.c.id == a.c.item_id)
        .join(p, p.c.id == a.c.person_id)
        .outerjoin(d, d.c.assignment_id == a.c.id)
        .select()
        .with_only_columns(i.c.candidate_id, a.c.slot, p.c.pid, a.c.state, a.c.rev, d.c.version)
        .where(a.c.stage == "judge", a.c.live.is_(True), i.c.state != "gone")
    )
    # All at once: fetched one by one, 200,000 rows take half a second more. Who has written something, took a sheet
    # back, or returned the item has seen it: it stays with them.
    return [
        Seat(item, slot, pid, state == "submitted", draft is not None or rev > 0 or state == "returned")
        for item, slot, pid, state, rev, draft in connection.execute(query).all()
    ]


def plan_person_change(
    desk: Desk, connection: Connection, kind: Change, person: Person, others: Sequence[Person]
) -> Repair:
    """Plan what becomes of the items when somebody leaves, joins, or is annulled.

    Raises:
        UserError: if the people do not fit.
    """
    names = [p.pid for p in others if p.pid != person.pid]
    seats = list_seats(connection)
    if kind != "join" and not any(seat.annotator == person.pid for seat in seats):
        loads = {p: sum(s.annotator == p for s in seats) for p in names}
        before = {**loads, person.pid: 0}
        return Repair(kind, person.pid, tuple(sorted(names)), (), (), 0, before, loads, {}, {})
    rules = _standing_rules(connection, {seat.item for seat in seats})
    return _PLANS[kind](seats, person.pid, names, seed=desk.seed, constraints=rules)


def plan_for(desk: Desk, connection: Connection, kind: Change, pid: str) -> Repair:
    """Plan a change of somebody with all others who are at work.

    Raises:
        GoneError: if there is no such person.
        UserError: if the people do not fit.
    """
    person = people.by_pid(desk, connection, pid)
    if person is None:
        raise GoneError
    loads = judge_loads(connection)
    here = people.list_people(desk, connection, state="active")
    others = [p for p in here if p.id != person.id and loads.get(p.pid)]
    return plan_person_change(desk, connection, kind, person, others)


class Outlook(NamedTuple):
    """What a coordinator sees of a plan: as small for 100,000 items as for ten.

    Attributes:
        kind: why.
        person: pid of who leaves, joins, or whose work is annulled.
        event: number of the last event that the plan knows of.
        moved: slots that change hands.
        givers: people whom they come from.
        kept: submitted slots that stay as they are.
        voided: submitted slots whose work becomes void.
        stuck: slots that nobody can take.
        examples: the first of those, with reasons.
        loads: items of each person before and after, by pid.
        pairs: items that two people share, before and after.
        load_spread: most less least items of a person, before and after; None when nothing moves.
        pair_spread: the same of the pairs.
        digest: see ``change_digest``.
    """

    kind: Change
    person: str
    event: int
    moved: int
    givers: int
    kept: int
    voided: int
    stuck: int
    examples: tuple[Stuck, ...]
    loads: Mapping[str, tuple[int, int]]
    pairs: Mapping[tuple[str, str], tuple[int, int]]
    load_spread: tuple[int, int] | None
    pair_spread: tuple[int, int] | None
    digest: str


def look_ahead(desk: Desk, connection: Connection, kind: Change, pid: str) -> Outlook:
    """Plan a change and return what is shown of it; errors as for ``plan_for``."""
    event = newest_event(connection)
    return outlook_of(plan_for(desk, connection, kind, pid), event)


def outlook_of(repair: Repair, event: int = 0) -> Outlook:
    """Return what is shown of a plan that knows of everything up to an event."""
    even = bool(repair.people and repair.moves)
    everybody = sorted({*repair.loads_before, *repair.loads_after})
    return Outlook(
        kind=repair.kind,
        person=repair.person,
        event=event,
        moved=len(repair.moves),
        givers=len({m.old for m in repair.moves}),
        kept=repair.kept,
        voided=repair.voided,
        stuck=len(repair.stuck),
        examples=repair.stuck[:_SHOWN],
        loads={p: (repair.loads_before.get(p, 0), repair.loads_after.get(p, 0)) for p in everybody},
        pairs={
            pair: (now, repair.pairs_after[pair])
            for pair, now in repair.pairs_before.items()
            if pair in repair.pairs_after
        },
        load_spread=repair.load_spread if even else None,
        pair_spread=repair.pair_spread if even else None,
        digest=change_digest(repair),
    )


def is_small(connection: Connection) -> bool:
    """True when a change can be planned while somebody waits."""
    a = tables().assignments
    some = select(a.c.id).where(a.c.stage == "judge", a.c.state.in_(_LIVE_STATES)).limit(SMALL + 1)
    return int(connection.execute(select(func.count()).select_from(some.subquery())).scalar_one()) <= SMALL


Freshness = Literal["fresh", "worn", "old"]
"""``worn``: others have worked since, so a slot of the plan may be begun or decided; ``old``: it is another plan now."""

_NO_MATTER: Final = (
    "consent",
    "document",
    "export",
    "gate",
    "guideline-read",
    "invite",
    "link",
    "name",
    "password",
    "signed-out",
    "training.",
)
"""How the kinds of those events begin that change nobody's seats."""


def how_fresh(connection: Connection, outlook: Outlook) -> Freshness:
    """Tell from the events since whether a plan is still what it would be now; drafts leave no event."""
    e = tables().events
    query = e.select().with_only_columns(e.c.kind, e.c.actor).where(e.c.id > outlook.event)
    since = connection.execute(query.order_by(e.c.id).limit(_MANY + 1)).all()
    if len(since) > _MANY:
        return "old"
    found: Freshness = "fresh"
    for kind, actor in since:
        if kind.startswith(_NO_MATTER):
            continue
        if not kind.startswith(("judge.", "adjudicate.")) or actor == outlook.person:
            return "old"
        if outlook.kind == "join" or kind.startswith("adjudicate."):
            found = "worn"
    return found


def is_deal_fresh(connection: Connection, event: int) -> bool:
    """Tell whether a deal that knows of everything up to an event is what it would be now; work does not change it.

    Verdicts of machines leave no event.
    """
    e = tables().events
    query = e.select().with_only_columns(e.c.kind).where(e.c.id > event).order_by(e.c.id).limit(_MANY + 1)
    since = connection.execute(query).scalars().all()
    harmless = ("judge.", "adjudicate.", *(kind for kind in _NO_MATTER if kind != "name"))
    return len(since) <= _MANY and all(kind.startswith(harmless) for kind in since)


def change_digest(repair: Repair) -> str:
    """Return a digest of a plan: which slots move, from whom to whom, and which nobody can take."""
    moves = [(m.item, m.slot, m.old, m.new, m.voids) for m in repair.moves]
    stuck = [(s.item, s.slot, s.old, s.voids) for s in repair.stuck]
    return hashlib.sha256(canonical_json([repair.kind, repair.person, moves, stuck, repair.kept])).hexdigest()


def _standing_rules(connection: Connection, items: Collection[str]) -> Constraints:
    """What no change may break: recordings barred to a person, items they decided as adjudicator, their limit."""
    t, a, p, e = tables().items, tables().assignments, tables().people, tables().events
    barred: dict[str, list[str]] = {}
    for who, cluster in sorted(barred_pairs(connection)):
        barred.setdefault(cluster, []).append(who)
    clusters = t.select().with_only_columns(t.c.candidate_id, t.c.cluster)
    clusters = clusters.where(t.c.cluster.in_(list(barred)))
    rows = connection.execute(clusters).all() if barred else []
    forbidden = {(who, r.candidate_id) for r in rows if r.candidate_id in items for who in barred[r.cluster]}
    decided = (
        a.join(t, t.c.id == a.c.item_id)
        .join(p, p.c.id == a.c.person_id)
        .select()
        .with_only_columns(p.c.pid, t.c.candidate_id)
        .where(a.c.stage == "adjudicate")
    )
    forbidden |= {(row.pid, row.candidate_id) for row in connection.execute(decided)}
    forbidden |= {(who, name) for who, name in _written_pairs(connection) if name in items}
    deals = e.select().with_only_columns(e.c.body).where(e.c.subject == "items", e.c.kind == "items.dealt")
    most: dict[str, int] = {}
    for row in connection.execute(deals.order_by(e.c.id)):
        most.update(msgspec.json.decode(row.body).get("most", {}))
    return Constraints(forbidden=forbidden, capacity=most)


def apply_person_change(
    desk: Desk, connection: Connection, repair: Repair, *, actor: str, reason: str = ""
) -> int:
    """Carry a plan out: slots move, work in bad faith becomes void, sessions end; drafts stay with their writer.

    Raises:
        ConflictError: if something was submitted or moved since the plan was made.
    """
    person = people.by_pid(desk, connection, repair.person)
    if person is None:
        raise GoneError
    try:
        apply_repair(list_seats(connection), repair) if repair.moves or repair.stuck else None
    except UserError as error:
        raise ConflictError(error.message) from None
    ids = {p.pid: p.id for p in people.list_people(desk, connection)}
    moves: list[tuple[str, int, int, int | None]] = [
        (m.item, m.slot, ids[m.old], ids[m.new]) for m in repair.moves
    ]
    moves += [(s.item, s.slot, ids[s.old], None) for s in repair.stuck]
    late = _move_untouched(desk, connection, moves, repair.kind)
    touched = [_move(desk, connection, *move, actor, repair.kind) for move in late]
    for pid in sorted({m.new for m in repair.moves}):
        put_in_order(desk, connection, ids[pid], pid)
    for item_id in dict.fromkeys(touched):
        refresh_item(desk, connection, item_id)
    _release_cases(desk, connection, person, repair.kind, actor)
    if repair.kind != "join" and person.state == "active":
        people.leave(desk, connection, person, actor=actor)
    add_event(
        desk,
        connection,
        f"person.{repair.kind}",
        person.pid,
        actor,
        moved=len(repair.moves),
        stuck=len(repair.stuck),
        voided=repair.voided,
        kept=repair.kept,
        reason=reason,
    )
    return len(repair.moves)


def _move_untouched(
    desk: Desk, connection: Connection, moves: Sequence[tuple[str, int, int, int | None]], why: str
) -> list[tuple[str, int, int, int | None]]:
    """Move open slots that go to somebody, all at once: their items stay as they are. Returns the other moves."""
    t, a = tables().items, tables().assignments
    query = (
        a.join(t, t.c.id == a.c.item_id)
        .select()
        .with_only_columns(a.c.id, a.c.item_id, a.c.slot, a.c.person_id, t.c.candidate_id)
        .where(a.c.stage == "judge", a.c.state == "open", a.c.live.is_(True))
        .where(a.c.person_id.in_({old for _, _, old, _ in moves}))
    )
    found = {(row.candidate_id, row.slot, row.person_id): row for row in connection.execute(query)}
    plain, others = [], []
    for move in moves:
        row = found.get(move[:3])
        if row is None or move[3] is None:
            others.append(move)
        else:
            plain.append((row, move[3]))
    update = a.update().where(a.c.id == bindparam("one")).values(live=False, state="moved", reason=why)
    for start in range(0, len(plain), 2_000):
        connection.execute(update, [{"one": row.id} for row, _ in plain[start : start + 2_000]])
    fresh = [_seat_row(desk, row.item_id, new, row.slot) for row, new in plain]
    for start in range(0, len(fresh), 2_000):
        connection.execute(a.insert(), fresh[start : start + 2_000])
    return others


def _move(
    desk: Desk,
    connection: Connection,
    candidate: str,
    slot: int,
    old: int,
    new: int | None,
    actor: str,
    why: str,
) -> int:
    t, a = tables().items, tables().assignments
    query = (
        a.join(t, t.c.id == a.c.item_id)
        .select()
        .with_only_columns(*a.c)
        .where(
            t.c.candidate_id == candidate,
            a.c.stage == "judge",
            a.c.slot == slot,
            a.c.live.is_(True),
            a.c.person_id == old,
        )
    )
    row: Any = connection.execute(query).one()
    done = row.state == "submitted"
    if done:
        void_response(desk, connection, to_assignment(row), actor, why)
        _undecide(desk, connection, row.item_id, actor, why)
    state = "void" if done else "moved"
    connection.execute(a.update().where(a.c.id == row.id).values(live=False, state=state, reason=why))
    if new is not None:
        _seat(desk, connection, row.item_id, new, slot)
    return int(row.item_id)


def _undecide(desk: Desk, connection: Connection, item_id: int, actor: str, why: str) -> None:
    """Take back what an adjudicator decided, or is about to: what it rests on is void, and it would bar new readings."""
    a = tables().assignments
    mine = a.select().where(
        a.c.item_id == item_id, a.c.stage == "adjudicate", a.c.live.is_(True), a.c.blind_repeat.is_(False)
    )
    for row in connection.execute(mine).all():
        if row.state == "submitted":
            void_response(desk, connection, to_assignment(row), actor, why)
        state = "void" if row.state == "submitted" else "moved"
        connection.execute(a.update().where(a.c.id == row.id).values(live=False, state=state, reason=why))


def _release_cases(desk: Desk, connection: Connection, person: Person, why: str, actor: str) -> None:
    """Cases that somebody had reserved go back; those that they decided in bad faith are opened again."""
    if why == "join":
        return
    a = tables().assignments
    mine = a.select().where(a.c.person_id == person.id, a.c.stage == "adjudicate", a.c.live.is_(True))
    for row in connection.execute(mine).all():
        if row.state == "open":
            connection.execute(
                a.update().where(a.c.id == row.id).values(live=False, state="moved", reason=why)
            )
        elif why == "annul":
            void_response(desk, connection, to_assignment(row), actor, why)
            connection.execute(
                a.update().where(a.c.id == row.id).values(live=False, state="void", reason=why)
            )
            if not row.blind_repeat:
                refresh_item(desk, connection, row.item_id)


# -- what came back --------------------------------------------------------------------------------------------


def give_out_again(desk: Desk, connection: Connection, item_id: int, *, actor: str) -> None:
    """Give a returned item back to those who returned it, and its empty places to those who can take them.

    What was broken is corrected, or a reader went whom nobody could replace then.

    Raises:
        ConflictError: if nobody had returned it and no place is empty, or nobody can take one.
    """
    a = tables().assignments
    mine = (a.c.item_id == item_id, a.c.stage == "judge", a.c.live.is_(True), a.c.state == "returned")
    returned = connection.execute(a.select().where(*mine)).first() is not None
    connection.execute(a.update().where(*mine).values(state="open", reason=""))
    if not _fill_places(desk, connection, item_id, must=not returned) and not returned:
        raise ConflictError(say("Nobody has returned this item."))
    refresh_item(desk, connection, item_id)
    add_event(desk, connection, "item.given-out-again", get_item(connection, item_id).pid, actor)


def _fill_places(desk: Desk, connection: Connection, item_id: int, *, must: bool) -> int:
    """Give the empty places of an item to those with the least work who may judge it; return how many there were.

    Raises:
        ConflictError: if nobody can take one and it ``must`` be.
    """
    t, a = tables().items, tables().assignments
    item: Any = connection.execute(t.select().where(t.c.id == item_id)).one()
    had = connection.execute(a.select().where(a.c.item_id == item_id, a.c.stage != "training")).all()
    live = [row for row in had if row.live and row.stage == "judge"]
    empty = [slot for slot in range(item.wanted) if slot not in {row.slot for row in live}]
    empty = empty[: max(0, item.wanted - len(live))]
    if not live or not empty:  # an item that nobody has is dealt, not filled
        return 0
    loads, rules = judge_loads(connection), _standing_rules(connection, {item.candidate_id})
    known = {row.person_id for row in had if row.live or row.stage == "adjudicate" or row.state == "void"}
    free = [
        p
        for p in people.list_people(desk, connection, state="active")
        if loads.get(p.pid)
        and p.id not in known
        and rules.allows(p.pid, item.candidate_id)
        and loads[p.pid] < rules.capacity.get(p.pid, loads[p.pid] + 1)
    ]
    if len(free) < len(empty) and must:
        raise ConflictError(say("A reader is missing, and nobody of those who judge can take the place."))
    free.sort(key=lambda p: (loads[p.pid], p.id))
    for slot, person in zip(empty, free, strict=False):
        _seat(desk, connection, item_id, person.id, slot)
        put_in_order(desk, connection, person.id, person.pid)
    return len(empty)


def _seat(desk: Desk, connection: Connection, item_id: int, person_id: int, slot: int) -> None:
    connection.execute(tables().assignments.insert(), _seat_row(desk, item_id, person_id, slot))


def _seat_row(desk: Desk, item_id: int, person_id: int, slot: int) -> dict[str, Any]:
    return {
        "pid": new_pid(),
        "item_id": item_id,
        "person_id": person_id,
        "stage": "judge",
        "slot": slot,
        "state": "open",
        "live": True,
        "queue_pos": 0,
        "created_at": desk.now(),
    }


def dispute_resolved(
    desk: Desk, connection: Connection, item_id: int, *, reopen: bool, actor: str, note: str
) -> None:
    """Decide a held item: open it for adjudication again, or leave it as it was before the dispute.

    Args:
        desk: the desk.
        connection: in a writing transaction.
        item_id: which.
        reopen: True: everybody who judged it gets it again; False: it goes back into the adjudicators' queue.
        actor: pid of the coordinator.
        note: why.

    Raises:
        ConflictError: if it is not held.
    """
    t, a = tables().items, tables().assignments
    row: Any = connection.execute(t.select().where(t.c.id == item_id)).first()
    if row is None or row.state != "held":
        raise ConflictError(say("This item is not held."))
    connection.execute(t.update().where(t.c.id == item_id).values(state="judging", reason=""))
    live = connection.execute(a.select().where(a.c.item_id == item_id, a.c.live.is_(True))).all()
    for one in live:
        if one.stage == "adjudicate" and not one.blind_repeat:
            void_response(desk, connection, to_assignment(one), actor, "held")
            connection.execute(
                a.update().where(a.c.id == one.id).values(live=False, state="void", reason="held")
            )
        elif one.stage == "judge" and reopen and one.state == "submitted":
            void_response(desk, connection, to_assignment(one), actor, "judged again")
            connection.execute(a.update().where(a.c.id == one.id).values(state="open"))
    refresh_item(desk, connection, item_id)
    add_event(desk, connection, "item.resolved", row.pid, actor, reopen=reopen, note=note)


def release_case(desk: Desk, connection: Connection, item_id: int, *, actor: str) -> None:
    """Take a case from the adjudicator who has it open, so that somebody else gets it; what they wrote stays a draft.

    Raises:
        ConflictError: if nobody has it open.
    """
    a = tables().assignments
    mine = (a.c.item_id == item_id, a.c.stage == "adjudicate", a.c.live.is_(True), a.c.state == "open")
    found = connection.execute(a.select().where(*mine, a.c.blind_repeat.is_(False))).first()
    if found is None:
        raise ConflictError(say("No adjudicator has this case open."))
    values = {"live": False, "state": "moved", "reason": "released by the coordinator"}
    connection.execute(a.update().where(a.c.id == found.id).values(**values))
    add_event(
        desk, connection, "adjudicate.released", found.pid, actor, item=get_item(connection, item_id).pid
    )
