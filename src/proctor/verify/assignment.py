"""Who verifies what.

``assign_published`` is the rule recovered from the published file (promqa.md 4.4): position ``p`` goes to pair
``p mod 10`` of the pairs of five annotators in lexicographic order. ``assign_balanced`` is ours: any number of
annotators, any number of verdicts for each candidate, loads that differ by at most one, and pairs of annotators
that meet about equally often, so that agreement can be computed between all of them.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from proctor.errors import UserError

__all__ = ["assign_balanced", "assign_published", "workloads"]


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
    return int.from_bytes(hashlib.sha256(f"assignment\x00{seed}\x00{item}".encode()).digest()[:8], "big")


def _check(ids: Sequence[str], annotators: Sequence[str], per_item: int) -> None:
    for what, names in (("candidate", ids), ("annotator", annotators)):
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise UserError(f"{what} '{twice[0]}' occurs more than once.")
    if not 1 <= per_item <= len(annotators):
        raise UserError(
            f"{per_item} verdicts for each candidate were asked for, there are {len(annotators)} annotators.",
            hint="name more annotators or ask for fewer verdicts",
        )
