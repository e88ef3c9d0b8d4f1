"""Recordings that have everything a recording can have, and how recordings are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.procedure.recording import Mistake, Recording, Segment

DATA = Path(__file__).resolve().parents[2] / "data" / "interchange"


def sample_recordings() -> tuple[Recording, ...]:
    """Two recordings: a skipped step, a step done twice, twins, overlap, formulas, accents, several mistakes."""
    first = Recording(
        id="tea_1",
        activity_id="tea",
        activity_name="Tea for two",
        segments=(
            Segment("5", "Say thanks", mistakes=(Mistake("missing", "left at once"),)),
            Segment("1", "Fill the kettle", 0.5, 12.04),
            Segment(
                "2",
                "Boil the water & wait <2 min>",
                12.04,
                95.5,
                "Boiled it for\none minute",
                (Mistake("timing", "too short: 1 min"), Mistake("order", "")),
            ),
            Segment("3", "Stir", 90.0, 110.25, mistakes=(Mistake("technique", "with a fork, “loudly”"),)),
            Segment("4", "Stir", 110.25, 112.0),
            Segment("3", "Stir", 113.0, 114.5),
        ),
        duration=120.0,
        video="videos/tea 1.mp4",
        attributes={"split": "train", "person": "Zoë", "note": '=HYPERLINK("http://x")'},
    )
    second = Recording("tea_2", "tea", "Tea for two", (Segment("1", "Fill the kettle", 1.0, 3.0),))
    return first, second


@pytest.fixture
def recordings() -> tuple[Recording, ...]:
    """The two sample recordings."""
    return sample_recordings()


@pytest.fixture
def golden() -> Path:
    """Folder of the files that real tools wrote."""
    return DATA


def rounded(recordings: Sequence[Recording], places: int | None) -> list[Recording]:
    """Return recordings with times at a precision, equal times in one order, so that files can be compared."""

    def at(seconds: float | None) -> float | None:
        return seconds if seconds is None or places is None else round(seconds, places)

    def key(s: Segment) -> tuple[float, str]:
        return (-1.0 if s.start is None else s.start, "" if places is None else repr(s))

    return [
        replace(
            r,
            segments=tuple(
                sorted((replace(s, start=at(s.start), end=at(s.end)) for s in r.segments), key=key)
            ),
        )
        for r in recordings
    ]


@pytest.fixture
def compare() -> Callable[[Sequence[Recording], int | None], list[Recording]]:
    """The function ``rounded``."""
    return rounded
