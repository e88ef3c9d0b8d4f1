"""Splits of a data set: made by groups so that nothing leaks, and looked over for what does.

A *key* is anything that two records share and that a model could learn by heart: a person, an environment, a video, an
activity, a category. Records that share a key, directly or through others, form a group, and a group is never divided.
How evenly the subsets come out is then up to the groups; how far they are off is told.
"""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal, get_args

from proctor.datasets.dataset import Split
from proctor.errors import UserError

__all__ = [
    "DEFAULT_FRACTIONS",
    "Leak",
    "LeakageReport",
    "MadeSplit",
    "NearDuplicate",
    "SplitDifference",
    "category_keys",
    "compare_splits",
    "find_near_duplicates",
    "group_records",
    "leakage_report",
    "split_records",
]

DEFAULT_FRACTIONS: Final[Mapping[str, float]] = {"train": 0.8, "val": 0.1, "test": 0.1}

MOST_EXCHANGED: Final = 120
"""With more groups than this they are dealt out once and not exchanged: single ones hardly matter then."""

Keys = Mapping[str, Collection[str]]
"""Keys of every record by its id."""
Fill = Literal["balanced", "in-order"]
"""How groups are assigned: where they are missed most, or filling the subsets one after the other."""


# -- groups ------------------------------------------------------------------------------------------------------


def category_keys(paths: Iterable[Sequence[str]], level: int = 3) -> frozenset[str]:
    """Return the names of a manual's categories at a level, over all its paths from the root.

    Args:
        paths: from the root (level 0) to the leaf; level 1 is the top category.
        level: wanted; of a shorter path the deepest category is taken, and ``Others`` of a path that is only the root.

    Returns:
        names alone: two categories of one name in different places count as one, so that nothing leaks through them.
        Source: Wu et al. 2022.

    Raises:
        UserError: if the level is below 1.
    """
    if level < 1:
        raise UserError(f"the level of a category is {level}.", hint="1 is the top level, 3 the third")
    return frozenset(path[min(level, len(path) - 1)] if len(path) > 1 else "Others" for path in paths if path)


def group_records(keys: Keys) -> tuple[tuple[str, ...], ...]:
    """Join records that share a key, directly or through others (union-find).

    Args:
        keys: of every record; one without keys is a group of its own.

    Returns:
        groups in the order of their first record, records in the order given.
    """
    parent = {id_: id_ for id_ in keys}

    def root(id_: str) -> str:
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    first: dict[str, str] = {}
    for id_, own in keys.items():
        for key in own:
            other = first.setdefault(key, id_)
            parent[root(id_)] = root(other)
    groups: dict[str, list[str]] = defaultdict(list)
    for id_ in keys:
        groups[root(id_)].append(id_)
    return tuple(map(tuple, groups.values()))


@dataclass(frozen=True, slots=True)
class MadeSplit:
    """A split, and how near it came to what was wanted.

    Attributes:
        split: ids by subset, in the order of the data set.
        groups: number of groups in each subset.
        wanted: target shares, they add up to 1.
        reached: shares of the records.
        largest: records in the largest group.
        notes: what was not possible.
    """

    split: Split
    groups: Mapping[str, int]
    wanted: Mapping[str, float]
    reached: Mapping[str, float]
    largest: int
    notes: tuple[str, ...] = ()


