"""Ordering in a real browser on the real studio (D1 to D8): ways to move, who gets what, what the pages tell and refuse."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.axe import look_with_axe
from tests.studio.walk.conftest import Site

from proctor.media.paint import encode_png
from proctor.records import write_jsonl
from proctor.stages.rounds.opening import open_round
from proctor.stages.rounds.settings import AlternativesSettings, OrderSettings
from proctor.stages.sequence_items import import_sequences
from proctor.verify.desk import rounds
from proctor.verify.schema import tables

SIGN = ("Sand the board", "Draw the letters", "Paint inside the lines", "Let it dry", "Hang it up")
ROUNDS = {
    "both": OrderSettings(shows=("both",), item=("sign",)),
    "text": OrderSettings(shows=("text",), item=("sign",)),
    "image": OrderSettings(shows=("image",), item=("sign",)),
    "long": OrderSettings(shows=("text",), item=("long",)),
    "week": OrderSettings(item=("sign", "tea"), batch=0),
    "other": AlternativesSettings(shows=("both",), item=("sign", "tea"), batch=1),
    "again": AlternativesSettings(shows=("both",), item=("sign",), votes=True, batch=1),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio of three manuals, one with 200 steps, and a round of each sort."""
    folder = tmp_path_factory.mktemp("ordering")
    for n in range(8):
        picture = np.full((60, 90, 3), (30 * n, 90, 200 - 20 * n), np.uint8)
        (folder / f"{n}.png").write_bytes(encode_png(picture))
    write_jsonl(folder / "manuals.jsonl", [
        {"id": "sign", "goal": "Paint a sign", "steps": SIGN, "pictures": [f"{n}.png" for n in range(5)]},
        {"id": "tea", "goal": "Make tea", "steps": ["Boil.", "Warm <b>it</b>.", "Pour."], "pictures": ["5.png", "6.png", "7.png"]},
        {"id": "long", "goal": "Much to do", "steps": ["x" * 10_000, *(f"Do number {n}" for n in range(199))]},
    ])  # fmt: skip
    root = folder / "bench"
    import_sequences(folder / "manuals.jsonl", root)
    for name, settings in ROUNDS.items():
        kind = "order" if isinstance(settings, OrderSettings) else "alternatives"
        given = {**{f: getattr(settings, f) for f in settings.__struct_fields__}, "name": name, "people": 40}
        open_round(root, kind, type(settings)(**given))
    found = Site(root)
    yield found
    found.close()


def take(site: Site, name: str, person: Any) -> list[str]:
    """Take a batch, and return the pids of its tasks; none where there is nothing for this person."""

    def job(desk: Any, connection: Any) -> int:
        batch = rounds.open_batch(desk, connection, rounds.round_named(connection, name), person)
        return 0 if batch is None else batch.id

    number = site.do(job)
    return [row.pid for row in site.rows("assignments", batch_id=number)] if number else []


def opened(site: Site, visit: Any, round_: str, **options: Any) -> tuple[Any, str, Any]:
    person = site.hire()
    (pid,) = take(site, round_, person)
    context = visit.context(site, person, **options)
    return visit.open(context, f"/w/{pid}"), pid, context


def shown(page: Any, within: str = ".reorder") -> list[str]:
    return page.eval_on_selector_all(f"{within} > [data-id]", "cards => cards.map(card => card.dataset.id)")  # type: ignore[no-any-return]


def grip(page: Any, place: int) -> Any:
    return page.locator(".reorder > li").nth(place).locator(".grip")


def finish(page: Any) -> None:
    page.check("[name=field-confidence][value='4']")
    page.check("[name=field-helped][value=text]")
    with page.expect_response(lambda response: response.url.endswith("/submit")):
        page.keyboard.press("Control+Enter")
    page.wait_for_url("**/r/*")


def row(site: Site, pid: str) -> dict[str, Any]:
    (found,) = site.responses(pid)
    return dict(json.loads(found.sheet))


def drag(page: Any, start: int, end: int) -> None:
    """By mouse, from the middle of a grip to just past the middle of another card."""
    a, b = (page.locator(".reorder > li").nth(n).bounding_box() for n in (start, end))
    g = grip(page, start).bounding_box()
    page.mouse.move(g["x"] + 5, g["y"] + g["height"] / 2)
    page.mouse.down()
    page.mouse.move(g["x"] + 5, g["y"] + g["height"] / 2 + 20)
    page.mouse.move(g["x"] + 9, b["y"] + b["height"] / 2 + (4 if b["y"] > a["y"] else -4), steps=5)


def by_mouse(page: Any, _: Any) -> None:
    drag(page, 0, 2)
    page.mouse.up()


