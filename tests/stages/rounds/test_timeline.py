"""People mark recordings: tasks of videos and steps, two sheets, one annotation that ``read plain`` takes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("av", reason="the extra 'video' is not installed")

from tests.media.make_video import Recipe, make_video

from proctor.capture.records import SCRIPT, PlannedMistake, Script, ScriptStep, recording_folder
from proctor.datasets.interchange import find_format
from proctor.datasets.plain import check_plain, read_plain, write_plain
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Action, Mistake, Recording, Segment
from proctor.records import read_jsonl, write_json, write_jsonl
from proctor.stages.convert import convert
from proctor.stages.read import read
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.settings import Collect, TimelineSettings
from proctor.stages.rounds.timeline import make
from proctor.stages.studio import open_desk
from proctor.verify.desk import people, rounds, tasks, work
from proctor.verify.rounds.timeline import TimelineTask
from proctor.verify.rounds.timeline_settle import OpenStep, TimelineAgreement
from proctor.workspace import Workspace

NTSC = Fraction(30_000, 1_001)
TRICKY = '<Mix> & "fold"'


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    for name in ("tea_1", "tea_2"):
        make_video(folder / f"{name}.mp4", Recipe(times=range(300), time_base=1 / NTSC))
    return folder


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    workspace = Workspace(tmp_path / "bench")
    workspace.create()
    steps = (
        Step("S", "START"),
        Step("1", "Fill the kettle"),
        Step("2", TRICKY),
        Step("3", "Rest"),
        Step("E", "END"),
    )
    edges = (("S", "1"), ("1", "2"), ("2", "3"), ("3", "E"))
    workspace.write_graphs({"tea": TaskGraph("tea", "Tea", steps, edges, "S", "E")})
    return workspace.root


def given(folder: Path, **more: Any) -> TimelineSettings:
    return TimelineSettings(**{"videos": folder, "steps": "tea", **more})


def bodies(bench: Path, settings: TimelineSettings) -> list[TimelineTask]:
    return [msgspec.json.decode(t.body, type=TimelineTask) for t in make(Workspace(bench), settings).tasks]


def submit(bench: Path, who: str, says: Callable[[str], dict[str, Any]]) -> str:
    """Take every task of the round and hand in what somebody says; return who they are in readings."""
    with open_desk(bench) as desk:
        desk.write(
            lambda c: people.add(desk, c, handle=who, name=who, role="annotator", actor="t", gate="open")
        ).result()
        person: Any = desk.read(lambda c: people.by_handle(desk, c, who))
        found = desk.read(lambda c: rounds.round_named(c, "timeline"))
        batch: Any = desk.write(lambda c: rounds.open_batch(desk, c, found, person)).result()
        while pid := desk.read(lambda c: rounds.count_batch(c, batch).following):
            asked = desk.read(lambda c, p=pid: tasks.asked_of(c, work.own_assignment(c, p, person)))
            sheet = msgspec.Raw(msgspec.json.encode(says(asked.task.name)))
            desk.write(
                lambda c, p=pid, s=sheet: work.submit(desk, c, p, person, sheet=s, rev=0, key=p)
            ).result()
        return str(person.pid)


def says(shift: float, tag: str = "technique") -> dict[str, Any]:
    spans = {"1": (0.0, 3.0 + shift), "2": (4.0, 6.0)}
    return {
        "segments": [{"id": s, "step": s, "start_s": a, "end_s": b} for s, (a, b) in spans.items()],
        "errors": [
            {"step": "2", "tag": tag, "text": "with a fork"},
            {"step": "2", "tag": "timing", "text": "too short"},
            {"step": "3", "tag": "missing"},
        ],
        "actions": [{"id": "a", "start_s": 1.0, "end_s": 2.0, "verb": "lift", "noun": "kettle", "step": "1"}],
    }


def test_a_folder_of_videos_with_a_graph_becomes_tasks(bench: Path, videos: Path) -> None:
    task = bodies(bench, given(videos))[0]
    assert (task.recording, task.fps, task.frames, task.video) == ("tea_1", NTSC, 300, "tea_1.mp4")
    assert task.duration_s == pytest.approx(10.01)
    assert [s.id for s in task.steps] == ["1", "2", "3"]
    assert (task.script, task.before) == (("1", "2", "3"), (("1", "2"), ("2", "3")))
    assert len(bodies(bench, given(videos, recording=("tea_2",)))) == 1


def test_what_was_planned_and_noted_while_recording_is_proposed(bench: Path, videos: Path) -> None:
    workspace = Workspace(bench)
    segments = (
        Segment("3", "Rest"),
        Segment("2", TRICKY, 0.5, 4.0),
        Segment("1", "Fill the kettle", 4.0, 99.0),
    )
    write_jsonl(workspace.file("recordings.jsonl"), [Recording("tea_1", "tea", "Tea", segments)])
    script = Script(
        id="tea-induced-1", activity="tea", title="Tea", strategy="induced",
        steps=(ScriptStep(step="2", text=TRICKY), ScriptStep(step="1", text="Fill the kettle"), ScriptStep(step="9", text="?")),
        mistakes=(
            PlannedMistake(step="2", kind="order", text="too early"), PlannedMistake(step="3", kind="missing"),
            PlannedMistake(step="9", kind="other"),
        ),
    )  # fmt: skip
    write_json(recording_folder(bench, "tea_1") / SCRIPT, script)
    (task,) = bodies(bench, TimelineSettings(videos=videos))
    assert task.script == ("2", "1")
    assert [(e.step, e.tag, e.text, e.origin) for e in task.planned] == [
        ("2", "order", "too early", "script"), ("3", "missing", "", "script"),
    ]  # fmt: skip
    assert [(m.step, m.start_s, m.end_s) for m in task.prelabels] == [
        ("2", 0.5, 4.0),
        ("1", 4.0, task.duration_s),
    ]


def test_steps_from_a_text(bench: Path, videos: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.txt").write_text(f"\ufeffFill\n\n {TRICKY} \n", encoding="utf-8")
    task = bodies(bench, given(videos, steps=str(tmp_path / "recipe.txt")))[0]
    assert [(s.id, s.text) for s in task.steps] == [("1", "Fill"), ("2", TRICKY)]
    assert (task.activity, task.before) == ("recipe", ())


def test_prelabels_are_the_surest_of_each_step(bench: Path, videos: Path, tmp_path: Path) -> None:
    table = tmp_path / "predictions.csv"
    rows = [
        "tea_1,1,3,1,0.5", "tea_1,0,2,tea/1,0.9", f'tea_1,4,60,"{TRICKY.replace(chr(34), chr(34) * 2)}",0.2',
        "tea_1,7,8,unknown,1", "tea_2,1,2,unknown,1",
    ]  # fmt: skip
    table.write_text("\n".join(["video-id,t-start,t-end,label,score", *rows]) + "\n")
    made = make(Workspace(bench), given(videos, prelabels=table))
    first = msgspec.json.decode(made.tasks[0].body, type=TimelineTask)
    assert [(s.step, s.start_s, s.end_s) for s in first.prelabels] == [
        ("1", 0, 2),
        ("2", 4, first.duration_s),
    ]
    assert [(d.id, d.reason) for d in made.dropped] == [("tea_2", "no_prelabels")]


def test_prelabels_name_steps_by_the_ids_of_the_data_set(
    bench: Path, videos: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """In CaptainCook4D step 3 of a recipe may be the task graph's node 1: the number alone says nothing."""
    keys = {"tea": {"3": "1", "20": "2"}, "coffee": {"1": "1"}}
    monkeypatch.setattr("proctor.stages.rounds.timeline._own_steps", lambda _: keys)
    table = tmp_path / "predictions.csv"
    table.write_text("video-id,t-start,t-end,label,score\ntea_1,0,2,3,1\ntea_1,3,4,1,1\ntea_1,5,6,20,1\n")
    task = bodies(bench, given(videos, prelabels=table))[0]
    assert [(s.step, s.start_s) for s in task.prelabels] == [("1", 0.0), ("2", 5.0)]


