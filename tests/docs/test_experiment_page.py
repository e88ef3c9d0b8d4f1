"""docs/experiment.md: its commands run as they are typed, one after the other, against a server that plays the models."""

from __future__ import annotations

import csv
import json
import re
import shlex
import warnings
from pathlib import Path
from string import ascii_lowercase

import pytest
from tests.conftest import find_shared_data
from tests.datasets.captaincook4d_part import write_part
from tests.docs.outsider import shown, type_all, types
from tests.docs.test_corpus_page import write_manuals
from tests.media.make_video import make_grey_videos
from tests.typed import proctor

from proctor.exam.question import Item
from proctor.metrics.bert_score import LAYERS
from proctor.records import read_jsonl
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "experiment.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for command in block.replace("\\\n", " ").splitlines()
    if command.startswith("proctor ")
]


def write_videos(folder: Path, data: Path) -> None:
    """Write a small video of each recording."""
    found = json.loads((data / "annotation_json" / "complete_step_annotations.json").read_text())
    make_grey_videos(
        folder, {f"{name}.mp4": max(step["end_time"] for step in r["steps"]) for name, r in found.items()}
    )


def test_the_page_has_the_whole_way() -> None:
    options = [{word for word in command if word.startswith("--")} for command in COMMANDS]
    assert [bool(o & {"--rehearse", "--dry-run", "--max-cost", "--human"}) for o in options] == [True] * 5
    assert ["--rehearse" in o for o in options] == [True, False, False, False, False]


@types("experiment.md", commands="proctor experiment (?:bench|rehearsal) ")
def test_its_commands_run_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_shared_data()
    if found is None:
        pytest.skip("needs the real annotations: set PROCTOR_DATA or place them in ../shared/data")
    data = write_part(found / "captaincook4d", tmp_path / "captaincook4d", shorter_than=320)
    write_videos(tmp_path / "videos", data)
    said = []
    monkeypatch.chdir(tmp_path)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.8)) as server:
        for name, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(name, value)
        counts = []
        for command in COMMANDS:
            if "--human" in command:
                fill_in(tmp_path / "bench" / "to-mark.csv")
            done = proctor(*command[1:])
            assert done.status == 0, (command, done.out, done.err)
            said.append(done.out)
            counts.append(server.count)
        assert server.errors == []
    rehearsed, foreseen, done_first, gone_on, calibrated = said
    assert counts[:2] == [0, 0]  # rehearsals and estimates send nothing to real models
    assert counts[2] == counts[3] == counts[4] > 100
    assert "together" in foreseen
    assert "$" in foreseen
    assert "to-mark.csv" in done_first
    assert "report.html" in gone_on
    assert "judge chosen by people's marks" in rehearsed
    assert "judge chosen by people's marks" in calibrated
    assert len(read_jsonl(tmp_path / "bench" / "items.jsonl", Item)) > 5
    assert "<title>Rehearsal: " in (tmp_path / "rehearsal" / "report.html").read_text()


@types("experiment.md", commands="experiment tables")
def test_a_grid_is_foreseen(tmp_path: Path, tests_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captaincook4d").symlink_to(tests_data / "datasets" / "captaincook4d")
    type_all([line for line in shown("experiment.md")[0] if "experiment tables" in line], tmp_path)


@types("experiment.md", commands="experiment documents")
def test_measures_that_rank_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_manuals(tmp_path / "manuals")
    save_bert(tmp_path / "models" / "deberta-xlarge-mnli")
    monkeypatch.setitem(LAYERS, "deberta-xlarge-mnli", 1)  # of 40
    (command,) = (line for line in shown("experiment.md")[0] if "experiment documents" in line)
    with Standin(answer=Rehearsal(tmp_path / "ranks", quality=0.8)) as server:
        for name, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(name, value)
        type_all([command], tmp_path)
    assert "bertscore" in (tmp_path / "ranks" / "report.html").read_text()


def save_bert(folder: Path) -> None:
    """Save a BERT of one layer with random weights."""
    torch = pytest.importorskip("torch", reason="needs the extra 'bertscore'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'bertscore'")
    folder.mkdir(parents=True)
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *ascii_lowercase,
        *(f"##{c}" for c in ascii_lowercase),
    ]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=128,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=128).save_pretrained(
            folder
        )
        transformers.BertModel(config).save_pretrained(folder)


def fill_in(path: Path) -> None:
    """Mark answers as people would: right when the answer is one of the references."""
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["human"] = "2" if row["answer"] in row["references"].split(" | ") else "0"
    with path.open("w", newline="") as stream:
        table = csv.DictWriter(stream, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
