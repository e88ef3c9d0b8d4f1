"""The library of a workspace with its vectors in PostgreSQL: the same hits as from its own files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.corpus.index.conftest import pgvector_server

from proctor.corpus.collection import write_corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.stages.documents.library import Library, ServedIndex
from proctor.workspace import Workspace

__all__ = ["pgvector_server"]

WORDS = [
    "lake",
    "boat",
    "pier",
    "reed",
    "heron",
    "ferry",
    "stone",
    "bridge",
    "toll",
    "salt",
    "tower",
    "bell",
    "clock",
    "meadow",
]


def write_workspace(root: Path) -> Workspace:
    rng = np.random.default_rng(0)
    sources = [
        text_source(f"text:{n}", f"Text {n}", " ".join(rng.choice(WORDS, 40)), doc_id=f"d{n % 7}")
        for n in range(40)
    ]
    sources += [
        table_source(f"table:{n}", f"Table {n}", WORDS[:3], [rng.choice(WORDS, 3).tolist()])
        for n in range(10)
    ]
    sources += [
        image_source(f"image:{n}", " ".join(rng.choice(WORDS, 4).tolist()), f"{n}.png") for n in range(10)
    ]
    write_corpus(root / "corpus", sources)
    return Workspace(root)


@pytest.mark.postgres
def test_vectors_in_postgresql_give_the_hits_of_the_workspaces_own_files(
    tmp_path: Path, pgvector_server: str
):
    library = Library(write_workspace(tmp_path))
    queries = library.embedder("lsa:16").embed(["heron at the pier", "salt toll"], "query")
    served, own = library.dense("lsa:16", pgvector_server), library.dense("lsa:16")
    assert isinstance(served, ServedIndex)
    assert len(served) == len(own) == 60
    for within in (None, "text", "image"):
        found, wanted = served.search(queries, 5, within), own.search(queries, 5, within)
        np.testing.assert_array_equal(found.positions, wanted.positions)
        np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-6)
    with pytest.raises(UserError, match="standardised"):
        served.moments(queries, "text")
    library.close()


def test_an_index_of_another_corpus_is_made_again_and_a_damaged_one_is_told(tmp_path: Path):
    workspace = write_workspace(tmp_path)
    library = Library(workspace)
    assert len(library.lexical) == 60
    assert len(library.dense("lsa:8")) == 60
    more = [*library.corpus, text_source("text:new", "New", "heron " * 40)]
    write_corpus(tmp_path / "corpus", more)
    again = Library(workspace)
    assert len(again.lexical) == 61
    assert len(again.dense("lsa:8")) == 61
    scores = tmp_path / "index" / "bm25" / "scores.npy"
    scores.write_bytes(scores.read_bytes()[:-8])
    with pytest.raises(UserError, match="bm25"):
        _ = Library(workspace).lexical


def test_an_embedder_that_does_not_exist_is_told(tmp_path: Path):
    with pytest.raises(UserError):
        Library(write_workspace(tmp_path)).embedder("word2vec")


def test_a_workspace_without_a_corpus_names_the_command(tmp_path: Path):
    with pytest.raises(UserError) as told:
        Library(Workspace(tmp_path))
    assert "proctor corpus build" in told.value.render()
