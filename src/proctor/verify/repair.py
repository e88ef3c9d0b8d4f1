"""What becomes of the deal when somebody leaves, joins, or worked in bad faith.

Each function returns a ``Repair``: a plan to be looked at before it is applied. Submitted work stays where it is for
ever; only open slots change hands. A slot of somebody who leaves goes to the person who has met its partner least
often, among these to the one with the least work, ties drawn. Who joins takes from those with the most work, the
same rule reversed. Plans depend on the seats, the seed and nothing else.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from proctor.errors import UserError
from proctor.said import say
from proctor.verify.assignment import Constraints, Pair, count_pairs

__all__ = ["Move", "Repair", "Seat", "Stuck", "annul", "apply_repair", "join", "leave"]


@dataclass(frozen=True, slots=True)
class Seat:
    """One slot of one item and who has it.

    Attributes:
        item: its id.
        slot: its number; an item's slots differ.
        annotator: who has it.
        submitted: the work is done; it never changes hands.
        started: there is a draft; it is not taken away for somebody who joins.
    """

    item: str
    slot: int
    annotator: str
    submitted: bool = False
    started: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A slot that changes hands.

    Attributes:
        item: its id.
        slot: its number.
        old: who has it.
        new: who gets it.
        voids: what ``old`` submitted on it becomes void (only when somebody's work is annulled).
    """

    item: str
    slot: int
    old: str
    new: str
    voids: bool = False


@dataclass(frozen=True, slots=True)
class Stuck:
    """A slot that nobody can take: for everybody who is left, why not."""

    item: str
    slot: int
    old: str
    reasons: tuple[tuple[str, str], ...]
    voids: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """A plan: what moves, what stays, and how even it is before and after.

    Attributes:
        kind: why.
        person: who leaves, joins, or whose work is annulled.
        people: who has work afterwards, sorted.
        moves: in order of items and slots.
        stuck: slots that are left without anybody.
        kept: submitted slots of ``person`` that stay as they are.
        loads_before: slots of each person, ``person`` included.
        loads_after: the same once the plan is applied.
        pairs_before: items that two people share, for every pair of them.
        pairs_after: the same once the plan is applied.
    """

    kind: Literal["leave", "join", "annul"]
    person: str
    people: tuple[str, ...]
    moves: tuple[Move, ...]
    stuck: tuple[Stuck, ...]
    kept: int
    loads_before: Mapping[str, int]
    loads_after: Mapping[str, int]
    pairs_before: Mapping[Pair, int]
    pairs_after: Mapping[Pair, int]

    @property
    def voided(self) -> int:
        """Submitted slots whose work becomes void."""
        return sum(move.voids for move in self.moves) + sum(seat.voids for seat in self.stuck)

    @property
    def load_spread(self) -> tuple[int, int]:
        """Most less least slots among ``people``, before and after."""
        return _spread(self.loads_before[p] for p in self.people), _spread(
            self.loads_after[p] for p in self.people
        )

    @property
    def pair_spread(self) -> tuple[int, int]:
        """Most less least shared items of a pair among ``people``, before and after."""
        pairs = list(combinations(self.people, 2))
        return _spread(self.pairs_before[p] for p in pairs), _spread(self.pairs_after[p] for p in pairs)


def leave(
    seats: Iterable[Seat],
    leaver: str,
    staying: Sequence[str],
    *,
    seed: int,
    constraints: Constraints | None = None,
) -> Repair:
    """Plan where the open slots of somebody who leaves go; what they submitted stays.

    Where capacity gets tight, slots that were given away in this plan are passed on, so that a slot is only left
    over when no plan could place it beside the others.

    Args:
        seats: all live slots of the project, everybody's.
        leaver: who leaves.
        staying: who can take work.
        seed: of the run.
        constraints: to respect; capacity counts submitted slots, too.

    Raises:
        UserError: if a slot occurs twice, a person has two slots of one item, a name occurs twice, or the leaver is
            unknown or among those who stay.
    """
    return _hand_out("leave", seats, leaver, staying, seed, constraints)


