"""The pages in German: they fit narrow screens, and what scripts say is German too."""

from __future__ import annotations

import re
from typing import Any

from tests.studio.walk.test_pages import PAGES, address


def speak_german(demo: Any, person: Any) -> None:
    from proctor.verify.desk.people import by_id, set_settings

    now = demo.desk.read(lambda c: by_id(demo.desk, c, person.id))
    demo.do(set_settings, now, {**now.settings, "language": "de"})


def test_longer_words_fit_narrow_screens(demo: Any, visit: Any) -> None:
    problems = []
    for handle, names in PAGES.items():
        if not handle:
            continue
        person = demo.rows("people", handle=handle)[0]
        speak_german(demo, person)
        context = visit.context(demo, person, viewport={"width": 320, "height": 640})
        for name in names:
            page = visit.open(context, address(demo, handle, name))
            assert page.get_attribute("html", "lang") == "de"
            if (width := page.evaluate("document.documentElement.scrollWidth")) > 320:
                problems.append(f"{handle} {name}: {width} px")
            page.close()
    assert problems == []


def test_an_owner_sees_every_page_s_link_and_numbers_as_german_has_them(demo: Any, visit: Any) -> None:
    person = demo.rows("people", handle="farid")[0]
    speak_german(demo, person)
    page = visit.open(visit.context(demo, person), "/dashboard")
    strip = page.locator(".bar nav")
    assert strip.locator("a").last.inner_text() == "Verlauf"
    assert strip.evaluate(
        "nav => nav.scrollWidth <= nav.clientWidth"
    )  # a mouse has nothing to scroll it with
    words = page.locator("main").inner_text()
    assert "0,90" in words
    assert re.findall(r"(?<![\d,])[.,]\d\d(?!\d)|\b0\.\d+", words) == []


def test_a_phone_has_room_for_where_the_work_is_kept(demo: Any, visit: Any) -> None:
    person = demo.hire()
    speak_german(demo, person)
    pid = demo.deal(person)[0][0]
    context = visit.context(demo, person, viewport={"width": 375, "height": 720})
    page = visit.open(context, f"/w/{pid}")
    assert page.get_by_role("heading", level=1).bounding_box()["width"] > 40
    context.set_offline(True)
    page.check("#question-card input[value=wrong]")
    page.wait_for_selector("#save-chip[data-ring=device]")
    assert page.evaluate("""() => { const chip = document.getElementById("save-chip"), range = document.createRange();
        range.setStart(chip.firstChild, 0); range.setEnd(chip.firstChild, "◐ auf diesem Gerät".length);
        return range.getBoundingClientRect().right <= chip.getBoundingClientRect().right; }""")
    assert page.get_by_role("heading", level=1).count() == 1
    context.set_offline(False)


def test_no_word_of_a_button_is_broken_on_a_phone(demo: Any, visit: Any) -> None:
    edda = demo.rows("people", handle="edda")[0]
    speak_german(demo, edda)
    context = visit.context(demo, edda, viewport={"width": 360, "height": 740})
    page = visit.open(context, address(demo, "edda", "adjudicate"))
    assert page.locator(".foot").get_by_text("Einspruch", exact=True).is_visible()
    assert (
        page.evaluate("""() => { const range = document.createRange();
        const text = document.createTreeWalker(document.getElementById("submit"), NodeFilter.SHOW_TEXT).nextNode();
        const at = text.data.indexOf("Abgeben");
        range.setStart(text, at); range.setEnd(text, at + "Abgeben".length);
        return range.getClientRects().length; }""")
        == 1
    )


def test_somebody_judges_an_item_in_german(demo: Any, visit: Any, wait_for: Any) -> None:
    person = demo.hire()
    speak_german(demo, person)
    pid = demo.deal(person)[0][0]
    page = visit.open(visit.context(demo, person), f"/w/{pid}")
    page.click("#submit")
    assert "Die Frage hat noch kein Urteil" in page.inner_text("#form-error")
    page.keyboard.press("y")
    wait_for(lambda: re.search(r"● gespeichert \d\d:\d\d", page.inner_text("#save-chip")))
    page.keyboard.press("?")
    sheet = page.inner_text("dialog[open]")
    assert "Tasten" in sheet
    assert "Strg+Enter" in sheet
    page.keyboard.press("Escape")
    page.check("#question-card input[value=wrong]")
    page.click("#submit")
    page.wait_for_url(f"{demo.url}/")
    assert "Rückgängig" in page.inner_text("#toast")
    page.goto(f"{demo.url}/my")
    page.select_option("#language", "en")
    page.click("text=Einstellungen speichern")
    page.wait_for_selector("h1:text-is('My account')")
    assert page.get_attribute("html", "lang") == "en"
