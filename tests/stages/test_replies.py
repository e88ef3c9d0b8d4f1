"""How models reply, as users say it: a model that thinks, on the command line, in ``proctor.toml`` and in an experiment's plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stages.experiment.conftest import A, quietly
from tests.typed import proctor

from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Gold, Item, Pick, Question
from proctor.llm.message import Parameters
from proctor.llm.store import CallStore
from proctor.records import read_json, read_jsonl, write_jsonl
from proctor.samples import copy_sample
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.experiment.conduct import PLAN_FILE, Kept, choose, conduct
from proctor.stages.experiment.moment import PLAN
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS, replies_said
from proctor.stages.predict import RunInfo
from proctor.workspace import Workspace
from proctor_rehearsal.rehearsal import open_rehearsal
from proctor_rehearsal.standin import Answer, Standin

THOUGHT = "First the pan, then the salt, so the second one. " * 20
"""About 250 tokens, before a word is said."""
ITEMS = [
    Item(
        question=Question(id=f"q{n}", kind="clip", text=f"Which {n}?", form=Choice(options=("one", "two"))),
        golds=(Gold(value=Pick(option=1)),),
    )
    for n in range(3)
]


@pytest.fixture(scope="module")
def server() -> Iterator[Standin]:
    with Standin(answer=lambda _call: Answer(text="B", thinking=THOUGHT)) as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    Workspace(tmp_path).create()
    write_jsonl(tmp_path / "items.jsonl", ITEMS)
    return tmp_path


def run_of(bench: Path) -> tuple[list[Prediction], RunInfo]:
    (folder,) = (bench / "runs").iterdir()
    return read_jsonl(folder / "predictions.jsonl", Prediction), read_json(folder / "run.json", RunInfo)


def parameters(bench: Path) -> list[dict[str, Any]]:
    with CallStore.open(bench / CALLS) as store:
        return [json.loads(call.request)["parameters"] for call in store.calls()]


def test_a_model_that_thinks_answers_by_default_and_is_cut_off_at_the_published_limit(
    bench: Path, server: Standin
) -> None:
    model = f"compat/thinker@{server.url}/v1"
    typed = ("predict", str(bench), "-p", model, "--show", "question")
    cut = proctor(*typed, "--reply-tokens", "64")
    assert (
        f"3 replies of {model} were cut off at 64 tokens (3 before a word was said): --reply-tokens 2048"
        in cut.out
    )
    made, before = run_of(bench)
    assert {p.failure for p in made} == {"truncated: cut off by the limit on tokens after 0 characters"}
    assert proctor(*typed).status == 0
    made, after = run_of(bench)
    assert [p.answer for p in made] == ["B"] * 3
    assert after == before  # a longer reply is no other system
    assert {p["max_tokens"] for p in parameters(bench)} == {64, 4_096}


def test_what_gives_other_replies_is_another_run(bench: Path, server: Standin) -> None:
    model = f"compat/thinker@{server.url}/v1"
    (bench / "proctor.toml").write_text(
        '[predict]\ntemperature = 0.5\n[models."compat/thinker"]\nreasoning = "low"\nmodel_seed = 7\n[models.judge]\ntop_p = 0.5\n'
    )
    typed = ("predict", str(bench), "-p", model, "--show", "question")
    assert proctor(*typed).status == 0
    made, info = run_of(bench)
    assert info.replying == {"temperature": 0.5, "reasoning": "low", "seed": 7}
    (said,) = {json.dumps(p, sort_keys=True) for p in parameters(bench)}
    assert json.loads(said) == {
        "max_tokens": 4_096 + 1_024,
        "reasoning": "low",
        "seed": 7,
        "temperature": 0.5,
    }
    assert all(p.answer == "B" for p in made)
    again = proctor(*typed, "--temperature", "1")
    assert "was begun by other settings" in again.out
    assert run_of(bench)[1].replying == {"temperature": 1.0, "reasoning": "low", "seed": 7}
    (bench / "proctor.toml").write_text('[models."openai/o3"]\nwit = 1\n')
    wrong = proctor(*typed)
    assert (wrong.status, "unknown key 'wit' of openai/o3" in wrong.err) == (2, True)


def test_a_published_workspace_has_the_published_limits_unless_others_are_said(bench: Path) -> None:
    workspace, own = Workspace(bench), Parameters(max_tokens=128)
    assert replies_said(workspace).over(own, A, "judge").max_tokens == 4_096
    workspace.record("derive", settings={"protocol": "published"}, counts={})
    assert replies_said(workspace).over(own, A, "judge").max_tokens == 128
    (bench / "proctor.toml").write_text("[models.judge]\nreply_tokens = 900\n")
    assert replies_said(workspace).over(own, A, "judge").max_tokens == 900
    assert replies_said(workspace).over(own, A, "predictor").max_tokens == 128
    typed = PredictSettings(reply_tokens=("5",))
    assert replies_said(workspace, options=typed).over(own, A, "predictor").max_tokens == 5
    (bench / "proctor.toml").write_text("[models]\nreply_tokens = 600\njudge.reply_tokens = 900\n")
    assert replies_said(workspace).over(own, A, "judge").max_tokens == 900
    assert replies_said(workspace).over(own, A, "predictor").max_tokens == 600
    assert replies_said(workspace, options=typed).over(own, A, "predictor").max_tokens == 5


def test_an_experiment_keeps_what_was_said_and_varies_it(tmp_path: Path) -> None:
    copy_sample(tmp_path / "sample")
    root = tmp_path / "bench"
    given = {
        "source": {"data": tmp_path / "sample", "dataset": "plain"},
        "generate": {"examples": 4, "reply_tokens": (f"{A}=700",)},
        "build": {"min_confidence": 0.5},
        "predict": {"predictor": (A,), "show": ("question",), "reply_tokens": (f"{A}=700",)},
        "judge": {"judge": (A,), "reasoning": ("judge=low",)},
    }
    with open_rehearsal(root, 0.8, show=quietly) as models:
        chosen = choose(root, PLAN, given)
        limits = Limits(rehearsal=models)
        done = conduct(root, PLAN, chosen, vary=("predict.temperature=0,1",), limits=limits, show=quietly)
    assert not done.stopped
    kept = read_json(root / PLAN_FILE, Kept)
    assert kept.settings["predict"]["reply_tokens"] == [f"{A}=700"]
    assert kept.settings["judge"]["reasoning"] == ["judge=low"]
    assert choose(root, PLAN, {}) == chosen
    with CallStore.open(root / CALLS) as store:
        made = [
            (call.stage.partition("/")[0], json.loads(call.request)["parameters"]) for call in store.calls()
        ]
    answers = [p for stage, p in made if stage == "predict"]
    assert {(p["temperature"], p["max_tokens"]) for p in answers} == {(0.0, 700), (1.0, 700)}
    marks = [p for stage, p in made if stage == "judge"]
    assert {(p["reasoning"], p["max_tokens"]) for p in marks} == {("low", 4_096 + 1_024)}
    assert {cell.name for cell in (root / "cells").iterdir()} == {"temperature.0", "temperature.1"}
