"""Statistics of data sets: against slow definitions, and against the printed numbers on the real files."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.captaincook4d import DATASET
from proctor.datasets.dataset import Published
from proctor.datasets.statistics import (
    RecordingTally,
    compare_published,
    graph_rows,
    graph_width,
    spread_of,
    text_statistics,
)
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment

TIMES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8)


def recording(
    spans: list[tuple[float, float]], duration: float | None = 100.0, id_: str = "r", **more: Any
) -> Recording:
    segments = tuple(Segment(str(n), f"do {n}", float(a), float(b)) for n, (a, b) in enumerate(spans))
    return Recording(id_, "a", "Tea", segments, duration, **more)


def tally(*recordings: Recording) -> RecordingTally:
    t = RecordingTally()
    for r in recordings:
        t.add(r)
    return t


class TestSpread:
    @given(st.lists(st.floats(-1e6, 1e6), min_size=2))
    def test_against_the_standard_library(self, values: list[float]) -> None:
        spread = spread_of(values)
        assert spread is not None
        assert spread.n == len(values)
        assert spread.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
        assert spread.sd == pytest.approx(statistics.pstdev(values), abs=1e-5, rel=1e-6)
        quarters = statistics.quantiles(values, n=4, method="inclusive")
        assert (spread.q25, spread.median, spread.q75) == pytest.approx(quarters, abs=1e-6)
        assert (spread.least, spread.most) == (min(values), max(values))

    def test_nothing_and_one(self) -> None:
        assert spread_of([]) is None
        one = spread_of([3.0])
        assert one is not None
        assert (one.median, one.sd, one.q25) == (3.0, 0.0, 3.0)


class TestRecordings:
    @given(TIMES, st.integers(1, 70))
    def test_coverage_is_the_count_of_seconds(self, spans: list[tuple[int, int]], duration: int) -> None:
        whole = [(a, a + n) for a, n in spans]
        found = tally(recording([(float(a), float(b)) for a, b in whole], float(duration))).statistics()
        depth = [sum(a <= second < b for a, b in whole) for second in range(duration)]
        assert found.coverage is not None
        assert found.coverage.annotated_share == pytest.approx(sum(d > 0 for d in depth) / duration)
        assert found.coverage.overlapping_share == pytest.approx(sum(d > 1 for d in depth) / duration)
        assert found.coverage.after_end == sum(b > duration for _, b in whole)

    @given(TIMES)
    def test_histograms_hold_every_value(self, spans: list[tuple[int, int]]) -> None:
        found = tally(recording([(float(a), float(a + n)) for a, n in spans])).statistics()
        steps, videos, counts = found.histograms
        assert (sum(steps.counts), sum(videos.counts), sum(counts.counts)) == (len(spans), 1, 1)
        for edge, following, n in zip(steps.edges, (*steps.edges[1:], math.inf), steps.counts, strict=True):
            assert n == sum(edge <= length < following for _, length in spans)

    def test_mistakes_by_kind(self) -> None:
        twice = Segment("1", "a", 0.0, 5.0, None, (Mistake("order"), Mistake("order"), Mistake("timing")))
        skipped = Segment("2", "b", None, None, None, (Mistake("missing"),))
        found = tally(Recording("r", "a", "Tea", (twice, skipped), 10.0), recording([(0, 2)])).statistics()
        assert [(m.kind, m.mistakes, m.steps) for m in found.mistakes] == [
            ("order", 2, 1),
            ("missing", 1, 1),
            ("timing", 1, 1),
        ]
        assert found.kinds_of_a_step == {1: 1, 2: 1}
        assert (found.steps, found.timed_steps, found.skipped_steps, found.mistaken_steps) == (3, 2, 1, 2)
        assert (found.recordings, found.with_mistakes) == (2, 1)
        assert (found.hours * 3600, found.hours_with_mistakes * 3600) == pytest.approx((110, 10))

    def test_recordings_without_length_are_counted_apart(self) -> None:
        found = tally(recording([(0, 5)], None)).statistics()
        assert (found.without_duration, found.hours, found.coverage, found.video_seconds) == (
            1,
            0.0,
            None,
            None,
        )
        assert found.activities[0].mean_step_seconds == 5.0

    def test_nothing_at_all(self) -> None:
        found = RecordingTally().statistics()
        assert (found.recordings, found.step_seconds, found.activities) == (0, None, ())

    def test_attributes_and_activities(self) -> None:
        a = recording([(0, 4)], attributes={"person": "1", "room": "x"})
        b = recording([(0, 6), (6, 8)], attributes={"person": "2", "room": "x"})
        found = tally(a, b).statistics()
        assert found.attributes == {"person": 2, "room": 1}
        (row,) = found.activities
        assert (row.recordings, row.steps, row.mean_step_seconds) == (2, 3, 4.0)


EDGES = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] < e[1]))


class TestGraphs:
    @given(EDGES)
    def test_width_is_the_largest_set_without_order(self, edges: set[tuple[int, int]]) -> None:
        steps = tuple(Step(str(i), f"do {i}") for i in range(7))
        graph = TaskGraph("g", "g", steps, tuple((str(a), str(b)) for a, b in sorted(edges)))
        ids = [s.id for s in steps]
        widest = max(
            n
            for n in range(1, 8)
            for chosen in combinations(ids, n)
            if not any(graph.comes_before(a, b) for a in chosen for b in chosen)
        )
        assert graph_width(graph) == widest

    def test_chains_and_wide_graphs(self, make_graph: Callable[..., TaskGraph], diamond: TaskGraph) -> None:
        (row,) = graph_rows([diamond])
        assert (row.steps, row.width, row.depth, row.orders, row.orders_at_least) == (4, 2, 3, 2, 2)
        names = [f"s{i}" for i in range(400)]
        chain = make_graph(" ".join(names), edges=" ".join(f"{a}>{b}" for a, b in pairwise(names)))
        assert graph_width(chain) == 1
        (wide,) = graph_rows([make_graph(" ".join(names[:60]))])
        assert (wide.width, wide.orders, wide.orders_at_least) == (60, None, math.factorial(60))

    def test_captaincook4d(self, shared_data: Path) -> None:
        rows = {g.name: g for g in graph_rows(DATASET.read(shared_data / "captaincook4d").graphs.values())}
        assert len(rows) == 24
        assert rows["Coffee"].orders == 9900
        assert rows["Broccoli Stir Fry"].orders == 15_850_598_400
        assert {r.steps for r in rows.values()} <= set(range(7, 26))
        assert sum(r.steps for r in rows.values()) / 24 == pytest.approx(14.92, abs=0.005)
        assert all(r.orders is not None and math.factorial(r.width) <= r.orders for r in rows.values())


class TestTexts:
    def test_table_1_columns(self) -> None:
        found = text_statistics([["Boil it. Stir!", ""], ["boil the water"]], str.split)
        assert (found.tasks, found.steps, found.tokens, found.types) == (2, 3, 6, 5)
        assert found.type_token_ratio == pytest.approx(5 / 6)
        assert found.tokens_of_a_step is not None
        assert found.sentences_of_a_step is not None
        assert found.steps_of_a_task is not None
        assert (found.tokens_of_a_step.least, found.tokens_of_a_step.mean) == (0.0, 2.0)
        assert found.tokens_of_a_step.sd == pytest.approx(statistics.pstdev([3, 0, 3]))
        assert (found.sentences_of_a_step.most, found.sentences_of_a_step.least) == (2.0, 0.0)
        assert found.steps_of_a_task.mean == 1.5

    def test_letter_case_does_not_make_types(self) -> None:
        found = text_statistics([["Stir stir STIR"]], str.split)
        assert (found.types, found.type_token_ratio) == (1, pytest.approx(1 / 3))

    def test_nothing(self) -> None:
        found = text_statistics([], str.split)
        assert (found.tasks, found.type_token_ratio, found.tokens_of_a_step) == (0, None, None)


class TestPaperAndFound:
    def test_rounded_as_printed(self) -> None:
        rows = compare_published(
            [
                Published("a", 52.78, "T1", "another mean", 2),
                Published("b", 14.8, "T1", "why", 1),
                Published("c", 7, "T1"),
                Published("d", 7, "T1"),
            ],
            {"a": 53.127, "b": 14.76, "d": math.nan},
        )
        assert [(r.same, r.found, r.why) for r in rows] == [
            (False, 53.127, "another mean"),
            (True, 14.76, ""),
            (False, None, "the files do not say"),
            (False, None, "the files do not say"),
        ]

    def test_captaincook4d(self, shared_data: Path, shared_expected: Callable[[str], Any]) -> None:
        """Peddi et al. 2024: which rows agree, and what is found where they do not."""
        assert DATASET.measure is not None
        found = DATASET.measure(shared_data / "captaincook4d")
        rows = {r.quantity: r for r in compare_published(DATASET.published, found)}
        same = {q for q, r in rows.items() if r.same and "[" not in q}
        assert same == {
            "recordings", "hours", "activities", "steps_listed", "persons", "environments", "mean_video_minutes",
        }  # fmt: skip
        assert all(r.why for r in rows.values() if not r.same)
        differing = {
            q: round(r.found, 3)
            for q, r in rows.items()
            if not r.same and "[" not in q and r.found is not None
        }
        assert differing == {
            "normal_recordings": 164, "error_recordings": 220, "normal_hours": 47.437, "error_hours": 47.048,
            "timed_steps": 5413, "mean_step_seconds": 53.127, "steps_per_recording": 14.096,
        }  # fmt: skip
        expected = shared_expected("recognition")["dataset"]
        equal = 0
        for name, (steps, normal, normal_hours, wrong, hours) in expected["per_recipe"].items():
            assert found[f"steps_listed[{name}]"] == steps
            assert (found[f"normal_recordings[{name}]"], found[f"error_recordings[{name}]"]) == (
                normal,
                wrong,
            )
            assert found[f"normal_hours[{name}]"] == pytest.approx(normal_hours, abs=6e-4)
            assert found[f"error_hours[{name}]"] == pytest.approx(hours, abs=6e-4)
            paper = expected["paper_table17"][name]
            assert [rows[f"{q}[{name}]"].paper for q in QUANTITIES] == paper
            # 0.025 is what was expected, but Cucumber Raita's 2.9 + 1.36 is 0.032 away from its own 4.292
            assert abs(paper[2] + paper[4] - normal_hours - hours) < (
                0.033 if name == "Cucumber Raita" else 0.0251
            )
            near = abs(paper[2] - normal_hours) < 0.04 and abs(paper[4] - hours) < 0.04
            equal += (paper[1], paper[3]) == (normal, wrong) and near
        assert equal == 17

    def test_mistakes_of_captaincook4d(
        self, shared_data: Path, shared_expected: Callable[[str], Any]
    ) -> None:
        assert DATASET.measure is not None
        found = DATASET.measure(shared_data / "captaincook4d")
        expected = shared_expected("recognition")["dataset"]
        for tag, n in expected["error_tags_instances"].items():
            assert found[f"mistakes[{tag}]"] == n
        steps = {
            "Order Error": 794,
            "Technique Error": 498,
            "Preparation Error": 394,
            "Temperature Error": 65,
        }
        assert {t: found[f"mistaken_steps[{t}]"] for t in steps} == steps
        assert [found[f"steps_with_kinds[{n}]"] for n in (1, 2, 3, 4)] == [1442, 457, 64, 1]
        alone = {
            "Order": 388,
            "Technique": 287,
            "Preparation": 203,
            "Measurement": 170,
            "Timing": 89,
            "Temperature": 17,
        }
        assert {t: found[f"timed_steps_with_only[{t} Error]"] for t in alone} == alone
        assert found["background_share"] == pytest.approx(0.1804, abs=5e-5)
        assert found["mean_step_seconds_of_recipes"] == pytest.approx(52.61, abs=0.005)
        assert found["longest_video_minutes"] == pytest.approx(41.2, abs=0.05)
        assert (found["mistaken_steps"], found["mistaken_timed_steps"]) == (1964, 1683)

    def test_common_statistics_agree_with_those_of_the_files(self, shared_data: Path) -> None:
        found = tally(*DATASET.read(shared_data / "captaincook4d", "published").recordings).statistics()
        assert (found.recordings, found.timed_steps) == (
            384,
            5410,
        )  # patches take times or entries from 4 steps and give times to 1
        assert found.hours == pytest.approx(94.4845, abs=1e-4)
        assert found.coverage is not None
        assert 1 - found.coverage.annotated_share == pytest.approx(0.18, abs=0.002)
        assert found.attributes["person"] == 8
        assert len(found.activities) == 24


QUANTITIES = ("steps_listed", "normal_recordings", "normal_hours", "error_recordings", "error_hours")
