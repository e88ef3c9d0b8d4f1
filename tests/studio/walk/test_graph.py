"""Task graphs from texts in a real browser on the real studio: by keyboard, by pointer, from proposals, and with bad input."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect
from tests.axe import look_with_axe
from tests.studio.walk.conftest import Site

from proctor.stages.graph_induce import induce_graphs
from proctor.stages.graph_settings import InduceSettings
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.settings import Collect, GraphRoundSettings
from proctor.verify.desk import rounds
from proctor.verify.rounds.graph import GraphStep, GraphTask, ProposedEdge

TEXT = "Boil the water. Chop the onion, heat oil & fry it.\nPour <b>water</b> over the rice."
SPANS = {"d1": "Boil the water", "d2": "Chop the onion", "d3": "fry it"}


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio with rounds of a text, of a draft, of a text to be pasted, and of inferred edges."""
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "bench").mkdir()
    spans = {i: (TEXT.find(t), TEXT.find(t) + len(t)) for i, t in SPANS.items()}
    steps = tuple(GraphStep(id=i, text=t.capitalize(), spans=(spans[i],)) for i, t in SPANS.items())
    edges = (ProposedEdge("d1", "d3", 0.3), ProposedEdge("d2", "d3", 0.9))
    bodies = {
        "text": {"id": "rice", "title": "Rice", "text": TEXT},
        "draft": GraphTask(id="rice", title="Rice", text=TEXT, steps=steps, edges=edges),
        "paste": {"id": "soup", "title": "Soup"},
    }
    for name, body in bodies.items():
        (folder / f"{name}.jsonl").write_bytes(msgspec.json.encode(body))
        settings = GraphRoundSettings(texts=folder / f"{name}.jsonl", name=name, people=40)
        open_round(folder / "bench", "graph", settings)
    orders = [["boil", "leaf", "pour"], ["boil", "leaf", "pour"], ["leaf", "boil", "pour"]]
    (folder / "tea.json").write_text(json.dumps(orders))
    induce_graphs(InduceSettings(source=folder / "tea.json", review=folder / "review.csv"))
    settings = GraphRoundSettings(edges=folder / "review.csv", name="review", people=40)
    open_round(folder / "bench", "graph", settings)
    found = Site(folder / "bench")
    yield found
    found.close()


def opened(site: Site, visit: Any, name: str, **options: Any) -> tuple[Any, str]:
    person = site.hire()
    batch = site.do(lambda d, c: rounds.open_batch(d, c, rounds.round_named(c, name), person))
    pid = site.rows("assignments", batch_id=batch.id)[0].pid
    return visit.open(visit.context(site, person, **options), f"/w/{pid}"), pid


