"""The page in a real browser: from a file, without a request, in light, dark, on a phone, on paper, without scripts, by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.axe import DARK, LIGHT, look_with_axe
from tests.report.exams import GRAPHS, small_data, small_exam
from tests.report.pages import HOSTILE, full_page
from tests.studio.chromium import CHROMIUM

from proctor.report.compose import compose
from proctor.report.data import ReportOptions
from proctor.report.examples import example_cards
from proctor.report.moment import moment_evidence
from proctor.report.page import write_page
from proctor.report.parts import Cell, Listing, Page, Section, Table
from proctor.report.standing import stand

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.timeout(240),
]


def report() -> Page:
    options = ReportOptions(resamples=200)
    standing = stand(small_exam(), options)
    cards = tuple(example_cards(standing, moment_evidence(GRAPHS, lambda _: ()), {}, {}))
    return compose(small_data(examples=cards), options)


STATIC = Path(str(files("proctor.report"))) / "static"
PAGES = {"plain": lambda: full_page("Lemon"), "hostile": lambda: full_page(HOSTILE), "report": report}


@dataclass(frozen=True)
class Opened:
    """A page in the browser, and the file that it is."""

    page: Any
    path: Path


@pytest.fixture(params=PAGES)
def opened(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Opened]:
    written = write_page(tmp_path / "page.html", PAGES[request.param]())
    found = browser.new_page(viewport={"width": 1180, "height": 900})
    problems: list[str] = []
    asked: list[str] = []
    found.on("console", lambda m: problems.append(m.text))
    found.on("pageerror", lambda e: problems.append(str(e)))
    found.on("dialog", lambda d: problems.append(d.message))
    found.on("request", lambda r: asked.append(r.url))
    found.goto(written.as_uri())
    found.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    yield Opened(found, written)
    assert problems == []
    assert {url for url in asked if not url.startswith("data:")} == {written.as_uri()}
    found.close()


def test_the_page_never_scrolls_sideways_on_screen_or_paper(opened: Opened) -> None:
    for width in (320, 390, 768, 1180):
        opened.page.set_viewport_size({"width": width, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    # whatever is wider than the screen scrolls in a region that the keyboard reaches
    assert opened.page.evaluate("[...document.querySelectorAll('.scroll')].every(s => s.tabIndex === 0)")


def test_accessibility_has_no_fault(opened: Opened) -> None:
    assert look_with_axe(opened.page, (LIGHT, DARK)) == []


def test_every_section_can_be_read_without_scripts(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written.as_uri())
    assert page.locator("#filters").is_hidden()
    summary = page.locator(".example > summary").last
    summary.focus()
    page.keyboard.press("Enter")  # by keyboard alone
    answer = page.locator(".example").last.locator(".answers")
    assert answer.is_visible()
    assert "Answer of strong" in answer.inner_text()
    context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_an_answer_without_a_mark_leads_to_its_question(browser: Any, tmp_path: Path, scripts: bool) -> None:
    written = write_page(tmp_path / "page.html", report())
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(written.as_uri())
    if scripts:
        page.fill("#f-text", "nothing that is there")
    link = page.get_by_role("region", name="Each of them").locator("td a[href^='#item-']").last
    card = page.locator(".example", has=page.locator(str(link.get_attribute("href"))))
    assert not card.locator(".question").is_visible()
    link.click()
    card.locator(".question").wait_for()
    assert card.locator(".question").inner_text() == link.inner_text()
    context.close()


def test_examples_are_filtered_by_words_facets_runs_and_marks(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page()
    page.goto(written.as_uri())
    shown = page.locator(".example:visible")
    assert shown.count() == 12
    kind = page.locator("select[data-facet]", has_text="order")
    runs, marks = page.locator("select[data-of=run]"), page.locator("select[data-of=mark]")
    page.fill("#f-text", "in case 3?")
    assert shown.count() == 1
    page.fill("#f-text", "")
    kind.select_option(label="order")
    assert shown.count() == 4
    assert page.inner_text("#found") == "4 of 12 examples"
    kind.select_option(label="any")
    runs.first.select_option(label="weak")
    marks.first.select_option("failed")
    assert shown.count() == 2
    runs.last.select_option(label="strong")
    marks.last.select_option("partial")
    assert shown.count() == 0
    page.close()


def test_a_number_opens_its_questions_and_filters_stay_in_the_address(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page()
    page.goto(written.as_uri())
    table = page.get_by_role("region", name="Question types by run")
    table.get_by_role("row", name="order").get_by_role("link").first.click()
    assert page.inner_text("#found") == "4 of 12 examples"
    assert page.url.endswith("#find?run=strong&type=order")
    page.fill("#f-text", "case 2?")
    assert page.inner_text("#found") == "1 of 12 examples"
    page.reload()  # as whoever is sent the address sees it
    assert page.inner_text("#found") == "1 of 12 examples"
    assert page.locator(".example:visible .question").first.is_visible()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("document.getElementById('found').textContent === '12 of 12 examples'")
    page.close()


COUNTS = """() => [...document.querySelectorAll("#moment, #benchmark, #dataset, #graphs, #funnel, #verification, #method")].flatMap((section) =>
  [...section.querySelectorAll("td a.find")].filter((link) => section.id !== "moment" || /^[0-9]+$/.test(link.textContent)
    && /^(Leaderboard|All pairs|Marks given|Counted|Answers without a mark|.* beside .*)$/.test(link.closest(".scroll").getAttribute("aria-label"))).map((link) => ({
    where: link.closest(".scroll").getAttribute("aria-label") + ": " + link.closest("tr").cells[0].innerText,
    number: parseInt(link.textContent.replace(/.* (?=[0-9]+$)/, "")), column: link.closest("td").cellIndex, link })))"""
OF_ANSWERS = re.compile(
    r"^Who wrote|^Answers through|answers kept|^Composition.*@2|@[0-9]+ per cent|kept of those|agreement of two|steps per activity|^Questions and answers by type: .*@([6-9]|1[0-9])| per (question|answer)|, mean@|shortest to|weighted by|Cohen's κ|alike: answers|^Agreement of every .*@[12]$"
)


def test_every_count_opens_as_many_questions_or_lines(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(write_page(tmp_path / "page.html", report()).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    counts = page.evaluate(f"({COUNTS})().map(({{link, ...rest}}) => rest)")
    links = page.evaluate_handle(f"({COUNTS})().map((one) => one.link)")
    page.evaluate("addEventListener('hashchange', () => { window.changed = true; })")  # after the page's own
    seen: set[str] = set()
    for n, one in enumerate(counts):
        page.evaluate("([links, n]) => { window.changed = false; links[n].click(); }", [links, n])
        page.wait_for_function("window.changed")
        place = page.url.partition("#")[2].partition("?")[0]
        rows = ".example:not([hidden])" if place == "find" else f"#{place} tbody tr:not([hidden])"
        of_answers = OF_ANSWERS.search(f"{one['where']}@{one['column']}")
        assert page.locator(rows).count() == one["number"] or of_answers, one
        seen.add(one["where"].partition(":")[0])
        page.evaluate("history.replaceState(null, '', '#')")
    assert {
        "Leaderboard",
        "All pairs",
        "Marks given",
        "Counted",
        "Answers without a mark",
        "strong beside constant",
        "First words",
        "Each activity",
        "Steps of Tea",
        "Composition",
        "Key figures",
        "How the questions came about",
        "Annotators",
        "Who dropped what",
    } <= seen
    page.locator("#funnel").get_by_role("link", name="88").first.click()
    page.reload()  # as whoever is sent the address sees it
    assert page.locator("#list-funnel tbody tr:visible").count() == 88
    page.close()


def test_orders_of_tables_and_filters_share_an_address(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page()
    page.goto(written.as_uri())
    board = page.get_by_role("region", name="Leaderboard")
    names = board.locator("tbody th bdi:first-child")
    before = names.all_inner_texts()
    for _ in range(2):  # rising
        board.get_by_role("button", name="Score").click()
    rising = names.all_inner_texts()
    assert rising not in (before, [])
    order = ";moment%3A+Leaderboard=Score"
    assert page.evaluate("location.hash") == "#" + order
    page.get_by_role("link", name="Examples").click()
    page.wait_for_function("location.hash.includes('Leaderboard')")
    assert page.evaluate("location.hash") == "#examples" + order
    page.fill("#f-text", "case 2?")
    assert page.evaluate("location.hash") == "#find?text=case+2%3F" + order
    page.reload()
    assert page.inner_text("#found") == "1 of 12 examples"
    assert names.all_inner_texts() == rising
    page.locator("#funnel").get_by_role("link", name="88").first.click()
    page.wait_for_function("location.hash.includes('Leaderboard')")
    page.reload()
    assert page.locator("#list-funnel tbody tr:visible").count() == 88
    assert names.all_inner_texts() == rising
    page.goto(written.as_uri() + "#;gone%3A+Table=-Score&moment%3A+Leaderboard=-Gone")  # of another page
    page.reload()
    assert names.all_inner_texts() == before
    page.close()


def test_a_long_list_says_so_and_opens_all_of_it(browser: Any, tmp_path: Path) -> None:
    evil = Cell("<b>=1+1</b>", among=("all", "even"))
    lines = [
        ((f"line {n}", Cell(parts=(evil, Cell("q", item="q/1")))), ["even"] if n % 2 == 0 else ["odd", "late"] if n > 600 else ["odd"])
        for n in range(1_400)
    ]  # fmt: skip
    counts = Table(
        "Counts",
        ("", "n"),
        tuple((tag, Cell(n, among=("all", tag))) for tag, n in (("even", "700"), ("late", "400"))),
    )
    section = Section("s", "S", (counts, Listing.of("all", "Each line", ("Line", "Why"), lines)))
    written = write_page(tmp_path / "page.html", replace(full_page("Lemon"), sections=(section,)))
    page = browser.new_page()
    page.goto(written.as_uri())
    shown, status = page.locator("#list-all tbody tr:not([hidden])"), page.locator("#list-all [role=status]")
    assert "The first 500 of 1,400." in page.locator("#list-all").text_content()
    assert (shown.count(), status.text_content()) == (500, "The first 500 of 1,400")
    page.get_by_role("link", name="400").click()
    page.wait_for_function("document.querySelector('#list-all [role=status]').textContent === '400 of 1,400'")
    assert shown.count() == 400
    assert shown.first.inner_text().split("\t") == ["line 601", "<b>=1+1</b>, q"]
    links = [link.get_attribute("href") for link in shown.last.get_by_role("link").all()]
    assert links == ["#list-all", "#item-8"]
    shown.last.get_by_role("link").first.click()
    page.wait_for_function("location.hash.endsWith('even')")
    assert (shown.count(), status.text_content()) == (700, "700 of 1,400")
    page.reload()
    page.wait_for_function("document.querySelectorAll('#list-all tbody tr:not([hidden])').length === 700")
    page.goto(written.as_uri())
    page.locator("#list-all summary").click()
    page.get_by_role("button", name="Show all 1,400").click()
    page.wait_for_function(
        "document.querySelector('#list-all [role=status]').textContent === '1,400 of 1,400'"
    )
    assert shown.count() == 1_400
    assert page.get_by_role("button", name="Show all 1,400").count() == 0
    page.close()


def test_numbers_of_a_chart_open_their_questions_by_keyboard(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(write_page(tmp_path / "page.html", report()).as_uri())
    links = (
        page.get_by_role("region", name="Scores: moments").get_by_role("row", name="weak").get_by_role("link")
    )
    assert links.count() == 2  # the score and its interval
    links.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#find?run=weak'")
    assert page.inner_text("#found") == "10 of 12 examples"
    page.locator("select[data-of=mark]").first.select_option("not asked")
    assert page.inner_text("#found") == "2 of 12 examples"
    page.locator("select[data-of=mark]").first.select_option("no mark")
    assert page.inner_text("#found") == "6 of 12 examples"
    page.close()


def test_two_runs_stand_side_by_side_with_what_one_wins(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page()
    page.goto(f"{written.as_uri()}#find?run=strong&other=constant&than=worse")
    assert page.inner_text("#found").endswith("strong beside constant: 12 better, 0 equal, 0 worse")
    page.select_option("#f-than", "better")
    assert page.inner_text("#found").startswith("12 of 12 examples")
    rows = page.locator(".example[open] .answers tbody tr:visible th")
    assert rows.all_inner_texts() == ["strong", "constant"]
    page.close()


def test_a_picture_is_enlarged_with_and_without_scripts(browser: Any, tmp_path: Path) -> None:
    page_ = full_page("Lemon")
    written = write_page(tmp_path / "page.html", page_)
    for scripts in (True, False):
        context = browser.new_context(java_script_enabled=scripts)
        page = context.new_page()
        page.goto(written.as_uri())
        link = page.locator(".enlarge:visible").first
        link.click()
        if scripts:
            large = page.get_by_role("dialog", name="Picture, enlarged")
            assert large.locator("svg, img").first.bounding_box()["height"] > 400
            page.keyboard.press("Escape")
            assert large.is_hidden()
        else:
            assert page.url.endswith(str(link.get_attribute("href")))
            assert page.locator(".enlarge:target").bounding_box()["height"] > 400
        context.close()


def test_tables_are_sorted_copied_and_saved_as_pictures(browser: Any, tmp_path: Path) -> None:
    evil = Table(
        "Costs & more",
        ("Run", "Score"),
        (("a_1", Cell("9", "8 to 10")), ("=1+1", "10"), ("c", "−2")),
        sortable=True,
    )
    written = write_page(tmp_path / "page.html", Page("p", sections=(Section("s", "S", (evil,)),)))
    page = browser.new_page()
    page.goto(written.as_uri())
    page.get_by_role("button", name="Score").click()
    rows = page.locator("tbody th")
    assert rows.all_inner_texts() == ["=1+1", "a_1", "c"]
    page.reload()  # as whoever is sent the address sees it
    assert rows.all_inner_texts() == ["=1+1", "a_1", "c"]
    page.get_by_role("button", name="Score").click()
    assert rows.all_inner_texts() == ["c", "a_1", "=1+1"]
    page.go_back()
    page.go_forward()
    assert rows.all_inner_texts() == ["c", "a_1", "=1+1"]
    page.get_by_role("button", name="Score").click()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy as CSV: Costs & more").click()
    page.wait_for_function("window.copied")
    assert page.evaluate("copied") == "Run,Score\n'=1+1,10\na_1,9 (8 to 10)\nc,-2\n"
    page.get_by_role("button", name="Copy as LaTeX: Costs & more").click()
    page.wait_for_function("copied.includes('tabular')")
    assert "a\\_1 & 9 (8 to 10) \\\\\nc & $-$2 \\\\\n\\bottomrule" in page.evaluate("copied")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG: Costs & more").click()
    assert saved.value.suggested_filename == "Costs-more.png"
    with Image.open(saved.value.path()) as picture:
        assert picture.width > 100
        assert len(picture.convert("L").getcolors() or ()) > 10  # there is something in it
    page.close()


def test_no_word_is_broken_inside_and_paper_holds_all_columns(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(written.as_uri())
    broken = page.evaluate("""() => {
        const found = [];
        const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const node = walk.currentNode;
          if (node.parentElement.closest("svg, code, .sr")) continue;
          for (const word of node.data.matchAll(/[A-Za-z]{3,}/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (range.getClientRects().length > 1) found.push(word[0]);
          }
        }
        return found;
      }""")
    assert broken == []
    assert page.get_by_role("link", name="Examples").bounding_box()["x"] < 390  # reached without scrolling
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    graphs = page.evaluate(
        "[...document.querySelectorAll('.drawing')].filter((d) => d.clientWidth).map((d) => [d.scrollWidth, d.clientWidth])"
    )
    assert graphs != []
    assert [wide for wide, room in graphs if wide > room] == []
    page.set_viewport_size({"width": 696, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    wide = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(s => s.checkVisibility() && s.scrollWidth > s.clientWidth + 1).length"
    )
    assert wide == 0
    covered = page.evaluate("""() => [...document.querySelectorAll(".headline .axis")].filter((axis) => {
        const boxes = [...axis.querySelectorAll("text")].map((text) => text.getBoundingClientRect()).filter((box) => box.width);
        return boxes.length < 3 || boxes.some((box, n) => n && box.left < boxes[n - 1].right);
      }).length""")
    assert covered == 0
    matrix = page.get_by_role("region", name="Which runs differ significantly").locator("table")
    assert matrix.evaluate("table => getComputedStyle(table).breakInside") == "avoid"
    page.close()


def test_no_sheet_of_paper_is_half_empty(browser: Any, tmp_path: Path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    page = browser.new_page()
    page.goto(write_page(tmp_path / "page.html", report()).as_uri())
    with pdfium.PdfDocument(page.pdf(format="A4")) as document:
        sheets = [sheet.render(scale=0.5).to_pil().convert("L") for sheet in document]
    ends = [sheet.point(lambda grey: 255 * (grey < 235)).getbbox()[3] / sheet.height for sheet in sheets]
    assert len(ends) > 3
    assert min(ends[:-1]) > 0.5, ends
    page.close()


def test_the_moment_s_frame_leaves_no_line_on_the_sheet_before_its_own(browser: Any) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    style = "".join((STATIC / f"{name}.css").read_text() for name in ("base", "page"))
    frame = '<figure class="frame moment"><a class="enlarge"><svg viewBox="0 0 16 9"></svg></a></figure>'
    page = browser.new_page()
    page.set_content(f'<style>{style}</style><hr style="border: 0"><div class="frames">{frame}</div>')
    inked = []
    for mm in range(190, 270, 4):
        page.evaluate("mm => { document.querySelector('hr').style.height = `${mm}mm`; }", mm)
        with pdfium.PdfDocument(page.pdf(format="A4")) as document:
            sheets = [sheet.render().to_pil().convert("L") for sheet in document]
        inked.append([sheet.point(lambda grey: 255 * (grey < 235)).getbbox() is not None for sheet in sheets])
    assert [True] in inked  # it fits on the first
    assert [False, True] in inked
    assert [True, True] not in inked
    page.close()


def test_tables_of_an_example_are_copied_and_hidden_lines_are_not(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(write_page(tmp_path / "page.html", report()).as_uri())
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    assert page.get_by_role("button", name="Copy as CSV: Answers to question").count() == 1  # of the open one
    page.locator(".example > summary").nth(1).click()
    page.get_by_role("button", name="Copy as CSV: Answers to question 2").click()
    page.wait_for_function("window.copied")
    assert page.evaluate("copied").startswith("Run,Answer,Mark\n")
    page.get_by_role("button", name=re.compile("LaTeX: Table Where each")).first.click()
    page.wait_for_function("copied.includes('tabular')")
    page.goto(page.url.partition("#")[0] + "#list-asked?oracle%3A%20wrong")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy as CSV: Each question that was proposed").click()
    page.wait_for_function("window.copied")
    assert page.evaluate("copied").count("\n") == 2  # its head, and the one line that is shown
    page.close()
