"""The sheet: what is shown when, what counts, own answers, and items given back (A1-A4)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.studio.chromium import let_it_act


def focused_card(page: Any) -> str:
    return str(page.evaluate("document.activeElement.closest('fieldset')?.id ?? document.activeElement.id"))


def test_a1_answers_appear_at_yes_and_a_no_keeps_them_unsent(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    assert not page.is_visible("#answers")
    assert not page.is_visible("#own")
    assert not page.is_visible("#reasons")
    page.check("#question-card input[value=right]")
    assert page.is_visible("#answers")
    for n in range(3):
        page.check(f"#answer-{n} input[value=right]")
    page.fill("textarea[name=own]", "written")
    page.check("#question-card input[value=wrong]")
    assert not page.is_visible("#answers")
    assert not page.is_visible("#own")
    page.check("#reasons input")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("reasons") == ["outside"])
    assert desk.draft("w1")["sheet"]["answers"] == ["right"] * 3
    assert desk.draft("w1")["sheet"]["own_answers"] == ["written"]
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    sheet = desk.rows("w1")[0]["sheet"]
    assert sheet == {
        "question": "wrong",
        "reasons": ["outside"],
        "answers": [None] * 3,
        "own_answers": [],
        "note": "",
    }


def test_reasons_ticked_above_a_no_are_not_sent_with_a_yes(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    page.check("#question-card input[value=wrong]")
    page.check("#reasons input")
    page.check("#question-card input[value=right]")
    for n in range(3):
        page.check(f"#answer-{n} input[value=wrong]")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert desk.rows("w1")[0]["sheet"]["reasons"] == []


def test_a2_a_missing_verdict_is_named_and_focused(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    page.click("#submit")
    assert "question has no verdict" in str(page.text_content("#form-error"))
    assert focused_card(page) == "question-card"
    page.check("#question-card input[value=right]")
    assert page.text_content("#form-error") == ""
    page.check("#answer-0 input[value=right]")
    page.check("#answer-2 input[value=right]")
    page.click("#submit")
    assert page.text_content("#form-error") == "Answer 2 has no verdict yet: choose Yes or No."
    assert focused_card(page) == "answer-1"
    assert page.get_attribute("#answer-1", "aria-invalid") == "true"
    page.keyboard.press("n")
    assert page.get_attribute("#answer-1", "aria-invalid") is None
    assert desk.look()["responses"] == []
    page.click("#submit")
    page.wait_for_url("**/w/w2")


def test_a3_hostile_text_is_one_row_and_stays_text(studio: Any, desk: Any, wait_for: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    page.check("#question-card input[value=right]")
    text = '"; <b>x</b><img src=x onerror=alert(1)> {{7*7}} \u202egnp'
    page.fill("textarea[name=own]", text)
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("own_answers") == [text])
    with page.expect_response(lambda response: response.url.endswith("/state")):
        page.reload()
    let_it_act(page)
    assert page.locator("textarea[name=own]").count() == 1
    assert page.input_value("textarea[name=own]") == text
    assert page.locator("main b, main img").count() == 0


def test_a4_twelve_answers_have_a_card_each_and_are_sent_in_their_order(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context(), "/w/many")
    page.check("#question-card input[value=right]")
    for n in range(12):
        page.check(f"#answer-{n} input[value={'right' if n in (1, 10) else 'wrong'}]")
    page.click("#submit")
    page.wait_for_url(desk.url + "/")
    answers = desk.rows("many")[0]["sheet"]["answers"]
    assert [n for n, value in enumerate(answers) if value == "right"] == [1, 10]
    assert len(answers) == 12


def test_a_settled_question_asks_for_answers_alone(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context(), "/w/settled")
    assert page.is_visible("#answers")
    assert not page.is_visible("#own")
    page.click("#submit")
    assert focused_card(page) == "answer-0"
    for n in range(3):
        page.check(f"#answer-{n} input[value=right]")
    page.click("#submit")
    page.wait_for_url(desk.url + "/")
    assert desk.rows("settled")[0]["sheet"]["question"] is None
    assert desk.rows("settled")[0]["sheet"]["answers"] == ["right"] * 3


def test_enter_adds_a_row_and_twins_are_noted_and_kept(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    page.check("#question-card input[value=right]")
    page.focus("textarea[name=own]")
    page.keyboard.press("Enter")  # An empty row makes no second one.
    assert page.locator(".own-row").count() == 1
    page.keyboard.type("Stir well")
    page.keyboard.press("Enter")
    page.keyboard.type("Stir  well ")
    assert "same as own answer 1" in str(page.text_content(".own-row:nth-of-type(2) .own-note"))
    page.keyboard.press("Enter")
    page.keyboard.type("Wait")
    assert "same as answer 3 above" in str(page.locator(".own-note").last.text_content())
    wait_for(lambda: len(desk.draft("w1").get("sheet", {}).get("own_answers", [])) == 3)
    labels = page.eval_on_selector_all(
        "textarea[name=own]", "all => all.map(one => one.getAttribute('aria-label'))"
    )
    assert labels == ["Own answer 1", "Own answer 2", "Own answer 3"]


def test_a_removed_row_can_be_put_back_in_its_place(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    page.check("#question-card input[value=right]")
    for text in ("one", "two", "three"):
        page.click("#own-add")
        page.keyboard.type(text)
    page.locator(".own-remove").nth(1).click()
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("own_answers") == ["one", "three"])
    page.click("#toast button:has-text('Undo')")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("own_answers") == ["one", "two", "three"])


def test_there_are_at_most_twenty_rows(studio: Any) -> None:
    page = studio.open(studio.context())
    page.check("#question-card input[value=right]")
    for n in range(22):
        page.click("#own-add")
        page.keyboard.type(f"x{n}" if n < 20 else "")
    assert page.locator(".own-row").count() == 20
    page.wait_for_selector("#toast:has-text('At most 20')")


def test_cant_judge_needs_a_reason_survives_a_fault_and_goes_on(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    page.click("#cant-open")
    page.click("#cant-send")
    assert "Choose a reason" in str(page.text_content("#cant-dialog [role=alert]"))
    page.check("#cant-dialog input[value=other]")
    page.click("#cant-send")
    assert "few words" in str(page.text_content("#cant-dialog [role=alert]"))
    page.fill("#cant-dialog textarea", "black picture")
    desk.fault("/cant", status=503, times=1)
    page.click("#cant-send")
    page.wait_for_selector("#cant-dialog [role=alert]:has-text('Not sent')")
    page.click("#cant-send")
    page.wait_for_url("**/w/w2")
    assert desk.look()["returned"] == [{"pid": "w1", "reason": "other", "note": "black picture"}]
    assert desk.look()["responses"] == []


def test_where_to_go_next_stays_on_this_site(studio: Any) -> None:
    page = studio.open(studio.context(), "/")
    given = [
        "/w/w2",
        "//evil.example/x",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "",
        "/",
    ]
    found = page.evaluate(
        "async given => { const m = await import('/static/v1/js/dom.js'); return given.map(m.safePath); }",
        given,
    )
    assert found == ["/w/w2", "/", "/", "/", "/", "/", "/"]


def test_modules_build_no_markup_from_strings_and_set_no_styles() -> None:
    modules = sorted((Path(__file__).resolve().parents[3] / "src/proctor/studio/static/js").glob("*.js"))
    assert len(modules) >= 15
    forbidden = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        ".style.",
        '"style"',
    )
    # Where a segment lies on a time line is a number, for which no class can be written down.
    places = re.compile(r'\.style\.(?:left|width|setProperty\("--rows?"|removeProperty\("--rows?")')
    found = [
        (module.name, word)
        for module in modules
        for word in forbidden
        if word in places.sub("", module.read_text(encoding="utf-8"))
    ]
    assert found == []
