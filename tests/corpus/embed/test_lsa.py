"""Latent semantic analysis: against scikit-learn's parts, the same bytes each time, never NaN."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from proctor.corpus.embed import lsa
from proctor.corpus.embed.embedder import faults
from proctor.corpus.embed.lsa import LsaEmbedder, fit_lsa, load_lsa
from proctor.errors import UserError

THEMES = (
    "kettle water tea cup boil pour steep leaves sugar milk",
    "hammer nail wood saw plank screw drill glue board workbench",
    "goal match league striker referee stadium season coach penalty cup",
)


def make_texts(count: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(THEMES[n % 3].split(), 8)) + f" Note{n}" for n in range(count)]


def fit(texts: list[str], dimension: int = 8) -> LsaEmbedder:
    return fit_lsa(texts, fingerprint="f" * 64, dimension=dimension)


def exact_rows(texts: list[str], dimension: int) -> np.ndarray:
    weigh = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    matrix = weigh.fit_transform(texts).toarray()
    _, _, right = np.linalg.svd(matrix, full_matrices=False)
    rows = matrix @ right[:dimension].T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dense", [True, False], ids=["all at once", "randomised"])
def test_cosines_are_those_of_the_textbook(monkeypatch: pytest.MonkeyPatch, dense: bool) -> None:
    """Weights by scikit-learn, singular values by LAPACK; signs and turns do not change cosines."""
    if not dense:
        monkeypatch.setattr(lsa, "_DENSE", 0)
    texts = make_texts(90)
    ours, exact = fit(texts).embed(texts, "passage"), exact_rows(texts, 8)
    np.testing.assert_allclose(ours @ ours.T, exact @ exact.T, atol=1e-5 if dense else 0.02)


def test_more_words_than_texts_and_the_other_way_round() -> None:
    for texts in (make_texts(9), ["a b", "b c", "c a"] * 30):
        ours, exact = fit(texts, 3).embed(texts, "passage"), exact_rows(texts, 3)
        np.testing.assert_allclose(ours @ ours.T, exact @ exact.T, atol=1e-5)


def test_texts_on_one_theme_are_near_each_other() -> None:
    embedder = fit(make_texts(), 3)
    tea, wood, game = embedder.embed(
        ["pour the boiling water", "a saw and a plank", "the striker and the referee"], "query"
    )
    kettle = embedder.embed(["kettle and leaves"], "passage")[0]
    assert tea @ kettle > 0.8
    assert max(abs(wood @ kettle), abs(game @ kettle)) < 0.4


def test_equal_corpora_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for dense in (1_000, 0):
        monkeypatch.setattr(lsa, "_DENSE", dense)
        files = [fit(make_texts()).save(tmp_path / name) and (tmp_path / name) for name in ("a", "b")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_the_name_says_method_dimension_and_corpus() -> None:
    names = {
        fit_lsa(make_texts(), fingerprint=f, dimension=d).name for f in ("a" * 64, "b" * 64) for d in (3, 4)
    }
    assert len(names) == 4
    assert f"lsa-1:3:{'a' * 32}" in names


def test_a_text_of_unknown_words_is_like_itself_and_nothing_else() -> None:
    embedder = fit(make_texts(), 30)
    strange = ["qwertz zuiop", "!!! ???", "qwertz Zuiop", "asdfg"]
    rows = embedder.embed(strange, "query")
    assert embedder.unknown(["kettle", *strange]) == [1, 2, 3, 4]
    assert faults(rows, 4, embedder.dimension) == {}
    np.testing.assert_array_equal(rows[0], rows[2])
    assert max(abs(rows[0] @ rows[1]), abs(rows[0] @ rows[3])) < 0.75
    np.testing.assert_array_equal(embedder.embed(strange[::-1], "passage")[::-1], rows)


def test_a_lonely_source_does_not_fall_together_with_others() -> None:
    """A text whose words are nowhere else lies outside of the kept directions."""
    texts = [*make_texts(60), "zyx wvu tsr", "gfe dcb"]
    embedder = fit(texts, 3)
    rows = embedder.embed(texts[-2:], "passage")
    assert faults(rows, 2, 3) == {}
    assert rows[0] @ rows[1] < 0.995


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30).filter(lambda t: bool(t.strip())), min_size=1, max_size=8))
def test_any_texts_have_vectors_of_length_one(texts: list[str]) -> None:
    if not any(c.isalnum() or c == "_" for text in texts for c in text):
        texts = [*texts, "word"]
    embedder = fit(texts, 5)
    assert faults(embedder.embed(texts, "passage"), len(texts), embedder.dimension) == {}
    assert 1 <= embedder.dimension <= 5


def test_few_texts_have_few_directions() -> None:
    assert fit(["one text"], 256).dimension == 1
    assert fit(["one text", "two texts"], 256).dimension == 2
    assert fit(["same words"] * 5, 256).dimension == 1


def test_texts_beyond_the_sample_are_embedded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lsa, "_SAMPLE", 30)
    monkeypatch.setattr(lsa, "_BLOCK", 7)
    texts = make_texts(100)
    embedder = fit(texts, 3)
    rows = embedder.embed(texts, "passage")
    assert rows.shape == (100, 3)
    same = np.arange(100) % 3
    likes = rows @ rows.T
    assert likes[same[:, None] == same].mean() > 0.8 > 0.3 > likes[same[:, None] != same].mean()


def test_order_and_number_of_texts_do_not_change_a_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = fit(make_texts())
    alone = np.concatenate([embedder.embed([text], "query") for text in make_texts(20)])
    monkeypatch.setattr(lsa, "_BLOCK", 3)
    np.testing.assert_allclose(embedder.embed(make_texts(20), "query"), alone, atol=1e-6)


# -- files -------------------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    embedder = fit(make_texts())
    saved = embedder.save(tmp_path / "lsa.npz")
    for other in (saved, load_lsa(tmp_path / "lsa.npz"), pickle.loads(pickle.dumps(saved))):
        assert other.name == embedder.name
        np.testing.assert_array_equal(
            other.embed(make_texts(), "query"), embedder.embed(make_texts(), "query")
        )
    assert len(pickle.dumps(saved)) < 1_000 < len(pickle.dumps(embedder))


def test_damaged_files_are_told(tmp_path: Path) -> None:
    file = tmp_path / "lsa.npz"
    fit(make_texts(), 2).save(file)
    data = file.read_bytes()
    for size in range(0, len(data), 499):
        file.write_bytes(data[:size])
        with pytest.raises(UserError, match=r"no saved embedder|do not belong"):
            load_lsa(file)
    with pytest.raises(UserError, match="no such file"):
        load_lsa(tmp_path / "gone.npz")


def test_parts_that_do_not_fit_and_other_formats_are_told(tmp_path: Path) -> None:
    file = tmp_path / "lsa.npz"
    fit(make_texts(), 2).save(file)
    with np.load(file) as held:
        parts = dict(held)
    for change, told in (
        ({"format": np.int64(2)}, "format 2, and this version of Proctor reads format 1"),
        ({"idf": parts["idf"][1:]}, "do not belong together"),
        ({"words": parts["words"][::-1]}, "do not belong together"),
        ({"directions": parts["directions"] * np.nan}, "do not belong together"),
    ):
        np.savez(file, **(parts | change))
        with pytest.raises(UserError, match=told):
            load_lsa(file)


def test_nothing_to_fit_on_is_told() -> None:
    for texts in ([], ["?", "!"]):
        with pytest.raises(UserError, match="no word"):
            fit(texts)
    with pytest.raises(UserError, match="vectors of 0 numbers"):
        fit(["a"], 0)
    with pytest.raises(UserError, match=r"1 of 2 texts are empty \(number 2\)"):
        fit(["a b"]).embed(["a", " \n"], "query")
