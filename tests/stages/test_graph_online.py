"""Mistakes of order, step by step, by released and inferred graphs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proctor import samples
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.stages.graph_online import _reasons, _watched, judge_orders
from proctor.stages.graph_settings import OrderMistakesSettings

PAGE = (Path(__file__).parents[2] / "docs/graphs.md").read_text(encoding="utf-8")


def test_released_graphs_find_what_the_sample_planted() -> None:
    found = judge_orders(OrderMistakesSettings(annotations=samples.path(), resamples=0))
    assert (found.recordings, found.steps, found.tagged) == (12, 119, 5)
    released = found.against_tags["released"]
    assert (released.called, released.f1.value, released.mean_f1) == (5, 1.0, 1.0)
    counting = found.against_tags["counting"]
    assert (counting.precision.value, counting.recall.value) == (4 / 23, 4 / 5)
    assert counting.mean_f1 == pytest.approx(
        ((counting.f1.value or 0) + (counting.correct_f1.value or 0)) / 2
    )
    assert found.against_released["counting"] == counting, "the tags are what the released graphs say"
    assert found.gap["counting"].explained == 0.0
    assert found.noise.agreed == 5


@pytest.mark.shared
def test_captaincook4d(shared_data: Path) -> None:
    settings = OrderMistakesSettings(annotations=shared_data / "captaincook4d", resamples=0)
    found = judge_orders(settings)
    assert (found.recordings, found.steps, found.tagged) == (384, 5407, 792)
    released = found.against_tags["released"]
    assert (round(released.precision.value or 0, 3), round(released.recall.value or 0, 3)) == (0.547, 0.307)
    for judge, one in found.against_tags.items():
        name = "released graph" if judge == "released" else judge
        cells = [f"{100 * (x.value or 0):.1f}" for x in (one.precision, one.recall, one.f1)]
        (line,) = re.findall(rf"^\| {name} \| tags \| {one.called} \|.*$", PAGE, re.MULTILINE)
        assert [cell.split()[0] for cell in line.split(" | ")[3:6]] == cells
    noise = found.noise
    late = noise.late + noise.late_tagged
    for steps in (noise.agreed, noise.skipped, late, noise.other_end, noise.unexplained):
        assert re.search(rf"\| (mistake|–) \| (mistake|–) \| {steps} \|", PAGE)
    assert (noise.agreed, noise.skipped, noise.late_tagged, noise.late) == (243, 156, 6, 39)
    assert noise.agreed + noise.other_end + noise.unexplained == found.tagged
    assert noise.agreed + noise.skipped + noise.late_tagged + noise.late == released.called
    assert round(found.against_released["counting"].f1.value or 0, 3) == 0.777
    assert (found.against_tags["likelihood"].f1.value or 0) > (found.against_tags["counting"].f1.value or 0)


@pytest.mark.parametrize(
    ("steps", "tagged", "reasons"),
    [
        ("abcd", "", []),
        ("bacd", "b", ["agreed"]),
        ("bacd", "a", ["late_tagged", "other_end"]),
        ("bacd", "", ["late"]),
        ("bcd", "", ["skipped", "skipped"]),
        ("abcd", "c", ["unexplained"]),
    ],
)
def test_why_graph_and_tags_differ(steps: str, tagged: str, reasons: list[str], diamond: TaskGraph) -> None:
    segments = tuple(
        Segment(s, s, float(n), n + 1.0, mistakes=(Mistake("order"),) if s in tagged else ())
        for n, s in enumerate(steps)
    )
    assert _reasons(_watched(Recording("r", "g", "g", segments), diamond, "times")) == reasons
