"""The older guide pages: their commands are typed, and their Python runs, on a small benchmark of the shipped recordings."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final
from unittest.mock import MagicMock

import pytest
from tests.docs.outsider import Outsider, run_python, shown, type_all, types
from tests.docs.people import opened_studios
from tests.docs.test_commands_exist import typed
from tests.docs.test_new_kind_page import two_people_accept
from tests.report.exams import small_data
from tests.typed import Outcome, proctor

from proctor.ask.moment.candidate import Candidate
from proctor.exam.kinds.example import Example
from proctor.procedure.recording import Recording
from proctor.records import read_jsonl
from proctor.samples import copy_sample
from proctor.stages.questions import workspace_questions
from proctor.verify.verdict import AnswerVerdict, Verdict
from proctor.workspace import Workspace

FILES: Final = {
    "gt.csv": "video-id,t-start,t-end,label,recording,step,video,frame,recipe\nv,0,10,0,r,1,v,0,tea\nv,20,30,1,r,2,v,1,tea\n",
    "predictions.csv.gz": "video-id,t-start,t-end,label,score\nv,1,9,0,0.9\nv,21,35,1,0.7\n",
    "pred.csv": "recording,step,score\nr,1,0.1\nr,2,0.8\n", "val.csv": "recording,step,label,score\ns,1,0,0.2\ns,2,1,0.7\n",
    "clusters.csv": "video,frame,cluster\nv,0,4\nv,1,12\n", "groundTruth/v.txt": "background\ncut\ncut\nmix\n",
    "results/v.txt": "background\ncut\nmix\nmix\n",
    "gold.jsonl": '{"id": "a", "order": ["1", "2", "3"], "presented": ["2", "1", "3"]}\n',
    "model.jsonl": '{"id": "a", "order": ["1", "3", "2"]}\n', "baseline.jsonl": '{"id": "a", "order": ["2", "1", "3"]}\n',
    "labels.csv": "unit,annotator,label\n1,ana,0\n1,bo,1\n2,ana,2\n2,bo,2\n", "items.jsonl": '{"id": "q", "gold": ["s1"]}\n',
    "ranking.jsonl": '{"id": "q", "ranking": ["s2", "s1"]}\n', "sources.jsonl": '{"id": "s1"}\n{"id": "s2"}\n',
    "gt.jsonl": '{"id": "q", "answers": ["salt"], "type": "next"}\n{"id": "p", "answers": ["milk"], "type": "order"}\n',
    "pred.jsonl": '{"id": "q", "response": "salt"}\n{"id": "p", "response": "tea"}\n',
    "questions.jsonl": '{"question": "Did I miss a step?"}\n{"question": "What comes next?"}\n',
    "marks.csv": "item,baseline,mine\n1,0,1\n2,1,1\n3,0,1\n4,1,0\n",
    "replies.jsonl": '{"id": "a1", "reply": "Same step.\\nVerdict: 2"}\n',
}  # fmt: skip
"""What the pages' commands read."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a benchmark of the shipped recordings in it."""
    home = tmp_path_factory.mktemp("guides")
    copy_sample(home / "sample")
    assert proctor("read", "plain", home / "sample", home / "bench").status == 0
    for step in (["derive"], ["generate", "--limit", 9], ["verify"], ["build"]):
        assert proctor(*step, home / "bench").status == 0
    return home


