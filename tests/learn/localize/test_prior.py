"""Steps guessed from recipe and length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.learn.localize.annotated import Entry, annotated

from proctor.errors import UserError
from proctor.learn.localize.data import localize_data
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.prior import StepPrior
from proctor.metrics.localization import Segments, localization_scores


def two_places(seed: int = 0, recordings: int = 30) -> LocalizeTask:
    """Make recordings of 100 s in which step 1 comes first in two of three and last in the others."""
    rng = np.random.default_rng(seed)
    made: dict[str, list[Entry]] = {}
    for n in range(recordings):
        first = 70.0 if n % 3 == 0 else 10.0
        shift = float(rng.normal(0, 1))
        made[f"1_{n}"] = [("1", "chop", first + shift, first + 20 + shift), ("2", "stir", 40, 60)]
    ids = tuple(made)
    return LocalizeTask(localize_data(annotated(made)), ids[6:], ids[3:6], ids[:3])


def of(segments: Segments, video: str, label: str) -> list[tuple[float, float, float]]:
    assert segments.score is not None
    keep = (segments.video == segments.videos.index(video)) & (segments.label == segments.labels.index(label))
    rows = zip(segments.start[keep], segments.end[keep], segments.score[keep], strict=True)
    return sorted(((float(a), float(b), float(s)) for a, b, s in rows), key=lambda row: -row[2])


def test_the_usual_place_comes_first_and_the_other_place_next() -> None:
    task = two_places()
    prior = StepPrior()
    chosen = prior.fit(task)
    assert chosen["chosen_on"] == "val"
    found = prior.predict(task.test)
    first, second, *_ = of(found, "1_0", "1")
    assert first[:2] == pytest.approx((10, 30), abs=2)
    assert second[:2] == pytest.approx((70, 90), abs=3)
    assert (first[2], second[2]) == (pytest.approx(2 / 3, abs=0.02), pytest.approx(1 / 3, abs=0.02))
    assert of(found, "1_0", "2") == [(40, 60, pytest.approx(1))]  # nothing is left for a second guess
    scores = localization_scores(task.data.truth(task.test), found)
    assert scores.mean_recall[1][-1] == pytest.approx((2 / 3 + 1) / 2)
    assert scores.mean_recall[5][-1] == 1


def test_durations_stretch_with_the_recording_where_that_is_right() -> None:
    made: dict[str, list[Entry]] = {f"1_{n}": [("1", "chop", 30, 60)] for n in range(6)}
    data = localize_data(annotated(made))
    for stretch, (start, end) in {1.0: (150, 300), 0.0: (210, 240)}.items():
        longer = {
            id_: replace(r, seconds=500.0, spans=(replace(r.spans[0], start=start, end=end),))
            for id_, r in data.recordings.items()
            if id_ in ("1_4", "1_5")
        }
        both = replace(data, recordings={**data.recordings, **longer})
        prior = StepPrior()
        chosen = prior.fit(LocalizeTask(both, ("1_0", "1_1", "1_2", "1_3"), ("1_4",), ("1_5",)))
        assert chosen["stretch"] == stretch
        assert of(prior.predict(["1_5"]), "1_5", "1") == [(start, end, pytest.approx(1))]


def test_steps_of_the_test_part_are_never_looked_at_and_order_plays_no_part() -> None:
    task = two_places()
    prior, other = StepPrior(), StepPrior()
    prior.fit(replace(task, val=()))
    blind = {i: replace(r, spans=()) if i in task.test else r for i, r in task.data.recordings.items()}
    data = replace(task.data, recordings=dict(reversed(blind.items())))
    other.fit(replace(task, data=data, train=task.train[::-1], val=()))
    first, second = prior.predict(task.test), other.predict(task.test)
    for name in ("start", "end", "score", "video", "label"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_an_activity_that_was_not_trained_on_gets_no_guess() -> None:
    data = localize_data(annotated({"1_1": [("1", "chop", 3, 5)], "2_1": [("2", "stir", 3, 5)]}))
    prior = StepPrior()
    prior.fit(LocalizeTask(data, ("1_1",), (), ("2_1",)))
    found = prior.predict(["2_1"])
    assert (len(found), found.videos) == (0, ("2_1",))
    assert localization_scores(data.truth(["2_1"]), found).average_map == 0


def test_nothing_to_learn_from_is_said() -> None:
    data = localize_data(annotated({"1_1": [("1", "chop", None, None)], "1_2": [("1", "chop", 3, 5)]}))
    with pytest.raises(UserError, match="no recording that is trained on has a timed step"):
        StepPrior().fit(LocalizeTask(data, ("1_1",), (), ("1_2",)))
