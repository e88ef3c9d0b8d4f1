"""What is known of a question of each kind, line by line; filters send these lines, so their words are frozen."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exam.outside.proctor_pictures import KIND as PICTURE

from proctor.ask.clip.record import ShownStep, render_step
from proctor.corpus.collection import Corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.library import Library
from proctor.exam.question import Footage, Open, Picture, Question, Source, Words
from proctor.llm.media import MediaStore
from proctor.llm.message import Image
from proctor.media.paint import encode_png
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake

TEA = TaskGraph(
    "tea", "Tea", (Step("0", "START"), Step("1", "Boil water"), Step("2", "Add tea"), Step("9", "END")),
    (("0", "1"), ("1", "2"), ("2", "9")), "0", "9",
)  # fmt: skip


def test_a_moment_has_its_procedure_and_what_was_done() -> None:
    done = (
        Performed("1", "Boil milk", "Boil water", (Mistake("preparation", "milk for water"),), 1.0, 9.5),
        Performed("2", "Add tea"),
    )
    example = Example(
        id="e1", clip_id="r1_2", recording_id="r1", activity_id="tea", activity_name="", type="missing", end=12.0,
        state="ongoing", noisy=True, previous=done[:1], current=done[1],
    )  # fmt: skip
    question, kind = question_about(example, "c1", "Did I forget anything?"), kind_named("moment")
    library = Library(media=MediaStore(), graphs={"tea": TEA})
    assert [(line.id, line.text) for line in kind.lines(question, library)] == [
        ("1", "instruction: Boil water"),
        ("2", "instruction: Add tea (only after 1)"),
        ("done-1", "done, 1.0 to 9.5 s: Boil milk (went wrong: preparation: milk for water)"),
        ("done-2", "done, Add tea"),
    ]
    named = question_about(msgspec.structs.replace(example, activity_name="Make tea"), "c1", "What now?")
    assert [kind.topic(asked, library) for asked in (question, named)] == ["Tea", "Make tea"]
    with pytest.raises(UserError, match="has no task graph"):
        kind.lines(question, Library(media=MediaStore()))


def clip(*steps: str) -> Question:
    return Question(
        id="q", kind="clip", text="What comes second?", form=Open(), evidence=(Footage(recording="v", end=9),),
        facts={"steps": list(steps), "goal": "make a salad"},
    )  # fmt: skip


def test_a_clip_has_its_steps() -> None:
    kind, library = kind_named("clip"), Library(media=MediaStore())
    steps = (
        ShownStep(id="s1", text="add it", start=1.25, end=3, category="Mix | all", narration="now the oil"),
        ShownStep(id="s2", text="stir | shake", start=3, end=4),
    )
    question = clip(*map(render_step, steps), "rinse the lettuce")
    assert [(line.id, line.text) for line in kind.lines(question, library)] == [
        ("s1", "1.2 to 3.0 s: add it (kind: Mix | all) (said meanwhile: now the oil)"),
        ("s2", "3.0 to 4.0 s: stir | shake"),
        ("3", "rinse the lettuce"),
    ]
    assert kind.topic(question, library) == "make a salad"


_TEXT = st.text(max_size=20).filter(lambda text: " | " not in text and not text.startswith("kind: "))


@given(st.floats(0, 9e5), st.floats(0, 9e5), _TEXT, _TEXT, _TEXT)
def test_no_step_of_a_clip_loses_a_letter(start: float, end: float, text: str, kind: str, said: str) -> None:
    step = ShownStep(id="s1", text=text, start=start, end=end, category=kind, narration=said)
    (line,) = kind_named("clip").lines(clip(render_step(step)), Library(media=MediaStore()))
    extra = (f" (kind: {kind})" if kind else "") + (f" (said meanwhile: {said})" if said else "")
    assert line.text == f"{start:.1f} to {end:.1f} s: {text}{extra}"


def test_documents_have_the_sources_that_they_cite() -> None:
    corpus = Corpus(
        [
            text_source("text:1", "Arlen", "It was founded in 1210.", doc_id="doc:1"),
            table_source("table:1", "Towns", ["Town", "Founded"], [["Borga", "1340"]], doc_id="doc:2"),
            image_source("image:1", "Arlen at dusk", "1.png", verbalisation="Nine towers."),
        ]
    )
    question = Question(
        id="d", kind="documents", text="Which is older?", form=Open(),
        evidence=tuple(Source(id=id_) for id_ in ("text:1", "table:1", "image:1")),
    )  # fmt: skip
    kind = kind_named("documents")
    lines = kind.lines(question, Library(media=MediaStore(), corpus=corpus))
    assert [line.id for line in lines] == ["text:1", "table:1", "image:1"]
    assert [line.text for line in lines] == [
        "Arlen: It was founded in 1210.", "Towns\nTown | Founded\nBorga | 1340", "Arlen at dusk. Nine towers.",
    ]  # fmt: skip
    pixels = Image(sha256="a" * 64, mime="image/png", width=8, height=8)
    seen = kind.lines(question, Library(media=MediaStore(), corpus=corpus, picture=lambda _source: pixels))
    assert (seen[2].text, seen[2].picture) == ("Arlen at dusk (an attached picture)", pixels)
    with pytest.raises(UserError, match="'text:1' is not in the corpus"):
        kind.lines(question, Library(media=MediaStore()))


def test_a_kind_of_another_package_has_its_texts_and_pictures(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(encode_png(np.full((24, 32, 3), 200, np.uint8)))
    question = Question(
        id="p", kind="picture", text="Which colour?", form=Open(), facts={"seen": ["a secret"]},
        evidence=(Picture(path="red.png", caption="A wall."), Picture(path="gone.png"), Words(id="a", text="Stir.")),
    )  # fmt: skip
    red, gone, words = PICTURE.lines(question, Library(media=MediaStore(), root=tmp_path))
    assert (red.text, red.picture is not None) == ("A wall. (an attached picture)", True)
    assert (gone.picture, gone.text) == (
        None,
        "(a picture that cannot be shown: there is no file 'gone.png')",
    )
    assert (words.id, words.text) == ("a", "Stir.")
