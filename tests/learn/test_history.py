"""What training recordings tell of steps, out of fold."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.learn.made import flipped, make_data, renamed, with_samples

from proctor.learn.history import STRENGTH, History, StepKeys, fold_recordings, learn_histories, learn_history
from proctor.learn.samples import KINDS, Execution


def same(one: History, other: History) -> bool:
    """Tell whether two tables hold the same numbers."""
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(History))


def test_rates_are_drawn_towards_the_overall_rate() -> None:
    data, division = make_data()
    keys, target = StepKeys.of(data), data.labels()
    history = learn_history(data, division.train, target, keys)
    step = keys.steps["13"]
    mine = division.train[keys.step[division.train] == step]
    overall = target[division.train].mean()
    assert history.rate[step] == pytest.approx(
        (target[mine].sum() + STRENGTH * overall) / (len(mine) + STRENGTH)
    )
    timing = data.of_kind("timing")
    share = (timing[mine].sum() + STRENGTH * timing[division.train].mean()) / (len(mine) + STRENGTH)
    assert history.kinds[step, KINDS.index("timing")] == pytest.approx(share)
    assert history.count[step] == len(mine)


def test_usual_lengths_are_those_of_normal_executions() -> None:
    data, division = make_data()
    keys, target = StepKeys.of(data), data.labels()
    history = learn_history(data, division.train, target, keys)
    seconds = [
        e.seconds
        for p in division.train
        for e in data.samples[p].executions
        if data.samples[p].step == "16" and not e.kinds
    ]
    assert history.usual[keys.steps["16"]] == pytest.approx(np.median(np.log(seconds)))
    clean = learn_history(data, division.train, target, keys, normal="recordings")
    mistaken = {data.samples[p].recording_id for p in division.train if data.samples[p].mistaken}
    seconds = [
        e.seconds
        for p in division.train
        for e in data.samples[p].executions
        if data.samples[p].step == "16" and data.samples[p].recording_id not in mistaken
    ]
    assert clean.usual[keys.steps["16"]] == pytest.approx(np.median(np.log(seconds)))


def test_what_mostly_comes_before_is_counted() -> None:
    data, division = make_data()
    keys = StepKeys.of(data)
    history = learn_history(data, division.train, data.labels(), keys)
    first, last = keys.steps["10"], keys.steps["17"]
    assert history.earlier[first, last] > 0.9
    assert history.earlier[first, last] + history.earlier[last, first] == pytest.approx(1)
    assert history.earlier[first, keys.steps["20"]] == 0.5  # never in one recording
    assert history.rank[first] < history.rank[last]


def test_a_fold_does_not_see_itself_and_sees_the_others() -> None:
    data, division = make_data()
    name = data.samples[division.train[0]].recording_id
    other = next(
        n
        for n, f in fold_recordings(data, division.train, 0).items()
        if f != fold_recordings(data, division.train, 0)[name]
    )
    before = learn_histories(data, division.train, data.labels(), 0)
    changed = flipped(data, name)
    after = learn_histories(changed, division.train, changed.labels(), 0)
    assert same(before.of(name), after.of(name))
    assert not same(before.of(other), after.of(other))
    assert not same(before.whole, after.whole)


def test_recordings_outside_of_training_change_nothing() -> None:
    data, division = make_data()
    name = data.samples[division.test[0]].recording_id
    moved = with_samples(
        data,
        [
            replace(s, executions=(Execution(1, 2, ("timing",)),)) if s.recording_id == name else s
            for s in data.samples
        ],
    )
    before = learn_histories(data, division.train, data.labels(), 0)
    after = learn_histories(moved, division.train, moved.labels(), 0)
    assert same(before.whole, after.whole)
    assert all(same(a, b) for a, b in zip(before.without, after.without, strict=True))
    assert before.of(name) is before.whole


def test_folds_do_not_follow_names_and_are_even_in_each_activity() -> None:
    data, division = make_data()
    folds = fold_recordings(data, division.train, 3, folds=4)
    names = dict(zip(folds, reversed(folds), strict=True)) | {r: r for r in data.recordings if r not in folds}
    again = fold_recordings(renamed(data, names), division.train, 3, folds=4)
    assert [again[names[r]] for r in folds] == list(folds.values())
    for activity in ("1", "2"):
        sizes = np.bincount([f for r, f in folds.items() if r.startswith(activity)], minlength=4)
        assert sizes.max() - sizes.min() <= 1
    assert folds != fold_recordings(data, division.train, 4, folds=4)
