"""The published file goes in and comes out again, and its merge follows from the raw judgements."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.moments import gold, with_example

from proctor.ask.moment.promqa import PromqaExample, read_promqa
from proctor.errors import UserError
from proctor.exam.kinds.moment_question import moment_candidate, moment_example
from proctor.exam.question import Question
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash
from proctor.release.promqa import (
    Layout,
    Origin,
    PromqaRecords,
    detect_layout,
    export_promqa,
    import_promqa,
    merge_published,
    read_origins,
    render_promqa,
    write_origins,
)
from proctor.verify.verdict import Verdict

MERGED = ("adjudication", "question", "question_approved_by", "answers", "answer_tags", "answer_approved_by")


def _export(records: PromqaRecords) -> list[dict[str, Any]]:
    return export_promqa(records.items, records.questions, records.verdicts, records.origins)


# -- round trip ----------------------------------------------------------------------------------------------


def test_the_tiny_file_comes_back_byte_for_byte(tiny_path: Path, records: PromqaRecords) -> None:
    data = tiny_path.read_bytes()
    assert render_promqa(_export(records), detect_layout(data)) == data


def test_only_what_we_have_no_record_for_is_kept_verbatim(records: PromqaRecords) -> None:
    kept = [set(origin.verbatim) for origin in records.origins]
    assert kept == [
        {"generation"},
        {"generation"},
        {"generation", "prediction", "evaluation", "note"},
        {"generation", "human_answer"},
    ]


def test_the_round_trip_survives_the_disk(tiny_path: Path, records: PromqaRecords, tmp_path: Path) -> None:
    layout = detect_layout(tiny_path.read_bytes())
    write_origins(tmp_path / "origin.jsonl", records.origins, layout)
    origins, again = read_origins(tmp_path / "origin.jsonl")
    assert (origins, again) == (records.origins, layout)

    def through_disk(values: tuple[Any, ...], kind: Any) -> list[Any]:
        return [msgspec.json.decode(msgspec.json.encode(value), type=kind) for value in values]

    objects = export_promqa(
        records.items,
        through_disk(records.questions, Question),
        through_disk(records.verdicts, Verdict),
        origins,
    )
    assert render_promqa(objects, again) == tiny_path.read_bytes()


@pytest.mark.parametrize(
    "break_",
    [
        lambda o: o["current_step"].update(step_id=4, note="x"),
        lambda o: o.update(answers=["other", "answers"]),
        lambda o: o["verification"]["judges"].append(
            {"question": True, "answers": [None, True], "comment": []}
        ),
        lambda o: o["verification"].update(judges=[]),
        lambda o: o["adjudication"].pop("judge"),
        lambda o: o["adjudication"]["judge"].update(question=False, answers=[]),
        lambda o: o["previous_steps"][0].update(errors=[{"tag": "Odd Tag", "description": ""}]),
        lambda o: o["previous_steps"][0].update(errors=[]),
        lambda o: o.update(is_noisy=True, zzz={"a": [1.0, 1, -0.0, 12345678901234567890123, None]}),
        lambda o: o.update(end_time="0000:03:20"),
        lambda o: o.update({"question": o.pop("question")}),
        lambda o: o["generation"].update(qas=[]),
    ],
)
def test_whatever_else_the_file_says_comes_back_too(
    tiny_path: Path, graphs: dict[str, TaskGraph], tmp_path: Path, break_: Any
) -> None:
    raw = json.loads(tiny_path.read_text(encoding="utf-8"))
    break_(raw[1])
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    records = import_promqa(read_promqa(path), graphs)
    data = path.read_bytes()
    assert render_promqa(_export(records), detect_layout(data)) == data


def test_an_edit_of_our_records_is_exported(records: PromqaRecords) -> None:
    item = msgspec.structs.replace(with_example(records.items[1], "Anything missing?"), golds=(gold("Tea."),))
    objects = export_promqa([item], records.questions, records.verdicts, records.origins)
    assert objects[0]["question"] == "Anything missing?"
    assert objects[0]["answers"] == ["Tea."]
    assert objects[0]["verification"]["question"] == "Did I forget anything?"
    assert next(iter(objects[0])) == "recording_id"


def test_our_own_items_export_in_the_published_form(
    records: PromqaRecords, tmp_path: Path, graphs: dict[str, TaskGraph]
) -> None:
    objects = export_promqa(records.items, records.questions, records.verdicts)
    path = tmp_path / "ours.json"
    for one in objects:
        one["generation"].update(prompt="", response="")
    path.write_bytes(render_promqa(objects))
    again = import_promqa(read_promqa(path), graphs)
    assert [i.golds for i in again.items] == [i.golds for i in records.items]
    bare = export_promqa(records.items, [], [])
    assert "verification" not in bare[0]
    assert bare[0]["answers"] == ["Fill the kettle."]


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [place, *(p for key, child in children for p in _places(child, (*place, key)))]


_junk = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        7,
        1.5,
        2**70,
        "",
        "x",
        "Order Error",
        "00:00:01",
        [],
        [None],
        [True],
        ["x"],
        {},
        {"x": 1},
    ]
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_file_with_junk_anywhere_is_refused_or_comes_back(
    data: st.DataObject, tiny_path: Path, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    raw = json.loads(tiny_path.read_text(encoding="utf-8"))
    for place in data.draw(st.lists(st.sampled_from(_places(raw)[1:]), min_size=1, max_size=2)):
        value: Any = raw
        try:
            for key in place[:-1]:
                value = value[key]
            if data.draw(st.booleans()):
                del value[place[-1]]
            else:
                value[place[-1]] = data.draw(_junk)
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the second place away
    path = tmp_path / "junk.json"
    path.write_text(json.dumps(raw, indent=2), encoding="utf-8")
    try:
        published = read_promqa(path)
        records = import_promqa(published, graphs)
    except UserError:
        return
    assert render_promqa(_export(records), detect_layout(path.read_bytes())) == path.read_bytes()
    for one in published:
        merge_published(one)


# -- what the records say ------------------------------------------------------------------------------------


def test_ids_and_hashes_link_the_records(records: PromqaRecords) -> None:
    for example, candidate, item in zip(records.examples, records.candidates, records.items, strict=True):
        assert candidate.example_id == example.id
        assert candidate.provenance.example_hash == content_hash(example)
        assert moment_candidate(item.question) == candidate.id
        assert item.question.provenance["version"] == content_hash(candidate)
        assert moment_example(item.question) == example
        own = [v for v in records.verdicts if v.candidate_id == candidate.id]
        assert {v.candidate_hash for v in own} == {item.question.provenance["version"]}


def test_the_adjudicators_answers_are_in_source_order(records: PromqaRecords) -> None:
    verdict = next(
        v for v in records.verdicts if v.role == "adjudicator" and v.candidate_id == "7_1_4_missing"
    )
    assert [a.value for a in verdict.answers] == ["right", "wrong", "right"]


def test_annotators_names_can_be_given(tiny: list[PromqaExample], graphs: dict[str, TaskGraph]) -> None:
    records = import_promqa(tiny, graphs, annotators={"7_1_4_order": ("eva", "ana")})
    names = [v.annotator for v in records.verdicts if v.candidate_id == "7_1_4_order"]
    assert names == ["eva", "ana", "adjudicator"]
    with pytest.raises(UserError, match="1 names were given for 2 annotators"):
        import_promqa(tiny, graphs, annotators={"7_1_4_order": ("eva",)})


def test_a_missing_task_graph_is_named(tiny: list[PromqaExample], graphs: dict[str, TaskGraph]) -> None:
    with pytest.raises(UserError, match=r"7_1_-1_next: there is no task graph for the activity 'Tea'"):
        import_promqa(tiny, {})
    by_number = {"7": graphs["7"]}
    assert import_promqa(tiny, by_number).examples[0].activity_id == "7"


# -- layout --------------------------------------------------------------------------------------------------


@given(
    st.sampled_from([None, 1, 2, 3, 4, "\t"]),
    st.booleans(),
    st.sampled_from(["", "\n", "\r\n"]),
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | st.none())),
)
def test_any_usual_layout_is_recognised(
    indent: Any, ascii_: bool, end: str, objects: list[dict[str, Any]]
) -> None:
    data = (json.dumps(objects, indent=indent, ensure_ascii=ascii_) + end).encode("utf-8", "surrogatepass")
    assert render_promqa(objects, detect_layout(data)) == data


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b'{"type": "page"}\n', "origin.jsonl:1"),
        (b'{"type":"example","id":1}', "origin.jsonl:1"),
        (b"{", ":1"),
    ],
)
def test_broken_origins_are_refused(tmp_path: Path, content: bytes, seen: str) -> None:
    path = tmp_path / "origin.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=seen):
        read_origins(path)
    with pytest.raises(UserError, match="no such file"):
        read_origins(tmp_path / "none.jsonl")


# -- the published merge -------------------------------------------------------------------------------------


def test_the_tiny_merge_follows_from_raw_judgements(tiny: list[PromqaExample]) -> None:
    for one in tiny:
        rebuilt = merge_published(one)
        assert {key: rebuilt[key] for key in MERGED} == {key: one.origin[key] for key in MERGED}


def test_another_judgement_gives_another_merge(tiny: list[PromqaExample]) -> None:
    """The merge reads the judgements, not the published outcome."""
    one = tiny[0]
    judges = (
        one.verification.judges[0],
        msgspec.structs.replace(one.verification.judges[1], answers=(False,)),
    )
    changed = msgspec.structs.replace(
        one, verification=msgspec.structs.replace(one.verification, judges=judges), answers=(), answer_tags=()
    )
    rebuilt = merge_published(changed)
    assert rebuilt["needs_adjudication"]
    assert rebuilt["adjudication"]["init"]["answers"] == [None]
    assert rebuilt["question"] is None


# -- the real file -------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_all_195_come_back_byte_for_byte(dev_path: Path, dev_records: PromqaRecords) -> None:
    data = dev_path.read_bytes()
    assert detect_layout(data) == Layout(indent=1, ascii=False, end="")
    assert render_promqa(_export(dev_records), detect_layout(data)) == data
    assert Counter(key for o in dev_records.origins for key in o.verbatim) == {"generation": 195}
    assert {type(o) for o in dev_records.origins} == {Origin}


@pytest.mark.shared
def test_all_195_merges_follow_from_raw_judgements(dev: list[PromqaExample]) -> None:
    for one in dev:
        rebuilt = merge_published(one)
        assert rebuilt["needs_adjudication"] == ("judge" in one.origin["adjudication"])
        assert {key: rebuilt[key] for key in MERGED} == {key: one.origin[key] for key in MERGED}, (
            one.question_id
        )


@pytest.mark.shared
def test_import_is_fast(dev_path: Path, dev_graphs: dict[str, TaskGraph]) -> None:
    """401 examples in 0.5 s is the aim; 195 in 0.5 s leaves room for a busy machine."""
    began = time.process_time()
    import_promqa(read_promqa(dev_path), dev_graphs)
    assert time.process_time() - began < 0.5