def split_records(
    keys: Keys,
    fractions: Mapping[str, float] = DEFAULT_FRACTIONS,
    *,
    rng: random.Random,
    strata: Mapping[str, str] | None = None,
    fill: Fill = "balanced",
) -> MadeSplit:
    """Deal records out to subsets so that no key occurs in two of them.

    Args:
        keys: of every record; records that share one stay together.
        fractions: share of the records that each subset should get; they are scaled to add up to 1.
        rng: decides between groups of one size; equal seeds give equal splits.
        strata: a label of each record (its activity, whether it has mistakes) whose mixture should be alike in all
            subsets, as far as the groups allow.
        fill: ``balanced`` deals the largest groups first, each to where it is missed most, and exchanges a few afterwards; ``in-order`` shuffles the
            groups and fills the last subset, then the one before it, and leaves the rest to the first
            (Wu et al. 2022).

    Raises:
        UserError: if there is nothing to split, or the fractions make no sense.
    """
    wanted = _shares(fractions)
    if fill not in get_args(Fill):
        raise UserError(f"fill is {fill!r}.", hint=f"one of {', '.join(get_args(Fill))}")
    if not keys:
        raise UserError("there are no records to split.", hint="see 'proctor datasets check' for the reasons")
    groups = list(group_records(keys))
    rng.shuffle(groups)
    if fill == "balanced":
        home = _deal_balanced(groups, wanted, len(keys), strata or {})
    elif strata:
        raise UserError("groups that are dealt out in order cannot be stratified.", hint="use 'balanced'")
    else:
        home = _deal_in_order(groups, wanted, len(keys))
    place = {id_: name for group, name in zip(groups, home, strict=True) for id_ in group}
    split = {name: tuple(i for i in keys if place[i] == name) for name in wanted}
    reached = {name: len(ids) / len(keys) for name, ids in split.items()}
    largest = max(map(len, groups))
    dealt = Counter(home)
    return MadeSplit(
        split,
        {name: dealt[name] for name in wanted},
        wanted,
        reached,
        largest,
        tuple(_notes(wanted, reached, len(groups), largest, len(keys))),
    )


def _shares(fractions: Mapping[str, float]) -> dict[str, float]:
    strange = [name for name, f in fractions.items() if not (math.isfinite(f) and f > 0) or not name.strip()]
    if strange or not fractions:
        seen = (
            f"the fraction of {strange[0][:40]!r} is {fractions[strange[0]]!r}"
            if strange
            else "there are no subsets"
        )
        raise UserError(f"{seen}.", hint="give positive shares such as train=0.8,val=0.1,test=0.1")
    total = math.fsum(fractions.values())
    return {name: f / total for name, f in fractions.items()}


_ALL: Final = ""
"""Label of every record beside its stratum."""


def _deal_balanced(
    groups: Sequence[Sequence[str]], wanted: Mapping[str, float], total: int, strata: Mapping[str, str]
) -> list[str]:
    """Deal the largest groups first, then move and exchange groups as long as that brings the counts nearer."""
    loads = [
        Counter([_ALL] * len(group) + [f"={strata[i]}" for i in group if i in strata]) for group in groups
    ]
    sizes = Counter({_ALL: total}) + Counter(f"={label}" for label in strata.values())
    deal = _Deal({name: {label: share * n for label, n in sizes.items()} for name, share in wanted.items()})
    home = [""] * len(groups)
    for g in sorted(range(len(groups)), key=lambda g: -len(groups[g])):
        home[g] = max(wanted, key=lambda name: (deal.gain(name, loads[g]), deal.lack(name)))
        deal.put(home[g], loads[g])
    if len(groups) <= MOST_EXCHANGED:
        _improve(deal, loads, home)
    return home


