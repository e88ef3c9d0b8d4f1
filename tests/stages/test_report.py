"""What the page takes from a workspace: which pictures stand with a question, and scores that are still those of the marks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.report.exams import make_run, small_items
from tests.report.pages import listed

from proctor.corpus.collection import write_corpus
from proctor.corpus.source import table_source, text_source
from proctor.exam.prediction import Prediction
from proctor.exam.question import Footage, Item, Open, Question
from proctor.exam.table import Resampling
from proctor.media import frames as media_frames
from proctor.records import Dropped, write_json
from proctor.report.data import Exam, Run
from proctor.stages.report_documents import document_writing
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
