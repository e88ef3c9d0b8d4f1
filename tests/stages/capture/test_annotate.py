"""From events and a review to an annotated recording: what was planned is not what happened."""

from __future__ import annotations

from proctor.capture.records import (
    Event,
    Manifest,
    PlannedMistake,
    Review,
    Script,
    ScriptStep,
    SeenMistake,
    StepReview,
)
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording
from proctor.stages.capture.annotate import annotate, step_spans

GRAPH = TaskGraph(
    "tea",
    "Tea",
    (Step("boil", "Boil 200 ml of water"), Step("pour", "Pour it"), Step("lid", "Put a lid on", optional=True), Step("sip", "Sip")),
    (("boil", "pour"), ("pour", "sip")),
)  # fmt: skip
SCRIPT = Script(
    id="tea-induced-1", activity="tea", title="Tea", strategy="induced",
    steps=(
        ScriptStep(step="boil", text="Boil 200 ml of water", modified="Boil 400 ml of water"),
        ScriptStep(step="pour", text="Pour it"),
        ScriptStep(step="sip", text="Sip"),
    ),
    mistakes=(PlannedMistake(step="boil", kind="measurement", text="400 ml"), PlannedMistake(step="pour", kind="technique")),
)  # fmt: skip
MANIFEST = Manifest(id="r1", activity="tea", participant="P1", environment="lab", strategy="induced")
START = 5 * 10**9


def event(n: int, kind: str, step: str, seconds: float) -> tuple[Event, int]:
    at = START + int(seconds * 1e9)
    return Event(n=n, kind=kind, step=step, host_ns=at), at  # type: ignore[arg-type]


DONE = [
    event(0, "step_done", "boil", 10),
    event(1, "step_done", "pour", 14),
    event(2, "step_done", "sip", 20),
]


def annotated(
    timed: list[tuple[Event, int]], review: Review | None = None
) -> tuple[Recording, tuple[str, ...]]:
    found = annotate(MANIFEST, SCRIPT, GRAPH, timed, review, start_ns=START, duration=30, video="v.mp4")
    return found.recording, found.notes


def review(*steps: StepReview) -> Review:
    return Review(recording="r1", by="P1", steps=steps)


def test_a_planned_mistake_is_none_before_somebody_says_so() -> None:
    recording, notes = annotated(DONE)
    assert [(s.step_id, s.start, s.end, s.mistakes) for s in recording.segments] == [
        ("boil", 0, 10, ()), ("pour", 10, 14, ()), ("sip", 14, 20, ()),
    ]  # fmt: skip
    assert recording.attributes["reviewed"] == "no"
    assert not notes


def test_the_review_says_what_was_made_and_how() -> None:
    said = review(
        StepReview(
            step="boil",
            mistakes=(SeenMistake(step="boil", kind="measurement", text="400 ml", origin="script"),),
        ),
        StepReview(step="pour", as_planned=False, performed="Poured it on the table"),
        StepReview(step="sip"),
    )
    recording, _ = annotated(DONE, said)
    boil, pour, sip = recording.segments
    assert boil.mistakes == (Mistake("measurement", "400 ml"),)
    assert boil.performed == "Boil 400 ml of water"  # as the script put it
    assert pour.performed == "Poured it on the table"
    assert pour.mistakes == ()  # planned, and not made
    assert sip.performed is None
    assert recording.attributes == {
        "person": "P1",
        "environment": "lab",
        "strategy": "induced",
        "reviewed": "yes",
    }


def test_a_step_that_was_left_out_is_missing_and_an_optional_one_is_not() -> None:
    recording, _ = annotated(DONE[:2], review(StepReview(step="sip", done=False)))
    assert [(s.step_id, s.mistakes) for s in recording.segments if s.skipped] == [
        ("sip", (Mistake("missing"),))
    ]


def test_a_step_with_two_stretches_has_its_mistakes_once() -> None:
    said = review(StepReview(step="pour", mistakes=(SeenMistake(step="pour", kind="technique"),)))
    timed = [
        *DONE[:2],
        event(2, "step_start", "pour", 15),
        event(3, "step_done", "pour", 17),
        event(4, "step_done", "sip", 20),
    ]
    recording, _ = annotated(timed, said)
    pours = [s for s in recording.segments if s.step_id == "pour"]
    assert [(s.start, s.end, len(s.mistakes)) for s in pours] == [(10, 14, 1), (15, 17, 0)]
    assert recording.segments[-1].start == 17


def test_events_that_cannot_be_are_noted_and_do_no_harm() -> None:
    timed = [
        event(0, "step_done", "fly", 1), event(1, "step_done", "boil", 40), event(2, "step_start", "pour", 5),
        event(3, "step_done", "lid", 0), event(4, "oops", "boil", 2),
    ]  # fmt: skip
    spans, notes = step_spans(timed, GRAPH, START, 30)
    assert spans == [("boil", 0.0, 30)]
    assert len(notes) == 4
    assert any("'fly'" in n for n in notes)
    assert any("lid ends at 0.0 s" in n for n in notes)
    assert any("boil at 40.0 s is outside" in n for n in notes)
    assert any("pour was begun and never finished" in n for n in notes)


def test_an_order_that_breaks_the_graph_is_noted_until_it_is_named() -> None:
    timed = [
        event(0, "step_done", "pour", 5),
        event(1, "step_done", "boil", 10),
        event(2, "step_done", "sip", 12),
    ]
    _, notes = annotated(timed, review(StepReview(step="boil"), StepReview(step="pour")))
    assert notes == ("pour came before a step that it needs, and no mistake of order is named",)
    named = StepReview(step="pour", mistakes=(SeenMistake(step="pour", kind="order"),))
    assert not annotated(timed, review(named))[1]
    assert "has a mistake of order, and came after" in annotated(DONE, review(named))[1][0]


def test_the_plan_is_not_changed_by_a_review() -> None:
    before = (SCRIPT.steps, SCRIPT.mistakes)
    annotated(DONE, review(StepReview(step="boil", as_planned=False, performed="Boiled milk")))
    assert (SCRIPT.steps, SCRIPT.mistakes) == before


def test_a_step_that_was_done_without_times_is_pointed_at() -> None:
    recording, notes = annotated(DONE[:2], review(StepReview(step="sip")))
    assert any("sip was done by the review, and has no times" in n for n in notes)
    assert [s.step_id for s in recording.segments] == ["boil", "pour"]  # nobody claims that it was left out
