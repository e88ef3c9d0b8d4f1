"""Broken data sets and published files: read, check, import, reproduce and measure end with help, and write nothing."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.samples import copy_sample


def _missing(path: Path) -> None:
    path.unlink()


def _symlink_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def _with(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


WAYS: dict[str, Callable[[Path], None]] = {
    "missing": _missing,
    "empty": _with(b""),
    "not JSON": _with(b"once upon a time"),
    "truncated": _truncated,
    "a list of numbers": _with(b"[1, 2, 3]"),
    "a number": _with(b"17"),
    "null": _with(b"null"),
    "not UTF-8": _with(b'{"id": "caf\xe9 \xff\xfe"}'),
    "NUL bytes": _with(b"\x00" * 4096),
    "nested too deeply": _with(b"[" * 200_000 + b"]" * 200_000),
    "a link to itself": _symlink_loop,
    "a folder": _folder,
}


def assert_helpful(outcome: Any, *named: str) -> None:
    assert outcome.status == 2, (outcome.out, outcome.err)
    assert outcome.out == ""
    assert "proctor: " in outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 12_000
    for text in named:
        assert text in outcome.err, outcome.err


# -- our own format ----------------------------------------------------------------------------------------------


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return copy_sample(tmp_path / "sample")


PLAIN = ["dataset.json", "activities/desk-lamp.json", "recordings/tea_2.json"]
PLAIN_FINE = {
    ("recordings/tea_2.json", "missing"),  # one recording less
    ("dataset.json", "missing"),  # a data set need not say what it is called
}


WORDS = {"read": ["read"], "check": ["datasets", "check"]}


@pytest.mark.parametrize("command", ["read", "check"])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("way", WAYS)
def test_a_broken_file_of_our_format(
    way: str, name: str, command: str, sample: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    WAYS[way](sample / name)
    place = [tmp_path / "bench"] if command == "read" else []
    outcome = proctor(*WORDS[command], "plain", sample, *place)
    if (name, way) in PLAIN_FINE:
        assert outcome.status == 0, outcome.err
        return
    assert_helpful(outcome, Path(name).name if way != "missing" else "")
    assert list((tmp_path / "bench").glob("*")) == [] if (tmp_path / "bench").exists() else True


def _times(start: Any, end: Any) -> Callable[[dict[str, Any]], None]:
    def change(recording: dict[str, Any]) -> None:
        done = next(s for s in recording["segments"] if "end" in s)
        done["start"], done["end"] = start, end

    return change


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(recording: dict[str, Any]) -> None:
        recording[key] = value

    return change


def _step_nowhere(recording: dict[str, Any]) -> None:
    recording["segments"][0]["step"] = "nowhere"


RECORDINGS: dict[str, Callable[[dict[str, Any]], None]] = {
    "swapped times": _times(9.0, 3.0),
    "negative start": _times(-1.0, 3.0),
    "NaN": _times(math.nan, 3.0),
    "infinite end": _times(1.0, math.inf),
    "times are texts": _times("1", "3"),
    "step not in the graph": _step_nowhere,
    "id of another": _set("id", "tea_1"),
    "segments are a text": _set("segments", "none"),
    "activity nowhere": _set("activity", "opera"),
    "a video outside": _set("video", "../../etc/passwd"),
}


@pytest.mark.parametrize("kind", RECORDINGS)
def test_a_recording_that_cannot_be_right(
    kind: str, sample: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    path = sample / "recordings/tea_2.json"
    recording = json.loads(path.read_text(encoding="utf-8"))
    RECORDINGS[kind](recording)
    path.write_text(json.dumps(recording), encoding="utf-8")
    assert_helpful(proctor("read", "plain", sample, tmp_path / "bench"), "tea_2.json")
    assert not (tmp_path / "bench" / "recordings.jsonl").exists()


def test_a_cycle_is_shown(sample: Path, tmp_path: Path, proctor: Callable[..., Any]) -> None:
    path = sample / "activities/desk-lamp.json"
    activity = json.loads(path.read_text(encoding="utf-8"))
    first, second = activity["steps"][:2]
    first["after"] = [second["id"]]
    assert first["id"] in second["after"]
    path.write_text(json.dumps(activity), encoding="utf-8")
    assert_helpful(proctor("read", "plain", sample, tmp_path / "bench"), "desk-lamp.json", "cycle")


@pytest.mark.parametrize("folder", ["nowhere", "file", "loop"])
@pytest.mark.parametrize("dataset", ["plain", "captaincook4d"])
def test_a_data_set_that_is_not_there(
    dataset: str, folder: str, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    assert_helpful(proctor("read", dataset, tmp_path / folder, tmp_path / "bench"), folder)
    assert_helpful(proctor("datasets", "check", dataset, tmp_path / folder), folder)


def test_a_data_set_that_nobody_reads(tmp_path: Path, proctor: Callable[..., Any]) -> None:
    assert_helpful(proctor("read", "plane", tmp_path, tmp_path / "bench"), "plane", "plain")


def test_a_table_is_converted_first(
    tmp_path: Path, proctor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("steps.csv").write_text("recording_id,activity_id,text,start,end\na,b,Close,0,1\n")
    named = proctor("read", "csv", "steps.csv", "w")
    assert "steps.csv: 'csv' is a format of files, and no data set." in named.err
    first = "first: proctor datasets convert steps.csv steps-plain{} --to plain; then: proctor read plain steps-plain w"
    assert first.format(" --from csv") in named.err
    plain = proctor("read", "plain", "steps.csv", "w")
    assert "steps.csv: this is a file, a folder was expected." in plain.err
    assert first.format("") in plain.err
    assert "this is a file, a folder was expected" in proctor("datasets", "check", "steps.csv").err
    for told in (named, plain):  # what is said works as typed
        for command in re.findall(r"proctor (datasets convert[^;]+|read plain .*)", told.err):
            assert proctor(*command.split()).status == 0
        shutil.rmtree("steps-plain")


def test_a_failed_reading_leaves_an_older_workspace_alone(
    home: Path, proctor: Callable[..., Any], contents: Callable[[Path], dict[str, bytes]]
) -> None:
    (home / "sample/recordings/tea_2.json").write_text("{")
    before = contents(home / "bench")
    assert_helpful(proctor("read", "plain", home / "sample", home / "bench"))
    assert contents(home / "bench") == before


# -- CaptainCook4D -----------------------------------------------------------------------------------------------

STEPS = {"0": "START", "1": "Boil-Boil water", "2": "Stir-Stir it", "3": "Pour-Pour it", "4": "END"}
EDGES = [[0, 1], [1, 2], [2, 3], [3, 4]]


def _step(text: str, number: int, start: float, end: float) -> dict[str, Any]:
    return {"description": text, "step_id": number, "start_time": start, "end_time": end}


@pytest.fixture
def annotations(tmp_path: Path, tests_data: Path) -> Path:
    """The smallest folder that reads as CaptainCook4D."""
    root = tmp_path / "annotations"
    steps = [
        _step("Boil-Boil water", 71, 5, 10),
        _step("Stir-Stir it", 72, 10, 20),
        _step("Pour-Pour it", 73, 20, 30),
    ]
    tea = [_step("Fill-Fill the kettle with water", 1, 0, 9), _step("Boil-Boil the water", 2, 9, 20)]
    files: dict[str, Any] = {
        "annotation_json/error_annotations.json": [
            {"recording_id": "7_1", "activity_id": 7, "is_error": False, "step_annotations": tea},
            {"recording_id": "99_1", "activity_id": 99, "is_error": False, "step_annotations": steps},
        ],
        "annotation_json/complete_step_annotations.json": {
            "99_1": {"activity_id": 99, "activity_name": "Test Tea", "person_id": 1, "environment": 2},
            "7_1": {"activity_id": 7, "activity_name": "Tea", "person_id": 1, "environment": 2},
        },
        "task_graphs/testtea.json": {"steps": STEPS, "edges": EDGES},
        "no_4k_video.json": {"recordings": []},
    }
    for name, value in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(value), encoding="utf-8")
    shutil.copy(tests_data / "promqa/tea.json", root / "task_graphs/tea.json")
    return root


CAPTAINCOOK4D_FINE = {
    ("no_4k_video.json", "missing"),  # the file is used when present
    ("task_graphs/testtea.json", "missing", "check"),  # that is a finding
    ("task_graphs/testtea.json", "missing", "read"),  # its recordings are left out with that reason
}


def test_the_small_folder_is_sound(
    annotations: Path, tests_data: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    """Without this the tests below could pass because something else is wrong."""
    assert proctor("read", "captaincook4d", annotations, tmp_path / "bench").status == 0
    assert proctor("datasets", "check", "captaincook4d", annotations).status == 0
    file = tests_data / "promqa/tiny.json"
    for command in USES:
        outcome = proctor(*USES[command](file, annotations, tmp_path / "imported"))
        assert outcome.status == 0, outcome.err


CAPTAINCOOK4D = [
    "annotation_json/error_annotations.json",
    "annotation_json/complete_step_annotations.json",
    "task_graphs/testtea.json",
    "no_4k_video.json",
]


@pytest.mark.parametrize("command", ["read", "check"])
@pytest.mark.parametrize("name", CAPTAINCOOK4D)
@pytest.mark.parametrize("way", WAYS)
def test_a_broken_file_of_captaincook4d(
    way: str, name: str, command: str, annotations: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    place = [tmp_path / "bench"] if command == "read" else []
    WAYS[way](annotations / name)
    outcome = proctor(*WORDS[command], "captaincook4d", annotations, *place)
    if (name, way, command) in CAPTAINCOOK4D_FINE or (name, way) in CAPTAINCOOK4D_FINE:
        assert outcome.status == 0, outcome.err
        return
    assert_helpful(outcome, Path(name).name if way != "missing" else "")
    assert list((tmp_path / "bench").glob("*")) == [] if (tmp_path / "bench").exists() else True


# -- published examples ------------------------------------------------------------------------------------------

USES = {
    "import": lambda file, notes, place: ("import", "promqa", file, place, "--annotations", notes),
    "reproduce": lambda file, notes, place: (
        "reproduce",
        "promqa",
        "--annotations",
        notes,
        "--examples",
        file,
    ),
    "oracle": lambda file, notes, place: ("oracle", "evaluate", "--annotations", notes, "--examples", file),
}


@pytest.mark.parametrize("command", USES)
@pytest.mark.parametrize("way", [*WAYS, "an object", "an object with nothing", "no examples"])
def test_a_broken_published_file(
    way: str, command: str, annotations: Path, tests_data: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    path = Path(shutil.copy(tests_data / "promqa/tiny.json", tmp_path / "published.json"))
    extra = {"an object": b"{}", "an object with nothing": b"[{}]", "no examples": b"[]"}
    (_with(extra[way]) if way in extra else WAYS[way])(path)
    bench = tmp_path / "bench"
    outcome = proctor(*USES[command](path, annotations, bench))
    assert_helpful(outcome, "published.json")
    assert not bench.exists() or list(bench.iterdir()) == []


def _first(change: Callable[[dict[str, Any]], None]) -> Callable[[list[dict[str, Any]]], None]:
    return lambda examples: change(examples[0])


def _without(key: str) -> Callable[[dict[str, Any]], None]:
    def change(example: dict[str, Any]) -> None:
        del example[key]

    return change


PUBLISHED: dict[str, Callable[[list[dict[str, Any]]], None]] = {
    "an id twice": lambda examples: examples.append(examples[0]),
    "no id": _first(_without("question_id")),
    "end is a list": _first(_set("end_time", [1])),
    "end is NaN": _first(_set("end_time", math.nan)),
    "steps are a text": _first(_set("previous_steps", "none")),
}


@pytest.mark.parametrize("command", USES)
@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_published_example_that_cannot_be_right(
    kind: str, command: str, annotations: Path, tests_data: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    examples = json.loads((tests_data / "promqa/tiny.json").read_text(encoding="utf-8"))
    PUBLISHED[kind](examples)
    path = tmp_path / "published.json"
    path.write_text(json.dumps(examples), encoding="utf-8")
    bench = tmp_path / "bench"
    assert_helpful(proctor(*USES[command](path, annotations, bench)), "published.json")
    assert not bench.exists() or list(bench.iterdir()) == []


@pytest.mark.parametrize("command", USES)
def test_annotations_that_are_not_there(
    command: str, tests_data: Path, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    file = tests_data / "promqa/tiny.json"
    assert_helpful(proctor(*USES[command](file, tmp_path / "nowhere", tmp_path / "bench")), "nowhere")


def test_an_import_over_another_benchmark(
    bench: Path,
    annotations: Path,
    tests_data: Path,
    proctor: Callable[..., Any],
    contents: Callable[..., Any],
) -> None:
    before = contents(bench)
    outcome = proctor(
        "import", "promqa", tests_data / "promqa/tiny.json", bench, "--annotations", annotations
    )
    assert outcome.status == 2
    assert contents(bench) == before
