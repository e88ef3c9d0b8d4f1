"""Printed rows against what follows from them, and the cells that cannot be."""

from __future__ import annotations

from itertools import product

import pytest

from proctor.learn.sequencing.published import COLUMNS, OBJECTIVES, OTHER_TABLES, PRETRAINING


def test_rows_are_complete_and_pretraining_gains_what_the_paper_says() -> None:
    assert (len(PRETRAINING), len(OBJECTIVES)) == (12, 7)
    assert all(len(values) == 6 for row in (*PRETRAINING, *OBJECTIVES) for values in row[3:])
    assert all(len(row.values) == len(COLUMNS[t]) for t, rows in OTHER_TABLES.items() for row in rows)
    shares = [sum(filter(None, row.values)) for t in ("8", "9") for row in OTHER_TABLES[t]]
    assert shares == pytest.approx([100] * 4)
    pmr = {row[2]: [values[1] for values in row[3:]] for row in PRETRAINING if row[1] == "CLIP-ViL"}
    gains = [after - before for before, after in zip(pmr["N"], pmr["Y"], strict=True)]
    assert gains == pytest.approx([6.67, 8.0])


def test_pmr_of_models_is_a_whole_number_of_manuals_except_where_a_note_says_so() -> None:
    """Table 4 follows from counts of manuals; of people it does not, as they differ in number."""
    for row in (row for row in OTHER_TABLES["4"] if row.name == "model"):
        total = {"wikihow": 300, "recipeqa": 100}[row.corpus]
        n, single, first, best, every = (row.values[i] or 0 for i in (0, 2, 6, 7, 12))
        n = int(n)
        ones = [a for a in range(total - n + 1) if abs(100 * a / (total - n) - single) < 0.011]
        several = [b for b in range(n + 1) if abs(100 * b / n - first) < 0.011]
        whole = any(abs(100 * (a + b) / total - every) < 0.011 for a, b in product(ones, several))
        whole &= any(abs(best - 100 * k / n) < 0.011 for k in range(n + 1))
        assert whole == (not row.note)
        assert whole == ((row.corpus, row.modality) not in {("wikihow", "text"), ("wikihow", "multimodal")})


def test_deviation_that_no_values_have_is_marked() -> None:
    for row in OTHER_TABLES["5"]:
        _, least, most, mean, deviation, _ = (value or 0.0 for value in row.values)
        # mean and deviation were rounded to one digit
        highest = max(((m - least) * (most - m)) ** 0.5 for m in (mean - 0.05, mean + 0.05))
        assert (deviation - 0.05 > highest) == bool(row.note)
