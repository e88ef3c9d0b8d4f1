"""What filters need of a question, from pairs, ProMQA candidates and styled questions."""

from __future__ import annotations

import pytest
from tests.ask.clip.filtered import clip

from proctor.ask.clip.filterable import (
    from_candidate,
    from_pair,
    from_styled,
    step_line,
)
from proctor.ask.clip.record import InstructionalPair, ShownStep
from proctor.ask.documents.record import StyledQuestion
from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.corpus.collection import Corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed
from proctor.llm.message import Image
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake

PAIR = InstructionalPair(
    id="p1", clip_id="salad", dataset="made", video_id="v7", level="coarse", category="ordering",
    question="What comes second?", answer="Chopping", step_ids=("s2",),
)  # fmt: skip


def test_a_pair_brings_the_steps_of_its_clip() -> None:
    found = from_pair(PAIR, clip("salad", "make a salad", "wash the lettuce; chop the tomato"))
    assert [(line.id, line.text) for line in found.context] == [
        ("s1", "0.0 to 8.0 s: wash the lettuce"),
        ("s2", "10.0 to 18.0 s: chop the tomato"),
    ]
    assert (found.id, found.question, found.answers) == ("p1", "What comes second?", ("Chopping",))
    assert (found.topic, found.group, found.type, found.cites) == ("make a salad", "v7", "ordering", ("s2",))
    assert found.matter == "video"


def test_kind_and_narration_of_a_step_are_told() -> None:
    step = ShownStep(
        id="s1", text="add it", start=1.25, end=3.0, category="Mix things", narration="now the oil"
    )
    assert step_line(step).text == "1.2 to 3.0 s: add it (kind: Mix things) (said meanwhile: now the oil)"


def test_a_pair_of_another_clip_is_refused() -> None:
    with pytest.raises(UserError, match="about the clip 'salad'"):
        from_pair(PAIR, clip("soup", "", "a; b"))


def test_two_steps_of_one_id_are_refused() -> None:
    made = clip("salad", "", "a")
    twice = clip("salad", "", "a", steps=made.steps * 2)
    with pytest.raises(UserError, match="two context lines have the id 's1'"):
        from_pair(PAIR, twice)


def test_a_candidate_brings_the_procedure_and_what_was_done() -> None:
    graph = TaskGraph(
        "tea", "Tea", (Step("0", "START"), Step("1", "Boil water"), Step("2", "Add tea"), Step("9", "END")),
        (("0", "1"), ("1", "2"), ("2", "9")), "0", "9",
    )  # fmt: skip
    done = (
        Performed("1", "Boil milk", "Boil water", (Mistake("preparation", "milk for water"),), 1.0, 9.5),
        Performed("2", "Add tea"),
    )
    example = Example(
        id="e1", clip_id="r1_2", recording_id="r1", activity_id="tea", activity_name="Make tea", type="missing", end=12.0,
        state="ongoing", noisy=True, previous=done[:1], current=done[1],
    )  # fmt: skip
    candidate = Candidate(
        id="c1", example_id="e1", recording_id="r1", type="missing", question="Did I forget anything?",
        answers=(Answer("No", step_ids=("2",)), Answer("The water", step_ids=("1", "2"))),
        provenance=Provenance(generator="rules", version="1"),
    )  # fmt: skip
    found = from_candidate(candidate, example, graph)
    assert [(line.id, line.text) for line in found.context] == [
        ("1", "instruction: Boil water"),
        ("2", "instruction: Add tea (only after 1)"),
        ("done-1", "done, 1.0 to 9.5 s: Boil milk (went wrong: preparation: milk for water)"),
        ("done-2", "done, Add tea"),
    ]
    assert found.answers == ("No", "The water")
    assert (found.matter, found.topic, found.group) == ("procedure", "Make tea", "r1")
    assert found.cites == ("2", "1")
    other = Example(
        id="e2", clip_id="c", recording_id="r1", activity_id="tea", activity_name="", type="next", end=0.0,
        state="started", noisy=False,
    )  # fmt: skip
    with pytest.raises(UserError, match="about the example 'e1'"):
        from_candidate(candidate, other, graph)


STYLED = StyledQuestion(
    id="q1", style="compare", modalities=(1, 1, 1), question="Which is older?", answer="Arlen.", gold=("text:1", "table:1", "image:1")
)  # fmt: skip
CORPUS = Corpus(
    [
        text_source("text:1", "Arlen", "It was founded in 1210.", doc_id="doc:1"),
        table_source("table:1", "Towns", ["Town", "Founded"], [["Borga", "1340"]], doc_id="doc:2"),
        image_source("image:1", "Arlen at dusk", "1.png", verbalisation="Nine towers."),
    ]
)


def test_a_styled_question_brings_its_gold_sources() -> None:
    found = from_styled(STYLED, CORPUS)
    assert [line.id for line in found.context] == list(STYLED.gold)
    texts = [line.text for line in found.context]
    assert "1210" in texts[0]
    assert "Borga | 1340" in texts[1]
    assert texts[2] == "Arlen at dusk. Nine towers."
    assert (found.matter, found.topic, found.group, found.type) == ("sources", "", "doc:1", "compare")
    assert found.pictures == ()


def test_pixels_are_shown_where_they_are() -> None:
    pixels = Image(sha256="a" * 64, mime="image/png", width=8, height=8)
    found = from_styled(STYLED, CORPUS, lambda _source: pixels)
    assert found.pictures == (pixels,)
    assert "towers" not in found.context[2].text


def test_a_source_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match="'image:1' is not in the corpus"):
        from_styled(STYLED, Corpus(list(CORPUS)[:2]))
