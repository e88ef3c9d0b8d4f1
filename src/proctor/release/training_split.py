"""Benchmark and training set never share a video: a split by video, and a check that proves it.

Two names can be one video: ``abc_360p`` and ``abc``, a video that two data sets annotated (YouCook2 and HiREST both name
YouTube's), or one that was annotated again under another name. So a video is known by several *keys*: its id, what is left of
the id without ending, resolution and number of the moment, its file likewise, and the content of its clips. Videos that share a key
are one video here; at worst two videos that only look alike end up on the same side.

InstructionBench's supplement: 718 videos with 5,635 open-ended pairs for the benchmark, 2,475 with 19,495 for training, and
5,000 questions with options. The paper does not say how the videos were told apart; this is ours.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from proctor.ask.clip.record import ClipPair, ShownClip
from proctor.errors import UserError
from proctor.records import content_hash

__all__ = [
    "PUBLISHED_SHARE",
    "Leak",
    "Leakage",
    "VideoSplit",
    "cap_pairs",
    "check_leakage",
    "clip_hash",
    "near_id",
    "require_no_leak",
    "split_by_video",
]

PUBLISHED_SHARE: Final = 5_635 / (5_635 + 19_495)
"""Share of the open-ended pairs that the published benchmark has: 0.224."""

KeyKind = Literal["id", "near-id", "file", "clip"]
"""``id``: the same id; ``near-id``: the same but for ending, resolution and the like; ``file``: the same file, as near; ``clip``: the same
steps."""

_ENDING: Final = re.compile(r"\.(?:mp4|mkv|mov|webm|avi|m4v)$", re.IGNORECASE)
_VARIANT: Final = re.compile(r"(?:[_.\- ](?:\d{3,4}p(?:\d{2})?|[248]k|hd|sd|lowres|proxy))+$", re.IGNORECASE)
_MOMENT: Final = re.compile(r"\+\d+$")
_FEW_STEPS: Final = 3
"""Clips with fewer steps are not told apart by their content: two short ones may be annotated alike by chance."""


def near_id(name: str) -> str:
    """Return what is left of a video's name without ending, resolution, number of the moment and letter case.

    Folders stay: some data sets call every video of a take the same.

    Example:
        >>> near_id("AbC_360p.mp4") == near_id("abc")
        True
    """
    text = name.strip().replace("\\", "/").removeprefix("./")
    while (shorter := _VARIANT.sub("", _MOMENT.sub("", _ENDING.sub("", text)))) != text and shorter:
        text = shorter
    return text.casefold()


def clip_hash(clip: ShownClip) -> str | None:
    """Return a hash of what is annotated: texts and lengths of the steps; None for clips with too few to tell them apart.

    Times count from the first step, so that a clip cut elsewhere is the same. Ids, data set and task do not matter.
    """
    steps = sorted(
        (step for step in clip.steps if "." not in step.id), key=lambda s: (s.start, s.end, s.text)
    )
    if len(steps) < _FEW_STEPS:
        return None
    begin = steps[0].start
    rows = [
        [" ".join(step.text.split()).casefold(), round(step.start - begin), round(step.end - begin)]
        for step in steps
    ]
    return content_hash(rows)


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """Two videos on both sides that are one.

    Attributes:
        benchmark: video of the benchmark, ``dataset/video``.
        training: video of the training set.
        by: what they share.
        key: the shared key.
    """

    benchmark: str
    training: str
    by: KeyKind
    key: str


class Leakage(msgspec.Struct, frozen=True, kw_only=True):
    """What a check for leakage found.

    Attributes:
        benchmark_videos: how many were looked at.
        training_videos: how many were looked at.
        keys: how many keys of each kind the benchmark's videos have, so that a check without clips shows.
        leaks: every pair of videos that share a key, by the plainest one; sorted.
    """

    benchmark_videos: int
    training_videos: int
    keys: Mapping[str, int]
    leaks: tuple[Leak, ...] = ()


class VideoSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of the benchmark and of the training set.

    Attributes:
        benchmark: in the order given.
        training: in the order given.
        left_out: of the benchmark's videos, above the cap; they are in neither.
        groups: videos that are one, where there are several names.
        seed: that drew it.
    """

    benchmark: tuple[ClipPair, ...]
    training: tuple[ClipPair, ...]
    left_out: tuple[ClipPair, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    seed: int = 0


def split_by_video(
    pairs: Sequence[ClipPair],
    share: float = PUBLISHED_SHARE,
    seed: int = 0,
    *,
    clips: Iterable[ShownClip] = (),
    cap: int | None = None,
) -> VideoSplit:
    """Split pairs so that no video is on both sides.

    Of each data set, videos are taken in an order that the seed draws until the benchmark has its share of the pairs; the order of the
    pairs changes nothing.

    Args:
        pairs: all, with unique ids.
        share: of the pairs that go to the benchmark, 0 to 1; as near as whole videos allow.
        seed: of the run.
        clips: of the pairs; with them videos are also told apart by file and content.
        cap: pairs that the benchmark has at most (the published one: 5,000).

    Raises:
        UserError: if the share is none, ids are there twice, or the cap is below 1.
    """
    if not (math.isfinite(share) and 0 <= share <= 1):
        raise UserError(f"{share} is no share of the pairs.", hint="give a number from 0 to 1")
    twice = [id_ for id_, n in Counter(pair.id for pair in pairs).items() if n > 1]
    if twice:
        raise UserError(f"{len(twice):,} pairs are there twice, such as '{twice[0][:80]}'.")
    groups = _Groups(_keys_of(pairs, clips))
    members: dict[str, list[ClipPair]] = defaultdict(list)
    for pair in pairs:
        members[groups.of(_video(pair))].append(pair)
    chosen: set[str] = set()
    for names in _by_dataset(members).values():
        chosen |= _drawn(names, {name: len(members[name]) for name in names}, share, seed)
    mine = [pair for pair in pairs if groups.of(_video(pair)) in chosen]
    kept = mine if cap is None else cap_pairs(mine, cap, seed)
    kept_ids = {pair.id for pair in kept}
    return VideoSplit(
        benchmark=tuple(kept),
        training=tuple(pair for pair in pairs if groups.of(_video(pair)) not in chosen),
        left_out=tuple(pair for pair in mine if pair.id not in kept_ids),
        groups=groups.several,
        seed=seed,
    )


def cap_pairs(pairs: Sequence[ClipPair], most: int, seed: int = 0) -> list[ClipPair]:
    """Return at most so many pairs, drawn by the seed, in the order given.

    Raises:
        UserError: if it is below 1.
    """
    if most < 1:
        raise UserError(f"a benchmark of {most} pairs is none.", hint="give at least 1, or no cap")
    order = sorted(pairs, key=lambda pair: (_draw(seed, f"cap/{pair.id}"), pair.id))
    kept = {pair.id for pair in order[:most]}
    return [pair for pair in pairs if pair.id in kept]


def check_leakage(
    benchmark: Iterable[ClipPair],
    training: Iterable[ClipPair],
    *,
    clips: Iterable[ShownClip] = (),
) -> Leakage:
    """Look for videos on both sides, by id, by what is left of ids and file names, and by the content of clips.

    It reads the records alone and knows nothing of how they were split.

    Args:
        benchmark: pairs of the benchmark.
        training: pairs of the training set.
        clips: of both; without them only ids are compared.
    """
    known = list(clips)
    left, right = _keys_of(benchmark, known), _keys_of(training, known)
    by_key: dict[tuple[KeyKind, str], list[str]] = defaultdict(list)
    for video, keys in sorted(right.items()):
        for both in keys:
            by_key[both].append(video)
    found: dict[tuple[str, str], Leak] = {}
    for video, keys in sorted(left.items()):
        for kind, key in keys:
            for other in by_key.get((kind, key), ()):
                leak = Leak(benchmark=video, training=other, by=kind, key=key)
                found.setdefault((video, other), leak)
    counts = Counter(kind for keys in left.values() for kind, _ in keys)
    return Leakage(
        benchmark_videos=len(left),
        training_videos=len(right),
        keys=dict(sorted(counts.items())),
        leaks=tuple(found[pair] for pair in sorted(found)),
    )


def require_no_leak(leakage: Leakage) -> None:
    """Make sure that no video is on both sides.

    Raises:
        UserError: naming the first that is.
    """
    if leakage.leaks:
        first = leakage.leaks[0]
        raise UserError(
            f"{len(leakage.leaks):,} videos are in the benchmark and in the training set, such as '{first.benchmark[:80]}', "
            f"which is '{first.training[:80]}' there (same {first.by}).",
            hint="split by video (proctor.release.training_split.split_by_video)",
        )


# -- who is who --------------------------------------------------------------------------------------------------

_Key = tuple[KeyKind, str]


def _video(pair: ClipPair) -> str:
    return f"{pair.dataset}/{pair.video_id}"


def _keys_of(pairs: Iterable[ClipPair], clips: Iterable[ShownClip]) -> dict[str, tuple[_Key, ...]]:
    """Return the keys of each video, the plainest first. All clips of a video count, not only those that are asked about."""
    keys: dict[str, dict[_Key, None]] = {}
    for pair in pairs:
        keys.setdefault(
            _video(pair), {("id", pair.video_id): None, ("near-id", near_id(pair.video_id)): None}
        )
    for clip in clips:
        own = keys.get(f"{clip.dataset}/{clip.video_id}")
        if own is None:
            continue
        if clip.video:
            own["file", near_id(clip.video)] = None
        if (digest := clip_hash(clip)) is not None:
            own["clip", digest] = None
    return {video: tuple(found) for video, found in keys.items()}


class _Groups:
    """Videos that share a key, directly or over others, under one name."""

    def __init__(self, keys: Mapping[str, Sequence[_Key]]) -> None:
        self._parent = {video: video for video in keys}
        first: dict[_Key, str] = {}
        for video in sorted(keys):
            for kind, key in keys[video]:
                other = first.setdefault((kind, key), video)
                earlier, later = sorted((self.of(video), self.of(other)))
                self._parent[later] = earlier
        found: dict[str, list[str]] = defaultdict(list)
        for video in sorted(keys):
            found[self.of(video)].append(video)
        self.several = tuple(tuple(names) for _, names in sorted(found.items()) if len(names) > 1)

    def of(self, video: str) -> str:
        """Return the name of a video's group: its first member."""
        while self._parent[video] != video:
            self._parent[video] = self._parent[self._parent[video]]
            video = self._parent[video]
        return video


def _by_dataset(members: Mapping[str, Sequence[ClipPair]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(members):
        found[min(pair.dataset for pair in members[name])].append(name)
    return found


def _drawn(names: Sequence[str], sizes: Mapping[str, int], share: float, seed: int) -> set[str]:
    """Return videos whose pairs come nearest to the share, in the order of the draw."""
    wanted = share * sum(sizes[name] for name in names)
    chosen: set[str] = set()
    have = 0
    for name in sorted(names, key=lambda name: (_draw(seed, f"split/{name}"), name)):
        if abs(have + sizes[name] - wanted) >= abs(have - wanted):
            break
        chosen.add(name)
        have += sizes[name]
    return chosen


def _draw(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\x00{name}".encode()).digest()
