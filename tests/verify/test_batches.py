from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.batches import Free, draw_tasks, mix_in


def test_the_published_study_deals_two_or_three_of_each_style() -> None:
    """420 samples of 7 strata for 25 workers, each once: 17 for 24 of them, 12 for the last (Wu et al. 2024, App. L)."""
    left = {n: Free(n, stratum=f"s{n % 7}") for n in range(420)}
    sizes = []
    for worker in range(25):
        chosen = draw_tasks(left.values(), 17, key=f"w{worker}")
        strata = Counter(left[n].stratum for n in chosen)
        assert len(chosen) < 17 or set(strata.values()) <= {2, 3}
        sizes.append(len(chosen))
        for n in chosen:
            del left[n]
    assert sizes == [17] * 24 + [12]
    assert not left


def test_what_the_fewest_have_done_comes_first() -> None:
    free = [Free(1, taken=2), Free(2), Free(3, taken=1), Free(4)]
    assert set(draw_tasks(free, 2, key="k")) == {2, 4}
    assert set(draw_tasks(free, 0, key="k")) == {1, 2, 3, 4}


def test_variants_follow_a_latin_square() -> None:
    forms = [Free(10 * g + v, group=f"g{g}", variant="bit"[v]) for g in range(9) for v in range(3)]
    turns = [draw_tasks(forms, 0, key="k", turn=turn) for turn in range(3)]
    assert [len(t) for t in turns] == [9, 9, 9]
    assert sorted(n for t in turns for n in t) == [f.id for f in forms]  # each form once in three turns
    assert all(Counter(n // 10 for n in t).most_common(1)[0][1] == 1 for t in turns)
    assert turns[0] == draw_tasks(forms, 0, key="k", turn=3)


@given(
    tasks=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=40),
    size=st.integers(0, 12),
    tests=st.integers(0, 4),
    key=st.text(max_size=5),
)
def test_any_draw_is_even_without_repeats_and_hides_its_checks(
    tasks: list[tuple[str, int]], size: int, tests: int, key: str
) -> None:
    free = [Free(n, stratum, taken=taken) for n, (stratum, taken) in enumerate(tasks)]
    chosen = draw_tasks(free, size, key=key)
    assert chosen == draw_tasks(free[::-1], size, key=key)
    assert len(set(chosen)) == len(chosen) == (min(size, len(free)) if size else len(free))
    had = Counter(free[n].stratum for n in chosen)
    for stratum, count in Counter(
        f.stratum for f in free
    ).items():  # nobody had fewer, unless there were no more
        assert had[stratum] == count or had[stratum] >= max(had.values(), default=0) - 1
    mixed = mix_in(chosen, range(1000, 1000 + tests), key=key)
    assert [n for n in mixed if n < 1000] == chosen
    if len(chosen) > 1:
        assert mixed[0] < 1000 > mixed[-1]
