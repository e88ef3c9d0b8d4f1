"""WebVTT and SubRip: steps as chapters or subtitles under a video. One file for each recording.

A WebVTT cue has the identifier ``<number>/<step id>`` (identifiers must be unique, steps may be done twice), the
times and the instruction; a ``NOTE proctor`` before the cues keeps id, activity, video, length and attributes of
the recording, fine-grained actions included, as JSON. SubRip has neither identifiers nor notes: there the text is the step's id when it is read.
Chapters are one line each: line breaks and runs of spaces in an instruction become one space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.interchange.checks import UNKNOWN_ACTIVITY, About, Collector, milliseconds
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.per_recording import files_of, name_of, write_each
from proctor.datasets.interchange.reading import load_text
from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment
from proctor.records import Dropped

__all__ = ["FORMATS", "read_subrip", "read_webvtt", "write_subrip", "write_webvtt"]

_NOTE: Final = "NOTE proctor "
_ARROW: Final = "-->"
_VTT_TIME: Final = re.compile(r"(?:(\d{2,6}):)?([0-5]\d):([0-5]\d)\.(\d{3})", re.ASCII)
_SRT_TIME: Final = re.compile(r"(\d{1,6}):([0-5]\d):([0-5]\d)[,.](\d{1,3})", re.ASCII)
_VTT_TAG: Final = re.compile(r"<[^<>]{0,200}>")
_SRT_TAG: Final = re.compile(r"</?(?:b|i|u|s|font)(?: [^<>]{0,200})?>|\{\\an?\d{1,2}\}", re.IGNORECASE)
_OWN_ID: Final = re.compile(r"(\d+)/(.*)", re.DOTALL)
_LAST: Final = 359_999.999
"""Last moment of a file whose hours have two digits, 99:59:59.999; SubRip has no more."""


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cue:
    line: int
    id: str
    times: str
    text: str


def read_webvtt(path: Path, *, activity: str = UNKNOWN_ACTIVITY) -> Imported[Recording]:
    """Read one ``.vtt`` file, or all of a folder; each cue is a step.

    Notes, styles and regions are passed over, tags in the text are taken away, entities are resolved.

    Args:
        path: file or folder; the name of a file is the id of its recording unless it has our note.
        activity: id of the activity where a file names none.

    Raises:
        UserError: if a file does not begin with ``WEBVTT``.
    """
    collector = Collector()
    for file in files_of(path, ".vtt"):
        blocks = list(_blocks(load_text(file).replace("\0", "\ufffd")))
        if not blocks or re.match(r"WEBVTT(?:[ \t]|\Z)", blocks[0][1][0]) is None:
            hint = "a WebVTT file was expected"
            raise UserError("the first line is not 'WEBVTT'.", where=str(file), hint=hint)
        cues = _vtt_cues(collector, name_of(file), blocks)
        _add_file(collector, file, _note_of(collector, blocks, name_of(file)), cues, activity, _VTT_TIME)
    return collector.result()


def read_subrip(path: Path, *, activity: str = UNKNOWN_ACTIVITY) -> Imported[Recording]:
    """Read one ``.srt`` file, or all of a folder; each subtitle is a step, its text the step's id.

    Args:
        path: file or folder; the name of a file is the id of its recording.
        activity: id of the activity.

    Raises:
        UserError: if a file has no subtitle at all.
    """
    collector = Collector()
    for file in files_of(path, ".srt"):
        blocks = list(_blocks(load_text(file)))
        cues = list(_srt_cues(collector, name_of(file), blocks))
        if not cues:
            hint = "a SubRip file was expected (00:00:01,000 --> …)"
            raise UserError("there is no subtitle in it.", where=str(file), hint=hint)
        _add_file(collector, file, None, cues, activity, _SRT_TIME)
    return collector.result()


_Block = tuple[int, list[str]]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the groups of lines between blank ones, each with the number of its first line."""
    lines: list[str] = []
    first = 1
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if line.strip():
            first = first if lines else number
            lines.append(line)
        elif lines:
            yield first, lines
            lines = []
    if lines:
        yield first, lines


