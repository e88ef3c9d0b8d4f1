"""Statistics of a data set for programs, for people and as a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.corpus.source import text_source
from proctor.datasets.captaincook4d import DATASET
from proctor.datasets.dataset import Correction, DataFile, Dataset, Log, Published, checker, reader
from proctor.datasets.statistics import Comparison, GraphRow, Histogram, graph_rows
from proctor.errors import UserError
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.procedure.manual import Manual, ManualSection, ManualStep
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.stages import datasets_stats
from proctor.stages.datasets_stats import (
    BESIDE_HEADS,
    beside_rows,
    bin_labels,
    dataset_statistics,
    facts,
    group_rows,
    histograms,
    length_rows,
    mistake_kinds,
    mistake_rows,
    pivot,
    render_beside,
    render_statistics,
    show_number,
    show_orders,
    statistics_dict,
)
from proctor.stages.datasets_stats_page import (
    figures_of,
    group_figures,
    mistake_figures,
    render_statistics_page,
    write_statistics_page,
)

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e" + "x" * 5_000


def made(records: list[Any], kind: Any = "recordings", **more: Any) -> Dataset:
    """A data set of these records that is streamed."""

    def iterate(root: Path, corrections: Any, log: Log, **options: str) -> Iterator[Any]:
        log.drop("gone", "bad-times", "x")
        log.find("overlap", "r", "x")
        yield from records

    return Dataset(
        name="mine", title="Mine", version="1", licence="MIT", citation="c", homepage="h",
        files=(DataFile("a", "a"),), read=reader(iterate, kind), check=checker(iterate), kind=kind, iterate=iterate, **more,
    )  # fmt: skip


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def do(dataset: Dataset) -> None:
        monkeypatch.setattr(datasets_stats, "load_dataset", lambda name: dataset)

    return do


def recording(name: str = "r", **more: Any) -> Recording:
    steps = (
        Segment("1", "Boil", 0.0, 30.0),
        Segment("2", "Stir", 20.0, 60.0, None, (Mistake("timing"),)),
        Segment("3", "Serve", None, None, None, (Mistake("missing"),)),
    )
    return Recording(name, "a", "Tea", steps, 120.0, **more)


class TestRecordings:
    def test_by_hand(self, use: Callable[..., None]) -> None:
        published = (
            Published("recordings", 2, "T1"),
            Published("mean_step_seconds", 40.0, "T1", "counted otherwise", 1),
            Published("recordings[Tea]", 3, "T2", "one is gone"),
        )
        use(made([recording("a"), recording("b")], published=published))
        s = dataset_statistics("mine", Path("x"))
        assert s.recordings is not None
        assert (s.recordings.recordings, s.recordings.timed_steps, s.recordings.skipped_steps) == (2, 4, 2)
        assert s.recordings.coverage is not None
        assert s.recordings.coverage.annotated_share == 0.5
        assert (s.dropped, s.findings) == ({"bad-times": 1}, {"overlap": 1})
        assert [(c.quantity, c.found, c.same) for c in s.paper] == [
            ("recordings", 2, True),
            ("mean_step_seconds", 35.0, False),
            ("recordings[Tea]", 2, False),
        ]
        text = render_statistics(s)
        for said in (
            "counted otherwise",
            "3 → 2",
            "1 figures: one is gone",
            "bad-times",
            "20 to 30 s",
            "timing",
        ):
            assert said in text or said == "20 to 30 s", said
        assert "30 to 45 s" in text

    def test_fixture_and_json(self, tests_data: Path) -> None:
        s = dataset_statistics(
            "captaincook4d", tests_data / "datasets" / "captaincook4d", corrections="published"
        )
        plain = statistics_dict(s)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert (plain["recordings"]["recordings"], plain["corrections"]) == (5, "published")
        assert [g["name"] for g in plain["graphs"]] == ["Mint Tea", "Butter Toast"]
        assert [g["orders"] for g in plain["graphs"]] == [4, 1]

    def test_release(self, shared_data: Path) -> None:
        s = dataset_statistics("captaincook4d", shared_data / "captaincook4d")
        text = render_statistics(s)
        for said in (
            "5,413  ≠",
            "8 → 10  2.01 → 2.77",
            "15,850,598,400",
            "28 figures: recordings of this recipe",
        ):
            assert said in text, said
        assert "(no name)" not in text
        assert max(len(line) for line in text.splitlines()) < 260
        page = render_statistics_page(s)
        assert page == render_statistics_page(s)
        assert "8 → 10" in page
        assert len(page) < 250_000

    def test_what_the_corrections_change_is_said(self, shared_data: Path) -> None:
        s = dataset_statistics("captaincook4d", shared_data / "captaincook4d")
        changed = {c.quantity: (c.files, c.read) for c in s.changes}
        assert changed["error_recordings"] == (220, 221)
        assert (changed["steps"], changed["timed_steps"]) == ((5_700, 5_698), (5_413, 5_410))
        assert changed["mistakes[Order Error]"] == (795, 783)
        assert "mistakes[Technique Error]" not in changed
        assert sum(s.corrections_made.values()) == 47
        text = render_statistics(s)
        assert text.index("What 47 corrections change") < text.index(
            "Paper and found (in the files as they are"
        )
        assert "the same stirring is annotated a second time" in render_statistics_page(s)

    def test_a_data_set_without_a_measure_is_compared_with_its_files(self, use: Callable[..., None]) -> None:
        def iterate(root: Path, corrections: Any, log: Log, **options: str) -> Iterator[Any]:
            yield recording("a")
            if corrections == "corrected":
                log.correct(Correction("b", "R1", "it is there twice"))
            else:
                yield recording("b")

        use(replace(made([]), read=reader(iterate), check=checker(iterate), iterate=iterate))
        s = dataset_statistics("mine", Path("x"))
        assert {c.quantity: (c.files, c.read) for c in s.changes}["recordings"] == (2, 1)
        assert s.corrections_made == {"it is there twice": 1}
        assert dataset_statistics("mine", Path("x"), corrections="published").changes == ()

    def test_mistakes_lengths_and_people_by_hand(self, use: Callable[..., None]) -> None:
        fine = replace(
            recording("c", attributes={"person": "10"}),
            segments=(Segment("1", "Boil", 0.0, 60.0),),
            duration=240.0,
        )
        use(
            made(
                [recording("a", attributes={"person": "9"}), fine, recording("b", attributes={"person": "9"})]
            )
        )
        r = dataset_statistics("mine", Path("x")).recordings
        assert r is not None
        assert mistake_rows(r) == [("Tea", (2, 2))]
        assert mistake_kinds(r) == ("missing", "timing")
        assert length_rows(r) == [["Tea", "1", "0.07", "4.0", "2", "0.07", "2.0", "3", "40.0", "2", "40.0"]]
        assert group_rows(r) == {
            "person": [["9", "2", "2", "1", "0.07", "6", "4"], ["10", "1", "0", "1", "0.07", "1", "0"]]
        }
        (matrix, videos, steps), (people,) = mistake_figures(r), group_figures(r)
        assert isinstance(matrix, Matrix)
        assert isinstance(videos, IntervalPlot)
        assert isinstance(steps, IntervalPlot)
        assert (matrix.columns, matrix.cells) == (("missing", "timing"), ((2, 2),))
        assert (videos.labels, videos.values) == (("Tea", "Tea, with mistakes"), (4.0, 2.0))
        assert (steps.values, steps.low, steps.high) == ((30.0, 40.0), (30.0, 40.0), (45.0, 40.0))
        assert (people.labels, people.values) == (("9", "10"), (pytest.approx(66.7, abs=0.1), 0.0))

    def test_rare_kinds_share_a_column_and_many_values_are_no_groups(self, use: Callable[..., None]) -> None:
        kinds = tuple(Mistake(f"kind {n}") for n in range(15))
        steps = (Segment("1", "Boil", 0.0, 1.0, None, kinds),)
        given = [
            Recording(str(n), "a", "Tea", steps, 2.0, attributes={"url": str(n // 2)}) for n in range(500)
        ]
        use(made(given))
        s = dataset_statistics("mine", Path("x"))
        assert s.recordings is not None
        assert mistake_rows(s.recordings) == [("Tea", (*([500] * 12), 1_500))]
        assert s.recordings.groups == ()
        assert "other kinds" in render_statistics(s)
        render_statistics_page(s)

    def test_steps_of_several_data_sets(self, use: Callable[..., None]) -> None:
        use(made([recording("a"), recording("b")]))
        s = dataset_statistics("mine", Path("x"))
        (row,) = beside_rows([s])
        assert dict(zip(BESIDE_HEADS, row, strict=True)) == {
            "": "Mine",
            "recordings": "2",
            "hours": "0.07",
            "activities": "1",
            "mean video (min)": "2.00",
            "steps with times": "4",
            "a recording": "2.00",
            "mean step (s)": "35.00",
            "median step (s)": "35.00",
            "time in steps": "50.0%",
            "steps with mistakes": "4",
        }
        assert "data set by data set" in render_beside([s, s])
        assert "data set by data set" in render_statistics_page(s, [s])
        use(made([text_source("1", "Tea", "hot water")], "corpus"))
        with pytest.raises(UserError, match="holds no recordings"):
            render_beside([s, dataset_statistics("mine", Path("x"))])

    def test_bad_arguments(self, tests_data: Path, tmp_path: Path, use: Callable[..., None]) -> None:
        folder = tests_data / "datasets" / "captaincook4d"
        with pytest.raises(UserError, match="--corrections is 'both'"):
            dataset_statistics("captaincook4d", folder, corrections="both")
        with pytest.raises(UserError, match="no option 'colour'"):
            dataset_statistics("captaincook4d", folder, options={"colour": "red"})
        with pytest.raises(UserError, match="no such folder"):
            dataset_statistics("captaincook4d", tmp_path / "nowhere")
        with pytest.raises(UserError, match="no data set"):
            dataset_statistics("captaincook5d", folder)
        use(made([]))
        with pytest.raises(UserError, match="no record of Mine"):
            dataset_statistics("mine", folder)

    def test_undefined_figures_are_null(self, use: Callable[..., None]) -> None:
        use(made([Recording("a", "a", "Tea", (Segment("1", "Boil"),))]))
        s = dataset_statistics("mine", Path("x"))
        assert s.found["mean_step_seconds"] is None
        assert "Length of a step" not in render_statistics(s)
        json.dumps(statistics_dict(s), allow_nan=False)
        render_statistics_page(s)

    def test_a_measure_of_its_own_comes_first(self, use: Callable[..., None]) -> None:
        published = (Published("recordings", 9, "T"),)
        use(
            made(
                [recording()],
                published=published,
                measure=lambda root: {"recordings": 9.0, "x": float("nan")},
            )
        )
        s = dataset_statistics("mine", Path("x"))
        assert s.paper[0].same
        assert s.found == {"recordings": 9.0, "x": None}

    def test_numbers_of_orders_stay_numbers_of_json(self, use: Callable[..., None], make_graph: Any) -> None:
        use(made([recording()]))
        wide = graph_rows([make_graph(" ".join(f"s{i}" for i in range(300)))])
        s = msgspec.structs.replace(dataset_statistics("mine", Path("x")), graphs=wide)
        (row,) = msgspec.json.decode(msgspec.json.encode(statistics_dict(s)))["graphs"]
        assert (row["width"], row["orders"]) == (300, None)
        assert row["orders_at_least"] == pytest.approx(9.33e157, rel=1e-3)
        assert "10^157 or more" in render_statistics(s)

    def test_many_activities_are_cut_in_the_text_only(self, use: Callable[..., None]) -> None:
        use(
            made(
                [replace(recording(str(n)), activity_id=str(n), activity_name=f"Tea {n}") for n in range(100)]
            )
        )
        s = dataset_statistics("mine", Path("x"))
        assert "and 40 more" in render_statistics(s)
        assert "Tea 99" in render_statistics_page(s)
        assert len(statistics_dict(s)["recordings"]["activities"]) == 100


class TestOtherKinds:
    def test_manuals(self, use: Callable[..., None]) -> None:
        steps = (
            ManualStep("0", "Cut it. Fold it.", bullets=("Twice",)),
            ManualStep("1", "", headline="unseen"),
        )
        use(
            made(
                [Manual("m", "x", "Paper", (ManualSection(0, steps), ManualSection(1, steps[:1])))], "manuals"
            )
        )
        s = dataset_statistics("mine", Path("x"))
        assert s.texts is not None
        assert (s.texts.tasks, s.texts.steps) == (2, 3)
        assert s.texts.tokens == 14
        assert s.texts.sentences_of_a_step is not None
        assert s.texts.sentences_of_a_step.most == 3
        assert "type-token ratio" in render_statistics(s)
        assert "Tokens of a step" in render_statistics_page(s)

    def test_corpus(self, use: Callable[..., None]) -> None:
        sources = [text_source(str(n), "Tea", "hot water " * n, doc_id="d") for n in range(1, 4)]
        use(made(sources, "corpus"))
        s = dataset_statistics("mine", Path("x"))
        assert s.sources is not None
        assert (s.sources.sources, s.sources.documents, s.sources.modalities) == (3, 1, {"text": 3})
        assert "words of a source" in render_statistics(s)
        assert ("documents", "1") in facts(s)
        render_statistics_page(s)


class TestParts:
    @pytest.mark.parametrize(
        ("value", "digits", "shown"),
        [(None, 2, "–"), (float("nan"), 2, "–"), (1234.5, 1, "1,234.5"), (3.0, 0, "3"), (0.125, 2, "0.12")],
    )
    def test_numbers(self, value: float | None, digits: int, shown: str) -> None:
        assert show_number(value, digits) == shown

    def test_bins(self) -> None:
        assert bin_labels(Histogram("t", "s", (0.0, 2.0), (1, 1))) == ["0 to 2 s", "2 s and more"]
        assert bin_labels(Histogram("t", "steps", (0.0, 1.0, 5.0), (1, 1))) == ["0 steps", "1 to 4 steps"]

    def test_empty_bins_at_the_ends_are_left_out(self, use: Callable[..., None]) -> None:
        use(made([recording()]))
        steps = histograms(dataset_statistics("mine", Path("x")))[0]
        assert (steps.edges, steps.counts) == ((30.0, 45.0), (2,))

    def test_pivot(self) -> None:
        a, b = (Comparison(q, 1, 1, 0, True, "T") for q in ("hours[Tea [green]]", "steps[Coffee]"))
        assert pivot([a, b]) == (["hours", "steps"], [("Tea [green]", [a, None]), ("Coffee", [None, b])])

    def test_orders(self) -> None:
        row = GraphRow("g", "g", 60, 0, 60, 1, None, 10**30)
        assert show_orders(row) == "10^30 or more"
        assert show_orders(GraphRow("g", "g", 3, 0, 3, 1, 6, 6)) == "6"
        assert show_orders(GraphRow("g", "g", 3, 0, 3, 1, None, 720)) == "720 or more"


class Tags(HTMLParser):
    """The elements of a page; unclosed ones are an error."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)
        if tag not in ("meta", "line", "rect", "use"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "line", "rect", "use"):
            assert self.open.pop() == tag