def by_taps(page: Any, _: Any) -> None:
    page.locator(".reorder > li").nth(0).locator(".step-text").click()  # a card, then its place
    page.locator(".reorder > li").nth(2).locator(".step-text").click()


def by_buttons(page: Any, _: Any) -> None:
    page.locator(".reorder > li").nth(0).locator("[data-to=last]").click()
    for _ in range(2):
        page.locator(".reorder > li:focus-within [data-to=up]").click()


def pressed(*keys: str) -> Callable[[Any, Any], None]:
    def way(page: Any, _: Any) -> None:
        grip(page, 0).focus()
        for key in keys:
            page.keyboard.press(key)

    return way


def by_finger(page: Any, context: Any) -> None:
    client = context.new_cdp_session(page)
    g, b = grip(page, 0).bounding_box(), page.locator(".reorder > li").nth(2).bounding_box()
    x, y = g["x"] + 10, g["y"] + 10

    def touch(kind: str, at: float) -> None:
        points = [] if kind == "touchEnd" else [{"x": x, "y": at}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", y)
    time.sleep(0.3)  # longer than the hold
    for at in (y + 20, b["y"] + b["height"] / 2, b["y"] + b["height"] / 2 + 6):
        touch("touchMove", at)
    touch("touchEnd", 0)


WAYS: dict[str, Callable[[Any, Any], None]] = {
    "mouse": by_mouse, "tap": by_taps, "buttons": by_buttons, "finger": by_finger,
    "keys": pressed("Space", "ArrowDown", "ArrowDown", "Space"), "number": pressed("3"),
}  # fmt: skip


def test_d1_every_way_to_move_gives_the_same_row(bench: Site, visit: Any) -> None:
    found = {}
    for name, way in WAYS.items():
        page, pid, context = opened(bench, visit, "both", has_touch=name == "finger")
        before = shown(page)
        way(page, context)
        assert shown(page) == [*before[1:3], before[0], *before[3:]], name
        assert before[0] == page.evaluate("document.activeElement.closest('li')?.dataset.id ?? ''"), name
        assert "moved to 3 of 5" in page.text_content("#moves-said"), name
        finish(page)
        found[name] = row(bench, pid)
    assert found["mouse"]["moves"] == [[before[0], 0, 2]]
    assert len(found["buttons"].pop("moves")) == 3
    for name, sheet in found.items():
        assert sheet == {k: v for k, v in found["mouse"].items() if k in sheet}, name


def test_d2_escape_restores(bench: Site, visit: Any) -> None:
    page, _, _ = opened(bench, visit, "both")
    before = shown(page)
    grip(page, 1).focus()
    for key in ("Space", "ArrowDown", "End"):
        page.keyboard.press(key)
    assert shown(page) != before
    page.keyboard.press("Escape")
    assert shown(page) == before
    assert "is back at 2 of 5" in page.text_content("#moves-said")
    drag(page, 0, 3)
    assert shown(page) != before
    page.keyboard.press("Escape")
    page.mouse.up()
    assert shown(page) == before


def test_d3_a_sample_rests_before_it_comes_in_another_modality(bench: Site) -> None:
    person = bench.hire()
    pids = take(bench, "week", person)
    tasks = [t for pid in pids for a in bench.rows("assignments", pid=pid) for t in bench.rows("tasks", id=a.task_id)]  # fmt: skip
    assert sorted(task.cluster for task in tasks) == ["sign", "tea"]  # one of the three forms of each
    end = lambda d, c: c.execute(tables().batches.update().values(state="complete"))  # noqa: E731
    bench.do(end)
    assert take(bench, "week", person) == []
    eight_days = 8 * 86_400
    a = tables().assignments
    bench.do(lambda d, c: c.execute(a.update().values(created_at=a.c.created_at - eight_days)))
    later = take(bench, "week", person)
    assert len(later) == 2
    assert not set(later) & set(pids)


def test_d4_nobody_names_other_orders_of_what_they_ordered(bench: Site) -> None:
    person, other = bench.hire(), bench.hire()
    assert take(bench, "both", person)
    assert take(bench, "again", person) == []
    assert take(bench, "again", other)
    assert take(bench, "image", other) == []  # nor the other way round


def test_d5_pictures_alone_tell_no_step(bench: Site, visit: Any) -> None:
    page, _, _ = opened(bench, visit, "image")
    html = page.content()
    for text in SIGN:
        assert text not in html
    alts = page.eval_on_selector_all(".reorder img", "all => all.map(one => one.alt)")
    assert alts == [f"step image {name}" for name in "ABCDE"]
    assert page.eval_on_selector_all(".reorder img", "all => all.every(one => one.naturalWidth === 90)")
    assert page.locator("[name=field-helped]").count() == 0


def test_d6_names_and_axe(bench: Site, visit: Any) -> None:
    for name in ("both", "image", "other", "again"):
        page, _, _ = opened(bench, visit, name)
        if name in ("other", "again"):
            page.click("#lane-add")
        else:
            assert grip(page, 2).get_attribute("aria-label").endswith(", 3 of 5")
        assert look_with_axe(page) == [], name
        page.set_viewport_size({"width": 320, "height": 640})  # C10
        assert page.evaluate("document.querySelector('main').scrollWidth") <= 320, name


def test_d7_a_reload_amid_a_drag_shows_the_last_dropped_order(bench: Site, visit: Any, wait_for: Any) -> None:
    page, pid, _ = opened(bench, visit, "both")
    grip(page, 0).focus()
    page.keyboard.press("2")
    dropped = shown(page)
    wait_for(lambda: bench.draft(pid).get("order") == dropped, what="the draft")
    drag(page, 0, 4)
    assert shown(page) != dropped
    page.reload()
    wait_for(lambda: shown(page) == dropped, what="the order that was dropped")


def test_d8_a_lane_that_is_there_is_refused(bench: Site, visit: Any) -> None:
    page, pid, _ = opened(bench, visit, "other")
    page.click("#lane-add")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#form-error")).to_contain_text("Order 1 is the authored one")
    page.locator(".lane .grip").nth(0).focus()
    page.keyboard.press("2")
    page.click("#lane-add")
    page.locator(".lane").nth(1).locator(".grip").nth(0).focus()
    page.keyboard.press("2")
    assert page.locator(".lane.twin").count() == 2
    page.keyboard.press("Control+Enter")
    expect(page.locator("#form-error")).to_contain_text("Order 2 is the same as order 1")
    page.locator(".lane").nth(1).get_by_text("Remove").click()
    page.click("#submit")
    page.wait_for_url("**/r/*")
    sheet = row(bench, pid)
    assert len(sheet["lanes"]) == 1
    page.goto(f"/w/{pid}")
    page.wait_for_selector(".lane")
    assert shown(page, ".lane .reorder") == sheet["lanes"][0]


def test_linked_neighbours_are_listed_as_they_are_kept(bench: Site, visit: Any) -> None:
    page, pid, _ = opened(bench, visit, "again")
    authored = shown(page, "#authored")
    page.check("[value=swaps]")
    for n in (0, 1, 3):
        page.locator("[name=swap]").nth(n).check()
    rows = page.locator("#follows li").all_text_contents()
    assert page.text_content("#follows p") == "5 orders follow:"
    page.check("[name=field-procedural][value=yes]")
    page.check("[name=field-complementary][value=no]")
    page.click("#submit")
    page.wait_for_url("**/r/*")
    kept = [" → ".join(str(authored.index(i) + 1) for i in lane) for lane in row(bench, pid)["lanes"]]
    assert kept == rows
    assert len(kept) == 5


def test_an_untouched_order_is_asked_about(bench: Site, visit: Any) -> None:
    page, pid, _ = opened(bench, visit, "text")
    page.check("[name=field-confidence][value='1']")
    page.click("#submit")
    assert "Keep this order?" in page.text_content("#form-error")
    page.check("[name=kept]")
    page.click("#submit")
    page.wait_for_url("**/r/*")
    assert row(bench, pid)["untouched"]


def test_a_picture_that_fails_is_said(bench: Site, visit: Any) -> None:
    person = bench.hire()
    (pid,) = take(bench, "image", person)
    context = visit.context(bench, person)
    context.route("**/picture?part=2", lambda route: route.abort())
    page = visit.open(context, f"/w/{pid}")
    assert "step image C does not load" in page.text_content(".no-picture")


def test_two_hundred_steps_answer_a_key_at_once(bench: Site, visit: Any) -> None:
    page, _, _ = opened(bench, visit, "long")
    grip(page, 0).focus()
    times = page.evaluate("""() => [" ", "ArrowDown", "End", "Home", "ArrowDown", " "].map(key => {
      const before = performance.now();
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
      document.body.offsetHeight;
      return performance.now() - before;
    })""")
    print("ms by key with 200 steps:", [round(t, 1) for t in times])
    assert len(shown(page)) == 200
    page.set_viewport_size({"width": 320, "height": 640})  # one step is a word of 10,000 letters
    assert page.evaluate("document.querySelector('main').scrollWidth") <= 320
    page.keyboard.type("150")
    page.wait_for_function("document.activeElement.getAttribute('aria-label').endsWith('150 of 200')")
