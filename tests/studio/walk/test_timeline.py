"""The timeline page on the real studio: frames, mistakes, dragging, narration (E1, E3, E4, E7), in every look and with 200 steps."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import look_with_axe
from tests.media.make_video import Recipe, make_video
from tests.patience import LOW_PRIORITY_PATIENCE, wait_until
from tests.studio.chromium import Chromium
from tests.studio.walk.conftest import Site, Visit

from proctor.records import canonical_json
from proctor.stages.studio import open_desk
from proctor.verify.desk import rounds
from proctor.verify.rounds.records import RoundSettings, Task
from proctor.verify.rounds.timeline import TimelineOptions, TimelineStep, TimelineTask

FRAMES = 600
STEPS = ("Rinse the zucchini", "Chop <half> of it", "Whisk the curd", "Mix")
NUMBER = """() => {
  const video = document.querySelector('#clip'), canvas = document.createElement('canvas');
  canvas.width = video.videoWidth; canvas.height = video.videoHeight;
  const looked = canvas.getContext('2d', {willReadFrequently: true});
  looked.drawImage(video, 0, 0);
  let found = 0;
  for (let bit = 0; bit < 10; bit++)
    if (looked.getImageData(Math.round((bit + .5) * Math.floor(canvas.width / 10)), Math.round(canvas.height / 4), 1, 1).data[0] > 128) found |= 1 << bit;
  return found;
}"""


def make_task(name: str = "a", **more: Any) -> Task:
    steps = tuple(TimelineStep(id=f"s{n}", text=text) for n, text in enumerate(STEPS, 1))
    values = {
        "recording": name, "title": "Cucumber raita", "duration_s": FRAMES / 30, "fps_num": 30, "fps_den": 1, "frames": FRAMES,
        "steps": steps, "before": (("s1", "s2"), ("s2", "s4"), ("s3", "s4")), "video": "a.mp4",
    }  # fmt: skip
    return Task(name=name, body=canonical_json(TimelineTask(**{**values, **more})))  # type: ignore[arg-type]


class Kitchen:
    """A studio with a round of timelines."""

    def __init__(self, site: Site) -> None:
        self.site = site

    @staticmethod
    def round(desk: Any, connection: Any, task: Task) -> Any:
        """Begin a round of one timeline."""
        return rounds.add_round(
            desk, connection, name=f"round {time.time_ns()}", kind="timeline", tasks=[task], settings=RoundSettings(),
            options=TimelineOptions(), actor="cli",
        )  # fmt: skip

    def task(self, **more: Any) -> tuple[Any, str]:
        """Somebody new with a timeline of their own; returns them and its address."""
        person = self.site.hire()
        added = self.site.do(self.round, make_task(**more))
        self.site.do(rounds.open_batch, added, person)
        (row,) = self.site.rows("assignments", person_id=person.id)
        return person, f"/w/{row.pid}"

    def sheet(self, address: str) -> dict[str, Any]:
        """What was submitted last."""
        row = self.site.responses(address.removeprefix("/w/"))[-1]
        return dict(json.loads(row.sheet))


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchen]:
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "videos").mkdir()
    (folder / "bench").mkdir()
    recipe = Recipe(times=range(FRAMES), b_frames=3, size=(320, 192), options={"preset": "ultrafast"})
    make_video(folder / "videos" / "a.mp4", recipe)
    with open_desk(folder / "bench", None) as desk:  # a studio of rounds alone needs no candidates
        desk.write(lambda c: Kitchen.round(desk, c, make_task())).result()
    site = Site(folder / "bench", videos=folder / "videos")
    yield Kitchen(site)
    site.close()


def ready(page: Any) -> Any:
    playable = "document.querySelector('#clip').readyState >= 2"
    wait_until(lambda: page.evaluate(playable), LOW_PRIORITY_PATIENCE, what="the clip")
    return page


def go(page: Any, frame: int) -> None:
    """Step to a frame by keys, and wait until it is shown."""
    page.evaluate("f => { document.querySelector('#clip').currentTime = (f + .5) / 30 }", frame)
    wait_until(lambda: page.text_content("#clip-frame") == str(frame), what=f"frame {frame}")


def start(kitchen: Kitchen, visit: Visit, **more: Any) -> tuple[Any, str]:
    person, address = kitchen.task(**more)
    return ready(visit.open(visit.context(kitchen.site, person), address)), address


def draft(kitchen: Kitchen, address: str) -> dict[str, Any]:
    return kitchen.site.draft(address.removeprefix("/w/"))


def press(page: Any, frame: int, *keys: str) -> None:
    go(page, frame)
    for key in keys:
        page.keyboard.press(key)


def test_e1_stored_frames_equal_the_picture(kitchen: Kitchen, visit: Visit) -> None:
    """I and O at frames 0, 1 and 599 of a clip with a burnt-in counter."""
    page, address = start(kitchen, visit)
    pressed = []
    for frame, key in ((0, "i"), (1, "o"), (1, "i"), (599, "o")):
        go(page, frame)
        pressed.append(page.evaluate(NUMBER))
        page.keyboard.press(key)
    assert pressed == [0, 1, 1, 599]
    for _ in range(2):
        page.keyboard.press("6")  # the other two are missing
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: address not in url)
    segments = kitchen.sheet(address)["segments"]
    found = [(s["step"], round(s["start_s"] * 30), round(s["end_s"] * 30)) for s in segments]
    assert found == [("s1", 0, 1), ("s2", 1, 599)]
    assert [s["end_s"] for s in segments] == [
        pytest.approx(1 / 30, abs=1e-6),
        pytest.approx(599 / 30, abs=1e-6),
    ]


def test_e3_two_tags_on_one_step_are_two_rows(kitchen: Kitchen, visit: Visit) -> None:
    page, address = start(kitchen, visit)
    press(page, 30, "i")
    press(page, 60, "o")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.dataset.tag") == "preparation"
    page.keyboard.press("1")
    page.keyboard.press("4")
    page.fill("#errors li:nth-child(1) textarea", "zucchini, not cucumber")
    page.fill("#errors li:nth-child(2) textarea", "with <b>cold</b> water; 1 i o")  # C9
    wait_until(lambda: len(draft(kitchen, address).get("errors", [])) == 2)
    wait_until(lambda: draft(kitchen, address)["errors"][1]["text"])
    errors = draft(kitchen, address)["errors"]
    assert [(e["step"], e["tag"], e["text"][:8]) for e in errors] == [
        ("s1", "preparation", "zucchini"),
        ("s1", "technique", "with <b>"),
    ]
    assert len(draft(kitchen, address)["segments"]) == 1
    page.keyboard.press("Escape")
    page.click("[data-tag=missing]")
    assert "remove its segments" in page.text_content("#marks-said")


def test_e4_dragging_a_boundary_has_a_numeric_twin(kitchen: Kitchen, visit: Visit) -> None:
    """The same end by the pointer, by the buttons and by typing."""
    page, address = start(kitchen, visit)
    press(page, 60, "i")
    press(page, 120, "o")
    page.click("#steps-list .time")
    wait_until(lambda: draft(kitchen, address).get("segments"))
    end = lambda: round(draft(kitchen, address)["segments"][0]["end_s"] * 30)  # noqa: E731
    box = page.locator("#zoom-bars [data-handle=end_s]").bounding_box()
    lane = page.locator("#zoom").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(lane["x"] + lane["width"] * 0.5, box["y"] + 5, steps=4)
    page.mouse.up()
    wait_until(lambda: abs(end() - 300) <= 2)
    wait_until(lambda: page.text_content("#clip-frame") == str(end()), what="the frame at the boundary")
    assert page.text_content("#end_s-frame") == f"frame {end()}"
    page.fill("#end_s", "f180")
    page.keyboard.press("Enter")
    page.click("[data-nudge='1'][data-side=end_s]")
    wait_until(lambda: end() == 181)
    page.fill("#end_s", "0:07.5")
    page.keyboard.press("Tab")
    wait_until(lambda: end() == 225)
    page.fill("#end_s", "nonsense")
    page.keyboard.press("Tab")
    assert "written as" in page.text_content("#marks-said")
    page.fill("#start_s", "9")  # after the end
    page.keyboard.press("Tab")
    assert page.input_value("#start_s") == "0:02.000"
    assert end() == 225


@pytest.fixture(scope="module")
def microphone() -> Iterator[Any]:
    """A Chromium whose microphone is a beep."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = Chromium(
            playwright, ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required")
        )  # fmt: skip
        yield browser
        browser.close()


