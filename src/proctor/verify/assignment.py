"""Who verifies what.

``deal_pairs`` deals items to pairs of annotators (or to single people, or to groups of ``k``) so that every pair
meets equally often, overall and inside every stratum: a fixed sequence of pairs is dealt round and round over the
shuffled items, so any run of items takes consecutive pairs of it. With ``Constraints`` (who must not see what, how
much a person can take, languages) the same evenness is sought by a transportation problem
(``verify.transport``). ``assign_published`` is the rule recovered from the published file: position ``p`` goes to
pair ``p mod 10`` of the pairs of five annotators in lexicographic order. ``assign_balanced`` adds people to what
stands already, greedily.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb, gcd
from typing import TYPE_CHECKING

import numpy as np

from proctor.errors import UserError
from proctor.said import say, say_count

if TYPE_CHECKING:
    from proctor.verify.transport import Shortage

__all__ = [
    "Constraints",
    "Deal",
    "Pair",
    "StratumSpread",
    "assign_balanced",
    "assign_published",
    "count_pairs",
    "deal_pairs",
    "pair_sequence",
    "workloads",
]

Pair = tuple[str, str]
"""Two annotators, sorted by name."""

_MAX_CELLS = 150_000
"""Kinds of items times pairs, up to which the pairs are solved for exactly (about 4 s)."""


def assign_published(
    ids: Sequence[str], annotators: Sequence[str] = ("0", "1", "2", "3", "4"), *, per_item: int = 2
) -> dict[str, tuple[str, ...]]:
    """Give position ``p`` to group ``p mod n`` of the ``n`` groups of annotators in lexicographic order.

    Raises:
        UserError: if an id or an annotator occurs twice, or there are too few annotators.
    """
    _check(ids, annotators, per_item)
    groups = list(combinations(annotators, per_item))
    return {item: groups[p % len(groups)] for p, item in enumerate(ids)}


def assign_balanced(
    ids: Sequence[str],
    annotators: Sequence[str],
    *,
    per_item: int = 2,
    seed: int = 0,
    strata: Mapping[str, str] | None = None,
    given: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Assign ``per_item`` annotators to every id; the order of ``ids`` and ``annotators`` changes nothing.

    Candidates are visited stratum by stratum, in a seeded order; each goes to the annotators with the least work
    so far, among these to those who met least often, ties drawn. Loads therefore never differ by more than one
    (unless ``given`` already does), overall and nearly so inside every stratum.

    Args:
        ids: of the candidates.
        annotators: their names.
        per_item: how many different annotators judge each candidate.
        seed: of the run.
        strata: id to group (the question type, say) inside of which the load should be even, too.
        given: assignments that stand already and are kept; their load counts.

    Returns:
        The assignment in the order of ``ids``; the annotators of each are sorted by name.

    Raises:
        UserError: if an id or an annotator occurs twice, or there are too few annotators.
    """
    _check(ids, annotators, per_item)
    standing = {item: tuple(names) for item, names in (given or {}).items() if item in set(ids)}
    load = Counter(dict.fromkeys(sorted(annotators), 0))
    met: Counter[frozenset[str]] = Counter()
    for names in standing.values():
        load.update(name for name in names if name in load)
        met.update(frozenset(pair) for pair in combinations(names, 2))
    result = dict(standing)
    for item in sorted(set(ids) - set(standing), key=lambda i: ((strata or {}).get(i, ""), _draw(seed, i))):
        chosen = _choose(load, met, per_item, random.Random(_draw(seed, item)))  # noqa: S311
        load.update(chosen)
        met.update(frozenset(pair) for pair in combinations(chosen, 2))
        result[item] = tuple(sorted(chosen))
    return {item: result[item] for item in ids}


