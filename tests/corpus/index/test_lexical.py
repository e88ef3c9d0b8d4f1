from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.index import lexical
from proctor.corpus.index.hits import CODES, NOTHING
from proctor.corpus.index.lexical import LexicalIndex, words_of
from proctor.corpus.source import Source, render_source
from proctor.errors import MissingExtraError, UserError

pytest.importorskip("bm25s", reason="needs the extra 'corpus'")

TEXTS = ["the boat on the tarn", "a tarn", "boats and boat houses", "", "the the the"]


def codes_of(modalities):
    return np.array([CODES[m] for m in modalities], np.int8)


def formula(texts: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    """BM25 by its formula, in float64."""
    documents = [Counter(words_of(text)) for text in texts]
    lengths = [sum(d.values()) for d in documents]
    mean = sum(lengths) / len(lengths)
    scores = np.zeros(len(texts))
    for word in dict.fromkeys(words_of(query)):
        n = sum(word in d for d in documents)
        idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        for position, document in enumerate(documents):
            f = document[word]
            if f:
                scores[position] += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * lengths[position] / mean))
    return scores


def test_scores_are_those_of_the_formula():
    index = LexicalIndex.build(TEXTS)
    for query in ("the boat", "tarn", "boat boat TARN the", "boats, houses!"):
        assert index.scores(query) == pytest.approx(formula(TEXTS, query), abs=1e-5)


def test_other_parameters_are_those_of_the_formula_too():
    index = LexicalIndex.build(TEXTS, k1=0.4, b=0.0)
    assert index.scores("the boat") == pytest.approx(formula(TEXTS, "the boat", 0.4, 0.0), abs=1e-5)
    assert index.signature == "bm25|k1=0.4|b=0|idf=lucene|tokens=\\w+ lower"


@given(
    st.lists(st.lists(st.sampled_from("abcdÄ7_"), max_size=8).map(" ".join), min_size=1, max_size=12),
    st.lists(st.sampled_from("abcdÄ7_x"), max_size=5).map(" ".join),
    st.integers(1, 14),
)
def test_hits_are_the_best_by_the_formula(texts: list[str], query: str, k: int):
    scores = formula(texts, query)
    hits = LexicalIndex.build(texts).search([query], k)
    found = [p for p in hits.positions[0].tolist() if p != NOTHING]
    assert len(found) == min(k, int((scores > 0).sum()))
    assert hits.scores[0, : len(found)] == pytest.approx(scores[found], abs=1e-5)
    assert np.sort(scores)[::-1][: len(found)] == pytest.approx(scores[found], abs=1e-5)


def test_equal_texts_are_found_in_their_order():
    hits = LexicalIndex.build(["b", "a x", "a x", "a x", "c"]).search(["x"], 2)
    assert hits.positions.tolist() == [[1, 2]]
    assert hits.scores[0, 0] == hits.scores[0, 1]


def test_a_query_without_a_known_word_finds_nothing():
    hits = LexicalIndex.build(TEXTS).search(["zebra", "", "?!", "tarn"], 3)
    assert hits.positions[:3].tolist() == [[NOTHING] * 3] * 3
    assert np.isneginf(hits.scores[:3]).all()
    assert hits.positions[3].tolist() == [1, 0, NOTHING]


def test_a_modality_is_searched_for_itself_with_the_scores_of_the_whole():
    modalities = codes_of(["text", "table", "image", "image", "text"])
    index = LexicalIndex.build(TEXTS, modalities)
    everywhere = index.search(["the boat"], 5)
    assert everywhere.positions[0, 0] == 0
    images = index.search(["the boat"], 5, within="image")
    assert images.positions.tolist() == [[2, NOTHING, NOTHING, NOTHING, NOTHING]]
    assert images.scores[0, 0] == index.scores("the boat")[2]
    assert index.search(["boat"], 2, within="table").positions.tolist() == [[NOTHING, NOTHING]]


def test_a_modality_with_enough_sources_gives_as_many_as_asked_for():
    texts = ["x y"] * 50 + ["x"] * 3
    modalities = codes_of(["text"] * 50 + ["table"] * 3)
    hits = LexicalIndex.build(texts, modalities).search(["x y"], 3, within="table")
    assert hits.positions.tolist() == [[50, 51, 52]]


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_a_corpus_without_words_finds_nothing(texts: list[str]):
    index = LexicalIndex.build(texts)
    assert len(index) == len(texts)
    assert index.search(["a"], 2).positions.tolist() == [[NOTHING, NOTHING]]
    assert index.search([], 2).positions.shape == (0, 2)


