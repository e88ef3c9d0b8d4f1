"""What the page takes from a workspace: which pictures stand with a question, and scores that are still those of the marks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.documents import document
from tests.report.exams import make_run, small_items
from tests.report.opening import closed, miscounted
from tests.report.pages import listed

from proctor.ask.documents.summary import summarise_documents
from proctor.corpus.collection import write_corpus
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import table_source, text_source
from proctor.exam.prediction import Prediction
from proctor.exam.question import Footage, Item, Open, Question
from proctor.exam.retrieval import Ranking
from proctor.exam.retrieval_scores import score_retrieval
from proctor.exam.style_overlap import StyleClaim, score_overlap
from proctor.exam.table import Resampling
from proctor.media import frames as media_frames
from proctor.records import Dropped, read_jsonl, write_json, write_jsonl
from proctor.report.data import Exam, Run
from proctor.report.page import render_page
from proctor.report.parts import Cell, Listing, Page
from proctor.stages.documents.reading import corpus_of, find_run, load_questions
from proctor.stages.documents.retrieve import retrieve_all
from proctor.stages.documents.settings import RetrievalOptions
from proctor.stages.report_documents import document_results, document_writing
from proctor.stages.report_evidence import choose_times, frames_of
from proctor.stages.report_exams import stored_scores
from proctor.workspace import Workspace

RATE = 10


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording with ten pictures a second, numbered by their grey."""

    def extract(path: Path, times: list[float], **_: Any) -> list[Any]:
        numbers = [int(t * RATE + 0.0005) for t in times]
        return [
            SimpleNamespace(time=n / RATE, image=np.full((16, 16, 3), n % 256, np.uint8)) for n in numbers
        ]

    monkeypatch.setattr(media_frames, "extract_frames", extract)


def _item(start: float, end: float) -> Item:
    part = Footage(recording="r", start=start, end=end)
    return Item(question=Question(id="i", kind="k", text="?", form=Open(), evidence=(part,)), golds=())


def _run(*times: float) -> Run:
    return Run("r", "r", predictions=(Prediction(item_id="i", predictor="r", answer="a", frame_times=times),))


@pytest.mark.parametrize(
    ("start", "runs", "count", "shown"),
    [
        (0.0, (), 4, [1.6, 5.0, 8.3, 9.9]),
        (4.0, (), 4, [5.0, 7.0, 9.0, 9.9]),  # a clip is shown from where it begins
        (0.0, (_run(1.0, 3.0, 5.0, 7.0, 9.0),), 4, [3.0, 7.0, 9.0, 9.9]),
        (0.0, (_run(2.0, 9.94),), 4, [2.0, 9.9]),  # a run saw the last picture itself: it is shown once
        (0.0, (_run(1.0, 2.0),), 1, [9.9]),
        (0.0, (), 1, [9.9]),
    ],
)
def test_the_last_picture_that_may_be_seen_is_there_and_last(
    recording: None, start: float, runs: tuple[Run, ...], count: int, shown: list[float]
) -> None:
    item = _item(start, 10.0)
    times = choose_times([item], Exam("e", "e", (item,), runs), count)
    found = frames_of(Path("r.mp4"), times, 16)["i"]
    assert [view.title for view in found] == [f"{time:.1f} s" for time in shown]
    assert all(view.picture.startswith("data:image/webp;base64,") for view in found)


def test_scores_that_were_written_are_taken_only_while_they_are_those_of_the_marks(tmp_path: Path) -> None:
    items, how = small_items(), Resampling(resamples=200)
    run = make_run("strong", items, "2221")
    assert run.table is not None
    path = tmp_path / "scores.json"
    assert stored_scores(path, run.table, how) is None
    write_json(path, run.table)
    assert stored_scores(path, run.table, how) == run.table
    assert stored_scores(path, make_run("strong", items, "2220").table, how) is None
    gone = {"judge": {**run.table.marks["judge"], items[0].id: None}}
    assert stored_scores(path, msgspec.structs.replace(run.table, marks=gone), how) is None
    assert stored_scores(path, run.table, Resampling(resamples=300)) is None


