"""Duplicates: exact ones by hash, near ones by words (measured against every pair) and by vectors."""

from __future__ import annotations

import random
import sys

import pytest

from proctor.corpus.dedupe import (
    NearDuplicates,
    bands,
    exact_duplicates,
    near_duplicates,
)
from proctor.corpus.source import image_source, render_source, table_source, text_source
from proctor.errors import MissingExtraError, UserError

# -- exact ---------------------------------------------------------------------------------------------------------


def test_the_first_of_equal_contents_stays():
    sources = [text_source(id, "T", body) for id, body in (("b", "x"), ("a", "x"), ("c", "y"), ("d", " x "))]
    assert exact_duplicates(sources) == {"a": "b", "d": "b"}


def test_a_text_and_a_table_of_one_rendering_are_two():
    text, table = text_source("t", "A", "b"), table_source("b", "A: b", [], [])
    assert render_source(text) == render_source(table)
    assert text.content_hash == table.content_hash
    assert exact_duplicates([text, table]) == {}


def test_images_are_equal_by_their_pixels():
    one, two, other = (
        image_source(id, caption, f"{id}.png", pixels_sha256=pixels)
        for id, caption, pixels in (
            ("a", "A mill", "1" * 64),
            ("b", "The mill", "1" * 64),
            ("c", "A mill", "2" * 64),
        )
    )
    assert exact_duplicates([one, two, other]) == {"b": "a"}


# -- by words ------------------------------------------------------------------------------------------------------


def prose(seed: int, length: int = 120) -> list[str]:
    rng = random.Random(seed)
    return [f"w{rng.randrange(5000)}" for _ in range(length)]


def changed(words: list[str], places: int, seed: int = 0) -> list[str]:
    """Replace words that stand next to each other, so that few shingles change."""
    rng = random.Random(seed)
    at = rng.randrange(len(words) - places)
    return [*words[:at], *(f"new{seed}-{n}" for n in range(places)), *words[at + places :]]


def shingles(text: str, size: int) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return {tuple(words[n : n + size]) for n in range(len(words) - size + 1)}


def test_near_duplicates_are_those_of_every_pair_compared():
    how = NearDuplicates(threshold=0.8)
    sources = []
    for n in range(60):
        words = prose(n)
        sources.append(text_source(f"s{n}", "T", " ".join(words)))
        for k, places in enumerate((1, 3, 8, 20)):
            sources.append(text_source(f"s{n}-{k}", "T", " ".join(changed(words, places, n * 10 + k))))
    kept: list[tuple[str, set[tuple[str, ...]]]] = []
    expected: dict[str, str] = {}
    for source in sources:
        own = shingles(render_source(source), how.shingle)
        twin = next((id for id, its in kept if len(own & its) >= how.threshold * len(own | its)), None)
        if twin is None:
            kept.append((source.id, own))
        else:
            expected[source.id] = twin
    assert 100 < len(expected) < 200  # some are near and some are not
    assert near_duplicates(sources, how) == expected


@pytest.mark.parametrize(("threshold", "permutations"), [(0.9, 128), (0.8, 128), (0.5, 256), (0.95, 64)])
def test_bands_miss_one_pair_in_ten_thousand(threshold, permutations):
    count, rows = bands(threshold, permutations)
    assert count * rows <= permutations
    assert (1 - threshold**rows) ** count <= 1e-4
    longer = rows + 1
    assert (1 - threshold**longer) ** (permutations // longer) > 1e-4


def test_bands_where_nothing_can_be_missed_and_where_much_is():
    assert bands(1.0, 128) == (1, 128)
    assert bands(0.1, 16) == (16, 1)


def test_many_near_duplicates_are_compared_with_what_stays_alone():
    words = prose(1, 60)
    sources = [text_source(f"d{n}", "T", " ".join([*words, f"end{n}"])) for n in range(3_000)]
    aliases = near_duplicates(sources, NearDuplicates(permutations=32))
    assert len(aliases) == 2_999
    assert set(aliases.values()) == {"d0"}


def test_tables_and_texts_are_not_compared_and_images_never():
    cells = prose(3, 40)
    body = " ".join(cells)
    sources = [
        text_source("t", "T", body),
        table_source("b", "T:", [], [[body]]),
        table_source("b2", "T:", [], [[body + " more"]]),
        image_source("i", body, "a.png"),
        image_source("i2", body, "b.png"),
    ]
    assert near_duplicates(sources, NearDuplicates(threshold=0.8)) == {"b2": "b"}


def test_short_texts_are_near_only_when_equal_but_for_case_and_spaces():
    bodies = {"a": "one two", "b": "One  TWO", "c": "one three"}
    sources = [text_source(id, "", body) for id, body in bodies.items()]
    assert near_duplicates(sources, NearDuplicates(shingle=5)) == {"b": "a"}


def test_the_same_seed_finds_the_same():
    sources = [text_source(f"s{n}", "T", " ".join(changed(prose(n // 4), 6, n))) for n in range(80)]
    assert near_duplicates(sources) == near_duplicates(sources)


@pytest.mark.parametrize("bad", [{"threshold": 0.0}, {"threshold": 1.1}, {"shingle": 0}, {"permutations": 1}])
def test_senseless_settings_are_refused(bad):
    with pytest.raises(UserError, match="cannot be found with"):
        NearDuplicates(**bad)


def test_the_extra_is_named_where_the_library_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[corpus\]"):
        near_duplicates([text_source("a", "T", "b")])
