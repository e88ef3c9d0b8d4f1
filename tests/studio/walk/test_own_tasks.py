"""Own tasks in a real browser: somebody of a platform answers every type of field, words are marked by keys and without JavaScript."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.media.make_video import Recipe, make_audio, make_video
from tests.studio.walk.conftest import Site
from tests.studio.walk.test_study import sound

from proctor.media.paint import encode_png
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.settings import Collect, OwnSettings

TEXT = "Hi\u202e\u05e9\u05dd 🦎\u0301 tail </script><b>x</b>"
FORM = """
title = "Steps of toys"
show = [{ column = "text", heading = "The step" }, { column = "file", as = "image" }]
fields = [
  { name = "marks", label = "Mark tools and parts.", type = "span", column = "text", choices = { tool = "Tool", part = "Part" } },
  { name = "clear", label = "Is it clear?" }, { name = "hard", label = "How hard?", type = "scale" },
  { name = "what", label = "What is done?", type = "choice", choices = { saw = "Sawing", glue = "Gluing" } },
  { name = "risks", label = "What can go wrong?", type = "choices", choices = { wound = "A cut", stain = "A stain", none = "Nothing" } },
  { name = "minutes", label = "How many minutes?", type = "number" }, { name = "why", label = "Why?", type = "text" },
  { name = "advice", label = "Your advice", type = "texts" },
]
"""
WATCH = """
show = [{ column = "film", as = "video" }, { column = "said", heading = "What was said", as = "audio" }, { column = "more", as = "link" }]
fields = [{ name = "fits", label = "Do they fit?" }]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio of a workspace that has nothing but own tasks."""
    folder: Path = tmp_path_factory.mktemp("own")
    (folder / "a.png").write_bytes(encode_png(np.full((40, 60, 3), 90, np.uint8)))
    rows = [{"id": name, "data": {"text": TEXT, "file": "a.png"}} for name in ("r1", "r2")]
    (folder / "tasks.json").write_text(json.dumps(rows))
    (folder / "form.toml").write_text(FORM)
    files = {"tasks": folder / "tasks.json", "form": folder / "form.toml"}
    more = {"workers": True, "batches": 1, "redirect": "https://p.example/cc={code}"}
    open_round(folder / "bench", "own", OwnSettings(**files, people=2, batch=1, **more))
    open_round(folder / "bench", "own", OwnSettings(**files, people=9, name="inside"))
    make_video(folder / "saw.mp4", Recipe(times=range(45)))
    make_audio(folder / "said.wav", 2.5, "pcm_s16le")
    watch = {"id": "w1", "film": "saw.mp4", "said": "said.wav", "more": "https://example.org/a?b=1&c=%22"}
    (folder / "watch.json").write_text(json.dumps([watch]))
    (folder / "watch.toml").write_text(WATCH)
    open_round(folder / "bench", "own", OwnSettings(tasks=folder / "watch.json", form=folder / "watch.toml", name="watch"))  # fmt: skip
    found = Site(folder / "bench", videos=folder)
    yield found
    found.close()


PLACE = """words => {
  const box = document.querySelector(".own-words"), all = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let left = box.textContent.indexOf(words), node = all.nextNode();
  for (; left > node.length; node = all.nextNode()) left -= node.length;
  box.focus(); getSelection().collapse(node, left);
}"""


def mark(page: Any, words: str, key: str) -> None:
    """Choose words by keys from where they begin, and mark them."""
    page.evaluate(PLACE, words)
    while page.evaluate("getSelection().toString()") != words:
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press(key)


def test_collect_gives_exactly_what_somebody_of_a_platform_said(own: Site, visit: Any) -> None:
    (round_,) = own.rows("rounds", name="own")
    page = visit.open(visit.context(own), f"/r/{round_.pid}?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=x")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Take part").click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".own-words[role=textbox]")
    assert "⟨U+202E⟩" in page.inner_text(".own-words")  # and no text became markup
    assert page.locator(".own-words b").count() == 0
    width = "image => image.decode().then(() => image.naturalWidth)"
    assert page.eval_on_selector(".own-parts img", width) == 60
    page.click("#submit")
    page.locator("#card-marks.missing").wait_for()
    mark(page, "tail", "2")
    mark(page, "⟨U+202E⟩", "1")
    mark(page, "tail <", "1")
    assert page.locator(".spans li").count() == 3
    page.get_by_role("button", name="Remove Tool: “⟨U+202E⟩").click()
    mark(page, "🦎\u0301", "1")
    for name, key in (("clear", "y"), ("hard", "4"), ("what", "2"), ("risks", "1")):
        page.locator(f"#card-{name} input").first.focus()
        page.keyboard.press(key)
    page.locator("#card-risks").get_by_text("Nothing").click()
    for name, value in (("minutes", "2.5"), ("why", "=1+1 <i>"), ("advice", "Let it dry.")):
        page.fill(f"[name=field-{name}]", value)
    page.wait_for_selector("#save-chip[data-ring=server]:has-text('saved')")
    page.reload()
    page.wait_for_selector(".own-words[role=textbox]")
    assert page.locator(".spans li").count() == 3
    assert sound(page) == []
    page.click("#submit")
    back = page.get_by_role("link", name="Back to the platform").get_attribute("href")
    assert back == f"https://p.example/cc={page.locator('#completion-code').inner_text()}"
    _, collected = collect_round(own.root, Collect(round="own"))
    (line,) = (json.loads(text) for text in collected.files[1].read_text().splitlines())
    assert line["values"] == {
        "marks": [{"start": a, "end": b, "label": label, "text": TEXT[a:b]} for a, b, label in ((6, 8, "tool"), (9, 13, "part"), (9, 15, "tool"))],
        "clear": True, "hard": 4, "what": "glue", "risks": ["wound", "none"], "minutes": 2.5, "why": "=1+1 <i>", "advice": ["Let it dry."],
    }  # fmt: skip
    page = visit.open(visit.context(own, own.hire("owner")), f"/rounds/{round_.pid}/review")
    page.locator("tbody a").last.click()
    ratings = page.get_by_role("group", name="Ratings")
    marked, cells = "Tool: “🦎\u0301”; Part: “tail”; Tool: “tail <”", ratings.locator("td")
    assert [cells.nth(n).inner_text() for n in (0, 3, 4)] == [marked, "Gluing", "A cut; Nothing"]
    ratings.get_by_role("link").first.click()
    assert marked in page.locator("section[aria-labelledby=h-rated] dd").first.inner_text()
    assert sound(page) == []


STRETCHES = """async ([text, folder]) => {
  const spans = await import(`${folder}/js/spans.js`), points = [...text], places = spans.placesOf(points);
  const stretch = (_, n) => [n % (points.length + 1), Math.floor(n / (points.length + 1))];
  return Array.from({ length: (points.length + 1) ** 2 }, stretch).filter(([a, b]) => a <= b)
    .map(([a, b]) => [a, b, ...spans.pointsOf(points, places, places[a], places[b])]);
}"""


def test_places_of_the_page_are_those_of_the_server(own: Site, visit: Any) -> None:
    """Any stretch of what the page shows is a stretch of code points, whatever their UTF-16 length."""
    page = visit.open(visit.context(own, own.hire()), "/")
    address = page.get_attribute("script[src*='/static/']", "src")
    for a, b, start, end in page.evaluate(STRETCHES, [TEXT, address.partition("/js/")[0]]):
        assert TEXT[start:end] == TEXT[a:b].strip()


def test_without_javascript_words_are_typed(own: Site, visit: Any) -> None:
    (round_,) = own.rows("rounds", name="inside")
    person = own.hire()
    page = visit.context(own, person, java_script_enabled=False).new_page()
    page.goto(f"/r/{round_.pid}")
    page.get_by_role("button", name="Begin").click()
    for name, value in (("clear", "yes"), ("hard", "3"), ("what", "saw"), ("risks", "stain")):
        page.check(f"[name=field-{name}][value='{value}']")
    for name, value in (("field-minutes", "1"), ("field-why", "so"), ("field-advice", "none"), ("words-marks", "tails")):  # fmt: skip
        page.fill(f"[name={name}] >> nth=0", value)
    page.locator("#submit").click()
    assert "“tails” is not in the text" in page.inner_text("#card-marks")
    assert page.input_value("[name=words-marks] >> nth=0") == "tails"  # what was typed is there to be changed
    page.fill("[name=words-marks] >> nth=0", "tail")
    page.select_option("[name=label-marks] >> nth=0", "part")
    page.fill("[name=words-marks] >> nth=1", "x")
    page.locator("#submit").click()
    first, second = sorted(own.rows("assignments", person_id=person.id), key=lambda row: row.queue_pos)
    page.wait_for_url(f"**/w/{second.pid}")
    (row,) = own.responses(first.pid)
    assert json.loads(row.sheet)["values"]["marks"] == ["9:13:part", "26:27:tool"]
    page.goto(f"/w/{first.pid}")
    assert page.locator("#card-marks input:checked").count() == 2


PLAYED = """element => new Promise((done, failed) => {
  element.addEventListener("ended", () => done(element.duration));
  element.addEventListener("error", () => failed(element.error.message));
  element.muted = true;
  element.play().catch(failed);
})"""


def test_a_video_and_the_sound_beside_it_play_and_a_link_leads_out(own: Site, visit: Any) -> None:
    (round_,) = own.rows("rounds", name="watch")
    person = own.hire()
    page = visit.open(visit.context(own, person), f"/r/{round_.pid}")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_function("() => document.getElementById('clip')?.readyState > 0")  # it was cut meanwhile
    assert page.eval_on_selector("#clip", PLAYED) == pytest.approx(1.5, abs=0.1)
    heard = page.locator("audio")
    assert heard.evaluate(PLAYED) == pytest.approx(2.5, abs=0.1)
    heard.focus()
    page.keyboard.press("Space")  # plays the sound again, not the video
    page.wait_for_function("() => !document.querySelector('audio').paused")
    assert page.evaluate("document.getElementById('clip').paused")
    link = page.get_by_role("link", name="https://example.org/a?b=1&c=%22")
    assert [link.get_attribute(name) for name in ("href", "target", "rel")] == [link.inner_text(), "_blank", "noopener noreferrer"]  # fmt: skip
    assert sound(page) == []
    address = own.url + str(heard.get_attribute("src"))
    cookies = {own.cookie: page.context.cookies()[0]["value"]}
    part = httpx.get(address, cookies=cookies, headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content, part.headers["content-type"]) == (206, b"RIFF", "audio/wav")
    others = {own.cookie: visit.context(own, own.hire()).cookies()[0]["value"]}
    wrong = [(address.replace("part=1", f"part={n}"), cookies) for n in ("0", "-1", "9", "../1")]
    assert [httpx.get(to, cookies=who).status_code for to, who in (*wrong, (address, others))] == [404] * 5
    page.check("[name=field-fits][value=yes]")
    page.click("#submit")
    page.wait_for_url(f"**/r/{round_.pid}")
    office = visit.open(visit.context(own, own.hire("owner")), f"/rounds/{round_.pid}/review")
    office.locator("tbody a").last.click()
    office.get_by_role("link", name="https://example.org").click()  # the words of the sample
    assert [office.eval_on_selector(name, PLAYED) for name in ("video", "audio")] == pytest.approx([1.5, 2.5], abs=0.1)  # fmt: skip
    assert sound(office) == []


def test_a_reviewer_waits_for_a_recording_that_is_still_being_cut(own: Site, visit: Any) -> None:
    (round_,) = own.rows("rounds", name="watch")
    page = visit.open(visit.context(own, own.hire()), f"/r/{round_.pid}")
    page.get_by_role("button", name="Begin").click()
    page.check("[name=field-fits][value=yes]")
    page.click("#submit")
    page.wait_for_url(f"**/r/{round_.pid}")
    for clip in (own.root / "studio" / "clips").glob("*.mp4"):
        clip.unlink()  # it has to be cut again
    asked: list[int] = []

    def busy(route: Any) -> None:
        """The server has much to do."""
        asked.append(len(asked))
        if len(asked) < 3:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"share": 0.5})
        else:
            route.continue_()

    office = visit.open(visit.context(own, own.hire("owner")), f"/rounds/{round_.pid}/review")
    office.route("**/clip.mp4", busy)
    office.locator("tbody a").last.click()
    office.get_by_role("link", name="https://example.org").click()
    office.get_by_text("still being cut").wait_for()
    assert not office.locator("video").is_visible()
    office.locator("video[src]").wait_for()
    assert len(asked) > 3
    assert office.get_by_text("still being cut").count() == 0
    assert office.eval_on_selector("video", PLAYED) == pytest.approx(1.5, abs=0.1)


def test_the_first_page_of_a_project_of_own_tasks(own: Site, visit: Any) -> None:
    page = visit.open(visit.context(own, own.hire("owner")), "/")
    assert "Follow the rounds" in page.inner_text("main")
    assert sound(page) == []
