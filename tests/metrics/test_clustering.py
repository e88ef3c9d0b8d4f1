import csv
import itertools
import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics import clustering
from proctor.metrics.clustering import (
    AVERAGES,
    MEASURES,
    METRICS,
    count_overlap,
    key_step_f1,
    key_step_iou,
    key_step_precision,
    key_step_recall,
    match_key_steps,
    mean_over_groups,
    measure_key_steps,
    merge_overlaps,
    random_clustering,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

METRIC_FUNCTIONS = [key_step_precision, key_step_recall, key_step_iou, key_step_f1]
FIRST = ([*map(int, "0000123455")], [*map(int, "0000000010")])
SECOND = ([0] * 5 + [1] * 3 + [2] * 4 + [0] * 2, [3, 3, 1, 3, 3, 0, 0, 2, 2, 2, 2, 1, 3, 3])


@pytest.mark.parametrize(
    ("frames", "average", "p", "r", "iou"),
    [
        (FIRST, "per-key-step", 0.2407407, 0.25, 0.1574074),
        (FIRST, "pooled", 0.5, 0.5, 5 / 15),
        (SECOND, "per-key-step", 0.9166667, 0.7579365, 0.7079365),
        (SECOND, "pooled", 0.9166667, 0.7857143, 11 / 15),
    ],
)
def test_golden(frames, average, p, r, iou):
    """Peddi et al. 2024; the pooled IoU by hand."""
    found = [metric(*frames, average=average).value for metric in METRIC_FUNCTIONS]
    assert found[:3] == pytest.approx([p, r, iou], abs=5e-8)
    assert found[3] == pytest.approx(2 * found[0] * found[1] / (found[0] + found[1]))


def test_golden_as_fractions():
    p, r, iou = (metric(*FIRST).value for metric in METRIC_FUNCTIONS[:3])
    assert (p, r, iou) == pytest.approx(((4 / 9 + 1) / 6, 1.5 / 6, (4 / 9 + 1 / 2) / 6), abs=1e-15)


@pytest.mark.parametrize("metric", METRIC_FUNCTIONS)
@pytest.mark.parametrize("average", AVERAGES)
def test_perfect_whatever_the_clusters_are_called(metric, average):
    assert metric([0, 1, 1, 2], ["c", "a", "a", "b"], average=average).value == 1.0


@pytest.mark.parametrize("metric", METRIC_FUNCTIONS)
def test_nothing_is_undefined(metric):
    score = metric([], [])
    assert math.isnan(score.value)
    assert (score.n, score.note) == (0, "no frame has a key step")
    assert math.isnan(metric([0, 0], [1, 2], background="dropped").value)
    assert math.isnan(metric([0, 0], [1, 2], background="matched").value)


@pytest.mark.parametrize("metric", METRIC_FUNCTIONS)
def test_invalid(metric):
    with pytest.raises(MetricInputError, match=r"got 2 and 1.*same rate"):
        metric([0, 1], [0])
    with pytest.raises(MetricInputError, match="average must be one of"):
        metric([0], [0], average="micro")
    with pytest.raises(MetricInputError, match="background must be one of"):
        metric([0], [0], background="ignored")
    with pytest.raises(MetricInputError, match="no option 'pooled'"):
        metric([0], [0], pooled="yes")


def test_background_handling_by_hand():
    truth, found = [0, 0, 0, 1, 1, 2], ["x", "x", "y", "y", "y", "z"]
    assert key_step_recall(truth, found).value == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert key_step_precision(truth, found).value == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert key_step_precision(truth, found, background="matched").value == pytest.approx((2 / 3 + 1) / 2)
    assert key_step_precision(truth, found, background="dropped").value == 1.0
    assert key_step_precision(truth, found, background="dropped").n == 3
    assert key_step_precision(truth, found, background="dropped", background_label="2").n == 5


def test_background_that_takes_part_keeps_its_cluster():
    """Without the background in the matching, step 1 would get cluster x."""
    truth, found = [0, 0, 0, 1], ["x", "x", "x", "x"]
    assert key_step_recall(truth, found, background="matched").value == 0.0
    assert key_step_recall(truth, found, background="dropped").value == 1.0


def test_one_cluster_for_everything():
    truth, found = [0, 0, 1, 2], [7, 7, 7, 7]
    assert key_step_recall(truth, found).value == pytest.approx(1 / 3)
    assert key_step_precision(truth, found).value == pytest.approx(0.5 / 3)
    steps = match_key_steps(count_overlap(truth, found))
    assert [step.cluster for step in steps] == ["7", None, None]
    assert [step.precision for step in steps] == [0.5, 0.0, 0.0]
    assert [step.recall for step in steps] == [1.0, 0.0, 0.0]
    assert [step.iou for step in steps] == [0.5, 0.0, 0.0]


def test_more_clusters_than_classes():
    steps = match_key_steps(count_overlap([1, 1, 1, 1], list("aabc")))
    assert [(s.cluster, s.common, s.frames, s.cluster_frames) for s in steps] == [("a", 2, 4, 2)]


def test_ties_are_broken_by_iou_whatever_the_names():
    truth = [1, 1, 2, 2, 2]
    for names in itertools.permutations("abc"):
        a, b, c = names
        found = [a, b, b, c, c]  # step 1 shares one frame with a (alone in it) and with b
        assert match_key_steps(count_overlap(truth, found))[0].cluster == a


def test_overlap_counts():
    overlap = count_overlap([1, 0, 1, "10"], ["b", "a", "b", "a"])
    assert overlap.classes == ("0", "1", "10")
    assert overlap.clusters == ("a", "b")
    assert overlap.counts.tolist() == [[1, 0], [0, 2], [1, 0]]
    assert overlap.background == 0
    assert count_overlap([1], [1]).background is None


frames = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@settings(max_examples=60)
@given(frames, st.randoms(use_true_random=False))
def test_order_of_frames_changes_nothing_and_bounds(pairs, generator):
    truth, found = zip(*pairs, strict=True)
    shuffled = list(pairs)
    generator.shuffle(shuffled)
    for average in AVERAGES:
        one = [metric(truth, found, average=average) for metric in METRIC_FUNCTIONS]
        assert one == [metric(*zip(*shuffled, strict=True), average=average) for metric in METRIC_FUNCTIONS]
        assert all(0 <= score.value <= 1 for score in one)
        assert one[2].value <= min(one[0].value, one[1].value) + 1e-12


@settings(max_examples=60)
@given(frames, st.permutations(range(5)))
def test_names_of_clusters_change_neither_overlap_nor_iou(pairs, names):
    truth, found = zip(*pairs, strict=True)
    renamed = [names[c] for c in found]
    for average, metric in (("pooled", key_step_recall), ("per-key-step", key_step_iou)):
        assert metric(truth, found, average=average).value == pytest.approx(
            metric(truth, renamed, average=average).value, abs=1e-12
        )


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_matching_is_the_best_of_all(pairs):
    truth, found = zip(*pairs, strict=True)
    overlap = count_overlap(truth, found)
    counts = overlap.counts
    union = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0, keepdims=True) - counts
    iou = np.divide(counts, union, out=np.zeros(counts.shape), where=union > 0)
    wide = np.zeros((len(counts), counts.shape[1] + len(counts)))
    wide[:, : counts.shape[1]] = counts
    wide_iou = np.zeros(wide.shape)
    wide_iou[:, : counts.shape[1]] = iou
    rows = range(len(counts))
    best = max(
        (wide[rows, list(columns)].sum(), round(wide_iou[rows, list(columns)].sum(), 9))
        for columns in itertools.permutations(range(wide.shape[1]), len(counts))
    )
    steps = match_key_steps(overlap)
    assert (sum(s.common for s in steps), round(sum(s.iou for s in steps), 9)) == best
    measured = measure_key_steps(counts)
    assert measured[:3] == pytest.approx(
        [np.mean([getattr(s, name) for s in steps]) for name in ("precision", "recall", "iou")]
    )


