"""Recording on a tablet, with a camera that Chromium makes up: R1, R2, R4 to R8, and the page in every look."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import DEPENDS_ON_LOOK, run_axe
from tests.patience import wait_until
from tests.studio.chromium import Chromium
from tests.studio.walk.conftest import Site, Visit

from proctor.capture.records import Hint, PlannedMistake, Script, ScriptStep, Slot
from proctor.records import canonical_json, read_jsonl
from proctor.stages.studio import open_desk
from proctor.studio.slices import INDEX, SliceRow, list_parts
from proctor.verify.desk import rounds
from proctor.verify.rounds.record import CHECKS, RecordOptions, RecordTask
from proctor.verify.rounds.records import RoundSettings, Task

STEPS = ("Rinse the <b>zucchini</b>", "Chop half of it into cubes", "Whisk the curd", "Mix")
FLAGS = (
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required",
)  # fmt: skip


def make_task(name: str, *, participant: str = "", strategy: str = "induced") -> Task:
    steps = tuple(ScriptStep(step=f"s{n}", text=text) for n, text in enumerate(STEPS, 1))
    script = Script(
        id=f"raita-{strategy}-1", activity="raita", title="Cucumber raita", strategy=strategy, steps=steps, left_out=("s5",),  # type: ignore[arg-type]
        mistakes=(PlannedMistake(step="s2", kind="measurement", text="a quarter, not half"), PlannedMistake(step="s5", kind="missing")),
        hints=(Hint(step="s3", kind="technique", text="whisk with a spoon", by="table"),), items=("zucchini", "curd"),
    )  # fmt: skip
    slot = Slot(
        id=name,
        script=script.id,
        activity="raita",
        participant=participant,
        environment="kitchen-1",
        strategy=strategy,
    )  # type: ignore[arg-type]
    body = RecordTask(slot=slot, script=script, left_out={"s5": "Salt it"})
    return Task(name=name, body=canonical_json(body), group=name, stratum="raita")  # type: ignore[arg-type]


class Kitchen:
    """A studio with rounds of recordings."""

    def __init__(self, site: Site) -> None:
        self.site = site

    @staticmethod
    def round(desk: Any, connection: Any, tasks: list[Task], options: RecordOptions) -> Any:
        return rounds.add_round(
            desk, connection, name=f"round {time.time_ns()}", kind="record", tasks=tasks, actor="cli", options=options,
            settings=RoundSettings(wanted=1, batch=1),
        )  # fmt: skip

    def task(self, **more: Any) -> tuple[Any, str]:
        """Somebody new with a recording of their own; returns them and its address."""
        person = self.site.hire()
        options = RecordOptions(**{"countdown_s": 0, **more})
        added = self.site.do(self.round, [make_task(f"r{time.time_ns()}")], options)
        self.site.do(rounds.open_batch, added, person)
        (row,) = self.site.rows("assignments", person_id=person.id)
        return person, f"/w/{row.pid}"

    def sheet(self, address: str) -> dict[str, Any]:
        """What was submitted last, or the draft."""
        rows = self.site.responses(address.removeprefix("/w/"))
        return dict(json.loads(rows[-1].sheet)) if rows else self.site.draft(address.removeprefix("/w/"))

    def parts(self, address: str) -> dict[str, list[Path]]:
        return list_parts(self.site.root / "studio", address.removeprefix("/w/"))


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchen]:
    root = tmp_path_factory.mktemp("recordings") / "bench"
    root.mkdir()
    with open_desk(root, None) as desk:
        desk.write(lambda c: Kitchen.round(desk, c, [make_task("first")], RecordOptions())).result()
    site = Site(root)
    yield Kitchen(site)
    site.close()


@pytest.fixture(scope="module")
def tablet() -> Iterator[Any]:
    """A Chromium with a camera and a microphone that it makes up."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = Chromium(playwright, FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(tablet: Any) -> Iterator[Visit]:
    found = Visit(tablet)
    yield found
    for context in found.contexts:
        tablet.shut(context)
    assert found.problems == []


