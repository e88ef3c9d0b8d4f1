"""README.md: every command is typed, section by section, and what it shows is what the demo prints."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from PIL import Image
from tests.conftest import REPOSITORY
from tests.docs.outsider import README, run_python, sections, shown, these, type_all, types
from tests.docs.people import opened_studios, take_part
from tests.docs.test_experiment_page import fill_in
from tests.docs.test_guides import write_files
from tests.docs.test_instructionbench_page import write_data
from tests.docs.test_learn_pages import SMALL
from tests.docs.test_new_kind_page import two_people_accept
from tests.docs.test_rounds_page import answers
from tests.learn.word_places import use_word_places
from tests.typed import proctor

from proctor.exam.question import Item
from proctor.records import read_jsonl
from proctor.samples import copy_sample
from proctor.stages.graph_synthetic import recover
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

TEXT = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SECTIONS = sections(README)
SCREEN = SECTIONS["# Proctor"]


def test_the_demo_in_the_readme_is_todays(tmp_path: Path) -> None:
    outcome = proctor("demo", tmp_path / "demo", "--no-video")
    assert outcome.status == 0
    printed = [line for line in outcome.out.partition("done in")[0].splitlines() if line.strip()]
    assert len(printed) == 7
    assert [line for line in printed if line not in TEXT] == []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that is the reader's own, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with opened_studios() as pages:
        yield tmp_path
    assert all("<title>" in page for page in pages)


@pytest.fixture
def played(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """Models that are played for the workspace ``bench``."""
    with Standin(answer=Rehearsal(home / "bench", quality=0.8)) as server:
        for name, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(name, value)
        yield server
    assert server.errors == []


@pytest.fixture
def annotations(home: Path, tests_data: Path) -> Path:
    """A few recordings in the shape of CaptainCook4D's."""
    (home / "captaincook4d").symlink_to(tests_data / "datasets" / "captaincook4d")
    return home / "captaincook4d"


@types(README, commands=these([*SCREEN, *SECTIONS["Install"]]), python="(?!)")
def test_the_first_screen_works_as_typed(home: Path) -> None:
    assert len(SCREEN) == 9
    for line in [*SCREEN, *SECTIONS["Install"]]:
        outcome = proctor(*line.partition("#")[0].split()[1:])
        assert outcome.status == 0, (line, outcome.err)
        assert "\n\n\n" not in f"\n{outcome.out}", line
    for plan, called in (("mine", "everyday"), ("ours", "ours"), ("guides", "guides")):
        page = (home / plan / "report.html").read_text(encoding="utf-8")
        assert f'<h1 id="title"><bdi>{called}</bdi></h1>' in page
    assert "bm25@5 is first of 2 systems" in page or "gold is first of 2 systems" in page


@types(README, commands="(?!)")
@pytest.mark.usefixtures("home")
def test_the_python_block_works_as_typed_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = shown(README)[1]
    for _ in range(2):
        run_python(block)
    assert re.search(r"^ *1 +mine +system", capsys.readouterr().out, re.MULTILINE)


@types(README, commands=these(SECTIONS["Step by step, on real recordings"]), python="(?!)")
@pytest.mark.usefixtures("annotations")
def test_step_by_step(home: Path) -> None:
    type_all(SECTIONS["Step by step, on real recordings"], home)


