"""In which order people work.

An annotator takes one recording after the other, and inside a recording the clip that ends first: nobody has seen
the future of a clip. Adjudicators take the oldest cases, turn by turn of the question types,
see the cards of a case in an order of their own, and get some settled items again without knowing it (2.2). All of
it is computed from ids, so that the same people see the same order after a restart, and work that is added later
does not shuffle what is there.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from proctor.errors import UserError

__all__ = [
    "LEASE_SECONDS",
    "Clip",
    "Queue",
    "Ready",
    "adjudication_order",
    "card_order",
    "is_leased",
    "lease_until",
    "queue_order",
    "repeat_lot",
    "requeue",
]

LEASE_SECONDS: Final = 30 * 60.0
"""How long a case stays with the adjudicator who opened it, from the last sign of work."""

_CLOCK_SLACK: Final = 60.0


@dataclass(frozen=True, slots=True)
class Clip:
    """An item as far as its place in a queue goes.

    Attributes:
        item: its id.
        cluster: whose future must not be seen, such as a recording; an item is a cluster of its own if this is empty.
        place: in the cluster, such as the second up to which the item shows a recording, not negative; None for an item that
            gives nothing of its cluster away.
    """

    item: str
    cluster: str
    place: float | None


@dataclass(frozen=True, slots=True)
class Queue:
    """What a person has before them.

    Attributes:
        order: ids of the pending items.
        seen_future: of these, in the same order, the ones whose clip ends before one that the person has watched
            already: their judgement is not blind to the future, and nothing can be done but say so.
    """

    order: tuple[str, ...]
    seen_future: tuple[str, ...] = ()


def queue_order(items: Iterable[Clip], annotator: str, seed: int) -> tuple[str, ...]:
    """Order a person's items: recordings shuffled, each one's items by rising end time.

    Every recording (and every item among those that end together) has its place from ``(seed, annotator, id)``
    alone; the order of ``items`` changes nothing, and more items leave the others in their order.

    Raises:
        UserError: if an item occurs twice, or an end time is negative or not finite.
    """
    return requeue(items, (), annotator, seed).order


def requeue(pending: Iterable[Clip], watched: Iterable[Clip], annotator: str, seed: int) -> Queue:
    """Order what is pending when items were added or taken away in the midst of the work.

    Recordings of which the person has watched something come first, so that they are finished before the next one
    is opened. Inside every recording end times rise, whatever was added.

    Args:
        pending: items that are still to be submitted, also one whose page is open.
        watched: items whose clip the person has been shown, submitted or not, theirs still or not.
        annotator: id of the person.
        seed: of the run.

    Raises:
        UserError: as ``queue_order``; an item may well be pending and watched.
    """
    todo, seen = _checked(pending), _checked(watched)
    reached: dict[str, float] = {}
    for clip in seen:
        reached[_cluster(clip)] = max(clip.place or 0.0, reached.get(_cluster(clip), 0.0))

    def place(clip: Clip) -> tuple[bool, bytes, str, float, bytes, str]:
        cluster = _cluster(clip)
        lot = _lot(seed, annotator, "recording", cluster)
        return (
            cluster not in reached,
            lot,
            cluster,
            clip.place or 0.0,
            _lot(seed, annotator, "item", clip.item),
            clip.item,
        )

    ordered = sorted(todo, key=place)
    late = tuple(c.item for c in ordered if c.place is not None and c.place < reached.get(_cluster(c), 0.0))
    return Queue(tuple(c.item for c in ordered), late)


def _cluster(clip: Clip) -> str:
    return f"recording\x00{clip.cluster}" if clip.cluster else f"item\x00{clip.item}"


def _checked(clips: Iterable[Clip]) -> list[Clip]:
    found: dict[str, Clip] = {}
    for clip in clips:
        if clip.item in found:
            raise UserError(f"item '{clip.item}' occurs more than once in a queue.")
        place = clip.place
        if place is not None and (isinstance(place, bool) or not math.isfinite(place) or place < 0):
            raise UserError(
                f"its clip ends at {place!r}; an end time is a number of seconds from 0 up.",
                where=f"item '{clip.item}'",
            )
        found[clip.item] = clip
    return list(found.values())


def _lot(seed: int, annotator: str, what: str, name: str) -> bytes:
    return hashlib.sha256(_joined("queue", str(seed), annotator, what, name)).digest()


# -- adjudication --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """An item that waits for an adjudicator (or goes to one as a blind repeat; that makes no difference here).

    Attributes:
        item: its id.
        question_type: by which the queue takes turns.
        since: when it became ready, seconds since 1970.
        annotators: ids of everybody who judged it.
        holder: adjudicator who has it open, empty if none.
        lease_until: until when they have it; None if nobody does.
    """

    item: str
    question_type: str
    since: float
    annotators: frozenset[str] = frozenset()
    holder: str = ""
    lease_until: float | None = None


def adjudication_order(
    cases: Iterable[Ready], adjudicator: str, *, secret: bytes, now: float, served: Sequence[str] = ()
) -> tuple[str, ...]:
    """Order the cases that this person may take: the oldest of each question type, type by type in turn.

    The type that was served longest ago has the first turn, among those never served the one with the oldest case;
    without ``served`` one type would be taken over and over as long as it has the oldest case. Cases that became
    ready at the same time are in an order of the person's own. A case that this person has open comes first.

    Args:
        cases: that are ready.
        adjudicator: id of the person; cases that they judged as an annotator are left out.
        secret: of the project.
        now: seconds since 1970; cases that somebody else has open at that time are left out.
        served: question types of the cases that this person has done, the latest last.

    Raises:
        UserError: if a case occurs twice or a time is not finite.
        ValueError: if the secret is empty.
    """
    _check_secret(secret)
    free = [
        case
        for case in _checked_cases(cases)
        if adjudicator not in case.annotators
        and (case.holder == adjudicator or not is_leased(case.lease_until, now))
    ]
    own = {c.item for c in free if c.holder == adjudicator and is_leased(c.lease_until, now)}
    piles: dict[str, list[Ready]] = defaultdict(list)
    for case in sorted(free, key=lambda c: (c.since, _tie(secret, c.item, adjudicator))):
        piles[case.question_type].append(case)
    last = {kind: turn for turn, kind in enumerate(served)}
    kinds = sorted(
        piles,
        key=lambda kind: (
            last.get(kind, -1),
            piles[kind][0].since,
            _tie(secret, piles[kind][0].item, adjudicator),
        ),
    )
    turns = zip_longest(*(piles[kind] for kind in kinds))
    order = [case.item for turn in turns for case in turn if case is not None]
    return tuple(sorted(order, key=lambda item: item not in own))


def _tie(secret: bytes, item: str, adjudicator: str) -> bytes:
    return _mac(secret, "case", item, adjudicator)


def _checked_cases(cases: Iterable[Ready]) -> list[Ready]:
    found: dict[str, Ready] = {}
    for case in cases:
        if case.item in found:
            raise UserError(f"item '{case.item}' occurs more than once in a queue.")
        if not math.isfinite(case.since):
            raise UserError(f"it became ready at {case.since!r}.", where=f"item '{case.item}'")
        found[case.item] = case
    return list(found.values())


def card_order(secret: bytes, item_id: str, adjudicator: str, n: int) -> tuple[int, ...]:
    """Return for each shown place of ``n`` cards the index of the card in source order.

    Every adjudicator has another order, the same one at every visit, and nobody without the project's secret can
    tell the source order from it. With more cards the ones that were there keep their order among themselves.

    Raises:
        ValueError: if ``n`` is negative or the secret is empty.
    """
    _check_secret(secret)
    if n < 0:
        raise ValueError(f"there cannot be {n} cards")
    return tuple(sorted(range(n), key=lambda card: _mac(secret, "card", item_id, adjudicator, str(card))))


def repeat_lot(secret: bytes, item_id: str) -> float:
    """Return a settled item's lot, uniform in [0, 1): below the share, it goes to an adjudicator all the same, blindly.

    It depends on the item alone: settling more items makes none of the others a repeat, and a larger share keeps those of a
    smaller one.

    Raises:
        ValueError: if the secret is empty.
    """
    _check_secret(secret)
    return int.from_bytes(_mac(secret, "blind repeat", item_id)[:7], "big") / 2**56


# -- leases --------------------------------------------------------------------------------------------------


def lease_until(now: float, seconds: float = LEASE_SECONDS) -> float:
    """Return the end of a lease that is taken or renewed now; times are seconds since 1970.

    Raises:
        ValueError: if it would not last.
    """
    if not (math.isfinite(now) and math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"a lease of {seconds!r} seconds from {now!r} on does not last")
    return now + seconds


def is_leased(until: float | None, now: float, seconds: float = LEASE_SECONDS) -> bool:
    """Tell whether a lease still holds.

    One that would last longer than a whole lease from now was taken before the clock was set back; it no longer
    holds, or the case would be out of reach for as long as the clock was wrong.
    """
    return until is not None and now < until <= now + seconds + _CLOCK_SLACK


# -- keyed draws ---------------------------------------------------------------------------------------------


def _mac(secret: bytes, *parts: str) -> bytes:
    return hmac.digest(secret, _joined(*parts), "sha256")


def _joined(*parts: str) -> bytes:
    """Join texts so that no two lists of them become the same bytes."""
    texts = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(text).to_bytes(8, "big") + text for text in texts)


def _check_secret(secret: bytes) -> None:
    if not secret:
        raise ValueError("the project's secret is empty")
