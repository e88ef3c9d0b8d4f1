"""Robustness: what is compared with what, and what the published split in two adds up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.learn.localize.annotated import Entry, annotated

from proctor.errors import UserError
from proctor.learn.localize.data import localize_data
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.robust import (
    is_normal_script,
    robust_tasks,
    robust_training,
    split_in_two,
    within_recordings,
)
from proctor.metrics.localization import Segments, localization_scores, match_segments
from proctor.stages.scoring.localization import read_ground_truth, read_predictions

RIGHT: list[Entry] = [("1", "chop", 0, 10), ("2", "stir", 20, 30)]
WRONG: list[Entry] = [("1", "chop", 0, 10, "technique"), ("2", "stir", 20, 30), ("3", "fry", 40, 50)]


def task() -> LocalizeTask:
    made = {f"1_{n}": RIGHT if n % 3 else WRONG for n in range(12)}
    ids = tuple(made)
    return LocalizeTask(localize_data(annotated(made)), ids[:6], (), ids[6:])


def all_but(truth: Segments, missed: set[tuple[str, str]]) -> Segments:
    """Return predictions of everything but some (video, label)."""
    keep = [
        i
        for i in range(len(truth))
        if (truth.videos[truth.video[i]], truth.labels[truth.label[i]]) not in missed
    ]
    names = [str(truth.videos[truth.video[i]]) for i in keep]
    labels = [str(truth.labels[truth.label[i]]) for i in keep]
    return Segments.of(
        names, truth.start[keep], truth.end[keep], labels, [1.0] * len(keep), videos=truth.videos
    )


def test_the_three_trainings() -> None:
    tasks = robust_tasks(task())
    assert tasks["normal"].train == ("1_1", "1_2", "1_4", "1_5")
    assert tasks["all"].train == tuple(f"1_{n}" for n in range(6))
    matched = tasks["matched"].train
    assert len(matched) == 4
    assert {*matched} < {*tasks["all"].train}
    assert matched == robust_tasks(replace(task(), train=task().train[::-1]))["matched"].train[::-1]
    assert {robust_tasks(replace(task(), seed=s))["matched"].train for s in range(6)} != {matched}


def test_truth_predictions_and_classes_are_restricted() -> None:
    """Step 3 is in no recording without mistakes, so no figure counts it."""
    one = task()
    truth = one.data.truth(one.test)
    found = robust_training(robust_tasks(one), "all", all_but(truth, {("1_6", "1")}), resamples=50, seed=0)
    assert (found.normal.recordings, found.normal.segments, found.normal.classes) == (4, 8, 2)
    assert (found.mistaken.recordings, found.mistaken.segments, found.mistaken.classes) == (2, 4, 2)
    assert found.normal.value("R@1x", 0.5) == 1
    assert found.mistaken.value("R@1x", 0.5) == 0.75
    assert found.gap.rows[1].at[-1].value == 0.25
    assert found.common_gap is not None
    assert found.common_gap.classes == 2


def test_recall_within_recordings_is_weighted_by_their_mistaken_steps() -> None:
    made = {
        # One mistaken and two right steps, all found; two mistaken ones and a right one, of which one mistaken is missed.
        "1_1": [("1", "a", 0, 5, "order"), ("2", "b", 10, 20), ("3", "c", 30, 40)],
        "1_2": [("1", "a", 0, 5, "order"), ("2", "b", 10, 20, "timing"), ("3", "c", 30, 40)],
        "1_3": [("1", "a", 0, 5), ("2", "b", 10, 20)],  # nothing to compare
    }
    truth = localize_data(annotated(made)).truth(list(made))  # type: ignore[arg-type]
    matches = match_segments(truth, all_but(truth, {("1_2", "2"), ("1_3", "1")}))
    first = within_recordings(truth, matches, resamples=100, seed=0)[0]
    assert (first.recordings, first.mistaken_steps) == (2, 3)
    assert (first.right[-1], first.mistaken[-1]) == (1, pytest.approx(2 / 3))
    assert first.difference[-1].value == pytest.approx(1 / 3)
    assert (
        within_recordings(
            truth.take(truth.in_videos(["1_3"])),
            match_segments(truth.take(truth.in_videos(["1_3"])), truth_of("1_3")),
            resamples=0,
            seed=0,
        )
        == ()
    )


def truth_of(video: str) -> Segments:
    return Segments.of([video], [0.0], [5.0], ["1"], [1.0])


def test_nothing_to_compare_is_said() -> None:
    one = task()
    with pytest.raises(UserError, match="no recording of 'train' is with mistakes"):
        robust_tasks(replace(one, train=("1_1", "1_2")))
    with pytest.raises(UserError, match="no recording of 'test' is without mistakes"):
        robust_tasks(replace(one, test=("1_6",)))


def test_recalls_of_the_published_halves_add_up() -> None:
    one = task()
    truth = one.data.truth(one.test)
    halves = split_in_two(truth, all_but(truth, {("1_6", "1"), ("1_7", "2")}), ["1_7", "1_8", "1_10", "1_11"])
    assert halves.segments == (8, 6)
    for name in ("R@1x", "R@5x"):
        for whole, normal, mistaken in zip(
            halves.whole[name], halves.normal[name], halves.mistaken[name], strict=True
        ):
            assert whole == pytest.approx(normal + mistaken)
    assert halves.whole["R@1x"][0] == pytest.approx((5 / 6 + 5 / 6 + 1) / 3)


def test_scripts_by_their_number() -> None:
    assert [is_normal_script(i) for i in ("1_1", "1_25", "1_26", "1_100", "1_125", "1_126", "x")] == [
        True, True, False, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.shared
def test_released_predictions(shared_data: Path, shared_expected: Callable[[str], dict[str, Any]]) -> None:
    """The published row of mistaken recordings, and what is left of it when their ground truth alone is kept."""
    folder, expected = shared_data / "msl", shared_expected("recognition")
    truth = read_ground_truth(folder / "gt_environment_test.csv", columns=("has_error",))
    predictions = read_predictions(folder / "preds_omnivore_4s_60sub_environment_error_videos.csv.gz")
    halves = split_in_two(truth, predictions, [str(v) for v in truth.videos if is_normal_script(str(v))])
    assert halves.segments == (527, 237)
    for name in ("mAP", "R@1x", "R@5x"):
        published = [v / 100 for v in expected["published_row"][name]]
        assert halves.mistaken[name] == pytest.approx(published, abs=6e-5)
        assert halves.normal[name] == (0.0,) * 5
    there = truth.take(truth.in_videos(predictions.used_videos()))
    scores = localization_scores(there, predictions)
    assert scores.mean_ap == pytest.approx(
        [v / 100 for v in expected["correct_subset_semantics"]["mAP"]], abs=1e-5
    )
    within = within_recordings(there, scores.matches, resamples=200, seed=0)[0]
    assert (within.recordings, within.mistaken_steps) == (14, 122)
    assert within.right == pytest.approx([0.707, 0.640, 0.591, 0.528, 0.456], abs=5e-4)
    assert within.mistaken == pytest.approx([0.689, 0.623, 0.582, 0.541, 0.492], abs=5e-4)
