"""Recordings: a sheet is complete when all was confirmed, recorded, stopped and looked at; the plan stays as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor.capture.records import Event, PlannedMistake, Script, ScriptStep, SeenMistake, Slot, StepReview
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.record import CHECKS, KIND, RecordOptions, RecordSheet, RecordTask

SCRIPT = Script(
    id="raita-1", activity="raita", title="Raita", strategy="induced", left_out=("s3",), items=("curd", "salt"),
    steps=(ScriptStep(step="s1", text="Whisk the curd"), ScriptStep(step="s2", text="Salt it")),
    mistakes=(PlannedMistake(step="s2", kind="measurement", text="too much"), PlannedMistake(step="s3", kind="missing")),
)  # fmt: skip
SLOT = Slot(id="r1", script="raita-1", activity="raita", participant="p07", environment="kitchen-1", strategy="induced", day="2026-12-01")  # fmt: skip
TASK = RecordTask(slot=SLOT, script=SCRIPT, left_out={"s3": "Serve it"})
MADE = SeenMistake(step="s2", kind="measurement", text="too much", origin="script")


def state(n: int, text: str) -> Event:
    return Event(n=n, kind="state", text=text, clock="tablet:1", device_ns=n * 10**9)


DONE = RecordSheet(
    stage="review", ready=tuple(CHECKS), events=(state(0, "recording"), Event(n=1, kind="oops", step="s1"), state(2, "stopped")),
    slices={"tablet-1": 3},
    review=(
        StepReview(step="s3", done=False, mistakes=(SeenMistake(step="s3", kind="missing", origin="script"),)),
        StepReview(step="s1", as_planned=False, performed=" stirred it \n"), StepReview(step="s2", mistakes=(MADE,)),
    ),
)  # fmt: skip


def check(**changes: Any) -> RecordSheet:
    return KIND.check(msgspec.structs.replace(DONE, **changes), TASK, RecordOptions())


def test_r7_what_was_done_changes_nothing_of_what_was_planned() -> None:
    before = msgspec.json.encode(TASK)
    kept = check(
        texts={"s1": "Whisk it with a fork", "s2": " Salt it "},
        planned=(PlannedMistake(step="s1", kind="technique"),),
    )
    assert [one.step for one in kept.review] == ["s1", "s2", "s3"]
    assert kept.review[0].performed == "stirred it"
    assert kept.texts == {"s1": "Whisk it with a fork"}  # the other one says what the script says
    assert kept.review[1].mistakes == (MADE,)
    assert kept.planned == (PlannedMistake(step="s1", kind="technique"),)
    assert msgspec.json.encode(TASK) == before
    assert check() == check(**{name: getattr(check(), name) for name in ("review", "texts", "ready")})


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"ready": ("items",)}, ["ready"]),
        ({"texts": {"s9": "x"}}, ["texts"]),
        ({"texts": {"s1": "a\x00"}}, ["texts"]),
        ({"planned": (PlannedMistake(step="s9", kind="technique"),)}, ["planned"]),
        ({"planned": (PlannedMistake(step="s1", kind="clumsy"),)}, ["planned"]),
        ({"events": ()}, ["events"]),
        ({"events": (state(0, "recording"),)}, ["events"]),
        ({"events": (state(0, "stopped"),)}, ["events"]),
        ({"events": (state(0, "recording"), state(1, "stopped"), state(2, "resumed"))}, ["events"]),
        ({"events": (state(0, "recording"), state(2, "stopped"))}, ["events"]),
        (
            {"events": (state(0, "recording"), Event(n=1, kind="oops", step="zz"), state(2, "stopped"))},
            ["events"],
        ),
        ({"review": DONE.review[1:]}, ["review.s3"]),
        ({"review": ()}, ["review.s1", "review.s2", "review.s3"]),
        ({"review": (*DONE.review, DONE.review[0])}, ["review"]),
        ({"review": (*DONE.review, StepReview(step="s9"))}, ["review"]),
        (
            {"review": (StepReview(step="s1", as_planned=False, performed="  "), *DONE.review[::2])},
            ["review.s1"],
        ),
        ({"review": (StepReview(step="s1", performed="\x00"), *DONE.review[::2])}, ["review.s1"]),
        (
            {
                "review": (
                    StepReview(step="s1", mistakes=(SeenMistake(step="s1", kind="clumsy"),)),
                    *DONE.review[::2],
                )
            },
            ["review.s1"],
        ),
        ({"note": "x" * 100_000, "ready": ()}, ["ready", "note"]),
    ],
)
def test_every_fault_is_named_by_its_field(changes: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(InvalidError) as error:
        check(**changes)
    assert [field for field, _ in error.value.errors] == fields


def test_a_step_that_was_not_done_needs_no_words() -> None:
    kept = check(review=(StepReview(step="s1", done=False, as_planned=False), *DONE.review[::2]))
    assert kept.review[0] == StepReview(step="s1", done=False, as_planned=False)


def test_what_cannot_be_meant_is_no_sheet() -> None:
    for wrong in (
        b'{"stage":"left"}',
        b'{"slices":{"tablet-1":-1}}',
        b'{"seed":1}',
        b'{"events":[{"n":0,"kind":"party"}]}',
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(wrong, type=RecordSheet)


def test_an_offer_says_whose_it_is_and_what_it_needs() -> None:
    offer = KIND.offer(TASK)
    assert offer.owner == "p07"
    assert offer.title == "Raita · induced · kitchen-1 · 2026-12-01"
    assert (offer.needs, offer.steps) == ("curd, salt", ("Whisk the curd", "Salt it"))
