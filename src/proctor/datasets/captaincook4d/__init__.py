"""CaptainCook4D: 384 recordings of 24 recipes with step times, mistakes and task graphs.

Recordings are read from ``annotation_json/error_annotations.json`` (steps, times, mistakes),
``complete_step_annotations.json`` (activity names, person, environment) and ``task_graphs/*.json``;
``metadata/video_information.csv`` (duration) and ``no_4k_video.json`` are used when present. ``check`` compares all
other files with them. Sources: Peddi et al. 2024; ProMQA for what is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from proctor.datasets.captaincook4d.check import RULES, find_in_recordings
from proctor.datasets.captaincook4d.check_files import (
    ACTIVITY_STEPS,
    AVERAGES,
    CATEGORIES,
    FILE_RULES,
    RECORDING_STEPS,
    STEP_TEXTS,
    STEPS,
    find_in_files,
)
from proctor.datasets.captaincook4d.figures import PUBLISHED, measure
from proctor.datasets.captaincook4d.raw import (
    COMPLETE,
    ERRORS,
    NO_4K,
    VIDEOS,
    activity_key,
    is_there,
    read_graphs,
    read_raw,
)
from proctor.datasets.captaincook4d.read import read_performances, read_recordings_of
from proctor.datasets.captaincook4d.splits import SPLITS
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Finding, Log, ReadResult

__all__ = ["DATASET", "activity_key", "read_graphs"]

_SPLIT_SHA256: Final = {
    "data_splits/environment_data_split_combined.json": "8be510c34a2546a2d97e90d718138a0168333a339d42eeb0b33ef3c28b2a0f87",
    "data_splits/environment_data_split_normal.json": "b5b1f134a62608b6722487544b31aed31b471adacb9431a3c03f25c58f0f3258",
    "data_splits/person_data_split_combined.json": "1ccb06b475871948946411205ace77e34081fa49f45fdd1ea62c24acdb42ea96",
    "data_splits/person_data_split_normal.json": "bd1d0042163f8e1de4e419724c78a77ed2a0c62cddb5c1d7fc5b2ffe33698061",
    "data_splits/recipes_data_split_combined.json": "7e5e53bf6a639dd32a4fe55a49fc52eb0fcf9f1308ea20438092652679628851",
    "data_splits/recipes_data_split_normal.json": "7e5e53bf6a639dd32a4fe55a49fc52eb0fcf9f1308ea20438092652679628851",
    "data_splits/recordings_data_split_combined.json": "83240f4c9da1d2eb248c4bacc01deb7ccb34071cbb5fa0358934fa5a0993d89b",
    "data_splits/recordings_data_split_normal.json": "aa6871e45cce8b72c88ba97550f846c5ccc472dedf693ea6da91e058ee0d539e",
    "er_annotations/environment_combined_splits.json": "be119f7ef202e8b59387442ea7e4088f6bfa6f248c4e47fbeaa8be1069fb166c",
    "er_annotations/person_combined_splits.json": "c85df502a656cac9086503f889b5b6782c91b27dcde53959b0f2a14f6d216631",
    "er_annotations/recordings_combined_splits.json": "1051adf5955fc062dc16b89217b046c831df547d4d0a82b3eb407a6bf24c7ed8",
}  # fmt: skip

_FILES: Final = (
    DataFile(
        ERRORS,
        "steps, times and mistakes of every recording",
        "52a9c304a32bb7f01aebe0b9c28ed5b93ad291487ee4b15f6c057023e6cacc53",
    ),
    DataFile(
        COMPLETE,
        "activity names, persons and environments, and the same steps again",
        "54d274416ab4ad5c78edb748c758de0a7374f5b7cb2b58f3434cde82529e131b",
    ),
    DataFile("task_graphs/*.json", "the task graph of every recipe"),
    DataFile(
        VIDEOS,
        "lengths of the videos, and persons (others than the annotations', 19 times)",
        "51febe466df9d336eaca8c5a467475bc3909b9d597208861316be78f4dd50138",
        required=False,
    ),
    DataFile(
        NO_4K,
        "recordings without a 4K video; compiled from the release's list of links, no file of the release",
        required=False,
    ),
    DataFile(
        STEPS,
        "the same steps a third time; compared only",
        "c9f3050b7f7487bbcf5f798f22a232a1030c92b8825da26b2dc08c889bb182cf",
        required=False,
    ),
    DataFile(
        STEP_TEXTS,
        "text of every step id; compared only",
        "7ed55839dc515b20993cf04fdcb908dcaeb40f0d925c7a8bc09facaedc719e4f",
        required=False,
    ),
    DataFile(
        ACTIVITY_STEPS,
        "step ids of all recordings of an activity; compared only",
        "8a77faf9f4dca1eb68e18fd0f3b25dd3635bbce4937755ac87bfb767999af53d",
        required=False,
    ),
    DataFile(
        RECORDING_STEPS,
        "step ids of every recording; compared only",
        "264e06d06e7c33441368b013062363e487490765b6568551c0f34737549d2e13",
        required=False,
    ),
    DataFile(
        CATEGORIES,
        "the eight kinds of mistakes; compared only",
        "795d967f0955ad0ce7557688367c589b85e96dc927a01d4a1445ccd61556ce99",
        required=False,
    ),
    DataFile(
        AVERAGES,
        "mean step length of every recipe in 2023; compared only",
        "a936f1c91abd865dfe61cb49b6a85f71951901ea860ad0b377e6608851772b71",
        required=False,
    ),
    *(
        DataFile(path, "recordings of train, val and test; compared only", sha256, required=False)
        for path, sha256 in _SPLIT_SHA256.items()
    ),
)


def _read(root: Path, mode: Corrections = "corrected") -> ReadResult:
    DATASET.require_files(root)
    log = Log()
    log.findings += _strange_files(root)
    return read_recordings_of(read_raw(root), mode, log)


def _check(root: Path) -> tuple[Finding, ...]:
    DATASET.require_files(root)
    raw = read_raw(root)
    return (*_strange_files(root), *find_in_recordings(raw), *find_in_files(root, raw))


def _strange_files(root: Path) -> Iterator[Finding]:
    """Tell files that are not those of the release."""
    for path in DATASET.changed_files(root):
        yield Finding("checksum", path, "differs from the release that the corrections were made for")
    for file in DATASET.files:
        if file.sha256 and is_there(root / file.path) and not (root / file.path).is_file():
            yield Finding("checksum", file.path, "is no file")


DATASET: Final = Dataset(
    name="captaincook4d",
    title="CaptainCook4D",
    version="annotations a8a920a3",
    licence="MIT",
    citation=(
        "Peddi et al. CaptainCook4D: A Dataset for Understanding Errors in Procedural Activities. "
        "NeurIPS 2024 Datasets and Benchmarks."
    ),
    homepage="https://captaincook4d.github.io",
    files=_FILES,
    read=_read,
    check=_check,
    rules=RULES | FILE_RULES,
    seen="real",
    access="The annotations are a public repository. The videos are a separate download; nothing here needs them.",
    notes=(
        (
            "Mistakes are what is annotated, never what a recording's number says: 41 recordings of scripts without "
            "mistakes have some. A skipped step has the times -1 and -1."
        ),
        (
            "Step ids run to 352 over all recipes; 350 are used, three of them by two recipes. They are not the ids of the "
            "task graphs: a step is found in its graph by its text, and a text that a graph has several times is handed "
            "out in topological order."
        ),
        (
            "Published mode reproduces the annotations behind ProMQA, one correction in the wrong recording included. "
            "Corrected mode, the default, puts that right and applies the rules R2 to R5 to what the hand-made "
            "corrections leave."
        ),
        (
            "The table of videos and the annotations name different persons for 19 recordings, so a split by person is "
            "disjoint by one of them only. The splits of the annotations and those of the code for error recognition give "
            "the same recordings other roles: never mix models across the two."
        ),
        (
            "9 steps end up to 5 ms after the listed length of their video, which is rounded to hundredths of a second; "
            "nothing is clipped. Neighbouring steps overlap 428 times (25 more by rounding only)."
        ),
        "Fine-grained actions, narrations and sensor streams are not in the annotation release and not read.",
    ),
    published=PUBLISHED,
    measure=measure,
    splits=SPLITS,
    performances=read_performances,
)
