import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn")

from proctor.errors import UserError
from proctor.learn.procedures.heads import (
    choose_clusters,
    cluster,
    fuzzy_c_means,
    ordered_by_time,
    safe_exponent,
)


def made(seed=0, steps=4, width=16, length=30, videos=3):
    """Steps one after the other in every recording, far apart."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(steps, width)) * 2
    return {
        f"r{v}": np.concatenate([c + rng.normal(size=(length, width)) for c in centres]).astype(np.float32)
        for v in range(videos)
    }


@pytest.mark.parametrize("head", ["procut", "kmeans"])
def test_steps_that_are_far_apart_are_found(head):
    found = cluster(made(), head, 4, frames=15.0)
    assert found.clusters == 4
    for labels in found.labels.values():
        runs = [set(labels[first : first + 30].tolist()) for first in range(0, 120, 30)]
        assert [len(run) for run in runs] == [1] * 4
        assert len(set.union(*runs)) == 4
        if head == "procut":
            assert labels[::30].tolist() == [0, 1, 2, 3]  # named by time


def test_a_subset_keeps_half_of_the_centres():
    found = cluster(made(), "subset", 8)
    assert found.clusters == 4
    assert {int(k) for labels in found.labels.values() for k in labels} == {0, 1, 2, 3}
    for labels in found.labels.values():
        assert labels[:30].tolist() == [labels[0]] * 30


def test_the_published_exponent_makes_one_cluster_of_rows_that_spread_in_many_directions():
    rows = np.random.default_rng(0).normal(size=(300, 40))
    flat = fuzzy_c_means(rows, 5, exponent=2.0)
    assert np.abs(flat - 0.2).max() < 1e-3
    safe = safe_exponent(rows)
    assert 1 < safe < 1.1
    assert fuzzy_c_means(rows, 5, exponent=safe).max(1).mean() > 0.4
    assert safe_exponent(np.linspace(0, 1, 20)[:, None]) == 2.0


def test_memberships_by_hand():
    rows = np.array([[0.0], [0.0], [4.0], [4.0], [1.0]])
    found = fuzzy_c_means(rows, 2)
    assert found.sum(1) == pytest.approx([1.0] * 5)
    weights = found**2
    centres = weights.T @ rows / weights.sum(0)[:, None]
    near = 1 / (rows - centres.T) ** 2
    assert found == pytest.approx(near / near.sum(1, keepdims=True), abs=1e-3)


def test_clusters_are_ordered_by_the_time_of_their_rows():
    memberships = np.array([[0.1, 0.9, 0.0], [0.8, 0.1, 0.1], [0.9, 0.1, 0.0]])
    assert ordered_by_time(memberships, np.array([0.1, 0.5, 0.9])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("steps", [4, 7, 10])
def test_the_number_is_that_of_the_steps_or_up_to_some_more(steps):
    assert steps <= choose_clusters(made(steps=steps, width=24), frames=15.0) <= 1.6 * steps


def test_the_same_whatever_the_order_of_recordings():
    rows = made()
    one = cluster(rows, "procut", 5, seed=3, frames=15.0)
    other = cluster(dict(reversed(rows.items())), "procut", 5, seed=3, frames=15.0)
    assert {k: v.tolist() for k, v in one.labels.items()} == {k: v.tolist() for k, v in other.labels.items()}


def test_impossible_numbers_of_clusters_and_rows():
    with pytest.raises(UserError, match="7 clusters of 6 rows"):
        cluster({"r": np.zeros((6, 2), np.float32)}, "kmeans", 7)
    with pytest.raises(UserError, match="no number"):
        cluster({"r": np.full((6, 2), np.nan, np.float32)}, "procut", 2)
    assert len(set(cluster({"r": np.zeros((6, 2), np.float32)}, "procut", 6).labels["r"].tolist())) == 1
