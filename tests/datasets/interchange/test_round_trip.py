"""Recordings to a file and back: equal where the format is lossless, else everything that is lost is listed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.datasets.interchange import Format, find_format, formats
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

PLACES = {"": None, "1 ms": 3}

text = st.text(alphabet=st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "=1+1",
        "@a",
        "-2",
        "+3",
        "'",
        "''x",
        'a,b;c\t"d"',
        "\r\n",
        " x ",
        "<b>&amp;</b>",
        "-->",
        "001",
        "ｅ̈",
        "🫖",
        "{}",
        "a: b",
        "\\:",
    ]
)
xml_text = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"),
    max_size=12,
) | st.sampled_from(["=1+1", "a\tb\r\nc", "<b>&amp;</b>", "]]>", "\r", "order: x", "a\\:b", "🫖"])
seconds = st.floats(0, 100_000, allow_nan=False).map(lambda t: t + 0.0)


@st.composite
def segments(draw: st.DrawFn, words: st.SearchStrategy[str]) -> Segment:
    times: tuple[float, float] | tuple[None, None] = (None, None)
    if draw(st.integers(0, 4)):
        start = draw(seconds)
        times = (start, start + draw(st.floats(0.01, 500)))
    mistakes = draw(st.lists(st.builds(Mistake, words, words), max_size=3))
    performed = draw(st.none() | words)
    return Segment(draw(words), draw(words), *times, performed, tuple(mistakes))


@st.composite
def recordings(draw: st.DrawFn, words: st.SearchStrategy[str] = text) -> tuple[Recording, ...]:
    ids = draw(st.lists(words.filter(bool), min_size=1, max_size=3, unique_by=lambda s: s.casefold()))
    return tuple(
        Recording(
            id=id_,
            activity_id=draw(words),
            activity_name=draw(words),
            segments=tuple(
                sorted(
                    draw(st.lists(segments(words), max_size=4)),
                    key=lambda s: -1.0 if s.start is None else s.start,
                )
            ),
            duration=draw(st.none() | seconds),
            video=draw(st.none() | words),
            attributes=draw(st.dictionaries(words, words, max_size=3)),
        )
        for id_ in ids
    )


def there_and_back(format_: Format, given_: Sequence[Recording], **options: Any) -> tuple[Any, Any]:
    """Return what writing told and what reading gave."""
    assert format_.write is not None
    assert format_.read is not None
    with tempfile.TemporaryDirectory() as folder:
        one_file = format_.suffixes and format_.name not in ("elan", "webvtt", "srt")
        path = Path(folder) / ("x" + format_.suffixes[0] if one_file else "x")
        told = format_.write(given_, path, **options)
        return told, format_.read(path)


LOSSLESS = [f.name for f in formats() if f.kind == "recordings" and f.lossless]
LOSSY = [f.name for f in formats() if f.kind == "recordings" and not f.lossless]


def by_id(found: Sequence[Recording]) -> list[Recording]:
    return sorted(found, key=lambda r: r.id)


@pytest.mark.parametrize("name", LOSSLESS)
def test_sample_comes_back(
    name: str,
    recordings: tuple[Recording, ...],
    compare: Callable[[Sequence[Recording], int | None], list[Recording]],
) -> None:
    told, back = there_and_back(find_format(name), recordings)
    assert told == ()
    assert back.dropped == ()
    assert back.warnings == ()
    assert list(back.objects) == list(recordings)


@pytest.mark.parametrize("name", LOSSLESS)
@settings(max_examples=25)
@given(data=st.data())
def test_every_recording_comes_back(name: str, data: st.DataObject) -> None:
    format_ = find_format(name)
    # XML holds no control characters, and file names of some systems no two that differ in case only
    given_ = data.draw(recordings(xml_text if name == "elan" else text))
    told, back = there_and_back(format_, given_)
    assert told == ()
    assert back.dropped == ()
    places = PLACES[format_.precision]
    assert _rounded(by_id(back.objects), places) == _rounded(by_id(given_), places)


def _rounded(found: Sequence[Recording], places: int | None) -> list[Any]:
    """Times at the format's precision; what starts together at that precision has no order."""
    if places is None:
        return list(found)
    return [
        (
            r.id,
            r.activity_id,
            r.activity_name,
            r.duration,
            r.video,
            dict(r.attributes),
            sorted(
                (
                    (None if s.start is None else round(s.start, places)) or 0.0,
                    None if s.end is None else round(s.end, places),
                    s.step_id,
                    s.text,
                    s.performed,
                    s.mistakes,
                ).__repr__()
                for s in r.segments
            ),
        )
        for r in found
    ]


@pytest.mark.parametrize("name", LOSSY)
@settings(max_examples=25)
@given(data=st.data())
def test_a_lossy_format_lists_what_it_loses(name: str, data: st.DataObject) -> None:
    given_ = data.draw(recordings(xml_text))
    empty = any(all(s.start is None for s in r.segments) for r in given_)
    if name == "srt" and empty:  # a file without a subtitle is no SubRip
        with pytest.raises(UserError, match="empty"):
            there_and_back(find_format(name), given_)
        return
    told, back = there_and_back(find_format(name), given_)
    assert back.dropped == ()
    same = _rounded(by_id(back.objects), 3) == _rounded(by_id(given_), 3)
    assert same or told


@pytest.mark.parametrize("name", [*LOSSLESS, *LOSSY])
def test_equal_recordings_give_equal_bytes(
    name: str, recordings: tuple[Recording, ...], tmp_path: Path
) -> None:
    format_ = find_format(name)
    assert format_.write is not None
    one_file = format_.suffixes and format_.name not in ("elan", "webvtt", "srt")
    suffix = format_.suffixes[0] if one_file else ""
    paths = [tmp_path / f"{n}" / f"x{suffix}" for n in "ab"]
    for path in paths:
        path.parent.mkdir()
        format_.write(recordings, path)
    written = [
        {p.relative_to(path.parent): p.read_bytes() for p in path.parent.rglob("*") if p.is_file()}
        for path in paths
    ]
    assert written[0] == written[1]


@settings(max_examples=20)
@given(given_=recordings(), fps=st.sampled_from([24.0, 25.0, 30_000 / 1_001, 60.0]))
def test_frames_lose_less_than_a_frame(given_: tuple[Recording, ...], fps: float) -> None:
    told, back = there_and_back(find_format("label-studio"), given_, convention="frames", fps=fps)
    assert told == ()
    assert back.dropped == ()
    assert len(back.objects) == len(given_)
    for before, after in zip(given_, back.objects, strict=True):
        assert len(before.segments) == len(after.segments)
        times = [sorted(s.start for s in r.segments if s.start is not None) for r in (before, after)]
        for a, b in zip(*times, strict=True):
            assert abs(a - b) <= 0.5 / fps + 1e-9


@settings(max_examples=20)
@given(frames=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**4)), min_size=1, max_size=5))
def test_whole_frames_come_back_exactly(frames: list[tuple[int, int]]) -> None:
    fps = 30_000 / 1_001
    steps = tuple(
        Segment("1", "Stir", (first - 1) / fps, (first + more) / fps) for first, more in sorted(frames)
    )
    given_ = (Recording("r", "a", "A", steps),)
    _, back = there_and_back(find_format("label-studio"), given_, convention="frames", fps=fps)
    assert back.objects == given_
