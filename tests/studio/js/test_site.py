"""What every page does: theme, confirmations, filters, dialogs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.patience import wait_until


@pytest.fixture
def page(studio: Any) -> Any:
    return studio.open(studio.context(), "/")


def test_a_theme_chosen_here_holds_on_the_next_page_before_it_is_painted(page: Any, desk: Any) -> None:
    page.click("[data-theme-set=dark]")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.get_attribute("[data-theme-set=dark]", "aria-pressed") == "true"
    page.add_init_script("""document.addEventListener('DOMContentLoaded', () => {}); new MutationObserver(() => {
        if (document.body) window.themeAtBody ??= document.documentElement.dataset.theme; }).observe(document, {childList: true, subtree: true});""")
    page.reload()
    assert page.evaluate("window.themeAtBody") == "dark"
    page.click("[data-theme-set=system]")
    page.reload()
    assert page.get_attribute("html", "data-theme") is None


def test_a_form_that_asks_is_sent_only_after_yes(page: Any, desk: Any) -> None:
    page.click("#remove")
    page.wait_for_selector("dialog[open]:has-text('Really remove it?')")
    page.click("[data-confirm-no]")
    assert desk.log("/echo") == []
    page.click("#remove")
    page.keyboard.press("Enter")  # The safe choice has the focus.
    assert desk.log("/echo") == []
    page.click("#remove")
    with page.expect_request("**/echo") as request:
        page.click("[data-confirm-yes]")
    assert request.value.post_data == "a=1&b=2"


def test_a_filter_shows_rows_that_hold_every_word(page: Any) -> None:
    assert page.text_content("[data-filter-count]") == "3"
    page.fill("[data-filter]", "TWO alpha")
    assert page.locator("#rows tr:visible").all_text_contents() == ["alpha two"]
    assert page.text_content("[data-filter-count]") == "1 of 3"
    page.fill("[data-filter]", "<b>")
    assert page.locator("#rows tr:visible").count() == 0
    page.fill("[data-filter]", "")
    assert page.locator("#rows tr:visible").count() == 3


def test_dialogs_open_and_close_by_their_buttons(page: Any) -> None:
    page.click("[data-opens]")
    assert page.is_visible("#a-dialog")
    page.click("#a-dialog [data-close]")
    assert not page.is_visible("#a-dialog")


def test_pages_without_anybody_signed_in_ask_the_server_nothing(studio: Any, desk: Any) -> None:
    context = studio.context()
    context.clear_cookies()
    page = studio.open(context, "/signin")
    page.wait_for_timeout(500)
    assert [entry["path"] for entry in desk.look()["log"] if entry["method"] != "GET"] == []
    page.keyboard.press("?")
    assert page.is_visible("#keys-dialog[open]")


def test_a_clip_that_is_only_shown_appears_once_it_is_cut(page: Any, desk: Any) -> None:
    desk.fault("/clip.mp4", status=503, headers={"Retry-After": "1"})
    page.evaluate("""async () => {
        document.body.innerHTML = '<p class="clip-making">It is being cut.</p><video hidden data-src="/w/w1/clip.mp4"></video>';
        (await import('/static/v1/js/cutting.js')).awaitClips(); }""")
    wait_until(lambda: len(desk.log("/clip.mp4")) > 1, what="another look")
    assert page.is_visible(".clip-making")
    desk.set(faults=[])
    page.wait_for_selector("video[src]:not([hidden])")
    assert not page.is_visible(".clip-making")
