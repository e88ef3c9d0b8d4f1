"""Decode exactly the frames that are asked for, and little else.

The frame at time t is the one on screen at t: the last in presentation order whose time is not after t, with time
zero at the start of the file, as players count. Times are compared as integers in the stream's own time base.

Work is saved in three ways that never change which frame comes out (measured in ``benchmarks/media``):

* targets are visited in order, and the file is entered at the keyframe at or before a target, but only when that
  keyframe lies after everything already decoded;
* while a packet lies well before the target, the decoder may skip frames that no other frame refers to;
* a frame is scaled inside the converter from the decoder's pixel format, and only if it is wanted.

Each shortcut is checked after the fact: when the keyframe turns out to be displayed after the target (reordering,
open groups of pictures), or a skipped packet could have been the target (long frames, variable rates), the target
is decoded again from further back without that shortcut.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from proctor.errors import UserError
from proctor.media.paint import Image, Painter
from proctor.media.source import DEFAULT_LIMITS, Deadline, Limits, import_av, open_video

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = ["Frame", "FrameNote", "extract_frames", "iter_frames", "walk_frames"]

FrameNote = Literal["", "before_first", "past_last"]

_SKIP_MARGIN: Final = Fraction(1, 5)
"""Seconds before a target in which every frame is decoded; it can be short, since every skip is checked."""
_TOLERANCE: Final = Fraction(1, 2000)
"""Seconds by which a frame's stored time may be rounded up by its container (Matroska counts milliseconds)."""
_STEP_BACK: Final = Fraction(1)
"""Seconds to step back when a format without an index lands after the target; doubled each time."""
_FAR: Final = Fraction(2)
"""Seconds to a target from which a look for a keyframe pays in a format without an index."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One decoded frame.

    Attributes:
        target: the moment that was asked for, seconds from the start of the file.
        time: when this frame appears, seconds from the start of the file.
        pts: the same in the stream's time base, as stored in the file: two frames with one ``pts`` are one frame.
        image: height × width × 3, RGB, upright.
        note: ``past_last`` when the target lies after the last frame ended, ``before_first`` when before the first;
            the nearest frame is then given.
    """

    target: float
    time: float
    pts: int
    image: Image
    note: FrameNote = ""


# -- asking ----------------------------------------------------------------------------------------------------


def extract_frames(
    path: str | os.PathLike[str],
    times: Sequence[float],
    *,
    height: int | None = 360,
    partial: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Frame]:
    """Return the frame on screen at each of the times, in the order of ``times``.

    Args:
        path: a local video file.
        times: seconds from the start of the file, any order, repeats allowed.
        height: of the upright image in pixels, width in proportion and even; None keeps the video's size.
        partial: give the frames before a damaged place instead of raising.
        limits: bounds on frames, pixels, memory and time.

    Raises:
        UserError: if the file is not a readable video, is damaged before a target, or a limit is passed.
    """
    order = sorted(range(len(times)), key=lambda i: times[i])
    found: list[Frame | None] = [None] * len(times)
    frames = iter_frames(path, [times[i] for i in order], height=height, partial=partial, limits=limits)
    for i, frame in zip(order, frames, strict=False):
        found[i] = frame
    return [frame for frame in found if frame is not None]


def iter_frames(
    path: str | os.PathLike[str],
    times: Iterable[float],
    *,
    height: int | None = 360,
    partial: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Frame]:
    """Yield frames one at a time for increasing times; see ``extract_frames``.

    Raises:
        UserError: as ``extract_frames``, and for times that decrease, are negative or not finite.
    """
    wanted = _checked(times, height, str(path), limits)
    with ExitStack() as stack:
        cursor = _Cursor(path, stack, limits)
        paint = Painter(height, cursor.pixel_aspect, str(path), limits)
        for position, time in enumerate(wanted):
            following = wanted[position + 1] if position + 1 < len(wanted) else None
            try:
                picture, note = cursor.frame_at(time, following)
            except UserError:
                if partial:
                    return
                raise
            assert picture.pts is not None
            shown = float(picture.pts * cursor.tick - cursor.zero)
            yield Frame(time, shown, picture.pts, paint(picture), note)


