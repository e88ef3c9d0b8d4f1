"""When each frame of a video appears: its index as the published rules of sampling count it, without decoding."""

from __future__ import annotations

import os
from array import array
from fractions import Fraction

from proctor.errors import UserError
from proctor.media.limits import DEFAULT_LIMITS, Deadline, Limits
from proctor.media.source import import_av, open_video

__all__ = ["presentation_times"]


def presentation_times(
    path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS
) -> tuple[array[float], float]:
    """Return when each frame appears (seconds from the start of the file, increasing), and when the last one ends.

    Only packets are read, nothing is decoded. Where a file keeps no times (AVI), frames are counted at its rate.

    Raises:
        UserError: if the file is not a readable video, is damaged, or holds no frame.
        MissingExtraError: when PyAV is not installed.
    """
    where = str(path)
    deadline = Deadline(limits.seconds, where)
    stamps: list[int] = []
    untimed = 0
    with open_video(path, limits) as (container, stream):
        tick = stream.time_base or Fraction(1, 1_000_000)
        zero = Fraction(container.start_time or 0, 1_000_000)
        rate = Fraction(stream.average_rate or 25)
        numbered = container.format.name == "avi"
        last = 0
        try:
            for packet in container.demux(stream):
                if (packet.dts is None and not packet.size) or packet.is_discard:
                    continue
                deadline.check()
                if packet.pts is None or numbered:
                    untimed += 1
                else:
                    stamps.append(packet.pts)
                    last = max(last, packet.pts + (packet.duration or 0))
        except import_av().error.FFmpegError as error:
            raise UserError(
                f"the video is damaged: {error.strerror}.", where=where, hint="copy the file again"
            ) from None
    if untimed:
        count = untimed + len(stamps)
        return array("d", (float(i / rate) for i in range(count))), float(count / rate)
    if not stamps:
        raise UserError("the video holds no frame.", where=where, hint="was the right file exported?")
    times = array("d", (float(stamp * tick - zero) for stamp in sorted(set(stamps))))
    return times, max(float(last * tick - zero), times[-1])
