"""Clips of long videos: recordings to a file of clips, and clips to video files.

``derive_clips`` writes one clip a line (``procedure.clip.Clip``) and beside it ``<name>.dropped.jsonl`` with everything
that is in no clip and why. It reads recordings as they come and keeps none. ``cut_clips`` then cuts the videos.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast, get_args

import msgspec

from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.example import Example
from proctor.procedure.clip import Category, Clip, Edge, LeftOut, prefix_clip, step_moments
from proctor.procedure.clip_statistics import ClipTally, Spread, find_oddities
from proctor.procedure.recording import Recording
from proctor.procedure.trim_rules import DEFAULT, Rejected, TrimRules, trim_recording
from proctor.records import Dropped, atomic_write, content_hash, iter_jsonl, write_jsonl
from proctor.stages.naming import file_name
from proctor.stages.videos import Videos

__all__ = [
    "PREFIX_VARIANTS",
    "ClipFile",
    "PrefixRules",
    "cut_clips",
    "derive_clips",
    "dropped_file",
    "example_moments",
    "iter_clips",
    "prefix_rules",
]

HEIGHTS: Final = (2, 8_640)
"""Least and most pixels of a clip's height."""

SHORTER: Final = 0.5
"""Seconds that a file may be shorter than its clip before it is counted: more than the length of a picture."""

_SHOWN: Final = 80
"""Characters of a step's text in a drop list."""

Running = Literal["cut", "drop", "refuse"]
"""What becomes of a step that runs when a prefix clip ends: cut there, left out, or there is no clip."""


@dataclass(frozen=True, slots=True)
class PrefixRules:
    """Which prefixes of a recording are clips.

    Attributes:
        running: see ``Running``.
        margin: seconds of a running step that have to be shown before it counts, or nine tenths of a shorter one.
        earliest: a moment before this second gives no clip: there is nothing to see yet.

    Raises:
        UserError: for a setting that cannot be.
    """

    running: Running = "cut"
    margin: float = 0.0
    earliest: float = 0.0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be: they come from a command line."""
        if self.running not in get_args(Running):
            raise UserError(
                f"running is {self.running!r}.",
                where="prefix clips",
                hint=f"known: {', '.join(get_args(Running))}",
            )
        for name in ("margin", "earliest"):
            value: object = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= cast("float", value) < float("inf"):
                raise UserError(
                    f"{name} is {repr(value)[:40]}.", where="prefix clips", hint="give seconds, 0 or more"
                )

    @property
    def signature(self) -> str:
        """Every setting that changes the clips."""
        return f"prefix|running:{self.running}|margin:{self.margin:g}|earliest:{self.earliest:g}"


PREFIX_VARIANTS: Final = {
    "default": PrefixRules(),
    "promqa": PrefixRules(running="refuse", margin=2.0, earliest=5.0),
}
"""Rules by name: everything that is seen until a moment, and ProMQA's clips: none ends before the
fifth second, none while a later step has run for more than two seconds."""


def prefix_rules(variant: str = "default") -> PrefixRules:
    """Return the rules of a variant by name.

    Raises:
        UserError: if there is none of that name.
    """
    try:
        return PREFIX_VARIANTS[variant]
    except KeyError:
        raise UserError(
            f"there is no variant '{variant[:80]}' of prefix clips.",
            hint=f"known: {', '.join(PREFIX_VARIANTS)}",
        ) from None


def dropped_file(out: Path) -> Path:
    """Return where what gave no clip is listed: beside the clips."""
    return out.with_name(f"{out.stem}.dropped.jsonl")


def example_moments(examples: Iterable[Example]) -> dict[str, list[float]]:
    """Return the moments that are asked about, by recording, ascending and different."""
    found: dict[str, set[float]] = {}
    for example in examples:
        found.setdefault(example.recording_id, set()).add(example.end)
    return {recording: sorted(moments) for recording, moments in found.items()}


# -- deriving ------------------------------------------------------------------------------------------------------


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of clips that were derived.

    Attributes:
        rules: signature.
        recordings: that were read.
        clips: that were written.
        videos: that have a clip.
        seconds: spread of the lengths; None without clips.
        steps: spread of the steps; None without clips.
        categories: spread of the kinds of steps; None without clips.
        total_seconds: of all clips.
        lengths: clips by bins.
        segments: that were read.
        segments_in_clips: of them.
        cut: segments of which clips show a part.
        left_out: of single clips, by reason.
        rejected: stretches, by reason.
        dropped: lines of the drop list, by reason.
        oddities: by name.
        out: the file of clips.
        dropped_file: the drop list.
        videos_cut: what became of the videos, where they were cut.
    """

    rules: str
    recordings: int
    clips: int
    videos: int
    seconds: Spread | None
    steps: Spread | None
    categories: Spread | None
    total_seconds: float
    lengths: tuple[tuple[float, int], ...]
    segments: int
    segments_in_clips: int
    cut: int
    left_out: dict[str, int]
    rejected: dict[str, int]
    dropped: dict[str, int]
    oddities: dict[str, int]
    out: str
    dropped_file: str
    videos_cut: Cut | msgspec.UnsetType = msgspec.UNSET


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """Video files of clips.

    Attributes:
        clips: files that are there now.
        cut: by this call.
        shorter: files that play for less than their clip says, because the video ends before.
        dropped: by reason.
        folder: where they are.
    """

    clips: int
    cut: int
    shorter: int
    dropped: dict[str, int]
    folder: str


