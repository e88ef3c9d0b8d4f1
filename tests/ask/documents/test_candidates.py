"""Candidates: how many, in which order, without duplicates, whatever the search returns."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.candidates import Candidates, Find, select_candidates, wanted_candidates
from proctor.ask.documents.prompting import Miss
from proctor.corpus.index.hits import NOTHING, Hits
from proctor.corpus.source import MODALITIES, Modality, Source
from proctor.errors import UserError


def corpus(texts: int = 6, tables: int = 6, images: int = 6) -> list[Source]:
    wanted = zip(MODALITIES, (texts, tables, images), strict=True)
    return [
        Source(id=f"{m}{n:05d}", modality=m, title=f"{m} {n}", content_hash=f"h{m}{n}")
        for m, count in wanted
        for n in range(count)
    ]


def finder(
    sources: list[Source], scores: Callable[[int], float], asked: list[tuple[Modality, int]] | None = None
) -> Find:
    """Search by a given score; as contracted, equal scores in the order of positions, padded with NOTHING."""

    def find(entity: str, modality: Modality, k: int) -> Hits:
        if asked is not None:
            asked.append((modality, k))
        at = sorted(
            (n for n, s in enumerate(sources) if s.modality == modality), key=lambda n: (-scores(n), n)
        )[:k]
        pad = k - len(at)
        return Hits(
            np.array([at + [NOTHING] * pad], dtype=np.int64),
            np.array([[scores(n) for n in at] + [-np.inf] * pad], dtype=np.float32),
        )

    return find


def choose(
    sources: list[Source], m: tuple[int, int, int], scores: Callable[[int], float] = lambda n: -n, **more: Any
) -> Candidates:
    found = select_candidates("Ost", m, finder(sources, scores), sources, random.Random(1), **more)
    assert isinstance(found, Candidates), found
    return found


def test_the_worked_counts(shared_expected: Callable[[str], dict[str, Any]]) -> None:
    worked = shared_expected("smmqg-instructionbench")["candidate_counts"]
    sources = corpus()
    assert len(worked["cases"]) == 3
    for case in worked["cases"]:
        m = tuple(case["M"])
        assert wanted_candidates(m, worked["k_modality"]) == case["retrieve"]
        asked: list[tuple[Modality, int]] = []
        found = select_candidates("Ost", m, finder(sources, lambda n: -n, asked), sources, random.Random(1))
        assert isinstance(found, Candidates)
        assert {k: [s.modality for s in found.sources].count(k) for k in MODALITIES} == case["retrieve"]
        assert {modality for modality, _ in asked} == {k for k, n in case["retrieve"].items() if n}


def test_the_best_are_taken_and_shuffled_by_the_targets_chance() -> None:
    sources = corpus()
    found = choose(sources, (2, 1, 0))
    assert set(found.ids) == {"text00000", "text00001", "text00002", "text00003", "table00000", "table00001"}
    assert found.ranks == {f"text0000{n}": n + 1 for n in range(4)} | {"table00000": 1, "table00001": 2}
    assert not found.short
    assert found == choose(sources, (2, 1, 0))
    orders = set()
    for seed in range(10):
        other = select_candidates(
            "Ost", (2, 1, 0), finder(sources, lambda n: -n), sources, random.Random(seed)
        )
        assert isinstance(other, Candidates)
        orders.add(other.ids)
    assert len(orders) > 5
    assert found.cited([2, 1]) == (found.sources[1], found.sources[0])
    assert found.others(found.ids[:2]) == found.ids[2:]


def test_ties_are_ordered_by_id_even_at_the_cut() -> None:
    sources = corpus(texts=300)
    shuffled = list(sources)
    random.Random(5).shuffle(shuffled)
    assert set(choose(shuffled, (1, 0, 0), lambda n: 0.5).ids) == {"text00000", "text00001"}
    best = next(n for n, s in enumerate(shuffled) if s.id == "text00200")
    assert set(choose(shuffled, (1, 0, 0), lambda n: 1.0 if n == best else 0.5).ids) == {
        "text00200",
        "text00000",
    }


def test_duplicates_and_aliases_give_way_to_the_next() -> None:
    same = [Source(id=f"d{n:05d}", modality="text", content_hash="same") for n in range(10_000)]
    sources = same + corpus(texts=3, tables=0, images=0)
    asked: list[tuple[Modality, int]] = []
    found = select_candidates(
        "Ost", (1, 0, 0), finder(sources, lambda n: -n, asked), sources, random.Random(1)
    )
    assert isinstance(found, Candidates)
    assert set(found.ids) == {"d00000", "text00000"}
    assert found.ranks["text00000"] == 10_001
    assert len(asked) < 15
    assert set(choose(corpus(), (1, 0, 0), aliases={"text00000", "text00002"}).ids) == {
        "text00001",
        "text00003",
    }


def test_small_corpora() -> None:
    found = choose(corpus(texts=3), (2, 0, 0))
    assert found.short
    assert len(found.ids) == 3
    miss = select_candidates(
        "Ost", (2, 0, 0), finder(corpus(texts=1), lambda n: -n), corpus(texts=1), random.Random(1)
    )
    assert isinstance(miss, Miss)
    assert miss.outcome == "too_few_candidates"
    assert not choose(corpus(texts=2), (1, 0, 0)).short


def test_a_floor_and_a_seed_by_choice() -> None:
    sources = corpus()
    assert choose(sources, (2, 0, 0), floor=-2.5).short
    miss = select_candidates(
        "Ost", (2, 0, 0), finder(sources, lambda n: -n), sources, random.Random(1), floor=-0.5
    )
    assert isinstance(miss, Miss)
    far = sources[5]
    with_seed = choose(sources, (1, 1, 0), include=far)
    assert {i for i in with_seed.ids if i.startswith("text")} == {far.id, "text00000"}
    assert far.id not in with_seed.ranks
    assert far.id not in choose(sources, (0, 1, 0), include=far).ids
    assert set(choose(sources, (1, 0, 0), include=sources[0]).ids) == {"text00000", "text00001"}


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(UserError, match="0-0-0 asks for none"):
        choose(corpus(), (0, 0, 0))
    with pytest.raises(UserError, match="0 candidates for each"):
        choose(corpus(), (1, 0, 0), k_modality=0)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_it_is_what_sorting_everything_would_give(entries: list[tuple[int, int]], m: int, k: int) -> None:
    sources = [
        Source(id=f"{(n * 7) % 41:02d}", modality="text", content_hash=f"c{c}")
        for n, (_, c) in enumerate(entries)
    ]
    scores = [float(score) for score, _ in entries]
    order = sorted(range(len(sources)), key=lambda n: (-scores[n], sources[n].id))
    wanted: dict[str, str] = {}
    for n in order:
        wanted.setdefault(sources[n].content_hash, sources[n].id)
    best = list(wanted.values())[: m * k]
    found = select_candidates(
        "e", (m, 0, 0), finder(sources, lambda n: scores[n]), sources, random.Random(0), k_modality=k
    )
    if isinstance(found, Miss):
        assert len(best) < m
    else:
        assert sorted(found.ids) == sorted(best)
        assert found.short == (len(best) < m * k)