def test_e7_narration_survives_a_lost_network(kitchen: Kitchen, microphone: Any, tmp_path: Path) -> None:
    """The clip is in IndexedDB first, and later once on the server."""
    visit = Visit(microphone)
    person, address = kitchen.task()
    context = visit.context(kitchen.site, person)
    context.grant_permissions(["microphone"])
    page = ready(visit.open(context, address))
    go(page, 90)
    context.set_offline(True)
    page.keyboard.down("n")
    wait_until(lambda: page.get_attribute("#record", "aria-pressed") == "true")
    page.wait_for_timeout(700)
    page.keyboard.up("n")
    wait_until(lambda: "waiting" in (page.text_content("#save-chip") or ""))
    stored = """() => new Promise((done) => { const open = indexedDB.open('proctor-studio'); open.onsuccess = () => {
      const all = open.result.transaction('clips').objectStore('clips').getAll();
      all.onsuccess = () => { done(all.result.map((c) => [c.key, c.bytes.byteLength, c.type])); open.result.close(); } } })"""
    ((name, size, kind),) = page.evaluate(stored)
    assert (size > 500, kind) == (True, "audio/webm")
    assert page.text_content("#narrations li .muted").endswith("on this device")
    assert page.text_content("#clip-frame") == "90"
    page.fill("#narrations textarea", "Now comes the curd")
    folder = kitchen.site.root / "studio" / "narrations" / address.removeprefix("/w/")
    assert not folder.exists()
    context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    wait_until(lambda: [p.stat().st_size for p in folder.glob("*")] == [size], what="the sound on the server")
    wait_until(lambda: page.evaluate(stored) == [])
    wait_until(lambda: page.text_content("#narrations li .muted").endswith("sent"))
    (said,) = wait_until(lambda: draft(kitchen, address).get("narrations"))
    assert (said["id"], said["video_s"], said["text"]) == (name, 3.0, "Now comes the curd")
    again = page.evaluate(
        """async ([path, name]) => { const sound = await (await fetch(`${path}/narration/${name}`)).arrayBuffer();
        const put = (bytes) => fetch(`${path}/narration/${name}`, {method: 'PUT', body: bytes, headers: {'Content-Type': 'audio/webm'}});
        return [(await (await put(sound)).json()).again, (await put(sound.slice(0, 300))).status]; }""",
        [address, name],
    )
    assert again == [True, 422]  # once, and never overwritten
    assert len(list(folder.glob("*"))) == 1
    microphone.shut(context)


