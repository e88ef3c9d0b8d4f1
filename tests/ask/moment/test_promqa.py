"""The published file is read strictly, and its examples become ours without losing a fact."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment.promqa import (
    PromqaExample,
    kind_to_tag,
    parse_clock,
    read_promqa,
    read_promqa_graphs,
    render_clock,
    to_example,
)
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import MISTAKE_KINDS, mistake_kind


def load_graph(path: Path, activity_id: str, name: str) -> TaskGraph:
    raw = json.loads(path.read_text(encoding="utf-8"))
    steps = tuple(Step(key, text) for key, text in raw["steps"].items())
    edges = tuple((str(a), str(b)) for a, b in raw["edges"])
    return TaskGraph(activity_id, name, steps, edges, "0", max(raw["steps"], key=int))


@pytest.fixture
def tea(tests_data: Path) -> TaskGraph:
    return load_graph(tests_data / "promqa/tea.json", "7", "Tea")


@pytest.fixture
def tiny(tests_data: Path) -> list[PromqaExample]:
    return read_promqa(tests_data / "promqa/tiny.json")


@pytest.fixture
def raw(tests_data: Path) -> list[Any]:
    loaded: list[Any] = json.loads((tests_data / "promqa/tiny.json").read_text(encoding="utf-8"))
    return loaded


# -- reading -------------------------------------------------------------------------------------------------


def test_every_object_is_typed_and_kept(tiny: list[PromqaExample], raw: list[Any]) -> None:
    assert [json.dumps(e.origin) for e in tiny] == [json.dumps(o) for o in raw]
    assert tiny[1].adjudication.judge is not None
    assert tiny[1].verification.judges[1].comment == ("Yes – put a tea bag in the cup.",)


def test_later_blocks_and_unknown_fields_survive(tiny: list[PromqaExample]) -> None:
    assert tiny[2].prediction is not None
    assert tiny[2].prediction.response == "Yes."
    assert tiny[2].evaluation is not None
    assert tiny[2].evaluation.judge == "2"
    assert tiny[2].origin["note"] == {"made": "by hand", "n": 1.5}
    assert tiny[3].human_answer == "No."


def test_a_field_that_is_named_like_our_own_is_only_kept(tmp_path: Path, raw: list[Any]) -> None:
    raw[0]["origin"] = 5
    path = tmp_path / "x.json"
    path.write_text(json.dumps(raw))
    assert read_promqa(path)[0].origin["origin"] == 5


def _without(key: str) -> Callable[[list[Any]], Any]:
    def edit(raw: list[Any]) -> Any:
        del raw[1][key]
        return raw

    return edit


def _with(value: Any, *keys: Any) -> Callable[[list[Any]], Any]:
    def edit(raw: list[Any]) -> Any:
        place = raw[1]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        return raw

    return edit


@pytest.mark.parametrize(
    ("edit", "seen"),
    [
        (_without("question"), "question"),
        (_without("missing_steps"), "missing_steps is missing"),
        (_with([], "next_steps"), "next_steps is there"),
        (_with("1", "current_step", "step_id"), r"\$.current_step.step_id"),
        (_with("yes", "is_noisy"), "is_noisy"),
        (_with("3:20", "end_time"), "end_time '3:20'"),
        (_with("00:61:00", "end_time"), "end_time"),
        (_with("recipe", "type"), "type 'recipe'"),
        (_with(["machine"], "answer_tags"), "answer_tags has 1 entries for 2"),
        (_with(["robot", "robot"], "answer_tags"), "answer_tags"),
        (_with([None], "adjudication", "init", "answers"), "adjudication.init.answers has 1 entries for 3"),
        (_with([True], "adjudication", "judge", "answers"), "adjudication.judge.answers has 1"),
        (_with([True], "verification", "judges", 0, "answers"), r"verification.judges\[0\].answers has 1"),
        (_with("7_1_-1_next", "question_id"), "occurs more than once"),
        (lambda raw: {"examples": raw}, "a JSON list of examples was expected, this is an object"),
        (lambda raw: 5, "this is a number"),
        (lambda raw: [[], *raw], r"example 0.*"),
    ],
)
def test_another_shape_is_refused_by_name(
    raw: list[Any], tmp_path: Path, edit: Callable[[list[Any]], Any], seen: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(edit(raw)), encoding="utf-8")
    with pytest.raises(UserError, match=seen) as caught:
        read_promqa(path)
    assert str(path) in str(caught.value)


def test_the_message_names_the_example(raw: list[Any], tmp_path: Path) -> None:
    raw[2]["answers"] = None
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(UserError, match=r"example 2 \(7_1_4_order\).*\$.answers"):
        read_promqa(path)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "empty"),
        (b"[{", "not valid JSON"),
        (b"\xff\xfe[]", "UTF-8|not valid JSON"),
        (b"[NaN]", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'[{"question": "\\ud800"}]', "not valid JSON|example 0"),
    ],
)
def test_a_broken_file_is_a_user_error(tmp_path: Path, content: bytes, seen: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=seen):
        read_promqa(path)


def test_a_truncated_file_is_a_user_error(tmp_path: Path, tests_data: Path) -> None:
    whole = (tests_data / "promqa/tiny.json").read_bytes()
    path = tmp_path / "cut.json"
    for cut in range(1, len(whole) - 1, 997):
        path.write_bytes(whole[:cut])
        with pytest.raises(UserError):
            read_promqa(path)


def test_missing_file_folder_and_loop(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for path in (tmp_path / "none.json", tmp_path, loop):
        with pytest.raises(UserError):
            read_promqa(path)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (
            '{"1": {"name": "T", "steps": {"0": "START", "1": "a", "2": "END"}, "edges": [[0, 7]]}}',
            "unknown step '7'",
        ),
        (
            '{"1": {"name": "T", "steps": {"0": "START", "1": "a", "2": "END"}, "edges": [[0, 1], [1, 0]]}}',
            "cycle: ",
        ),
        ('{"1": {"name": "T", "steps": {"0": "START", "x": "a"}, "edges": []}}', "whole numbers"),
        ('{"1": {"name": "T", "steps": {}, "edges": []}}', "must be 0"),
        ('{"1": {"name": "T", "steps": {"0": 1}, "edges": []}}', "Expected `str`"),
        ("[]", "Expected `object`"),
    ],
)
def test_graphs_that_are_none_are_refused(tmp_path: Path, content: str, seen: str) -> None:
    path = tmp_path / "graphs.json"
    path.write_text(content)
    with pytest.raises(UserError, match=seen):
        read_promqa_graphs(path)


def test_published_graphs_are_read(tmp_path: Path, tests_data: Path, tea: TaskGraph) -> None:
    path = tmp_path / "graphs.json"
    path.write_text(
        json.dumps({"7": {"name": "Tea", **json.loads((tests_data / "promqa/tea.json").read_text())}})
    )
    assert read_promqa_graphs(path) == {"7": tea}


# -- translation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "kind"),
    [("Order Error", "order"), ("Missing Step", "missing"), ("Other", "other"), ("Timing Error", "timing")],
)
def test_tags_and_kinds(tag: str, kind: str) -> None:
    assert mistake_kind(tag) == kind
    assert kind_to_tag(kind) == tag


@pytest.mark.parametrize("kind", MISTAKE_KINDS)
def test_every_kind_comes_back(kind: str) -> None:
    assert mistake_kind(kind_to_tag(kind)) == kind


@given(st.integers(0, 359_999), st.floats(0, 0.999))
def test_clock_comes_back_without_its_fraction(seconds: int, fraction: float) -> None:
    assert parse_clock(render_clock(seconds + fraction)) == seconds


@pytest.mark.parametrize("text", ["", "1:2:3", "00:60:00", "00:00:60", "-1:00:00", "00:00:01.5", "٠٠:٠٠:٠١"])
def test_another_clock_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HH:MM:SS"):
        parse_clock(text)


def test_the_start_has_no_current_step(tiny: list[PromqaExample], tea: TaskGraph) -> None:
    example = to_example(tiny[0], tea)
    assert example.current is None
    assert example.state == "started"
    assert example.id == "7_1_-1_next"
    assert [s.step_id for s in example.all_next] == ["1", "3"]


def test_facts_are_derived_from_what_was_done(tiny: list[PromqaExample], tea: TaskGraph) -> None:
    example = to_example(tiny[1], tea)
    assert example.end == 200.0
    assert example.activity_id == "7"
    assert example.state == "ongoing"
    assert example.blocking == (("3", "4"),)
    assert [s.step_id for s in example.all_missing] == ["3"]
    assert [s.step_id for s in example.all_next] == ["5"]
    assert example.current is not None
    assert example.current.instruction == "Pour-Pour the water into the cup"
    assert [m.kind for m in example.current.mistakes] == ["technique", "order"]
    assert to_example(tiny[3], tea).state == "blocked"


def test_mistake_texts_end_with_the_published_one(tiny: list[PromqaExample], tea: TaskGraph) -> None:
    assert to_example(tiny[2], tea).mistake_texts == ("no tea bag yet",)
    assert to_example(tiny[0], tea).mistake_texts == ()


def test_a_step_outside_the_graph_is_named(tiny: list[PromqaExample], diamond: TaskGraph) -> None:
    with pytest.raises(UserError, match=r"7_1_4_missing: step 1 .* not in the task graph"):
        to_example(tiny[1], diamond)


# -- the real file -------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_derived_sets_equal_the_published_ones(shared_data: Path) -> None:
    published = read_promqa(shared_data / "promqa/examples_dev.json")
    assert len(published) == 195
    for one in published:
        name = one.activity_name.lower().replace(" ", "")
        graph = load_graph(
            shared_data / f"captaincook4d/task_graphs/{name}.json",
            one.recording_id.split("_")[0],
            one.activity_name,
        )
        example = to_example(one, graph)
        assert example.next_steps in (None, example.all_next)
        assert example.missing_steps in (None, example.all_missing)
        assert render_clock(example.end) == one.end_time
