"""What a result says beside its figures."""

from __future__ import annotations

from proctor.stages.learn.mistakes import feature_notes


def test_zeros_past_the_end_and_rows_left_out_are_said() -> None:
    assert list(feature_notes({"rows_past_the_end": 1200, "rows_cut": 3})) == [
        "1,200 rows of steps lie past the end of their features and are zeros: see 'proctor features check'",
        "3 rows of steps are left out because another modality ends before them",
    ]
    assert list(feature_notes({"rows_past_the_end": 0, "threshold": 0.5})) == []
