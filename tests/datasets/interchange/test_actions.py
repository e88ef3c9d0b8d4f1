"""Fine-grained actions there and back, and Label Studio's conventions of frames."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.interchange import find_format, formats
from proctor.datasets.interchange.checks import parse_action, render_action
from proctor.datasets.interchange.label_studio import read_label_studio, write_label_studio
from proctor.datasets.plain import read_plain, write_plain
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Action, Mistake, Recording, Segment

TRICKY = '<Mix> & "fold"'
ACTIONS = (
    Action(0.5, 2.0, "lift", "kettle", "manual", "1"),
    Action(1.0, 3.0, "a: b | c", "x \\| <y> & 'z'", "model | 2"),
    Action(1.5, 2.5, "wait"),
)
RECORDING = Recording(
    "r", "tea", "Tea",
    (Segment("1", "Fill", 0.5, 12.04), Segment("2", TRICKY, 2.5, 3.0, mistakes=(Mistake("timing", "a: b"),))),
    duration=60.0, video="r.mp4", actions=ACTIONS,
)  # fmt: skip
GRAPH = TaskGraph("tea", "Tea", (Step("1", "Fill"), Step("2", TRICKY)), (("1", "2"),))

words = st.text(alphabet=st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["a | b", "\\", " | ", "a:b", ": "]
)


@given(verb=words.filter(bool), noun=words, source=words, step=st.none() | words)
def test_an_action_is_one_line_and_comes_back(verb: str, noun: str, source: str, step: str | None) -> None:
    action = Action(1.0, 2.0, verb, noun, source, step)
    assert parse_action(render_action(action), 1.0, 2.0) == action


def test_lines_that_people_type() -> None:
    assert parse_action("cut the onion", 0, 1) == Action(0, 1, "cut", "the onion")
    assert parse_action("cut: onion | step 3", 0, 1) == Action(0, 1, "cut", "onion", "", "3")
    assert parse_action("  ", 0, 1) is None
    assert parse_action(": onion", 0, 1) is None


@pytest.mark.parametrize("name", ["label-studio", "elan", "webvtt"])
def test_actions_come_back(name: str, tmp_path: Path) -> None:
    format_ = find_format(name)
    assert format_.read
    assert format_.write
    path = tmp_path / f"x{format_.suffixes[0]}"
    told = format_.write([RECORDING], path)
    assert [d.reason for d in told] == (["mistake_lost"] if name == "webvtt" else [])
    back: Any = format_.read(path)
    assert back.objects[0].actions == ACTIONS
    assert (back.dropped, back.warnings) == ((), ())


def test_every_other_format_lists_them(tmp_path: Path) -> None:
    for format_ in formats():
        if (
            format_.kind != "recordings"
            or format_.name in ("label-studio", "elan", "webvtt")
            or format_.extra
        ):
            continue
        assert format_.write
        told = format_.write([RECORDING], tmp_path / f"{format_.name}{format_.suffixes[0]}")
        assert [d.reason for d in told].count("action_lost") == 3
        assert "fine-grained actions" in format_.loss


def test_they_are_seen_on_a_tier_of_elan(tmp_path: Path) -> None:
    reader = find_format("elan").write
    assert reader
    reader([RECORDING], tmp_path / "x.eaf")
    text = (tmp_path / "x.eaf").read_text(encoding="utf-8")
    assert "lift: kettle | step 1 | source manual" in text
    assert all(f'TIER_ID="{name}"' in text for name in ("actions", "actions 2", "actions 3"))


def test_they_are_in_the_plain_format(tmp_path: Path) -> None:
    write_plain(tmp_path / "x", [RECORDING], {"tea": GRAPH})
    result = read_plain(tmp_path / "x", "published")
    assert result.recordings == (RECORDING,)
    assert result.counts["actions"] == 3


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"start": 1, "end": 2}, "'verb' is missing"),
        ({"start": 1, "end": 2, "verb": " "}, "text is empty"),
        ({"start": 3, "end": 2, "verb": "cut"}, "swapped"),
        ({"start": -1, "end": 2, "verb": "cut"}, "before the start"),
        ({"start": "1,5", "end": 2, "verb": "cut"}, "decimals take a point"),
        ({"start": 1, "end": 1e9, "verb": "cut"}, "milliseconds"),
        ({"start": 1, "end": 2, "verb": "cut", "step": "9"}, "not a step"),
        ({"start": 1, "end": 2, "verb": "cut", "object": "onion"}, "unknown key 'object'"),
        ("cut", "expected an object"),
    ],
)
def test_bad_actions_are_named_with_their_place(tmp_path: Path, action: Any, message: str) -> None:
    write_plain(tmp_path / "x", [RECORDING], {"tea": GRAPH})
    path = tmp_path / "x" / "recordings.jsonl"
    row = json.loads(path.read_text())
    row["actions"][1] = action
    path.write_text(json.dumps(row))
    with pytest.raises(UserError, match=message) as caught:
        read_plain(tmp_path / "x")
    assert "actions[1]" in str(caught.value)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("end", ["inclusive", "exclusive"])
@pytest.mark.parametrize("fps", [Fraction(30_000, 1_001), Fraction(25)])
def test_both_conventions_of_frames_come_back(
    tmp_path: Path, base: int, end: Any, fps: Fraction
) -> None:  # E2, E5
    path = tmp_path / "tasks.json"
    options: Any = {"convention": "frames", "fps": float(fps), "base": base, "end": end}
    assert write_label_studio([RECORDING], path, **options) == ()
    task = json.loads(path.read_text())[0]
    first = task["annotations"][0]["result"][0]["value"]["ranges"][0]
    assert first["start"] == round(0.5 * fps) + base
    assert first["end"] == round(12.04 * fps) + base - (end == "inclusive")
    back: Any = read_label_studio(path).objects[0]
    for a, b in zip([*RECORDING.segments, *ACTIONS], [*back.segments, *back.actions], strict=True):
        assert abs(a.start - b.start) <= 0.5 / fps + 1e-9
        assert abs(a.end - b.end) <= 0.5 / fps + 1e-9
    assert back.segments[1].text == TRICKY
    for key in ("frame_base", "frame_end"):  # other people's files do not say
        del task["data"][key]
    path.write_text(json.dumps([task]))
    assert read_label_studio(path, base=base, end=end).objects[0] == back


def test_the_rate_of_a_recording_counts_where_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    for fps, said in (("30000/1001", 30_000 / 1_001), ("fast", 30.0), ("1/0", 30.0)):
        recording = Recording("r", "tea", "Tea", RECORDING.segments, attributes={"fps": fps})
        write_label_studio([recording], path, convention="frames")
        assert json.loads(path.read_text())[0]["data"]["fps"] == said


def test_predictions_to_begin_with(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    write_label_studio([RECORDING], path, results="predictions")
    task = json.loads(path.read_text())[0]
    assert "annotations" not in task
    assert len(task["predictions"][0]["result"]) == 9  # two steps, a mistake, three actions with their texts


def test_what_is_no_convention_is_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"base": 2}, {"end": "half"}, {"results": "both"}]
    for options in wrong:
        with pytest.raises(UserError):
            write_label_studio([RECORDING], tmp_path / "x.json", **options)


def test_other_peoples_regions(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"

    def region(id_: str, control: str, type_: str, **value: Any) -> dict[str, Any]:
        return {"id": id_, "from_name": control, "type": type_, "value": value}

    results = [
        region("a", "tricks", "timeserieslabels", start=1.0, end=2.0, timeserieslabels=["Stir"]),
        region(
            "b", "tricks", "timeserieslabels", ranges=[{"start": 1, "end": 25}], timeserieslabels=["Rest"]
        ),
        region(
            "c", "actions", "labels", start=3.0, end=4.0, labels=["Pour"]
        ),  # their name of a control for steps
        region("d", "actions", "labels", start=3.0, end=4.0, labels=["Action"]),
    ]
    path.write_text(json.dumps([{"data": {"video": "x.mp4"}, "annotations": [{"result": results}]}]))
    back = read_label_studio(path, fps=25.0)
    assert [(s.text, s.start, s.end) for s in back.objects[0].segments] == [
        ("Rest", 0.0, 1.0), ("Stir", 1.0, 2.0), ("Pour", 3.0, 4.0),
    ]  # fmt: skip
    assert [(d.id, d.reason) for d in back.dropped] == [("x/d", "no_label")]
