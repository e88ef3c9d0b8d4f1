"""The reference pages run as they are typed, on the real annotations and with models played on this machine."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.outsider import DOCS, PARTS, README, run_python, shown, type_all, types
from tests.typed import proctor

import proctor as package
from proctor.records import read_jsonl
from proctor_rehearsal.standin import Standin


@pytest.fixture
def home(tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    for name in ("captaincook4d", "steps"):
        (tmp_path / "data" / name).symlink_to(shared_data / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@types("examples.md")
@pytest.mark.shared
def test_the_published_examples_are_found_again(home: Path, shared_data: Path) -> None:
    examples = str(shared_data / "promqa" / "examples_dev.json")
    places = {"DIR": str(home / "data" / "captaincook4d"), "FILE.json": examples}
    type_all(shown("examples.md")[0], home, **places)


@types("oracle.md", python="(?!)")
@pytest.mark.shared
def test_the_oracle_is_measured(home: Path, shared_data: Path) -> None:
    (home / "examples.json").symlink_to(shared_data / "promqa" / "examples_dev.json")
    type_all(shown("oracle.md")[0], home)


@types("localize-order.md")
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
    type_all(shown("localize-order.md")[0], home)


@types("order-exam.md")
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
        type_all(shown("order-exam.md")[0], tmp_path)


@types("python.md")
def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        proctor("init", "plan.toml", "--have", "recordings", "--data", "sample", "--model", "none").status
        == 0
    )
    Path("sample").rename("recordings")
    given: dict[str, Any] = {
        "my_function": lambda shown: "Nothing.",
        "my_model": lambda prompt, images: f"{len(images)} pictures",
        "batches": [([0, 1], [0.1, 0.9], ["a", "b"]), ([1, 0, 1], [0.4, 0.5, 0.8], ["a", "b", "c"])],
    }
    for code in shown("python.md")[1]:  # the sample's videos are not drawn for this
        changed = code.replace('name="mine", show="frames:8@360p"', 'name="second"')
        if "lamp_1_…" in code:
            changed = changed.replace("lamp_1_…", given["ws"].items[0].id)
        run_python(code, given, changed=changed)
    assert isinstance(given["ws"], package.Workspace)
    assert len(given["ws"].items) == 252
    assert "252 verified questions" in (DOCS / "python.md").read_text(encoding="utf-8")


def load_tests_of_pages() -> None:
    for path in (DOCS.parent / "tests").rglob("test_*.py"):
        if "tests.docs.outsider import" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(path.relative_to(DOCS.parent).with_suffix("").parts))


def test_every_command_and_python_block_of_a_page_is_typed_by_a_test() -> None:
    load_tests_of_pages()
    pages = {README, *(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))} - {"commands.md"}
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
    assert {*PARTS} <= pages


def test_a_test_that_does_not_type_what_it_says_fails() -> None:
    with pytest.raises(AssertionError, match=r"metrics.md: not typed: proctor metrics text questions"):
        types("metrics.md", commands="metrics text", python="(?!)")(lambda: None)()
    with pytest.raises(AssertionError, match=r"metrics.md: not run: .*krippendorff_alpha"):
        types("metrics.md", commands="(?!)")(lambda: None)()
