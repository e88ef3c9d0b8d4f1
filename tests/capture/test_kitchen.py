"""The simulated participant."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from proctor.capture.kitchen import Truth, claps_of, held_up, perform, review_of
from proctor.capture.records import PlannedMistake, Script, ScriptStep
from proctor.errors import UserError
from proctor.procedure.recording import MISTAKE_KINDS

SCRIPT = Script(
    id="tea-induced-1",
    activity="tea",
    title="Tea",
    strategy="induced",
    steps=tuple(ScriptStep(step=name, text=name) for name in ("boil", "fill", "pour", "steep", "serve")),
    left_out=("stir",),
    mistakes=(
        PlannedMistake(step="boil", kind="order"),
        PlannedMistake(step="pour", kind="measurement", text="half a cup"),
        PlannedMistake(step="stir", kind="missing"),
    ),
)


def _truth(seed: str, seconds: float = 60, slips: float = 0.2) -> Truth:
    steps, acts = perform(SCRIPT, seed, seconds, slips)
    return Truth(
        recording="r",
        seed=seed,
        start_ns=0,
        seconds=seconds,
        sensors=(),
        claps=claps_of(acts),
        steps=steps,
        acts=acts,
    )


def test_steps_follow_the_script_within_the_time_and_what_is_noted_fits_what_happened() -> None:
    for seed in map(str, range(100)):
        truth = _truth(seed)
        assert [step.step for step in truth.steps] == [step.step for step in SCRIPT.steps]
        times = [at for step in truth.steps if step.start_s is not None for at in (step.start_s, step.end_s)]
        assert times == sorted(times)
        assert all(1.5 <= at <= 58.5 for at in times)
        moments = [act.at_s for act in truth.acts]
        assert moments == sorted(moments)
        assert truth.claps == (0.5, 59.3)
        done = {step.step: step for step in truth.steps if step.start_s is not None}
        assert [act.step for act in truth.acts if act.kind == "step_start"] == list(done)
        assert [act.step for act in truth.acts if act.kind == "step_done"] == list(done)
        for act in truth.acts:
            if act.kind == "step_done":
                assert 0 <= act.at_s - (done[act.step].end_s or 0) <= 0.401
        oops = {act.step for act in truth.acts if act.kind == "oops"}
        assert oops == {
            s.step
            for s in truth.steps
            if s.start_s is not None and any(m.origin == "live" for m in s.mistakes)
        }
    assert _truth("1") == _truth("1") != _truth("2")
    with pytest.raises(UserError, match="too short"):
        perform(SCRIPT, "1", 4, 0.1)


def test_planned_mistakes_are_made_mostly_and_others_as_often_as_said() -> None:
    made, slips, reviewed = Counter[str](), 0, 0
    for seed in map(str, range(400)):
        truth = _truth(seed)
        steps = {step.step: step for step in truth.steps}
        made.update(m.kind for m in (*steps["boil"].mistakes, *steps["pour"].mistakes))
        slips += sum(bool(steps[name].mistakes) for name in ("fill", "steep", "serve"))
        review = {step.step: step for step in review_of(SCRIPT, truth).steps}
        assert list(review) == [*steps, "stir"]
        assert (review["stir"].done, review["stir"].as_planned) == (False, True)
        assert [(m.kind, m.origin) for m in review["stir"].mistakes] == [("missing", "script")]
        assert review["pour"].as_planned == (len(steps["pour"].mistakes) == 1)
        for step in truth.steps:
            assert review[step.step].mistakes == step.mistakes
            assert review[step.step].done == (step.start_s is not None)
            assert {m.kind for m in step.mistakes} <= set(MISTAKE_KINDS)
            reviewed += not review[step.step].as_planned
    assert made["order"] == 400  # the order is the script's
    assert 0.80 < made["measurement"] / 400 < 0.90
    assert 0.17 < slips / 1200 < 0.23
    assert reviewed == slips + 400 - made["measurement"]


def test_who_is_held_up_does_the_rest_later_and_in_the_same_time() -> None:
    truth = _truth("3", slips=0)
    done = 4  # clap, boil begun and done, fill begun
    later = held_up(truth, done, 40.0)
    assert later.acts[:done] == truth.acts[:done]
    assert later.acts[done].at_s == 40.5
    assert [a.at_s - b.at_s for b, a in pairwise(later.acts[done:])] == pytest.approx(
        [a.at_s - b.at_s for b, a in pairwise(truth.acts[done:])], abs=2e-3
    )
    assert later.steps[0] == truth.steps[0]
    assert later.steps[1].start_s == truth.steps[1].start_s  # it was under way
    by = later.seconds - truth.seconds
    assert (later.steps[1].end_s or 0) - (truth.steps[1].end_s or 0) == pytest.approx(by)
    assert (later.steps[2].start_s or 0) - (truth.steps[2].start_s or 0) == pytest.approx(by)
    assert later.claps == (truth.claps[0], pytest.approx(truth.claps[1] + by))
    assert held_up(truth, done, 0.0) == truth  # no time was lost
    assert held_up(truth, 0, 99.0) == truth
    assert held_up(truth, len(truth.acts), 99.0) == truth