def _checked(times: Iterable[float], height: int | None, where: str, limits: Limits) -> list[float]:
    wanted = list(times)
    if len(wanted) > limits.frames:
        raise UserError(
            f"{len(wanted):,} frames were asked for, the limit is {limits.frames:,}.",
            where=where,
            hint="sample fewer frames (media.sampling.uniform), or raise Limits.frames",
        )
    if height is not None and not 2 <= height <= 16_384:
        raise UserError(f"a height of {height} pixels is not possible.", where=where, hint="give 2 to 16384")
    previous = 0.0
    for time in wanted:
        if not (math.isfinite(time) and time >= 0):
            raise UserError(
                f"{time} is not a moment in a recording.", where=where, hint="give seconds from 0 up"
            )
        if time < previous:
            raise UserError(
                "the times do not increase.", where=where, hint="sort them, or use extract_frames"
            )
        previous = time
    return wanted


def walk_frames(
    path: str | os.PathLike[str], start: float, end: float, *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[Fraction, VideoFrame]]:
    """Yield every decoded frame on screen during ``[start, end)`` with its time in seconds from ``start``.

    The first is the one on screen at ``start`` and has the time 0 (unless the pictures begin later).

    Raises:
        UserError: as ``extract_frames``, and when the span begins after the last frame.
    """
    with ExitStack() as stack:
        cursor = _Cursor(path, stack, limits)
        for frame in cursor.span(start, end):
            assert frame.pts is not None
            yield max(Fraction(0), frame.pts * cursor.tick - cursor.zero - Fraction(start)), frame


# -- finding ---------------------------------------------------------------------------------------------------

_NEVER: Final = -(2**62)
_INTRA: Final = (0, 1)
"""FFmpeg's picture types "unknown" and I: what the first frame after a seek must be."""


