"""Benchmark and training set share no video, under whatever names."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exam.clip_set import clip, pair

from proctor.errors import UserError
from proctor.release.training_split import (
    PUBLISHED_SHARE,
    cap_pairs,
    check_leakage,
    clip_hash,
    near_id,
    require_no_leak,
    split_by_video,
)

PAIRS = [pair(n, dataset=("youcook2", "hirest")[n // 4 % 2]) for n in range(400)]


@pytest.mark.parametrize(
    "name",
    [
        "abc",
        "ABC",
        "abc_360p",
        "abc.mp4",
        "abc_360p.mp4",
        "abc-1080p60.mkv",
        "abc+2",
        "./abc",
        "abc_4k",
        "abc.mp4+2",
    ],
)
def test_names_of_one_video(name: str) -> None:
    assert near_id(name) == "abc"


@pytest.mark.parametrize("name", ["abcd", "abc_2", "abc_360", "x/abc", "abc_take", "ab"])
def test_names_of_other_videos(name: str) -> None:
    assert near_id(name) != "abc"


def test_the_published_share_and_no_video_on_both_sides() -> None:
    made = split_by_video(PAIRS, seed=3)
    assert len(made.benchmark) + len(made.training) == 400
    assert (
        abs(len(made.benchmark) - 400 * PUBLISHED_SHARE) <= 4
    )  # two data sets, each to half a video of four pairs
    for dataset in ("youcook2", "hirest"):
        assert abs(sum(p.dataset == dataset for p in made.benchmark) - 200 * PUBLISHED_SHARE) <= 2
    assert not check_leakage(made.benchmark, made.training).leaks
    assert split_by_video(list(reversed(PAIRS)), seed=3).benchmark == tuple(reversed(made.benchmark))
    assert split_by_video(PAIRS, seed=4).benchmark != made.benchmark


def test_a_cap_leaves_pairs_out_and_gives_none_to_training() -> None:
    free, capped = split_by_video(PAIRS, 0.5, 1), split_by_video(PAIRS, 0.5, 1, cap=50)
    assert len(capped.benchmark) == 50
    assert capped.training == free.training
    assert {p.id for p in capped.benchmark} | {p.id for p in capped.left_out} == {
        p.id for p in free.benchmark
    }
    assert len(cap_pairs(PAIRS, 5_000)) == 400
    with pytest.raises(UserError):
        cap_pairs(PAIRS, 0)


def renamed(number: int, video: str, dataset: str = "youcook2"):
    return msgspec.structs.replace(
        pair(number), id=f"r{number}", video_id=video, clip_id=video, dataset=dataset
    )


@pytest.mark.parametrize(("other", "by"), [("v0", "id"), ("v0_360p", "near-id"), ("V0.mp4", "near-id")])
def test_a_video_under_another_name_is_found_and_kept_together(other: str, by: str) -> None:
    left, right = [pair(0)], [renamed(1, other, "hirest"), renamed(2, "else")]
    found = check_leakage(left, right)
    assert [(leak.benchmark, leak.training, leak.by) for leak in found.leaks] == [
        ("youcook2/v0", f"hirest/{other}", by)
    ]
    with pytest.raises(UserError, match="1 videos are in the benchmark and in the training set"):
        require_no_leak(found)
    for seed in range(20):
        made = split_by_video([*left, *right], 0.5, seed)
        assert not check_leakage(made.benchmark, made.training).leaks
        assert made.groups == ((f"hirest/{other}", "youcook2/v0"),)


def test_one_video_by_its_steps_or_its_file() -> None:
    left, right = [pair(0)], [renamed(1, "zz", "hirest")]
    same = clip("zz", "hirest")
    assert not check_leakage(left, right).leaks
    assert [leak.by for leak in check_leakage(left, right, clips=[clip("v0"), same]).leaks] == ["clip"]
    steps = tuple(msgspec.structs.replace(s, text=s.text + " again") for s in same.steps)
    other = msgspec.structs.replace(same, steps=steps)
    assert not check_leakage(left, right, clips=[clip("v0"), other]).leaks
    files = [
        msgspec.structs.replace(clip("v0"), video="a/x_360p.mp4"),
        msgspec.structs.replace(other, video="a/x.mp4"),
    ]
    assert [leak.by for leak in check_leakage(left, right, clips=files).leaks] == ["file"]
    made = split_by_video([*left, *right], 0.5, clips=files)
    assert not (made.benchmark and made.training)


def test_the_hash_of_a_clip_is_of_what_is_annotated() -> None:
    first = clip("v0")
    moved = tuple(msgspec.structs.replace(s, start=s.start + 60, end=s.end + 60) for s in first.steps)
    assert clip_hash(msgspec.structs.replace(first, id="x", dataset="y", steps=moved)) == clip_hash(first)
    assert clip_hash(msgspec.structs.replace(first, steps=first.steps[:2])) is None


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(UserError):
        split_by_video(PAIRS, share)


def test_edges_and_ids() -> None:
    assert split_by_video(PAIRS, 0.0).benchmark == ()
    assert split_by_video(PAIRS, 1.0).training == ()
    with pytest.raises(UserError, match="there twice"):
        split_by_video([pair(0), pair(0)])


@given(st.lists(st.sampled_from(["a", "a_360p", "A.mp4", "b", "b+2", "c", "d_1080p", "d"]), min_size=1, max_size=30),
       st.floats(0, 1), st.integers(0, 99))  # fmt: skip
def test_no_split_leaks(videos: list[str], share: float, seed: int) -> None:
    pairs = [renamed(n, video) for n, video in enumerate(videos)]
    made = split_by_video(pairs, share, seed)
    assert not check_leakage(made.benchmark, made.training).leaks
    assert sorted([*made.benchmark, *made.training], key=lambda p: p.id) == sorted(pairs, key=lambda p: p.id)