@pytest.fixture
def home(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(shared, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    write_files(tmp_path / "home")
    return tmp_path / "home"


def write_files(folder: Path) -> None:
    """Write what the pages' commands read."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def page(name: str) -> Outsider:
    return Outsider(name, Path())


def run(text: str) -> list[Outcome]:
    """Type the commands of blocks."""
    done = [proctor(*shlex.split(line, comments=True)[1:]) for line in typed(text)]
    assert [one.err for one in done if one.status] == []
    return done


@types("metrics.md", python="(?!)")
@types("evaluate.md", python="(?!)")
def test_metrics_from_files_answers_of_ones_own_and_replies(home: Path) -> None:
    assert len(run(page("metrics.md").text)) == 10
    evaluate = page("evaluate.md")
    (block,) = evaluate.blocks("console")
    item = read_jsonl(home / "bench" / "items.jsonl")[0]["question"]["id"]
    lines = [line for line in block.splitlines() if line.startswith("{")]
    Path("answers.jsonl").write_text("\n".join(lines).replace("r1_3_next", item))
    run(evaluate.text)
    (shown,) = map(json.loads, evaluate.blocks("json"))
    (mine,) = proctor("score", "bench", "--run", "mine", "--json").json["runs"]
    assert mine.keys() == shown.keys()


@types("benchmark.md")
@pytest.mark.usefixtures("home")
def test_a_release_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="needs the extra hf")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(Path.cwd() / "hf"))
    ours, theirs = page("benchmark.md").blocks("python")
    assert len(run_python(ours)["benchmark"].items) == len(run_python(theirs)["rows"])


@types("generate.md")
@types("oracle.md", commands="(?!)")
@types("report.md")
@pytest.mark.usefixtures("home")
def test_the_python_of_generation_the_oracle_and_the_report() -> None:
    examples, graphs = read_jsonl(Path("bench/examples.jsonl"), Example), Workspace(Path("bench")).graphs()
    (code,) = page("generate.md").blocks("python")
    assert len(run_python(code, {"examples": examples, "graphs": graphs})["results"]) == len(examples)
    candidate = read_jsonl(Path("bench/candidates.jsonl"), Candidate)[0]
    example = next(one for one in examples if one.id == candidate.example_id)
    (code,) = page("oracle.md").blocks("python")
    made = run_python(
        code, {"candidate": candidate, "example": example, "graph": graphs[example.activity_id]}
    )
    assert made["verdict"].question.value == "right"
    assert made["one"].reason
    data = small_data()
    (code,) = page("report.md").blocks("python")
    (one, other), asked = data.exams[0].runs[:2], data.asked["moment"]
    given: dict[str, Any] = {"predictions": one.predictions, "judgements": one.judgements, "table": one.table}
    given |= {"more_predictions": other.predictions, "more_judgements": other.judgements}
    given |= {"items": data.exams[0].items, "another_table": other.table, "stages": data.funnel}
    run_python(code, given | {"questions": asked.questions, "verdicts": asked.verdicts})
    assert "Kitchen" in Path("report.html").read_text()


@types("upgrade.md")
def test_an_older_workspace_is_brought_up_to_date(home: Path) -> None:
    upgrade = page("upgrade.md")
    (home / "bench" / "workspace.json").unlink()
    (home / "bench" / "items.jsonl").unlink()
    refused = proctor("build", "bench")
    assert re.search(r"```\n(.*?)```", upgrade.text, re.DOTALL)[1] == refused.err
    run(upgrade.text)
    assert {path.parent.name for path in home.glob("*/workspace.json")} == {"bench-upgraded", "bench-2"}


@types("compute.md", commands=r"^(?!.*ray://)")
def test_the_workers_of_compute(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands, (code,) = shown("compute.md")
    type_all([line for line in commands if "ray://" not in line], home)
    run_python(code)
    assert capsys.readouterr().out.splitlines() == ["'a' 1", "'bc' 2", "'def' 3"]


@types("compute.md", commands="ray://", python="(?!)", instead=["ray://first:6379"])
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.skipif(sys.platform != "linux", reason="the cluster of the tests is for Linux")
def test_a_cluster(home: Path, tests_data: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra 'ray'")
    from tests.ray_cluster import ray_cluster

    (home / "data").symlink_to(tests_data / "datasets")
    commands = [line for line in shown("compute.md")[0] if "ray://" in line]
    with ray_cluster(1) as cluster:
        type_all([line.replace("first:6379", cluster.address) for line in commands], home)
    assert (home / "corpus").is_dir()


@types("procedure.md")
def test_the_python_of_procedures() -> None:
    (code,) = shown("procedure.md")[1]
    names = run_python(code)
    said = re.findall(r"^(tea\..*?)  # (.*)$", code, re.MULTILINE)
    assert len(said) == 4
    for line, value in said:
        assert repr(eval(line, names)) == value


@types("manuals.md")
def test_the_python_of_manuals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert proctor("datasets", "synthetic", "wikihow", "--manuals", 3).status == 0
    (code,) = shown("manuals.md")[1]
    names = run_python(code)
    assert names["sequence"].id.endswith("###0")


@types("media.md")
def test_the_python_of_media(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    from tests.media.make_video import make_grey_video

    monkeypatch.chdir(tmp_path)
    make_grey_video(Path("tea_1.mp4"), 12)
    (code,) = shown("media.md")[1]
    names = run_python(code)
    assert len(names["frames"]) == 50
    assert names["jpeg"].startswith(b"\xff\xd8")


@types("rehearsal.md")
def test_the_python_of_drawing(home: Path) -> None:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    recordings = read_jsonl(home / "bench" / "recordings.jsonl", Recording)[:1]
    (code,) = shown("rehearsal.md")[1]
    run_python(code, {"folder": home, "recordings": recordings})
    assert (home / f"{recordings[0].id}.mp4").stat().st_size > 10_000


@types("verify.md")
def test_the_python_of_verification(home: Path) -> None:
    question = next(one for one in workspace_questions(Workspace(home / "bench")) if one.proposals)
    right, wrong = AnswerVerdict(value="right"), AnswerVerdict(value="wrong")
    verdict, other, adjudication = (
        Verdict(
            candidate_id=question.id, annotator=name, annotator_kind="human", at="2026-01-01T00:00:00Z",
            question=right, answers=(value,) * len(question.proposals), role=role,
        )
        for name, value, role in (("ana", right, "annotator"), ("ben", wrong, "annotator"), ("zoe", right, "adjudicator"))
    )  # fmt: skip
    stored, settled = shown("verify.md")[1]
    run_python(stored, {"verdict": verdict, "verdicts": [verdict, other]})
    names = run_python(
        settled, {"question": question, "verdicts": [verdict, other], "adjudication": adjudication}
    )
    assert names["case"].needs_adjudication
    assert [a.approved_by for a in names["merge"](names["case"], adjudication).answers]


@types("interchange.md")
def test_files_of_other_tools(home: Path, tests_data: Path) -> None:
    shutil.rmtree("bench")
    shutil.copy(tests_data / "interchange" / "elan_pympi.eaf", "tea.eaf")
    shutil.copy(tests_data / "interchange" / "label_studio_frames.json", "export.json")
    Path("data").symlink_to(tests_data / "datasets")
    commands, (code,) = shown("interchange.md")
    type_all(commands, home)
    run_python(code)


@types("studio.md")
def test_studios_and_benchmarks_of_what_people_accepted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.stages.studio_demo.find_rehearser", MagicMock())  # no videos are drawn
    two_people_accept(home / "bench")
    for other in ("line2", "manuals"):
        shutil.copytree(home / "bench", home / other)
    with opened_studios() as pages:
        type_all(shown("studio.md")[0], home)
    assert len(pages) == 5
