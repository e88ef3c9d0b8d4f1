"""A failure of the provider is the answer to its call until somebody wants it asked again; all else goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import proctor
from tests.stages.experiment.conftest import Small, do

from proctor.llm.store import CallStore
from proctor.records import iter_jsonl
from proctor.samples import copy_sample
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS

Contents = Callable[[Path], dict[str, bytes]]

REFUSED: dict[str, Any] = {"kind": "status", "status": 400, "probability": 0.1, "sticky": True}
"""Some requests always get a 400, the others never."""


def asking(stage: str, bench: Path, models: Any) -> list[object]:
    match stage:
        case "generate":
            return ["generate", bench, "--generator", models.name("asker"), "--sample", "all", "--limit", 48]
        case "verify":
            return ["verify", bench, "--verifier", models.name("answerer")]
        case "predict":
            return ["predict", bench, "-p", models.name("answerer"), "--run", "toy"]
        case _:
            return ["judge", bench, "--judge", models.name("marker"), "--run", "toy"]


@pytest.mark.parametrize("stage", ["generate", "verify", "predict", "judge"])
def test_what_failed_is_not_sent_again_until_that_is_wanted(
    stage: str, bench: Path, models: Any, contents: Contents
) -> None:
    if stage == "judge":
        assert proctor(*asking("predict", bench, models)).status == 0
    models.script(faults=[REFUSED])
    models.server.reset()
    first = proctor(*asking(stage, bench, models), "--json")
    assert first.status == 0, first.err
    sent, failed = models.settle(), models.server.log.by_outcome["status"]
    assert 0 < failed < sent.total() / 2
    before = contents(bench)

    again = proctor(*asking(stage, bench, models))
    assert again.status == 0, again.err
    assert f"failed: bad_request {failed}; --retry-failed asks again: bad_request {failed}" in again.out
    assert models.settle() == sent, "nothing is sent a second time"
    assert {name for name in before if contents(bench)[name] != before[name]} <= {"stages.json"}
    if stage in ("generate", "verify", "judge"):
        estimate = json.loads(proctor(*asking(stage, bench, models), "--dry-run", "--json").out)
        assert sum(line["new"] for e in estimate["estimates"] for line in e["lines"]) == 0

    models.script()
    assert proctor(*asking(stage, bench, models), "--retry-failed").status == 0
    healed = models.settle()
    with CallStore.open(bench / CALLS) as store:
        assert not store.failures()
        assert sum(total.failed for total in store.totals()) == 0
    assert {key: n for key, n in (healed - sent).items() if key in sent}.keys() == {
        key for key in sent if healed[key] == 2
    }
    assert sum(healed[key] == 2 for key in sent) == failed


def test_a_run_that_is_mute_goes_on_with_the_same_command(bench: Path, models: Any) -> None:
    models.script(key="sk-the-right-key-0123456789")
    ended = proctor(*asking("predict", bench, models))
    assert ended.status == 1
    assert "no model said anything" in ended.err
    assert "the same command asks again: cancelled" in ended.out
    accepted = proctor(*asking("predict", bench, models), "--accept-failures")
    assert accepted.status == 0, accepted.err
    models.script()
    assert proctor(*asking("predict", bench, models)).status == 0
    assert all(row.get("answer") for row in iter_jsonl(bench / "runs/toy/predictions.jsonl", dict[str, Any]))


def test_an_endpoint_given_up_half_way_is_gone_on_with(bench: Path, models: Any) -> None:
    """What was sent has failed; what was not sent has not, and waits for the same command."""
    models.script(faults=[{"kind": "status", "status": 401, "window": [30, 10_000]}])
    ended = proctor(*asking("predict", bench, models), "--max-connections", 4)
    assert ended.status == 3, ended.err
    assert "stopped early" in ended.err
    failed = models.server.log.by_outcome["status"]
    assert f"--retry-failed asks again: auth {failed}; the same command asks again: cancelled" in ended.out
    models.script()
    before = models.settle()
    ended = proctor(*asking("predict", bench, models))
    assert ended.status == 0, ended.err
    assert f"failed: auth {failed}; --retry-failed" in ended.out
    assert max((models.settle() - before).values()) == 1
    assert set(models.settle().values()) == {1}
    assert proctor(*asking("predict", bench, models), "--retry-failed").status == 0
    assert all(row.get("answer") for row in iter_jsonl(bench / "runs/toy/predictions.jsonl", dict[str, Any]))


def test_one_item_that_always_fails_does_not_end_an_experiment(tmp_path: Path, models: Any) -> None:
    copy_sample(tmp_path / "sample")
    root = tmp_path / "bench"
    plan = Small(
        generators=("rules",),
        predictors=(models.name("answerer"),),
        views=("recipe",),
        judges=(models.name("marker"),),
        rubrics=("ternary-step",),
    )
    models.script(faults=[{**REFUSED, "match": {"model": "answerer"}, "probability": 0.3}])
    first = do(root, plan, source=tmp_path / "sample", limits=Limits(max_calls=9))
    assert first.stopped
    done = do(root, plan)
    assert not done.stopped
    assert done.report
    failed = models.server.log.by_outcome["status"]
    assert failed > 0
    sent = models.settle()
    again = do(root, plan)
    assert (again.stopped, bool(again.report)) == ("", True)
    assert models.settle() == sent
    models.script()
    do(root, plan, limits=Limits(retry_failed=True))
    counts = models.settle()
    assert sum(counts[key] == 2 for key in sent) == failed
    assert set(models.server.log.answered_by_key.values()) == {1}, "nothing answered is asked again"


def test_accepted_failures_let_an_experiment_go_on(tmp_path: Path, models: Any) -> None:
    copy_sample(tmp_path / "sample")
    plan = Small(generators=("rules",), predictors=(models.name("answerer"),), views=("recipe",), judges=())
    models.script(faults=[{"kind": "status", "status": 400}])
    stopped = do(tmp_path / "bench", plan, source=tmp_path / "sample")
    assert "no model said anything" in stopped.stopped
    done = do(tmp_path / "bench", plan, limits=Limits(accept_failures=True))
    assert (done.stopped, bool(done.report)) == ("", True)
    assert any("what is missing counts as failed" in note for note in done.notes)