class _Cursor:
    """A place in one video stream that moves forward from target to target.

    A *run* is a stretch of packets given to the decoder without a seek in between.

    Attributes of a run:
        _entry: the (pts, dts) of the keyframe it entered at, None when it began at the start of the file. Frames
            shown before it may refer to pictures that were not decoded and are never given out.
        _current: the last frame not after the targets so far; ``_ahead``: decoded frames after it.
        _fed, _fed_dts: the latest packet given to the decoder.
        _skipped: the latest packet not after a target that the decoder was allowed to skip.
        _count: frames that came out.
        _over: nothing more comes out, because the decoder was drained or (``_at_end``) the file ended.
    """

    def __init__(self, path: str | os.PathLike[str], stack: ExitStack, limits: Limits) -> None:
        self._path, self._stack, self._limits = path, stack, limits
        self._where = str(path)
        self._errors = import_av().error.FFmpegError
        self._deadline = Deadline(limits.seconds, self._where)
        self._delay = 0
        self._restart()
        stream = self._stream
        # AVI stores no presentation times: with reordered frames those that FFmpeg makes up are wrong, so frames
        # are counted from the start at the file's fixed rate
        self._numbered = self._container.format.name == "avi" and stream.codec_context.has_b_frames
        self._may_skip = self._may_seek = not self._numbered
        if not stream.time_base:
            raise UserError(
                "the video stream has no time base.", where=self._where, hint="re-encode it as H.264"
            )
        self.tick: Fraction = stream.time_base
        self.pixel_aspect = stream.sample_aspect_ratio
        self.zero: Fraction = Fraction(self._container.start_time or 0, 1_000_000)
        self._margin = math.ceil(max(_SKIP_MARGIN, 3 * self._interval) / self.tick)
        self._last = self._declared_last()
        self._keyframes = _keyframes(path, self._container, stream, stack, limits)

    # targets

    def frame_at(self, time: float, following: float | None) -> tuple[VideoFrame, FrameNote]:
        """Return the frame on screen at a time; times must not decrease from call to call.

        ``following`` is the next time that will be asked for: when it lies behind another keyframe the decoder
        need not be kept warm for it.
        """
        target = self._ticks(time)
        reach = target if self._last is None else min(target, self._last)
        key = self._keyframe(reach)
        if self._drained or (key is not None and key > self._fed):
            self._enter(reach)
        beyond = reach < target
        leaving = not beyond and (following is None or self._keyframe_later(self._ticks(following), key))
        self._advance(reach, leaving)
        while not self._settled():
            self._advance(reach, leaving=False)
        if beyond:  # with reordered frames of uneven length a file may declare less than it holds
            may_skip, self._may_skip = self._may_skip, False
            self._advance(target, leaving=False)
            self._may_skip = may_skip
        picture = self._current
        if picture is None:
            if not self._ahead:
                raise UserError(
                    "no frame of it could be decoded.", where=self._where, hint="re-encode the file"
                )
            return self._sound(self._ahead[0]), "before_first"
        return self._sound(picture), self._note(picture, target)

    def span(self, start: float, end: float) -> Iterator[VideoFrame]:
        """Yield the frame on screen at ``start`` and all after it that appear before ``end``."""
        first, note = self.frame_at(start, start)
        if note == "past_last":
            raise UserError(
                f"nothing to see from {start:g} s on: the last frame ends before.",
                where=self._where,
                hint="give a span inside the video",
            )
        if not note:
            yield first
        limit = self._ticks(end)
        self._may_skip = False
        while True:
            if self._ahead:
                frame = self._ahead.popleft()
                if _pts(frame) >= limit:
                    return
                yield self._sound(frame)
            elif self._over:
                return
            else:
                self._feed(limit, leaving=False)

    def _ticks(self, time: float) -> int:
        exact = Fraction(time).limit_denominator(1_000_000) + self.zero
        return math.floor((exact + min(_TOLERANCE, self.tick / 2)) / self.tick)

    def _keyframe(self, reach: int) -> int | None:
        if reach < self._fed or not self._may_seek:
            return None
        return self._keyframes.at_or_before(reach - self._delay, self._fed)

    def _keyframe_later(self, following: int, key: int | None) -> bool:
        reach = following if self._last is None else min(following, self._last)
        later = self._keyframe(reach)
        return later is not None and later > self._fed and (key is None or later > key)

    def _settled(self) -> bool:
        """Check the shortcuts of the run so far; when one may have cost the right frame, go back without it."""
        if not self._may_seek and self._entry is not None:
            self._restart()
            return False
        shown = _NEVER if self._current is None or self._current.pts is None else self._current.pts
        if self._skipped > shown:
            self._may_skip = False
            self._reenter()
            return False
        if self._current is None and self._entry is not None:
            assert self._entry is not None
            self._enter(_shown(self._entry) - 1)
            return False
        return True

    def _sound(self, picture: VideoFrame) -> VideoFrame:
        if picture.is_corrupt:
            raise self._damaged(picture.pts, "the decoder marks the frame as damaged")
        return picture

    def _note(self, picture: VideoFrame, target: int) -> FrameNote:
        if not self._at_end or self._ahead:
            return ""
        assert picture.pts is not None
        end = picture.pts + (picture.duration or math.ceil(self._interval / self.tick))
        missing = (min(target, self._last) - end) * self.tick if self._last is not None else Fraction(0)
        if self._stream.duration and missing > 1:
            raise UserError(
                f"the pictures end at {self._seconds(end):.1f} s although the file declares more: it is cut off.",
                where=self._where,
                hint="copy the file again",
            )
        return "past_last" if target >= end else ""

    # runs

    def _restart(self) -> None:
        """Open the file anew: a run from its first packet."""
        self._container, self._stream = self._stack.enter_context(open_video(self._path, self._limits))
        rate = self._stream.average_rate
        self._interval = 1 / Fraction(rate) if rate else Fraction(1, 25)
        self._begin(None, None)

    def _begin(
        self, entry: Packet[VideoStream] | None, packets: Iterator[Packet[VideoStream]] | None
    ) -> None:
        self._packets = iter(self._container.demux(self._stream)) if packets is None else packets
        self._entry = entry
        self._pending = entry
        self._current: VideoFrame | None = None
        self._ahead: deque[VideoFrame] = deque()
        self._fed = self._fed_dts = self._skipped = _NEVER
        self._count = 0
        self._over = self._at_end = self._drained = False

    def _enter(self, reach: int) -> None:
        """Begin a run at the last keyframe shown at or before ``reach``."""
        if not self._may_seek:
            self._restart()
            return
        packets, entry = _seek(self._container, self._stream, reach, self._errors)
        if entry is None:
            self._restart()
        else:
            self._begin(entry, packets)

    def _reenter(self) -> None:
        if self._entry is None:
            self._restart()
        else:
            self._enter(_shown(self._entry))

    def _advance(self, reach: int, leaving: bool) -> None:
        """Decode until a frame after ``reach`` has come out, or nothing more comes."""
        while True:
            while self._ahead and _pts(self._ahead[0]) <= reach:
                self._current = self._ahead.popleft()
            if self._ahead or self._over:
                return
            if leaving and self._fed_dts > reach and not self._numbered:
                # every packet shown by then was fed (pts >= dts): empty the decoder instead of feeding more
                self._collect(None)
                self._over = self._drained = True
            else:
                self._feed(reach, leaving)

    def _feed(self, reach: int, leaving: bool) -> None:
        self._deadline.check()
        try:
            packet = self._pending or next(self._packets, None)
        except self._errors as error:
            raise self._damaged(self._fed, str(error)) from None
        self._pending = None
        if packet is None or (packet.dts is None and not packet.size):
            self._collect(None)
            self._over = self._at_end = self._drained = True
            return
        self._set_skipping(packet, reach, leaving)
        self._collect(packet)
        if packet.dts is not None:
            self._fed_dts = max(self._fed_dts, packet.dts)
        if packet.pts is not None:
            self._fed = max(self._fed, packet.pts)
            if packet.is_keyframe and packet.dts is not None:
                self._delay = max(self._delay, packet.pts - packet.dts)

    def _set_skipping(self, packet: Packet[VideoStream], reach: int, leaving: bool) -> None:
        before = packet.pts is not None and packet.pts < reach - self._margin
        after = packet.pts is not None and leaving and packet.pts > reach
        skip = self._may_skip and (before or after)
        if skip and before and packet.pts is not None:
            self._skipped = max(self._skipped, packet.pts)
        mode: Literal["NONREF", "DEFAULT"] = "NONREF" if skip else "DEFAULT"
        if self._stream.codec_context.skip_frame != mode:
            self._stream.codec_context.skip_frame = mode

    def _collect(self, packet: Packet[VideoStream] | None) -> None:
        entry = self._entry.pts if self._entry is not None else None
        try:
            frames = self._stream.decode(packet)
        except self._errors as error:
            if entry is not None and packet is not None and packet.pts is not None and packet.pts < entry:
                return  # a leading picture of an open group: it refers to what was not decoded, and is not wanted
            raise self._damaged(self._fed if packet is None else packet.pts, str(error)) from None
        for frame in frames:
            if self._numbered:
                frame.pts = (self._stream.start_time or 0) + round(self._count * self._interval / self.tick)
            if frame.pts is None:
                raise UserError(
                    "its frames carry no times, so none can be found by time.",
                    where=self._where,
                    hint="put it into an mp4 or mkv file (re-encode as H.264)",
                )
            if entry is not None and frame.pts < entry:
                continue
            if self._ahead and frame.pts < _pts(self._ahead[-1]):
                raise self._damaged(frame.pts, "the times of its frames run backwards")
            if (
                entry is not None
                and self._count == 0
                and (frame.pts != entry or frame.pict_type not in _INTRA)
            ):
                self._may_seek = False  # marked keyframes that are no full pictures: periodic intra refresh
            self._count += 1
            self._ahead.append(frame)

    # facts

    def _declared_last(self) -> int | None:
        """Return the last tick that the file says it covers, None if it does not say."""
        stream = self._stream
        if stream.duration:
            return (stream.start_time or 0) + stream.duration - 1
        if self._container.duration:
            return math.ceil((self.zero + Fraction(self._container.duration, 1_000_000)) / self.tick) - 1
        return None

    def _seconds(self, pts: int) -> float:
        return float(pts * self.tick - self.zero)

    def _damaged(self, pts: int | None, reason: str) -> UserError:
        place = f" near {self._seconds(pts):.1f} s" if pts is not None and pts > _NEVER else ""
        return UserError(
            f"the video is damaged{place}: {reason}.",
            where=self._where,
            hint="copy the file again; what is before the damage can be read with partial=True",
        )


