"""A provider that fails three calls in ten, then all of them, then recovers: nothing is mis-scored, nothing paid twice.

Everything is real but the patience of the caller: its pauses are shortened a hundredfold.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.table import ScoreRow
from proctor.exam.view import View
from proctor.llm.flow import FlowSettings
from proctor.llm.gate import GateRules
from proctor.llm.store import CallStore
from proctor.records import read_jsonl
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.models import CALLS, Limits
from proctor.stages.score import score
from proctor.stages.settings import GenerateSettings

Contents = Callable[[Path], dict[str, bytes]]
SEVERAL = (
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 429},
    {"kind": "cut"},
    {"kind": "cut_body"},
    {"kind": "html"},
)
SOME: list[dict[str, Any]] = [{**fault, "probability": 0.07} for fault in SEVERAL]
"""Together some 35 % of the calls fail, each in its own way, drawn anew for each attempt."""
ALL: list[dict[str, Any]] = [{"kind": "status", "status": 500}]
GONE: list[dict[str, Any]] = [{"kind": "cut"}]
BUSY: list[dict[str, Any]] = [{"kind": "status", "status": 429}]


KINDS = ["ask-cut", "answer-500", "answer-429", "mark-cut"]
"""All stages ask by the same means: each kind of outage comes once, and each stage has one."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of every day, with pauses of milliseconds in place of seconds."""
    rules = GateRules(
        first_backoff=0.003,
        longest_backoff=0.02,
        patience=0.5,
        breaker_seconds=0.02,
        breaker_longest=0.05,
        breaker_probes=3,
    )
    settings = FlowSettings(rules=rules, attempts=3, throttled_attempts=4)
    monkeypatch.setattr("proctor.stages.models.FlowSettings", lambda: settings)


