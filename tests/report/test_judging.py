"""The section on judges: what it shows, what it says where nothing is known, and how it looks in a browser."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.report.exams import small_data, small_items

from proctor.exam.corrected import correct_score
from proctor.exam.estimate import Draws
from proctor.exam.judge_calibration import calibrate_judges
from proctor.exam.judge_marks import JudgeMarks, sort_marks, unite_people
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.self_preference import analyse_self_preference
from proctor.metrics.figure import Matrix, Reliability
from proctor.report.compose import compose
from proctor.report.data import Exam, Judging, ReportData, ReportOptions, Run
from proctor.report.judging import corrected_of, judging_section
from proctor.report.page import render_page
from proctor.report.parts import Cell, Fold, Led, Listing, Part, Section, Table
from proctor.report.standing import stand

QUICK = Draws(resamples=100)
EVIL = "<img src=x onerror=alert(1)>"
Mark = Callable[[random.Random, str, int], int | None]


def right(rng: random.Random, judge: str, truth: int) -> int:
    return truth


def noisy(rng: random.Random, judge: str, truth: int) -> int:
    return truth if rng.random() < (0.9 if "openai" in judge else 0.6) else rng.choice([0, 1, 2])


def judged(
    items: Sequence[Item],
    mark: Mark = noisy,
    *,
    judges: Sequence[tuple[str, str]] = (
        ("openai/j", "ternary-step"),
        ("google/j", "ternary-step"),
        ("google/j", "binary"),
    ),
    runs: Sequence[str] = ("openai/m", "google/m", "anthropic/m"),
    labels: float = 0.6,
    people: Sequence[str] = ("ana", "bo"),
) -> ReportData:
    """Runs with judgements of the first judge, and a calibration of all judges by two people."""
    rng = random.Random(1)
    truth = {(i.id, run): rng.choice([0, 1, 2]) for run in runs for i in items}
    judgements = [
        Judgement(
            item_id=item,
            predictor=run,
            judge=judge,
            score=mark(rng, judge, t),
            rationale="because",
            details={
                "template": template,
                "scale": template.split("-")[0],
                "repeat": repeat,
                "confidence": "0.7",
            },
        )
        for judge, template in judges
        for repeat in ("0", "1")
        for (item, run), t in truth.items()
    ]
    human = [
        Judgement(item_id=item, predictor=run, judge=f"human/{who}", score=t if rng.random() < 0.95 else 1)
        for (item, run), t in truth.items()
        if rng.random() < labels
        for who in people
    ]
    recordings = {i.id: i.question.cluster for i in items}
    writers = {i.id: ("openai/g", "google/g")[n % 2] for n, i in enumerate(items)}
    setups = sort_marks(judgements)
    votes = unite_people(human)
    calibration = calibrate_judges(votes, setups, recordings, draws=QUICK)
    first = [
        j for j in judgements if (j.judge, j.details["template"]) == judges[0] and j.details["repeat"] == "0"
    ]
    made = tuple(
        Run(
            run,
            run,
            predictions=tuple(
                Prediction(
                    item_id=i.id, predictor=run, answer=f"Answer to {i.id}", frame_indices=(3, 90), frame_times=(0.1, 3.0),
                    details={"model": run, "cost": f"0.00{n % 9}", "prompt": "abc"},
                )
                for n, i in enumerate(items)
            ),
            judgements=tuple(j for j in first if j.predictor == run),
        )
        for run in runs
    )  # fmt: skip
    return ReportData(
        exams=(Exam("moment", "moments", tuple(items), made),),
        judging=Judging(
            calibration,
            "abc123def456",
            {
                run: tuple(
                    correct_score(j, run, votes.votes, recordings, calibration="abc123def456", draws=QUICK)
                    for j in setups
                )
                for run in runs
            },
            analyse_self_preference(
                setups,
                recordings,
                generators=writers,
                draws=QUICK,
            ),
            judges=setups,
            people=votes.people,
            writers=writers,
        ),
    )


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    """Sixty questions about twelve recordings."""
    return small_items(60)


@pytest.fixture(scope="module")
def data(items: tuple[Item, ...]) -> ReportData:
    return judged(items)


def drawn(data: ReportData) -> str:
    return render_page(compose(data, ReportOptions(resamples=200)))


class Balanced(HTMLParser):
    """Complains about elements that are not closed in order, and keeps all ids and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [v for k, v in attrs if k == "id" and v]
        if tag not in {"meta", "input", "br", "wbr", "img", "rect", "line", "circle", "path"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"meta", "input", "br", "wbr", "img", "rect", "line", "circle", "path"}:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data