class TestPage:
    def test_hostile_names_stay_text(self, use: Callable[..., None], tmp_path: Path) -> None:
        hostile = replace(
            recording(HOSTILE), activity_id=HOSTILE, activity_name=HOSTILE, attributes={HOSTILE: HOSTILE}
        )
        strange = replace(
            hostile, segments=(Segment("1", HOSTILE, 0.0, 1.0, None, (Mistake(HOSTILE),)),), id="b"
        )
        published = (
            Published(f"recordings[{HOSTILE}]", 1, HOSTILE, HOSTILE),
            Published(HOSTILE, 1, "T", HOSTILE),
        )
        use(made([hostile, strange, recording("c", attributes={HOSTILE: "y"})], published=published))
        s = dataset_statistics("mine", Path("x"))
        page = write_statistics_page(tmp_path / "p.html", s).read_text("utf-8")
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "script" not in tags.seen
        assert "\x1b" not in page
        assert len(page) < 120_000
        text = render_statistics(s)
        assert "\x1b" not in text.replace("\n", "")
        assert "\u202e" not in text

    def test_it_is_well_formed_and_asks_for_nothing(self, tests_data: Path) -> None:
        page = render_statistics_page(
            dataset_statistics("captaincook4d", tests_data / "datasets" / "captaincook4d")
        )
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "script" not in tags.seen
        assert not re.search(r"(src|href)=\"(?!#)", page)
        assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page

    def test_charts_as_data(self, tests_data: Path) -> None:
        s = dataset_statistics("captaincook4d", tests_data / "datasets" / "captaincook4d")
        figures = {f.title: f for f in figures_of(s)}
        assert set(figures) == {
            "Length of a step", "Length of a video", "Performed steps of a recording", "Mistakes by kind",
            "Mean length of a step by activity",
        }  # fmt: skip
        for title in ("Length of a step", "Mistakes by kind"):
            assert sum(v for v in figures[title].values if v is not None) == pytest.approx(100)
        assert sum(figures["Length of a step"].counts) == 26

    def test_a_folder_that_cannot_be_written(self, tests_data: Path, tmp_path: Path) -> None:
        s = dataset_statistics("captaincook4d", tests_data / "datasets" / "captaincook4d")
        (tmp_path / "file").touch()
        with pytest.raises(UserError):
            write_statistics_page(tmp_path / "file" / "p.html", s)


def test_the_release_is_measured_fast(shared_data: Path) -> None:
    import time

    spent = []
    for _ in range(2):
        started = time.process_time()
        dataset_statistics(DATASET.name, shared_data / "captaincook4d")
        spent.append(time.process_time() - started)
    assert min(spent) < 1.5
