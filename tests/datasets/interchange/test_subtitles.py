"""WebVTT and SubRip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.subtitles import read_subrip, read_webvtt, write_subrip, write_webvtt
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment


def vtt(tmp_path: Path, body: str) -> Any:
    path = tmp_path / "film.vtt"
    path.write_text(body, encoding="utf-8", newline="")
    return read_webvtt(path)


def srt(tmp_path: Path, body: str) -> Any:
    path = tmp_path / "film.srt"
    path.write_text(body, encoding="utf-8", newline="")
    return read_subrip(path)


def steps(found: Any) -> list[tuple[str, float, float]]:
    return [(s.text, s.start, s.end) for s in found.objects[0].segments]


def test_what_a_webvtt_file_may_have(tmp_path: Path) -> None:
    body = """WEBVTT - Title
Kind: chapters

STYLE
::cue { color: lime }

REGION
id:fred

NOTE
a comment
over lines

intro
00:01.000 --> 00:02.500 align:start position:10%
<v Ana>Fill &amp; <b>boil</b></v>

100:00:00.000 --> 100:00:01.000
Late
"""
    found = vtt(tmp_path, body)
    assert steps(found) == [("Fill & boil", 1.0, 2.5), ("Late", 360_000.0, 360_001.0)]
    assert found.objects[0].id == "film"
    assert found.dropped == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_line_ending(tmp_path: Path, ending: str) -> None:
    body = "WEBVTT\n\n00:01.000 --> 00:02.000\nFill\nwell\n".replace("\n", ending)
    assert steps(vtt(tmp_path, body)) == [("Fill\nwell", 1.0, 2.0)]


@pytest.mark.parametrize(
    ("cue", "reason"),
    [
        ("00:02.000 --> 00:01.000\nx", "no_length"),
        ("00:01.000 --> 00:01.000\nx", "no_length"),
        ("00:01.000 -->\nx", "no_time"),
        ("--> 00:01.000\nx", "no_time"),
        ("00:01,000 --> 00:02,000\nx", "no_time"),
        ("00:61.000 --> 00:62.000\nx", "no_time"),
        ("-00:01.000 --> 00:02.000\nx", "no_time"),
        ("NaN --> 00:02.000\nx", "no_time"),
        ("999999:00:00.000 --> 999999:00:01.000\nx", "too_large"),
        ("00:01.000 --> 00:02.000", "no_label"),
        ("00:01.000 --> 00:02.000\n<i></i>", "no_label"),
        ("only text", "no_time"),
        ("id\nonly text\n00:01.000 --> 00:02.000", "no_time"),
    ],
)
def test_a_cue_that_is_no_step_is_listed_with_its_line(tmp_path: Path, cue: str, reason: str) -> None:
    found = vtt(tmp_path, f"WEBVTT\n\n{cue}\n\n00:05.000 --> 00:06.000\ngood\n")
    assert [(d.id, d.reason) for d in found.dropped] == [("film/line 3", reason)]
    assert steps(found) == [("good", 5.0, 6.0)]


@pytest.mark.parametrize("body", ["WEBVT\n\n", "1\n00:00:01,000 --> 00:00:02,000\nx\n", "WEBVTTX\n", "{}"])
def test_what_is_no_webvtt(tmp_path: Path, body: str) -> None:
    with pytest.raises(UserError, match="first line is not 'WEBVTT'"):
        vtt(tmp_path, body)


def test_a_note_that_is_broken_is_listed(tmp_path: Path) -> None:
    found = vtt(tmp_path, 'WEBVTT\n\nNOTE proctor {"id": 3}\n\n1/7\n00:01.000 --> 00:02.000\nFill\n')
    assert [d.reason for d in found.dropped] == ["bad_field"]
    assert found.objects[0].segments == (Segment("Fill", "Fill", 1.0, 2.0),)


def test_identifiers_keep_step_ids(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    told = write_webvtt(recordings, tmp_path / "out")
    assert sorted({d.reason for d in told}) == ["mistake_lost", "performed_lost", "skipped"]
    assert len(told) == 1 + 1 + 3  # the skipped step's mistake goes with it
    first, second = read_webvtt(tmp_path / "out").objects
    assert [s.step_id for s in first.segments] == ["1", "2", "3", "4", "3"]
    assert first.attributes == recordings[0].attributes
    assert second == recordings[1]


@pytest.mark.parametrize(
    "evil",
    [
        "a --> b",
        "a\n\n00:00:09.000 --> 00:00:10.000\nb",
        "NOTE x",
        "WEBVTT",
        "</c><b>",
        "&lt;",
        "1",
        "x\u2028y",
    ],
)
def test_no_text_can_end_a_cue_or_begin_one(tmp_path: Path, evil: str) -> None:
    given = (
        Recording(
            evil,
            evil,
            evil,
            (Segment(evil, evil, 0.0, 1.0), Segment("2", "Stir", 1.0, 2.0)),
            attributes={evil: evil},
        ),
    )
    told = write_webvtt(given, tmp_path / "out")
    back = read_webvtt(tmp_path / "out")
    assert [(s.start, s.end) for s in back.objects[0].segments] == [(0.0, 1.0), (1.0, 2.0)]
    assert back.objects == given or told
    assert back.objects[0].attributes == {evil: evil}
    write_subrip(given, tmp_path / "srt")
    again = read_subrip(tmp_path / "srt")
    assert [(s.start, s.end) for s in again.objects[0].segments] == [(0.0, 1.0), (1.0, 2.0)]


def test_what_a_subrip_file_may_have(tmp_path: Path) -> None:
    body = """1
