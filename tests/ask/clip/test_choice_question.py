"""Questions of every benchmark of ours become questions that can get options."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from proctor.ask.clip.choice_question import (
    ChoiceQuestion,
    ContextLine,
    question_of_moment,
    question_of_pair,
    question_of_styled,
    siblings_of,
)
from proctor.ask.clip.record import InstructionalPair, ShownClip, ShownStep
from proctor.ask.documents.record import StyledQuestion
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake


def clip(id: str = "v1", *, video: str = "", task: str = "Make tea", dataset: str = "hirest") -> ShownClip:
    steps = (
        ShownStep(id="s1", text="boil water", start=0.0, end=10.0),
        ShownStep(id="s2", text="add the tea", start=10.0, end=15.5, narration="now the tea goes in"),
    )
    return ShownClip(
        id=id, dataset=dataset, video_id=video or id, task=task, start=0.0, end=20.0, steps=steps
    )


def pair(**more: object) -> InstructionalPair:
    made = {
        "id": "p1", "clip_id": "v1", "dataset": "hirest", "video_id": "v1", "level": "fine", "category": "object-tool",
        "question": "What is added?", "answer": "Tea", "step_ids": ("s2",), **more,
    }  # fmt: skip
    return InstructionalPair(**made)  # type: ignore[arg-type]


# -- pairs -------------------------------------------------------------------------------------------------------


def test_a_pair():
    found = question_of_pair(pair(), clip())
    assert (found.id, found.question, found.answer, found.cites) == ("p1", "What is added?", "Tea", ("s2",))
    assert [line.shown for line in found.context] == [
        "task: Make tea",
        "s1 (0 s to 10 s): boil water",
        "s2 (10 s to 15.5 s): add the tea [now the tea goes in]",
    ]
    assert [line.is_step for line in found.context] == [False, True, True]


def test_a_clip_without_a_task():
    assert [line.id for line in question_of_pair(pair(), clip(task=" ")).context] == ["s1", "s2"]


def test_a_pair_of_another_clip():
    with pytest.raises(UserError, match="about the clip 'v1', not 'v2'"):
        question_of_pair(pair(), clip("v2"))


def test_siblings_are_of_other_videos_and_of_the_same_task_first():
    clips = [
        *(clip(f"tea-{n}") for n in range(3)),
        *(clip(f"cake-{n}", task="Bake a cake") for n in range(20)),
        clip("tea-0b", video="tea-0"),
        clip("foreign", dataset="youcook2"),
    ]
    found = siblings_of(clips, most=4)
    assert set(found) == {c.id for c in clips}
    ids = [sibling.id for sibling in found["tea-0"]]
    assert set(ids[:2]) == {"tea-1", "tea-2"}
    assert all(id.startswith("cake-") for id in ids[2:])
    assert len(ids) == 4
    assert found["foreign"] == ()
    assert [step.text for step in found["tea-0"][0].steps] == ["boil water", "add the tea"]


def test_neither_order_nor_chance_decides_on_siblings():
    clips = [clip(f"c{n}", task=f"t{n % 3}") for n in range(30)]
    once = siblings_of(clips, seed=1)
    assert siblings_of(clips[::-1], seed=1) == once
    assert siblings_of(clips, seed=2) != once


# -- items -------------------------------------------------------------------------------------------------------


def example(type: str = "next", **more: object) -> Example:
    made: dict[str, object] = {
        "id": "r_2_next", "clip_id": "r_2", "recording_id": "r", "activity_id": "tea", "activity_name": "Make tea", "type": type,
        "end": 20.0, "state": "ongoing", "noisy": False,
        "previous": (Performed("1", "Boil-Boil water", start=0.0, end=10.0),),
        "current": Performed("2", "add-add salt", "add sugar", (Mistake("technique", "salt for sugar"),), 10.0, 20.0),
        "all_next": (StepRef("3", "Pour the tea"),), "all_missing": (StepRef("4", "Warm the pot"),), **more,
    }  # fmt: skip
    return Example(**made)  # type: ignore[arg-type]


def asked(about: Example, graph: TaskGraph | None = None) -> ChoiceQuestion:
    return question_of_moment(about, "i1", "What now?", ("Pour the tea", "Pour it"), graph)


def test_an_item():
    found = asked(example())
    assert (found.id, found.answer, found.also) == ("i1", "Pour the tea", ("Pour it",))
    lines = {line.id: line for line in found.context}
    assert list(lines) == ["task", "done-1", "done-2", "allowed-now-1", "left-out-1"]
    assert lines["done-2"] == ContextLine(
        id="done-2", text="Add salt", start=10.0, end=20.0, is_step=True, note="salt for sugar"
    )
    assert found.cites == ("allowed-now-1",)


@pytest.mark.parametrize(
    ("type", "cites"),
    [
        ("missing", ("left-out-1",)),
        ("technique", ("done-2",)),
        ("order", ("done-2",)),
        ("next", ("allowed-now-1",)),
    ],
)
def test_what_an_item_rests_on(type: str, cites: tuple[str, ...]):
    assert asked(example(type)).cites == cites


def test_a_graph_tells_what_else_there_is():
    steps = (Step("0", "START"), Step("1", "Boil water"), Step("3", "Pour the tea"), Step("5", "Drink it"))
    graph = TaskGraph("tea", "Make tea", steps, (("0", "1"), ("1", "3"), ("3", "5")), start="0")
    lines = asked(example(), graph).context
    rest = [line for line in lines if line.id.startswith("procedure")]
    assert [line.text for line in rest] == ["Drink it"], (
        "neither what was done nor what is allowed is told twice"
    )


def test_an_item_at_the_very_start():
    found = asked(example("technique", previous=(), current=None, mistake_texts=("cold water",)))
    assert found.cites == ()
    assert [line.text for line in found.context if line.id.startswith("noted")] == ["cold water"]


# -- questions of a style ----------------------------------------------------------------------------------------


def test_a_styled_question():
    sources = {
        s.id: s
        for s in (
            text_source("t", "Arlen", "Arlen has 1,000 inhabitants."),
            table_source("b", "Towns", ["Town", "Houses"], [["Arlen", "20"]]),
            image_source("i", "Arlen at dusk", "a.png", verbalisation="A tower."),
        )
    }
    styled = StyledQuestion(
        id="compare/0", style="compare", modalities=(1, 1, 1), question="How many?", answer="20.", gold=("b", "t", "i")
    )  # fmt: skip
    found = question_of_styled(styled, sources)
    assert [line.id for line in found.context] == ["source-1", "source-2", "source-3"]
    assert found.cites == ("source-1", "source-2", "source-3")
    assert "Arlen | 20" in found.context[0].text
    assert "1,000 inhabitants" in found.context[1].text
    assert "A tower." in found.context[2].text
    assert not any(line.is_step for line in found.context)


def test_a_source_that_is_not_there():
    styled = StyledQuestion(id="x", style="s", modalities=(1, 0, 0), question="?", answer="a", gold=("t",))
    nothing: Mapping[str, object] = {}
    with pytest.raises(UserError, match="cites t, which is not in the corpus"):
        question_of_styled(styled, nothing)  # type: ignore[arg-type]
