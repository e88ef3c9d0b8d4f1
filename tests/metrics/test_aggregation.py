import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.classification import aggregate_scores, group_steps
from proctor.metrics.errors import MetricInputError


def test_mean_and_vote_by_hand():
    scores, index = [0.9, 0.4, 0.4, 0.6, 0.5], [0, 0, 0, 1, 1]
    assert aggregate_scores(scores, index, 2).tolist() == pytest.approx([1.7 / 3, 0.55])
    assert aggregate_scores(scores, index, 2, method="vote").tolist() == pytest.approx([1 / 3, 0.5])


def test_half_and_half_is_normal():
    share = aggregate_scores([0.9, 0.1], [0, 0], 1, method="vote")
    assert not share[0] > 0.5
    assert aggregate_scores([0.5], [0], 1, method="vote")[0] == 0.0  # 0.5 itself is no vote


def test_a_step_without_sub_steps_is_undefined():
    found = aggregate_scores([0.5], [1], 3)
    assert [math.isnan(x) for x in found] == [True, False, True]
    assert aggregate_scores([], [], 0).size == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0, 1], 2), "1 probabilities for 2"),
        (([0.5], [2], 2), "between 0 and 1"),
        (([0.5], [-1], 2), "between 0 and 1"),
        (([float("nan")], [0], 1), "finite"),
    ],
)
def test_invalid(arguments, message):
    with pytest.raises(MetricInputError, match=message):
        aggregate_scores(*arguments)


def test_a_vote_needs_probabilities():
    with pytest.raises(MetricInputError, match=r"between 0 and 1, got -2 at position 1.*sigmoid"):
        aggregate_scores([0.5, -2], [0, 0], 1, method="vote")
    with pytest.raises(MetricInputError, match="median"):
        aggregate_scores([0.5], [0], 1, method="median")


def test_steps_are_known_by_recording_and_step():
    steps = group_steps([1, 0, 0, 1], ["b", "a", "a", "b"], ["1", "1", "2", "1"])
    assert steps.recordings == ("a", "a", "b")
    assert steps.names == ("1", "2", "1")
    assert steps.index.tolist() == [2, 0, 1, 2]
    assert steps.reference.tolist() == [False, False, True]


def test_a_step_is_a_mistake_above_95_percent():
    rows = [True] * 19 + [False]  # 0.95 exactly
    assert not group_steps(rows, ["a"] * 20, ["1"] * 20).reference[0]
    rows = [True] * 39 + [False]
    assert group_steps(rows, ["a"] * 40, ["1"] * 40).reference[0]


def test_repeated_steps():
    labels, where, segments = [1, 1, 0, 0], ["a"] * 4, ["x", "x", "y", "y"]
    steps = group_steps(labels, where, ["1"] * 4, segments)
    assert (steps.reference.tolist(), steps.repeated, steps.mixed) == ([True], 1, 1)
    last = group_steps(labels, where, ["1"] * 4, segments, repeated="last")
    assert last.reference.tolist() == [False]
    other_way = group_steps(labels[::-1], where, ["1"] * 4, segments[::-1], repeated="last")
    assert other_way.reference.tolist() == [True]
    alike = group_steps([1, 1], ["a"] * 2, ["1"] * 2, ["x", "y"])
    assert (alike.repeated, alike.mixed) == (1, 0)


def test_no_rows():
    steps = group_steps([], [], [])
    assert (steps.index.size, steps.reference.size, steps.repeated) == (0, 0, 0)


def test_invalid_groups():
    with pytest.raises(MetricInputError, match="1 labels for 1 and 2 names"):
        group_steps([1], ["a"], ["1", "2"])
    with pytest.raises(MetricInputError, match="first"):
        group_steps([1], ["a"], ["1"], repeated="first")


rows = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("12"), st.sampled_from("xy"), st.booleans(), st.floats(0, 1)
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60)
@given(rows, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter_and_bounds(items, random):
    def run(part):
        recording, step, segment, label, score = zip(*part, strict=True)
        steps = group_steps(label, recording, step, segment)
        count = len(steps.names)
        return [
            (steps.recordings, steps.names, steps.reference.tolist(), steps.repeated, steps.mixed),
            *(aggregate_scores(score, steps.index, count, method=m).tobytes() for m in ("mean", "vote")),
        ]

    shuffled = list(items)
    random.shuffle(shuffled)
    assert run(items) == run(shuffled)


@settings(max_examples=60)
@given(rows)
def test_brute_force(items):
    recording, step, segment, label, score = zip(*items, strict=True)
    steps = group_steps(label, recording, step, segment)
    means = aggregate_scores(score, steps.index, len(steps.names))
    for k, key in enumerate(zip(steps.recordings, steps.names, strict=True)):
        own = [row for row in items if row[:2] == key]
        executions = {row[2] for row in own}
        shares = [np.mean([row[3] for row in own if row[2] == e]) for e in executions]
        assert steps.reference[k] == any(share > 0.95 for share in shares)
        assert means[k] == pytest.approx(np.mean([row[4] for row in own]))


PUBLISHED_POSITIVES = {  # Peddi et al. 2024: train, val, test of split R
    None: (1171, 235, 241),
    "Technique": (373, 65, 59),
    "Preparation": (287, 42, 49),
    "Measurement": (234, 46, 50),
    "Timing": (121, 18, 26),
    "Temperature": (42, 13, 8),
    "Order": (489, 149, 142),
}


@pytest.mark.shared
def test_steps_and_mistakes_of_split_r(shared_data):
    """Every published count, with the label of the last execution; any execution gives up to six more."""
    folder = shared_data / "captaincook4d"
    split = json.loads((folder / "er_annotations/recordings_combined_splits.json").read_text())
    entries = json.loads((folder / "annotation_json/error_annotations.json").read_text())
    mixed = []
    for part, (name, count) in enumerate((("train", 3972), ("val", 681), ("test", 671))):
        rows = [
            (entry["recording_id"], str(step["step_id"]), str(k), [e["tag"] for e in step.get("errors", [])])
            for entry in entries
            if entry["recording_id"] in split[name]
            for k, step in enumerate(entry["step_annotations"])
            if step["start_time"] >= 0
        ]
        recordings, steps, segments, tags = map(list, zip(*rows, strict=True))
        for kind, expected in PUBLISHED_POSITIVES.items():
            labels = [any(kind is None or tag.startswith(kind) for tag in own) for own in tags]
            last = group_steps(labels, recordings, steps, segments, repeated="last")
            any_ = group_steps(labels, recordings, steps, segments)
            assert len(last.names) == count
            assert last.reference.sum() == expected[part]
            assert 0 <= any_.reference.sum() - expected[part] <= 6
            if kind is None:
                mixed.append(any_.mixed)
    assert sum(mixed) == 13
