"""Several processes on one workspace at once: nothing is sent twice, every file is whole, and nobody's work is lost."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import proctor

from proctor.exam.prediction import Judgement, Prediction
from proctor.records import read_json, read_jsonl

LATENCY = {"low": 0.02, "high": 0.08}
Contents = Callable[[Path], dict[str, bytes]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Options that say where calls are kept."""
    return () if request.param == "sqlite" else ("--calls", request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def once_answered(built: Path, tmp_path_factory: pytest.TempPathFactory, calmed: Any) -> Path:
    """The benchmark with one run to be judged, not to be changed."""
    copy = Path(shutil.copytree(built, tmp_path_factory.mktemp("answered") / "bench"))
    name = f"compat/answerer-0@{calmed().url}/v1"
    done = proctor("predict", copy, "-p", name, "--run", "first")
    assert done.status == 0, done.err
    return copy


@pytest.fixture
def answered(once_answered: Path, tmp_path: Path, models: Any) -> Path:
    """The benchmark with one run to be judged."""
    models.script(latency=LATENCY)
    return Path(shutil.copytree(once_answered, tmp_path / "bench"))


def predict(bench: Path, models: Any, number: int, run: str) -> list[object]:
    return ["predict", bench, "-p", models.name(f"answerer-{number}"), "--run", run]


def judge(bench: Path, models: Any, run: str) -> list[object]:
    return ["judge", bench, "--judge", models.name("marker"), "--run", run]


def ask(bench: Path, models: Any, limit: int = 48) -> list[object]:
    return ["generate", bench, "--generator", models.name("asker"), "--sample", "all", "--limit", limit]


PAIRS: dict[str, Callable[[Path, Any], list[list[object]]]] = {
    "the same predict": lambda b, m: [predict(b, m, 1, "toy"), predict(b, m, 1, "toy")],
    "the same predict, two runs": lambda b, m: [predict(b, m, 1, "toy"), predict(b, m, 1, "toy too")],
    "two predictors": lambda b, m: [predict(b, m, 1, "one"), predict(b, m, 2, "two")],
    "predict and judge": lambda b, m: [predict(b, m, 1, "one"), judge(b, m, "first")],
    "the same judge": lambda b, m: [judge(b, m, "first"), judge(b, m, "first")],
    "the same generate": lambda b, m: [ask(b, m), ask(b, m)],
    "three things": lambda b, m: [predict(b, m, 1, "one"), predict(b, m, 2, "two"), judge(b, m, "first")],
}


OFTEN = ("the same predict", "predict and judge", "the same generate")
"""What is tried with both kinds of stores; the others with one."""


def _cases() -> list[Any]:
    postgres = pytest.mark.postgres
    return [pytest.param(what, "sqlite", id=what) for what in PAIRS] + [
        pytest.param(what, "postgres", id=f"{what}, PostgreSQL", marks=postgres) for what in OFTEN
    ]


@pytest.mark.parametrize(("what", "options"), _cases(), indirect=["options"])
def test_at_once_is_as_one_after_the_other(
    what: str,
    answered: Path,
    tmp_path: Path,
    models: Any,
    launcher: Any,
    options: tuple[str, ...],
    contents: Contents,
) -> None:
    rough = Path(shutil.copytree(answered, tmp_path / "rough"))
    for command in PAIRS[what](answered, models):
        done = proctor(*command)
        assert done.status == 0, done.err
    needed = models.settle()
    models.server.reset()
    running = [launcher.start(*command, *options) for command in PAIRS[what](rough, models)]
    for process in running:
        ended = process.wait()
        assert ended.status == 0, ended.err
    assert models.settle() == needed
    assert set(needed.values()) == {1}
    assert contents(rough) == contents(answered)


def test_who_is_killed_leaves_the_rest_to_the_other(
    answered: Path, models: Any, launcher: Any, options: tuple[str, ...]
) -> None:
    first, second = (launcher.start(*predict(answered, models, 1, "toy"), *options) for _ in range(2))
    assert models.await_count(12, first)
    first.send(signal.SIGKILL)
    assert first.wait().status == -signal.SIGKILL
    ended = second.wait()
    assert ended.status == 0, ended.err
    assert "failed" in ended.out
    predictions: list[Prediction] = read_jsonl(answered / "runs/toy/predictions.jsonl", Prediction)
    items: list[Any] = read_jsonl(answered / "items.jsonl")
    assert [p.item_id for p in predictions if p.answer] == [item["question"]["id"] for item in items]
    counts = models.settle()
    assert set(counts.values()) <= {1, 2}
    assert sum(counts.values()) - len(counts) <= 16 + 12  # what the dead one had in flight


def test_every_stage_record_is_kept_when_many_end_at_once(bench: Path, launcher: Any) -> None:
    """``stages.json`` is one file of all stages: who writes it must not drop what another has just written."""
    names = [f"dice-{n}" for n in range(6)]
    for _ in range(2):
        running = [launcher.start("predict", bench, "-p", "random-step", "--run", name) for name in names]
        for process in running:
            ended = process.wait()
            assert ended.status == 0, ended.err
        records: dict[str, Any] = read_json(bench / "stages.json")
        assert {f"predict/{name}" for name in names} <= set(records)
        (bench / "stages.json").write_text(
            json.dumps({k: v for k, v in records.items() if not k.startswith("predict/")})
        )


def test_judged_while_it_is_answered_the_judgements_fit_some_predictions(
    answered: Path, models: Any, launcher: Any
) -> None:
    """A judge that begins in the middle sees the run as it was or as it is, never half of it."""
    base = predict(answered, models, 1, "toy")
    assert proctor(*base, "--limit", 10).status == 0
    both = [launcher.start(*base), launcher.start(*judge(answered, models, "toy"))]
    for process in both:
        ended = process.wait()
        assert ended.status == 0, ended.err
    marks: list[Judgement] = read_jsonl(answered / "runs/toy/judgements.jsonl", Judgement)
    items = len(read_jsonl(answered / "items.jsonl"))
    assert len(marks) in (10, items)
    again = proctor(*judge(answered, models, "toy"))
    assert again.status == 0, again.err
    assert len(read_jsonl(answered / "runs/toy/judgements.jsonl", Judgement)) == items
    assert set(models.settle().values()) == {1}


def test_two_that_share_a_new_workspace_agree_on_its_secret(
    bench: Path, models: Any, launcher: Any, options: tuple[str, ...]
) -> None:
    (bench / "prompt-secret").unlink()
    running = [launcher.start(*predict(bench, models, 1, "toy"), *options) for _ in range(3)]
    for process in running:
        ended = process.wait()
        assert ended.status == 0, ended.err
    assert set(models.settle().values()) == {1}
    assert len((bench / "prompt-secret").read_text().strip()) == 64
