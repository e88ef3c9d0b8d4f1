"""One example down to frames, captions and judges in a real browser; pages of one, two and forty runs; a rehearsal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.studio.chromium import CHROMIUM

from proctor.exam.prediction import Judgement
from proctor.exam.question import Item
from proctor.report.data import About, Frame, ReportData, ReportOptions, Run
from proctor.report.page import render_report, write_report

EVIL = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\u202e"
QUICK = ReportOptions(drawing="none", resamples=100)

in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


def model_run(run: Run, **details: str) -> Run:
    given = {
        "model": "google/gemini-1.5-pro",
        "template": "predict@1",
        "template_hash": "0891d3e6",
        **details,
    }
    predictions = tuple(
        msgspec.structs.replace(
            p, details={**given, "tokens_in": "1676", "cost": f"0.00{n}", "request": f"r{n}"}
        )
        for n, p in enumerate(run.predictions)
    )
    return replace(run, predictions=predictions)


@pytest.fixture(scope="module")
def rich(small: ReportData, run_factory: Callable[..., Run]) -> ReportData:
    """The small report with a model behind two runs, further judges, captions and pictures."""
    weak, strong, *rest = small.runs
    ten = model_run(
        replace(strong, name="google-gemini-1.5-pro-frames-10f-144p-published"),
        view="frames",
        frames="10",
        resolution="144p",
        sampling="published",
    )
    told = model_run(
        replace(weak, name="google-gemini-1.5-pro-captions-6f-144p-published"),
        view="captions",
        frames="6",
        resolution="144p",
        sampling="published",
        captioner="o/c",
    )
    second = tuple(
        Judgement(
            item_id=j.item_id,
            predictor=j.predictor,
            judge="openai/gpt-4o (ternary-step a2855486)",
            score=1,
            rationale=f"second opinion on {j.item_id}",
            details={"template": "judge-ternary-step@1", "scale": "ternary"},
        )
        for j in ten.judgements
    )
    own = tuple(
        msgspec.structs.replace(
            j,
            judge="google/gemini-1.5-pro (ternary-step a2855486)",
            details={"template": "judge-ternary-step@1", "scale": "ternary"},
        )
        for j in ten.judgements
    )
    other = tuple(
        msgspec.structs.replace(
            j,
            judge="openai/gpt-4o (binary d83900c8)",
            score=0,
            rationale="not shown",
            details={"template": "judge-binary@1", "scale": "binary"},
        )
        for j in second
    )
    jpeg = b"\xff\xd8\xff\xe0" + b"x" * 50
    return replace(
        small,
        runs=(replace(ten, judgements=own), told, *rest),
        frames={"i0": (Frame(1.0, jpeg), Frame(40.0, jpeg))},
        opinions={ten.name: (*second, *other)},
        captions={told.name: {"i0": ("1 at 1.00 s: A kettle.", "2 at 2.00 s: A mug.")}},
        about=About(name="Small", rehearsal="Models were played."),
    )


# -- without a browser --------------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """Elements in order, and the text that can be seen."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if not self._script:
            self.text += data


def test_a_rehearsal_says_so_before_anything_else(rich: ReportData) -> None:
    page = render_report(rich, options=QUICK)
    seen = Seen(page)
    assert "<title>Rehearsal: Small</title>" in page
    assert seen.text.index("A rehearsal: no model and no person has said anything here.") < seen.text.index(
        "12 questions about"
    )
    assert "Models were played." in seen.text
    real = render_report(replace(rich, about=About(name="Small")), options=QUICK)
    assert "ehearsal" not in Seen(real).text


def test_captions_that_were_not_found_are_told(rich: ReportData) -> None:
    assert "descriptions of frames of" not in Seen(render_report(rich, options=QUICK)).text
    seen = Seen(render_report(replace(rich, captions={}, missing_captions=1234), options=QUICK))
    assert "The descriptions of frames of 1,234 answers are not shown" in seen.text


def test_full_names_of_runs_are_tooltips_and_stand_in_the_details(rich: ReportData) -> None:
    page = render_report(rich, options=QUICK)
    board = page[page.index('class="board"') : page.index('id="h-types"')]
    assert 'title="google-gemini-1.5-pro-frames-10f-144p-published"' in board
    assert ">google-gemini-1.5-pro-frames-10f-144p-published<" not in board
    assert ">google/gemini-1.5-pro<" in board
    assert ">10 frames · 144p<" in board


