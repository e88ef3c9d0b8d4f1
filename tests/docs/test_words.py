"""Pages, README and help are in plain English: what CONTRIBUTING says not to write is not there."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
_SAY, _NOT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| say | not |\n|---|---|\n")
AVOIDED = [
    phrase
    for row in _NOT.splitlines()
    if row.startswith("|")
    for phrase in row.split("|")[2].strip().split(", ")
]
FOUND = re.compile(rf"\b(?:{'|'.join(map(re.escape, AVOIDED))})\b", re.IGNORECASE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
PAGES = [
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if path.name
    not in ("commands.md", "CHANGELOG.md", "CONTRIBUTING.md")  # made from the help; history; the list
]


def found(text: str) -> list[str]:
    """Return what should be said in another way, each with the words around it."""
    plain = " ".join(text.split())
    return [plain[max(0, m.start() - 30) : m.end() + 30] for m in FOUND.finditer(plain)]


def test_the_list_is_there() -> None:
    assert {"told", "mend", "somebody", "who may know whom"} <= set(AVOIDED)
    assert found("The model sits\ndown to answer, and is TOLD so.") != []
    assert found("A toldo is mended_twice") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_in_plain_words(page: Path) -> None:
    assert found(CODE.sub("", page.read_text(encoding="utf-8"))) == []


def test_every_message_of_the_page_about_trouble_is_one_of_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    quoted = re.findall(r"`([^`]+)`", "".join(re.findall(r"^### .*$", page, re.MULTILINE)))
    parts = [part.strip(" '") for text in quoted for part in text.split("…")]
    assert len(parts) > 15
    assert [part for part in parts if part not in code] == []


def test_every_help_is_in_plain_words() -> None:
    text = runpy.run_path(str(ROOT / "scripts" / "write-commands"))["render"]()
    assert text.count("\n## proctor ") > 70
    assert found(text) == []


FOR_MODELS = (
    "ask/",
    "exam/inquiry",
    "exam/reading",
    "exam/verdict/",
    "verify/oracle/",
    "datasets/captaincook4d/check",
)
"""Modules whose texts are sent to models, or are patterns of what models and people say."""


def test_every_text_of_the_code_is_in_plain_words() -> None:
    room = ROOT / "src" / "proctor"
    read = 0
    for path in room.rglob("*.py"):
        if path.relative_to(room).as_posix().startswith(FOR_MODELS):
            continue
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        texts = [
            n.value
            for n in nodes
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in notes
        ]
        read += len(texts)
        said = [said for text in texts if not text.strip("{} :").isidentifier() for said in found(text)]
        assert said == [], path
    assert read > 10_000
    for path in (room / "report" / "templates").iterdir():
        assert found(path.read_text(encoding="utf-8")) == [], path


def test_every_text_of_the_studio_is_in_plain_words() -> None:
    with (ROOT / "src" / "proctor" / "studio" / "languages" / "de.po").open("rb") as file:
        texts = [
            one
            for message in read_po(file)
            for one in (message.id if isinstance(message.id, tuple) else [message.id])
        ]
    assert len(texts) > 1_000
    assert [said for text in texts for said in found(text)] == []