def made(videos=6, seed=0, right=0.7):
    rng = np.random.default_rng(seed)
    out = {}
    for v in range(videos):
        truth = np.repeat(rng.integers(0, 5, 12), 10)
        noise = rng.integers(0, 8, truth.size)
        out[f"v{v}"] = count_overlap(truth, np.where(rng.random(truth.size) < right, truth, noise))
    return out


def test_mean_over_groups():
    groups = {"a": made(seed=0), "b": made(seed=1, right=0.3), "c": made(seed=2, right=1.0)}
    scores = mean_over_groups(groups, resamples=500, settings={"rate": "1 fps"})
    assert [s.signature.name for s in scores] == list(MEASURES)
    for k, score in enumerate(scores):
        single = [measure_key_steps(merge_overlaps(videos).counts)[k] for videos in groups.values()]
        assert score.value == pytest.approx(np.mean(single))
        assert min(single) - 1e-12 <= score.low <= score.value <= score.high <= max(single) + 1e-12
        assert (score.n, score.skipped) == (3, 0)
        assert score.signature.parameters["cluster"] == "group"
        assert score.signature.parameters["rate"] == "1 fps"
        assert Score.parse(str(score)).signature == score.signature


def test_groups_without_a_step_are_skipped():
    empty = {"v": count_overlap([0, 0], [1, 2], background="dropped")}
    scores = mean_over_groups({"a": made(), "b": made(seed=1), "c": empty}, resamples=0, background="dropped")
    assert (scores[0].n, scores[0].skipped, scores[0].low) == (2, 1, None)
    undefined = mean_over_groups({"c": empty}, background="dropped")
    assert all(math.isnan(s.value) and s.note == "no frame has a key step" for s in undefined)
    assert all(math.isnan(s.value) for s in mean_over_groups({}))


