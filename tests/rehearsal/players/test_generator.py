"""The generator's role: the example found by every template, right pairs that the oracle lets pass, and typical mistakes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from proctor.ask.moment.promqa_prompt import (
    PAIRS_SCHEMA,
    TEMPLATES,
    generation_prompt,
    generation_prompts,
    read_pairs,
)
from proctor.exam.kinds.example import Example
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import frame_labels
from proctor.llm.structured import Unreadable, repair_messages
from proctor.media.sampling import published_times
from proctor.verify.oracle import Oracle
from proctor_rehearsal.players.files import Now
from proctor_rehearsal.players.generator import find_example, play_generator, question_type
from proctor_rehearsal.players.reading import Asked, read_call
from proctor_rehearsal.standin import Answer, Call

SECRET, PROMPTS = FenceSecret(b"s" * 32), generation_prompts()
Request = Callable[..., Call]


def asked_for(
    example: Example,
    now: Now,
    request_of: Request,
    template: str = "excerpt-steps",
    form: str = "text",
    model: str = "m",
) -> Asked:
    frames = None
    if TEMPLATES[template].frames:
        times = [float(int(t)) for t in published_times(example.end, 50)]
        frames = frame_labels(times, [int(t) for t in times])
    graph = now.graphs[example.activity_id]
    prompt = generation_prompt(
        example, graph, PROMPTS, SECRET, template=template, frames=frames, form=form  # type: ignore[arg-type]
    )  # fmt: skip
    schema = dict(PAIRS_SCHEMA) if form == "json" else None
    asked = read_call(request_of(prompt, model=model, schema=schema))
    assert asked is not None
    assert asked.role == "generator"
    return asked


def facts(example: Example) -> tuple[object, ...]:
    told = (example.next_steps, example.missing_steps, example.mistake_texts, example.state)
    return (*told, [p.text for p in example.performed])


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_example_is_found_by_what_the_prompt_tells(now: Now, request_of: Request, template: str) -> None:
    same = []
    for example in list(now.examples.values())[::2]:
        asked = asked_for(example, now, request_of, template)
        assert question_type(asked.words) == example.type
        found = find_example(asked, now)
        assert found is not None
        assert (found.activity_id, found.type) == (example.activity_id, example.type)
        same.append(facts(found) == facts(example))
    # Frames do not say whose they are, and one step not what came before: some moments look alike there.
    wanted = {"dot-frames": 0.85, "image-frames": 0.85, "excerpt-frames": 0.9, "excerpt-current": 0.5}
    assert sum(same) >= wanted.get(template, 1.0) * len(same)


def play(asked: Asked, now: Now, quality: float, seed: int = 0) -> Answer:
    answer = play_generator(asked, now, quality, seed)
    assert answer is not None
    return answer


@pytest.mark.parametrize("form", ["text", "json"])
def test_at_its_best_it_gives_three_different_pairs_that_the_oracle_lets_pass(
    now: Now, request_of: Request, form: str
) -> None:
    oracle, fine, count = Oracle(), 0, 0
    for example in list(now.examples.values())[::2]:
        answer = play(asked_for(example, now, request_of, form=form), now, 1.0)
        assert answer.outcome == "reply"
        pairs = read_pairs(answer.text).pairs
        assert len({pair.question for pair in pairs}) == 3
        graph = now.graphs[example.activity_id]
        for pair in pairs:
            verdicts = [oracle.judge_answer(pair.question, a, example, graph).value for a in pair.answers]
            fine += "wrong" not in verdicts
            count += 1
    assert fine >= 0.97 * count


def test_it_is_worse_the_worse_it_is_meant_to_be(now: Now, request_of: Request) -> None:
    oracle, right, kinds = Oracle(), Counter[float](), Counter[str]()
    asked = [(e, asked_for(e, now, request_of)) for e in list(now.examples.values())[::2]]
    for quality in (0.0, 0.5, 1.0):
        for example, request in asked:
            answer = play(request, now, quality)
            parsed = read_pairs(answer.text)
            if quality == 0.0:
                kinds[answer.outcome] += 1
                kinds["unreadable"] += not parsed.pairs
                kinds["fewer"] += 0 < len(parsed.pairs) < 3
                kinds["placeholder"] += any(reason == "placeholder" for reason, _ in parsed.problems)
            graph = now.graphs[example.activity_id]
            for pair in parsed.pairs:
                found = [oracle.decide(pair.question, a, example, graph).guess for a in pair.answers]
                right[quality] += all(found)
    assert right[0.0] < 0.45 * right[1.0]
    assert right[0.0] < right[0.5] < right[1.0]
    assert min(kinds[k] for k in ("reply", "refusal", "unreadable", "fewer", "placeholder")) > 0


def test_the_second_round_is_answered_in_the_wanted_form(now: Now, request_of: Request) -> None:
    repaired = 0
    for example in list(now.examples.values())[::2]:
        first = asked_for(example, now, request_of)
        said = play(first, now, 0.0)
        if said.outcome != "reply" or read_pairs(said.text).pairs:
            continue
        graph = now.graphs[example.activity_id]
        prompt = generation_prompt(example, graph, PROMPTS, SECRET)
        messages = repair_messages(prompt.messages, said.text, Unreadable("no_pairs"), "* a question")
        second = read_call(request_of([(m.role, m.text) for m in messages]))
        assert second is not None
        answer = play(second, now, 1.0)
        repaired += len(read_pairs(answer.text).pairs) == 3
    assert repaired > 3


def test_replies_differ_by_model_and_seed_and_not_by_secret(now: Now, request_of: Request) -> None:
    example = next(e for e in now.examples.values() if e.type == "next")
    one = play(asked_for(example, now, request_of), now, 1.0)
    assert one == play(asked_for(example, now, request_of), now, 1.0)
    assert one != play(asked_for(example, now, request_of, model="other"), now, 1.0)
    assert one != play(asked_for(example, now, request_of), now, 1.0, seed=1)
    graph = now.graphs[example.activity_id]
    prompt = generation_prompt(example, graph, PROMPTS, FenceSecret(b"u" * 32))
    asked = read_call(request_of(prompt))
    assert asked is not None
    assert play(asked, now, 1.0) == one


def test_a_prompt_of_another_workspace_is_not_answered(now: Now, request_of: Request) -> None:
    example = next(e for e in now.examples.values() if e.current is not None)
    asked = asked_for(example, now, request_of)
    blocks = {**asked.blocks, "latest step": "- fly to the moon"}
    strange = replace(asked, blocks=blocks)
    assert find_example(strange, now) is None
    assert play_generator(strange, now, 1.0, 0) is None
    other = replace(asked, words=re.sub("What could the person ask.*", "", asked.words))
    assert play_generator(other, now, 1.0, 0) is None


def test_a_schema_is_followed_even_by_a_bad_model(now: Now, request_of: Request) -> None:
    for example in list(now.examples.values())[::2]:
        answer = play(asked_for(example, now, request_of, form="json"), now, 0.0)
        if answer.outcome == "reply":
            assert set(json.loads(answer.text)) == {"pairs"}
