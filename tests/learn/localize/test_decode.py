"""Whole files: priors from recordings, activities given and inferred, what other candidates get, and bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.localize.data import LocalizeData, StepSpan, TimedRecording
from proctor.learn.localize.decode import decode, frame_segments, infer_activities, of_activity
from proctor.learn.localize.decode_choice import choose_weights
from proctor.learn.localize.order_figures import f1_sums, performed
from proctor.learn.localize.order_prior import OrderPrior, fit_order_prior
from proctor.learn.localize.readings import DecodeWeights
from proctor.metrics.localization import Segments, segment_mean_average_precisions
from proctor.procedure.graph import Step, TaskGraph

STEPS = {"tea": ("1", "2", "3", "4"), "soup": ("11", "12", "13")}


def cooked(recordings: int = 8, *, without: str = "") -> LocalizeData:
    """Two recipes whose steps follow one another every 20 seconds; in the last recording of each two are swapped."""
    found = {}
    for activity, steps in STEPS.items():
        for n in range(recordings):
            order = list(steps)
            if n == recordings - 1:
                order[0], order[1] = order[1], order[0]
            spans = tuple(
                StepSpan(s, s, 20.0 * k + n % 3, 20.0 * k + 17 + n % 2)
                for k, s in enumerate(order)
                if s != without or n % 2
            )
            found[f"{activity}_{n}"] = TimedRecording(
                f"{activity}_{n}", activity, 20.0 * len(steps), spans, False
            )
    graphs = {
        activity: TaskGraph(
            activity,
            activity,
            tuple(Step(s, f"do {s}") for s in steps),
            tuple(pairwise(steps)),
        )
        for activity, steps in STEPS.items()
    }
    nodes = {(activity, s): s for activity, steps in STEPS.items() for s in steps}
    classes = tuple(s for steps in STEPS.values() for s in steps)
    return LocalizeData(found, classes, {s: f"do {s}" for s in classes}, nodes, graphs, (), "kitchen", "h")


def noisy(data: LocalizeData, ids: list[str], seed: int = 0) -> Segments:
    """Every step where it is, as sure as somewhere else, and steps of the other recipe."""
    rng = np.random.default_rng(seed)
    rows = []
    for id_ in ids:
        for span in data.recordings[id_].spans:
            rows.append((id_, span.start, span.end, span.step, 0.3))
            for _ in range(3):
                start = float(rng.uniform(0, data.recordings[id_].seconds - 15))
                rows.append((id_, start, start + 15, span.step, float(rng.uniform(0.2, 0.4))))
        other = STEPS["soup" if id_.startswith("tea") else "tea"]
        rows += [(id_, 5.0 * k, 5.0 * k + 9, step, 0.15) for k, step in enumerate(other)]
    columns = list(zip(*rows, strict=True))
    return Segments.of(columns[0], columns[1], columns[2], columns[3], columns[4])


def fitted(data: LocalizeData) -> tuple[OrderPrior, list[str]]:
    tested = [f"{a}_{n}" for a in STEPS for n in (5, 6, 7)]
    return fit_order_prior(data, set(data.recordings) - set(tested)), tested


def test_priors_are_those_of_the_training_recordings() -> None:
    data = cooked(without="2")
    prior, _ = fitted(data)
    tea = prior.activities["tea"]
    assert tea.steps == ("1", "2", "3", "4")
    assert tea.after.astype(int).tolist() == [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert np.exp(tea.log_seconds) == pytest.approx(np.full(4, 16.5), abs=1.0)
    assert np.all(np.diff(tea.place) > 0.1)
    # Of five recordings three lack step 2, none the others; all are drawn towards the rate of all steps.
    assert tea.absent[1] > 0.35
    assert tea.absent[[0, 2, 3]].max() < 0.1
    assert tea.late.max() < 0.1
    assert prior.fitted_on == {f"{a}_{n}" for a in STEPS for n in range(5)}


def test_a_step_that_training_never_saw_and_an_activity_without_a_graph() -> None:
    data = cooked()
    data = replace(data, graphs={"tea": data.graphs["tea"]}, nodes={**data.nodes, ("tea", "9"): "4"})
    prior = fit_order_prior(data, ["tea_0", "soup_0"])
    tea = prior.activities["tea"]
    assert tea.steps[-1] == "9"
    assert np.isfinite(tea.log_seconds).all()
    assert tea.place[-1] == 0.5
    assert not prior.activities["soup"].after.any()


def test_decoding_finds_what_scores_alone_do_not() -> None:
    data = cooked()
    prior, tested = fitted(data)
    predictions, truth = noisy(data, tested), data.truth(tested)
    activities = {id_: id_.split("_")[0] for id_ in tested}
    seconds = {id_: data.recordings[id_].seconds for id_ in tested}
    found = decode(predictions, activities, seconds, prior)
    raw = segment_mean_average_precisions(truth, predictions).mean()
    better = segment_mean_average_precisions(truth, found.rescored).mean()
    assert raw < 0.6
    assert better > 0.85
    assert len(found.rescored) == int(of_activity(predictions, activities, prior).sum())
    right, own = performed(truth, activities, prior), performed(found.chosen, activities, prior)
    assert own["tea_7"].begun == ("2", "1", "3", "4")
    assert own["tea_7"].late == {"1"}
    sums = f1_sums(own, right, {"tea_7": frozenset({"1"})}).sum(axis=0)
    assert sums[1].tolist() == [2.0, 2.0, 2.0]  # late by the graph: in tea_7 and soup_7
    assert sums[2].tolist() == [1.0, 2.0, 1.0]  # tagged: in tea_7 only
    assert sums[3].tolist() == [0.0, 0.0, 0.0]
    # Rows in another order give the same.
    mixed = np.random.default_rng(1).permutation(len(predictions))
    again = decode(predictions.take(mixed), activities, seconds, prior)
    key = np.lexsort((again.rescored.end, again.rescored.start, again.rescored.label, again.rescored.video))
    first = np.lexsort((found.rescored.end, found.rescored.start, found.rescored.label, found.rescored.video))
    assert again.rescored.score is not None
    assert found.rescored.score is not None
    assert again.rescored.score[key] == pytest.approx(found.rescored.score[first], abs=1e-12)


def test_activities_are_inferred_and_others_stay_low() -> None:
    data = cooked()
    prior, tested = fitted(data)
    predictions = noisy(data, tested)
    assert infer_activities(predictions, tested, {}, prior) == {i: i.split("_")[0] for i in tested}
    found = decode(predictions, {}, {}, prior)
    assert found.activities["soup_6"] == "soup"
    assert len(found.rescored) == len(predictions)
    assert found.rescored.score is not None
    others = ~of_activity(found.rescored, found.activities, prior)
    assert found.rescored.score[others].max() < found.rescored.score[~others].max() / 10


def test_a_recording_without_predictions() -> None:
    data = cooked()
    prior, tested = fitted(data)
    empty = Segments.of([], [], [], [], [], videos=["tea_5", "new"])
    found = decode(empty, {"tea_5": "tea"}, {}, prior)
    assert found.readings["tea_5"].missing == (0, 1, 2, 3)
    assert found.activities["new"] in STEPS
    assert len(found.rescored) == len(found.chosen) == 0
    assert tested


def test_weights_are_chosen_without_the_recording() -> None:
    data = cooked()
    prior, tested = fitted(data)
    predictions, truth = noisy(data, tested), data.truth(tested)
    activities = {id_: id_.split("_")[0] for id_ in tested}
    seconds = {id_: data.recordings[id_].seconds for id_ in tested}
    chosen = choose_weights(predictions, truth, activities, seconds, prior, over=("order", "gap"))
    # What is true of a recording does not matter to its own weights: another truth of it changes nothing there.
    wrong = truth.relabelled({}).take(~truth.in_videos({"tea_5"}))
    odd = Segments.of(
        [*(wrong.videos[v] for v in wrong.video), "tea_5"], [*wrong.start, 1.0], [*wrong.end, 2.0],
        [*(wrong.labels[k] for k in wrong.label), "1"],
    )  # fmt: skip
    other = choose_weights(predictions, odd, activities, seconds, prior, over=("order", "gap"))
    assert other.by_recording["tea_5"] == chosen.by_recording["tea_5"]
    assert set(chosen.by_recording) == set(tested)
    assert chosen.all.place == DecodeWeights().place
    with pytest.raises(UserError, match="only 2 recordings have truth"):
        choose_weights(predictions, data.truth(tested[:2]), activities, seconds, prior)


def test_dense_scores_become_segments() -> None:
    scores = np.zeros((10, 2))
    scores[2:5, 0] = 0.8
    scores[3, 0] = 1.0
    found = frame_segments(scores, ("1", "2"), "tea_5", rate=2.0, levels=10)
    assert [(float(a), float(b)) for a, b in zip(found.start, found.end, strict=True)] == [
        (1.0, 2.5),
        (1.5, 2.0),
    ]
    assert found.score == pytest.approx(np.array([2.6 / 3, 1.0]))
    assert set(map(str, found.used_labels())) == {"1"}
    for bad in (np.full((3, 2), np.nan), np.zeros((3, 1)), -np.ones((3, 2))):
        with pytest.raises(UserError, match="dense scores"):
            frame_segments(bad, ("1", "2"), "tea_5", rate=2.0)


def test_what_cannot_be_decoded() -> None:
    data = cooked()
    prior, tested = fitted(data)
    with pytest.raises(UserError, match="no scores"):
        decode(data.truth(tested), {}, {}, prior)
    negative = Segments.of(["tea_5"], [0.0], [1.0], ["1"], [-1.0])
    with pytest.raises(UserError, match="negative; the lowest is -1"):
        decode(negative, {}, {}, prior)
    with pytest.raises(UserError, match="activity 'cake'"):
        decode(noisy(data, tested), dict.fromkeys(tested, "cake"), {}, prior)
    with pytest.raises(UserError, match="such as 'nobody'"):
        fit_order_prior(data, ["nobody"])
    bare = replace(data.recordings["tea_0"], spans=())
    with pytest.raises(UserError, match="no recording that is learned from has a timed step"):
        fit_order_prior(replace(data, recordings={"tea_0": bare}), ["tea_0"])
