"""The numbers of a run: cells, funnel, reasons, cost."""

from __future__ import annotations

import msgspec
from tests.ask.clip.played import Calls, clip, generator, play

from proctor.ask.clip.pair_run import PairSummary, generate_pairs, summarise_pairs
from proctor.ask.clip.pairs import TaskResult
from proctor.ask.clip.plan import Cell, PairTask, plan_pairs
from proctor.ask.clip.record import ClipPair
from proctor.records import Dropped

MANNER = Cell("fine", "manner", "early")
PLACE = Cell("fine", "location", "late")
TASK = PairTask(id="t", clip_id="c", level="fine", round=0, wants=(("manner", "early"),))


def pair(number: int, cell: Cell = MANNER, video: str = "v") -> ClipPair:
    return ClipPair(
        id=f"p{number}", clip_id=f"{video}-1", dataset="hirest", video_id=video, level=cell.level, category=cell.category,
        question=f"q{number}?", answer="a", step_ids=("s1",), position=cell.position,
    )  # fmt: skip


def test_counts_by_hand() -> None:
    pairs = [pair(1), pair(2), pair(3, video="w")]
    gone = pair(4)
    results = [
        TaskResult(TASK, "read", pairs=(*pairs, gone, pair(5)), entries=7, unsorted=1, calls=("a", "b"), cost=1_500_000_000),
        TaskResult(TASK, "unreadable", repaired=True, calls=("b", "c"), cost=0),
        TaskResult(TASK, "postponed", shortened="some"),
    ]  # fmt: skip
    dropped = [
        Dropped("t", "unreadable"),
        Dropped("t", "postponed"),
        Dropped("t#1", "yes_no"),
        Dropped("t#2", "yes_no"),
        Dropped("p4", "duplicate_question"),
        Dropped("p5", "over_quota"),
    ]
    found = summarise_pairs({MANNER: 2, PLACE: 2}, pairs, {MANNER: 1}, results, dropped, 2)
    assert (found.asked, found.achieved, found.filled, found.short, found.rounds) == (4, 2, 1, 1, 2)
    assert (found.postponed, found.repaired, found.unsorted, found.shortened) == (1, 1, 1, 1)
    assert (found.videos, found.clips, found.calls, found.cost) == (2, 2, 3, "1.5")
    assert msgspec.structs.astuple(found.funnel) == (3, 2, 1, 7, 5, 4, 3)
    assert list(found.reasons.items()) == [
        ("yes_no", 2),
        ("duplicate_question", 1),
        ("over_quota", 1),
        ("postponed", 1),
        ("unreadable", 1),
    ]
    assert found.by_level == {"fine": 3}
    assert found.by_category == {"manner": 3}
    assert found.by_position == {"early": 3}
    assert found.by_dataset == {"hirest": 3}
    assert [(c.category, c.position, c.asked, c.achieved, c.filled, c.short) for c in found.cells] == [
        ("manner", "early", 2, 2, 1, 0),
        ("location", "late", 2, 0, 0, 2),
    ]


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    results = [TaskResult(TASK, "read", cost=5), TaskResult(TASK, "read", cost=None)]
    assert summarise_pairs({}, [], {}, results, [], 1).cost is None


def test_nothing_at_all() -> None:
    found = summarise_pairs({}, [], {}, [], [], 0)
    assert (found.asked, found.achieved, found.short, found.cells) == (0, 0, 0, [])


def test_the_funnel_of_a_run_adds_up_and_can_be_written() -> None:
    made = [clip(f"v{k}") for k in range(4)]
    found = generate_pairs(
        made, plan_pairs(made, total=30), generator(rounds=2), Calls(lambda r: play(r, bad=0.5))
    )
    funnel, summary = found.summary.funnel, found.summary
    assert funnel.tasks >= funnel.replied >= funnel.read
    assert funnel.entries == funnel.passed + sum(
        n for reason, n in summary.reasons.items() if reason in ("unknown_step", "yes_no", "mentions_step_number", "mentions_time")
    )  # fmt: skip
    assert funnel.kept == len(found.pairs) == summary.achieved + summary.filled
    assert summary.asked == summary.achieved + summary.filled + summary.short
    assert sum(c.asked for c in summary.cells) == summary.asked
    assert summary.cost == f"{0.01 * summary.calls:.2f}".rstrip("0")
    assert msgspec.json.decode(msgspec.json.encode(summary), type=PairSummary) == msgspec.structs.replace(
        summary, cells=list(summary.cells)
    )