def _pts(frame: VideoFrame) -> int:
    assert frame.pts is not None
    return frame.pts


def _shown(packet: Packet[VideoStream]) -> int:
    assert packet.pts is not None
    return packet.pts


def _seek(
    container: InputContainer, stream: VideoStream, reach: int, errors: type[Exception]
) -> tuple[Iterator[Packet[VideoStream]], Packet[VideoStream] | None]:
    """Go to a keyframe shown at or before ``reach`` and return the packets after it, and it.

    The keyframe is None when there is none but the start of the file. Some containers search by decoding time, which
    is not after the presentation time, so the keyframe that they find may be shown too late; then an earlier one is
    looked for.
    """
    assert stream.time_base is not None
    bound = reach
    step = math.ceil(_STEP_BACK / stream.time_base)
    floor = (stream.start_time or 0) - 2 * step
    while bound >= floor:
        try:
            container.seek(bound, stream=stream)
            packets = iter(container.demux(stream))
            key = next((p for p in packets if p.is_keyframe and p.pts is not None), None)
        except errors:
            break
        if key is not None and key.pts is not None and key.pts <= reach:
            return packets, key
        found = bound if key is None or key.dts is None else min(key.dts, bound)
        bound = min(found - 1, bound - step)
        step *= 2
    return iter(()), None


