"""Somebody's first day: a new owner up to the first person invited, and that person from the link to the first judged item."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import DARK, LIGHT, look_with_axe
from tests.patience import wait_until
from tests.studio.walk.conftest import PASSWORD, Site

from proctor.stages.studio import first_link
from proctor.stages.verify import verify
from proctor.studio.rendering import static_url


@pytest.fixture
def new_site(demo_workspace: Path, tmp_path: Path) -> Iterator[Site]:
    """A studio in which nobody has an account yet."""
    forget = shutil.ignore_patterns("verification.sqlite*", "studio", "studio-secret", "studio-demo.txt")
    shutil.copytree(demo_workspace / "bench", tmp_path / "bench", ignore=forget)
    verify(tmp_path / "bench")
    found = Site(tmp_path / "bench")
    yield found
    found.close()


class Hand:
    """A mouse that counts, on a page whose accessibility is looked at on the way, in both looks."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0
        self.problems: list[str] = []

    def click(self, target: str) -> None:
        self.page.click(target)
        self.clicks += 1
        self.page.wait_for_load_state()

    def look(self) -> str:
        self.problems += look_with_axe(self.page, (LIGHT, DARK))
        return str(self.page.inner_text("main"))

    def join(self, handle: str) -> None:
        for name, text in (("name", handle.title()), ("handle", handle), ("password", PASSWORD)):
            self.page.fill(f"input[name={name}]", text)
        self.click("main form button.primary")


def test_from_an_empty_project_to_the_first_judged_item(new_site: Site, visit: Any) -> None:
    link = first_link(new_site.desk, new_site.url)
    assert link is not None
    # The owner: account, checklist, training from the list, an invitation.
    owner = Hand(visit.open(visit.context(new_site), link.removeprefix(new_site.url)))
    owner.join("olga")
    assert owner.page.url == f"{new_site.url}/"
    steps = owner.page.locator(".checklist li")
    assert [steps.nth(n).get_attribute("class") for n in range(4)] == ["next", "later", "later", "later"]
    assert "Invite people" in owner.look()
    owner.click(".checklist a[href='/training']")
    assert "Pick items from a list" in owner.look()
    owner.click("form[action='/training/pick'] button")
    lessons = len(new_site.rows("training"))
    assert lessons >= 3
    owner.click("nav a[href='/']")
    assert [steps.nth(n).get_attribute("class") for n in range(4)] == ["done", "done", "next", "later"]
    owner.click(".checklist li.next a")
    owner.click("form[action='/people/invite'] button")
    invitation = owner.page.inner_text("code.once")
    owners_time, clicks = time.monotonic() - new_site.begun, owner.clicks

    # The annotator: account, consent, guideline, and there is an item.
    begun = time.monotonic()
    reader = Hand(visit.open(visit.context(new_site), invitation.removeprefix(new_site.url)))
    reader.join("rosa")
    reader.click("button[name=agree]")
    reader.click("button[name=read]")
    reader.page.wait_for_selector("#sheet[data-stage=training]")
    pid = reader.page.get_attribute("#sheet", "data-pid")
    reader.click("#question-card label:has(input[value=wrong])")
    reader.click("#submit")
    reader.page.wait_for_url("**/feedback")
    readers_time = time.monotonic() - begun
    print(f"\nowner, start to first invitation: {owners_time:.1f} s with axe, {clicks} clicks")
    print(f"annotator, link to first judged item: {readers_time:.1f} s, {reader.clicks} clicks")
    assert owners_time <= 300
    assert readers_time <= 60
    assert reader.clicks <= 6
    assert len(new_site.responses(str(pid))) == 1

    # A message on a phone is read from side to side.
    reader.page.set_viewport_size({"width": 390, "height": 844})
    show = "s => import(s).then(m => m.showToast('What waited here was not accepted.', null, 0, {label: 'Open it', href: '/'}))"
    reader.page.evaluate(show, static_url("js/toast.js"))
    assert (box := reader.page.locator(".toast-text").bounding_box())["width"] > 2 * box["height"]

    # Who has no items yet reads why; the owner sees who is there.
    waiting = Hand(visit.open(visit.context(new_site, new_site.hire()), "/"))
    assert "has not shared them out yet" in waiting.look()
    assert owner.problems + waiting.problems == []


@pytest.mark.parametrize("site", ["sqlite"], indirect=True, scope="module")
def test_a_first_page_and_an_item_are_light(site: Site, visit: Any) -> None:
    """How soon is printed (``pytest -s``): 0.3 to 0.5 s on two quiet cores; a busy machine fails nobody's test."""
    person = site.hire()
    ((pid,),) = site.deal(person)
    look = "performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)"
    for path in ("/", f"/w/{pid}"):
        context = visit.context(site, person)  # has never been here
        page = context.new_page()
        page.goto(path)
        (painted,) = wait_until(lambda page=page: page.evaluate(look), what="a first paint")  # type: ignore[misc]
        print(f"\nfirst paint of {path}: {painted:.0f} ms")
        files = page.evaluate(
            "performance.getEntriesByType('resource').map(e => [e.name, e.encodedBodySize])"
        )
        sizes = {name.rpartition("/")[2]: size for name, size in files}
        print(f"{len(sizes)} files, {sum(sizes.values()):,} bytes")
        assert sum(sizes.values()) < 120_000
        context.close()
