"""One workspace with questions of four kinds, from strangers' files to the one page: verified by people in a real browser, then built,
answered and marked over HTTP, scored and reported."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exam.outside.test_pictures import installed  # noqa: F401 - a fixture
from tests.media.make_video import Recipe, make_video
from tests.patience import wait_until
from tests.studio.walk.test_demo import Mouse, fill, meet, send
from tests.typed import proctor

from proctor.corpus.collection import write_corpus
from proctor.corpus.source import image_source, table_source
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.question import (
    Choice,
    Footage,
    Open,
    Pick,
    Picture,
    Proposed,
    Question,
    Source,
    Text,
    gold_texts,
)
from proctor.media.paint import encode_png
from proctor.procedure.graph import Step, TaskGraph
from proctor.records import write_jsonl
from proctor.release.folder import load_benchmark
from proctor.verify.desk import documents, roster
from proctor.verify.policy import POLICIES
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

REPOSITORY = Path(__file__).resolve().parents[3]
RED = np.full((240, 320, 3), (200, 30, 30), np.uint8)
GRAPH = TaskGraph(
    "tea", "Make tea", (Step("1", "Boil water."), Step("2", "Pour it.")), (("1", "2"),), None, None
)
BOILED = Performed("1", "Boil water.", "Boil water.", (), 0.0, 2.0)


def words(*texts: str) -> tuple[Proposed, ...]:
    return tuple(Proposed(value=Text(text=text)) for text in texts)


def clip(name: str, form: Open | Choice, proposals: tuple[Proposed, ...]) -> Question:
    return Question(
        id=name, kind="clip", text="What is done in the clip?", form=form, cluster="v",
        evidence=(Footage(recording="v", start=1.0, end=3.0),), facets={"category": "action"},
        facts={"steps": ["1.0 to 3.0 s: pour the water"], "goal": "make tea"}, proposals=proposals,
    )  # fmt: skip


QUESTIONS = (
    question_about(
        Example(
            id="m", clip_id="v_1", recording_id="v", activity_id="tea", activity_name="Make tea", type="next", end=2.0,
            state="ongoing", noisy=False, current=BOILED,
        ),
        "moment", "What comes next?", proposals=words("Pour it.", "Drink it."),
    ),
    clip("clip-open", Open(), words("The water is poured.")),
    clip(
        "clip-choice", Choice(options=("boil", "pour", "drink")),
        tuple(Proposed(value=Pick(option=n), claim="right" if n == 1 else "wrong") for n in range(3)),
    ),
    Question(
        id="documents", kind="documents", text="How much tea goes in?", form=Open(need="all"), facets={"style": "factual"},
        evidence=(Source(id="t1"), Source(id="i1")), proposals=words("Two spoons."),
    ),
    Question(
        id="picture", kind="picture", text="What colour is the wall?", form=Open(), cluster="red",
        evidence=(Picture(path="red.png", caption="A wall."),), proposals=words("It is red.", "It is green."),
    ),
)  # fmt: skip
WRONG = ("Drink it.", "It is green.")


@pytest.fixture
def bench(installed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """The workspace as somebody makes it who brings everything along; the kind of pictures is a package's."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((sys.path[-1], str(REPOSITORY))))
    bench, videos = tmp_path / "bench", tmp_path / "videos"
    videos.mkdir()
    make_video(videos / "v.mp4", Recipe(times=range(120), size=(320, 192)))
    Workspace(bench).create()
    Workspace(bench).write_graphs({"tea": GRAPH})
    (bench / "red.png").write_bytes(encode_png(RED))
    (bench / "corpus").mkdir()
    (bench / "corpus" / "spoon.png").write_bytes(encode_png(RED))
    table = table_source("t1", "Amounts", ("what", "how much"), (("tea", "two spoons"),))
    write_corpus(bench / "corpus", [table, image_source("i1", "A spoon.", "spoon.png")])
    write_jsonl(tmp_path / "theirs.jsonl", QUESTIONS)
    done = proctor("import", "questions", tmp_path / "theirs.jsonl", bench)
    assert done.status == 0, done.err
    return bench


@pytest.fixture
def studio(bench: Path) -> Iterator[Any]:
    from tests.studio.walk.conftest import Site

    found = Site(bench, videos=bench.parent / "videos")
    yield found
    found.close()


def open_next(page: Any, stage: str) -> str:
    """Go to the next item of a stage, over the guideline of its kind where it has not been read; return its question, or ""."""
    page.goto("/")
    button = page.locator(f"form:has(input[name=stage][value={stage}]) button")
    if not button.count():
        return ""
    button.first.click()
    page.wait_for_load_state()
    if "/guideline" in page.url:
        page.click("main form button[name=read]")
        page.wait_for_load_state()
        return open_next(page, stage)
    meet(page)
    return str(page.inner_text("#question-card .question-text"))


