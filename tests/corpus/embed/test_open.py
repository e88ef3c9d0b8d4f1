"""Embedders by what the user writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.corpus.collection import Corpus
from proctor.corpus.embed import open as opening
from proctor.corpus.embed.endpoint import EndpointEmbedder
from proctor.corpus.embed.lsa import LsaEmbedder
from proctor.corpus.embed.open import SPECS, open_embedder
from proctor.corpus.source import text_source
from proctor.errors import UserError


def make_corpus(last: str = "boil the water") -> Corpus:
    texts = ["chop the onion", "saw the plank", "kick the ball", last]
    return Corpus([text_source(f"t{n}", f"title {n}", text) for n, text in enumerate(texts)])


def test_lsa_is_fitted_once_and_kept_beside_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_embedder("lsa:2", corpus=make_corpus(), folder=tmp_path)
    assert isinstance(first, LsaEmbedder)
    assert first.dimension == 2
    assert first.name == f"lsa-1:2:{make_corpus().fingerprint[:32]}"
    monkeypatch.setattr(opening, "fit_lsa", None)
    again = open_embedder("lsa:2", corpus=make_corpus(), folder=tmp_path)
    alone = open_embedder("lsa:2", folder=tmp_path)
    for other in (again, alone):
        np.testing.assert_array_equal(other.embed(["onion"], "query"), first.embed(["onion"], "query"))


def test_another_corpus_is_another_embedder(tmp_path: Path) -> None:
    one = open_embedder("lsa", corpus=make_corpus(), folder=tmp_path)
    two = open_embedder("lsa", corpus=make_corpus("boil the milk"), folder=tmp_path)
    assert one.name != two.name
    with pytest.raises(UserError, match="2 fitted embedders of 256 numbers are here"):
        open_embedder("lsa", folder=tmp_path)


def test_lsa_needs_a_corpus_or_a_folder(tmp_path: Path) -> None:
    for folder in (None, tmp_path, tmp_path / "gone"):
        with pytest.raises(UserError, match="neither a corpus nor one that was fitted before"):
            open_embedder("lsa", folder=folder)
    assert open_embedder("lsa", corpus=make_corpus()).dimension == 4


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "lsa:",
        "lsa:x",
        "lsa:-1",
        "LSA",
        "onnx",
        "onnx/",
        "word2vec/x",
        "st",
        "compat",
        "lsa/256",
        "lsa:9999999",
    ],
)
def test_what_is_no_embedder_is_told_with_those_that_there_are(spec: str) -> None:
    with pytest.raises(UserError, match="is not an embedder") as error:
        open_embedder(spec, corpus=make_corpus())
    assert all(name in error.value.render() for name, _ in SPECS)


@pytest.mark.parametrize("kind", ["onnx", "st", "clip"])
def test_models_are_local_folders(tmp_path: Path, kind: str) -> None:
    for path in (tmp_path, tmp_path / "gone", "sentence-transformers/all-MiniLM-L6-v2", "a\0b"):
        with pytest.raises(UserError, match="not the folder of such a model") as error:
            open_embedder(f"{kind}/{path}")
        assert "models are not downloaded" in error.value.render()


def test_a_server_is_not_asked_when_it_is_opened() -> None:
    embedder = open_embedder("compat/intfloat/e5-large-v2@http://127.0.0.1:1/v1")
    assert isinstance(embedder, EndpointEmbedder)
    assert embedder.name == "compat/intfloat/e5-large-v2@http://127.0.0.1:1/v1#'query: ','passage: '"


def test_a_misspelt_search_is_named() -> None:
    with pytest.raises(UserError, match="did you mean bm25"):
        open_embedder("bm52", corpus=make_corpus())