def open_(visit: Visit, kitchen: Kitchen, person: Any, address: str, **options: Any) -> Any:
    script = options.pop("script", "")
    context = visit.context(kitchen.site, person, **{"viewport": {"width": 1024, "height": 768}, **options})
    if script:
        context.add_init_script(script)
    context.grant_permissions(["camera", "microphone"])
    return visit.open(context, address)


def begin(page: Any) -> None:
    """Confirm the list, and record until something was kept."""
    page.wait_for_selector("body[data-offline]")
    for name in CHECKS:
        page.check(f"input[value={name}]")
    page.click("[data-act=begin]")
    page.wait_for_selector("body[data-stage=record] #done:not([disabled])")


def events(kitchen: Kitchen, address: str, kind: str) -> list[dict[str, Any]]:
    return [e for e in kitchen.sheet(address).get("events", []) if e["kind"] == kind]


def hold_stop(page: Any) -> None:
    page.locator("#stop").hover()
    page.mouse.down()
    page.wait_for_selector("body[data-stage=review]")
    page.mouse.up()


def waiting(page: Any) -> int:
    """Slices that are on the tablet."""
    return int(
        page.evaluate("""() => new Promise((done) => {
      const opening = indexedDB.open('proctor-studio');
      opening.onsuccess = () => {
        const counting = opening.result.transaction('slices').objectStore('slices').count();
        counting.onsuccess = () => { opening.result.close(); done(counting.result); };
      };
    })""")
    )


def test_r1_the_whole_flow_without_a_network_from_step_two(kitchen: Kitchen, visit: Visit) -> None:
    """At the end the server has every slice that the tablet made, with the tablet's hashes."""
    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address)
    page.fill("#script li:nth-child(3) textarea", "Whisk the curd with a fork")
    page.click("#script li:nth-child(3) > button")
    page.select_option("#script li:nth-child(3) select", "technique")
    page.fill("#script li:nth-child(3) .mistake input", "a fork")
    begin(page)
    page.keyboard.press("Space")
    page.wait_for_selector("#step-count:has-text('2 of 4')")
    page.context.set_offline(True)
    page.keyboard.press("o")
    page.click("#done")
    page.wait_for_selector("#step-count:has-text('3 of 4')")
    page.keyboard.press("PageDown")
    wait_until(lambda: waiting(page) >= 4, what="slices that wait on the tablet")
    page.click("#done")
    page.wait_for_selector("#step-now:has-text('All steps are done')")
    hold_stop(page)
    page.click("#review-s2 label:has-text('Differently')")
    page.click("[data-act=rest]")
    page.fill("#review-s2 .mistake input", "too small")
    page.click("#submit")
    page.context.set_offline(False)
    page.wait_for_url(lambda url: "/r/" in url)
    sheet = kitchen.sheet(address)
    made = sheet["slices"]["tablet-1"]
    assert made >= 5
    wait_until(lambda: len(kitchen.parts(address)["tablet-1"]) == made, what="every slice")
    folder = kitchen.parts(address)["tablet-1"][0].parent
    rows = read_jsonl(folder / INDEX, SliceRow)
    assert [hashlib.sha256((folder / f"{r.seq:06d}.webm").read_bytes()).hexdigest() for r in rows] == [
        r.sha256 for r in rows
    ]
    assert [r.seq for r in rows] == list(range(1, made + 1))
    kinds = [
        (e["kind"], e.get("step", ""))
        for e in sheet["events"]
        if e["kind"] not in ("clock", "mark", "sensor")
    ]
    assert kinds == [
        ("state", ""), ("clap", ""), ("step_start", "s1"), ("step_done", "s1"), ("step_start", "s2"), ("oops", "s2"),
        ("step_done", "s2"), ("step_start", "s3"), ("step_done", "s3"), ("step_start", "s4"), ("step_done", "s4"), ("state", ""),
    ]  # fmt: skip
    assert [e["n"] for e in sheet["events"]] == list(range(len(sheet["events"])))
    assert sheet["texts"] == {"s3": "Whisk the curd with a fork"}
    review = {r["step"]: r for r in sheet["review"]}
    assert review["s2"]["mistakes"] == [
        {"step": "s2", "kind": "other", "text": "too small", "origin": "live"}
    ]
    assert review["s3"]["mistakes"] == [
        {"step": "s3", "kind": "technique", "text": "a fork", "origin": "script"}
    ]
    assert (review["s5"]["done"], review["s1"]) == (False, {"step": "s1"})


