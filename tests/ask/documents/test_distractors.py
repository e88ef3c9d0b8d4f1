"""Distractors by kind: each source once, none that is gold or says the same as gold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.distractors import DISTRACTOR_KINDS, DistractorSearch, find_distractors
from proctor.errors import UserError

SEARCH = DistractorSearch(
    document=lambda id: {"g": ["g", "d1", "d2", "d3"], "h": ["h", "d2", "d4"]}.get(id, [id]),
    entity=lambda _e, modality, k: [f"{modality}-{n}" for n in range(k)],
    vector=lambda _q, k: ["g", "c1", "d1", *(f"v{n}" for n in range(k - 3))],
    words=lambda _q, k: ["v0", "h", *(f"w{n}" for n in range(k - 2))],
)


def test_each_kind_in_turn_and_every_source_once():
    found = find_distractors("q", "e", (2, 0, 0), ("g", "h"), ("c1", "c2"), SEARCH, each=2)
    assert found == {
        "candidate": ("c1", "c2"),
        "same_document": ("d1", "d2"),
        "other_modality": ("1-0", "2-0"),
        "near_by_vector": ("v0", "v1"),
        "near_by_words": ("w0", "w1"),
    }
    assert tuple(found) == DISTRACTOR_KINDS


def test_nothing_is_looked_up_where_nobody_says_how():
    assert find_distractors("q", "e", (1, 0, 0), ("g",), ("c", "g", "c"), DistractorSearch()) == {
        "candidate": ("c",)
    }
    assert find_distractors("q", "e", (1, 0, 0), ("g",), (), DistractorSearch()) == {}


def test_what_equals_a_gold_source_is_none():
    same = {"g": "hash", "d1": "hash", "d2": "other"}
    found = find_distractors("q", "e", (1, 1, 1), ("g",), (), SEARCH, each=1, same=same)
    assert found["same_document"] == ("d2",)
    assert "other_modality" not in found, "all modalities are in use"


def test_how_many_must_make_sense():
    with pytest.raises(UserError, match="0 distractors"):
        find_distractors("q", "e", (1, 0, 0), ("g",), (), SEARCH, each=0)


ids = st.lists(st.sampled_from("abcdefgh"), max_size=8)


@given(gold=ids.filter(bool), candidates=ids, document=ids, vector=ids, words=ids, each=st.integers(1, 4))
def test_kinds_share_no_source(gold, candidates, document, vector, words, each):
    search = DistractorSearch(
        document=lambda _: document, vector=lambda _q, _k: vector, words=lambda _q, _k: words
    )
    found = find_distractors("q", "e", (1, 0, 0), gold, candidates, search, each=each)
    everything = [id for kept in found.values() for id in kept]
    assert len(everything) == len(set(everything))
    assert not set(everything) & set(gold)
    assert all(len(kept) <= each for kind, kept in found.items() if kind != "candidate")
    assert set(candidates) - set(gold) == set(found.get("candidate", ()))
