from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import pytest
from tests.moments import with_example

from proctor.benchmark.promqa import import_promqa
from proctor.exam.question import Item
from proctor.examples.promqa import read_promqa
from proctor.procedure.graph import Step, TaskGraph
from proctor.report.data import ReportData
from proctor.report.statistics import (
    PUBLISHED_PROMQA,
    DatasetStatistics,
    compute_statistics,
    is_published_promqa,
    order_types,
)


def small_statistics(data: ReportData) -> DatasetStatistics:
    return compute_statistics(
        data.items, graphs=data.graphs, candidates=data.candidates, verdicts=data.verdicts
    )


def test_counts_of_a_small_benchmark(small: ReportData) -> None:
    found = small_statistics(small)
    assert (found.all.items, found.recordings, found.all.clean, found.all.noisy) == (12, 4, 6, 6)
    assert found.activities == (("Tea", 8), ("Shelf", 4))
    assert [(t.name, t.items) for t in found.types] == [("next", 4), ("missing", 4), ("order", 4)]
    assert found.answers_histogram == ((2, 12),)
    assert found.answers_per_question == 2
    assert found.all.sources == {"machine": 12, "annotator": 12}
    assert found.all.kinds == {"direct": 12, "suggestion": 12}
    assert found.distinct_questions == 12
    assert found.all.approval.rate == 1
    assert not found.published


def test_steps_per_activity_weighted_and_not(small: ReportData) -> None:
    found = small_statistics(small)
    assert found.steps_per_activity.mean == 3  # tea has 4 actions, the shelf 2
    assert found.steps_per_activity_weighted.mean == pytest.approx((8 * 4 + 4 * 2) / 12)


def test_approval_counts_rejected_candidates_of_types_that_kept_none(small: ReportData) -> None:
    rejected = msgspec.structs.replace(small.candidates[0], id="x", type="timing")
    found = compute_statistics(small.items, candidates=(*small.candidates, rejected))
    timing = next(t for t in found.types if t.name == "timing")
    assert (timing.approval.kept, timing.approval.candidates, timing.approval.rate) == (0, 1, 0)
    assert found.all.approval.rate == pytest.approx(12 / 13)


def test_without_candidates_approval_is_unknown_and_not_one(small: ReportData) -> None:
    found = compute_statistics(small.items)
    assert found.all.approval.rate is None
    assert found.verification is None
    assert found.steps_per_activity.mean is None


def test_agreement_is_between_people_only(small: ReportData) -> None:
    found = small_statistics(small).verification
    assert found is not None
    assert (found.answers.agreed, found.answers.n) == (23, 24)
    assert set(found.annotators) == {"ana", "bo"}


def test_nothing_gives_undefined_means_and_no_zero() -> None:
    found = compute_statistics(())
    assert found.answers_per_question is None
    assert found.clip_seconds.mean is None
    assert found.all.question_words.tokens is None
    assert found.types == () == found.answers_histogram


def test_the_start_counts_as_one_step_as_published(item_factory: Callable[..., Item]) -> None:
    item = item_factory(0)
    start = with_example(item, current=None)
    assert compute_statistics([start]).steps_so_far.mean == 1


def test_types_keep_the_published_order() -> None:
    assert order_types(["zeta", "timing", "next", "alpha", "order"]) == (
        "next",
        "order",
        "timing",
        "alpha",
        "zeta",
    )


def test_only_the_published_ids_are_the_published_benchmark(small: ReportData) -> None:
    assert not is_published_promqa(small.items)
    assert not is_published_promqa(())


# -- the published development examples --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(
        (shared_data / "promqa" / "examples_dev.json").read_text("utf-8")
    )
    return document


@pytest.fixture(scope="module")
def graph_files(shared_data: Path) -> dict[str, dict[str, Any]]:
    files = (shared_data / "captaincook4d" / "task_graphs").glob("*.json")
    return {file.stem: json.loads(file.read_text("utf-8")) for file in files}


