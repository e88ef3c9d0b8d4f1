"""Done-when 1: annotator, second annotator, adjudicator, export on the sample project, by mouse and by keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.patience import wait_until
from tests.studio.chromium import let_it_act


class Hands(Protocol):
    """A way to use a page."""

    def press(self, page: Any, target: str) -> None: ...
    def verdict(self, page: Any, card: str, yes: bool) -> None: ...
    def submit(self, page: Any) -> None: ...
    def choose(self, page: Any, target: str) -> None: ...


class Mouse:
    def press(self, page: Any, target: str) -> None:
        page.click(target)

    def verdict(self, page: Any, card: str, yes: bool) -> None:
        page.locator(
            f"#{card} label", has=page.locator(f"input[value={'right' if yes else 'wrong'}]")
        ).click()

    def submit(self, page: Any) -> None:
        page.click("#submit")

    def choose(self, page: Any, target: str) -> None:
        page.locator("label", has=page.locator(target)).click()


class Keys:
    """No pointer at all: Tab, Enter, Space, arrows and the keys of the page."""

    def _go(self, page: Any, target: str) -> None:
        wanted = page.locator(target).first.element_handle()
        for _ in range(200):
            if page.evaluate("wanted => document.activeElement === wanted", wanted):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{target} cannot be reached by Tab")

    def press(self, page: Any, target: str) -> None:
        self._go(page, target)
        page.keyboard.press("Enter")

    def verdict(self, page: Any, card: str, yes: bool) -> None:
        if card != "question-card":
            page.keyboard.press(str(int(card.removeprefix("answer-")) + 1))
        page.keyboard.press("y" if yes else "n")

    def submit(self, page: Any) -> None:
        page.keyboard.press("Control+Enter")

    def choose(self, page: Any, target: str) -> None:
        wanted = page.locator(target).first.element_handle()
        name = wanted.get_attribute("name")
        # A group of radios is one stop of Tab: at the chosen one, or at the first.
        chosen = page.query_selector(f"input[name={name}]:checked") or page.query_selector(
            f"input[name={name}]"
        )
        for _ in range(200):
            if page.evaluate("wanted => document.activeElement === wanted", chosen):
                break
            page.keyboard.press("Tab")
        for _ in range(12):
            if wanted.is_checked():
                return
            page.keyboard.press("ArrowDown")
        raise AssertionError(f"{target} cannot be chosen by keys")


def become(page: Any, hands: Hands, handle: str) -> None:
    page.goto("/demo")
    hands.press(page, f"form:has(input[name=handle][value={handle}]) button")
    page.wait_for_url("**/")


def begin(page: Any, hands: Hands, stage: str) -> bool:
    """Press the button of a stage on the first page; False when nothing waits."""
    button = f"form:has(input[name=stage][value={stage}]) button"
    if page.locator(button).count() == 0:
        return False
    with page.expect_response(lambda response: response.url.endswith("/state")):
        hands.press(page, button)
    page.wait_for_url("**/w/*")
    return True


def pid_of(page: Any) -> str:
    return str(page.get_attribute("#sheet", "data-pid"))


def fill(page: Any, hands: Hands, question: bool, answers: Callable[[str], bool]) -> None:
    if page.locator("#question-card input[type=radio]").count():
        hands.verdict(page, "question-card", question)
        if not question:
            return
    for n in range(page.locator("#answers fieldset.card").count()):
        hands.verdict(page, f"answer-{n}", answers(page.inner_text(f"#answer-{n} .answer-text")))


def meet(page: Any) -> None:
    """Wait until the page of an assignment has heard from the server how it stands there."""
    heard = (
        "performance.getEntriesByType('resource').some(one => one.name.endsWith('/state') && one.responseEnd)"
    )
    wait_until(lambda: page.evaluate(heard), what="the state of the assignment")
    let_it_act(page)


def send(page: Any, hands: Hands) -> None:
    """Submit, and wait for what is next."""
    before = pid_of(page)
    with page.expect_response(lambda response: response.url.endswith(f"{before}/submit")) as answer:
        hands.submit(page)
    assert answer.value.status == 200, answer.value.text()
    page.wait_for_url(lambda url: not url.endswith(before))
    page.wait_for_load_state()
    if "/w/" in page.url and not page.url.endswith("/feedback"):
        meet(page)


@pytest.mark.parametrize("hands", [Mouse(), Keys()], ids=["mouse", "keyboard"])
def test_from_the_first_reading_to_the_export(
    hands: Hands, demo_workspace: Path, tmp_path: Path, visit: Any, open_site: Any
) -> None:
    site = open_site(demo_workspace, tmp_path)
    page = visit.open(visit.context(site, accept_downloads=True), "/demo")

    # The first reader rejects the question of their next item.
    handles = {p.id: p.handle for p in site.rows("people")}
    become(page, hands, "ana")
    assert begin(page, hands, "judge")
    (mine,) = site.rows("assignments", pid=pid_of(page))
    (item,) = site.rows("items", id=mine.item_id)
    slots = site.rows("assignments", item_id=item.id, stage="judge", live=True)
    (partner,) = [row for row in slots if row.person_id != mine.person_id]
    fill(page, hands, False, lambda _text: True)
    send(page, hands)
    assert len(site.responses(mine.pid)) == 1

    # The second reader accepts it, after all that stands before it in their list.
    if partner.state == "open":
        become(page, hands, handles[partner.person_id])
        assert begin(page, hands, "judge")
        for _ in range(30):
            here = pid_of(page)
            fill(page, hands, True, lambda _text: True)
            send(page, hands)
            if here == partner.pid:
                break
    (item,) = site.rows("items", id=item.id)
    assert (item.state, item.agreement) == ("case", "question")

    # The adjudicator decides it: the first statement is right.
    become(page, hands, "edda")
    assert begin(page, hands, "adjudicate")
    for _ in range(30):
        (here,) = site.rows("assignments", pid=pid_of(page))
        texts = page.locator("#answers .answer-text").all_inner_texts()
        fill(page, hands, True, lambda text, texts=texts: text == min(texts))  # type: ignore[misc]
        send(page, hands)
        if here.item_id == item.id:
            break
    (item,) = site.rows("items", id=item.id)
    assert item.state == "settled"
    final = [row.text for row in site.rows("final_answers", item_id=item.id)]
    assert len(final) == 1

    # The owner exports what is settled.
    become(page, hands, "farid")
    hands.press(page, "nav a[href='/exports']")
    page.wait_for_url("**/exports")
    hands.choose(page, "input[name=kind][value=published]")
    hands.press(page, "form[action='/exports'] button")
    page.wait_for_selector("a[download]")
    with page.expect_download() as loading:
        hands.press(page, "a[download]")
    target = tmp_path / "export"
    loading.value.save_as(target)
    text = target.read_text(encoding="utf-8")
    records = json.loads(text)
    questions = {json.loads(item.body)["text"]}
    found = [r for r in records if r["question"] in questions and r["answers"] == final]
    assert found, "the settled item is not in the export"
    assert any(r.get("answer_approved_by") == ["adjudicator"] for r in found)


def test_a_newcomer_from_consent_through_training_to_the_gate(
    demo_workspace: Path, tmp_path: Path, visit: Any, open_site: Any
) -> None:
    """Consent, guideline, every training item with its feedback; then the coordinator's word is waited for."""
    site = open_site(demo_workspace, tmp_path)
    hands = Mouse()
    page = visit.open(visit.context(site), "/demo")
    hands.press(page, "form:has(input[name=handle][value=dev]) button")
    page.wait_for_url("**/consent*")
    page.click("main form button[name=agree]")
    page.wait_for_url("**/guideline*")
    page.click("main form button[name=read]")
    page.wait_for_url(f"{site.url}/**")
    page.goto("/")
    lessons = len(site.rows("training"))
    assert lessons
    for number in range(lessons):
        if number == 0:
            assert begin(page, hands, "training")
        page.wait_for_selector("#sheet[data-stage=training]")
        let_it_act(page)
        fill(page, hands, True, lambda _text: True)
        send(page, hands)
        page.wait_for_url("**/feedback")
        assert "right" in page.inner_text("main").lower() or "reference" in page.inner_text("main").lower()
        page.click("main a.button.primary")
        page.wait_for_load_state()
    assert page.url == f"{site.url}/"
    assert "coordinator" in page.inner_text("main").lower()
    (dev,) = site.rows("people", handle="dev")
    assert json.loads(dev.gates)["moment"] == "waiting"
    assert (dev.consent_version, json.loads(dev.guidelines).get("moment", 0)) != (0, 0)
    assert site.rows("verdicts", annotator=dev.pid) == []  # training is no judgement
