"""Printed rows against what follows from them, and the cells that cannot be."""

from __future__ import annotations

from itertools import product

import pytest

from proctor.learn.sequencing.published import (
    ALTERNATIVES,
    CONFIDENCE,
    HELPED,
    OBJECTIVES,
    PRETRAINING,
    REFERENCES,
)


def _pmr(corpus: str, modality: str, model: str, pretraining: str) -> float:
    (row,) = [
        r
        for r in PRETRAINING
        if (r.corpus, r.modality, r.model, r.pretraining) == (corpus, modality, model, pretraining)
    ]
    return row.values[1]


def test_rows_are_complete_and_pretraining_gains_what_the_paper_says() -> None:
    assert (len(PRETRAINING), len(OBJECTIVES), len(ALTERNATIVES)) == (24, 14, 12)
    assert all(len(row.values) == 6 for row in (*PRETRAINING, *OBJECTIVES))
    gain = {
        c: _pmr(c, "multimodal", "CLIP-ViL", "Y") - _pmr(c, "multimodal", "CLIP-ViL", "N") for c in HELPED
    }
    assert gain == {"recipeqa": pytest.approx(8.0), "wikihow": pytest.approx(6.67)}
    assert sum(HELPED["wikihow"]) == pytest.approx(100)
    assert sum(CONFIDENCE["recipeqa"]) == pytest.approx(100)


def test_pmr_of_models_is_a_whole_number_of_manuals_except_where_a_note_says_so() -> None:
    """Table 4 follows from counts of manuals; of people it does not, as they differ in number."""
    total = {"wikihow": 300, "recipeqa": 100}
    wrong = set()
    for row in ALTERNATIVES:
        if row.system != "model":
            continue
        n, rest = row.manuals, total[row.corpus] - row.manuals
        exact = {round(100 * k / n, 2) for k in range(n + 1)}
        counts = [
            (a, b)
            for a, b in product(range(rest + 1), range(n + 1))
            if abs(100 * a / rest - row.single[1]) < 0.011 and abs(100 * b / n - row.multi[1][0]) < 0.011
        ]
        whole = any(abs(100 * (a + b) / total[row.corpus] - row.all[1][0]) < 0.011 for a, b in counts)
        if not whole or not any(abs(row.multi[1][1] - value) < 0.011 for value in exact):
            wrong.add((row.corpus, row.modality))
        assert bool(row.note) == ((row.corpus, row.modality) in wrong)
    assert wrong == {("wikihow", "text"), ("wikihow", "multimodal")}


def test_deviation_that_no_values_have_is_marked() -> None:
    for cell in REFERENCES:
        # the mean was rounded to one digit, and the deviation too
        most = max(((m - cell.least) * (cell.most - m)) ** 0.5 for m in (cell.mean - 0.05, cell.mean + 0.05))
        assert (cell.deviation - 0.05 > most) == bool(cell.note)
