"""Procedures as sources: manuals, task graphs, recordings, and questions about them in a corpus's own form."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.collection import Corpus, build_corpus, load_corpus, write_corpus
from proctor.corpus.procedural import (
    KINDS,
    Frame,
    ItemFacts,
    graph_source,
    graph_source_id,
    is_procedural,
    questions_from_items,
    recording_source_id,
    recording_sources,
)
from proctor.corpus.source import is_long_enough, render_source, text_source
from proctor.datasets.captaincook4d import DATASET as CAPTAINCOOK
from proctor.datasets.dataset import load_dataset
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.manual import Manual, ManualSection, ManualStep
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.procedure.showing import shown_text

STEPS = (
    ManualStep("0", "Wipe it with an old cloth.", "Clean it", ("Let it dry.",), ("img/1.png", "img/1b.png")),
    ManualStep("2", "", "", (), ("img/2.png",)),
    ManualStep("3", "Hang it up. Then wait.", "Hang it up."),
)
MANUAL = Manual("brush", "wiki", "Clean a Brush", (ManualSection(0, STEPS),), url="https://example.org/brush")


def test_steps_are_short_and_stay_where_the_rule_is_not_for_them():
    found = [
        text_source("step", "T", "short", meta={"kind": "recording_steps"}),
        text_source("passage", "T", "short"),
    ]
    assert not is_long_enough(found[0])
    built = build_corpus(found, exempt=is_procedural)
    assert [d.id for d in built.dropped] == ["passage"]
    assert len(built.corpus) == len(found) - 1


# -- task graphs ---------------------------------------------------------------------------------------------------


def test_a_graph_is_a_table_of_steps_and_what_comes_before(diamond):
    source = graph_source(diamond, data_set="tea")
    assert source.id == graph_source_id("g", "tea") == "tea/graph:g"
    assert source.header == ("No.", "Step", "Must come directly before it")
    assert source.rows == (
        ("1", "do a", "none"),
        ("2", "do b", "1 do a"),
        ("3", "do c", "1 do a"),
        ("4", "do d", "2 do b; 3 do c"),
    )
    assert source.doc_id == "tea/activity:g"
    assert source.meta == {"kind": "task_graph", "activity": "g", "data_set": "tea"}


def test_implied_prerequisites_are_left_out_and_steps_stand_in_an_order_that_can_be_done(make_graph):
    graph = make_graph("c b a", edges="a>b b>c a>c")
    assert [row[1:] for row in graph_source(graph).rows] == [
        ("do a", "none"),
        ("do b", "1 do a"),
        ("do c", "2 do b"),
    ]


def test_twin_steps_have_numbers_of_their_own(twins):
    assert [row[2] for row in graph_source(twins).rows] == ["none", "1 Stir the jar", "2 Add sugar"]


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1])))
def test_the_table_says_the_whole_graph(pairs):
    """Whoever reads the table gets the order back: the closure of its rows is that of the graph."""
    graph = TaskGraph(
        "g",
        "G",
        tuple(Step(str(n), f"do {n}") for n in range(8)),
        tuple((str(a), str(b)) for a, b in sorted(pairs)),
    )
    rows = graph_source(graph).rows
    step_of = {number: text.removeprefix("do ") for number, text, _ in rows}
    read = tuple(
        (step_of[entry.split(" ", 1)[0]], step_of[number])
        for number, _, before in rows
        if before != "none"
        for entry in before.split("; ")
    )
    again = TaskGraph("g", "G", graph.steps, read)
    for step in graph.steps:
        assert again.ancestors(step.id) == graph.ancestors(step.id)
    assert graph.is_valid_order([step_of[number] for number, _, _ in rows])


# -- recordings ----------------------------------------------------------------------------------------------------

RECORDING = Recording(
    "r1",
    "tea",
    "Make tea",
    (
        Segment("2", "Add sugar"),
        Segment(
            "1",
            "Boil water",
            3.0,
            60.25,
            performed="Boil\nmilk",
            mistakes=(Mistake("other", "milk, not water"),),
        ),
        Segment("3", "Stir", 70.0, 75.0),
        Segment("4", "Pour", 61.0, 69.0, mistakes=(Mistake("missing"),)),
    ),
)


def test_a_recording_is_a_text_of_what_was_done_and_a_table_of_when():
    steps, times = recording_sources(RECORDING)
    assert steps.id == recording_source_id("r1", "steps") == "recording:r1:steps"
    assert steps.title == "Make tea, recording r1"
    assert steps.body.splitlines()[1:] == [
        "1. Boil milk (from 3.0 s to 60.2 s)",
        "2. Stir (from 70.0 s to 75.0 s)",
    ]
    assert times.rows == (("Boil\nmilk", "3.0", "60.2"), ("Stir", "70.0", "75.0"))
    assert times.meta == {"kind": "recording_times", "activity": "tea", "recording": "r1"}
    assert steps.doc_id == times.doc_id == "recording:r1"


def test_no_source_says_what_was_a_mistake():
    said = " ".join(map(render_source, recording_sources(RECORDING)))
    assert "not water" not in said
    assert "sugar" not in said  # skipped
    assert "Pour" not in said  # marked missing


def test_nothing_done_gives_nothing():
    assert list(recording_sources(Recording("r", "a", "A", (Segment("1", "Boil"),)))) == []


def test_frames_give_a_text_of_captions_and_images_where_there_are_pixels(tmp_path):
    (tmp_path / "f.png").write_bytes(b"pixels")
    frames = [
        Frame(9.04, "A kettle\non a stove", "f.png"),
        Frame(2.0, "A cup"),
        Frame(3.0, "", "g.png"),
        Frame(4.0),
    ]
    recording = Recording("r", "tea", "", ())
    scenes, g, f = recording_sources(recording, frames=frames, data_set="d", root=tmp_path)
    assert scenes.id == recording_source_id("r", "scenes", "d")
    assert scenes.body.splitlines()[1:] == ["At 2.0 s: A cup", "At 9.0 s: A kettle on a stove"]
    assert (g.id, g.caption) == ("d/recording:r:frame3.000", "tea, recording r, at 3.0 s")
    assert (f.caption, f.locator) == ("tea, recording r, at 9.0 s: A kettle on a stove", "9.0 s")
    assert f.content_hash == hashlib.sha256(b"pixels").hexdigest()
    assert {s.meta["kind"] for s in (scenes, g, f)} <= set(KINDS)


def test_a_long_caption_is_cut_at_a_word():
    frame = Frame(1.0, "word " * 100, "f.png")
    *_, image = recording_sources(Recording("r", "tea", "", ()), frames=[frame])
    assert image.caption.endswith("word …")
    assert len(image.caption) < 200


# -- questions -----------------------------------------------------------------------------------------------------


def facts(**more) -> ItemFacts:
    values = {
        "id": "q1",
        "question": "What now?",
        "answers": ("Stir.", "Pour."),
        "activity": "g",
        "recording": "r1",
        "type": "next",
        "moment": 60.25,
        "latest": "Boil milk",
    }
    return ItemFacts(**(values | more))


@pytest.fixture
def corpus(diamond) -> Corpus:
    return build_corpus([graph_source(diamond), *recording_sources(RECORDING)], exempt=is_procedural).corpus


def test_a_question_has_graph_and_recording_as_gold(corpus):
    (question,), dropped = questions_from_items([facts()], corpus)
    assert dropped == []
    assert question.qid == "q1"
    assert question.gold == ("graph:g", "recording:r1:steps")
    assert question.modalities == (1, 1, 0)
    assert question.context == ("recording:r1:times",)
    assert question.answers == ("Stir.", "Pour.")
    assert question.type == "next"
    assert question.gold_complete
    assert question.question == "Make tea, recording r1, at 60.2 s, just after this: Boil milk — What now?"
    assert question.meta["question"] == "What now?"


def test_a_question_may_stay_as_it_was(corpus):
    (question,), _ = questions_from_items([facts()], corpus, situated=False)
    assert question.question == "What now?"
    (start,), _ = questions_from_items([facts(moment=None, latest=" ")], corpus)
    assert start.question == "Make tea, recording r1 — What now?"


def test_a_question_whose_source_is_not_there_is_listed(corpus):
    questions, dropped = questions_from_items(
        [facts(activity="other"), facts(id="q2", recording="r9")], corpus
    )
    assert questions == []
    assert [(d.id, d.reason) for d in dropped] == [("q1", "no_source"), ("q2", "no_source")]
    assert dropped[0].detail == "not in the corpus: graph:other"
    assert questions_from_items([facts()], corpus, data_set="else")[0] == []


def test_gold_is_what_stands_for_a_duplicate(corpus):
    renamed = Corpus(corpus.sources[1:], aliases={"graph:g": "recording:r1:times"})
    (question,), _ = questions_from_items([facts()], renamed)
    assert question.gold[0] == "recording:r1:times"


# -- real data -----------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_questions_of_promqa_and_passages_are_one_corpus(shared_data, tmp_path):
    """384 recordings and 24 graphs beside 3,117 sources of another data set; 195 published moments find their gold."""
    cooked = CAPTAINCOOK.read(shared_data / "captaincook4d", "published")
    passages = load_dataset("sources").iter_records(shared_data / "mmrag")
    procedures = [
        *(graph_source(graph, data_set="cc4d") for graph in cooked.graphs.values()),
        *(s for recording in cooked.recordings for s in recording_sources(recording, data_set="cc4d")),
    ]
    built = build_corpus([*passages, *procedures], exempt=is_procedural)
    kinds = Counter(source.meta.get("kind") for source in built.corpus)
    assert (kinds["task_graph"], kinds["recording_steps"], kinds["recording_times"]) == (24, 384, 384)
    write_corpus(tmp_path, built.corpus, dropped=built.dropped)
    corpus = load_corpus(tmp_path)

    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_bytes())
    activity = {recording.id: recording.activity_id for recording in cooked.recordings}
    items = [
        ItemFacts(
            id=example["question_id"],
            question=example["question"],
            answers=tuple(example["answers"]),
            activity=activity[example["recording_id"]],
            recording=example["recording_id"],
            type=example["type"],
            latest=(example["current_step"] or {}).get("description", ""),
        )
        for example in examples
    ]
    questions, dropped = questions_from_items(items, corpus, data_set="cc4d")
    assert (len(questions), dropped) == (195, [])
    for question, example in zip(questions, examples, strict=True):
        graph, steps = map(corpus.get, question.gold)
        assert graph is not None
        assert steps is not None
        assert graph.title == example["activity_name"]
        assert question.question.startswith(
            f"{example['activity_name']}, recording {example['recording_id']}"
        )
        for step in example["previous_steps"]:
            assert shown_text(" ".join(step["description"].split())) in steps.body


@pytest.mark.shared
def test_segments_of_another_release_are_told_in_order_of_time(shared_data):
    rows = defaultdict(list)
    with Path(shared_data / "msl" / "gt_environment_test.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            rows[row["video-id"]].append(row)
    assert len(rows) > 50
    for video, segments in rows.items():
        recording = Recording(
            video,
            video.split("_")[0],
            "",
            tuple(
                Segment(r["label"], f"Step {r['label']}", float(r["t-start"]), float(r["t-end"]))
                for r in segments
            ),
        )
        steps, times = recording_sources(recording)
        starts = [float(start) for _, start, _ in times.rows]
        assert starts == sorted(starts)
        assert len(steps.body.splitlines()) == len(segments) + 1
        assert Counter(row[0] for row in times.rows) == Counter(f"Step {r['label']}" for r in segments)
