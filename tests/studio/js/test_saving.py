"""Three rings of saving: what was typed survives tabs, servers, networks, sessions and second devices (C1-C6, C12)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.patience import wait_until
from tests.studio.chromium import let_it_act

NO_INDEXED_DB = "Object.defineProperty(window, 'indexedDB', {value: undefined});"
NO_LOCKS = "Object.defineProperty(Navigator.prototype, 'locks', {value: undefined});"
FULL_DEVICE = (
    "IDBObjectStore.prototype.put = function () { throw new DOMException('full', 'QuotaExceededError'); };"
)


def judge(page: Any, question: str = "right", answers: str = "rwr", own: str = "", note: str = "") -> None:
    page.check(f"#question-card input[value={question}]")
    if question == "right":
        for n, letter in enumerate(answers):
            page.check(f"#answer-{n} input[value={'right' if letter == 'r' else 'wrong'}]")
        if own:
            page.fill("textarea[name=own]", own)
    if note:
        page.fill("#sheet textarea[name=note]", note)


def chip_says(page: Any, text: str) -> None:
    page.wait_for_selector(f"#save-chip:has-text('{text}')")


def note_is(page: Any, text: str) -> None:
    field = "#sheet textarea[name=note]"
    wait_until(lambda: page.input_value(field) == text, what=text)


def ring(page: Any, name: str) -> str:
    """What the chip says in the moment in which it shows this ring; the next moment it may show another."""
    chip = page.wait_for_selector(f"#save-chip[data-ring={name}]:not(:empty)")
    return str(chip.text_content())


TYPES = """([text, pause]) => new Promise(done => {
    const note = document.querySelector('#sheet textarea[name=note]');
    const type = n => {
        note.value += text[n];
        note.dispatchEvent(new Event('input', {bubbles: true}));
        if (n + 1 < text.length) setTimeout(type, pause, n + 1); else done();
    };
    type(0);
})"""
"""Types by the page's own clock: a page that gets no turn for a while finds its next letter due before its next save."""


def test_a_change_goes_to_the_device_at_once_and_to_the_server_after_a_pause(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    page = studio.open(studio.context())
    held: list[Any] = []
    page.route("**/draft", lambda route: held.append(route))  # until the chip has been read
    page.fill("#sheet textarea[name=note]", "half a thought")
    assert ring(page, "device").startswith("◐ on this device")
    for route in held:
        route.continue_()
    page.unroute("**/draft")
    assert re.fullmatch(r"● saved \d\d:\d\d", ring(page, "server"))
    draft = desk.draft("w1")
    assert draft["sheet"] == {
        "question": None, "reasons": [], "answers": [None] * 3, "own_answers": [], "note": "half a thought",
    }  # fmt: skip
    page.evaluate(TYPES, [", finished", 20])
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "half a thought, finished")
    drafts = desk.log("/draft")
    assert len(drafts) <= 3, "ten letters in a row are one save, not ten"
    assert desk.draft("w1")["active_ms"] > 0


def test_c1_text_of_a_killed_tab_comes_back_though_the_server_never_had_it(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/draft", status=503)
    judge(page, own='"; <b>x</b>', note="kept?")
    ring(page, "device")
    page.close(run_before_unload=False)
    assert desk.draft("w1") == {}
    again = studio.open(context)
    assert again.input_value("textarea[name=own]") == '"; <b>x</b>'
    assert again.input_value("#sheet textarea[name=note]") == "kept?"
    assert again.is_checked("#answer-1 input[value=wrong]")
    desk.set(faults=[])
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "kept?")
    ring(again, "server")


def test_a_draft_that_a_page_left_behind_is_sent_by_the_next_page_of_the_site(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/draft", status=503)
    page.fill("#sheet textarea[name=note]", "left behind")
    ring(page, "device")
    page.close(run_before_unload=False)
    desk.set(faults=[])
    studio.open(context, "/")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "left behind")
    # The next visit finds its own text and asks nothing.
    page = studio.open(context)
    assert page.input_value("#sheet textarea[name=note]") == "left behind"
    assert not page.is_visible("#conflict-dialog")


