"""Sheets that are forms: every type of field, conditions, keys, and the contract that they share with the verification page."""

from __future__ import annotations

from typing import Any

import pytest
from tests.studio.chromium import let_it_act

FORM = "/w/form"


@pytest.fixture
def page(studio: Any) -> Any:
    return studio.open(studio.context(), FORM)


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.closest('fieldset')?.dataset.field ?? ''"))


def test_a_form_is_filled_in_by_keys_alone(page: Any, desk: Any) -> None:
    """C8: digits, Y and N, the arrows, and Ctrl+Enter."""
    for key in ("ArrowDown", "4", "ArrowDown", "y", "ArrowDown", "2"):
        page.keyboard.press(key)
    page.keyboard.press("ArrowDown")
    page.keyboard.type("2.5")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(desk.url + "/")
    (row,) = desk.rows("form")
    assert row["sheet"] == {
        "values": {"fluency": "4", "relevant": "yes", "style": "b", "minutes": "2.5"},
        "note": "",
    }


def test_keys_go_to_the_next_field_that_they_fit(page: Any) -> None:
    page.keyboard.press("n")
    assert focused(page) == "relevant"
    page.keyboard.press("5")  # the field in focus is no scale
    assert page.locator("#card-fluency :checked").count() == 0
    page.keyboard.press("ArrowUp")
    page.keyboard.press("5")
    assert page.input_value("#card-fluency :checked") == "5"
    page.focus("#card-better textarea")
    page.keyboard.type("1yn i")  # C9
    page.keyboard.press("ArrowUp")
    assert focused(page) == "better"
    assert page.input_value("#card-fluency :checked") == "5"
    assert not page.is_visible("#guide-dialog")


def test_what_is_not_asked_is_kept_and_not_sent(page: Any, desk: Any, wait_for: Any) -> None:
    assert not page.is_visible("#card-why")
    page.check("#card-relevant [value=no]")
    page.fill("#card-why textarea", "one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    page.check("#card-relevant [value=yes]")
    assert not page.is_visible("#card-why")
    wait_for(lambda: desk.draft("form").get("sheet", {}).get("values", {}).get("relevant") == "yes")
    assert desk.draft("form")["sheet"]["values"]["why"] == ["one", "two"]
    page.check("#card-fluency [value='1']")
    page.check("#card-style [value=a]")
    page.click("#submit")
    page.wait_for_url(desk.url + "/")
    assert desk.rows("form")[0]["sheet"]["values"] == {"fluency": "1", "relevant": "yes", "style": "a"}


def test_the_first_field_that_is_missing_is_named_and_focused(page: Any, desk: Any) -> None:
    """B1 on the page."""
    page.check("#card-fluency [value='2']")
    page.check("#card-relevant [value=no]")
    page.click("#submit")
    assert page.text_content("#form-error") == "Not filled in yet: Why not"
    assert focused(page) == "why"
    assert page.get_attribute("#card-why", "aria-invalid") == "true"
    assert desk.look()["responses"] == []


def test_a_form_comes_back_whole(studio: Any, desk: Any, wait_for: Any) -> None:
    """C1 and C2 with a form: a page that is loaded again holds it all, and a double click is one row."""
    context = studio.context()
    page = studio.open(context, FORM)
    page.check("#card-fluency [value='3']")
    page.check("#card-relevant [value=no]")
    page.fill("#card-why textarea", 'a "<b>"')
    page.check("#card-style [value=b]")
    page.fill("#card-minutes input", "1e3")
    page.click(".aside-note summary")
    page.fill("textarea[name=note]", "a note")
    wait_for(lambda: desk.draft("form").get("sheet", {}).get("note") == "a note")
    page.close()
    page = studio.open(context, FORM)
    assert page.input_value("#card-why textarea") == 'a "<b>"'
    assert page.input_value("#card-minutes input") == "1e3"
    page.dblclick("#submit")
    page.wait_for_url(desk.url + "/")
    assert len(desk.rows("form")) == 1
    page.click("#toast button:has-text('Undo')")
    page.wait_for_url("**" + FORM)
    let_it_act(page)
    assert page.input_value("#card-why textarea") == 'a "<b>"'


def test_two_versions_stand_side_by_side_in_words(studio: Any, desk: Any, wait_for: Any) -> None:
    """C6 with a form: fields by their labels, values as the page has them."""
    one, two = studio.open(studio.context(), FORM), studio.open(studio.context(), FORM)
    one.check("#card-style [value=a]")
    one.check("#card-relevant [value=yes]")
    wait_for(lambda: len(desk.draft("form").get("sheet", {}).get("values", {})) == 2)
    two.check("#card-style [value=b]")
    two.wait_for_selector("#conflict-dialog[open]")
    text = str(two.text_content("#conflict-dialog"))
    assert "The first" in text
    assert "The second" in text
    two.check("[name=conflict-style][value=mine]")
    two.check("[name=conflict-relevant][value=theirs]")
    two.click("[data-conflict-use]")
    wait_for(
        lambda: desk.draft("form").get("sheet", {}).get("values", {}) == {"style": "b", "relevant": "yes"}
    )


def test_instructions_open_beside_the_form(page: Any) -> None:
    page.check("#card-style [value=a]")
    page.keyboard.press("i")
    assert page.is_visible("#guide-dialog")
    page.keyboard.press("Escape")
    assert page.is_checked("#card-style [value=a]")
    page.click("#guide-open")
    assert page.is_visible("#guide-dialog")


def test_a_field_that_the_server_refuses_is_shown(page: Any, desk: Any) -> None:
    page.check("#card-fluency [value='3']")
    page.check("#card-relevant [value=yes]")
    page.check("#card-style [value=b]")
    page.click(".aside-note summary")
    page.fill("textarea[name=note]", "REFUSE")
    page.click("#submit")
    page.wait_for_selector("#form-error:has-text('Look again.')")
    assert desk.rows("form") == []