def test_r2_a_reload_without_a_network_goes_on_with_the_same_session(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address)
    begin(page)
    page.click("#done")
    page.wait_for_selector("#step-count:has-text('2 of 4')")
    wait_until(lambda: len(kitchen.parts(address).get("tablet-1", [])) >= 1, what="a slice")
    page.context.set_offline(True)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.wait_for_selector("#step-count:has-text('2 of 4')")
    page.wait_for_selector("#alarm:has-text('loaded again')")
    assert page.text_content("#rec") == "● REC"
    wait_until(lambda: waiting(page) >= 1, what="a slice of the second part")
    page.context.set_offline(False)
    hold_stop(page)
    wait_until(
        lambda: [e["text"] for e in events(kitchen, address, "state")] == ["recording", "resumed", "stopped"]
    )
    (gap,) = events(kitchen, address, "gap")
    assert gap["start_ns"] < gap["end_ns"]
    clocks = [e["clock"] for e in events(kitchen, address, "state")]
    assert len(set(clocks)) == 2
    sheet = kitchen.sheet(address)
    wait_until(
        lambda: all(
            len(kitchen.parts(address).get(part, [])) >= n  # one may be kept, and not counted, as a page goes
            for part, n in kitchen.sheet(address)["slices"].items()
        ),
        what="every slice",
    )
    assert set(sheet["slices"]) == {"tablet-1", "tablet-2"}


def test_r4_stopping_needs_a_hold(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task(streams=())
    page = open_(visit, kitchen, person, address)
    begin(page)
    assert page.text_content("#rec") == "● steps only"
    page.click("#stop")
    page.wait_for_selector("#stop-said:has-text('whole second')")
    page.keyboard.press("Escape")
    assert page.get_attribute("body", "data-stage") == "record"
    page.keyboard.down("Escape")
    page.wait_for_selector("body[data-stage=review]")
    page.keyboard.up("Escape")
    wait_until(lambda: [e["text"] for e in events(kitchen, address, "state")] == ["recording", "stopped"])
    assert kitchen.parts(address) == {}


QUOTA = """
  window.left = 1e9;
  navigator.storage.estimate = async () => ({ quota: window.left, usage: 0 });
  window.battery = { charging: false, level: 0.9 };
  navigator.getBattery = async () => window.battery;
"""


def test_r5_little_room_warns_and_then_ends_it_cleanly(
    kitchen: Kitchen, visit: Visit, tmp_path: Path
) -> None:
    """What was recorded by then can be played, and its length is known."""
    import av

    from proctor.stages.rounds import record
    from proctor.verify.desk import rounds as desk_rounds
    from proctor.workspace import Workspace

    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address, script=QUOTA)
    begin(page)
    page.evaluate("window.left = 9 * 19.5e6")
    page.wait_for_selector("#alarm:has-text('room for')")
    page.evaluate("window.left = 1.5 * 19.5e6")
    page.wait_for_selector("body[data-stage=review]")
    assert "no room" in page.text_content("#why-stopped")
    page.click("[data-act=rest]")
    page.click("#submit")
    page.wait_for_url(lambda url: "/r/" in url)
    sheet = kitchen.sheet(address)
    assert [e["text"] for e in sheet["events"] if e["kind"] == "state"] == ["recording", "stopped"]
    wait_until(
        lambda: len(kitchen.parts(address)["tablet-1"]) == sheet["slices"]["tablet-1"], what="every slice"
    )
    (row,) = kitchen.site.rows("assignments", pid=address.removeprefix("/w/"))
    round_, _ = kitchen.site.desk.read(lambda c: desk_rounds.round_of_task(c, row.task_id))
    readings = kitchen.site.desk.read(lambda c: list(desk_rounds.read_readings(c, round_)))
    (folder,) = record.collect(Workspace(kitchen.site.root), round_, readings, tmp_path).files
    with av.open(str(folder / "raw" / "tablet-1" / "tablet-1.webm")) as video:
        assert {s.type for s in video.streams} == {"video", "audio"}
        seconds = video.duration / av.time_base
        first = next(e for e in sheet["events"] if e.get("text") == "began")["device_ns"]
        last = sheet["events"][-1]["device_ns"]
        assert abs(seconds - (last - first) / 1e9) < 2
        assert sum(1 for _ in video.decode(video=0)) > 10