def test_an_empty_narration_is_not_kept(kitchen: Kitchen, microphone: Any) -> None:
    """A key that is let go at once, and a page that is left in the middle."""
    visit = Visit(microphone)
    person, address = kitchen.task()
    page = ready(visit.open(visit.context(kitchen.site, person, permissions=["microphone"]), address))
    page.keyboard.press("n")
    wait_until(lambda: re.search("Too short|ready", page.text_content("#marks-said")))
    page.click("#record")  # a click begins, and a click ends
    wait_until(lambda: page.get_attribute("#record", "aria-pressed") == "true")
    page.keyboard.press("Control+Enter")
    assert "being recorded" in page.text_content("#form-error")
    page.wait_for_timeout(500)
    page.click("#record")
    wait_until(lambda: page.locator("#narrations li").count() == 1)
    page.click("[data-act=hear]")
    page.click("#narrations [data-act=drop]")
    assert page.locator("#narrations li").count() == 0
    page.click(".toast-action")
    assert page.locator("#narrations li").count() == 1
    microphone.shut(page.context)


def test_an_order_mistake_is_proposed_and_decided(kitchen: Kitchen, visit: Visit) -> None:
    """Proposed if the graph is violated; nothing is submitted before somebody said whether it is one."""
    page, address = start(kitchen, visit)
    for frame, keys in (
        (300, "i"),
        (330, "o"),
        (30, "i"),
        (60, "o"),
        (400, "i"),
        (430, "o"),
        (420, "i"),
        (500, "o"),
    ):
        press(page, frame, keys)
    page.wait_for_selector(".proposal")
    assert "Order? Step 2 Chop <half> of it began before step 1" in page.text_content(".proposal")
    # The server says them: two gaps, an overlap.
    wait_until(lambda: page.locator("#notes li").count() == 4, what="the notes")
    page.click("#submit")
    wait_until(lambda: "order mistake" in page.text_content("#form-error"))
    page.click(".proposal [data-act=to]")
    wait_until(lambda: page.text_content("#clip-frame") == "30")
    page.click(".proposal [data-act=confirm]")
    wait_until(lambda: page.locator(".proposal").count() == 0)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: address not in url)
    (error,) = kitchen.sheet(address)["errors"]
    assert (error["step"], error["tag"], error["origin"]) == ("s2", "order", "auto")


def test_a_mark_is_of_the_frame_shown_though_the_browsers_own_controls_overtook_a_step(
    kitchen: Kitchen, visit: Visit
) -> None:
    """A step that is on its way, and one that waits for an earlier seek."""
    page, _ = start(kitchen, visit)
    for n in range(8):
        go(page, 60 + n)
        page.evaluate(
            """frame => {
              if (frame % 2) document.querySelector("#clip").currentTime = 4;
              document.body.dispatchEvent(new KeyboardEvent("keydown", {key: ".", bubbles: true}));
              document.querySelector("#clip").currentTime = (frame + .5) / 30;
            }""",
            240 + n,
        )
        wait_until(lambda n=n: page.text_content("#clip-frame") == str(240 + n), what="the frame")
        page.wait_for_function("!document.querySelector('#clip').seeking")
        page.keyboard.press("i")
        assert page.text_content("#marks-said") == f"Start 0:0{(240 + n) / 30:.3f}: 1 {STEPS[0]}."


