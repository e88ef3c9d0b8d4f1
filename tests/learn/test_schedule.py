"""The rate of each step: golden values of the published training."""

from __future__ import annotations

import pytest

from proctor.learn.schedule import warm_cosine


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (0, 0.0),
        (1, 1.2135922e-7),
        (400, 4.8543689e-5),
        (824, 1e-4),
        (825, 1e-4),
        (2145, 5.0005e-5),
        (3464, 1.00354e-8),
    ],
)
def test_golden(step: int, rate: float) -> None:
    assert warm_cosine(step, 825, 3465, 1e-4, 1e-8) == pytest.approx(rate, rel=1e-6)


def test_without_a_warm_up_and_past_the_end() -> None:
    assert warm_cosine(0, 0, 10, 1.0, 0.0) == 1.0
    assert warm_cosine(99, 1, 10, 1.0, 0.25) == 0.25
    assert warm_cosine(0, 1, 1, 1.0, 0.0) == 0.0
