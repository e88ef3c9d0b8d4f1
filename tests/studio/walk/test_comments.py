"""An annotator asks, a coordinator answers from the dashboard, and the annotator sees it; and marks that fields hide."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.axe import DARK, LIGHT, look_with_axe
from tests.patience import wait_until
from tests.studio import roundwork

from proctor.verify.desk import rounds

# What the server keeps of this is tested on both databases in verify/desk; here it is the page that acts.
pytestmark = pytest.mark.parametrize("site", ["sqlite"], indirect=True, scope="module")
MARKS = "stir \u202egnp \u2066it"


def look(page: Any) -> list[str]:
    return look_with_axe(page, (LIGHT, DARK))


def test_a_question_and_its_answer(site: Any, visit: Any) -> None:
    ana, cora = site.hire(), site.hire("coordinator")
    ((pid,),) = site.deal(ana)
    page = visit.open(visit.context(site, ana), f"/w/{pid}")
    page.check(right := "#question-card input[value=right]")
    page.click("#ask summary")
    page.fill("#ask-text", "Is the lid part of it?\nOr not?")
    page.wait_for_selector("#save-chip[data-ring=server]:not(:empty)")
    page.reload()  # what was typed and chosen is still there
    wait_until(lambda: page.input_value("#ask-text").startswith("Is the lid") and page.is_checked(right))
    page.route("**/comments", lambda route: route.abort())
    page.press("#ask-text", "Control+Enter")  # sends the question, not the sheet
    page.wait_for_selector("#ask-said:has-text('Not sent')")
    assert page.input_value("#ask-text").startswith("Is the lid")
    page.unroute("**/comments")
    page.click("#ask-form button")
    page.wait_for_selector("#ask summary .badge:has-text('waiting')")
    assert page.inner_text(".comments .as-typed") == "Is the lid part of it?\nOr not?"
    assert (page.input_value("#ask-text"), page.url, site.responses(pid)) == ("", f"{site.url}/w/{pid}", [])
    problems = look(page)

    board = visit.open(visit.context(site, cora), "/dashboard")
    assert "1 question waits for an answer." in board.inner_text("main")
    board.click("text=Answer questions")
    problems += look(board)
    board.click("main li a")
    assert "Is the lid part of it?" in board.inner_text("#comments")
    problems += look(board)
    board.fill("#reply-1", "It is.")
    board.click("button:text-is('Answer')")
    board.wait_for_selector("#comments .badge:has-text('answered')")

    page.goto("/")
    problems += look(page)
    page.click("section:has-text('Answers to your questions') a")
    assert re.search(r"Coordinator, .*\s+It is\.", page.inner_text("main"))
    problems += look(page)
    page.click("text=Back to the work")
    page.wait_for_selector("#ask summary .badge:has-text('answered')")
    assert problems == []
    visit.problems.clear()  # the browser names the request that was cut off


@pytest.mark.parametrize("size", [(1700, 950), (1280, 900), (1024, 768), (390, 844)])
def test_it_stands_below_what_is_judged(site: Any, visit: Any, size: tuple[int, int]) -> None:
    ana = site.hire()
    ((pid,),) = site.deal(ana)
    page = visit.open(
        visit.context(site, ana, viewport=dict(zip(("width", "height"), size, strict=True))), f"/w/{pid}"
    )
    sheet, ask = (page.locator(name).bounding_box() for name in ("#sheet", "#ask"))
    assert ask["y"] >= sheet["y"] + sheet["height"]
    assert ask["x"] == sheet["x"]
    if size[0] == 390:
        page.click("label:has(#tab-steps)")
        assert not page.is_visible("#ask")


def test_a_field_says_which_direction_marks_it_hides(site: Any, visit: Any) -> None:
    ana = site.hire()
    ((pid,),) = site.deal(ana)
    page = visit.open(visit.context(site, ana), f"/w/{pid}")
    page.check("#question-card input[value=right]")
    own = page.locator("textarea[name=own]").first
    own.fill(MARKS)
    said = "Contains hidden direction marks: U+202E, U+2066."
    assert said in page.inner_text("#own .marks-hint")
    assert look(page) == []
    wait_until(lambda: site.draft(pid).get("own_answers") == [MARKS])
    plain = visit.context(site, ana, java_script_enabled=False).new_page()
    plain.goto(f"/w/{pid}")
    assert plain.inner_text("#own .marks-hint").strip() == said
    again = visit.open(visit.context(site, ana), f"/w/{pid}")  # another device, at load
    again.wait_for_selector("#own .marks-hint button")
    again.click("#own .marks-hint button")
    assert again.locator(".marks-hint").count() == 0
    wait_until(lambda: site.draft(pid).get("own_answers") == ["stir gnp it"])


def test_the_word_picker_of_a_task_graph_says_it_too(site: Any, visit: Any) -> None:
    ana, tasks = site.hire(), roundwork.make_tasks("graph", 1, words=MARKS)
    batch = site.do(rounds.open_batch, roundwork.begin(site.desk, "graph", tasks, name="marks"), ana)
    pid = site.desk.read(lambda c: rounds.count_batch(c, batch)).following
    page = visit.open(visit.context(site, ana), f"/w/{pid}")
    page.wait_for_selector("#words + .marks-hint:has-text('U+202E, U+2066')")
    assert page.text_content("#words") == f"Saw the board. {MARKS}"