def test_the_frame_is_known_though_the_browser_does_not_tell_it(kitchen: Kitchen, visit: Visit) -> None:
    """Chromium leaves out the callback of a frame that comes while that of another is at work."""
    page, _ = start(kitchen, visit)
    page.evaluate("document.querySelector('#clip').requestVideoFrameCallback = () => 0")
    for frame in (100, 300):  # one callback may still be on its way
        go(page, frame)
    page.keyboard.press(".")
    wait_until(lambda: page.text_content("#clip-frame") == "301", what="the next frame")
    page.keyboard.press("i")
    assert page.text_content("#marks-said") == f"Start 0:10.033: 1 {STEPS[0]}."
    page.evaluate("document.querySelector('#clip').currentTime = 1e6")  # the end
    wait_until(lambda: page.text_content("#clip-frame") == str(FRAMES - 1), what="the last frame")


def test_segments_are_split_removed_and_reviewed(kitchen: Kitchen, visit: Visit) -> None:
    page, _ = start(kitchen, visit)
    press(page, 60, "Shift+I")
    press(page, 240, "Shift+O", "ArrowUp")
    press(page, 120, "s")
    assert page.locator("#step-s1 .time").count() == 2
    page.click("#step-s1 .time >> nth=1")
    press(page, 150, "i")  # moves it: a pause
    assert "0:05.000 – 0:08.000" in page.text_content("#step-s1 .times")
    page.keyboard.press("Delete")
    assert page.locator("#step-s1 .time").count() == 1
    page.click(".toast-action")
    assert page.locator("#step-s1 .time").count() == 2
    page.keyboard.press("ArrowDown")
    page.keyboard.press("o")
    assert "Mark the start first" in page.text_content("#marks-said")
    page.keyboard.press("r")
    wait_until(lambda: "Boundary 2 of 4" in page.text_content("#marks-said"), what="the second boundary")
    page.keyboard.press("r")
    assert page.text_content("#marks-said") == "Review ended."
    assert page.evaluate("document.querySelector('#clip').paused")


def test_actions_have_a_lane_of_their_own(kitchen: Kitchen, visit: Visit) -> None:
    page, address = start(kitchen, visit)
    page.keyboard.press("a")
    press(page, 30, "i")
    press(page, 75, "o")
    page.keyboard.type("cut")  # the verb has the focus
    page.keyboard.press("Tab")
    page.keyboard.type("zucchini")
    (action,) = wait_until(
        lambda: [a for a in draft(kitchen, address).get("actions", []) if a["noun"] == "zucchini"]
    )
    assert (action["verb"], action["start_s"], action["end_s"], action["source"], action["step"]) == (
        "cut",
        1.0,
        2.5,
        "manual",
        "s1",
    )
    assert page.get_attribute("#verbs option", "value") == "cut"
    second = page.context.new_page()  # C5
    second.goto(address)
    second.wait_for_selector("#readonly-banner")
    second.keyboard.press("i")
    assert "only be read" in second.text_content("#marks-said")
    assert second.locator("#steps-list .time").count() == 0
    assert second.is_disabled("#actions input >> nth=0")


def test_two_hundred_steps_stay_usable(kitchen: Kitchen, visit: Visit) -> None:
    """Each key answers within a tenth of a second, and a word of 10,000 characters breaks nothing."""
    steps = [TimelineStep(id=f"s{n}", text=f"Step number {n}") for n in range(1, 200)]
    page, _ = start(kitchen, visit, steps=(*steps, TimelineStep(id="s200", text="x" * 10_000)), before=())
    spent = page.evaluate("""() => {
      const times = [], press = (key) => { const at = performance.now();
        document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); times.push(performance.now() - at); };
      for (let n = 0; n < 60; n++) press('ArrowDown');
      return times.sort((a, b) => a - b)[Math.floor(times.length * .95)]; }""")
    assert spent < 100
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.text_content("#steps-list [aria-current]").startswith("▶ 61")
    assert page.locator("#steps-list [aria-current]").is_visible()


def test_c7_axe_finds_nothing(kitchen: Kitchen, visit: Visit) -> None:
    page, _ = start(kitchen, visit)
    for frame, key in ((30, "i"), (90, "o"), (60, "i"), (200, "o")):
        press(page, frame, key)
    page.click("#steps-list .time >> nth=0")
    page.keyboard.press("2")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert look_with_axe(page) == []
    page.set_viewport_size({"width": 320, "height": 700})  # C10
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
