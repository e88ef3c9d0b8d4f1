"""The predictor's role: right as often as its quality and its view allow, ordered as published, wrong as models are wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from tests.moments import with_example

from proctor.exam.judge import RuleJudge
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.predict import Task, make_task
from proctor.exam.predict_prompt import (
    captions_prompt,
    evaluation_prompts,
    frames_prompt,
    question_prompt,
    recipe_prompt,
    video_prompt,
)
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.llm.fence import FenceSecret
from proctor.media.paint import encode_png
from proctor_rehearsal.players.answers import answer_sheet, mark_answer
from proctor_rehearsal.players.files import Now
from proctor_rehearsal.players.predictor import exponent, find_item, play_predictor
from proctor_rehearsal.players.reading import Asked, read_call
from proctor_rehearsal.players.slips import Player
from proctor_rehearsal.standin import Answer, Call

SECRET, PROMPTS = FenceSecret(b"s" * 32), evaluation_prompts()
Request = Callable[..., Call]
VIEWS = ("frames", "captions", "recipe", "question")


def picture(height: int = 360, shade: int = 0) -> bytes:
    return encode_png(np.full((height, 16, 3), shade, dtype=np.uint8))


PICTURES = [picture(shade=n) for n in range(20)]


def asked_for(
    item: Item,
    now: Now,
    request_of: Request,
    view: str,
    *,
    model: str = "m",
    frames: int = 20,
    height: int = 360,
    secret: FenceSecret = SECRET,
) -> Asked:
    task: Task = make_task(item, now.graphs[moment_example(item.question).activity_id])
    times = [task.end * n / (frames + 1) for n in range(frames)]
    pictures: list[bytes] = []
    if view == "frames":
        prompt = frames_prompt(task, PROMPTS, secret, times=times)
        pictures = PICTURES[:frames] if height == 360 else [picture(height, n) for n in range(frames)]
    elif view == "captions":
        prompt = captions_prompt(task, PROMPTS, secret, captions=["Something."] * frames, times=times)
    elif view == "recipe":
        prompt = recipe_prompt(task, PROMPTS, secret)
    else:
        prompt = question_prompt(task, PROMPTS, secret)
    asked = read_call(request_of(prompt, model=model, pictures=pictures))
    assert asked is not None
    assert asked.role == "predictor"
    return asked


ASKED: dict[tuple[str, str, str], Asked] = {}
"""Requests by item, view and model: what is asked does not depend on a quality, and rendering it is what takes the time."""


def marks(now: Now, request_of: Request, view: str, quality: float, model: str = "m") -> list[int | None]:
    """Return what the rule-based judge says of a model's answers to every second item; None for a refusal."""
    player, judge, found = Player(quality), RuleJudge(), list[int | None]()
    for item in now.items[::2]:
        if (item.id, view, model) not in ASKED:
            ASKED[item.id, view, model] = asked_for(item, now, request_of, view, model=model)
        answer = play_predictor(ASKED[item.id, view, model], now, player, 0)
        assert answer is not None
        said = Prediction(item_id=item.id, predictor="m", answer=answer.text)
        score = judge.judge(item, now.graphs[moment_example(item.question).activity_id], said).score
        found.append(score if answer.outcome == "reply" else None)
    return found


def test_the_item_is_found_whatever_is_shown(now: Now, request_of: Request) -> None:
    for item in now.items[::2]:
        for view in ("frames", "captions"):
            assert find_item(asked_for(item, now, request_of, view, frames=3), now) == item
        same_activity = find_item(asked_for(item, now, request_of, "recipe"), now)
        assert same_activity is not None
        assert moment_example(same_activity.question).activity_id == moment_example(item.question).activity_id
        same_question = find_item(asked_for(item, now, request_of, "question"), now)
        assert same_question is not None
        assert same_question.question.text == item.question.text
        clip = video_prompt(
            make_task(item, now.graphs[moment_example(item.question).activity_id]), PROMPTS, SECRET
        )
        shown = read_call(request_of(clip))
        assert shown is not None
        assert find_item(shown, now) == item


def test_at_full_quality_nearly_all_is_right_and_without_any_nearly_nothing(
    now: Now, request_of: Request
) -> None:
    best, worst = (marks(now, request_of, "frames", q) for q in (1.0, 0.0))
    assert best.count(2) >= 0.97 * len(best)
    assert worst.count(2) <= 0.08 * len(worst)
    assert None not in best


@pytest.mark.parametrize("quality", [0.4, 0.7, 0.9])
def test_quality_is_the_share_of_right_answers_of_who_sees_well(
    now: Now, request_of: Request, quality: float
) -> None:
    found = [mark for model in ("a", "b") for mark in marks(now, request_of, "frames", quality, model)]
    lost = exponent(asked_for(now.items[0], now, request_of, "frames"))
    assert lost == pytest.approx(1 + 2 / 20 + 20 / 360)
    n, share = len(found), quality**lost
    spread = 3 * math.sqrt(n * share * (1 - share))
    # Beyond that, a good guess or a lucky mistake may be right as well.
    assert n * share - spread <= found.count(2) <= n * (share + 0.08) + spread


