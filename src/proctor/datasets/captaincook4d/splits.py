"""The splits of CaptainCook4D, made again from their rules. Source: Peddi et al. 2024.

Two families exist and must not be mixed: those of the annotations (``data_splits``) and those of the code for error
recognition (``er_annotations``, names ``er-``), which read other person ids and give other recordings other roles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from proctor.datasets.captaincook4d.check import is_normal_number
from proctor.datasets.captaincook4d.raw import (
    VIDEOS,
    RawRecording,
    Video,
    read_infos,
    read_recordings,
    read_videos,
)
from proctor.datasets.dataset import Split, SplitRule
from proctor.records import read_json

__all__ = ["SPLITS"]

_Subsets = dict[str, list[str]]
_Label = Callable[[RawRecording], bool]

_ENVIRONMENTS: Final = {"train": (1, 2, 5), "val": (6, 7), "test": (3, 8, 9, 10, 11)}
_PERSONS: Final = {"train": (3, 4, 5, 6), "val": (7, 8), "test": (1, 2)}
_RECIPES: Final = {
    "train": (1, 4, 5, 7, 13, 15, 18, 20, 22, 23, 27),
    "val": (2, 9, 12, 17, 26, 29),
    "test": (3, 8, 10, 16, 21, 25, 28),
}
_ER_LACKS: Final = frozenset({"12_6"})
"""In no split of the code for error recognition."""
_TRAIN_SHARE: Final = (3, 5)
_VAL_SHARE: Final = (1, 5)
_STEP_CUTS: Final = (0.75, 0.91)


def _by_number(recordings: Iterable[RawRecording]) -> list[RawRecording]:
    return sorted(recordings, key=lambda r: _number(r.recording_id))


def _number(id_: str) -> int:
    digits = id_.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1


def _kept(recordings: Iterable[RawRecording], normal: bool) -> list[RawRecording]:
    return [r for r in recordings if not (normal and r.is_error)]


def _split_by(recordings: Iterable[RawRecording], subset: Callable[[RawRecording], str | None]) -> Split:
    subsets: _Subsets = {"train": [], "val": [], "test": []}
    for r in recordings:
        name = subset(r)
        if name is not None:
            subsets[name].append(r.recording_id)
    return {name: tuple(ids) for name, ids in subsets.items()}


def _home(values: Mapping[str, Sequence[int]], value: int | None) -> str | None:
    return next((name for name, those in values.items() if value in those), None)


# -- the annotations' splits -------------------------------------------------------------------------------------


def _environment(root: Path, *, normal: bool = False) -> Split:
    infos = read_infos(root)
    return _split_by(
        _kept(read_recordings(root), normal),
        lambda r: (
            _home(_ENVIRONMENTS, infos[r.recording_id].environment) if r.recording_id in infos else None
        ),
    )


def _person(root: Path, *, normal: bool = False) -> Split:
    infos = read_infos(root)
    return _split_by(
        _kept(read_recordings(root), normal),
        lambda r: _home(_PERSONS, infos[r.recording_id].person_id) if r.recording_id in infos else None,
    )


def _recordings(root: Path, *, normal: bool = False, label: _Label = lambda r: r.is_error) -> Split:
    """Cut each recipe's normal and mistaken recordings, in the order of their numbers, after 3/5 and 1/5 more."""
    recordings = read_recordings(root)
    groups: dict[tuple[int, bool], list[RawRecording]] = defaultdict(list)
    for r in _by_number(recordings):
        groups[r.activity_id, label(r)].append(r)
    home: dict[str, str] = {}
    for group in groups.values():
        train = len(group) * _TRAIN_SHARE[0] // _TRAIN_SHARE[1]
        val = len(group) * _VAL_SHARE[0] // _VAL_SHARE[1]
        for n, r in enumerate(group):
            home[r.recording_id] = "train" if n < train else "val" if n < train + val else "test"
    return _split_by(_kept(recordings, normal), lambda r: home[r.recording_id])


# -- the splits of the code for error recognition ----------------------------------------------------------------


def _er_table(root: Path, value: Callable[[Video], str], val: str, test: str) -> Split:
    videos = read_videos(root / VIDEOS)

    def subset(r: RawRecording) -> str | None:
        video = videos.get(r.recording_id)
        if video is None or r.recording_id in _ER_LACKS:
            return None
        return {val: "val", test: "test"}.get(value(video), "train")

    return _split_by(read_recordings(root), subset)


