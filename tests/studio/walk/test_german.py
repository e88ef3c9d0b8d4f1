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
