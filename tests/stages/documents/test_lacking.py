"""Questions of which the corpus lacks a source: in no score, counted, and said first."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.corpus.collection import write_corpus
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import text_source
from proctor.errors import UserError
from proctor.records import Dropped, read_jsonl, write_jsonl
from proctor.stages.build import build
from proctor.stages.documents.retrieve import retrieve_all
from proctor.stages.documents.settings import RetrievalOptions
from proctor.stages.inputs import load_all_items
from proctor.stages.report import report
from proctor.stages.score import lacking_text
from proctor.workspace import Workspace


def test_they_leave_retrieval_and_the_exam_and_are_told_first(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    texts = [text_source(f"text:{n}", f"Lake {n}", f"The lake {n} has {n + 3} boats.") for n in range(4)]
    write_corpus(workspace.file("corpus"), texts)
    golds = (("text:1",), ("text:gone",), ("text:2", "text:gone"), ("text:3",))
    questions = [
        CorpusQuestion(
            qid=f"q{n}",
            question=f"How many boats has lake {n}?",
            answers=("4",),
            gold=gold,
            gold_complete=True,
        )
        for n, gold in enumerate(golds)
    ]
    write_jsonl(workspace.file("questions.jsonl"), questions)

    found = retrieve_all(tmp_path, RetrievalOptions(retrievers=("bm25",), questions="data", resamples=0))
    assert (found.questions, found.table.lacking) == (2, ("q1", "q2"))

    built = build(tmp_path)
    assert (built.items, built.dropped) == (2, {"source-not-in-corpus": 2})
    assert [item.id for item in load_all_items(workspace)] == ["q0", "q3"]
    dropped = read_jsonl(workspace.file("build.dropped.jsonl"), Dropped)
    assert [(d.id, d.detail) for d in dropped] == [("q1", "text:gone"), ("q2", "text:gone")]
    told = (
        "2 questions are in no score, since the corpus lacks a source that they cite (build.dropped.jsonl)."
    )
    assert lacking_text(workspace) == told
    page = Path(report(tmp_path).report).read_text()
    assert page.index(told) < page.index('id="retrieval-data"')
    assert "2 of 4 questions are scored; 2 not" in page

    write_jsonl(workspace.file("questions.jsonl"), questions[1:2])
    with pytest.raises(UserError, match="1 source-not-in-corpus"):
        build(tmp_path)