def submitted(site: Site, page: Any, pid: str) -> dict[str, Any]:
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/r/*")
    sheet: dict[str, Any] = json.loads(site.responses(pid)[-1].sheet)
    return sheet


def wording(page: Any) -> list[str]:
    return page.eval_on_selector_all(".graph-card textarea", "all => all.map(one => one.value)")  # type: ignore[no-any-return]


def mark(page: Any, words: str) -> None:
    """Choose words as a drag over them does, and make them a step."""
    page.evaluate(
        """words => {
          const walk = document.createTreeWalker(document.getElementById("words"), NodeFilter.SHOW_TEXT);
          for (let node = walk.nextNode(); node; node = walk.nextNode()) {
            const at = node.data.indexOf(words);
            if (at >= 0) return getSelection().setBaseAndExtent(node, at, node, at + words.length);
          }
        }""",
        words,
    )
    expect(page.locator("#word-said")).to_have_text(f"Chosen: “{words.strip()}”")
    page.click("#make-step")


def act(page: Any, step: int, label: str) -> None:
    page.click(f".graph-card:nth-child({step}) [data-act='{label}']")


def test_by_keyboard_alone(kitchen: Site, visit: Any) -> None:
    page, pid = opened(kitchen, visit, "text")
    page.locator("#words").focus()
    words = "Control+Shift+ArrowRight " * 3 + "Enter "
    keys = f"{words} ArrowRight ArrowRight {words} Control+End ArrowLeft Control+Shift+ArrowLeft Enter"
    for key in keys.split():
        page.keyboard.press(key)
    assert wording(page) == ["Boil the water", "Chop the onion", "Rice"]
    assert page.text_content("#graph-said") == "Step 3 Rice"
    for pair in ((1, 3), (2, 3), (3, 1)):
        for n in pair:
            page.locator(f".graph-card:nth-child({n}) [data-act=Link]").focus()
            page.keyboard.press("l")
    expect(page.locator("#findings .error-text")).to_contain_text("steps wait for one another (1 → 3 → 1)")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#form-error")).to_contain_text("steps wait for one another")
    for n in (3, 1):  # and takes it back
        page.locator(f".graph-card:nth-child({n}) [data-act=Link]").focus()
        page.keyboard.press("l")
    expect(page.locator("#orders-said")).to_have_text("2 of 2 possible orders:")
    sheet = submitted(kitchen, page, pid)
    assert [s["spans"] for s in sheet["steps"]] == [
        [[0, 14]],
        [[16, 30]],
        [[TEXT.find("rice"), TEXT.find("rice") + 4]],
    ]
    assert sheet["edges"] == [["s1", "s3"], ["s2", "s3"]]


def test_by_pointer(kitchen: Site, visit: Any, wait_for: Any) -> None:
    page, pid = opened(kitchen, visit, "text")
    for words in ("Chop the onion", "Boil the water"):
        mark(page, words)
    assert wording(page) == ["Boil the water", "Chop the onion"]  # in order of appearance
    for words in ("heat oil", "fry it"):
        mark(page, f" {words}")
    assert wording(page)[2:] == ["Heat oil", "Fry it"]
    assert page.locator("#words mark").all_text_contents() == [
        "Boil the water",
        "Chop the onion",
        "heat oil",
        "fry it",
    ]
    act(page, 4, "Up")
    assert (
        page.evaluate("document.activeElement.dataset.act") == "Up"
    )  # the focus stays with what was pressed
    act(page, 3, "Down")
    act(page, 2, "Link")
    act(page, 4, "Link")
    expect(page.locator("#findings li").last).to_contain_text("no edge leads to or from the step")
    act(page, 1, "Delete")
    assert page.evaluate("document.activeElement.dataset.act") == "Delete"
    wait_for(lambda: len(kitchen.draft(pid).get("steps", ())) == 3, what="the draft")
    page.reload()
    expect(page.locator(".graph-card")).to_have_count(3)
    assert wording(page) == ["Chop the onion", "Heat oil", "Fry it"]
    sheet = submitted(kitchen, page, pid)
    assert sheet["edges"] == [[sheet["steps"][0]["id"], sheet["steps"][2]["id"]]]


def test_steps_are_merged_and_split_and_findings_lead_to_theirs(kitchen: Site, visit: Any) -> None:
    page, pid = opened(kitchen, visit, "text")
    for words in ("Boil the water", "Chop the onion", "heat oil", "fry it"):
        mark(page, words)
    for step in (1, 3, 3, 4):
        act(page, step, "Link")
    expect(page.locator("#findings button")).to_have_count(1)
    page.locator("#findings button").click()
    assert page.evaluate("document.activeElement.value") == "Chop the onion"  # step 2 waits for nothing
    act(page, 3, "Merge")
    assert wording(page) == ["Boil the water", "Chop the onion Heat oil", "Fry it"]
    assert page.text_content("#graph-said") == "Merged: 2 Chop the onion Heat oil"
    expect(page.locator(".graph-card:nth-child(2) p")).to_have_text("After 1 Boil the water")
    act(page, 2, "Split")
    assert wording(page) == ["Boil the water", "Chop the onion", "Heat oil", "Fry it"]
    page.locator("#words").focus()
    page.keyboard.press("Control+Home")
    act(page, 1, "Split")
    expect(page.locator("#graph-said")).to_contain_text("Choose in the text where the second part")
    assert len(wording(page)) == 4
    page.evaluate("getSelection().collapse(document.querySelector('#words mark').firstChild, 5)")
    expect(page.locator("#word-said")).to_have_text("No words are chosen.")
    act(page, 1, "Split")
    assert wording(page)[:2] == ["Boil", "The water"]
    sheet = submitted(kitchen, page, pid)
    assert [s["spans"] for s in sheet["steps"][:2]] == [[[0, 5]], [[5, 14]]]
    numbers = {s["id"]: n for n, s in enumerate(sheet["steps"], 1)}
    assert sorted((numbers[a], numbers[b]) for a, b in sheet["edges"]) == [(1, 3), (3, 5)]


def test_a_draft_is_accepted_piece_by_piece(kitchen: Site, visit: Any) -> None:
    page, pid = opened(kitchen, visit, "draft")
    assert wording(page) == []
    page.click("#submit")
    expect(page.locator("#form-error")).to_contain_text("no step yet")
    page.keyboard.press("y")
    page.keyboard.press("n")
    page.keyboard.press("y")
    assert wording(page) == ["Boil the water", "Fry it"]
    page.click("#submit")
    expect(page.locator("#form-error")).to_contain_text("1 are not decided on")
    expect(page.locator(".proposal .small").last).to_have_text("30 % sure")
    page.keyboard.press("y")
    sheet = submitted(kitchen, page, pid)
    assert (sheet["edges"], sheet["refused_steps"]) == ([["d1", "d3"]], ["d2"])


def test_inferred_edges_are_reviewed_here_and_go_back(kitchen: Site, visit: Any, tmp_path: Path) -> None:
    page, pid = opened(kitchen, visit, "review")
    sure = page.locator(".proposal .small").all_text_contents()
    assert any("% sure" in words for words in sure)
    for key in ["y", *"n" * (len(sure) - 1)]:
        page.keyboard.press(key)
    sheet = submitted(kitchen, page, pid)
    assert len(sheet["edges"]) == 1
    assert len(sheet["refused"]) == len(sure) - 1
    _, found = collect_round(kitchen.root, Collect(round="review", out=tmp_path / "out"))
    assert tmp_path / "out" / "edges.csv" in found.files
    with (tmp_path / "out" / "edges.csv").open(encoding="utf-8-sig", newline="") as file:
        decisions = [row["decision"] for row in csv.DictReader(file)]
    assert decisions.count("accept") == 1
    assert decisions.count("refuse") == len(sure) - 1


def test_bad_texts_are_inert_and_fit(kitchen: Site, visit: Any) -> None:
    page, pid = opened(kitchen, visit, "paste")
    page.fill("#pasted", "x" * 10_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.fill("#pasted", "<script>boom()</script> קח שתי ביצים 𝄞 היטב")
    assert page.locator("#words script").count() == 0
    page.focus("#words")
    page.keyboard.type("nothing is written here")
    assert page.text_content("#words") == page.input_value("#pasted")
    mark(page, " היטב")
    act(page, 1, "Link")
    expect(page.locator("#drawing svg")).to_have_count(1)
    sheet = submitted(kitchen, page, pid)
    (begin, end), text = sheet["steps"][0]["spans"][0], sheet["text"]
    assert text[begin:end] == "היטב"  # counted in code points: the clef before it is one


def test_axe(kitchen: Site, visit: Any) -> None:
    for name in ("draft", "review"):
        page, _ = opened(kitchen, visit, name)
        for _ in range(5):
            page.keyboard.press("y")
        expect(page.locator("#drawing svg")).to_have_count(1)
        assert look_with_axe(page) == [], name
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, (
            name
        )  # saved, so the chip is there