def test_a_low_battery_warns_and_then_ends_it_cleanly(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task(streams=())
    page = open_(visit, kitchen, person, address, script=QUOTA)
    begin(page)
    page.evaluate("window.battery.level = 0.14")
    page.wait_for_selector("#alarm:has-text('14 %')")
    page.evaluate("window.battery.level = 0.04")
    page.wait_for_selector("body[data-stage=review]")
    wait_until(lambda: "the battery is empty" in [e["text"] for e in events(kitchen, address, "warning")])


def test_r6_a_second_tablet_looks_on_until_it_takes_over(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task(streams=())
    first = open_(visit, kitchen, person, address)
    begin(first)
    first.click("#done")
    wait_until(lambda: events(kitchen, address, "step_done"))
    second = open_(visit, kitchen, person, address)
    second.wait_for_selector("#lease:not([hidden])")
    assert second.is_disabled("#done")
    kitchen.site.kill()  # whose it is, is on the disk
    kitchen.site.start()
    third = open_(visit, kitchen, person, address)
    third.wait_for_selector("#lease:not([hidden])")
    assert len(events(kitchen, address, "state")) == 1
    third.click("[data-act=take]")
    third.wait_for_selector("#step-count:has-text('2 of 4')")
    third.wait_for_selector("#done:not([disabled])")
    first.wait_for_selector("#lease:not([hidden])")
    wait_until(lambda: [e["text"] for e in events(kitchen, address, "state")] == ["recording", "resumed"])


def test_r7_a_review_keeps_the_plan(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task(streams=())
    page = open_(visit, kitchen, person, address)
    before = [bytes(row.body, "utf-8") for row in kitchen.site.rows("tasks")]
    page.fill("#script li:nth-child(1) textarea", "Peel it")
    begin(page)
    page.click("#done")
    hold_stop(page)
    page.click("#review-s2 label:has-text('Differently')")
    page.fill("#review-s2 textarea", "cut it in half only")
    page.click("#review-s2 button:has-text('Add a mistake')")
    page.select_option("#review-s2 select", "timing")
    page.click("[data-act=rest]")
    page.click("#review-s4 label:has-text('Differently')")
    page.click("#review-s4 label:has-text('It was not done')")
    page.click("#submit")
    page.wait_for_url(lambda url: "/r/" in url)
    sheet = kitchen.sheet(address)
    review = {r["step"]: r for r in sheet["review"]}
    assert review["s2"] == {
        "step": "s2", "as_planned": False, "performed": "cut it in half only", "mistakes": [{"step": "s2", "kind": "timing"}],
    }  # fmt: skip
    assert (review["s4"]["done"], review["s4"]["as_planned"]) == (False, False)
    assert review["s1"] == {"step": "s1"}
    assert sheet["texts"] == {"s1": "Peel it"}
    assert sheet["planned"] == []
    assert [bytes(row.body, "utf-8") for row in kitchen.site.rows("tasks")] == before


def test_r8_somebody_elses_recording_is_not_there(kitchen: Kitchen) -> None:
    import httpx

    (_, address), other = kitchen.task(), kitchen.site.hire()
    headers = {
        "Cookie": f"{kitchen.site.cookie}={kitchen.site.token(other)}",
        "Origin": kitchen.site.url,
        "Sec-Fetch-Site": "same-origin",
    }
    with httpx.Client(base_url=kitchen.site.url, headers=headers) as client:
        for method, path, body in (
            ("GET", "", {}), ("GET", "/state", {}), ("GET", "/clock", {}), ("POST", "/lease", {"json": {"client": "x" * 12}}),
            ("POST", "/recorder", {"json": {"client": "x" * 12, "verb": "start"}}),
            ("PUT", "/slice/tablet-1/1", {"content": b"\x1a\x45\xdf\xa3", "headers": {"Content-Type": "video/webm"}}),
        ):  # fmt: skip
            assert client.request(method, f"{address}{path}", **body).status_code == 404, path
    assert kitchen.parts(address) == {}


def test_what_was_missed_in_the_background_is_a_gap(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address)
    begin(page)
    look = "s => { Object.defineProperty(document, 'visibilityState', { value: s, configurable: true }); document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(look, "hidden")
    page.evaluate(look, "visible")
    page.wait_for_selector("#alarm:has-text('in the background')")
    wait_until(lambda: events(kitchen, address, "gap"))
    (gap,) = events(kitchen, address, "gap")
    assert (gap["text"], gap["start_ns"] <= gap["end_ns"]) == ("in the background", True)
    page.evaluate(
        "document.querySelector('#preview').srcObject.getVideoTracks()[0].dispatchEvent(new Event('ended'))"
    )
    wait_until(lambda: [e["text"] for e in events(kitchen, address, "sensor")] == ["began", "camera ended"])
    assert page.get_attribute("body", "data-stage") == "record"  # what is lost is noted, and the rest goes on
    wait_until(lambda: events(kitchen, address, "clock"))
    assert {"host_ns", "device_ns", "rtt_ns"} <= set(events(kitchen, address, "clock")[0])


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("Object.defineProperty(window, 'isSecureContext', { value: false }); Object.defineProperty(navigator, 'serviceWorker', { value: undefined });", "no https"),
        ("navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); };", "not allowed"),
    ],
)  # fmt: skip
def test_without_a_camera_it_only_shows_the_steps_and_says_why(
    kitchen: Kitchen, visit: Visit, script: str, why: str
) -> None:
    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address, script=script)
    page.wait_for_selector(f"#sensors:has-text('display only'):has-text('{why}')")
    for name in CHECKS:
        page.check(f"input[value={name}]")
    page.click("[data-act=begin]")
    page.wait_for_selector("#done:not([disabled])")
    assert page.text_content("#rec") == "● steps only"
    page.click("#done")
    hold_stop(page)
    wait_until(lambda: [e["text"] for e in events(kitchen, address, "state")] == ["recording", "stopped"])
    assert kitchen.parts(address) == {}


