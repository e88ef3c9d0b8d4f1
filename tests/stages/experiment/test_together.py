"""Predictors and judges of an experiment side by side: they overlap, and every file is the one of one after the other."""

from __future__ import annotations

import shutil
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.stages.experiment.conftest import Small, quietly

from proctor.exam.prediction import Judgement
from proctor.records import read_jsonl
from proctor.stages.experiment.conduct import choose
from proctor.stages.experiment.moment import PLAN as MOMENTS
from proctor.stages.experiment.stage import Doing, Done, Stage
from proctor.stages.limits import Limits
from proctor_rehearsal.standin import Answer, Call, Standin

STAGES = {stage.name: stage for stage in MOMENTS.stages}


class Providers:
    """Three of them; the first calls to each wait for one another, where they are to meet. Each marks in its own way."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers = [
            stack.enter_context(
                Standin(answer=lambda call, n=n: self.said(n, call), latency={"seconds": 0.02 * (3 - n)})
            )
            for n in range(3)
        ]
        self.names = tuple(f"compat/m{n}@{server.url}/v1" for n, server in enumerate(self.servers))
        self.meeting: threading.Barrier | None = None
        self.met: set[tuple[int, bool]] = set()

    def said(self, number: int, call: Call) -> Answer:
        """Answer, or mark what somebody has answered."""
        marks = any("Answer of" in turn.text for turn in call.content.turns)
        if self.meeting is not None and (number, marks) not in self.met:
            self.met.add((number, marks))
            self.meeting.wait()
        return Answer(text=str(number) if marks else f"Answer of {number}.")


def done(root: Path, plan: Small, stages: list[Stage], limits: Limits) -> Done:
    chosen = choose(root, MOMENTS, plan.given())
    doing = Doing(root, chosen, limits, quietly, Done())
    for stage in stages:
        stage.run(doing, chosen[stage.name])
    return doing.done


def test_three_providers_overlap_and_every_byte_is_that_of_one_after_the_other(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "any")
    with ExitStack() as stack:
        who = Providers(stack)
        plan = Small(
            examples=4, generators=("rules",), predictors=who.names, views=("question",),
            judges=who.names[::-1], rubrics=("ternary-step",),
        )  # fmt: skip
        one = tmp_path / "one"
        chosen = choose(one, MOMENTS, plan.given(sample))
        doing = Doing(one, chosen, Limits(), quietly, Done())
        for name in ("source", "generate", "verify", "build"):
            STAGES[name].run(doing, chosen[name])
        (one / "prompt-secret").write_text("ab" * 32)
        other = Path(shutil.copytree(one, tmp_path / "other"))
        asking = [STAGES["predict"], STAGES["judge"]]

        ordered = done(one, plan, asking, Limits(listen=lambda *_: None).shared())
        who.meeting = threading.Barrier(3, timeout=90)
        overlapped = done(other, plan, asking, Limits().shared())
        assert len(who.met) == 6
        assert not [error for server in who.servers for error in server.errors]

    assert [part.name for part in overlapped.parts] == [part.name for part in ordered.parts]
    assert files(other) == files(one)
    (run,) = other.glob("runs/compat-m0-*")
    marks = read_jsonl(run / "judgements.jsonl", Judgement)
    assert {mark.judge.partition("@")[0] for mark in marks} == {"compat/m2"}, "scores are the first judge's"


def files(root: Path) -> dict[str, bytes]:
    """Return what was written, but for databases."""
    names = [p for p in root.rglob("*") if p.is_file() and "sqlite" not in p.name]
    return {str(path.relative_to(root)): path.read_bytes() for path in names}
