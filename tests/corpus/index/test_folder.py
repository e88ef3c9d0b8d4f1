from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from proctor.corpus.index.approximate import ApproximateIndex, parse_method
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.folder import open_lexical, open_vectors, read_manifest, write_index
from proctor.corpus.index.lexical import LexicalIndex
from proctor.errors import UserError

pytest.importorskip("faiss", reason="needs the extra 'corpus'")

MODALITIES = np.array([0, 1, 0, 2, 0, 0], np.int8)
TEXTS = ["the boat", "a tarn", "boat boat", "x", "", "Ärger im Boot"]


def unit(rows: int, seed: int = 0) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(rows, 8))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def lexical() -> LexicalIndex:
    return LexicalIndex.build(TEXTS, MODALITIES, k1=0.9, b=0.4)


@pytest.fixture
def dense() -> DenseIndex:
    return DenseIndex.build(unit(6), MODALITIES, embedder="lsa-8")


def tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_index_of_words_comes_back_as_it_was(tmp_path: Path, lexical: LexicalIndex):
    write_index(tmp_path / "i", lexical, "abc")
    again = open_lexical(tmp_path / "i", "abc")
    queries = ["boat", "ärger x", "nothing"]
    for within in (None, "text", "table"):
        one, two = (index.search(queries, 4, within) for index in (lexical, again))  # type: ignore[arg-type]
        assert one.positions.tobytes() == two.positions.tobytes()
        assert one.scores.tobytes() == two.scores.tobytes()
    assert again.signature == lexical.signature


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_an_index_of_nothing_comes_back(tmp_path: Path, texts: list[str]):
    write_index(tmp_path / "i", LexicalIndex.build(texts), "abc")
    assert len(open_lexical(tmp_path / "i", "abc")) == len(texts)
    write_index(tmp_path / "d", DenseIndex.build(np.empty((0, 8), np.float32)), "abc")
    assert len(open_vectors(tmp_path / "d", "abc")) == 0


def test_vectors_are_mapped_when_an_index_is_opened(tmp_path: Path, dense: DenseIndex):
    write_index(tmp_path / "i", dense, "abc")
    again = open_vectors(tmp_path / "i", "abc", "lsa-8")
    assert isinstance(again, DenseIndex)
    assert isinstance(again.parts["text"], np.memmap)
    assert again.search(unit(3, 1), 4).positions.tolist() == dense.search(unit(3, 1), 4).positions.tolist()
    assert again.signature == dense.signature


@pytest.mark.parametrize("method", ["hnsw:4/16", "ivf:5/2"])
def test_an_approximate_index_comes_back_as_it_was(tmp_path: Path, method: str):
    index = ApproximateIndex.build(DenseIndex.build(unit(500)), parse_method(method), small=100)
    write_index(tmp_path / "i", index, "abc")
    again = open_vectors(tmp_path / "i", "abc")
    assert isinstance(again, ApproximateIndex)
    assert set(again.structures) == {"text"}
    assert again.search(unit(9, 1), 5).positions.tolist() == index.search(unit(9, 1), 5).positions.tolist()
    assert again.signature == index.signature


def test_the_same_index_gives_the_same_bytes_and_replaces_an_older_one(tmp_path: Path, lexical: LexicalIndex):
    for name in ("one", "two"):
        write_index(tmp_path / name, lexical, "abc")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    write_index(tmp_path / "two", LexicalIndex.build(["other"]), "def")
    assert len(open_lexical(tmp_path / "two", "def")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, lexical: LexicalIndex):
    (tmp_path / "letters").write_text("dear", encoding="utf-8")
    with pytest.raises(UserError, match="no index"):
        write_index(tmp_path, lexical, "abc")
    with pytest.raises(UserError, match="no index"):
        write_index(tmp_path / "letters", lexical, "abc")
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


def test_an_index_out_of_step_with_its_corpus_is_refused(
    tmp_path: Path, lexical: LexicalIndex, dense: DenseIndex
):
    write_index(tmp_path / "l", lexical, "abc" * 20)
    write_index(tmp_path / "d", dense, "abc" * 20)
    with pytest.raises(UserError, match=r"another corpus .*6 sources.*def"):
        open_lexical(tmp_path / "l", "def")
    with pytest.raises(UserError, match="another corpus"):
        open_vectors(tmp_path / "d", "def")
    assert read_manifest(tmp_path / "l").sources == 6


def test_vectors_of_another_embedder_are_refused(tmp_path: Path, dense: DenseIndex):
    write_index(tmp_path / "i", dense, "abc")
    with pytest.raises(UserError, match=r"'lsa-8'.*'e5'"):
        open_vectors(tmp_path / "i", "abc", "e5")


def test_another_kind_or_nothing_is_refused(tmp_path: Path, lexical: LexicalIndex, dense: DenseIndex):
    write_index(tmp_path / "l", lexical, "abc")
    write_index(tmp_path / "d", dense, "abc")
    with pytest.raises(UserError, match="kind 'lexical', not 'dense'"):
        open_vectors(tmp_path / "l", "abc")
    with pytest.raises(UserError, match="kind 'dense', not 'lexical'"):
        open_lexical(tmp_path / "d", "abc")
    with pytest.raises(UserError, match="no index here"):
        open_lexical(tmp_path / "nowhere", "abc")


@pytest.mark.parametrize(("format", "age"), [(0, "older"), (2, "newer")])
def test_other_versions_of_the_format_are_refused_by_name(
    tmp_path: Path, lexical: LexicalIndex, format: int, age: str
):
    write_index(tmp_path / "i", lexical, "abc")
    path = tmp_path / "i" / "manifest.json"
    path.write_text(json.dumps({"format": format, "whatever": 1}), encoding="utf-8")
    with pytest.raises(UserError, match=f"format {format} of an? {age} Proctor"):
        open_lexical(tmp_path / "i", "abc")


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "short":
        path.write_bytes(data[:-1])
    else:  # another byte in the middle of the numbers
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 255]) + data[-1:])


@pytest.mark.parametrize("how", ["missing", "short", "changed"])
@pytest.mark.parametrize("name", ["scores.npy", "sources.npy", "starts.npy", "words.json", "modalities.npy"])
def test_damaged_words_are_refused(tmp_path: Path, lexical: LexicalIndex, name: str, how: str):
    write_index(tmp_path / "i", lexical, "abc")
    damage(tmp_path / "i" / name, how)
    with pytest.raises(UserError, match=f"'{name}' is not the file"):
        open_lexical(tmp_path / "i", "abc")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("text.npy", "missing"),
        ("text.npy", "short"),
        ("text.faiss", "missing"),
        ("text.faiss", "short"),
        ("text.faiss", "changed"),
        ("modalities.npy", "changed"),
    ],
)
def test_damaged_vectors_are_refused(tmp_path: Path, name: str, how: str):
    index = ApproximateIndex.build(DenseIndex.build(unit(50)), parse_method("hnsw:4/8"), small=10)
    write_index(tmp_path / "i", index, "abc")
    damage(tmp_path / "i" / name, how)
    with pytest.raises(UserError, match=f"'{name}' is not the file"):
        open_vectors(tmp_path / "i", "abc")


@pytest.mark.parametrize(
    "change",
    [{"files": {"../../x": {"bytes": 1, "xxh3": ""}}}, {"kind": "strange"}, {"sources": "many"}],
)
def test_a_manifest_without_sense_is_refused(tmp_path: Path, lexical: LexicalIndex, change: dict[str, Any]):
    write_index(tmp_path / "i", lexical, "abc")
    path = tmp_path / "i" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(UserError):
        open_lexical(tmp_path / "i", "abc")
