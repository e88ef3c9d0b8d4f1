"""The reference pages run as they are typed, on the real annotations and with models played on this machine."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path
from typing import Any, Final

import pytest
from tests.docs.outsider import DOCS, NOT_TYPED, PARTS, Outsider, shown
from tests.docs.test_commands_exist import typed
from tests.typed import proctor

import proctor as package
from proctor.records import read_jsonl
from proctor_rehearsal.standin import Standin

LEFT_OUT: Final = " --features "
"""Commands that need features of videos, which are not held."""
ELSEWHERE: Final = {
    "clips.md": "Goal-Step is not held; its Python runs in tests/stages/test_datasets_clips.py",
    "datasets-get.md": "needs a data set with addresses: tests/cli/test_datasets_get.py",
    "datasets.md": "COIN and YouCook2 are not held",
    "learn.md": "trains for minutes; half of it needs features: tests/stages/learn",
    "llm.md": "needs a server of models; its 'proctor calls' are typed in tests/cli/test_calls.py",
    "localize.md": "needs features; the commands after them are typed with localize-order.md",
    "sequencing.md": "needs weights and hours: tests/stages/learn",
    "zeroshot.md": "needs videos: tests/stages/learn",
}
"""Pages with commands on files that nobody may ship; so are those of most data sets, whose commands are alike."""


@pytest.fixture
def home(tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    for name in ("captaincook4d", "steps"):
        (tmp_path / "data" / name).symlink_to(shared_data / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(page: str, home: Path, **places: str) -> int:
    """Type the commands of a page from top to bottom; return how many."""
    number = 0
    for line in typed((DOCS / page).read_text(encoding="utf-8")):
        if LEFT_OUT in line:
            continue
        line = line.replace("~", str(home))
        for place, path in places.items():
            line = re.sub(rf"\b{place}\b(?:\.json)?", path, line)
        done = proctor(*shlex.split(line, comments=True)[1:])
        assert done.status == 0, (line, done.err)
        number += 1
    return number


@pytest.mark.shared
def test_the_published_examples_are_found_again(home: Path, shared_data: Path) -> None:
    examples = str(shared_data / "promqa" / "examples_dev.json")
    assert follow("examples.md", home, DIR=str(home / "data" / "captaincook4d"), FILE=examples) == 2


@pytest.mark.shared
def test_the_oracle_is_measured(home: Path, shared_data: Path) -> None:
    (home / "examples.json").symlink_to(shared_data / "promqa" / "examples_dev.json")
    assert follow("oracle.md", home) == 1


@pytest.mark.shared
@pytest.mark.parametrize("name", ["captaincook4d", "steps"])
def test_the_page_of_a_data_set(home: Path, name: str) -> None:
    assert follow(f"datasets/{name}.md", home, FOLDER=str(home / "data" / name)) == 5


@pytest.mark.shared
@pytest.mark.timeout(300)
def test_steps_are_found_and_put_in_order(home: Path) -> None:
    annotations = home / "data" / "captaincook4d"
    made = proctor(
        "learn", "localize", "--annotations", annotations, "--model", "prior", "--split", "R", "--out", "run",
        "--resamples", 0,
    )  # fmt: skip
    assert made.status == 0, made.err
    rows = [line.split(",") for line in (home / "run" / "truth.csv").read_text().splitlines()]
    few = {"video-id", *sorted({row[0] for row in rows[1:]})[:4]}
    for name in ("predictions.csv", "truth.csv"):
        lines = (home / "run" / name).read_text().splitlines()
        Path(name).write_text("".join(f"{line}\n" for line in lines if line.partition(",")[0] in few))
    assert follow("localize-order.md", home) == 3


@pytest.mark.shared
def test_key_steps_without_labels(home: Path) -> None:
    assert follow("procedure-learning.md", home) == 1


def test_manuals_put_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert proctor("datasets", "synthetic", "made", "--manuals", 6).status == 0
    assert (
        proctor("sequences", "wikihow", "made", "--semantics", "ranks", "--out", "manuals.jsonl").status == 0
    )
    assert proctor("import", "sequences", "manuals.jsonl", "first").status == 0
    items = read_jsonl(Path("first/items.jsonl"))
    answers = [
        {"item_id": i["question"]["id"], "answer": ", ".join(i["question"]["form"]["ids"])} for i in items
    ]
    Path("ana.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers))
    with Standin(reply="1, 2, 3, 4, 5") as server:
        for key, value in server.environment.items():
            monkeypatch.setenv(key, value)
        assert follow("order-exam.md", tmp_path) == 9


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        proctor("init", "plan.toml", "--have", "recordings", "--data", "sample", "--model", "none").status
        == 0
    )
    Path("sample").rename("recordings")
    page = Outsider("python.md", tmp_path)
    given: dict[str, Any] = {
        "my_function": lambda shown: "Nothing.",
        "my_model": lambda prompt, images: f"{len(images)} pictures",
        "batches": [([0, 1], [0.1, 0.9], ["a", "b"]), ([1, 0, 1], [0.4, 0.5, 0.8], ["a", "b", "c"])],
    }
    for code in page.blocks("python"):  # the sample's videos are not drawn for this
        code = code.replace('name="mine", show="frames:8@360p"', 'name="second"')
        if "lamp_1_…" in code:
            code = code.replace("lamp_1_…", given["ws"].items[0].id)
        exec(compile(code, "python.md", "exec"), given)
    assert isinstance(given["ws"], package.Workspace)
    assert len(given["ws"].items) == 252
    assert "252 verified questions" in page.text


def load_tests_of_pages() -> None:
    for path in (DOCS.parent / "tests").rglob("test_*.py"):
        if "tests.docs.outsider import" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(path.relative_to(DOCS.parent).with_suffix("").parts))


def test_every_command_and_python_block_of_a_page_is_typed_by_a_test() -> None:
    load_tests_of_pages()
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"commands.md"}
    untyped = {}
    for page in sorted(pages):
        parts = PARTS.get(page, [])
        left = [
            one
            for number, found in enumerate(shown(page))
            for one in found
            if not any(re.search(part[number], one) for part in parts)
        ]
        if left:
            untyped[page] = left
    assert not untyped
    assert {*PARTS, *NOT_TYPED} <= pages
