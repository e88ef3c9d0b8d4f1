"""Retrieval: runs as records, what a run refuses, and the table of recall by hand and on the real corpus."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents import changed, document

from proctor.corpus.collection import Corpus
from proctor.corpus.index.hits import NOTHING, Hits
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import text_source
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import combination, corpus_question, gold_of, modalities_of
from proctor.exam.question import proposed_texts
from proctor.exam.retrieval import Query, Ranking, RetrievalRun, retrieve
from proctor.exam.retrieval_scores import RetrievalTable, score_retrieval
from proctor.exam.retrievers import LexicalRetriever


class Listed:
    """A retriever that gives each question a list of positions."""

    def __init__(self, lists, name="listed", embedders=()):
        self.lists, self.name, self.embedders = lists, name, frozenset(embedders)
        self.settings = {"pool": "all", "a:b": "x|y"}

    def search(self, queries: list[Query], k: int) -> Hits:
        positions = np.full((len(queries), k), NOTHING, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        for row, query in enumerate(queries):
            found = self.lists[query.text][:k]
            positions[row, : len(found)] = found
            scores[row, : len(found)] = [1.0 / (n + 1) for n in range(len(found))]
        return Hits(positions, scores)


def run(**rankings):
    return RetrievalRun(
        retriever="r",
        signature="ranking|corpus:x|depth:100|retriever:r",
        rankings=tuple(Ranking(qid=q, retriever="r", ids=tuple(ids)) for q, ids in rankings.items()),
    )


# -- running ---------------------------------------------------------------------------------------------------


def test_a_run_keeps_ids_scores_and_signature(lakes, lake_questions):
    lists = {q.text: [2, 0] if q.id == "q2" else [] for q in lake_questions}
    found = retrieve(lake_questions, lakes, Listed(lists, embedders=["e"]), depth=5)
    assert [r.qid for r in found.rankings] == ["q1", "q2", "q3", "q4"]
    assert found.rankings[1].ids == ("table:depths", "text:vell")
    assert found.rankings[1].scores == (1.0, 0.5)
    assert found.rankings[0].ids == ()
    assert found.embedders == ("e",)
    assert f"corpus:{lakes.fingerprint[:16]}" in found.signature
    assert "a=b:x_y" in found.signature
    assert "depth:5" in found.signature
    assert msgspec.json.decode(msgspec.json.encode(found), type=RetrievalRun) == found


def test_many_questions_are_searched_in_batches(lakes):
    questions = [document(str(n), gold=("text:vell",)) for n in range(2_500)]
    found = retrieve(questions, lakes, Listed({"?": [0]}), depth=1)
    assert len(found.rankings) == 2_500
    assert {r.ids for r in found.rankings} == {("text:vell",)}


def test_what_cannot_be_run(lakes, lake_questions):
    with pytest.raises(UserError, match="have this id"):
        retrieve([lake_questions[0]] * 2, lakes, Listed({}))
    with pytest.raises(UserError, match="at least one source"):
        retrieve(lake_questions, lakes, Listed({}), depth=0)
    lists = {q.text: [99] for q in lake_questions}
    with pytest.raises(UserError, match="index knows source 99, the corpus has only 6"):
        retrieve(lake_questions, lakes, Listed(lists))


# -- questions -------------------------------------------------------------------------------------------------


def test_questions_of_a_data_set_say_what_they_need():
    theirs = corpus_question(
        CorpusQuestion(qid="c", question="?", answers=("x", "y"), gold=("b", "a", "b"), modalities=(1, 1, 0))
    )
    assert (proposed_texts(theirs), gold_of(theirs)) == (("x; y",), ("b", "a"))
    assert theirs.facets == {"style": "untyped", "combination": "text+table"}
    assert modalities_of(theirs) == (1, 1, 0)
    assert modalities_of(corpus_question(CorpusQuestion(qid="c", question="?"))) == (0, 0, 0)
    assert combination((0, 0, 2)) == "image+image"


# -- the table -------------------------------------------------------------------------------------------------


def test_cells_by_hand(lakes, lake_questions):
    # q2 cites a duplicate: the ranking names the source that stands for it, and so may a ranking name a duplicate.
    found = score_retrieval(
        lake_questions,
        [
            run(
                q1=["text:vell"],
                q2=["text:vell", "text:vell-again", "table:depths"],
                q3=["text:boat"],
                q4=["text:boat", "image:vell"],
            )
        ],
        lakes,
        cuts=(1, 2),
        resamples=200,
    )
    assert found.cell("r", "recall@1").value == pytest.approx(100 * (1 + 0.5 + 0 + 0.5) / 4)
    assert found.cell("r", "recall@2").value == pytest.approx(100 * (1 + 1 + 0 + 0.5) / 4)
    assert found.cell("r", "all-gold@2").value == pytest.approx(100 * 2 / 4)
    assert found.cell("r", "recall@2 text").value == pytest.approx(100 * (1 + 1 + 0.5) / 3)
    assert found.cell("r", "recall@2 table").value == pytest.approx(50.0)
    assert found.cell("r", "recall@2 image").n == 1
    assert found.cell("r", "recall@2", "style=numerical").value == 100.0
    assert found.cell("r", "recall@2", "modalities=text+table").n == 1
    assert found.cell("r", "recall@2", "style=compound/modalities=text+text").value == 50.0
    all_ = found.cell("r", "recall@2")
    assert all_.low <= all_.value <= all_.high
    assert "gold:fractional" in all_.signature
    assert "gold:all" in found.cell("r", "all-gold@2").signature
    assert all_.n == 4
    assert found.recalls["r"]["recall@2"] == {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 0.5}
    assert found.counts == {
        "gold sources": 7, "gold sources named by an alias": 1, "repeated in rankings": 1,
    }  # fmt: skip
    with pytest.raises(KeyError):
        found.cell("r", "recall@7")
    assert msgspec.json.decode(msgspec.json.encode(found), type=RetrievalTable) == found


def test_a_failed_ranking_is_counted_and_never_zero(lakes, lake_questions):
    broken = msgspec.structs.replace(
        run(q1=["text:vell"], q2=[], q3=[]),
        rankings=(
            *run(q1=["text:vell"], q2=[], q3=[]).rankings,
            Ranking(qid="q4", retriever="r", failure="timeout: too slow"),
        ),
    )
    found = score_retrieval(lake_questions, [broken], lakes, resamples=0)
    cell = found.cell("r", "recall@5")
    assert (cell.n, cell.failed, cell.value) == (3, 1, pytest.approx(100 / 3))
    compound = found.cell("r", "recall@5", "style=compound")
    assert (compound.value, compound.n, compound.failed) == (None, 0, 1)
    assert "q4" not in found.recalls["r"]["recall@5"]
    assert any("1 of 4 rankings failed" in note for note in found.notes)


def test_a_run_of_failures_has_no_number_and_says_so(lakes, lake_questions):
    failed = RetrievalRun(
        retriever="r",
        signature="ranking|corpus:x|depth:100",
        rankings=tuple(Ranking(qid=q.id, retriever="r", failure="budget: spent") for q in lake_questions),
    )
    cell = score_retrieval(lake_questions, [failed], lakes).cell("r", "recall@5")
    assert (cell.value, cell.n, cell.failed) == (None, 0, 4)
    assert cell.note == "no question was scored (4 failed)"


def test_questions_whose_gold_the_corpus_lacks_are_counted_beside_the_score_and_not_in_it(
    lakes, lake_questions
):
    asked = [
        changed(lake_questions[0], gold=("text:vell",)),
        changed(lake_questions[1], gold=("text:vell", "text:nowhere")),
    ]
    found = score_retrieval(asked, [run(q1=["text:vell"], q2=["text:vell"])], lakes, resamples=0)
    cell = found.cell("r", "recall@5")
    assert (cell.value, cell.n, found.questions, found.lacking) == (100.0, 1, 1, ("q2",))
    assert "lacking:left_out" in cell.signature
    assert found.recalls["r"]["recall@5"] == {"q1": 1.0}
    assert found.counts["gold sources not in the corpus"] == 1
    assert (
        found.told
        == "1 of 2 questions are scored; 1 not, since the corpus lacks a source that they cite: q2."
    )
    with pytest.raises(UserError, match="the corpus lacks sources of all 1 questions"):
        score_retrieval(asked[1:], [run(q2=[])], lakes)


def test_words_that_chose_the_sources_are_told(lakes, lake_questions):
    asked = [changed(q, provenance={"retriever": "bm25 + lsa-1:256:x"}) for q in lake_questions]
    words = msgspec.structs.replace(run(q1=[], q2=[], q3=[], q4=[]), embedders=("bm25",))
    assert any("favoured" in note for note in score_retrieval(asked, [words], lakes, resamples=0).notes)


def test_the_embedder_that_chose_the_sources_is_told(lakes, lake_questions):
    asked = [changed(q, provenance={"retriever": "e5"}) for q in lake_questions]
    own = msgspec.structs.replace(run(q1=[], q2=[], q3=[], q4=[]), embedders=("e5",))
    assert any("favoured" in note for note in score_retrieval(asked, [own], lakes, resamples=0).notes)
    other = msgspec.structs.replace(own, embedders=("lsa",))
    assert score_retrieval(asked, [other], lakes, resamples=0).notes == ()


def test_rankings_that_are_too_short_for_the_cut_are_told(lakes, lake_questions):
    shallow = msgspec.structs.replace(
        run(q1=[], q2=[], q3=[], q4=[]), signature="ranking|corpus:x|depth:5|retriever:r"
    )
    notes = score_retrieval(lake_questions, [shallow], lakes, resamples=0).notes
    assert notes == ("r: rankings hold 5 sources, fewer than the largest cut-off 10",)


def test_what_cannot_be_scored(lakes, lake_questions):
    whole = run(q1=[], q2=[], q3=[], q4=[])
    with pytest.raises(UserError, match="nothing to score"):
        score_retrieval([], [whole], lakes)
    with pytest.raises(UserError, match="q1: the question has no gold source"):
        score_retrieval([changed(lake_questions[0], gold=())], [run(q1=[])], lakes)
    with pytest.raises(UserError, match="q1: two questions have this id"):
        score_retrieval([lake_questions[0]] * 2, [run(q1=[])], lakes)
    with pytest.raises(UserError, match="q1: the question is empty"):
        score_retrieval([changed(lake_questions[0], text=" ")], [run(q1=[])], lakes)
    with pytest.raises(UserError, match="same retriever"):
        score_retrieval(lake_questions, [whole, whole], lakes)
    with pytest.raises(UserError, match="no counterpart is 'q4'"):
        score_retrieval(lake_questions, [run(q1=[], q2=[], q3=[])], lakes)
    with pytest.raises(UserError, match="no counterpart is 'q9'"):
        score_retrieval(lake_questions, [run(q1=[], q2=[], q3=[], q4=[], q9=[])], lakes)
    with pytest.raises(UserError, match="cut-offs"):
        score_retrieval(lake_questions, [whole], lakes, cuts=(0,))
    twice = msgspec.structs.replace(whole, rankings=(*whole.rankings, whole.rankings[0]))
    with pytest.raises(UserError, match="two rankings"):
        score_retrieval(lake_questions, [twice], lakes)


@pytest.mark.shared
def test_the_worked_examples(shared_expected):
    """Every case written down, through the table."""
    cases = shared_expected("smmqg-instructionbench")["recall_at_k"]
    names = sorted({i for case in cases["cases"] for i in (*case["gold"], *case["ranking"])})
    corpus = Corpus([text_source(name, name, f"the text {name}") for name in names])
    for case in cases["cases"]:
        asked = [document("q", gold=tuple(case["gold"]))]
        table = score_retrieval(asked, [run(q=case["ranking"])], corpus, cuts=(case["k"],), resamples=0)
        value = table.cell("r", f"recall@{case['k']}").value
        assert value == pytest.approx(100 * case["recall"], abs=1e-4)


@given(st.permutations(range(4)), st.integers(0, 3))
def test_the_order_of_the_questions_changes_no_cell(order, extra):
    corpus = Corpus([text_source(f"t{n}", f"t{n}", f"text {n}") for n in range(6)])
    asked = [document(f"q{n}", style="ab"[n % 2], gold=(f"t{n}", f"t{(n + extra) % 6}")) for n in range(4)]
    rankings = run(q0=["t0"], q1=["t5", "t1"], q2=[], q3=["t3", "t4"])
    first = score_retrieval(asked, [rankings], corpus, resamples=50)
    second = score_retrieval([asked[n] for n in order], [rankings], corpus, resamples=50)
    assert sorted(first.cells, key=str) == sorted(second.cells, key=str)
    for cell in first.cells:
        strict = cell.measure.replace("recall", "all-gold")
        if " " not in cell.measure and cell.measure.startswith("recall"):
            assert first.cell("r", strict, cell.slice).value <= cell.value + 1e-9


# -- the real corpus -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mmrag(shared_data):
    """The real corpus with its 161 questions whose gold is complete."""
    from proctor.datasets.dataset import Log
    from proctor.datasets.sources import iter_questions, iter_sources

    corpus = Corpus(iter_sources(shared_data / "mmrag", "published", Log()))
    questions = [
        corpus_question(q)
        for q in iter_questions(shared_data / "mmrag", "published", Log())
        if q.gold_complete
    ]
    return corpus, questions


@pytest.mark.shared
def test_bm25_on_the_real_corpus_finds_what_was_measured(mmrag, shared_expected):
    expected = shared_expected("smmqg-instructionbench")["bm25_real_subset"]
    corpus, questions = mmrag
    assert len(questions) == 161
    retriever = LexicalRetriever(LexicalIndex.build(corpus.texts(), corpus.modalities))
    ran = retrieve(questions, corpus, retriever)
    table = score_retrieval(questions, [ran], corpus, resamples=500)
    assert table.cell("bm25", "recall@5").value == pytest.approx(48.1366, abs=1e-4)
    assert table.cell("bm25", "recall@10").value == pytest.approx(57.4534, abs=1e-4)
    assert table.cell("bm25", "recall@5").value == pytest.approx(expected["recall@5"], abs=1e-4)
    assert table.cell("bm25", "all-gold@10").value == pytest.approx(expected["all_gold@10_strict"], abs=1e-3)
    assert table.cell("bm25", "recall@5 table").value == pytest.approx(
        expected["recall@5_table_part"], abs=1e-4
    )
    assert table.cell("bm25", "recall@5 text").value == pytest.approx(
        expected["recall@5_text_part"], abs=1e-4
    )
    by_id = {ranking.qid: ranking for ranking in ran.rankings}
    for example in expected["examples"]:
        ranking = by_id[example["qid"]]
        assert list(ranking.ids[:5]) == example["top5"]
        assert ranking.scores[0] == pytest.approx(example["top1_score"], abs=1e-4)
        assert table.recalls["bm25"]["recall@5"][example["qid"]] == example["recall@5"]
