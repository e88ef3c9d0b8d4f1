"""The entries of the table: words, vectors, pixels and a hybrid of them, over one small corpus."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.corpus.embed.cache import VectorCache
from proctor.corpus.embed.embed_corpus import embed_corpus
from proctor.corpus.embed.lsa import fit_lsa
from proctor.corpus.index.approximate import ApproximateIndex, parse_method
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.lexical import LexicalIndex
from proctor.errors import UserError
from proctor.exam.fusion import HybridRetriever
from proctor.exam.retrieval import Query, retrieve
from proctor.exam.retrieval_scores import score_retrieval
from proctor.exam.retrievers import DenseRetriever, LexicalRetriever


class Colours:
    """Embeds pictures by their mean colour, and texts by the colours that they name: a toy CLIP."""

    name = "toy-clip"
    dimension = 4
    words = ("red", "green", "blue")

    def __init__(self):
        self.looked_at = []

    def embed(self, texts, role):
        assert role in ("query", "passage")
        rows = [[float(w in t.lower()) for w in self.words] + [0.1] for t in texts]
        return self._unit(rows)

    def embed_images(self, paths):
        from PIL import Image

        self.looked_at += [path.name for path in paths]
        rows = []
        for path in paths:
            with Image.open(path) as picture:
                r, g, b = picture.convert("RGB").resize((1, 1)).getpixel((0, 0))
            rows.append([r / 255, g / 255, b / 255, 0.1])
        return self._unit(rows)

    def _unit(self, rows):
        found = np.asarray(rows, dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture
def bm25(lakes):
    return LexicalRetriever(LexicalIndex.build(lakes.texts(), lakes.modalities))


@pytest.fixture
def dense(lakes):
    embedder = fit_lsa(lakes.texts(), dimension=4, fingerprint=lakes.fingerprint)
    vectors = embedder.embed(lakes.texts(), "passage")
    return DenseRetriever(embedder, DenseIndex.build(vectors, lakes.modalities, embedder=embedder.name))


def test_words_find_the_source_that_has_them(bm25, lakes):
    hits = bm25.search([Query("When was the reservoir flooded?")], 3)
    assert lakes.sources[hits.positions[0, 0]].id == "text:hurn"
    assert bm25.name == "bm25"
    assert bm25.embedders == {"bm25"}  # it may have chosen the questions' sources


def test_pools_restrict_who_competes_and_change_the_name(bm25, lakes):
    pooled = LexicalRetriever(bm25.index, pool="required_modalities", score="zscore")
    assert pooled.name == "bm25 [required_modalities, zscore]"
    hits = pooled.search([Query("Lake Vell", (0, 0, 1)), Query("Lake Vell", (1, 0, 0))], 6)
    found = [{lakes.sources[p].modality for p in row if p >= 0} for row in hits.positions]
    assert found == [{"image"}, {"text"}]
    with pytest.raises(UserError, match="needs at least one"):
        pooled.search([Query("Lake Vell")], 3)


def test_vectors_find_sources_and_name_their_embedder(dense, lakes):
    hits = dense.search([Query("rowing boats hired at the north shore")], 2)
    assert lakes.sources[hits.positions[0, 0]].id == "text:boat"
    assert dense.name == dense.embedder.name
    assert dense.embedders == {dense.embedder.name}
    assert dense.settings["index"] == dense.index.signature


def test_an_index_of_other_vectors_is_refused(dense, lakes):
    with pytest.raises(UserError, match="embedded by 'toy-clip'"):
        DenseRetriever(Colours(), dense.index)
    approximate = ApproximateIndex.build(dense.index, parse_method("hnsw"))
    with pytest.raises(UserError, match="embedded by 'toy-clip'"):
        DenseRetriever(Colours(), approximate)
    assert DenseRetriever(dense.embedder, approximate).search([Query("boats")], 1).positions.shape == (1, 1)


def test_pictures_are_found_by_their_pixels_and_the_others_by_words(lakes, tmp_path):
    clip = Colours()
    vectors = embed_corpus(lakes, clip, VectorCache(tmp_path))
    assert clip.looked_at == ["vell.png"]
    assert vectors.shape == (6, 4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    index = DenseIndex.build(vectors, lakes.modalities, embedder=clip.name)
    retriever = DenseRetriever(clip, index, label="clip", pool="required_modalities")
    hits = retriever.search([Query("What is blue?", (0, 0, 1))], 2)
    assert lakes.sources[hits.positions[0, 0]].id == "image:vell"
    assert retriever.name == "clip [required_modalities]"


def test_several_retrievers_in_one_table(bm25, dense, lakes, lake_questions):
    hybrid = HybridRetriever((bm25, dense))
    runs = [retrieve(lake_questions, lakes, r) for r in (bm25, dense, hybrid)]
    table = score_retrieval(lake_questions, runs, lakes, resamples=100)
    assert list(table.runs) == [r.name for r in (bm25, dense, hybrid)]
    assert runs[2].embedders == ("bm25", dense.embedder.name)
    for name in table.runs:
        # Six sources: with ten places the dense one finds everything, BM25 what shares a word.
        assert 0 < table.cell(name, "recall@10").value <= 100
    assert table.cell(dense.name, "recall@10").value == 100.0
    assert table.cell(hybrid.name, "recall@10").value == 100.0
    again = [retrieve(lake_questions, lakes, r) for r in (bm25, dense, hybrid)]
    assert again == runs