def workloads(assignment: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Count the candidates of each annotator."""
    return dict(sorted(Counter(name for names in assignment.values() for name in names).items()))


def _choose(
    load: Mapping[str, int], met: Mapping[frozenset[str], int], count: int, rng: random.Random
) -> list[str]:
    chosen: list[str] = []
    for _ in range(count):
        free = [name for name in load if name not in chosen]
        lot = {name: rng.random() for name in free}
        chosen.append(min(free, key=lambda n: (load[n], sum(met[frozenset((n, c))] for c in chosen), lot[n])))
    return chosen


def _draw(seed: int, item: str) -> int:
    return int.from_bytes(
        hashlib.sha256(f"assignment\x00{seed}\x00{item}".encode("utf-8", "surrogatepass")).digest()[:8], "big"
    )


def _check(ids: Sequence[str], annotators: Sequence[str], per_item: int) -> None:
    for what, names in (("candidate", ids), ("annotator", annotators)):
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise UserError(f"{what} '{twice[0]}' occurs more than once.")
    if not 1 <= per_item <= len(annotators):
        raise UserError(
            say(
                "{per_item} verdicts for each candidate were asked for, there are {annotators} annotators.",
                per_item=per_item,
                annotators=len(annotators),
            ),
            hint=say("name more annotators or ask for fewer verdicts"),
        )


# -- the deal ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a deal or a repair must respect.

    Attributes:
        forbidden: ``(annotator, item)`` that must not meet: the person performed that recording, wrote the item.
        capacity: most items of a person, all stages of work included; who is not named has no limit.
        languages: languages of a person; who is not named is taken to know all.
        item_language: language of an item; an item that is not named suits everybody.
    """

    forbidden: Collection[tuple[str, str]] = frozenset()
    capacity: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, Collection[str]] = field(default_factory=dict)
    item_language: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "forbidden", frozenset(self.forbidden))
        for name, most in self.capacity.items():
            if type(most) is not int or most < 0:
                raise UserError(f"the capacity of '{name}' is {most!r}, not a whole number from 0 up.")

    def reason(self, annotator: str, item: str) -> str:
        """Say why the person must not judge the item; empty when they may."""
        if (annotator, item) in self.forbidden:
            return say("must not judge it")
        language = self.item_language.get(item)
        known = self.languages.get(annotator)
        names = [known] if isinstance(known, str) else known
        if language is not None and names is not None and language.casefold() not in map(str.casefold, names):
            return say("does not know its language ({language})", language=language)
        return ""

    def allows(self, annotator: str, item: str) -> bool:
        """Tell whether the person may judge the item; capacity is looked at elsewhere."""
        return not self.reason(annotator, item)


@dataclass(frozen=True, slots=True)
class StratumSpread:
    """How even a deal is inside one stratum.

    Attributes:
        stratum: its name; empty when the deal has no strata.
        items: how many.
        pairs: least and most items of a pair of annotators.
        loads: least and most items of an annotator.
    """

    stratum: str
    items: int
    pairs: tuple[int, int]
    loads: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Deal:
    """Who judges what, and how even that is; what a coordinator looks at before it is applied.

    Attributes:
        assignment: annotators of each item, sorted by name; items in the order of their ids. The place in the
            tuple is the slot.
        annotators: everybody who could be given work, sorted.
        per_item: annotators of each item.
        seed: of the run.
        pair_counts: items that the two people share, for every pair, in order of names (also when it is 0).
        loads: items of each annotator.
        strata: evenness inside each stratum, in order of their names.
        constrained: True when constraints kept the plain deal from being used.
    """

    assignment: Mapping[str, tuple[str, ...]]
    annotators: tuple[str, ...]
    per_item: int
    seed: int
    pair_counts: Mapping[Pair, int]
    loads: Mapping[str, int]
    strata: tuple[StratumSpread, ...]
    constrained: bool = False

    @property
    def pair_spread(self) -> int:
        """Most less least items of a pair."""
        return _spread(self.pair_counts.values())

    @property
    def load_spread(self) -> int:
        """Most less least items of a person."""
        return _spread(self.loads.values())


def deal_pairs(
    ids: Sequence[str],
    annotators: Sequence[str],
    *,
    seed: int,
    strata: Mapping[str, str] | None = None,
    per_item: int = 2,
    constraints: Constraints | None = None,
) -> Deal:
    """Deal every item to ``per_item`` annotators; the order of ``ids`` and ``annotators`` changes nothing.

    For pairs: counts of pairs differ by at most one, overall and inside every stratum, and loads
    by at most three. For single people loads differ by at most one, overall and inside every stratum. For larger
    groups the sequence is a cyclic difference design, as flat as one of at most ``A`` base blocks can be; with up to eleven
    people and five an item, loads and counts of pairs differ by ``per_item + 2`` at most.

    Constraints are hard. If the plain deal respects them it is used; otherwise the evenest deal that does is
    solved for, and ``Deal`` says how even it is. Groups of more than two are then dealt from the evenest loads,
    and pairs are only evened out greedily.

    Args:
        ids: of the items.
        annotators: their names.
        seed: of the run.
        strata: item to group (the question type, say) inside of which the deal is even, too; names every item.
        per_item: how many different annotators judge each item.
        constraints: to respect.

    Raises:
        UserError: if an id or annotator occurs twice, there are too few annotators, strata or constraints do not
            fit the items and people, or items remain for whom there are not enough people (it says which).
    """
    _check(ids, annotators, per_item)
    names, items = sorted(annotators), sorted(ids)
    kind = _strata(items, strata)
    dealt = _deal_plainly(items, names, per_item, seed, kind)
    constrained = False
    if constraints is not None:
        _check_constraints(constraints, items, names)
        constrained = not _respects(dealt, constraints)
        if constrained:
            dealt = _deal_within(items, names, per_item, seed, kind, constraints)
    return Deal(
        assignment={item: tuple(sorted(dealt[item])) for item in items},
        annotators=tuple(names),
        per_item=per_item,
        seed=seed,
        pair_counts=count_pairs(dealt.values(), names),
        loads=_loads(dealt.values(), names),
        strata=_spreads(dealt, names, kind),
        constrained=constrained,
    )


