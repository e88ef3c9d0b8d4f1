import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Segments, encode_names, sorted_names


def make(rows, scored=True):
    """Rows of (video, start, end, label[, score])."""
    columns = list(zip(*rows, strict=True)) or [()] * (5 if scored else 4)
    return Segments.of(*columns[:4], columns[4] if scored else None)


def test_names_are_positions_in_a_sorted_list_whatever_the_order_of_the_rows():
    rows = [("b", 0, 1, "10", 0.5), ("a", 2, 3, "9", 0.4), ("b", 4, 5, "x", 0.3)]
    segments = make(rows)
    assert segments.videos == ("a", "b")
    assert segments.labels == ("9", "10", "x")  # numbers by value, then words
    assert segments.video.tolist() == [1, 0, 1]
    assert segments.label.tolist() == [1, 0, 2]
    again = make(rows[::-1])
    assert again.labels == segments.labels
    assert again.video.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [5, 3, 5, -1],
        np.array([5, 3, 5, -1]),
        np.array([5, 3, 5, -1], dtype=np.int16),
        np.array([5, 3, 5, -(10**12)]),
        np.array([2**40, 3, 2**40, -1]),
    ],
)
def test_whole_numbers_as_lists_and_arrays(values):
    codes, names = encode_names(values, "a label")
    assert [names[c] for c in codes] == list(values)
    assert list(names) == sorted(set(map(int, values)))
    assert all(type(name) is int for name in names)


def test_texts_in_numpy_arrays():
    codes, names = encode_names(np.array(["b", "a", "b"]), "a label")
    assert names == ("a", "b")
    assert codes.tolist() == [1, 0, 1]


def test_numbers_and_texts_are_different_names_and_numbers_come_first():
    assert sorted_names(["2", 10, "b", "10", 2, "-1", "a"]) == [2, 10, "-1", "2", "10", "a", "b"]
    assert encode_names([1, "1"], "a label")[1] == (1, "1")


def test_empty():
    segments = make([])
    assert len(segments) == 0
    assert segments.used_videos() == segments.used_labels() == ()
    assert segments.duplicates().tolist() == segments.empty().tolist() == []
    assert segments.in_videos({"a"}).tolist() == segments.with_labels({"a"}).tolist() == []
    assert len(segments.relabelled({"a": "b"})) == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 0, np.nan, "x", 0.5)], "predictions: the times of row 0 are not finite"),
        ([("a", 0, 1, "x", 0.5), ("a", np.inf, 1, "x", 0.5)], "the times of row 1 are not finite"),
        ([("a", 0, 1, "x", 0.5), ("a", 0, 1, "x", np.nan)], "the score of row 1 is not finite"),
        ([("a", 0, 1, "x", -np.inf)], "the score of row 0 is not finite"),
        ([("a", "soon", 1, "x", 0.5)], "starts must be numbers"),
        ([("a", 0, 1, 1.5, 0.5)], "a label must be a text or a whole number, got 1.5 in row 0"),
        ([("a", 0, 1, "x", 0.5), (None, 0, 1, "x", 0.5)], "a video must be a text .* got None in row 1"),
        ([("a", 0, 1, True, 0.5)], "got True in row 0"),
        ([("a", 0, 1, ["x"], 0.5)], r"got \['x'\] in row 0"),
    ],
)
def test_what_is_no_segment_is_named_with_its_row(rows, message):
    with pytest.raises(MetricInputError, match=message):
        make(rows)


def test_lists_must_be_parallel():
    with pytest.raises(MetricInputError, match="ground truth: 2 starts and 1 labels"):
        Segments.of(["a", "a"], [0, 1], [1, 2], ["x"])
    with pytest.raises(MetricInputError, match="predictions: 1 starts and 2 scores"):
        Segments.of(["a"], [0], [1], ["x"], [0.1, 0.2])
    with pytest.raises(MetricInputError, match="1 starts and 2 has_error"):
        Segments.of(["a"], [0], [1], ["x"], columns={"has_error": ["0", "1"]})
    with pytest.raises(MetricInputError, match="flat list, got shape"):
        Segments.of(["a"], [[0]], [1], ["x"])


