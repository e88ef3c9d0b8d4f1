"""Times as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.plain.build import parse_time
from proctor.datasets.plain.format import MAX_SECONDS


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0.0),
        (12, 12.0),
        (12.25, 12.25),
        (-0.0, 0.0),
        (MAX_SECONDS, MAX_SECONDS),
        ("00:00", 0.0),
        ("0:05", 5.0),
        ("01:05", 65.0),
        ("75:30", 4530.0),
        ("00:01:05.250", 65.25),
        ("1:02:03", 3723.0),
        ("100:00:00", 360_000.0),
        (" 01:05 ", 65.0),
    ],
)
def test_valid_times(written: float | str, seconds: float):
    parsed = parse_time(written)
    assert parsed == seconds
    assert math.copysign(1, parsed) == 1


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (-1, "-1 is before the start"),
        (-0.5, "-0.5 is before"),
        (MAX_SECONDS + 1, "1000001 is more than 1,000,000 seconds"),
        (1e308, "1e+308 is more than"),
        (math.nan, "nan is not a finite number"),
        (math.inf, "inf is not a finite number"),
        (-math.inf, "-inf is not a finite number"),
        ("00:61", "has 61 seconds"),
        ("00:60", "has 60 seconds"),
        ("00:59.9999999999", "is not a time"),
        ("01:60:00", "has 60 minutes"),
        ("00:01,5", "decimals take a point"),
        ("9999:00:00", "is more than"),
        ("12.5", "is not a time"),
        ("12", "is not a time"),
        ("1:2", "is not a time"),
        ("-01:00", "is not a time"),
        ("1:00:00:00", "is not a time"),
        ("00:1e", "is not a time"),
        ("٠٠:٠٥", "is not a time"),
        ("5 s", "is not a time"),
        ("NaN", "is not a time"),
        ("", "'' is not a time"),
        ("0" * 100_000 + ":00", "is not a time"),
    ],
)
def test_what_is_no_time(written: float | str, seen: str):
    with pytest.raises(ValueError) as caught:
        parse_time(written)
    assert seen in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_clock_times_are_their_seconds(h: int, m: int, s: int, ms: int):
    assert parse_time(f"{h:02d}:{m:02d}:{s:02d}.{ms:03d}") == pytest.approx(h * 3600 + m * 60 + s + ms / 1000)


@given(st.text(max_size=12) | st.floats() | st.from_regex(r"[0-9:.,]{1,9}", fullmatch=True))
def test_anything_is_a_time_in_range_or_refused(written: float | str):
    try:
        seconds = parse_time(written)
    except ValueError:
        return
    assert 0 <= seconds <= MAX_SECONDS
