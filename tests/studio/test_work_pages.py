"""The first pages of a project and the clips behind them: what to do is said, what is being cut is shown as that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra `studio`")

from proctor.studio.clips import ClipState
from proctor.verify.desk import people, roster
from proctor.verify.policy import POLICIES


class Shop:
    """Is always cutting, and remembers who waits for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, bool]] = []

    def ask(
        self, video: Path, end: float, start: float = 0.0, *, rate: Any = None, urgent: bool = True
    ) -> ClipState:
        self.asked.append((end, urgent))
        return ClipState("making", progress=0.4)


def _deal(office: Any, *people: Any) -> None:
    def job(c: Any) -> None:
        roster.apply_deal(office.desk, c, roster.plan_deal(office.desk, c, people, POLICIES[0]), actor="cli")

    office.desk.write(job).result(60)


@pytest.fixture
def shop(office: Any, tmp_path: Path) -> Shop:
    office.studio.clips = shop = Shop()
    office.studio.find_video = lambda example: tmp_path / "v.mp4"
    return shop


def test_a_clip_that_is_being_cut_is_shown_as_that(office: Any, words: Any, shop: Shop) -> None:
    ana, ben, carla = office.hire("ana"), office.hire("ben"), office.hire("carla", "coordinator")
    office.sync(4)
    _deal(office, ana, ben)
    pid = office.open_work(ana)[0].pid
    page = office.get(ana, f"/w/{pid}")
    assert 'id="clip-making" role="status">' in page.text  # not hidden
    assert f' data-src="/w/{pid}/clip.mp4"' in page.text  # nothing that the browser could fail to play
    answer = office.get(ana, f"/w/{pid}/clip.mp4")
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["share"]) == (503, "2", 0.4)
    item = words(office.get(carla, f"/items/{office.item('c000').pid}"))
    assert "is still being cut" in item
    assert (
        f' hidden data-src="/items/{office.item("c000").pid}/clip.mp4"'
        in office.get(carla, f"/items/{office.item('c000').pid}").text
    )


@pytest.mark.parametrize("path", ["/", "/guideline", "work"])
def test_the_next_clips_of_the_queue_are_cut_ahead(office: Any, shop: Shop, path: str) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    office.sync(12)
    _deal(office, ana, ben)
    queue = office.open_work(ana)
    ends = {row.id: 10.0 + n for n in range(12) for row in office.rows("items", candidate_id=f"c{n:03}")}
    office.get(ana, f"/w/{queue[0].pid}" if path == "work" else path)
    assert [end for end, urgent in shop.asked if not urgent] == [ends[row.item_id] for row in queue[:8]]
    assert [end for end, urgent in shop.asked if urgent] == [ends[queue[0].item_id]] * (path == "work")


def test_an_owners_first_page_says_what_to_do(office: Any, words: Any) -> None:
    office.protocol(training_required=True)
    olga = office.hire("olga", "owner")
    office.sync(3)
    first = words(office.get(olga, "/"))
    assert "Invite people" in first
    assert "3 of 3 items have not been dealt" in first
    assert "no items yet" not in first
    assert re.findall(r'<li class="(\w+)">', office.get(olga, "/").text) == ["next", *["later"] * 3]
    ana, dora, ben = office.hire("ana"), office.hire("dora"), office.hire("ben", gate="waiting")
    _deal(office, ana, dora)
    later = words(office.get(olga, "/"))
    assert "Invite people" not in later
    assert "Let people begin" in later
    assert "given to nobody" not in later
    assert "What waits for you" not in words(office.get(ana, "/"))
    waiting = words(office.get(ben, "/"))
    assert "lets you begin" in waiting
    assert "Read the guideline" in waiting


def test_an_annotator_without_items_reads_why_and_what_comes_next(
    office: Any, words: Any, shop: Shop
) -> None:
    ana = office.hire("ana")
    page = words(office.get(ana, "/"))
    assert "The project has no items yet" in page
    assert "Read the guideline" in page
    office.sync(3)
    assert "has not shared them out yet" in words(office.get(ana, "/"))

    # In training there is a button, and the clip is cut while the guideline is read.
    office.protocol(training_required=True)
    office.sync(4)
    carla = office.hire("carla", "coordinator")
    pid = office.item("c003").pid
    assert office.post(carla, f"/training/{pid}", reference="wrong", why="Unclear.").status_code == 303
    newcomer = office.hire("nia", gate="training", ready=False)
    office.do(people.consent_given, newcomer, 1)
    shop.asked.clear()
    office.get(newcomer, "/guideline")
    assert shop.asked == [(13.0, False)]
    answer = office.post(newcomer, "/guideline", kind="moment", version="1", read="1")
    assert answer.headers["location"] == f"/w/{office.open_work(newcomer, 'training')[0].pid}"
