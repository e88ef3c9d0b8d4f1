"""From a text to a leaderboard, by people alone and a model: every sheet goes over HTTP into the real application."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("av", reason="the extra 'video' is not installed")
pytest.importorskip("starlette", reason="the extra 'studio' is not installed")

from starlette.testclient import TestClient
from tests.media.make_video import Recipe, make_video
from tests.taking import judge, predict

from proctor.exam.prediction import Prediction
from proctor.procedure.graph import TaskGraph
from proctor.records import read_jsonl
from proctor.stages.build import build
from proctor.stages.calibrate import calibrate
from proctor.stages.derive import derive
from proctor.stages.exam_settings import CalibrateSettings, ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.settings import (
    AnswerSettings,
    Collect,
    GraphRoundSettings,
    MarkSettings,
    TimelineSettings,
)
from proctor.stages.score import score
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.studio import open_studio
from proctor.studio.app import build_app
from proctor.studio.auth import hash_token, new_token
from proctor.studio.context import Settings
from proctor.verify.desk import people, roster, tasks, work
from proctor.verify.policy import Policy
from proctor.workspace import Workspace
from proctor_rehearsal.players.player import rehearse

ORIGIN = "http://127.0.0.1:8642"
TEXT = "Fill the kettle with water. Put a tea bag into the cup. Pour the water into the cup. Wait three minutes. Add sugar to the tea."
STEPS = tuple(sentence.strip(" .") for sentence in TEXT.split(". "))
EDGES = (("s1", "s3"), ("s2", "s3"), ("s3", "s4"), ("s4", "s5"))

Says = Callable[[tasks.Asked, str], dict[str, Any]]


class Hall:
    """The application of a workspace, and people who fill in sheets."""

    def __init__(self, studio: Any) -> None:
        self.desk = studio.desk
        self.studio = studio
        self.app = build_app(studio)

    def person(self, name: str) -> Any:
        found = self.desk.read(lambda c: people.by_handle(self.desk, c, name))
        if found is None:
            self.desk.write(
                lambda c: people.add(
                    self.desk, c, handle=name, name=name, role="annotator", actor="t", gate="open"
                )
            ).result()
            found = self.desk.read(lambda c: people.by_handle(self.desk, c, name))
            self.desk.write(lambda c: people.consent_given(self.desk, c, found, 1)).result()
            for kind in ("", "moment"):
                self.desk.write(
                    lambda c, k=kind: people.guideline_ticked(self.desk, c, found, 1, kind=k)
                ).result()
        return self.desk.read(lambda c: people.by_handle(self.desk, c, name))

    @contextmanager
    def client(self, name: str) -> Iterator[TestClient]:
        person, token = self.person(name), new_token()
        self.desk.write(lambda c: people.open_session(self.desk, c, hash_token(token), person)).result()
        with TestClient(self.app, base_url=ORIGIN, follow_redirects=False) as client:
            client.headers.update(
                {"Sec-Fetch-Site": "same-origin", "Origin": ORIGIN, "Accept": "application/json"}
            )
            client.cookies.set(self.studio.auth.cookie, token)
            yield client

    def send(self, client: TestClient, address: str, sheet: dict[str, Any]) -> str:
        headers = {"Idempotency-Key": f"key of {address}", "If-Match": '"0"'}
        answer = client.post(f"{address}/submit", json={"sheet": sheet, "active_ms": 30_000}, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["next"])

    def take_part(self, address: str, name: str, says: Says) -> int:
        """Do a batch of a round; returns how many tasks it had."""
        person, done = self.person(name), 0
        with self.client(name) as client:
            assert client.get(address, headers={"Accept": "text/html"}).status_code == 200
            here = client.post(f"{address}/start", data={"go": "1"}).headers["location"]
            while here.startswith("/w/"):
                page = client.get(here, headers={"Accept": "text/html"})
                assert page.status_code == 200, page.text
                pid = here.removeprefix("/w/")
                asked = self.desk.read(lambda c, p=pid: tasks.asked_of(c, work.own_assignment(c, p, person)))
                here = self.send(client, here, says(asked, name))
                done += 1
        return done

    def verify(self, *names: str) -> None:
        """Deal every candidate to these people and have them accept what there is."""
        crowd = [self.person(name) for name in names]
        deal = self.desk.read(lambda c: roster.plan_deal(self.desk, c, crowd, Policy(name="everything")))
        self.desk.write(lambda c: roster.apply_deal(self.desk, c, deal, actor="t")).result()
        for name in names:
            with self.client(name) as client:
                here = client.post("/next").headers["location"]
                while here.startswith("/w/"):
                    pid = here.removeprefix("/w/")
                    cards = self.desk.read(
                        lambda c, p=pid, n=name: work.load_work(self.desk, c, p, self.person(n)).cards
                    )
                    here = self.send(
                        client, here, {"question": "right", "answers": ["right"] * len(cards.texts)}
                    )


@contextmanager
def hall(root: Path, videos: Path | None = None) -> Iterator[Hall]:
    settings = Settings(project="Walk", origin=ORIGIN, folder=root / "studio")
    with open_studio(root, settings, videos=videos) as studio:
        yield Hall(studio)


def test_from_a_text_to_a_leaderboard(tmp_path: Path) -> None:
    texts, videos, first, bench = (tmp_path / name for name in ("texts", "videos", "first", "bench"))
    for folder in (texts, videos, first):
        folder.mkdir()
    Workspace(first).create()
    (texts / "tea.txt").write_text(TEXT)

    # Two authors write the task graph; one of them links one step less, and only what both have is settled.
    def writes(_asked: tasks.Asked, who: str) -> dict[str, Any]:
        spans = [[TEXT.index(step), TEXT.index(step) + len(step)] for step in STEPS]
        steps = [{"id": f"s{n}", "text": t, "spans": [spans[n - 1]]} for n, t in enumerate(STEPS, 1)]
        return {"steps": steps, "edges": [list(e) for e in (EDGES if who == "ana" else EDGES[:3])]}

    graph_round = open_round(first, "graph", GraphRoundSettings(texts=texts, write=True))
    with hall(first) as there:
        assert [there.take_part(graph_round.address, who, writes) for who in ("ana", "ben")] == [1, 1]
    _, graphs = collect_round(first, Collect(round="graph"))
    assert any("agree" in line or "F1" in line for line in graphs.lines)
    (graph,) = Workspace(first).graphs().values()
    assert isinstance(graph, TaskGraph)
    assert [step.text for step in graph.actions] == list(STEPS)

    # Two people mark a rendered recording, a few frames apart.
    make_video(videos / "tea_1.mp4", Recipe(times=range(600), time_base=Fraction(1, 10), audio_seconds=0.0))

    def marks(asked: tasks.Asked, who: str) -> dict[str, Any]:
        late = 0.0 if who == "ana" else 0.2
        ids = [step.id for step in asked.body.steps]
        spans = [
            {"id": f"m{n}", "step": step, "start_s": 2 + 11 * n + late, "end_s": 11 + 11 * n + late}
            for n, step in enumerate(ids)
        ]
        wrong = {"step": ids[1], "tag": "technique", "text": "Two tea bags.", "origin": "review"}
        did = {"id": "a1", "start_s": 3.0, "end_s": 4.0, "verb": "lift", "noun": "kettle", "step": ids[0]}
        return {"segments": spans, "errors": [wrong], "actions": [did]}

    timeline = open_round(first, "timeline", TimelineSettings(videos=videos, steps=graph.id))
    with hall(first, videos) as there:
        assert [there.take_part(timeline.address, who, marks) for who in ("ana", "ben")] == [1, 1]
    _, annotated = collect_round(first, Collect(round="timeline", out=tmp_path / "settled"))
    assert annotated.lines[0].startswith("1 of 1 recordings are settled")

    # What they settled is read, asked about, and verified.
    read("plain", tmp_path / "settled" / "annotated", bench)
    derive(bench)
    generate(bench, GenerateSettings())
    with hall(bench) as there:
        there.verify("cleo", "dev")
    built = build(bench, BuildSettings(accept="humans"))
    assert built.items > 3

    # Two other people and a model answer; those who verified get nothing.
    items = {
        line["question"]["id"]: line
        for line in map(json.loads, (bench / "items.jsonl").read_text().splitlines())
    }

    def answers(asked: tasks.Asked, who: str) -> dict[str, Any]:
        golds = items[asked.body.question.id]["golds"]
        return {"values": {"answer": golds[0]["value"]["text"] if who == "eve" else "I do not know."}}

    exam = open_round(bench, "answer", AnswerSettings(name="people", people=2, batch=100))
    with hall(bench) as there:
        done = {who: there.take_part(exam.address, who, answers) for who in ("eve", "finn", "cleo")}
    assert done == {"eve": built.items, "finn": built.items, "cleo": 0}
    collect_round(bench, Collect(round="people"))
    with rehearse(bench, quality={"": 0.5}, seed=1) as server:
        model = predict(bench, f"compat/some@{server.url}/v1")
    runs = [name for name in Workspace(bench).run_names() if name.startswith("people")]
    assert len(runs) == 3  # each of the two, and both together

    # Their answers are marked by people, who calibrate the judge; the leaderboard has the people's row.
    def marked(asked: tasks.Asked, _who: str) -> dict[str, Any]:
        return {"values": {"mark": "2" if asked.body.answer in asked.body.golds else "0"}}

    marking = open_round(bench, "mark", MarkSettings(name="marks", people=2, scale="binary"))
    with hall(bench) as there:
        assert (
            there.take_part(marking.address, "gil", marked)
            == there.take_part(marking.address, "hana", marked)
            > 0
        )
    _, marks_found = collect_round(bench, Collect(round="marks"))
    judge(bench)
    calibrated = calibrate(bench, CalibrateSettings(human=(str(marks_found.files[0]),)))
    assert calibrated.kind == "moment"
    table = score(bench, ScoreSettings(resamples=100))
    rows = {row.run: row for row in table.runs}
    assert {rows[name].role for name in runs} == {"human"}
    assert sorted(rows[name].score for name in runs if name != "people") == [0.0, 100.0]  # finn knew nothing
    assert model["run"] in rows
    assert (
        len(read_jsonl(Workspace(bench).run_folder("people") / "predictions.jsonl", Prediction))
        == built.items
    )