def count_pairs(groups: Iterable[Sequence[str]], annotators: Sequence[str]) -> dict[Pair, int]:
    """Count the items that each pair of ``annotators`` shares; pairs with others are left out."""
    counts = dict.fromkeys(combinations(sorted(annotators), 2), 0)
    for group in groups:
        for pair in combinations(sorted(group), 2):
            if pair in counts:
                counts[pair] += 1
    return counts


def pair_sequence(people: int, per_item: int = 2) -> tuple[tuple[int, ...], ...]:
    """Return the groups of ``per_item`` out of ``people`` in the order in which they are dealt, round and round.

    Pairs come in circle-method order: round after round in which nobody occurs twice. Larger groups are the
    translates of base blocks, chosen one by one so that the differences inside them are as even as possible; the
    sequence ends where they are equal (then every pair meets equally often), at the latest after ``4 * people``
    base blocks (12 of 91 designs with 4 to 16 people get that far; there pairs differ by two at most).
    """
    if per_item == 1:
        return tuple((person,) for person in range(people))
    if per_item == people:
        return (tuple(range(people)),)
    return _circle(people) if per_item == 2 else _cyclic_design(people, per_item)


def _circle(people: int) -> tuple[tuple[int, ...], ...]:
    seats = people + people % 2  # the last seat is empty when people are odd
    rounds = []
    for turn in range(seats - 1):
        ring = [(turn + step) % (seats - 1) for step in range(seats - 1)]
        pairs = [(seats - 1, ring[0]), *((ring[i], ring[-i]) for i in range(1, seats // 2))]
        rounds += [(min(p), max(p)) for p in pairs if max(p) < people]
    return tuple(rounds)


def _cyclic_design(people: int, size: int) -> tuple[tuple[int, ...], ...]:
    blocks = _base_blocks(people, size)
    differences = np.stack(
        [np.bincount((np.subtract.outer(b, b) % people).ravel(), minlength=people) for b in blocks]
    )
    counts = np.zeros(people, dtype=np.int64)
    sequence: list[tuple[int, ...]] = []
    for _ in range(4 * people):
        best = int(((counts + differences)[:, 1:] ** 2).sum(axis=1).argmin())
        counts += differences[best]
        sequence += _translates(blocks[best], people)
        if np.ptp(counts[1:]) == 0:
            break
    return tuple(sequence)


def _base_blocks(people: int, size: int) -> list[tuple[int, ...]]:
    """Return the blocks that hold 0; a fixed sample of them where they are very many."""
    if comb(people - 1, size - 1) <= 3000:
        return [(0, *rest) for rest in combinations(range(1, people), size - 1)]
    rng = random.Random(0)  # noqa: S311
    return sorted({(0, *sorted(rng.sample(range(1, people), size - 1))) for _ in range(3000)})


def _translates(block: Sequence[int], people: int) -> list[tuple[int, ...]]:
    """Return the ``people`` translates in the step order in which short runs share the load best."""
    steps = [step for step in range(1, people) if gcd(step, people) == 1]

    def unevenness(step: int) -> int:
        load, worst = np.zeros(people, dtype=np.int64), 0
        for turn in range(people):
            load[[(place + turn * step) % people for place in block]] += 1
            worst += int((load**2).sum())
        return worst

    best = min(steps, key=lambda step: (unevenness(step), step))
    return [tuple(sorted((place + turn * best) % people for place in block)) for turn in range(people)]


def _deal_plainly(
    items: Sequence[str], names: Sequence[str], per_item: int, seed: int, kind: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    rng = random.Random(_draw(seed, "\x00people"))  # noqa: S311
    people = list(names)
    rng.shuffle(people)
    groups = pair_sequence(len(people), per_item)
    offset = rng.randrange(len(groups))
    kinds = sorted(set(kind.values()))
    rng.shuffle(kinds)
    place = {name: n for n, name in enumerate(kinds)}
    shuffled = sorted(items, key=lambda item: (place[kind[item]], _draw(seed, item)))
    return {
        item: tuple(people[p] for p in groups[(offset + n) % len(groups)]) for n, item in enumerate(shuffled)
    }


# -- the deal within constraints -----------------------------------------------------------------------------


def _deal_within(
    items: Sequence[str],
    names: Sequence[str],
    per_item: int,
    seed: int,
    kind: Mapping[str, str],
    constraints: Constraints,
) -> dict[str, tuple[str, ...]]:
    rng = random.Random(_draw(seed, "\x00constraints"))  # noqa: S311
    people = list(names)
    rng.shuffle(people)
    free = {item: tuple(constraints.allows(name, item) for name in people) for item in items}
    kinds: dict[tuple[str, tuple[bool, ...]], list[str]] = defaultdict(list)
    for item in sorted(items, key=lambda item: _draw(seed, item)):
        kinds[kind[item], free[item]].append(item)
    keys = sorted(kinds)
    rows = [kinds[key] for key in keys]
    may = np.array([key[1] for key in keys], dtype=bool)
    number = {name: n for n, name in enumerate(sorted(set(kind.values())))}
    strata = [number[key[0]] for key in keys]
    room = [constraints.capacity.get(name, len(items)) for name in people]
    _check_enough(rows, may, people, room, per_item)
    return _deal_groups(rows, may, people, room, per_item, strata) or _deal_loads(
        rows, may, people, room, per_item, strata
    )


def _deal_groups(
    rows: Sequence[Sequence[str]],
    may: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    people: Sequence[str],
    room: Sequence[int],
    per_item: int,
    strata: Sequence[int],
) -> dict[str, tuple[str, ...]] | None:
    """Deal by pairs (or single people) exactly; None where that is too large or cannot be finished."""
    from proctor.verify.transport import Limit, send_evenly  # scipy takes half a second to load

    if per_item > 2 or comb(len(people), per_item) * len(rows) > _MAX_CELLS:
        return None
    groups = sorted(set(pair_sequence(len(people), per_item)))
    allowed = np.stack([may[:, list(group)].all(axis=1) for group in groups], axis=1)
    items = sum(map(len, rows))
    limits = [
        Limit(tuple(j for j, group in enumerate(groups) if p in group), most)
        for p, most in enumerate(room)
        if most < items
    ]
    sent = send_evenly([len(row) for row in rows], allowed, strata=[strata], limits=limits)
    if sent is None:
        return None
    dealt = {}
    for row, amounts in zip(rows, sent, strict=True):
        queue = iter(row)
        for group, amount in zip(groups, amounts, strict=True):
            dealt.update({item: tuple(people[p] for p in group) for item in islice(queue, int(amount))})
    return dealt


def _deal_loads(
    rows: Sequence[Sequence[str]],
    may: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    people: Sequence[str],
    room: Sequence[int],
    per_item: int,
    strata: Sequence[int],
) -> dict[str, tuple[str, ...]]:
    """Solve for the evenest loads of every kind of item, then split each kind's loads into groups.

    A split always exists: whoever still owes as many items as are left has to be taken, and the rest may be
    chosen freely, so it goes to those who met least often.
    """
    from proctor.verify.transport import Limit, send_evenly

    sent = send_evenly(
        [len(row) * per_item for row in rows],
        may,
        cell_most=[len(row) for row in rows],
        strata=[strata, range(len(rows))],
        limits=[Limit((p,), most) for p, most in enumerate(room)],
    )
    if sent is None:
        raise AssertionError("a deal that the flow allows was not found")
    met: Counter[tuple[int, int]] = Counter()
    dealt = {}
    for row, owed in zip(rows, sent, strict=True):
        for left, item in zip(range(len(row), 0, -1), row, strict=True):
            group = [int(p) for p in np.flatnonzero(owed == left)]
            while len(group) < per_item:
                free = [p for p in range(len(people)) if p not in group and owed[p] > 0]
                group.append(
                    min(
                        free,
                        key=lambda p: (
                            sum(met.get((min(p, other), max(p, other)), 0) for other in group),
                            -owed[p],
                            p,
                        ),
                    )
                )
            owed[group] -= 1
            met.update(combinations(sorted(group), 2))
            dealt[item] = tuple(people[p] for p in group)
    return dealt


def _check_enough(
    rows: Sequence[Sequence[str]],
    may: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    people: Sequence[str],
    room: Sequence[int],
    per_item: int,
) -> None:
    from proctor.verify.transport import find_shortage

    lonely = [n for n in range(len(rows)) if may[n].sum() < per_item]
    if lonely:
        told = sorted(
            (item, sorted(name for p, name in enumerate(people) if may[n, p]))
            for n in lonely
            for item in rows[n]
        )
        listed = "; ".join(f"'{item}': {_listed(who) or 'nobody'}" for item, who in told[:5])
        raise UserError(
            say(
                "{n} of {total} items have fewer than {per_item} people who may judge them ({listed}).",
                n=len(told),
                total=sum(map(len, rows)),
                per_item=per_item,
                listed=listed + ("; ..." if len(told) > 5 else ""),
            ),
            hint=say("name more annotators, or leave these items out"),
        )
    sizes = [len(row) for row in rows]
    short = find_shortage([size * per_item for size in sizes], may, sizes, room)
    if short is not None:
        raise UserError(
            _shortage(short, rows, people),
            hint=say("raise their capacity, name more annotators, or deal fewer items"),
        )


def _shortage(short: Shortage, rows: Sequence[Sequence[str]], people: Sequence[str]) -> str:
    items = sorted(item for n in short.rows for item in rows[n])
    listed = _listed(items[:5]) + (", ..." if len(items) > 5 else "")
    who = sorted(people[p] for p in short.columns)
    return say_count(
        len(who),
        "{items} items ({listed}) need {wanted} judgements of {who}, who has room for {room}; {rest} would have nobody.",
        "{items} items ({listed}) need {wanted} judgements of {who}, who have room for {room}; {rest} would have nobody.",
        items=len(items),
        listed=listed,
        wanted=short.wanted,
        who=_listed(who),
        room=short.room,
        rest=short.wanted - short.room,
    )


# -- what both deals use -------------------------------------------------------------------------------------


def _strata(items: Sequence[str], strata: Mapping[str, str] | None) -> dict[str, str]:
    if strata is None:
        return dict.fromkeys(items, "")
    missing = [item for item in items if item not in strata]
    if missing:
        raise UserError(f"{len(missing)} items have no stratum, the first is '{missing[0]}'.")
    return {item: strata[item] for item in items}


def _check_constraints(constraints: Constraints, items: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that nobody has: a slip of the pen would lift a constraint without a word."""
    people, known = set(names), set(items)
    for what, given, valid in (
        ("annotator", [name for name, _ in constraints.forbidden], people),
        ("annotator", constraints.capacity, people),
        ("annotator", constraints.languages, people),
        ("item", [item for _, item in constraints.forbidden], known),
        ("item", constraints.item_language, known),
    ):
        strangers = sorted(set(given) - valid)
        if strangers:
            raise UserError(f"a constraint names the {what} '{strangers[0]}', which is not in this deal.")


def _respects(dealt: Mapping[str, Sequence[str]], constraints: Constraints) -> bool:
    loads = workloads(dealt)
    return all(constraints.allows(name, item) for item, names in dealt.items() for name in names) and all(
        loads.get(name, 0) <= most for name, most in constraints.capacity.items()
    )


def _loads(groups: Iterable[Sequence[str]], names: Sequence[str]) -> dict[str, int]:
    found = Counter(name for group in groups for name in group)
    return {name: found[name] for name in names}


def _spreads(
    dealt: Mapping[str, Sequence[str]], names: Sequence[str], kind: Mapping[str, str]
) -> tuple[StratumSpread, ...]:
    inside: dict[str, list[Sequence[str]]] = defaultdict(list)
    for item, group in dealt.items():
        inside[kind[item]].append(group)
    return tuple(
        StratumSpread(
            stratum,
            len(groups),
            _ends(count_pairs(groups, names).values()),
            _ends(_loads(groups, names).values()),
        )
        for stratum, groups in sorted(inside.items())
    )


def _ends(counts: Iterable[int]) -> tuple[int, int]:
    found = list(counts)
    return min(found, default=0), max(found, default=0)


def _spread(counts: Iterable[int]) -> int:
    least, most = _ends(counts)
    return most - least


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