00:00:01,000 --> 00:00:02,500 X1:10 X2:20
{\\an8}<font color="#fff">Fill</font> & <b>boil</b>
well

00:00:03.5 --> 00:00:04,25
no number

3
01:00:00,000 --> 01:00:01,000
a < b > c
"""
    found = srt(tmp_path, body)
    assert steps(found) == [
        ("Fill & boil\nwell", 1.0, 2.5),
        ("no number", 3.5, 4.25),
        ("a < b > c", 3_600.0, 3_601.0),
    ]


@pytest.mark.parametrize(
    ("cue", "reason"),
    [
        ("1\n00:00:02,000 --> 00:00:01,000\nx", "no_length"),
        ("1\nnothing", "no_time"),
        ("1\n0:0:1 --> 2\nx", "no_time"),
    ],
)
def test_a_subtitle_that_is_no_step_is_listed(tmp_path: Path, cue: str, reason: str) -> None:
    found = srt(tmp_path, f"{cue}\n\n2\n00:00:05,000 --> 00:00:06,000\ngood\n")
    assert [(d.id, d.reason) for d in found.dropped] == [("film/line 1", reason)]
    assert steps(found) == [("good", 5.0, 6.0)]


def test_what_is_no_subrip(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no subtitle in it"):
        srt(tmp_path, "just\n\nwords\n")


def test_subrip_lists_what_it_loses(tmp_path: Path) -> None:
    given = (
        Recording(
            "r",
            "tea",
            "Tea",
            (Segment("7", "Stir", 0.0, 1.0, "Shook", (Mistake("technique", "x"),)), Segment("8", "Skip")),
        ),
    )
    told = write_subrip(given, tmp_path / "r.srt")
    assert sorted(d.reason for d in told) == [
        "mistake_lost",
        "performed_lost",
        "recording_fields",
        "skipped",
        "step_id_lost",
    ]
    (back,) = read_subrip(tmp_path / "r.srt").objects
    assert back.segments == (Segment("Stir", "Stir", 0.0, 1.0),)


def test_times_are_rounded_to_milliseconds(tmp_path: Path) -> None:
    given = (
        Recording(
            "r", "a", "a", (Segment("1", "Stir", 1.00049, 59.9996), Segment("2", "x", 3_599.9999, 3_601.0))
        ),
    )
    write_webvtt(given, tmp_path / "r.vtt")
    text = (tmp_path / "r.vtt").read_text(encoding="utf-8")
    assert "00:00:01.000 --> 00:01:00.000" in text
    assert "01:00:00.000 --> 01:00:01.000" in text