@pytest.mark.parametrize("quality", [0.5, 0.7, 0.9])
def test_the_published_order_of_systems_comes_out(now: Now, request_of: Request, quality: float) -> None:
    means = []
    for view in VIEWS:
        found = [m or 0 for model in "ab" for m in marks(now, request_of, view, quality, model)]
        means.append(sum(found) / len(found))
    assert means == sorted(means, reverse=True)
    assert means[0] > means[1] > means[2] > means[3] + 0.1


def test_what_is_known_with_less_is_known_with_more(now: Now, request_of: Request) -> None:
    seen = {view: marks(now, request_of, view, 0.7) for view in ("frames", "captions")}
    for more, less in zip(seen["frames"], seen["captions"], strict=True):
        assert (more, less) != (0, 2)
    better = marks(now, request_of, "frames", 0.8)
    assert all(b == 2 for a, b in zip(seen["frames"], better, strict=True) if a == 2)


def test_more_and_larger_frames_lose_less(now: Now, request_of: Request) -> None:
    item = now.items[0]
    shown = {
        (n, h): exponent(asked_for(item, now, request_of, "frames", frames=n, height=h))
        for n in (1, 10, 50)
        for h in (144, 765)
    }
    ordered = [shown[k] for k in ((1, 144), (10, 144), (10, 765), (50, 765))]
    assert ordered == sorted(ordered, key=lambda x: x or 0, reverse=True)
    assert len(set(ordered)) == 4
    assert exponent(asked_for(item, now, request_of, "captions", frames=10)) == pytest.approx(2.2)
    assert exponent(asked_for(item, now, request_of, "recipe")) is None
    assert exponent(asked_for(item, now, request_of, "question")) is None


def test_replies_depend_on_seed_model_and_item_alone(now: Now, request_of: Request) -> None:
    def said(model: str = "m", seed: int = 0, secret: FenceSecret = SECRET) -> list[Answer | None]:
        player = Player(0.6, seed=seed)
        asked = [
            asked_for(i, now, request_of, "captions", model=model, frames=2, secret=secret)
            for i in now.items[::3]
        ]
        return [play_predictor(a, now, player, seed) for a in asked]

    once = said()
    assert once == said() == said(secret=FenceSecret(b"q" * 32))
    assert once != said(model="n")
    assert once != said(seed=1)


def test_it_errs_as_models_do(now: Now, request_of: Request) -> None:
    player, found = Player(0.0, habits={}), Counter[str]()
    for model in "ab":
        for item in now.items[::2]:
            answer = play_predictor(
                asked_for(item, now, request_of, "captions", model=model, frames=2), now, player, 0
            )
            assert answer is not None
            sheet = now.sheet(item, now.graphs[moment_example(item.question).activity_id])
            kind = answer.outcome if answer.outcome != "reply" else "other"
            if answer.text.startswith("* "):
                kind = "list"
            elif answer.text in sheet.wrong:
                kind = "step or side"
            found[kind] += 1
    assert set(found) == {"refusal", "list", "step or side", "other"}
    assert found["step or side"] > sum(found.values()) / 3


def sheets(now: Now) -> Iterator[tuple[Item, Callable[[str], int], tuple[str, ...], tuple[str, ...]]]:
    for item in now.items[::2]:
        graph = now.graphs[moment_example(item.question).activity_id]
        golds = gold_texts(item)

        def mark(text: str, i: Item = item, golds: list[str] = golds) -> int:
            return mark_answer(
                text,
                golds,
                i.question.text,
                now.graphs[moment_example(i.question).activity_id],
                i.question.facets["type"],
            )

        sheet = answer_sheet(item, graph)
        yield item, mark, sheet.right, (*sheet.wrong, *sheet.blind)


def test_right_and_wrong_are_so_by_the_rule_based_judge(now: Now) -> None:
    judge, partial = RuleJudge(), 0
    for item, mark, right, wrong in sheets(now):
        assert right
        assert all(mark(text) == 2 for text in right)
        assert 2 <= len(wrong) <= 8
        assert all(mark(text) < 2 for text in wrong)
        partial += any(mark(text) == 1 for text in wrong)
        graph = now.graphs[moment_example(item.question).activity_id]
        for text in (*right, *wrong):
            said = Prediction(item_id=item.id, predictor="m", answer=text)
            assert judge.judge(item, graph, said).score == mark(text)
    assert partial > len(now.items[::2]) / 4


def test_an_unknown_question_is_left_to_others(now: Now, request_of: Request) -> None:
    item = with_example(now.items[0], "Who won the match?")
    for view in VIEWS:
        asked = asked_for(item, now, request_of, view, frames=2)
        assert play_predictor(asked, now, Player(1.0), 0) is None