def test_c2_a_double_click_is_one_response(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    judge(page)
    desk.fault("/submit", kind="slow", delay=0.7)
    page.dblclick("#submit")
    page.wait_for_url("**/w/w2")
    page.wait_for_timeout(300)
    assert len(desk.rows("w1")) == 1
    assert len({entry["key"] for entry in desk.log("/submit")}) == 1


def test_c3_a_submit_without_network_waits_and_goes_once(studio: Any, desk: Any, wait_for: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    context.set_offline(True)
    judge(page)
    page.click("#submit")
    chip_says(page, "1 waiting")
    assert ring(page, "device")
    chip_says(page, "no connection")  # which is known when the first try has failed
    page.click("#submit")  # impatience makes no second one
    page.wait_for_timeout(1500)
    assert desk.rows("w1") == []
    context.set_offline(False)
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1
    assert ring(page, "server").startswith("● saved")


def test_requests_that_break_off_are_tried_again_though_the_browser_says_online(
    studio: Any, desk: Any
) -> None:
    page = studio.open(studio.context())
    tries: list[str] = []

    def broken(route: Any) -> None:
        tries.append(route.request.headers["idempotency-key"])
        if len(tries) < 3:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/submit", broken)
    judge(page)
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert len(tries) == 3
    assert len(set(tries)) == 1
    assert len(desk.rows("w1")) == 1


def test_an_answer_lost_on_its_way_makes_no_second_response(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    judge(page)
    desk.fault("/submit", status=502, after=True, times=1)
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert [row["rev"] for row in desk.rows("w1")] == [1]
    assert len(desk.log("/submit")) == 2


def test_a_queued_submit_of_a_killed_tab_is_sent_by_another_page(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/submit", status=503)
    judge(page, note="queued")
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.close(run_before_unload=False)
    desk.set(faults=[])
    home = studio.open(context, "/")
    wait_for(lambda: len(desk.rows("w1")) == 1)
    assert desk.rows("w1")[0]["sheet"]["note"] == "queued"
    home.wait_for_selector("#toast:has-text('was submitted')")
    assert ring(home, "server")
    # Nothing of it is left: the item opens as submitted, and a third page sends nothing.
    page = studio.open(context)
    assert not page.is_visible("#conflict-dialog")
    assert len(desk.rows("w1")) == 1


def test_the_page_of_an_item_whose_submit_is_queued_follows_it(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/submit", status=503)
    judge(page)
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.close(run_before_unload=False)
    page = studio.open(context)
    assert page.is_checked("#answer-0 input[value=right]")
    desk.set(faults=[])
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1


def test_what_is_changed_while_a_submit_waits_becomes_a_revision_of_its_own(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    desk.fault("/submit", status=503)
    judge(page, note="first")
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.fill("#sheet textarea[name=note]", "second")
    page.click("#submit")
    desk.set(faults=[])
    page.wait_for_url("**/w/w2")
    assert [(row["rev"], row["sheet"]["note"]) for row in desk.rows("w1")] == [(1, "first"), (2, "second")]


def test_c4_a_lost_session_asks_above_the_form_and_sends_the_same_request(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    judge(page, own="My own words", note="not retyped")
    ring(page, "server")
    context.clear_cookies()
    page.click("#submit")
    page.wait_for_selector("#signin-dialog[open]")
    assert page.input_value("#sheet textarea[name=note]") == "not retyped"
    page.fill("#signin-dialog input[name=handle]", "ana")
    page.fill("#signin-dialog input[name=password]", "wrong")
    page.click("#sign-in")
    page.wait_for_selector("#signin-dialog [role=alert]:has-text('do not fit')")
    page.fill("#signin-dialog input[name=password]", "pw")
    page.click("#sign-in")
    page.wait_for_url("**/w/w2")
    [row] = desk.rows("w1")
    assert row["sheet"]["own_answers"] == ["My own words"]
    assert row["person"] == "p-ana"
    assert len({entry["key"] for entry in desk.log("/submit")}) == 1


def test_signing_in_by_a_link_in_another_tab_continues_too(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    judge(page)
    ring(page, "server")
    context.clear_cookies()
    page.click("#submit")
    page.click("[data-signin-continue]")
    page.wait_for_selector("#signin-dialog [role=alert]:has-text('Still signed out')")
    studio.sign_in(context, "ana")
    page.click("[data-signin-continue]")
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1


def test_if_another_person_signs_in_nothing_is_posted_and_nothing_shown(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/draft", status=503)
    judge(page, note="of Ana alone")
    ring(page, "device")
    context.clear_cookies()
    page.click("#submit")
    page.wait_for_selector("#signin-dialog[open]")
    page.fill("#signin-dialog input[name=handle]", "ben")
    page.fill("#signin-dialog input[name=password]", "pw")
    desk.set(faults=[])
    page.click("#sign-in")
    page.wait_for_selector("#readonly-banner:not([hidden])")
    assert "Another person" in str(page.text_content("#readonly-banner"))
    assert page.is_disabled("#submit")
    page.wait_for_timeout(1500)
    assert desk.look()["responses"] == []
    assert desk.look()["drafts"] == {}
    page.close(run_before_unload=False)
    bens = studio.open(context, "/w/b1")
    assert bens.input_value("#sheet textarea[name=note]") == ""
    assert "waiting" not in str(bens.text_content("#save-chip"))
    bens.wait_for_timeout(500)
    assert desk.look()["responses"] == []
    bens.close()
    # Ana comes back: her submit goes out under her name.
    studio.sign_in(context, "ana")
    studio.open(context, "/")
    wait_for(lambda: len(desk.rows("w1")) == 1)
    assert desk.rows("w1")[0]["person"] == "p-ana"


def test_a_person_who_signs_in_in_another_tab_stops_this_page(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    studio.sign_in(context, "ben")
    page.fill("#sheet textarea[name=note]", "whose?")
    page.wait_for_selector("#readonly-banner:has-text('Another person')")
    assert desk.look()["drafts"] == {}


def test_c5_a_second_tab_reads_until_it_takes_over(studio: Any, desk: Any, wait_for: Any) -> None:
    context = studio.context()
    first = studio.open(context)
    first.fill("#sheet textarea[name=note]", "from the first")
    ring(first, "server")
    second = studio.open(context, settled=False)
    second.wait_for_selector("#readonly-banner:not([hidden])")
    assert second.is_disabled("#submit")
    assert second.is_disabled("#sheet textarea[name=note]")
    desk.fault("/draft", status=503)
    first.fill("#sheet textarea[name=note]", "only on the device")
    chip_says(first, "problem")
    desk.set(faults=[])
    second.click("#take-over")
    second.wait_for_selector("#readonly-banner", state="hidden")
    first.wait_for_selector("#readonly-banner:not([hidden])")
    assert first.is_disabled("#submit")
    note_is(second, "only on the device")
    second.fill("#sheet textarea[name=note]", "from the second")
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "from the second")
    assert not second.is_visible("#conflict-dialog")
    first.click("#take-over")
    note_is(first, "from the second")
    second.wait_for_selector("#readonly-banner:not([hidden])")
    # A tab that ends leaves nothing behind it.
    first.close(run_before_unload=False)
    second.click("#take-over")
    second.wait_for_selector("#readonly-banner", state="hidden")


def test_without_web_locks_two_tabs_meet_at_the_server(studio: Any, desk: Any, wait_for: Any) -> None:
    context = studio.context(init=NO_LOCKS)
    first, second = studio.open(context), studio.open(context)
    first.fill("#sheet textarea[name=note]", "from the \u202efirst")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "from the \u202efirst")
    second.fill("#sheet textarea[name=note]", "from the second")
    second.wait_for_selector("#conflict-dialog[open]")
    text = str(second.text_content("#conflict-dialog"))
    assert "from the ⟨U+202E⟩first" in text  # what turns the reading direction is shown
    assert "from the second" in text
    assert re.search(r"Theirs was saved in another tab of this browser at \d\d:\d\d", text)
    assert desk.draft("w1")["sheet"]["note"] == "from the \u202efirst"
    second.click("[data-conflict-use]")
    assert "Pick one for: Note" in str(second.text_content(".conflict-error"))
    second.check("input[name=conflict-note][value=both]")
    second.click("[data-conflict-use]")
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "from the second\nfrom the \u202efirst")


def test_c6_a_stale_revision_shows_both_texts_and_merges_nothing(studio: Any, desk: Any) -> None:
    desk_a = studio.open(studio.context())
    judge(desk_a, answers="rww", own="Mine <i>here</i>", note="my note")
    ring(desk_a, "server")
    desk.fault("/draft", status=503)  # The other device's draft never arrives, its submit does.
    desk_b = studio.open(studio.context(init=NO_LOCKS))
    judge(desk_b, answers="rrr", own="Theirs & there", note="my note")
    desk_b.click("#submit")
    desk_b.wait_for_url("**/w/w2")
    desk.set(faults=[])
    desk_a.click("#submit")
    desk_a.wait_for_selector("#conflict-dialog[open]")
    text = str(desk_a.text_content("#conflict-dialog"))
    assert "Mine <i>here</i>" in text
    assert "Theirs & there" in text
    assert desk_a.locator("#conflict-dialog i").count() == 0
    fields = desk_a.eval_on_selector_all(
        "[data-conflict-field]", "rows => rows.map(row => row.dataset.conflictField)"
    )
    assert fields == ["answers.1", "answers.2", "own_answers"]
    assert len(desk.rows("w1")) == 1
    desk_a.check("[name='conflict-answers.1'][value=theirs]")
    desk_a.check("[name='conflict-answers.2'][value=mine]")
    desk_a.check("[name=conflict-own_answers][value=both]")
    desk_a.click("[data-conflict-use]")
    desk_a.click("#submit")
    desk_a.wait_for_url("**/w/w2")
    assert [row["rev"] for row in desk.rows("w1")] == [1, 2]
    sheet = desk.rows("w1")[1]["sheet"]
    assert sheet["answers"] == ["right", "right", "wrong"]
    assert sheet["own_answers"] == ["Mine <i>here</i>", "Theirs & there"]


def test_a_comparison_closed_without_a_choice_sends_nothing_and_can_be_opened_again(
    studio: Any, desk: Any
) -> None:
    one = studio.open(studio.context())
    two = studio.open(studio.context())
    desk.fault("/draft", status=503)  # It is the submits that meet, however long the sheets take to fill.
    judge(two, note="two")
    two.click("#submit")
    two.wait_for_url("**/w/w2")
    judge(one, note="one")
    one.click("#submit")
    one.wait_for_selector("#conflict-dialog[open]")
    one.keyboard.press("Escape")
    one.wait_for_timeout(800)
    assert len(desk.rows("w1")) == 1
    assert one.input_value("#sheet textarea[name=note]") == "one"
    assert "compare" in str(one.text_content("#save-chip"))
    one.click("[data-compare]")
    one.click("[data-conflict-all=theirs]")
    note_is(one, "two")


@pytest.mark.parametrize("died", ["before the submit", "during it"])
def test_c12_a_server_killed_in_between_loses_nothing(studio: Any, desk: Any, died: str) -> None:
    page = studio.open(studio.context())
    judge(page, note="through the crash")
    ring(page, "server")
    if died == "during it":
        desk.fault("/submit", kind="slow", delay=5)
        page.click("#submit")
        page.wait_for_timeout(300)
        desk.kill()
    else:
        desk.kill()
        page.click("#submit")
    chip_says(page, "1 waiting")
    desk.start()
    assert desk.draft("w1")["sheet"]["note"] == "through the crash"
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1


def test_a_slow_first_draft_does_not_overwrite_the_later_one(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    desk.set(faults=[{"path": "/draft", "kind": "slow", "delay": 2.0, "times": 1}])
    page.fill("#sheet textarea[name=note]", "early")
    page.wait_for_timeout(700)
    page.fill("#sheet textarea[name=note]", "late")
    page.evaluate(
        "dispatchEvent(new PageTransitionEvent('pagehide'))"
    )  # Flushes beside the one that is in flight.
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "late")
    page.wait_for_timeout(2500)
    assert desk.draft("w1")["sheet"]["note"] == "late"
    assert desk.draft("w1")["seq"] >= 2
    ring(page, "server")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"status": 507}, "disk is full"),
        ({"status": 500, "detail": "The database is locked."}, "The database is locked."),
        ({"kind": "portal"}, "answers in its place"),
        ({"kind": "redirect"}, "redirects"),
        ({"status": 413}, "too long"),
        ({"status": 429}, "too many"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_server_that_does_not_save_is_not_called_saved(
    studio: Any, desk: Any, fault: dict[str, Any], says: str
) -> None:
    page = studio.open(studio.context())
    desk.fault("/draft", **fault)
    page.fill("#sheet textarea[name=note]", "please keep")
    chip_says(page, says)
    assert page.get_attribute("#save-chip", "data-ring") == "device"
    desk.set(faults=[])
    page.fill("#sheet textarea[name=note]", "please keep this")
    ring(page, "server")
    assert desk.draft("w1")["sheet"]["note"] == "please keep this"


@pytest.mark.parametrize(
    ("init", "says"), [(NO_INDEXED_DB, "private window"), (FULL_DEVICE, "storage is full")]
)
def test_a_device_that_keeps_nothing_says_so_and_the_server_still_has_it(
    studio: Any, desk: Any, init: str, says: str
) -> None:
    page = studio.open(studio.context(init=init))
    desk.fault("/draft", status=503)
    page.fill("#sheet textarea[name=note]", "in this window alone")
    text = ring(page, "none")
    assert text.startswith("○ not saved")
    assert says in text or "problem" in text
    desk.set(faults=[])
    assert "not on this device" in ring(page, "server")
    judge(page, note="in this window alone")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1


def test_leaving_asks_only_while_work_is_unsent(studio: Any, desk: Any) -> None:
    context = studio.context()
    asked: list[str] = []

    def answer(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page = studio.open(context)
    page.on("dialog", answer)
    page.fill("#sheet textarea[name=note]", "saved")
    ring(page, "server")
    page.goto(desk.url + "/")
    assert asked == []
    desk.fault("/draft", status=503)
    with page.expect_response(lambda response: response.url.endswith("/state")):
        page.goto(desk.url + "/w/w1")
    let_it_act(page)
    page.fill("#sheet textarea[name=note]", "unsaved")
    chip_says(page, "problem")
    page.goto(desk.url + "/")
    assert asked == ["beforeunload"]


def test_leaving_within_the_pause_still_reaches_the_server(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    page.fill("#sheet textarea[name=note]", "typed and gone")
    page.click("#back")
    page.wait_for_url(desk.url + "/")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "typed and gone")


def test_back_after_a_submit_shows_it_and_a_change_is_a_new_revision(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    judge(page, note="one")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    page.go_back()
    page.wait_for_url("**/w/w1")
    note_is(page, "one")
    let_it_act(page, 600)
    assert page.input_value("#sheet textarea[name=note]") == "one"
    assert not page.is_visible("#conflict-dialog")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    page.go_back()
    page.wait_for_url("**/w/w1")
    note_is(page, "one")
    let_it_act(page, 600)
    page.fill("#sheet textarea[name=note]", "two")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    rows = desk.rows("w1")
    assert [row["sheet"]["note"] for row in rows] == ["one", "one", "two"]
    assert len({row["key"] for row in rows}) == 3


@pytest.mark.parametrize("how", ["mouse", "key"])
def test_undo_after_a_submit_opens_the_item_with_everything_in_it(studio: Any, desk: Any, how: str) -> None:
    page = studio.open(studio.context())
    judge(page, answers="rrw", own="keep me")
    page.check(
        "#question-card input[value=wrong]"
    )  # answers stay in the form, and are not part of what is sent
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert desk.rows("w1")[0]["sheet"]["answers"] == [None, None, None]
    page.wait_for_selector("#toast button:has-text('Undo')")
    if how == "key":
        page.keyboard.press("z")
    else:
        page.click("#toast button:has-text('Undo')")
    page.wait_for_url("**/w/w1")
    wait_until(lambda: desk.rows("w1")[0].get("undone"))
    note_is(page, "")
    let_it_act(page, 500)
    page.check("#question-card input[value=right]")
    assert page.is_checked("#answer-2 input[value=wrong]")
    assert page.input_value("textarea[name=own]") == "keep me"
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 2


def test_undo_that_the_server_refuses_says_why(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    judge(page)
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    desk.fault("/undo", status=409, detail="The stage is closed.")
    page.click("#toast button:has-text('Undo')")
    page.wait_for_selector("#toast:has-text('The stage is closed.')")
    assert page.get_attribute("#toast a", "href") == "/w/w1"


def test_a_refused_sheet_names_its_card_and_stays_a_draft(studio: Any, desk: Any, wait_for: Any) -> None:
    page = studio.open(studio.context())
    judge(page, note="REFUSE this")
    page.click("#submit")
    page.wait_for_selector("#form-error:has-text('Answer 2: Look again.')")
    assert page.evaluate("document.activeElement.closest('fieldset').id") == "answer-1"
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "REFUSE this")
    page.fill("#sheet textarea[name=note]", "fine")
    page.click("#submit")
    page.wait_for_url("**/w/w2")
    assert len({entry["key"] for entry in desk.log("/submit")}) == 2


def test_a_frozen_stage_can_be_read_and_not_changed(studio: Any, desk: Any) -> None:
    desk.set(frozen=["w1"])
    page = studio.open(studio.context())
    page.wait_for_selector("#readonly-banner:has-text('closed')")
    assert page.is_disabled("#submit")
    assert not page.is_visible("#take-over")


def test_a_stage_frozen_under_the_hands_says_so_at_submit(studio: Any, desk: Any) -> None:
    page = studio.open(studio.context())
    judge(page)
    desk.set(frozen=["w1"])
    page.click("#submit")
    page.wait_for_selector("#form-error:has-text('closed this stage')")
    assert desk.rows("w1") == []


def test_waiting_times_double_up_to_a_minute(studio: Any) -> None:
    page = studio.open(studio.context(), "/")
    waits = page.evaluate(
        """async () => { const { Backoff } = await import('/static/v1/js/wire.js'); const b = new Backoff();
        const found = Array.from({length: 9}, () => b.next() / 1000); b.reset(); return [...found, b.next() / 1000]; }"""
    )
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 1]


def test_active_time_counts_thirty_seconds_after_an_input_and_only_while_visible(studio: Any) -> None:
    context = studio.context()
    page = context.new_page()
    page.clock.install(time="2026-01-05T09:00:00Z")
    page.goto(studio.desk.url + "/")
    page.clock.pause_at(
        "2026-01-05T10:00:00Z"
    )  # An installed clock goes on by itself; from here only run_for moves it.
    page.evaluate(
        "async () => { const m = await import('/static/v1/js/activity.js'); window.active = new m.ActiveTime(500); }"
    )
    page.clock.run_for(20_000)
    assert page.evaluate("active.total") == 500
    page.evaluate("dispatchEvent(new Event('keydown'))")
    page.clock.run_for(10_000)
    assert page.evaluate("active.total") == pytest.approx(10_500, abs=100)
    page.clock.run_for(120_000)
    assert page.evaluate("active.total") == pytest.approx(30_500, abs=100)
    page.evaluate("dispatchEvent(new Event('keydown'))")
    page.evaluate("Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.run_for(20_000)
    assert page.evaluate("active.total") == pytest.approx(30_500, abs=100)


def test_ids_are_uuids_also_where_the_page_is_not_secure(studio: Any) -> None:
    page = studio.open(studio.context(init="delete Crypto.prototype.randomUUID;"), "/")
    found = page.evaluate(
        "async () => { const m = await import('/static/v1/js/device.js'); return [m.newId(), m.newId()]; }"
    )
    assert len(set(found)) == 2
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one)
        for one in found
    )


def test_a_tab_whose_submit_another_tab_sent_goes_on(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/submit", status=503)
    judge(page)
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.route("**/submit", lambda route: route.abort())  # From here on it can send nothing itself.
    desk.set(faults=[])
    studio.open(context, "/")
    page.wait_for_url("**/w/w2")
    assert len(desk.rows("w1")) == 1


SLOW_WORD = """const {set} = Object.getOwnPropertyDescriptor(BroadcastChannel.prototype, 'onmessage');
Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {set(hear) {
    set.call(this, event => setTimeout(hear, 1500, event)); }});"""
"""What other tabs say comes late, as on a machine that has much to do."""


def test_a_tab_that_hears_late_of_its_submit_waits_for_the_word(studio: Any, desk: Any) -> None:
    context = studio.context(init=SLOW_WORD)
    page = studio.open(context)
    desk.fault("/submit", status=503)
    judge(page)
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.route("**/submit", lambda route: route.abort())
    desk.set(faults=[])
    home = studio.open(context, "/")
    home.wait_for_selector("#toast:has-text('was submitted')")
    page.evaluate("dispatchEvent(new Event('online'))")  # It finds nothing in the queue any more.
    page.wait_for_url("**/w/w2")


def test_a_queued_submit_that_is_refused_elsewhere_is_kept_and_named(studio: Any, desk: Any) -> None:
    context = studio.context()
    page = studio.open(context)
    desk.fault("/submit", status=503)
    judge(page, note="REFUSE me")
    page.click("#submit")
    chip_says(page, "1 waiting")
    page.close(run_before_unload=False)
    desk.set(faults=[])
    home = studio.open(context, "/")
    home.wait_for_selector("#toast:has-text('not accepted')")
    chip_says(home, "1 not accepted")
    home.click("#toast a")
    home.wait_for_selector("#form-error:has-text('Answer 2: Look again.')")
    assert home.input_value("#sheet textarea[name=note]") == "REFUSE me"
    home.fill("#sheet textarea[name=note]", "mended")
    home.click("#submit")
    home.wait_for_url("**/w/w2")
    assert [row["sheet"]["note"] for row in desk.rows("w1")] == ["mended"]
    assert "not accepted" not in str(home.text_content("#save-chip"))


def test_text_on_this_device_meets_newer_text_of_another_device(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    here = studio.context()
    page = studio.open(here)
    desk.fault("/draft", status=503)
    page.fill("#sheet textarea[name=note]", "here, unsent")
    chip_says(page, "problem")
    page.close(run_before_unload=False)
    desk.set(faults=[])
    there = studio.open(studio.context())
    there.fill("#sheet textarea[name=note]", "there, sent")
    ring(there, "server")
    page = studio.open(here)
    page.wait_for_selector("#conflict-dialog[open]")
    assert "here, unsent" in str(page.text_content("#conflict-dialog"))
    assert "there, sent" in str(page.text_content("#conflict-dialog"))
    page.click("[data-conflict-all=mine]")
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "here, unsent")


def test_typing_before_the_server_has_answered_is_kept(studio: Any, desk: Any, wait_for: Any) -> None:
    context = studio.context()
    desk.fault("/state", status=503, times=2)
    page = studio.open(context, settled=False)
    page.fill("#sheet textarea[name=note]", "early bird")
    ring(page, "device")
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "early bird")
    ring(page, "server")
    # And on a server that is merely slow, over a draft that the page was rendered with.
    page.close()
    desk.fault("/state", kind="slow", delay=1.5)
    page = studio.open(context, settled=False)
    page.fill("#sheet textarea[name=note]", "early bird, second visit")
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "early bird, second visit")
    assert not page.is_visible("#conflict-dialog")


def test_taking_over_again_and_again_saves_each_time_and_counts_time_once(
    studio: Any, desk: Any, wait_for: Any
) -> None:
    context = studio.context()
    first = studio.open(context)
    note = first.locator("#sheet textarea[name=note]")
    note.fill("a")  # active time begins with the first touch, so this draft may hold none
    wait_for(lambda: desk.draft("w1").get("sheet", {}).get("note") == "a")
    note.fill("ab")
    wait_for(lambda: desk.draft("w1")["sheet"]["note"] == "ab")
    assert desk.draft("w1")["active_ms"] > 0
    second = studio.open(context, settled=False)
    for n in range(3):
        second.click("#take-over")
        first.wait_for_selector("#readonly-banner:not([hidden])")
        first.click("#take-over")
        second.wait_for_selector("#readonly-banner:not([hidden])")
        first.fill("#sheet textarea[name=note]", f"b{n}")
        wait_for(lambda n=n: desk.draft("w1")["sheet"]["note"] == f"b{n}")
    lived = first.evaluate("performance.now()")
    assert desk.draft("w1")["active_ms"] <= lived