def annul(
    seats: Iterable[Seat],
    person: str,
    staying: Sequence[str],
    *,
    seed: int,
    constraints: Constraints | None = None,
) -> Repair:
    """Plan the same for somebody who worked in bad faith: all their slots are reopened, submitted ones included.

    What they submitted becomes void (``Move.voids``); the rows stay. Arguments and errors as for ``leave``.
    """
    return _hand_out("annul", seats, person, staying, seed, constraints)


def join(
    seats: Iterable[Seat],
    joiner: str,
    others: Sequence[str],
    *,
    seed: int,
    constraints: Constraints | None = None,
) -> Repair:
    """Plan what somebody who joins takes over, until nobody who could give has two slots more than they.

    Each time somebody with the most work gives a slot that nobody has started: the one whose partner the giver has
    met most often and the joiner least often, ties drawn.

    Args:
        seats: all live slots of the project, everybody's; the joiner may have some already.
        joiner: who joins.
        others: who is at work beside them and gives.
        seed: of the run.
        constraints: to respect; capacity counts submitted slots, too.

    Raises:
        UserError: if a slot occurs twice, a person has two slots of one item, a name occurs twice, or the joiner is
            among the others.
    """
    rules = constraints or Constraints()
    ordered = _checked(seats, joiner, others)
    desk = _Desk(ordered)
    piles = _piles(ordered, desk, joiner, others, rules, seed)
    most = rules.capacity.get(joiner)
    moves = []
    while most is None or desk.loads[joiner] < most:
        seat = _next_given(piles, desk, joiner, seed)
        if seat is None:
            break
        desk.remove(seat)
        desk.put(replace(seat, annotator=joiner))
        moves.append(Move(seat.item, seat.slot, seat.annotator, joiner))
    return _plan("join", joiner, (*others, joiner), ordered, moves, [])


def apply_repair(seats: Iterable[Seat], repair: Repair) -> tuple[Seat, ...]:
    """Return the seats after the plan, sorted; slots that nobody can take have none.

    Raises:
        UserError: if the plan was made for other seats: a slot it names is gone, has another holder, or was
            submitted in the meantime; or begun, where somebody joins.
    """
    before = {(seat.item, seat.slot): seat for seat in seats}
    touched: tuple[Move | Stuck, ...] = (*repair.moves, *repair.stuck)
    for move in touched:
        seat = before.get((move.item, move.slot))
        changed = seat is None or seat.annotator != move.old or seat.submitted != move.voids
        if changed or (repair.kind == "join" and seat is not None and seat.started):
            raise UserError(
                say(
                    "slot {slot} of item '{item}' has changed since the plan was made.",
                    slot=move.slot,
                    item=move.item,
                ),
                hint=say("look at the new plan and apply that"),
            )
    return _after(before.values(), repair.moves, repair.stuck)


def _after(seats: Iterable[Seat], moves: Iterable[Move], stuck: Iterable[Stuck]) -> tuple[Seat, ...]:
    found = {(seat.item, seat.slot): seat for seat in seats}
    found.update({(m.item, m.slot): Seat(m.item, m.slot, m.new) for m in moves})
    for gone in stuck:
        del found[gone.item, gone.slot]
    return tuple(found[key] for key in sorted(found))


# -- handing out ---------------------------------------------------------------------------------------------


class _Desk:
    """Who sits where, with loads and pair counts that follow every change."""

    def __init__(self, seats: Iterable[Seat]) -> None:
        self.on: dict[str, set[str]] = defaultdict(set)
        self.loads: Counter[str] = Counter()
        self.met: Counter[Pair] = Counter()
        for seat in seats:
            self.put(seat)

    def put(self, seat: Seat) -> None:
        self._count(seat, 1)
        self.on[seat.item].add(seat.annotator)

    def remove(self, seat: Seat) -> None:
        self.on[seat.item].discard(seat.annotator)
        self._count(seat, -1)

    def _count(self, seat: Seat, by: int) -> None:
        self.loads[seat.annotator] += by
        for other in self.on[seat.item]:
            self.met[_pair(seat.annotator, other)] += by

    def meetings(self, person: str, partners: Iterable[str]) -> int:
        return sum(self.met[_pair(person, partner)] for partner in partners)