def runs_of(count: int, items: tuple[Item, ...], run_factory: Callable[..., Run]) -> tuple[Run, ...]:
    """Runs of a few models with different views, all with long names."""
    found = []
    for n in range(count):
        model, frames = f"provider/some-model-with-a-long-name-{n % 4}", str(1 + n)
        run = run_factory(
            f"provider-some-model-with-a-long-name-{n % 4}-frames-{frames}f-288p", items, "210"[n % 3 :] + "1"
        )
        details = {
            "model": model,
            "view": "frames",
            "frames": frames,
            "resolution": "288p",
            "cost": f"0.{n + 1:04d}",
        }
        found.append(
            replace(
                run, predictions=tuple(msgspec.structs.replace(p, details=details) for p in run.predictions)
            )
        )
    return tuple(found)


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_any_number_of_runs(small: ReportData, run_factory: Callable[..., Run], count: int) -> None:
    data = replace(small, runs=runs_of(count, small.items, run_factory))
    page = render_report(data, options=ReportOptions(drawing="none", resamples=50))
    assert not re.search(r"\b(nan|None|inf|Undefined)\b", Seen(page).text)
    assert page.count("<tr") == page.count("</tr>")
    assert len(page) < 2_500_000
    if count == 40:
        assert "All pairs with intervals" in page
        assert 'class="matrix tight"' in page


def test_no_judge_no_marks_no_costs(small: ReportData) -> None:
    """Answers alone, as they are before anybody has judged them."""
    runs = tuple(replace(run, judgements=()) for run in small.runs)
    seen = Seen(render_report(replace(small, runs=runs), options=QUICK))
    assert "No run has been scored yet." in seen.text
    assert "not_judged" in seen.text
    assert "What it cost" not in seen.text
    assert not re.search(r"\b(nan|None|inf)\b", seen.text)


@pytest.mark.parametrize(
    "text", [EVIL, "x" * 10_000, "\n" * 50 + "مرحبا", "- 1 at 2 s: <b>&amp;</b>"], ids=range(4)
)
def test_hostile_answers_rationales_captions_and_names_are_text(rich: ReportData, text: str) -> None:
    first, second, *rest = rich.runs
    runs = (
        replace(
            first,
            predictions=tuple(
                msgspec.structs.replace(p, answer=text, details={**p.details, "model": text, "shrunk": text})
                for p in first.predictions
            ),
            judgements=tuple(msgspec.structs.replace(j, rationale=text) for j in first.judgements),
        ),
        second,
        *rest,
    )
    opinions = {
        first.name: tuple(msgspec.structs.replace(j, rationale=text) for j in rich.opinions[first.name])
    }
    captions = {second.name: {"i0": (text,)}}
    plain = Seen(render_report(rich, options=QUICK))
    data = replace(
        rich, runs=runs, opinions=opinions, captions=captions, about=About(name=text, rehearsal=text)
    )
    page = render_report(data, options=QUICK)
    found = Seen(page)
    assert {t: found.tags.count(t) for t in ("script", "img", "iframe", "b")} == {
        t: plain.tags.count(t) for t in ("script", "img", "iframe", "b")
    }
    assert "\u202e" not in page


# -- in a browser -------------------------------------------------------------------------------------------------


class Opened:
    """A page of a report, with what it complained about."""

    def __init__(self, browser: Any, path: Path, width: int = 1280) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.problems: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#item h3")

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning") and "image" not in message.text.lower():
            self.problems.append(message.text)


@pytest.fixture(scope="module")
def path(rich: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("rich") / "report.html", rich, QUICK)


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    found = Opened(browser, path)
    yield found
    assert found.problems == []
    found.page.close()


