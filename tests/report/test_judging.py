"""The section on judges: what it shows, what it says where nothing is known, and how it looks in a browser."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.moments import with_example
from tests.studio.chromium import CHROMIUM

from proctor.exam.corrected import correct_score
from proctor.exam.estimate import Draws
from proctor.exam.judge_calibration import calibrate_judges
from proctor.exam.judge_marks import sort_marks, unite_people
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.self_preference import analyse_self_preference
from proctor.report.data import Judging, ReportData, ReportOptions, Run
from proctor.report.examples import describe_examples, show_frames
from proctor.report.judging import describe_judging
from proctor.report.page import render_report, write_report
from proctor.report.standings import compute_standings

QUICK = Draws(resamples=100)
EVIL = "<img src=x onerror=alert(1)>"
Mark = Callable[[random.Random, str, int], int | None]


def right(rng: random.Random, judge: str, truth: int) -> int:
    return truth


def noisy(rng: random.Random, judge: str, truth: int) -> int:
    return truth if rng.random() < (0.9 if "openai" in judge else 0.6) else rng.choice([0, 1, 2])


def judged(
    data: ReportData,
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
    return replace(
        data,
        items=tuple(items),
        candidates=(),
        verdicts=(),
        funnel=(),
        runs=made,
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
                generators={i.id: ("openai/g", "google/g")[n % 2] for n, i in enumerate(items)},
                draws=QUICK,
            ),
        ),
    )


@pytest.fixture(scope="module")
def items(item_factory: Callable[..., Item]) -> tuple[Item, ...]:
    """Sixty questions about twelve recordings."""
    found = []
    for n in range(60):
        item = item_factory(n, ("next", "missing", "order")[n % 3])
        found.append(with_example(item, recording_id=f"r{n % 12}"))
    return tuple(found)


@pytest.fixture(scope="module")
def data(small: ReportData, items: tuple[Item, ...]) -> ReportData:
    return judged(small, items)


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
        if tag not in {"meta", "input", "br", "img", "rect", "line", "circle", "path"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"meta", "input", "br", "img", "rect", "line", "circle", "path"}:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data


def test_the_page_shows_every_table(data: ReportData, quick: ReportOptions) -> None:
    page = render_report(data, options=quick)
    found = Balanced(page)
    assert len(found.ids) == len(set(found.ids))
    assert {
        "judges",
        "h-judge-table",
        "h-judge-plot",
        "h-judge-heat",
        "h-corrected",
        "h-prefer-judge",
        "h-prefer-generator",
    } <= set(found.ids)
    for text in (
        "is the judge to take",
        "chosen",
        "If people had judged",
        "Own minus other",
        "Same again",
        "abc123def456",
        "How sure the judges were",
    ):
        assert text in found.text
    assert render_report(data, options=quick) == page
    assert "Not calibrated" not in page


def test_equal_numbers_stand_in_page_and_data(data: ReportData, quick: ReportOptions) -> None:
    view = describe_judging(data)
    assert view is not None
    page = render_report(data, options=quick)
    chosen = next(line for line in view.lines if line.chosen)
    assert f"{chosen.report.correlation.value:.2f}" in page
    score = view.by_run["openai/m"]
    assert score.judge.name == "openai/j · ternary-step"
    assert score.mean.value is not None
    assert f"{score.mean.value:.1f}" in page


def test_a_report_without_a_calibration_has_no_such_section(small: ReportData, quick: ReportOptions) -> None:
    assert describe_judging(small) is None
    page = render_report(small, options=quick)
    assert 'id="judges"' not in page
    assert 'href="#judges"' not in page
    assert "Not calibrated: nobody held the judge against people" in page
    assert "--p8" not in page, "styles of pictures come only with pictures"


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
def test_extreme_judges_make_a_page(
    small: ReportData, items: tuple[Item, ...], quick: ReportOptions, mark: Mark
) -> None:
    page = Balanced(render_report(judged(small, items, mark), options=quick))
    assert "judges" in page.ids
    assert not re.search(r"\b(nan|None|inf)\b", page.text)


@pytest.mark.parametrize("count", [1, 2])
def test_one_question_one_judge_one_person(
    small: ReportData, items: tuple[Item, ...], quick: ReportOptions, count: int
) -> None:
    data = judged(small, items[:count], judges=[("openai/j", "ternary-step")], labels=1, people=["ana"])
    page = Balanced(render_report(data, options=quick))
    assert "not identified: people marked" in page.text
    assert "there is one judge only" in page.text or "No judge can be chosen" in page.text


def test_hostile_names_are_text(small: ReportData, items: tuple[Item, ...], quick: ReportOptions) -> None:
    data = judged(
        small, items, judges=[(EVIL, EVIL), ("google/j", "t")], runs=[EVIL, "google/m"], people=[EVIL]
    )
    page = render_report(data, options=quick)
    assert EVIL not in page
    Balanced(page)


def test_many_judges_stay_readable(small: ReportData, items: tuple[Item, ...], quick: ReportOptions) -> None:
    data = judged(small, items, judges=[(f"p{n}/judge-with-a-long-name", "ternary-step") for n in range(12)])
    page = Balanced(render_report(data, options=quick))
    assert "12. p9/judge-with-a-long-name" in page.text


# -- drill-down ------------------------------------------------------------------------------------------------


def test_every_answer_says_which_frames_it_saw_and_what_it_cost(
    data: ReportData, quick: ReportOptions
) -> None:
    island = describe_examples(data, compute_standings(data, quick), quick)
    answer = island["items"][4]["P"][0]
    assert answer[6:8] == [2, 1]
    assert island["items"][4]["F"][0][0] == "#3 0:00.1, #90 0:03.0"
    number, cost = answer[9]
    assert (island["keys"][number], cost) == ("cost", "0.004")
    run = island["runs"][0][0]
    assert island["calls"][0][0] == [["model", run], ["prompt", "abc"]]
    assert ["template", "ternary-step"] in island["calls"][0][1]


def test_many_frames_are_cut_in_the_middle() -> None:
    many = Prediction(
        item_id="i",
        predictor="p",
        answer="a",
        frame_indices=tuple(range(250)),
        frame_times=tuple(n / 2 for n in range(250)),
    )
    text = show_frames(many)
    assert text.startswith("#0 0:00.0, #1 0:00.5,")
    assert "… 190 more …" in text
    assert text.endswith("#249 2:04.5")
    assert show_frames(Prediction(item_id="i", predictor="p", answer="a", frame_times=(1.25,))) == "0:01.2"
    assert show_frames(Prediction(item_id="i", predictor="p", answer="a", frame_indices=(7,))) == "#7"
    assert show_frames(Prediction(item_id="i", predictor="p", failure="no")) == ""


# -- in a browser ----------------------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}],
    ids=["light", "dark", "narrow"],
)
def test_it_works_in_a_browser(
    data: ReportData, browser: Any, tmp_path: Path, options: dict[str, Any]
) -> None:
    path = write_report(tmp_path / "report.html", data, ReportOptions(drawing="none", resamples=200))
    page = browser.new_page(**options)
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri() + "#judges")
    page.wait_for_selector("#item h3")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    # every column of every wide table can be reached, and no cell lies upon another
    for table in page.query_selector_all("#judges table"):
        box = table.evaluate("t => [t.closest('.scroll') !== null, t.scrollWidth <= t.clientWidth + 1]")
        assert any(box)
    call = page.locator(".answers details.call", has_text="Frames and call").first
    call.locator("summary").click()
    shown = call.inner_text()
    assert "#3 0:00.1, #90 0:03.0" in shown
    assert re.search(r"Judging\s.*template\s+ternary-step", shown, re.DOTALL)
    assert problems == []
    page.close()