def _er_recordings(root: Path) -> Split:
    """Take the recordings split, exchange the roles of val and test, and keep the first of each kind in a recipe."""
    recordings = read_recordings(root)
    kind = {r.recording_id: (r.activity_id, r.is_error) for r in recordings}
    given = _recordings(root)
    home: dict[str, str] = {}
    for role, other in (("val", "test"), ("test", "val")):
        taken: set[tuple[int, bool]] = set()
        for r in _by_number(r for r in recordings if r.recording_id in set(given[other])):
            if kind[r.recording_id] not in taken:
                taken.add(kind[r.recording_id])
                home[r.recording_id] = role
    return _split_by(
        recordings,
        lambda r: None if r.recording_id in _ER_LACKS else home.get(r.recording_id, "train"),
    )


def _steps(root: Path) -> Split:
    """Cut the right and the mistaken steps of each recording at 75 and 91 per cent; ids are ``recording:step``."""
    subsets: _Subsets = {"train": [], "val": [], "test": []}
    for r in read_recordings(root):
        first: dict[int, bool] = {}
        for s in r.step_annotations:
            if s.end_time >= 0:
                first.setdefault(s.step_id, bool(s.errors))
        for mistaken in (False, True):
            ids = [f"{r.recording_id}:{step}" for step, marked in first.items() if marked == mistaken]
            a, b = (int(cut * len(ids)) for cut in _STEP_CUTS)
            subsets["train"] += ids[:a]
            subsets["test"] += ids[a:b]
            subsets["val"] += ids[b:]
    return {name: tuple(ids) for name, ids in subsets.items()}


# -- the released files ------------------------------------------------------------------------------------------


def _rule(name: str, what: str, make: Callable[[Path], Split], path: str | None = None) -> SplitRule:
    if path is None:
        return SplitRule(name, what, make)
    return SplitRule(name, what, make, path, lambda root: read_json(root / path, dict[str, tuple[str, ...]]))


def _both(name: str, what: str, make: Callable[..., Split]) -> tuple[SplitRule, SplitRule]:
    folder = f"data_splits/{name}_data_split"
    return (
        _rule(name, what, make, f"{folder}_combined.json"),
        _rule(
            f"{name}-normal",
            f"{what}; only recordings without mistakes",
            partial(make, normal=True),
            f"{folder}_normal.json",
        ),
    )


def _said(values: Mapping[str, Sequence[int]]) -> str:
    return " / ".join(", ".join(map(str, those)) for those in values.values())


SPLITS: Final[tuple[SplitRule, ...]] = (
    *_both("environment", f"train/val/test are environments {_said(_ENVIRONMENTS)}", _environment),
    *_both("person", f"train/val/test are persons {_said(_PERSONS)} of the annotations", _person),
    *_both(
        "recipes",
        f"train/val/test are activities {_said(_RECIPES)} (the lists of the authors' script; the files are empty)",
        lambda root, normal=False: _split_by(
            _kept(read_recordings(root), normal), lambda r: _home(_RECIPES, r.activity_id)
        ),
    ),
    *_both(
        "recordings",
        "of each recipe's recordings with and of those without mistakes, in the order of their numbers, "
        "three fifths, one fifth and the rest: low numbers train, high numbers test",
        _recordings,
    ),
    _rule(
        "recordings-2023",
        "as recordings, with the scripts' numbers (1-25, 100-125) for the label: behind the paper's localization",
        partial(_recordings, label=lambda r: not is_normal_number(_number(r.recording_id))),
    ),
    _rule(
        "er-person",
        "val is person 1, test is person 3 of the table of videos; without 12_6",
        partial(_er_table, value=lambda video: video.person, val="1", test="3"),
        "er_annotations/person_combined_splits.json",
    ),
    _rule(
        "er-environment",
        "val is environment 1, test is environment 6; without 12_6",
        partial(_er_table, value=lambda video: video.environment, val="1", test="6"),
        "er_annotations/environment_combined_splits.json",
    ),
    _rule(
        "er-recordings",
        "two recordings of each recipe for val (from test of recordings) and two for test (from its val), the rest "
        "train; without 12_6. Which two is not known: here the first with and the first without mistakes",
        _er_recordings,
        "er_annotations/recordings_combined_splits.json",
    ),
    _rule(
        "steps",
        "the right and the mistaken steps of each recording, in the order of the file, cut at 75 and 91 per cent into "
        "train, test and val: every recording is in train, too; ids are recording:step",
        _steps,
    ),
)