def test_what_a_device_cannot_keep_ends_it_cleanly(kitchen: Kitchen, visit: Visit) -> None:
    """The disk of the tablet is full before it said so: what it has is sent, and no number is left out."""
    person, address = kitchen.task()
    script = """
      window.full = false;
      const put = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = function (...given) {
        if (window.full && this.name === 'slices') throw new DOMException('full', 'QuotaExceededError');
        return put.apply(this, given);
      };
    """
    page = open_(visit, kitchen, person, address, script=script)
    begin(page)
    wait_until(lambda: kitchen.parts(address).get("tablet-1"))
    page.evaluate("window.full = true")
    page.wait_for_selector("#why-stopped:has-text('storage is full')")
    wait_until(
        lambda: len(kitchen.parts(address)["tablet-1"]) == kitchen.sheet(address)["slices"]["tablet-1"]
    )


LOOKS = {
    "tablet": {"viewport": {"width": 768, "height": 1024}}, "dark": {"viewport": {"width": 1024, "height": 768}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}}, "forced": {"viewport": {"width": 1024, "height": 768}, "forced_colors": "active"},
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_every_state_is_accessible_and_fits(kitchen: Kitchen, visit: Visit, name: str) -> None:
    person, address = kitchen.task(paragraph=name == "dark")
    page = open_(visit, kitchen, person, address, **LOOKS[name])

    def look() -> None:
        assert run_axe(page, () if name in ("tablet", "dark") else DEPENDS_ON_LOOK, serious=True) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.click("#script li:nth-child(3) > button")
    look()
    begin(page)
    page.click("#oops")
    look()
    size = page.evaluate(
        "['#done', '#oops', '#stop'].map(s => document.querySelector(s).getBoundingClientRect().height)"
    )
    assert size[0] >= 96
    assert min(size) >= 44
    shown = "parseFloat(getComputedStyle(document.querySelector('#step-now')).fontSize)"
    assert page.evaluate(shown) >= (22 if name == "dark" else 32)
    hold_stop(page)
    page.click("#review-s1 label:has-text('Differently')")
    look()