def test_the_ids_of_a_data_set_come_from_its_folder(bench: Path, videos: Path, tmp_path: Path) -> None:
    recording = Recording("tea_1", "tea", "Tea", (Segment("1", "Fill the kettle", 0.0, 1.0),))
    write_plain(tmp_path / "plain", [recording], Workspace(bench).graphs())
    read("plain", tmp_path / "plain", bench)
    table = tmp_path / "predictions.csv"
    table.write_text("video-id,t-start,t-end,label,score\ntea_1,0,2,tea/1,1\ntea_1,3,4,2,1\n")
    task = bodies(bench, given(videos, steps="", prelabels=table))[0]
    assert [s.step for s in task.prelabels] == ["1", "2"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"steps": "coffee"}, "coffee"),
        ({"recording": ("tea_9",)}, "no recording 'tea_9'"),
        ({"videos": None}, "folder of videos is needed"),
        ({"steps": ""}, "recordings.jsonl"),
    ],
)
def test_what_cannot_be_made_is_said(bench: Path, videos: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(Workspace(bench), given(videos, **more))


def test_videos_of_a_varying_rate_are_refused_with_the_command(bench: Path, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    make_video(folder / "a.mp4", Recipe(times=[0, 1, 2, 5, 6, 9, 10, 11, 20], time_base=Fraction(1, 30)))
    with pytest.raises(UserError, match="ffmpeg") as caught:
        make(Workspace(bench), given(folder))
    assert "1 of the videos cannot be annotated by frames" in str(caught.value)


def test_two_people_are_settled_and_read_back(bench: Path, videos: Path) -> None:
    open_round(bench, "timeline", given(videos))
    submit(bench, "ann", lambda _: says(0.0))
    bob = submit(bench, "bob", lambda task: says(0.2, "technique" if task == "tea_1" else "other"))
    _, found = collect_round(bench, Collect(round="timeline"))
    folder = bench / "rounds" / "timeline"
    assert found.lines[0] == "1 of 2 recordings are settled, 1 entries are in open.jsonl"
    assert isinstance(found.figures, TimelineAgreement)
    assert found.figures.figures["actions_f1@0.5"] == 1.0
    result = read_plain(folder / "annotated", "published")
    assert [r.id for r in result.recordings] == ["tea_1"]
    recording = result.recordings[0]
    end = float(93 / NTSC)  # 3.1 s, to a frame
    mistakes = (Mistake("technique", "with a fork"), Mistake("timing", "too short"))
    assert recording.segments == (
        Segment("3", "Rest", mistakes=(Mistake("missing", ""),)),
        Segment("1", "Fill the kettle", 0.0, end),
        Segment("2", TRICKY, 4.0, 6.0, mistakes=mistakes),
    )
    assert recording.actions == (Action(1.0, 2.0, "lift", "kettle", "manual", "1"),)
    assert [f.rule for f in check_plain(folder / "annotated")] == ["P6"]  # the video is elsewhere
    assert read("plain", folder / "annotated", bench.parent / "next").counts["actions"] == 1

    # what is open is decided in a file, and everything is written anew
    open_ = read_jsonl(folder / "open.jsonl", OpenStep)
    assert [(part.recording, part.step) for part in open_] == [("tea_2", "2")]
    assert set(open_[0].said) > {bob}
    write_jsonl(folder / "decisions.jsonl", [{"take": bob, "step": "2"}])
    _, again = collect_round(bench, Collect(round="timeline"))
    assert again.lines[0] == "2 of 2 recordings are settled, 0 entries are in open.jsonl"
    both = read_plain(folder / "annotated", "published").recordings
    assert both[1].segments[2].mistakes[0].kind == "other"

    # what is settled goes to other tools; that both configurations of Label Studio come back (E2, E5) is
    # tests/datasets/interchange/test_actions.py
    for name, option in (("a.json", {}), ("b.json", {"convention": "frames"}), ("elan", {}), ("webvtt", {})):
        target = "label-studio" if name.endswith(".json") else name
        convert(
            folder / "annotated", folder / name, source_format="plain", target_format=target, options=option
        )
        reader = find_format(target).read
        assert reader is not None
        back: Any = reader(folder / name).objects
        assert [len(r.actions) for r in back] == [1, 1]
        assert {s.text for s in back[0].segments} >= {"Fill the kettle", TRICKY}


def test_broken_decisions_are_named(bench: Path, videos: Path) -> None:
    open_round(bench, "timeline", given(videos, recording=("tea_1",)))
    submit(bench, "ann", lambda _: says(0.0))
    path = bench / "rounds" / "timeline" / "decisions.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"who": "ann"}\n')
    with pytest.raises(UserError, match="decisions"):
        collect_round(bench, Collect(round="timeline"))
