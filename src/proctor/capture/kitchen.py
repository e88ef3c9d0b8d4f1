"""A simulated participant: what is done when, the mistakes that are made, what is noted meanwhile and said afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from proctor.capture.records import EventKind, Review, Script, SeenMistake, StepReview
from proctor.capture.sensor import SensorConfig
from proctor.errors import UserError

__all__ = ["TRUTH", "Act", "TrueStep", "Truth", "claps_of", "held_up", "perform", "review_of"]

TRUTH: Final = "truth.json"
_MARGIN_S: Final = 1.5
_SLIPS: Final = ("measurement", "missing", "preparation", "technique", "temperature", "timing")


class TrueStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step as it was done, in seconds from the start, with the mistakes made; one that was left out has no times."""

    step: str
    start_s: float | None = None
    end_s: float | None = None
    mistakes: tuple[SeenMistake, ...] = ()
    as_planned: bool = True


class Act(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the participant does at the tablet, in seconds from the start."""

    at_s: float
    kind: EventKind
    step: str = ""


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """``truth.json``: what really happened. ``sensors.sim`` makes true times of all samples again from ``sensors`` and ``start_ns``."""

    recording: str
    seed: str
    start_ns: int
    seconds: float
    sensors: tuple[SensorConfig, ...]
    claps: tuple[float, ...]
    steps: tuple[TrueStep, ...]
    acts: tuple[Act, ...]


def perform(
    script: Script, seed: str, seconds: float, slips: float
) -> tuple[tuple[TrueStep, ...], tuple[Act, ...]]:
    """Return what a participant does with a script in that time; the same arguments give the same.

    Planned mistakes in how a step is done are made in 85 of 100 cases, planned orders always; others with probability ``slips`` in
    each step without a planned one. Six of ten are noticed (*Oops*). *Done* is pressed up to 0.4 s late.

    Raises:
        UserError: if the time is too short to do anything in.
    """
    rng = random.Random(f"{seed}/{script.id}")  # noqa: S311 - not a secret
    parts = [rng.lognormvariate(0, 0.35) for _ in script.steps]
    if seconds < 3 + 0.25 * len(parts) or not parts:
        seen = f"{seconds:g} s are too short for {len(parts)} steps."
        raise UserError(seen, where=script.id, hint="give it more seconds")
    at, steps, acts = 1.5, list[TrueStep](), [Act(at_s=0.5, kind="clap")]
    for step, part in zip((step.step for step in script.steps), parts, strict=True):
        length = part * (seconds - 3) / sum(parts)
        planned = [m for m in script.mistakes if m.step == step]
        made = [m for m in planned if m.kind in ("order", "missing") or rng.random() < 0.85]
        found = [SeenMistake(step=step, kind=m.kind, text=m.text, origin="script") for m in made]
        if slipped := not planned and rng.random() < slips:
            kind, live = rng.choice(_SLIPS), rng.random() < 0.6
            found = [SeenMistake(step=step, kind=kind, origin="live" if live else "review")]
        times: list[float | None] = [None, None]  # who leaves a step out notices that afterwards at most
        if not any(m.kind == "missing" for m in found):
            times = [round(at + 0.05 * length, 3), round(at + 0.9 * length, 3)]
            acts.append(Act(at_s=round(at, 3), kind="step_start", step=step))
            if any(m.origin == "live" for m in found):
                acts.append(Act(at_s=round(at + 0.6 * length, 3), kind="oops", step=step))
            late = min(0.09 * length, rng.uniform(0.02, 0.4))
            acts.append(Act(at_s=round(at + 0.9 * length + late, 3), kind="step_done", step=step))
        kept = not slipped and len(made) == len(planned)
        steps.append(TrueStep(step, times[0], times[1], tuple(found), kept))
        at += length
    return tuple(steps), (*acts, Act(at_s=round(seconds - 0.7, 3), kind="clap"))


def held_up(truth: Truth, done: int, now_s: float) -> Truth:
    """Return what happens if the participant, ``done`` acts behind, goes on now: all that is left is later."""
    last, left = truth.acts[done - 1], truth.acts[done:]
    by = max(0.0, round(now_s + 0.5 - left[0].at_s, 3)) if left and done else 0.0

    def moved(at: float | None, stays: bool = False) -> float | None:
        return at if at is None or at < last.at_s or stays else round(at + by, 3)

    steps = tuple(
        replace(s, start_s=moved(s.start_s, s.step == last.step), end_s=moved(s.end_s)) for s in truth.steps
    )
    acts = truth.acts[:done] + tuple(replace(act, at_s=round(act.at_s + by, 3)) for act in left)
    return replace(truth, seconds=round(truth.seconds + by, 3), claps=claps_of(acts), steps=steps, acts=acts)


def claps_of(acts: Iterable[Act]) -> tuple[float, ...]:
    """Return the moments of claps, in seconds."""
    return tuple(act.at_s for act in acts if act.kind == "clap")


def review_of(script: Script, truth: Truth) -> Review:
    """Return what the participant says afterwards: every mistake, those of the script and others."""
    steps = [
        StepReview(step=s.step, done=s.start_s is not None, as_planned=s.as_planned, mistakes=s.mistakes)
        for s in truth.steps
    ]
    for step in script.left_out:
        planned = (m for m in script.mistakes if m.step == step)
        found = (SeenMistake(step=step, kind=m.kind, text=m.text, origin="script") for m in planned)
        steps.append(StepReview(step=step, done=False, mistakes=tuple(found)))
    return Review(recording=truth.recording, by="participant", steps=tuple(steps))