def test_a_recorder_is_asked_started_and_stopped(kitchen: Kitchen, visit: Visit) -> None:
    person, address = kitchen.task(streams=())
    asked: list[str] = []
    status = {"recording": "r", "state": "armed", "sensors": [{"name": "head", "state": "green"}, {"name": "wrist", "state": "amber", "message": "silent"}],
              "checks": [{"name": "disk", "ok": False, "seen": "5 minutes", "hint": "free some"}], "warnings": ["wrist is silent"]}  # fmt: skip

    def answer(route: Any) -> None:
        asked.append(json.loads(route.request.post_data)["verb"])
        route.fulfill(status=200, content_type="application/json", body=json.dumps(status))

    context = visit.context(kitchen.site, person)
    context.add_init_script("Object.defineProperty(navigator, 'serviceWorker', { value: undefined })")
    context.route("**/recorder", answer)
    page = visit.open(context, address)
    page.wait_for_selector("#sensors:has-text('wrist: silent'):has-text('disk: 5 minutes: free some')")
    for name in CHECKS:
        page.check(f"input[value={name}]")
    page.click("[data-act=begin]")
    page.wait_for_selector("#alarm:has-text('wrist is silent')")
    hold_stop(page)
    wait_until(lambda: asked[-1:] == ["stop"])
    assert [verb for verb in asked if verb != "preflight"] == ["arm", "start", "stop"]


def test_what_is_unsent_is_said_at_launch_and_a_sign_out_leaves_no_page(
    kitchen: Kitchen, visit: Visit
) -> None:
    person, address = kitchen.task()
    page = open_(visit, kitchen, person, address)
    begin(page)
    page.context.set_offline(True)
    wait_until(lambda: waiting(page) >= 2, what="slices that wait on the tablet")
    hold_stop(page)
    page.context.set_offline(False)
    wait_until(lambda: waiting(page) == 0, what="all to be sent")
    kitchen.site.kill()
    page.goto(address)  # from what is kept
    page.wait_for_selector("#review-steps fieldset")
    kitchen.site.start()
    page.route("**/slice/**", lambda route: route.abort())
    page.goto("/my")
    put = """() => new Promise((done) => {
      const opening = indexedDB.open('proctor-studio');
      opening.onsuccess = () => {
        const writing = opening.result.transaction('slices', 'readwrite');
        writing.objectStore('slices').put({ person: document.body.dataset.person, key: 'x', pid: 'x', part: 'tablet-1', seq: 1, bytes: new ArrayBuffer(1) });
        writing.oncomplete = () => { opening.result.close(); done(); };
      };
    })"""
    page.evaluate(put)
    page.reload()
    page.wait_for_selector("text=1 slices of a recording wait on this device")
    kept = "caches.open('proctor-recordings').then((cache) => cache.keys()).then((keys) => keys.length)"
    assert page.evaluate(kept) > 5
    page.click("form[action='/signout'] button")
    page.wait_for_url("**/signin**")
    assert page.evaluate(kept) == 0
