"""The contract of the work page on the real application, on both databases."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

HARD = '"; <b>x</b>"'


def judge(page: Any, question: str = "right", answers: str = "rw", own: str = "") -> None:
    page.check(f"#question-card input[value={question}]")
    if question == "right":
        for n, letter in enumerate(answers):
            page.check(f"#answer-{n} input[value={'right' if letter == 'r' else 'wrong'}]")
        if own:
            page.locator("textarea[name=own]").first.fill(own)


def ring(page: Any, name: str) -> None:
    page.wait_for_selector(f"#save-chip[data-ring={name}]:not(:empty)")


def values(page: Any) -> tuple[Any, ...]:
    checked = page.eval_on_selector_all(
        "#sheet input[type=radio]:checked", "all => all.map(r => r.name + r.value)"
    )
    return (*checked, page.locator("textarea[name=own]").first.input_value())


@pytest.fixture
def one(site: Any) -> tuple[Any, str]:
    """Somebody with one item of two answers."""
    person = site.hire()
    return person, site.deal(person)[0][0]


def test_c1_a_killed_tab_gives_its_text_back(site: Any, visit: Any, one: Any) -> None:
    person, pid = one
    context = visit.context(site, person)
    page = visit.open(context, f"/w/{pid}")
    judge(page, own=HARD)
    ring(page, "server")
    before = values(page)
    page.close(run_before_unload=False)
    assert values(visit.open(context, f"/w/{pid}")) == before
    # Another device has it from the server.
    assert values(visit.open(visit.context(site, person), f"/w/{pid}")) == before
    assert site.draft(pid)["own_answers"] == [HARD]


def test_c2_a_double_click_is_one_row_and_leads_on(site: Any, visit: Any) -> None:
    person = site.hire()
    (first,), (second,) = site.deal(person, count=2)
    page = visit.open(visit.context(site, person), f"/w/{first}")
    judge(page)
    page.dblclick("#submit")
    page.wait_for_url(f"**/w/{second}")
    assert len(site.responses(first)) == 1
    assert site.responses(second) == []
    assert [r.value for r in site.rows("answer_judgements", response_id=site.responses(first)[0].id)] == [
        "right", "wrong",
    ]  # fmt: skip


def test_c3_a_submit_without_network_waits_and_goes_once(site: Any, visit: Any, one: Any) -> None:
    person, pid = one
    context = visit.context(site, person)
    page = visit.open(context, f"/w/{pid}")
    context.set_offline(True)
    judge(page, own="written in a tunnel")
    page.click("#submit")
    page.wait_for_selector("#save-chip:has-text('waiting')")
    assert site.responses(pid) == []
    context.set_offline(False)
    page.wait_for_url(f"{site.url}/")
    assert len(site.responses(pid)) == 1
    assert [r.text for r in site.rows("own_answers", response_id=site.responses(pid)[0].id)] == [
        "written in a tunnel"
    ]


def test_c4_a_lost_session_is_mended_above_the_form(
    site: Any, visit: Any, password: str, wait_for: Any
) -> None:
    person = site.hire(password=password)
    pid = site.deal(person)[0][0]
    context = visit.context(site, person)
    page = visit.open(context, f"/w/{pid}")
    judge(page, own="kept")
    ring(page, "server")
    context.clear_cookies()
    page.click("#submit")
    page.wait_for_selector("#signin-dialog[open]")
    assert page.url.endswith(pid)
    assert site.responses(pid) == []
    page.fill("#signin-dialog input[name=handle]", person.handle)
    page.fill("#signin-dialog input[name=password]", password)
    page.click("#signin-dialog button.primary")
    page.wait_for_url(f"{site.url}/")
    assert len(site.responses(pid)) == 1
    assert "kept" in site.responses(pid)[0].sheet


def test_c4_somebody_elses_session_gets_nothing(site: Any, visit: Any, one: Any) -> None:
    person, pid = one
    other = site.hire()
    context = visit.context(site, person)
    page = visit.open(context, f"/w/{pid}")
    judge(page, own="not yours")
    ring(page, "server")  # no draft is under way between the two sessions
    context.clear_cookies()
    visit.sign_in(site, context, other)
    page.click("#submit")
    page.wait_for_selector("body[data-readonly]")
    assert site.responses(pid) == []
    assert all(row.person_id != other.id for row in site.rows("assignments", pid=pid))


def test_c5_a_second_tab_reads_until_it_takes_over(site: Any, visit: Any, one: Any, wait_for: Any) -> None:
    person, pid = one
    context = visit.context(site, person)
    first = visit.open(context, f"/w/{pid}")
    judge(first, own="first")
    ring(first, "server")
    second = context.new_page()
    second.goto(f"/w/{pid}")
    second.wait_for_selector("body[data-readonly] #take-over:visible")
    assert second.is_disabled("#submit")
    with second.expect_response(lambda response: response.url.endswith("/state")):
        second.click("#take-over")
    second.wait_for_selector("body:not([data-readonly])")
    first.wait_for_selector("body[data-readonly]")
    second.locator("textarea[name=own]").first.fill("second")
    wait_for(lambda: site.draft(pid).get("own_answers") == ["second"])
    second.click("#submit")
    second.wait_for_url(f"{site.url}/")
    assert len(site.responses(pid)) == 1


def test_c6_a_stale_page_shows_both_texts(site: Any, visit: Any, one: Any) -> None:
    person, pid = one
    here, there = (visit.open(visit.context(site, person), f"/w/{pid}") for _ in range(2))
    judge(here, own="mine, here")
    ring(here, "server")
    here.click("#submit")
    here.wait_for_url(f"{site.url}/")
    there.route(
        "**/draft", lambda route: route.abort()
    )  # It is the submits that meet, however long it takes to judge.
    judge(there, "right", "ww", own="mine, there")
    there.click("#submit")
    there.wait_for_selector("#conflict-dialog[open]")
    text = there.inner_text("#conflict-dialog")
    assert "mine, here" in text
    assert "mine, there" in text
    assert re.search(r"Theirs was saved on another device \(\w+, \w+\) at \d", text)
    assert len(site.responses(pid)) == 1
    there.click("[data-conflict-all=mine]")
    there.wait_for_selector("#conflict-dialog", state="hidden")
    there.click("#submit")
    there.wait_for_url(f"{site.url}/")
    assert ["mine, here" in r.sheet for r in site.responses(pid)] == [True, False]


def test_c12_a_killed_server_loses_no_draft_and_takes_the_submit_once(
    site: Any, visit: Any, one: Any, wait_for: Any
) -> None:
    person, pid = one
    page = visit.open(visit.context(site, person), f"/w/{pid}")
    judge(page, own="before the crash")
    ring(page, "server")
    site.kill()
    assert site.draft(pid)["own_answers"] == ["before the crash"]
    page.click("#submit")
    page.wait_for_selector("#save-chip:has-text('waiting')")
    site.start()
    page.wait_for_url(f"{site.url}/")
    assert len(site.responses(pid)) == 1


def test_a8_two_tabs_that_submit_crosswise_write_each_to_its_item(
    site: Any, visit: Any, wait_for: Any
) -> None:
    person = site.hire()
    (first,), (second,) = site.deal(person, count=2)
    context = visit.context(site, person)
    a, b = visit.open(context, f"/w/{first}"), visit.open(context, f"/w/{second}")
    judge(a, own="of the first")
    judge(b, own="of the second")
    # Either tab may send what waits on this device, so it is the server that says when a submit has come. Chromium may not close a
    # tab that is about to leave a page, so that is waited for, too.
    for page, pid in ((b, second), (a, first)):
        page.click("#submit")
        wait_for(lambda p=pid: site.responses(p))
        page.wait_for_url(lambda url, p=pid: not url.endswith(p))
    for pid, text in ((first, "of the first"), (second, "of the second")):
        (response,) = site.responses(pid)
        assert [r.text for r in site.rows("own_answers", response_id=response.id)] == [text]


def test_undo_opens_the_item_with_everything_in_it(site: Any, visit: Any, one: Any) -> None:
    person, pid = one
    page = visit.open(visit.context(site, person), f"/w/{pid}")
    judge(page, own="too quick")
    before = values(page)
    page.click("#submit")
    page.wait_for_url(f"{site.url}/")
    page.wait_for_selector("#toast:has-text('Undo')")
    page.set_viewport_size({"width": 390, "height": 844})
    assert (
        page.locator("#toast .toast-text").bounding_box()["height"] < 40
    )  # "Submitted." on one line on a phone
    with page.expect_response(lambda response: response.url.endswith("/state")):
        page.keyboard.press("z")
    page.wait_for_url(f"**/w/{pid}")
    assert values(page) == before
    assert site.rows("assignments", pid=pid)[0].state == "open"
    assert len(site.rows("voids")) >= 1


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "nul\x00"}, {"client_id": ""}, {"client_id": "x" * 65}, {"seq": 2**70}, {"seq": -1}, {"base": 2**70},
        {"active_ms": "1"}, {"sheet": {"answers": ["maybe"]}}, {"sheet": {"gold": 1}}, {"more": 1},
    ],
    ids=lambda change: f"{next(iter(change))}={str(next(iter(change.values())))[:9]!r}",
)  # fmt: skip
def test_drafts_of_any_shape_are_answered_with_what_is_wrong(
    site: Any, one: Any, change: dict[str, Any]
) -> None:
    """A database would refuse some of these, and take everybody in the same transaction with it."""
    person, pid = one
    good = {"client_id": "tab", "seq": 1, "base": 0, "sheet": {"note": "x"}, "active_ms": 5}
    headers = {
        "Cookie": f"{site.cookie}={site.token(person)}",
        "Sec-Fetch-Site": "same-origin",
        "Origin": site.url,
    }
    bad = httpx.put(f"{site.url}/w/{pid}/draft", json={**good, **change}, headers=headers, timeout=60)
    assert bad.status_code == 422, bad.text
    assert bad.json()["errors"]
    assert site.draft(pid) == {}
    assert httpx.put(f"{site.url}/w/{pid}/draft", json=good, headers=headers, timeout=60).status_code == 200


def test_a_form_with_a_key_that_is_no_key_is_shown_again(site: Any, one: Any) -> None:
    person, pid = one
    headers = {
        "Cookie": f"{site.cookie}={site.token(person)}", "Sec-Fetch-Site": "same-origin", "Origin": site.url,
        "Accept": "text/html",
    }  # fmt: skip
    for key in ("", "short", "nul\x00nul\x00", "ä" * 20, "x" * 81):
        form = {"question": "wrong", "rev": "0", "key": key}
        assert (
            httpx.post(f"{site.url}/w/{pid}/submit", data=form, headers=headers, timeout=60).status_code
            == 422
        )
    assert site.responses(pid) == []
