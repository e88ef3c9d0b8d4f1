"""Sampling: the release's id hashes, and what our own sampler promises."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from proctor.ask.moment.derive import PUBLISHED, derive_examples
from proctor.ask.moment.sample import (
    Cell,
    CellReport,
    Pool,
    Quota,
    SampleReport,
    draw_published,
    draw_quota,
    exclusion_reason,
)
from proctor.datasets.captaincook4d import DATASET
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.recording import Mistake


def make(
    n: int, kind: str = "next", *, noisy: bool = False, answer: bool = True, recording: str = ""
) -> Example:
    target = (StepRef("1", "x"),) if answer else ()
    return Example(
        id=f"{n}_{kind}",
        clip_id=str(n),
        recording_id=recording or f"r{n}",
        activity_id="a",
        activity_name="A",
        type=kind,
        end=10.0,
        state="ongoing",
        noisy=noisy,
        next_steps=target if kind == "next" else None,
        missing_steps=target if kind == "missing" else None,
    )


def pool(n: int) -> list[Example]:
    rng = random.Random(0)
    return [
        make(
            i,
            rng.choice(KINDS),
            noisy=rng.random() < 0.5,
            answer=rng.random() < 0.5,
            recording=f"r{i % (n // 8)}",
        )
        for i in range(n)
    ]


class TestExclusion:
    def test_an_ordinary_example_is_kept(self) -> None:
        assert exclusion_reason(make(1)) is None

    def test_more_than_five_targets_are_too_many(self) -> None:
        refs = tuple(StepRef(str(i), "x") for i in range(6))
        crowded = msgspec.structs.replace(make(1), next_steps=refs)
        assert "right answers" in (exclusion_reason(crowded) or "")

    def test_more_than_five_mistaken_steps_are_too_many(self) -> None:
        bad = tuple(Performed(str(i), "x", mistakes=(Mistake("timing"),)) for i in range(6))
        base = make(1, noisy=True)
        assert exclusion_reason(msgspec.structs.replace(base, previous=bad)) is not None
        assert exclusion_reason(msgspec.structs.replace(base, previous=bad[:5])) is None


class TestQuota:
    def test_cells_are_even_when_the_pool_allows(self) -> None:
        _, report = sample_quota(pool(4000), Quota(total=400), seed=1)
        assert all(cell.drawn == cell.wanted and not cell.why for cell in report.cells.values())
        assert report.left_out == {"the sample is full": 3600}

    def test_the_total_is_met(self) -> None:
        assert len(sample_quota(pool(4000), Quota(total=137), seed=1)[0]) == 137

    def test_a_lack_goes_to_the_same_type_first(self) -> None:
        examples = [make(i, noisy=False, answer=False) for i in range(100)]
        chosen, report = sample_quota(examples, Quota(total=40, weights={"next": 1}), seed=3)
        assert len(chosen) == 40
        assert {cell: found.drawn for cell, found in report.cells.items() if found.drawn} == {
            ("next", False, False): 40
        }

    def test_without_a_cap_everything_is_drawn_that_is_asked_for(self) -> None:
        examples = [
            make(i, kind, noisy=i % 3 > 0, recording=f"r{i % 2}") for i, kind in enumerate(KINDS * 15)
        ]
        chosen, report = sample_quota(examples, Quota(total=500), seed=3)
        assert chosen == examples
        assert report.left_out == {}

    def test_what_a_cell_lacks_goes_to_the_one_that_is_as_noisy(self) -> None:
        examples = [make(i, noisy=i % 2 == 0, answer=i < 100) for i in range(100)]
        examples += [make(i, noisy=i % 2 == 0, answer=False) for i in (100, 101, 103, 105, 107, 109)]
        _, report = sample_quota(examples, Quota(total=16, weights={"next": 1}), seed=3)
        drawn = {cell: found.drawn for cell, found in report.cells.items()}
        assert drawn == {
            ("next", False, True): 4, ("next", False, False): 4, ("next", True, True): 7, ("next", True, False): 1,
        }  # fmt: skip
        assert report.cells[Cell("next", True, False)] == CellReport(4, 1, 1, "there are no more")

    def test_noisy_examples_get_their_half_of_the_recordings_under_a_cap(self) -> None:
        """Clean moments come first in every recording: drawn first, they would use all recordings up."""
        examples = [make(i, noisy=i % 12 > 2, recording=f"r{i // 12}") for i in range(20 * 12)]
        chosen, report = sample_quota(
            examples, Quota(total=500, weights={"next": 1}, per_recording=1), seed=3
        )
        assert Counter(e.noisy for e in chosen) == {True: 10, False: 10}
        assert report.cells[Cell("next", True, True)].why == "170: at most 1 of a type from a recording"
        assert report.left_out == {"at most 1 of a type from a recording": 220}

    @pytest.mark.parametrize("seed", range(5))
    def test_a_recording_goes_to_the_cell_that_has_no_other(self, seed: int) -> None:
        """Ten recordings have clean and noisy moments, ten have clean ones only."""
        examples = [make(i, recording=f"r{i}") for i in range(20)]
        examples += [make(100 + i, noisy=True, recording=f"r{i}") for i in range(10)]
        chosen, _ = sample_quota(examples, Quota(total=20, weights={"next": 1}, per_recording=1), seed)
        assert Counter(e.noisy for e in chosen) == {True: 10, False: 10}

    def test_too_complicated_examples_are_a_reason_and_a_choice(self) -> None:
        refs = tuple(StepRef(str(i), "x") for i in range(6))
        examples = [make(1), msgspec.structs.replace(make(2), next_steps=refs)]
        quota = Quota(total=4, weights={"next": 1})
        _, report = sample_quota(examples, quota, seed=3)
        assert report.cells[Cell("next", False, True)] == CellReport(1, 2, 1)
        assert report.left_out == {"more than 5 steps would be right answers": 1}
        assert len(sample_quota(examples, dataclasses.replace(quota, max_targets=0), seed=3)[0]) == 2

    def test_too_small_a_pool_gives_what_there_is(self) -> None:
        assert len(sample_quota([make(1), make(2)], Quota(total=40), seed=3)[0]) == 2
        assert sample_quota([], Quota(), seed=3)[0] == []

    def test_no_recording_gives_more_than_its_share_of_a_type(self) -> None:
        chosen, _ = sample_quota(pool(4000), Quota(total=400, per_recording=1), seed=1)
        assert max(Counter((e.type, e.recording_id) for e in chosen).values()) == 1

    def test_every_recording_before_any_twice(self) -> None:
        examples = [make(i, recording=f"r{i % 10}") for i in range(50)]
        chosen, _ = sample_quota(examples, Quota(total=10, weights={"next": 1}), seed=5)
        assert len({e.recording_id for e in chosen}) == 10

    def test_the_order_of_the_input_does_not_matter(self) -> None:
        examples = pool(800)
        shuffled = examples[:]
        random.Random(9).shuffle(shuffled)
        assert ids(sample_quota(examples, Quota(total=90), 4)[0]) == ids(
            sample_quota(shuffled, Quota(total=90), 4)[0]
        )

    def test_another_seed_draws_another_sample(self) -> None:
        assert ids(sample_quota(pool(800), Quota(total=90), 1)[0]) != ids(
            sample_quota(pool(800), Quota(total=90), 2)[0]
        )

    def test_another_example_does_not_change_the_luck_of_the_others(self) -> None:
        examples = [make(i) for i in range(200)]
        quota = Quota(total=50, weights={"next": 1})
        before, after = (ids(sample_quota(e, quota, 1)[0]) for e in (examples, [*examples, make(999)]))
        assert len(before ^ after) <= 2


KINDS = ["next", "missing", "order", "timing", "technique", "measurement", "preparation", "temperature"]


def ids(examples: Iterable[Example]) -> set[str]:
    return {e.id for e in examples}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> list[Example]:
    result = DATASET.read(shared_data / "captaincook4d", "published")
    return [e for e in derive_examples(result.recordings, result.graphs, PUBLISHED) if isinstance(e, Example)]


def filled(examples: Iterable[Example], pool: Pool) -> Pool:
    for example in examples:
        pool.add(example)
    return pool


def sample_quota(examples: Iterable[Example], quota: Quota, seed: int) -> tuple[list[Example], SampleReport]:
    members = list(examples)
    pool = Pool(seed=seed, max_mistaken=quota.max_mistaken, max_targets=quota.max_targets)
    positions, report = draw_quota(filled(members, pool), quota)
    return [members[position] for position in positions], report


def digest(examples: Iterable[Example]) -> str:
    return hashlib.sha256("\n".join(e.id for e in examples).encode()).hexdigest()


def test_the_release_pre_sample(published: list[Example]) -> None:
    sample = [published[n] for n in draw_published(filled(published, Pool()), cut=None)]
    assert len(sample) == 1090
    assert digest(sample) == "616218c34ccbde4109e44caf6242fcd98ddd54e7690f6ddbf42f68182272f5a4"


def test_the_release_cut_to_500(published: list[Example]) -> None:
    sample = [published[n] for n in draw_published(filled(published, Pool()), cut=500)]
    assert digest(sample) == "47fe0178d7ccb7d0fc5d5eba96cc795dccc3596a6e5a0e9245d96e4040295c25"
    assert sum(e.noisy for e in sample) == 266


def test_the_exclusions_of_the_release(published: list[Example]) -> None:
    excluded = Counter(e.type for e in published if exclusion_reason(e))
    assert (excluded["next"], excluded["missing"]) == (943, 796)
    assert sum(excluded.values()) - 943 - 796 == 650


def test_our_sampler_keeps_the_balance_that_the_cut_loses(published: list[Example]) -> None:
    ours, report = sample_quota(published, Quota(total=500), seed=1)
    process = [e for e in ours if e.type in ("next", "missing")]
    assert len(ours) == 500
    assert abs(sum(e.noisy for e in process) - len(process) / 2) <= 1
    assert abs(sum(e.has_answer for e in process) - len(process) / 2) <= 1
    assert all(
        found.drawn == found.wanted
        for cell, found in report.cells.items()
        if cell.type in ("next", "missing")
    )