class _Givers:
    """Gives seats of one person to others; an item has at most one seat that is given."""

    def __init__(self, desk: _Desk, staying: Sequence[str], rules: Constraints, seed: int) -> None:
        self.desk, self.rules, self.seed = desk, rules, seed
        self.staying = sorted(staying)
        self.given: dict[Seat, str] = {}
        self.free: dict[Seat, list[str]] = {}

    def give(self, seat: Seat) -> bool:
        """Find somebody for the seat, passing others on if needed; False if there is no way."""
        partners = self.desk.on[seat.item]
        self.free[seat] = [z for z in self.staying if z not in partners and self.rules.allows(z, seat.item)]
        able = [z for z in self.free[seat] if self._has_room(z)]
        if not able:
            return self._pass_on(seat)
        lot = {z: _draw(self.seed, seat, z) for z in able}
        best = min(able, key=lambda z: (self.desk.meetings(z, partners), self.desk.loads[z], lot[z]))
        self._settle(seat, best)
        return True

    def reasons(self, seat: Seat) -> tuple[tuple[str, str], ...]:
        def why(name: str) -> str:
            if name in self.desk.on[seat.item]:
                return say("judges it already")
            most = self.rules.capacity.get(name)
            return self.rules.reason(name, seat.item) or say("has no room left ({most})", most=most)

        return tuple((name, why(name)) for name in self.staying)

    def _has_room(self, name: str) -> bool:
        most = self.rules.capacity.get(name)
        return most is None or self.desk.loads[name] < most

    def _settle(self, seat: Seat, name: str) -> None:
        if seat in self.given:
            self.desk.remove(replace(seat, annotator=self.given[seat]))
        self.given[seat] = name
        self.desk.put(replace(seat, annotator=name))

    def _pass_on(self, seat: Seat) -> bool:
        """Walk from the full people to one with room, over seats that were given in this plan."""
        held: dict[str, list[Seat]] = defaultdict(list)
        for other, name in self.given.items():
            held[name].append(other)
        came: dict[str, Seat] = dict.fromkeys(self.free[seat], seat)
        waiting = deque(self.free[seat])
        while waiting:
            full = waiting.popleft()
            for other in held[full]:
                for name in self.free[other]:
                    if name in came:
                        continue
                    came[name] = other
                    if self._has_room(name):
                        self._shift(name, came, seat)
                        return True
                    waiting.append(name)
        return False

    def _shift(self, name: str, came: Mapping[str, Seat], seat: Seat) -> None:
        while True:
            moving = came[name]
            before = self.given.get(moving, "")
            self._settle(moving, name)
            if moving == seat:
                return
            name = before


def _hand_out(
    kind: Literal["leave", "annul"],
    seats: Iterable[Seat],
    person: str,
    staying: Sequence[str],
    seed: int,
    constraints: Constraints | None,
) -> Repair:
    ordered = _checked(seats, person, staying)
    theirs = [seat for seat in ordered if seat.annotator == person]
    if not theirs:
        raise UserError(say("'{person}' has no items here.", person=person))
    moving = [seat for seat in theirs if kind == "annul" or not seat.submitted]
    desk = _Desk(ordered)
    for seat in moving:
        desk.remove(seat)
    givers = _Givers(desk, staying, constraints or Constraints(), seed)
    left = [seat for seat in sorted(moving, key=lambda s: _draw(seed, s, "")) if not givers.give(seat)]
    moves = [Move(s.item, s.slot, person, new, s.submitted) for s, new in givers.given.items()]
    stuck = [Stuck(s.item, s.slot, person, givers.reasons(s), s.submitted) for s in left]
    return _plan(kind, person, staying, ordered, moves, stuck)