@pytest.fixture(scope="module")
def published(
    shared_data: Path, raw: list[dict[str, Any]], graph_files: dict[str, dict[str, Any]]
) -> DatasetStatistics:
    graphs = {}
    for entry in raw:
        name = entry["activity_name"]
        activity = entry["recording_id"].split("_")[0]
        file = graph_files[name.lower().replace(" ", "")]
        graphs[activity] = TaskGraph(
            activity,
            name,
            tuple(Step(i, text) for i, text in file["steps"].items()),
            tuple((str(a), str(b)) for a, b in file["edges"]),
            "0",
            max(file["steps"], key=int),
        )
    records = import_promqa(read_promqa(shared_data / "promqa" / "examples_dev.json"), graphs)
    return compute_statistics(
        records.items, graphs=graphs, candidates=records.candidates, verdicts=records.verdicts
    )


@pytest.mark.shared
def test_golden_figures_of_the_development_examples(published: DatasetStatistics) -> None:
    assert (published.all.items, published.recordings, len(published.activities)) == (195, 114, 12)
    assert (published.all.clean, published.all.noisy) == (84, 111)
    assert published.all.answers == 373
    assert published.clip_seconds.mean == pytest.approx(475.58, abs=0.01)
    verification = published.verification
    assert verification is not None
    assert (verification.answers.agreed, verification.answers.n) == (192, 221)
    assert published.all.first_question_words[:3] == (("is", 48), ("did", 44), ("what", 31))
    assert not published.published


@pytest.mark.shared
def test_figures_equal_an_independent_count(
    published: DatasetStatistics, raw: list[dict[str, Any]], graph_files: dict[str, dict[str, Any]]
) -> None:
    assert published.recordings == len({e["recording_id"] for e in raw})
    assert dict(published.activities) == Counter(e["activity_name"] for e in raw)
    assert {t.name: t.items for t in published.types} == Counter(e["type"] for e in raw)
    assert dict(published.answers_histogram) == Counter(len(e["answers"]) for e in raw)
    assert published.all.sources == Counter(tag for e in raw for tag in e["answer_tags"])
    assert published.distinct_questions == len({e["question"] for e in raw})
    seconds = [sum(int(v) * 60**k for k, v in enumerate(reversed(e["end_time"].split(":")))) for e in raw]
    assert published.clip_seconds.mean == pytest.approx(fmean(seconds))
    assert (published.clip_seconds.low, published.clip_seconds.high) == (min(seconds), max(seconds))
    assert published.steps_so_far.mean == pytest.approx(fmean(len(e["previous_steps"]) + 1 for e in raw))
    assert published.all.question_words.split == pytest.approx(fmean(len(e["question"].split()) for e in raw))
    answers = [a for e in raw for a in e["answers"]]
    assert published.all.answer_words.split == pytest.approx(fmean(len(a.split()) for a in answers))
    targets = [e for e in raw if e.get("next_steps", e.get("missing_steps", [1]))]
    assert published.all.with_target == len(targets)
    sizes = {name: len(f["steps"]) - 2 for name, f in graph_files.items()}
    weighted = [sizes[e["activity_name"].lower().replace(" ", "")] for e in raw]
    assert published.steps_per_activity_weighted.mean == pytest.approx(fmean(weighted))


@pytest.mark.shared
def test_tokens_with_punctuation_are_close_to_the_reference_tokenizer(
    published: DatasetStatistics, raw: list[dict[str, Any]]
) -> None:
    nltk = pytest.importorskip("nltk.tokenize", reason="needs nltk as the reference")
    reference = nltk.TreebankWordTokenizer()
    expected = fmean(len(reference.tokenize(e["question"])) for e in raw)
    assert published.all.question_words.tokens == pytest.approx(expected, rel=0.02)


def test_published_figures_add_up() -> None:
    parts = ("next", "missing", "order", "preparation", "measurement", "timing", "technique", "temperature")
    pairs = [[int(v) for v in PUBLISHED_PROMQA[p].split(" (")[0].split(" of ")] for p in parts]
    assert [sum(column) for column in zip(*pairs, strict=True)] == [401, 500]
    assert int(PUBLISHED_PROMQA["clean"]) + int(PUBLISHED_PROMQA["noisy"]) == 401
