"""Recording on a tablet, with a camera that Chromium makes up: R1, R2, R4 to R8, and the page in every look."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_until
from tests.studio.chromium import Chromium
from tests.studio.walk.conftest import Site, Visit

from proctor.capture.records import Event, Hint, PlannedMistake, Script, ScriptStep, Slot
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
    slot = Slot(id=name, script=script.id, activity="raita", participant=participant, environment="kitchen-1", strategy=strategy)  # type: ignore[arg-type]
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
    return int(page.evaluate("""() => new Promise((done) => {
      const opening = indexedDB.open('proctor-studio');
      opening.onsuccess = () => {
        const counting = opening.result.transaction('slices').objectStore('slices').count();
        counting.onsuccess = () => { opening.result.close(); done(counting.result); };
      };
    })"""))


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
    page.keyboard.press("PageDown")
    wait_until(lambda: waiting(page) >= 4, what="slices that wait on the tablet")
    page.click("#done")
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
    assert [hashlib.sha256((folder / f"{r.seq:06d}.webm").read_bytes()).hexdigest() for r in rows] == [r.sha256 for r in rows]
    assert [r.seq for r in rows] == list(range(1, made + 1))
    kinds = [(e["kind"], e.get("step", "")) for e in sheet["events"] if e["kind"] not in ("clock", "mark", "sensor")]
    assert kinds == [
        ("state", ""), ("clap", ""), ("step_start", "s1"), ("step_done", "s1"), ("step_start", "s2"), ("oops", "s2"),
        ("step_done", "s2"), ("step_start", "s3"), ("step_done", "s3"), ("step_start", "s4"), ("step_done", "s4"), ("state", ""),
    ]  # fmt: skip
    assert [e["n"] for e in sheet["events"]] == list(range(len(sheet["events"])))
    assert sheet["texts"] == {"s3": "Whisk the curd with a fork"}
    review = {r["step"]: r for r in sheet["review"]}
    assert review["s2"]["mistakes"] == [{"step": "s2", "kind": "other", "text": "too small", "origin": "live"}]
    assert review["s3"]["mistakes"] == [{"step": "s3", "kind": "technique", "text": "a fork", "origin": "script"}]
    assert (review["s5"]["done"], review["s1"]) == (False, {"step": "s1"})