def test_numbers_of_a_corpus_open_its_sources_and_what_was_left_out(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    sources = [
        *(
            text_source(f"text:{n}", f"Lake {n}", f"It has {n} boats.", licence="CC0-1.0", doc_id="lakes")
            for n in range(2)
        ),
        table_source("table:0", "Boats", header=("lake", "boats"), rows=(("A", "3"),)),
    ]
    dropped = [Dropped("page.html", "short", "12 characters")]
    write_corpus(workspace.file("corpus"), sources, {"text:7": "text:0", "text:8": "text:0"}, dropped=dropped)
    spread = "Sources, and how many characters they have"
    opened = listed(document_writing(workspace, ()))
    columns = ("min", "median", "mean", "max")
    assert [opened.pop((spread, name, x))[1] for name in ("text", "table") for x in columns] == [2] * 4 + [
        1
    ] * 4
    assert opened == {
        ("Corpus", "texts", ""): ("2", 2),
        ("Corpus", "tables", ""): ("1", 1),
        ("Corpus", "documents", ""): ("2", 2),
        ("Corpus", "duplicates", ""): ("2", 2),
        (spread, "text", "sources"): ("2", 2),
        (spread, "table", "sources"): ("1", 1),
        ("Licences of sources", "CC0-1.0", "sources"): ("2", 2),
        ("Licences of sources", "unknown", "sources"): ("1", 1),
        ("Left out of the corpus", "short", "entries"): ("1", 1),
    }


def test_what_was_measured_beside_answers_opens_questions_rankings_and_both_sets(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    sources = [text_source(f"text:{n}", f"Lake {n}", f"The lake {n} has {n + 3} boats.") for n in range(6)]
    write_corpus(workspace.file("corpus"), sources, {"text:x": "text:1"})
    data = [
        CorpusQuestion(qid=f"d{n}", question=f"How many boats has lake {n}?", answers=("4",), gold=gold, modalities=(len(gold), 0, 0))
        for n, gold in enumerate((("text:0",), ("text:gone",), ("text:2", "text:3")))
    ]  # fmt: skip
    write_jsonl(workspace.file("questions.jsonl"), data)
    styled = [
        document(f"q{n}", text=f"What has lake {n}?", answer="Boats.", gold=(f"text:{n}",)) for n in (4, 5)
    ]
    write_jsonl(workspace.file("documents.jsonl"), styled)
    write_json(workspace.file("documents.json"), {"summary": summarise_documents([], [], [])})
    for which in ("data", "styled"):
        retrieve_all(
            tmp_path, RetrievalOptions(retrievers=("bm25",), questions=which, resamples=0, cuts=(1, 5))
        )
    path = tmp_path / "retrieval/data/bm25.jsonl"
    found: list[Ranking] = read_jsonl(path, Ranking)
    again = [
        msgspec.structs.replace(r, ids=("text:1", "text:x", *r.ids, *r.ids[:1]), scores=()) for r in found
    ]
    write_jsonl(path, again)
    questions = load_questions(workspace, "data")
    table = score_retrieval(
        questions,
        [find_run(workspace, questions, "data", "bm25")],
        corpus_of(workspace),
        cuts=(1, 5),
        resamples=0,
    )
    write_json(tmp_path / "retrieval/data/table.json", table)
    claims = [StyleClaim(qid=q.id, style="s", said=q.id == "q4") for q in styled]
    write_jsonl(tmp_path / "overlap.jsonl", claims)
    write_json(tmp_path / "overlap.json", score_overlap(styled, claims))

    sections = tuple(document_results(workspace, ()))
    opened = listed(sections)
    n = table.counts["repeated in rankings"]
    assert n > 4
    assert opened["Counted in retrieval", "repeated in rankings", "how many"] == (f"{n}", n)
    (each,) = (p for s in sections for p in s.parts if isinstance(p, Listing) and p.id == "repeated-data")
    assert {row[2] for row in each.table.rows} == {"bm25"}
    assert {cell.item for row in each.table.rows if isinstance(cell := row[1], Cell)} == {
        "d0",
        "d2",
    }  # not what is in no score
    by = f"{tmp_path.name}:"
    assert opened["Concurrence by retrieval", "bm25@5", f"{by}data"][1] == 2
    assert opened["Concurrence by retrieval", "bm25@5", f"{by}styled"][1] == 2
    assert opened["How alike both rank systems by retrieval", "pairs in opposite order", "value"][1] == 4
    assert opened["Overlap", "s", "own style %"] == ("50.0", 1)
    text = render_page(Page("Documents", sections=sections))
    assert closed(text) == {}
    assert [*miscounted(text)] == []