def test_one_group_draws_its_videos_and_matches_anew():
    videos = made(videos=12)
    scores = mean_over_groups({"all": videos}, resamples=300, seed=1)
    names = sorted(videos)
    rng = np.random.default_rng(7)
    draws = []
    for _ in range(300):
        drawn = {f"{k}": videos[names[i]] for k, i in enumerate(rng.integers(0, 12, 12))}
        draws.append(measure_key_steps(merge_overlaps(drawn).counts))
    for k, score in enumerate(scores):
        assert score.n == 12
        assert score.signature.parameters["cluster"] == "video"
        low, high = np.quantile([d[k] for d in draws], [0.025, 0.975])
        width = high - low
        assert score.low == pytest.approx(low, abs=0.5 * width)
        assert score.high == pytest.approx(high, abs=0.5 * width)


def test_one_video_has_no_interval():
    scores = mean_over_groups({"all": made(videos=1)}, resamples=50)
    assert scores[0].low is None
    assert "one cluster" in scores[0].note


def test_order_of_groups_and_videos_changes_nothing():
    groups = {"a": made(seed=0), "b": made(seed=1)}
    other = {"b": dict(reversed(made(seed=1).items())), "a": dict(reversed(made(seed=0).items()))}
    assert mean_over_groups(groups, resamples=100) == mean_over_groups(other, resamples=100)
    assert random_clustering(groups, 9, draws=3) == random_clustering(other, 9, draws=3)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("background", ["class", "matched", "dropped"])
def test_chance_equals_labelling_every_frame(average, background):
    """Overlaps drawn directly against labels drawn frame by frame."""
    rng = np.random.default_rng(5)
    truth = {f"v{v}": np.repeat(rng.integers(0, 6, 10), 30) for v in range(3)}

    def overlaps(label):
        return {name: count_overlap(t, label(t), background=background) for name, t in truth.items()}

    drawn = []
    for _ in range(150):
        merged = merge_overlaps(overlaps(lambda t: rng.integers(0, 10, t.size)))
        ignored = merged.background if background == "matched" else None
        drawn.append(measure_key_steps(merged.counts, average=average, ignored=ignored))
    groups = {"all": overlaps(np.zeros_like)}
    scores = random_clustering(groups, 10, draws=150, average=average, background=background)
    spread = np.std(drawn, axis=0) / math.sqrt(150)
    for k, score in enumerate(scores):
        assert abs(score.value - np.mean([d[k] for d in drawn])) < 5 * math.sqrt(2) * spread[k]
        assert "150 draws" in score.note
        assert score.signature.parameters["predictor"] == "uniform"


def test_chance_of_one_cluster_is_exact():
    groups = {"all": {"v": count_overlap([1, 1, 1, 2], [0, 0, 0, 0])}}
    scores = random_clustering(groups, 1, draws=1)
    assert [s.value for s in scores[:3]] == pytest.approx([0.75 / 2, 0.5, 0.75 / 2])
    assert scores[0].note == "one draw"


