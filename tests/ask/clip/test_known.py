"""Questions of every benchmark of ours become questions that can get options."""

from __future__ import annotations

import pytest

from proctor.ask.clip.known import Known, known_clip, known_item, known_question, siblings_of
from proctor.ask.clip.record import ClipPair, ShownClip, ShownStep, pair_question
from proctor.corpus.collection import Corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.library import Library
from proctor.exam.lines import Line
from proctor.exam.question import Gold, Item, Open, Question, Source, Text, Words
from proctor.llm.media import MediaStore
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


def pair(**more: object) -> ClipPair:
    made = {
        "id": "p1", "clip_id": "v1", "dataset": "hirest", "video_id": "v1", "level": "fine", "category": "object-tool",
        "question": "What is added?", "answer": "Tea", "step_ids": ("s2",), **more,
    }  # fmt: skip
    return ClipPair(**made)  # type: ignore[arg-type]


# -- pairs -------------------------------------------------------------------------------------------------------


def of_pair(about: ShownClip) -> Known:
    return known_clip(pair_question(pair(), {about.id: about}), about, pair().step_ids)


def test_a_pair():
    found = of_pair(clip())
    assert (found.id, found.text, found.answer, found.cites) == ("p1", "What is added?", "Tea", ("s2",))
    assert [line.shown for line in found.lines] == [
        "task: Make tea",
        "s1 (0 s to 10 s): boil water",
        "s2 (10 s to 15.5 s): add the tea [now the tea goes in]",
    ]
    assert [line.is_step for line in found.lines] == [False, True, True]


def test_a_clip_without_a_task():
    assert [line.id for line in of_pair(clip(task=" ")).lines] == ["s1", "s2"]


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


def asked(about: Example, graph: TaskGraph | None = None) -> Known:
    golds = tuple(Gold(value=Text(text=text)) for text in ("Pour the tea", "Pour it"))
    graphs = {} if graph is None else {"tea": graph}
    item = Item(question=question_about(about, "i1", "What now?"), golds=golds)
    return known_item(item, Library(media=MediaStore(), graphs=graphs))


def test_an_item():
    found = asked(example())
    assert (found.id, found.answers) == ("i1", ("Pour the tea", "Pour it"))
    lines = {line.id: line for line in found.lines}
    assert list(lines) == ["task", "done-1", "done-2", "allowed-now-1", "left-out-1"]
    assert lines["done-2"] == Line(
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
    lines = asked(example(), graph).lines
    rest = [line for line in lines if line.id.startswith("procedure")]
    assert [line.text for line in rest] == ["Drink it"], (
        "neither what was done nor what is allowed is told twice"
    )


def test_an_item_at_the_very_start():
    found = asked(example("technique", previous=(), current=None, mistake_texts=("cold water",)))
    assert found.cites == ()
    assert [line.text for line in found.lines if line.id.startswith("noted")] == ["cold water"]


# -- questions of a style ----------------------------------------------------------------------------------------


def of_sources(*ids: str) -> Known:
    corpus = Corpus(
        [
            text_source("t", "Arlen", "Arlen has 1,000 inhabitants."),
            table_source("b", "Towns", ["Town", "Houses"], [["Arlen", "20"]]),
            image_source("i", "Arlen at dusk", "a.png", verbalisation="A tower."),
        ]
    )
    question = Question(
        id="x", kind="documents", text="How many?", form=Open(), evidence=tuple(Source(id=id_) for id_ in ids)
    )
    item = Item(question=question, golds=(Gold(value=Text(text="20.")),))
    return known_item(item, Library(media=MediaStore(), corpus=corpus))


def test_documents():
    found = of_sources("b", "t", "i")
    assert [line.id for line in found.lines] == ["source-1", "source-2", "source-3"]
    assert found.cites == ("source-1", "source-2", "source-3")
    assert "Arlen | 20" in found.lines[0].text
    assert "1,000 inhabitants" in found.lines[1].text
    assert "A tower." in found.lines[2].text
    assert not any(line.is_step for line in found.lines)


def test_a_source_that_is_not_there():
    with pytest.raises(UserError, match="cites gone, which is not in the corpus"):
        of_sources("t", "gone")


# -- other kinds -------------------------------------------------------------------------------------------------


def test_a_question_of_any_kind_has_the_lines_of_its_kind_and_cites_those_that_its_answer_does():
    evidence = (Words(id="a", text="Tea is hot."), Words(id="b", text="Milk is cold."))
    question = Question(id="x", kind="clip", text="What is hot?", form=Open(), evidence=evidence)
    item = Item(question=question, golds=(Gold(value=Text(text="Tea", cites=("a", "elsewhere"))),))
    found = known_item(item, Library(media=MediaStore()))
    assert ([line.shown for line in found.lines], found.cites) == (
        ["a: Tea is hot.", "b: Milk is cold."],
        ("a",),
    )


def test_two_lines_of_one_id_are_refused():
    evidence = (Words(id="a", text="Tea."), Words(id="a", text="Milk."))
    question = Question(id="x", kind="clip", text="What?", form=Open(), evidence=evidence)
    with pytest.raises(UserError, match="two lines of what is known have the id 'a'"):
        known_question(question, Library(media=MediaStore()))