def _vtt_cues(collector: Collector, name: str, blocks: list[_Block]) -> Iterator[_Cue]:
    for line, rows in blocks[1:]:
        if re.match(r"(?:NOTE|STYLE|REGION)(?:[ \t:]|\Z)", rows[0]) and _ARROW not in rows[0]:
            continue
        at = 0 if _ARROW in rows[0] else 1
        if len(rows) <= at or _ARROW not in rows[at]:
            collector.drop(f"{name}/line {line}", "no_time", rows[0])
            continue
        text = html.unescape(_VTT_TAG.sub("", "\n".join(rows[at + 1 :])))
        yield _Cue(line, rows[0] if at else "", rows[at], text)


def _srt_cues(collector: Collector, name: str, blocks: list[_Block]) -> Iterator[_Cue]:
    for line, rows in blocks:
        at = next((i for i, row in enumerate(rows[:2]) if _ARROW in row), None)
        if at is None:
            collector.drop(f"{name}/line {line}", "no_time", rows[0])
            continue
        yield _Cue(line, "", rows[at], _SRT_TAG.sub("", "\n".join(rows[at + 1 :])))


def _note_of(collector: Collector, blocks: list[_Block], name: str) -> About | None:
    for _, rows in blocks[1:]:
        if not rows[0].startswith(_NOTE):
            continue
        about = collector.stored(rows[0].removeprefix(_NOTE), About, name, "NOTE proctor")
        return about if about is not None and about.id else None
    return None


def _add_file(
    collector: Collector,
    file: Path,
    about: About | None,
    cues: Iterable[_Cue],
    activity: str,
    time: re.Pattern[str],
) -> None:
    name = name_of(file)
    segments = []
    for number, cue in enumerate(cues, start=1):
        segment = _segment(collector, f"{name}/line {cue.line}", cue, number if about else 0, time)
        if segment is not None:
            segments.append(segment)
    if about is None:
        collector.warn(f"the file names no activity for some recordings: '{activity[:80]}' is taken.")
        about = About(id=name, activity_id=activity, activity_name=activity)
    collector.add_about(about, segments)


def _segment(
    collector: Collector, where: str, cue: _Cue, number: int, time: re.Pattern[str]
) -> Segment | None:
    """Return the step of a cue; ``number`` is its place in a file of ours, 0 in others."""
    left, _, right = cue.times.partition(_ARROW)
    start = _seconds(left.strip(), time)
    end = _seconds((right.split() or [""])[0], time)
    if start is None or end is None:
        collector.drop(where, "no_time", cue.times.strip())
        return None
    times = collector.times(where, start, end)
    text = cue.text.strip()
    own = _OWN_ID.fullmatch(cue.id) if number else None
    if times is None:
        return None
    if not text and own is None:
        collector.drop(where, "no_label", "the text is empty")
        return None
    return Segment(own[2] if own else text, text, *times)


def _seconds(text: str, pattern: re.Pattern[str]) -> float | None:
    match = pattern.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return (whole * 1000 + int(fraction.ljust(3, "0"))) / 1000


# -- writing ---------------------------------------------------------------------------------------------------


def write_webvtt(recordings: Iterable[Recording], path: Path) -> tuple[Dropped, ...]:
    """Write one ``.vtt`` file, or a new folder with one for each recording.

    Args:
        recordings: with unique ids.
        path: ends with ``.vtt`` for exactly one recording, else a folder.

    Returns:
        Skipped steps, mistakes, performed texts, and texts and ids that are not one plain line.

    Raises:
        UserError: if ids are not unique, or the file or folder cannot be written.
    """
    return write_each(recordings, path, ".vtt", _render_webvtt, actions=True)


def write_subrip(recordings: Iterable[Recording], path: Path) -> tuple[Dropped, ...]:
    """Write one ``.srt`` file, or a new folder with one for each recording; see ``write_webvtt``.

    Returns:
        Also what else SubRip has no place for: step ids other than the text, and what is known of the recording.
    """
    return write_each(recordings, path, ".srt", _render_subrip)