def test_the_page_shows_every_table(data: ReportData) -> None:
    page = drawn(data)
    found = Balanced(page)
    assert len(found.ids) == len(set(found.ids))
    for text in (
        "is the judge to take",
        "chosen",
        "If people had judged",
        "Marks of each run by each judge: own minus other",
        "Who answers whose questions",
        "Which rubric, for google/j",
        "Correlation with people",
        "Weighted κ of every two judges",
        "Same again",
        "abc123def456",
        "How sure the judges were",
    ):
        assert text in found.text
    assert drawn(data) == page
    assert "Not calibrated" not in page


def test_the_numbers_are_those_of_the_calibration(data: ReportData) -> None:
    assert data.judging is not None
    calibration = data.judging.calibration
    page = drawn(data)
    chosen = next(r for r in calibration.judges if r.name == calibration.choice.judge)
    assert f"{chosen.correlation.value:.2f}" in page
    run = next(run for run in data.exams[0].runs if run.name == "openai/m")
    score = corrected_of(run, data.judging)
    assert score is not None
    assert score.judge.name == "openai/j · ternary-step"
    assert score.mean.value is not None
    assert f"{score.mean.value:.1f}" in page


def parts_of(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield from parts_of(part.parts) if isinstance(part, Fold) else [part]


def judges_of(data: ReportData) -> tuple[Section, Listing]:
    """The section, and its list of answers."""
    assert data.judging is not None
    section = judging_section(data.judging, stand(data.exams[0], ReportOptions(resamples=200)).names, {})
    return section, next(p for p in section.parts if isinstance(p, Listing))


WITHOUT = {"p, Holm", "p, Holm ", "around zero"}
"""Columns whose numbers are made of others of their line."""


def test_every_number_about_judges_opens_its_answers(data: ReportData) -> None:
    section, listing = judges_of(data)
    sizes = listing.counts
    tables = [Table("facts", ("", "n"), section.facts)]
    tables += [p for p in section.parts if isinstance(p, Table)]
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.head[1:], row[1:], strict=True):
                for one in cell.parts or (cell,) if isinstance(cell, Cell) else (Cell(cell),):
                    if column in WITHOUT or not re.search("[1-9]", one.text):
                        continue
                    leads = one.find or (one.among and one.among[0] == listing.id and sizes[one.among[1]])
                    assert leads, (table.title, column, one)
                    if re.fullmatch("n|Answers|Marked by people|Not shown|Unscored", column) and one.among:
                        assert one.text.rpartition(" ")[2] == f"{sizes[one.among[1]]:,}", (
                            table.title,
                            column,
                        )
    pictures = {p.title: p for p in parts_of(section.parts) if isinstance(p, Led)}
    assert len(pictures) == 2 + 3 + 3
    for title, led in pictures.items():
        match led.figure:
            case Matrix(kind="counts", cells=cells):
                counts = [*itertools.chain(*cells), *(sum(n or 0 for n in row) for row in cells)]
            case Reliability(counts=counts):
                pass
            case _:
                assert sum(bool(cell.among) for cell in led.cells) >= 3, title
                continue
        assert [sizes[c.among[1]] if c.among else 0 for c in led.cells] == [*counts], title


