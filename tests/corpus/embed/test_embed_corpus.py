"""Vectors of a corpus: in its order, each once, kept as they come, wherever they are computed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.embed.embed_work import PictureEmbedder, WordEmbedder
from tests.ray_cluster import ray_cluster

from proctor.compute import Place, on_ray, processes, threads
from proctor.corpus.collection import Corpus
from proctor.corpus.embed.cache import VectorCache
from proctor.corpus.embed.endpoint import open_endpoint
from proctor.corpus.embed.open import embed_corpus, embed_texts
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor_rehearsal.standin import Fault, Match, Standin
from proctor_rehearsal.standin.protocols.embeddings import standin_vector


def make_corpus(root: Path | None = None, count: int = 5) -> Corpus:
    texts = [text_source(f"text:{n}", f"title {n}", f"body number {n}") for n in range(count)]
    table = table_source("table:1", "Broadcasts", ("Country", "Network"), [("Canada", "Bravo")])
    images = [
        image_source("image:1", "A red barn", "images/red-barn.png", verbalisation="A barn in snow."),
        image_source("image:2", "A river", "images/gone.png"),
    ]
    return Corpus([*texts, table, *images], root)


def with_pictures(folder: Path) -> Corpus:
    (folder / "images").mkdir()
    (folder / "images" / "red-barn.png").write_bytes(b"pixels")
    return make_corpus(folder)


def expected(corpus: Corpus, role: str = "passage") -> np.ndarray:
    return np.array([standin_vector(f"{role} {text}", 16) for text in corpus.texts()])


def test_rows_come_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    corpus, embedder = make_corpus(), WordEmbedder()
    seen: list[int] = []
    vectors = embed_corpus(corpus, embedder, VectorCache(tmp_path), seen=lambda: seen.append(1))
    np.testing.assert_array_equal(vectors, expected(corpus))
    assert vectors.dtype == np.float32
    assert len(seen) == len(corpus)


def test_only_what_is_missing_is_computed(tmp_path: Path) -> None:
    embed_corpus(make_corpus(count=3), WordEmbedder(), VectorCache(tmp_path))
    embedder, seen = WordEmbedder(), []
    corpus = make_corpus(count=5)
    vectors = embed_corpus(corpus, embedder, VectorCache(tmp_path), seen=lambda: seen.append(1))
    assert embedder.asked == ["title 3: body number 3", "title 4: body number 4"]
    assert len(seen) == len(corpus)
    np.testing.assert_array_equal(vectors, expected(corpus))
    again = WordEmbedder(fails_at="title")
    np.testing.assert_array_equal(embed_corpus(corpus, again, VectorCache(tmp_path)), vectors)
    assert again.asked == []


def test_a_new_description_of_an_image_is_embedded_anew(tmp_path: Path) -> None:
    barn = image_source("i", "A barn", "b.png", pixels_sha256="0" * 64)
    told = image_source("i", "A barn", "b.png", pixels_sha256="0" * 64, verbalisation="It is red.")
    before = embed_corpus(Corpus([barn]), WordEmbedder(), VectorCache(tmp_path))
    after = embed_corpus(Corpus([told]), WordEmbedder(), VectorCache(tmp_path))
    assert (before != after).any()


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    embedder, seen = WordEmbedder(), []
    texts = ["a", "b", "a", "a"]
    rows = embed_texts(texts, embedder, VectorCache(tmp_path), seen=lambda: seen.append(1))
    assert embedder.asked == ["a", "b"]
    assert len(seen) == 4
    np.testing.assert_array_equal(rows, [standin_vector(f"query {text}", 16) for text in texts])


def test_query_and_passage_are_kept_apart(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    query = embed_texts(["salt"], WordEmbedder(), cache, role="query")
    passage = embed_texts(["salt"], WordEmbedder(), cache, role="passage")
    assert (query != passage).any()


def test_pixels_where_the_embedder_sees_and_the_file_is_there(tmp_path: Path) -> None:
    corpus, embedder = with_pictures(tmp_path), PictureEmbedder()
    vectors = embed_corpus(corpus, embedder, VectorCache(tmp_path / "vectors"))
    barn, river = corpus.position("image:1"), corpus.position("image:2")
    np.testing.assert_array_equal(vectors[barn], standin_vector("red barn", 16))
    np.testing.assert_array_equal(vectors[river], standin_vector("passage A river", 16))
    blind = embed_corpus(corpus, WordEmbedder(), VectorCache(tmp_path / "blind"))
    np.testing.assert_array_equal(blind[barn], standin_vector("passage A red barn. A barn in snow.", 16))


def test_a_changed_picture_is_embedded_anew(tmp_path: Path) -> None:
    corpus, cache = with_pictures(tmp_path), VectorCache(tmp_path / "vectors")
    embed_corpus(corpus, PictureEmbedder(), cache)
    (tmp_path / "images" / "red-barn.png").write_bytes(b"other pixels")
    embedder = PictureEmbedder()
    embed_corpus(corpus, embedder, cache)
    assert embedder.asked == ["red-barn.png"]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nan", "text:3: its vector holds NaN"),
        ("zero", "text:3: its vector is zero"),
        ("long", "text:3: its vector has length"),
        ("shape", "text:0 … image:2: tests/words: the result has the shape \\(7, 16\\), and 8 rows"),
    ],
)
def test_rows_that_cannot_be_used_name_their_source_and_are_not_kept(
    tmp_path: Path, how: str, told: str
) -> None:
    cache = VectorCache(tmp_path)
    with pytest.raises(UserError, match=told):
        embed_corpus(make_corpus(), WordEmbedder(spoils="title 3", how=how), cache)
    assert cache.dimension("tests/words") is None


def test_an_empty_text_is_refused_by_its_name(tmp_path: Path) -> None:
    corpus = Corpus([image_source("image:x", " ", "x.png")])
    with pytest.raises(UserError, match="image:x: there is no text to embed"):
        embed_corpus(corpus, WordEmbedder(), VectorCache(tmp_path))


def test_an_empty_corpus_has_no_rows(tmp_path: Path) -> None:
    assert embed_corpus(Corpus([]), WordEmbedder(), VectorCache(tmp_path)).shape == (0, 16)


def test_what_was_computed_before_a_failure_is_kept(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(600)]  # three chunks
    with pytest.raises(UserError, match=r"vectors of text 513 … text 600: the model fell over"):
        embed_texts(texts, WordEmbedder(fails_at="text 599"), VectorCache(tmp_path))
    embedder = WordEmbedder()
    embed_texts(texts, embedder, VectorCache(tmp_path))
    assert embedder.asked == texts[512:]


@pytest.mark.parametrize("place", [threads(3), processes(2)], ids=["threads", "processes"])
def test_the_same_rows_wherever_they_are_computed(tmp_path: Path, place: Place) -> None:
    texts = [f"word{n % 50} and {n}" for n in range(700)]
    here = embed_texts(texts, WordEmbedder(), VectorCache(tmp_path / "here"))
    log = tmp_path / "log"
    log.touch()
    there = embed_texts(texts, WordEmbedder(log=log), VectorCache(tmp_path / "there"), place=place)
    np.testing.assert_array_equal(there, here)
    assert sorted(log.read_text().splitlines()) == sorted(texts)
    again = WordEmbedder(fails_at="word")
    np.testing.assert_array_equal(embed_texts(texts, again, VectorCache(tmp_path / "there")), here)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
def test_on_a_ray_cluster(tmp_path: Path) -> None:
    with ray_cluster(1) as cluster:
        texts = [f"word {n}" for n in range(600)]
        here = embed_texts(texts, WordEmbedder(), VectorCache(tmp_path / "here"))
        there = embed_texts(
            texts, WordEmbedder(), VectorCache(tmp_path / "there"), place=on_ray(cluster.address)
        )
        np.testing.assert_array_equal(there, here)


# -- nothing paid twice ------------------------------------------------------------------------------------------

PAYER = """
import sys
from pathlib import Path
from proctor.corpus.embed.cache import VectorCache
from proctor.corpus.embed.endpoint import open_endpoint
from proctor.corpus.embed.open import embed_texts
texts = [f"text {n}" for n in range(200)]
done = 0
def seen():
    global done
    done += 1
    if done == 1:
        print("begun", flush=True)
embedder = open_endpoint(sys.argv[1], batch=4)
embed_texts(texts, embedder, VectorCache(Path(sys.argv[2])), seen=seen)
print("done", flush=True)
"""


def test_a_killed_run_pays_only_for_what_was_in_flight(tmp_path: Path, standin: Standin) -> None:
    """50 requests of 4 texts, one of which is never answered; SIGKILL after the first results; the second run asks for the rest."""
    standin.script(faults=[Fault(kind="stall", seconds=600, match=Match(text=r"text 100\n"))])
    spec = f"compat/m@{standin.url}/v1"
    with subprocess.Popen(
        [sys.executable, "-c", PAYER, spec, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        os.kill(run.pid, 9)
    standin.script()
    texts = [f"text {n}" for n in range(200)]
    rows = embed_texts(texts, open_endpoint(spec, batch=4), VectorCache(tmp_path))
    np.testing.assert_allclose(rows, [standin_vector(text) for text in texts], atol=1e-6)
    assert 50 <= standin.count <= 50 + 8  # eight are in flight at once at most
    again = embed_texts(texts, open_endpoint(spec, batch=4), VectorCache(tmp_path))
    np.testing.assert_array_equal(again, rows)
    assert standin.count <= 50 + 8