def derive_clips(
    recordings: Iterable[Recording],
    out: Path,
    rules: TrimRules | PrefixRules = DEFAULT,
    *,
    moments: Mapping[str, Iterable[float]] | None = None,
    category: Category | None = None,
    seen: Callable[[], None] | None = None,
) -> Derived:
    """Write the clips of recordings and return the numbers of the closing line.

    Each of the two files appears whole or not at all. Dropped are, with their reasons (``procedure.clip.REASONS`` and these):
    ``repeated`` (a recording of this id came before), ``bad_duration``, ``early``, ``bad_moment``, ``running``,
    ``no_moment`` (a recording without any) and ``no_recording`` (moments of one that did not come).

    Args:
        recordings: their segments are of one level; read once.
        out: the file of clips.
        rules: how to trim, or which prefixes to make.
        moments: for prefixes, where they end, by recording; without, at the end of every step.
        category: says of which kind a segment is; its ``step_id`` by default.
        seen: called after each recording (for progress bars).

    Raises:
        UserError: if a file cannot be written, or the recordings cannot be read.
    """
    if moments is not None and isinstance(rules, TrimRules):
        raise UserError("moments are for prefix clips.", hint="leave them out, or give the rules of prefixes")
    work = _Derivation(rules, moments, category)
    drops = dropped_file(out)
    with atomic_write(drops) as stream:
        work.drops = cast("BinaryIO", stream)
        write_jsonl(out, work.clips(recordings, seen))
    return work.summary(out, drops)


