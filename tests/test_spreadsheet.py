"""Cells that spreadsheets do not calculate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.spreadsheet import is_formula, safe_cell

SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", ["", " ", "  \u00a0", "\ufeff"])
def test_a_formula_gets_an_apostrophe(sign: str, before: str) -> None:
    text = f"{before}{sign}cmd|' /C calc'!A0"
    assert is_formula(text)
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", " ", "a=1", "1+1", "'=1", "a@b.example", "–dash", "×", "(=1)"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert not is_formula(text)
    assert safe_cell(text) == text


@given(st.text(max_size=30))
def test_no_cell_is_a_formula_and_nothing_is_lost(text: str) -> None:
    cell = safe_cell(text)
    assert not is_formula(cell)
    assert cell in (text, f"'{text}")
    assert safe_cell(cell) == cell
