"""What a recording session is made of: scripts, sessions, streams, events, reviews. docs/capture.md, *On disk*.

Clocks: ``host_ns`` is ``time.monotonic_ns()`` of the machine that records; ``device_ns`` is a sensor's own
clock, of any zero. Wall time (UTC) is a label: nothing is computed from it where a clock can be used.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from proctor.errors import UserError

__all__ = [
    "EVENTS", "MANIFEST", "REVIEW", "SCRIPT", "TABLET_EVENTS", "Check", "Event", "EventKind", "Hint", "KeptFile", "Manifest",
    "PlannedMistake", "Review", "Sample", "Script", "ScriptStep", "SeenMistake", "Slot", "State", "StepReview", "Strategy",
    "StreamName", "StreamSpec", "capture_folder", "recording_folder",
]  # fmt: skip

MANIFEST: Final = "manifest.json"
SCRIPT: Final = "script.json"
EVENTS: Final = "events.jsonl"
TABLET_EVENTS: Final = "tablet.jsonl"
REVIEW: Final = "review.json"
"""Files of a recording's folder; beside them ``raw/<stream>/``, ``sync/<hash>/``, ``proxy/``."""

Strategy = Literal["normal", "impromptu", "disordered", "missing", "induced"]
"""Who decides on mistakes: nobody; the participant while doing it; a script with another order; one with steps left out; a script
with mistakes of any kind that the participant chose beforehand (CaptainCook4D, appendix C)."""
State = Literal[
    "planned", "armed", "recording", "interrupted", "stopped", "stopped_disk", "incomplete", "withdrawn"
]
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
StreamName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]


