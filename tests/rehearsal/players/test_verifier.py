"""The verifier's and the captioner's roles."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from proctor.ask.moment.candidate import Answer, Candidate
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.predict_prompt import caption_prompt, evaluation_prompts
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import frame_labels
from proctor.llm.structured import Unreadable, repair_messages
from proctor.media.paint import encode_png
from proctor.verify.llm_prompt import (
    OF_MOMENTS,
    Review,
    read_review,
    review_prompt,
    review_schema,
    verification_prompts,
)
from proctor.verify.oracle import Oracle
from proctor_rehearsal.players.captioner import play_captioner
from proctor_rehearsal.players.files import Now
from proctor_rehearsal.players.reading import Asked, read_call
from proctor_rehearsal.players.verifier import find_candidate, play_verifier
from proctor_rehearsal.standin import Call

SECRET, PROMPTS = FenceSecret(b"s" * 32), verification_prompts()
Request = Callable[..., Call]


@pytest.fixture(scope="module")
def candidates(now: Now) -> list[Candidate]:
    return sorted((c for group in now.candidates_of.values() for c in group), key=lambda c: c.id)


def asked_for(
    candidate: Candidate,
    now: Now,
    request_of: Request,
    *,
    model: str = "m",
    form: str = "text",
    frames: int = 0,
    said: str | None = None,
    secret: FenceSecret = SECRET,
) -> Asked:
    example = now.examples[candidate.example_id]
    labels = frame_labels([float(n) for n in range(frames)])
    prompt = review_prompt(
        moment_question(candidate, example),
        example,
        now.graphs[example.activity_id],
        PROMPTS,
        secret,
        frames=labels,
    )
    turns = [(m.role, m.text) for m in prompt.messages]
    if said is not None:
        messages = repair_messages(prompt.messages, said, Unreadable("no_json"), OF_MOMENTS.form)
        turns = [(m.role, m.text) for m in messages]
    schema = dict(review_schema(len(candidate.answers))) if form == "json" else None
    pictures = [encode_png(np.zeros((16, 16, 3), dtype=np.uint8))] * frames
    asked = read_call(request_of(turns, model=model, schema=schema, pictures=pictures))
    assert asked is not None
    assert asked.role == "verifier"
    return asked


def reviewed(candidate: Candidate, asked: Asked, now: Now, quality: float, seed: int = 0) -> Review | None:
    answer = play_verifier(asked, now, Oracle(), quality, seed)
    assert answer is not None
    review = read_review(answer.text, len(candidate.answers))
    return review if isinstance(review, Review) else None


@pytest.mark.parametrize(("form", "frames"), [("text", 0), ("text", 2), ("json", 0)])
def test_at_its_best_it_says_what_the_oracle_says(
    now: Now, request_of: Request, candidates: list[Candidate], form: str, frames: int
) -> None:
    oracle, given = Oracle(), Counter[str]()
    for candidate in candidates:
        asked = asked_for(candidate, now, request_of, form=form, frames=frames)
        assert find_candidate(asked, now) == candidate
        review = reviewed(candidate, asked, now, 1.0)
        assert review is not None
        assert {getattr(review.question, c) for c in OF_MOMENTS.names} == {"yes"}
        example = now.examples[candidate.example_id]
        for answer, said in zip(candidate.answers, review.answers, strict=True):
            decided = oracle.decide(candidate.question, answer.text, example, now.graphs[example.activity_id])
            assert said.verdict == ("right" if decided.guess else "wrong")
            assert said.reason == decided.reason
            given[said.verdict] += 1
    assert given["right"] > 0.9 * given.total()


@pytest.mark.parametrize("quality", [0.3, 0.6, 0.9])
def test_slips_follow_quality(
    now: Now, request_of: Request, candidates: list[Candidate], quality: float
) -> None:
    same, answers, kept, criteria, unread = 0, 0, 0, 0, 0
    for candidate in candidates:
        asked = asked_for(candidate, now, request_of)
        best, review = (reviewed(candidate, asked, now, q) for q in (1.0, quality))
        assert best is not None
        if review is None:
            unread += 1
            continue
        pairs = zip(best.answers, review.answers, strict=True)
        same += sum(a.verdict == b.verdict for a, b in pairs)
        answers += len(best.answers)
        kept += sum(getattr(review.question, c) == "yes" for c in OF_MOMENTS.names)
        criteria += len(OF_MOMENTS.names)
    assert same / answers == pytest.approx(quality, abs=0.1)
    assert kept / criteria == pytest.approx(1 - (1 - quality) / 4, abs=0.05)
    assert unread <= 0.2 * len(candidates)


def test_what_cannot_be_read_is_mended_in_the_second_round(
    now: Now, request_of: Request, candidates: list[Candidate]
) -> None:
    mended = 0
    for candidate in candidates:
        for model in "abc":
            asked = asked_for(candidate, now, request_of, model=model)
            if reviewed(candidate, asked, now, 0.0) is None:
                again = asked_for(candidate, now, request_of, model=model, said="It all looks right.")
                assert reviewed(candidate, again, now, 0.0) is not None
                mended += 1
    assert mended > 0


def test_a_placeholder_is_no_well_formed_question(
    now: Now, request_of: Request, candidates: list[Candidate]
) -> None:
    bad = msgspec.structs.replace(candidates[0], question="Did I forget <one step>?")
    spoilt = Now(now.workspace)
    spoilt.__dict__.update(graphs=now.graphs, examples=now.examples)
    key = ("Did I forget <one step>?", tuple(a.text for a in bad.answers))
    spoilt.__dict__["candidates_of"] = {key: [bad]}
    review = reviewed(bad, asked_for(bad, now, request_of), spoilt, 1.0)
    assert review is not None
    assert review.question.well_formed == "no"
    assert review.question.value == "wrong"


def test_reviews_depend_on_seed_and_content_alone(
    now: Now, request_of: Request, candidates: list[Candidate]
) -> None:
    def texts(seed: int = 0, secret: FenceSecret = SECRET, model: str = "m") -> list[str]:
        asked = [asked_for(c, now, request_of, secret=secret, model=model) for c in candidates[:40]]
        return [a.text for x in asked if (a := play_verifier(x, now, Oracle(), 0.5, seed)) is not None]

    assert texts() == texts() == texts(secret=FenceSecret(b"z" * 32))
    assert len({tuple(texts()), tuple(texts(1)), tuple(texts(model="n"))}) == 3


def test_a_candidate_that_is_not_there_is_left_to_others(
    now: Now, request_of: Request, candidates: list[Candidate]
) -> None:
    strange = msgspec.structs.replace(candidates[0], answers=(Answer("Fly to the moon."),))
    assert play_verifier(asked_for(strange, now, request_of), now, Oracle(), 1.0, 0) is None


# -- the captioner ---------------------------------------------------------------------------------------------------


def test_a_caption_depends_on_picture_and_activity_alone(now: Now, request_of: Request) -> None:
    def caption(shade: int, height: int = 16, activity: str = "", model: str = "m", secret: int = 1) -> str:
        picture = encode_png(np.full((height, 16, 3), shade, dtype=np.uint8))
        prompt = caption_prompt(evaluation_prompts(), FenceSecret(bytes([secret]) * 32), activity=activity)
        asked = read_call(request_of(prompt, pictures=[picture], model=model))
        assert asked is not None
        return play_captioner(asked, now, 0).text

    name = moment_example(now.items[0].question).activity_name
    assert caption(1, activity=name) == caption(1, activity=name, model="other", secret=2)
    said = {caption(n, height, activity=name) for n in range(30) for height in (16, 32)}
    assert len(said) > 12
    assert {caption(n, activity="No such thing") for n in range(30)} != said
    assert all(text.endswith(".") and len(text) < 400 for text in said)
    assert len({caption(n) for n in range(30)}) == 3


def test_captions_name_steps_of_the_activity(now: Now, request_of: Request) -> None:
    from proctor.procedure.phrase import parse_phrase

    for graph in now.graphs.values():
        prompt = caption_prompt(evaluation_prompts(), SECRET, activity=graph.name)
        picture = encode_png(np.zeros((16, 16, 3), dtype=np.uint8))
        asked = read_call(request_of(prompt, pictures=[picture]))
        assert asked is not None
        text = play_captioner(asked, now, 0).text
        assert any(parse_phrase(step.text).gerund in text for step in graph.actions)
        assert "\n" not in json.dumps(text)
