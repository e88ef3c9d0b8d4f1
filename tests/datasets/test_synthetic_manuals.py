"""Made-up manuals: read by the reader, told apart only by text and image together, with the published ceilings."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.manual_caps import derive_sequences
from proctor.datasets.synthetic_manuals import (
    IMAGE_BUCKETS,
    PATCH_SIDE,
    TASKS,
    TELLING_WORDS,
    TEXT_BUCKETS,
    make_step,
    write_manuals,
)
from proctor.datasets.wikihow import DATASET
from proctor.errors import UserError
from proctor.metrics.ordering import measure_arrays
from proctor.metrics.text_statistics import tokenize


def text_bucket(text: str) -> int:
    """Read the bucket of a text; exactly one telling word must be there."""
    telling = {word: bucket for words in TELLING_WORDS.values() for bucket, word in enumerate(words)}
    (found,) = [telling[w] for w in tokenize(text.lower()) if w in telling]
    return found


def image_bucket(path: Path) -> int:
    image_module = pytest.importorskip("PIL.Image")
    with image_module.open(path) as image:
        assert (image.mode, image.size) == ("RGB", (2 * PATCH_SIDE, 2 * PATCH_SIDE))
        image.load()
        means = [
            statistics.fmean(
                value
                for y in range(PATCH_SIDE)
                for x in range(PATCH_SIDE)
                for value in image.getpixel((x + dx, y + dy))
            )
            for dx, dy in itertools.product((0, PATCH_SIDE), repeat=2)
        ]
    high, low = max(means) - 128, 128 - min(means)
    return 1 if max(high, low) < 30 else (2 if high > low else 0)


def test_the_buckets_are_the_published_ones(shared_expected: Any):
    expected = shared_expected("sequencing")["synthetic_ceilings"]
    assert list(TEXT_BUCKETS) == expected["text_buckets"]
    assert list(IMAGE_BUCKETS) == expected["image_buckets"]


@pytest.mark.parametrize(
    ("view", "buckets"),
    [
        ("text_only", [(b,) for b in TEXT_BUCKETS]),
        ("image_only", [(b,) for b in IMAGE_BUCKETS]),
        ("multimodal", list(zip(TEXT_BUCKETS, IMAGE_BUCKETS, strict=True))),
    ],
)
def test_what_a_view_tells_has_the_published_ceiling(
    view: str, buckets: Sequence[tuple[int, ...]], shared_expected: Any
):
    """The mean over all orders that a view cannot tell from the right one."""
    orders = [o for o in itertools.permutations(range(5)) if [buckets[i] for i in o] == sorted(buckets)]
    means = measure_arrays([list(range(5))] * len(orders), orders).means()
    expected = shared_expected("sequencing")["synthetic_ceilings"][view]
    names = {
        "acc": "position_accuracy",
        "pmr": "perfect_match_ratio",
        "lq": "longest_common_subsequence",
        "lr": "longest_common_substring",
        "tau": "kendall_tau",
        "dist": "displacement",
    }
    assert {short: means[name] for short, name in names.items()} == pytest.approx(expected)


def test_the_reader_reads_them_and_they_tell_their_buckets(tmp_path: Path):
    root = write_manuals(tmp_path / "made", 40, 0)
    result = DATASET.read(root)
    assert (result.dropped, result.findings) == ((), ())
    assert len(result.manuals) == 40
    for manual in result.manuals:
        (sequence,) = derive_sequences(manual).sequences
        assert tuple(text_bucket(s.text) for s in sequence.steps) == TEXT_BUCKETS
        assert tuple(image_bucket(root / s.images[0]) for s in sequence.steps) == IMAGE_BUCKETS
    assert {m.title for m in result.manuals} == {f"Some {task}" for task in TASKS}


def test_the_order_is_not_to_be_had_from_file_names(tmp_path: Path):
    root = write_manuals(tmp_path / "made", 200, 0)
    in_order = 0
    for manual in DATASET.read(root).manuals:
        names = [s.images[0] for s in manual.sections[0].steps]
        in_order += names == sorted(names)
    assert in_order < 10  # 1.7 expected


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path):
    def content(root: Path) -> dict[str, bytes]:
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    one, two, other = (write_manuals(tmp_path / str(i), 4, seed) for i, seed in enumerate((0, 0, 1)))
    assert content(one) == content(two)
    assert content(one) != content(other)


def test_nothing_is_written_over(tmp_path: Path):
    write_manuals(tmp_path / "made", 1, 0)
    with pytest.raises(UserError, match="something here already"):
        write_manuals(tmp_path / "made", 1, 0)
    with pytest.raises(UserError, match="0 manuals"):
        write_manuals(tmp_path / "none", 0, 0)


@pytest.mark.parametrize(("task", "stage"), [("sewing", 0), ("baking", 5), ("baking", -1)])
def test_unknown_stages_are_refused(task: str, stage: int):
    with pytest.raises(UserError, match="no stage"):
        make_step(task, stage, random.Random(0))
