"""Corpora: order, look-up, fingerprint, pixels that stay inside, building with its listed drops, and the folder."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.collection import (
    FORMAT,
    Corpus,
    build_corpus,
    collapse,
    has_words,
    load_corpus,
    read_manifest,
    write_corpus,
)
from proctor.corpus.dedupe import NearDuplicates
from proctor.corpus.source import Source, image_source, render_source, table_source, text_source
from proctor.datasets.dataset import load_dataset
from proctor.errors import UserError
from proctor.records import Dropped, iter_jsonl

LONG = "The lake is deep and cold, and its water runs down to the mill. " * 4


def text(id: str, body: str = LONG, **more) -> Source:
    return text_source(id, f"Title of {id}", body, **more)


def three() -> list[Source]:
    return [
        image_source("i", "A mill", "images/mill.png"),
        text("t"),
        table_source("b", "Lakes", ["Lake"], [["Omber"]], licence="CC-BY-4.0"),
    ]


# -- look-up -------------------------------------------------------------------------------------------------------


def test_sources_keep_their_order_and_are_found_by_id_and_position():
    corpus = Corpus(three(), aliases={"twin": "t"})
    assert [source.id for source in corpus] == ["i", "t", "b"]
    assert len(corpus) == 3
    assert corpus.position("b") == 2
    assert corpus.get("b") is corpus.sources[2]
    assert corpus.modalities.tolist() == [2, 0, 1]
    assert corpus.modalities.dtype == np.int8
    assert [corpus.positions(m).tolist() for m in ("text", "table", "image")] == [[1], [2], [0]]
    assert corpus.positions("text").dtype == np.int64
    assert corpus.counts() == {"text": 1, "table": 1, "image": 1}
    assert corpus.texts() == [render_source(source) for source in corpus]


def test_an_alias_leads_to_what_stands_for_it():
    corpus = Corpus(three(), aliases={"twin": "t"})
    assert corpus.get("twin") is corpus.sources[1]
    assert corpus.position("twin") == 1
    assert "twin" in corpus
    assert "t" in corpus
    assert "nobody" not in corpus
    assert corpus.get("nobody") is None
    with pytest.raises(UserError, match="no source 'nobody'"):
        corpus.position("nobody")


def test_a_corpus_goes_to_another_process_whole():
    corpus = Corpus(three(), Path("c"), {"twin": "t"})
    again = pickle.loads(pickle.dumps(corpus))
    assert again.sources == corpus.sources
    assert again.position("twin") == 1
    assert again.fingerprint == corpus.fingerprint


def test_modalities_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        Corpus(three()).modalities[0] = 1


def test_an_empty_corpus_is_one():
    corpus = Corpus([])
    assert len(corpus) == 0
    assert corpus.positions("image").tolist() == []
    assert corpus.counts() == {"text": 0, "table": 0, "image": 0}


@pytest.mark.parametrize(
    ("sources", "aliases", "said"),
    [
        ([text("a"), text("a", LONG + "x")], {}, "1 ids are of more than one source: 'a'"),
        ([text("")], {}, "has no id"),
        ([Source(id="a", modality="text", title="t", body="b")], {}, "'a' has no content hash"),
        ([text("a")], {"b": "c"}, "aliases lead to sources that are not there: 'b'"),
        ([text("a"), text("b")], {"b": "a"}, "sources and aliases at once: 'b'"),
    ],
)
def test_what_is_no_corpus_is_refused(sources, aliases, said):
    with pytest.raises(UserError, match=said):
        Corpus(sources, aliases=aliases)


def test_half_characters_are_refused_by_name():
    with pytest.raises(UserError, match="half a character"):
        _ = Corpus([msgspec.structs.replace(text("a"), id="a\ud800")]).fingerprint


# -- fingerprint ---------------------------------------------------------------------------------------------------


def test_the_fingerprint_knows_ids_contents_and_order():
    a, b = text("a"), text("b", LONG + "more")
    own = Corpus([a, b]).fingerprint
    assert own == Corpus([a, b], Path("elsewhere"), {"c": "a"}).fingerprint
    assert len(own) == 64
    others = [[b, a], [a], [a, text("b", LONG + "else")], [a, msgspec.structs.replace(b, id="c")]]
    assert len({own, *(Corpus(other).fingerprint for other in others)}) == 5


def test_the_fingerprint_knows_what_is_said_of_an_image():
    """Indices are made of caption and verbalisation, of which the hash of pixels knows nothing."""
    made = [
        image_source("i", caption, "i.png", pixels_sha256="0" * 64, verbalisation=said)
        for caption, said in (("A", None), ("B", None), ("A", "a mill"), ("A", "a lake"))
    ]
    assert len({Corpus([source]).fingerprint for source in made}) == 4


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=3), unique=True, max_size=6))
def test_ids_run_into_each_other_in_no_fingerprint(ids):
    """Ids 'a', 'bc' and 'ab', 'c' are different corpora."""
    one = Corpus([text_source(id, "t", "b") for id in ids])
    joined = Corpus([text_source("".join(ids), "t", "b")]) if len(ids) > 1 else Corpus([])
    assert (one.fingerprint == joined.fingerprint) == (len(ids) == 0)


# -- pixels --------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    (root / "images").mkdir(parents=True)
    (root / "images" / "mill.png").write_bytes(b"pixels")
    (tmp_path / "secret.png").write_bytes(b"secret")
    return root


def image(path: str) -> Source:
    return image_source("i", "A mill", path)


def test_pixels_are_a_path_only_where_the_file_is(folder):
    there, gone = image("images/mill.png"), image("images/gone.png")
    corpus = Corpus([there], folder)
    assert corpus.pixels(there) == folder / "images" / "mill.png"
    assert corpus.why_no_pixels(there) == ""
    assert corpus.pixels(gone) is None
    assert "no file" in corpus.why_no_pixels(gone)
    assert Corpus([there]).pixels(there) is None
    assert corpus.pixels(text("t")) is None


@pytest.mark.parametrize("path", ["https://example.org/a.png", "data:image/png;base64,AAAA"])
def test_an_address_has_no_pixels_here(folder, path):
    corpus = Corpus([image(path)], folder)
    assert corpus.pixels(corpus.sources[0]) is None
    assert "address" in corpus.why_no_pixels(corpus.sources[0])


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "images/../../secret.png",
        "/etc/passwd",
        "C:\\secret.png",
        "..\\secret.png",
        "\\\\host\\x",
    ],
)
def test_paths_that_lead_out_are_refused(folder, path):
    with pytest.raises(UserError, match="'i' has a path that leads out"):
        Corpus([image(path)], folder)
    assert Corpus([text("t")], folder).pixels(image(path)) is None


def test_links_that_lead_out_are_not_followed(folder):
    (folder / "images" / "link.png").symlink_to(folder.parent / "secret.png")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "images" / "same.png").symlink_to(folder / "images" / "mill.png")
    (folder / "images" / "round.png").symlink_to(folder / "images" / "round.png")
    corpus = Corpus([], folder)
    for path in ("images/link.png", "linked/secret.png"):
        assert corpus.pixels(image(path)) is None
        assert "link leads out" in corpus.why_no_pixels(image(path))
    assert corpus.pixels(image("images/same.png")) is not None
    assert corpus.pixels(image("images/round.png")) is None
    assert corpus.pixels(image("images")) is None
    assert corpus.pixels(image("a\0b")) is None


def test_a_corpus_behind_a_link_has_its_pixels(folder):
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert Corpus([], link).pixels(image("images/mill.png")) is not None


# -- building ------------------------------------------------------------------------------------------------------


def test_short_texts_are_listed_and_tables_and_images_are_not_short():
    short = text("short", "x" * 199)
    built = build_corpus([text("long", "x" * 200), short, *three()])
    assert [source.id for source in built.corpus] == ["long", "i", "t", "b"]
    assert built.dropped == (Dropped("short", "too_short", "199 of 200 characters"),)
    assert "short" in build_corpus([short], minimum=0).corpus
    assert "short" in build_corpus([short], exempt=lambda source: source.id == "short").corpus


def test_what_has_no_word_is_listed():
    dots = [
        text_source("t", "...", "— " * 200),
        table_source("b", "", ["|"], [[" ", "|"]]),
        image_source("i", "", "images/a.png"),
    ]
    built = build_corpus(dots)
    assert len(built.corpus) == 0
    assert [(d.id, d.reason) for d in built.dropped] == [("t", "empty"), ("b", "empty"), ("i", "empty")]
    assert [source.id for source in build_corpus(dots, uncaptioned=True).corpus] == ["i"]


def test_what_readers_dropped_stays_listed_in_its_place():
    found = [Dropped("p1", "no_text"), text("a"), text("s", "x"), Dropped("p2", "broken")]
    assert [d.id for d in build_corpus(found).dropped] == ["p1", "s", "p2"]


def test_equal_contents_become_aliases_of_the_first():
    first, second = text_source("a", "T", LONG), text_source("b", " T", LONG.replace(" ", "\n"))
    corpus = build_corpus([first, text("c"), second]).corpus
    assert [source.id for source in corpus] == ["a", "c"]
    assert corpus.aliases == {"b": "a"}


def test_ten_thousand_duplicates_become_one_source():
    corpus = build_corpus(text_source(f"d{n}", "T", LONG) for n in range(10_000)).corpus
    assert len(corpus) == 1
    assert len(corpus.aliases) == 9_999
    assert set(corpus.aliases.values()) == {"d0"}


def test_a_source_found_twice_is_listed_and_two_contents_of_one_id_are_an_error():
    assert [d.reason for d in build_corpus([text("a"), text("a")]).dropped] == ["repeated"]
    with pytest.raises(UserError, match="id 'a' is the id of two different sources"):
        build_corpus([text("a"), text("a", LONG + "x")])


def test_near_duplicates_and_exact_ones_lead_to_the_same_source():
    words = [f"word{n}" for n in range(200)]
    a, b = " ".join(words), " ".join([*words[:-1], "other"])
    sources = [text_source(id, "T", body) for id, body in (("a", a), ("b", b), ("c", b))]
    assert build_corpus(sources).corpus.aliases == {"c": "b"}
    assert build_corpus(sources, near=NearDuplicates()).corpus.aliases == {"c": "a", "b": "a"}


def test_collapsing_leads_aliases_on():
    sources = [text("a"), text("b", LONG + "x"), text("c", LONG + "y")]
    corpus = collapse(Corpus(sources, aliases={"d": "b"}), {"b": "a"})
    assert [source.id for source in corpus] == ["a", "c"]
    assert corpus.aliases == {"d": "a", "b": "a"}


def test_order_by_id():
    found = [text("b"), text("a", LONG + "x"), text("c", LONG + "y")]
    assert [s.id for s in build_corpus(found, order="id").corpus] == ["a", "b", "c"]
    assert [s.id for s in build_corpus(found).corpus] == ["b", "a", "c"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["x", "y", "z", "x y", "."])), max_size=12
    )
)
def test_everything_that_comes_in_is_a_source_an_alias_or_listed(found):
    named = {id: text_source(id, "", body) for id, body in found}
    built = build_corpus(named.values(), minimum=0)
    listed = [d.id for d in built.dropped]
    assert sorted([*(s.id for s in built.corpus), *built.corpus.aliases, *listed]) == sorted(named)
    assert len({s.content_hash for s in built.corpus}) == len(built.corpus)
    assert all(has_words(s) for s in built.corpus)


# -- the folder ----------------------------------------------------------------------------------------------------


def written(folder: Path) -> Corpus:
    built = build_corpus(
        [*three(), text_source("twin", "Title of t", LONG), Dropped("x", "no_text", "page 3")]
    )
    return write_corpus(folder, built.corpus, dropped=built.dropped, about={"name": "Lakes"})


def test_a_corpus_comes_back_as_it_was(tmp_path):
    corpus = written(tmp_path / "c")
    again = load_corpus(tmp_path / "c")
    assert again.sources == corpus.sources
    assert again.aliases == corpus.aliases == {"twin": "t"}
    assert again.fingerprint == corpus.fingerprint
    assert again.root == tmp_path / "c"
    assert list(iter_jsonl(tmp_path / "c/dropped.jsonl", Dropped)) == [Dropped("x", "no_text", "page 3")]


words = st.text(st.characters(codec="utf-8"), max_size=12)
rows = st.lists(st.lists(words, max_size=3), max_size=3)
paths = st.sampled_from(["", "images/a.png", "images/…/ü.jpg", "https://example.org/a.png"])
metas = st.dictionaries(words, words, max_size=2)
anything = st.one_of(
    st.builds(
        text_source,
        words,
        words,
        words,
        doc_id=words,
        url=st.none() | words,
        licence=st.none() | words,
        meta=metas,
    ),
    st.builds(table_source, words, words, st.lists(words, max_size=3), rows, section=words, locator=words),
    st.builds(image_source, words, words, paths, verbalisation=st.none() | words, meta=metas),
)


@given(st.lists(anything, max_size=8, unique_by=lambda source: source.id))
def test_whatever_can_be_built_comes_back_as_it_was(tmp_path_factory, found):
    built = build_corpus((source for source in found if source.id), minimum=0)
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, built.corpus, dropped=built.dropped)
    again = load_corpus(folder)
    assert again.sources == built.corpus.sources
    assert again.aliases == built.corpus.aliases
    assert again.fingerprint == built.corpus.fingerprint
    assert list(iter_jsonl(folder / "dropped.jsonl", Dropped)) == list(built.dropped)


def test_the_manifest_says_what_there_is(tmp_path):
    corpus = written(tmp_path)
    manifest = read_manifest(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_bytes())["format"] == FORMAT == 1
    assert manifest.sources == 3
    assert manifest.modalities == {"text": 1, "table": 1, "image": 1}
    assert manifest.aliases == 1
    assert manifest.fingerprint == corpus.fingerprint
    assert manifest.licences == {"CC-BY-4.0": 1, "unknown": 2}
    assert manifest.dropped == {"no_text": 1}
    assert manifest.about == {"name": "Lakes"}


def test_the_same_corpus_gives_the_same_bytes(tmp_path):
    for name in "ab":
        written(tmp_path / name)
    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("sources.jsonl", lambda data: data[:-20]),
        ("sources.jsonl", lambda data: data[: data.index(b"\n") + 1]),
        ("sources.jsonl", lambda data: data.replace(b"deep", b"flat")),
        ("sources.jsonl", lambda data: b""),
        ("aliases.jsonl", lambda data: b""),
        ("manifest.json", lambda data: data.replace(b'"fingerprint": "', b'"fingerprint": "0')),
    ],
)
def test_a_file_that_was_cut_off_or_changed_is_refused(tmp_path, file, change):
    written(tmp_path)
    path = tmp_path / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UserError, match=r"cut off or changed|the manifest says") as caught:
        load_corpus(tmp_path)
    assert file in str(caught.value)


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (2, "newer")])
def test_another_format_is_refused_by_name(tmp_path, version, age):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": version, "anything": []}))
    with pytest.raises(UserError, match=f"format {version}, which is {age} than format 1"):
        load_corpus(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "1"}', '{"format": 1}', "\x00"])
def test_a_broken_manifest_is_told(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json"):
        load_corpus(tmp_path)


def test_a_folder_without_a_manifest_is_no_corpus(tmp_path):
    with pytest.raises(UserError, match="no corpus folder"):
        load_corpus(tmp_path)
    with pytest.raises(UserError, match="no corpus folder"):
        load_corpus(tmp_path / "nowhere")


def test_a_corpus_may_be_written_again_and_images_beside_it_stay(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "mill.png").write_bytes(b"pixels")
    written(tmp_path)
    write_corpus(tmp_path, three()[:1])
    corpus = load_corpus(tmp_path)
    assert [source.id for source in corpus] == ["i"]
    assert corpus.pixels(corpus.sources[0]) is not None


def test_writing_that_was_broken_off_leaves_no_corpus_that_could_be_taken_for_one(tmp_path, monkeypatch):
    written(tmp_path)

    def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("proctor.corpus.collection.write_json", broken_off)
    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path, three()[:1])
    with pytest.raises(UserError, match="interrupted"):
        load_corpus(tmp_path)


def test_what_has_no_word_is_not_written(tmp_path):
    with pytest.raises(UserError, match="1 sources have not one word in their text: 'i'"):
        write_corpus(tmp_path, [image_source("i", "", "images/a.png")])
    assert not (tmp_path / "sources.jsonl").exists()


def test_strange_lines_are_told_with_their_number(tmp_path):
    """A changed file is refused before that; these lines stand in a folder whose hashes were made to fit."""
    written(tmp_path)
    (tmp_path / "sources.jsonl").write_bytes(b'{"id": "a", "modality": "smell"}\n')
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    manifest["files"]["sources.jsonl"] = hashlib.sha256((tmp_path / "sources.jsonl").read_bytes()).hexdigest()
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"sources\.jsonl:1"):
        load_corpus(tmp_path)


# -- real data -----------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_real_corpus(shared_data, tmp_path):
    dataset, folder = load_dataset("sources"), shared_data / "mmrag"
    whole = build_corpus(dataset.iter_records(folder), root=folder, minimum=0)
    assert whole.corpus.counts() == {"text": 2151, "table": 70, "image": 896}
    assert whole.dropped == ()
    published = build_corpus(dataset.iter_records(folder), root=folder)
    assert len(published.corpus) + len(published.corpus.aliases) + len(published.dropped) == 3117
    assert {entry.reason for entry in published.dropped} == {"too_short"}
    write_corpus(tmp_path, published.corpus, dropped=published.dropped)
    again = load_corpus(tmp_path)
    assert again.fingerprint == published.corpus.fingerprint
    assert again.sources == published.corpus.sources
    assert all(again.pixels(source) is None for source in again)