@pytest.fixture
def two(bench: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two equal workspaces: for quiet days and for bad ones."""
    return bench, Path(shutil.copytree(bench, tmp_path / "rough"))


AGAIN = Limits(retry_failed=True)


def ask(root: Path, models: Any, limits: Limits | None = None) -> dict[str, Any]:
    settings = GenerateSettings(generator=(models.name("asker"),), sample="all", seed=3)
    return msgspec.to_builtins(generate(root, settings, limit=48, limits=limits))


def answer(root: Path, models: Any, limits: Limits | None = None) -> dict[str, Any]:
    return predict(root, models.name("answerer"), run="toy", view=View(kind="recipe"), limits=limits)


def mark(root: Path, models: Any, limits: Limits | None = None) -> dict[str, Any]:
    return judge(root, judge=models.name("marker"), limits=limits)


def average(root: Path) -> ScoreRow:
    """Score a workspace and return the row of all items."""
    rows: list[ScoreRow] = [
        row for row in score(root, ScoreSettings(resamples=100)).tables["toy"].rows if row.slice == "all"
    ]
    assert len(rows) == 1
    return rows[0]


def kinds(root: Path) -> list[str]:
    """What changed the pace, oldest first."""
    with CallStore.open(root / CALLS) as store:
        return [event.kind for _, event in store.history()]


@pytest.mark.parametrize(
    ("stage", "outage"), [(ask, GONE), (answer, ALL), (answer, BUSY), (mark, GONE)], ids=KINDS
)
def test_what_failed_is_asked_again_and_all_is_well_in_the_end(
    stage: Callable[..., dict[str, Any]],
    outage: list[dict[str, Any]],
    two: tuple[Path, Path],
    models: Any,
    contents: Contents,
    stored: Callable[[Path], int],
) -> None:
    calm, rough = two
    if stage is mark:
        for root in two:
            answer(root, models)
    models.server.reset()
    stage(calm, models)
    needed = models.settle()
    expected = contents(calm)
    models.server.reset()

    models.script(faults=[*SOME, *({**fault, "window": [30, 10_000]} for fault in outage)])
    first = stage(rough, models)["calls"]
    failed = sum(n for kind, n in first["outcomes"].items() if kind not in ("reply", "refusal"))
    assert 0 < failed <= len(needed)
    assert first["outcomes"].get("reply", 0) > 0
    models.script(faults=outage)
    before = stored(rough / CALLS)
    second = stage(rough, models)["calls"]
    assert second["from_store"] > 0 or stage is answer  # which does not look at what it has answered
    assert stored(rough / CALLS) == before
    assert models.server.count < 20 * len(needed), "an endpoint that is down is not called again and again"
    assert "stop" in kinds(rough)
    assert contents(rough) != expected

    models.script()
    third = stage(rough, models, AGAIN)["calls"]
    assert set(third["outcomes"]) <= {"reply", "refusal"}
    assert contents(rough) == expected
    counts = models.settle()
    assert set(counts) == set(needed)
    answered = Counter(models.server.log.answered_by_key)
    assert answered == dict.fromkeys(needed, 1)


def test_a_failure_is_never_a_wrong_answer(two: tuple[Path, Path], models: Any) -> None:
    calm, rough = two
    answer(calm, models)
    mark(calm, models)
    whole = average(calm)
    models.script(faults=[{**ALL[0], "probability": 0.5, "sticky": True}])
    told = answer(rough, models)
    predictions: list[Prediction] = read_jsonl(rough / "runs/toy/predictions.jsonl", Prediction)
    failed = {p.item_id for p in predictions if p.failure is not None}
    assert told["failed"] == len(failed) > 10
    assert all(p.failure.startswith("server: ") for p in predictions if p.failure is not None)
    models.script()
    mark(rough, models)
    part = average(rough)
    assert part.failed == len(failed)
    assert part.n == whole.n - len(failed)
    assert part.value is not None
    assert part.value > 0
    first: list[Judgement] = read_jsonl(calm / "runs/toy/judgements.jsonl", Judgement)
    by_item = {j.item_id: j.score for j in first}
    judged: list[Judgement] = read_jsonl(rough / "runs/toy/judgements.jsonl", Judgement)
    assert {j.item_id for j in judged if j.score is None} == failed
    assert all(j.score == by_item[j.item_id] for j in judged if j.score is not None)
    answer(rough, models)
    mark(rough, models)
    assert average(rough) == part, "a failure is an answer until it is asked again"
    answer(rough, models, AGAIN)
    mark(rough, models)
    assert average(rough) == whole


def test_a_judge_that_fails_leaves_unscored_and_no_zero(two: tuple[Path, Path], models: Any) -> None:
    calm, rough = two
    for root in two:
        answer(root, models)
    mark(calm, models)
    models.script(faults=[{**ALL[0], "probability": 0.5, "sticky": True}])
    told = mark(rough, models)
    unscored = told["runs"]["toy"]["unscored"]
    assert 10 < unscored < told["calls"]["sent"]
    part = average(rough)
    whole = average(calm)
    assert part.failed == unscored
    assert part.n == whole.n - unscored


def test_a_provider_that_is_down_from_the_start_gives_no_answer_at_all(bench: Path, models: Any) -> None:
    models.script(faults=ALL)
    told = answer(bench, models)
    assert (told["failed"], told["answered"]) == (told["items"], 0)
    assert models.server.count < told["items"]  # the breaker: most were never sent
    assert "open" in kinds(bench)
    assert "stop" in kinds(bench)
    marks = mark(bench, models)
    assert marks["runs"]["toy"] == {"unscored": told["items"]}
    assert marks["calls"]["sent"] == 0  # there is nothing to be judged
    row = average(bench)
    assert (row.n, row.failed, row.value) == (0, told["items"], None)


def test_a_total_failure_leaves_the_candidates_that_are_there(bench: Path, models: Any) -> None:
    (bench / "candidates.jsonl").unlink()
    models.script(faults=ALL)
    with pytest.raises(UserError, match=r"no model replied; \d+ of 48 times: server"):
        ask(bench, models)
    assert not (bench / "candidates.jsonl").exists()
    models.script()
    assert ask(bench, models)["candidates"] > 30
    before = (bench / "candidates.jsonl").read_bytes()
    models.script(faults=ALL)
    with pytest.raises(UserError, match="no model replied"):
        generate(bench, GenerateSettings(generator=(models.name("asker"),), template="dot-steps"))
    assert (bench / "candidates.jsonl").read_bytes() == before


def test_a_key_that_is_refused_ends_the_run_at_once(bench: Path, models: Any) -> None:
    models.script(key="sk-the-right-key-0123456789")
    told = answer(bench, models)
    refused = models.server.count
    assert told["calls"]["outcomes"] == {"auth": refused, "cancelled": told["failed"] - refused}
    assert models.server.count <= 20  # those that were in flight when the first one came back
    assert "sk-the-right" not in (bench / "runs/toy/predictions.jsonl").read_text()


def test_a_server_that_takes_the_request_and_says_nothing(bench: Path, models: Any) -> None:
    models.script(faults=[{"kind": "stall", "seconds": 60}])
    limits = Limits(timeout=0.2, deadline=0.5)
    told = predict(bench, models.name("answerer"), run="toy", limits=limits)
    assert told["calls"]["outcomes"].keys() <= {"timeout", "cancelled"}
    models.script()
    predict(bench, models.name("answerer"), run="toy")  # with a limit that a busy machine keeps, too
    predictions: list[Prediction] = read_jsonl(bench / "runs/toy/predictions.jsonl", Prediction)
    assert all(p.answer for p in predictions)
