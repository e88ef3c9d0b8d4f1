"""Printed rows against what follows from them, and the cells that cannot be."""

from __future__ import annotations

from itertools import product

import pytest

from proctor.learn.sequencing.published import COLUMNS, OBJECTIVES, OTHER_TABLES, PRETRAINING


def _pmr(corpus: str, modality: str, model: str, pretraining: str) -> float:
    (row,) = [
        r
        for r in PRETRAINING
        if (r.corpus, r.modality, r.model, r.pretraining) == (corpus, modality, model, pretraining)
    ]
    return row.values[1]


def test_rows_are_complete_and_pretraining_gains_what_the_paper_says() -> None:
    assert (len(PRETRAINING), len(OBJECTIVES)) == (24, 14)
    assert all(len(row.values) == 6 for row in (*PRETRAINING, *OBJECTIVES))
    assert all(len(row.values) == len(COLUMNS[t]) for t, rows in OTHER_TABLES.items() for row in rows)
    gain = {
        c: _pmr(c, "multimodal", "CLIP-ViL", "Y") - _pmr(c, "multimodal", "CLIP-ViL", "N")
        for c in ("recipeqa", "wikihow")
    }
    assert gain == {"recipeqa": pytest.approx(8.0), "wikihow": pytest.approx(6.67)}
    assert all(
        sum(filter(None, row.values)) == pytest.approx(100) for t in ("8", "9") for row in OTHER_TABLES[t]
    )


def test_pmr_of_models_is_a_whole_number_of_manuals_except_where_a_note_says_so() -> None:
    """Table 4 follows from counts of manuals; of people it does not, as they differ in number."""
    wrong = set()
    for row in OTHER_TABLES["4"]:
        if row.name != "model":
            continue
        total = {"wikihow": 300, "recipeqa": 100}[row.corpus]
        n, single, first, best, everything = (
            int(row.values[0] or 0),
            *(row.values[i] or 0 for i in (2, 6, 7, 12)),
        )
        whole = any(
            abs(100 * a / (total - n) - single) < 0.011
            and abs(100 * b / n - first) < 0.011
            and abs(100 * (a + b) / total - everything) < 0.011
            for a, b in product(range(total - n + 1), range(n + 1))
        )
        if not whole or not any(abs(best - 100 * k / n) < 0.011 for k in range(n + 1)):
            wrong.add((row.corpus, row.modality))
        assert bool(row.note) == ((row.corpus, row.modality) in wrong)
    assert wrong == {("wikihow", "text"), ("wikihow", "multimodal")}


def test_deviation_that_no_values_have_is_marked() -> None:
    for row in OTHER_TABLES["5"]:
        _, least, most, mean, deviation, _ = (value or 0.0 for value in row.values)
        # mean and deviation were rounded to one digit
        highest = max(((m - least) * (most - m)) ** 0.5 for m in (mean - 0.05, mean + 0.05))
        assert (deviation - 0.05 > highest) == bool(row.note)