# -- keyframes -------------------------------------------------------------------------------------------------


class _IndexedKeyframes:
    """Keyframes from the file's own table (mp4, mov): complete when the file is opened."""

    def __init__(self, stream: VideoStream) -> None:
        self._entries = stream.index_entries

    def at_or_before(self, reach: int, fed: int) -> int | None:  # noqa: ARG002 - the same question to both kinds
        found = self._entries.search_timestamp(reach)
        return None if found < 0 else self._entries[found].timestamp


class _SoughtKeyframes:
    """Keyframes found by looking, in a second handle on the file: Matroska reads its table late, MPEG-TS has none."""

    def __init__(self, container: InputContainer, stream: VideoStream) -> None:
        self._container, self._stream = container, stream
        self._errors = import_av().error.FFmpegError
        assert stream.time_base is not None
        self._far = math.ceil(_FAR / stream.time_base)
        self._known: dict[int, int | None] = {}

    def at_or_before(self, reach: int, fed: int) -> int | None:
        if 0 <= reach - fed < self._far:
            return None
        if reach not in self._known:
            _, key = _seek(self._container, self._stream, reach, self._errors)
            self._known[reach] = None if key is None else key.pts
        return self._known[reach]


def _keyframes(
    path: str | os.PathLike[str],
    container: InputContainer,
    stream: VideoStream,
    stack: ExitStack,
    limits: Limits,
) -> _IndexedKeyframes | _SoughtKeyframes:
    if "mp4" in container.format.name and len(stream.index_entries):
        return _IndexedKeyframes(stream)
    return _SoughtKeyframes(*stack.enter_context(open_video(path, limits)))