class PlannedMistake(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mistake that a script asks for; ``kind`` is one of ``procedure.recording.MISTAKE_KINDS``."""

    step: str
    kind: str
    text: str = ""


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that somebody could make in a step; ``by`` is who proposes it, a model or a table."""

    step: str
    kind: str
    text: str
    by: str


class ScriptStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step to be done: ``text`` is the activity's own, ``modified`` what the participant reads instead."""

    step: str
    text: str
    modified: str | None = None


class Script(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A performance that is to be recorded.

    Attributes:
        id: stable, of the activity, the strategy and a number.
        activity, title: id and name of the task graph.
        steps: in the order in which they are to be done; those of ``left_out`` are not among them.
        mistakes: planned; ``missing`` ones name the steps of ``left_out``, ``order`` ones a step that comes too early.
        method: how the order was drawn: ``uniform`` over valid orders, or a ``random-ready`` step each time.
        seed: text that the draw was seeded with.
        hints: proposals, which nobody has to follow.
        items: what has to be at hand.
    """

    id: str
    activity: str
    title: str
    strategy: Strategy
    steps: tuple[ScriptStep, ...]
    left_out: tuple[str, ...] = ()
    mistakes: tuple[PlannedMistake, ...] = ()
    method: Literal["uniform", "random-ready"] = "uniform"
    seed: str = ""
    hints: tuple[Hint, ...] = ()
    items: tuple[str, ...] = ()


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recording of the plan: who does which script where and when; ``id`` is the recording's."""

    id: str
    script: str
    activity: str
    participant: str
    environment: str
    strategy: Strategy
    day: str = ""


# -- what happened -----------------------------------------------------------------------------------------------

EventKind = Literal[
    "state",  # of the session: text says which
    "clock",  # a pair of times: device_ns, host_ns, and the round trip where it is known
    "step_start", "step_done", "oops",
    "clap",  # a clap or flash for synchronisation
    "mark",  # anything else that somebody noted
    "gap",  # a stream has nothing between start_ns and end_ns (host)
    "drop",  # a full queue dropped count samples
    "sensor",  # a sensor changed its state: text says which
    "jump",  # a clock jumped by count nanoseconds
    "warning", "conflict",
]  # fmt: skip


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``events.jsonl`` (recorder) or ``tablet.jsonl`` (a tablet, whose times are of its own clock).

    Attributes:
        n: from 0, without gaps within a file.
        host_ns: monotonic time of the machine that wrote it down; None for a tablet that was offline.
        wall: UTC, ISO 8601, a label.
        clock: that ``device_ns`` is of; empty for the host's.
        rtt_ns: round trip of a two-way probe of that clock.
        stream, step: that it is about.
        start_ns, end_ns: of a gap, host.
        count: of what was dropped, or nanoseconds of a jump.
    """

    n: int
    kind: EventKind
    host_ns: int | None = None
    wall: str = ""
    clock: str = ""
    device_ns: int | None = None
    rtt_ns: int | None = None
    stream: str = ""
    step: str = ""
    text: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    count: int = 0


class SeenMistake(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mistake that was made, planned or not; ``origin`` is who says so: the confirmed script, live (*Oops*), or the review."""

    step: str
    kind: str
    text: str = ""
    origin: Literal["script", "live", "review"] = "review"


class StepReview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a step: done as planned or not, what was done instead, and the mistakes in it."""

    step: str
    done: bool = True
    as_planned: bool = True
    performed: str | None = None
    mistakes: tuple[SeenMistake, ...] = ()


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What the participant or operator says after the recording; the plan (``script.json``) is never changed by it."""

    recording: str
    by: str
    steps: tuple[StepReview, ...]


class StreamSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sensor sends.

    Attributes:
        name: also of its folder.
        format: of one sample: ``jpeg``, ``png16``, ``f4`` (little-endian 32-bit floats, one per column), ``s16`` (sound,
            interleaved), ``packet`` (of ``codec``, as a camera sends it), ``file`` (the stream is whole files: mp4, webm).
        rate_hz: samples a second, nominal; 0 where it is irregular.
        clock: of ``device_ns``; streams of one device share one.
        columns, units: of ``f4``.
        can_drop: samples may be missing, so times cannot be made regular.
        required: the recording is worth nothing without it.
        policy: of a full queue.
        width, height: of pictures.
        sample_rate, channels: of sound.
        codec, extradata, tick: of packets: FFmpeg's name, its header, seconds per tick as ``1/90000``.
        note: for people, such as *unverified on hardware*.
    """

    name: StreamName
    kind: Literal["video", "depth", "imu", "pose", "audio", "event"]
    format: Literal["jpeg", "png16", "f4", "s16", "packet", "file"]
    rate_hz: float = 0.0
    clock: str = ""
    columns: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    can_drop: bool = True
    required: bool = True
    policy: Literal["block", "drop-oldest"] = "block"
    width: int = 0
    height: int = 0
    sample_rate: int = 0
    channels: int = 0
    codec: str = ""
    extradata: bytes = b""
    tick: str = ""
    note: str = ""


class Sample(NamedTuple):
    """One sample: its time on the sensor's clock, when it came, and its bytes."""

    device_ns: int
    host_ns: int
    payload: bytes


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a preflight: what was looked at, whether that is good, and what to do if not."""

    name: str
    ok: bool
    seen: str
    hint: str = ""


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a recording, by its path in the folder (with ``/``)."""

    path: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``manifest.json`` of a recording; raw files are written once, so their hashes stay.

    Attributes:
        format: of the folder.
        activity: id of the task graph.
        participant: a code, never a name.
        streams: as they were sent.
        host_start_ns, host_end_ns: monotonic times when it started (None before) and ended.
        wall_start: UTC label of its start.
        files: of ``raw/``, events and script, once the session is over.
        reasons: why it is incomplete, interrupted or stopped, for people.
        simulated: no real sensors.
    """

    format: int = 1
    id: str
    activity: str = ""
    participant: str = ""
    environment: str = ""
    strategy: Strategy = "normal"
    state: State = "planned"
    streams: tuple[StreamSpec, ...] = ()
    host_start_ns: int | None = None
    wall_start: str = ""
    host_end_ns: int | None = None
    files: tuple[KeptFile, ...] = ()
    reasons: tuple[str, ...] = ()
    simulated: bool = False


def capture_folder(workspace: Path) -> Path:
    """Return the folder of plan, scripts and recordings of a workspace."""
    return workspace / "capture"


def recording_folder(workspace: Path, recording: str) -> Path:
    """Return the folder of a recording; raises UserError if its id is none, so that no id is a path."""
    if not _ID.fullmatch(recording):
        raise UserError(f"'{recording[:40]}' is no id of a recording.", hint="64 letters, digits, _ and -")
    return capture_folder(workspace) / "recordings" / recording
