"""What models are shown of a procedure: no tags, no ends; all else letter by letter."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from proctor.datasets.dataset import load_dataset
from proctor.exam.kinds.example import Example, Performed, StepRef, shown_example
from proctor.procedure.graph import Step, TaskGraph, render_dot
from proctor.procedure.recording import Mistake
from proctor.procedure.showing import shown_graph, shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Add-Add 1/2 tsp salt to a bowl.", "Add 1/2 tsp salt to a bowl"),
        ("add-1/4 tsp salt", "Add 1/4 tsp salt"),
        ("Measure and add-1.5 tbsp sugar", "Measure and add 1.5 tbsp sugar"),
        ("  stir it.  ", "  stir it.  "),
        ("low-medium instead of medium", "low-medium instead of medium"),
        ("Stir-fry the beans", "Stir-fry the beans"),
        ("", ""),
    ],
)
def test_a_tag_goes_and_every_other_text_stays_as_it_is(text: str, shown: str) -> None:
    assert shown_text(text) == shown
    assert shown_text(shown) == shown


def test_a_graph_is_shown_without_start_and_end() -> None:
    steps = (Step("0", "START"), Step("1", "Add-Add tea"), Step("2", "Stir", True), Step("9", "END"))
    edges = (("0", "1"), ("1", "2"), ("2", "9"), ("1", "9"))
    assert render_dot(shown_graph(TaskGraph("t", "Tea", steps, edges, "0", "9"))).splitlines() == [
        "digraph {",
        '  "1" [label="Add tea"];',
        '  "2" [label="Stir (optional)"];',
        '  "1" -> "2";',
        "}",
    ]


def test_an_example_is_shown_without_a_tag_anywhere() -> None:
    raw = "Add-Add tea"
    step = Performed("1", raw, raw, (Mistake("order", raw),), 1.0, 2.0, ("3",))
    listed = (StepRef("1", raw),)
    example = Example(
        id="e", clip_id="c", recording_id="r", activity_id="t", activity_name="Tea", type="next", end=3.0,
        state="ongoing", noisy=False, current=step, previous=(step,), next_steps=listed, missing_steps=listed,
        mistake_texts=(raw,), all_next=listed, all_missing=listed,
    )  # fmt: skip
    shown = shown_example(example)
    before, after = (msgspec.json.encode(one).decode() for one in (example, shown))
    assert raw in before
    assert raw not in after
    assert after == before.replace(raw, "Add tea")


@pytest.mark.shared
def test_no_step_of_the_real_graphs_keeps_its_tag(shared_data: Path) -> None:
    graphs = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected").graphs.values()
    texts = {step.text for graph in graphs for step in graph.actions}
    assert len(texts) == 350
    assert len({text for text in texts if shown_text(text) != text}) == 350
    for graph in graphs:
        shown = shown_graph(graph)
        assert [s.id for s in shown.steps] == [s.id for s in graph.actions]
        assert (shown.start, shown.end, len(shown.edges)) == (None, None, sum(
            graph.start not in edge and graph.end not in edge for edge in graph.edges
        ))  # fmt: skip
