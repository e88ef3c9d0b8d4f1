"""docs/corpus.md: its way from a folder of PDFs to a report runs as it is typed, and its style is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from tests.docs.outsider import run_python, shown, type_all, types
from tests.study import study_bench
from tests.typed import proctor

from proctor.ask.documents.style import BUILTIN_STYLES, load_style
from proctor.exam.kinds.documents_question import document_facts
from proctor.exam.question import Question
from proctor.records import read_jsonl
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "corpus.md").read_text(encoding="utf-8")
WAY = PAGE.partition("## From a folder of PDFs")[2].partition("\n## ")[0]
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"```sh\n(.*?)```", WAY, re.DOTALL)
    for command in block.replace("\\\n", " ").splitlines()
    if command.startswith("proctor ")
]
MACHINES = {
    "Kettle": (
        "boils two litres in six minutes",
        "steam",
        [["Part", "Weight"], ["lid", "120 g"], ["base", "480 g"]],
    ),
    "Toaster": (
        "browns four slices at once",
        "crumbs",
        [["Part", "Weight"], ["tray", "90 g"], ["lever", "35 g"]],
    ),
    "Blender": ("runs at nine speeds", "blades", [["Part", "Weight"], ["jar", "610 g"], ["motor", "1450 g"]]),
    "Scale": (
        "weighs up to five kilograms",
        "batteries",
        [["Part", "Weight"], ["plate", "300 g"], ["foot", "12 g"]],
    ),
}


def write_manuals(folder: Path) -> None:
    """Write four manuals as PDF, each with text, a table with lines and a picture."""
    platypus = pytest.importorskip("reportlab.platypus", reason="needs reportlab")
    from reportlab.lib.styles import getSampleStyleSheet

    styles = getSampleStyleSheet()
    folder.mkdir()
    for number, (name, (what, care, rows)) in enumerate(MACHINES.items()):
        picture = folder.parent / f"{name}.png"
        image = Image.new("RGB", (300, 200), (40 * number, 90, 200 - 40 * number))
        ImageDraw.Draw(image).ellipse((60, 30, 240, 170), fill=(250, 200, 30 * number))
        image.save(picture)
        text = (
            f"The {name} {what}. Look after its {care}: clean it every week and never hold it under running water. "
            * 3
        )
        table = platypus.Table(rows, style=[("GRID", (0, 0), (-1, -1), 1, (0, 0, 0))])
        platypus.SimpleDocTemplate(str(folder / f"{name.lower()}.pdf"), invariant=1).build(
            [
                platypus.Paragraph(name, styles["Heading1"]),
                platypus.Paragraph(text, styles["BodyText"]),
                platypus.Paragraph("Parts", styles["Heading2"]),
                table,
                platypus.Spacer(1, 20),
                platypus.Image(str(picture), 150, 100),
                platypus.Paragraph(f"Figure {number + 1}: The {name} from the front.", styles["BodyText"]),
            ]
        )


def test_the_way_is_whole() -> None:
    assert [" ".join(command[1:3]).removesuffix(" bench") for command in COMMANDS] == [
        "experiment documents", "corpus build", "corpus info", "corpus dedupe", "generate documents", "generate documents", "retrieve",
        "build", "predict", "predict", "predict", "judge", "score", "report",
    ]  # fmt: skip


ELSEWHERE = "concur|--questions data|datasets export"


@types("corpus.md", commands="datasets export", python="load_dataset|iter_shards")
def test_a_corpus_of_a_data_set_is_exported(
    tmp_path: Path, tests_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tests").symlink_to(tests_data.parent)
    Path("data").symlink_to(tests_data / "datasets")
    commands, code = shown("corpus.md")
    type_all([line for line in commands if "datasets export" in line], tmp_path)
    names = run_python(code[0])
    assert run_python(code[1], names)["source"].id
    assert names["question"].gold


@types("corpus.md", commands="concur|--questions data", python="(?!)")
def test_two_benchmarks_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study_bench(tmp_path / "bench", each=2)
    Path("proctor.toml").write_text('[retrieve]\nretrievers = ["bm25", "lsa"]\n')
    assert proctor("retrieve", "bench").status == 0
    type_all([line for line in shown("corpus.md")[0] if re.search("concur|--questions data", line)], tmp_path)


@types("corpus.md", commands=rf"^(?!.*(?:{ELSEWHERE}))", python="retrieve_all")
@pytest.mark.timeout(900)
def test_the_commands_run_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pdfplumber", reason="needs the extra corpus")
    write_manuals(tmp_path / "manuals")
    monkeypatch.chdir(tmp_path)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.8)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        counts = []
        for command in COMMANDS:
            done = proctor(*command[1:])
            assert done.status == 0, (command, done.out, done.err)
            counts.append(server.count)
        assert server.errors == []
    assert counts[:5] == [0] * 5  # rehearsal, corpus and estimate send nothing to models
    assert counts[5] > 25
    assert counts[8] == counts[7] == counts[6]
    assert counts[11] > counts[10] > counts[9] > counts[8]
    assert counts[13] == counts[11]
    assert "This is a rehearsal" in (tmp_path / "rehearsal" / "report.html").read_text()
    questions = read_jsonl(tmp_path / "bench" / "documents.jsonl", Question)
    assert len(questions) >= 10  # of 50: four short manuals give no more that differ
    assert {q.facets["style"] for q in questions} <= set(BUILTIN_STYLES)
    assert all("closed_book" in document_facts(q).difficulty for q in questions)
    assert run_python(shown("corpus.md")[1][2])["table"]
    page = (tmp_path / "bench" / "report.html").read_text()
    assert "This is a rehearsal" not in page
    assert "gpt-4o-mini, bm25@5" in page
    assert "data:image/webp;base64," in page


def test_the_style_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "warnings.md"
    path.write_text(text)
    style = load_style(path)
    assert style.name == "warnings"
    assert style.allows((1, 1, 0))
    assert not style.allows((0, 0, 1))
