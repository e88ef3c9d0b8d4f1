"""Every page of the sample as its people see it: axe in three looks, narrow screens, and the work page's own tests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.axe import DEPENDS_ON_LOOK, look_with_axe, run_axe
from tests.studio.chromium import let_it_act

PAGES = {
    "": ["/demo", "/signin", "/no-such-page"],
    "ana": ["/", "judge", "submitted", "/my", "/guideline", "/consent"],
    "dev": ["/", "/consent"],
    "edda": ["adjudicate"],
    "farid": [
        "/dashboard", "/items", "item", "/disagreements", "/people", "/deal", "/training", "/guidelines", "/exports",
        "/events",
    ],
}  # fmt: skip


def address(site: Any, handle: str, page: str) -> str:
    """The address of a page; names stand for something that a person has."""
    if page.startswith("/"):
        return page
    if page == "item":
        found = [r for r in site.rows("items") if r.state == "case"]
        return f"/items/{found[0].pid}"
    (person,) = site.rows("people", handle=handle)
    if page == "adjudicate":
        return f"/w/{reserve(site, person)}"
    state = "submitted" if page == "submitted" else "open"
    rows = site.rows("assignments", person_id=person.id, stage="judge", state=state, live=True)
    return f"/w/{min(rows, key=lambda row: row.queue_pos).pid}"


def reserve(site: Any, row: Any) -> str:
    from proctor.verify.desk import documents, flow, people

    person = site.desk.read(lambda c: people.by_id(site.desk, c, row.id))
    protocol = site.desk.read(documents.protocol)
    pid = site.do(flow.next_work, person, protocol, "adjudicate")
    assert pid is not None
    return str(pid)


@pytest.mark.parametrize("handle", list(PAGES), ids=lambda handle: handle or "nobody")
def test_c7_axe_and_c10_narrow_screens(demo: Any, visit: Any, handle: str) -> None:
    person = demo.rows("people", handle=handle)[0] if handle else None
    context = visit.context(demo, person)
    problems = []
    for name in PAGES[handle]:
        page = visit.open(context, address(demo, handle, name))
        page.set_viewport_size({"width": 320, "height": 640})
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 320:
            problems.append(f"{handle} {name}: {width} px wide on a screen of 320")
        page.set_viewport_size({"width": 1280, "height": 900})
        problems += look_with_axe(page, serious=True)
        page.set_viewport_size({"width": 820, "height": 1180})
        problems += run_axe(page, DEPENDS_ON_LOOK, serious=True)
        page.close()
    assert not problems, "\n".join(problems)


# -- the work page -----------------------------------------------------------------------------------------------


@pytest.fixture
def work(demo: Any, visit: Any) -> Any:
    """A page of somebody new with one item, and its pid."""
    person = demo.hire()
    pid = demo.deal(person)[0][0]
    page = visit.open(visit.context(demo, person), f"/w/{pid}")
    page.pid = pid
    return page


def test_a1_answers_are_hidden_until_yes_and_a_no_submits_none(demo: Any, work: Any, wait_for: Any) -> None:
    assert work.is_hidden("#answers")
    assert work.is_hidden("#own")
    work.check("#question-card input[value=right]")
    assert work.is_visible("#answer-0")
    work.check("#answer-0 input[value=right]")
    work.locator("textarea[name=own]").first.fill("kept in the draft")
    work.check("#question-card input[value=wrong]")
    assert work.is_hidden("#answers")
    wait_for(lambda: demo.draft(work.pid).get("question") == "wrong")
    assert demo.draft(work.pid)["own_answers"] == ["kept in the draft"]
    assert demo.draft(work.pid)["answers"][0] == "right"
    work.click("#submit")
    work.wait_for_url(f"{demo.url}/")
    (response,) = demo.responses(work.pid)
    assert "kept" not in response.sheet
    assert demo.rows("answer_judgements", response_id=response.id) == []


def test_a2_a_missing_verdict_is_named_and_focused(demo: Any, work: Any) -> None:
    work.click("#submit")
    assert "question" in work.inner_text("#form-error").lower()
    work.check("#question-card input[value=right]")
    work.check("#answer-0 input[value=right]")
    work.click("#submit")
    assert "Answer 2" in work.inner_text("#form-error")
    assert work.evaluate("document.activeElement.name") == "answer-1"
    assert demo.responses(work.pid) == []


def test_a3_a_hostile_answer_is_one_row_and_stays_text(demo: Any, work: Any) -> None:
    hard = '"; <b>x</b>"'
    work.check("#question-card input[value=right]")
    for n in (0, 1):
        work.check(f"#answer-{n} input[value=right]")
    work.locator("textarea[name=own]").first.fill(hard)
    work.click("#submit")
    work.wait_for_url(f"{demo.url}/")
    (response,) = demo.responses(work.pid)
    assert [r.text for r in demo.rows("own_answers", response_id=response.id)] == [hard]
    work.goto(f"/w/{work.pid}")
    assert work.locator("textarea[name=own]").first.input_value() == hard
    assert work.locator("#own b").count() == 0


def test_a4_twelve_answers_have_a_card_each(demo: Any, visit: Any) -> None:
    person = demo.hire()
    demo.candidates_with(*(f"Answer number {n}" for n in range(12)))
    pid = demo.deal(person, answers=12)[0][0]
    page = visit.open(visit.context(demo, person), f"/w/{pid}")
    page.check("#question-card input[value=right]")
    assert page.locator("#answers fieldset.card").count() == 12
    for n in range(12):
        page.check(f"#answer-{n} input[value={'right' if n % 2 else 'wrong'}]")
    page.click("#submit")
    page.wait_for_url(f"{demo.url}/")
    (response,) = demo.responses(pid)
    said = sorted(demo.rows("answer_judgements", response_id=response.id), key=lambda r: r.target)
    assert [r.value for r in said] == ["wrong", "right"] * 6


def test_a5_items_of_one_recording_come_in_rising_end_time(demo: Any) -> None:
    items = {row.id: row for row in demo.rows("items")}
    for handle in ("ana", "ben", "chloe"):
        (person,) = demo.rows("people", handle=handle)
        rows = demo.rows("assignments", person_id=person.id, stage="judge", live=True)
        queue = [items[row.item_id] for row in sorted(rows, key=lambda row: row.queue_pos)]
        assert len(queue) > 10
        recordings = [item.cluster for item in queue]
        blocks = [r for n, r in enumerate(recordings) if n == 0 or recordings[n - 1] != r]
        assert len(blocks) == len(set(blocks))  # one recording after the other
        for recording in set(recordings):
            ends = [item.place for item in queue if item.cluster == recording]
            assert ends == sorted(ends)


def test_a9_statuses_are_words_when_colours_are_off(work: Any) -> None:
    work.emulate_media(forced_colors="active")
    rows = work.locator("#steps-panel li.graph-step")
    said = [row.lower() for row in rows.locator(".status").all_inner_texts()]
    assert len(said) == rows.count() > 0
    assert set(said) <= {"done", "current", "not done"}
    assert said.count("current") == 1
    drawn = work.eval_on_selector_all(
        "#graph-panel svg [data-step]",
        "all => all.map(g => g.getAttribute('aria-label') || g.querySelector('title')?.textContent || '')",
    )
    assert drawn
    assert all(any(word in label for word in ("done", "current", "not done")) for label in drawn)
    wrong = rows.locator(".mistakes li").all_inner_texts()
    assert all("error" in text for text in wrong)


@pytest.mark.parametrize(
    "path",
    ["/videos/r1.mp4", "/media/r1.mp4", "/w/{pid}/video.mp4", "/w/{pid}/clip.mp4/../full.mp4", "/clips/x.mp4",
     "/static/../videos/r1.mp4", "/w/{pid}/%2e%2e/%2e%2e/sample/videos/r1.mp4"],
)  # fmt: skip
def test_a10_the_uncut_recording_has_no_address(demo: Any, visit: Any, path: str) -> None:
    person = demo.hire()
    pid = demo.deal(person)[0][0]
    answer = visit.context(demo, person).request.get(demo.url + path.format(pid=pid), max_redirects=0)
    assert answer.status == 404


def test_c8_an_item_by_keyboard_alone(demo: Any, work: Any) -> None:
    for key in ("y", "1", "y", "2", "n", "a"):
        work.keyboard.press(key)
    work.keyboard.type("typed: y n 1 a z ?")
    work.keyboard.press("Control+Enter")
    work.wait_for_url(f"{demo.url}/")
    (response,) = demo.responses(work.pid)
    assert [r.value for r in demo.rows("answer_judgements", response_id=response.id)] == ["right", "wrong"]
    assert [r.text for r in demo.rows("own_answers", response_id=response.id)] == ["typed: y n 1 a z ?"]


def test_c9_letters_in_text_are_text(work: Any) -> None:
    work.check("#question-card input[value=right]")
    field = work.locator("textarea[name=own]").first
    field.click()
    work.keyboard.type("nyafg12?kjm,.[]z")
    assert field.input_value() == "nyafg12?kjm,.[]z"
    assert work.is_checked("#question-card input[value=right]")
    assert work.locator("dialog[open]").count() == 0
    assert work.locator("#answers input:checked").count() == 0


def test_a_plain_form_without_script_does_the_same(demo: Any, visit: Any) -> None:
    person = demo.hire()
    pid = demo.deal(person)[0][0]
    page = visit.context(demo, person, java_script_enabled=False).new_page()
    page.goto(f"/w/{pid}")
    page.check("#question-card input[value=right]")
    page.check("#answer-0 input[value=right]")
    page.click("#submit")
    assert "Answer 2 is not judged yet" in page.inner_text("main")
    assert page.is_checked("#answer-0 input[value=right]")
    page.check("#answer-1 input[value=wrong]")
    page.click("#submit")
    page.wait_for_url(f"{demo.url}/*")
    assert len(demo.responses(pid)) == 1


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_graph_is_larger_and_whole_on_the_full_screen(
    site: Any, visit: Any, size: tuple[int, int]
) -> None:
    person = site.hire()
    ((pid,),) = site.deal(person)
    look = """() => { const [panel, box] = ['#graph-panel', 'svg.graph'].map(s => document.querySelector(s).getBoundingClientRect());
        const sizes = [...document.querySelectorAll('svg.graph text')].map(t => t.getBoundingClientRect().height);
        return [Math.min(...sizes), box.left >= panel.left && box.right <= panel.right]; }"""
    ends = """() => { const panel = document.querySelector('#graph-panel'), svg = document.querySelector('svg.graph');
        const left = svg.getBoundingClientRect().left - panel.getBoundingClientRect().left;
        panel.scrollLeft = 9999;
        return [left, panel.getBoundingClientRect().right - svg.getBoundingClientRect().right]; }"""
    page = visit.open(
        visit.context(site, person, viewport={"width": size[0], "height": size[1]}), f"/w/{pid}"
    )
    if size[0] < 720:
        page.click("label:has(#tab-graph)")
    before, _ = page.evaluate(look)
    page.click("#graph-full")
    page.wait_for_selector("#graph-panel:is(:fullscreen, .is-full)")
    let_it_act(page)
    text, whole = page.evaluate(look)
    assert text >= 1.2 * before
    assert whole or size[0] < 720
    assert min(page.evaluate(ends)) >= 0  # both ends can be reached


def test_a_phone_shows_which_of_many_pages_this_is_and_states_on_one_line(demo: Any, visit: Any) -> None:
    person = demo.rows("people", handle="farid")[0]
    context = visit.context(demo, person, viewport={"width": 390, "height": 844})
    for path in ("/", "/people", "/events"):
        page = visit.open(context, path)
        page.wait_for_function(
            """() => { const there = document.querySelector(".bar nav [aria-current]").getBoundingClientRect();
                       return there.left >= 0 && there.right <= innerWidth; }"""
        )
        assert page.evaluate("scrollY") == 0
    page = visit.open(context, "/disagreements")
    heights = page.eval_on_selector_all(".list .badge", "all => all.map(badge => badge.offsetHeight)")
    assert 0 < max(heights) < 32  # a state is on one line, the day may be below it


def test_a_long_name_makes_no_page_wider_than_a_phone(demo: Any, visit: Any) -> None:
    from proctor.verify.desk import people

    name = "Maximiliane-Friederike von und zu Oberhammerschmidt-Unterwolfratshausen"
    long = demo.do(people.add, handle="long", name=name, role="coordinator", actor="cli", gate="open")
    context = visit.context(demo, long, viewport={"width": 320, "height": 640}, locale="de-DE")
    page = visit.open(context, "/my")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.locator(".who button").bounding_box()["x"] < 320
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("document.querySelector('.bar').offsetHeight") < 110  # two rows of links


@pytest.mark.parametrize(
    ("handle", "path"), [("ana", "/my"), ("ana", "/"), ("farid", "/my"), ("farid", "/people"), ("farid", "/exports")]
)  # fmt: skip
def test_no_sheet_of_paper_has_head_and_foot_alone(demo: Any, visit: Any, handle: str, path: str) -> None:
    """Wherever the words end on the last sheet: something above pushes them down until one sheet more is needed."""
    pdfium = pytest.importorskip("pypdfium2")
    page = visit.open(visit.context(demo, demo.rows("people", handle=handle)[0]), path)
    page.evaluate("document.querySelector('main').prepend(document.createElement('hr'))")

    def sheets(mm: float) -> list[str]:
        page.evaluate("mm => { document.querySelector('hr').style.marginTop = `${mm}mm`; }", mm)
        with pdfium.PdfDocument(page.pdf(format="A4")) as document:
            return [sheet.get_textpage().get_text_range() for sheet in document]

    low, high = 0.0, 260.0
    count = len(sheets(low))
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if len(sheets(middle)) > count else (middle, high)
    last = sheets(high + 1.0)[count].splitlines()
    assert [line for line in last[1:] if not line.startswith("http://")], last
