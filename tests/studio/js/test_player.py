"""The clip: exact frames, one connection, faults; and steps that are one with it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.patience import wait_until


def ready(page: Any) -> None:
    page.wait_for_selector("#clip")
    wait_until(lambda: page.evaluate("document.getElementById('clip').readyState") >= 2, what="the clip")


def frame_is(page: Any, frame: int) -> None:
    """The frame shown is told by the browser (``mediaTime``), and the picture is that frame's grey."""
    page.wait_for_selector(f"#clip-frame:text-is('{frame}')")
    grey = page.evaluate("""() => { const c = document.createElement('canvas'); c.width = 64; c.height = 48;
        const g = c.getContext('2d'); g.drawImage(document.getElementById('clip'), 0, 0); return g.getImageData(32, 24, 1, 1).data[0]; }""")
    assert abs(grey - 2 * frame) <= 3, f"picture {grey} is not frame {frame}"


@pytest.fixture
def page(studio: Any) -> Any:
    found = studio.open(studio.context())
    ready(found)
    return found


def test_stepping_is_exact_to_the_frame(page: Any) -> None:
    page.click("[data-player=nextframe]")
    frame_is(page, 1)
    page.keyboard.press(".")
    frame_is(page, 2)
    page.keyboard.press("Shift+>")
    frame_is(page, 12)
    page.keyboard.press("Shift+<")
    frame_is(page, 2)
    page.keyboard.press(",")
    frame_is(page, 1)
    for _ in range(5):
        page.keyboard.press(",")
    frame_is(page, 0)


def test_presses_during_a_seek_add_up(page: Any) -> None:
    page.evaluate(
        "() => { for (let n = 0; n < 37; n += 1) document.querySelector('[data-player=nextframe]').click(); }"
    )
    frame_is(page, 37)


def test_the_last_frame_is_the_last(page: Any) -> None:
    page.keyboard.press("l")
    page.keyboard.press("l")
    for _ in range(3):
        page.keyboard.press(".")
    frame_is(page, 119)
    page.keyboard.press("Home")
    frame_is(page, 0)


def test_keys_play_pause_speed_and_sound(page: Any) -> None:
    state = (
        "(() => { const v = document.getElementById('clip'); return [v.paused, v.playbackRate, v.muted]; })()"
    )
    page.keyboard.press("]")
    page.keyboard.press("]")
    page.keyboard.press("[")
    page.keyboard.press("m")
    assert page.evaluate(state) == [True, 1.25, False]
    page.keyboard.press("m")
    page.keyboard.press("k")
    page.wait_for_selector("[data-player=play][aria-pressed=true]")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-player=play][aria-pressed=false]")
    page.reload()
    ready(page)
    assert page.evaluate(state)[1] == 1.25


def test_space_plays_after_a_verdict_by_key_and_presses_a_button_in_focus(page: Any) -> None:
    page.keyboard.press("y")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-player=play][aria-pressed=true]")
    page.keyboard.press("k")
    page.wait_for_selector("[data-player=play][aria-pressed=false]")
    page.focus("#cant-open")
    page.keyboard.press("Space")
    page.wait_for_selector("#cant-dialog[open]")
    assert page.evaluate("document.getElementById('clip').paused")


@pytest.mark.parametrize("how", ["list", "graph", "graph by key", "list by key"])
def test_choosing_a_step_seeks_to_its_start(page: Any, how: str) -> None:
    if how == "list":
        page.click("#steps [data-step=s2] button")
    elif how == "graph":
        page.click("svg [data-step=s2]")
    elif how == "graph by key":
        page.focus("svg [data-step=s2]")
        page.keyboard.press("Enter")
    else:
        page.focus("#steps [data-step=s2] button")
        page.keyboard.press("Space")
    page.wait_for_selector("#clip-time:text-matches('0:0(2.000|1.9)')")
    assert page.evaluate("document.getElementById('clip').currentTime") == pytest.approx(2.0)
    assert page.locator(".is-now").count() == 2
    assert page.get_attribute("svg [data-step=s2]", "aria-current") == "step"