@dataclass(slots=True)
class _Deal:
    """What each subset has, against what it should have, by label."""

    targets: Mapping[str, Mapping[str, float]]
    has: dict[str, Counter[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.has = {name: Counter() for name in self.targets}

    def put(self, name: str, load: Mapping[str, int], sign: int = 1) -> None:
        for label, n in load.items():
            self.has[name][label] += sign * n

    def gain(self, name: str, load: Mapping[str, int], sign: int = 1) -> float:
        """Return by how many records the subset comes nearer to its targets; negative when it goes away."""
        has, target = self.has[name], self.targets[name]
        return sum(
            abs(has[label] - target.get(label, 0.0)) - abs(has[label] + sign * n - target.get(label, 0.0))
            for label, n in load.items()
        )

    def lack(self, name: str) -> float:
        """Return which share of its target the subset lacks."""
        return 1 - self.has[name][_ALL] / self.targets[name][_ALL]


def _improve(deal: _Deal, loads: Sequence[Counter[str]], home: list[str]) -> None:
    """Move single groups and exchange pairs; every change brings the counts nearer, so it ends."""
    improved = True
    while improved:
        improved = False
        for g, load in enumerate(loads):
            for name in deal.targets:
                if name != home[g] and _move(deal, [(load, home[g], name)]):
                    home[g], improved = name, True
        for g, h in combinations(range(len(loads)), 2):
            if home[g] != home[h] and _move(
                deal, [(loads[g], home[g], home[h]), (loads[h], home[h], home[g])]
            ):
                home[g], home[h], improved = home[h], home[g], True


def _move(deal: _Deal, moves: Sequence[tuple[Counter[str], str, str]]) -> bool:
    """Make the moves if all together bring the counts nearer; else leave everything as it is."""
    gain = 0.0
    for load, old, new in moves:
        gain += deal.gain(old, load, -1)
        deal.put(old, load, -1)
        gain += deal.gain(new, load)
        deal.put(new, load)
    if gain > 1e-6:
        return True
    for load, old, new in reversed(moves):
        deal.put(new, load, -1)
        deal.put(old, load)
    return False


def _deal_in_order(groups: Sequence[Sequence[str]], wanted: Mapping[str, float], total: int) -> list[str]:
    names = list(wanted)
    home = [names[0]] * len(groups)
    count = dict.fromkeys(names, 0)
    for g, group in enumerate(groups):
        for name in reversed(names[1:]):
            if count[name] < wanted[name] * total and count[name] + len(group) <= wanted[name] * total + 0.5:
                home[g] = name
                count[name] += len(group)
                break
    return home


def _notes(
    wanted: Mapping[str, float], reached: Mapping[str, float], groups: int, largest: int, total: int
) -> Iterable[str]:
    if groups == 1:
        yield "all records hang together through shared keys: there is only one group, and it cannot be divided"
    elif groups < len(wanted):
        yield f"there are {groups} groups for {len(wanted)} subsets"
    elif largest > max(wanted.values()) * total:
        yield f"the largest group holds {largest} of {total} records, more than the largest subset should"
    for name, share in wanted.items():
        if reached[name] == 0:
            yield f"'{name}' is empty"
        elif abs(reached[name] - share) > 0.02 + 1 / total:
            yield f"'{name}' holds {reached[name]:.1%} of the records where {share:.1%} were wanted"


# -- leakage -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leak:
    """A value that occurs in more than one subset.

    Attributes:
        attribute: of the records (``person``).
        value: that leaks.
        counts: records with it, by subset.
    """

    attribute: str
    value: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two texts of different subsets that are nearly the same: ids, subsets, and the likeness (Jaccard of words)."""

    a: str
    b: str
    subsets: tuple[str, str]
    likeness: float


@dataclass(frozen=True, slots=True)
class LeakageReport:
    """What a split lets through.

    Attributes:
        sizes: records by subset.
        leaks: by attribute, the values in more than one subset, most records first; an attribute that is disjoint has
            an empty entry.
        values: how many values each attribute has.
        twice: ids that are named more than once, with the subsets that do.
        unknown: ids in the split that the data set does not have.
        unused: ids of the data set that are in no subset.
        near: texts that are nearly the same in different subsets; empty when no texts were given.
    """

    sizes: Mapping[str, int]
    leaks: Mapping[str, tuple[Leak, ...]]
    values: Mapping[str, int]
    twice: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    unused: tuple[str, ...]
    near: tuple[NearDuplicate, ...] = ()

    @property
    def disjoint(self) -> tuple[str, ...]:
        """Attributes of which no value occurs in two subsets."""
        return tuple(name for name, found in self.leaks.items() if not found)


def leakage_report(
    split: Split,
    keys: Mapping[str, Keys],
    *,
    texts: Mapping[str, str] | None = None,
    likeness: float = 0.8,
) -> LeakageReport:
    """Say which values of which attributes occur in more than one subset.

    Args:
        split: ids by subset.
        keys: of every record, by attribute: ``{"person": {"1_7": {"3"}}}``. All ids that any attribute knows are those
            of the data set.
        texts: of the records, to be compared across subsets; no text, no comparison.
        likeness: from which share of common words (Jaccard) two texts count as nearly the same.
    """
    subsets: dict[str, list[str]] = defaultdict(list)
    for name, ids in split.items():
        for id_ in ids:
            subsets[id_].append(name)
    known = dict.fromkeys(i for own in keys.values() for i in own)
    return LeakageReport(
        {name: len(ids) for name, ids in split.items()},
        {name: _leaks(name, own, subsets) for name, own in keys.items()},
        {name: len({value for values in own.values() for value in values}) for name, own in keys.items()},
        {i: tuple(names) for i, names in subsets.items() if len(names) > 1},
        tuple(i for i in subsets if i not in known) if known else (),
        tuple(i for i in known if i not in subsets),
        find_near_duplicates(split, texts, likeness) if texts else (),
    )


def _leaks(attribute: str, keys: Keys, subsets: Mapping[str, Sequence[str]]) -> tuple[Leak, ...]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for id_, values in keys.items():
        for value in values:
            found[value].update(dict.fromkeys(subsets.get(id_, ()), 1))
    leaks = [Leak(attribute, value, dict(counts)) for value, counts in found.items() if len(counts) > 1]
    return tuple(sorted(leaks, key=lambda leak: (-sum(leak.counts.values()), leak.value)))


def find_near_duplicates(
    split: Split, texts: Mapping[str, str], likeness: float = 0.8
) -> tuple[NearDuplicate, ...]:
    """Return pairs of texts in different subsets that share most of their words, most alike first.

    Exact, without comparing every pair: two sets of words that are alike enough share one of their rarest words (prefix
    filter, Bayardo et al. 2007).

    Args:
        split: ids by subset.
        texts: of records; the others are left out. Letter case, order and number of words do not matter.
        likeness: least share of common words (Jaccard), above 0 and at most 1.

    Raises:
        UserError: if the likeness is out of range.
    """
    if not 0 < likeness <= 1:
        raise UserError(
            f"the likeness is {likeness}.", hint="give a share above 0 and at most 1, such as 0.8"
        )
    home = {id_: name for name, ids in split.items() for id_ in ids}
    words = {i: frozenset(re.findall(r"\w+", texts[i].casefold())) for i in home if i in texts}
    often = Counter(word for own in words.values() for word in own)
    index: dict[str, tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
    found = []
    for id_ in sorted(words, key=lambda i: (len(words[i]), i)):
        own = sorted(words[id_], key=lambda w: (often[w], w))
        prefix = own[: len(own) - math.ceil(likeness * len(own) - 1e-9) + 1]
        near: set[str] = set()
        for word in prefix:
            lengths, others = index[word]
            near.update(
                others[bisect_left(lengths, likeness * len(own) - 1e-9) :]
            )  # shorter ones cannot be alike
        for other in sorted(near):
            if home[other] == home[id_]:
                continue
            both = len(words[id_] & words[other])
            share = both / (len(words[id_]) + len(words[other]) - both)
            if share >= likeness - 1e-9:
                found.append(NearDuplicate(other, id_, (home[other], home[id_]), share))
        for word in prefix:
            index[word][0].append(len(own))
            index[word][1].append(id_)
    return tuple(sorted(found, key=lambda n: (-n.likeness, n.a, n.b)))


# -- two splits --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SplitDifference:
    """A record that two splits put into different subsets; None where it is in none."""

    id: str
    ours: str | None
    theirs: str | None


def compare_splits(ours: Split, theirs: Split) -> tuple[SplitDifference, ...]:
    """Return the records that are not in the same subset; the order of the ids does not matter.

    A record that is in several subsets of one split is compared by all of them.
    """
    homes: list[dict[str, str]] = []
    for split in (ours, theirs):
        home: dict[str, set[str]] = defaultdict(set)
        for name, ids in split.items():
            for id_ in ids:
                home[id_].add(name)
        homes.append({i: ", ".join(sorted(names)) for i, names in home.items()})
    every = dict.fromkeys((*homes[0], *homes[1]))
    return tuple(
        SplitDifference(i, homes[0].get(i), homes[1].get(i))
        for i in every
        if homes[0].get(i) != homes[1].get(i)
    )
