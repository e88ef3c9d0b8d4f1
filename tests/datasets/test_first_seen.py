"""Keys that came before are known exactly, in memory and beyond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.first_seen import FirstSeen


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3))), st.integers(1, 6))
def test_the_first_owner_is_remembered(pairs: list[tuple[str, str]], in_memory: int):
    expected: dict[str, str] = {}
    with FirstSeen(in_memory) as seen:
        for key, owner in pairs:
            assert seen.get(key) == expected.get(key)
            assert seen.add(key, owner) == expected.get(key)
            expected.setdefault(key, owner)
        for key, owner in expected.items():
            assert seen.get(key) == owner
            assert key in seen
        assert "never there" not in seen


def test_many_keys_lie_in_the_file_not_in_memory():
    with FirstSeen(in_memory=1_000) as seen:
        assert not any(seen.add(f"text:{i}", str(i)) for i in range(20_000))
        assert len(seen._recent) < 1_000
        assert [seen.add(f"text:{i}", "again") for i in (0, 999, 1_000, 19_999)] == [
            "0",
            "999",
            "1000",
            "19999",
        ]


def test_halves_of_pairs_are_keys_too():
    with FirstSeen() as seen:
        assert seen.add("\ud800", "a") is None
        assert seen.add("\ud800", "b") == "a"


@pytest.mark.parametrize("in_memory", [1, 100])
def test_it_may_be_closed_twice(in_memory: int):
    seen = FirstSeen(in_memory)
    seen.add("a", "a")
    seen.close()
    seen.close()
    assert seen.get("a") is None