def test_chance_is_seeded_and_checked():
    groups = {"all": made()}
    assert random_clustering(groups, 9, seed=1) == random_clustering(groups, 9, seed=1)
    assert random_clustering(groups, 9, seed=1) != random_clustering(groups, 9, seed=2)
    with pytest.raises(MetricInputError, match="0 and 20"):
        random_clustering(groups, 0)
    with pytest.raises(MetricInputError, match="positive"):
        random_clustering(groups, 3, draws=0)
    assert math.isnan(random_clustering({}, 3)[0].value)


def test_more_noise_is_no_better():
    values = [mean_over_groups({"a": made(right=r, seed=3)}, resamples=0)[2].value for r in (1.0, 0.7, 0.3)]
    assert values[0] == 1.0
    assert values == sorted(values, reverse=True)


def test_catalogue_entries():
    for entry in METRICS:
        module, function = entry.function.split(":")
        assert module == "clustering"
        assert getattr(clustering, function).__name__ == entry.name
        assert Signature.parse(entry.signature).name == entry.name
    assert tuple(entry.name for entry in METRICS) == MEASURES


@pytest.fixture(scope="module")
def normal_recordings(shared_data):
    """Frame labels of the 164 recordings without a mistake, by recipe, as a function of the rate."""
    folder = shared_data / "captaincook4d"
    steps = json.loads((folder / "annotation_json/complete_step_annotations.json").read_text())
    wrong = {
        entry["recording_id"]: entry["is_error"]
        for entry in json.loads((folder / "annotation_json/error_annotations.json").read_text())
    }
    with (folder / "metadata/video_information.csv").open() as stream:
        seconds = {row["recording_id"]: float(row["duration(sec)"]) for row in csv.DictReader(stream)}

    def overlaps(rate):
        groups = defaultdict(dict)
        for name, recording in steps.items():
            if wrong[name]:
                continue
            labels = np.zeros(int(seconds[name] * rate), dtype=int)
            for step in recording["steps"]:
                if step["start_time"] >= 0:
                    labels[int(step["start_time"] * rate) : int(step["end_time"] * rate)] = step["step_id"]
            groups[recording["activity_name"]][name] = count_overlap(labels, np.zeros_like(labels))
        return groups

    return overlaps


@pytest.mark.shared
def test_chance_of_the_published_protocol_on_real_recordings(normal_recordings):
    """Bansal et al. 2022: 7.70/3.94/2.28 simulated and 7.64/3.92/2.23 published at 15 frames a second, 30 clusters."""
    groups = normal_recordings(15)
    assert sum(map(len, groups.values())) == 164
    found = [100 * s.value for s in random_clustering(groups, 30)][:3]
    assert found == pytest.approx([7.70, 3.94, 2.28], abs=0.03)
    assert found == pytest.approx([7.64, 3.92, 2.23], abs=0.08)
    coffee = [100 * s.value for s in random_clustering({"Coffee": groups["Coffee"]}, 30)][:3]
    assert coffee == pytest.approx([6.62, 3.93, 2.22], abs=0.06)
    videos = {name: {name: o} for recipe in groups.values() for name, o in recipe.items()}
    found = [100 * s.value for s in random_clustering(videos, 30, draws=4)][:3]
    assert found == pytest.approx([9.1, 5.1, 2.7], abs=0.1)
    assert 100 * random_clustering(groups, 20, draws=4)[1].value == pytest.approx(5.6, abs=0.1)


@pytest.mark.shared
def test_chance_grows_as_the_rate_falls(normal_recordings):
    """At 1 frame a second random labels score as high as the published trained models (15.62/10.85/5.78)."""
    groups = normal_recordings(1)
    found = [100 * s.value for s in random_clustering(groups, 30)][:3]
    assert found == pytest.approx([10.3, 5.8, 3.3], abs=0.15)
    by_video = []
    for recipe in groups.values():
        videos = {name: {name: overlap} for name, overlap in recipe.items()}
        by_video.append([100 * s.value for s in random_clustering(videos, 30, draws=4)][:3])
    assert np.mean(by_video, axis=0) == pytest.approx([15.9, 10.9, 5.7], abs=0.7)
    assert all(np.mean(by_video, axis=0) > [15.62, 10.85, 5.7])
