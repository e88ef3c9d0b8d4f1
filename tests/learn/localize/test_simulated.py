"""The localizer that is not there: as wrong as it is asked to be, and the same for a recording whatever else is drawn."""

from __future__ import annotations

import numpy as np
from tests.learn.localize.simulated import Faults, simulated_predictions
from tests.learn.localize.test_decode import cooked

from proctor.metrics.localization import segment_mean_average_precisions

PERFECT = Faults(jitter=0.0, missed=0.0, confused=0.0, false=0.0)


def test_without_faults_it_is_right() -> None:
    data = cooked()
    ids = list(data.recordings)
    predictions = simulated_predictions(data, ids, PERFECT)
    assert segment_mean_average_precisions(data.truth(ids), predictions).tolist() == [1.0] * 5


def test_rates_are_those_asked_for() -> None:
    data = cooked(200)
    ids = list(data.recordings)
    executed = len(data.truth(ids))
    missed = simulated_predictions(data, ids, Faults(jitter=0.0, missed=0.25, confused=0.0, false=0.0))
    assert abs(len(missed) / executed - 0.75) < 0.04
    false = simulated_predictions(data, ids, Faults(jitter=0.0, missed=1.0, confused=0.0, false=2.0))
    assert abs(len(false) / executed - 2.0) < 0.1


def test_each_recording_is_drawn_by_itself() -> None:
    data = cooked()
    one = simulated_predictions(data, ["tea_3"], Faults(), seed=5)
    all_ = simulated_predictions(data, list(data.recordings), Faults(), seed=5)
    own = all_.take(all_.in_videos(["tea_3"]))
    assert own.start.tolist() == one.start.tolist()
    assert own.score is not None
    assert one.score is not None
    assert own.score.tolist() == one.score.tolist()
    assert simulated_predictions(data, ["tea_3"], Faults(), seed=6).start.tolist() != one.start.tolist()
    assert np.isfinite(one.end).all()
    assert len(simulated_predictions(data, [], Faults())) == 0
