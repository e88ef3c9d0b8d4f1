"""A whole run: the quota over rounds, repeats, order and concurrency, outages, what stops it, and going on afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ask.clip.played import Calls, clip, generator, is_sorting, play, wants
from tests.datasets.original_layout import write_goalstep, write_hirest, write_youcook2

from proctor.ask.clip.clips import clips_of
from proctor.ask.clip.pair_run import PairRun, cell_of, generate_pairs
from proctor.ask.clip.plan import PairPlan, plan_pairs
from proctor.ask.clip.record import ShownClip
from proctor.datasets.dataset import load_dataset
from proctor.errors import UserError
from proctor.llm.message import Request
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.records import canonical_json


def clips(n: int = 6) -> list[ShownClip]:
    return [clip(f"v{k}", 9, ("hirest", "youcook2")[k % 2]) for k in range(n)]


def written(run: PairRun) -> bytes:
    """Everything that a run would write."""
    tasks = [(r.task, r.outcome, r.calls, r.cost) for r in run.results]
    return canonical_json([run.pairs, run.dropped, run.summary, run.rounds, tasks])


def run(
    made: list[ShownClip],
    plan: PairPlan,
    reply: Callable[[Request], Outcome] = play,
    *,
    order: int = 0,
    ahead: int = 1_000,
    in_flight: int = 512,
    **settings: Any,
) -> PairRun:
    calls = Calls(reply, order=order, ahead=ahead)
    found = generate_pairs(made, plan, generator(plan.seed, **settings), calls, in_flight=in_flight)
    assert max(calls.counts.values()) == 1
    return found


def test_the_quota_is_met_although_some_pairs_are_bad() -> None:
    made = clips()
    plan = plan_pairs(made, total=66)
    found = run(made, plan)
    assert Counter(map(cell_of, found.pairs)) == plan.quota
    assert found.is_complete
    assert found.rounds > 1
    assert (found.summary.achieved, found.summary.short, found.summary.filled) == (66, 0, 0)
    reasons = {d.reason for d in found.dropped}
    assert reasons == {"unknown_step", "yes_no", "mentions_step_number", "mentions_time"}
    assert found.summary.funnel.entries == 66 + len(found.dropped)


def test_pairs_come_in_the_order_of_clips_and_levels() -> None:
    made = clips()
    found = run(made, plan_pairs(made, total=40))
    places = [([c.id for c in made].index(p.clip_id), p.level) for p in found.pairs]
    assert places == sorted(places)
    assert len({p.id for p in found.pairs}) == len(found.pairs)


def test_rounds_have_an_end() -> None:
    made = clips(2)
    plan = plan_pairs(made, total=12)
    found = run(made, plan, lambda request: play(request, bad=1), rounds=3)
    assert (found.rounds, len(found.pairs), found.is_complete) == (3, 0, True)
    assert found.summary.short == 12
    assert len(found.dropped) == found.summary.funnel.entries == 36


def test_a_met_quota_needs_one_round() -> None:
    made = clips(2)
    found = run(made, plan_pairs(made, total=12), lambda request: play(request, bad=0))
    assert (found.rounds, len(found.pairs), len(found.dropped)) == (1, 12, 0)


# -- beyond the quota --------------------------------------------------------------------------------------------


def always(category: str) -> Callable[[Request], Outcome]:
    return lambda request: Reply(text=category) if is_sorting(request) else play(request, bad=0)


def test_pairs_of_other_cells_stand_in_within_their_level() -> None:
    made = clips(3)
    plan = plan_pairs(made, total=36)
    found = run(made, plan, always("manner"), rounds=2)
    assert Counter(p.level for p in found.pairs) == {"coarse": 18, "fine": 18}
    manner = sum(n for cell, n in plan.quota.items() if cell.category == "manner")
    assert found.summary.achieved == manner
    assert found.summary.filled == 36 - manner
    assert found.summary.short == 0
    assert found.summary.reasons["over_quota"] == found.summary.funnel.new - 36
    other = [c for c in found.summary.cells if c.level == "coarse" and c.category == "manner"]
    assert [(c.asked, c.achieved) for c in other] == [(0, 0)] * 3
    assert sum(c.filled for c in other) == 18


def test_or_they_are_dropped() -> None:
    made = clips(3)
    plan = plan_pairs(made, total=36)
    found = run(made, plan, always("manner"), rounds=2, surplus="drop")
    manner = sum(n for cell, n in plan.quota.items() if cell.category == "manner")
    assert len(found.pairs) == manner
    assert {(p.level, p.category) for p in found.pairs} == {("fine", "manner")}
    assert found.summary.short == 36 - manner


# -- repeats -----------------------------------------------------------------------------------------------------


def same(question: str, answer: Callable[[Request], str]) -> Callable[[Request], Outcome]:
    def reply(request: Request) -> Outcome:
        if is_sorting(request):
            return Reply(text="ordering")
        pairs = [
            {"question": question, "answer": answer(request), "step_ids": [place]}
            for _, place in wants(request)
        ]
        return Reply(text=json.dumps(pairs[:1]))

    return reply


def test_the_same_question_about_two_videos_is_kept_unless_the_answer_is_the_same() -> None:
    made = clips(4)
    plan = plan_pairs(made, per_clip=1, levels=["coarse"])
    by_key = run(made, plan, same("What comes first?", lambda request: f"thing {request.key[:8]}"), rounds=1)
    assert len(by_key.pairs) == 4
    alike = run(made, plan, same("What comes first?", lambda _: "thing 0"), rounds=1)
    assert len(alike.pairs) == 1
    assert [d.reason for d in alike.dropped] == ["duplicate_pair"] * 3
    assert alike.dropped[0].detail.startswith(f"repeats {alike.pairs[0].id}")


def test_clips_of_one_video_share_their_questions() -> None:
    made = [clip("abc"), clip("abc+2"), clip("abd")]
    made[1] = msgspec.structs.replace(made[1], video_id="abc")
    plan = plan_pairs(made, per_clip=1, levels=["fine"])
    found = run(made, plan, same("What is it?", lambda request: request.key[:8]), rounds=1)
    assert len(found.pairs) == 2
    assert [d.reason for d in found.dropped] == ["duplicate_question"]


def test_later_rounds_are_told_what_was_asked_before() -> None:
    made = clips(1)
    plan = plan_pairs(made, total=12)
    calls = Calls(lambda request: play(request, bad=0.5))
    found = generate_pairs(made, plan, generator(rounds=2), calls)
    first, later = [
        [r for r in calls.sent if not is_sorting(r) and (r.draw >= 100) == is_later]
        for is_later in (False, True)
    ]
    assert all("asked about the video already" not in r.messages[1].text for r in first)
    kept = [p.question for p in found.pairs if p.details["task"].split("/")[-1].startswith("0.")]
    assert kept
    assert all(question in r.messages[1].text for r in later for question in kept)


def test_a_clip_that_gave_nothing_is_asked_again() -> None:
    made = clips(4)
    plan = plan_pairs(made, per_clip=2, levels=["fine"])

    def reply(request: Request) -> Outcome:
        first = request.draw < 100 and "of v2 on" in request.messages[1].text
        return play(request, bad=1.0 if first else 0.0)

    found = run(made, plan, reply)
    assert {r.task.clip_id for r in found.results if r.task.round == 1} == {"v2"}
    assert Counter(p.clip_id for p in found.pairs) == dict.fromkeys([c.id for c in made], 2)


# -- order, concurrency, outages ---------------------------------------------------------------------------------


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 7, 1_000]), st.sampled_from([1, 3, 512]))
def test_order_and_concurrency_change_nothing(order: int, ahead: int, in_flight: int) -> None:
    made = clips(4)
    plan = plan_pairs(made, total=33, seed=5)
    wanted = written(run(made, plan))
    assert written(run(made, plan, order=order, ahead=ahead, in_flight=in_flight)) == wanted


@pytest.mark.parametrize("stop", [0, 1, 5, 13, 30, 45])
def test_a_run_that_was_stopped_goes_on_and_pays_for_nothing_twice(stop: int) -> None:
    made = clips(4)
    plan = plan_pairs(made, total=44, seed=3)
    wanted = written(run(made, plan))
    stored: dict[str, Outcome] = {}
    first = Calls(stored=stored, stop=stop, order=1)
    broken = generate_pairs(made, plan, generator(3), first)
    assert broken.interrupted
    assert not broken.is_complete
    second = Calls(stored=stored, order=2)
    whole = generate_pairs(made, plan, generator(3), second)
    assert whole.is_complete
    assert written(whole) == wanted
    assert max((first.counts + second.counts).values()) == 1


@pytest.mark.parametrize("down", ["writer", "sorter"])
def test_an_outage_postpones_and_changes_nothing_in_the_end(down: str) -> None:
    made = clips(4)
    plan = plan_pairs(made, total=44, seed=3)
    wanted = written(run(made, plan))
    stored: dict[str, Outcome] = {}
    answered = 0

    def fails(request: Request) -> Outcome:
        nonlocal answered
        answered += 1
        if request.model == f"compat/{down}" and answered > 3:
            return Failure(kind="budget", message="spent")
        return play(request)

    broken = generate_pairs(made, plan, generator(3), Calls(fails, stored=stored))
    assert broken.summary.postponed > 0
    assert broken.rounds == 1
    assert not broken.is_complete
    assert {d.reason for d in broken.dropped} >= {"postponed"}
    calls = Calls(stored=stored)
    whole = generate_pairs(made, plan, generator(3), calls)
    assert written(whole) == wanted


def test_what_failed_for_good_is_made_up_for_elsewhere_unless_nobody_is_there() -> None:
    made = clips(6)
    plan = plan_pairs(made, total=24)

    def reply(request: Request) -> Outcome:
        if not is_sorting(request) and "of v1 on" in request.messages[1].text:
            return Failure(kind="bad_request", message="no")
        return play(request, bad=0)

    found = run(made, plan, reply)
    assert (len(found.pairs), found.is_complete) == (24, True)
    mute = run(made, plan, lambda _: Failure(kind="bad_request", message="no such model"))
    assert (len(mute.pairs), mute.rounds) == (0, 1), "further rounds would ask the same in vain"


def test_another_seed_is_another_set() -> None:
    made = clips(4)
    one, other = (run(made, plan_pairs(made, total=20, seed=seed)) for seed in (1, 2))
    assert {p.id for p in one.pairs} != {p.id for p in other.pairs}


def test_refusals_are_counted_and_made_up_for_elsewhere() -> None:
    made = clips(6)
    plan = plan_pairs(made, total=24)

    def reply(request: Request) -> Outcome:
        if not is_sorting(request) and "of v1 on" in request.messages[1].text:
            return Failure(kind="content_filter", message="blocked")
        return play(request, bad=0)

    found = run(made, plan, reply)
    assert len(found.pairs) == 24
    assert found.is_complete
    asked_of_it = [r for r in found.results if r.task.clip_id == "v1"]
    assert {r.outcome for r in asked_of_it} <= {"declined"}
    assert found.summary.reasons.get("declined", 0) == len(asked_of_it)


def test_a_plan_of_other_clips_is_refused() -> None:
    with pytest.raises(UserError, match="which is not there"):
        generate_pairs([clip("x")], plan_pairs([clip("y")], total=2), generator(), Calls())


def test_progress_hears_of_every_task() -> None:
    made = clips(2)
    heard: list[tuple[str, int]] = []
    found = generate_pairs(
        made,
        plan_pairs(made, total=12),
        generator(),
        Calls(),
        progress=lambda r, n: heard.append((r.task.id, n)),
    )
    assert sorted(name for name, _ in heard) == sorted(r.task.id for r in found.results)
    assert {n for _, n in heard} == set(range(found.rounds))


# -- the real annotations ----------------------------------------------------------------------------------------


def cited(request: Request) -> Outcome:
    """Ask about what the first step of a place says."""
    if is_sorting(request):
        return Reply(text=request.messages[-1].text.split("way of ")[1].split("?")[0])
    pairs = [
        {
            "question": f"What is done at {request.key[:12]} {n} in the way of {kind}?",
            "answer": f"it {n}",
            "step_ids": [place],
        }
        for n, (kind, place) in enumerate(wants(request))
    ]
    return Reply(text=json.dumps(pairs))


@pytest.mark.shared
def test_pairs_of_the_real_annotations(shared_data: Path, tmp_path: Path) -> None:
    made: list[ShownClip] = []
    for name, write in (("youcook2", write_youcook2), ("hirest", write_hirest), ("goalstep", write_goalstep)):
        root = write(shared_data, tmp_path / name)
        leaves = (
            {r.id: r for r in load_dataset(name).iter_records(root, level="leaf")}
            if name == "goalstep"
            else None
        )
        made += clips_of(load_dataset(name).iter_records(root), name, leaves=leaves).clips
    plan = plan_pairs(made, total=600, seed=11)
    found = run(made, plan, cited)
    assert Counter(map(cell_of, found.pairs)) == plan.quota
    assert min(found.summary.by_dataset.values()) >= 190
    steps = {c.id: {s.id for s in c.steps} for c in made}
    assert all(set(p.step_ids) <= steps[p.clip_id] for p in found.pairs)
