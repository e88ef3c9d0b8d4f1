"""Rows of steps: lines, packed files, steps that were not performed; the real rows at full size."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive

from proctor.datasets import json_files
from proctor.datasets.dataset import Log, ReadResult
from proctor.datasets.steps import DATASET
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Segment


@pytest.fixture
def fixture(tests_data: Path) -> Path:
    return tests_data / "datasets" / "steps"


def row(id_: Any = "v", **changes: Any) -> dict[str, Any]:
    steps = [{"i": 0, "start": 5, "end": 20, "text": "boil water"}]
    whole = {
        "dataset": "Tea",
        "video_id": id_,
        "task": "Make Tea",
        "split": "train",
        "duration": 60.0,
        "steps": steps,
    }
    return {k: v for k, v in (whole | changes).items() if v is not ...}


def step(**changes: Any) -> dict[str, Any]:
    return {
        k: v
        for k, v in ({"i": 0, "start": 5, "end": 20, "text": "boil water"} | changes).items()
        if v is not ...
    }


def read(folder: Path, *rows: Any) -> ReadResult:
    lines = (r if isinstance(r, str) else json.dumps(r) for r in rows)
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return DATASET.read(folder)


def rules(result: ReadResult) -> list[str]:
    return [f.rule for f in result.findings]


def reasons(result: ReadResult) -> list[str]:
    return [d.reason for d in result.dropped]


def test_a_row_becomes_a_recording(tmp_path: Path):
    result = read(tmp_path, row())
    (recording,) = result.recordings
    assert (recording.id, recording.activity_id, recording.activity_name) == ("v", "Make Tea", "Make Tea")
    assert recording.duration == 60.0
    assert recording.attributes == {"dataset": "Tea", "split": "train"}
    assert recording.segments == (Segment("0", "boil water", 5.0, 20.0),)
    assert (result.findings, result.dropped) == ((), ())


def test_rows_of_each_data_set(fixture: Path):
    recordings = {r.id: r for r in DATASET.read(fixture).recordings}
    assert list(recordings) == ["uid-1", "boat1", "tea_1", "eggA"]
    goal, boat, tea, egg = recordings.values()
    assert (goal.activity_id, goal.activity_name) == ("COOKING:MAKE_TEA", "Makes tea")
    assert goal.duration == 99.5
    assert [s.step_id for s in goal.segments] == ["General: Walk", "Make drinks: Boil water"]
    assert (boat.attributes["moment_start"], boat.attributes["moment_end"]) == ("10", "50")
    assert (egg.activity_id, egg.activity_name) == ("902", "902")
    assert (tea.activity_id, tea.activity_name) == ("7", "Make Tea")
    assert tea.duration is None
    assert tea.segments[0] == Segment("3", "Warm-Warm the pot", mistakes=(Mistake("other"),))
    assert tea.segments[0].skipped
    assert [bool(s.mistakes) for s in tea.segments] == [True, False, True]


def test_what_is_counted_and_told(fixture: Path):
    result = DATASET.read(fixture)
    assert result.counts == {"videos": 4, "steps": 9, "substeps": 1, "not_performed": 1}
    assert Counter(rules(result)) == {"unsorted": 1, "overlap": 2, "zero-length": 1, "beyond-video": 1}
    assert set(rules(result)) <= set(DATASET.rules)


def test_a_broken_line_is_listed_and_the_next_one_read(tmp_path: Path):
    broken = ('{"video_id": ', "{}{}", '{"a": 1', "[" * 100_000, "9" * 10_000, "\x00")
    result = read(tmp_path, *broken, row("w"), "", "  ", "7", "[]", "{}", '{"video_id": "x", "steps": {}}')
    assert [r.id for r in result.recordings] == ["w"]
    assert reasons(result) == ["not-json"] * 6 + ["bad-record"] * 4
    assert [d.id for d in result.dropped][:2] == ["rows.jsonl:1", "rows.jsonl:2"]
    assert all(len(d.detail) <= 300 for d in result.dropped)
    assert set(reasons(result)) <= set(DATASET.rules)


def test_a_line_that_is_not_utf_8_is_listed(tmp_path: Path):
    good = json.dumps(row()).encode()
    (tmp_path / "rows.jsonl").write_bytes(good.replace(b"Tea", b"T\xff") + b"\n" + good)
    result = DATASET.read(tmp_path)
    assert reasons(result) == ["not-json"]
    assert len(result.recordings) == 1


def test_a_file_of_another_kind_is_given_up(tmp_path: Path):
    with pytest.raises(UserError, match=r"1,000 lines are no rows of steps, the last is line 1000") as caught:
        read(tmp_path, *("x" for _ in range(5_000)))
    assert caught.value.where == str(tmp_path / "rows.jsonl")
    assert len(read(tmp_path, *("x" for _ in range(999))).dropped) == 999


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(tmp_path: Path):
    text = json.dumps(row("a")) + "\r\n" + json.dumps(row("b")) + "\r\n"
    (tmp_path / "rows.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [r.id for r in DATASET.read(tmp_path).recordings] == ["a", "b"]


def test_a_line_that_is_too_long_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_files, "MAX_LINE_BYTES", 1_000)
    result = read(tmp_path, row("a"), row("b", task="x" * 2_000), row("c"))
    assert [r.id for r in result.recordings] == ["a", "c"]
    assert [(d.id, d.reason) for d in result.dropped] == [("rows.jsonl:2", "line-too-long")]


def test_a_line_of_256_mb_is_refused_and_not_held(tmp_path: Path):
    with (tmp_path / "rows.jsonl").open("wb") as stream:
        stream.truncate(2**28)  # takes no room
    with pytest.raises(UserError, match="nothing but lines of more than 67,108,864 bytes"):
        DATASET.read(tmp_path)


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_packed_file_that_is_cut_is_refused_after_what_it_held(cut: float, tmp_path: Path):
    import random

    rng = random.Random(1)
    rows = [row(f"v{i}", note="".join(rng.choices("abcdefghij", k=2_000))) for i in range(200)]
    data = gzip.compress("\n".join(map(json.dumps, rows)).encode())
    (tmp_path / "rows.jsonl.gz").write_bytes(data[: int(len(data) * cut)])
    read_before = []
    with pytest.raises(UserError, match="cannot be unpacked") as caught:
        read_before.extend(iter_ids(tmp_path))
    assert caught.value.where == str(tmp_path / "rows.jsonl.gz")
    with pytest.raises(UserError):
        DATASET.read(tmp_path)


def iter_ids(folder: Path) -> Iterator[str]:
    return (r.id for r in DATASET.iter_records(folder))


@pytest.mark.parametrize("data", [b"", b"not packed", b"\x1f\x8b", b"\x1f\x8b\x08\x00" + b"\x00" * 20])
def test_a_file_that_is_not_packed(data: bytes, tmp_path: Path):
    (tmp_path / "rows.jsonl.gz").write_bytes(data)
    with pytest.raises(UserError, match="cannot be unpacked" if data else "the file is empty") as caught:
        DATASET.read(tmp_path)
    assert caught.value.where == str(tmp_path / "rows.jsonl.gz")


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_a_file_without_rows_is_refused(text: str, tmp_path: Path):
    with pytest.raises(UserError, match="the file is empty") as caught:
        read(tmp_path, text)
    assert caught.value.where == str(tmp_path / "rows.jsonl")


def test_rows_come_one_by_one(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row(f"v{i}")) for i in range(10)))
    (tmp_path / "b.jsonl").mkdir()
    records, log = DATASET.iter_records(tmp_path, "published", log := Log()), log
    assert next(records).id == "v0"
    assert log.counts["videos"] == 1
    with pytest.raises(UserError, match="cannot be read"):
        list(records)


def test_a_folder_without_rows_is_refused(tmp_path: Path):
    (tmp_path / "rows.json").touch()
    with pytest.raises(UserError, match="no rows of steps") as caught:
        DATASET.read(tmp_path)
    assert caught.value.where == str(tmp_path)


def test_ids(tmp_path: Path):
    (tmp_path / "other.jsonl").write_text(json.dumps(row("a")))
    result = read(tmp_path, row("a"), row("a"), row(7), row(None), row(""), row("a/b"), row(...))
    assert [r.id for r in result.recordings] == ["a"]
    assert Counter(reasons(result)) == {"duplicate-id": 2, "bad-id": 5}


@pytest.mark.parametrize(
    ("changes", "ids", "told"),
    [
        ({"category": 3}, ["3"], []),
        ({"category": "Drinks: Boil"}, ["Drinks: Boil"], []),
        ({"category": None}, ["0"], []),
        ({"category": []}, ["0"], ["odd-label"]),
        ({"category": ""}, ["0"], ["odd-label"]),
        ({"i": ...}, ["0"], ["no-step-id"]),
        ({"i": 1.5}, ["0"], ["odd-label", "no-step-id"]),
        ({"i": True}, ["0"], ["odd-label", "no-step-id"]),
        ({"has_errors": "yes"}, ["0"], ["odd-flag"]),
    ],
)
def test_labels_of_steps(changes: dict[str, Any], ids: list[str], told: list[str], tmp_path: Path):
    result = read(tmp_path, row(steps=[step(**changes)]))
    assert [s.step_id for s in result.recordings[0].segments] == ids
    assert rules(result) == told
    assert set(told) <= set(DATASET.rules)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start": -1, "end": 20}, "negative-time"),
        ({"start": 5, "end": -1}, "swapped-times"),
        ({"start": -1, "end": True}, "bad-time"),
        ({"start": ...}, "bad-time"),
        ({"text": ...}, "no-text"),
        ({"start": -1, "end": -1, "text": ""}, "negative-time"),
        ({"substeps": 7}, "bad-substeps"),
    ],
)
def test_steps_that_make_no_sense(changes: dict[str, Any], reason: str, tmp_path: Path):
    result = read(tmp_path, row(steps=[step(**changes), step(i=1, start=30, end=40)]))
    assert reasons(result) == [reason]
    assert len(result.recordings[0].segments) == (2 if reason == "bad-substeps" else 1)


def test_rows_in_which_nothing_was_performed(tmp_path: Path):
    result = read(
        tmp_path, row(steps=[step(start=-1.0, end=-1.0)]), row("w", steps=[]), row("x", steps=[None])
    )
    assert [(r.id, len(r.performed)) for r in result.recordings] == [("v", 0)]
    assert reasons(result) == ["no-steps", "bad-time", "no-steps"]


def test_fields_of_a_row(tmp_path: Path):
    result = read(tmp_path, row(task=..., split=7, duration="x", moment=[1, None], dataset=[]))
    (recording,) = result.recordings
    assert (recording.activity_id, recording.activity_name) == ("unknown", "unknown")
    assert recording.attributes == {"split": "7", "moment_start": "1"}
    assert rules(result) == ["odd-duration", "no-activity", "odd-field", "odd-field"]


def test_a_key_that_is_there_twice_is_told(tmp_path: Path):
    result = read(tmp_path, json.dumps(row()).replace('"v"', '"v", "video_id": "w"'))
    assert [r.id for r in result.recordings] == ["v"]
    assert [(d.id, d.reason, d.detail.split(":")[:2]) for d in result.dropped] == [
        ("video_id", "repeated-key", ["rows.jsonl", "1"])
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, fixture: Path, tmp_path: Path):
    assert survive(DATASET, fixture, tmp_path, family)


@pytest.mark.shared
def test_the_real_rows(shared_data: Path):
    result = DATASET.read(shared_data / "steps")
    assert Counter(r.attributes["dataset"] for r in result.recordings) == {
        "YouCook2": 1790,
        "HiREST": 628,
        "Ego4D Goal-Step": 134,
        "CaptainCook4D": 384,
    }
    assert result.counts == {"videos": 2936, "steps": 27_629, "substeps": 4347, "not_performed": 287}
    assert sum(len(r.segments) for r in result.recordings) == 27_629
    assert result.dropped == ()
    cook = [r for r in result.recordings if r.attributes["dataset"] == "CaptainCook4D"]
    assert sum(len(r.segments) for r in cook) == 5700
    assert sum(bool(s.mistakes) for r in cook for s in r.segments) == 1964
    overlaps = Counter(
        name
        for name, ids in {
            name: {r.id for r in result.recordings if r.attributes["dataset"] == name}
            for name in ("YouCook2", "HiREST", "Ego4D Goal-Step")
        }.items()
        for f in result.findings
        if f.rule == "overlap" and f.where.split(":")[0] in ids
    )
    assert overlaps == {"YouCook2": 43, "Ego4D Goal-Step": 60}


@pytest.mark.shared
def test_figures_of_the_real_rows(shared_data: Path):
    assert DATASET.measure is not None
    found = DATASET.measure(shared_data / "steps")
    assert (found["recordings"], found["steps"], found["substeps"]) == (2936, 27_629, 4347)
