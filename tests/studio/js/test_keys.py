"""Keys: the whole of an item by keyboard, nothing while typing, other layouts, and choices of one's own (C8, C9)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.studio.chromium import let_it_act

PRESS = """init => document.activeElement.dispatchEvent(
    Object.assign(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...init})))"""


def checked(page: Any, card: str) -> str | None:
    return page.evaluate(f"document.querySelector('#{card} input:checked')?.value ?? null")


def test_c8_an_item_by_keyboard_alone(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    keys = page.keyboard
    keys.press("y")
    for n, verdict in (("1", "y"), ("2", "n"), ("3", "y")):
        keys.press(n)
        keys.press(verdict)
    keys.press("a")
    keys.type("yes and no, 1 a f z g t m k")
    keys.press("Control+Enter")
    page.wait_for_url("**/w/w2")
    [row] = desk.rows("w1")
    assert row["sheet"]["answers"] == ["right", "wrong", "right"]
    assert row["sheet"]["own_answers"] == ["yes and no, 1 a f z g t m k"]


def test_an_item_by_tab_and_space_alone(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())

    def tab_to(where: str) -> None:
        for _ in range(60):
            if page.evaluate("where => document.activeElement.matches(where)", where):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab never comes to {where}")

    tab_to("#question-card input[type=radio]")
    page.keyboard.press("Space")
    for n in range(3):
        tab_to(f"#answer-{n} input")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
    tab_to("#submit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/w/w2")
    assert desk.rows("w1")[0]["sheet"]["answers"] == ["wrong"] * 3


def test_c9_letters_in_text_are_text(studio: Any) -> None:
    page = studio.open(studio.context())
    page.check("#question-card input[value=right]")
    page.check("#answer-0 input[value=right]")
    for field in ("#sheet textarea[name=note]", "textarea[name=own]"):
        page.fill(field, "")
        page.focus(field)
        page.keyboard.type("ynf123azgtkjlm,.[]? ")
        assert page.input_value(field) == "ynf123azgtkjlm,.[]? "
    assert checked(page, "question-card") == "right"
    assert checked(page, "answer-0") == "right"
    assert not page.is_visible("dialog[open]")
    assert page.evaluate("document.fullscreenElement") is None


def test_y_and_n_go_to_the_answer_in_focus_else_to_the_question(studio: Any) -> None:
    page = studio.open(studio.context())
    page.keyboard.press("2")  # hidden answers cannot be reached
    page.keyboard.press("y")
    assert checked(page, "question-card") == "right"
    page.keyboard.press("2")
    page.keyboard.press("n")
    assert checked(page, "answer-1") == "wrong"
    page.keyboard.press("y")
    assert checked(page, "answer-1") == "right"
    assert checked(page, "answer-0") is None
    page.focus("#submit")
    page.keyboard.press("n")
    assert checked(page, "question-card") == "wrong"


@pytest.mark.parametrize(
    ("event", "card", "value"),
    [
        ({"key": "Y", "code": "KeyY"}, "question-card", "right"),  # Caps Lock
        ({"key": "н", "code": "KeyY"}, "question-card", "right"),  # Cyrillic: by place
        (
            {"key": "n", "code": "KeyB"},
            "question-card",
            "wrong",
        ),  # Dvorak: what is printed counts, not the place
        ({"key": "Y", "code": "KeyY", "shiftKey": True}, "question-card", None),
        ({"key": "y", "code": "KeyY", "ctrlKey": True}, "question-card", None),
        ({"key": "y", "code": "KeyY", "metaKey": True}, "question-card", None),
        ({"key": "y", "code": "KeyY", "repeat": True}, "question-card", None),
        ({"key": "y", "code": "KeyY", "isComposing": True}, "question-card", None),
    ],
    ids=["caps", "cyrillic", "dvorak", "shift", "ctrl", "meta", "repeat", "composing"],
)
def test_letters_on_other_layouts(studio: Any, event: dict[str, Any], card: str, value: str | None) -> None:
    page = studio.open(studio.context())
    page.evaluate(PRESS, event)
    assert checked(page, card) == value


@pytest.mark.parametrize(
    ("event", "card"),
    [
        ({"key": "é", "code": "Digit2"}, "answer-1"),  # AZERTY without Shift
        ({"key": "&", "code": "Digit1"}, "answer-0"),
        ({"key": "3", "code": "Digit3", "shiftKey": True}, "answer-2"),  # AZERTY with Shift
        ({"key": "2", "code": "Numpad2"}, "answer-1"),
        ({"key": "!", "code": "Digit1", "shiftKey": True}, "question-card"),  # QWERTY's "!" is no 1
    ],
    ids=["azerty-2", "azerty-1", "azerty-shift-3", "numpad", "qwerty-bang"],
)
def test_digits_by_what_they_print_and_by_place(studio: Any, event: dict[str, Any], card: str) -> None:
    page = studio.open(studio.context())
    page.keyboard.press("y")
    page.evaluate(PRESS, event)
    assert page.evaluate("document.activeElement.closest('fieldset').id") == card


def test_the_sheet_of_keys_opens_and_dialogs_swallow_keys(studio: Any) -> None:
    page = studio.open(studio.context())
    page.keyboard.press("?")
    page.wait_for_selector("#keys-dialog[open]")
    text = str(page.text_content("#keys-dialog"))
    for words in ("Submit", "Ctrl+Enter", "Alt+←", "Ten frames back", "Can't judge"):
        assert words in text
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    assert checked(page, "question-card") is None
    page.keyboard.press("f")
    page.wait_for_selector("#cant-dialog[open]")


def test_submit_on_one_key_and_back_as_delivered(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    page.click("#keys-open")
    assert (
        page.locator("[data-keys-change]").count() == 0
    )  # keys are shown, and changed when that is asked for
    page.click("[data-keys-edit]")
    page.click("[data-keys-change=submit]")
    page.keyboard.press("n")
    assert "already means" in str(page.text_content(".keys-message"))
    page.click("[data-keys-change=submit]")
    page.keyboard.press("Escape")
    assert page.is_visible("#keys-dialog[open]")
    page.click("[data-keys-change=submit]")
    page.keyboard.press("s")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(300)
    assert desk.rows("w1") == []
    with page.expect_response(lambda response: response.url.endswith("/w/w2/state")):
        page.keyboard.press("s")
    page.wait_for_url("**/w/w2")
    stored = json.loads(page.evaluate("localStorage.getItem('proctor:keys:p-ana')"))
    assert stored["map"]["submit"] == ["s"]
    let_it_act(page)
    page.click("#keys-open")
    page.click("[data-keys-edit]")
    page.click("[data-keys-reset]")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(desk.url + "/")


def test_single_keys_switched_off_stay_off_and_leave_the_others(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    page.click("#keys-open")
    page.click("[data-keys-edit]")
    page.uncheck("[data-keys-single]")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert checked(page, "question-card") is None
    with page.expect_response(lambda response: response.url.endswith("/state")):
        page.reload()
    let_it_act(page)
    page.keyboard.press("y")
    page.keyboard.press("?")
    assert checked(page, "question-card") is None
    assert not page.is_visible("#keys-dialog[open]")
    page.check("#question-card input[value=wrong]")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/w/w2")
    # Another person on the same device has keys of their own.
    page.close()
    studio.sign_in(context, "ben")
    page = studio.open(context, "/w/b1")
    page.keyboard.press("y")
    assert checked(page, "question-card") == "right"


def test_broken_stored_keys_are_the_keys_as_delivered(studio: Any) -> None:
    page = studio.open(
        studio.context(init="try { localStorage.setItem('proctor:keys:p-ana', '{\"map\": 7'); } catch {}")
    )
    page.keyboard.press("y")
    assert checked(page, "question-card") == "right"


def test_alt_arrows_graph_and_steps(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.closest('li')?.dataset.step") == "s1"
    page.keyboard.press("g")
    page.wait_for_selector("#graph-panel:fullscreen, #graph-panel.is-full")
    page.keyboard.press("g")
    page.wait_for_selector("#graph-panel:not(:fullscreen):not(.is-full)")
    with page.expect_response(lambda response: response.url.endswith("/w/w2/state")):
        page.keyboard.press("Alt+ArrowRight")
    page.wait_for_url("**/w/w2")
    let_it_act(page)
    page.keyboard.press("Alt+ArrowLeft")
    page.wait_for_url(desk.url + "/")