def _render_webvtt(recording: Recording, dropped: list[Dropped]) -> str:
    note = (
        msgspec.json.encode(About.of(recording)).decode().replace(">", "\\u003e").replace("\x85", "\\u0085")
    )
    parts = [f"WEBVTT\n\n{_NOTE}{note}\n"]
    for number, s, text in _shown(recording, dropped):
        step = _one_line(s.step_id).replace(_ARROW, "->")
        if step != s.step_id:
            dropped.append(Dropped(f"{recording.id}/{step}"[:120], "step_id_changed", s.step_id[:120]))
        escaped = html.escape(text, quote=False)
        parts.append(f"{number}/{step}\n{_clock(s.start, '.')} {_ARROW} {_clock(s.end, '.')}\n{escaped}\n")
    return "\n".join(parts)


def _render_subrip(recording: Recording, dropped: list[Dropped]) -> str:
    known = About.of(recording)
    plain = About(id=known.id, activity_id=UNKNOWN_ACTIVITY, activity_name=UNKNOWN_ACTIVITY)
    if known != plain:
        dropped.append(Dropped(recording.id[:120], "recording_fields", "activity, video, length, attributes"))
    parts = []
    for number, s, text in _shown(recording, dropped):
        bare = _without_tags(text)
        where = f"{recording.id}/{s.step_id}"[:120]
        if bare != text:
            dropped.append(Dropped(where, "text_changed", text[:120]))
        if s.step_id != bare:
            dropped.append(Dropped(where, "step_id_lost", bare[:120]))
        parts.append(f"{number}\n{_clock(s.start, ',')} {_ARROW} {_clock(s.end, ',')}\n{bare}\n")
    return "\n".join(parts)


def _without_tags(line: str) -> str:
    """Return a line that no player takes for markup or times; SubRip has no way to escape."""
    bare = _SRT_TAG.sub("", line)
    if _SRT_TAG.search(bare):
        bare = bare.replace("<", "(").replace("{", "(")
    return _one_line(bare.replace(_ARROW, "->")) or "step"


def _shown(recording: Recording, dropped: list[Dropped]) -> Iterator[tuple[int, Segment, str]]:
    """Yield the segments that a player can show, numbered, each with its one line of text."""
    number = 0
    for s in recording.segments:
        where = f"{recording.id}/{s.step_id}"[:120]
        if s.start is None or s.end is None:
            dropped.append(Dropped(where, "skipped", s.text[:120]))
            continue
        if milliseconds(s.end) <= milliseconds(s.start) or s.end > _LAST:
            dropped.append(
                Dropped(where, "no_length" if s.end <= _LAST else "too_large", f"{s.start} to {s.end} s")
            )
            continue
        if s.performed is not None:
            dropped.append(Dropped(where, "performed_lost", s.performed[:120]))
        dropped.extend(Dropped(where, "mistake_lost", f"{m.kind}: {m.text}"[:120]) for m in s.mistakes)
        number += 1
        text = _one_line(s.text) or _one_line(s.step_id) or "step"
        if text != s.text:
            dropped.append(Dropped(where, "text_changed", s.text[:120]))
        yield number, s, text


def _one_line(text: str) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", " ", text).split())


def _clock(seconds: float | None, point: str) -> str:
    total = milliseconds(seconds or 0.0)
    minutes, rest = divmod(total, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"


_LOSS: Final = ("skipped steps", "mistakes", "performed texts", "line breaks and runs of spaces in texts")

FORMATS = (
    Format(
        name="webvtt",
        title="WebVTT (chapters of steps)",
        suffixes=(".vtt",),
        kind="recordings",
        lossless=False,
        loss=_LOSS,
        read=read_webvtt,
        write=write_webvtt,
        precision="1 ms",
        options=("activity",),
    ),
    Format(
        name="srt",
        title="SubRip subtitles (SRT)",
        suffixes=(".srt",),
        kind="recordings",
        lossless=False,
        loss=(
            *_LOSS,
            "fine-grained actions",
            "step ids (the text stands for them)",
            "activity, video, length and attributes",
        ),
        read=read_subrip,
        write=write_subrip,
        precision="1 ms",
        options=("activity",),
    ),
)