class _Derivation:
    """One run: makes clips, writes what is dropped as it comes, and counts."""

    def __init__(
        self,
        rules: TrimRules | PrefixRules,
        moments: Mapping[str, Iterable[float]] | None,
        category: Category | None,
    ) -> None:
        self._rules, self._moments, self._category = rules, moments, category
        self.drops: BinaryIO | None = None
        self._ids: set[str] = set()
        self._tally = ClipTally()
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._odd: Counter[str] = Counter()

    def clips(self, recordings: Iterable[Recording], seen: Callable[[], None] | None) -> Iterator[Clip]:
        for recording in recordings:
            self._counts["recordings"] += 1
            self._counts["segments"] += len(recording.segments)
            if recording.id in self._ids:
                self._drop(recording.id, "repeated", "a recording of this id came before")
            else:
                self._ids.add(recording.id)
                yield from self._of(recording)
            if seen is not None:
                seen()
        for missing in sorted(set(self._moments or ()) - self._ids):
            self._drop(missing, "no_recording", "moments were given, and no such recording")

    def _of(self, recording: Recording) -> Iterator[Clip]:
        try:
            self._odd.update(asdict(find_oddities(recording)))
        except UserError as error:
            self._drop(recording.id, "bad_duration", error.message)
            return
        made = self._trimmed if isinstance(self._rules, TrimRules) else self._prefixes
        used: set[int] = set()
        for clip in made(recording):
            used.update(clip.positions)
            self._tally.add(clip)
            self._counts["cut"] += sum(bool(s.cut) for s in clip.segments)
            self._left_out.update({left.reason: len(left.positions) for left in clip.left_out})
            yield clip
        self._counts["segments_in_clips"] += len(used)

    def _trimmed(self, recording: Recording) -> Iterator[Clip]:
        assert isinstance(self._rules, TrimRules)
        found = trim_recording(recording, self._rules, self._category)
        stretches = {position: r for r in reversed(found.rejected) for position in r.positions}
        self._rejected.update(r.reason for r in found.rejected)
        self._drop_segments(recording, found.left_out, stretches)
        yield from found.clips

    def _prefixes(self, recording: Recording) -> Iterator[Clip]:
        assert isinstance(self._rules, PrefixRules)
        given = step_moments(recording) if self._moments is None else self._moments.get(recording.id, ())
        longest: Clip | None = None
        used: set[int] = set()
        for moment in dict.fromkeys(given):
            clip = self._prefix(recording, moment, self._rules)
            if clip is not None:
                used.update(clip.positions)
                longest = clip if longest is None or clip.end > longest.end else longest
                yield clip
        if longest is None:
            self._drop(recording.id, "no_moment", "no clip ends in it")
            return
        unseen = (
            LeftOut(left.reason, tuple(p for p in left.positions if p not in used))
            for left in longest.left_out
        )
        self._drop_segments(recording, unseen, {})

    def _prefix(self, recording: Recording, moment: float, rules: PrefixRules) -> Clip | None:
        name = f"{recording.id}_0-{repr(moment)[:_SHOWN]}"
        edge: Edge = "drop" if rules.running == "drop" else "cut"
        try:
            clip = prefix_clip(recording, moment, edge=edge, margin=rules.margin, category=self._category)
        except UserError as error:
            self._drop(name, "bad_moment", error.message)
            return None
        if clip.end < rules.earliest:
            self._drop(name, "early", f"it ends at {clip.end:g} s")
            return None
        if rules.running == "refuse" and any(s.cut for s in clip.segments):
            self._drop(name, "running", f"a step still runs at {clip.end:g} s")
            return None
        return clip

    def _drop_segments(
        self, recording: Recording, left_out: Iterable[LeftOut], stretches: Mapping[int, Rejected]
    ) -> None:
        for left in left_out:
            for position in left.positions:
                segment = recording.segments[position]  # texts may be of any length and anybody's
                times = f"{repr(segment.start)[:30]} to {repr(segment.end)[:30]}"
                detail = f"'{segment.text[:_SHOWN]}' {times}"
                if position in stretches:
                    detail += f"; {_stretch(stretches[position])}"
                self._drop(f"{recording.id}#{position}", left.reason, detail)

    def _drop(self, id_: str, reason: str, detail: str) -> None:
        assert self.drops is not None
        self._dropped[reason] += 1
        self.drops.write(msgspec.json.encode(Dropped(id_, reason, detail)) + b"\n")

    def summary(self, out: Path, drops: Path) -> Derived:
        """Return what was counted."""
        counts, found = self._counts, self._tally.result()
        return Derived(
            rules=self._rules.signature,
            recordings=counts["recordings"],
            **{field.name: getattr(found, field.name) for field in fields(found)},
            segments=counts["segments"],
            segments_in_clips=counts["segments_in_clips"],
            cut=counts["cut"],
            left_out=_sorted(self._left_out),
            rejected=_sorted(self._rejected),
            dropped=_sorted(self._dropped),
            oddities={name: count for name, count in _sorted(self._odd).items() if count},
            out=str(out),
            dropped_file=str(drops),
        )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _stretch(stretch: Rejected) -> str:
    return (
        f"in [{stretch.start:g}, {stretch.end:g}) s with {len(stretch.positions)} steps, "
        f"{stretch.n_categories} categories, longest run {stretch.longest_run}"
    )


# -- cutting -------------------------------------------------------------------------------------------------------


class ClipFile(msgspec.Struct, frozen=True):
    """A video file of a clip.

    Attributes:
        clip_id: of which.
        file: its name in the folder.
        video: what it was cut from, relative to the folder of videos.
        start: seconds of the video, as the clip says.
        end: seconds of the video, exclusive, as the clip says.
        seconds: how long the file plays: less than the clip where that reaches past the video's end. None where
            the file does not say.
    """

    clip_id: str
    file: str
    video: str
    start: float
    end: float
    seconds: float | None


