"""The contract C1 to C12 on pages of tasks: a form, and a page that draws its sheet itself; looks and keys of every form."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.axe import look_with_axe
from tests.studio import roundwork
from tests.studio.walk.conftest import Site

from proctor.exam.kinds.example import Example
from proctor.records import read_jsonl
from proctor.verify.desk import rounds
from proctor.verify.desk.items import get_item
from proctor.verify.rounds.answer import AnswerTask
from proctor.verify.rounds.records import Task
from proctor.verify.rounds.write import WriteTask

PLAIN = ("rate", "order", "mark")
HARD = '"; <b>x</b>"'


def tasks_of(hall: Site, root: Path, kind: str) -> list[Task]:
    """Tasks of a kind; those about recordings are of the sample."""
    if kind in PLAIN:
        return roundwork.make_tasks(kind, 40)
    if kind == "answer":
        item = hall.desk.read(lambda c: get_item(c, min(row.id for row in hall.rows("items"))))
        body: msgspec.Struct = AnswerTask(question=item.question)
    else:
        body = WriteTask(example=next(iter(read_jsonl(root / "examples.jsonl", Example))))
    return [Task(name="one", body=msgspec.Raw(msgspec.json.encode(body)))]


@pytest.fixture(scope="module")
def hall(demo_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio with a round of each kind."""
    root = tmp_path_factory.mktemp("tasks") / "bench"
    shutil.copytree(demo_workspace / "bench", root)
    found = Site(root, "tasks.sqlite")
    for kind in (*PLAIN, "answer", "write"):
        roundwork.begin(
            found.desk,
            kind,
            tasks_of(found, root, kind),
            wanted=30 if kind in ("answer", "write") else 1,
            batch=2,
        )
    yield found
    found.close()


