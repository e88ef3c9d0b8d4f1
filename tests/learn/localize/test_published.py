"""Released results of localization."""

from __future__ import annotations

import pytest

from proctor.learn.localize.published import LOCALIZED, LOCALIZED_MISTAKEN, published_localization


def test_every_backbone_is_there_on_every_split() -> None:
    for rows in (LOCALIZED, LOCALIZED_MISTAKEN):
        assert len({(r.backbone, r.split) for r in rows}) == len(rows) == 24
        for row in rows:
            for values in (row.mean_ap, row.recall_1, row.recall_5):
                assert list(values) == sorted(values, reverse=True)
                assert 0 < values[-1] <= values[0] < 100


def test_a_row_of_table_4_and_of_table_5() -> None:
    row = next(r for r in published_localization("E") if r.backbone == "omnivore_1s")
    assert (row.mean_ap[0], row.recall_1[0], row.recall_5[0]) == (40.40, 67.51, 87.69)
    half = next(r for r in published_localization("E", LOCALIZED_MISTAKEN) if r.backbone == "omnivore_1s")
    assert row.recall_1[0] - half.recall_1[0] == pytest.approx(47.91)  # the printed T_n
    assert published_localization("Re") == ()
