"""Reading plain folders: valid ones, and everything that can be wrong with one."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.datasets.dataset import Correction
from proctor.datasets.plain import DATASET, PLAIN_RULES, check_plain, plain_schema, read_plain, write_plain
from proctor.datasets.plain.format import MAX_SHOWN, PlainActivity, PlainRecording
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Segment

ACTIVITY: dict[str, Any] = {
    "id": "tea",
    "name": "Tea",
    "steps": [
        {"id": "1", "text": "Boil the water"},
        {"id": "2", "text": "Stir", "after": ["1"]},
        {"id": "3", "text": "Stir", "after": ["2"]},
    ],
}
RECORDING: dict[str, Any] = {
    "id": "r1",
    "activity": "tea",
    "segments": [{"step": "1", "start": 1, "end": 2}, {"step": "2", "start": 3, "end": 4}],
}
Change = Callable[[dict[str, Any]], object]


def write(
    root: Path, activity: Any = ACTIVITY, *recordings: Any, files: dict[str, bytes] | None = None
) -> Path:
    """Write a folder; ``files`` are written as they are and may replace the others."""
    (root / "activities").mkdir(parents=True, exist_ok=True)
    (root / "activities" / "tea.json").write_text(json.dumps(activity), encoding="utf-8")
    lines = [json.dumps(r) + "\n" for r in recordings or (RECORDING,)]
    (root / "recordings.jsonl").write_text("".join(lines), encoding="utf-8")
    for name, data in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def complaint(root: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        read_plain(root)
    return caught.value


def changed(base: dict[str, Any], change: Change) -> dict[str, Any]:
    value = deepcopy(base)
    change(value)
    return value


# -- valid -----------------------------------------------------------------------------------------------------


def test_the_valid_folder_as_it_is_written(tests_data: Path):
    result = read_plain(tests_data / "plain_valid", "published")
    box, twelve, b = result.recordings
    assert (box.id, box.activity_id, box.activity_name, box.duration) == ("box_a", "box", "Bird Box", 120.0)
    assert box.video == "videos/box_a.mp4"
    assert box.attributes == {
        "person": "3",
        "indoors": "true",
        "camera": "head",
        "height": "1.5",
        "floor": "2",
    }
    assert box.segments == (  # skipped first, then by start; the text comes from the graph
        Segment("drill", "Drill a hole"),
        Segment(
            "saw",
            "Saw the board into six pieces",
            5.0,
            30.0,
            "Saw the board into five pieces",
            (Mistake("measurement", "Five pieces, not six"), Mistake("slip")),
        ),
        Segment("glue1", "Glue two pieces", 60.5, 80.0),
        Segment("glue2", "Glue two pieces", 81.0, 99.25, None, (Mistake("order", "There was no hole yet"),)),
    )
    assert (twelve.id, b.id, b.activity_id) == ("12", "tea_b", "7")
    assert result.corrections == ()
    assert result.counts == {"activities": 2, "recordings": 3, "steps": 7, "skipped": 1, "mistakes": 6}
    assert result.about["licence"] == "CC0-1.0"


def test_graphs_take_edges_from_both_ways_of_writing_them(tests_data: Path):
    graphs = read_plain(tests_data / "plain_valid").graphs
    assert (graphs["box"].start, graphs["box"].end) == ("begin", "done")
    assert graphs["box"].predecessors("glue2") == ("drill", "glue1")
    assert graphs["7"].edges == (("1", "4"), ("2", "4"))  # also told by after, in words
    assert graphs["7"].name == "Tea"


def test_corrected_mode_makes_missing_marks_and_times_agree_and_tells_so(tests_data: Path):
    result = read_plain(tests_data / "plain_valid")
    box, twelve, b = result.recordings
    assert box.segments[0].mistakes == (Mistake("missing"),)
    assert twelve.segments[1].mistakes == (Mistake("other", "cold"),)
    assert not twelve.segments[1].skipped
    assert (b.segments[0].start, b.segments[0].end) == (None, None)
    assert result.corrections == (
        Correction("box_a", "R2", "a skipped step is a missing step", "drill", new="missing"),
        Correction("12", "R3", "it has times and other mistakes", "2", old="missing"),
        Correction("tea_b", "R3", "it is marked missing", "4", old="1.5-3"),
    )
    assert result.counts["mistakes"] == 6  # as written, before correction


def test_steps_can_be_named_by_text_whatever_the_spaces_and_the_normal_form(tmp_path: Path):
    activity = changed(ACTIVITY, lambda a: a["steps"][0].update(text="Boil  the caf\u00e9 water"))
    recording = changed(RECORDING, lambda r: r["segments"][0].update(step=" Boil the cafe\u0301\nwater"))
    result = read_plain(write(tmp_path, activity, recording))
    assert result.recordings[0].segments[0] == Segment("1", "Boil  the caf\u00e9 water", 1.0, 2.0)


def test_an_id_wins_over_a_text(tmp_path: Path):
    activity = changed(ACTIVITY, lambda a: a["steps"][0].update(text="2"))
    recording = changed(RECORDING, lambda r: r.update(segments=[{"step": "2", "start": 0, "end": 1}]))
    assert read_plain(write(tmp_path, activity, recording)).recordings[0].segments[0].step_id == "2"


def test_recordings_of_both_kinds_are_read_in_order_and_hidden_files_are_not(tmp_path: Path):
    def named(id_: str) -> bytes:
        return json.dumps({**RECORDING, "id": id_}).encode()

    hidden = {"recordings/._a.json": b"\x00\x05\x16\x07", "activities/.DS_Store.json": b"\x00"}
    files = {"recordings/b.json": named("b"), "recordings/a.json": named("a"), **hidden}
    root = write(tmp_path, ACTIVITY, RECORDING, files=files)
    assert [r.id for r in read_plain(root).recordings] == ["a", "b", "r1"]


def test_byte_order_marks_windows_line_ends_and_schema_links_are_fine(tmp_path: Path):
    activity = json.dumps({"$schema": "../plain.schema.json", **ACTIVITY}, indent=1).replace("\n", "\r\n")
    line = json.dumps(RECORDING)
    root = write(
        tmp_path,
        files={
            "activities/tea.json": b"\xef\xbb\xbf" + activity.encode(),
            "recordings.jsonl": f"\ufeff{line}\r\n\r\n".encode(),
        },
    )
    assert len(read_plain(root).recordings) == 1


def test_a_video_may_lie_behind_a_link_inside_the_folder(tmp_path: Path):
    root = write(
        tmp_path / "data", ACTIVITY, {**RECORDING, "video": "clips/a.mp4"}, files={"real/a.mp4": b""}
    )
    (root / "clips").symlink_to(root / "real")
    assert read_plain(root).recordings[0].video == "clips/a.mp4"


def test_the_declaration_requires_only_what_reading_requires(tests_data: Path):
    DATASET.require_files(tests_data / "plain_valid")
    assert DATASET.read(tests_data / "plain_valid", "corrected").recordings


def test_10000_recordings_are_read_in_reasonable_time(tmp_path: Path):
    many = [{**RECORDING, "id": f"r{i}"} for i in range(10_000)]
    root = write(tmp_path, ACTIVITY, *many)
    began = time.process_time()
    assert len(read_plain(root).recordings) == 10_000
    assert time.process_time() - began < 5  # about 0.7 s


# -- the schema ------------------------------------------------------------------------------------------------


def documents(root: Path) -> list[Any]:
    found = [json.loads(p.read_text()) for p in sorted(root.rglob("*.json"))]
    lines = root / "recordings.jsonl"
    return found + [json.loads(x) for x in lines.read_text().splitlines() if x] if lines.exists() else found


def test_the_schema_is_a_schema_and_accepts_what_is_valid(tests_data: Path):
    from proctor.samples import path

    schema = plain_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for document in documents(tests_data / "plain_valid") + documents(path()):
        validator.validate(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update(nmae="x"),
        lambda a: a.pop("name"),
        lambda a: a.update(steps={}),
        lambda a: a.update(id="../x"),
        lambda a: a.update(id=1.5),
        lambda a: a.update(name=" "),
        lambda a: a["steps"][0].update(text=4),
        lambda a: a.update(edges=[["1"]]),
    ],
)
def test_schema_and_reader_refuse_the_same_activities(change: Change, tmp_path: Path):
    activity = changed(ACTIVITY, change)
    assert not jsonschema.Draft202012Validator(plain_schema()).is_valid(activity)
    complaint(write(tmp_path, activity))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(vedio="x"),
        lambda r: r.pop("segments"),
        lambda r: r.update(duration="1:2"),
        lambda r: r.update(duration=-1),
        lambda r: r["segments"][0].update(start="00:61"),
        lambda r: r["segments"][0].update(end=1e308),
        lambda r: r["segments"][0].update(skipped="yes"),
        lambda r: r["segments"][0].update(mistakes=[{"text": "no kind"}]),
        lambda r: r.update(attributes={"a": [1]}),
    ],
)
def test_schema_and_reader_refuse_the_same_recordings(change: Change, tmp_path: Path):
    recording = changed(RECORDING, change)
    assert not jsonschema.Draft202012Validator(plain_schema()).is_valid(recording)
    complaint(write(tmp_path, ACTIVITY, recording))


PAGE = Path(__file__).parents[2] / "docs" / "datasets" / "plain.md"


def test_the_examples_of_the_docs_are_a_folder_that_can_be_read(tmp_path: Path):
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    activity, recording = (json.loads(block) for block in blocks)
    result = read_plain(write(tmp_path, activity, recording))
    assert (len(result.recordings), result.corrections) == (1, ())
    assert [f.rule for f in check_plain(tmp_path)] == ["P6"]  # there is no video


def test_every_rule_of_check_is_in_the_docs():
    page = PAGE.read_text(encoding="utf-8")
    for rule in PLAIN_RULES:
        assert f"| {rule} |" in page


def test_every_key_is_documented_in_the_schema_and_in_the_docs():
    page = PAGE.read_text(encoding="utf-8")
    for name, part in plain_schema()["$defs"].items():
        assert part["description"], name
        for key in part["properties"]:
            assert f"`{key}`" in page, f"{name}.{key} is not in docs/datasets/plain.md"


def test_optional_and_last_steps(tmp_path: Path):
    activity = changed(ACTIVITY, lambda a: a["steps"][1].update(optional=True))
    activity["steps"].append({"id": "wipe", "text": "Wipe the table", "last": True})
    segments = [{"step": "1", "start": 1, "end": 2}, {"step": "2", "skipped": True}]
    recording = {"id": "r1", "activity": "tea", "segments": [*segments, {"step": "3", "start": 3, "end": 4}]}
    result = read_plain(write(tmp_path / "in", activity, recording))
    graph = result.graphs["tea"]
    assert [s.id for s in graph.steps if s.optional] == ["2"]
    assert graph.edges == (("1", "2"), ("2", "3"), ("3", "wipe"))
    assert result.corrections == ()  # a skipped optional step needs no mistake
    assert {f.rule for f in check_plain(tmp_path / "in")} == {"P4"}  # the table was not wiped
    write_plain(tmp_path / "out", result.recordings, result.graphs)
    assert read_plain(tmp_path / "out").graphs == result.graphs


@pytest.mark.parametrize("key", ["optional", "last"])
def test_start_and_end_are_neither_optional_nor_last(tmp_path: Path, key: str):
    activity = changed(ACTIVITY, lambda a: a.update(start="1"))
    activity["steps"][0][key] = True
    assert f"activities/tea.json: steps[0].{key}" in str(complaint(write(tmp_path, activity)))


def test_what_comes_after_a_last_step_is_told(tmp_path: Path):
    activity = changed(ACTIVITY, lambda a: a["steps"][0].update(last=True))
    assert "cycle" in str(complaint(write(tmp_path, activity)))


# -- broken folders --------------------------------------------------------------------------------------------


def test_all_problems_of_a_folder_are_told_at_once(tests_data: Path):
    error = complaint(tests_data / "plain_broken")
    expected = (tests_data / "plain_broken" / "expected.txt").read_text(encoding="utf-8")
    assert str(error).replace(str(tests_data), "tests/data") + "\n" == expected


def test_a_single_problem_stands_alone(tmp_path: Path):
    error = complaint(write(tmp_path, changed(ACTIVITY, lambda a: a.update(nmae="x"))))
    assert error.where == f"{tmp_path}/activities/tea.json"
    assert (error.message, error.hint) == ("unknown key 'nmae'.", "did you mean 'name'?")


def test_many_problems_are_counted_and_the_first_ones_shown(tmp_path: Path):
    bad = changed(
        RECORDING, lambda r: r.update(segments=[{"step": f"{i}x", "start": 0, "end": 1} for i in range(500)])
    )
    error = complaint(write(tmp_path, ACTIVITY, bad))
    assert error.message.startswith("500 problems.")
    assert error.message.count("is not a step") == MAX_SHOWN
    assert f"… and {500 - MAX_SHOWN} more." in error.message


def test_a_broken_activity_file_does_not_blame_its_recordings(tmp_path: Path):
    for broken in (
        b"{",
        b"[]",
        json.dumps(changed(ACTIVITY, lambda a: a.update(edges=[["1", "x"]]))).encode(),
    ):
        error = complaint(write(tmp_path, files={"activities/tea.json": broken}))
        assert error.where is not None
        assert error.where.startswith(f"{tmp_path}/activities/tea.json")


FILES: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n", "the file is empty"),
    "text": (b"hello", "not valid JSON: Expecting value in line 1, column 1, at 'hello'"),
    "truncated": (b'{"id": "a",\n "name": "b', "in line 2, column 10"),
    "NaN": (b'{"id": NaN}', "NaN is not a JSON number"),
    "infinity": (b'{"id": -Infinity}', "-Infinity is not a JSON number"),
    "too large": (b'{"id": 1e999}', "the number is too large"),
    "thousands of digits": (b'{"id": ' + b"9" * 5_000 + b"}", "not readable as JSON"),
    "not UTF-8": (b'{"id":\n "\xff"}', "not UTF-8: byte 0xff in line 2"),
    "UTF-16": ('{"id": 1}'.encode("utf-16"), "not UTF-8"),
    "deep": (b'{"a":' * 100_000, "nested too deeply"),
    "just readable": (b'{"a":' * 900 + b"1" + b"}" * 900, ""),
    "a list": (b"[]", "expected an object {…}, found a list of 0"),
    "a text": (b'"x"', "found the text 'x'"),
    "null": (b"null", "found null"),
    "duplicate key": (b'{"id": "a", "id": "b"}', "the key 'id' occurs twice"),
    "50 MB text": (lambda: b'{"id": "' + b"a" * (50 * 2**20) + b'"}', "a text of 52,428,800 characters"),
    "50 MB key": (lambda: b'{"' + b"a" * (50 * 2**20) + b'": 1}', "a text of 52,428,800 characters"),
    "50 MB of rubbish": (lambda: b"a" * (50 * 2**20), "not valid JSON"),
    "lone surrogate": (b'{"id": "\\ud800"}', "U+D800"),
    "NUL": (b'{"id": "\\u0000"}', "U+0000"),
    "escape": (b'{"id": "\\u001b[2J"}', "U+001B"),
}
"""What is large is made when it is needed, not in every worker that collects the tests."""


def made(case: str) -> tuple[bytes, str]:
    data, seen = FILES[case]
    return data() if callable(data) else data, seen


@pytest.mark.parametrize(
    ("name", "case"),
    [
        (name, case)
        for name in ("activities/tea.json", "recordings/a.json", "dataset.json")
        for case in FILES
        if not case.startswith("50 MB") or name == "recordings/a.json"
    ],
)
def test_broken_files_are_named_with_what_was_seen(case: str, name: str, tmp_path: Path):
    data, seen = made(case)
    error = complaint(write(tmp_path, files={name: data}))
    text = str(error)
    assert f"{name}" in text
    assert seen in text
    assert len(text) < 3_000


@pytest.mark.parametrize(
    "case", [c for c, (data, _) in FILES.items() if callable(data) or (data and b"\n" not in data)]
)
def test_broken_lines_are_named_with_their_number(case: str, tmp_path: Path):
    data, seen = made(case)
    root = write(
        tmp_path, files={"recordings.jsonl": json.dumps(RECORDING).encode() + b"\n\n" + data + b"\n"}
    )
    text = str(complaint(root))
    assert "recordings.jsonl:3" in text
    assert seen.replace("line 1", "line 3") in text
    assert len(text) < 3_000


def test_folders_that_are_none(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "looped").mkdir()
    (tmp_path / "looped" / "activities").symlink_to(tmp_path / "looped" / "activities")
    (tmp_path / "none" / "activities").mkdir(parents=True)
    no_recordings = write(tmp_path / "half")
    (no_recordings / "recordings.jsonl").unlink()
    missing = "activities/*.json and recordings/*.json or recordings.jsonl missing"
    cases = {
        "nowhere": "there is no such folder",
        "empty": missing,
        "none": missing,
        "file": "this is a file, a folder was expected",
        "file/below": "",
        "loop": "",
        "looped": "",
        "half": "recordings/*.json or recordings.jsonl missing",
        "n" * 300: "File name too long",
        "nul\0byte": "",
    }
    for name, seen in cases.items():
        error = complaint(tmp_path / name)
        assert error.where == str(tmp_path / name)
        assert seen in error.message


def test_files_that_cannot_be_opened_are_told_beside_the_others(tmp_path: Path):
    root = write(tmp_path / "data", changed(ACTIVITY, lambda a: a.pop("name")))
    (root / "activities" / "loop.json").symlink_to("loop.json")
    (root / "activities" / "gone.json").symlink_to("nowhere.json")
    (root / "recordings" / "folder.json").mkdir(parents=True)
    (root / "recordings.jsonl").unlink()
    (root / "recordings.jsonl").symlink_to("recordings.jsonl")
    text = str(complaint(root))
    for seen in (
        "activities/loop.json: cannot be opened: Too many levels of symbolic links",
        "activities/gone.json: there is no such file",
        "recordings/folder.json: this is a folder",
        "recordings.jsonl: cannot be opened: Too many levels",
        "the key 'name' is missing",
    ):
        assert seen in text


def test_empty_files_of_recordings_are_told(tmp_path: Path):
    for empty in (b"", b"\n\n", b"\xef\xbb\xbf"):
        error = complaint(write(tmp_path, files={"recordings.jsonl": empty}))
        assert (error.where, error.message) == (f"{tmp_path}/recordings.jsonl", "the file is empty.")


# -- broken activities -----------------------------------------------------------------------------------------

ACTIVITIES: dict[str, tuple[Change, str]] = {
    "cycle": (lambda a: a.update(edges=[["3", "1"]]), "form a cycle: 1 → 2 → 3 → 1"),
    "its own prerequisite": (lambda a: a.update(edges=[["1", "1"]]), "'1' is its own prerequisite"),
    "edge twice": (lambda a: a.update(edges=[["1", "3"], ["1", "3"]]), "occurs 2 times"),
    "unknown in an edge": (lambda a: a.update(edges=[["1", "4"]]), "edges[0][1]: '4' is not a step"),
    "unknown in after": (
        lambda a: a["steps"][1].update(after=["Boil the watr"]),
        "did you mean 'Boil the water'?",
    ),
    "ambiguous": (lambda a: a.update(edges=[["1", "Stir"]]), "2 steps have the text 'Stir': 2, 3."),
    "three in an edge": (lambda a: a.update(edges=[["1", "2", "3"]]), "edges[0]: "),
    "duplicate ids": (lambda a: a["steps"][2].update(id="1"), "step id '1' occurs 2 times"),
    "no steps": (lambda a: a.update(steps=[]), "it has no steps"),
    "unknown start": (lambda a: a.update(start="0"), "start: '0' is not a step"),
    "start without way": (lambda a: a.update(start="2"), "the start does not lead to step(s) 1"),
    "bad id": (lambda a: a["steps"][0].update(id="a/b"), "steps[0].id: 'a/b' cannot be an id"),
    "negative id": (lambda a: a["steps"][0].update(id=-1), "'-1' cannot be an id"),
    "endless id": (lambda a: a["steps"][0].update(id="a" * 200), "too long for an id"),
    "empty id": (lambda a: a.update(id=""), "'' cannot be an id"),
    "empty text": (lambda a: a["steps"][0].update(text="  "), "steps[0].text: the text is empty"),
    "number as text": (lambda a: a["steps"][0].update(text=5), "expected text, found the number 5"),
    "steps by id": (lambda a: a.update(steps={"1": "x"}), "steps: expected a list […], found an object"),
    "unlike any key": (lambda a: a.update(zzz=1), "known here: edges, end, id, name, start, steps"),
}


@pytest.mark.parametrize("case", ACTIVITIES)
def test_broken_activities(case: str, tmp_path: Path):
    change, seen = ACTIVITIES[case]
    text = str(complaint(write(tmp_path, changed(ACTIVITY, change))))
    assert text.startswith(f"{tmp_path}/activities/tea.json") or "  activities/tea.json" in text
    assert seen in text


def test_two_activities_of_one_id(tmp_path: Path):
    root = write(tmp_path, files={"activities/also.json": json.dumps(ACTIVITY).encode()})
    error = complaint(root)
    assert str(error).startswith(
        f"{root}/activities/tea.json: id: the activity 'tea' is also in activities/also.json"
    )


# -- broken recordings -----------------------------------------------------------------------------------------


def first(**values: Any) -> Change:
    return lambda r: r["segments"][0].update(values)


def without(*keys: str) -> Change:
    return lambda r: [r["segments"][0].pop(key) for key in keys]


RECORDINGS: dict[str, tuple[Change, str]] = {
    "no such activity": (lambda r: r.update(activity="tee"), "activity: there is no activity 'tee'."),
    "no segments": (lambda r: r.update(segments=[]), "segments: the recording has no segments"),
    "step not in graph": (first(step="9"), "segments[0].step: '9' is not a step of the activity"),
    "step by similar text": (first(step="boil teh water"), "did you mean 'Boil the water'?"),
    "ambiguous step": (first(step="Stir"), "2 steps have the text 'Stir': 2, 3."),
    "swapped times": (first(start=5, end=2), "it ends at 2 s and starts at 5 s"),
    "no length": (first(start=2, end=2), "it ends at 2 s and starts at 2 s"),
    "negative": (first(start=-1), "segments[0].start: -1 is before the start"),
    "far too large": (first(end=1e308), "segments[0].end: 1e+308 is more than 1,000,000 seconds"),
    "larger than a float": (first(end=10**400), "segments[0].end"),
    "61 seconds": (first(end="00:61"), "'00:61' has 61 seconds"),
    "61 minutes": (first(end="01:61:00"), "'01:61:00' has 61 minutes"),
    "comma": (first(end="00:01,5"), "decimals take a point"),
    "no time": (first(end="soon"), "'soon' is not a time"),
    "true as time": (first(end=True), "expected a number or text or null, found true"),
    "no end": (without("end"), "segments[0]: 'end' missing"),
    "no times": (without("start", "end"), "segments[0]: 'start' and 'end' missing"),
    "skipped with times": (first(skipped=True), "the step is skipped, yet it has a start and an end"),
    "unknown key": (first(ende=2), "segments[0]: unknown key 'ende'."),
    "mistake as text": (first(mistakes=["order"]), "segments[0].mistakes[0]: expected an object"),
    "mistake without kind": (first(mistakes=[{"text": "x"}]), "mistakes[0]: the key 'kind' is missing"),
    "empty kind": (first(mistakes=[{"kind": " "}]), "mistakes[0].kind: the text is empty"),
    "misspelt key of a mistake": (first(mistakes=[{"kind": "order", "txt": ""}]), "did you mean 'text'?"),
    "empty performed": (first(performed=""), "performed: the text is empty"),
    "id with slash": (lambda r: r.update(id="a/b"), "id: 'a/b' cannot be an id"),
    "id with dots": (lambda r: r.update(id=".."), "id: '..' cannot be an id"),
    "no duration": (lambda r: r.update(duration=0), "duration: the video lasts no time"),
    "list as attribute": (lambda r: r.update(attributes={"a": []}), "attributes"),
    "attributes as list": (lambda r: r.update(attributes=[]), "attributes: expected an object"),
    "segment as list": (
        lambda r: r.update(segments=[[1, 2]]),
        "segments[0]: expected an object {…}, found a list",
    ),
}


@pytest.mark.parametrize("case", RECORDINGS)
def test_broken_recordings(case: str, tmp_path: Path):
    change, seen = RECORDINGS[case]
    text = str(complaint(write(tmp_path, ACTIVITY, changed(RECORDING, change))))
    assert "recordings.jsonl:1" in text
    assert seen in text


def test_a_broken_member_does_not_shift_or_hide_the_others(tmp_path: Path):
    segments = [{"step": 1.5}, {"step": "1", "start": 5, "end": 2}, 7, {"step": "1", "start": "x", "end": 2}]
    text = str(complaint(write(tmp_path, ACTIVITY, {**RECORDING, "segments": segments})))
    for seen in (
        "segments[0].step: ",
        "segments[1]: it ends",
        "segments[2]: expected",
        "segments[3].start: 'x'",
    ):
        assert seen in text
    assert text.startswith(f"{tmp_path}: 4 problems.")


def test_start_and_end_of_an_activity_are_not_performed(tmp_path: Path, tests_data: Path):
    activity = json.loads((tests_data / "plain_valid" / "activities" / "box.json").read_text())
    recording = {"id": "r", "activity": "box", "segments": [{"step": "BEGIN", "start": 0, "end": 1}]}
    assert "'begin' is the start of the activity" in str(complaint(write(tmp_path, activity, recording)))


def test_two_recordings_of_one_id(tmp_path: Path):
    root = write(tmp_path, ACTIVITY, RECORDING, files={"recordings/a.json": json.dumps(RECORDING).encode()})
    assert str(complaint(root)).startswith(
        f"{root}/recordings.jsonl:1: id: the recording 'r1' is also in recordings/a.json"
    )


def test_clips_of_two_recordings_cannot_get_one_name(tmp_path: Path):
    activity = {"id": "a", "name": "A", "steps": [{"id": "1_2", "text": "x"}, {"id": "2", "text": "y"}]}
    one = {"id": "r", "activity": "a", "segments": [{"step": "1_2", "start": 0, "end": 1}]}
    two = {"id": "r_1", "activity": "a", "segments": [{"step": "2", "start": 0, "end": 1}]}
    assert "would get the same name" in str(complaint(write(tmp_path, activity, one, two)))


@pytest.mark.parametrize(
    "video",
    [
        "../../etc/passwd",
        "videos/../../x.mp4",
        "..",
        "/etc/passwd",
        "//server/x.mp4",
        "C:/x.mp4",
        "C:\\x.mp4",
        "..\\x.mp4",
        "videos//x.mp4",
        "./x.mp4",
        "https://example.org/x.mp4",
        "file:///etc/passwd",
        " ",
        "",
        "x\x00.mp4",
    ],
)
def test_videos_outside_the_folder_are_refused(video: str, tmp_path: Path):
    text = str(complaint(write(tmp_path, ACTIVITY, {**RECORDING, "video": video})))
    assert "recordings.jsonl:1: video: " in text


def test_links_out_of_the_folder_and_to_themselves_are_refused(tmp_path: Path):
    root = write(
        tmp_path / "data",
        ACTIVITY,
        {**RECORDING, "video": "videos/x.mp4"},
        {**RECORDING, "id": "r2", "video": "loop/x.mp4"},
    )
    (tmp_path / "data_evil").mkdir()
    (tmp_path / "data_evil" / "x.mp4").touch()
    (root / "videos").symlink_to(tmp_path / "data_evil")
    (root / "loop").symlink_to("loop")
    text = str(complaint(root))
    assert "recordings.jsonl:1: video: 'videos/x.mp4' is a link out of the folder" in text
    assert "recordings.jsonl:2: video: 'loop/x.mp4' cannot be followed" in text


def test_a_message_cannot_steer_the_terminal_and_never_quotes_much(tmp_path: Path):
    recording = {**RECORDING, "activity": "\u202e" + "x" * 9_000, "\u202ekey": 1}
    text = str(complaint(write(tmp_path, ACTIVITY, recording)))
    assert "\u202e" not in text
    assert len(text) < 1_000


# -- any input -------------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "2", "Stir", "00:05", "tea", "order"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *PlainActivity.__struct_fields__,
                    *PlainRecording.__struct_fields__,
                    *("text", "after", "step", "performed", "mistakes", "skipped", "kind", "other"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.dictionaries(st.sampled_from(["id", "name", "steps", "edges", "start", "end"]), anything, max_size=3),
    st.dictionaries(st.sampled_from(list(PlainRecording.__struct_fields__)), anything, max_size=3),
    st.lists(anything, min_size=1, max_size=2),
)
def test_any_json_is_read_or_complained_about(
    tmp_path: Path, activity: dict[str, Any], recording: dict[str, Any], segments: list[Any]
):
    root = write(tmp_path, {**ACTIVITY, **activity}, {**RECORDING, "segments": segments, **recording})
    try:
        result = read_plain(root)
    except UserError as error:
        str(error).encode()
    else:
        msgspec.json.encode(result.recordings)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_any_damage_to_a_file_is_read_or_complained_about(tmp_path: Path, position: int, damage: bytes):
    root = write(tmp_path)
    lines = root / "recordings.jsonl"
    data = lines.read_bytes()
    position %= len(data)
    lines.write_bytes(data[:position] + damage + data[position + 1 :])
    with suppress(UserError):
        read_plain(root)


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_file_names_that_are_no_text_can_be_told(tmp_path: Path):
    root = write(tmp_path)
    (root / "activities" / os.fsdecode(b"\xff.json")).touch()
    str(complaint(root)).encode()


@pytest.mark.parametrize(
    ("ours", "theirs"), [("start", "begin"), ("end", "Stop"), ("step", "label"), ("kind", "type")]
)
def test_other_words_for_a_key_are_known(ours: str, theirs: str, tmp_path: Path) -> None:
    root = shutil.copytree(Path("tests/data/plain_valid"), tmp_path / "d")
    path = next(p for p in sorted((root / "recordings").glob("*.json")) if '"kind"' in p.read_text())
    path.write_text(path.read_text().replace(f'"{ours}":', f'"{theirs}":', 1))
    with pytest.raises(UserError, match=f"unknown key '{theirs}'") as raised:
        read_plain(root)
    assert f"did you mean '{ours}'?" in str(raised.value.message) + str(raised.value.hint)


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('"', "\u201c", "use straight quotes"),
        ('"', "'", "use double quotes"),
        (",\n", "\n", "is missing before this place"),
        ("\n}", ",\n}", "remove the comma before the closing bracket"),
        ("\n}", "", "is the file complete?"),
    ],
)
def test_broken_json_has_a_hint_that_fits(old: str, new: str, hint: str, tmp_path: Path) -> None:
    root = shutil.copytree(Path("tests/data/plain_valid"), tmp_path / "d")
    path = sorted((root / "activities").glob("*.json"))[0]
    text = json.dumps(json.loads(path.read_text()), indent=1)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match="not valid JSON") as raised:
        read_plain(root)
    assert hint in str(raised.value.message) + str(raised.value.hint)


def test_a_folder_too_far_out_or_in_is_told(tmp_path: Path) -> None:
    root = shutil.copytree(Path("tests/data/plain_valid"), tmp_path / "outer" / "inner")
    for place in (root.parent, root / "activities"):
        with pytest.raises(UserError, match="not a folder of plain recordings") as raised:
            read_plain(place)
        assert (raised.value.hint or "").endswith(str(root))


def test_files_of_another_ending_are_named(tmp_path: Path) -> None:
    root = shutil.copytree(Path("tests/data/plain_valid"), tmp_path / "d")
    for path in (root / "activities").glob("*.json"):
        path.rename(path.with_suffix(".yaml"))
    with pytest.raises(UserError) as raised:
        read_plain(root)
    assert (raised.value.hint or "").startswith("only files called *.json are read there, not activities/")