def test_part_of_the_segments_keeps_columns_and_names():
    segments = Segments.of(
        ["a", "b"], [0, 1], [1, 2], ["x", "y"], videos=["c"], columns={"has_error": ["0", "1"]}
    )
    part = segments.take(segments.in_videos({"b", "nowhere"}))
    assert part.used_videos() == ("b",)
    assert part.videos == ("a", "b", "c")
    assert part.columns["has_error"].tolist() == ["1"]
    assert part.score is None
    assert segments.with_labels(["x"]).tolist() == [True, False]


def test_labels_renamed_and_joined():
    segments = make([("a", 0, 1, "1", 0.5), ("a", 0, 1, "2", 0.5), ("a", 0, 1, "3", 0.5)])
    renamed = segments.relabelled({"1": "3", "2": "0"})
    assert [renamed.labels[c] for c in renamed.label] == ["3", "0", "3"]


def test_empty_segments():
    lengths = [1.0, 1e-3, 0.99e-3, 0.0]
    segments = Segments.of(["a"] * 4, np.zeros(4), lengths, ["x"] * 4)
    assert segments.empty().tolist() == [False, False, True, True]


def test_duplicates_keep_the_best_scored_one():
    segments = make(
        [
            ("a", 0, 1, "x", 0.2),
            ("a", 0, 1, "x", 0.9),
            ("a", 0.0005, 0.9995, "x", 0.5),
            ("a", 0.002, 1, "x", 0.1),  # too far off
            ("a", 0, 1, "y", 0.1),  # another label
            ("b", 0, 1, "x", 0.1),  # another video
        ]
    )
    assert segments.duplicates().tolist() == [True, False, True, False, False, False]


def test_a_chain_of_small_shifts_is_not_swallowed_whole():
    starts = [0.0, 0.0008, 0.0016]
    segments = Segments.of(["a"] * 3, starts, [1, 1, 1], ["x"] * 3)
    assert segments.duplicates().tolist() == [False, True, False]
    best_in_the_middle = Segments.of(["a"] * 3, starts, [1, 1, 1], ["x"] * 3, [0.1, 0.9, 0.1])
    assert best_in_the_middle.duplicates().tolist() == [True, False, True]


@pytest.mark.parametrize("width", [0.0, 1e-4, 1.0])
def test_many_rows_at_one_place(width):
    """Twenty thousand rows would make two hundred million pairs."""
    n = 20_000
    shift = np.random.default_rng(0).uniform(0, width, n)
    segments = Segments.of(["a"] * n, shift, 1 + shift, ["x"] * n, np.linspace(0, 1, n))
    repeated = segments.duplicates()
    assert not repeated[-1]
    left = np.sort(shift[~repeated])
    assert (np.diff(left) > 1e-3).all()
    if width < 1e-3:
        assert len(left) == 1


def test_without_tolerance_only_equal_segments_repeat():
    segments = Segments.of(["a"] * 3, [0, 0, 1e-9], [1, 1, 1], ["x"] * 3)
    assert segments.duplicates(0.0).tolist() == [False, True, False]
    assert segments.duplicates(1e-9).tolist() == [False, True, True]


times = st.integers(0, 6).map(lambda k: k * 0.0006)
row = st.tuples(
    st.sampled_from("ab"), times, times.map(lambda t: t + 1), st.sampled_from("xy"), st.integers(0, 3)
)


@settings(max_examples=60)
@given(st.lists(row, max_size=9), st.randoms(use_true_random=False))
def test_duplicates_against_the_definition_and_in_any_order(rows, random):
    def kept(rows):
        out = []
        for r in sorted(rows, key=lambda r: (-r[4], r[1], r[2])):
            if not any(
                r[0] == k[0] and r[3] == k[3] and abs(r[1] - k[1]) <= 1e-3 and abs(r[2] - k[2]) <= 1e-3
                for k in out
            ):
                out.append(r)
        return sorted(out)

    segments = make(rows)
    found = [r for r, repeated in zip(rows, segments.duplicates(), strict=True) if not repeated]
    assert sorted(found) == kept(rows)
    shuffled = random.sample(rows, len(rows))
    again = [r for r, repeated in zip(shuffled, make(shuffled).duplicates(), strict=True) if not repeated]
    assert sorted(again) == sorted(found)
