"""The CaptainCook4D reader: real counts, both correction modes, and every way in which its files can be broken."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.captaincook4d import DATASET, activity_key
from proctor.datasets.lint import lint_recording
from proctor.errors import UserError
from proctor.procedure.recording import mistake_kind

STEPS = {
    "0": "START",
    "1": "Boil-Boil water",
    "2": "Stir-Stir it",
    "3": "Pour-Pour it",
    "4": "Stir-Stir it",
    "5": "END",
}
EDGES = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]


def step(text: str, number: int, start: float, end: float, **more: Any) -> dict[str, Any]:
    return {"description": text, "step_id": number, "start_time": start, "end_time": end, **more}


def tag(name: str, text: str = "") -> dict[str, str]:
    return {"tag": name, "description": text}


GOOD = [
    step("Boil-Boil water", 71, 5.0, 10.0),
    step(
        "Stir-Stir it",
        72,
        10.0,
        20.0,
        errors=[tag("Technique Error", "spilled")],
        modified_description="Stir wildly",
    ),
    step("Pour-Pour it", 73, 20.0, 30.0),
    step("Stir-Stir it", 72, 30.0, 40.0),
]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def make(steps: list[dict[str, Any]] = GOOD, *, graph: Any = None, recordings: Any = None) -> Path:
        (tmp_path / "annotation_json").mkdir(exist_ok=True)
        (tmp_path / "task_graphs").mkdir(exist_ok=True)
        one = {"recording_id": "99_1", "activity_id": 99, "is_error": True, "step_annotations": steps}
        info = {"activity_id": 99, "activity_name": "Test Tea", "person_id": 1, "environment": 2}
        write(
            tmp_path / "annotation_json/error_annotations.json", [one] if recordings is None else recordings
        )
        write(tmp_path / "annotation_json/complete_step_annotations.json", {"99_1": info})
        write(tmp_path / "task_graphs/testtea.json", graph or {"steps": STEPS, "edges": EDGES})
        return tmp_path

    return make


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def rules(folder: Path) -> Counter[str]:
    return Counter(c.rule for c in DATASET.read(folder, "corrected").corrections)


class TestReading:
    def test_a_good_folder(self, folder: Callable[..., Path]) -> None:
        result = DATASET.read(folder(), "corrected")
        (recording,) = result.recordings
        assert [s.step_id for s in recording.segments] == ["1", "2", "3", "4"]
        assert recording.segments[1].description == "Stir wildly"
        assert recording.segments[1].mistakes[0].kind == "technique"
        assert (recording.attributes["person"], recording.attributes["environment"]) == ("1", "2")
        assert result.graphs["99"].name == "Test Tea"

    def test_steps_are_sorted_by_time_skipped_ones_first(self, folder: Callable[..., Path]) -> None:
        skipped = step("Pour-Pour it", 73, -1, -1, errors=[tag("Missing Step")])
        (recording,) = DATASET.read(folder([GOOD[1], GOOD[0], skipped]), "published").recordings
        assert [s.step_id for s in recording.segments] == ["3", "1", "2"]

    def test_a_skipped_repetition_keeps_its_place_only_when_corrected(
        self, folder: Callable[..., Path]
    ) -> None:
        last_skipped = [*GOOD[:3], step("Stir-Stir it", 72, -1, -1, errors=[tag("Missing Step")])]
        (published,) = DATASET.read(folder(last_skipped), "published").recordings
        (corrected,) = DATASET.read(folder(last_skipped), "corrected").recordings
        assert [s.step_id for s in published.segments] == ["2", "1", "4", "3"]
        assert [s.step_id for s in corrected.segments] == ["4", "1", "2", "3"]

    def test_names(self) -> None:
        assert activity_key("Tomato Mozzarella Salad") == "tomatomozzarellasalad"
        kinds = [mistake_kind(t) for t in ("Order Error", "Missing Step", "Other", "Temperature Error", "")]
        assert kinds == ["order", "missing", "other", "temperature", "other"]


class TestRules:
    def test_r2_marks_a_step_without_times(self, folder: Callable[..., Path]) -> None:
        root = folder([*GOOD[:3], step("Stir-Stir it", 72, -1, -1)])
        assert rules(root) == {"R2": 1}
        assert rules_published(root) == 0

    def test_r3_with_other_mistakes_it_was_done(self, folder: Callable[..., Path]) -> None:
        root = folder([step("Boil-Boil water", 71, 5, 10, errors=[tag("Missing Step"), tag("Timing Error")])])
        (recording,) = DATASET.read(root, "corrected").recordings
        assert [m.kind for m in recording.segments[0].mistakes] == ["timing"]

    def test_r3_alone_it_was_not_done(self, folder: Callable[..., Path]) -> None:
        root = folder([step("Boil-Boil water", 71, 5, 10, errors=[tag("Missing Step")]), *GOOD[1:]])
        assert DATASET.read(root, "corrected").recordings[0].segments[0].end is None

    def test_r4_takes_the_nearest_free_step(self, folder: Callable[..., Path]) -> None:
        result = DATASET.read(folder([step("Boil-Boil watter", 71, 5, 10), *GOOD[1:]]), "corrected")
        assert result.recordings[0].segments[0].text == "Boil-Boil water"
        assert (result.corrections[0].rule, result.corrections[0].old) == ("R4", "Boil-Boil watter")

    def test_r5_drops_an_order_mistake_that_nothing_supports(self, folder: Callable[..., Path]) -> None:
        root = folder([step("Boil-Boil water", 71, 5, 10, errors=[tag("Order Error")]), *GOOD[1:]])
        assert rules(root) == {"R5": 1}

    def test_r5_keeps_one_with_a_violated_prerequisite(self, folder: Callable[..., Path]) -> None:
        root = folder([step("Pour-Pour it", 73, 5, 10, errors=[tag("Order Error")])])
        assert rules(root) == {}


def rules_published(root: Path) -> int:
    return len(DATASET.read(root, "published").corrections)


class TestDropped:
    @pytest.mark.parametrize(
        ("start", "end"), [(-5.0, 10.0), (20.0, 10.0), (10.0, 10.0), (5.0, -1.0), (-1.0, 5.0)], ids=str
    )
    def test_bad_times_drop_the_recording_with_the_reason(
        self, folder: Callable[..., Path], start: float, end: float
    ) -> None:
        result = DATASET.read(folder([step("Boil-Boil water", 71, start, end), *GOOD[1:]]), "corrected")
        assert result.recordings == ()
        assert [(d.id, d.reason) for d in result.dropped] == [("99_1", "bad_times")]
        assert "71" in result.dropped[0].detail

    def test_a_step_that_is_not_in_the_graph(self, folder: Callable[..., Path]) -> None:
        result = DATASET.read(folder([step("Fly-Fly to the moon", 71, 5, 10)]), "corrected")
        assert [d.reason for d in result.dropped] == ["unknown_step"]

    def test_a_recipe_without_graph(self, folder: Callable[..., Path]) -> None:
        root = folder()
        (root / "task_graphs/testtea.json").rename(root / "task_graphs/other.json")
        assert [d.reason for d in DATASET.read(root, "corrected").dropped] == ["no_task_graph"]

    def test_a_recording_without_activity(self, folder: Callable[..., Path]) -> None:
        root = folder()
        write(root / "annotation_json/complete_step_annotations.json", {})
        assert [d.reason for d in DATASET.read(root, "corrected").dropped] == ["no_activity"]


ERRORS = "annotation_json/error_annotations.json"


class TestBroken:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "empty"),
            (b"   \n", "empty"),
            (b"not json", "not valid JSON"),
            (b'[{"recording_id": "1_1", "activ', "not valid JSON"),
            (b"\xff\xfe[]", "UTF-8|not valid JSON"),
            (b"{}", "Expected `array`"),
            (b"[]", "no recordings"),
            (b"[1]", "Expected `object`"),
            (b'[{"recording_id": 1}]', r"recording_id"),
            (b'[{"recording_id": "1_1", "activity_id": 1, "is_error": true}]', "step_annotations"),
            (b'[{"recording_id":"1","activity_id":1,"is_error":true,"step_annotations":[{"description":"a","step_id":1,"start_time":NaN,"end_time":2}]}]', "not valid JSON"),
            (b'[{"recording_id":"1","activity_id":1,"is_error":true,"step_annotations":[{"description":"a","step_id":1,"start_time":"x","end_time":2}]}]', r"start_time"),
            (b"[" * 100_000, "Expected `object`, got `array`"),
        ],
        ids=lambda v: str(v)[:24],
    )  # fmt: skip
    def test_the_message_names_the_file_and_what_was_seen(
        self, folder: Callable[..., Path], content: bytes, message: str
    ) -> None:
        root = folder()
        (root / ERRORS).write_bytes(content)
        with pytest.raises(UserError, match=message) as caught:
            DATASET.read(root, "corrected")
        assert ERRORS in str(caught.value)

    def test_infinite_times_are_dropped(self, folder: Callable[..., Path]) -> None:
        root = folder()
        text = (root / ERRORS).read_text().replace("5.0", "1e999", 1)
        (root / ERRORS).write_text(text)
        with pytest.raises(UserError, match=r"not valid JSON|range|finite"):
            DATASET.read(root, "corrected")

    def test_duplicate_recordings(self, folder: Callable[..., Path]) -> None:
        one = {"recording_id": "99_1", "activity_id": 99, "is_error": True, "step_annotations": GOOD}
        with pytest.raises(UserError, match="more than once"):
            DATASET.read(folder(recordings=[one, one]), "corrected")

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            ({"steps": STEPS, "edges": [*EDGES, [4, 1]]}, "1 → 2 → 3 → 4 → 1"),
            ({"steps": STEPS, "edges": [*EDGES, [2, 77]]}, "unknown step '77'"),
            ({"steps": STEPS, "edges": [*EDGES, [2, 2]]}, "its own prerequisite"),
            ({"steps": {}, "edges": []}, "no steps"),
            ({"steps": {"a": "x"}, "edges": []}, "not a number"),
            ({"steps": {**STEPS, "3": 4}, "edges": EDGES}, "Expected `str`"),
            ({"steps": STEPS, "edges": [[0]]}, "edges"),
            ({"steps": STEPS, "edges": EDGES[:-2]}, "lead"),
        ],
        ids=lambda v: str(v)[-20:],
    )
    def test_broken_graphs(self, folder: Callable[..., Path], graph: Any, message: str) -> None:
        with pytest.raises(UserError, match=message) as caught:
            DATASET.read(folder(graph=graph), "corrected")
        assert "testtea.json" in str(caught.value)

    def test_a_folder_of_something_else_says_what_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"error_annotations.json, .*missing"):
            DATASET.read(tmp_path, "corrected")

    def test_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no such folder"):
            DATASET.read(tmp_path / "nowhere", "corrected")

    def test_a_symlink_loop(self, folder: Callable[..., Path]) -> None:
        root = folder()
        (root / ERRORS).unlink()
        (root / ERRORS).symlink_to(root / ERRORS)
        with pytest.raises(UserError):
            DATASET.read(root, "corrected")

    def test_a_bad_duration_names_the_recording(self, folder: Callable[..., Path]) -> None:
        root = folder()
        (root / "metadata").mkdir()
        (root / "metadata/video_information.csv").write_text("recording_id,duration(sec)\n99_1,soon\n")
        with pytest.raises(UserError, match="99_1"):
            DATASET.read(root, "corrected")

    def test_a_changed_release_is_noticed(self, folder: Callable[..., Path]) -> None:
        findings = DATASET.read(folder(), "corrected").findings
        assert {f.rule for f in findings} == {"checksum", "patch"}


class TestRelease:
    def test_the_counts_written_down(self, shared_data: Path) -> None:
        expected = {
            "recordings": 384,
            "error_recordings": 220,
            "normal_recordings": 164,
            "activities": 24,
            "steps": 5700,
            "skipped_steps_time_minus1": 287,
            "missing_tag_steps": 285,
            "minus1_without_missing_tag": 6,
            "missing_tag_with_real_time": 4,
            "missing_tag_with_another_tag": 2,
            "steps_with_errors": 1964,
            "errors": 2574,
            "modified_descriptions": 1348,
            "performed_steps_not_in_start_order_recordings": 72,
            "list_not_sorted_by_start_recordings": 190,
            "adjacent_overlap_gt2s": 249,
            "adjacent_pairs": 5029,
            "adjacent_near_identical": 18,
            "identical_interval_pairs": 10,
            "repeated_raw_step_ids.pairs": 73,
            "repeated_raw_step_ids.recordings": 53,
            "repeated_performed_ids_after_remap": 14,
            "description_not_in_graph": 2,
            "annotation_id_minus_offset_equals_graph_id.equal": 4549,
            "annotation_id_minus_offset_equals_graph_id.different": 1151,
            "recordings_without_gopro_4k": 21,
            "person_mismatch_video_information": 19,
            "errors_without_modified_description": 631,
            "errors_but_modified_equals_description": 29,
            "modified_description_without_errors": 15,
            "tags.Order Error": 795,
            "tags.Other": 8,
        }
        counts = DATASET.read(shared_data / "captaincook4d", "published").counts
        assert {k: counts[k] for k in expected} == expected

    @pytest.mark.parametrize("mode", ["published", "corrected"])
    def test_every_patch_applies_and_nothing_is_dropped(self, shared_data: Path, mode: Any) -> None:
        result = DATASET.read(shared_data / "captaincook4d", mode)
        assert (len(result.recordings), len(result.corrections)) == (384, 47)
        assert (result.findings, result.dropped) == ((), ())

    def test_the_modes_differ_in_four_recordings(self, shared_data: Path) -> None:
        both = [DATASET.read(shared_data / "captaincook4d", m).recordings for m in ("published", "corrected")]
        assert {p.id for p, c in zip(*both, strict=True) if p != c} == {"2_38", "10_50", "29_5", "29_28"}

    def test_what_the_linter_finds_in_the_raw_files(self, shared_data: Path) -> None:
        found = Counter(f.rule for f in DATASET.check(shared_data / "captaincook4d"))
        expected = {"R1": 72, "R2": 6, "R3": 4, "R4": 2, "R5": 16, "R7": 18, "R8": 15, "R9": 23}
        assert {k: found[k] for k in expected} == expected
        assert "R6" not in found

    def test_what_the_linter_finds_after_the_published_corrections(self, shared_data: Path) -> None:
        result = DATASET.read(shared_data / "captaincook4d", "published")
        findings = [f for r in result.recordings for f in lint_recording(r, result.graphs[r.activity_id])]
        untagged = [f for f in findings if f.rule == "R10"]
        assert len(untagged) == 65
        assert len({f.where.partition(":")[0] for f in untagged}) == 47
        assert sum(f.rule == "R5" for f in findings) == 6

    def test_the_hand_swapped_labels_are_flagged(self, shared_data: Path) -> None:
        flagged = {
            f.where.partition(":")[0] for f in DATASET.check(shared_data / "captaincook4d") if f.rule == "R11"
        }
        assert {"1_36", "5_2"} <= flagged