def test_the_list_of_steps_follows_the_clip_as_it_plays(page: Any) -> None:
    page.evaluate("""() => { const list = document.getElementById('steps'), box = document.createElement('div');
        box.className = 'steps-scroll'; list.replaceWith(box); box.append(list); box.style = 'height: 40px; overflow: auto';
        for (const row of list.children) row.style.height = '90px'; }""")
    seen = "[document.querySelector('.steps-scroll').scrollTop > 50, document.querySelector('#steps .is-now')?.dataset.step]"
    page.mouse.move(0, 0)
    page.keyboard.press("Space")
    wait_until(lambda: page.evaluate(seen) == [False, "s1"], what="the first step")
    wait_until(lambda: page.evaluate(seen) == [True, "s2"], what="the second step, in view")


def test_a_step_lights_up_everywhere(page: Any) -> None:
    lit = "[...document.querySelectorAll('.is-lit')].map(e => e.tagName + e.dataset.step)"
    page.hover("svg [data-step=s1]")
    assert page.evaluate(lit) == ["gs1", "LIs1"]
    assert page.get_attribute("#clip-panel", "data-lit-step") == "s1"
    page.hover("#steps [data-step=s2]")
    assert page.evaluate(lit) == ["gs2", "LIs2"]
    page.hover("#sheet")
    assert page.evaluate(lit) == []
    page.focus("svg [data-step=s1]")
    assert page.evaluate(lit) == ["gs1", "LIs1"]


def test_leaving_drops_the_connection(page: Any) -> None:
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    assert page.get_attribute("#clip", "src") is None
    assert not page.is_visible("#clip-problem")


def test_a_broken_clip_says_so_and_can_be_tried_again(studio: Any, desk: Any) -> None:
    desk.fault("/clip.mp4", status=503)
    page = studio.open(studio.context())
    page.wait_for_selector("#clip-problem:not([hidden])")
    assert page.get_attribute("#clip", "src") is None
    page.check("#question-card input[value=wrong]")  # the rest of the page works
    desk.set(faults=[])
    page.click("[data-player=retry]")
    ready(page)
    page.wait_for_selector("#clip-problem", state="hidden")


def test_a_clip_that_is_being_cut_is_waited_for(studio: Any, desk: Any) -> None:
    desk.fault("/clip.mp4", status=503, headers={"Retry-After": "1"})
    page = studio.open(studio.context())
    page.wait_for_selector("#clip-making:not([hidden]):has-text('40 %')")
    assert not page.is_visible("#clip-problem")
    desk.set(faults=[])
    ready(page)  # by itself
    page.wait_for_selector("#clip-making", state="hidden")
    assert not page.is_visible("#clip-problem")


def test_a_clip_that_is_finished_before_it_is_asked_for_again_plays(studio: Any, desk: Any) -> None:
    desk.fault("/clip.mp4", status=503, headers={"Retry-After": "1"}, times=1)
    page = studio.open(studio.context())
    ready(page)
    assert not page.is_visible("#clip-problem")


def test_a_clip_that_breaks_off_goes_on_where_it_was(page: Any) -> None:
    clip = "document.getElementById('clip')"
    page.keyboard.press("k")
    wait_until(lambda: page.evaluate(f"{clip}.currentTime") > 0.5, what="half a second")
    loads = f"{clip}.addEventListener('emptied', () => {{ window.emptied = true; }})"
    page.evaluate(f"{loads}; {clip}.dispatchEvent(new Event('error'))")
    on = f"window.emptied && (!{clip}.paused || {clip}.ended) && {clip}.currentTime >= 0.5 && {clip}.src.slice(-8)"
    wait_until(lambda: page.evaluate(on) == "?again=1", what="that it plays on")
    assert not page.is_visible("#clip-problem")


def test_rates_and_times_are_read_and_written_as_people_do(studio: Any) -> None:
    page = studio.open(studio.context(), "/")
    rates, times = page.evaluate("""async () => { const m = await import('/static/v1/js/player.js'); return [
        ['30000/1001', '25', undefined, 'x', '0', '1/0', '-3'].map(m.parseRate), [0, 1.0014, 61.5, 599.9996, 3600].map(m.clockText)]; }""")
    assert rates == [pytest.approx(29.97003), 25, 30, 30, 30, 30, 30]
    assert times == ["0:00.000", "0:01.001", "1:01.500", "10:00.000", "60:00.000"]