def iter_clips(path: Path) -> Iterator[Clip]:
    """Yield the clips of a file that ``derive_clips`` wrote.

    Raises:
        UserError: naming the line that is none.
    """
    return iter_jsonl(path, Clip)


def cut_clips(
    clips: Iterable[Clip],
    videos: Videos,
    folder: Path,
    *,
    height: int | None = None,
    seen: Callable[[], None] | None = None,
) -> Cut:
    """Cut the video of every clip into a folder, which then holds ``clips.jsonl`` (``ClipFile``) and what failed.

    A file that is there and not older than its video is kept: the same command goes on after an interruption. A video that
    is not found or cannot be read is listed in ``clips.dropped.jsonl`` (``no_video``, ``not_cut``) and the next one
    is cut.

    Args:
        clips: what to cut.
        videos: finds the videos.
        folder: where the files go; it is made.
        height: pixels of the upright picture; None keeps the size.
        seen: called after each clip (for progress bars).

    Raises:
        UserError: if the folder cannot be written or the disk is full, or no picture has that height.
        MissingExtraError: when PyAV is not installed.
    """
    if height is not None and not HEIGHTS[0] <= height <= HEIGHTS[1]:
        raise UserError(f"a height of {height} pixels.", hint=f"give {HEIGHTS[0]} to {HEIGHTS[1]:,}, or none")
    listed = folder / "clips.jsonl"
    dropped: Counter[str] = Counter()
    fresh = shorter = 0
    names: set[str] = set()
    with atomic_write(dropped_file(listed)) as drops:

        def files() -> Iterator[ClipFile]:
            nonlocal fresh, shorter
            for clip in clips:
                found = _cut(clip, videos, folder, height, names)
                if isinstance(found, Dropped):
                    dropped[found.reason] += 1
                    drops.write(msgspec.json.encode(found) + b"\n")
                else:
                    file, was_cut = found
                    fresh += was_cut
                    shorter += (file.seconds or 0.0) < file.end - file.start - SHORTER
                    yield file
                if seen is not None:
                    seen()

        there = write_jsonl(listed, files())
    return Cut(clips=there, cut=fresh, shorter=shorter, dropped=_sorted(dropped), folder=str(folder))


def _cut(
    clip: Clip, videos: Videos, folder: Path, height: int | None, names: set[str]
) -> tuple[ClipFile, bool] | Dropped:
    """Cut a clip, or find it there; say whether it was cut, or why there is none."""
    from proctor.media.clips import cut_clip

    name = _clip_name(clip.id, height)
    if name in names:
        return Dropped(clip.id, "repeated", "a clip of this id came before")
    names.add(name)
    try:
        video = videos.find(clip.recording_id, clip.video, height=height)
    except UserError as error:
        return Dropped(clip.id, "no_video", str(error))
    if video is None:
        return Dropped(clip.id, "no_video", "no folder of videos was given")
    target = folder / name
    fresh = not _is_up_to_date(target, video)
    try:
        if fresh:
            cut_clip(video, target, clip.start, clip.end, height=height)
    except MissingExtraError:
        raise
    except UserError as error:
        if isinstance(error.__cause__, OSError):  # the place, not the video: no other clip would do better
            raise
        return Dropped(clip.id, "not_cut", str(error))
    return ClipFile(clip.id, name, videos.name(video), clip.start, clip.end, _plays(target)), fresh


def _plays(target: Path) -> float | None:
    """Return how long a file plays, None where that cannot be told (it holds a single picture)."""
    from proctor.media.probe import probe

    try:
        return probe(target).duration
    except MissingExtraError:
        raise
    except UserError:
        return None


def _is_up_to_date(target: Path, video: Path) -> bool:
    try:
        return target.is_file() and target.stat().st_mtime_ns >= video.stat().st_mtime_ns
    except OSError:
        return False


def _clip_name(clip_id: str, height: int | None) -> str:
    """Return the name of a clip's file; an id that cannot be one gets a hash, or two could become the same."""
    name = file_name(clip_id)
    if name != clip_id:
        name = f"{name[:100]}-{content_hash(clip_id)[:8]}"
    return f"{name}.mp4" if height is None else f"{name}_{height}p.mp4"
