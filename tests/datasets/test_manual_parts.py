"""Parts of manuals as releases have them: texts, ids, orders and paths; and categories and figures of manuals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.dataset import Log
from proctor.datasets.manual_caps import measure_manuals
from proctor.datasets.manual_categories import category_keys, top_categories, top_category
from proctor.datasets.manual_parts import (
    BadPartError,
    Oddities,
    parse_id,
    parse_orders,
    parse_text,
    safe_path,
    seen_as,
)
from proctor.procedure.manual import MODALITIES, Manual, ManualSection, ManualStep

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=12,
)


@given(ANYTHING)
def test_anything_can_be_quoted_in_a_message(value: Any):
    shown = seen_as(value)
    assert len(shown) <= 61
    assert shown.removesuffix("…").isascii()


def test_huge_values_are_quoted_short():
    assert len(seen_as("x" * 10**7)) <= 61
    assert seen_as(10**5_000) == "a huge number"
    assert seen_as([1, 2]) == "a list of 2"


@given(ANYTHING)
def test_a_text_is_a_text_or_refused(value: Any):
    odd, log = Oddities(), Log()
    try:
        text = parse_text(value, "body", odd)
    except BadPartError:
        assert value is not None
        return
    assert text == (value.strip() if value is not None else "")
    odd.tell(log, "m")
    assert len(log.findings) == (value is None)


@given(ANYTHING | st.text())
def test_an_id_prints(value: Any):
    try:
        id_ = parse_id(value, "url")
    except BadPartError:
        return
    assert id_
    assert id_ == id_.strip()
    assert id_.isprintable()


@given(st.text() | st.from_regex(r"(\.\.?/|[a-z]/|/|https://){0,4}[a-z.]{0,4}", fullmatch=True))
def test_a_path_stays_in_the_folder(value: str):
    try:
        path = safe_path(value)
    except BadPartError:
        return
    base = Path("/data/set")
    assert (base / path).resolve().is_relative_to(base.resolve())
    assert (base / path).resolve() != base.resolve()
    assert safe_path(path) == path


# -- orders -----------------------------------------------------------------------------------------------------


@given(st.lists(st.permutations(range(5)), min_size=1, max_size=4))
def test_ranks_read_as_ranks_are_the_orders(orders: list[list[int]]):
    ranks = [[order.index(i) for i in range(5)] for order in orders]
    log = Log()
    by_ranks = parse_orders(ranks, "ranks", "m", log)
    assert by_ranks == parse_orders(orders, "order", "m", log)
    assert by_ranks == dict.fromkeys(MODALITIES, tuple(map(tuple, orders)))
    assert log.dropped == []


@given(ANYTHING, st.sampled_from(["unsaid", "order", "ranks"]))
def test_whatever_stands_there_is_taken_or_told(value: Any, semantics: str):
    log = Log()
    found = parse_orders(value, semantics, "m", log)
    for orders in found.values():
        assert orders
        for order in orders:
            assert sorted(order) == list(range(len(order)))
    lists = list(value.values()) if isinstance(value, dict) else [value]
    if value is not None and not found and any(v != [] for v in lists):
        assert log.dropped
    if semantics == "unsaid":
        assert found == {}
        assert len(log.dropped) == (value is not None)


@pytest.mark.parametrize(
    "order", [[1, 2, 3], [0, 0], [0, 1.0], [True, False], [], "01", [0, [1]], [0, None], {"0": 0}, [-1, 0]]
)
def test_what_is_no_order_is_dropped_alone(order: Any):
    log = Log()
    assert parse_orders({"text": [[1, 0], order]}, "order", "m", log) == {"text": ((1, 0),)}
    assert [(d.id, d.reason) for d in log.dropped] == [("m", "bad-order")]


def test_unknown_modalities_are_dropped():
    log = Log()
    assert parse_orders({"sound": [[0]], "image": [[0]]}, "order", "m", log) == {"image": ((0,),)}
    assert [d.detail for d in log.dropped] == ["there is no modality 'sound'"]


# -- categories -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "top", "third"),
    [
        ((), "Others", "Others"),
        (("Root",), "Others", "Others"),
        (("Root", "A"), "A", "A"),
        (("Root", "A", "B"), "A", "B"),
        (("Root", "A", "B", "C"), "A", "C"),
        (("Root", "A", "B", "C", "D"), "A", "C"),
    ],
)
def test_levels_of_a_path(path: tuple[str, ...], top: str, third: str):
    assert top_category(path) == top
    manual = Manual("m", "hand", "t", (), category_paths=(path,))
    assert category_keys(manual) == ({third} if path else set())


def test_keys_are_over_all_paths():
    paths = (("Root", "A", "B", "C", "D"), ("Root", "A", "B", "C", "E"), ("Root", "F"), ("Root",))
    manual = Manual("m", "hand", "t", (), category_paths=paths)
    assert top_categories(manual) == ("A", "F", "Others")
    assert category_keys(manual) == {"C", "F", "Others"}
    assert category_keys(Manual("n", "hand", "t", ())) == frozenset()
    other = Manual("o", "hand", "t", (), category_paths=(("Root", "A", "B", "C"),))
    assert category_keys(manual) & category_keys(other)


# -- figures ------------------------------------------------------------------------------------------------------


def test_figures_by_hand():
    steps = (
        ManualStep("0", "Stir the soup. Wait!", "Head", ("Stir again.",), ("a.png", "b.png")),
        ManualStep("1"),
    )
    manuals = [
        Manual(
            "a", "hand", "t", (ManualSection(0, steps), ManualSection(1, ())), attributes={"split": "dev"}
        ),
        Manual("b", "hand", "t", (ManualSection(0, steps[:1]),)),
    ]
    figures = measure_manuals(iter(manuals))
    # stir the soup . wait ! stir again .
    assert figures["tokens"] == 18
    assert figures["types"] == 7
    assert figures["type_token_ratio"] == pytest.approx(7 / 18)
    assert (figures["manuals"], figures["manuals_dev"], figures["images"]) == (2, 1, 4)
    assert (figures["tokens_per_step_min"], figures["tokens_per_step_max"]) == (0, 9)
    assert figures["tokens_per_step_mean"] == 6
    assert figures["tokens_per_step_std"] == pytest.approx(math.sqrt(18))
    assert (figures["sentences_per_step_mean"], figures["sentences_per_step_max"]) == (2, 3)
    assert (figures["steps_per_task_min"], figures["steps_per_task_mean"]) == (0, 1)


def test_figures_of_nothing_are_not_zero():
    figures = measure_manuals([])
    assert figures["manuals"] == 0
    assert math.isnan(figures["tokens_per_step_mean"])
    assert math.isnan(figures["type_token_ratio"])
