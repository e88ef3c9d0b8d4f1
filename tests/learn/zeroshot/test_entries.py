"""Entries: all 5,700 of the annotation, and what stands for the clip of a step that nobody carried out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from proctor.ask.step.entry import Entry
from proctor.datasets.dataset import Performance
from proctor.learn.samples import StepData, read_step_data
from proctor.learn.zeroshot.entries import Missing, entries_of
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment

GRAPH = TaskGraph(
    "1", "Tea", (Step("s", "START"), Step("a", "Boil-Boil water"), Step("b", "Add tea"), Step("c", "Serve"), Step("e", "END")),
    (("s", "a"), ("a", "b"), ("b", "c"), ("c", "e")), "s", "e",
)  # fmt: skip
MISSED = (Mistake("missing", "Skipped this step"),)


def made(*segments: Segment) -> StepData:
    recording = Recording("1_7", "1", "Tea", segments, duration=60.0)
    performance = Performance(recording, tuple(s.step_id for s in segments))
    return StepData((), {"1_7": performance}, {"1": GRAPH}, (), "made", "0")


def spans(data: StepData, missing: Missing) -> list[tuple[float, float, str]]:
    return [(e.start, e.end, e.clip) for e in entries_of(data, missing)[0]]


def test_a_missing_step_gets_the_gap_where_the_graph_has_it() -> None:
    data = made(
        Segment("a", "Boil-Boil water", 2.0, 10.0), Segment("c", "Serve", 30.0, 40.0),
        Segment("b", "Add tea", mistakes=MISSED),
    )  # fmt: skip
    assert spans(data, "gap") == [(2.0, 10.0, "step"), (30.0, 40.0, "step"), (10.0, 30.0, "gap")]
    assert spans(data, "whole")[2] == (0.0, 60.0, "whole")
    found, dropped = entries_of(data, "skip")
    assert [e.id for e in found] == ["1_7:0", "1_7:1"]
    assert [(d.id, d.reason, d.detail) for d in dropped] == [
        ("1_7:2", "no_clip", "missing; --missing skip leaves it out")
    ]


def test_where_there_is_no_gap_the_whole_recording_stands() -> None:
    data = made(
        Segment("a", "Boil-Boil water", 2.0, 35.0), Segment("c", "Serve", 30.0, 40.0),
        Segment("b", "Add tea", mistakes=MISSED),
    )  # fmt: skip
    assert spans(data, "gap")[2] == (0.0, 60.0, "whole")


def test_an_entry_knows_text_predecessors_and_kinds() -> None:
    data = made(
        Segment("b", "Add tea", 3.0, 4.0, mistakes=(Mistake("order"), Mistake("order"), Mistake("timing")))
    )
    (entry,), _ = entries_of(data)
    assert entry == Entry(
        "1_7", 0, "b", "Add tea", "Tea", "1", 3.0, 4.0, kinds=("order", "timing"), before=("Boil water",)
    )
    assert entry.mistaken


@pytest.mark.shared
def test_all_entries_of_the_annotation(shared_data: Path) -> None:
    data, _ = read_step_data(shared_data / "captaincook4d")
    found, dropped = entries_of(data)
    assert (len(found), len(dropped), sum(e.mistaken for e in found)) == (5700, 0, 1964)
    assert round(1964 / 5700, 4) == 0.3446
    assert Counter(e.clip for e in found) == {"step": 5413, "gap": 235, "whole": 52}
    assert all(0 <= e.start < e.end for e in found)
    kept, left = entries_of(data, "skip")
    assert (len(kept), len(left), sum(e.mistaken for e in kept)) == (5413, 287, 1683)
    assert Counter(e.clip for e in entries_of(data, "whole")[0]) == {"step": 5413, "whole": 287}
