"""One task as a conversation: asking, reading, repair, checks, categories, and everything that can go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.ask.clip.played import clip, generator, is_sorting, play, run_talk

from proctor.ask.clip.pairs import PairModels, PairSettings, TaskResult
from proctor.ask.clip.plan import PairTask
from proctor.ask.clip.prompting import ClipLimits
from proctor.errors import UserError
from proctor.llm.message import Request
from proctor.llm.outcome import Failure, FailureKind, Outcome, Refusal, Reply, Truncated, Usage

WANTS = (("ordering", "early"), ("counting", "late"), ("comparison", "middle"))
TASK = PairTask(id="v1/coarse/0.0", clip_id="v1", level="coarse", round=0, wants=WANTS)


def pair(question: str = "What comes first?", answer: str = "thing 0", *ids: str) -> dict[str, Any]:
    return {"question": question, "answer": answer, "step_ids": ids or ("s1",)}


def writer(
    *replies: Outcome | str | list[Any], category: Outcome | str = "ordering"
) -> Callable[[Request], Outcome]:
    """Reply to requests for pairs with these, one after the other, and to all for categories with one."""
    left = [
        Reply(text=json.dumps(r), usage=Usage(input=10, output=5)) if isinstance(r, list) else r
        for r in replies
    ]

    def reply(request: Request) -> Outcome:
        found = category if is_sorting(request) else left.pop(0)
        return Reply(text=found, usage=Usage(input=10, output=5)) if isinstance(found, str) else found

    return reply


def done(
    reply: Callable[[Request], Outcome], before: tuple[str, ...] = (), **settings: Any
) -> tuple[TaskResult, list[Request]]:
    result, asked = run_talk(generator(**settings).task(clip(), TASK, before), reply)
    assert isinstance(result, TaskResult)
    return result, asked


def test_pairs_with_their_category_and_where_they_come_from() -> None:
    result, asked = done(writer([pair("What comes last?", "thing 8", "s9", "s8", "s9"), pair()]))
    assert result.outcome == "read"
    last, first = result.pairs
    assert (last.question, last.answer, last.step_ids, last.position) == (
        "What comes last?",
        "thing 8",
        ("s8", "s9"),
        "late",
    )
    assert (first.category, first.level, first.dataset, first.clip_id, first.video_id) == (
        "ordering",
        "coarse",
        "hirest",
        "v1",
        "v1",
    )
    assert first.id.startswith("v1__coarse-")
    assert first.id != last.id
    assert first.details == {
        "model": "compat/writer",
        "template": "instructional-hirest-coarse@1",
        "template_hash": first.details["template_hash"],
        "request": asked[0].key[:16],
        "task": "v1/coarse/0.0",
        "seed": "0",
        "tokens_in": "10",
        "tokens_out": "5",
        "cost": "0.01",
        "categoriser": "compat/sorter",
        "category_template": "instructional-category@1",
        "category_template_hash": first.details["category_template_hash"],
        "category_request": asked[2].key[:16],
    }
    assert [request.model for request in asked] == ["compat/writer", "compat/sorter", "compat/sorter"]
    assert (result.entries, result.unsorted, result.repaired) == (2, 0, False)
    assert result.cost == 30_000_000
    assert len(result.calls) == 3


def test_the_id_is_of_the_content_alone() -> None:
    one, _ = done(writer([pair()]), seed=1)
    other, _ = done(writer([pair("Something else?"), pair()]), seed=2)
    assert one.pairs[0].id == other.pairs[1].id


def test_entries_that_cannot_be_used_are_listed_and_cost_no_category() -> None:
    reply = writer([pair("What is in step 3?"), pair("", "x"), pair("Why?", "because", "s10"), pair(), "x"])
    result, asked = done(reply)
    assert [(d.id, d.reason) for d in result.dropped] == [
        ("v1/coarse/0.0#1", "mentions_step_number"),
        ("v1/coarse/0.0#2", "no_question"),
        ("v1/coarse/0.0#3", "unknown_step"),
    ]
    assert len(result.pairs) == 1
    assert len(asked) == 2
    assert result.entries == 4  # a text in a list without a key is no entry


def test_a_question_is_not_taken_twice() -> None:
    result, _ = done(
        writer([pair(), pair("what comes FIRST"), pair("What is new?")]), before=("What, is new?",)
    )
    assert [d.reason for d in result.dropped] == ["duplicate_question", "duplicate_question"]
    assert len(result.pairs) == 1


def test_no_more_pairs_are_taken_than_were_asked_for() -> None:
    result, _ = done(writer([pair(f"What about {n}?") for n in range(5)]))
    assert len(result.pairs) == 3
    assert [d.reason for d in result.dropped] == ["not_asked_for"] * 2


def test_an_empty_list_is_an_answer() -> None:
    result, asked = done(writer("[]"))
    assert (result.outcome, result.pairs, len(asked)) == ("read", (), 1)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    result, asked = done(writer("{'question': 'x'}", [pair()]))
    assert result.repaired
    assert len(result.pairs) == 1
    assert result.pairs[0].details["repaired"] == "yes"
    assert result.pairs[0].details["tokens_in"] == "20"
    assert asked[1].messages[:2] == asked[0].messages
    assert "could not be read" in asked[1].messages[-1].text
    assert len(result.calls) == 3


def test_one_repair_round_and_no_more() -> None:
    result, asked = done(writer("no", "no again"))
    assert (result.outcome, len(asked)) == ("unreadable", 2)
    assert result.detail.startswith("no_json")
    result, asked = done(writer("no"), repair=False)
    assert (result.outcome, len(asked)) == ("unreadable", 1)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Refusal(text="I will not"), "refused"),
        (Truncated(text='[{"question": "q", "answer": "a", "step_ids": ["s1"]}]'), "truncated"),
        (Failure(kind="content_filter", message="no"), "declined"),
        (Failure(kind="too_large", message="no"), "declined"),
        (Failure(kind="server", message="500"), "declined"),
        (Failure(kind="budget", message="spent"), "postponed"),
        (Failure(kind="bad_request", message="no such model"), "declined"),
        (Failure(kind="cancelled", message="stopped"), "postponed"),
    ],
)
def test_what_is_no_reply_ends_the_task(outcome: Outcome, expected: str) -> None:
    result, asked = done(writer(outcome))
    assert (result.outcome, result.pairs, len(asked)) == (expected, (), 1)
    assert result.detail
    result, asked = done(writer("no", outcome))
    assert (result.outcome, len(asked)) == (expected, 2)


def test_a_category_that_cannot_be_read_is_other_and_counted() -> None:
    result, _ = done(writer([pair()], category="no idea"))
    assert (result.pairs[0].category, result.unsorted) == ("other", 1)
    assert result.pairs[0].details["category_unparsed"] == "no idea"
    result, _ = done(writer([pair()], category=Failure(kind="bad_request", message="no")))
    assert (result.pairs[0].category, result.unsorted) == ("other", 1)
    result, _ = done(writer([pair()], category="other"))
    assert (result.pairs[0].category, result.unsorted) == ("other", 0)


@pytest.mark.parametrize("kind", ["cancelled", "budget"])
def test_a_categoriser_that_was_not_asked_postpones_the_task(kind: FailureKind) -> None:
    result, _ = done(writer([pair()], category=Failure(kind=kind, message="down")))
    assert (result.outcome, result.pairs) == ("postponed", ())
    assert result.entries == 1


def test_no_price_no_cost() -> None:
    by = generator()
    without = type(by)(by.models, by.prompts, by.secret)
    result, _ = run_talk(without.task(clip(), TASK), writer([pair()]))
    assert isinstance(result, TaskResult)
    assert result.cost is None
    assert "cost" not in result.pairs[0].details
    result, _ = run_talk(without.task(clip(), TASK), writer(Failure(kind="server", message="500")))
    assert isinstance(result, TaskResult)
    assert result.cost == 0


def test_a_clip_that_is_shown_in_part_may_be_cited_in_part() -> None:
    long = clip(steps=40)
    limits = ClipLimits(steps=5)
    by = generator(limits=limits)
    shown = [f"s{n}" for n in range(1, 41) if f"- s{n} |" in by.request(long, TASK).messages[1].text]
    hidden = next(f"s{n}" for n in range(1, 41) if f"s{n}" not in shown)
    result, _ = run_talk(by.task(long, TASK), writer([pair("A?", "b", hidden), pair("C?", "d", shown[0])]))
    assert isinstance(result, TaskResult)
    assert [d.reason for d in result.dropped] == ["unknown_step"]
    assert result.pairs[0].details["shown"].startswith("5 of 40 steps are shown")
    assert result.shortened


def test_another_draw_is_another_request_and_another_seed_may_show_another_part() -> None:
    again = PairTask(id="v1/coarse/1.0", clip_id="v1", level="coarse", round=1, wants=WANTS)
    by = generator()
    assert by.request(clip(), TASK).messages == by.request(clip(), again).messages
    assert by.request(clip(), TASK).key != by.request(clip(), again).key
    long = clip(steps=200)
    texts = {
        generator(seed, limits=ClipLimits(steps=9)).request(long, TASK).messages[1].text for seed in range(9)
    }
    assert len(texts) > 1


def test_a_long_clip_is_shown_where_pairs_are_wanted() -> None:
    long = clip(steps=90)
    late = PairTask(id="v1/fine/0.0", clip_id="v1", level="fine", round=0, wants=(("manner", "late"),))
    for seed in range(8):
        text = generator(seed, limits=ClipLimits(steps=4)).request(long, late).messages[1].text
        assert "1. manner, late (s" in text


def test_structured_output_is_asked_for_where_it_is_wanted() -> None:
    schema = generator(form="json").request(clip(), TASK).parameters.json_schema
    assert schema is not None
    assert schema["properties"]["pairs"]["items"]["required"] == ["question", "answer", "step_ids"]
    assert generator().request(clip(), TASK).parameters.json_schema is None


def test_a_single_clip_is_asked_about_directly() -> None:
    result, asked = run_talk(generator().clip(clip(), "fine", 4), lambda request: play(request, bad=0))
    assert isinstance(result, TaskResult)
    assert len(result.pairs) == 4
    assert all(p.level == "fine" for p in result.pairs)
    assert len(asked) == 5
    with pytest.raises(UserError, match="cannot be asked for"):
        next(generator().clip(clip(), "fine", 0))


def test_requests_for_estimates_are_those_that_are_sent() -> None:
    by = generator()
    (request,) = by.requests([clip()], [TASK])
    _, asked = done(writer([pair()]))
    assert request == asked[0]
    assert by.category_request("What comes first?", "thing 0", "coarse") == asked[1]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(UserError, match="rounds is 0"):
        PairSettings(rounds=0)
    with pytest.raises(UserError, match="answer_words is 0"):
        PairSettings(answer_words=0)


def test_the_generator_sorts_where_nobody_else_does() -> None:
    assert PairModels(generator="a/b").sorts == "a/b"
    assert generator(1).config_hash != generator(2).config_hash