def _plan(
    kind: Literal["leave", "join", "annul"],
    person: str,
    people: Sequence[str],
    seats: Sequence[Seat],
    moves: Iterable[Move],
    stuck: Iterable[Stuck],
) -> Repair:
    everybody = sorted({*people, person, *(seat.annotator for seat in seats)})
    moved = tuple(sorted(moves, key=lambda m: (m.item, m.slot)))
    left = tuple(sorted(stuck, key=lambda s: (s.item, s.slot)))
    after = _after(seats, moved, left)
    kept = 0 if kind == "annul" else sum(seat.submitted and seat.annotator == person for seat in seats)
    return Repair(
        kind=kind,
        person=person,
        people=tuple(sorted(people)),
        moves=moved,
        stuck=left,
        kept=kept,
        loads_before=_loads(seats, everybody),
        loads_after=_loads(after, everybody),
        pairs_before=_pairs(seats, everybody),
        pairs_after=_pairs(after, everybody),
    )


# -- joining -------------------------------------------------------------------------------------------------

_Piles = dict[str, dict[tuple[str, ...], list[Seat]]]


def _piles(
    seats: Iterable[Seat], desk: _Desk, joiner: str, others: Sequence[str], rules: Constraints, seed: int
) -> _Piles:
    """Sort what can be given by giver and partners: inside one pile all seats are worth the same."""
    piles: _Piles = {name: defaultdict(list) for name in others}
    for seat in seats:
        fixed = seat.submitted or seat.started or seat.annotator not in piles
        if not fixed and joiner not in desk.on[seat.item] and rules.allows(joiner, seat.item):
            partners = tuple(sorted(desk.on[seat.item] - {seat.annotator}))
            piles[seat.annotator][partners].append(seat)
    for pile in piles.values():
        for group in pile.values():
            group.sort(key=lambda seat: _draw(seed, seat, joiner))
    return piles


def _next_given(piles: _Piles, desk: _Desk, joiner: str, seed: int) -> Seat | None:
    for pile in piles.values():
        for partners, group in list(pile.items()):
            while group and joiner in desk.on[group[-1].item]:  # the item's other slot was taken before
                group.pop()
            if not group:
                del pile[partners]
    most = max((desk.loads[name] for name, pile in piles.items() if pile), default=0)
    if most <= desk.loads[joiner] + 1:
        return None

    def rank(choice: tuple[str, tuple[str, ...]]) -> tuple[int, bytes]:
        name, partners = choice
        gain = desk.meetings(joiner, partners) - desk.meetings(name, partners)
        return gain, _draw(seed, piles[name][partners][-1], joiner)

    choices = [(name, partners) for name in piles if desk.loads[name] == most for partners in piles[name]]
    giver, partners = min(choices, key=rank)
    return piles[giver][partners].pop()


# -- what all use --------------------------------------------------------------------------------------------


def _checked(seats: Iterable[Seat], person: str, people: Sequence[str]) -> list[Seat]:
    twice = [name for name, n in Counter(people).items() if n > 1]
    if twice:
        raise UserError(f"annotator '{twice[0]}' occurs more than once.")
    if person in people:
        raise UserError(f"'{person}' cannot be among the others.")
    ordered = sorted(seats, key=lambda seat: (seat.item, seat.slot, seat.annotator))
    places, holders = set(), set()
    for seat in ordered:
        if (seat.item, seat.slot) in places:
            raise UserError(f"slot {seat.slot} of item '{seat.item}' occurs more than once.")
        if (seat.item, seat.annotator) in holders:
            raise UserError(f"'{seat.annotator}' has two slots of item '{seat.item}'.")
        places.add((seat.item, seat.slot))
        holders.add((seat.item, seat.annotator))
    return ordered


def _loads(seats: Iterable[Seat], people: Sequence[str]) -> dict[str, int]:
    found = Counter(seat.annotator for seat in seats)
    return {name: found[name] for name in people}


def _pairs(seats: Iterable[Seat], people: Sequence[str]) -> dict[Pair, int]:
    groups: dict[str, list[str]] = defaultdict(list)
    for seat in seats:
        groups[seat.item].append(seat.annotator)
    return count_pairs(groups.values(), people)


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def _spread(counts: Iterable[int]) -> int:
    found = list(counts)
    return max(found, default=0) - min(found, default=0)


def _draw(seed: int, seat: Seat, person: str) -> bytes:
    parts = ["repair", str(seed), str(seat.slot), person, seat.item]
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()