def look(page: Any, question: str) -> None:
    """See what the page of a kind has to show."""
    shown = page.inner_text("#steps-panel")
    wait_until(lambda: page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)"))
    if "colour" in question:
        assert page.locator(".exhibit-picture img").count() == 1
    elif "tea goes in" in question:
        assert "two spoons" in page.inner_text(".exhibit table")
        assert page.locator(".exhibit-picture img").count() == 1
    elif "in the clip" in question:
        assert "pour the water" in shown
        assert page.inner_text("#h-clip") == "Recording from 00:01 to 00:03"
    if "in the clip" in question:  # it begins where the clip does
        wait_until(lambda: page.evaluate("document.getElementById('clip').readyState >= 1"))
        assert page.evaluate("document.getElementById('clip').duration") == pytest.approx(2.0, abs=0.05)


def judge_all(page: Any, stage: str, right: Callable[[str], bool]) -> list[str]:
    """Judge whatever a stage has for somebody; return the questions."""
    seen = []
    while question := open_next(page, stage):
        while True:
            look(page, question)
            seen.append(question)
            fill(page, Mouse(), True, right)
            send(page, Mouse())
            if "/w/" not in page.url:
                break
            question = str(page.inner_text("#question-card .question-text"))
    return seen


def play(call: Call) -> Answer:
    """One model knows, the other does not; the judge compares with what it is told."""
    if call.model == "judge":
        right = "green" not in call.text.rsplit("rediction", 1)[-1]
        verdict = {"reason": "r", "consistent": "yes" if right else "no"}
        return Answer(
            text=json.dumps(verdict)
            if "consistent" in call.text
            else "It fits. Score: 2"
            if right
            else "Score: 0"
        )
    return Answer(
        text="(B) pour" if "(A)" in call.text else "It is red." if call.model == "good" else "It is green."
    )


def test_four_kinds_from_strangers_files_to_one_page(studio: Any, visit: Any, bench: Path) -> None:
    ana, ben, edda, gita = (
        studio.hire(role) for role in ("annotator", "annotator", "adjudicator", "coordinator")
    )
    plan = studio.desk.read(lambda c: roster.plan_deal(studio.desk, c, [ana, ben], POLICIES[0]))
    studio.do(roster.apply_deal, plan, actor="cli")
    asked = sorted(q.text for q in QUESTIONS)

    page = visit.open(visit.context(studio, ana), "/")
    assert sorted(judge_all(page, "judge", lambda text: text not in WRONG)) == asked
    page = visit.open(visit.context(studio, ben), "/")
    assert (
        sorted(judge_all(page, "judge", lambda text: text != "Drink it.")) == asked
    )  # ben takes red for green, too
    page = visit.open(visit.context(studio, edda), "/")
    # What is settled may come again, blindly, by a lot that each studio draws for itself.
    share = studio.desk.read(documents.protocol).repeat_share
    again = [row for row in studio.rows("items", agreement="same") if row.repeat_lot < share]
    cases = ["What colour is the wall?", *(json.loads(row.body)["text"] for row in again)]
    assert sorted(judge_all(page, "adjudicate", lambda text: text not in WRONG)) == sorted(cases)
    assert {row.candidate_id: row.state for row in studio.rows("items")} == {
        q.id: "settled" for q in QUESTIONS
    }

    page = visit.open(visit.context(studio, gita), "/dashboard")
    page.wait_for_selector("text=α")
    told = page.inner_text("main")
    assert "questions 1.000, answers 0.889" in told  # they differ on one of nine answers
    assert "picture question" in (page.text_content("main") or "")  # folded: it has few questions
    studio.close()

    def run(*line: object) -> str:
        done = proctor(*line)
        assert done.status == 0, (line, done.err)
        return done.out

    run("build", bench, "--accept", "humans")
    released = load_benchmark(bench / "release")
    assert {item.id: item.question.kind for item in released.items} == {q.id: q.kind for q in QUESTIONS}
    assert {item.id: gold_texts(item) for item in released.items} == {
        "moment": ("Pour it.",),
        "clip-open": ("The water is poured.",),
        "clip-choice": ("pour",),
        "documents": ("Two spoons.",),
        "picture": ("It is red.",),
    }
    with Standin(answer=play) as server:
        models = [word for name in ("good", "bad") for word in ("-p", f"compat/{name}@{server.url}/v1")]
        run("predict", bench, *models, "--videos", bench.parent / "videos")
        run("judge", bench)
        run("judge", bench, "-j", f"compat/judge@{server.url}/v1")
    run("score", bench)
    made = json.loads(run("report", bench, "--videos", bench.parent / "videos", "--json"))
    assert made["items"] == dict.fromkeys(
        ("clips, multiple choice", "clips", "moments", "documents", "picture"), 1
    )
    assert len(made["runs"]) == 2 * len(QUESTIONS)
    page = visit.open(visit.context(studio), (bench / "report.html").as_uri())
    told = page.inner_text("main")
    assert all(
        f"{kind}: 1 question" in told
        for kind in ("Clips", "Clips, multiple choice", "Moments", "Documents", "Picture")
    )
    assert all(
        f"Agreement of every two people on questions: {kind}" in told
        for kind in ("moment", "clip", "documents", "picture")
    )
