"""The shipped sample: what it promises to cover."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from proctor.datasets.plain import check_plain, read_plain
from proctor.errors import UserError
from proctor.procedure.progress import derive_progress
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.samples import copy_sample, path

SAMPLE = read_plain(path(), "published")


def final_state(recording_id: str) -> str:
    recording = next(r for r in SAMPLE.recordings if r.id == recording_id)
    graph = SAMPLE.graphs[recording.activity_id]
    return derive_progress(graph, [s.step_id for s in recording.performed]).state


def test_three_activities_with_7_to_11_steps_and_a_choice_of_orders():
    assert sorted(SAMPLE.graphs) == ["lamp", "strips", "tea"]
    for graph in SAMPLE.graphs.values():
        assert 7 <= len(graph.actions) <= 11
        assert graph.count_orders() > 40
        assert graph.transitive_reduction() == graph
    assert SAMPLE.graphs["strips"].start is not None
    assert SAMPLE.graphs["tea"].start is None


def test_one_activity_has_two_steps_with_the_same_text():
    texts = Counter(s.text for s in SAMPLE.graphs["tea"].steps)
    assert max(texts.values()) == 2


def test_four_recordings_each_one_of_them_clean():
    assert Counter(r.activity_id for r in SAMPLE.recordings) == {"tea": 4, "lamp": 4, "strips": 4}
    assert [r.id for r in SAMPLE.recordings if not r.has_mistakes] == ["lamp_1", "strips_1", "tea_1"]
    for id_ in ("lamp_1", "strips_1", "tea_1"):
        recording = next(r for r in SAMPLE.recordings if r.id == id_)
        graph = SAMPLE.graphs[recording.activity_id]
        assert graph.is_valid_order([s.step_id for s in recording.performed])


def test_recordings_are_60_to_100_seconds_long_and_nothing_overlaps():
    for recording in SAMPLE.recordings:
        assert recording.duration is not None
        assert 60 <= recording.duration <= 100
        assert recording.video == f"videos/{recording.id}.mp4"
        ends = [0.0]
        for segment in recording.performed:
            assert segment.start is not None
            assert segment.end is not None
            assert segment.start >= ends[-1]
            assert segment.end >= 5  # derivation forgets what ends before 5 s (ProMQA)
            ends.append(segment.end)
        assert ends[-1] < recording.duration


def test_mistakes_of_every_kind_each_with_its_text():
    mistakes = [m for r in SAMPLE.recordings for s in r.segments for m in s.mistakes]
    kinds = Counter(m.kind for m in mistakes)
    assert set(kinds) == set(MISTAKE_KINDS)
    assert min(kinds.values()) >= 2
    assert all(len(m.text.split()) >= 4 for m in mistakes)
    assert len({m.text for m in mistakes}) == len(mistakes)


def test_a_mistake_that_is_not_about_order_can_be_seen_in_what_was_performed():
    for recording in SAMPLE.recordings:
        for segment in recording.performed:
            if any(m.kind not in ("order", "missing") for m in segment.mistakes):
                assert segment.performed not in (None, segment.text)


def test_recordings_end_finished_blocked_and_unfinished():
    assert [final_state(i) for i in ("tea_1", "tea_3", "tea_4")] == ["finished", "blocked", "ongoing"]
    states = Counter(final_state(r.id) for r in SAMPLE.recordings)
    assert states == {"finished": 6, "blocked": 3, "ongoing": 3}


def test_order_mistakes_are_where_the_graph_is_violated_and_nowhere_else():
    for recording in SAMPLE.recordings:
        graph = SAMPLE.graphs[recording.activity_id]
        violated = {
            b for _, b in derive_progress(graph, [s.step_id for s in recording.performed]).out_of_order
        }
        marked = {s.step_id for s in recording.segments for m in s.mistakes if m.kind == "order"}
        assert marked == violated


def test_the_linter_finds_what_was_put_there_and_nothing_else():
    found = {(f.rule, f.where) for f in check_plain(path()) if f.rule != "P6"}  # videos are rendered later
    assert found == {
        ("R8", "lamp_2: step pole"),
        ("R8", "strips_4: step dip"),
        ("R8", "tea_4: step 8"),
        ("P4", "tea_4"),  # the camera stopped before the last step
    }
    assert read_plain(path(), "corrected").corrections == ()


def test_the_copy_can_be_read_and_changed(tmp_path: Path):
    target = copy_sample(tmp_path / "new" / "mine")
    assert read_plain(target).recordings == read_plain(path()).recordings
    (target / "dataset.json").write_text('{"name": "Mine"}')
    assert read_plain(target).about == {"name": "Mine"}
    assert SAMPLE.about["name"] == "Proctor everyday sample"


def test_a_copy_never_covers_what_is_there(tmp_path: Path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UserError, match="something here already"):
        copy_sample(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_some_recordings_begin_with_a_moment_in_which_nothing_is_done_yet():
    waiting = {r.id for r in SAMPLE.recordings if (r.performed[0].start or 0) >= 5}
    assert waiting == {"lamp_1", "strips_2", "tea_2"}
