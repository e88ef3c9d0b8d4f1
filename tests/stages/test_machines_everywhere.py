"""Filters and reviewing models on a workspace with questions of two kinds, one of another package, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.exam.clip_set import clip, pair
from tests.exam.outside.proctor_pictures import KIND as PICTURES

from proctor.corpus.question import CorpusQuestion
from proctor.exam import kind as kinds
from proctor.exam.question import Footage, Open, Picture, Proposed, Question, Text
from proctor.media.paint import encode_png
from proctor.records import read_json, write_jsonl
from proctor.stages.clip.filter import filter_questions
from proctor.stages.clip.settings import FilterOptions
from proctor.stages.models import Limits
from proctor.stages.questions import import_questions
from proctor.stages.verify import costs_of, estimate_verification, open_store, verify_with_model
from proctor.verify.llm_prompt import IN_GENERAL
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

PROPOSED = (Proposed(value=Text(text="It is red.")),)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ours = kinds.kind_named

    def named(name: str) -> kinds.Kind:
        return PICTURES if name == "picture" else ours(name)

    for module in (
        "exam.kind",
        "stages.questions",
        "ask.clip.known",
        "verify.model_verifier",
        "verify.store",
    ):
        monkeypatch.setattr(f"proctor.{module}.kind_named", named)
    root = tmp_path / "bench"
    root.mkdir()
    (root / "red.png").write_bytes(encode_png(np.full((24, 32, 3), (200, 30, 30), np.uint8)))
    asked = [
        Question(
            id="p", kind="picture", text="Which colour is the wall?", form=Open(), proposals=PROPOSED,
            evidence=(Picture(path="red.png", caption="A wall."),),
        ),
        Question(
            id="c", kind="clip", text="What colour is it painted?", form=Open(), proposals=PROPOSED,
            evidence=(Footage(recording="v", end=9),), facts={"steps": ["s1 | 0.0-9.0 s | paint it red"]},
        ),
    ]  # fmt: skip
    write_jsonl(tmp_path / "asked.jsonl", asked)
    import_questions(tmp_path / "asked.jsonl", root)
    return root


def play(call: Call) -> Answer:
    if '"own_answers"' in call.text:
        question = {"reason": "r"} | dict.fromkeys(IN_GENERAL.names, "yes")
        if "A wall." in call.text:
            question["needed"] = "no" if not call.media else "yes"
        said: dict[str, object] = {
            "question": question,
            "answers": [{"reason": "r", "verdict": "right"}],
            "own_answers": [],
        }
        return Answer(text=json.dumps(said))
    ids = ["red.png"] if call.media else ["s1"]
    return Answer(text=json.dumps({"reason": "r", "ids": ids, "problem": "none", "verdict": "keep"}))


def test_a_model_reviews_and_filters_judge_what_there_is(bench: Path) -> None:
    with Standin(answer=play) as server:
        model = f"compat/eyes@{server.url}/v1"
        assert estimate_verification(bench, model).new == 2
        prices = bench.parent / "prices.json"
        prices.write_text(json.dumps({"prices": {"compat/eyes": {"input": 1, "output": 2}}}))
        told = verify_with_model(bench, model, limits=Limits(prices=prices))
        assert told.calls is not None
        costs = {name: f"${cost:.4f}" for name, cost in costs_of(Workspace(bench)).items()}
        assert costs == {model: told.calls.cost} != {model: "$0.0000"}
        assert told.funnel == {}
        assert {name: funnel["kept"] for name, funnel in told.funnels.items()} == {"picture": 1, "clip": 1}
        assert verify_with_model(bench, model).judged_now == 0
        done = filter_questions(bench, FilterOptions(judge=(model,), only=("hallucination",)))
        assert (done.subject, done.asked, done.kept) == ("picture+pairs", 2, 2)
        write_jsonl(bench / "clips.jsonl", [clip("v0")])
        write_jsonl(bench / "pairs.jsonl", [pair(0), pair(1)])
        theirs = CorpusQuestion(qid="t", question="How old?", answers=("Old.",), gold=("text:1",))
        write_jsonl(bench / "questions.jsonl", [theirs])  # of a data set: never filtered
        for _ in range(2):  # pairs that were kept before are the same pairs
            done = filter_questions(bench, FilterOptions(judge=(model,), only=("hallucination",)))
            assert (done.subject, done.asked, done.kept, done.benchmark) == ("pairs+picture", 4, 4, 2)
        assert (
            filter_questions(bench, FilterOptions(judge=(model,), only=("hallucination",), on="pairs")).asked
            == 2
        )
        assert filter_questions(bench, FilterOptions(judge=(model,), on="picture")).asked == 1
    assert read_json(bench / "filters.json", dict[str, object])["subject"] == "picture"
    with open_store(Workspace(bench)) as store:
        said = {(v.candidate_id, v.voice): v.question.value for v in store.latest() if v.voice == "model"}
    assert said == {("p", "model"): "right", ("c", "model"): "right"}
