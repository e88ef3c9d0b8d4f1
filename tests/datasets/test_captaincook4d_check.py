"""What ``check`` finds in CaptainCook4D: the counts of the release, and each rule on a folder that breaks it."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.datasets.attacks import survive

from proctor.datasets.captaincook4d import DATASET
from proctor.datasets.captaincook4d.check import is_normal_number
from proctor.datasets.dataset import Finding
from proctor.datasets.lint import RULES as LINT_RULES
from proctor.errors import UserError

ERRORS: Final = "annotation_json/error_annotations.json"
COMPLETE: Final = "annotation_json/complete_step_annotations.json"
STEPS: Final = "annotation_json/step_annotations.json"
TEXTS: Final = "annotation_json/step_idx_description.json"
ACTIVITIES: Final = "annotation_json/activity_idx_step_idx.json"
RECORDINGS: Final = "annotation_json/recording_id_step_idx.json"
CATEGORIES: Final = "annotation_json/error_category_idx.json"
AVERAGES: Final = "metadata/average_segment_length.csv"
VIDEOS: Final = "metadata/video_information.csv"

RELEASE: Final = {
    # ProMQA (R rules: 2.2)
    "skipped": 287,
    "missing-tag": 285,
    "R2": 6,
    "R3": 4,
    "missing-and-other": 2,
    "R1": 72,
    "long-overlap": 249,
    "same-interval": 10,
    "R7": 18,
    "repeated-id": 73,
    "R8": 15,
    "skipped-and-performed": 1,
    "R4": 2,
    "renumbered": 1151,
    "no-performed-text": 631,
    "performed-as-told": 29,
    "R9": 23,
    "performed-without-mistake": 15,
    "R5": 16,
    "same-tag-twice": 22,
    "no-4k": 21,
    "id-hole": 3,
    "twin-text": 4,
    # Peddi et al. 2024
    "shared-id": 3,
    "text-of-several-ids": 4,
    "unused-id": 2,
    "repeated-step": 68,
    "mixed-labels": 13,
    "overlap": 428,
    "after-video": 9,
    "person-differs": 19,
    "number-says-normal": 41,
    "split-empty": 2,
    "split-lacks": 3,
    "background": 1,
    # counted here first
    "id-of-several-texts": 7,
    "not-listed": 2,
    "average-differs": 22,
    "R10": 66,
    "R11": 40,
}
"""Every rule that finds something in the release, and how often."""


@pytest.fixture(scope="module")
def release(shared_data: Path) -> tuple[Finding, ...]:
    return DATASET.check(shared_data / "captaincook4d")


def of(findings: tuple[Finding, ...], rule: str) -> list[Finding]:
    return [f for f in findings if f.rule == rule]


class TestRelease:
    def test_every_count(self, release: tuple[Finding, ...]) -> None:
        """In particular none of: files-differ, lookup-differs, unknown-tag, environment-differs, mistake-flag, R6."""
        assert Counter(f.rule for f in release) == RELEASE

    def test_recordings_that_are_known(self, release: tuple[Finding, ...]) -> None:
        def where(rule: str) -> set[str]:
            return {f.where.partition(":")[0] for f in of(release, rule)}

        assert where("R2") == {"18_3", "18_11", "18_19", "18_27", "18_33", "18_101"}
        assert where("R3") == {"4_43", "12_6", "12_38", "28_25"}
        assert where("missing-and-other") == {"4_43", "12_38"}
        assert where("skipped-and-performed") == {"4_30"}
        assert where("R4") == {"2_26", "17_49"}
        assert len(where("repeated-id")) == 53
        assert len(where("long-overlap")) == 151
        assert sum(i.startswith("22_") for i in where("same-interval")) >= 1
        assert {f.where for f in of(release, "shared-id")} == {"step 14", "step 76", "step 176"}
        assert {f.where for f in of(release, "unused-id")} == {"step 13", "step 86"}
        assert {f.where.partition(": ")[2] for f in of(release, "split-lacks")} == {"12_6"}
        assert of(release, "background")[0].seen == "18.0% of 94.48 h"

    def test_extra_segments(self, release: tuple[Finding, ...]) -> None:
        assert sum(int(f.seen.split()[0]) - 1 for f in of(release, "repeated-step")) == 80

    def test_ends_after_the_video_are_rounding(self, release: tuple[Finding, ...]) -> None:
        """Nine ends exceed the video, by 5 ms at most."""
        assert all(float(f.seen.split()[0]) <= 5.0 for f in of(release, "after-video"))
        assert all(f.seen.split()[1] == "ms" for f in of(release, "after-video"))

    def test_reading_checking_and_correcting_takes_less_than_the_bound(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        spent = []
        for _ in range(3):
            started = time.process_time()
            DATASET.read(root, "corrected")
            DATASET.check(root)
            spent.append(time.process_time() - started)
        assert min(spent) < 1.5

    def test_every_rule_is_explained(self, release: tuple[Finding, ...]) -> None:
        assert {f.rule for f in release} <= DATASET.rules.keys() | LINT_RULES.keys()
        assert all(f.where and f.seen for f in release)

    def test_every_file_of_the_folder_is_known(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        known = {p for file in DATASET.files for p in root.glob(file.path)}
        assert {p.name for p in root.rglob("*") if p.is_file() and p not in known} == {"LICENSE"}
        assert DATASET.changed_files(root) == ()
        assert sum(file.sha256 is not None for file in DATASET.files) == 20


@pytest.mark.parametrize(
    ("number", "normal"), [(0, False), (1, True), (25, True), (26, False), (99, False), (100, True), (125, True), (126, False)]
)  # fmt: skip
def test_numbers_of_scripts(number: int, normal: bool) -> None:
    assert is_normal_number(number) == normal


# -- a folder of our own -----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, tests_data: Path) -> Path:
    """The hand-made recordings, with all other files of a release made to fit them."""
    root = tmp_path / "cook"
    shutil.copytree(tests_data / "datasets" / "captaincook4d", root)
    recordings = load(root, ERRORS)
    complete = load(root, COMPLETE)
    dump(root, STEPS, {i: {"recording_id": i, "steps": r["steps"]} for i, r in complete.items()})
    of_activity: dict[str, list[int]] = defaultdict(list)
    lengths: dict[str, list[float]] = defaultdict(list)
    for r in recordings:
        for s in r["step_annotations"]:
            of_activity[str(r["activity_id"])].append(s["step_id"])
            if s["end_time"] >= 0:
                lengths[str(r["activity_id"])].append(s["end_time"] - s["start_time"])
    steps = [s for r in recordings for s in r["step_annotations"]]
    dump(root, TEXTS, {str(s["step_id"]): s["description"] for s in steps})
    dump(root, ACTIVITIES, of_activity)
    dump(
        root,
        RECORDINGS,
        {r["recording_id"]: [s["step_id"] for s in r["step_annotations"]] for r in recordings},
    )
    dump(root, CATEGORIES, {e["tag"]: 0 for s in steps for e in s.get("errors", [])})
    (root / AVERAGES).write_text("".join(f"{a},x,{sum(v) / len(v)}\n" for a, v in lengths.items()))
    every = {r["recording_id"]: r["is_error"] for r in recordings}
    for rule in DATASET.splits:
        if rule.released:
            ids = [i for i, wrong in every.items() if not (wrong and "normal" in rule.released)]
            (root / rule.released).parent.mkdir(exist_ok=True)
            dump(root, rule.released, {"train": ids[:2], "val": ids[2:3], "test": ids[3:]})
    return root


def load(root: Path, path: str) -> Any:
    return json.loads((root / path).read_text())


def dump(root: Path, path: str, value: object) -> None:
    (root / path).write_text(json.dumps(value))


def rules(root: Path) -> Counter[str]:
    return Counter(f.rule for f in DATASET.check(root))


def change(path: str, edit: Callable[[Any], object]) -> Callable[[Path], None]:
    def do(root: Path) -> None:
        value = load(root, path)
        edit(value)
        dump(root, path, value)

    return do


def step(n: int, s: int, **values: Any) -> Callable[[Path], None]:
    return change(ERRORS, lambda all_: all_[n]["step_annotations"][s].update(values))


def row(old: str, new: str, path: str = VIDEOS) -> Callable[[Path], None]:
    return lambda root: (root / path).write_text((root / path).read_text().replace(old, new, 1)) and None


def tags(*names: str) -> list[dict[str, str]]:
    return [{"tag": name, "description": "x"} for name in names]


BROKEN: Final[list[tuple[str, int, Callable[[Path], None]]]] = [
    ("files-differ", 2, step(0, 0, start_time=2.25)),
    ("files-differ", 1, change(STEPS, lambda v: v["61_1"]["steps"].pop())),
    ("files-differ", 1, change(STEPS, lambda v: v.pop("61_1"))),
    ("files-differ", 1, change(COMPLETE, lambda v: v["61_1"].pop("steps"))),
    ("files-differ", 1, change(STEPS, lambda v: v.update(extra=v["61_1"]))),
    ("files-differ", 1, change(STEPS, lambda v: v["61_30"]["steps"][0].update(has_errors=False))),
    ("files-differ", 1, change(COMPLETE, lambda v: v["61_1"].update(activity_id=3))),
    ("lookup-differs", 1, change(RECORDINGS, lambda v: v["61_1"].reverse())),
    ("lookup-differs", 1, change(RECORDINGS, lambda v: v.pop("61_1"))),
    ("lookup-differs", 1, change(ACTIVITIES, lambda v: v["61"].append(9))),
    ("lookup-differs", 1, change(TEXTS, lambda v: v.update({"1": "Fly"}))),
    ("lookup-differs", 1, change(TEXTS, lambda v: v.pop("1"))),
    ("unknown-tag", 1, change(CATEGORIES, lambda v: v.pop("Timing Error"))),
    ("mistake-flag", 1, change(ERRORS, lambda v: v[0].update(is_error=True))),
    ("number-says-normal", 1, step(0, 0, errors=tags("Timing Error"))),
    ("same-tag-twice", 1, step(1, 0, errors=tags("Timing Error", "Timing Error"))),
    ("missing-and-other", 1, step(1, 5, errors=tags("Missing Step", "Timing Error"))),
    ("performed-without-mistake", 1, step(0, 0, modified_description="Fill it halfway")),
    ("same-interval", 1, step(0, 1, start_time=2.0, end_time=9.5)),
    ("after-video", 1, step(0, 6, end_time=120.51)),
    ("repeated-id", 1, step(0, 5, step_id=4)),
    ("repeated-step", 1, step(0, 5, step_id=4)),
    ("mixed-labels", 1, step(1, 4, step_id=1)),
    ("renumbered", 1, step(0, 6, step_id=6)),
    ("person-differs", 1, row("61_1,1,1,", "61_1,1,2,")),
    ("environment-differs", 1, row("61_1,1,1,", "61_1,2,1,")),
    ("video-lacks", 2, row("61_1,", "61_9,")),
    ("average-differs", 2, lambda root: (root / AVERAGES).write_text("61,x,3.5\n62,x,y\n") and None),
    ("shared-id", 1, step(3, 0, step_id=1)),
    ("id-of-several-texts", 1, step(3, 0, step_id=1)),
    ("split-lacks", 1, change("data_splits/person_data_split_combined.json", lambda v: v["train"].pop())),
    ("split-twice", 1, change("data_splits/person_data_split_combined.json", lambda v: v["val"].append("61_1"))),
    ("split-unknown", 1, change("data_splits/person_data_split_normal.json", lambda v: v["val"].append("7_7"))),
    ("split-empty", 1, change("data_splits/recipes_data_split_normal.json", lambda v: v.clear())),
    ("file-missing", 1, lambda root: (root / STEPS).unlink()),
    ("no_activity", 1, change(COMPLETE, lambda v: v.pop("62_2"))),
    ("no_task_graph", 2, lambda root: (root / "task_graphs/buttertoast.json").unlink()),
    ("id-hole", -1, lambda root: (root / "task_graphs/buttertoast.json").unlink()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "more", "damage"), BROKEN, ids=[f"{r}-{n}" for n, (r, _, _) in enumerate(BROKEN)]
)
def test_a_rule_fires(folder: Path, rule: str, more: int, damage: Callable[[Path], None]) -> None:
    before = rules(folder)
    damage(folder)
    assert rules(folder)[rule] - before[rule] == more


def test_the_folder_agrees_with_itself(folder: Path) -> None:
    found = rules(folder)
    assert not found.keys() & {
        "files-differ",
        "lookup-differs",
        "unknown-tag",
        "split-lacks",
        "file-missing",
        "average-differs",
    }


def test_background_is_the_time_in_no_step(folder: Path) -> None:
    (root_seen,) = (f.seen for f in DATASET.check(folder) if f.rule == "background")
    total = 120.5 + 118.25 + 130 + 151 + 80.75
    covered = (
        (110 - 2 - 1 - 1 - 1) + (117 - 3 - 1 - 1 - 1 - 2) + (111 - 1 - 1 - 1) + (150 - 2) + (79 - 4 - 1 - 1)
    )
    assert root_seen == f"{1 - covered / total:.1%} of {total / 3600:.2f} h"


@pytest.mark.parametrize("path", [f.path for f in DATASET.files if f.sha256])
@pytest.mark.parametrize("damage", ["truncated", "list", "loop", "folder"])
def test_a_file_that_cannot_be_read_is_named(folder: Path, path: str, damage: str) -> None:
    file = folder / path
    data = file.read_bytes()
    file.unlink()
    if damage == "loop":
        file.symlink_to(file)
    elif damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(data[: len(data) // 2].rstrip() if damage == "truncated" else b"[[[[1]]]]")
    if (path == VIDEOS and damage == "truncated") or (path == AVERAGES and damage in ("truncated", "list")):
        assert DATASET.check(folder)  # still a table, if a shorter one: the checksum tells
        return
    with pytest.raises(UserError) as caught:
        DATASET.check(folder)
    assert file.name in str(caught.value)


def test_huge_numbers_make_no_huge_report(folder: Path) -> None:
    step(0, 0, step_id=10**15)(folder)
    change("task_graphs/minttea.json", lambda v: v["steps"].update({"8000000": v["steps"].pop("8")}))(folder)
    change("task_graphs/minttea.json", lambda v: v["edges"].__setitem__(-1, [7, 8_000_000]))(folder)
    started = time.process_time()
    assert len(DATASET.check(folder)) < 2_000
    assert time.process_time() - started < 2


@pytest.mark.parametrize("family", ["random bytes", "wrong type", "missing field"])
def test_damage_to_the_files_that_are_only_compared(folder: Path, tmp_path: Path, family: str) -> None:
    assert survive(DATASET, folder, tmp_path / "broken", family, cap=4)
