from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.learn.procedures.planted import plant_procedure

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.procedures.evaluate import (
    PUBLISHED,
    by_time,
    evaluate_procedure,
    matches,
    mean_of,
    overlaps_of,
)
from proctor.learn.procedures.videos import NO_STEP, Procedure, ProcedureVideo, procedures_of
from proctor.learn.samples import read_step_data


def procedure(*videos: tuple[str, list[int]], each: int = 1) -> Procedure:
    """Rows of so many frames each."""
    made = [
        ProcedureVideo(i, np.repeat(np.array(list(s)), each), np.repeat(np.arange(len(s)), each), len(s))
        for i, (s, _) in enumerate(videos)
    ]
    return Procedure("a", "A", tuple(dataclasses.replace(v, id=f"r{v.id}") for v in made))


GOLDEN = ("0000123455", [*map(int, "0000000010")])


@pytest.mark.parametrize("each", [1, 15])
def test_golden_hungarian(each):
    """Frames of a row count one by one; the recipe's frames are pooled."""
    made = procedure(GOLDEN, each=each)
    found = evaluate_procedure(made, {"r0": np.array(GOLDEN[1])}, 30, resamples=0, draws=3)
    assert (found.found.precision, found.found.recall, found.found.iou) == pytest.approx(
        (0.2407407, 0.25, 0.1574074), abs=5e-8
    )
    assert (found.pooled.precision, found.pooled.recall) == (0.5, 0.5)
    assert (found.recordings, found.frames, found.steps, found.clusters) == (1, 10 * each, 5, 30)


def test_chance_of_rows_is_higher_than_chance_of_frames():
    rng = np.random.default_rng(0)
    steps = "".join(map(str, np.repeat(rng.integers(0, 8, 30), 4)))
    found = evaluate_procedure(procedure((steps, []), (steps, []), each=15), None, 30, draws=20)
    assert found.found is None
    assert found.random_rows.precision > found.random.precision + 3 * found.random_spread.precision
    one = evaluate_procedure(procedure((steps, []), (steps, []), each=1), None, 30, draws=200)
    assert one.random_rows.precision == pytest.approx(one.random.precision, rel=0.05)


def test_background_dropped_as_in_the_released_code():
    made = procedure(GOLDEN)
    labels = {"r0": np.array(GOLDEN[1])}
    assert overlaps_of(made, labels, "dropped")["r0"].classes == tuple("12345")
    assert matches(overlaps_of(made, labels, "class")) == {0: "0", 1: "5"}
    assert matches(overlaps_of(made, labels, "dropped"))[0] in "1234"


def test_parts_of_equal_length():
    assert by_time(procedure(("0011", [])), 2)["r0"].tolist() == [0, 0, 1, 1]
    assert by_time(procedure(("01", [])), 5)["r0"].tolist() == [0, 2]


def test_margins_are_over_activities_or_over_recordings():
    one = procedure(("0011", []), ("0111", []), ("0001", []))
    labels = {f"r{n}": np.array([*map(int, s)]) for n, s in enumerate(("0011", "0111", "0001"))}
    found = evaluate_procedure(one, labels, 4, resamples=200, draws=10)
    assert found.found.iou == 1.0
    margin = found.margins["iou"]
    assert margin.value == pytest.approx(1 - found.random_rows.iou)
    assert 0 < margin.low < margin.high < 1
    assert mean_of([found]).margins == found.margins
    several = mean_of([found, msgspec.structs.replace(found, activity="b")], resamples=100)
    assert several.margins["iou"].value == pytest.approx(margin.value)
    assert set(several.margins_by_time) == {"precision", "recall", "iou", "f1"}


def test_frames_of_recordings(tmp_path: Path):
    data, store = plant_procedure(tmp_path / "s", recordings=2, steps=3)
    (found,), dropped = procedures_of(data, store, rate=2.0)
    video = found.videos[0]
    assert (found.steps, dropped) == (("1-1", "1-2", "1-3"), ())
    assert len(video.steps) == 2 * video.row_count
    assert video.rows[:4].tolist() == [0, 0, 1, 1]
    span = data.samples[0].executions[0]
    assert set(video.steps[int(span.start * 2) : int(span.end * 2)]) == {data.samples[0].step}
    assert video.steps[0] == NO_STEP
    with pytest.raises(UserError, match="frames a second"):
        procedures_of(data, store, rate=0)


def test_recordings_that_are_left_out(tmp_path: Path):
    data, store = plant_procedure(tmp_path / "s", recordings=3, steps=3)
    no_times = dataclasses.replace(data, samples=tuple(s for s in data.samples if s.recording_id != "1_1"))
    (found,), dropped = procedures_of(no_times, store)
    assert [v.id for v in found.videos] == ["1_2", "1_3"]
    assert [(d.id, d.reason) for d in dropped] == [("1_1", "no_times")]
    with StoreWriter(
        tmp_path / "few", width=2, seconds=1.0, modality="video", backbone="x", source="x"
    ) as writer:
        writer.add("1_3", np.zeros((9, 2)))
    few = FeatureStore.open(tmp_path / "few")
    (found,), dropped = procedures_of(no_times, few)
    assert found.videos[0].rows.max() == 8  # what lies past the features is seen by the last row
    assert sorted(d.reason for d in dropped) == ["no_features", "no_times"]
    with StoreWriter(
        tmp_path / "none", width=2, seconds=1.0, modality="video", backbone="x", source="x"
    ) as writer:
        writer.add("other", np.zeros((9, 2)))
    with pytest.raises(UserError, match="no recording is left"):
        procedures_of(data, FeatureStore.open(tmp_path / "none"))


def test_published_chance_is_found_again_on_the_real_annotations(shared_data: Path):
    """Tables 6 and 15: 7.61, 3.92 and 2.22 per cent over 24 recipes and 164 recordings without mistakes."""
    data, _ = read_step_data(shared_data / "captaincook4d")
    procedures, dropped = procedures_of(data, None)
    assert (len(procedures), sum(len(p.videos) for p in procedures), len(dropped)) == (24, 164, 220)
    means = mean_of([evaluate_procedure(p, None, 30, draws=3, resamples=0) for p in procedures], resamples=0)
    for found, printed in zip(
        (means.random.precision, means.random.recall, means.random.iou), PUBLISHED["Random"], strict=True
    ):
        assert abs(found - printed) < 0.0015
    # Nothing but the clock is three times as good as the published trained models.
    assert means.by_time.iou > 3 * PUBLISHED["M2 (TCC and C-IDM)"][2]
