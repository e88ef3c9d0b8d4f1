"""Nobody sees the future of a clip, types take turns, orders are stable, and a lease ends."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.queue import (
    LEASE_SECONDS,
    Clip,
    Ready,
    adjudication_order,
    card_order,
    is_leased,
    lease_until,
    queue_order,
    repeat_lot,
    requeue,
)

SECRET = b"a secret of the project"
GOLDEN_CARDS = (5, 0, 2, 4, 1, 3)
CLIPS = st.lists(
    st.tuples(st.sampled_from(["r0", "r1", "r2", ""]), st.integers(0, 12).map(lambda n: n / 2)), max_size=40
).map(lambda rows: [Clip(f"c{k}", recording, end) for k, (recording, end) in enumerate(rows)])


def _rises(order: tuple[str, ...], clips: list[Clip]) -> bool:
    by_item = {c.item: c for c in clips}
    reached: dict[str, float] = {}
    for item in order:
        clip = by_item[item]
        if clip.cluster and clip.place < reached.get(clip.cluster, 0.0):
            return False
        reached[clip.cluster] = clip.place
    return True


# -- annotators ----------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(CLIPS, st.integers(0, 99), st.randoms(use_true_random=False))
def test_end_times_rise_inside_every_recording_which_stays_in_one_piece(
    clips: list[Clip], seed: int, rng: random.Random
) -> None:
    order = queue_order(clips, "ana", seed)
    assert sorted(order) == sorted(c.item for c in clips)
    assert _rises(order, clips)
    recordings = [c.cluster for item in order for c in clips if c.item == item and c.cluster]
    changes = sum(a != b for a, b in pairwise(recordings))
    assert changes == max(0, len(set(recordings)) - 1)
    rng.shuffle(clips)
    assert queue_order(clips, "ana", seed) == order


@settings(max_examples=200, deadline=None)
@given(CLIPS, st.integers(0, 99), st.randoms(use_true_random=False))
def test_nobody_is_shown_the_past_after_the_future_unless_it_is_said(
    clips: list[Clip], seed: int, rng: random.Random
) -> None:
    """A whole life of a queue: work, and items added and taken away in between."""
    coming = list(clips)
    rng.shuffle(coming)
    pending: dict[str, Clip] = {}
    watched: dict[str, Clip] = {}
    while coming or pending:
        for _ in range(rng.randrange(4)):
            if coming:
                clip = coming.pop()
                pending[clip.item] = clip
        if pending and rng.random() < 0.1:
            del pending[rng.choice(list(pending))]
        queue = requeue(pending.values(), watched.values(), "ana", seed)
        assert sorted(queue.order) == sorted(pending)
        assert _rises(queue.order, clips)
        assert [i for i in queue.order if i in queue.seen_future] == list(queue.seen_future)
        for item in queue.order:
            clip = pending[item]
            seen = [w.place or 0 for w in watched.values() if clip.cluster and w.cluster == clip.cluster]
            assert (item in queue.seen_future) == (max(seen, default=0.0) > clip.place)
        if queue.order:
            watched[queue.order[0]] = pending.pop(queue.order[0])


def test_without_additions_nothing_is_ever_seen_too_early() -> None:
    clips = [Clip(f"c{k}", f"r{k % 7}", float((k * 37) % 100)) for k in range(100)]
    order, watched = queue_order(clips, "ana", 1), []
    by_item = {c.item: c for c in clips}
    for k, item in enumerate(order):
        queue = requeue([by_item[i] for i in order[k:]], watched, "ana", 1)
        assert queue.order == order[k:]
        assert queue.seen_future == ()
        watched.append(by_item[item])


@settings(max_examples=100, deadline=None)
@given(CLIPS, st.integers(0, 9), st.integers(0, 40))
def test_items_that_are_added_leave_the_others_in_their_order(clips: list[Clip], seed: int, cut: int) -> None:
    before = queue_order(clips[:cut], "ana", seed)
    after = queue_order(clips, "ana", seed)
    assert tuple(i for i in after if i in before) == before


def test_people_and_seeds_shuffle_recordings_differently() -> None:
    clips = [Clip(f"c{k}", f"r{k}", 1.0) for k in range(10)]
    assert len({queue_order(clips, f"p{k}", 0) for k in range(20)}) == 20
    assert len({queue_order(clips, "ana", k) for k in range(20)}) == 20
    first = Counter(queue_order(clips, f"p{k}", 0)[0] for k in range(2000))
    assert set(first) == {c.item for c in clips}
    assert max(first.values()) < 280


def test_items_that_end_together_have_their_order_from_the_person() -> None:
    clips = [Clip(f"c{k}", "r", 5.0) for k in range(6)]
    assert len({queue_order(clips, f"p{k}", 0) for k in range(20)}) > 10


def test_a_recording_that_was_begun_is_finished_first() -> None:
    clips = [Clip(f"c{k}", f"r{k % 5}", float(k)) for k in range(20)]
    for begun in range(5):
        watched = [clips[begun]]
        pending = [c for c in clips if c not in watched]
        order = requeue(pending, watched, "ana", 0).order
        assert order[:3] == tuple(f"c{begun + 5 * k}" for k in (1, 2, 3))


def test_an_item_whose_page_is_open_is_pending_and_watched() -> None:
    clip, late = Clip("c0", "r", 9.0), Clip("c1", "r", 4.0)
    queue = requeue([clip, late], [clip], "ana", 0)
    assert queue.order == ("c1", "c0")
    assert queue.seen_future == ("c1",)


@pytest.mark.parametrize("end", [float("nan"), float("inf"), -float("inf"), -1.0, True])
def test_end_times_are_seconds(end: float) -> None:
    for call in (
        lambda clip: queue_order([clip], "ana", 0),
        lambda clip: requeue([], [clip], "ana", 0),
    ):
        with pytest.raises(UserError, match=r"item 'c'.*ends at"):
            call(Clip("c", "r", end))


def test_an_item_occurs_once() -> None:
    with pytest.raises(UserError, match="item 'c' occurs more than once"):
        queue_order([Clip("c", "r", 1.0), Clip("c", "s", 2.0)], "ana", 0)


def test_names_are_not_run_together() -> None:
    """('a', 'b|c') and ('a|b', 'c') are different people and items."""
    cards = {card_order(SECRET, item, who, 12) for item, who in (("a", "b|c"), ("a|b", "c"), ("ab", "|c"))}
    assert len(cards) == 3


def test_nothing_to_do() -> None:
    assert queue_order([], "ana", 0) == ()
    assert requeue([], [Clip("c", "r", 1.0)], "ana", 0).order == ()
    assert adjudication_order([], "zoe", secret=SECRET, now=0.0) == ()


# -- adjudicators --------------------------------------------------------------------------------------------

READY = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(0, 30), st.sets(st.sampled_from(["zoe", "ana"]))),
    max_size=30,
).map(lambda rows: [Ready(f"c{k}", t, float(s), frozenset(a)) for k, (t, s, a) in enumerate(rows)])


def _order(cases: list[Ready], served: tuple[str, ...] = (), who: str = "zoe") -> tuple[str, ...]:
    return adjudication_order(cases, who, secret=SECRET, now=100.0, served=served)


@settings(max_examples=200, deadline=None)
@given(READY, st.randoms(use_true_random=False))
def test_each_type_oldest_first_and_types_in_turn(cases: list[Ready], rng: random.Random) -> None:
    order = _order(cases)
    by_item = {c.item: c for c in cases}
    assert sorted(order) == sorted(c.item for c in cases if "zoe" not in c.annotators)
    for kind in "ABC":
        times = [by_item[i].since for i in order if by_item[i].question_type == kind]
        assert times == sorted(times)
    left = Counter(by_item[i].question_type for i in order)
    for one, other in pairwise(order):
        left[by_item[one].question_type] -= 1
        if by_item[one].question_type == by_item[other].question_type:
            assert sum(n > 0 for n in left.values()) == 1
    shuffled = list(cases)
    rng.shuffle(shuffled)
    assert _order(shuffled) == order


@settings(max_examples=60, deadline=None)
@given(READY)
def test_taking_cases_one_by_one_keeps_the_turns(cases: list[Ready]) -> None:
    """The order is worked out anew after each case; what was served decides whose turn it is."""
    whole, served, left, done = _order(cases), [], list(cases), []
    while order := _order(left, tuple(served)):
        case = next(c for c in left if c.item == order[0])
        left.remove(case)
        served.append(case.question_type)
        done.append(case.item)
    assert tuple(done) == whole


def test_an_old_flood_of_one_type_does_not_keep_the_others_waiting() -> None:
    cases = [Ready(f"a{k}", "A", float(k)) for k in range(10)] + [Ready("b", "B", 50.0)]
    assert _order(cases)[:3] == ("a0", "b", "a1")
    assert _order(cases, ("A",))[0] == "b"


def test_nobody_adjudicates_what_they_judged_and_a_held_case_is_not_offered() -> None:
    mine = Ready("mine", "A", 1.0, frozenset({"zoe"}))
    held = Ready("held", "A", 2.0, holder="yan", lease_until=101.0)
    over = Ready("over", "A", 3.0, holder="yan", lease_until=100.0)
    own = Ready("own", "B", 9.0, holder="zoe", lease_until=101.0)
    assert _order([mine, held, over, own]) == ("own", "over")
    assert _order([mine, held, over, own], who="yan")[0] == "held"


def test_cases_of_the_same_time_are_in_an_order_of_the_persons_own() -> None:
    cases = [Ready(f"c{k}", "A", 1.0) for k in range(8)]
    assert len({_order(cases, who=f"p{k}") for k in range(20)}) == 20
    assert _order(cases) == _order(cases[::-1])


def test_bad_cases_are_named() -> None:
    with pytest.raises(UserError, match="item 'c' occurs more than once"):
        _order([Ready("c", "A", 1.0), Ready("c", "B", 1.0)])
    with pytest.raises(UserError, match=r"item 'c'.*became ready at nan"):
        _order([Ready("c", "A", float("nan"))])


# -- cards ---------------------------------------------------------------------------------------------------


@given(st.text(), st.text(), st.integers(0, 25))
def test_cards_are_a_stable_permutation_and_one_more_card_moves_no_other(item: str, who: str, n: int) -> None:
    order = card_order(SECRET, item, who, n)
    assert sorted(order) == list(range(n))
    assert card_order(SECRET, item, who, n) == order
    assert tuple(c for c in card_order(SECRET, item, who, n + 1) if c != n) == order


def test_cards_differ_between_people_items_and_projects() -> None:
    assert len({card_order(SECRET, "c", f"p{k}", 10) for k in range(50)}) == 50
    assert len({card_order(SECRET, f"c{k}", "zoe", 10) for k in range(50)}) == 50
    assert card_order(b"other", "c", "zoe", 10) != card_order(SECRET, "c", "zoe", 10)


def test_every_card_is_shown_first_equally_often() -> None:
    first = Counter(card_order(SECRET, f"c{k}", "zoe", 5)[0] for k in range(5000))
    assert all(850 < first[card] < 1150 for card in range(5))


def test_cards_of_a_running_project_stay_as_they_are() -> None:
    assert card_order(SECRET, "c0", "zoe", 6) == GOLDEN_CARDS


@pytest.mark.parametrize("call", [lambda s: card_order(s, "c", "z", 3), lambda s: repeat_lot(s, "c")])
def test_without_a_secret_there_is_no_order(call: object) -> None:
    with pytest.raises(ValueError, match="secret is empty"):
        call(b"")  # type: ignore[operator]


def test_there_cannot_be_fewer_than_no_cards() -> None:
    with pytest.raises(ValueError, match="-1 cards"):
        card_order(SECRET, "c", "zoe", -1)


# -- blind repeats -------------------------------------------------------------------------------------------


def test_five_percent_are_repeated_and_settling_more_changes_none() -> None:
    items = [f"c{k}" for k in range(20_000)]

    def repeats(secret: bytes, share: float) -> set[str]:
        return {item for item in items if repeat_lot(secret, item) < share}

    chosen = repeats(SECRET, 0.05)
    assert 900 < len(chosen) < 1100
    assert chosen <= repeats(SECRET, 0.1)
    assert repeats(b"other", 0.05) != chosen
    assert repeats(SECRET, 0.0) == set()
    assert len(repeats(SECRET, 1.0)) == 20_000


# -- leases --------------------------------------------------------------------------------------------------


def test_a_lease_lasts_half_an_hour() -> None:
    until = lease_until(1000.0)
    assert until == 1000.0 + 30 * 60
    assert is_leased(until, 1000.0)
    assert is_leased(until, until - 0.001)
    assert not is_leased(until, until)
    assert not is_leased(None, 1000.0)


def test_a_clock_that_was_set_back_does_not_lock_a_case_for_hours() -> None:
    until = lease_until(10_000.0)
    assert is_leased(until, 10_000.0 - 5)  # clocks are put right by seconds all the time
    assert not is_leased(until, 10_000.0 - 3600)


@settings(max_examples=50)
@given(st.floats(0, 4e9), st.floats(-1e5, 1e5))
def test_a_lease_holds_exactly_while_it_lasts(taken: float, later: float) -> None:
    holds = is_leased(lease_until(taken), taken + later)
    if -60 < later < LEASE_SECONDS - 1:
        assert holds or later < -59
    elif later > LEASE_SECONDS + 1 or later < -61:
        assert not holds


@pytest.mark.parametrize(
    ("now", "seconds"), [(float("nan"), 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, float("inf"))]
)
def test_a_lease_lasts_for_some_time(now: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="does not last"):
        lease_until(now, seconds)


def test_a_renewed_lease_keeps_the_case() -> None:
    case = Ready("c", "A", 0.0, holder="yan", lease_until=lease_until(0.0))
    assert adjudication_order([case], "zoe", secret=SECRET, now=1700.0) == ()
    renewed = replace(case, lease_until=lease_until(1700.0))
    assert adjudication_order([case], "zoe", secret=SECRET, now=1900.0) == ("c",)
    assert adjudication_order([renewed], "zoe", secret=SECRET, now=1900.0) == ()


def test_an_item_without_a_place_gives_nothing_away() -> None:
    pending = [Clip("early", "r", 1.0), Clip("anywhere", "r", None)]
    assert requeue(pending, [Clip("late", "r", 9.0)], "ana", 0).seen_future == ("early",)
    assert requeue(pending, [Clip("other", "r", None)], "ana", 0).seen_future == ()