@types(README, commands=these(SECTIONS["With people"]), python="(?!)")
def test_with_people(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.stages.studio_demo.find_rehearser", MagicMock())  # no videos are drawn
    copy_sample(home / "sample")
    for words in (
        ("read", "plain", "sample", "bench"),
        ("derive", "bench"),
        ("generate", "bench", "--limit", 9),
    ):
        assert proctor(*words).status == 0
    two_people_accept(home / "bench")
    *before, collect = SECTIONS["With people"]
    type_all(before, home)
    assert take_part(home / "bench", "people", "cy", says=answers(home / "bench")) > 0
    type_all([collect], home)


@types(README, commands=these(SECTIONS["With your models"]), python="(?!)")
@pytest.mark.usefixtures("annotations", "played")
def test_with_your_models(home: Path) -> None:
    from tests.media.make_video import make_grey_videos

    found = json.loads((home / "captaincook4d/annotation_json/complete_step_annotations.json").read_text())
    lengths = {f"{name}.mp4": max(s["end_time"] for s in r["steps"]) for name, r in found.items()}
    make_grey_videos(home / "videos", lengths)
    (home / "mine.py").write_text("def answer(shown):\n    return 'Yes.'\n")
    for line in SECTIONS["With your models"]:
        if "--human" in line:
            fill_in(home / "bench" / "to-mark.csv")
        if "import predictions" in line:
            rows = [
                {"item_id": item.id, "answer": "No."} for item in read_jsonl(Path("bench/items.jsonl"), Item)
            ]
            Path("answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        type_all([line], home)


@types(README, commands=these(SECTIONS["Recognising mistakes"]), python="(?!)")
def test_recognising_mistakes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("proctor.toml").write_text(SMALL)
    copy_sample(home / "captaincook4d")
    graphs = (REPOSITORY / "docs" / "graphs.md").read_text(encoding="utf-8")
    *_, performances = re.findall(r"```json\n(.*?)```", graphs, re.DOTALL)
    Path("performances.json").write_text(performances)
    monkeypatch.setattr("proctor.stages.graph_benchmark.recover", partial(recover, sizes=(5,), counts=(2,)))
    type_all(SECTIONS["Recognising mistakes"], home)


@types(README, commands=these(SECTIONS["Manuals put in order"]), python="(?!)")
def test_manuals_put_in_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_word_places(monkeypatch)  # a trained model would take minutes
    assert proctor("datasets", "synthetic", "wikihow", "--manuals", 12).status == 0
    with Standin(reply="1, 2, 3, 4, 5") as server:
        for key, value in server.environment.items():
            monkeypatch.setenv(key, value)
        type_all(SECTIONS["Manuals put in order"], home)


def write_manuals(folder: Path) -> None:
    """Write four manuals, each with text, a table and a picture."""
    folder.mkdir()
    for number, (name, care) in enumerate(
        (("Kettle", "descale"), ("Toaster", "empty"), ("Blender", "rinse"), ("Scale", "wipe"))
    ):
        Image.new("RGB", (320, 240), (60 * number, 90, 120)).save(folder / f"{name}.png")
        text = f"The {name} lasts for {number + 2} years. Always {care} it after use, and never open it. " * 4
        table = f"| Part | Weight |\n|---|---|\n| lid | {number}20 g |\n| base | {number}80 g |"
        picture = f"![Figure {number}: the {name} from the front]({name}.png)"
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n\n{table}\n\n{picture}\n")


@types(README, commands=these(SECTIONS["Questions over documents"]), python="(?!)", instead=["5"])
@pytest.mark.usefixtures("played")
def test_the_corpus_block_works_on_one_corpus(home: Path) -> None:
    write_manuals(home / "manuals")
    Path("proctor.toml").write_text("[documents]\nper_cell = 1\n")
    fewer = [line.replace("--per-cell 5", "--per-cell 1") for line in SECTIONS["Questions over documents"]]
    type_all(fewer, home)


@types(README, commands=these(SECTIONS["Questions about instructional videos"]), python="(?!)")
@pytest.mark.usefixtures("played")
def test_instructional_videos(home: Path) -> None:
    (home / "videos").mkdir()
    write_data(home)
    rehearsal, filtered = SECTIONS["Questions about instructional videos"]
    type_all([rehearsal], home)
    assert proctor("generate", "clip", "bench", "--data", "youcook2", "-g", "openai/gpt-4o").status == 0
    type_all([filtered], home)


@types(README, commands=these(SECTIONS["Metrics from files"]), python="(?!)")
def test_metrics(home: Path) -> None:
    write_files(home)
    type_all(SECTIONS["Metrics from files"], home)


@types(
    README,
    commands=these(SECTIONS["Published results, reproduced"]),
    python="(?!)",
    instead=["THEIR/release"],
)
@pytest.mark.shared
def test_published_results(home: Path, shared_data: Path) -> None:
    (home / "captaincook4d").symlink_to(shared_data / "captaincook4d")
    (home / "examples.json").symlink_to(shared_data / "promqa" / "examples_dev.json")
    copy_sample(home / "sample")
    for words in (
        ("read", "plain", "sample", "ours"),
        ("derive", "ours"),
        ("generate", "ours", "--limit", 9),
        ("verify", "ours"),
        ("build", "ours"),
    ):
        assert proctor(*words).status == 0
    type_all(SECTIONS["Published results, reproduced"], home, THEIR="ours")