class TestExample:
    pytestmark = in_browser

    def test_every_judge_with_its_reason(self, opened: Opened) -> None:
        row = opened.page.locator("#item .answers tr", has_text="10 frames · 144p").first
        row.locator("summary", has_text="Other judges").click()
        said = row.locator(".opinions").inner_text()
        assert "openai/gpt-4o ternary-step: 1 partial — second opinion on i0" in said
        assert "openai/gpt-4o binary: wrong" in said
        assert "not shown" not in said, "reasons of other rubrics would be most of the page"

    def test_prompt_tokens_and_cost(self, opened: Opened) -> None:
        row = opened.page.locator("#item .answers tr", has_text="10 frames · 144p").first
        row.locator("summary", has_text="Frames and call").click()
        said = " ".join(row.locator("details[open]").inner_text().split())
        for part in (
            "template_hash 0891d3e6", "tokens_in 1676", "cost 0.000", "request r0",
            "run google-gemini-1.5-pro-frames-10f-144p-published", "0:01.0, 0:02.0",
        ):  # fmt: skip
            assert part in said

    def test_captions_and_what_was_really_seen(self, opened: Opened) -> None:
        page = opened.page
        row = page.locator("#item .answers tr", has_text="captions").first
        row.locator("summary", has_text="What the frames were said to show").click()
        assert "2 at 2.00 s: A mug." in row.locator(".captions").inner_text()
        captions = [f.inner_text() for f in page.locator("#item .frames figcaption").all()]
        assert captions == ["0:01 · seen by 4 runs", "0:40 · the moment asked about · seen by no run"]
        assert page.locator("#item .looked .look").count() == 2
        assert page.locator("#item .looked .step.bad").count() == 1

    def test_filters_by_right_and_wrong_and_against_another_run(self, opened: Opened) -> None:
        page = opened.page
        labels = page.eval_on_selector_all("#f-run option", "all => all.map(o => o.textContent)")
        assert "2. google/gemini-1.5-pro, 10 frames · 144p" in labels
        strong, weak = "1", "2"

        def count() -> int:
            return int(re.findall(r"(\d+) that match|of (\d+)$", page.inner_text("#position"))[0][0] or 12)

        page.select_option("#f-run", strong)
        page.select_option("#f-mark", "less")
        assert count() == 3
        page.select_option("#f-mark", "marked")
        assert count() == 12
        page.select_option("#f-other", weak)
        page.select_option("#f-mark", "worse")
        assert page.inner_text("#position").startswith("No example matches")
        page.select_option("#f-mark", "better")
        better = count()
        page.select_option("#f-mark", "unlike")
        assert count() == better > 0
        page.click("#f-clear")
        assert page.inner_text("#position") == "1 of 12"

    def test_the_chosen_runs_come_first(self, opened: Opened) -> None:
        page = opened.page
        page.select_option("#f-run", "3")
        page.select_option("#f-other", "2")
        heads = page.eval_on_selector_all("#item .answers .chosen th", "all => all.map(t => t.title)")
        assert heads == ["constant", "google-gemini-1.5-pro-captions-6f-144p-published"]

    def test_a_failed_answer_leads_to_its_question(self, opened: Opened) -> None:
        page = opened.page
        page.locator(".failures a", has_text="in case 2?").first.click()
        page.locator("#item h3", has_text="in case 2?").wait_for()
        assert page.evaluate("document.querySelector('#examples').getBoundingClientRect().top < innerHeight")

    def test_a_printed_rehearsal_says_so_on_every_page(self, opened: Opened) -> None:
        page = opened.page
        assert not page.is_visible(".print-mark")
        page.emulate_media(media="print")
        assert page.is_visible(".print-mark")
        assert page.is_visible("#rehearsal")


@pytest.fixture(scope="module")
def many(
    small: ReportData, run_factory: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    data = replace(small, runs=runs_of(40, small.items, run_factory))
    options = ReportOptions(drawing="none", resamples=50)
    return write_report(tmp_path_factory.mktemp("many") / "report.html", data, options)


class TestManyRuns:
    pytestmark = in_browser

    @pytest.mark.parametrize("width", [390, 1300])
    def test_the_page_is_not_wider_than_the_screen_and_wide_tables_say_that_they_scroll(
        self, browser: Any, many: Path, width: int
    ) -> None:
        opened = Opened(browser, many, width)
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        silent = page.eval_on_selector_all(
            ".scroll",
            """all => all.filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 2
                 && !(e.previousElementSibling || {classList: {contains: () => false}}).classList.contains('hint'))
                 .map(e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))""",
        )
        assert silent == []
        assert page.locator(".hint").count() > 0
        assert opened.problems == []
        page.close()

    def test_a_folded_table_says_it_when_it_is_opened(self, browser: Any, many: Path) -> None:
        opened = Opened(browser, many, 390)
        page = opened.page
        page.locator("summary", has_text="All pairs with intervals").click()
        page.locator("details.long[open] .hint").wait_for()
        page.close()