def test_moments_are_those_of_all_scores():
    modalities = codes_of(["text", "table", "text", "text", "text"])
    index = LexicalIndex.build(TEXTS, modalities)
    values = formula(TEXTS, "the boat")[[0, 2, 3, 4]]
    mean, deviation = index.moments(["the boat"], "text")
    assert mean == pytest.approx([values.mean()], abs=1e-5)
    assert deviation == pytest.approx([values.std()], abs=1e-5)
    assert index.moments(["the boat"], "image")[1].tolist() == [0.0]


def test_compiled_and_plain_scoring_give_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.5, 30) % 200) for _ in range(60)]
    queries = [" ".join(f"w{n}" for n in rng.integers(0, 200, 6)) for _ in range(20)]
    plain = LexicalIndex.build(texts).search(queries, 10)
    monkeypatch.setattr(lexical, "_COMPILE_FROM", 1)
    compiled = LexicalIndex.build(texts).search(queries, 10)
    assert plain.positions.tobytes() == compiled.positions.tobytes()
    assert plain.scores.tobytes() == compiled.scores.tobytes()


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (1.2, 1.1), (math.nan, 0.5), (1.2, -0.1)])
def test_parameters_without_sense_are_refused(k1: float, b: float):
    with pytest.raises(UserError, match="k1"):
        LexicalIndex.build(["a"], k1=k1, b=b)


def test_bad_arguments_are_told():
    index = LexicalIndex.build(["a"])
    with pytest.raises(UserError, match="at least one"):
        index.search(["a"], 0)
    with pytest.raises(UserError, match="no modality 'video'"):
        index.search(["a"], 1, within="video")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="2 sources, but 1"):
        LexicalIndex.build(["a", "b"], np.zeros(1, np.int8))
    with pytest.raises(UserError, match="from 0 to 2"):
        LexicalIndex.build(["a"], np.array([3]))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match="bm25s"):
        LexicalIndex.build(["a"])


# -- the real corpus ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared_data: Path) -> tuple[list[Source], list[Any]]:
    from proctor.datasets.dataset import Log
    from proctor.datasets.sources import iter_questions, iter_sources

    folder = shared_data / "mmrag"
    questions = [q for q in iter_questions(folder, "published", Log()) if q.gold_complete]
    return list(iter_sources(folder, "published", Log())), questions


@pytest.mark.shared
def test_the_real_corpus_gives_the_recall_written_down(
    real: tuple[list[Source], list[Any]], shared_expected: Callable[[str], dict[str, Any]]
):
    expected = shared_expected("smmqg-instructionbench")["bm25_real_subset"]
    sources, questions = real
    index = LexicalIndex.build(map(render_source, sources), codes_of([s.modality for s in sources]))
    hits = index.search([q.question for q in questions], 10)
    ranks = [[sources[p].id for p in row if p != NOTHING] for row in hits.positions]
    assert len(questions) == 161
    for k in (5, 10):
        recall = [len(set(q.gold) & set(r[:k])) / len(q.gold) for q, r in zip(questions, ranks, strict=True)]
        assert 100 * sum(recall) / 161 == pytest.approx(expected[f"recall@{k}"], abs=1e-4)
    strict = [set(q.gold) <= set(r) for q, r in zip(questions, ranks, strict=True)]
    assert 100 * sum(strict) / 161 == pytest.approx(expected["all_gold@10_strict"], abs=1e-3)
    rows = {q.qid: n for n, q in enumerate(questions)}
    for example in expected["examples"]:
        row = rows[example["qid"]]
        assert ranks[row][:5] == example["top5"]
        assert hits.scores[row, 0] == pytest.approx(example["top1_score"], abs=1e-4)


@pytest.mark.shared
def test_scores_on_the_real_corpus_are_those_of_the_formula(real: tuple[list[Source], list[Any]]):
    sources, questions = real
    texts = [render_source(s) for s in sources]
    index = LexicalIndex.build(texts)
    for question in questions[::40]:
        assert np.abs(index.scores(question.question) - formula(texts, question.question)).max() < 1e-4
