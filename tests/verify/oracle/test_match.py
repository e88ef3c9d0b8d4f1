from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.phrase import render_step
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.text import content, find_quantities, normalise, opening_action


def _read(graph: TaskGraph, text: str):
    plain = normalise(text)
    return StepIndex(graph).read(content(plain), stated=frozenset(find_quantities(plain)))


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("push the plugs into the holes", "plugs"),
        ("the plugs go in", "plugs"),
        ("drilling two holes", "drill"),
        ("bore into the wall with the drill", "drill"),
        ("sanding the board's edges", "sand"),
        ("fasten the brackets", "bracket"),
        ("attach the brackets with screws", "bracket"),
        ("put the board on the brackets", "lay"),
        ("rub oil into the board", "oil"),
        ("linseed oil", "oil"),
    ],
)
def test_paraphrases_of_assembly_steps(shelf: TaskGraph, text: str, step: str) -> None:
    assert step in _read(shelf, text).matches[0].alternatives


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("transfer the buffer to the tubes", "buffer"),
        ("samples have to thaw on ice", "thaw"),
        ("write labels on the tubes", "label"),
        ("incubating for half an hour", "incubate"),
        ("measure absorbance", "read"),
    ],
)
def test_paraphrases_of_laboratory_steps(assay: TaskGraph, text: str, step: str) -> None:
    assert step in _read(assay, text).matches[0].alternatives


def test_every_step_recognises_its_own_text(shelf: TaskGraph, assay: TaskGraph, pancakes: TaskGraph) -> None:
    for graph in (shelf, assay, pancakes):
        for step in graph.actions:
            assert step.id in _read(graph, f"You should {render_step(step.text)}").matches[0].alternatives


def test_several_steps_in_one_text(shelf: TaskGraph) -> None:
    found = _read(shelf, "sand the edges, rub in linseed oil and push the plugs into the holes").matches
    assert {m.step_id for m in found} == {"sand", "oil", "plugs"}


def test_unknown_things_are_foreign(shelf: TaskGraph) -> None:
    reading = _read(shelf, "varnish the ceiling")
    assert not reading.matches
    assert reading.foreign > 0.9
    assert "ceil" in reading.foreign_words


def test_words_about_procedures_name_no_step(shelf: TaskGraph) -> None:
    assert not _read(shelf, "you need to do the next step correctly").matches


def test_quantities_tell_steps_apart() -> None:
    graph = TaskGraph("g", "g", (Step("a", "Spin for 2 minutes"), Step("b", "Spin for 10 minutes")))
    assert _read(graph, "spin for 10 minutes").matches[0].step_id == "b"
    assert _read(graph, "spin for 2 minutes").matches[0].step_id == "a"
    assert set(_read(graph, "spin it").matches[0].alternatives) == {"a", "b"}


def test_equal_texts_are_alternatives() -> None:
    graph = TaskGraph(
        "g", "g", (Step("a", "Stir the pot"), Step("b", "Heat the pot"), Step("c", "Stir the pot"))
    )
    assert set(_read(graph, "stir the pot").matches[0].alternatives) == {"a", "c"}


def test_graph_without_words() -> None:
    graph = TaskGraph("g", "g", (Step("a", "1"), Step("b", "--")))
    assert not _read(graph, "drill a hole").matches
    assert StepIndex(graph).speaking_of("drill") == frozenset()


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_any_text_reads(text: str) -> None:
    graph = TaskGraph("g", "g", (Step("a", "Stir the pot"), Step("b", text or "x")))
    reading = _read(graph, text)
    assert 0.0 <= reading.foreign <= 1.0
    assert all(0.0 < m.score <= 1.0 for m in reading.matches)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("zap the tubes", "zap"),
        ("you should zap the tubes", "zap"),
        ("the tubes should be zapped", None),
        ("two tubes", None),
        ("a tube of buffer", None),
        ("", None),
    ],
)
def test_opening_action(text: str, action: str | None) -> None:
    assert opening_action(text) == action


def test_an_unknown_action_counts_less_than_an_unknown_thing(shelf: TaskGraph) -> None:
    index = StepIndex(shelf)
    stems = content("wiggle the plugs")
    assert index.read(stems, actions=frozenset({"wiggl"})).foreign < index.read(stems).foreign
    # the lexicon knows "whisk", and no step of the shelf does anything like it
    assert index.read(content("whisk the plugs"), actions=frozenset({"whisk"})).foreign == pytest.approx(
        index.read(content("whisk the plugs")).foreign
    )


def test_a_word_of_a_family_explains_one_word() -> None:
    graph = TaskGraph(
        "g",
        "Glue",
        (Step("stir", "Stir the liquid in the pot"), Step("pour", "Pour the glue mixture into the mould")),
        (),
    )
    assert _read(graph, "stir the glue mixture").matches[0].step_id == "stir"


def test_a_measured_quantity_helps_to_recognise_a_step() -> None:
    graph = TaskGraph(
        "g", "Dye", (Step("wait", "Wait 10 seconds until it turns"), Step("cut", "Cut the leaf")), ()
    )
    assert _read(graph, "let it sit for 10 seconds").matches[0].step_id == "wait"


def test_action_and_object_side_by_side_tell_steps_apart() -> None:
    graph = TaskGraph(
        "g",
        "Glue",
        (
            Step("on", "Spread varnish over the wood glue"),
            Step("under", "Spread wood glue onto the panel"),
        ),
        (),
    )
    assert _read(graph, "spread wood glue").matches[0].step_id == "under"
