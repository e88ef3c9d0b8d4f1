"""A study in a real browser: people of a platform rate by a form, and a reviewer looks at what they did (B1-B4, B6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import look_with_axe
from tests.patience import wait_until
from tests.studio.walk.conftest import Site
from tests.study import open_study

from proctor.verify.desk import rounds

HIDDEN = (
    "mmqa",
    "generated",
    "secret",
    "TextQ",
    "Compose",
    "attention-",
    "look-",
    '"real"',
    '"test"',
    "stratum",
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: Any) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("study")
    more = {"workers": True, "redirect": "https://platform.example/done?cc={code}", "batch": 4}
    found = Site(open_study(folder, each=3, tests=1, **more))
    yield found
    found.close()


def come(study: Site, visit: Any, name: str, session: str = "s1") -> tuple[Any, Any]:
    """Somebody comes by the platform's link and takes part; their context and the page after the quiz."""
    (row,) = study.rows("rounds")
    context = visit.context(study)
    page = visit.open(context, f"/r/{row.pid}?PROLIFIC_PID={name}&STUDY_ID=st&SESSION_ID={session}")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Take part").click()
    return context, page


def begin(study: Site, visit: Any, name: str) -> tuple[Any, Any]:
    context, page = come(study, visit, name)
    page.get_by_role("group", name="Does what you know").get_by_text("No", exact=True).click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/w/*")
    return context, page


def rate(page: Any, fluency: str = "4", say: str = "Yes") -> None:
    page.get_by_role("group", name="How fluent").get_by_text(fluency, exact=True).first.click()
    for label in ("Does the question keep", "Are all sources", "Can it be answered", "Is the answer"):
        page.get_by_role("group", name=label).get_by_text(say, exact=True).first.click()


def submit(page: Any) -> None:
    """Send the page and wait for what is next."""
    here = page.url
    page.locator("#sheet [type=submit]:visible").first.click()
    page.wait_for_url(lambda url: url != here)


def shown(page: Any) -> tuple[str, str]:
    return page.title(), page.locator("#sheet section.card").inner_text()


def test_b1_five_metrics_are_required(study: Site, visit: Any) -> None:
    _, page = begin(study, visit, "b1")
    here = page.url
    page.get_by_role("group", name="How fluent").get_by_text("3", exact=True).first.click()
    page.locator("#sheet [type=submit]:visible").first.click()
    page.locator("#card-style.missing, #card-style[aria-invalid=true]").wait_for()
    assert page.url == here
    assert page.locator("fieldset.card[data-field]").count() == 5
    rate(page)
    submit(page)
    assert study.responses(here.rpartition("/")[2])


def test_b2_nothing_says_where_a_sample_comes_from_or_what_it_is_for(study: Site, visit: Any) -> None:
    context, page = begin(study, visit, "b2")
    for _ in range(20):
        if "/w/" not in page.url:
            break
        for address in (page.url, f"{page.url}/state"):
            body = context.request.get(address)
            text = body.text() + " ".join(f"{k}: {v}" for k, v in body.headers.items())
            assert not [word for word in HIDDEN if word in text], address
        rate(page)
        submit(page)
    assert "/r/" in page.url


def test_b3_a_reload_keeps_position_and_order(study: Site, visit: Any) -> None:
    _, page = begin(study, visit, "b3")
    rate(page)
    submit(page)
    before = shown(page)
    page.get_by_role("group", name="How fluent").get_by_text("2", exact=True).first.click()
    wait_until(
        lambda: study.draft(page.url.rpartition("/")[2]).get("values") == {"fluency": "2"}, what="the draft"
    )
    page.reload()
    assert shown(page) == before
    wait_until(page.locator("input[name=field-fluency][value='2']").is_checked, what="the draft on the page")
    order = [
        row.pid
        for row in sorted(
            study.rows("assignments", person_id=study.do(rounds.worker, "b3").id), key=lambda r: r.queue_pos
        )
    ]
    assert page.url.endswith(order[1])
    page.get_by_role("link", name=re.compile("Back")).first.click()
    page.wait_for_url(f"**/w/{order[0]}")
    wait_until(page.locator("input[name=field-fluency][value='4']").is_checked, what="what was submitted")


def test_b4_the_same_id_in_a_second_session_comes_to_the_same_batch(study: Site, visit: Any) -> None:
    _, page = begin(study, visit, "b4")
    _, second = come(study, visit, "b4", session="s2")
    second.get_by_role("button", name=re.compile("Go on")).click()
    second.wait_for_url("**/w/*")
    assert second.url == page.url
    person = study.do(rounds.worker, "b4")
    assert len(study.rows("batches", person_id=person.id)) == 1


def test_b6_the_code_is_shown_once_a_batch_and_the_same_on_reload(study: Site, visit: Any) -> None:
    _, page = begin(study, visit, "b6")
    assert page.locator("#completion-code").count() == 0
    while "/w/" in page.url:
        rate(page)
        submit(page)
    code = page.locator("#completion-code").inner_text()
    page.reload()
    assert page.locator("#completion-code").inner_text() == code
    page.get_by_role("button", name="Copy the completion code").click()
    page.get_by_text("Copied.", exact=True).wait_for()
    back = page.get_by_role("link", name="Back to the platform").get_attribute("href")
    assert back == f"https://platform.example/done?cc={code}"
    person = study.do(rounds.worker, "b6")
    assert [row.code for row in study.rows("batches", person_id=person.id)] == [code]


def sound(page: Any) -> list[str]:
    """What axe has to say in three looks, and whether the page is too wide for a phone."""
    found = look_with_axe(page)
    page.set_viewport_size({"width": 320, "height": 640})
    found += ["too wide"] * (page.evaluate("document.documentElement.scrollWidth") > 320)
    page.set_viewport_size({"width": 1280, "height": 900})
    return found


def test_pages_of_a_study_are_accessible_and_a_reviewer_corrects_blind(study: Site, visit: Any) -> None:
    _, page = begin(study, visit, "seen")
    assert sound(page) == []
    while "/w/" in page.url:
        rate(page, "2", "No")
        submit(page)
    (row,) = study.rows("rounds")
    page = visit.open(visit.context(study, study.hire("coordinator")), f"/rounds/{row.pid}/review")
    assert sound(page) == []
    page.locator("tbody a").last.click()
    page.get_by_role("button", name="Accept the batch").wait_for()
    assert page.get_by_role("button", name="Set the batch aside").count() == 0
    assert "for 2 or more" in page.inner_text("main")
    assert "platform: seen" in page.inner_text("main")
    assert sound(page) == []
    batch = page.url
    page.get_by_role("group", name="Ratings").get_by_role("link").first.click()
    page.get_by_label("Why").wait_for()
    assert sound(page) == []
    assert not [word for word in HIDDEN if word in page.content()]
    page.locator("#card-correctness").get_by_text("Yes", exact=True).click()
    page.get_by_label("Why").fill("The answer is right: 2 < 3.")
    page.get_by_role("button", name="Keep the correction").click()
    page.wait_for_url(f"{batch}*")
    assert (page.locator("del").inner_text(), page.locator("ins").inner_text()) == ("No", "Yes")
    page.get_by_role("button", name="Accept the batch").click()
    page.get_by_text("accepted").wait_for()
    assert "2 < 3" in page.inner_text("main")