def test_a_cell_of_a_confusion_matrix_opens_the_answers_with_these_marks(data: ReportData) -> None:
    section, listing = judges_of(data)
    led = next(
        p
        for p in section.parts
        if isinstance(p, Led) and isinstance(p.figure, Matrix) and p.figure.kind == "counts"
    )
    assert isinstance(led.figure, Matrix)
    judge = led.title.rpartition(": ")[2]
    column = listing.table.head.index(judge)
    names = led.figure.rows
    for place, cell in enumerate(led.cells[: len(names) ** 2]):
        if cell.among is None:
            assert led.figure.cells[place // len(names)][place % len(names)] == 0
            continue
        lines = [
            row for row, tags in zip(listing.table.rows, listing.tags, strict=True) if cell.among[1] in tags
        ]
        assert {row[column] for row in lines} == {names[place % len(names)]}
        assert {str(row[2]).split(", ")[0] for row in lines if len({*str(row[2]).split(", ")}) == 1} == {
            names[place // len(names)]
        }


def test_a_judge_without_all_marks_opens_what_it_lacks(items: tuple[Item, ...]) -> None:
    def lacking(rng: random.Random, judge: str, truth: int) -> int | None:
        return truth if "openai" in judge or rng.random() < 0.8 else None

    section, listing = judges_of(judged(items, lacking))
    table = next(p for p in section.parts if isinstance(p, Table) and p.title == "Judges against people")
    place = table.head.index("Unscored")
    found = [row[place] for row in table.rows]
    opened = [cell for cell in found if isinstance(cell, Cell) and cell.text != "0"]
    assert len(opened) == 2
    for cell in opened:
        assert cell.among is not None
        assert f"{listing.counts[cell.among[1]]:,}" == cell.text
        column = listing.table.head.index(cell.among[1].removesuffix(": no mark"))
        lines = [
            row for row, tags in zip(listing.table.rows, listing.tags, strict=True) if cell.among[1] in tags
        ]
        assert {row[column] for row in lines} == {"no mark"}


def test_numbers_open_nothing_when_judgements_changed_behind_the_calibration(data: ReportData) -> None:
    assert data.judging is not None
    first, *rest = data.judging.judges
    gone = sorted(data.judging.calibration.votes)[0]
    repeats = {name: {a: m for a, m in marks.items() if a != gone} for name, marks in first.repeats.items()}
    changed = replace(data.judging, judges=(JudgeMarks(first.setup, repeats, first.confidences), *rest))
    section, _ = judges_of(replace(data, judging=changed))
    table = next(p for p in section.parts if isinstance(p, Table) and p.title == "Judges against people")
    cells = [row[table.head.index("n")] for row in table.rows]
    assert all(isinstance(cell, Cell) and cell.among is None for cell in cells)
    assert drawn(replace(data, judging=changed))


def test_the_judge_s_score_of_a_run_opens_its_answers(data: ReportData) -> None:
    section, _ = judges_of(data)
    table = next(p for p in section.parts if isinstance(p, Table) and p.title == "If people had judged")
    labels = [
        (label.text, judged.find)
        for label, judged, *_ in table.rows
        if isinstance(label, Cell) and isinstance(judged, Cell)
    ]
    assert labels
    assert all(find == (("run", label),) for label, find in labels)


def test_a_report_without_a_calibration_has_no_such_section() -> None:
    page = drawn(small_data())
    assert 'id="judges"' not in page
    assert 'href="#judges"' not in page
    assert "Not calibrated: the judge was not compared with people" in page


@pytest.mark.parametrize(
    "mark",
    [
        right,
        lambda rng, judge, t: 0,
        lambda rng, judge, t: 2 - t,
        lambda rng, judge, t: None,
        lambda rng, judge, t: t if "openai" in judge else None,
    ],
    ids=["perfect", "constant", "inverted", "all failed", "one missing"],
)
def test_extreme_judges_make_a_page(items: tuple[Item, ...], mark: Mark) -> None:
    page = Balanced(drawn(judged(items, mark)))
    assert "judges" in page.ids
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


@pytest.mark.parametrize("count", [1, 2])
def test_one_question_one_judge_one_person(items: tuple[Item, ...], count: int) -> None:
    data = judged(items[:count], judges=[("openai/j", "ternary-step")], labels=1, people=["ana"])
    page = Balanced(drawn(data))
    assert "not identified: people marked" in page.text
    assert "there is one judge only" in page.text or "No judge can be chosen" in page.text


def test_hostile_names_are_text(items: tuple[Item, ...]) -> None:
    data = judged(items, judges=[(EVIL, EVIL), ("google/j", "t")], runs=[EVIL, "google/m"], people=[EVIL])
    page = drawn(data)
    assert EVIL not in page
    Balanced(page)


def test_many_judges_stay_readable(items: tuple[Item, ...]) -> None:
    data = judged(items, judges=[(f"p{n}/judge-with-a-long-name", "ternary-step") for n in range(12)])
    page = Balanced(drawn(data))
    assert "12. p9/judge-with-a-long-name" in page.text