@pytest.fixture(params=["rate", "order"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def take(hall: Site, kind: str, person: Any) -> list[str]:
    """The pids of a batch of two tasks."""
    round_ = hall.desk.read(lambda c: rounds.round_named(c, kind))
    batch = hall.do(rounds.open_batch, round_, person)
    return [
        row.pid for row in sorted(hall.rows("assignments", batch_id=batch.id), key=lambda row: row.queue_pos)
    ]


@pytest.fixture
def one(hall: Site, kind: str) -> tuple[Any, str, str]:
    """Somebody with two tasks."""
    person = hall.hire()
    return (person, *take(hall, kind, person))  # type: ignore[return-value]


def fill(page: Any, kind: str, note: str) -> None:
    if kind == "order":
        page.locator(".step-card [data-to=down]").first.click()
        page.check("[name=field-confidence][value='4']")
    else:
        page.check("[name=field-fluency][value='4']")
        for name in ("style", "relevance", "answerability", "correctness"):
            page.check(f"[name=field-{name}][value=yes]")
    write(page, note)


def write(page: Any, note: str) -> None:
    page.eval_on_selector(".aside-note", "details => { details.open = true; }")
    page.fill("textarea[name=note]", note)


def ring(page: Any, name: str) -> None:
    page.wait_for_selector(f"#save-chip[data-ring={name}]:not(:empty)")


def values(page: Any) -> tuple[Any, ...]:
    """Everything that the page shows of a sheet."""
    checked = page.eval_on_selector_all("#sheet :checked", "all => all.map(r => r.name + r.value)")
    cards = page.eval_on_selector_all(".step-card", "all => all.map(card => card.dataset.id)")
    return checked, cards, page.input_value("textarea[name=note]")


def test_c1_and_c2_a_killed_tab_a_double_click_and_undo(hall: Site, visit: Any, one: Any, kind: str) -> None:
    person, first, second = one
    context = visit.context(hall, person)
    page = visit.open(context, f"/w/{first}")
    fill(page, kind, HARD)
    ring(page, "server")
    before = values(page)
    page.close(run_before_unload=False)
    assert values(visit.open(visit.context(hall, person), f"/w/{first}")) == before  # on another device
    page = visit.open(context, f"/w/{first}")
    assert values(page) == before
    page.dblclick("#submit")
    page.wait_for_url(f"**/w/{second}")
    assert len(hall.responses(first)) == 1
    assert HARD in msgspec.json.decode(hall.responses(first)[0].sheet)["note"]
    page.wait_for_selector("#toast:has-text('Undo')")
    with page.expect_response(lambda response: response.url.endswith("/state")):
        page.keyboard.press("z")
    page.wait_for_url(f"**/w/{first}")
    assert values(page) == before
    assert hall.rows("assignments", pid=first)[0].state == "open"


def test_c3_a_submit_without_network_waits_and_goes_once(hall: Site, visit: Any, one: Any, kind: str) -> None:
    person, first, second = one
    context = visit.context(hall, person)
    page = visit.open(context, f"/w/{first}")
    context.set_offline(True)
    fill(page, kind, "written in a tunnel")
    page.click("#submit")
    page.wait_for_selector("#save-chip:has-text('waiting')")
    assert hall.responses(first) == []
    context.set_offline(False)
    page.wait_for_url(f"**/w/{second}")
    assert ["tunnel" in row.sheet for row in hall.responses(first)] == [True]


def test_c4_a_lost_session_is_mended_above_the_form(hall: Site, visit: Any, password: str, kind: str) -> None:
    person = hall.hire(password=password)
    first, second = take(hall, kind, person)
    context = visit.context(hall, person)
    page = visit.open(context, f"/w/{first}")
    fill(page, kind, "kept")
    ring(page, "server")
    context.clear_cookies()
    page.click("#submit")
    page.wait_for_selector("#signin-dialog[open]")
    assert hall.responses(first) == []
    page.fill("#signin-dialog input[name=handle]", person.handle)
    page.fill("#signin-dialog input[name=password]", password)
    page.click("#signin-dialog button.primary")
    page.wait_for_url(f"**/w/{second}")
    assert ["kept" in row.sheet for row in hall.responses(first)] == [True]


def test_c5_a_second_tab_reads_until_it_takes_over(
    hall: Site, visit: Any, one: Any, kind: str, wait_for: Any
) -> None:
    person, pid, _ = one
    context = visit.context(hall, person)
    first = visit.open(context, f"/w/{pid}")
    fill(first, kind, "first")
    ring(first, "server")
    second = context.new_page()
    second.goto(f"/w/{pid}")
    second.wait_for_selector("body[data-readonly] #take-over:visible")
    before = values(second)
    assert second.is_disabled("#submit")
    if kind == "order":  # nothing moves, by whatever hand
        assert second.is_disabled(".grip >> nth=0")
        assert second.is_disabled("[data-to=down] >> nth=0")
    second.keyboard.press("5")
    assert values(second) == before
    with second.expect_response(lambda response: response.url.endswith("/state")):
        second.click("#take-over")
    second.wait_for_selector("body:not([data-readonly])")
    first.wait_for_selector("body[data-readonly]")
    write(second, "second")
    wait_for(lambda: hall.draft(pid).get("note") == "second")
    second.click("#submit")
    second.wait_for_url(lambda url: not url.endswith(pid))
    assert len(hall.responses(pid)) == 1


def test_c6_a_stale_page_shows_both(hall: Site, visit: Any, one: Any, kind: str) -> None:
    person, pid, _ = one
    here, there = (visit.open(visit.context(hall, person), f"/w/{pid}") for _ in range(2))
    there.route("**/draft", lambda route: route.abort())  # It is the submits that meet.
    fill(here, kind, "mine, here")
    here.click("#submit")
    here.wait_for_url(lambda url: not url.endswith(pid))
    fill(there, kind, "mine, there")
    there.click("#submit")
    there.wait_for_selector("#conflict-dialog[open]")
    text = there.inner_text("#conflict-dialog")
    assert "mine, here" in text
    assert "mine, there" in text
    assert there.locator("[data-conflict-field]").count() == 1  # the rest is the same on both
    there.click("[data-conflict-all=mine]")
    there.wait_for_selector("#conflict-dialog", state="hidden")
    there.click("#submit")
    there.wait_for_url(lambda url: not url.endswith(pid))
    assert ["mine, here" in row.sheet for row in hall.responses(pid)] == [True, False]


def test_c12_a_killed_server_loses_no_draft_and_takes_the_submit_once(
    hall: Site, visit: Any, one: Any, kind: str
) -> None:
    person, pid, second = one
    page = visit.open(visit.context(hall, person), f"/w/{pid}")
    fill(page, kind, "before the crash")
    ring(page, "server")
    hall.kill()
    assert hall.draft(pid)["note"] == "before the crash"
    page.click("#submit")
    page.wait_for_selector("#save-chip:has-text('waiting')")
    hall.start()
    page.wait_for_url(f"**/w/{second}")
    assert len(hall.responses(pid)) == 1


def test_c9_text_is_text_and_a_task_that_cannot_be_done_is_handed_back(
    hall: Site, visit: Any, one: Any, kind: str
) -> None:
    person, pid, second = one
    page = visit.open(visit.context(hall, person), f"/w/{pid}")
    fill(page, kind, "")
    before = values(page)
    page.focus("textarea[name=note]")
    page.keyboard.type("1 2 3 yn i z f ?")
    assert values(page)[:2] == before[:2]
    assert page.locator("dialog[open]").count() == 0
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("f")
    page.check("#cant-dialog [value=text]")
    page.click("#cant-dialog button.primary")
    page.wait_for_url(f"**/w/{second}")
    (row,) = hall.rows("assignments", pid=pid)
    assert (row.state, hall.responses(pid)) == ("returned", [])
    assert hall.rows("tasks", id=row.task_id)[0].held


# -- every form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rate", "mark", "answer", "write"])
def test_c7_c8_and_c10_of_every_form(hall: Site, visit: Any, kind: str) -> None:
    """Axe in three looks, 320 px, targets, and the whole form by keys."""
    person = hall.hire()
    pid = take(hall, kind, person)[0]
    page = visit.open(visit.context(hall, person), f"/w/{pid}")
    assert look_with_axe(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    small = page.evaluate(
        """() => [...document.querySelectorAll('main button, main label.choice, .foot a, summary')].filter(e => e.checkVisibility())
            .map(e => [e.textContent.trim().slice(0, 30), Math.round(e.getBoundingClientRect().height)]).filter(([, height]) => height < 24)"""
    )
    assert not small
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("ArrowDown")  # to the first field
    for name, field in page.eval_on_selector_all(
        "[data-field]", "all => all.map(f => [f.dataset.field, f.dataset.type])"
    ):
        within = f"[data-field={name}] :focus"
        assert page.locator(within).count() == 1
        is_text = field in ("text", "texts", "number")
        if is_text:
            page.keyboard.type("What do I do after I stir the tea?")
        else:
            page.keyboard.press({"yesno": "y", "scale": "4", "choice": "1"}[field])
        page.keyboard.press("Tab" if is_text else "ArrowDown")
        while is_text and page.locator(within).count():  # past the buttons of the field
            page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: not url.endswith(pid))
    assert len(hall.responses(pid)) == 1


def test_what_scripts_draw_is_there_on_paper_and_closed_parts_are_not(hall: Site, visit: Any) -> None:
    for kind, told in (("graph", "Saw the board"), ("timeline", "Paint them"), ("record", "Planned: ")):
        roundwork.begin(hall.desk, kind, roundwork.make_tasks(kind, 2), batch=2)
        person = hall.hire()
        page = visit.open(visit.context(hall, person), f"/w/{take(hall, kind, person)[0]}")
        page.locator("main").get_by_text(told).first.wait_for()
        page.emulate_media(media="print")
        assert page.locator("main").get_by_text(told).first.is_visible()
        closed = page.locator("details:not([open])")
        assert not any(closed.nth(n).is_visible() for n in range(closed.count()))
