"""Sources: their text, their hash, the length rule; and BM25 over the real corpus as it was measured."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.question import CorpusQuestion, count_modalities
from proctor.corpus.source import (
    MODALITIES,
    Source,
    body_length,
    image_source,
    is_long_enough,
    render_source,
    render_table,
    table_source,
    text_source,
)

texts = st.text(max_size=40)
tables = st.builds(
    table_source, texts, texts, st.lists(texts, max_size=4), st.lists(st.lists(texts, max_size=4), max_size=4)
)
sources = st.one_of(
    st.builds(text_source, texts, texts, texts),
    tables,
    st.builds(image_source, texts, texts, texts, verbalisation=st.none() | texts),
)


# -- rendering -----------------------------------------------------------------------------------------------------


def test_a_text_is_title_colon_body():
    assert (
        render_source(text_source("text:a", "Magha Puja", "A festival.\nIn March."))
        == "Magha Puja: A festival.\nIn March."
    )


def test_a_table_is_title_section_header_rows():
    source = table_source(
        "table:a", "Lakes", ["Lake", "Depth"], [["Omber", "41"], ["Tarn", "7"]], section="By depth"
    )
    assert render_source(source) == "Lakes\nBy depth\nLake | Depth\nOmber | 41\nTarn | 7"


def test_a_table_without_section_or_header_has_no_empty_lines():
    assert render_source(table_source("table:a", "Lakes", [], [["Omber", "41"]])) == "Lakes\nOmber | 41"


@pytest.mark.parametrize("between", ["|", "\n", "\r\n", "\u2028", "\x0b", "\x85"])
def test_bars_and_line_breaks_within_a_cell_are_spaces(between: str):
    source = table_source(
        "table:a", f"T{between}U" if between != "|" else "T U", [f"a{between}b"], [[f"c{between}d"]]
    )
    assert render_source(source) == "T U\na b\nc d"


def test_a_table_may_be_shown_in_part():
    rows = [[str(i)] for i in range(5)]
    assert render_table("T", "", ["n"], rows, limit=2) == "T\nn\n0\n1"


def test_an_image_is_caption_and_verbalisation():
    assert render_source(image_source("image:a", "Tarn", "a.jpg", verbalisation="a pond")) == "Tarn. a pond"
    assert render_source(image_source("image:a", "Tarn", "a.jpg")) == "Tarn"
    assert render_source(image_source("image:a", "Tarn", "a.jpg", verbalisation="")) == "Tarn"
    assert image_source("image:a", "Tarn", "a.jpg").caption == "Tarn"


@given(tables)
def test_a_table_has_a_line_for_everything(source: Source):
    lines = render_source(source).split("\n")
    assert len(lines) == 1 + bool(source.section) + bool(source.header) + len(source.rows)
    for line, row in zip(lines[len(lines) - len(source.rows) :], source.rows, strict=True):
        assert line.count("|") == max(0, len(row) - 1)


# -- hash ----------------------------------------------------------------------------------------------------------


def test_the_hash_is_that_of_the_normalised_rendering():
    source = text_source("text:a", "Tarn", " A  tarn\n is small. ")
    assert source.content_hash == hashlib.sha256(b"Tarn: A tarn is small.").hexdigest()


def test_equal_contents_have_equal_hashes_whatever_their_ids_and_spaces():
    a = text_source("text:a", "Ömber", "a lake", url="https://example.org/a")
    b = text_source("text:b", "O\u0308mber", "a\u00a0 lake")
    assert a.content_hash == b.content_hash
    assert a.content_hash != text_source("text:a", "Ömber", "a lake.").content_hash


def test_the_hash_of_an_image_is_that_of_its_bytes_else_of_caption_and_path():
    sha = hashlib.sha256(b"pixels").hexdigest()
    assert image_source("image:a", "Tarn", "a.jpg", pixels_sha256=sha).content_hash == sha
    without = image_source("image:a", "Tarn", "a.jpg")
    assert without.content_hash == image_source("image:b", "Tarn", "a.jpg", verbalisation="x").content_hash
    assert without.content_hash != image_source("image:a", "Tarn", "b.jpg").content_hash


@given(sources)
def test_a_source_survives_json(source: Source):
    assert re.fullmatch("[0-9a-f]{64}", source.content_hash)
    assert msgspec.json.decode(msgspec.json.encode(source), type=Source) == source


# -- length --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("body", "kept"), [("x" * 199, False), ("x" * 200, True), ("", False)])
def test_texts_under_200_characters_are_too_short(body: str, kept: bool):
    assert is_long_enough(text_source("text:a", "a title of many characters " * 20, body)) is kept


def test_characters_are_counted_after_spaces_became_single():
    assert body_length(text_source("text:a", "t", "  a \n\t b  ")) == 3
    assert body_length(text_source("text:a", "t", "ÄÖ𝄞")) == 3
    assert not is_long_enough(text_source("text:a", "t", " " * 300 + "x"))
    assert is_long_enough(text_source("text:a", "t", "x"), minimum=1)


def test_tables_and_images_are_never_too_short():
    assert is_long_enough(table_source("table:a", "t", [], []))
    assert is_long_enough(image_source("image:a", "t", "a.jpg"))


# -- questions -----------------------------------------------------------------------------------------------------


def test_modalities_are_counted_in_the_order_of_smmqg():
    assert MODALITIES == ("text", "table", "image")
    assert count_modalities(("table", "text", "text")) == (2, 1, 0)
    question = CorpusQuestion(qid="q", question="?", gold=("text:a",), modalities=(1, 0, 0))
    assert msgspec.json.decode(msgspec.json.encode(question), type=CorpusQuestion) == question


# -- the real corpus: what was measured with this rendering --------------------------------------------


@pytest.mark.shared
def test_bm25_over_the_renderings_finds_what_was_measured(
    shared_data: Path, shared_expected: Callable[[str], dict[str, Any]]
):
    from proctor.datasets.dataset import Log
    from proctor.datasets.sources import iter_questions, iter_sources

    expected = shared_expected("smmqg-instructionbench")["bm25_real_subset"]
    folder = shared_data / "mmrag"
    documents = {
        s.id: re.findall(r"\w+", render_source(s).lower()) for s in iter_sources(folder, "published", Log())
    }
    lengths = {id_: len(words) for id_, words in documents.items()}
    mean = sum(lengths.values()) / len(lengths)
    assert mean == pytest.approx(expected["avglen"], abs=1e-6)
    postings: dict[str, dict[str, int]] = defaultdict(dict)
    for id_, words in documents.items():
        for word, n in Counter(words).items():
            postings[word][id_] = n
    order = {id_: n for n, id_ in enumerate(documents)}
    recall: dict[int, list[float]] = {5: [], 10: []}
    for question in iter_questions(folder, "published", Log()):
        if not question.gold_complete:
            continue
        scores: dict[str, float] = defaultdict(float)
        for word in set(re.findall(r"\w+", question.question.lower())):
            found = postings.get(word, {})
            weight = math.log(1 + (len(documents) - len(found) + 0.5) / (len(found) + 0.5))
            for id_, n in found.items():
                scores[id_] += weight * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * lengths[id_] / mean))
        ranking = sorted(scores, key=lambda id_: (-scores[id_], order[id_]))
        for k, values in recall.items():
            values.append(len(set(question.gold) & set(ranking[:k])) / len(question.gold))
    assert len(recall[5]) == 161
    assert 100 * sum(recall[5]) / 161 == pytest.approx(expected["recall@5"], abs=1e-4)
    assert 100 * sum(recall[10]) / 161 == pytest.approx(expected["recall@10"], abs=1e-4)
